#!/usr/bin/env python3
"""The parts of the comparison that could flatter somebody without being noticed: what counts as agreement, which inputs
ONNX Runtime is spared, and when a target counts as missed."""

import unittest
import unittest.mock

import numpy as np

import compare
import report
from engines import agreement, chunk, fields, name_in, tensor_in, without_initializers_as_inputs
from onnx_graph import FLOAT, OnnxGraph, tensor_bytes, value_info_bytes


class Agreement(unittest.TestCase):
    def test_DifferenceIsPerLargestMagnitude(self):
        want = np.array([0.0, 100.0], np.float32)
        self.assertAlmostEqual(agreement([want], [want + 1]), 0.01)

    def test_TheWorstOutputCounts(self):
        one = np.ones(3, np.float32)
        self.assertAlmostEqual(agreement([one, one], [one, 2 * one]), 1.0)

    def test_AnotherShapeNeverAgrees(self):
        self.assertEqual(agreement([np.ones((1, 3))], [np.ones((3, 1))]), np.inf)

    def test_AMissingOutputNeverAgrees(self):
        self.assertEqual(agreement([np.ones(1), np.ones(1)], [np.ones(1)]), np.inf)

    def test_NotANumberNeverAgrees(self):
        self.assertEqual(agreement([np.ones(1)], [np.array([np.nan])]), np.inf)


class Tensors(unittest.TestCase):
    def test_TheBytesThatWereWrittenAreRead(self):
        for values in (np.arange(6, dtype=np.float32).reshape(2, 3), np.array([-1, 1 << 40]), np.float16(2.5)):
            read = tensor_in(tensor_bytes(values))
            self.assertEqual(read.dtype, values.dtype)
            np.testing.assert_array_equal(read, values)


def model(inputs, initializers):
    """The bytes of a model as OnnxGraph writes it, kept in memory."""
    graph = OnnxGraph("g", 17)
    graph.inputs = [value_info_bytes(name, FLOAT, (2,)) for name in inputs]
    graph.initializers = [tensor_bytes(np.ones(2, np.float32), name) for name in initializers]
    parts = [chunk(5, i) for i in graph.initializers] + [chunk(11, i) for i in graph.inputs]
    return chunk(2, "producer") + chunk(7, b"".join(parts))


def inputs_of(data):
    graph = next(data[p:e] for number, _, p, e in fields(data) if number == 7)
    return [name_in(graph[p:e], 1) for number, _, p, e in fields(graph) if number == 11]


class SurplusInputs(unittest.TestCase):
    def test_InitializersAreTakenOutOfTheInputs(self):
        cleaned = without_initializers_as_inputs(model(["x", "w"], ["w"]))
        self.assertEqual(inputs_of(cleaned), [b"x"])
        self.assertIn(b"producer", cleaned)

    def test_AModelWithoutThemIsLeftAlone(self):
        data = model(["x"], ["w"])
        self.assertIs(without_initializers_as_inputs(data), data)


def measured(**changes):
    """A comparison in which every target is met."""
    facts = {"median_ns": 1e6, "round_medians_ns": [1e6, 2e6], "ratio": 1.0, "peak_bytes": 2e6,
             "resident_before_bytes": 1e6, "disagreement": 0.0}  # fmt: skip
    engines = {name: {**facts} for name in ("measured", "onednn", "cpu")}
    engines["measured"] |= {"round_medians_ns": [2e6, 0.8e6], "ratio": 0.8, "nodes": {"onednn": 6, "cpu": 4}}
    engines["onednn"]["nodes"], engines["cpu"]["nodes"] = {"onednn": 10, "cpu": 0}, {"cpu": 10}
    engines["ort"] = {**facts, "peak_bytes": 9e6}
    dispatch = {"cpu": {**facts, "median_ns": 100e3}, "ort": {**facts, "median_ns": changes.get("ort_dispatch", 202e3)}}
    for key, value in changes.items():
        name, _, field = key.partition("__")
        (dispatch["cpu"] if name == "dispatch" else engines.get(name, {}))[field] = value
    return {
        "results": [{"model": "resnet50", "threads": 1, "engines": engines}],
        "dispatch": {"engines": dispatch},
        "loading": [{"nodes": 10000, "cpu": 1e8}, {"nodes": 100000, "cpu": changes.get("load_1e5", 1e9)}],
        "library_bytes": changes.get("library", 3e6),
        "skipped": changes.get("skipped", []),
    }


class Targets(unittest.TestCase):
    def test_NoneIsMissed(self):
        self.assertEqual(report.missed_targets(measured()), [])

    def test_AMeasuredPlacementThatIsOneOfTheOthersHasItsTime(self):
        alike = {"measured__nodes": {"onednn": 0, "cpu": 10}, "measured__round_medians_ns": [1.2e6]}
        self.assertEqual(report.missed_targets(measured(**alike)), [])
        slower = measured(**alike, cpu__round_medians_ns=[1.06e6])
        self.assertEqual(len(report.missed_targets(slower)), 1)

    def test_OfThreeMeasurementsTheMiddleOneCounts(self):
        for ratios, counted, made in (((1.0, 2.0, 2.0), 1.0, 1), ((1.5, 1.05, 0.9), 1.05, 3), ((1.5, 1.0, 1.3), 1.3, 3)):
            results = [measured(measured__ratio=ratio)["results"][0] for ratio in ratios]
            with self.subTest(ratios), unittest.mock.patch.object(compare, "measure", side_effect=results) as measure:
                chosen = compare.steadily(compare.report.excess, None, None, None, 1, 1)
                self.assertEqual(chosen["engines"]["measured"]["ratio"], counted)
                self.assertEqual(measure.call_count, made)

    def test_EachCanBeMissed(self):
        for change, word in (
            ({"measured__ratio": 0.81}, "measured is 0.81x in the geometric mean"),
            ({"cpu__ratio": 4.1}, "cpu is 4.10x"),
            ({"measured__round_medians_ns": [1.06e6]}, "the CPU alone, is 1.06x"),
            ({"onednn__peak_bytes": 9e6}, "onednn needs 8 MB"), ({"dispatch__median_ns": 101e3}, "dispatch takes 101 ns"),
            ({"dispatch__median_ns": 200e3, "ort_dispatch": 900e3}, "dispatch takes 200 ns"),
            ({"load_1e5": 2e9}, "not linear"), ({"library": 6e6}, "6.00 MB"), ({"skipped": ["x"]}, "x was not run"),
        ):  # fmt: skip
            with self.subTest(word):
                missed = report.missed_targets(measured(**change))
                self.assertEqual(len(missed), 1, missed)
                self.assertIn(word, missed[0])


if __name__ == "__main__":
    unittest.main()
