#!/usr/bin/env python3
"""Holds bindings in another language against the golden table of the ABI, as one holds an old version against a new one:
they are of the table's version; of every struct that they declare they have the first fields of the table, each in its
place, and nothing behind them; every number and text that they name has its value.

  bindings_test.py GOLDEN PROGRAM      PROGRAM prints lines as the table has them, without declarations
"""

import re
import subprocess
import sys
from pathlib import Path


def read(text):
    """(version, {struct: (size, [field, offset, size])}, {enumerator or constant: value}); typedefs are not asked for."""
    version, structs, values = None, {}, {}
    for row in (line.split() for line in text.splitlines()):
        if row[0] == "abi":
            version = row[1]
        elif row[0] == "struct":
            structs[row[1]] = (int(row[2]), [])
        elif row[0] == "field":
            struct, field = row[1].split(".")
            structs[struct][1].append((field, int(row[2]), int(row[3])))
        elif row[0] == "enumerator":
            values[row[1]] = int(row[2])
        elif row[0] == "constant":
            text = " ".join(row[2:])
            number = re.fullmatch(r"(0x[0-9a-f]+|\d+)u?", text)
            values[row[1]] = int(number[1], 0) if number else text
    return version, structs, values


def main():
    version, golden, values = read(Path(sys.argv[1]).read_text(encoding="utf-8"))
    made_for, bound, numbers = read(subprocess.run(sys.argv[2:], check=True, stdout=subprocess.PIPE, text=True).stdout)
    wrong = [] if made_for == version else [f"the bindings are of ABI {made_for}, the table of {version}"]
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
