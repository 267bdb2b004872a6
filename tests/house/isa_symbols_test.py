#!/usr/bin/env python3
"""Code of one instruction set stays with itself: reads the symbols of the linear algebra's archive.

Each module (host/kernels/linalg/module_*.cpp) is compiled for its own instruction set. What it emits as a weak symbol
(inline functions, templates) the linker merges with every other definition of that name in the program, whichever was
compiled for what. Therefore every weak function and variable of a module must name the module's own Eigen, and the only
other thing that a module may define for others is its table.

  isa_symbols_test.py ARCHIVE       checks libdeputy_linalg.a, exit status 1 if anything is wrong
  isa_symbols_test.py --self-test   plants each kind of violation and sees it caught
"""

import argparse
import platform
import re
import subprocess
import sys

MODULES = ["baseline", "v3", "v4"] if platform.machine() in ("x86_64", "AMD64") else ["baseline"]
TABLES = {"baseline": "kModuleBaseline", "v3": "kModuleV3", "v4": "kModuleV4"}
MEMBER = re.compile(r"module_(\w+)\.cpp\.o$")
LINE = re.compile(r"^.*\[(?P<member>[^\]]+)\]: (?P<name>\S+) (?P<type>\S)(?: |$)")
SANITIZER = re.compile(r"^(__asan|__odr_asan|__tsan|__ubsan|asan\.|tsan\.)")
# A pointer to the compiler's exception handler: data, the same in every object.
PERSONALITY = "DW.ref.__gxx_personality_v0"


def symbols_of(archive):
    """{object: {symbol: nm's letter}} of what the objects define for others."""
    output = subprocess.run(
        ["nm", "--defined-only", "--extern-only", "--format=posix", "-A", archive], check=True, capture_output=True,
        text=True,
    ).stdout  # fmt: skip
    objects = {}
    for line in output.splitlines():
        match = LINE.match(line)
        if match:
            objects.setdefault(match["member"], {})[match["name"]] = match["type"]
    return objects


def check(objects):
    wrong = []
    modules = {MEMBER.search(name)[1]: symbols for name, symbols in objects.items() if MEMBER.search(name)}
    for module in MODULES:
        if module not in modules:
            wrong.append(f"module_{module}.cpp.o is not in the archive")
            continue
        # Mangled names carry their lengths: 8Eigen_v3.
        eigen = f"{len('Eigen_' + module)}Eigen_{module}"
        tables = 0
        for name, letter in modules[module].items():
            if SANITIZER.match(name) or name == PERSONALITY:
                continue
            if letter in "VWu":
                if eigen not in name:
                    wrong.append(f"module_{module}: weak symbol {name} is shared with the rest of the program")
            elif TABLES[module] in name:
                tables += 1
            else:
                wrong.append(f"module_{module}: symbol {name} is neither weak nor the module's table")
        if tables != 1:
            wrong.append(f"module_{module}: {tables} tables instead of one")
    return wrong


def self_test():
    def archive():
        return {
            "linalg.cpp.o": {"_ZN6linalg4GemmEv": "T"},
            **{
                f"module_{m}.cpp.o": {
                    f"_ZN6linalg{TABLES[m]}E": "R",
                    f"_ZN{len('Eigen_' + m)}Eigen_{m}4gemmEv": "W",
                    PERSONALITY: "V",
                }
                for m in MODULES
            },
        }

    def without(objects, member):
        return {name: symbols for name, symbols in objects.items() if name != member}

    def added(member, name, letter):
        objects = archive()
        objects[member][name] = letter
        return objects

    cases = [
        ("clean", archive(), 0),
        ("module missing", without(archive(), "module_baseline.cpp.o"), 1),
        ("nothing at all", {}, len(MODULES)),
        ("std function", added("module_baseline.cpp.o", "_ZSt3maxIlERKT_S2_S2_", "W"), 1),
        ("another module's Eigen", added("module_baseline.cpp.o", "_ZN8Eigen_v34gemmEv", "W"), 1),
        ("plain Eigen", added("module_baseline.cpp.o", "_ZN5Eigen4gemmEv", "W"), 1),
        ("variable", added("module_baseline.cpp.o", "_ZN6linalg5cacheE", "V"), 1),
        ("strong function", added("module_baseline.cpp.o", "_ZN6linalg4helpEv", "T"), 1),
    ]
    missed = [f"{name}: {check(objects)}" for name, objects, count in cases if len(check(objects)) != count]
    for message in missed:
        print(f"self-test: {message}")
    print(f"self-test: {len(cases)} cases, {len(missed)} wrong")
    return 1 if missed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", nargs="?")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    if arguments.archive is None:
        parser.error("an archive is needed")
    wrong = check(symbols_of(arguments.archive))
    for message in wrong:
        print(message)
    print(f"instruction sets: {len(MODULES)} modules, {len(wrong)} violations")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
