#!/usr/bin/env python3
"""Holds the operator schema (primitive.fbs, operators.inc) against the released versions.

  schema_test.py --schema DIR --headers DIR --goldens DIR [--write | --again]

The golden file golden_MAJOR_MINOR_schema.txt depends on no machine; the version is that of the headers. Wrong are: no
golden file for the present version; anything in it that is gone or has changed; an appended field of a table that is
required; and an appended line that is not written down yet. `--write` writes those down, and refuses where something is
broken; `--again` makes the file of the present version anew, which is for a version that is not released yet.
"""

import argparse
import sys
from pathlib import Path

import headers
import releases
import schema


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schema", type=Path, required=True)
    parser.add_argument("--headers", type=Path, required=True)
    parser.add_argument("--goldens", type=Path, required=True)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--write", action="store_true")
    mode.add_argument("--again", action="store_true")
    arguments = parser.parse_args()
    try:
        present = schema.read(arguments.schema, headers.read(arguments.headers).version)
    except (headers.Unreadable, schema.Unreadable) as error:
        raise SystemExit(str(error)) from None
    own = arguments.goldens / releases.golden_name(present.version, "schema")
    wrong = []
    for path, released in releases.goldens_of(arguments.goldens, "schema", schema.parse):
        if not releases.held_against(released.version, present.version) or (path == own and arguments.again):
            continue
        wrong += [f"{path.name}: {what}" for what in schema.compare(released, present)]
        if path == own and not arguments.write:
            wrong += [f"{path.name}: '{line}' is not written down; schema_test.py --write does it"
                      for line in schema.forgotten(released, present)]
    writes = arguments.write or arguments.again
    if not own.is_file() and not writes:
        wrong.append(f"{own.name}: there is no golden file for the schema of this version")
    for message in wrong:
        print(message)
    if writes and not wrong:
        own.write_text(schema.write(present), encoding="utf-8")
    print(f"schema {present.version[0]}.{present.version[1]}: {len(present.tables)} tables, {len(present.operators)} "
          f"operators, {len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
