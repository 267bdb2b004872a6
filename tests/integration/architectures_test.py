#!/usr/bin/env python3
"""Random networks of the blocks that real ones are made of (architectures.py) must give what ONNX Runtime gives: on the
CPU alone, with onednn first, and with sim_npu first. Exits 77, with the reason, where numpy or onnxruntime is not installed
(packaging/peers.sh makes a Python that has both).

  architectures_test.py --deputy DEPUTY                              300 networks, all configurations
  architectures_test.py --deputy DEPUTY --seeds 300:10300            others
  architectures_test.py --deputy DEPUTY --seeds 17 --keep DIR        one, whose model and data stay in DIR/17

A network is the seed's: a line about a failure names the seed, the configuration and the worst element, and the same seed
makes the same network again. What differs from ONNX Runtime is held against ONNX Runtime itself with weights that are
changed in their last bits: where that moves the outputs as well, the network proves nothing, and is counted apart.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import onnxruntime
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

from architectures import Architecture
from onnx_graph import tensor_bytes

# The delegates of each configuration, the relative precision of its arithmetic, the tolerances per element and per largest
# element of an output, and the share of the nodes that the delegate has at least, over all networks.
CONFIGURATIONS = {
    "cpu": ("", 2.0**-23, 1e-3, 1e-5, 0),
    "onednn": ("{name: onednn, required: true}", 2.0**-23, 1e-3, 1e-5, 0.4),
    "sim_npu": ("{name: sim_npu, required: true}", 2.0**-11, 1e-2, 1e-2, 0.2),
}
OUTLIERS = 1e-2  # of quantized networks: the share of the elements that may be a step off
AT_ONCE = 50  # networks in one process of the program
MOST_UNSTEADY = 0.01  # of the networks: more would mean that the grammar is no good


def evaluate(path, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def write_case(network, folder):
    """In the layout of ONNX's backend tests."""
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    network.write(folder / "model.onnx")
    results = evaluate(folder / "model.onnx", network.inputs)
    for what, arrays in (("input", network.inputs.values()), ("output", results)):
        for index, array in enumerate(arrays):
            (data / f"{what}_{index}.pb").write_bytes(tensor_bytes(array))
    (folder / "network.txt").write_text(network.text + "\n")
    return results


class Runs:
    def __init__(self, deputy, scratch):
        self.deputy, self.scratch = deputy, Path(scratch)

    def arguments(self, name, quantized):
        delegates, _, rtol, scale, _ = CONFIGURATIONS[name]
        path = self.scratch / f"{name}.yaml"
        path.write_text(f"version: 1\ndelegates: [{delegates}]\n")
        outliers = ["--outliers", str(OUTLIERS)] if quantized else []
        return ["--config", str(path), "--rtol", str(rtol), "--atol-scale", str(scale), *outliers]

    def results(self, name, folders, quantized):
        """By folder: (pass or fail, detail, number of nodes by delegate). A process that dies is told by its cases one by one."""
        if not folders:
            return {}
        command = [self.deputy, "test-case", "--json", *self.arguments(name, quantized), *map(str, folders)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60 + 20 * len(folders), check=False)
            cases = json.loads(done.stdout)["cases"] if done.returncode in (0, 1) else None
            said = f"status {done.returncode}: {done.stderr[-400:]}"
        except subprocess.TimeoutExpired:
            cases, said = None, "no answer in time"
        if cases is not None:
            return {Path(case["folder"]): (case["result"], case["detail"], case["nodes"]) for case in cases}
        if len(folders) == 1:
            return {folders[0]: ("fail", said, {})}
        return {key: value for folder in folders for key, value in self.results(name, [folder], quantized).items()}


