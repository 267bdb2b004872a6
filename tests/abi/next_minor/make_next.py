#!/usr/bin/env python3
"""Makes the SDK's headers as a next minor version could be, by appending in every way that is allowed.

  make_next.py [--plain] [--number MAJOR.MINOR] SDK OUT
      SDK/include/deputy/abi and SDK/schema/operators.inc -> OUT/include, OUT/schema

deputy_host gets a function, deputy_delegate gets one, deputy_run_args gets a field, there is a new extension, and Relu
gets a newer definition; with --plain nothing is appended. Without --number the version number stays, since a host before
1.0 refuses every other.
"""

import argparse
import re
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import headers  # noqa: E402

APPENDED = {
    "deputy_host": "  uint64_t (*next_number)(void *self); /* [any-thread] */\n",
    "deputy_delegate": "  deputy_status *(*next_warm_up)(deputy_instance *instance, uint32_t rounds); /* [load-time] */\n",
    "deputy_run_args": "  uint64_t next_ticket;\n",
}

EXTENSION = """#ifndef DEPUTY_ABI_EXT_NEXT_H
#define DEPUTY_ABI_EXT_NEXT_H

#include "deputy/abi/delegate.h"

#define DEPUTY_EXT_NEXT "deputy.next/1"

typedef struct deputy_ext_next {
  uint32_t struct_size;
  uint32_t reserved;
  /* The ticket of the last run, the host's number at open, and how often warm-up was called. [any-thread] */
  uint64_t (*last_ticket)(deputy_instance *instance);
  uint64_t (*number)(deputy_instance *instance);
  uint64_t (*warmed_up)(deputy_instance *instance);
} deputy_ext_next;

#endif
"""

OLD_DEFINITION = re.compile(r"^( *DEPUTY_DEFINITION\(Relu, 14,.*\n)", re.M)
NEW_DEFINITION = r"\1  DEPUTY_DEFINITION(Relu, 99, kExtended, kFloats)\n"


def renumber(base, number):
    text = base.read_text(encoding="utf-8")
    for name, value in zip(("MAJOR", "MINOR"), number.split(".")):
        text, count = re.subn(rf"^(#define DEPUTY_ABI_{name}) \d+u$", rf"\1 {value}u", text, flags=re.M)
        if count != 1:
            raise SystemExit(f"{base}: DEPUTY_ABI_{name} is not where it was")
    base.write_text(text, encoding="utf-8")


def append(sdk, out, target):
    structs = headers.read(sdk / "include" / "deputy" / "abi").structs
    for name, text in APPENDED.items():
        path = target / structs[name].header
        old = path.read_text(encoding="utf-8")
        path.write_text(old[:structs[name].end] + text + old[structs[name].end:], encoding="utf-8")
    (target / "ext" / "next.h").write_text(EXTENSION, encoding="utf-8")
    operators, count = OLD_DEFINITION.subn(NEW_DEFINITION, (sdk / "schema" / "operators.inc").read_text(encoding="utf-8"))
    if count != 1:
        raise SystemExit("operators.inc: there is no Relu-14")
    (out / "schema" / "operators.inc").write_text(operators, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--number")
    parser.add_argument("sdk", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    out, target = arguments.out, arguments.out / "include" / "deputy" / "abi"
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(arguments.sdk / "include", out / "include")
    (out / "schema").mkdir()
    for name in ("operators.inc", "operator_name.hpp"):
        shutil.copy(arguments.sdk / "schema" / name, out / "schema")
    if not arguments.plain:
        append(arguments.sdk, out, target)
    if arguments.number:
        renumber(target / "base.h", arguments.number)


if __name__ == "__main__":
    main()
