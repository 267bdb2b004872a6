#!/usr/bin/env python3
"""Every function of every table of the ABI, drafts left out.

  slots.py HEADERS --write OUTPUT      as C strings, a line each: for tests that call them all
  slots.py HEADERS --document PAGE     compares them with the table of abi.md that says how each is carried to a worker
                                       process; exit status 1 if one is missing, twice there, or unknown

HEADERS is .../deputy/abi."""

import re
import sys
from pathlib import Path

import headers

LEAST = 60  # fewer were not read


def slots_of(root):
    abi = headers.read(root)
    slots = [f"{struct.name}.{field.name}" for struct in abi.structs.values() for field in struct.fields
             if field.parameters is not None]
    if len(slots) < LEAST:
        raise SystemExit(f"{root}: only {len(slots)} functions were found")
    return sorted(slots)


def compare(slots, page):
    table = re.search(r"<!-- marshalled -->(.*)<!-- /marshalled -->", Path(page).read_text(encoding="utf-8"), re.S)
    if table is None:
        raise SystemExit(f"{page}: the table is missing")
    rows = re.findall(r"^\| `([\w.]+)` \| .+ \|$", table[1], re.M)
    faults = [f"{slot} has no row" for slot in slots if slot not in rows]
    faults += [f"{row} is not a function of the ABI" for row in rows if row not in slots]
    faults += [f"{row} has two rows" for row in set(rows) if rows.count(row) > 1]
    for fault in faults:
        print(f"{page}: {fault}")
    print(f"marshalled functions: {len(rows)} rows, {len(faults)} faults")
    return 1 if faults else 0


def main(root, mode, path):
    if mode == "--document":
        return compare(slots_of(root), path)
    Path(path).write_text("".join(f'"{slot}",\n' for slot in slots_of(root)), encoding="utf-8")
    return 0


sys.exit(main(*sys.argv[1:]))
