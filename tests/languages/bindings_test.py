#!/usr/bin/env python3
"""Holds bindings in another language against the golden table of the ABI: every struct that they declare has the size,
all the fields at the places of the table, and every number its value.

  bindings_test.py GOLDEN PROGRAM      PROGRAM prints lines as the table has them, without declarations
"""

import subprocess
import sys
from pathlib import Path


def lines_of(text):
    """Without what the declaration says: the bindings have types of their own."""
    kept = {"abi": 2, "struct": 3, "field": 4, "enumerator": 3}
    rows = [line.split() for line in text.splitlines()]
    return [" ".join(row[:kept[row[0]]]) for row in rows if row[0] in kept]


def main():
    golden = lines_of(Path(sys.argv[1]).read_text(encoding="utf-8"))
    printed = lines_of(subprocess.run(sys.argv[2:], check=True, stdout=subprocess.PIPE, text=True).stdout)
    structs = {line.split()[1] for line in printed if line.startswith("struct ")}
    declared = [line for line in golden if line.split()[0] == "field" and line.split()[1].split(".")[0] in structs]
    wrong = [f"not in the golden table: {line}" for line in printed if line not in golden]
    wrong += [f"missing in the bindings: {line}" for line in declared if line not in printed]
    for message in wrong:
        print(message)
    print(f"bindings: {len(structs)} structs, {len(declared)} fields, {len(wrong)} differences")
    return 1 if wrong or not structs else 0


if __name__ == "__main__":
    sys.exit(main())
