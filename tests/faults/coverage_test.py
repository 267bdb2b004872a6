#!/usr/bin/env python3
"""Compares COVERAGE.md, the list of fault cases, with the tests: every number has one row, every test that a row names
exists, every file whose tests name a number stands in its row, and the counts are right. The table of fuzzing has each target,
with executions and time, and its sums are right.

  coverage_test.py               the tree
  coverage_test.py --self-test   changes rows, and sees each change found
"""

import argparse
import re
import sys
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "fuzz"))

import coverage_table  # noqa: E402

PAGE = "faults/COVERAGE.md"
CASES = range(1, 211)
STATES = ("tested", "partly", "open", "not applicable")
HEAD = ["number", "P0", "case", "tests", "state", "missing, or reason"]
# Folders whose files name numbers without being tests of them.
NO_TESTS = ("faults", "mutation")


def rows_of(page):
    """The cells of each row of the tables of cases, without the heads."""
    page = page.partition(coverage_table.BEGIN)[0]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("|")]
    return [cells for cells in lines if cells != HEAD and set(cells[0]) != {"-"}]


def named_in(cell):
    """File to names of its tests, of a cell as `file: name, name; file: name`."""
    named = {}
    for part in filter(None, cell.split("; ")):
        file, _, names = part.partition(":")
        named[file] = re.findall(r"`([^`]+)`", names)
    return named


def names_of(file, text):
    """What a row may name of a file: C++ tests, methods of Python tests, and keys of tables of parameters."""
    if file.endswith(".py"):
        return set(re.findall(r"(?m)^    def (test\w+)", text)) | set(re.findall(r'(?m)^    "(\w+)": \(', text))
    return set(re.findall(r"\bTEST(?:_F|_P)?\(\s*\w+,\s*(\w+)", text)) | set(
        re.findall(r'(?m)^ +\{"(\w+)",', text)) | set(re.findall(r'(?m)^constexpr Row \w+\{"(\w+)",', text))  # fmt: skip


def numbers_in(text):
    """The numbers that names and comments of tests give, as in R67_MissingFileIsRefused."""
    return {int(number) for number in re.findall(r"(?<![A-Za-z0-9])R(\d{1,3})(?=_|\b)", text)}


def check_row(row, files):
    number, p0, case, cell, state, reason = row
    wrong = []
    if p0 not in ("", "P0"):
        wrong.append(f"{number}: '{p0}' is neither P0 nor empty")
    if not case:
        wrong.append(f"{number}: the case has no name")
    if state not in STATES:
        wrong.append(f"{number}: '{state}' is no state")
    if (state == "tested") == bool(reason):
        wrong.append(f"{number}: a reason is for every state but 'tested', and for that one none")
    named = named_in(cell)
    if (state in ("tested", "partly")) != bool(named):
        wrong.append(f"{number}: tests are for 'tested' and 'partly', and for these there are some")
    for file, names in named.items():
        if file not in files:
            wrong.append(f"{number}: there is no file {file}")
            continue
        if not names:
            wrong.append(f"{number}: no test of {file} is named")
        known = names_of(file, files[file])
        for name in names:
            if not any(one.startswith(name[:-1]) if name.endswith("*") else one == name for one in known):
                wrong.append(f"{number}: {file} has no test '{name}'")
    return wrong


def summary_of(rows):
    def counts(some):
        states = Counter(row[4] for row in some)
        return ", ".join(f"{states[state]} {state}" for state in STATES)

    first = [row for row in rows if row[1] == "P0"]
    return f"{len(rows)} cases: {counts(rows)}. Of these {len(first)} are P0: {counts(first)}."


