#!/usr/bin/env python3
"""Looks into built plugins: each exports the entry symbol and nothing else, and carries its manifest note.

  exports_test.py [--nm NM] [--readelf READELF] DIR NAME...      NAME.so must all be in DIR; what else is there is looked at too
"""

import argparse
import subprocess
import sys
from pathlib import Path

ENTRY = "deputy_plugin_query_v1"


def output_of(*command):
    return subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--readelf", default="readelf")
    parser.add_argument("directory", type=Path)
    parser.add_argument("names", nargs="+")
    arguments = parser.parse_args()
    wrong = [f"{name}.so was not built" for name in arguments.names if not (arguments.directory / f"{name}.so").is_file()]
    plugins = sorted(arguments.directory.glob("*.so"))
    for plugin in plugins:
        symbols = [line.split()[-1].split("@")[0]
                   for line in output_of(arguments.nm, "-D", "--defined-only", plugin).splitlines()]
        if symbols != [ENTRY]:
            wrong.append(f"{plugin.name}: exports {symbols}")
        if "Deputy" not in output_of(arguments.readelf, "--notes", "--wide", plugin):
            wrong.append(f"{plugin.name}: has no note of Deputy's")
        flags = output_of(arguments.readelf, "--dynamic", "--wide", plugin)
        for flag in ("NOW", "NODELETE"):
            if flag not in flags:
                wrong.append(f"{plugin.name}: is not linked with {flag}")
    for message in wrong:
        print(message)
    print(f"exports: {len(plugins)} plugins, {len(wrong)} violations")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
