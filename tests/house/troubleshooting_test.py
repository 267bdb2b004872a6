#!/usr/bin/env python3
"""Compares the tables of host/docs/troubleshooting.md with the lists in the sources: every code, rule and reason has a
row with a cause, and no row is for one that does not exist.

  troubleshooting_test.py               the tree
  troubleshooting_test.py --self-test   removes and adds rows, and sees each caught
"""

import re
import sys
from pathlib import Path

import checked

ROOT = Path(__file__).resolve().parents[2]
PAGE = "host/docs/troubleshooting.md"
# No faults: a delegate that supports a node has no reason against it.
WITHOUT_ROW = {"supported"}


# Heading of the table: the file with the list, its declaration, and how a name is written in it.
LISTS = {
    "Exit status": ("host/cli/exit_code.hpp", "enum ExitCode", r"(?m)^\s+k\w+ = (\d+)"),
    "Status codes": ("host/include/deputy/status.hpp", "enum class StatusCode", r"(?m)^\s+(k\w+) = \d+"),
    "Problems of a configuration": ("host/config/origin.cpp", "NameOf(ProblemCode",
                                    r'case ProblemCode::\w+: return "([^"]+)"'),
    "Plugins that are rejected": ("host/plugin/discovery/rejection.cpp", "NameOf(RejectReason",
                                  r'case RejectReason::\w+: return "([^"]+)"'),
    "Nodes that a delegate does not get": ("host/delegate/reason.cpp", "NameOf(Reason",
                                           r'case Reason::\w+: return "([^"]+)"'),
}  # fmt: skip


def listed_in(text, declaration, pattern):
    """The names between a declaration and its closing brace, which clang-format puts in the first column."""
    start = text.index(declaration)
    body = text[start:re.compile(r"^\}", re.M).search(text, start).start()]
    return [word for word in re.findall(pattern, body) if word not in WITHOUT_ROW]


def rows_of(page, heading):
    """The first cells of the first table below the heading, and the rows without a cause."""
    section = re.split(r"(?m)^## ", page)
    text = next((part for part in section if part.splitlines()[0] == heading), None)
    if text is None:
        return None, []
    lines = [line for line in text.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    return [row[0].strip("`") for row in rows], [row[0] for row in rows if len(row) != 3 or not row[1]]


def check(page, read):
    wrong = []
    for heading, (name, declaration, pattern) in LISTS.items():
        listed = listed_in(read(name), declaration, pattern)
        if len(listed) < 3:
            wrong.append(f"{name}: {len(listed)} names found; the search of this test does not fit the file")
            continue
        rows, empty = rows_of(page, heading)
        if rows is None:
            wrong.append(f"{PAGE}: no heading '{heading}'")
            continue
        wrong += [f"{PAGE}: {heading}: no row for '{word}' of {name}" for word in listed if word not in rows]
        wrong += [f"{PAGE}: {heading}: '{word}' is not in {name}" for word in rows if word not in listed]
        wrong += [f"{PAGE}: {heading}: two rows for '{word}'" for word in sorted(set(rows)) if rows.count(word) > 1]
        wrong += [f"{PAGE}: {heading}: the row of {word} needs a cause and a remedy" for word in empty]
    return wrong


def read_file(name):
    return (ROOT / name).read_text(encoding="utf-8")


def self_test():
    page = read_file(PAGE)
    planted = {
        "no row for 'kModel'": re.sub(r"(?m)^\| `kModel` .*\n", "", page),
        "no row for 'untrusted'": re.sub(r"(?m)^\| `untrusted` .*\n", "", page),
        "'rnak' is not in": page.replace("| `rank` |", "| `rnak` |"),
        "no row for '5'": re.sub(r"(?m)^\| 5 \|.*\n", "", page),
        "two rows for 'layout'": re.sub(r"(?m)^(\| `layout` .*\n)", r"\1\1", page),
        "needs a cause": re.sub(r"(?m)^\| `kPlugin` \|[^|]*\|", "| `kPlugin` | |", page),
        "no heading 'Status codes'": page.replace("## Status codes", "## Codes"),
    }
    missed = check(page, read_file)
    for expected, text in planted.items():
        if not any(expected in message for message in check(text, read_file)):
            missed.append(f"'{expected}' is not found")
    if not any("does not fit" in message for message in check(page, lambda name: read_file(name).replace(" = ", "="))):
        missed.append("a list that cannot be read is not found")
    for message in missed:
        print(f"self-test: {message}")
    print(f"self-test: {len(planted) + 1} cases, {len(missed)} wrong")
    return 1 if missed else 0


def main():
    return checked.run(__doc__, lambda: ("troubleshooting", check(read_file(PAGE), read_file)), self_test)


if __name__ == "__main__":
    sys.exit(main())
