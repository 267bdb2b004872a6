#!/usr/bin/env python3
"""Compiles each ABI header by itself, in every language a plugin may be written in. A compiler that is missing is an
error: nothing here is skipped.

  headers_alone_test.py --headers DIR --c COMPILER... --cxx COMPILER...
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import headers

WARNINGS = ("-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only")


def compile_alone(compiler, language, standard, include, root):
    source = f'#include "{include}"\nextern int deputy_header_alone;\n'
    with tempfile.NamedTemporaryFile("w", suffix=".c" if language == "c" else ".cpp") as file:
        file.write(source)
        file.flush()
        command = [compiler, f"-std={standard}", *WARNINGS, "-I", str(root), file.name]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        except FileNotFoundError:
            raise SystemExit(f"the compiler {compiler} is not installed")
    if done.returncode == 0:
        return []
    return [f"{include} as {standard} with {compiler}:\n{done.stdout}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headers", type=Path, required=True)
    parser.add_argument("--c", nargs="*", default=[])
    parser.add_argument("--cxx", nargs="*", default=[])
    arguments = parser.parse_args()
    root = arguments.headers.parents[1]  # .../include of .../include/deputy/abi
    languages = [("c", standard, compiler) for compiler in arguments.c for standard in ("c99", "c11", "c17")]
    languages += [("c++", standard, compiler) for compiler in arguments.cxx for standard in ("c++17", "c++20")]
    if not languages:
        raise SystemExit("no compilers given")
    wrong, count = [], 0
    for header in headers.headers(arguments.headers):
        for language, standard, compiler in languages:
            wrong += compile_alone(compiler, language, standard, header.relative_to(root).as_posix(), root)
            count += 1
    for message in wrong:
        print(message)
    print(f"headers alone: {count} compilations, {len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
