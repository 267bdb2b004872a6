#!/usr/bin/env python3
"""What new users tripped over: counts that disagree between reports, problems without their place, suggestions.

  newcomers_test.py --deputy build/release/bin/deputy [unittest's arguments]
"""

import argparse
import json
import os
import re
import subprocess
import sys
import unittest

import onnx_bytes
from scratch import ScratchCase

ARGS = None


class Newcomers(ScratchCase):
    def deputy(self, *arguments, status=0, **environment):
        own = {"LC_ALL": "C.UTF-8", "NO_COLOR": "1", "XDG_CACHE_HOME": str(self.scratch / "cache"),
               "XDG_CONFIG_HOME": str(self.scratch / "user"), "DEPUTY_SYSTEM_CONFIG": "", "DEPUTY_CONFIG": ""}  # fmt: skip
        done = subprocess.run([ARGS.deputy, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                              cwd=self.scratch, env={**os.environ, **own, **environment})  # fmt: skip
        self.assertEqual(done.returncode, status, f"{arguments}\n{done.stdout}{done.stderr}")
        return done

    def config(self, text):
        path = self.scratch / "c.yaml"
        path.write_text("version: 1\n" + text)
        return path

    def model(self, *operators):
        names = ["x", *(f"v{i}" for i in range(1, len(operators))), "y"]
        nodes = [onnx_bytes.node(op, [names[i]], [names[i + 1]], "" if i else "first") for i, op in enumerate(operators)]
        path = self.scratch / "m.onnx"
        path.write_bytes(onnx_bytes.model(nodes, *([onnx_bytes.value_info(name, (2, 3))] for name in "xy")))
        return path

    def counts(self, command, *arguments):
        """Nodes and partitions by delegate in the JSON of a command, and the partitions of its line of placement."""
        done = self.deputy(command, *arguments, "--json")
        found = {d["name"]: (d["nodes"], d["partitions"]) for d in json.loads(done.stdout)["delegates"]}
        return found, int(re.search(r"delegates?, (\d+) partitions?:", done.stderr)[1])

    def test_CountsAgreeInAllReports(self):
        model = self.model("Cos", "Relu", "Sin", "Cos")
        config = self.config("delegates: [{name: npu0, delegate: sim_npu, verify: never}]\n")
        expected = {"npu0": (1, 1), "cpu": (3, 1)}
        for command, more in (("run", []), ("partition", []), ("bench", ["--runs", "1", "--warmup", "0"])):
            with self.subTest(command):
                self.assertEqual(self.counts(command, model, "--config", config, *more), (expected, 2))
        text = self.deputy("partition", model, "--config", config).stdout
        for name, (nodes, partitions) in expected.items():
            self.assertRegex(text, rf"(?m)^  {name} .* {nodes} +[\d.]+ % +{partitions} ")
        text = self.deputy("bench", model, "--config", config, "--runs", "1").stdout
        for name, (nodes, partitions) in expected.items():
            self.assertRegex(text, rf"(?m)^  {name} +{nodes} +{partitions} ")
        page = self.scratch / "page.html"
        self.deputy("partition", model, "--config", config, "--html", page)
        shown = json.loads(re.search(r'"delegates":(\[.*?\]),"partitions":\[', page.read_text())[1])
        self.assertEqual({d["name"]: (d["nodes"], d["partitions"]) for d in shown}, expected)

    def test_NodesOfTheFileAndNodesAfterThePassesAreToldApart(self):
        model = self.model("Identity", "Relu", "Cos")
        self.assertRegex(self.deputy("inspect", model).stdout, r"(?m)^  nodes +3 in the file$")
        self.assertIn("m.onnx: 2 nodes after the passes, ", self.deputy("partition", model).stdout)

    def test_NothingHasOneNodes(self):
        model = self.model("Relu")
        done = self.deputy("run", model, "--config", self.config("delegates: []\nlog: {level: debug}\n"))
        self.assertIn("cpu 1/1 node", done.stderr)
        for count in ("nodes", "partitions", "delegates", "runs", "files"):
            self.assertNotRegex(done.stdout + done.stderr, rf"\b1 {count}\b")

    def test_AReasonNamesThePlaceOfItsRule(self):
        model = self.model("Relu", "Sigmoid")
        config = self.config("delegates:\n  - {name: npu0, delegate: sim_npu, rules: {deny_ops: [Relu]}}\n"
                             "placement:\n  rules:\n    - {ops: Sigmoid, avoid: npu0}\n")  # fmt: skip
        nodes = json.loads(self.deputy("partition", model, "--config", config, "--json").stdout)["nodes"]
        details = [node["refusals"][0]["detail"] for node in nodes]
        self.assertRegex(details[0], r"^deny_ops \(.*c\.yaml:3:\d+\)$")
        self.assertRegex(details[1], r"^a placement rule keeps it away \(.*c\.yaml:6:\d+\)$")

    def test_ANumberOrAnOperatorInPlaceOfANodeIsAnswered(self):
        model = self.model("Relu", "Cos", "Cos")
        answers = {"1": "did you mean 'node 1'?", "Cos": "'Cos' is an operator, of these nodes: 'node 1', 'node 2'"}
        for name, answer in answers.items():
            self.assertIn(answer, self.deputy("partition", model, "--node", name, status=2).stderr)

    def test_AProblemOfTheModelIsAtTheRuleAndInLines(self):
        config = self.config("delegates:\n  - {name: npu0, delegate: sim_npu}\n"
                             "placement:\n  rules:\n    - {ops: Cos, to: npu0}\n")  # fmt: skip
        done = self.deputy("config", "check", config, "--model", self.model("Relu", "Cos"), status=2)
        self.assertRegex(done.stderr, r"c\.yaml:6:22: .*1 of 2 nodes is not supported by, or denied by a rule to, any "
                                      r"delegate:\n  node 1 \(Cos\); npu0: operator unknown")  # fmt: skip
        self.assertNotIn(r"\x0a", done.stderr)
        self.assertNotIn("npu0 kernels", done.stderr)

    def test_AnAbsentDelegateIsAtItsIdAndAWrongSettingAtTheSetting(self):
        config = self.config("delegates:\n  - name: npu0\n    delegate: nowhere\n")
        self.assertIn("c.yaml:4:15: no plugin offers", self.deputy("config", "check", config).stderr)
        self.assertIn("c.yaml:4:15: no plugin offers", self.deputy("run", self.model("Relu"), "--config", config).stderr)
        config = self.config("delegates:\n  - name: npu0\n    delegate: sim_npu\n")
        wrong = self.deputy("config", "check", "--config", config, "--set", "delegates.npu0.device=7", status=2)
        self.assertRegex(wrong.stderr, r"error: --set delegates\.npu0\.device.*: delegate 'npu0': there is no device '7'")

    def test_OneMeasuredRunHasNoRangeAndStepsHaveOperators(self):
        model = self.model("Relu", "Cos")
        text = self.deputy("run", model, "--repeat", "2").stdout
        self.assertNotIn("median of 1 run", text)
        self.assertRegex(text, r"(?m)^time [\d.]+ \w+, after the first run$")
        self.assertIn("node 1 (Cos)", self.deputy("profile", model, "--config", self.config("delegates: []\n")).stdout)

    def test_NarrowTerminalsKeepTheNodesOfEachDelegate(self):
        config = self.config("delegates: [{name: npu0, delegate: sim_npu, verify: never}]\n")
        lines = self.deputy("run", self.model("Relu", "Cos"), "--config", config, COLUMNS="80").stdout.splitlines()
        (head,) = [line for line in lines if line.startswith("  delegate ")]
        self.assertIn("nodes", head)
        self.assertLessEqual(max(map(len, lines)), 80)

    def test_APageToShareHasNoLocalPath(self):
        page = self.scratch / "page.html"
        config = self.config("delegates: [{name: npu0, delegate: sim_npu}]\n")
        self.deputy("partition", self.model("Relu"), "--config", config, "--html", page)
        self.assertIn('"plugin":"sim_npu.so"', page.read_text())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    ARGS, rest = parser.parse_known_args()
    ARGS.deputy = os.path.abspath(ARGS.deputy)
    unittest.main(argv=[sys.argv[0], *rest])
