#!/usr/bin/env python3
"""The text of the conformance kit's report, for fixtures that fail in known ways: numbers that agree with what was saved,
long lists that are cut, and warnings.

  report_test.py --kit deputy-conformance --plugins DIRECTORY --liars liars.so
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def report(arguments, plugin, *more):
    command = [arguments.kit, plugin, *more]
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stdout


def failures_are_counted(arguments):
    """All failures of a test are told, not only those of the causes that are listed."""
    with tempfile.TemporaryDirectory() as folder:
        output = report(arguments, arguments.plugins / "wrong_values.so", "--filter", "numerics.Relu",
                        "--save-failures", folder)  # fmt: skip
        saved = len(list(Path(folder).iterdir()))
    told = re.search(r"^ +numerics\.Relu  (\d+) failures in all; (\d+) failures? of cases", output, re.M)
    listed = re.findall(r"^FAIL  numerics\.Relu  .*?(?:\(and (\d+) more cases? with this failure\))?$", output, re.M)
    if told is None or int(told[1]) != saved:
        return f"{saved} cases were saved, and the report says:\n{output}"
    shown = sum(1 + int(more or 0) for more in listed)
    return "" if shown + int(told[2]) == saved else f"{shown} listed and {told[2]} further are not {saved}:\n{output}"


def long_lists_are_cut(arguments):
    """A cause that nearly every test has names a few of them."""
    output = report(arguments, arguments.plugins / "fails_init.so", "--filter", "*")
    lines = [line for line in output.splitlines() if line.startswith("FAIL") and " more tests  as " in line]
    if len(lines) != 1 or re.search(r" and \d\d+ more tests  as ", lines[0]) is None:
        return f"no list of tests is cut:\n{output}"
    return "" if lines[0].count(",") == 5 else f"more than six tests are named: {lines[0]}"


def small_tables_are_named(arguments):
    """A delegate's table that is too small is not one with empty slots."""
    output = report(arguments, arguments.plugins / "short_delegate.so", "--filter", "options.schema")
    expected = "FAIL  options.schema  the delegate's struct_size is too small; see entry.tables"
    return "" if expected in output else f"'{expected}' is missing:\n{output}"


def one_is_singular(arguments):
    names = ("Abs", "Neg", "Relu", "Exp", "Sqrt", "Sign", "Ceil")
    output = report(arguments, arguments.liars, "--filter", ",".join(f"numerics.{name}" for name in names))
    expected = "1 operator with a larger share"
    if expected not in output:
        return f"'{expected}' is missing:\n{output}"
    output = report(arguments, arguments.plugins / "good.so", "--filter", "entry.note")
    return "" if "good.so: 1 test passed, 0 failed, 0 excused, 0 skipped; 1 case\n" in output else output


def cancel_without_effect_is_a_warning(arguments):
    output = report(arguments, arguments.plugins / "ignores_cancel.so", "--filter", "calls.cancel")
    if "WARNING  calls.cancel  no run ended early of 24 that were cancelled" not in output:
        return f"there is no warning:\n{output}"
    return "" if ": 1 test passed, 0 failed" in output else f"a warning is no failure:\n{output}"


class Threads:
    @staticmethod
    def test_R205_no_further_thread_fails_a_test(arguments):
        """The kit says that it can start no further thread, and does not end; jobs of a plugin run on fewer threads."""
        command = ["prlimit", "--nproc=1", arguments.kit, arguments.liars, "--in-process"]
        if os.geteuid() == 0:  # root has no limit
            command = ["setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups", *command]
        for name, expected in (("state.Relu", "the kit can start no further thread"), ("execution.threads", "the kit can"),
                               ("numerics.Relu", "1 test passed, 0 failed")):  # fmt: skip
            done = subprocess.run([*command, "--filter", name], capture_output=True, text=True, check=False)
            if expected not in done.stdout or done.returncode not in (0, 1):
                return f"'{expected}' is missing for {name} ({done.returncode}):\n{done.stdout}{done.stderr}"
        return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kit", required=True)
    parser.add_argument("--plugins", type=Path, required=True)
    parser.add_argument("--liars", required=True)
    arguments = parser.parse_args()
    wrong = 0
    for check in (failures_are_counted, long_lists_are_cut, small_tables_are_named, one_is_singular,
                  cancel_without_effect_is_a_warning, Threads.test_R205_no_further_thread_fails_a_test):  # fmt: skip
        fault = check(arguments)
        wrong += bool(fault)
        print(f"{check.__name__}: {fault or 'right'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
