#!/usr/bin/env python3
"""Holds bindings in another language against the golden table of the ABI, as one holds an old version against a new one:
of every struct that they declare they have the first fields of the table, each in its place, and nothing behind them;
every number that they name has its value.

  bindings_test.py GOLDEN PROGRAM      PROGRAM prints lines as the table has them, without declarations
"""

import subprocess
import sys
from pathlib import Path


def read(text):
    """({struct: (size, [field, offset, size])}, {enumerator: value}); what the table says beside is not asked for."""
    structs, enumerators = {}, {}
    for row in (line.split() for line in text.splitlines()):
        if row[0] == "struct":
            structs[row[1]] = (int(row[2]), [])
        elif row[0] == "field":
            struct, field = row[1].split(".")
            structs[struct][1].append((field, int(row[2]), int(row[3])))
        elif row[0] == "enumerator":
            enumerators[row[1]] = int(row[2])
    return structs, enumerators


def main():
    golden, values = read(Path(sys.argv[1]).read_text(encoding="utf-8"))
    bound, numbers = read(subprocess.run(sys.argv[2:], check=True, stdout=subprocess.PIPE, text=True).stdout)
    wrong = []
    for struct, (size, fields) in bound.items():
        _, known = golden.get(struct, (0, []))
        if not fields or fields != known[:len(fields)]:
            wrong.append(f"{struct}: the bindings have {fields}, the table {known}")
        elif size != fields[-1][1] + fields[-1][2]:
            wrong.append(f"{struct}: {size} bytes, and its last field ends elsewhere")
    wrong += [f"{name} is {value}, in the table {values.get(name)}" for name, value in numbers.items()
              if values.get(name) != value]
    for message in wrong:
        print(message)
    print(f"bindings: {len(bound)} structs, {len(numbers)} numbers, {len(wrong)} differences")
    return 1 if wrong or not bound or not numbers else 0


if __name__ == "__main__":
    sys.exit(main())
