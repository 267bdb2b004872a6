#!/usr/bin/env python3
"""The comparison of two releases finds what was planted in made-up facts: breaks, growth, slowdowns; and nothing else."""

import copy
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

COMPARE = Path(__file__).resolve().parents[2] / "packaging" / "release" / "compare.py"

FACTS = {
    "format": 1,
    "version": "0.2.0",
    "commit": "abc",
    "abi": {
        "architecture": "x86_64",
        "plugin": [
            "abi 0.2",
            "struct deputy_pair 16",
            "field deputy_pair.struct_size 0 4 uint32_t struct_size",
            "field deputy_pair.flags 4 4 uint32_t flags",
            "field deputy_pair.self 8 8 void *self",
            "enumerator DEPUTY_OK 0 DEPUTY_OK",
        ],
        "schema": ["abi 0.2", "namespace deputy.schema", "table Node", "field Node.name 0 string key", "root_type Node",
                   'file_identifier "DPRM"', 'operator Relu "" 1 1 1 1'],
        "c": ["enumerator kDeputyOk = 0", "function DeputyFree = void DeputyFree(void *one)"],
    },
    "symbols": {"lib/libdeputy.so": ["DeputyFree@@DEPUTY_1", "_ZN6deputy5ModelC1Ev@@DEPUTY_CXX"]},
    "sizes": {"deputy-VERSION-linux-x86_64.tar.xz": 1000, "lib/libdeputy.so": 2000},
    "machine": {"cpu": "CPU one", "cpus": 4},
    "load_average": 0.25,
    "speed": [{"model": "digits", "config": "cpu-only", "threads": 1, "median_ns": 1000},
              {"model": "digits", "config": "cpu-only", "threads": 2, "median_ns": 600}],
}  # fmt: skip