def check(page, files):
    rows = rows_of(page)
    wrong = [f"a row has {len(row)} cells, not {len(HEAD)}: {row[0]}" for row in rows if len(row) != len(HEAD)]
    rows = [row for row in rows if len(row) == len(HEAD)]
    numbers = Counter(row[0] for row in rows)
    wrong += [f"there is no row for {number}" for number in CASES if str(number) not in numbers]
    wrong += [f"{number} is no case" for number in numbers if number not in map(str, CASES)]
    wrong += [f"there are {count} rows for {number}" for number, count in numbers.items() if count > 1]
    for row in rows:
        wrong += check_row(row, files)
    for file, text in files.items():
        if file.split("/")[0] in NO_TESTS:
            continue
        for number in numbers_in(text):
            if not any(row[0] == str(number) and file in named_in(row[3]) for row in rows):
                wrong.append(f"{file} names R{number}, and the row of {number} does not have it")
    if re.findall(r"(?m)^(\d+) ways in which", page) != [str(len(rows))]:
        wrong.append(f"the page does not begin with {len(rows)} ways, once")
    if summary_of(rows) not in page:
        wrong.append(f"the counts are: {summary_of(rows)}")
    return wrong + coverage_table.check(page)


def read_tests():
    files = {}
    for path in sorted(TESTS.rglob("*")):
        if path.suffix in (".cpp", ".hpp", ".py") and path.is_file():
            files[path.relative_to(TESTS).as_posix()] = path.read_text(encoding="utf-8")
    return files


def self_test():
    page = (TESTS / PAGE).read_text(encoding="utf-8")
    files = read_tests()
    missed = check(page, files)
    row = next(line for line in page.splitlines() if line.startswith("| 8 |"))
    never = next(line for line in page.splitlines() if "| not applicable |" in line)
    planted = {
        "there is no row for 8": page.replace(row + "\n", ""),
        "there are 2 rows for 8": page.replace(row, row + "\n" + row),
        f"{CASES[-1] + 1} is no case": page.replace(row, row.replace("| 8 |", f"| {CASES[-1] + 1} |")),
        "'R8_*'": page.replace(row, row.replace("wire_test.cpp", "sparse_test.cpp")),
        "does not have it": page.replace(row, row.replace("import/wire_test.cpp", "import/sparse_test.cpp")),
        "there is no file": page.replace(row, row.replace("wire_test", "wired_test")),
        "no test of": page.replace(row, row.replace("`R8_*`", "")),
        "is no state": page.replace(row, row.replace("| tested |", "| good |")),
        "a reason is for": page.replace(never, re.sub(r"\| not applicable \|.*", "| not applicable | |", never)),
        "tests are for": page.replace(never, never.replace("| not applicable |", "| partly |")),
        "neither P0": page.replace(row, row.replace("| 8 | |", "| 8 | P9 |").replace("| 8 |  |", "| 8 | P9 |")),
        "no name": page.replace(row, re.sub(r"^(\| 8 \|[^|]*\|)[^|]*", r"\1 ", row)),
        "the page does not begin with": re.sub(r"(?m)^\d+ ways in which", "1 ways in which", page),
        "the counts are": re.sub(r"(?m)^(\d+) cases: \d+", r"\1 cases: 0", page),
        "cells, not": page.replace(row, row + " one more |"),
        "no row of numbers for dpm": re.sub(r"(?m)^(\| `dpm` \|) [\d,]+", r"\1 many", page),
        "dpn is no target": page.replace("| `dpm` |", "| `dpn` |"),
        "dpm has not been run": re.sub(r"(?m)^(\| `dpm` \|) [\d,]+", r"\1 0", page),
        "the findings or the sums": re.sub(r"(?m)^\| all \| ", "| all | 1", page),
        "no table of fuzzing": page.replace(coverage_table.END, ""),
    }  # fmt: skip
    for expected, text in planted.items():
        if not any(expected in message for message in check(text, files)):
            missed.append(f"'{expected}' is not found")
    renamed = {**files, "unit/import/wire_test.cpp": files["unit/import/wire_test.cpp"].replace("R8_", "R9_")}
    if not any("has no test 'R8_*'" in message for message in check(page, renamed)):
        missed.append("a test that was renamed is not found")
    for message in missed:
        print(f"self-test: {message}")
    print(f"self-test: {len(planted) + 1} cases, {len(missed)} wrong")
    return 1 if missed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--self-test", action="store_true")
    if parser.parse_args().self_test:
        return self_test()
    wrong = check((TESTS / PAGE).read_text(encoding="utf-8"), read_tests())
    for message in wrong:
        print(f"{PAGE}: {message}")
    print(f"fault cases: {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
