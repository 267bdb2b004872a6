#!/usr/bin/env python3
"""How good the placements are that are measured beside work that comes and goes, and how long runs take beside it.

  changing_load.py --deputy build/release/bin/deputy MODEL          prints a line for each repetition, and the medians
  changing_load.py --deputy build/release/bin/deputy MODEL --check  exit status 1 where a limit is missed

A repetition has an empty cache. The model is started a few times while busy processes, one less than processors, run
for a while and pause for a while; then a few times without them, in which an unsure decision is made again; then its runs
are compared with the better of the two fixed configurations, `cpu-only` and the default in its order.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time

import machine

STARTS = 3  # under the load
ON, OFF = 0.7, 0.5  # seconds
QUIET_STARTS = 3  # without it
MOST = 1.1  # of the better fixed configuration
TURNS = 3  # of measuring all three; where they miss the limit, twice as many more


def busy(until):
    while time.monotonic() < until:
        pass


def come_and_go(stop):
    processes = max(1, len(os.sched_getaffinity(0)) - 1)
    while not stop.is_set():
        until = time.monotonic() + ON
        working = [multiprocessing.Process(target=busy, args=(until,)) for _ in range(processes)]
        for one in working:
            one.start()
        for one in working:
            one.join()
        stop.wait(OFF)


class Bench:
    def __init__(self, options, cache):
        self.deputy, self.model, self.smoke, self.cache = options.deputy, options.model, options.smoke, cache

    def median_ns(self, seconds, *arguments):
        command = [self.deputy, "bench", self.model, "--duration", f"{0.01 if self.smoke else seconds}s", "--json",
                   *arguments]  # fmt: skip
        environment = {**os.environ, "XDG_CACHE_HOME": self.cache}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return json.loads(done.stdout)["latency_ns"]["p50"]

    def turn(self, fixed):
        times = {name: self.median_ns(0.4, *arguments) for name, arguments in fixed.items()}
        return {"measured": self.median_ns(0.4), **times}


def ratio_of(rounds):
    """Of the time of the placement that was measured to that of the better fixed configuration, next to each other."""
    return statistics.median(turn["measured"] / min(turn["cpu"], turn["order"]) for turn in rounds)


def repeat(options):
    with tempfile.TemporaryDirectory() as cache:
        bench = Bench(options, cache)
        stop = multiprocessing.Event()
        load = multiprocessing.Process(target=come_and_go, args=(stop,))
        load.start()
        try:
            loaded = [bench.median_ns(1) for _ in range(STARTS)]
        finally:
            stop.set()
            load.join()
        for _ in range(QUIET_STARTS):
            bench.median_ns(1)
        fixed = {"cpu": ("--config", "cpu-only"), "order": ("--set", "placement.policy=priority")}
        # In turns: the machine's speed changes as well.
        rounds = [bench.turn(fixed) for _ in range(TURNS)]
        if ratio_of(rounds) > MOST:
            rounds += [bench.turn(fixed) for _ in range(2 * TURNS)]
        quiet = {name: statistics.median(turn[name] for turn in rounds) for name in rounds[0]}
        return loaded, quiet, ratio_of(rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("model")
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--smoke", action="store_true", help="runs of 10 ms, to see that it works")
    options = parser.parse_args()
    ratios, loaded_ratios = [], []
    for number in range(options.repetitions):
        loaded, quiet, ratio = repeat(options)
        ratios.append(ratio)
        best = min(quiet.values())
        loaded_ratios += [one / best for one in loaded]
        print(f"{number + 1:3}  under load {', '.join(f'{one / 1e6:.2f}' for one in loaded)} ms; without "
              f"{quiet['measured'] / 1e6:.2f}, cpu {quiet['cpu'] / 1e6:.2f}, order {quiet['order'] / 1e6:.2f} ms; "
              f"{ratio:.2f} of the better", flush=True)  # fmt: skip
    missed = sum(ratio > MOST for ratio in ratios)
    print(f"median {statistics.median(ratios):.2f}, worst {max(ratios):.2f} of the better fixed configuration, {missed} above "
          f"{MOST}; under load {statistics.median(loaded_ratios):.1f} of it; load average {machine.load_average()[0]}")  # fmt: skip
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
