#!/usr/bin/env python3
"""libdeputy* show their own API and nothing else: no weak symbols of the standard library, nothing of the inside."""

import re
import subprocess
import sys

OURS = re.compile(r"deputy_\w+|Deputy\w+@@DEPUTY_\d+$|DEPUTY_\d+$")


def main():
    problems = []
    for library in sys.argv[1:]:
        listing = subprocess.run(["nm", "-D", "-C", "--defined-only", library], check=True, stdout=subprocess.PIPE,
                                 text=True).stdout
        names = [line.split(" ", 2)[2] for line in listing.splitlines()]
        if not names:
            problems.append(f"{library} exports nothing")
        for name in names:
            if not OURS.match(name):
                problems.append(f"{library} exports {name}")
    print("\n".join(problems))
    print(f"{len(sys.argv) - 1} libraries, {len(problems)} problems")
    return 1 if problems or len(sys.argv) == 1 else 0


if __name__ == "__main__":
    sys.exit(main())
