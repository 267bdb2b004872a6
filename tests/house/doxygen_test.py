#!/usr/bin/env python3
"""The reference of the SDK's headers is made without a warning, and holds what the headers say.

Fails where doxygen is not installed: packaging/install-deps.sh test does that."""

import html
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# A struct, and words of the comment of one of its members, in each of the forms that the headers use.
TEXTS = {
    "structdeputy__run__args.html": "CLOCK_MONOTONIC; 0: none",  # behind a field
    "structdeputy__delegate.html": "Reads the inputs, writes every element of the outputs",  # above a function
    "structdeputy__option__info.html": "the value if it is not set",  # behind a field, with others in a column
    "classdeputy_1_1sdk_1_1DelegateBase.html": "Opens the device",  # of the C++ layer
}


def run(folder, extra=""):
    made = subprocess.run(
        ["doxygen", "-"], cwd=ROOT, capture_output=True, text=True,
        input=f"@INCLUDE = sdk/docs/Doxyfile\nOUTPUT_DIRECTORY = {folder}\n{extra}",
    )  # fmt: skip
    return made.returncode, made.stdout + made.stderr


def main():
    if not shutil.which("doxygen"):
        print("doxygen is not installed (packaging/install-deps.sh test)")
        return 1
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        status, printed = run(folder)
        if status != 0:
            wrong.append(printed)
        for page, text in TEXTS.items():
            path = Path(folder, "html", page)
            plain = path.is_file() and html.unescape(re.sub(r"<[^>]*>", "", path.read_text(encoding="utf-8")))
            if not plain or text not in plain:
                wrong.append(f"{page} does not say '{text}'")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "planted.h").write_text("/* A file. */\n\n/* @param absent there is none */\nint f(int x);\n")
        if run(folder, f"INPUT = {folder}\n")[0] == 0:
            wrong.append("a planted wrong comment is not found")
    for message in wrong:
        print(message)
    print(f"doxygen: {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
