"""The command `deputy` of the package: runs the program in its folder, without importing the package."""

import importlib.util
import os
import sys


def main() -> int:
    spec = importlib.util.find_spec("deputy")
    folders = spec.submodule_search_locations if spec else None
    if not folders:
        print("deputy: the package is not installed", file=sys.stderr)
        return 1
    program = os.path.join(folders[0], "installation", "bin", "deputy")
    try:
        os.execv(program, ["deputy", *sys.argv[1:]])
    except OSError as error:
        print(f"deputy: {program}: {error.strerror}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
