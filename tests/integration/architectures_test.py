#!/usr/bin/env python3
"""Random networks of the blocks that real ones are made of (architectures.py) must give what ONNX Runtime gives: on the
CPU alone, with onednn first, and with sim_npu first; with openvino first where `--config openvino` asks for it. Exits 77, with the reason, where numpy, onnx or onnxruntime is not
installed (packaging/peers.sh makes a Python that has them).

  architectures_test.py --deputy DEPUTY                          300 networks, all configurations
  architectures_test.py --deputy DEPUTY --seeds 300:10300        others
  architectures_test.py --deputy DEPUTY --seeds 17 --keep DIR    one, whose model and data stay in DIR/17
  architectures_test.py --deputy DEPUTY --verify --seeds 0:1000  verified by Deputy, which must accuse no delegate
  architectures_test.py --deputy DEPUTY --in-flight 8 --isolated as requests, eight at once, delegates in processes

Equal seeds give equal networks: a line about a failure names the seed, the configuration and the worst element.
Before a difference is called wrong, the network is computed in double precision by ONNX's reference evaluator, and by
ONNX Runtime with weights that differ in their last bits. Where Deputy is as near to the first as it should be, ONNX
Runtime is wrong; where the second goes as far as Deputy, the network is unsteady and proves nothing. Both are counted
and listed.
"""

import argparse
import collections
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import onnx
    import onnx.numpy_helper
    import onnx.reference
    import onnxruntime
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

from architectures import Architecture
from onnx_graph import tensor_bytes

# The delegates of each configuration, the relative precision of its sums and functions, the tolerances per element and
# per largest element of an output, the latter also for quantized networks, the share of these that may need it, and the
# share of the nodes that the delegate has at least, over all networks.
#
# An element that lies between two steps may go to either, and what is computed from it moves by a step or less. So of
# the quantized networks most must pass with the tolerances of floats, and the rest with `steps`: 2e-2 are five steps of
# 255. With the 11 bits of sim_npu one element in ten goes to another step in every layer.
HALF = 2.0**-11
Configuration = collections.namedtuple("Configuration", "delegates precision rtol scale steps most_by_steps share")
CONFIGURATIONS = {
    "cpu": Configuration("", 2.0**-21, 1e-3, 1e-5, 2e-2, 0.15, 0),
    "onednn": Configuration("{name: onednn, required: true, options: {accept: everything}}", 2.0**-20, 1e-3, 1e-5, 2e-2, 0.3,
                            0.4),
    "sim_npu": Configuration("{name: sim_npu, required: true}", HALF, 1e-2, 2e-2, 1e-1, 1.0, 0.2),
    "openvino": Configuration("{name: openvino, required: true}", 2.0**-20, 1e-3, 1e-5, 2e-2, 0.3, 0.4),
}
IF_BUILT = ("openvino",)  # only where asked for
OUTLIERS = 1e-2  # the share of the elements of a quantized network that may be further off
FACTOR = 3  # by which a difference may exceed what rounding alone makes in ONNX Runtime
MOST_UNSTEADY = {False: 0.01, True: 0.05}  # of float and of quantized networks: more are the grammar's fault
AT_ONCE = 50  # networks in one process of the program


def evaluate(path, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def evaluate_precisely(path, feeds):
    """In double precision; None where ONNX's reference evaluator lacks an operator."""

    def widen(tensor):
        if tensor.data_type == onnx.TensorProto.FLOAT:
            array = onnx.numpy_helper.to_array(tensor).astype("float64")
            tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))

    model = onnx.load(path)
    for tensor in model.graph.initializer:
        widen(tensor)
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name == "to" and attribute.i == onnx.TensorProto.FLOAT:
                attribute.i = onnx.TensorProto.DOUBLE
            if attribute.name == "value":
                widen(attribute.t)
    for value in [*model.graph.input, *model.graph.output]:
        if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
            value.type.tensor_type.elem_type = onnx.TensorProto.DOUBLE
    feeds = {name: x.astype("float64") if x.dtype == np.float32 else x for name, x in feeds.items()}
    try:
        results = onnx.reference.ReferenceEvaluator(model).run(None, feeds)
    except Exception:  # each operator that is missing or fails has an error of its own
        return None
    return [y.astype("float32") if y.dtype == np.float64 else y for y in results]


