#!/usr/bin/env python3
"""Writes the facts of a release that the next one is compared with, as JSON.

  facts.py --prefix DIR --build-dir DIR [--artefacts DIR] [--commit ID] [--rounds N] [--runs N] OUTPUT.json

- abi: the golden files of the plugin ABI, of its operator schema and of the C API, line by line
- symbols: what each library of lib/ exports
- sizes: of each file among the artefacts, of each program and library of the installation, in bytes
- machine, speed: the median latency of models that the tree makes, by `deputy bench` of the installation, with the CPU
  alone and with the default configuration, on 1 and 2 threads. Of several rounds the lowest median counts, because
  other work on the machine only adds to it.

Names have no version in them, so that those of two releases are the same.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import elf
import version

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "abi"), str(ROOT / "tests" / "benchmarks")]
import headers  # noqa: E402 (of tests/abi)
import machine  # noqa: E402 (of tests/benchmarks)
import releases  # noqa: E402 (of tests/abi)

FORMAT = 1
CONFIGURATIONS = ("cpu-only", "default")
THREADS = (1, 2)
# Of tests/integration/make_models.py: many tiny nodes, convolutions; and a small network of make_architectures.py.
SMALL_MODELS = ("chain", "filters")
NETWORK = "squeezenet1_1"


def lines_of(path):
    if not path.is_file():
        raise SystemExit(f"{path}: there is no golden file of this version and machine")
    return path.read_text(encoding="utf-8").splitlines()


def abi():
    of = headers.read(ROOT / "sdk" / "include" / "deputy" / "abi").version
    name, goldens = os.uname().machine, ROOT / "tests" / "abi"
    return {
        "architecture": name,
        "plugin": lines_of(goldens / releases.golden_name(of, name)),
        "schema": lines_of(goldens / releases.golden_name(of, "schema")),
        "c": lines_of(ROOT / "tests" / "capi" / f"golden_{name}.txt"),
    }


def without_version(name, number):
    """deputy-0.2.0-linux-x86_64.tar.xz and libdeputy.so.0.2.0 under the names that they have in every release."""
    return re.sub(r"\.so(\.\d+)+$", ".so", name).replace(number, "VERSION")


def exported(prefix, files, number):
    return {without_version(name, number): elf.exported(prefix / name)
            for name in files if re.fullmatch(r"lib/[^/]+\.so[.\d]*", name)}


def sizes(prefix, files, artefacts, number):
    found = {name: prefix / name for name in files}
    if artefacts:
        found |= {path.name: path for path in artefacts.iterdir() if path.is_file()}
    return {without_version(name, number): path.stat().st_size for name, path in sorted(found.items())}


def make_models(folder):
    digits = ROOT / "configs" / "digits" / "digits.onnx"
    scripts = ((ROOT / "tests" / "integration" / "make_models.py", [folder]),
               (ROOT / "tests" / "benchmarks" / "make_architectures.py", ["--output", folder, NETWORK]))
    for script, arguments in scripts:
        # numpy is Debian's.
        subprocess.run(["/usr/bin/python3", str(script), *map(str, arguments)], check=True, stdout=subprocess.PIPE)
    return {"digits": digits, **{name: folder / f"{name}.onnx" for name in (*SMALL_MODELS, NETWORK)}}


def median(deputy, model, configuration, threads, runs, home):
    """In an environment without configurations and results of this user or this machine."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "DEPUTY_SYSTEM_CONFIG": "", "LC_ALL": "C.UTF-8"}
    done = subprocess.run([str(deputy), "bench", str(model), "--config", configuration, "--threads", str(threads),
                           "--runs", str(runs), "--json", "--quiet"], env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)  # fmt: skip
    if done.returncode != 0:
        raise SystemExit(f"deputy bench {Path(model).name} --config {configuration}: {done.stderr}")
    return json.loads(done.stdout)["latency_ns"]["p50"]


def speed(deputy, models, rounds, runs):
    """Every case once in each round, so that a disturbance of the machine does not hit all turns of one case."""
    cases = [(name, configuration, threads) for name in models for configuration in CONFIGURATIONS for threads in THREADS]
    best = {}
    with tempfile.TemporaryDirectory() as home:
        for _ in range(rounds):
            for case in cases:
                name, configuration, threads = case
                time = median(deputy, models[name], configuration, threads, runs, home)
                best[case] = min(time, best.get(case, time))
    return [{"model": name, "config": configuration, "threads": threads, "median_ns": best[name, configuration, threads]}
            for name, configuration, threads in cases]


def make(prefix, build, artefacts, commit, rounds, runs):
    number, files = version.of_project(ROOT), elf.files_below(prefix)
    load = machine.load_average()  # of other work, before the measurements
    with tempfile.TemporaryDirectory() as folder:
        times = speed(prefix / "bin" / "deputy", make_models(Path(folder)), rounds, runs)
    return {
        "format": FORMAT,
        "version": number,
        "commit": commit,
        "abi": abi(),
        "symbols": exported(prefix, files, number),
        "sizes": sizes(prefix, files, artefacts, number),
        "machine": machine.describe(build),
        "load_average": load[0],
        "speed": times,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path, required=True)
    parser.add_argument("--build-dir", type=Path, required=True)
    parser.add_argument("--artefacts", type=Path)
    parser.add_argument("--commit", default="")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    facts = make(arguments.prefix.resolve(), arguments.build_dir, arguments.artefacts, arguments.commit,
                 arguments.rounds, arguments.runs)
    arguments.output.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    print(f"{arguments.output.name}: {len(facts['symbols'])} libraries, {len(facts['sizes'])} sizes, "
          f"{len(facts['speed'])} times on {facts['machine']['cpu']}")


if __name__ == "__main__":
    main()