class Comparison(unittest.TestCase):
    def compare(self, *changes, previous=None):
        """Status, output and page; each change is done to the facts of the new release."""
        present = copy.deepcopy(FACTS)
        for change in changes:
            change(present)
        with tempfile.TemporaryDirectory() as scratch:
            paths = [Path(scratch, name) for name in ("previous.json", "present.json", "COMPARISON.md")]
            paths[0].write_text(json.dumps(previous or FACTS), encoding="utf-8")
            paths[1].write_text(json.dumps(present), encoding="utf-8")
            done = subprocess.run([sys.executable, str(COMPARE), "--previous", str(paths[0]), "--present", str(paths[1]),
                                   str(paths[2])], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # fmt: skip
            page = paths[2].read_text(encoding="utf-8") if paths[2].exists() else ""
            return done.returncode, done.stdout, page

    def assert_breaks(self, change, expected):
        status, output, page = self.compare(change)
        self.assertEqual(status, 1, output)
        self.assertIn(f"break: {expected}", output)
        self.assertIn(f"- break: {expected}", page)

    def test_EqualFactsHaveNeitherBreaksNorWarnings(self):
        self.assertEqual(self.compare()[:2], (0, "COMPARISON.md: 0 breaks, 0 warnings\n"))

    def test_FieldThatIsGoneIsABreak(self):
        self.assert_breaks(lambda f: f["abi"]["plugin"].remove("field deputy_pair.self 8 8 void *self"),
                           "plugin ABI 0.2: deputy_pair: field 2 was")

    def test_FieldsThatChangedPlacesAreABreak(self):
        def swap(facts):
            facts["abi"]["plugin"][2:4] = ["field deputy_pair.flags 0 4 uint32_t flags",
                                           "field deputy_pair.struct_size 4 4 uint32_t struct_size"]
        self.assert_breaks(swap, "plugin ABI 0.2: deputy_pair: field 0 was")

    def test_RenumberedEnumeratorIsABreak(self):
        self.assert_breaks(lambda f: f["abi"]["plugin"].append("enumerator DEPUTY_OK 1 DEPUTY_OK"),
                           "plugin ABI 0.2: DEPUTY_OK was (0,")

    def test_OperatorThatIsGoneIsABreak(self):
        self.assert_breaks(lambda f: f["abi"]["schema"].pop(), "operator schema 0.2: Relu")

    def test_FunctionOfTheCApiThatIsGoneIsABreak(self):
        self.assert_breaks(lambda f: f["abi"]["c"].pop(), "C API 0.2.0: function DeputyFree is gone")

    def test_SymbolThatIsGoneIsABreak(self):
        self.assert_breaks(lambda f: f["symbols"]["lib/libdeputy.so"].pop(),
                           "exported symbols 0.2.0: lib/libdeputy.so: _ZN6deputy5ModelC1Ev@@DEPUTY_CXX is gone")

    def test_LibraryThatIsGoneIsABreak(self):
        self.assert_breaks(lambda f: f["symbols"].clear(), "exported symbols 0.2.0: lib/libdeputy.so is gone")

    def test_AdditionsAreListedAndNoBreaks(self):
        status, output, page = self.compare(
            lambda f: f["abi"]["plugin"].append("enumerator DEPUTY_LATE 1 DEPUTY_OK"),
            lambda f: f["abi"]["c"].append("function DeputyNew = void DeputyNew(void)"),
            lambda f: f["symbols"]["lib/libdeputy.so"].append("DeputyNew@@DEPUTY_1"))
        self.assertEqual((status, output), (0, "COMPARISON.md: 0 breaks, 0 warnings\n"))
        for name in ("DEPUTY_LATE", "function DeputyNew", "lib/libdeputy.so: DeputyNew@@DEPUTY_1"):
            self.assertIn(f"- addition: `{name}`", page)

    def test_ANewMinorNumberBefore1MayBreakTheCApiAndSymbols(self):
        changes = (lambda f: f["abi"]["c"].pop(), lambda f: f["symbols"].clear(), lambda f: f.update(version="0.3.0"))
        status, output, page = self.compare(*changes)
        self.assertEqual((status, output), (0, "COMPARISON.md: 0 breaks, 0 warnings\n"))
        self.assertIn("- break: `function DeputyFree is gone`", page)

    def test_AThirdNumberMayNot(self):
        self.assertEqual(self.compare(lambda f: f["abi"]["c"].pop(), lambda f: f.update(version="0.2.1"))[0], 1)

    def test_TheProjectsVersionDoesNotSpeakForThePluginAbi(self):
        def gone(facts):
            facts["abi"]["plugin"].pop()
            facts["version"] = "0.3.0"
        self.assertEqual(self.compare(gone)[0], 1)

        def gone_in_new_abi(facts):
            gone(facts)
            facts["abi"]["plugin"][0] = facts["abi"]["schema"][0] = "abi 0.3"
        self.assertEqual(self.compare(gone_in_new_abi)[0], 0)

    def test_From1OnOnlyTheFirstNumberMayBreak(self):
        previous = {**FACTS, "version": "1.2.0"}
        gone = lambda f: f["abi"]["c"].pop()  # noqa: E731
        self.assertEqual(self.compare(gone, lambda f: f.update(version="1.3.0"), previous=previous)[0], 1)
        self.assertEqual(self.compare(gone, lambda f: f.update(version="2.0.0"), previous=previous)[0], 0)

    def test_AnEarlierAbiMayBreakNoMore(self):
        def facts_of(abi):
            facts = copy.deepcopy(FACTS)
            facts["abi"]["plugin"][0] = facts["abi"]["schema"][0] = f"abi {abi}"
            return facts

        def gone(facts):
            facts["abi"] = facts_of("1.2")["abi"]
            facts["abi"]["plugin"].pop()
        for previous, status in (("1.1", 1), ("1.2", 1), ("1.3", 1), ("2.0", 0), ("0.2", 0)):
            with self.subTest(previous):
                self.assertEqual(self.compare(gone, previous=facts_of(previous))[0], status)

    def test_GrowthAbove5PercentIsAWarning(self):
        status, output, page = self.compare(lambda f: f["sizes"].update({"lib/libdeputy.so": 2101}))
        self.assertEqual(status, 0)
        self.assertIn("warning: lib/libdeputy.so: 1.050 of the size\n", output)
        self.assertIn("| lib/libdeputy.so | 2000 | 2101 | 1.050 | warning |", page)
        self.assertNotIn("warning:", self.compare(lambda f: f["sizes"].update({"lib/libdeputy.so": 2100}))[1])

    def test_NewAndMissingFilesAreShown(self):
        page = self.compare(lambda f: f.update(sizes={"lib/libdeputy.so": 2000, "bin/new": 7}))[2]
        self.assertIn("| bin/new | - | 7 | - |", page)
        self.assertIn("| deputy-VERSION-linux-x86_64.tar.xz | 1000 | - | - |", page)

    def test_SlowdownAbove10PercentIsAWarning(self):
        status, output, _ = self.compare(lambda f: f["speed"][1].update(median_ns=661))
        self.assertEqual(status, 0)
        self.assertIn("warning: digits, cpu-only, threads 2: 1.102 of the time\n", output)
        self.assertNotIn("warning:", self.compare(lambda f: f["speed"][1].update(median_ns=660))[1])

    def test_OtherWorkDuringTheMeasurementIsTold(self):
        page = self.compare(lambda f: f.update(load_average=3.5))[2]
        self.assertIn("on CPU one, 4 processors, with other work of 0.25 and 3.5 processes", page)

    def test_TimesOfAnotherProcessorAreNotCompared(self):
        status, output, page = self.compare(lambda f: f["machine"].update(cpu="CPU two"),
                                            lambda f: f["speed"][0].update(median_ns=9000))
        self.assertEqual((status, output), (0, "COMPARISON.md: 0 breaks, 0 warnings\n"))
        self.assertIn("Not comparable: measured on CPU one and on CPU two.", page)

    def test_WhatCannotBeComparedIsRefused(self):
        for change, expected in ((lambda f: f["abi"].update(architecture="aarch64"), "is for x86_64, this one for aarch64"),
                                 (lambda f: f.update(version="0.1.9"), "has version 0.2.0, this one 0.1.9"),
                                 (lambda f: f.update(format=2), "facts of format 2"),
                                 (lambda f: f["abi"]["plugin"].append("nonsense"), "cannot read 'nonsense'")):
            status, output, page = self.compare(change)
            self.assertEqual((status, page), (2, ""))
            self.assertIn(expected, output)


if __name__ == "__main__":
    unittest.main()
