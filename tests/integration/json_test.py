#!/usr/bin/env python3
"""Reports as JSON: the keys that host/docs/cli.md promises, and their values. Those of bench, compare, inspect, partition,
plugins, test-case, tune and verify are in the tests of these commands.

  json_test.py --deputy build/release/bin/deputy [unittest's arguments]
"""

import argparse
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

import onnx_bytes
from scratch import ScratchCase

ROOT = Path(__file__).resolve().parents[2]
DEPUTY = None


class Reports(ScratchCase):
    def setUp(self):
        super().setUp()
        self.model = self.scratch / "add.onnx"
        self.model.write_bytes(onnx_bytes.add_model())

    def npy(self, name, values):
        path = self.scratch / name
        path.write_bytes(onnx_bytes.npy(values, (2, 3), "<f4"))
        return path

    def deputy(self, *arguments, status=0):
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "XDG_CACHE_HOME": str(self.scratch / "cache")}
        done = subprocess.run([str(DEPUTY), *map(str, arguments), "--json"], capture_output=True, text=True,
                              env=environment, timeout=100)  # fmt: skip
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def json(self, *arguments, **kwargs):
        return json.loads(self.deputy(*arguments, **kwargs).stdout)


class Run(Reports):
    def test_ItHasThePromisedKeys(self):
        report = self.json("run", self.model, "--repeat", "3")
        self.assertEqual(
            set(report),
            {"model", "assumed", "inputs", "outputs", "runs", "time_ns", "summary", "multiply_adds", "delegates",
             "expected", "incidents", "degraded"},
        )  # fmt: skip
        self.assertEqual(set(report["inputs"][0]), {"name", "dtype", "shape", "from"})
        self.assertEqual(set(report["outputs"][0]),
                         {"name", "dtype", "shape", "nan_count", "min", "mean", "max", "first"})  # fmt: skip
        self.assertEqual(
            set(report["delegates"][0]),
            {"name", "nodes", "placed_nodes", "partitions", "multiply_adds", "host_time_ns", "device_time_ns"},
        )
        self.assertEqual(set(report["time_ns"]), {"min", "p50", "p90", "p95", "p99", "max", "mean"})

    def test_ItHasTheValuesOfTheOutputs(self):
        a, b = self.npy("a.npy", [0, 1, 2, 3, 4, float("nan")]), self.npy("b.npy", [10] * 6)
        (output,) = self.json("run", self.model, "--input", f"a={a}", "--input", f"b={b}")["outputs"]
        self.assertEqual((output["shape"], output["nan_count"]), ([2, 3], 1))
        self.assertEqual((output["min"], output["mean"], output["max"]), (10, 12, 14))
        self.assertEqual(output["first"], [10, 11, 12, 13, 14])

    def test_ItHasTheTopClasses(self):
        a, b = self.npy("a.npy", [0, 5, 2, 9, 4, 1]), self.npy("b.npy", [0] * 6)
        labels = self.scratch / "labels.txt"
        labels.write_text("x\ny\nz\n")
        inputs = ["--input", f"a={a}", "--input", f"b={b}"]
        rows = self.json("run", self.model, *inputs, "--top", "2", "--labels", labels)["top"]
        best = [[(c["index"], c["value"], c["label"]) for c in row["classes"]] for row in rows]
        self.assertEqual(best, [[(1, 5, "y"), (2, 2, "z")], [(0, 9, "x"), (1, 4, "y")]])

    def test_ItIsCompleteAfterAMismatch(self):
        a, b, y = self.npy("a.npy", [1] * 6), self.npy("b.npy", [2] * 6), self.npy("y.npy", [9] * 6)
        report = self.json("run", self.model, "--input", f"a={a}", "--input", f"b={b}", "--expect", f"y={y}", status=1)
        (expected,) = report["expected"]
        self.assertEqual((expected["output"], expected["file"], expected["matches"]), ("y", str(y), False))
        self.assertIn("elements differ", expected["detail"])

    def test_ItStandsAloneWhereFilesAreWrittenToo(self):
        self.json("run", self.model, "--output-dir", self.scratch / "out", "--trace", self.scratch / "trace.json")
        self.assertTrue((self.scratch / "out" / "y.npy").exists())
        self.assertTrue((self.scratch / "trace.json").exists())

    def test_ThereIsNoneAfterAnError(self):
        done = self.deputy("run", self.model, "--expect", "y=/nowhere.npy", status=2)
        self.assertEqual(done.stdout, "")
        self.assertIn("nowhere.npy", done.stderr)

    def test_ProfileIsRefused(self):
        self.assertIn("--trace", self.deputy("run", self.model, "--profile", status=2).stderr)


class Others(Reports):
    def test_Convert(self):
        dpm = self.scratch / "add.dpm"
        report = self.json("convert", self.model, "-o", dpm)
        self.assertEqual(report, {"model": str(self.model), "output": str(dpm), "bytes": dpm.stat().st_size})

    def test_NewPlugin(self):
        folder = self.scratch / "my_npu"
        report = self.json("new-plugin", "my_npu", "--language", "c", "--dir", folder)
        files = [path for path in folder.rglob("*") if path.is_file()]
        self.assertEqual(report, {"name": "my_npu", "language": "c", "folder": str(folder), "files": len(files)})

    def test_Digits(self):
        config = self.scratch / "c.yaml"
        config.write_text(f"version: 1\nplugins: {{paths: [{self.scratch}]}}\n")
        report = self.json("digits", "--config", config, "--model", ROOT / "configs/digits/digits.onnx", "--images",
                           ROOT / "configs/digits/images")  # fmt: skip
        self.assertEqual(set(report), {"pictures", "time_ns", "delegates"})
        self.assertGreaterEqual(len(report["pictures"]), 20)
        self.assertTrue(all(picture["answer"] == picture["truth"] for picture in report["pictures"]))
        self.assertEqual([delegate["name"] for delegate in report["delegates"]], ["cpu"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", type=Path, required=True)
    known, rest = parser.parse_known_args()
    DEPUTY = known.deputy.resolve(strict=True)
    unittest.main(argv=[sys.argv[0], *rest])
