#!/usr/bin/env python3
"""Every key of the configuration has an effect, or is refused by name: the list of keys is that of the program, as
`deputy config schema` prints it, and each key names the test that shows what it does.

  settings_test.py --deputy build/release/bin/deputy --fixtures build/release/fixtures/plugins [unittest's arguments]
"""

import argparse
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import unittest
from pathlib import Path
from unittest import mock

import make_models
import onnx_bytes
from settings import Settings

SHOWN = {}  # key: the test that shows its effect

NOT_AVAILABLE = "is not available in this version"


def shows(*keys):
    def note(test):
        for key in keys:
            assert key not in SHOWN, key
            SHOWN[key] = test.__name__
        return test

    return note


NPU = "delegates: [{name: npu0, delegate: sim_npu}]\n"
BOTH_ON_NPU = {"body/first": "npu0", "head/second": "npu0"}
FIRST_ON_NPU = {"body/first": "npu0", "head/second": "cpu"}
BOTH_ON_CPU = {"body/first": "cpu", "head/second": "cpu"}


def keys_of(schema, prefix=""):
    """(path, its schema) of every key, mappings and lists of mappings gone into."""
    for key, value in schema["properties"].items():
        forms = value.get("anyOf", [value.get("items", value)])
        groups = [form for form in forms if "properties" in form]
        for group in groups:
            yield from keys_of(group, f"{prefix}{key}.")
        if not groups:
            yield prefix + key, value


class Walk(Settings):
    def keys(self):
        empty = self.config("", head="version: 1\nplugins: {paths: [.]}\n")
        return dict(keys_of(json.loads(self.deputy("config", "schema", "--config", empty).stdout)))

    def test_EveryAvailableKeyNamesTheTestOfItsEffect(self):
        available = {path for path, schema in self.keys().items() if "not" not in schema}
        self.assertEqual(available - set(SHOWN), set(), "keys without a test that shows their effect")
        self.assertEqual(set(SHOWN) - available, set(), "tests of keys that are not in the list")
        for key, test in SHOWN.items():
            self.assertTrue(callable(getattr(Effects, test, None)), f"{key}: {test}")

    def test_EveryOtherKeyIsRefusedByNameByEveryCommand(self):
        refused = [path for path, schema in self.keys().items() if "not" in schema]
        self.assertIn("delegates.shapes", refused)
        model = self.model()
        for path in refused:
            with self.subTest(path):
                *groups, key = path.split(".")
                inside = f"{key}: 1"
                if groups[0] == "delegates":
                    text = "delegates: [{name: a, " + inside + "}]\n"
                    setting = f"delegates.a.{key}=1"
                elif groups == ["placement", "rules"]:
                    text = "placement: {rules: [{ops: x, to: cpu, " + inside + "}]}\n"
                    setting = "placement.rules=[{ops: x, to: cpu, " + inside + "}]"
                else:
                    text = f"{groups[0]}: {{{inside}}}\n"
                    setting = f"{path}=1"
                config = self.config(text, head="version: 1\n")
                message = f"'{key}' {NOT_AVAILABLE}"
                for command in (["config", "check", config], ["config", "show", "--config", config],
                                ["run", model, "--config", config], ["bench", model, "--config", config],
                                ["partition", model, "--config", config], ["plugins", "--config", config],
                                ["convert", model, "-o", self.scratch / "m.dpm", "--config", config]):  # fmt: skip
                    error = self.deputy(*command, status=2).stderr
                    self.assertRegex(error, rf"(?m)^deputy: error: {config}:2:\d+: {message}$")
                config = self.config("delegates: [{name: a}]\n")
                error = self.deputy("config", "show", "--config", config, "--set", setting, status=2).stderr
                self.assertIn(f": {message}", error)


