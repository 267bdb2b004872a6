#!/usr/bin/env python3
"""Holds the layout of the ABI against what was released.

  layout_test.py --headers DIR --goldens DIR --machine NAME PROGRAM...

PROGRAM is the built layout.c (with an emulator in front of it, for another machine). Wrong are: a field of the headers
that layout.c does not print; no golden file for the present version and machine; a released struct or field that is gone,
has moved, changed its size or got another in front of it; a frozen struct that has grown. Appended fields and new structs
are right. Versions before 1.0 are held against their own golden file only.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

import headers

# Structs without a struct_size never change at all (base.h).
SIZE_FIELD = "struct_size"


def parse(text, name):
    """(version, {struct: (size, [(field, offset, size)])})"""
    version, structs = None, {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        try:
            if words[0] == "abi":
                version = tuple(int(part) for part in words[1].split("."))
            elif "." in words[0]:
                struct, field = words[0].split(".")
                structs[struct][1].append((field, int(words[1]), int(words[2])))
            else:
                structs[words[0]] = (int(words[1]), [])
        except (IndexError, KeyError, ValueError):
            raise SystemExit(f"{name}:{number}: cannot read '{line}'")
    if version is None:
        raise SystemExit(f"{name}: says no version")
    return version, structs


def compare(golden, present, name):
    wrong = []
    for struct, (size, fields) in golden.items():
        if struct not in present:
            wrong.append(f"{name}: {struct} is gone")
            continue
        now_size, now_fields = present[struct]
        for index, old in enumerate(fields):
            new = now_fields[index] if index < len(now_fields) else None
            if new != old:
                wrong.append(f"{name}: {struct}: field {index} was {old}, is {new}")
        grows = bool(fields) and fields[0][0] == SIZE_FIELD
        if now_size != size and (not grows or now_size < size):
            wrong.append(f"{name}: {struct} had {size} bytes, has {now_size}")
        if not grows and len(now_fields) != len(fields):
            wrong.append(f"{name}: {struct} is frozen and has {len(now_fields)} fields instead of {len(fields)}")
    return wrong


def check_listed(declared, present):
    wrong = []
    for struct, fields in declared.items():
        printed = [field for field, _, _ in present.get(struct, (0, []))[1]]
        if printed != fields:
            wrong.append(f"layout.c: {struct}: the headers have {fields}, it prints {printed}")
    return wrong


def self_test():
    golden = {"a": (16, [(SIZE_FIELD, 0, 4), ("x", 8, 8)]), "frozen": (8, [("p", 0, 8)])}
    cases = (
        ("the same", dict(golden), True),
        ("appended field", {**golden, "a": (24, golden["a"][1] + [("y", 16, 8)])}, True),
        ("new struct", {**golden, "b": (8, [])}, True),
        ("struct gone", {"frozen": golden["frozen"]}, False),
        ("field gone", {**golden, "a": (16, golden["a"][1][:1])}, False),
        ("field renamed", {**golden, "a": (16, [(SIZE_FIELD, 0, 4), ("z", 8, 8)])}, False),
        ("fields swapped", {**golden, "a": (16, [("x", 0, 8), (SIZE_FIELD, 8, 4)])}, False),
        ("field inserted", {**golden, "a": (16, [(SIZE_FIELD, 0, 4), ("n", 4, 4), ("x", 8, 8)])}, False),
        ("field moved", {**golden, "a": (24, [(SIZE_FIELD, 0, 4), ("x", 16, 8)])}, False),
        ("field retyped", {**golden, "a": (16, [(SIZE_FIELD, 0, 4), ("x", 8, 4)])}, False),
        ("frozen struct grown", {**golden, "frozen": (16, [("p", 0, 8), ("q", 8, 8)])}, False),
    )
    wrong = [what for what, present, right in cases if (not compare(golden, present, "self-test")) != right]
    if not check_listed({"a": [SIZE_FIELD, "x", "forgotten"]}, golden):
        wrong.append("a field that layout.c forgot")
    for what in wrong:
        print(f"self-test: judged wrongly: {what}")
    print(f"self-test: {len(cases) + 1} cases, {len(wrong)} wrong")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headers")
    parser.add_argument("--goldens", type=Path)
    parser.add_argument("--machine")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("program", nargs="*")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    text = subprocess.run(arguments.program, check=True, stdout=subprocess.PIPE, text=True).stdout
    version, present = parse(text, "layout.c")
    wrong = check_listed(headers.structs(arguments.headers), present)
    compared = []
    for path in sorted(arguments.goldens.glob(f"golden_*_{arguments.machine}.txt")):
        released = tuple(int(part) for part in re.match(r"golden_(\d+)_(\d+)_", path.name).groups())
        golden_version, golden = parse(path.read_text(encoding="utf-8"), path.name)
        if golden_version != released:
            wrong.append(f"{path.name}: holds version {golden_version}")
        if released == version or (released[0] == version[0] and released[0] > 0):
            wrong += compare(golden, present, path.name)
            compared.append(released)
    if version not in compared:
        wrong.append(f"no golden file for version {version} on {arguments.machine}")
    for message in wrong:
        print(message)
    print(f"abi {version[0]}.{version[1]} on {arguments.machine}: {len(present)} structs, {len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
