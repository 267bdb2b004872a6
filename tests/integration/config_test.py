#!/usr/bin/env python3
"""deputy config: the check, the layers, the explanations, the first file; and each shipped configuration at work.

  config_test.py --deputy build/release/bin/deputy --fixtures build/release/fixtures/plugins [unittest's arguments]
"""

import argparse
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import onnx_bytes

ARGS = None
ROOT = Path(__file__).resolve().parents[2]
GUESTS = ["ggml", "openvino", "qnn", "webgpu"]  # shipped configurations for other vendors' runtimes
SHIPPED = sorted(path.stem for path in (ROOT / "configs").glob("*.yaml"))

EIGHT_MISTAKES = """version: 1
fallbak: cpu
plugins: {paths: [$deputy/plugins]}
cache: {max: 512}
cpu: {threads: many}
delegates:
  - name: npu0
    delegate: sim_npu
    options: {frequncy: high}
    rules: {deny_ops: [Relu, Sofmax]}
  - name: npu1
    delegate: sim_npu
    options: {frequency: hihg}
  - {name: hexagon, required: true}
placement:
  rules:
    - {ops: Tanh, to: npu7}
"""
# Line, column, severity, what is said.
EXPECTED = [
    (2, 1, "error", "unknown key 'fallbak'; did you mean 'fallback'"),
    (4, 14, "error", "'max' must be a size"),
    (5, 16, "error", "'threads' must be auto or a whole number"),
    (9, 15, "error", "option 'frequncy' is unknown; did you mean 'frequency'?"),
    (10, 30, "warning", "no known operator is called 'Sofmax'; did you mean 'Softmax'?"),
    (13, 26, "error", "option 'frequency' must be low | balanced | high | extreme.*did you mean 'high'?"),
    (14, 12, "error", "no plugin offers the delegate 'hexagon'"),
    (17, 23, "error", "no delegate is called 'npu7'; did you mean 'npu0'?"),
]


class Config(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)

    def environment(self, **more):
        """The machine's and the user's configuration are in this test's folder; there is none at first."""
        system = self.scratch / "etc/deputy.yaml"
        own = {"LC_ALL": "C.UTF-8", "NO_COLOR": "1", "XDG_CACHE_HOME": self.scratch / "cache",
               "XDG_CONFIG_HOME": self.scratch / "user", "DEPUTY_SYSTEM_CONFIG": system if system.exists() else "",
               "DEPUTY_CONFIG": "", **more}  # fmt: skip
        return {**os.environ, **{name: str(value) for name, value in own.items()}}

    def deputy(self, *arguments, status=0, **environment):
        done = subprocess.run([ARGS.deputy, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                              cwd=self.scratch, env=self.environment(**environment))  # fmt: skip
        self.assertEqual(done.returncode, status, f"{arguments}\n{done.stdout}{done.stderr}")
        return done

    def file(self, name, text):
        path = self.scratch / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if text.startswith("version") else "version: 1\n" + text)
        return path

    def model(self, second="Tanh"):
        path = self.scratch / "m.onnx"
        x, y = (onnx_bytes.value_info(name, (2, 3)) for name in "xy")
        path.write_bytes(onnx_bytes.model([onnx_bytes.node("Relu", ["x"], ["m"], "body/first"),
                                           onnx_bytes.node(second, ["m"], ["y"], "head/second")], [x], [y]))  # fmt: skip
        return path

    def shown(self, *arguments, **environment):
        """Value and origin by key as printed, the last of each."""
        lines = self.deputy("config", "show", *arguments, **environment).stdout.splitlines()
        return {m[1]: (m[2], m[3]) for m in (re.match(r" *-? *(\S+): (.*?)  # (.*)$", line) for line in lines) if m}

    def delegates(self, *arguments, **environment):
        """Names of the enabled delegates in their order."""
        listing = self.deputy("config", "show", "--offline", *arguments, **environment).stdout
        found = re.findall(r"- name: (\S+) .*(?:\n(?!  -).*)*?\n +enabled: (\w+)", listing)
        return [name for name, enabled in found if enabled == "true"]

    def placed(self, *arguments, model=None):
        report = json.loads(self.deputy("partition", model or self.model(), "--json", *arguments).stdout)
        return {node["name"]: node["delegate"] for node in report["nodes"]}


