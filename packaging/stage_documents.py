#!/usr/bin/env python3
"""Copies documents of this tree for an installation, and adapts their links to it.

  stage_documents.py --root TREE --target DIR --place share/doc/deputy [--installed FOLDER=PLACE...] FILE...

DIR is made anew with the FILEs, at the same paths as in the tree, so that links between them hold. --place is DIR's own
place below the prefix. --installed says where the files of a folder of the tree, or one file, are installed instead;
the longest FOLDER that fits a link decides. A link to anything else keeps its text only: what it led to is not
installed.
"""

import argparse
import os
import re
import shutil
import sys
from pathlib import Path, PurePosixPath

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^ *(```+)")


class Stage:
    def __init__(self, files, place, installed):
        self.files, self.place = set(files), place
        self.folders = {parent.as_posix() for name in files for parent in PurePosixPath(name).parents}
        self.installed = sorted(installed.items(), key=lambda item: -len(item[0]))

    def place_of(self, path):
        """Where a path of the tree is below the prefix, or None."""
        if path not in self.files:
            for folder, place in self.installed:
                if path == folder or path.startswith(folder + "/"):
                    return place + path[len(folder):]
        return f"{self.place}/{path}" if path in self.files or path in self.folders else None

    def link(self, name, match):
        image, text, target = match.groups()
        path, hash_sign, anchor = target.partition("#")
        if "://" in target or not path:
            return match[0]
        folder = os.path.dirname(name)
        place = self.place_of(os.path.normpath(os.path.join(folder, path)))
        if place is None:
            return text
        there = os.path.relpath(place, f"{self.place}/{folder}")
        return f"{image}[{text}]({there}{hash_sign}{anchor})"

    def adapted(self, name, text):
        """The document with the links that an installation has; code is left alone."""
        parts, fence = [[]], None  # of text, and of code at odd places; a link may continue on the next line
        for line in text.splitlines(keepends=True):
            mark = FENCE.match(line)
            if fence is None and mark:
                fence = mark[1]
                parts.append([line])
            elif fence is not None and line.strip() == fence:
                fence = None
                parts[-1].append(line)
                parts.append([])
            else:
                parts[-1].append(line)
        texts = ["".join(lines) for lines in parts]
        texts[::2] = [LINK.sub(lambda match: self.link(name, match), part) for part in texts[::2]]
        return "".join(texts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--place", required=True)
    parser.add_argument("--installed", action="append", default=[], metavar="FOLDER=PLACE")
    parser.add_argument("files", nargs="+", metavar="FILE")
    arguments = parser.parse_args()
    stage = Stage(arguments.files, arguments.place, dict(pair.split("=", 1) for pair in arguments.installed))
    shutil.rmtree(arguments.target, ignore_errors=True)
    for name in arguments.files:
        source, target = arguments.root / name, arguments.target / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".md"):
            target.write_text(stage.adapted(name, source.read_text(encoding="utf-8")), encoding="utf-8")
            shutil.copymode(source, target)
        else:
            shutil.copy(source, target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
