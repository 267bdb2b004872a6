#!/usr/bin/env python3
"""Every file of an installation of this build is in a package of packaging/debian, or is named as left out: dh_missing
says so too, but only when packages are built.

  install_lists_test.py --prefix DIR [unittest's arguments]"""

import argparse
import os
import sys
import unittest
from fnmatch import fnmatchcase
from pathlib import Path

DEBIAN = Path(__file__).resolve().parents[2] / "packaging" / "debian"
ARGS = None


def patterns():
    """Of all packages, and of what is in none. The last of several words in a line is the folder in the package."""
    found = []
    for path in [*sorted(DEBIAN.glob("*.install")), DEBIAN / "not-installed"]:
        for words in map(str.split, path.read_text(encoding="utf-8").splitlines()):
            found += words[:-1] if len(words) > 1 else words
    return found


def covers(pattern, path):
    """As dh_install: `*` ends at a slash, and a folder stands for all that is below it."""
    wanted, parts = pattern.split("/"), path.split("/")
    return len(wanted) <= len(parts) and all(map(fnmatchcase, parts, wanted))


def in_a_package(path):
    """Where the build of the packages installs a file of the prefix: its libraries are in the folder of the architecture."""
    folder, _, rest = path.partition("/")
    return f"usr/lib/{os.uname().machine}-linux-gnu/{rest}" if folder == "lib" else f"usr/{path}"


def left_over(paths, lists):
    return [path for path in paths if not any(covers(pattern, path) for pattern in lists)]


class InstallLists(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        files = (path for path in Path(ARGS.prefix).rglob("*") if path.is_symlink() or not path.is_dir())
        cls.paths = sorted(in_a_package(path.relative_to(ARGS.prefix).as_posix()) for path in files)

    def test_EveryInstalledFileIsListed(self):
        self.assertIn("usr/bin/deputy", self.paths)
        self.assertEqual(left_over(self.paths, patterns()), [])

    def test_AFileThatNoListHasIsFound(self):
        self.assertIn("usr/include/deputy.h", patterns())
        lists = [pattern for pattern in patterns() if pattern != "usr/include/deputy.h"]
        self.assertEqual(left_over(self.paths, lists), ["usr/include/deputy.h"])

    def test_AStarEndsAtASlash(self):
        self.assertTrue(covers("usr/include/deputy/*.hpp", "usr/include/deputy/model.hpp"))
        self.assertFalse(covers("usr/include/deputy/*.hpp", "usr/include/deputy/sdk/op.hpp"))
        self.assertTrue(covers("usr/include/deputy/sdk", "usr/include/deputy/sdk/op.hpp"))
        self.assertFalse(covers("usr/include/deputy/sdk", "usr/include/deputy/sdk.hpp"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--prefix", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
