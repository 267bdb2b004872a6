#!/usr/bin/env python3
"""What a run through the Python package costs beside one of `deputy bench`: the same model, configuration, threads and
number of runs, in turns.

  python_overhead.py --deputy build/release/bin/deputy MODEL...   medians of several rounds, and the least times
  ... --threads 8                                                 also runs per second of 8 threads beside 8 sessions,
                                                                  and beside one thread
  ... --check                                                     exit status 1 where the least time is more than 3 %
                                                                  and 2 us above that of C++, or threads are not
                                                                  30 % faster than one with runs of 200 us and more
  ... --smoke                                                     few runs: does it work?

The package must be importable: packaging/python-deps.sh, a build, and PYTHONPATH=build/release/python. On a busy
machine only the least times say something. Both keep their arrays of outputs, as programs that repeat runs do; `new`
makes new ones in each run.
"""

import argparse
import json
import statistics
import subprocess
import sys
import threading
import time

import numpy as np

import deputy

SHARE = 1.03
OVERLAP = 1.3  # of threads beside one thread, where a run is long enough for them
LONG_NS = 200_000
CALL_NS = 2_000  # of a call from Python with its dict of results, as python-guide.md has it


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="+")
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each measurement")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--config", default="cpu-only")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--smoke", action="store_true")
    arguments = parser.parse_args()
    if arguments.smoke:
        arguments.rounds, arguments.seconds = 1, 0.02
    return arguments


def bench(arguments, path, runs, sessions=1):
    command = [arguments.deputy, "bench", path, "--config", arguments.config, "--threads", "1", "--json", "--quiet",
               "--runs", str(runs), "--sessions", str(sessions)]  # fmt: skip
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def made_inputs(model, shapes):
    """As many elements as C++ has, of the same range."""
    numbers = np.random.default_rng(1)
    made = {}
    for info, shape in zip(model.inputs, shapes):
        dtype = np.dtype(info.dtype)
        made[info.name] = (
            numbers.random(shape, np.float32).astype(dtype) if dtype.kind == "f" else np.zeros(shape, dtype)
        )
    return made


def times(run, runs):
    """Of each run in nanoseconds."""
    taken, clock = [], time.perf_counter_ns
    for _ in range(runs):
        begin = clock()
        run()
        taken.append(clock() - begin)
    return taken


def throughput(model, inputs, threads, runs):
    """Runs per second of threads that begin together."""
    barrier = threading.Barrier(threads + 1)

    def work():
        session = model.session()
        session.run(inputs)
        barrier.wait()
        for _ in range(runs):
            session.run(inputs)
        barrier.wait()

    for _ in range(threads):
        threading.Thread(target=work).start()
    barrier.wait()
    begin = time.perf_counter()
    barrier.wait()
    return threads * runs / (time.perf_counter() - begin)


def measure(arguments, path):
    model = deputy.Model(path, config=arguments.config, settings={"cpu.threads": 1})
    first = bench(arguments, path, 20)
    inputs = made_inputs(model, [one["shape"] for one in first["inputs"]])
    runs = max(20, int(arguments.seconds * 1e9 / first["latency_ns"]["p50"]))
    session = model.session()
    out = session.run(inputs)
    rows = {"C++": [], "Python": [], "new": []}
    for _ in range(arguments.rounds):
        latency = bench(arguments, path, runs)["latency_ns"]
        rows["C++"].append((latency["p50"], latency["min"]))
        for name, run in (("Python", lambda: session.run(inputs, out)), ("new", lambda: model.run(inputs))):
            taken = times(run, runs)
            rows[name].append((statistics.median(taken), min(taken)))
    result = {"model": path, "runs": runs}
    for name, measured in rows.items():
        result[name] = {"p50_ns": statistics.median(p50 for p50, _ in measured), "min_ns": min(m for _, m in measured)}
    if arguments.threads:
        count = max(5, runs // arguments.threads)
        pairs = [(bench(arguments, path, count, arguments.threads)["runs_per_second"],
                  throughput(model, inputs, arguments.threads, count)) for _ in range(arguments.rounds)]  # fmt: skip
        alone = max(throughput(model, inputs, 1, runs) for _ in range(arguments.rounds))
        result["threads"] = {"C++": max(c for c, _ in pairs), "Python": max(p for _, p in pairs), "alone": alone}
    return result


def main():
    arguments = parse()
    missed = False
    for path in arguments.model:
        result = measure(arguments, path)
        print(f"{path}: {result['runs']} runs in each of {arguments.rounds} rounds")
        least = result["C++"]["min_ns"]
        for name in ("C++", "Python", "new"):
            p50, low = result[name]["p50_ns"], result[name]["min_ns"]
            print(f"  {name:<7} median {p50 / 1000:9.1f} us   least {low / 1000:9.1f} us   {low / least:.3f} of C++")
        if "threads" in result:
            rates = result["threads"]
            print(f"  {arguments.threads} threads: C++ {rates['C++']:.0f} runs/s, Python {rates['Python']:.0f} "
                  f"({rates['Python'] / rates['C++']:.2f}), {rates['Python'] / rates['alone']:.2f} of one thread")  # fmt: skip
            missed |= least >= LONG_NS and rates["Python"] < OVERLAP * rates["alone"]
        missed |= result["Python"]["min_ns"] > max(least * SHARE, least + CALL_NS)
    return 1 if arguments.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
