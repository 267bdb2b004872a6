#!/usr/bin/env python3
"""Makes the models that the samples run, into the folder given."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))

import onnx_bytes as onnx  # noqa: E402: found by the line before


def residual():
    """Two convolutions around which a value is carried past, and a pool."""
    weights = [((i * 7919) % 201 - 100) / 300 for i in range(4 * 4 * 3 * 3)]
    nodes = [
        onnx.node("Conv", ["x", "w"], ["a"], "conv1", pads=[1, 1, 1, 1]),
        onnx.node("Relu", ["a"], ["b"], "relu1"),
        onnx.node("Conv", ["b", "w", "bias"], ["c"], "conv2", pads=[1, 1, 1, 1]),
        onnx.node("Add", ["c", "b"], ["d"], "add"),
        onnx.node("Relu", ["d"], ["e"], "relu2"),
        onnx.node("MaxPool", ["e"], ["y"], "pool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
    ]
    constants = [onnx.tensor(weights, [4, 4, 3, 3], "w"), onnx.tensor([0.5, -0.5, 0.25, 0], [4], "bias")]
    return onnx.model(nodes, [onnx.value_info("x", [1, 4, 9, 9])], [onnx.value_info("y", [1, 4, 5, 5])],
                      initializers=constants)  # fmt: skip


def add_mul_sin():
    """sin(x * y + y), then what the samples' delegates do not have, then one of theirs again."""
    nodes = [
        onnx.node("Mul", ["x", "y"], ["a"], "mul"),
        onnx.node("Add", ["a", "y"], ["b"], "add"),
        onnx.node("Sin", ["b"], ["c"], "sin"),
        onnx.node("Exp", ["c"], ["d"], "exp"),
        onnx.node("Add", ["d", "x"], ["z"], "last"),
    ]
    inputs = [onnx.value_info("x", [2, 3]), onnx.value_info("y", [2, 3])]
    return onnx.model(nodes, inputs, [onnx.value_info("z", [2, 3])])


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for make in (residual, add_mul_sin):
        (folder / f"{make.__name__}.onnx").write_bytes(make())


if __name__ == "__main__":
    main()