def write_case(network, folder):
    """In the layout of ONNX's backend tests, with a data set per run; the states are those of ONNX Runtime. Returns the
    inputs and results of the runs."""
    folder.mkdir(parents=True)
    network.write(folder / "model.onnx")
    (folder / "network.txt").write_text(network.text + "\n")
    runs = network.runs(folder / "model.onnx", evaluate)
    for index, (feeds, results) in enumerate(runs):
        data = folder / f"test_data_set_{index}"
        data.mkdir()
        write_tensors(data, "input", feeds.values())
        write_tensors(data, "output", results)
    return runs


def write_tensors(data, what, arrays):
    for index, array in enumerate(arrays):
        (data / f"{what}_{index}.pb").write_bytes(tensor_bytes(array))


class Runs:
    def __init__(self, arguments, scratch):
        self.deputy, self.threads, self.scratch = arguments.deputy, arguments.threads, scratch
        self.plugins = f'plugins: {{paths: ["{arguments.plugins}"]}}\n' if arguments.plugins else ""
        self.how = ["--in-flight", str(arguments.in_flight)] if arguments.in_flight else []
        self.isolation = "process" if arguments.isolated else "none"
        # None of these partitions is compiled again.
        self.environment = os.environ | {"XDG_CACHE_HOME": str(scratch / "cache")}

    def results(self, name, folders, *tolerances):
        """By folder: pass, fail or skip, the detail, the number of nodes by delegate. Where the process dies, each case
        gets one of its own."""
        if not folders:
            return {}
        config = self.scratch / f"{name}.yaml"
        delegates = CONFIGURATIONS[name].delegates.replace("{name:", f"{{isolation: {self.isolation}, name:")
        config.write_text(f"version: 1\n{self.plugins}delegates: [{delegates}]\n")
        threads = ["--set", f"cpu.threads={self.threads}"] if self.threads else []
        if threads and name in ("onednn", "openvino"):
            threads += ["--set", f"delegates.{name}.options.threads={self.threads}"]
        command = [self.deputy, "test-case", "--json", "--config", str(config), *threads, *self.how,
                   *map(str, tolerances)]  # fmt: skip
        try:
            done = subprocess.run([*command, *map(str, folders)], capture_output=True, text=True, check=False,
                                  env=self.environment, timeout=60 + 20 * len(folders))  # fmt: skip
            if done.returncode in (0, 1):
                return {Path(case["folder"]): (case["result"], case["detail"], case["nodes"])
                        for case in json.loads(done.stdout)["cases"]}  # fmt: skip
            said = f"status {done.returncode}: {done.stderr[-400:]}"
        except subprocess.TimeoutExpired:
            said = "no answer in time"
        if len(folders) == 1:
            return {folders[0]: ("fail", said, {})}
        return {key: value for folder in folders for key, value in self.results(name, [folder], *tolerances).items()}


def largest_excess(want, got, configuration):
    """The largest difference per tolerance, as the program prints it: |d| by what is allowed."""
    worst = 0.0
    for a, b in zip(want, got):
        if a.shape == b.shape and a.dtype.kind in "fiu" and a.size:
            a, b = a.astype("float64"), b.astype("float64")
            allowed = configuration.scale * max(np.abs(a).max(), 0.01) + configuration.rtol * np.abs(a)
            worst = max(worst, (np.abs(a - b) / allowed).max())
    return worst


def is_unsteady(seed, configuration, runs, detail):
    """Whether changes in the last bits of the configuration's arithmetic make differences not much smaller than this
    one, which is beyond the tolerances."""
    told = re.search(r"\|d\| (\S+), allowed (\S+)$", detail)
    if told is None:
        return False
    excess = float(told[1]) / max(float(told[2]), 1e-30)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        for factor, halves in itertools.product((1, 2, 3, 4), {False, configuration.precision == HALF}):
            network = Architecture(seed, evaluate, factor * configuration.precision, halves)
            network.write(path)
            for feeds, want in runs:
                if excess <= FACTOR * largest_excess(want, evaluate(path, network.shaken(feeds)), configuration):
                    return True
    return False


def exact(configuration):
    return ["--rtol", configuration.rtol, "--atol-scale", configuration.scale, "--outliers", 0]