class Check(Config):
    def problems(self, *arguments, status=2):
        report = json.loads(self.deputy("config", "check", "--json", *arguments, status=status).stdout)
        (one,) = report["configurations"]
        self.assertEqual((one["errors"], one["warnings"]), (report["errors"], report["warnings"]))
        return one["problems"]

    def test_EightMistakesAreShownAtOnceAtTheirPlaces(self):
        path = self.file("npu.yaml", EIGHT_MISTAKES)
        done = self.deputy("config", "check", path, status=2)
        self.assertEqual(len(done.stderr.splitlines()), 3 * len(EXPECTED), done.stderr)
        lines = EIGHT_MISTAKES.splitlines()
        for (line, column, severity, text), shown in zip(EXPECTED, zip(*[iter(done.stderr.splitlines())] * 3)):
            with self.subTest(text):
                self.assertRegex(shown[0], rf"^{'deputy: ' * (severity == 'error')}{severity}: {path}:{line}:{column}: .*{text}")
                self.assertEqual(shown[1], f"{line:4} | {lines[line - 1]}")
                self.assertRegex(shown[2], rf"^ {{4}} \| {' ' * (column - 1)}\^+$")
        self.assertEqual(done.stdout, f"{path}: 7 errors, 1 warning\n")

    def test_TheCaretsMarkTheWholeWord(self):
        path = self.file("npu.yaml", EIGHT_MISTAKES)
        shown = self.deputy("config", "check", path, status=2).stderr.splitlines()
        marked = [before[line.index("^"):line.rindex("^") + 1] for before, line in zip(shown, shown[1:]) if "^" in line]
        self.assertEqual(marked, ["fallbak", "512", "many", "frequncy", "Sofmax", "hihg", "hexagon", "npu7"])

    def test_AWrongTimeoutOfTheProbeHidesNothing(self):
        body = "plugins: {probe_timeout: 5}\ndelegates: [{name: sim_npu, options: {frequncy: high}}]\n"
        found = self.problems(self.file("npu.yaml", "version: 1\n" + body))
        self.assertEqual([(p["line"], p["severity"]) for p in found], [(2, "error"), (3, "error")], found)
        self.assertIn("'frequncy' is unknown", found[1]["message"])

    def test_TheSameAsJson(self):
        found = self.problems(self.file("npu.yaml", EIGHT_MISTAKES))
        self.assertEqual([(p["line"], p["column"], p["severity"]) for p in found], [e[:3] for e in EXPECTED])
        self.assertEqual(set(found[0]), {"severity", "code", "file", "line", "column", "message"})

    def test_OfflineRunsNoPlugin(self):
        shutil.copy(Path(ARGS.fixtures) / "leaves_a_mark.so", self.scratch)
        body = "plugins: {paths: [.], sandbox: false}\ndelegates: [{name: leaves_a_mark, options: {x: 1}}]\n"
        mark = self.scratch / "mark"
        for flags in (["--offline"], []):
            path = self.file("c.yaml", body)
            self.deputy("config", "check", path, *flags, status=0 if flags else 2, FIXTURE_MARK=mark)
            self.assertIs(mark.exists(), not flags)
        self.assertEqual(self.problems(self.file("npu.yaml", EIGHT_MISTAKES), "--offline")[-1]["line"], 17)

    def test_GlobsThatMatchNoNodeOfTheModelAreWarnings(self):
        path = self.file("c.yaml", "plugins: {paths: [$deputy/plugins]}\ndelegates: [{name: npu0, delegate: sim_npu, "
                                   "rules: {nodes: ['body/*', 'bdoy/*']}}]\n"
                                   "placement: {rules: [{nodes: head/secnd, to: cpu}]}\n")  # fmt: skip
        self.assertEqual(self.problems(path, status=0), [])
        found = self.problems(path, "--model", self.model(), status=0)
        self.assertEqual([p["message"] for p in found],
                         ["'bdoy/*' matches no node of 'm.onnx'",
                          "'head/secnd' matches no node of 'm.onnx'; did you mean 'head/second'?"])  # fmt: skip
        self.deputy("config", "check", path, "--model", self.scratch / "absent.onnx", status=3)

    def unnamed(self):
        """Two unnamed nodes around one that the passes remove: node 0, drop, node 1."""
        path = self.scratch / "u.onnx"
        x, y = (onnx_bytes.value_info(name, (2, 3)) for name in "xy")
        path.write_bytes(onnx_bytes.model([onnx_bytes.node("Relu", ["x"], ["a"]),
                                           onnx_bytes.node("Identity", ["a"], ["b"], "drop"),
                                           onnx_bytes.node("Tanh", ["b"], ["y"])], [x], [y]))  # fmt: skip
        return path

    def test_RulesMatchUnnamedNodesByTheNamesOfReports(self):
        model = self.unnamed()
        self.assertEqual(set(self.placed("--config", "npu-first", model=model)), {"node 0", "node 1"})
        path = self.file("r.yaml", "placement: {rules: [{nodes: node 1, to: cpu}]}\n")
        layers = ["--config", "npu-first", "--config", path]
        self.assertEqual(self.placed(*layers, model=model), {"node 0": "npu0", "node 1": "cpu"})
        self.assertEqual(self.problems(path, "--config", "npu-first", "--model", model, status=0), [])
        self.assertIn("node 1", self.deputy("partition", model, *layers, "--node", "node 1").stdout)

    def test_ARuleThatMatchesNoNodeIsAWarningOfEachLoad(self):
        path = self.file("r.yaml", "placement: {rules: [{nodes: [drop, node 2], to: cpu}]}\n")
        model = self.unnamed()
        warnings = ["'drop' matches no node of 'u.onnx' after the passes, which removed 'drop': its result is constant, "
                    "unused or computed elsewhere",
                    "'node 2' matches no node of 'u.onnx'; 'deputy partition --nodes' lists the names of unnamed "
                    "nodes"]  # fmt: skip
        checked = self.problems(path, "--config", "npu-first", "--model", model, status=0)
        self.assertEqual([problem["message"] for problem in checked], warnings)
        for command in ("run", "partition"):
            said = self.deputy(command, model, "--config", "npu-first", "--config", path).stderr
            self.assertEqual([line for line in said.splitlines() if "matches no node" in line],
                             [f"warning: {path}:2:{column}: {text}" for column, text in zip((30, 36), warnings)])  # fmt: skip

    def test_NumbersOfTheFileAreNotNamesOfPlacedNodes(self):
        model = self.unnamed()
        nodes = json.loads(self.deputy("inspect", model, "--nodes", "--json").stdout)["nodes"]
        self.assertEqual([node["name"] for node in nodes], ["unnamed 0", "drop", "unnamed 2"])
        for name, answer in (("drop", "the passes removed the node 'drop'"), ("node 2", "no node 'node 2' after the"),
                             ("unnamed 2", "'unnamed 2' is a number of the file")):  # fmt: skip
            self.assertIn(answer, self.deputy("partition", model, "--node", name, status=2).stderr)

    def test_AnEntryOfAShippedConfigurationIsPointedAt(self):
        hint = "the shipped configuration '{0}' has it: add '--config {0}' in front"
        before = self.file("npu.yaml", "delegates: [{name: npu0, delegate: sim_npu, before: onednn}]\n")
        self.assertIn(hint.format("default"), self.problems(before)[0]["message"])
        for command in (["run", self.model()], ["bundle", "pack", "-o", "a-1.dpb"]):
            self.assertIn(hint.format("default"), self.deputy(*command, "--config", before, status=2).stderr)
        self.assertEqual(self.problems(before, "--config", "default", status=0), [])
        low = self.file("low.yaml", "delegates: [{name: npu0, options: {frequency: low}}]\n")
        [problem] = self.problems(low, status=0)
        self.assertEqual(problem["message"], "no plugin offers the delegate 'npu0', and no lower layer has an entry of "
                                             "this name; " + hint.format("npu-first"))  # fmt: skip
        setting = self.deputy("config", "show", "--set", "delegates.npu0.options.frequency=low", status=2).stderr
        self.assertIn(hint.format("npu-first"), setting)

    def test_AMisspelledEntryOfALowerLayerIsAnsweredWithItsName(self):
        for entry, start in (("{name: nup0, options: {frequency: low}}", "no plugin offers the delegate 'nup0', and "),
                             ("{name: nup0, enabled: false}", "'nup0' disables nothing: ")):  # fmt: skip
            path = self.file("over.yaml", f"delegates: [{entry}]\n")
            [problem] = self.problems(path, "--config", "npu-first", "--strict", status=1)
            self.assertTrue(problem["message"].startswith(start), problem)
            self.assertIn("no lower layer has an entry of this name; did you mean 'npu0'?", problem["message"])
            said = self.deputy("run", self.model(), "--config", "npu-first", "--config", path).stderr
            self.assertIn(problem["message"], said)

    def test_AFileWithoutDelegatesIsAWarningThatTheCpuRunsAlone(self):
        path = self.file("nocache.yaml", "cache: {dir: off}\n")
        text = "no layer has 'delegates', so that the CPU runs every node; '--config default' in front adds"
        self.assertIn(text, self.problems(path, status=0)[0]["message"])
        self.assertIn(text, self.deputy("run", self.model(), "--config", path).stderr)
        for silent in ("cache: {dir: off}\ndelegates: []\n", "plugins: {auto: last}\n"):
            self.assertNotIn("no layer has", self.deputy("run", self.model(), "--config", self.file("s.yaml", silent)).stderr)

    def test_TheLineThatRequiresAnAbsentDelegateIsNamed(self):
        path = self.file("req.yaml", "plugins: {paths: []}\ndelegates: [{name: npu0, required: true}]\n")
        remedy = f"'required: true' ({path}:3:36) makes this an error: remove it where the delegate may be absent"
        found = [problem["message"] for problem in self.problems(path, "--config", "npu-first")]
        self.assertIn(remedy, found[0])
        said = self.deputy("run", self.model(), "--config", "npu-first", "--config", path, status=4).stderr
        self.assertRegex(said, r"no plugin offers the delegate 'sim_npu'; .*" + re.escape(remedy)
                         + r"\n +\d+ \|     delegate: sim_npu.*\n +\| +\^{7}\n$")  # fmt: skip

    def test_AProblemAtTheEndOfAFileShowsItsLastLine(self):
        path = self.file("end.yaml", "cpu: {threads: 2\n\n")
        self.assertRegex(self.deputy("config", "check", path, status=2).stderr, r"\n   2 \| cpu: \{threads: 2\n +\| +\^\n$")

    def test_AnOperatorOfTheModelIsKnown(self):
        path = self.file("c.yaml", "delegates: []\nplacement: {rules: [{ops: Frobnicate, domains: com.example, to: cpu}]}\n")
        model = self.scratch / "own.onnx"
        model.write_bytes(onnx_bytes.add_model(op_type="Frobnicate", domain="com.example"))
        self.assertEqual([p["column"] for p in self.problems(path, status=0)], [27, 48])
        # And no delegate has it, which a run refuses as well.
        (problem,) = self.problems(path, "--model", model)
        self.assertIn("1 of 1 node is not supported by any delegate", problem["message"])

    def test_FoldersAndDevicesThatAreAbsent(self):
        path = self.file("c.yaml", "plugins:\n  paths: [$deputy/plugins, ./mine]\n"
                                   "delegates: [{name: npu0, delegate: sim_npu, device: 7}]\n")  # fmt: skip
        folder, device = self.problems(path)
        self.assertEqual((folder["line"], folder["column"], folder["severity"]), (3, 28, "warning"))
        self.assertIn("plugin folder does not exist", folder["message"])
        self.assertEqual((device["line"], device["column"], device["severity"]), (4, 53, "error"))
        self.assertIn("there is no device '7'", device["message"])

    def test_AnAbsentDelegateIsAWarningUnlessRequired(self):
        for required, status in (("false", 0), ("true", 2)):
            path = self.file("c.yaml", f"delegates: [{{name: onednm, required: {required}}}]\n")
            (problem,) = self.problems(path, status=status)
            self.assertEqual(problem["severity"], "error" if status else "warning")
            self.assertIn("did you mean 'onednn'?", problem["message"])

    def test_StrictMakesWarningsFail(self):
        path = self.file("c.yaml", "delegates: [{name: onednm}]\n")
        self.assertTrue(self.deputy("config", "check", path).stdout.endswith("c.yaml: ok, 1 warning\n"))
        self.deputy("config", "check", path, "--strict", status=1)

    def test_NamesAreNotCheckedWhereAFileCannotBeRead(self):
        """Its delegates are unknown, so that every rule would seem wrong."""
        path = self.file("c.yaml", "placement: {rules: [{ops: Relu, to: npu0}]}\n")
        broken = self.file("broken.yaml", "delegates: [{name: npu0}\n")
        (problem,) = self.problems(path, "--config", broken)
        self.assertEqual(problem["file"], str(broken))

    def test_AutoMakesFoundDelegatesKnown(self):
        path = self.file("c.yaml", "plugins: {auto: last}\nplacement: {rules: [{ops: Relu, to: sim_npo}]}\n")
        (problem,) = self.problems(path)
        self.assertIn("did you mean 'sim_npu'?", problem["message"])
        self.assertEqual(self.problems(path, "--offline", status=0), [])

    def test_EachFileIsCheckedByItself(self):
        good, bad = self.file("good.yaml", "delegates: []\n"), self.file("bad.yaml", "falback: cpu\n")
        done = self.deputy("config", "check", good, bad, "npu-first", status=2)
        self.assertEqual(done.stdout.splitlines(), [f"{good}: ok", f"{bad}: 1 error", "npu-first: ok"])

    def test_LinesWithWideAndTabbedTextAreMarkedInTheirPlace(self):
        path = self.file("c.yaml", 'cache: {dir: "größe",\tmax: 5}\n')
        line, marks = self.deputy("config", "check", path, status=2).stderr.splitlines()[1:]
        self.assertEqual(line[marks.index("^")], "5")

    def test_ColourIsForTerminalsOnly(self):
        path = self.file("c.yaml", "falback: cpu\n")
        self.assertNotIn("\x1b", self.deputy("config", "check", path, status=2, NO_COLOR="").stderr)
        ours, theirs = pty.openpty()
        environment = self.environment(TERM="xterm", NO_COLOR="")
        process = subprocess.Popen([ARGS.deputy, "config", "check", path], stderr=theirs, stdout=subprocess.DEVNULL,
                                   env=environment)  # fmt: skip
        os.close(theirs)
        process.wait(timeout=100)
        self.assertIn(b"\x1b[1;31m^^^^^^^\x1b[0m", os.read(ours, 65536))
        os.close(ours)