class Effects(Settings):
    @shows("version")
    def test_AnotherVersionIsRefused(self):
        config = self.config("", head="version: 2\n")
        self.assertIn("version", self.deputy("config", "check", config, status=2).stderr)

    def listing(self, folder, *arguments, more=""):
        config = self.config(more, head=f"version: 1\nplugins: {{paths: [{folder}]}}\n")
        return json.loads(self.deputy("plugins", "--json", "--config", config, *arguments).stdout)

    @shows("plugins.paths")
    def test_PluginsAreLookedForInThePaths(self):
        folder = self.fixture("writes_inputs")
        listing = self.listing(folder)
        self.assertEqual(listing["folders"], [str(folder)])
        self.assertEqual([Path(plugin["file"]).name for plugin in listing["plugins"]], ["writes_inputs.so"])

    @shows("plugins.trust")
    def test_TrustDecidesWhetherAPluginIsProbed(self):
        folder, entry = self.fixture("writes_inputs"), "delegates: [{name: writes_inputs}]\n"
        rules = [self.listing(folder, "--set", f"plugins.trust={word}", more=entry)["plugins"][0]["rule"]
                 for word in ("probe", "any", "listed")]  # fmt: skip
        self.assertEqual(rules, ["probed", "manifest", "not-listed"])

    @shows("plugins.sandbox")
    def test_TheSandboxIsOfEveryProcessOfAPlugin(self):
        folder = self.fixture("writes_inputs")
        for word, rights in (("true", "cpu"), ("false", "user")):
            report = self.listing(folder, "--set", f"plugins.sandbox={word}")["plugins"][0]
            self.assertEqual(report["sandbox"], rights)

    @shows("plugins.environment")
    def test_TheEnvironmentOfASandboxIsWhatIsNamed(self):
        self.assertEqual([self.passes_secret(n) for n in ("[]", "[FIXTURE_SECRET]", "['FIXTURE_*']")], [False, True, True])

    @shows("plugins.readable")
    def test_ReadableFoldersAreThoseOfASandboxBesideItsOwn(self):
        self.assertEqual([self.reads_secret(n) for n in ("[]", "['{}']")], [False, True])

    def test_AReadableFolderThatDoesNotExistIsNamed(self):
        config = self.config("", head="version: 1\nplugins: {paths: [.], readable: [/usr, absent]}\n")
        (line,) = [text for text in self.deputy("plugins", "--config", config).stderr.splitlines() if "not exist" in text]
        self.assertRegex(line, r":2:\d+: the folder /.*/absent does not exist$")

    @shows("plugins.trust_keys")
    def test_TrustKeysRequireASignatureOfTheLock(self):
        folder, entry = self.fixture("writes_inputs"), "delegates: [{name: writes_inputs}]\n"
        digest = hashlib.sha256((folder / "writes_inputs.so").read_bytes()).hexdigest()
        (folder / "SHA256SUMS").write_text(f"{digest}  writes_inputs.so\n")
        listed = ["--set", "plugins.trust=listed"]
        self.assertEqual(self.listing(folder, *listed, more=entry)["plugins"][0]["rule"], "probed")
        report = self.listing(folder, *listed, "--set", f"plugins.trust_keys=[RW{'a' * 54}]", more=entry)["plugins"][0]
        self.assertEqual(report["rule"], "not-listed")
        self.assertIn("is not signed", report["reason"])
        error = self.deputy("plugins", "--set", f"plugins.trust_keys=[RW{'a' * 54}]", status=2).stderr
        self.assertIn("'trust_keys' has no effect without 'trust: listed'", error)

    @shows("plugins.auto")
    def test_AutoTakesPluginsWithoutAnEntryLast(self):
        for word, found in (("off", False), ("last", True)):
            report = self.report(self.config(""), "--set", f"plugins.auto={word}")
            self.assertIs("sim_npu" in [delegate["name"] for delegate in report["delegates"]], found)

    @shows("plugins.probe_timeout")
    def test_ProbeTimeoutEndsAProbeThatHangs(self):
        listing = self.listing(self.fixture("hang_in_init"), "--set", "plugins.probe_timeout=120ms",
                               more="delegates: [{name: hang_in_init}]\n")  # fmt: skip
        self.assertIn("120 ms", listing["plugins"][0]["reason"])

    @shows("delegates.name", "delegates.delegate")
    def test_AnEntryIsCalledByItsNameAndServedByItsDelegate(self):
        (npu, _) = self.report(self.config(NPU))["delegates"]
        self.assertEqual((npu["name"], npu["id"]), ("npu0", "sim_npu"))

    @shows("delegates.before")
    def test_BeforeMovesAnEntry(self):
        body = "delegates: [{name: a, delegate: sim_npu}, {name: b, delegate: sim_npu}]\n"
        self.assertEqual(set(self.placed(body).values()), {"a"})
        self.assertEqual(set(self.placed(body, "--set", "delegates.b.before=a").values()), {"b"})

    @shows("delegates.device")
    def test_DeviceChoosesTheDevice(self):
        listing = json.loads(self.deputy("plugins", "--json", "--config", self.config(NPU)).stdout)
        (devices,) = [delegate["devices"] for plugin in listing["plugins"] for delegate in plugin["delegates"]
                      if delegate["id"] == "sim_npu"]  # fmt: skip
        for device in devices:
            for name in (device["number"], device["name"]):
                report = self.report(self.config(NPU), "--set", f"delegates.npu0.device={name}")
                self.assertEqual(report["delegates"][0]["device"]["device"], device["name"])
        self.deputy("run", self.model(), "--config", self.config(NPU), "--set", "delegates.npu0.device=99", status=2)

    @shows("delegates.enabled")
    def test_ADisabledEntryIsLeftOut(self):
        self.assertEqual(self.placed(NPU), BOTH_ON_NPU)
        self.assertEqual(self.placed(NPU, "--set", "delegates.npu0.enabled=false"), BOTH_ON_CPU)

    @shows("delegates.required")
    def test_ARequiredDelegateThatIsAbsentIsAnError(self):
        config = self.config("delegates: [{name: absent}]\n")
        self.deputy("run", self.model(), "--config", config)
        self.deputy("run", self.model(), "--config", config, "--set", "delegates.absent.required=true", status=4)

    @shows("delegates.options")
    def test_OptionsReachTheDelegate(self):
        for frequency, level in (("low", 1), ("extreme", 4)):
            report = self.report(self.config(NPU), "--set", f"delegates.npu0.options.frequency={frequency}")
            self.assertEqual(report["delegates"][0]["device"]["level_requested"], level)

    # Seed row 59.
    @shows("delegates.precision")
    def test_APrecisionThatTheDelegateLacksKeepsNodesOffIt(self):
        """sim_npu computes products in float16 alone."""
        weights = onnx_bytes.tensor(range(9), (3, 3), "w")
        product = self.model([onnx_bytes.node("MatMul", ["x", "w"], ["y"], "product")], [weights])
        for precision, delegate in (("own", "npu0"), ("float16", "npu0"), ("float32", "cpu")):
            placed = self.placed(NPU, "--set", f"delegates.npu0.precision={precision}", model=product)
            self.assertEqual(placed, {"product": delegate}, precision)

    @shows("delegates.priority")
    def test_PriorityReachesTheCompilation(self):
        folder = self.fixture("says_priority")
        config = self.config("delegates: [{name: says_priority}]\n",
                             f"version: 1\nplugins: {{paths: [{folder}], trust: any}}\n")  # fmt: skip
        for setting, said in (((), "priority 0"), (("--set", "delegates.says_priority.priority=-7"), "priority -7")):
            self.assertIn(said, self.deputy("run", self.model(), "--config", config, *setting).stderr)

    @shows("delegates.rules.allow_ops", "delegates.rules.deny_ops", "delegates.rules.nodes", "delegates.rules.deny_nodes")
    def test_RulesOfADelegateLimitItsNodes(self):
        for rule in ("allow_ops=Relu", "deny_ops=[Tanh]", "nodes=body/*", "deny_nodes=head/*"):
            self.assertEqual(self.placed(NPU, "--set", f"delegates.npu0.rules.{rule}"), FIRST_ON_NPU, rule)

    @shows("delegates.min_nodes")
    def test_MinNodesLeavesSmallPartitions(self):
        self.assertEqual(self.placed(NPU, "--set", "delegates.npu0.min_nodes=2"), BOTH_ON_NPU)
        self.assertEqual(self.placed(NPU, "--set", "delegates.npu0.min_nodes=3"), BOTH_ON_CPU)

    @shows("delegates.on_failure")
    def test_on_failure_says_whether_another_delegate_takes_over(self):
        """The fixture's first run leaves its output unwritten, which is found."""
        folder = self.fixture("leaves_outputs")
        for entry, status in (("", 0), (", on_failure: next", 0), (", on_failure: fail", 4), (", required: true", 4)):
            with self.subTest(entry):
                config = self.config(f"delegates: [{{name: leaves_outputs{entry}}}]\n",
                                     f"version: 1\nplugins: {{paths: [{folder}], trust: any}}\n")
                done = self.deputy("run", self.model(), "--config", config, status=status)
                self.assertIn("was not written", done.stderr)
                self.assertEqual("; cpu runs it from now on" in done.stderr, status == 0, done.stderr)

    @shows("delegates.verify.when", "delegates.verify.every")
    def test_VerifyChoosesTheRuns(self):
        for verify, first, later in (("never", False, False), ("first_run", True, False), ("always", True, True),
                                     ("{every: 7}", True, True), ("{every: 100}", True, False),
                                     ("{when: first_run, every: 7}", True, True)):  # fmt: skip
            with self.subTest(verify):
                self.assertIs(self.accused("wrong_values", verify), first)
                self.assertIs(self.accused("wrong_after_ten_runs", verify, "--repeat", 30), later)

    @shows("delegates.verify.rtol", "delegates.verify.atol", "delegates.verify.atol_scale")
    def test_VerifyComparesWithTheTolerances(self):
        """The one wrong element is 0 instead of 0.1, and the largest is 2."""
        for tolerance, wrong in (("rtol: 0.9", True), ("rtol: 1", False), ("atol: 0.09", True), ("atol: 0.11", False),
                                 ("atol_scale: 0.04", True), ("atol_scale: 0.06", False)):  # fmt: skip
            with self.subTest(tolerance):
                self.assertIs(self.accused("wrong_values", f"{{when: first_run, {tolerance}}}"), wrong)

    @shows("delegates.verify.outliers")
    def test_VerifyAllowsAShareOfQuantizedElementsAStep(self):
        """One element in 200 is off by a step."""
        nodes = [onnx_bytes.node("QuantizeLinear", ["x", "step", "zero"], ["q"]),
                 onnx_bytes.node("DequantizeLinear", ["q", "step", "zero"], ["y"])]  # fmt: skip
        constants = [onnx_bytes.tensor([0.5], (), "step"), onnx_bytes.integer_tensor(3, b"\0", (), "zero")]
        model = self.model(nodes, constants, (20, 10))
        values = [(index % 101 - 50) / 2 for index in range(200)]
        for outliers, wrong in (("", False), (", outliers: 0.001", True), (", outliers: 0.006", False)):
            with self.subTest(outliers):
                self.assertIs(self.accused("wrong_fusions", f"{{when: first_run{outliers}}}", model=model,
                                           options="fault: last_row, operator: QuantizeLinear, error: 1",
                                           values=values, shape=(20, 10)), wrong)  # fmt: skip

    def test_AnInputThatWasChangedIsAWrongResult(self):
        self.assertTrue(self.accused("writes_inputs", "first_run"))

    def test_ReportsNameWhatAnEarlierRunFoundWrong(self):
        folder = self.fixture("wrong_values")
        config = self.config(f"cache: {{dir: {self.scratch}/store}}\n"
                             "delegates: [{name: wrong_values, verify: first_run}]\n",
                             f"version: 1\nplugins: {{paths: [{folder}], trust: any}}\n")  # fmt: skip
        x = self.scratch / "x.npy"
        x.write_bytes(onnx_bytes.npy([0.1] * 6, (2, 3)))
        run = ["run", self.model(), "--config", config, "--input", f"x={x}"]
        self.assertIn("wrong result of wrong_values", self.deputy(*run).stderr)
        (node,) = [node for node in self.report(config)["nodes"] if node["op_type"] == "Relu"]
        self.assertEqual(node["delegate"], "cpu")
        (refusal,) = node["refusals"]
        self.assertEqual((refusal["delegate"], refusal["reason"]), ("wrong_values", "wrong result"))
        for part in (f"{folder}/wrong_values.so", "partition wrong_values/0", "'body/first' (Relu)"):
            self.assertIn(part, refusal["detail"])
        self.assertNotIn("wrong result", self.deputy(*run).stderr)

    @shows("delegates.verify.on_mismatch")
    def test_OnMismatchSaysWhetherAnotherDelegateTakesOver(self):
        for verify, status in (("{when: first_run, on_mismatch: next}", 0), ("{when: first_run, on_mismatch: fail}", 5),
                               ("first_run, on_failure: fail", 5), ("first_run, required: true", 5)):  # fmt: skip
            with self.subTest(verify):
                self.assertTrue(self.accused("wrong_values", verify, status=status))

    @shows("delegates.min_flops")
    def test_MinFlopsLeavesPartitionsWithLittleWork(self):
        weights = onnx_bytes.tensor([0.5] * 9, (3, 3), "w")
        model = self.model([onnx_bytes.node("MatMul", ["x", "w"], ["y"], "product")], [weights])
        for flops, delegate in ((36, "npu0"), (38, "cpu")):  # 2 x 3 x 3 multiply-adds, which count twice
            setting = f"delegates.npu0.min_flops={flops}"
            self.assertEqual(self.placed(NPU, "--set", setting, model=model), {"product": delegate})

    @shows("delegates.isolation", "delegates.timeout", "delegates.call_timeout", "delegates.call_timeout_total",
           "delegates.memory_limit")  # fmt: skip
    def test_IsolationSurvivesWhatAPluginDoes(self):
        twice, late = ", call_timeout: 250ms, call_timeout_total: 500ms", "its worker process did not answer a call within"
        for plugin, fault, keys, warning in (
            ("crashes_in_execute", "", "", "execute: its worker process was ended by SIGSEGV"),
            ("hangs_in_execute", "", ", timeout: 150ms", "execute: its worker process did not end a run within 150 ms"),
            ("good", "", ", memory_limit: 1MB", "its worker process"),
            ("misbehaves", "open:hang", ", call_timeout: 250ms", f"open: {late} 250 ms"),
            ("misbehaves", "progress:same", twice, f"compile: {late} 250 ms"),
            ("misbehaves", "progress:steps", twice, f"compile: {late} 500 ms, with all of its progress"),
        ):
            with self.subTest(plugin + fault), mock.patch.dict(os.environ, FIXTURE_FAULT=fault):
                config = self.config(f"delegates: [{{name: {plugin}, isolation: process{keys}}}]\n",
                                     f"version: 1\nplugins: {{paths: [{self.fixture(plugin)}], trust: any}}\n")  # fmt: skip
                self.assertIn(warning, self.deputy("run", self.model(), "--config", config).stderr)

    @shows("delegates.spin")
    def test_SpinReachesTheChannelsOfTheWorker(self):
        # What a channel does with the time is shown by the unit tests of SpinTime and Bell, which no load disturbs.
        for spin, shown in (("0us", 0), ("20us", 20), ("10ms", 10000)):
            polls = shown if len(os.sched_getaffinity(0)) > 1 else 0  # nothing polls on one processor
            self.assertIn(f"polls for up to {polls} us before it sleeps", self.log_of_a_worker(spin))

    @shows("cpu.threads")
    def test_ThreadsOfTheCpu(self):
        one = self.threads_of_a_run(1)
        self.assertEqual(self.threads_of_a_run(3), one + 2)
        self.assertEqual(self.threads_of_a_run(6), one + 5)

    # Seed row 38.
    @shows("models.map_files")
    def test_FilesOfModelsAreMappedOrCopied(self):
        for mapped, place in (("true", f"{self.model()}\n"), ("false", "/memfd:deputy (deleted)\n")):
            self.assertIn(place, self.of_a_run("maps", f"models.map_files={mapped}"))

    @shows("models.plans")
    def test_PlansOfSoManyShapesAreKept(self):
        self.assertEqual((self.plans_made(3), self.plans_made(2)), (3, 6))

    @shows("fallback")
    def test_WithoutFallbackANodeThatOnlyTheCpuTakesIsAnError(self):
        config = self.config(NPU)
        deny = ["--set", "delegates.npu0.rules.deny_ops=Tanh"]
        self.deputy("run", self.model(), "--config", config, *deny, "--set", "fallback=cpu")
        error = self.deputy("run", self.model(), "--config", config, *deny, "--set", "fallback=none", status=3).stderr
        self.assertIn("head/second", error)

    def measured(self, *settings, shape=(2, 3)):
        """The decision of a run under policy `measured`."""
        arguments = [text for setting in ("placement.policy=measured", "cpu.threads=1", *settings)
                     for text in ("--set", setting)]  # fmt: skip
        shutil.rmtree(self.scratch / "cache", ignore_errors=True)
        done = self.deputy("run", self.model(shape=shape), "--config", self.config(NPU), *arguments)
        return done.stderr.rpartition("measured: ")[2].strip()

    @shows("placement.policy")
    def test_thePolicyIsTheOrderThePredictionOrTheClock(self):
        self.assertEqual(self.placed(NPU, "--set", "placement.policy=priority"), BOTH_ON_NPU)
        # The simulated device needs many times the CPU's time.
        self.assertRegex(self.measured(shape=(256, 1024)), r"^the CPU alone, 0\.\d\d of the order")
        self.assertEqual(self.placed(NPU, "--set", "placement.policy=cost"), BOTH_ON_CPU)  # six floats are soon done

    @shows("placement.budget")
    def test_theBudgetLimitsTheSearch(self):
        stays = "a few runs take longer than the budget, the order stays"
        self.assertEqual(self.measured("placement.budget=1ms", shape=(256, 1024)), stays)
        self.assertNotEqual(self.measured("placement.budget=30s", shape=(256, 1024)), stays)

    @shows("placement.margin")
    def test_aGainWithinTheMarginChangesNothing(self):
        self.assertTrue(self.measured("placement.margin=90%").startswith("the order is the fastest"))
        self.assertTrue(self.measured("placement.margin=0%").startswith("the CPU alone"))

    @shows("placement.rules.nodes", "placement.rules.ops", "placement.rules.domains", "placement.rules.to",
           "placement.rules.avoid")  # fmt: skip
    def test_RulesOverAllDelegates(self):
        for rule, expected in {
            "nodes: head/*, to: cpu": FIRST_ON_NPU,
            "ops: Tanh, to: cpu": FIRST_ON_NPU,
            "ops: [Tanh], avoid: npu0": FIRST_ON_NPU,
            "domains: ai.onnx, to: cpu": BOTH_ON_CPU,
            "domains: com.microsoft, to: cpu": BOTH_ON_NPU,
            "domains: ai.onnx, nodes: head/*, avoid: [npu0]": FIRST_ON_NPU,
            "ops: Relu, to: npu0": BOTH_ON_NPU,
        }.items():
            with self.subTest(rule):
                self.assertEqual(self.placed(NPU, "--set", f"placement.rules=[{{{rule}}}]"), expected)

    @shows("passes.fold_constants")
    def test_FoldConstants(self):
        nodes = [onnx_bytes.node("Tanh", ["c"], ["t"]), onnx_bytes.node("Add", ["x", "t"], ["y"])]
        constant = [onnx_bytes.tensor([1, 2, 3], (3,), "c")]
        self.assertEqual(self.operators("passes.fold_constants=true", nodes, constant), ["Add"])
        self.assertEqual(self.operators("passes.fold_constants=false", nodes, constant), ["Tanh", "Add"])

    @shows("passes.fold_budget")
    def test_FoldBudget(self):
        shape = onnx_bytes.integer_tensor(7, struct.pack("<2q", 2, 3), (2,), "s")
        nodes = [onnx_bytes.node("Expand", ["c", "s"], ["t"]), onnx_bytes.node("Add", ["x", "t"], ["y"])]
        constants = [onnx_bytes.tensor([1], (1,), "c"), shape]
        self.assertEqual(self.operators("passes.fold_budget=1MB", nodes, constants), ["Add"])
        self.assertEqual(self.operators("passes.fold_budget=0B", nodes, constants), ["Expand", "Add"])

    @shows("passes.fold_shapes")
    def test_FoldShapes(self):
        nodes = [onnx_bytes.node("Shape", ["x"], ["s"]), onnx_bytes.node("Reshape", ["x", "s"], ["r"]),
                 onnx_bytes.node("Tanh", ["r"], ["y"])]  # fmt: skip
        both = ["--set", "passes.drop_identities=false"]
        model = self.model(nodes)
        for word, expected in (("true", False), ("false", True)):
            report = self.report(self.config(""), "--set", f"passes.fold_shapes={word}", *both, model=model)
            self.assertIs("Shape" in [node["op_type"] for node in report["nodes"]], expected)

    @shows("passes.drop_identities")
    def test_DropIdentities(self):
        nodes = [onnx_bytes.node("Identity", ["x"], ["i"]), onnx_bytes.node("Tanh", ["i"], ["y"])]
        self.assertEqual(self.operators("passes.drop_identities=true", nodes), ["Tanh"])
        self.assertEqual(self.operators("passes.drop_identities=false", nodes), ["Identity", "Tanh"])

    @shows("passes.merge_duplicates")
    def test_MergeDuplicates(self):
        nodes = [onnx_bytes.node("Tanh", ["x"], ["a"]), onnx_bytes.node("Tanh", ["x"], ["b"]),
                 onnx_bytes.node("Add", ["a", "b"], ["y"])]  # fmt: skip
        self.assertEqual(self.operators("passes.merge_duplicates=true", nodes), ["Tanh", "Add"])
        self.assertEqual(self.operators("passes.merge_duplicates=false", nodes), ["Tanh", "Tanh", "Add"])

    @shows("passes.cancel_transposes")
    def test_CancelTransposes(self):
        nodes = [onnx_bytes.node("Transpose", ["x"], ["a"]), onnx_bytes.node("Relu", ["a"], ["b"]),
                 onnx_bytes.node("Transpose", ["b"], ["y"])]  # fmt: skip
        for word, count in (("true", 0), ("false", 2)):
            self.assertEqual(self.operators(f"passes.cancel_transposes={word}", nodes).count("Transpose"), count)

    @shows("passes.fold_batch_norm")
    def test_FoldBatchNorm(self):
        nodes = [onnx_bytes.node("Conv", ["x", "w"], ["c"]),
                 onnx_bytes.node("BatchNormalization", ["c", "s", "b", "m", "v"], ["y"])]  # fmt: skip
        constants = [onnx_bytes.tensor([0.5] * 4, (2, 2, 1, 1), "w")]
        constants += [onnx_bytes.tensor([0.5, 2], (2,), name) for name in "sbmv"]
        shape = (1, 2, 4, 4)
        self.assertEqual(self.operators("passes.fold_batch_norm=true", nodes, constants, shape), ["Conv"])
        self.assertEqual(self.operators("passes.fold_batch_norm=false", nodes, constants, shape),
                         ["Conv", "BatchNormalization"])  # fmt: skip

    @shows("passes.drop_unused")
    def test_DropUnused(self):
        nodes = [onnx_bytes.node("Tanh", ["x"], ["y"]), onnx_bytes.node("Relu", ["x"], ["unused"])]
        self.assertEqual(self.operators("passes.drop_unused=true", nodes), ["Tanh"])
        self.assertEqual(sorted(self.operators("passes.drop_unused=false", nodes)), ["Relu", "Tanh"])

    @shows("cache.dir")
    def test_CacheDirIsWhereCompiledPartitionsAreKept(self):
        config = self.config(NPU)
        for word, folder in (("auto", self.scratch / "cache/deputy"), (self.scratch / "mine", self.scratch / "mine")):
            self.report(config, "--set", f"cache.dir={word}")
            self.assertEqual(len(list(folder.glob("*.blob"))), 1)
            shutil.rmtree(folder)
            self.report(config, "--set", "cache.dir=off")
            self.assertFalse(folder.exists())

    @shows("cache.max")
    def test_CacheMaxBoundsTheCache(self):
        size = 768  # 2.4 MB of weights
        weights = onnx_bytes.tensor([0.5] * size * size, (size, size), "w")
        model = self.model([onnx_bytes.node("MatMul", ["x", "w"], ["y"])], [weights], (2, size))
        for most, kept in (("1MB", 0), ("512MB", 1)):
            folder = self.scratch / most
            self.report(self.config(NPU), "--set", f"cache.dir={folder}", "--set", f"cache.max={most}", model=model)
            self.assertEqual(len(list(folder.glob("*.blob"))), kept, most)

    @shows("log.level", "log.format")
    def test_LogLevelDecidesWhatIsSaid(self):
        config = self.config("delegates: [{name: absent}]\n")
        said = {level: self.deputy("run", self.model(), "--config", config, "--set", f"log.level={level}").stderr
                for level in ("debug", "info", "warning", "error", "off")}  # fmt: skip
        self.assertEqual([level for level, text in said.items() if "2 nodes" in text], ["debug", "info"])
        self.assertEqual([level for level, text in said.items() if "warning: " in text], ["debug", "info", "warning"])
        self.assertEqual(self.deputy("run", self.model(), "--config", config, "--set", "log.format=json").stderr[0], "{")

    def test_LogLevelHoldsForListingsToo(self):
        folder = self.fixture("prints_a_lot")
        config = self.config("delegates: [{name: prints_a_lot}]\n", f"version: 1\nplugins: {{paths: [{folder}]}}\n")
        printed = [self.deputy("plugins", "--config", config, "--set", f"log.level={level}").stderr != ""
                   for level in ("debug", "info")]  # fmt: skip
        self.assertEqual(printed, [True, False])

    @shows("log.delegates")
    def test_LogLevelOfOneDelegate(self):
        folder = self.fixture("no_executable")
        config = self.config("delegates: [{name: no_executable}]\n",
                             f"version: 1\nplugins: {{paths: [{folder}]}}\n")  # fmt: skip
        model = self.model([onnx_bytes.node("Relu", ["x"], ["y"])])
        for settings, heard in ((["log.level=warning"], True), (["log.delegates.no_executable=off"], False),
                                (["log.level=off", "log.delegates.no_executable=debug"], True)):  # fmt: skip
            done = self.deputy("run", model, "--config", config, *(f"--set={setting}" for setting in settings))
            self.assertIs("no_executable: plugin no_executable" in done.stderr, heard, done.stderr)
            self.assertIs("refused partition" in done.stderr, "log.level=off" not in settings, done.stderr)

    @shows("limits.loop_steps", "limits.timeout", "limits.memory")
    def test_LimitsOfASession(self):
        (self.scratch / "n.npy").write_bytes(onnx_bytes.npy([1000], (), "<i8"))
        model = self.scratch / "counting.onnx"
        model.write_bytes(make_models.counting())
        inputs = [f"--input={name}={self.scratch / 'n.npy'}" for name in ("outer", "inner")]
        for setting, status, message in (("loop_steps=1000", 5, "1000 loop steps"),
                                         ("timeout=2ms", 5, "did not end in time"),
                                         ("memory=1B", 3, "exceed the memory limit")):  # fmt: skip
            error = self.deputy("run", model, *inputs, f"--set=limits.{setting}", status=status).stderr
            self.assertIn(message, error)

    @shows("debug.dump", "debug.dump_dir")
    def test_OnlyWhatIsNamedIsDumpedIntoTheFolder(self):
        self.deputy("run", self.model(), "--config", self.config("debug: {dump: [plan], dump_dir: ./seen}\n"))
        folder = self.scratch / "seen" / "m.onnx" / "plan_1"
        self.assertEqual([path.name for path in folder.iterdir()], ["plan.txt"])

    @shows("debug.abort_on_hang")
    def test_AbortOnHangEndsTheProcess(self):
        config = self.config("delegates: [{name: misbehaves, isolation: none, call_timeout: 150ms}]\n",
                             f"version: 1\nplugins: {{paths: [{self.fixture('misbehaves')}]}}\n")  # fmt: skip
        with mock.patch.dict(os.environ, FIXTURE_FAULT="compile:hang"):
            done = self.deputy("run", self.model(), "--config", config, "--set", "debug.abort_on_hang=true", status=-6)
        self.assertIn("has not returned for 150 ms", done.stderr)

    @shows("debug.check")
    def test_CheckHoldsPluginsAgainstTheirContract(self):
        folder = self.fixture("writes_inputs")
        config = self.config("delegates: [{name: writes_inputs}]\n",
                             f"version: 1\nplugins: {{paths: [{folder}]}}\n")  # fmt: skip
        model = self.model([onnx_bytes.node("Relu", ["x"], ["y"])])
        self.deputy("run", model, "--config", config, "--set", "debug.check=false")
        done = self.deputy("run", model, "--config", config, "--set", "debug.check=true", status=None)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("it was written to", done.stderr)


