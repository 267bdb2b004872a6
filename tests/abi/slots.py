#!/usr/bin/env python3
"""Writes every function of every table of the ABI as a C string, a line each: for tests that call them all.

  slots.py HEADERS OUTPUT     HEADERS is .../deputy/abi; drafts are left out"""

import sys
from pathlib import Path

import headers


def main(root, output):
    abi = headers.read(root)
    slots = [f"{struct.name}.{field.name}" for struct in abi.structs.values() for field in struct.fields
             if field.parameters is not None]
    if len(slots) < 60:
        raise SystemExit(f"{root}: only {len(slots)} functions were found")
    Path(output).write_text("".join(f'"{slot}",\n' for slot in sorted(slots)), encoding="utf-8")


main(sys.argv[1], sys.argv[2])
