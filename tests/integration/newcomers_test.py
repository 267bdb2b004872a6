#!/usr/bin/env python3
"""What new users tripped over: counts that disagree between reports, problems without their place, suggestions.

  newcomers_test.py --deputy build/release/bin/deputy [unittest's arguments]
"""

import argparse
import ctypes
import json
import mmap
import os
import re
import shutil
import struct
import subprocess
import sys
import unittest
from pathlib import Path

import onnx_bytes
from scratch import ScratchCase

ARGS = None


class Newcomers(ScratchCase):
    def deputy(self, *arguments, status=0, **environment):
        own = {"LC_ALL": "C.UTF-8", "NO_COLOR": "1", "XDG_CACHE_HOME": str(self.scratch / "cache"),
               "XDG_CONFIG_HOME": str(self.scratch / "user"), "DEPUTY_SYSTEM_CONFIG": "", "DEPUTY_CONFIG": ""}  # fmt: skip
        done = subprocess.run([ARGS.deputy, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                              cwd=self.scratch, env={**os.environ, **own, **environment})  # fmt: skip
        self.assertIn(done.returncode, range(6) if status is None else [status], f"{arguments}\n{done.stdout}{done.stderr}")
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

    def convolution(self):
        """A model whose float32 results differ from those of an NPU with float16 products, and a case of it."""
        values = [((i * 7919) % 2003) / 1001 - 1 for i in range(16 * 16 * 9)]
        node = onnx_bytes.node("Conv", ["x", "w"], ["y"], "first", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        shape, weights = (1, 16, 8, 8), onnx_bytes.tensor(values, (16, 16, 3, 3), "w")
        data = onnx_bytes.model([node], *([onnx_bytes.value_info(name, shape)] for name in "xy"), initializers=[weights])
        case = self.scratch / "case"
        (case / "test_data_set_0").mkdir(parents=True)
        (case / "model.onnx").write_bytes(data)
        inputs = onnx_bytes.tensor([values[-i] for i in range(1, 1025)], shape)
        (case / "test_data_set_0" / "input_0.pb").write_bytes(inputs)
        self.deputy("run", case / "model.onnx", "--config", "cpu-only", "--input",
                    f"x={case / 'test_data_set_0' / 'input_0.pb'}", "--output-dir", case)  # fmt: skip
        expected = struct.unpack("<1024f", (case / "y.npy").read_bytes()[-4096:])
        (case / "test_data_set_0" / "output_0.pb").write_bytes(onnx_bytes.tensor(expected, shape))
        return case

    def test_TolerancesFollowThePrecisionThatADelegateDeclares(self):
        case = self.convolution()
        model, npu = case / "model.onnx", ["--config", "npu-first"]
        report = json.loads(self.deputy("compare", model, *npu, "--runs", "4", "--json").stdout)
        differences = {c["name"]: [o["max_difference"] for o in c["outputs"]] for c in report["candidates"]}
        self.assertGreater(differences["npu0 alone"][0], 1e-3, "the NPU computes as precisely as the CPU")
        self.assertTrue(all(candidate["matches"] for candidate in report["candidates"]))
        self.deputy("test-case", case, *npu)
        self.deputy("verify", model, *npu)
        # A delegate that declares nothing, such as the CPU's, is held to the element type.
        (case / "test_data_set_0" / "output_0.pb").write_bytes(
            onnx_bytes.tensor([value * 1.004 for value in self.values_of(case / "y.npy")], (1, 16, 8, 8)))  # fmt: skip
        self.deputy("test-case", case, *npu)
        self.deputy("test-case", case, "--config", "cpu-only", status=1)

    def values_of(self, npy):
        return struct.unpack("<1024f", npy.read_bytes()[-4096:])

    def test_CompareSaysEverythingOnceAndInWholeLines(self):
        model = self.convolution() / "model.onnx"
        done = self.deputy("compare", model, "--config", "npu-first", "--runs", "4", "--rtol", "0", "--atol", "0",
                           "--atol-scale", "0", status=1, COLUMNS="80")  # fmt: skip
        for text in (done.stdout, done.stderr):
            lines = [line for line in text.splitlines() if line.strip() and not line.startswith("    ")]
            self.assertEqual(len(lines), len(set(lines)), text)
        self.assertEqual(done.stdout.count("--rtol"), 1)
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80, done.stdout)

    def test_VerifyNamesOperators(self):
        model = self.convolution() / "model.onnx"
        text = self.deputy("verify", model, "--config", "npu-first").stdout
        self.assertRegex(text, r"(?m)^  partition +nodes +operators +result ")
        self.assertRegex(text, r"(?m)^  npu0/0 +1 +Conv +right ")
        report = json.loads(self.deputy("verify", model, "--config", "npu-first", "--json").stdout)
        self.assertEqual(report["partitions"][0]["operators"], ["Conv"])

    def test_OptionsThatMayBeSetLaterAreMarked(self):
        self.assertRegex(self.deputy("plugins", "sim_npu").stdout, r"frequency: .*, settable between runs\n")
        self.assertNotRegex(self.deputy("plugins", "sim_npu").stdout, r"memory: .*, settable between runs\n")

    def test_NarrowTerminalsKeepTheRangesOfOptions(self):
        config = self.config("delegates: [{name: npu0, delegate: sim_npu}]\n")
        text = self.deputy("plugins", "--config", config, COLUMNS="80").stdout
        table = re.search(r"(?m)^    option .*\n(?:    .*\n)+", text)[0]
        self.assertIn("range", table.splitlines()[0])
        self.assertIn("low|balanced|high|extreme", table.replace("\n", ""))
        self.assertLessEqual(max(map(len, table.splitlines())), 80)

    def test_AnotherWordIsNotSuggested(self):
        absent = self.config("delegates: [{name: npu0, delegate: acme_npu}]\n")
        self.assertNotIn("did you mean", self.deputy("config", "check", absent).stderr)
        absent = self.config("delegates: [{name: npu0, delegate: smi_npu}]\n")
        self.assertIn("did you mean 'sim_npu'?", self.deputy("config", "check", absent).stderr)

    def test_ACacheThatIsOffByChoiceIsNoWarning(self):
        def check(*arguments, **environment):
            done = self.deputy("doctor", *arguments, "--json", **environment)
            (found,) = [c for c in json.loads(done.stdout)["checks"] if c["subject"] == "cache"]
            return found

        off = check("--set", "cache.dir=off")
        self.assertEqual(off["state"], "ok")
        self.assertNotIn("HOME", json.dumps(off))
        homeless = check(HOME="", XDG_CACHE_HOME="")
        self.assertEqual(homeless["state"], "warning")
        self.assertIn("neither XDG_CACHE_HOME nor HOME", homeless["detail"])

    def test_AMeasurementNamesTheShapesOfADynamicModel(self):
        path = self.scratch / "m.onnx"
        infos = [[onnx_bytes.value_info(name, ("N", 3))] for name in "xy"]
        path.write_bytes(onnx_bytes.model([onnx_bytes.node("Relu", ["x"], ["y"])], *infos))
        measured = self.config("delegates: [{name: npu0, delegate: sim_npu}]\nplacement: {policy: measured}\n")
        for rows in (2, 5):
            done = self.deputy("run", path, "--config", measured, "--shape", f"x={rows}x3")
            self.assertRegex(done.stderr, rf"measured: .*, for \[{rows},3\]")
        done = self.deputy("run", self.model("Relu"), "--config", measured)
        self.assertNotRegex(done.stderr, r"measured: .*, for ")

    def test_TheCacheTellsOfWhatABlobIsAndWhichAreStale(self):
        (self.scratch / "plugins").mkdir()
        plugin, shipped = self.scratch / "plugins" / "sim_npu.so", Path(ARGS.deputy).parents[1] / "lib/deputy/plugins"
        shutil.copy(shipped / "sim_npu.so", plugin)
        config = self.config("plugins: {paths: [plugins]}\ndelegates: [{name: npu0, delegate: sim_npu, verify: never}]\n")
        self.deputy("run", self.model("Relu", "Sigmoid"), "--config", config)

        def blob():
            entries = json.loads(self.deputy("cache", "ls", "--config", config, "--json").stdout)["entries"]
            (found,) = [entry for entry in entries if entry["kind"] == "blob"]
            return found

        found = blob()
        self.assertEqual((found["model"], found["plugin"], found["plugin_file"], found["delegate"], found["stale"]),
                         ("m.onnx", "org.deputy.sim_npu", str(plugin), "sim_npu", ""))  # fmt: skip
        self.assertTrue(found["plugin_version"] and found["device"], found)
        text = self.deputy("cache", "ls", "--config", config).stdout
        self.assertRegex(text, r"(?m)^blob .* m\.onnx +sim_npu [\d.]+, device \S+ .*sim_npu format")
        self.assertRegex(text, r"(?m)^probe .* org\.deputy\.sim_npu [\d.]+$")
        self.assertNotIn("stale", text)
        shutil.copy(shipped / "null.so", plugin)
        self.assertEqual(blob()["stale"], "the plugin file, or a file or library of it, has changed")
        self.assertRegex(self.deputy("cache", "ls", "--config", config).stdout, r"(?m)stale: .*\n(?s:.*)limit .*; 1 stale$")
        plugin.unlink()
        self.assertIn("the plugin file", blob()["stale"])

    def test_APageToShareHasNoLocalPath(self):
        page = self.scratch / "page.html"
        config = self.config("delegates: [{name: npu0, delegate: sim_npu}]\n")
        self.deputy("partition", self.model("Relu"), "--config", config, "--html", page)
        self.assertIn('"plugin":"sim_npu.so"', page.read_text())

    def test_BenchFailsAboveALimit(self):
        # No processor computes its 147,456 products in a microsecond.
        model, cpu = self.convolution() / "model.onnx", ["--config", "cpu-only", "--runs", "3"]
        done = self.deputy("bench", model, *cpu, "--fail-above", "max=60s", "--fail-above", "p99.9=1h")
        self.assertEqual(done.stderr.count("error"), 0)
        done = self.deputy("bench", model, *cpu, "--fail-above", "p50=1us", "--fail-above", "max=60s", "--json",
                           "--percentiles", "50", status=1)  # fmt: skip
        self.assertRegex(done.stderr, r"model\.onnx: p50 is [\d.]+ \w+, above 1\.00 us")
        report = json.loads(done.stdout)
        self.assertEqual([(limit["name"], limit["limit_ns"], limit["passed"]) for limit in report["limits"]],
                         [("p50", 1000, False), ("max", 60 * 10**9, True)])  # fmt: skip
        self.assertEqual(report["limits"][0]["value_ns"], report["latency_ns"]["p50"])
        for wrong, why in (("p0=1s", "'p0' is not"), ("p101=1s", "'p101' is not min, mean, max or a percentile from p0.001 to p100"),
                           ("median=1s", "'median' is not"), ("p50=1", "p50: '1' is not a duration"),
                           ("p50=1d", "the units are us, ms, s, min, h"), ("p50", "'p50' has no limit; write p50=10ms"),
                           ("p=1s", "'p' is not"), ("p5x=1s", "'p5x' is not")):  # fmt: skip
            self.assertIn("--fail-above: ", self.deputy("bench", model, "--fail-above", wrong, status=2).stderr)
            self.assertIn(why, self.deputy("bench", model, "--fail-above", wrong, status=2).stderr)

    def test_DurationsMayBeInHours(self):
        shown = self.deputy("config", "show", "--set", "limits.timeout=120min", "--offline").stdout
        self.assertRegex(shown, r"(?m)^  timeout: 2h ")
        self.deputy("run", self.model("Relu"), "--timeout", "1.5h", "--set", "limits.timeout=24h")

    def test_DoctorTellsOfMemoryThatMayNotBeExecuted(self):
        def subjects(denied):
            done = subprocess.run([ARGS.deputy, "doctor", "--json", "--config", "cpu-only"], capture_output=True, text=True,
                                  timeout=300, preexec_fn=self.deny_executable_memory if denied else None)  # fmt: skip
            return {check["subject"]: check["state"] for check in json.loads(done.stdout)["checks"]}

        self.assertNotIn("executable memory", subjects(denied=False))
        self.assertEqual(subjects(denied=True)["executable memory"], "warning")

    @staticmethod
    def deny_executable_memory():
        """What systemd's MemoryDenyWriteExecute= does, by a filter that refuses mprotect(..., PROT_EXEC) alone."""
        nr, libc = {"x86_64": 10, "aarch64": 226}[os.uname().machine], ctypes.CDLL(None, use_errno=True)
        load, jump, test, end = 0x20, 0x15, 0x45, 0x06  # ld [k]; jeq; jset; ret
        lines = [(load, 0, 0, 0), (jump, 0, 3, nr), (load, 0, 0, 32), (test, 0, 1, mmap.PROT_EXEC),
                 (end, 0, 0, 0x00050000 | 1), (end, 0, 0, 0x7FFF0000)]  # fmt: skip
        code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
        program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(lines), ctypes.addressof(code)))
        if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, program, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "no filter of system calls")

    def test_APlacementIsPinned(self):
        model, pinned = self.model("Relu", "Cos", "Relu"), self.scratch / "pinned.yaml"
        config = self.config("delegates: [{name: npu0, delegate: sim_npu, rules: {deny_nodes: first}}]\n")
        self.deputy("partition", model, "--config", config, "--pin", pinned)

        def placed(*more, status=0):
            done = self.deputy("partition", model, "--config", config, "--config", pinned, "--json", *more, status=status)
            return [node["delegate"] for node in json.loads(done.stdout)["nodes"]] if status == 0 else done.stderr

        self.assertEqual(placed(), ["cpu", "cpu", "npu0"])
        # Also where the configuration below it would place nodes elsewhere.
        self.config("delegates: [{name: npu0, delegate: sim_npu}]\n")
        free = json.loads(self.deputy("partition", model, "--config", config, "--json").stdout)["nodes"]
        self.assertEqual([node["delegate"] for node in free], ["npu0", "cpu", "npu0"])
        self.assertEqual(placed(), ["cpu", "cpu", "npu0"])
        self.assertIn("node 2 (Relu)", placed("--set", "delegates.npu0.rules.deny_ops=Relu", status=3))
        self.assertIn("there is no device '7'", placed("--set", "delegates.npu0.device=7", status=2))
        self.assertIn("'required: true'", placed("--set", "delegates.npu0.delegate=absent", status=4))
        for report in (["--per-operator"], ["--top", "3"], ["--dot", "-"]):
            refused = self.deputy("partition", model, "--pin", self.scratch / "p.yaml", *report, status=2)
            self.assertRegex(refused.stderr, rf"--pin excludes {report[0]}|{report[0]} excludes --pin")
        # One of another model is no error of a load; `config check` finds it.
        check = self.deputy("config", "check", "--config", config, pinned, "--model", self.model("Relu"), "--strict",
                            status=1)  # fmt: skip
        self.assertIn("'node 2'", check.stderr)

    def test_AFailureOrAWrongResultMovesNoPinnedNodes(self):
        model, pinned = self.convolution() / "model.onnx", self.scratch / "pinned.yaml"
        config = self.config("delegates: [{name: npu0, delegate: sim_npu, verify: never}]\n")
        self.deputy("partition", model, "--config", config, "--pin", pinned)
        exact = [f"delegates.npu0.verify.{key}" for key in ("when=first_run", "rtol=0", "atol=0", "atol_scale=0")]
        for settings, reason in ((["delegates.npu0.options.faults=device_lost:1"], "device was lost"),
                                 (exact, "wrong result of npu0")):  # fmt: skip
            run = ["run", model, "--config", config, *(word for setting in settings for word in ("--set", setting))]
            with self.subTest(reason):
                self.assertIn(reason, self.deputy(*run).stderr)
                failed = self.deputy(*run, "--config", pinned, status=5)
                self.assertRegex(failed.stderr, rf"deputy: error: .*{reason}")

    def test_NodesThatARuleCannotNameAreNotPinned(self):
        path, config = self.scratch / "m.onnx", self.config("delegates: [{name: npu0, delegate: sim_npu}]\n")
        for name, why in (("a*", "stand for other characters"), ("a\u202eb", "not printable"), ("a", "'cpu' and on 'npu0'")):
            infos = [[onnx_bytes.value_info(value, (2, 3))] for value in "xy"]
            nodes = [onnx_bytes.node("Cos", ["x"], ["c"], "a"), onnx_bytes.node("Relu", ["c"], ["y"], name)]
            path.write_bytes(onnx_bytes.model(nodes, *infos))
            done = self.deputy("partition", path, "--config", config, "--pin", self.scratch / "p.yaml", status=2)
            self.assertIn(why, done.stderr)
            self.assertFalse((self.scratch / "p.yaml").exists())

    def problems(self, text, *more, version="version: 1\n"):
        path = self.scratch / "p.yaml"
        path.write_text(version + text)
        done = self.deputy("config", "check", path, "--json", *more, status=None)
        (configuration,) = json.loads(done.stdout)["configurations"]
        return [(problem["severity"], problem["code"]) for problem in configuration["problems"]]

    def test_EachProblemOfAConfigurationHasAStableCode(self):
        npu, model = "delegates: [{name: npu0, delegate: sim_npu%s}]\n", self.model("Relu", "Cos")
        cases = [
            (("error", "syntax"), "cpu: {threads: 1\n", []),
            (("error", "syntax"), npu % ", options: &a {}", []),
            (("error", "duplicate"), "cpu: {threads: 1, threads: 2}\n", []),
            (("error", "duplicate"), "delegates: [{name: a}, {name: a}]\n", []),
            (("error", "unknown-key"), "cpu: {thread: 1}\n", []),
            (("error", "unavailable"), npu % ", shapes: {x: [[1]]}", []),
            (("error", "missing-key"), "placement: {rules: [{to: cpu}]}\n", []),
            (("error", "value"), "cpu: {threads: many}\n", []),
            (("error", "value"), "limits: {timeout: 25h}\n", []),
            (("warning", "no-delegates"), "cpu: {threads: 1}\n", []),
            (("error", "order"), npu % ", before: npu0", []),
            (("error", "unknown-delegate"), npu % "" + "placement: {rules: [{ops: Relu, to: npu1}]}\n", []),
            (("warning", "plugin"), "plugins: {paths: [./nowhere]}\n" + npu % "", []),
            (("warning", "absent"), "delegates: [{name: a, delegate: nowhere}]\n", []),
            (("error", "absent"), "delegates: [{name: a, delegate: nowhere, required: true}]\n", []),
            (("error", "option"), npu % ", options: {frequncy: low}", []),
            (("error", "option"), npu % ", device: 7", []),
            (("warning", "unknown-operator"), npu % ", rules: {deny_ops: Relo}", []),
            (("warning", "no-match"), npu % ", rules: {nodes: nowhere}", ["--model", model]),
            (("warning", "no-effect"), "delegates: [{name: nowhere, enabled: false}]\n", []),
            (("error", "load"), npu % "" + "placement: {rules: [{ops: Cos, to: npu0}]}\n", ["--model", model]),
        ]  # fmt: skip
        for expected, text, more in cases:
            with self.subTest(text):
                self.assertIn(expected, self.problems(text, *more))
        self.assertEqual(self.problems("", version="version: 7\n"), [("error", "version")])
        self.assertEqual(self.problems("cpu: {}\n", version=""), [("error", "missing-key")])
        missing = self.deputy("config", "check", self.scratch / "nowhere.yaml", "--json", status=2)
        self.assertIn('"code": "file"', missing.stdout)

    def test_ProblemsAreWrittenAsSarif(self):
        config = self.scratch / "a b.yaml"
        config.write_text("version: 1\ndelegates:\n  - {name: npu0, delegate: sim_npu, options: {frequncy: low}}\n"
                          "  - {name: absent_npu}\n")  # fmt: skip
        log = json.loads(self.deputy("config", "check", "a b.yaml", "--sarif", "--set", "cpu.threads=0", status=2).stdout)
        (run,) = log["runs"]
        self.assertEqual((log["version"], run["columnKind"]), ("2.1.0", "unicodeCodePoints"))
        found = {result["ruleId"]: result for result in run["results"]}
        self.assertEqual(set(found), {rule["id"] for rule in run["tool"]["driver"]["rules"]})
        self.assertEqual(set(found), {"value", "option", "absent"})
        self.assertEqual((found["option"]["level"], found["absent"]["level"]), ("error", "warning"))
        (place,) = found["option"]["locations"]
        self.assertEqual(place["physicalLocation"], {"artifactLocation": {"uri": "a%20b.yaml"},
                                                     "region": {"startLine": 3, "startColumn": 47}})  # fmt: skip
        (place,) = found["value"]["locations"]
        self.assertEqual(place["logicalLocations"], [{"fullyQualifiedName": "--set cpu.threads"}])
        self.assertIn("did you mean 'frequency'?", found["option"]["message"]["text"])
        both = self.deputy("config", "check", "a b.yaml", "--sarif", "--json", status=2)
        self.assertIn("--json excludes --sarif", both.stderr)

    def lines(self, done):
        return [json.loads(line) for line in done.stderr.splitlines()]

    def test_TheLogIsWrittenAsJson(self):
        npu = self.config("delegates: [{name: npu0, delegate: sim_npu, rules: {nodes: nowhere}}]\nlog: {format: json}\n")
        lines = self.lines(self.deputy("run", self.model("Relu"), "--config", npu))
        self.assertEqual({tuple(line) for line in lines}, {("time", "level", "source", "message")})
        self.assertEqual({line["level"] for line in lines}, {"info", "warning"})
        self.assertTrue(any("'nowhere'" in line["message"] for line in lines), lines)
        # Errors too, with what a text would show below them.
        strict = ["--set", "fallback=none", "--config", npu]
        lines = self.lines(self.deputy("run", self.model("Relu", "Cos"), *strict, status=3))
        error, *nodes = [line for line in lines if line["level"] == "error"]
        self.assertEqual(error["source"], "deputy")
        self.assertIn("not supported", error["message"])
        self.assertEqual(len(nodes), 2)
        self.assertIn("node 1 (Cos)", nodes[1]["message"])
        self.assertNotIn("{", self.deputy("run", self.model("Relu"), "--config", npu, "--set", "log.format=text").stderr)

    def wrong_config(self):
        path = self.scratch / "wrong.yaml"
        path.write_text("version: 1\ncpu: {thread: 1}\n")
        return path

    def test_TheJournalGetsPriorities(self):
        npu = self.config("delegates: [{name: npu0, delegate: sim_npu, rules: {nodes: nowhere}}]\n")
        log, model = self.scratch / "log", self.model("Relu", "Cos")

        def said(*arguments, stream=None):
            with log.open("w") as file:
                status = os.fstat(file.fileno())
                own = f"{status.st_dev}:{status.st_ino}" if stream is None else stream
                subprocess.run([ARGS.deputy, "run", model, "--config", npu, *arguments], stdout=subprocess.DEVNULL, stderr=file,
                               timeout=300, env={**os.environ, "JOURNAL_STREAM": own, "DEPUTY_SYSTEM_CONFIG": "",
                                                 "XDG_CACHE_HOME": str(self.scratch / "cache")})  # fmt: skip
            return log.read_text()

        self.assertRegex(said(), r"(?m)^<4>warning: .*'nowhere'(.|\n)*^<6>m\.onnx: 2 delegates")
        # Also in front of the nodes below an error, and of the lines of a file.
        for arguments, below in ((("--set", "fallback=none"), "  node 1 (Cos)"), (("--config", self.wrong_config()), "   2 | ")):
            error, *more = said(*arguments).split("<3>deputy: error: ", 1)[1].splitlines()
            self.assertTrue(more and all(line.startswith("<3>") for line in more), more)
            self.assertTrue(any(line.startswith("<3>" + below) for line in more), more)
        for other in (said("--set", "log.format=text"), said(stream="1:2"), said(stream="")):
            self.assertRegex(other, r"(?m)^warning: ")
            self.assertNotIn("<", other)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    ARGS, rest = parser.parse_known_args()
    ARGS.deputy = os.path.abspath(ARGS.deputy)
    unittest.main(argv=[sys.argv[0], *rest])
