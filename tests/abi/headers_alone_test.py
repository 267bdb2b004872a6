#!/usr/bin/env python3
"""Each ABI header compiles alone, in every C and C++ that a vendor may use, without a warning."""

import os
import shutil
import subprocess
import sys

import layout

STANDARDS = {"c": ["c99", "c11", "c17"], "c++": ["c++17", "c++20"]}
COMPILERS = {"c": ["gcc", "clang-14"], "c++": ["g++", "clang++-14"]}
CROSS = {"c": ["aarch64-linux-gnu-gcc"], "c++": ["aarch64-linux-gnu-g++"]}


def main():
    compilers = CROSS if "--cross" in sys.argv else COMPILERS
    failures = checked = 0
    for language, names in compilers.items():
        for compiler in names:
            if shutil.which(compiler) is None:
                print(f"{compiler} is missing; packaging/install-deps.sh test installs it")
                return 1
            for standard in STANDARDS[language]:
                for header in layout.headers():
                    source = f'#include "{header}"\n'
                    done = subprocess.run(
                        [compiler, "-x", language, f"-std={standard}", "-Wall", "-Wextra", "-pedantic", "-Werror",
                         "-I", layout.INCLUDE, "-fsyntax-only", "-"],
                        input=source, stderr=subprocess.PIPE, text=True,
                    )
                    checked += 1
                    if done.returncode != 0:
                        failures += 1
                        print(f"{compiler} -std={standard} {header}:\n{done.stderr}")
    print(f"{checked} compilations, {failures} failed")
    return 1 if failures or checked == 0 else 0


if __name__ == "__main__":
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    sys.exit(main())
