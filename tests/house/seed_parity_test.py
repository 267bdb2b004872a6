#!/usr/bin/env python3
"""sdk/docs/seed-parity.md says of every feature of the three systems that Deputy grew from whether it works here.

A row works when a test has "Seed row N." (or "Seed rows N, M.") in the comment above it; what does not work says why
in sdk/docs/seed-parity.toml.

  seed_parity_test.py [--ctest-dir DIR]   checks that the page is up to date, and that ctest knows the tests in it
  seed_parity_test.py --write             writes the page
"""

import argparse
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROWS = ROOT / "sdk/docs/seed-parity.toml"
PAGE = ROOT / "sdk/docs/seed-parity.md"
LEAST = 40  # rows that work
NOTE = re.compile(r"^\s*(?://|#)\s.*\bSeed rows? (\d+(?:, \d+)*)\.")
CPP_TEST = re.compile(r"^(?:TEST|TEST_F|TEST_P)\((\w+), (\w+)\)")
PY_TEST = re.compile(r"^\s+def (test_\w+)\(")
REASONS = ("different", "later", "out")


def annotated():
    """Row number -> [(name of the test, file)]"""
    found, problems = {}, []
    files = sorted([*ROOT.glob("tests/unit/**/*.cpp"), *ROOT.glob("tests/**/*_test.cpp"),
                    *ROOT.glob("tests/**/*_test.py")])
    for path in dict.fromkeys(files):
        pending = []
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            note = NOTE.match(line)
            test = CPP_TEST.match(line) or PY_TEST.match(line)
            where = path.relative_to(ROOT).as_posix()
            if note:
                pending += [int(row) for row in note.group(1).split(", ")]
            elif test:
                for row in pending:
                    found.setdefault(row, []).append((".".join(test.groups()), where))
                pending = []
            elif pending and not line.lstrip().startswith(("//", "#", "@")):
                problems.append(f"{where}:{number}: 'Seed row' stands above no test")
                pending = []
    return found, problems


def page(rows, tests):
    lines = ["# Seed parity", "",
             "What MindSpore Lite (M), Tengine Lite (T) and ExecuTorch (E) offer to those who write delegates, and what",
             "has become of it here. Made by `tests/house/seed_parity_test.py --write` from `seed-parity.toml` and from what",
             "tests say of themselves.", ""]
    counts = {"works": 0, **dict.fromkeys(REASONS, 0)}
    table = ["| row | from | what | state | by |", "|---:|---|---|---|---|"]
    for number, row in rows.items():
        state = "works" if number in tests else next((reason for reason in REASONS if reason in row), "later")
        counts[state] += 1
        if state == "works":
            by = ", ".join(f"[{name}](../../{file})" for name, file in tests[number])
        else:
            by = row[state]
            if state == "different":
                adr = next((ROOT / "host/docs/adr").glob(f"{row['adr']:04}-*.md")).name
                by += f" ([ADR {row['adr']}](../../host/docs/adr/{adr}))"
        table.append(f"| {number} | {row['from']} | {row['what']} | {state} | {by} |")
    lines.append(", ".join(f"{count} {state}" for state, count in counts.items()) + ".")
    return "\n".join([*lines, "", *table]) + "\n", counts


def unknown_to_ctest(tests, folder):
    listing = subprocess.run(["ctest", "--test-dir", folder, "--show-only=json-v1"], check=True,
                             stdout=subprocess.PIPE).stdout
    known = json.loads(listing)["tests"]
    names = {test["name"] for test in known}
    commands = " ".join(" ".join(test.get("command", [])) for test in known)
    problems = []
    for name, file in sorted({test for found in tests.values() for test in found}):
        if file.endswith(".py"):
            runs = file in commands
        else:
            suite, case = name.split(".")
            runs = any(re.search(rf"(^|[./]){suite}\.{case}(/|$)", known_name) for known_name in names)
        if not runs:
            problems.append(f"{file}: ctest runs no test {name}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--ctest-dir", help="a build folder")
    arguments = parser.parse_args()
    rows = {int(number): row for number, row in tomllib.loads(ROWS.read_text(encoding="utf-8"))["rows"].items()}
    tests, problems = annotated()
    problems += [f"{tests[number][0][1]}: there is no seed row {number}" for number in sorted(set(tests) - set(rows))]
    for number, row in rows.items():
        reasons = [reason for reason in REASONS if reason in row]
        if number not in tests and len(reasons) != 1:
            problems.append(f"{ROWS.name}: row {number} has no test and does not say why")
        if number in tests and reasons:
            problems.append(f"{ROWS.name}: row {number} has a test and says '{reasons[0]}'")
    text, counts = page(rows, tests)
    if counts["works"] < LEAST:
        problems.append(f"only {counts['works']} rows work, not {LEAST}")
    if arguments.write:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        problems.append(f"{PAGE.name} is not up to date; run tests/house/seed_parity_test.py --write")
    if arguments.ctest_dir:
        problems += unknown_to_ctest(tests, arguments.ctest_dir)
    for problem in problems:
        print(problem)
    print("seed parity: " + ", ".join(f"{count} {state}" for state, count in counts.items()) +
          f"; {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
