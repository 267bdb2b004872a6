#!/usr/bin/env python3
"""What the program tells of plugins, devices and the machine: `plugins NAME`, `devices`, `doctor`, `report`.

  diagnosis_test.py --deputy build/release/bin/deputy --fixtures build/release/fixtures/plugins [unittest's arguments]
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import unittest
from pathlib import Path

import onnx_bytes
from scratch import PluginsCase

ARGS = None


class Diagnosis(PluginsCase):
    def setUp(self):
        super().setUp()
        self.config = self.scratch / "c.yaml"

    def use(self, *fixtures, delegates="", more=""):
        for name in fixtures:
            shutil.copy(Path(ARGS.fixtures) / f"{name}.so", self.plugins)
        self.config.write_text(f"version: 1\nplugins: {{paths: [{self.plugins}]}}\ndelegates: [{delegates}]\n{more}")

    def deputy(self, *arguments, status=0, env=None, **kwargs):
        environment = {name: value for name, value in os.environ.items() if name != "DEPUTY_CHECK"}
        environment.update({"LC_ALL": "C.UTF-8", "XDG_CACHE_HOME": str(self.scratch / "cache"), **(env or {})})
        done = subprocess.run([ARGS.deputy, *map(str, arguments), "--config", self.config], capture_output=True, text=True,
                              env=environment, timeout=100, **kwargs)  # fmt: skip
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def json(self, *arguments, **kwargs):
        return json.loads(self.deputy(*arguments, "--json", **kwargs).stdout)


class OnePlugin(Diagnosis):
    def test_ItIsFoundByIdDelegateFileAndPath(self):
        self.use("good", "rival")
        listed = {Path(p["file"]).name: p for p in self.json("plugins")["plugins"]}
        identity = listed["good.so"]["id"]
        for name in (identity, "good.so", self.plugins / "good.so"):
            with self.subTest(name):
                self.assertEqual(self.json("plugins", name)["file"], str(self.plugins / "good.so"))
        delegate = listed["rival.so"]["delegates"][0]["id"]
        self.assertIn(delegate, [d["id"] for d in self.json("plugins", delegate)["delegates"]])

    def test_ItIsRunThoughNoEntryNamesIt(self):
        self.use("good")
        self.assertFalse(self.json("plugins")["plugins"][0]["probed"])
        plugin = self.json("plugins", "good.so")
        self.assertTrue(plugin["probed"])
        self.assertTrue(plugin["delegates"][0]["available"])
        self.assertTrue(any(library.startswith("libc.so") for library in plugin["libraries"]), plugin)

    def test_TheLinesThatWouldUseItAreShown(self):
        self.use("good")
        delegate = self.json("plugins", "good.so")["delegates"][0]["id"]
        self.assertIn(f"      - name: {delegate}\n", self.deputy("plugins", "good.so").stdout)
        self.use("good", delegates=f"{{name: mine, delegate: {delegate}}}")
        self.assertRegex(self.deputy("plugins", "good.so").stdout, r"used by mine \(.*c\.yaml:3:\d+\)")

    def test_AFileOutsideTheFoldersIsShown(self):
        self.use()
        elsewhere = self.scratch / "elsewhere"
        elsewhere.mkdir()
        shutil.copy(Path(ARGS.fixtures) / "good.so", elsewhere)
        plugin = self.json("plugins", elsewhere / "good.so")
        self.assertTrue(plugin["accepted"], plugin)

    def test_ARejectedOneIsShownWithTheReasonAndOne(self):
        self.use("no_note", "crash_in_constructor")
        done = self.deputy("plugins", "no_note.so", status=1)
        self.assertRegex(done.stdout, r"state +rejected: no-note: has no manifest")
        done = self.deputy("plugins", "crash_in_constructor.so", status=1)
        self.assertRegex(done.stdout, "state +rejected: probe-crashed: ")

    def test_AnUnknownNameIsAnsweredWithTheNearest(self):
        self.use("good")
        self.assertIn("did you mean 'good.so'", self.deputy("plugins", "god.so", status=2).stderr)

    def test_AFileThatIsNoPluginIsRefused(self):
        self.use("good")
        self.assertIn("not named *.so", self.deputy("plugins", self.config, status=2).stderr)

    def test_HostileTextsAreShownAsText(self):
        self.use("hostile_texts")
        done = self.deputy("plugins", "hostile_texts.so")
        self.assertIn("FORGED", done.stdout)
        self.assertNotRegex(done.stdout, r"(?m)^FORGED|\x1b|\x07")


class Devices(Diagnosis):
    def test_TheCpuIsListed(self):
        self.use()
        devices = self.json("devices")["devices"]
        self.assertEqual([(d["entry"], d["kind"], d["available"]) for d in devices], [("cpu", "cpu", True)])

    def test_AnAbsentDelegateIsListedWithTheReason(self):
        self.use("unavailable", delegates="{name: npu, delegate: unavailable}")
        devices = {d["entry"]: d for d in self.json("devices")["devices"]}
        self.assertFalse(devices["npu"]["available"])
        self.assertIn("no device", devices["npu"]["reason"])
        self.assertIn("npu: ", self.deputy("devices").stdout)

    def test_ARequiredOneThatIsAbsentIsFour(self):
        self.use("unavailable", delegates="{name: npu, delegate: unavailable, required: true}")
        self.assertIn("no device", self.deputy("devices", status=4).stderr)

    def test_ProbeAddsPluginsThatNoEntryNames(self):
        self.use("good")
        self.assertEqual(len(self.json("devices")["devices"]), 1)
        added = self.json("devices", "--probe")["devices"][1]
        self.assertIsNone(added["entry"])
        self.assertEqual(added["plugin"], str(self.plugins / "good.so"))


class SimulatedNpu(Diagnosis):
    def setUp(self):
        super().setUp()
        if not ARGS.plugins or not (Path(ARGS.plugins) / "sim_npu.so").exists():
            self.skipTest("this build has no plugin sim_npu")
        shutil.copy(Path(ARGS.plugins) / "sim_npu.so", self.plugins)

    def test_RequestedAndGrantedClocksAreListed(self):
        self.use(delegates="{name: npu0, delegate: sim_npu, device: SimNPU-XL, options: {frequency: extreme}}")
        used, cpu, other = self.json("devices")["devices"]
        self.assertEqual((used["entry"], used["number"], used["name"], used["kind"]), ("npu0", 1, "SimNPU-XL", "npu"))
        self.assertEqual((used["control"]["level_requested"], used["control"]["level_granted"]), (4, 4))
        self.assertGreater(used["control"]["frequency_granted_hz"], 0)
        self.assertEqual((cpu["entry"], other["entry"], other["number"]), ("cpu", None, 0))

    def test_DoctorReportsAClockBelowTheRequest(self):
        self.use(delegates="{name: npu0, delegate: sim_npu, options: {frequency: 1000MHz}}")
        checks = {c["subject"]: c for c in self.json("doctor")["checks"]}
        self.assertEqual(checks["delegate npu0"]["state"], "warning", checks)
        self.assertIn("granted less", checks["delegate npu0"]["advice"])

    def test_OptionsAndDevicesOfThePluginAreShown(self):
        self.use()
        shown = self.deputy("plugins", "sim_npu").stdout
        for pattern in ("vendor +Deputy", "0 SimNPU: npu", "frequency: frequency", r"(?m)^  Conv +\d+ to \d+ +float32"):
            self.assertRegex(shown, pattern)


class Doctor(Diagnosis):
    def checks(self, *arguments, **kwargs):
        return {check["subject"]: check for check in self.json("doctor", *arguments, **kwargs)["checks"]}

    def test_AGoodInstallationHasNoFailures(self):
        self.use("good", delegates="{name: good}")
        report = self.json("doctor")
        self.assertEqual(report["failed"], 0, report)
        subjects = {check["subject"]: check["state"] for check in report["checks"]}
        for subject in ("library", "helper program", "CPU kernels", "limits", "configuration", "plugin good.so",
                        "delegate good", "threads", "cache", "wrong results"):  # fmt: skip
            with self.subTest(subject):
                self.assertIn(subjects[subject], ("ok", "warning"))
        self.assertRegex(self.deputy("doctor").stdout, r"\n\d+ ok, \d+ with a warning, 0 failed\n$")

    def test_AConfigurationWithErrorsIsOne(self):
        self.use(more="cpu: {thraeds: 1}\n")
        done = self.deputy("doctor", status=1)
        self.assertIn("did you mean 'threads'", done.stderr)
        self.assertRegex(done.stdout, "failed +configuration: has errors")

    def test_AWrongOptionIsOneWithTheCommandThatShowsIt(self):
        self.use("good", delegates="{name: good, options: {frequncy: 1}}")
        check = self.checks(status=1)["delegates"]
        self.assertEqual((check["state"], check["advice"]), ("failed", "deputy config check shows every problem"))

    def test_ARequiredDelegateThatIsAbsentIsOne(self):
        self.use("unavailable", delegates="{name: npu, delegate: unavailable, required: true}")
        check = self.checks(status=1)["delegates"]
        self.assertEqual(check["state"], "failed")
        self.assertIn("no device", check["detail"])

    def test_AnAbsentDelegateIsAWarning(self):
        self.use("unavailable", delegates="{name: npu, delegate: unavailable}")
        check = self.checks()["delegate npu"]
        self.assertEqual(check["state"], "warning")
        self.assertIn("no device", check["detail"])

    def test_ARejectedPluginIsAWarningWithTheReason(self):
        self.use("no_note")
        check = self.checks()["plugin no_note.so"]
        self.assertEqual(check["state"], "warning")
        self.assertIn("has no manifest", check["detail"])

    def test_AFolderThatOthersMayChangeIsOne(self):
        self.use("good")
        self.plugins.chmod(0o777)
        check = self.checks(status=1)[f"plugin folder {self.plugins}"]
        self.assertEqual(check["state"], "failed")

    def test_AnAbsentFolderIsAWarning(self):
        self.use()
        self.plugins.rmdir()
        self.assertEqual(self.checks()[f"plugin folder {self.plugins}"]["state"], "warning")

    def test_VariablesThatSlowDeputyDownAreWarnings(self):
        self.use()
        self.assertEqual(self.checks()["environment"]["state"], "ok")
        for name, value in (("OMP_WAIT_POLICY", "active"), ("OMP_NUM_THREADS", "5000"), ("DEPUTY_CHECK", "1")):
            with self.subTest(name):
                check = self.checks(env={name: value})["environment"]
                self.assertEqual(check["state"], "warning")
                self.assertIn(name, check["detail"])

    def test_MoreThreadsThanCpusAreAWarning(self):
        self.use(more="cpu: {threads: 1}\n")
        self.assertEqual(self.checks()["threads"]["state"], "ok")
        self.use(more="cpu: {threads: 512}\n")
        self.assertEqual(self.checks()["threads"]["state"], "warning")

    def test_ADamagedEntryOfTheCacheIsAWarning(self):
        self.use()
        folder = self.scratch / "cache" / "deputy"
        folder.mkdir(parents=True, mode=0o700)
        self.assertEqual(self.checks()["cache"]["state"], "ok")
        (folder / ("ab" * 32 + ".blob")).write_bytes(b"DPTYSTOR" + bytes(200))
        self.assertEqual(self.checks()["cache"]["state"], "warning")

    def test_ACacheThatOthersMayChangeIsOne(self):
        self.use()
        folder = self.scratch / "cache" / "deputy"
        folder.mkdir(parents=True)
        folder.chmod(0o777)
        self.assertEqual(self.checks(status=1)["cache"]["state"], "failed")

    def test_AWrongResultOfAnEarlierRunIsListedWithDelegateAndModel(self):
        self.use("wrong_values", delegates="{name: wrong_values, verify: first_run}")
        x, y = (onnx_bytes.value_info(name, (2, 3)) for name in "xy")
        model = self.scratch / "relu.onnx"
        model.write_bytes(onnx_bytes.model([onnx_bytes.node("Relu", ["x"], ["y"], "body/first")], [x], [y]))
        self.assertIn("wrong results", self.checks())
        values = self.scratch / "x.npy"
        values.write_bytes(onnx_bytes.npy([0.1] * 6, (2, 3)))
        self.assertIn("wrong result of wrong_values", self.deputy("run", model, "--input", f"x={values}").stderr)
        check = self.checks()["wrong result"]
        self.assertEqual(check["state"], "warning")
        for part in ("wrong_values", "'body/first' (Relu)", "relu.onnx"):
            self.assertIn(part, check["detail"])
        self.assertNotIn("wrong results", self.checks())


class Report(Diagnosis):
    RELU = "crashes_in_execute"

    def setUp(self):
        super().setUp()
        self.model, self.report = self.scratch / "m.onnx", self.scratch / "report.json"
        infos = [[onnx_bytes.value_info(name, (2, 3))] for name in "xy"]
        weight = onnx_bytes.tensor([1.25] * 6, (2, 3), "w")
        nodes = [onnx_bytes.node("Relu", ["x"], ["v"], "first"), onnx_bytes.node("Add", ["v", "w"], ["y"], "second")]
        self.model.write_bytes(onnx_bytes.model(nodes, *infos, initializers=[weight]))

    def written(self, *arguments, **kwargs):
        self.deputy("report", *arguments, "-o", self.report, **kwargs)
        return json.loads(self.report.read_text())

    def test_ItHasWhatTheOtherCommandsTell(self):
        self.use("good")
        report = self.written(env={"DEPUTY_CACHE": "x", "OMP_NUM_THREADS": "1", "TOKEN": "secret"})
        self.assertNotIn("model", report)
        self.assertEqual(report["configuration"]["files"][-1], str(self.config))
        self.assertIn(f"- {self.plugins}  # {self.config}:2\n", report["configuration"]["values"])
        self.assertEqual([p["file"] for p in report["plugins"]["plugins"]], [str(self.plugins / "good.so")])
        self.assertEqual(report["cache"]["folder"], str(self.scratch / "cache" / "deputy"))
        self.assertEqual({check["state"] for check in report["checks"]} - {"ok", "warning", "failed"}, set())
        self.assertEqual(report["quarantine"]["plugins"], [])
        self.assertEqual(report["machine"]["kernel"], " ".join(os.uname()[i] for i in (0, 2, 4)))
        self.assertEqual(report["machine"]["environment"]["OMP_NUM_THREADS"], "1")
        self.assertNotIn("secret", self.report.read_text())

    def test_ACrashInARunIsInIt(self):
        self.use(self.RELU, delegates=f"{{name: npu0, delegate: {self.RELU}}}")
        model = self.written(self.model)["model"]
        self.assertEqual((model["operators"], model["shapes"]), ({"Relu-13": 1, "Add-13": 1}, [[2, 3]]))
        (incident,) = model["incidents"]
        self.assertEqual((incident["delegate"], incident["taken_over"]), ("npu0", "cpu"))
        self.assertIn("SIGSEGV", incident["failure"])
        self.assertTrue(model["degraded"])
        self.assertGreater(model["run_ns"], 0)
        self.assertEqual([node["name"] for node in model["placement"]["nodes"]], ["first", "second"])
        files = {Path(name).name: text for name, text in model["dump"].items()}
        self.assertIn("Relu", files["graph.txt"])
        self.assertIn("step 0: ", files["plan.txt"])
        text = self.report.read_text()
        log = json.loads(text)["log"]
        self.assertEqual({tuple(line) for line in log}, {("level", "source", "message")})
        self.assertTrue(any("SIGSEGV" in line["message"] and line["level"] == "warning" for line in log), log)
        self.assertNotIn("1.25", text, "weights are the owner's")

    def test_WhatEndsTheProcessLeavesThePartsBeforeIt(self):
        self.use(self.RELU, delegates=f"{{name: npu0, delegate: {self.RELU}, isolation: none}}")
        report = self.written(self.model, status=-signal.SIGSEGV)
        self.assertIn("checks", report)
        self.assertNotIn("model", report)

    def test_FaultsOfFilesAreInIt(self):
        self.use(delegates="{name: npu0, delegat: absent}")
        done = self.deputy("report", self.scratch / "nowhere.onnx", "-o", self.report)
        self.assertEqual(done.stderr.count("unknown key 'delegat'"), 1, done.stderr)
        report = json.loads(self.report.read_text())
        self.assertIn("'deputy config check' lists them", json.dumps(report["checks"]))
        problems = report["configuration"]["problems"]
        self.assertEqual({(problem["file"], problem["line"]) for problem in problems}, {(str(self.config), 3)})
        self.assertTrue(any("unknown key 'delegat'" in problem["message"] for problem in problems), problems)
        self.assertEqual(report["configuration"]["values"], "")
        self.assertIn("cannot open", report["model"]["problem"])
        self.use()
        done = self.deputy("report", self.model, "-o", self.report, env={"TMPDIR": str(self.scratch / "nowhere")})
        self.assertIn("warning: no temporary folder can be made", done.stderr)
        self.assertEqual(json.loads(self.report.read_text())["model"]["dump"], {})
        self.model.write_bytes(self.model.read_bytes()[:-20])
        self.assertIn("m.onnx", self.written(self.model)["model"]["problem"])
        self.deputy("report", "-o", self.scratch / "nowhere" / "r.json", status=5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--fixtures", required=True)
    parser.add_argument("--plugins", help="folder of the plugins in the tree")
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
