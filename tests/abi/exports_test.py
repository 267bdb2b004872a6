#!/usr/bin/env python3
"""Looks into built plugins: each exports the entry symbol and nothing else, and carries its manifest note.

  exports_test.py [--nm NM] [--readelf READELF] DIR NAME...       NAME.so must all be in DIR; what else is there is
                                                                  looked at too
  exports_test.py [--nm NM] [--readelf READELF] --files FILE,...
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
    parser.add_argument("--files", action="append", default=[])
    parser.add_argument("directory", type=Path, nargs="?")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    wanted = [Path(file) for group in arguments.files for file in group.split(",") if file]
    if arguments.directory is not None:
        wanted += [arguments.directory / f"{name}.so" for name in arguments.names]
    if not wanted:
        parser.error("no plugins are named")
    wrong = [f"{file.name} was not built" for file in wanted if not file.is_file()]
    plugins = {file for file in wanted if file.is_file()}
    if arguments.directory is not None:
        plugins.update(arguments.directory.glob("*.so"))
    plugins = sorted(plugins)
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
