#!/usr/bin/env python3
"""Holds the tables of keys in host/docs/configuration-reference.md against the list of keys, which `deputy config reference` prints.

  configuration_document_test.py --deputy build/release/bin/deputy              compares, exit status 1 if they differ
  configuration_document_test.py --deputy build/release/bin/deputy --write      writes the tables anew
  configuration_document_test.py --deputy build/release/bin/deputy --self-test  changes a row, and sees it missed
"""

import argparse
import difflib
import subprocess
import sys
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[2] / "host" / "docs" / "configuration-reference.md"
BEGIN, END = "<!-- keys -->\n", "<!-- /keys -->\n"


def parts_of(page):
    """What is before the tables, the tables, and what is behind them."""
    before, begin, rest = page.partition(BEGIN)
    tables, end, behind = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{DOCUMENT}: the marks of the tables are missing")
    return before + begin, tables, end + behind


def differences(written, printed):
    return list(difflib.unified_diff(written.splitlines(), printed.splitlines(), "configuration-reference.md", "the keys", "", "",
                                     0, ""))  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    printed = subprocess.run([arguments.deputy, "config", "reference"], capture_output=True, text=True, check=True).stdout
    printed = "\n" + printed + "\n"
    if printed.count("| `") < 50:
        raise SystemExit("the reference has too few keys to be all")
    before, tables, behind = parts_of(DOCUMENT.read_text(encoding="utf-8"))
    if arguments.self_test:
        return 0 if differences(printed.replace("| `cpu.threads`", "| `cpu.thraeds`"), printed) else 1
    if arguments.write:
        DOCUMENT.write_text(before + printed + behind, encoding="utf-8")
        return 0
    found = differences(tables, printed)
    print("\n".join([*found, f"run {sys.argv[0]} --write"]) if found else "no difference")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
