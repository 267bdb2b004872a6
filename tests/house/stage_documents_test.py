#!/usr/bin/env python3
"""packaging/stage_documents.py adapts links to the places of an installation, and changes nothing else."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "packaging/stage_documents.py"
FILES = ("README.md", "docs/page.md", "samples/a.cpp")


class StageDocumentsTest(unittest.TestCase):
    def staged(self, page, before=()):
        with tempfile.TemporaryDirectory() as folder:
            root, target = Path(folder, "tree"), Path(folder, "share/doc/x")
            for name in FILES + ("inner/b.hpp",):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text("text\n", encoding="utf-8")
            (root / "docs/page.md").write_text(page, encoding="utf-8")
            for name in before:
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                (target / name).write_text("old\n", encoding="utf-8")
            subprocess.run(
                [sys.executable, SCRIPT, "--root", root, "--target", target, "--place", "share/doc/x", "--installed",
                 "include=inc", "--installed", "include/c=share/c", *FILES], check=True,
            )  # fmt: skip
            self.names = {path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()}
            return (target / "docs/page.md").read_text(encoding="utf-8")

    def test_links_between_staged_files_stay(self):
        page = "[up](../README.md#a-part), [code](../samples/a.cpp), [folder](../samples), [here](#here)\n"
        self.assertEqual(self.staged(page), page)

    def test_a_link_to_an_installed_folder_leads_there(self):
        self.assertEqual(self.staged("[`a`](../include/d/a.h)\n"), "[`a`](../../../../inc/d/a.h)\n")

    def test_the_longest_folder_decides(self):
        self.assertEqual(self.staged("[c](../include/c/c.h) [all](../include)\n"),
                         "[c](../../../c/c.h) [all](../../../../inc)\n")

    def test_a_link_to_what_is_not_installed_keeps_its_text(self):
        self.assertEqual(self.staged("see [`b.hpp` [1]](../inner/b.hpp), the rest\n"), "see `b.hpp` [1], the rest\n")

    def test_a_link_over_two_lines_is_adapted(self):
        self.assertEqual(self.staged("see [the\nfile](../include/a.h) and [the\nother](../inner/b.hpp)\n"),
                         "see [the\nfile](../../../../inc/a.h) and the\nother\n")

    def test_a_link_to_the_web_stays(self):
        page = "[web](https://example.com/../inner/b.hpp)\n"
        self.assertEqual(self.staged(page), page)

    def test_code_stays(self):
        code = "- item\n\n  ```cpp\n  auto f = [x](inner) {};\n  ```\n\n"
        self.assertEqual(self.staged(code + "[b](../inner/b.hpp)\n" + code), code + "b\n" + code)

    def test_files_of_an_earlier_stage_are_removed(self):
        self.staged("text\n", before=("docs/removed.md",))
        self.assertEqual(self.names, set(FILES))


if __name__ == "__main__":
    unittest.main()