class References(Settings):
    def test_ARuleThatNamesNoDelegateIsRefusedByEveryCommand(self):
        model = self.model()
        for rule, name in (("to: npu1", "npu1"), ("avoid: [cpu, npu1]", "npu1")):
            config = self.config(NPU + "placement: {rules: [{ops: Tanh, " + rule + "}]}\n")
            for command in (["config", "check", config], ["config", "show", "--config", config],
                            ["run", model, "--config", config], ["partition", model, "--config", config],
                            ["bench", model, "--config", config], ["test-case", self.scratch, "--config", config],
                            ["plugins", "--config", config]):  # fmt: skip
                error = self.deputy(*command, status=2).stderr
                self.assertRegex(error, rf"(?m)^deputy: error: {config}:4:\d+: no delegate is called '{name}'; "
                                        r"did you mean 'npu0'\? \(known: npu0, cpu\)$")  # fmt: skip

    def test_SettingsAreHeldToTheSame(self):
        error = self.deputy("config", "show", "--set", "placement.rules=[{ops: Tanh, to: gpu}]", status=2).stderr
        self.assertIn("--set placement.rules: no delegate is called 'gpu'; did you mean 'cpu'?", error)
        error = self.deputy("config", "show", "--set", "log.delegates.npu=debug", status=2).stderr
        self.assertIn("no delegate is called 'npu'", error)

    def test_ADelegateOfADropInMayBeNamed(self):
        (self.scratch / "conf.d").mkdir()
        (self.scratch / "conf.d/npu.yaml").write_text("version: 1\n" + NPU)
        rule = "placement: {rules: [{ops: Tanh, to: cpu}, {ops: Relu, to: npu0}]}\n"
        self.assertEqual(self.placed(rule), FIRST_ON_NPU)

    def test_ADelegateOfASettingMayBeNamed(self):
        rule = "placement: {rules: [{ops: Tanh, to: cpu}, {ops: Relu, to: npu0}]}\n"
        self.assertEqual(self.placed(rule, "--set", "delegates.npu0.delegate=sim_npu"), FIRST_ON_NPU)

    def test_ADelegateThatAutoFindsMayBeNamed(self):
        config = self.config("placement: {rules: [{ops: Tanh, avoid: sim_npu}]}\n")
        self.deputy("run", self.model(), "--config", config, status=2)
        report = self.report(config, "--set", "plugins.auto=last")
        self.assertEqual(report["nodes"][1]["op_type"], "Tanh")
        self.assertNotEqual(report["nodes"][1]["delegate"], "sim_npu")
        wrong = self.config("placement: {rules: [{ops: Tanh, avoid: sim_npo}]}\n")
        error = self.deputy("run", self.model(), "--config", wrong, "--set", "plugins.auto=last", status=2).stderr
        self.assertIn("did you mean 'sim_npu'?", error)

    def test_ARuleToAListedDelegateThatIsAbsentOrDisabledHasNoEffect(self):
        for entry in ("{name: npu0, delegate: absent}", "{name: npu0, delegate: sim_npu, enabled: false}"):
            config = self.config(f"delegates: [{entry}]\nplacement: {{rules: [{{ops: Tanh, to: npu0}}]}}\n")
            done = self.deputy("run", self.model(), "--config", config)
            self.assertRegex(done.stderr, r"c\.yaml:4:\d+: the rule has no effect, because 'npu0' is not in use")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--fixtures", required=True)
    Settings.arguments, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
