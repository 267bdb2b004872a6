#!/usr/bin/env python3
"""What delegates can do beyond compiling and running, as a user of the program meets it: the cache of compiled
partitions, events of devices, operators of a vendor's own. With the simulated NPU.

  extensions_test.py --deputy build/release/bin/deputy [unittest's arguments]
"""

import argparse
import hashlib
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import onnx_bytes

DEPUTY = None
CONFIG = "version: 1\nplugins: {paths: [$deputy/plugins]}\ndelegates: [{name: npu0, delegate: sim_npu}]\n"
OWN = "org.deputy.sim_npu"


class Extensions(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        self.config = self.scratch / "npu.yaml"
        self.config.write_text(CONFIG)
        self.cache = self.scratch / "cache" / "deputy"

    def deputy(self, *arguments, status=0):
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "XDG_CACHE_HOME": str(self.cache.parent)}
        done = subprocess.run([str(DEPUTY), *map(str, arguments)], capture_output=True, text=True, env=environment,
                              timeout=300)  # fmt: skip
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def model(self, nodes, domains=(), initializers=()):
        """From x to y, both 2x3."""
        path = self.scratch / "model.onnx"
        x, y = (onnx_bytes.value_info(name, (2, 3)) for name in "xy")
        path.write_bytes(onnx_bytes.model(nodes, [x], [y], domains, initializers))
        return path

    def relu(self):
        return self.model([onnx_bytes.node("Relu", ["x"], ["m"], name="first"),
                           onnx_bytes.node("Tanh", ["m"], ["y"], name="second")])  # fmt: skip

    def placed(self, model, *arguments):
        """(the partitions' executables, what was said)"""
        done = self.deputy("partition", model, "--config", self.config, "--json", *arguments)
        return [part["executable"] for part in json.loads(done.stdout)["partitions"]], done.stderr

    def entries(self):
        return sorted(self.cache.glob("*.blob"))


class Cache(Extensions):
    # Seed rows 44, 70.
    def test_ThePartitionIsCompiledOnceAndRestoredEverAfter(self):
        model = self.relu()
        self.assertEqual(self.placed(model)[0], ["compiled"])
        self.assertEqual(len(self.entries()), 1)
        self.assertEqual(self.placed(model)[0], ["restored"])

    def test_WhatIsRestoredComputesTheSame(self):
        model, outputs = self.relu(), []
        for name in ("a", "b"):
            self.deputy("run", model, "--config", self.config, "--output-dir", self.scratch / name)
            outputs.append((self.scratch / name / "y.npy").read_bytes())
        self.assertEqual(len(self.entries()), 1)
        self.assertEqual(*outputs)

    # Seed row 34.
    def test_AnotherOptionIsAnotherEntry(self):
        model = self.relu()
        self.placed(model)
        self.assertEqual(self.placed(model, "--set", "delegates.npu0.options.memory=128")[0], ["compiled"])
        self.assertEqual(len(self.entries()), 2)

    def test_OffKeepsNothing(self):
        model = self.relu()
        for _ in range(2):
            self.assertEqual(self.placed(model, "--set", "cache.dir=off")[0], ["compiled"])
        self.assertEqual(self.entries(), [])

    def test_AFolderOfItsOwn(self):
        folder = self.scratch / "elsewhere"
        self.placed(self.relu(), "--set", f"cache.dir={folder}")
        self.assertEqual(len(list(folder.glob("*.blob"))), 1)
        self.assertEqual(self.entries(), [])

    def test_ADamagedEntryIsCompiledAnewWithANotice(self):
        model = self.relu()
        self.placed(model)
        (entry,) = self.entries()
        content = bytearray(entry.read_bytes())
        content[-1] ^= 1
        entry.write_bytes(content)
        executables, said = self.placed(model)
        self.assertEqual(executables, ["compiled"])
        self.assertIn("damaged", said)
        self.assertEqual(self.placed(model)[0], ["restored"])

    def rewritten(self, entry, compatibility):
        """The entry as another firmware would have written it, with a checksum that is right."""
        content = entry.read_bytes()
        blob = content[-struct.unpack_from("<Q", content, 24)[0]:]
        head = content[:16] + struct.pack("<QQ", len(compatibility), len(blob)) + content[32:64]
        rest = compatibility + bytes(-(96 + len(compatibility)) % 64) + blob
        entry.write_bytes(head + hashlib.blake2b(head + bytes(32) + rest, digest_size=32).digest() + rest)

    # Seed row 43.
    def test_AnEntryOfAnotherFormatIsCompiledAnewWithANotice(self):
        model = self.relu()
        self.placed(model)
        self.rewritten(self.entries()[0], b"sim_npu format 9, firmware 1")
        executables, said = self.placed(model)
        self.assertEqual(executables, ["compiled"])
        self.assertIn("format 9", said)
        self.assertEqual(self.placed(model)[0], ["restored"], "the new one has replaced it")

    def test_AnEntryOfAnOlderFirmwareIsStillRestored(self):
        model = self.relu()
        self.placed(model)
        self.rewritten(self.entries()[0], b"sim_npu format 2, firmware 0")
        self.assertEqual(self.placed(model)[0], ["restored"])

    def test_TheCommandShowsChecksAndRemovesEntries(self):
        model = self.relu()
        self.placed(model)
        entries = json.loads(self.deputy("cache", "ls", "--json").stdout)["entries"]
        (entry,) = (entry for entry in entries if entry["kind"] != "probe")
        self.assertEqual((entry["kind"], entry["file"]), ("blob", str(self.entries()[0])))
        self.assertRegex(entry["text"], "^sim_npu format 2, firmware ")
        self.assertIn(f"{len(entries)} intact", self.deputy("cache", "verify").stdout)
        self.assertIn("removed 1 entry", self.deputy("cache", "purge", "--kind", "blob").stdout)
        self.assertEqual(self.placed(model)[0], ["compiled"])

    def test_AFolderThatCannotBeWrittenIsOneWarning(self):
        self.cache.parent.mkdir(parents=True)
        self.cache.write_text("a file in its place")
        executables, said = self.placed(self.relu())
        self.assertEqual(executables, ["compiled"])
        self.assertEqual(said.count("warning"), 1, said)


