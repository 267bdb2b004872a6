#!/usr/bin/env python3
"""What a worker process adds to one run, by the program isolation_benchmarks.

  isolation.py --build-dir build/release             prints a table, in half a minute
  isolation.py --build-dir build/release --document  also writes it to host/docs/performance.md
  isolation.py --build-dir build/release --check     exit status 1 where a limit is missed
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import machine

ROOT = Path(__file__).resolve().parents[2]
MARK = "isolation"
# Benchmark: how its row is named, and the most microseconds that it may add, if any.
ROWS = {
    "IsolatedInput": ("input in shared memory", 5),
    "IsolatedInputSleeping": ("the same, `spin: 0us`", 60),
    "IsolatedInputAfterPause": ("the same, 1 ms after the last run", None),
    "IsolatedInputOfItsOwn": ("input in memory of the application", None),
    "IsolatedOutput": ("input in shared memory, output as large", None),
}
# The same of runs that a delegate's queue takes; of whole runs.
QUEUES = {
    "QueuedInProcess": ("in process, with a device that polls", 3),
    "SubmittedInProcess": ("in process, with a device that has ended when it returns", None),
    "SubmittedIsolated": ("the same in a worker process", 10),
}
SIZES = {1 << 10: "1 KB", 64 << 10: "64 KB", 1 << 20: "1 MB", 16 << 20: "16 MB"}


def measure(build):
    """{benchmark: {bytes: counters}}"""
    command = [build / "bin" / "isolation_benchmarks", "--benchmark_format=json", "--benchmark_min_time=0.2",
               "--benchmark_filter=/(" + "|".join(map(str, SIZES)) + ")$|" + "|".join(QUEUES)]  # fmt: skip
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    found = {}
    for one in json.loads(done.stdout)["benchmarks"]:
        if one.get("error_occurred"):
            raise SystemExit(f"{one['name']}: {one['error_message']}")
        name, size = one["name"].split("/")
        found.setdefault(name, {})[int(size)] = one
    return found


def time_of(found, name):
    return next(iter(found[name].values()))["run_us"]


def table(found):
    lines = ["| added to a run, µs | " + " | ".join(SIZES.values()) + " |", "|---|" + "---:|" * len(SIZES)]
    for name, (text, _) in ROWS.items():
        cells = [f"{found[name][size]['added_us']:.1f}" for size in SIZES]
        lines.append(f"| {text} | " + " | ".join(cells) + " |")
    lines += ["", "| run that a queue takes | µs |", "|---|---:|"]
    lines += [f"| {text} | {time_of(found, name):.1f} |" for name, (text, _) in QUEUES.items()]
    return "\n".join(lines)


def missed(found):
    return [
        f"{name}, {SIZES[size]}: {found[name][size]['added_us']:.1f} us, more than {most}"
        for name, (_, most) in ROWS.items() if most is not None
        for size in SIZES if found[name][size]["added_us"] > most
    ] + [
        f"{name}: {time_of(found, name):.1f} us, more than {most}"
        for name, (_, most) in QUEUES.items() if most is not None and time_of(found, name) > most
    ]  # fmt: skip


def document(build, text):
    path = ROOT / "host" / "docs" / "performance.md"
    facts = machine.describe(build)
    load = machine.load_average()[0]
    where = " of a virtual machine" if facts["virtual"] else ""
    head = f"{facts['cpu']}, {facts['cpus']} CPUs{where}, load average {load}."
    before, mark, rest = path.read_text().partition(f"<!-- {MARK} -->")
    _, end, after = rest.partition(f"<!-- /{MARK} -->")
    if not mark or not end:
        raise SystemExit(f"{path}: the marks of '{MARK}' are missing")
    path.write_text(f"{before}{mark}\n\n{head}\n\n{text}\n\n{end}{after}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build-dir", type=Path, required=True)
    parser.add_argument("--document", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if len(os.sched_getaffinity(0)) < 2:
        print("isolation: nothing polls on one processor", file=sys.stderr)
    found = measure(options.build_dir.resolve())
    text = table(found)
    print(text)
    if options.document:
        document(options.build_dir, text)
    limits = missed(found)
    for limit in limits:
        print(limit, file=sys.stderr)
    return 1 if options.check and limits else 0


if __name__ == "__main__":
    sys.exit(main())
