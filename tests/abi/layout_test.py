#!/usr/bin/env python3
"""Holds the ABI headers against what was released.

  layout_test.py --headers DIR --goldens DIR --machine NAME [--write] [--emulator PROGRAM] COMPILER [OPTION...]

The golden file of a version and a machine holds every field's place and declaration, every typedef, enumerator and
constant. Wrong are: no golden file for the present version and machine; anything in it that is gone, moved, retyped,
renamed or renumbered, a function's parameters too; a frozen struct that has grown; what the rules forbid (a hole, a
growing struct by value, a type without a fixed width); and what was appended but not written down yet. `--write` writes
that down, and only that: it refuses where something is broken. Versions before 1.0 are held against their own golden
file alone. The copies of headers beside frozen plugins are held against theirs too. Drafts (ext/draft) keep the rules
and are held against nothing.
"""

import argparse
import re
import sys
from pathlib import Path

import golden
import headers


def goldens_of(folder, machine):
    for path in sorted(folder.glob(f"golden_*_{machine}.txt")):
        released = tuple(int(part) for part in re.match(r"golden_(\d+)_(\d+)_", path.name).groups())
        table = golden.parse(path.read_text(encoding="utf-8"), path.name)
        if table.version != released:
            raise SystemExit(f"{path.name}: holds version {table.version}")
        yield path, table


def held_against(released, version):
    return released == version or (released[0] == version[0] > 0 and released[1] <= version[1])


def wrong_in_frozen(arguments):
    """Frozen headers are what their golden file says, for ever; before the release they may lag behind it."""
    wrong = []
    for folder in sorted(arguments.goldens.glob("frozen_*")):
        include = folder / "include"
        frozen = golden.measure(headers.read(include / "deputy" / "abi"), include, arguments.compiler, arguments.emulator)
        name = f"golden_{frozen.version[0]}_{frozen.version[1]}_{arguments.machine}.txt"
        if not (arguments.goldens / name).is_file():
            wrong.append(f"{folder.name}: there is no {name}")
            continue
        released = golden.parse((arguments.goldens / name).read_text(encoding="utf-8"), name)
        wrong += [f"{folder.name} against {name}: {what}" for what in golden.compare(frozen, released)]
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headers", type=Path, required=True)
    parser.add_argument("--goldens", type=Path, required=True)
    parser.add_argument("--machine", required=True)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--emulator", action="append", default=[])
    parser.add_argument("compiler", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    include = arguments.headers.parents[1]  # .../include of .../include/deputy/abi
    try:
        everything = headers.read(arguments.headers, drafts=True)
        abi = headers.read(arguments.headers)
        drafted = golden.measure(everything, include, arguments.compiler, arguments.emulator)
        present = golden.measure(abi, include, arguments.compiler, arguments.emulator)
    except (headers.Unreadable, golden.CompilerRefuses) as error:
        raise SystemExit(str(error)) from None
    wrong = golden.check_rules(everything, drafted)
    own = arguments.goldens / f"golden_{present.version[0]}_{present.version[1]}_{arguments.machine}.txt"
    missing = True
    for path, released in goldens_of(arguments.goldens, arguments.machine):
        if not held_against(released.version, present.version):
            continue
        wrong += [f"{path.name}: {what}" for what in golden.compare(released, present)]
        if path == own:
            missing = False
            if not arguments.write:
                wrong += [f"{path.name}: {name} is not written down; layout_test.py --write does it"
                          for name in golden.forgotten(released, present)]
    if missing and not arguments.write:
        wrong.append(f"{own.name}: there is no golden file for this version and machine")
    wrong += wrong_in_frozen(arguments)
    for message in wrong:
        print(message)
    if arguments.write and not wrong:
        own.write_text(golden.write(present), encoding="utf-8")
    print(f"abi {present.version[0]}.{present.version[1]} on {arguments.machine}: {len(present.structs)} structs, "
          f"{sum(len(struct.fields) for struct in present.structs.values())} fields, {len(present.enumerators)} "
          f"enumerators, {len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
