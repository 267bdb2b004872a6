#!/usr/bin/env python3
"""Runs the fuzz targets under libFuzzer, built with the preset `fuzz`.

  run.py TARGET|all SECONDS [--jobs N]   each target for so many seconds, N of them at once
  run.py all 120 --jobs 2 --check        the same without a change of the tree: for automatic checks

Inputs that reach new code are kept in build/fuzz/corpus/<target>. A finding ends the run of its target; it is minimised
and written to tests/fuzz/regressions/<target>, so that ctest replays it. Executions and processor time are added to the
table of tests/faults/COVERAGE.md. The exit status is 1 after findings. With --check the report and the input, in base64,
are printed, since the files of an automatic check are seldom kept.
"""

import argparse
import base64
import fcntl
import hashlib
import os
import re
import resource
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import coverage_table

TESTS = Path(__file__).resolve().parents[1]
TREE = TESTS.parent
FUZZ = TESTS / "fuzz"
BUILD = TREE / "build" / "fuzz"
# Entropic scheduling takes two thirds of the time of the targets that reach much code.
TIMEOUT = 10  # seconds of one input
LIMITS = ["-entropic=0", f"-timeout={TIMEOUT}", "-rss_limit_mb=2048", "-malloc_limit_mb=1024", "-max_len=65536"]
MINIMISING_SECONDS = 30
REPORT = re.compile(r"^(==\d+==\s*ERROR|broken promise|.*runtime error:|terminate called)")
REPORT_LINES = 40


def steady():
    """The sanitizers' fixed addresses collide with a kernel that randomises many address bits."""
    command = ["setarch", os.uname().machine, "--addr-no-randomize"]
    if shutil.which("setarch") and subprocess.run([*command, "true"], capture_output=True).returncode == 0:
        return command
    return []


def build(targets):
    BUILD.mkdir(parents=True, exist_ok=True)
    with open(BUILD / "build.lock", "w") as lock:  # other runs of this program wait
        fcntl.flock(lock, fcntl.LOCK_EX)
        for command in (["cmake", "--preset", "fuzz"],
                        ["cmake", "--build", "--preset", "fuzz", "--parallel", str(os.cpu_count() or 1), "--target",
                         *(f"fuzz_{target}" for target in targets)]):  # fmt: skip
            done = subprocess.run(command, cwd=TREE, capture_output=True, text=True)
            if done.returncode != 0:
                raise SystemExit(f"{' '.join(command)}\n{done.stdout[-8000:]}{done.stderr[-8000:]}")


class Run:
    """One target under libFuzzer."""

    def __init__(self, target, seconds, prefix):
        self.target, self.seconds, self.prefix = target, seconds, prefix
        self.program = BUILD / "fuzzers" / f"fuzz_{target}"
        self.grown, self.findings = BUILD / "corpus" / target, BUILD / "findings" / target
        self.log = BUILD / "findings" / f"{target}.log"
        self.executions, self.processor_seconds, self.found, self.failure = 0, 0.0, [], ""

    def command(self, *options):
        return [*self.prefix, str(self.program), *LIMITS, *options]

    def start(self, log, *options):
        """The exit status, and the processor time of the process."""
        environment = {**os.environ, "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
                       "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1:handle_abort=1"}
        with open(log, "wb") as output:
            process = subprocess.Popen(self.command(*options), cwd=self.findings, stdout=output, stderr=output,
                                       env=environment)
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode, usage.ru_utime + usage.ru_stime

    def fuzz(self):
        for folder in (self.grown, self.findings):
            folder.mkdir(parents=True, exist_ok=True)
        for old in self.findings.glob("*"):
            old.unlink()
        status, self.processor_seconds = self.start(
            self.log, f"-max_total_time={self.seconds}", "-print_final_stats=1", f"-artifact_prefix={self.findings}/",
            str(self.grown), str(FUZZ / "corpus" / self.target),
            *(str(folder) for folder in [FUZZ / "regressions" / self.target] if folder.is_dir()))  # fmt: skip
        text = self.log.read_text(encoding="utf-8", errors="replace")
        counted = re.search(r"stat::number_of_executed_units:\s*(\d+)", text)
        self.executions = int(counted[1]) if counted else 0
        found = sorted(path for path in self.findings.glob("*-*") if not path.name.startswith("slow-unit"))
        self.found = [finding for finding in found if not self.was_starved(finding)]
        if status != 0 and not found:
            self.failure = f"ended with status {status} without an input\n{text[-3000:]}"
        return self

    def was_starved(self, finding):
        """A timeout is by the clock: on a busy machine an input may miss it that is quick by itself."""
        if not finding.name.startswith("timeout-"):
            return False
        status, seconds = self.start(BUILD / "findings" / f"{self.target}.alone.log", str(finding))
        return status == 0 and seconds < TIMEOUT

    def minimised(self, finding):
        if not finding.name.startswith("crash-"):
            return finding
        small = self.findings / "minimised"
        self.start(BUILD / "findings" / f"{self.target}.minimising.log", "-minimize_crash=1",
                   f"-max_total_time={MINIMISING_SECONDS}", f"-exact_artifact_path={small}", str(finding))
        return small if small.is_file() and small.stat().st_size else finding

    def keep(self, finding):
        content = self.minimised(finding).read_bytes()
        folder = FUZZ / "regressions" / self.target
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{finding.name.split('-')[0]}-{hashlib.sha256(content).hexdigest()[:12]}"
        path.write_bytes(content)
        return path

    def report(self):
        """The lines of the log from the first error on."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        first = next((i for i, line in enumerate(lines) if REPORT.match(line)), len(lines))
        return lines[first : first + REPORT_LINES]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target")
    parser.add_argument("seconds", type=int)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--check", action="store_true", help="write nothing into the tree")
    arguments = parser.parse_args()
    known = coverage_table.targets()
    targets = known if arguments.target == "all" else [arguments.target]
    if not set(targets) <= set(known):
        raise SystemExit(f"{arguments.target} is no target; there are: {', '.join(known)}")
    build(targets)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    prefix, bad, table = steady(), 0, threading.Lock()

    def one(target):
        nonlocal bad
        run = Run(target, arguments.seconds, prefix).fuzz()
        places = run.found if arguments.check else [run.keep(finding) for finding in run.found]
        with table:
            bad += len(places) + bool(run.failure)
            if not arguments.check:
                coverage_table.add(target, run.executions, run.processor_seconds)
            print(f"{target}: {run.executions} executions, {run.processor_seconds:.0f} s of processor time, "
                  f"{len(places)} findings", flush=True)
            for place in places:
                print(f"  {place}\n  {run.log} has the report", flush=True)
                if arguments.check:
                    print(*run.report(), base64.b64encode(run.minimised(place).read_bytes()).decode(), sep="\n",
                          flush=True)
            if run.failure:
                print(f"  {run.failure}", flush=True)

    with ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(one, targets))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
