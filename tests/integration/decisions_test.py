#!/usr/bin/env python3
"""The commands that judge delegates: `verify` names what is wrong and writes it as a case, `compare` finds the fastest
configuration that is right, `tune` writes a placement that is read beside the model.

  decisions_test.py --deputy build/release/bin/deputy --fixtures build/release/fixtures/plugins --models DIR
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from scratch import PluginsCase

ARGS = None
BUDGET = "30s"  # of a search, also on a busy machine; on an idle one it takes a few
MOST_SEARCHES = 5  # PlacementDecision::kMostUnsureSearches


class Decisions(PluginsCase):
    def setUp(self):
        super().setUp()
        shutil.copy(Path(ARGS.fixtures) / "wrong_fusions.so", self.plugins)
        self.model = self.scratch / "pyramid.onnx"
        shutil.copy(Path(ARGS.models) / "pyramid.onnx", self.model)

    def deputy(self, *arguments, status=0):
        done = subprocess.run(
            [ARGS.deputy, *map(str, arguments)], capture_output=True, text=True, timeout=300,
            env={**os.environ, "NO_COLOR": "1", "XDG_CACHE_HOME": str(self.scratch / "cache")},
        )  # fmt: skip
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def config(self, fault, policy="priority"):
        path = self.scratch / f"{fault}.yaml"
        path.write_text(
            f"version: 1\nplugins: {{paths: [plugins]}}\nplacement: {{policy: {policy}}}\n"
            f"delegates: [{{name: wrong_fusions, verify: never, isolation: none, options: {{fault: {fault}}}}}]\n"
        )
        return path

    def verify(self, fault, *arguments, status=0):
        return self.deputy("verify", self.model, "--config", self.config(fault), "--shape", "x=1x3x8x8", *arguments,
                           status=status)  # fmt: skip

    def test_aRightDelegatePasses(self):
        report = json.loads(self.verify("none", "--json").stdout)
        self.assertTrue(report["partitions"])
        for partition in report["partitions"]:
            self.assertEqual(partition["result"], "right")
            self.assertEqual(partition["wrong_nodes"], [])

    def test_wrongNodesAreNamed(self):
        done = self.verify("lateral_add", "--json", status=1)
        (wrong,) = [p for p in json.loads(done.stdout)["partitions"] if p["result"] == "wrong"]
        self.assertEqual(wrong["wrong_nodes"], [["up", "lateral"]])
        self.assertEqual(wrong["delegate"], "wrong_fusions")
        self.assertTrue(wrong["plugin"].endswith("wrong_fusions.so"))
        self.assertIn("1 of 1 partitions are wrong", done.stderr)
        table = self.verify("lateral_add", status=1).stdout
        self.assertIn("up (Resize) with lateral (Add)", table)
        self.assertIn("--rtol, --atol-scale", table)

    def test_aMismatchIsWrittenAsACase(self):
        """Others can run it: the CPU passes it, the delegate fails it."""
        folder = self.scratch / "mismatches"
        self.verify("wide_channels", "--write", folder, status=1)
        (case,) = folder.iterdir()  # of the only wrong convolution
        self.assertRegex(self.deputy("inspect", case / "model.onnx").stdout, r"(?m)^  nodes +1 in the file$")
        for file in ("model.onnx", "input_0.npy", "output_0.npy", "actual_0.npy", "test_data_set_0/input_0.pb"):
            self.assertTrue((case / file).is_file(), file)
        self.assertIn("1 passed", self.deputy("test-case", case).stdout)
        self.assertIn("1 failed", self.deputy("test-case", case, "--config", self.config("wide_channels"), status=1).stdout)

    def test_tolerancesMayBeGiven(self):
        self.verify("wide_channels", "--atol", "1e6")

    def test_withoutANodeOnADelegateNothingIsVerified(self):
        done = self.deputy("verify", self.model, "--shape", "x=1x3x8x8", status=1)
        self.assertIn("nothing was compared", done.stderr)

    def compare(self, faults, *arguments, status=0):
        configs = [part for fault in faults for part in ("--config", self.config(fault))]
        done = self.deputy("compare", self.model, *configs, "--shape", "x=1x3x8x8", "--runs", "8", "--json", *arguments,
                           status=status)  # fmt: skip
        return json.loads(done.stdout)

    def test_aConfigurationIsComparedWithItsDelegates(self):
        report = self.compare(["none"])
        names = [candidate["name"] for candidate in report["candidates"]]
        self.assertEqual(names, ["CPU alone", str(self.config("none")), "wrong_fusions alone"])
        self.assertEqual([candidate["delegated_nodes"] for candidate in report["candidates"]], [0, 13, 13])
        self.assertTrue(all(candidate["matches"] for candidate in report["candidates"]))

    def test_theFirstDifferingNodesAreNamed(self):
        report = self.compare(["lateral_add", "none"], status=1)
        _, wrong, right = report["candidates"]
        self.assertFalse(wrong["matches"])
        self.assertEqual(wrong["wrong_nodes"], [["up", "lateral"]])
        self.assertIn("elements differ, worst at", "".join(output["detail"] for output in wrong["outputs"]))
        self.assertTrue(right["matches"])
        self.assertNotEqual(report["fastest"], wrong["name"])

    def test_aFaultOfEverySecondRunIsSeen(self):
        self.assertFalse(self.compare(["second_run"], status=1)["candidates"][1]["matches"])

    def test_theFastestWins(self):
        report = self.compare(["slow"])
        self.assertEqual(report["fastest"], "CPU alone")
        self.assertGreater(report["candidates"][1]["ratio"], 2)

    def test_aWrongDelegateNeverWins(self):
        """Its answers are replaced where the configuration verifies them, so that the outputs match."""
        report = self.compare(["lateral_add"], "--set", "delegates.wrong_fusions.verify=always", status=1)
        _, verified, alone = report["candidates"]
        self.assertTrue(verified["matches"])
        self.assertFalse(alone["matches"])

    def test_layersOfAConfigurationAreJoined(self):
        over = self.scratch / "over.yaml"
        over.write_text("version: 1\ndelegates: [{name: wrong_fusions, options: {fault: none}}]\n")
        joined = f"{self.config('lateral_add')}+{over}"
        done = self.deputy("compare", self.model, "--config", joined, "--shape", "x=1x3x8x8", "--runs", "4", "--json")
        self.assertEqual([c["config"] for c in json.loads(done.stdout)["candidates"]], [joined] * 3)

    def test_aLayerThatIsNoAlternativeIsAnsweredWithTheForm(self):
        layer = self.scratch / "layer.yaml"
        layer.write_text("version: 1\ndelegates: [{name: npu0, delegate: sim_npu, before: onednn}]\n")
        done = self.deputy("compare", self.model, "--config", "default", "--config", layer, status=2)
        self.assertIn(f"a layer below it is added by +, as in --config default+{layer}", done.stderr)

    def test_compareNeedsAConfiguration(self):
        self.assertIn("--config is required", self.deputy("compare", self.model, status=2).stderr)

    def tune(self, *arguments):
        return self.deputy("tune", self.model, "--config", self.config("slow"), "--shape", "x=1x3x8x8",
                           "--budget", BUDGET, *arguments)  # fmt: skip

    def run_measured(self):
        arguments = ["run", self.model, "--config", self.config("slow", "measured"), "--shape", "x=1x3x8x8"]
        return self.deputy(*arguments, "--set", "cache.dir=off", "--set", "placement.budget=1ms").stderr

    def run_until_decided(self, first, run_again):
        """On any machine: the first run measures, a later one only while the decision is unsure, as those of busy
        machines are, and after MOST_SEARCHES none. Returns the later runs that measured, and the first one that did
        not."""
        measured = r"\d placements? measured"
        self.assertRegex(first.stdout, measured)
        runs = [first]
        while re.search(measured, (done := run_again()).stdout):
            self.assertIn("unsure", runs[-1].stderr)
            runs.append(done)
            self.assertLessEqual(len(runs), MOST_SEARCHES)
        return runs[1:], done

    def test_aSlowDelegateLosesItsNodes(self):
        report = json.loads(self.tune("--json").stdout)
        self.assertLess(report["best_ns"], report["order_ns"] / 2)
        self.assertEqual(report["output"], f"{self.model}.placement.yaml")

    def test_aDecisionIsMadeOnce(self):
        """The first run verifies and measures; a second process gives the delegate no run at all."""
        trace = self.scratch / "trace"
        config = self.scratch / "measured.yaml"
        config.write_text(
            f"version: 1\nplugins: {{paths: [plugins]}}\nplacement: {{policy: measured, budget: {BUDGET}}}\n"
            f"delegates: [{{name: wrong_fusions, verify: first_run, isolation: none, options: {{fault: slow, trace: {trace}}}}}]\n"
        )
        run = ["--config", config, "--shape", "x=1x3x8x8"]
        first = self.deputy("run", self.model, *run)
        self.assertIn("measured: the CPU alone", first.stderr)
        self.assertTrue(trace.exists())

        def run_again():
            trace.unlink(missing_ok=True)
            return self.deputy("run", self.model, *run)

        later, last = self.run_until_decided(first, run_again)
        for done in (*later, last):
            self.assertIn("wrong_fusions 0/13 nodes", done.stderr)
        self.assertFalse(trace.exists() and trace.read_text(), "the delegate was run again")
        report = json.loads(self.deputy("partition", self.model, *run, "--json").stdout)
        for node in report["nodes"]:
            (refusal,) = node["refusals"]
            self.assertEqual((refusal["delegate"], refusal["reason"]), ("wrong_fusions", "slower here"))
            self.assertRegex(refusal["detail"], r"^a run takes [\d.]+ [um]s, [\d.e+]+ [um]s as ordered$")

    def test_aDecisionIsKeptForAPluginThatHasKernelsOfItsOwnOperators(self):
        config = self.scratch / "npu.yaml"
        config.write_text("version: 1\ndelegates: [{name: sim_npu}]\nplacement: {policy: measured}\n")
        run = ["run", self.model, "--config", config, "--shape", "x=1x3x8x8"]
        self.run_until_decided(self.deputy(*run), lambda: self.deputy(*run))

    def test_measuredTimesAreCosts(self):
        """A search with some shapes shows policy `cost` that the delegate is slow; it gets less for other shapes."""

        def nodes_of_delegate():
            config = self.config("slow", "cost")
            report = json.loads(self.deputy("partition", self.model, "--config", config, "--shape", "x=1x3x12x12",
                                            "--json").stdout)  # fmt: skip
            return [node for node in report["nodes"] if node["delegate"] == "wrong_fusions"]

        before = nodes_of_delegate()
        self.assertTrue(before)
        self.tune()
        self.assertIn("wrong_fusions", self.deputy("cache", "ls", "--json").stdout)
        self.assertLess(len(nodes_of_delegate()), len(before))

    def test_thePlacementIsReadBesideTheModel(self):
        self.tune()
        self.assertRegex(self.run_measured(), r"wrong_fusions 0/13 nodes.*measured: the CPU alone")

    def test_thePlacementIsNotReadUnderAnotherPolicyWithAMessage(self):
        warning = "this configuration does not read the file: it needs 'placement: {policy: measured}'"
        self.assertIn(warning, self.tune().stderr)
        self.assertNotIn(warning, self.tune("--set", "placement.policy=measured").stderr)
        said = self.deputy("run", self.model, "--config", self.config("slow"), "--shape", "x=1x3x8x8").stderr
        self.assertIn("pyramid.onnx.placement.yaml is not used, because only 'placement: {policy: measured}' reads it", said)

    def test_aFileThatCannotBeWrittenIsRefusedBeforeTheSearch(self):
        done = self.deputy("tune", self.model, "--config", "absent.yaml", "-o", "/dev/null", status=5)
        self.assertIn("/dev/null: is a device, not a file", done.stderr)

    def test_thePlacementOfAnotherModelIsIgnored(self):
        self.tune()
        shutil.copy(Path(ARGS.models) / "pyramid.onnx", self.model)
        with open(self.model, "ab") as file:
            file.write(b"\x32\x01n")  # doc_string of the ModelProto
        self.assertIn("was made for another model", self.run_measured())

    def test_aDamagedPlacementIsIgnoredWithItsLine(self):
        self.tune()
        path = Path(f"{self.model}.placement.yaml")
        path.write_text(path.read_text().replace("nodes: '", "nodes: 'x"))
        self.assertRegex(self.run_measured(), r"placement.yaml:\d+:\d+: 'nodes' must be like")

    def test_aPlacementWithNodesThatTheModelDoesNotHaveIsIgnoredWithItsLine(self):
        self.tune()
        path = Path(f"{self.model}.placement.yaml")
        path.write_text(re.sub(r"nodes: '[^']*'", "nodes: '0,99'", path.read_text()))
        said = self.run_measured()
        self.assertRegex(said, r"warning: .*pyramid.onnx.placement.yaml:\d+:\d+: 'nodes' has the number 99, but the model has "
                               r"13 nodes, from 0 on; this placement is not used")  # fmt: skip

    def test_TwoPlacementsForTheSameShapesAreIgnoredWithTheLineOfTheSecond(self):
        self.tune()
        path = Path(f"{self.model}.placement.yaml")
        text = path.read_text()
        path.write_text(text + text[text.index("  - shapes:"):])
        self.assertRegex(self.run_measured(), r"warning: .*placement.yaml:\d+:\d+: an earlier placement has the same shapes; "
                                              r"the placement file is not used")  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name in ("deputy", "fixtures", "models"):
        parser.add_argument(f"--{name}", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
