#!/usr/bin/env python3
"""Puts the mistakes of mutants.toml into a copy of the tree, one by one, and tells which the tests catch.

  mutate.py [-j N] [NAME...]   runs all mutants, or those whose name contains a NAME (which may be a glob)
  mutate.py --list [NAME...]   prints their names
  mutate.py --check            checks only that each text is still in its file, once

The list has a table per file of host/, and in it a line per mutant: what the mistake breaks = [the text, what stands in
its place, and perhaps a table of `tests`, the programs that should notice it, or of `survives`, the reason why none
does]. The programs are by default those of the folder's unit tests. A text that is not in its file exactly once, and a
mutant that does not compile, are errors of the list.

The copy and its build are in build/mutation and kept, so that another run compiles only what changed; the checkout
itself is never edited. Exit status 1: the list has errors, or fewer than 95 % of the mutants were caught.
"""

import argparse
import fnmatch
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("mutants.toml")
WORK = ROOT / "build/mutation"
SOURCE, TREE = WORK / "source", WORK / "tree"
LEAST = 0.95
PROGRAMS_OF = {"runtime": ["runtime_test", "api_test"], "cli": ["cli_parts_test"]}  # else the name and _test
SLOW = 300  # seconds for a program, and at least five times what it takes without a mistake


class Mutant:
    def __init__(self, file, breaks, text, instead, extra=None):
        extra = extra or {}
        self.file, self.text, self.instead = "host/" + file, text, instead
        self.name = f"{file.removesuffix('.cpp')}: {breaks}"
        folder = file.split("/")[0]
        self.programs = extra.get("tests", PROGRAMS_OF.get(folder, [folder + "_test"]))
        self.survives = extra.get("survives")

    def is_named(self, patterns):
        return not patterns or any(fnmatch.fnmatch(self.name, f"*{pattern}*") for pattern in patterns)

    def fault(self):
        path = ROOT / self.file
        count = path.read_text(encoding="utf-8").count(self.text) if path.is_file() else 0
        return None if count == 1 else f"{self.name}: its text is in the file {count} times"


def read_list():
    tables = tomllib.loads(LIST.read_text(encoding="utf-8"))
    return [Mutant(file, breaks, *edit) for file, edits in tables.items() for breaks, edit in edits.items()]


def copy_tree():
    """Copies what differs, so that ninja builds only that again."""
    command = ["git", "ls-files", "-coz", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
    files = {name for name in listed if name and (ROOT / name).is_file()}
    for name in files:
        source, target = ROOT / name, SOURCE / name
        if target.is_file() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
    for path in SOURCE.rglob("*"):
        if path.is_file() and path.relative_to(SOURCE).as_posix() not in files:
            path.unlink()


def environment():
    return {**os.environ, "CCACHE_BASEDIR": str(SOURCE), "CCACHE_NOHASHDIR": "1",
            "CCACHE_SLOPPINESS": "include_file_mtime,include_file_ctime", "XDG_CACHE_HOME": str(WORK / "cache")}


def configure():
    flags = "-O0 -g0 -w"  # -w: a mistake may leave a variable unused
    linker = ["-fuse-ld=lld"] if shutil.which("ld.lld") else []
    command = ["cmake", "-G", "Ninja", "-S", SOURCE, "-B", TREE, "-DCMAKE_BUILD_TYPE=Debug",
               f"-DCMAKE_C_FLAGS_DEBUG={flags}", f"-DCMAKE_CXX_FLAGS_DEBUG={flags}", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=4",
               "-DDEPUTY_BUILD_PLUGINS=OFF", f"-DDEPUTY_TEST_DATA={ROOT.parent / 'shared/data'}",
               *(f"-DCMAKE_{kind}_LINKER_FLAGS={flag}" for flag in linker for kind in ("EXE", "SHARED"))]  # fmt: skip
    subprocess.run(command, check=True, env=environment(), stdout=subprocess.DEVNULL)


def build(programs, jobs):
    """The output of a failed build, or None."""
    done = subprocess.run(["ninja", "-C", TREE, f"-j{jobs}", *programs], env=environment(), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    return None if done.returncode == 0 else done.stdout


def run(program, limit):
    """How the program failed, or None."""
    command = [TREE / "bin" / program, "--gtest_brief=1", "--gtest_fail_fast"]
    try:
        done = subprocess.run(command, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=limit, cwd=WORK)  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"{program}: no end within {limit:.0f} s"
    if done.returncode == 0:
        return None
    failed = re.search(rb"\[  FAILED  \] ([\w/]+\.[\w/]+)", done.stdout)
    return f"{program}: {failed[1].decode() if failed else f'exit status {done.returncode}'}"


def run_mutant(mutant, limits, jobs):
    """What caught it: None if nothing did, and an error of the list as an exception."""
    path = SOURCE / mutant.file
    original = path.read_text(encoding="utf-8")
    try:
        path.write_text(original.replace(mutant.text, mutant.instead), encoding="utf-8")
        if fault := build(mutant.programs, jobs):
            raise ValueError("does not compile:\n" + "\n".join(fault.splitlines()[-20:]))
        return next(filter(None, (run(program, limits[program]) for program in mutant.programs)), None)
    finally:
        path.write_text(original, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()

    mutants = [mutant for mutant in read_list() if mutant.is_named(options.names)]
    faults = [fault for mutant in mutants if (fault := mutant.fault())]
    if faults or not mutants:
        sys.exit("\n".join(faults) or "no mutant has this name")
    if options.list or options.check:
        print(*(mutant.name for mutant in mutants if options.list), f"{len(mutants)} mutants", sep="\n")
        return

    # A shell that starts this in the background has some signals ignored; tests expect them.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    copy_tree()
    if not (TREE / "build.ninja").is_file():
        configure()
    limits = {}
    programs = sorted({program for mutant in mutants for program in mutant.programs})
    if fault := build(programs, options.jobs):
        sys.exit("the tree does not build:\n" + fault)
    for program in programs:
        start = time.monotonic()
        if failed := run(program, 3600):
            sys.exit(f"fails without a mistake: {failed}")
        limits[program] = max(SLOW, 5 * (time.monotonic() - start))

    caught, errors = 0, 0
    for number, mutant in enumerate(mutants, 1):
        start = time.monotonic()
        try:
            by = run_mutant(mutant, limits, options.jobs)
            caught += by is not None
            result = f"caught by {by}" if by else f"survives ({mutant.survives or 'without a reason in the list'})"
        except ValueError as error:
            errors, result = errors + 1, str(error)
        print(f"[{number}/{len(mutants)}] {mutant.name}: {result} ({time.monotonic() - start:.0f} s)", flush=True)
    print(f"{caught} of {len(mutants)} caught ({100 * caught / len(mutants):.1f} %)")
    sys.exit(1 if errors or caught < LEAST * len(mutants) else 0)


if __name__ == "__main__":
    main()
