"""The table of what was fuzzed for how long: the section of tests/faults/COVERAGE.md between two marks."""

import fcntl
import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS / "faults" / "COVERAGE.md"
BEGIN, END = "<!-- fuzzing -->", "<!-- /fuzzing -->"
HEAD = "| target | executions | CPU hours | findings |\n|---|---:|---:|---:|\n"
ROW = re.compile(r"^\| `(\w+)` \| ([\d,]+) \| (\d+\.\d\d\d) \| (\d+) \|$", re.M)
TOTAL = re.compile(r"^\| all \| ([\d,]+) \| (\d+\.\d\d\d) \| (\d+) \|$", re.M)


def targets():
    """As the build lists them."""
    text = (TESTS / "fuzz" / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.findall(r"(?m)^\s*deputy_fuzz_target\((\w+)", text)


def findings_of(target):
    return sum(1 for path in (TESTS / "fuzz" / "regressions" / target).glob("*") if path.is_file())


def section_of(page):
    """The text between the marks; None without them."""
    match = re.search(f"{re.escape(BEGIN)}\n(.*?){re.escape(END)}", page, re.S)
    return match[1] if match else None


def rows_of(section):
    """Target to executions and hours."""
    return {name: (int(runs.replace(",", "")), float(hours)) for name, runs, hours, _ in ROW.findall(section)}


def text_of(rows):
    lines = [f"| `{name}` | {rows[name][0]:,} | {rows[name][1]:.3f} | {findings_of(name)} |" for name in sorted(rows)]
    runs, hours = sum(row[0] for row in rows.values()), sum(row[1] for row in rows.values())
    lines.append(f"| all | {runs:,} | {hours:.3f} | {sum(map(findings_of, rows))} |")
    return HEAD + "\n".join(lines) + "\n"


def add(target, executions, seconds):
    """Adds a run to the table; targets without a run have a row of zeros. Several programs may do so at once."""
    with open(PAGE, "r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        page = file.read()
        section = section_of(page)
        if section is None:
            raise SystemExit(f"{PAGE} has no marks {BEGIN} and {END}")
        rows = {name: rows_of(section).get(name, (0, 0.0)) for name in targets()}
        rows[target] = (rows[target][0] + executions, rows[target][1] + seconds / 3600)
        file.seek(0)
        file.write(page.replace(BEGIN + "\n" + section, BEGIN + "\n" + text_of(rows)))
        file.truncate()


def check(page):
    """What is wrong with the section."""
    section = section_of(page)
    if section is None:
        return ["there is no table of fuzzing"]
    rows, expected = rows_of(section), targets()
    wrong = [f"fuzzing: there is no row of numbers for {name}" for name in expected if name not in rows]
    wrong += [f"fuzzing: {name} is no target" for name in rows if name not in expected]
    wrong += [f"fuzzing: {name} has not been run" for name, row in rows.items() if row[0] == 0]
    if section != text_of(rows):
        wrong.append(f"fuzzing: the findings or the sums are wrong; expected\n{text_of(rows)}")
    return wrong