class Comparison:
    """All networks of a range of seeds in all configurations."""

    def __init__(self, arguments, seeds, names):
        self.arguments, self.seeds, self.names = arguments, seeds, names
        self.wrong = self.quantized = self.runtime_wrong = 0
        self.unsteady = {False: 0, True: 0}  # by whether the network is quantized
        self.by_steps = dict.fromkeys(names, 0)
        self.nodes = {name: [0, 0] for name in names}  # the delegate's, all

    def run(self):
        for begin in range(0, len(self.seeds), AT_ONCE):
            with tempfile.TemporaryDirectory(prefix="deputy-architectures-") as scratch:
                self.some(self.seeds[begin : begin + AT_ONCE], Path(scratch))
        return self.summary()

    def some(self, seeds, scratch):
        networks, wanted = {}, {}
        for seed in seeds:
            network = Architecture(seed, evaluate)
            wanted[scratch / str(seed)] = write_case(network, scratch / str(seed))
            networks[scratch / str(seed)] = network
            self.quantized += network.quantized
        runs = Runs(self.arguments, scratch)
        for name in self.names:
            configuration = CONFIGURATIONS[name]
            results = runs.results(name, list(networks), *exact(configuration))
            again = [folder for folder, (verdict, _, _) in results.items()
                     if verdict == "fail" and networks[folder].quantized]  # fmt: skip
            self.by_steps[name] += len(again)
            results |= runs.results(name, again, "--rtol", configuration.rtol, "--atol-scale", configuration.steps,
                                    "--outliers", OUTLIERS)  # fmt: skip
            for folder, (verdict, detail, placed) in results.items():
                self.nodes[name][0] += placed.get(name, 0)
                self.nodes[name][1] += sum(placed.values())
                if len(self.seeds) == 1:
                    print(f"{name}: {verdict}, {detail}")
                if self.arguments.keep and (verdict != "pass" or len(self.seeds) == 1):
                    shutil.copytree(folder, self.arguments.keep / folder.name, dirs_exist_ok=True)
                if verdict != "pass":
                    network = networks[folder]
                    told = self.judge(runs, name, folder, network, wanted[folder], detail)
                    print(f"{told}: seed {network.seed}, {name} ({network.text}): {detail}", flush=True)

    def judge(self, runs, name, folder, network, wanted, detail):
        """What is to be said of a network that did not pass."""
        configuration, precise = CONFIGURATIONS[name], [None]
        if not network.quantized:
            precise = [evaluate_precisely(folder / "model.onnx", feeds) for feeds, _ in wanted]
        if all(results is not None for results in precise):
            copy = folder.with_name(folder.name + "_precise")
            shutil.copytree(folder, copy, dirs_exist_ok=True)
            for index, results in enumerate(precise):
                write_tensors(copy / f"test_data_set_{index}", "output", results)
            if runs.results(name, [copy], *exact(configuration))[copy][0] == "pass":
                self.runtime_wrong += 1
                return "ONNX Runtime is wrong"
        if network.quantized:
            configuration = configuration._replace(scale=configuration.steps)
        if is_unsteady(network.seed, configuration, wanted, detail):
            self.unsteady[network.quantized] += 1
            return "unsteady"
        self.wrong += 1
        return "wrong"

    def summary(self):
        """Prints what there is to say; the exit status."""
        good = self.wrong == 0
        total = len(self.seeds)
        print(f"{total} networks (seeds {self.arguments.seeds}; {self.quantized} quantized) on "
              f"{', '.join(self.names)}: {self.wrong} wrong, {sum(self.unsteady.values())} unsteady; "
              f"ONNX Runtime wrong: {self.runtime_wrong}")  # fmt: skip
        enough = total >= AT_ONCE
        for name in self.names:
            here, everywhere = self.nodes[name]
            print(f"{name}: {here} of {everywhere} nodes; {self.by_steps[name]} quantized networks differ by steps")
            configuration = CONFIGURATIONS[name]
            by_steps = self.by_steps[name] > 1 + configuration.most_by_steps * self.quantized
            if enough and (here < configuration.share * everywhere or by_steps):
                print(f"{name}: too few nodes, or too many steps")
                good = False
        for quantized, count in ((False, total - self.quantized), (True, self.quantized)):
            if enough and self.unsteady[quantized] > 1 + MOST_UNSTEADY[quantized] * count * len(self.names):
                print("too many networks prove nothing: the grammar must be mended")
                good = False
        return 0 if good else 1


# Orders of delegates for --verify: entries, tolerances of sim_npu for networks of floats and for quantized ones.
VERIFY = "{when: first_run, every: 1%s}"
ONEDNN = "{name: onednn, options: {accept: everything}, verify: " + VERIFY % "" + "}"
SIM_NPU = "{name: sim_npu, verify: " + VERIFY % ", rtol: 1e-2, atol_scale: SCALE" + "}"
ORDERS = {"onednn": [ONEDNN], "sim_npu": [SIM_NPU], "onednn, sim_npu": [ONEDNN, SIM_NPU],
          "sim_npu, onednn": [SIM_NPU, ONEDNN]}  # fmt: skip


