#!/usr/bin/env python3
"""Delegates that are right in everything except one realistic fault each (liars/liars.toml): the conformance kit must
name at least 58 of 60 by a test of the group that the fault belongs to, and nothing of the delegate without a fault.

  liars60_test.py --kit deputy-conformance --plugin liars.so [--blind DIRECTORY] [--only GLOB] [--whole] [--verbose]

A liar runs only the tests that name it fastest, or all with --whole; the delegate without a fault runs all, unless
--only names some liars.
"""

import argparse
import concurrent.futures
import fnmatch
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

TABLE = Path(__file__).parent / "liars" / "liars.toml"
ENOUGH = 58 / 60
# Of one liar, and of one case of the kit; wide, because a busy machine is not a fault of the delegate.
MOST_SECONDS = 1600
CASE_SECONDS = 60


def run(arguments, liar):
    """The kit's output about a liar, and the seconds that it took."""
    command = [arguments.kit, "--timeout", str(liar.get("timeout", CASE_SECONDS)), "--jobs", "2"]
    if liar.get("blind"):
        command.append(arguments.blind / f"{liar['name']}.so")
    else:
        command.append(arguments.plugin)
        if liar["name"]:
            command += ["--set", f"fault={liar['name']}"]
    if liar["tests"] and not arguments.whole:
        command += ["--filter", liar.get("filter", ",".join(liar["tests"]))]
    begin = time.monotonic()
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=MOST_SECONDS,
                              check=False)  # fmt: skip
        output = done.stdout
    except subprocess.TimeoutExpired as late:
        output = (late.stdout or b"") + b"\n(the kit did not end in time)\n"
    return output.decode(errors="replace"), time.monotonic() - begin


def failures(output):
    """Lines of failed tests, as (test, text)."""
    return re.findall(r"^FAIL  (\S+)  *(.*)$", output, re.M)


def named(liar, output):
    """The lines that name the liar by a test that should."""
    return [(test, text) for test, text in failures(output)
            if any(fnmatch.fnmatchcase(test, glob) for glob in liar["tests"])]  # fmt: skip


def report(arguments, liar, output, seconds):
    """Prints a liar's lines; true if it was named."""
    right, all_failures = named(liar, output), failures(output)
    others = sorted({test for test, _ in all_failures} - {test for test, _ in right})
    tests = sorted({test for test, _ in right})
    print(f"{'named' if right else 'NOT NAMED'}: {liar['name']} ({liar['says']}) {seconds:.0f} s")
    if right:
        more = f" and {len(tests) - 4} more" if len(tests) > 4 else ""
        print(f"    by {', '.join(tests[:4])}{more}: {right[0][1][:160]}")
    else:
        print(f"    expected one of {', '.join(liar['tests'])}")
        last = output.strip().splitlines()[-1:]
        print(f"    the kit's last line: {last[0] if last else 'nothing'}")
    if others:
        print(f"    other tests that failed: {', '.join(others[:6])}{' ...' if len(others) > 6 else ''}")
    if arguments.verbose:
        print("   ", output.strip().replace("\n", "\n    "))
    sys.stdout.flush()
    return bool(right)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kit", required=True)
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--blind", type=Path, help="the directory of the plugins that are one liar each")
    parser.add_argument("--only", default="*", help="liars whose names match")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--whole", action="store_true", help="run all tests of the kit on each, for an hour")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()

    liars = tomllib.loads(TABLE.read_text(encoding="utf-8"))["liar"]
    listed = {liar["name"] for liar in liars if liar.get("blind")}
    built = {path.stem for path in arguments.blind.glob("*.so")} if arguments.blind else listed
    if listed != built:
        sys.exit(f"plugins without an entry, or entries without a plugin: {', '.join(sorted(listed ^ built))}")
    liars = [liar for liar in liars if fnmatch.fnmatchcase(liar["name"], arguments.only)]
    if not arguments.blind:
        liars = [liar for liar in liars if not liar.get("blind")]
    if not liars:
        sys.exit(f"no liar is called {arguments.only}")

    wrong = caught = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        honest_done = None
        if arguments.only == "*":
            honest_done = pool.submit(run, arguments, {"name": "", "says": "", "tests": []})
        running = [(liar, pool.submit(run, arguments, liar)) for liar in liars]
        output = honest_done.result()[0] if honest_done else " 0 failed"
        if failures(output) or " 0 failed" not in output:
            wrong = 1
            print(f"the delegate without a fault does not pass:\n{output}")
        for liar, done in running:
            caught += report(arguments, liar, *done.result())
    print(f"{caught} of {len(liars)} liars were named")
    return 1 if wrong or caught < ENOUGH * len(liars) else 0


if __name__ == "__main__":
    sys.exit(main())
