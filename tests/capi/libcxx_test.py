#!/usr/bin/env python3
"""Programs of the C++ API that clang builds with libc++ run on the library, which GCC builds with libstdc++.

  libcxx_test.py --library build/release/lib/libdeputy.so --target DIR --include DIR... [--clang clang++]
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "tests" / "samples" / "application"
DIGITS = ROOT / "configs" / "digits"
FLAGS = ["-std=c++20", "-stdlib=libc++", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def has_libcxx(clang):
    return subprocess.run([clang, "-stdlib=libc++", "-x", "c++", "-fsyntax-only", "-"], input="#include <vector>\n",
                          capture_output=True, text=True).returncode == 0  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--include", action="append", required=True)
    parser.add_argument("--clang", default=shutil.which("clang++") or shutil.which("clang++-14"))
    arguments = parser.parse_args()
    if not arguments.clang or not has_libcxx(arguments.clang):
        print("skipped: no clang with libc++; packaging/install-deps.sh test installs them")
        return 77
    arguments.target.mkdir(parents=True, exist_ok=True)
    folder = arguments.library.parent
    sources = sorted(SAMPLES.glob("*.cpp"))
    for source in sources:
        run(arguments.clang, *FLAGS, *[f"-I{path}" for path in arguments.include], source, "-o",
            arguments.target / source.stem, f"-L{folder}", "-ldeputy", f"-Wl,-rpath,{folder}", "-lpthread")  # fmt: skip
    run(arguments.clang, *FLAGS, "-fno-rtti", *[f"-I{path}" for path in arguments.include], "-fsyntax-only",
        SAMPLES / "classify.cpp")  # fmt: skip
    needed = run("readelf", "-d", arguments.target / "classify")
    if "libc++.so" not in needed or "libstdc++" in needed:
        sys.exit(f"classify is not a program of libc++:\n{needed}")
    pictures = sorted((DIGITS / "images").glob("*.pgm"))
    printed = run(arguments.target / "classify", DIGITS / "digits.onnx", DIGITS / "digits.yaml", *pictures)
    answers = re.findall(r"(?m)^picture \d+: (\d)$", printed)
    expected = [picture.stem.split("_")[1] for picture in pictures]
    if answers != expected:
        sys.exit(f"classify answers {answers}, not {expected}")
    print(f"{len(sources)} programs, {len(answers)} pictures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
