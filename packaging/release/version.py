"""Versions, and when one may break what the version before it promised."""

import re
from pathlib import Path


def of_project(root):
    found = re.search(r"^project\(Deputy VERSION ([\d.]+)", (Path(root) / "CMakeLists.txt").read_text(encoding="utf-8"), re.M)
    if not found:
        raise SystemExit(f"{root}/CMakeLists.txt: names no version")
    return found[1]


def numbers(text):
    return tuple(int(part) for part in text.split("."))


def may_break(old, new):
    """The first number that is not 0 tells of breaks: 0.2 and 0.3, 1.4 and 2.0."""
    old, new = numbers(old), numbers(new)
    return old[0] != new[0] or (new[0] == 0 and old[1:2] != new[1:2])