class Profile(Extensions):
    # Seed row 72.
    def test_StepsAndWhatTheDeviceDidInThemAreShownByNode(self):
        shown = self.deputy("run", self.relu(), "--config", self.config, "--profile").stdout
        self.assertRegex(shown, r"npu0\s+npu0\S*\s+first, second")
        self.assertRegex(shown, r"  Relu\s+first\s+.*(device|unrelated).*cycles")
        self.assertRegex(shown, r"  Tanh\s+second\s+.*(device|unrelated).*cycles")

    # Seed row 76.
    def test_TheTraceIsWhatTraceViewersRead(self):
        trace = self.scratch / "trace.json"
        self.deputy("run", self.relu(), "--config", self.config, "--trace", trace)
        events = [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"]
        self.assertEqual([event["name"] for event in events if event["cat"] == "step"], ["npu0/0"])
        layers = [event for event in events if event["cat"] == "device"]
        self.assertEqual([event["name"] for event in layers], ["copy in", "Relu", "Tanh", "copy out"])
        self.assertEqual(layers[1]["args"]["nodes"], ["first"])
        self.assertTrue(all(event["dur"] >= 0 for event in events))
        self.assertEqual(sorted(layers, key=lambda event: event["ts"]), layers)
        self.assertGreaterEqual(json.loads(layers[1]["args"]["metadata"])["cycles"], 1500)

    def trace(self, model):
        trace = self.scratch / "trace.json"
        self.deputy("run", model, "--config", self.config, "--trace", trace)
        return [event["name"] if event["cat"] == "device" else "step" for event in
                json.loads(trace.read_text())["traceEvents"] if event.get("cat") in ("step", "device")]  # fmt: skip

    def test_WhatTheDeviceDidInABranchStandsWithTheIf(self):
        branch = onnx_bytes.graph([onnx_bytes.node("Relu", ["m"], ["t"]), onnx_bytes.node("Tanh", ["t"], ["out"])], [],
                                  [onnx_bytes.value_info("out", (2, 3))])  # fmt: skip
        model = self.model(
            [onnx_bytes.node("Erf", ["x"], ["m"]), onnx_bytes.node("ReduceMax", ["m"], ["largest"], keepdims=0),
             onnx_bytes.node("Greater", ["largest", "low"], ["condition"]),
             onnx_bytes.node("If", ["condition"], ["y"], "choice", then_branch=branch, else_branch=branch)],
            initializers=[onnx_bytes.tensor([-5.0], (), "low")])  # fmt: skip
        self.assertEqual(self.trace(model), ["step"] * 4 + ["copy in", "Relu", "Tanh", "copy out"])

    def test_EachRoundOfALoopHasItsEvents(self):
        values = [onnx_bytes.value_info("round", (), 7), onnx_bytes.value_info("going", (), 9),
                  onnx_bytes.value_info("state", (2, 3))]  # fmt: skip
        body = onnx_bytes.graph(
            [onnx_bytes.node("Identity", ["going"], ["again"]), onnx_bytes.node("Tanh", ["state"], ["next"])], values,
            [onnx_bytes.value_info("again", (), 9), onnx_bytes.value_info("next", (2, 3))])  # fmt: skip
        model = self.model([onnx_bytes.node("Loop", ["trips", "", "x"], ["y"], "rounds", body=body)],
                           initializers=[onnx_bytes.integer_tensor(7, struct.pack("<q", 3), (), "trips")])
        self.assertEqual(self.trace(model).count("Tanh"), 3)
        placed = json.loads(self.deputy("partition", model, "--config", self.config, "--json").stdout)
        self.assertIn("rounds/body", {part["region"] for part in placed["partitions"]})

    def test_WithoutItNothingIsShown(self):
        self.assertNotIn("cycles", self.deputy("run", self.relu(), "--config", self.config).stdout)


class OwnOperators(Extensions):
    def gate(self, **attributes):
        nodes = [onnx_bytes.node("Gate", ["x"], ["m"], name="gate", domain=OWN, **attributes),
                 onnx_bytes.node("Relu", ["m"], ["y"], name="relu")]  # fmt: skip
        return self.model(nodes, domains=[OWN])

    def test_TheShapesComeFromThePluginAndTheNodeGoesThere(self):
        done = self.deputy("partition", self.gate(slope=0.5), "--config", self.config, "--json")
        self.assertEqual([node["delegate"] for node in json.loads(done.stdout)["nodes"]], ["npu0", "npu0"])

    def test_ThroughDpmToo(self):
        dpm = self.scratch / "gate.dpm"
        self.deputy("convert", self.gate(slope=0.5), "-o", dpm, "--config", self.config)
        done = self.deputy("partition", dpm, "--config", self.config, "--json")
        self.assertEqual([node["delegate"] for node in json.loads(done.stdout)["nodes"]], ["npu0", "npu0"])

    # Seed row 82.
    def test_ItsKernelStandsInWhereTheDelegateMayNotHaveIt(self):
        inputs = self.scratch / "x.pb"
        inputs.write_bytes(onnx_bytes.tensor((-4, -1, -0.5, 0.5, 1, 4), (2, 3)))
        expected = self.scratch / "y.pb"
        expected.write_bytes(onnx_bytes.tensor((0, 0, 0, 0.375, 1, 4), (2, 3)))
        deny = ("--set", "delegates.npu0.rules.deny_ops=[Gate]")
        compare = ("--input", f"x={inputs}", "--expect", f"y={expected}", "--config", self.config)
        self.deputy("run", self.gate(slope=0.5), *compare)
        self.deputy("run", self.gate(slope=0.5), *compare, *deny)
        done = self.deputy("partition", self.gate(slope=0.5), "--config", self.config, "--json", *deny)
        self.assertEqual([node["delegate"] for node in json.loads(done.stdout)["nodes"]], ["npu0 kernels", "npu0"])

    def test_AnAttributeThatIsNotDeclaredIsAnErrorThatNamesIt(self):
        done = self.deputy("partition", self.gate(slop=0.5), "--config", self.config, status=3)
        self.assertRegex(done.stderr, r"gate.*'slop'.*not declared")

    def test_WhatNobodyTakesIsListed(self):
        model = self.model([onnx_bytes.node("Fold", ["x"], ["y"], name="odd", domain="com.example")],
                           domains=["com.example"])  # fmt: skip
        done = self.deputy("partition", model, "--config", self.config, status=3)
        self.assertRegex(done.stderr, r"odd.*com\.example")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deputy", type=Path, required=True)
    options, remaining = parser.parse_known_args()
    DEPUTY = options.deputy.resolve()
    unittest.main(argv=[sys.argv[0], *remaining])
