#!/usr/bin/env python3
"""Each plugin exports exactly one symbol, and libdeputy* nothing but its own.

    exported_symbols_test.py --plugins DIR --libraries FILE..."""

import argparse
import glob
import os
import re
import subprocess
import sys


def exported(path):
    done = subprocess.run(["nm", "-D", "-C", "--defined-only", path], check=True, stdout=subprocess.PIPE, text=True)
    return [line.split(" ", 2)[2] for line in done.stdout.splitlines()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plugins", required=True)
    parser.add_argument("--libraries", nargs="+", required=True)
    args = parser.parse_args()
    problems = []
    plugins = sorted(glob.glob(os.path.join(args.plugins, "*.so")))
    if not plugins:
        problems.append(f"there is no plugin in {args.plugins}")
    for plugin in plugins:
        if exported(plugin) != ["deputy_plugin_query_v1"]:
            problems.append(f"{plugin} exports {exported(plugin)}")
    for library in args.libraries:
        names = exported(library)
        if not names:
            problems.append(f"{library} exports nothing")
        for name in names:
            if not re.match(r"(deputy::|deputy_|typeinfo (name )?for deputy::|vtable for deputy::)", name):
                problems.append(f"{library} exports {name}")
            if "deputy::host::" in name.split("(")[0]:
                problems.append(f"{library} shows its inside: {name}")
    print("\n".join(problems))
    print(f"{len(plugins)} plugins, {len(args.libraries)} libraries, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