class Layers(Config):
    def test_AFileExtendsTheDefaultAfterIt(self):
        path = self.file("npu.yaml", "version: 1\ndelegates: [{name: npu0, delegate: sim_npu, before: onednn}]\n")
        shown = self.deputy("config", "show", "--offline", "--config", "default", "--config", path).stdout
        self.assertLess(shown.index("name: npu0"), shown.index("name: onednn"))
        error = self.deputy("config", "show", "--offline", "--config", path, status=2).stderr
        self.assertIn("'before' must name a delegate of this layer or of one below", error)

    def test_LaterLayersOverrideEarlierOnes(self):
        layers = [("etc/deputy.yaml", {}), ("etc/conf.d/10-a.yaml", {}), ("user/deputy/deputy.yaml", {}),
                  ("user/deputy/conf.d/20-b.yaml", {}), ("chosen.yaml", {"DEPUTY_CONFIG": self.scratch / "chosen.yaml"})]  # fmt: skip
        environment = {}
        for number, (name, more) in enumerate(layers, 1):
            environment |= more
            path = self.file(name, f"cpu: {{threads: {number}}}\n")
            with self.subTest(name):
                self.assertEqual(self.shown(**environment)["threads"], (str(number), f"{path}:2"))
        first, second = self.file("first.yaml", "cpu: {threads: 11}\n"), self.file("second.yaml", "cpu: {threads: 12}\n")
        both = ["--config", first, "--config", second]
        self.assertEqual(self.shown(*both, **environment)["threads"], ("12", f"{second}:2"))
        turned = ["--config", second, "--config", first]
        self.assertEqual(self.shown(*turned, **environment)["threads"], ("11", f"{first}:2"))
        self.assertEqual(self.shown(*both, "--set", "cpu.threads=13", **environment)["threads"],
                         ("13", "--set cpu.threads"))  # fmt: skip

    def test_DropInsAddAndRemoveADelegateWithoutAnotherFile(self):
        self.file("etc/deputy.yaml", "plugins: {paths: [$deputy/plugins]}\ndelegates: [{name: onednn}]\n")
        self.assertEqual(self.delegates(), ["onednn"])
        added = self.file("etc/conf.d/50-npu.yaml", "delegates: [{name: npu0, delegate: sim_npu, before: onednn}]\n")
        self.assertEqual(self.delegates(), ["npu0", "onednn"])
        self.assertEqual(set(self.placed().values()), {"npu0"})
        removed = self.file("etc/conf.d/90-no-npu.yaml", "delegates: [{name: npu0, enabled: false}]\n")
        self.assertEqual(self.delegates(), ["onednn"])
        self.assertNotIn("npu0", self.placed().values())
        added.unlink()  # its package is removed; what disables the delegate may stay
        self.assertEqual(self.delegates(), ["onednn"])
        removed.unlink()
        self.assertEqual(self.delegates(), ["onednn"])

    def test_WithoutAConfigurationTheInstalledDefaultIsUsedWithAMessage(self):
        done = self.deputy("run", self.model())
        self.assertRegex(done.stderr, r"(?m)^no configuration is given or installed; using .*/configs/default\.yaml$")
        self.assertEqual(self.delegates(), ["onednn"])
        self.assertEqual(self.shown()["policy"][0], "measured")
        self.assertNotIn("no configuration", self.deputy("run", self.model(), "--config", "cpu-only").stderr)

    def test_ADelegateOfTheDefaultThatIsNotInstalledIsNoWarning(self):
        (self.scratch / "none").mkdir(mode=0o755)
        said = self.deputy("run", self.model(), "--set", f"plugins.paths=[{self.scratch}/none]").stderr
        self.assertRegex(said, r"(?m)^\S+/default\.yaml:\d+:\d+: no plugin offers the delegate 'onednn'; 'deputy "
                               r"plugins --why' lists the plugins that were found; continuing without it$")  # fmt: skip
        self.assertNotIn("warning", said)
        own = self.file("own.yaml", f"plugins: {{paths: [{self.scratch}/none]}}\ndelegates: [{{name: onednn}}]\n")
        self.assertRegex(self.deputy("run", self.model(), "--config", own).stderr, "warning: .*offers the delegate 'onednn'")

    def test_DropInsAloneExtendTheDefault(self):
        self.file("user/deputy/conf.d/50-npu.yaml", "delegates: [{name: npu0, delegate: sim_npu, before: onednn}]\n")
        self.assertEqual(self.delegates(), ["npu0", "onednn"])
        said = self.deputy("run", self.model()).stderr
        self.assertRegex(said, r"(?m)^no configuration is given, and only drop-ins are installed; using .*/default\.yaml, "
                               r".*/50-npu\.yaml$")  # fmt: skip

    def test_AnEmptySystemConfigIsNone(self):
        self.file("etc/deputy.yaml", "cpu: {threads: 3}\n")
        self.assertEqual(self.shown()["threads"][0], "3")
        self.assertEqual(self.shown(DEPUTY_SYSTEM_CONFIG="")["threads"][0], "auto")

    def test_AFileOfTheEnvironmentThatDoesNotExistIsAnError(self):
        self.file("etc/conf.d/a.yaml", "cpu: {threads: 3}\n")  # drop-ins do not make up for the file
        absent = self.scratch / "etc/deputy.yml"
        for variable in ("DEPUTY_SYSTEM_CONFIG", "DEPUTY_CONFIG"):
            for command in (["run", self.model()], ["config", "show"], ["doctor"]):
                with self.subTest(variable, command=command):
                    done = self.deputy(*command, **{variable: absent}, status=1 if command == ["doctor"] else 2)
                    self.assertRegex(done.stderr, rf"error: {absent}: (does not exist; {variable} names it|cannot open: No such)")
            problems = json.loads(self.deputy("config", "check", "--json", **{variable: absent}, status=2).stdout)
            self.assertEqual([problem["file"] for problem in problems["configurations"][0]["problems"]], [str(absent)])
        error = self.deputy("config", "show", DEPUTY_SYSTEM_CONFIG="cpu-only", status=2).stderr
        self.assertIn("error: cpu-only: does not exist; DEPUTY_SYSTEM_CONFIG names it by its path", error)

    def test_ShippedConfigurationsAreNamed(self):
        for how in ({"arguments": ["--config", "npu-first"]}, {"DEPUTY_CONFIG": "npu-first"}):
            arguments = how.pop("arguments", [])
            self.assertEqual(self.delegates(*arguments, **how), ["npu0", "onednn"])
        error = self.deputy("config", "show", "--config", "npu-first.yaml", status=2).stderr
        self.assertIn("npu-first.yaml: does not exist; the shipped configuration is called 'npu-first'", error)
        error = self.deputy("config", "show", "--config", "npu-frist", status=2).stderr
        self.assertRegex(error, rf"npu-frist: .*did you mean 'npu-first'\? \(shipped: {', '.join(SHIPPED)}\)")

    def test_ErrorsOfEveryLayerAreReportedAtOnce(self):
        self.file("etc/deputy.yaml", "fallbak: cpu\n")
        self.file("user/deputy/conf.d/a.yaml", "cpu: {threads: 0}\n")
        error = self.deputy("run", self.model(), "--set", "log.level=loud", status=2).stderr
        for part in ("etc/deputy.yaml:2:1: ", "conf.d/a.yaml:2:16: ", "--set log.level: "):
            self.assertIn(part, error)

    def test_AVariableThatIsNearlyOneOfDeputysIsNamed(self):
        for variables, wanted in (({"DEPUTY_CONFG": "x"}, "variable DEPUTY_CONFG has no effect; did you mean 'DEPUTY_CONFIG'?"),
                                  ({"DEPUTY_CHECKS": "1"}, "did you mean 'DEPUTY_CHECK'?"),
                                  ({"DEPUTYCONFIG": "x"}, "DEPUTYCONFIG has no effect; did you mean 'DEPUTY_CONFIG'?"),
                                  ({"deputy_config": "x"}, "deputy_config has no effect; did you mean 'DEPUTY_CONFIG'?"),
                                  ({"DEPUTY_CONFIG_FILE": "x"}, "DEPUTY_CONFIG_FILE has no effect; did you mean 'DEPUTY_CONFIG'?"),
                                  ({"DEPUTY_CHECK": "yes"}, "DEPUTY_CHECK=yes has no effect: it must be 0 or 1"),
                                  ({"DEPUTY_CHECK": "0", "DEPUTY_BUNDLE": "", "DEPUTY_INSTALLER_LOG": "x"}, ""),
                                  ({"DEPUTY_CHECKOUT": "x", "DEPUTY_CONFIG_DIR": "x", "DEPUTY_S": "x"}, "")):  # fmt: skip
            with self.subTest(variables):
                error = self.deputy("run", self.model(), **variables).stderr
                self.assertIn(wanted, error)
                self.assertEqual("has no effect" in error, wanted != "", error)


