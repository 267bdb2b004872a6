#!/usr/bin/env python3
"""What the documents call planned is absent: each such place names a symbol that the sources do not have, so that the
document is changed with the code.

  planned_test.py              checks the documents, and the rows of sdk/docs/seed-parity.toml that say `later`
  planned_test.py --self-test  plants wrong documents and sees each caught

A paragraph, an item of a list or a row of a table with the word "planned" or "not yet" names the symbol,
(absent: `MakeReportCommand`) or (absent: `DEPUTY_EXT_ASYNC` in `host`) for one that only a part of the tree lacks, or
has a link to host/docs/roadmap.md, each row of which names one.
"""

import re
import sys
import tempfile
import tomllib
from pathlib import Path

import checked

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("host", "sdk", "plugins")
SUFFIXES = {".c", ".cpp", ".h", ".hpp", ".inc", ".fbs", ".js", ".in", ".cmake"}
ROADMAP = "host/docs/roadmap.md"
PARITY = "sdk/docs/seed-parity.toml"
WORDS = re.compile(r"\bplanned\b|\bnot yet\b", re.I)
ABSENT = re.compile(r"\babsent: (`[^`]+`(?: in `[^`]+`)?(?:, `[^`]+`(?: in `[^`]+`)?)*)")
SYMBOL = re.compile(r"`([^`]+)`(?: in `([^`]+)`)?")
LEAST = 20  # symbols


def blocks_of(text):
    """(line, text) of paragraphs, items and rows; without code, whose words are not the document's."""
    block, start, inside = [], 0, False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if line.lstrip().startswith("```"):
            inside = not inside
        begins = re.match(r"\s*([-*|#]|\d+\.) ?", line)
        if block and (inside or not line.strip() or begins):
            yield start, " ".join(block)
            block = []
        if not inside and line.strip() and not line.lstrip().startswith("```"):
            start = start if block else number
            block.append(line.strip())


def words_of(root, folder):
    """The identifiers of the sources below a folder."""
    words = set()
    for path in sorted((root / folder).rglob("*")):
        if path.suffix in SUFFIXES or path.name == "CMakeLists.txt":
            words.update(re.findall(r"\w+", path.read_text(encoding="utf-8", errors="replace")))
    return words


class Sources:
    def __init__(self, root):
        self.root, self.words = root, {}

    def have(self, symbol, folder):
        for name in (folder,) if folder else SOURCES:
            if name not in self.words:
                self.words[name] = words_of(self.root, name)
            if symbol in self.words[name]:
                return name
        return None


def check(root):
    """What is wrong, and how many symbols were looked for."""
    sources, wrong, count = Sources(root), [], 0

    def look(place, symbol, folder):
        nonlocal count
        count += 1
        if not re.fullmatch(r"\w+", symbol):
            wrong.append(f"{place}: '{symbol}' is not an identifier")
        elif folder and not (root / folder).is_dir():
            wrong.append(f"{place}: there is no folder {folder}")
        elif (found := sources.have(symbol, folder)) is not None:
            wrong.append(f"{place}: '{symbol}' is in {found}: describe what is there, or name what is still absent")

    documents = [root / "README.md", *(root / ".github").glob("*.md")]
    for folder in (*SOURCES, "configs"):
        documents += sorted((root / folder).rglob("*.md"))
    for path in documents:
        if not path.is_file():
            continue
        name = path.relative_to(root).as_posix()
        heading = ""
        for line, text in blocks_of(path.read_text(encoding="utf-8")):
            heading = text.lower() if text.startswith("#") else heading
            named = [symbol for found in ABSENT.findall(text) for symbol in SYMBOL.findall(found)]
            for symbol, folder in named:
                look(f"{name}:{line}", symbol, folder)
            if WORDS.search(text) and not named and "roadmap.md" not in text and not is_prose_of(name, text):
                wrong.append(f"{name}:{line}: says 'planned' or 'not yet' without an absent symbol and without a link "
                             f"to {ROADMAP}")  # fmt: skip
            if name == ROADMAP and "planned" in heading and re.match(r"\| (?!---|plan \|)", text) and not named:
                wrong.append(f"{name}:{line}: this row names no absent symbol")
    rows = root / PARITY
    for number, row in (tomllib.loads(rows.read_text(encoding="utf-8"))["rows"] if rows.is_file() else {}).items():
        if ("later" in row) != ("absent" in row):
            wrong.append(f"{PARITY}: row {number} has one of 'later' and 'absent' without the other")
        elif "absent" in row:
            symbol, _, folder = row["absent"].partition(" in ")
            look(f"{PARITY}: row {number}", symbol, folder)
    return wrong, count


def is_prose_of(name, text):
    """The pages that explain the word itself."""
    return name == ROADMAP and not text.startswith("|")


def self_test():
    cases = [
        ("README.md", "It will be there (absent: `Nowhere`), as planned.\n", ""),
        ("README.md", "A part is planned\n(absent: `Nowhere` in `host`).\n", ""),
        ("README.md", "See [planned](host/docs/roadmap.md).\n", ""),
        ("README.md", "```\nplanned\n```\n", ""),
        ("README.md", "A part is planned.\n", "without an absent symbol"),
        ("README.md", "| a | not yet |\n", "without an absent symbol"),
        ("README.md", "- one (absent: `Nowhere`)\n- two is planned\n", "without an absent symbol"),
        ("README.md", "It is planned (absent: `Here`).\n", "'Here' is in host"),
        ("README.md", "Without the word (absent: `Here`).\n", "'Here' is in host"),
        ("README.md", "It is planned (absent: `Here` in `sdk`).\n", ""),
        ("README.md", "It is planned (absent: `Here` in `sdkk`).\n", "no folder sdkk"),
        ("README.md", "It is planned (absent: `a b`).\n", "not an identifier"),
        ("host/docs/roadmap.md", "## Planned\n\n| plan | b |\n|---|---|\n| a | later |\n", "names no absent symbol"),
        ("host/docs/roadmap.md", "## Left out\n\n| wish | b |\n|---|---|\n| a | never |\n", ""),
        (PARITY, '[rows]\n1 = { later = "x", absent = "Nowhere" }\n', ""),
        (PARITY, '[rows]\n1 = { later = "x", absent = "Here" }\n', "'Here' is in host"),
        (PARITY, '[rows]\n1 = { later = "x" }\n', "without the other"),
    ]
    missed = 0
    for name, text, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for made in ("host", "sdk/docs", "plugins", "host/docs"):
                (root / made).mkdir(parents=True, exist_ok=True)
            (root / "host" / "a.cpp").write_text("int Here() { return 1; }\n", encoding="utf-8")
            (root / name).write_text(text, encoding="utf-8")
            wrong, _ = check(root)
        if (not expected and wrong) or (expected and (len(wrong) != 1 or expected not in wrong[0])):
            print(f"self-test: expected '{expected}', found {wrong} for:\n{text}")
            missed += 1
    print(f"self-test: {len(cases)} cases, {missed} wrong")
    return 1 if missed else 0


def main():
    def check_tree():
        wrong, count = check(ROOT)
        if count < LEAST:
            wrong.append(f"only {count} symbols are named, not {LEAST}")
        return f"planned, {count} absent symbols", wrong

    return checked.run(__doc__, check_tree, self_test)


if __name__ == "__main__":
    sys.exit(main())
