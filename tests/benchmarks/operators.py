#!/usr/bin/env python3
"""Every operator by itself, on the host's own kernels and on ONNX Runtime: how many times slower is the slower one? Or
what a delegate claims, with the delegate first and on the host's own kernels alone.

  operators.py --build-dir build/release                   all operators, in some minutes; prints a table
  operators.py … --document                                also writes the table of host/docs/performance-operators.md
  operators.py … --check                                   exit status 1 where a limit is missed
  operators.py … --only Conv MaxPool --threads 1           some of them
  operators.py … --delegate onednn                         each that its table lists, small uses as well
  operators.py … --times 3                                 of three measurements the one with the middle ratio

Needs what compare.py needs; ONNX Runtime not with --delegate. Exit status 1 also where outputs disagree, and where a
delegate lists an operator that has no use here.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import machine
import numpy as np
from engines import EngineError, Workload, Workshop, agreement
from onnx_graph import DTYPES, OnnxGraph
from operator_workloads import SMALL, USES, WITHOUT, Fixed

import microsoft_workloads  # noqa: F401 its uses join the others

ROOT = Path(__file__).resolve().parents[2]
LIMIT, LIMIT_OF_GROUP = 10.0, {"element-wise": 1.5, "movement": 1.5}
LARGE = 1_000_000    # bytes from which on the limits of groups hold
LIMIT_OF_DELEGATE = 1.1  # times the host's own kernels
SIMULATED = {"sim_npu"}  # a simulated device's times on the host say nothing about the device: no limit
TOLERANCE = 1e-3     # of an output's largest magnitude; of integers a step
TURN, ROUNDS = 0.02, 5  # seconds of one turn
STEP = 0.02          # of 8-bit results: two steps
PAUSE = 0.03         # seconds: threads that spin after a run have come to rest
DOMAINS = {"": "", "Microsoft": "com.microsoft"}  # as operators.inc names what is of another domain
DRAWING = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}


def workload(use, folder):
    graph = OnnxGraph(use.operator, use.opset)
    names, given = [], {}
    for index, value in enumerate(use.inputs):
        name = "" if value is None else f"input{index}"
        names.append(name)
        if isinstance(value, Fixed):
            graph.weight(name, value.value)
        elif value is not None:
            value = np.asarray(value)
            given[name] = value
            graph.input(name, DTYPES[value.dtype], value.shape)
    outputs = [f"output{index}" for index in range(len(use.outputs))]
    vendor, _, operator = use.operator.rpartition("_")
    domain = DOMAINS[vendor]
    graph.node(operator, *names, outputs=outputs, domain=domain, **use.attributes)
    for name, dtype in zip(outputs, use.outputs):
        graph.outputs.append(output_of(name, DTYPES[np.dtype(dtype)]))
    path = Path(folder) / f"{use.operator}_{use.shape}.onnx"
    graph.write(path)
    return Workload(f"{use.operator}_{use.shape}", path, **given)


def output_of(name, dtype):
    """Without a shape: it follows from the inputs."""
    from onnx_bytes import chunk, number

    return chunk(1, name) + chunk(2, chunk(1, number(1, dtype)))


def measure(use, workshop, folder, threads, names):
    """Medians of both engines in nanoseconds, which take turns, how far their outputs are apart, and how many nodes the
    first one's delegate runs."""
    given = workload(use, folder)
    engines = []
    try:
        for name in names:
            engines.append(workshop.start(name, given, threads))
        times = {engine.name: [] for engine in engines}
        counts = {engine.name: max(1, round(TURN * 1e9 / max(1, min(engine.run(3))))) for engine in engines}
        for index in range(ROUNDS):
            for engine in engines if index % 2 == 0 else reversed(engines):
                times[engine.name] += engine.run(counts[engine.name])
                time.sleep(PAUSE)
        apart = 0.0 if use.operator in DRAWING else agreement(engines[1].outputs(), engines[0].outputs())
    finally:
        for engine in engines:
            engine.__exit__()
    return ({name: statistics.median(values) for name, values in times.items()}, apart,
            engines[0].facts["nodes"].get(names[0], 0))  # fmt: skip


def is_large(use):
    return any(value is not None and not isinstance(value, Fixed) and np.asarray(value).nbytes > LARGE
               for value in use.inputs)  # fmt: skip


def limit_of(use):
    return LIMIT_OF_GROUP.get(use.group, LIMIT) if is_large(use) else LIMIT


def limit_of_delegate(name):
    return math.inf if name in SIMULATED else LIMIT_OF_DELEGATE


def row(use, workshop, folder, threads, names=("cpu", "ort")):
    """How the first engine does beside the second."""
    result = {"operator": use.operator, "shape": use.shape, "engines": names,
              "limit": limit_of(use) if names[0] == "cpu" else limit_of_delegate(names[0])}  # fmt: skip
    try:
        medians, apart, nodes = measure(use, workshop, folder, threads, names)
    except EngineError as error:
        return {**result, "missing": " ".join(str(error).split())[:300]}
    ratio = medians[names[0]] / medians[names[1]]
    return {**result, **medians, "ratio": ratio, "apart": apart, "nodes": nodes}


