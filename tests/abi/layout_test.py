#!/usr/bin/env python3
"""Holds the ABI headers against what was released.

  layout_test.py --headers DIR --goldens DIR --machine NAME [--write | --again] [--emulator PROGRAM]
                 COMPILER [OPTION...]

The golden file of a version and a machine holds every field's place and declaration, every typedef, enumerator,
constant and macro, which enumerations are flags, which slots are optional, and a hash of the contract (the comment) of
every function, struct and field. Wrong are: no golden file for the present version and machine; anything in it that is
gone, moved, retyped, renamed or renumbered, a function's parameters too; a frozen struct that has grown; an optional
slot that is not optional any more; a contract that reads otherwise, unless contracts_MAJOR_MINOR.txt beside the golden
files has a signed line for exactly that (contracts.py), and such a line that signs nothing; what the rules forbid (a
hole, a growing struct by value, a type without a fixed width, a flag that is no power of two); and what was appended
but not written down yet.

`--write` writes that down, and only that: it refuses where something is broken, and it neither replaces the hash of a
contract nor signs a line. `--again` makes the golden file of the present version anew, as `freeze.py --again` does for
the frozen plugin: only before that version is released; the frozen plugin is made after it.

Versions before 1.0 are held against their own golden file alone. The copies of headers beside frozen plugins are held
against theirs too. Drafts (ext/draft) keep the rules and are held against nothing.
"""

import argparse
import sys
from pathlib import Path

import contracts
import golden
import headers
import releases


def wrong_in_frozen(arguments, present):
    """Frozen headers are what their golden file says, for ever; before the release they may lag behind it. Those of a
    golden file that is made anew are made after it."""
    wrong = []
    for folder in sorted(arguments.goldens.glob("frozen_*")):
        include = folder / "include"
        abi = headers.read(include / "deputy" / "abi")
        frozen = golden.measure(abi, include, arguments.compiler, arguments.emulator)
        if arguments.again and frozen.version == present.version:
            continue
        name = releases.golden_name(frozen.version, arguments.machine)
        if not (arguments.goldens / name).is_file():
            wrong.append(f"{folder.name}: there is no {name}")
            continue
        released = golden.parse((arguments.goldens / name).read_text(encoding="utf-8"), name)
        wrong += [f"{folder.name} against {name}: {what}" for what in
                  golden.compare(frozen, released) + contracts.compare(frozen.contracts, released.contracts)]
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headers", type=Path, required=True)
    parser.add_argument("--goldens", type=Path, required=True)
    parser.add_argument("--machine", required=True)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--write", action="store_true")
    mode.add_argument("--again", action="store_true")
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
    own = arguments.goldens / releases.golden_name(present.version, arguments.machine)
    signed, used, unsigned = releases.signed_for(arguments.goldens, present.version), set(), []
    written = None if own.is_file() and not arguments.again else present
    for path, released in releases.goldens_of(arguments.goldens, arguments.machine, golden.parse):
        if not releases.held_against(released.version, present.version) or (path == own and arguments.again):
            continue
        wrong += [f"{path.name}: {what}" for what in golden.compare(released, present)]
        unsigned += [f"{path.name}: {what}" for what in
                     contracts.compare(released.contracts, present.contracts, signed, used)]
        if path == own:
            written = golden.added(released, present)
            if not arguments.write:
                wrong += [f"{path.name}: {name} is not written down; layout_test.py --write does it"
                          for name in golden.forgotten(released, present)]
    if not own.is_file() and not arguments.write and not arguments.again:
        wrong.append(f"{own.name}: there is no golden file for this version and machine")
    wrong += (unsigned or contracts.unused(signed, used)) + wrong_in_frozen(arguments, present)
    for message in wrong:
        print(message)
    if (arguments.write or arguments.again) and not wrong:
        own.write_text(golden.write(written), encoding="utf-8")
    print(f"abi {present.version[0]}.{present.version[1]} on {arguments.machine}: {len(present.structs)} structs, "
          f"{sum(len(struct.fields) for struct in present.structs.values())} fields, {len(present.enumerators)} "
          f"enumerators, {len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