class Explain(Config):
    def test_AKeyHasTypeDefaultMeaningAndExample(self):
        printed = self.deputy("config", "explain", "delegates.npu0.min_nodes").stdout
        for line in ("delegates.NAME.min_nodes", "  type     integer from 1 to 1000000", "  default  1",
                     "  example  min_nodes: 3"):  # fmt: skip
            self.assertIn(line + "\n", printed)

    def test_EveryWayOfWritingAKey(self):
        for written, path in (("cache.max", "cache.max"), ("min_flops", "delegates.NAME.min_flops"),
                              ("delegates.rules.deny_ops", "delegates.NAME.rules.deny_ops"),
                              ("delegates.my.npu.verify.rtol", "delegates.NAME.verify.rtol"),
                              ("placement.rules[0].to", "placement.rules[].to"),
                              ("delegates", "delegates")):  # fmt: skip
            with self.subTest(written):
                self.assertEqual(json.loads(self.deputy("config", "explain", written, "--json").stdout)["path"], path)

    def test_AGroupListsItsKeys(self):
        keys = json.loads(self.deputy("config", "explain", "cache", "--json").stdout)["keys"]
        self.assertEqual(keys, ["cache.dir", "cache.max"])

    def test_AnOptionOfAPluginIsExplained(self):
        path = "delegates.npu0.options.frequency"
        report = json.loads(self.deputy("config", "explain", path, "--config", "npu-first", "--json").stdout)
        self.assertEqual((report["path"], report["delegate"]), (path, "sim_npu"))
        self.assertRegex(report["type"], r"^low \| balanced \| high \| extreme, 1 to 4, or a clock from .* to .*Hz$")
        self.assertTrue(report["meaning"])
        self.assertEqual(report["default"], "high")
        self.assertIn("'npu-first' has it: add '--config npu-first'", self.deputy("config", "explain", path, status=2).stderr)
        report = json.loads(self.deputy("config", "explain", "delegates.sim_npu.options.memory", "--json").stdout)
        self.assertEqual((report["unit"], report["type"]), ("MiB", "integer from 0 to 4096"))

    def test_UnknownKeysAreAnsweredWithTheNearest(self):
        for key, answer in (("cpu.thread", "did you mean 'cpu.threads'?"),
                            ("onednn.min_nodes", "keys of this name: delegates.NAME.min_nodes"),
                            ("frequency", "an option of a delegate is written delegates.NAME.options.frequency"),
                            ("delegates.npu0.options.frequncy", "did you mean 'frequency'?"),
                            ("delegates.npu9.options.frequency", "did you mean 'npu0'?")):  # fmt: skip
            with self.subTest(key):
                self.assertIn(answer, self.deputy("config", "explain", key, "--config", "npu-first", status=2).stderr)

    def test_AKeyIsExplainedWhateverTheConfiguration(self):
        self.file("etc/deputy.yaml", "fallbak: cpu\n")
        self.deputy("config", "explain", "fallback")