def middle(rows):
    """Of several measurements of one use the one with the middle ratio; one that failed before any other."""
    missing = [result for result in rows if "missing" in result]
    return missing[0] if missing else sorted(rows, key=lambda result: result["ratio"])[len(rows) // 2]


def claimed_by(delegate, build):
    """The operators that a delegate's table lists."""
    command = [build / "bin" / "deputy", "plugins", "--operators", delegate, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    listed = {entry["delegate"]: entry["operators"] for entry in json.loads(done.stdout)["delegates"]}
    if delegate not in listed:
        sys.exit(f"no plugin has a delegate '{delegate}': {', '.join(sorted(listed))}")
    return {entry["op_type"] for entry in listed[delegate] if not entry.get("domain")}


def uses_of(claimed):
    """Small, typical and awkward uses of these operators, one after the other; an error where one has none."""
    uses = sorted((use for use in [*SMALL, *USES] if use.operator in claimed),
                  key=lambda use: (use.operator, ("small", "typical", "awkward").index(use.shape)))  # fmt: skip
    for shape in ("small", "typical"):
        without = claimed - {use.operator for use in uses if use.shape == shape}
        if without:
            sys.exit(f"operator_workloads.py has no {shape} use of {', '.join(sorted(without))}")
    return uses


def verdict(result):
    """What is wrong with a row; empty where nothing is."""
    if "missing" in result:
        return "" if result["missing"].startswith("ort:") else "fails here"
    if result["apart"] > (STEP if "QLinear" in result["operator"] else TOLERANCE):
        return f"outputs are {result['apart']:.1e} apart"
    left = result["engines"][0] != "cpu" and not result["nodes"]  # to the kernels that it is compared with
    return "" if left or result["ratio"] <= result["limit"] else f"more than {result['limit']:g} times slower"


def text_of(result):
    name = f"{result['operator']:<26} {result['shape']:<8}"
    if "missing" in result:
        return f"{name} {result['missing'][:110]}"
    first, second = result["engines"]
    us = f"{result[first] / 1e3:10.1f} us  {second} {result[second] / 1e3:10.1f} us  {result['ratio']:6.2f}x"
    return f"{name} {us}  {verdict(result)}".rstrip()


def cell(result):
    if "missing" in result:
        return ["", "", "not in ONNX Runtime"]
    return [f"{result['cpu'] / 1e3:.0f}", f"{result['ort'] / 1e3:.0f}", f"{result['ratio']:.2f}"]


def table(results):
    lines = ["| operator | typical: µs | ONNX Runtime µs | ratio | awkward: µs | ONNX Runtime µs | ratio |",
             "|---|---:|---:|---:|---:|---:|---:|"]  # fmt: skip
    by_name = {}
    for result in results:
        by_name.setdefault(result["operator"], {})[result["shape"]] = result
    for name in sorted(by_name):
        both = by_name[name]
        lines.append("| " + " | ".join([f"`{name}`", *cell(both["typical"]), *cell(both["awkward"])]) + " |")
    return "\n".join(lines)


def delegate_table(results, delegate):
    """With a star what the delegate left to the host's kernels."""
    shapes = ("small", "typical", "awkward")
    titles = [f"{shape}: {what}" for shape in shapes for what in (f"`{delegate}` µs", "CPU µs", "ratio")]
    lines = ["| operator | " + " | ".join(titles) + " |", "|---|" + "---:|" * len(titles)]
    by_name = {}
    for result in results:
        by_name.setdefault(result["operator"], {})[result["shape"]] = result
    for name, rows in sorted(by_name.items()):
        cells = []
        for shape in shapes:
            found = rows.get(shape, {"missing": ""})
            if "missing" in found:
                cells += ["", "", ""]
                continue
            star = "" if found["nodes"] else "\\*"
            cells += [f"{found[delegate] / 1e3:.1f}{star}", f"{found['cpu'] / 1e3:.1f}", f"{found['ratio']:.2f}"]
        lines.append("| " + " | ".join([f"`{name}`", *cells]) + " |")
    return "\n".join(lines)


def document(results, build, threads, delegate=None):
    path = ROOT / "host" / "docs" / "performance-operators.md"
    facts = machine.describe(build)
    mark = f"operators of {delegate}" if delegate else "operators"
    left = "; ".join(f"`{name}` ({why})" for name, why in sorted(WITHOUT.items()))
    text = f"{facts['cpu']}, {facts['cpus']} CPUs, {threads} threads. Medians of a run in microseconds.\n\n"
    text += delegate_table(results, delegate) if delegate else f"{table(results)}\n\nNot measured: {left}."
    before, _, rest = path.read_text().partition(f"<!-- {mark} -->")
    _, _, after = rest.partition(f"<!-- /{mark} -->")
    path.write_text(f"{before}<!-- {mark} -->\n\n{text}\n\n<!-- /{mark} -->{after}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build-dir", type=Path, required=True)
    parser.add_argument("--python", default=sys.executable, help="the Python that has onnxruntime")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--times", type=int, default=1, choices=range(1, 10),
                        help="measure each use so often, and keep the measurement with the middle ratio")  # fmt: skip
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--delegate", help="measure what this delegate claims, beside the host's kernels")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--document", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        build = options.build_dir.resolve()
        workshop = Workshop(folder, build, options.python)
        names = (options.delegate, "cpu") if options.delegate else ("cpu", "ort")
        for use in uses_of(claimed_by(options.delegate, build)) if options.delegate else USES:
            if options.only and use.operator not in options.only:
                continue
            rows = [row(use, workshop, folder, options.threads, names) for _ in range(options.times)]
            results.append(middle(rows))
            print(text_of(results[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    if options.document:
        document(results, options.build_dir, options.threads, options.delegate)
    wrong = [result for result in results if verdict(result)]
    print(f"{len(results)} uses of operators, {len(wrong)} to look at")
    return 1 if options.check and wrong else 0


if __name__ == "__main__":
    sys.exit(main())
