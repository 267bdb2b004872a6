#!/usr/bin/env python3
"""Searches the sources for words that host/docs/glossary.md replaces by others.

  glossary_test.py [--root DIR]   all files of host, sdk and plugins, and README.md
  glossary_test.py --self-test    plants such words in a scratch tree and sees each caught

The words are the column "not" of the glossary's two tables. Upper and lower case are alike. A word is found alone, as a
part of a name in CamelCase or snake_case, and with an "s" at its end; a phrase also with hyphens or underscores, in
CamelCase, and across the end of a line.
"""

import argparse
import re
import sys
import tempfile
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from style_test import files_of

GLOSSARY = "host/docs/glossary.md"
SEARCHED = ("host/", "sdk/", "plugins/", "README.md")

# Headings of the tables, and the columns of the words and of their replacement.
TABLES = {("term", "meaning", "not"): (2, 0), ("not", "instead"): (0, 1)}

FORMER = "the former name of kExtensions, which the SDK refuses"
ONNX = "a name of ONNX: an attribute of Crop, a padding of GridSample"


class Excuse(NamedTuple):
    files: str  # a pattern of paths; * matches / too
    word: str
    reason: str


# Each must be in use.
EXCEPTIONS = [
    Excuse("host/cpu/ops/grid.cpp", "border", ONNX),
    Excuse("host/cli/page/page.css", "border", "a property of CSS"),
    Excuse("host/graph/inference/slicing.cpp", "border", ONNX),
    Excuse("host/kernels/grid_sample.?pp", "border", ONNX),
    Excuse("sdk/CHANGELOG.md", "abilities", FORMER),
    Excuse("sdk/include/deputy/sdk/trait_names.hpp", "abilities", FORMER),
    Excuse("sdk/conformance/*/movement.cpp", "border", ONNX),
    Excuse("sdk/conformance/*/sampling.cpp", "border", ONNX),
    Excuse("sdk/schema/operators.inc", "border", ONNX),
]

PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")  # of a name or a sentence
# Between the words of a phrase. A new line may begin with the mark of a comment, or go on with a string.
GAP = re.compile(r'[ _-]?|[ "\\]*\n[\s/*#>"]*')


class Wrong(Exception):
    pass


def words_of(text):
    """{word or phrase that is not used: its replacement}"""
    words, seen, columns = {}, set(), None
    for line in text.splitlines():
        if not line.startswith("|"):
            columns = None
            continue
        cells = tuple(cell.strip() for cell in line.strip().strip("|").split("|"))
        if cells in TABLES:
            seen.add(cells)
            columns = TABLES[cells]
        elif columns and not set(line) <= set("|-: "):
            if len(cells) <= max(columns):
                raise Wrong(f"{GLOSSARY}: a row of {len(cells)} cells: {line}")
            for word in filter(None, (part.strip(" `") for part in cells[columns[0]].split(","))):
                words[word.lower()] = cells[columns[1]]
    missing = [" | ".join(heading) for heading in TABLES if heading not in seen]
    if missing or not words:
        raise Wrong(f"{GLOSSARY}: no table with the heading '{missing[0]}'" if missing else f"{GLOSSARY}: no words")
    return words


def phrases_of(words):
    """First part -> [(all parts, word)], the longest first; of each also the plural."""
    phrases = {}
    for word in words:
        parts = re.split(r"[ _-]+", word)
        for form in (parts, [*parts[:-1], parts[-1] + "s"]):
            if " ".join(form) == word or " ".join(form) not in words:
                phrases.setdefault(form[0], []).append((form, word))
    return {first: sorted(forms, key=lambda form: -len(form[0])) for first, forms in phrases.items()}


def found_in(text, phrases):
    """(offset, word) of each occurrence"""
    parts = [(match.start(), match.end(), match[0].lower()) for match in PART.finditer(text)]
    found = []
    for i, (start, _, part) in enumerate(parts):
        for form, word in phrases.get(part, ()):
            here = parts[i:i + len(form)]
            if [item[2] for item in here] == form and all(
                GAP.fullmatch(text[left[1]:right[0]]) for left, right in zip(here, here[1:])
            ):
                found.append((start, word))
                break
    return found


