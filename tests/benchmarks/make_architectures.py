#!/usr/bin/env python3
"""Writes models of standard architectures with seeded random weights, for benchmarks and tests of speed.

  make_architectures.py --output DIR                        all of them
  make_architectures.py --output DIR resnet50 chain=1000    these

The same file for the same seed. Names: mobilenet_v2, resnet50, squeezenet1_0, squeezenet1_1, minilm, minilm_decomposed,
chain=N (N tiny nodes, Add and Relu in turn on [1,4]).
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from convolutional import mobilenet_v2, resnet50, squeezenet
from onnx_graph import FLOAT, OnnxGraph
from transformer import minilm

SEED = 20240229


def chain(length, seed):
    """Nodes so small that only what surrounds them takes time. Constants walk up and down, so that no value grows."""
    graph = OnnxGraph(f"chain_{length}", opset=17)
    random = np.random.default_rng(seed)
    steps = random.uniform(-0.5, 0.5, (16, 1, 4)).astype(np.float32)
    names = [graph.weight(f"step{index}", step) for index, step in enumerate(steps)]
    value = graph.input("input", FLOAT, (1, 4))
    for index in range(length):
        output = "output" if index == length - 1 else f"v{index}"
        inputs = [value, names[index // 2 % len(names)]] if index % 2 == 0 else [value]
        value = graph.node("Relu" if index % 2 else "Add", *inputs, output=output)
    graph.output("output", FLOAT, (1, 4))
    return graph


ARCHITECTURES = {
    "mobilenet_v2": mobilenet_v2,
    "resnet50": resnet50,
    "squeezenet1_0": lambda seed: squeezenet(seed, 0),
    "squeezenet1_1": lambda seed: squeezenet(seed, 1),
    "minilm": minilm,
    "minilm_decomposed": lambda seed: minilm(seed, decomposed=True),
}
CHAINS = ("chain=1000", "chain=10000", "chain=100000")


def file_name(name):
    return name.replace("=", "_") + ".onnx"


def make(name, path, seed=SEED):
    """Into a file that appears whole or not at all."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    graph = chain(int(name.split("=")[1]), seed) if name.startswith("chain=") else ARCHITECTURES[name](seed)
    partial = path.with_suffix(".partial")
    graph.write(partial)
    partial.replace(path)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    arguments = parser.parse_args()
    for name in arguments.names:
        length = name.removeprefix("chain=")
        if name not in ARCHITECTURES and not (length != name and length.isdigit() and int(length) > 0):
            parser.error(f"no architecture '{name}'; known: {', '.join(ARCHITECTURES)}, chain=N")
    for name in arguments.names or (*ARCHITECTURES, *CHAINS):
        path = make(name, arguments.output / file_name(name), arguments.seed)
        print(f"{path}: {path.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