def over_tolerance(want, got, rtol, scale, quantized):
    """How far rounding alone goes towards the tolerance: 1 where it reaches it."""
    worst = 0.0
    for a, b in zip(want, got):
        if a.shape != b.shape or a.dtype.kind not in "fiu":
            return 1.0
        a, b = a.astype("float64"), b.astype("float64")
        difference = np.abs(a - b)
        largest = max(np.abs(a).max(initial=0), 0.01)
        excess = difference / (scale * largest + rtol * np.abs(a))
        if quantized:  # the share of the outliers, and the largest of them
            worst = max(worst, np.mean(excess > 1) / OUTLIERS, difference.max(initial=0) * 16 / largest / 2)
        else:
            worst = max(worst, excess.max(initial=0))
    return worst


def is_unsteady(seed, name, want):
    """Whether changes of the weights by the last bits of the configuration's arithmetic come near the tolerance."""
    _, precision, rtol, scale, _ = CONFIGURATIONS[name]
    with tempfile.TemporaryDirectory() as folder:
        for factor in (1.0, 2.0, 3.0):
            network = Architecture(seed, evaluate, jitter=factor * precision)
            path = Path(folder) / "model.onnx"
            network.write(path)
            got = evaluate(path, network.inputs)
            if over_tolerance(want, got, rtol, scale, network.quantized) > 0.3:
                return True
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--seeds", default="0:300", metavar="FROM:TO", help="or a single seed")
    parser.add_argument("--config", action="append", choices=CONFIGURATIONS, help="these alone; may be repeated")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keeps the networks that fail, a single one in any case")
    arguments = parser.parse_args()
    first, _, last = arguments.seeds.partition(":")
    seeds = range(int(first), int(last) if last else int(first) + 1)
    names = arguments.config or list(CONFIGURATIONS)
    wrong, unsteady, nodes = [], [], {name: [0, 0] for name in names}
    for begin in range(seeds.start, seeds.stop, AT_ONCE):
        with tempfile.TemporaryDirectory(prefix="deputy-architectures-") as scratch:
            runs, networks, wanted = Runs(arguments.deputy, scratch), {}, {}
            for seed in range(begin, min(begin + AT_ONCE, seeds.stop)):
                network = Architecture(seed, evaluate)
                folder = Path(scratch) / str(seed)
                wanted[folder] = write_case(network, folder)
                networks[folder] = network
            for name in names:
                results = {}
                for quantized in (False, True):
                    folders = [folder for folder, network in networks.items() if network.quantized == quantized]
                    results |= runs.results(name, folders, quantized)
                for folder, (verdict, detail, placed) in results.items():
                    nodes[name][0] += placed.get(name, 0)
                    nodes[name][1] += sum(placed.values())
                    if len(seeds) == 1:
                        print(f"{name}: {verdict}, {detail}, nodes {placed}")
                    if verdict == "pass":
                        continue
                    seed, text = networks[folder].seed, networks[folder].text
                    steady = " differ, worst at" not in detail or not is_unsteady(seed, name, wanted[folder])
                    (wrong if steady else unsteady).append((seed, name))
                    told = "wrong" if steady else "unsteady"
                    print(f"{told}: seed {seed}, {name} ({text}): {detail}", flush=True)
                    if arguments.keep:
                        keep(folder, arguments.keep)
            if arguments.keep and len(seeds) == 1:
                keep(next(iter(networks)), arguments.keep)
    print(f"{len(seeds)} networks, seeds {seeds.start}:{seeds.stop}, {', '.join(names)}: {len(wrong)} wrong, "
          f"{len(unsteady)} where rounding alone makes the difference")  # fmt: skip
    for name in names:
        print(f"{name}: {nodes[name][0]} of {nodes[name][1]} nodes")
        if len(seeds) >= AT_ONCE and nodes[name][0] < CONFIGURATIONS[name][4] * nodes[name][1]:
            print(f"too few of them on {name}: the networks do not test it")
            wrong.append(("all", name))
    if len(unsteady) > max(1, MOST_UNSTEADY * len(seeds) * len(names)):
        print("too many where rounding alone makes the difference: the grammar must be mended")
        return 1
    return 1 if wrong else 0


def keep(folder, destination):
    if not (destination / folder.name).exists():
        subprocess.run(["cp", "-r", str(folder), str(destination / folder.name)], check=True)


if __name__ == "__main__":
    sys.exit(main())