def check(root, names, exceptions):
    glossary = root / GLOSSARY
    if not glossary.is_file():
        return [f"{GLOSSARY}: missing"], 0
    try:
        words = words_of(glossary.read_text(encoding="utf-8"))
    except Wrong as error:
        return [str(error)], 0
    phrases, used, wrong, count = phrases_of(words), set(), [], 0
    for name in names:
        if not name.startswith(SEARCHED) or name == GLOSSARY:
            continue
        data = (root / name).read_bytes()
        if b"\0" in data:
            continue
        count += 1
        text = data.decode("utf-8", errors="replace")
        places = [(f"{name}: its path", word) for _, word in found_in(name, phrases)]
        places += [(f"{name}:{text.count(chr(10), 0, offset) + 1}", word) for offset, word in found_in(text, phrases)]
        for place, word in places:
            excuses = [entry for entry in exceptions if entry.word == word and fnmatchcase(name, entry.files)]
            used.update(excuses)
            if not excuses:
                wrong.append(f"{place}: '{word}'; the glossary has: {words[word]}")
    for entry in exceptions:
        if entry not in used:
            wrong.append(f"{entry.files}: an exception for '{entry.word}' that nothing needs; take it off the list")
    if not any(name.startswith("host/") for name in names):
        wrong.append(f"{root}: no files below host/; there is nothing that could be checked")
    return wrong, count


def self_test():
    tables = (
        "| term | meaning | not |\n|---|---|---|\n"
        "| limiter | limits | run gate, ledger |\n| arena | memory | |\n| duplicate | file | twin, stand-in |\n\n"
        "| not | instead |\n|---|---|\n| who, for want of | the noun |\n"
    )
    glossary = {GLOSSARY: "# Glossary\n\n" + tables, "README.md": "The whole winter, outrun gatepost, ledgered.\n"}
    excuse = [Excuse("sdk/*.md", "twin", "a test")]
    # Files, exceptions, and the beginning of the only message; "" for none.
    cases = [
        ({}, [], ""),
        ({"tests/a.cpp": "twin\n"}, [], ""),
        ({"host/a.bin": "twin\0"}, [], ""),
        ({"host/a.cpp": "// a\n// its Twins\n"}, [], "host/a.cpp:2: 'twin'; the glossary has: duplicate"),
        ({"host/a.cpp": "class RunGate {};\n"}, [], "host/a.cpp:1: 'run gate'; the glossary has: limiter"),
        ({"host/a.cpp": "int run_gates;\n"}, [], "host/a.cpp:1: 'run gate'"),
        ({"host/a.cpp": "int RUN_GATE;\n"}, [], "host/a.cpp:1: 'run gate'"),
        ({"host/a.cpp": "// the run\n  // gate\n"}, [], "host/a.cpp:1: 'run gate'"),
        ({"host/a.cpp": 'Error("a run "\n      "gate");\n'}, [], "host/a.cpp:1: 'run gate'"),
        ({"host/a.cpp": "// run, gate; run the gate\n"}, [], ""),
        ({"host/a.cpp": "int ledger_ = x;\n"}, [], "host/a.cpp:1: 'ledger'"),
        ({"host/a.cpp": "HTTPLedger x;\n"}, [], "host/a.cpp:1: 'ledger'"),
        ({"plugins/a.md": "A stand-in.\n"}, [], "plugins/a.md:1: 'stand-in'"),
        ({"plugins/a.md": "StandIn\n"}, [], "plugins/a.md:1: 'stand-in'"),
        ({"sdk/a.md": "For\nwant of it.\n"}, [], "sdk/a.md:1: 'for want of'; the glossary has: the noun"),
        ({"README.md": "Who's there?\n"}, [], "README.md:1: 'who'"),
        ({"host/my_ledger.cpp": "\n"}, [], "host/my_ledger.cpp: its path: 'ledger'"),
        ({"sdk/a.md": "twin\n"}, excuse, ""),
        ({"sdk/a.cpp": "twin\n", "sdk/a.md": "twin\n"}, excuse, "sdk/a.cpp:1: 'twin'"),
        ({}, excuse, "sdk/*.md: an exception for 'twin'"),
        ({GLOSSARY: "# Glossary\n"}, [], f"{GLOSSARY}: no table with the heading 'term | meaning | not'"),
        ({GLOSSARY: tables.replace("| instead |", "| else |")}, [], f"{GLOSSARY}: no table with the heading 'not |"),
        ({GLOSSARY: tables.replace("| arena | memory | |", "| arena |")}, [], f"{GLOSSARY}: a row of 1 cells"),
    ]
    missed = []
    for files, exceptions, expected in cases:
        with tempfile.TemporaryDirectory() as scratch:
            for name, text in {**glossary, **files}.items():
                path = Path(scratch, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            wrong, _ = check(Path(scratch), files_of(Path(scratch)), exceptions)
        if len(wrong) != (expected != "") or not all(message.startswith(expected) for message in wrong):
            missed.append(f"expected '{expected}', found {wrong} for {files}")
    for message in missed:
        print(f"self-test: {message}")
    print(f"self-test: {len(cases)} cases, {len(missed)} wrong")
    return 1 if missed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    wrong, count = check(arguments.root, files_of(arguments.root), EXCEPTIONS)
    for message in wrong:
        print(message)
    print(f"glossary: {count} files, {len(wrong)} violations")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