class Show(Config):
    def test_OptionsOfPluginsAreShownWithTheirDefaults(self):
        shown = self.shown("--config", "npu-first", "--set", "delegates.npu0.options.frequency=low")
        self.assertEqual(shown["frequency"], ("low", "--set delegates.npu0.options.frequency"))
        self.assertEqual(shown["accept"], ("worthwhile", "the plugin's default"))
        self.assertNotIn("accept", self.shown("--config", "npu-first", "--offline"))

    def test_WhatIsShownIsAConfiguration(self):
        shown = self.deputy("config", "show", "--config", "npu-first").stdout
        path = self.file("shown.yaml", shown)
        self.deputy("config", "check", path, "--strict")
        again = self.deputy("config", "show", "--config", path).stdout
        values = [[re.sub(r"  # .*", "", line) for line in text.splitlines()] for text in (shown, again)]
        self.assertEqual(*values)


class Init(Config):
    def test_AFirstFileIsWrittenAndGood(self):
        self.deputy("config", "init")
        self.assertEqual((self.scratch / "deputy.yaml").read_text(), (ROOT / "configs/default.yaml").read_text())
        for name in SHIPPED:
            self.deputy("config", "init", f"{name}.yaml", "--from", name)
            self.deputy("config", "check", f"{name}.yaml", *([] if name in GUESTS else ["--strict"]))

    def test_NothingIsOverwritten(self):
        path = self.file("deputy.yaml", "fallback: cpu\n")
        self.assertIn("already exists", self.deputy("config", "init", status=2).stderr)
        self.assertEqual(path.read_text(), "version: 1\nfallback: cpu\n")
        os.symlink("nowhere", self.scratch / "link.yaml")
        self.assertIn("already exists", self.deputy("config", "init", "link.yaml", status=2).stderr)

    def test_AnUnknownNameIsAnsweredWithTheNearest(self):
        self.assertIn("did you mean 'cpu-only'?", self.deputy("config", "init", "--from", "cpu_only", status=2).stderr)


