"""Versions of the project."""

import re
from pathlib import Path


def of_project(root):
    found = re.search(r"^project\(Deputy VERSION ([\d.]+)", (Path(root) / "CMakeLists.txt").read_text(encoding="utf-8"), re.M)
    if not found:
        raise SystemExit(f"{root}/CMakeLists.txt: names no version")
    return found[1]


def numbers(text):
    return tuple(int(part) for part in text.split("."))