class Verification:
    """All networks of a range of seeds with verified delegates, of which none computes wrongly."""

    def __init__(self, arguments, seeds):
        self.arguments, self.seeds = arguments, seeds
        self.accused = self.verified = 0

    def run(self):
        for begin in range(0, len(self.seeds), AT_ONCE):
            with tempfile.TemporaryDirectory(prefix="deputy-architectures-") as scratch:
                self.some(self.seeds[begin : begin + AT_ONCE], Path(scratch))
        print(f"{len(self.seeds)} networks (seeds {self.arguments.seeds}), {len(ORDERS)} orders of delegates: "
              f"{self.verified} nodes verified, {self.accused} accusations")
        return 0 if self.accused == 0 and self.verified > 0 else 1

    def some(self, seeds, scratch):
        folders = {False: [], True: []}
        for seed in seeds:
            network = Architecture(seed, evaluate)
            write_case(network, scratch / str(seed))
            folders[network.quantized].append(scratch / str(seed))
        for (order, entries), quantized in itertools.product(ORDERS.items(), folders):
            scale = CONFIGURATIONS["sim_npu"].steps if quantized else CONFIGURATIONS["sim_npu"].scale
            config = scratch / "verify.yaml"
            config.write_text('version: 1\ncache: {dir: "off"}\ndelegates: ['
                              + ", ".join(entries).replace("SCALE", str(scale)) + "]\n")  # fmt: skip
            command = [self.arguments.deputy, "test-case", "--json", "--config", str(config)]
            if self.arguments.threads:
                command += ["--set", f"cpu.threads={self.arguments.threads}"]
            if not folders[quantized]:
                continue
            done = subprocess.run([*command, *map(str, folders[quantized])], capture_output=True, text=True,
                                  check=False, timeout=60 + 60 * len(folders[quantized]))  # fmt: skip
            if done.returncode not in (0, 1):
                self.accused += 1
                print(f"{order}: status {done.returncode}: {done.stderr[-400:]}", flush=True)
                continue
            for case in json.loads(done.stdout)["cases"]:
                self.verified += sum(count for name, count in case["nodes"].items() if name != "cpu")
            for line in done.stderr.splitlines():
                if "wrong result of" in line:
                    self.accused += 1
                    print(f"{order}: {line}", flush=True)
                    if self.arguments.keep:
                        folder = Path(re.search(rf"{scratch}/[0-9]+", line)[0])
                        shutil.copytree(folder, self.arguments.keep / folder.name, dirs_exist_ok=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--seeds", default="0:300", metavar="FROM:TO[:STEP]", help="or a single seed")
    parser.add_argument("--config", action="append", choices=CONFIGURATIONS, help="these alone; may be repeated")
    parser.add_argument("--plugins", metavar="DIR", help="the folder of the plugins; default: the installed ones")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keeps networks that fail, a single one in any case")
    parser.add_argument("--threads", type=int, default=0, help="of the CPU and of onednn; default: all")
    parser.add_argument("--verify", action="store_true", help="delegates in all orders, verified; none may be accused")
    parser.add_argument("--in-flight", type=int, default=0, metavar="N", help="each run as so many requests at once")
    parser.add_argument("--isolated", action="store_true", help="delegates in processes of their own")
    arguments = parser.parse_args()
    try:
        seeds = [int(part) for part in arguments.seeds.split(":")]
        seeds = range(*seeds) if len(seeds) > 1 else range(seeds[0], seeds[0] + 1)
    except (TypeError, ValueError):
        parser.error(f"--seeds {arguments.seeds}: wanted is FROM:TO, FROM:TO:STEP or a number")
    if not seeds:
        parser.error(f"--seeds {arguments.seeds}: there are none")
    if arguments.verify:
        return Verification(arguments, seeds).run()
    names = arguments.config or [name for name in CONFIGURATIONS if name not in IF_BUILT]
    for name in names:
        if name in IF_BUILT and arguments.plugins and not Path(arguments.plugins, f"{name}.so").exists():
            print(f"skipped: no {name}.so in {arguments.plugins} (plugins/{name}/README.md)")
            return 77
    return Comparison(arguments, seeds, names).run()


if __name__ == "__main__":
    sys.exit(main())
