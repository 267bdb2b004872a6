"""Reads the structs of the ABI headers: name -> list of fields, in order. Enough C for these headers, and it says so
when it meets something else."""

import re
from pathlib import Path

COMMENT = re.compile(r"/\*.*?\*/", re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*$", re.M)
STRUCT = re.compile(r"\b(?:typedef\s+)?struct\s+(\w+)\s*\{(.*?)\}\s*(\w*)\s*;", re.S)
FUNCTION = re.compile(r"\(\s*\*\s*(\w+)\s*\)\s*\(")
PLAIN = re.compile(r"(\w+)\s*(?:\[[^\]]*\])?\s*$")


def headers(root):
    found = sorted(Path(root).rglob("*.h"))
    if not found:
        raise SystemExit(f"{root}: no headers")
    return found


def fields_of(body):
    names = []
    for declaration in body.split(";"):
        declaration = declaration.strip()
        if not declaration:
            continue
        function = FUNCTION.search(declaration)
        if function:
            names.append(function[1])
            continue
        for part in declaration.split(","):
            plain = PLAIN.search(part)
            if not plain:
                raise SystemExit(f"cannot read the declaration '{declaration}'")
            names.append(plain[1])
    return names


def structs(root):
    found = {}
    for header in headers(root):
        text = DIRECTIVE.sub("", COMMENT.sub(" ", header.read_text(encoding="utf-8")))
        for match in STRUCT.finditer(text):
            if match[1] in found:
                raise SystemExit(f"{header}: {match[1]} is defined twice")
            found[match[1]] = fields_of(match[2])
    return found
