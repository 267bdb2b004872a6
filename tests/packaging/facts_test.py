#!/usr/bin/env python3
"""The facts of an installation of this build, and that they equal themselves when they are compared.

  facts_test.py --prefix DIR --build-dir DIR [unittest's arguments]"""

import argparse
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "packaging" / "release"
ARGS = None


class Facts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.scratch = Path(folder.name)
        cls.path = cls.scratch / "release-facts.json"
        artefacts = cls.scratch / "artefacts"
        artefacts.mkdir()
        found = subprocess.run(["sed", "-n", r"s/^project(Deputy VERSION \([0-9.]*\).*/\1/p", ROOT / "CMakeLists.txt"],
                               check=True, stdout=subprocess.PIPE, text=True)  # fmt: skip
        cls.version = found.stdout.strip()
        (artefacts / f"deputy-{cls.version}-linux-x.tar.xz").write_bytes(bytes(1234))
        subprocess.run([sys.executable, str(SCRIPTS / "facts.py"), "--prefix", ARGS.prefix, "--build-dir", ARGS.build_dir,
                        "--artefacts", str(artefacts), "--commit", "abc", "--rounds", "1", "--runs", "3", str(cls.path)],
                       check=True, stdout=subprocess.PIPE)  # fmt: skip
        cls.facts = json.loads(cls.path.read_text(encoding="utf-8"))

    def test_HoldsVersionAndCommit(self):
        self.assertEqual((self.facts["version"], self.facts["commit"]), (self.version, "abc"))

    def test_HoldsTheGoldenFiles(self):
        abi = self.facts["abi"]
        self.assertIn("struct deputy_str 16", abi["plugin"])
        self.assertEqual(abi["plugin"][0], abi["schema"][0])
        self.assertIn("enumerator kDeputyOk = 0", abi["c"])

    def test_HoldsWhatPublicLibrariesExport(self):
        symbols = self.facts["symbols"]
        self.assertEqual(sorted(symbols), ["lib/libdeputy.so", "lib/libdeputy_ort_ep.so", "lib/libdeputy_tflite.so"])
        self.assertIn("DeputySessionCancel@@DEPUTY_1", symbols["lib/libdeputy.so"])
        self.assertIn("CreateEpFactories", symbols["lib/libdeputy_ort_ep.so"])
        self.assertFalse([name for name in symbols["lib/libdeputy.so"] if not name.startswith("Deputy")])

    def test_HoldsSizesUnderNamesWithoutAVersion(self):
        sizes = self.facts["sizes"]
        self.assertEqual(sizes["deputy-VERSION-linux-x.tar.xz"], 1234)
        self.assertEqual(sizes["bin/deputy"], Path(ARGS.prefix, "bin", "deputy").stat().st_size)
        self.assertEqual(sizes["lib/libdeputy.so"], Path(ARGS.prefix, "lib", "libdeputy.so").resolve().stat().st_size)
        self.assertFalse([name for name in sizes if self.version in name])

    def test_HoldsTimesOfEachModelWithEachConfiguration(self):
        speed = self.facts["speed"]
        cases = {(turn["model"], turn["config"], turn["threads"]) for turn in speed}
        self.assertEqual(len(cases), len(speed))
        for model in ("digits", "chain", "filters", "squeezenet1_1"):
            for configuration in ("cpu-only", "default"):
                for threads in (1, 2):
                    self.assertIn((model, configuration, threads), cases)
        self.assertTrue(all(turn["median_ns"] > 0 for turn in speed))
        self.assertTrue(self.facts["machine"]["cpu"])

    def test_EqualThemselves(self):
        page = self.scratch / "COMPARISON.md"
        done = subprocess.run([sys.executable, str(SCRIPTS / "compare.py"), "--previous", str(self.path), "--present",
                               str(self.path), str(page)], stdout=subprocess.PIPE, text=True)  # fmt: skip
        self.assertEqual((done.returncode, done.stdout), (0, "COMPARISON.md: 0 breaks, 0 warnings\n"))
        self.assertIn("| bin/deputy |", page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--build-dir", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