class Shipped(Config):
    """Each configuration does what its first lines say."""

    MACHINE = "plugins: {paths: [$deputy/plugins], auto: last}\ndelegates: [{name: npu0, delegate: sim_npu}]\n" \
              "placement: {rules: [{ops: Relu, to: npu0}]}\n"  # fmt: skip

    def with_fixture(self, name, plugin):
        """The shipped configuration with this plugin of the fixtures in the place of its first delegate."""
        (self.scratch / "plugins").mkdir()
        shutil.copy(Path(ARGS.fixtures) / f"{plugin}.so", self.scratch / "plugins")
        text = (ROOT / "configs" / f"{name}.yaml").read_text()
        text = re.sub(r"    options:.*\n(      .*\n)*|    delegate:.*\n", "", text).replace("$deputy/plugins", "plugins")
        return self.file(f"{name}.yaml", "version: 1\n" + re.sub(
            r"(  - name: .*\n)", rf"\1    delegate: {plugin}\n", text.partition("version: 1\n")[2], count=1))

    def test_EachIsChecked(self):
        self.assertEqual(SHIPPED, sorted(["cpu-only", "default", "deterministic", "low-power", "npu-first",
                                          "strict-no-fallback", *GUESTS]))  # fmt: skip
        for name in SHIPPED:
            with self.subTest(name):
                # Libraries of other vendors need not be there.
                strict = [] if name in GUESTS else ["--strict"]
                self.deputy("config", "check", name, *strict, "--model", self.model())
                self.deputy("run", self.model(), "--config", name)

    def test_CpuOnlyRemovesTheDelegatesOfTheMachine(self):
        self.file("etc/deputy.yaml", self.MACHINE)
        self.assertEqual(set(self.placed().values()), {"npu0"})
        self.assertEqual(set(self.placed("--config", "cpu-only").values()), {"cpu"})

    def test_DefaultMeasuresOneDnn(self):
        self.assertEqual(self.delegates("--config", "default"), ["onednn"])
        self.assertIn("measured: ", self.deputy("run", self.model(), "--config", "default").stderr)

    def test_DisabledEntriesAreNotReportedAsUnlisted(self):
        said = self.deputy("run", self.model(), "--config", "npu-first", "--set", "delegates.npu0.enabled=false").stderr
        self.assertNotIn("sim_npu", said)

    def test_AFirstMeasuredRunShowsItsOwnPlacementAndSaysSo(self):
        layer = self.file("npu.yaml", "delegates: [{name: npu0, delegate: sim_npu, before: onednn}]\n")
        done = self.deputy("run", self.model(), "--config", "default", "--config", layer)
        self.assertRegex(done.stdout, r"\n  npu0 +2 .* \d[.\d]* us +requested high")  # its device time
        self.assertIn("it ran by the order of the configuration, as the table shows; the next run uses the measured",
                      done.stdout)  # fmt: skip
        for line in done.stderr.splitlines():
            self.assertNotIn("/m.onnx:", line)

    def test_NpuFirstPrefersTheNpu(self):
        self.assertEqual(set(self.placed("--config", "npu-first").values()), {"npu0"})

    def test_LowPowerLowersTheClockAndTheThreads(self):
        done = self.deputy("partition", self.model(), "--json", "--config", "low-power")
        device = json.loads(done.stdout)["delegates"][0]["device"]
        self.assertEqual((device["level_requested"], device["level_granted"]), (1, 1))
        self.assertEqual(self.shown("--config", "low-power")["threads"][0], "1")
        self.deputy("run", self.model(), "--config", "low-power", "--set", "plugins.paths=[.]")

    def test_StrictNoFallbackIsTheNpuOrAnError(self):
        strict = ["--config", "strict-no-fallback"]
        self.assertEqual(set(self.placed(*strict).values()), {"npu0"})
        error = self.deputy("run", self.model("Sin"), *strict, status=3).stderr
        self.assertRegex(error, r"(?m)^  node 'head/second' \(Sin\); npu0: operator unknown; fallback is 'none'")
        self.assertNotIn("kernels", error)
        self.assertIn("'sim_npu'", self.deputy("run", self.model(), *strict, "--set", "plugins.paths=[.]",
                                               status=4).stderr)  # fmt: skip

    def test_StrictNoFallbackEndsARunThatFails(self):
        config = self.with_fixture("strict-no-fallback", "leaves_outputs")
        error = self.deputy("run", self.model("Relu"), "--config", config, status=4).stderr
        self.assertIn("was not written", error)

    def test_DeterministicGivesTheSameBitsAndMeasuresNothing(self):
        outputs = set()
        for name in ("one", "two"):
            folder = self.scratch / name
            done = self.deputy("run", self.model(), "--config", "deterministic", "--output-dir", folder)
            self.assertNotIn("measured", done.stderr)
            outputs.add((folder / "y.npy").read_bytes())
        self.assertEqual(len(outputs), 1)
        self.deputy("run", self.model(), "--config", "deterministic", "--set", "plugins.paths=[.]", status=4)

    def test_DeterministicMakesAWrongResultAnError(self):
        config = self.with_fixture("deterministic", "wrong_values")
        values = self.scratch / "x.npy"
        values.write_bytes(onnx_bytes.npy((0.1, 2, 2, 2, 2, 2), (2, 3)))
        error = self.deputy("run", self.model(), "--config", config, "--input", f"x={values}", status=5).stderr
        self.assertIn("wrong result of", error)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--fixtures", required=True)
    ARGS, rest = parser.parse_known_args()
    ARGS.deputy = os.path.abspath(ARGS.deputy)
    unittest.main(argv=[sys.argv[0], *rest])
