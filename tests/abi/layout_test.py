#!/usr/bin/env python3
"""The layout of the ABI on one architecture against the committed table: the old must be a prefix of the new.

    layout_test.py --arch x86_64 --cc gcc
    layout_test.py --arch aarch64 --cc aarch64-linux-gnu-gcc --run "qemu-aarch64-static -L /usr/aarch64-linux-gnu"

--update writes the table; for a new minor version, with a line in sdk/CHANGELOG.md. --self-test edits copies of the
headers and sees each harmful edit refused and an append pass."""

import argparse
import os
import re
import shutil
import sys
import tempfile

import layout

HERE = os.path.dirname(os.path.abspath(__file__))
VERSION = "0_1"


def golden_path(arch):
    return os.path.join(HERE, f"golden_{VERSION}_{arch}.txt")


def self_test(compiler):
    golden = layout.measure(compiler)
    # header, what is replaced, by what, and whether that is harmless
    edits = [
        ("delegate.h", "  uint32_t input_count;\n  uint32_t output_count;\n  uint32_t flags; /* 0 */",
         "  uint32_t output_count;\n  uint32_t input_count;\n  uint32_t flags; /* 0 */", False),
        ("delegate.h", "  const void *fences;", "  uint64_t wedge;\n  const void *fences;", False),
        ("delegate.h", "  uint64_t deadline_ns;", "  uint32_t deadline_ns;", False),
        ("delegate.h", "DEPUTY_REASON_RANK = 4", "DEPUTY_REASON_RANK = 5", False),
        ("base.h", "  uint64_t size;\n} deputy_str;", "  uint64_t size;\n  uint64_t more;\n} deputy_str;", False),
        ("tensor.h", "  uint64_t handle;", "", False),
        ("tensor.h", "  uint64_t byte_size; /* bytes of the tensor's elements */\n",
         "  uint64_t byte_size;\n  uint64_t appended;\n", True),
        ("ext/propose.h", "  void *handle;", "  void *handle;\n  uint64_t appended;", True),
    ]
    wrong = 0
    for header, old, new, harmless in edits:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(layout.INCLUDE, folder, dirs_exist_ok=True)
            path = os.path.join(folder, "deputy", "abi", header)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            if old not in text:
                print(f"self-test: {header} has no {old!r}")
                wrong += 1
                continue
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace(old, new, 1))
            problems = layout.compare(golden, layout.measure(compiler, include_root=folder))
            if bool(problems) == harmless:
                print(f"self-test: {header}: {new!r} gives {problems or 'no problem'}")
                wrong += 1
    print(f"self-test: {len(edits)} edits, {wrong} judged wrong")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--arch", default="x86_64")
    parser.add_argument("--cc", default="gcc")
    parser.add_argument("--run", default="")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    if shutil.which(args.cc) is None:
        print(f"{args.cc} is missing; packaging/install-deps.sh test installs it")
        return 1
    if args.self_test:
        return self_test(args.cc)
    present = layout.measure(args.cc, args.run.split())
    if args.update:
        with open(golden_path(args.arch), "w", encoding="utf-8") as file:
            file.write("\n".join(present) + "\n")
        return 0
    if not os.path.exists(golden_path(args.arch)):
        print(f"there is no {golden_path(args.arch)}: a missing baseline fails")
        return 1
    with open(golden_path(args.arch), encoding="utf-8") as file:
        golden = file.read().splitlines()
    problems = layout.compare(golden, present)
    # New lines must be committed too, or the next change could take them away unseen.
    missing = sorted(set(present) - set(golden)) if not problems else []
    for problem in problems + [f"not in the table yet: {line}" for line in missing]:
        print(problem)
    fields = sum(1 for line in present if re.search(r"\.\w+ \d+ \d+$", line))
    print(f"{args.arch}: {fields} fields, {len(problems) + len(missing)} problems")
    return 1 if problems or missing else 0


if __name__ == "__main__":
    sys.exit(main())
