#!/usr/bin/env python3
"""Freezes the ABI as it is: its headers and the small delegate in C, as a plugin that every later host has to run.

  freeze.py [--again]

Makes tests/abi/frozen_MAJOR_MINOR/ with a copy of the headers (drafts are promised to nobody and stay out) and the
source of the plugin, which is built against that copy and nothing else. What was released is never frozen again;
`--again` does so before the release. The golden tables have to hold the headers first (layout_test.py --write, or
--again before the release).
"""

import argparse
import shutil
import sys
from pathlib import Path

import headers

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--again", action="store_true")
    arguments = parser.parse_args()
    source = ROOT / "sdk" / "include" / "deputy" / "abi"
    version = headers.read(source).version
    target = HERE / f"frozen_{version[0]}_{version[1]}"
    if target.exists() and not arguments.again:
        raise SystemExit(f"{target} is there; --again is for versions that are not released yet")
    copy = target / "include" / "deputy" / "abi"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("draft"))
    shutil.copy(ROOT / "tests" / "languages" / "c" / "small.c", target / "plugin.c")
    print(f"{target.relative_to(ROOT)}: {len(list(copy.rglob('*.h')))} headers and plugin.c")
    return 0


if __name__ == "__main__":
    sys.exit(main())
