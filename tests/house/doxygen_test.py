#!/usr/bin/env python3
"""The references of the SDK's headers and of the host's are made without a warning, and hold what the headers say.

Fails where doxygen is not installed: packaging/install-deps.sh test does that."""

import html
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# For each Doxyfile, where its headers are, and pages with words that they must have: of the comment of a declaration in
# each of the forms that the headers use.
REFERENCES = {
    "sdk/docs/Doxyfile": ("sdk/include", {
        "structdeputy__run__args.html": "CLOCK_MONOTONIC; 0: none",  # behind a field
        "structdeputy__delegate.html": "Reads the inputs, writes every element of the outputs",  # above a function
        "structdeputy__option__info.html": "in force if it is not set",  # behind a field, with others in a column
        "classdeputy_1_1sdk_1_1DelegateBase.html": "Opens the device",  # of the C++ layer
    }),
    "host/docs/Doxyfile": ("host/include", {
        "classdeputy_1_1Session.html": "A Predict that takes longer ends with kDeadlineExceeded",  # above a function
        "structdeputy_1_1Incident.html": "of the partition, or those of it that are wrong",  # behind a field
        "classdeputy_1_1Model.html": "so any thread may make sessions. (any-thread)",  # of a class, with its tag
        "namespacedeputy.html": "recognizes it by its first bytes",  # of an enumeration
    }),
}  # fmt: skip

# Folders of headers that are no reference: the bodies of the C++ API for programs, and the lists of fields.
INTERNAL = ("detail", "fields")


def run(doxyfile, folder, extra=""):
    made = subprocess.run(
        ["doxygen", "-"], cwd=ROOT, capture_output=True, text=True,
        input=f"@INCLUDE = {doxyfile}\nOUTPUT_DIRECTORY = {folder}\n{extra}",
    )  # fmt: skip
    return made.returncode, made.stdout + made.stderr


def text_of(page):
    return html.unescape(re.sub(r"<[^>]*>", "", page.read_text(encoding="utf-8"))) if page.is_file() else ""


def check(doxyfile, headers, texts):
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        status, printed = run(doxyfile, folder)
        if status != 0:
            wrong.append(printed)
        for page, text in texts.items():
            if text not in text_of(Path(folder, "html", page)):
                wrong.append(f"{doxyfile}: {page} does not say '{text}'")
        files = text_of(Path(folder, "html", "files.html"))
        for header in sorted((ROOT / headers).rglob("*.h*")):
            if header.parent.name not in INTERNAL and header.name not in files:
                wrong.append(f"{doxyfile}: {header.relative_to(ROOT)} is not in the reference")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "planted.h").write_text("/* A file. */\n\n/* @param absent there is none */\nint f(int x);\n")
        if run(doxyfile, folder, f"INPUT = {folder}\n")[0] == 0:
            wrong.append(f"{doxyfile}: a planted wrong comment is not found")
    return wrong


def check_types():
    """Types of the host's headers without a comment; members whose name says all need none."""
    with tempfile.TemporaryDirectory() as folder:
        _, printed = run("host/docs/Doxyfile", folder, "EXTRACT_ALL = NO\nGENERATE_HTML = NO\nGENERATE_XML = YES\n")
    missing = re.findall(r"\S+: error: (?:Compound|Member \w+ \(enumeration\)).* is not documented", printed)
    if "is not documented" not in printed:
        missing.append("no member is without a comment; the search of this test does not fit doxygen's messages")
    return sorted(set(missing))


def main():
    if not shutil.which("doxygen"):
        print("doxygen is not installed (packaging/install-deps.sh test)")
        return 1
    wrong = [message for doxyfile, parts in REFERENCES.items() for message in check(doxyfile, *parts)] + check_types()
    for message in wrong:
        print(message)
    print(f"doxygen: {len(REFERENCES)} references, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
