#!/usr/bin/env python3
"""ONNX files that leave something open: what the command says about each, and what it computes.

  onnx_files_test.py --deputy build/release/bin/deputy [unittest's arguments]
"""

import argparse
import sys
import unittest
from pathlib import Path

from onnx_bytes import chunk, graph, model, node, number, tensor, value_info
from scratch import ScratchCase, run_program

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "abi"))

from operators import newest_opset  # noqa: E402

DEPUTY = None
NEWEST_OPSET = newest_opset((ROOT / "sdk" / "schema" / "operators.inc").read_text(encoding="utf-8"))


def deputy(*arguments):
    return run_program(DEPUTY, *arguments, env={"DEPUTY_SYSTEM_CONFIG": ""})


class Files(ScratchCase):
    def case(self, data, inputs, outputs):
        """A case of floats of shape [2]."""
        self.file("case/model.onnx", data)
        for what, lists in (("input", inputs), ("output", outputs)):
            for i, values in enumerate(lists):
                self.file(f"case/test_data_set_0/{what}_{i}.pb", tensor(values, (2,)))
        return self.scratch / "case"

    def check(self, run, status, *texts):
        said = f"exit status {run.returncode}\nstdout:\n{run.stdout}\nstderr:\n{run.stderr}"
        self.assertEqual(run.returncode, status, said)
        for text in texts:
            self.assertIn(text, run.stderr + run.stdout, said)

    def sum_with_default(self, **kwargs):
        """y = x + w; w is an input, and has a value in the file."""
        return model([node("Add", ["x", "w"], ["y"], "sum")], [value_info("x", (2,)), value_info("w", (2,))],
                     [value_info("y", (2,))], initializers=[tensor((5, 6), (2,), "w")], **kwargs)  # fmt: skip


class Defaults(Files):
    def test_InputWithADefaultMayBeLeftOut(self):
        self.check(deputy("test-case", self.case(self.sum_with_default(), [(1, 2)], [(6, 8)])), 0, "1 passed")

    def test_InputWithADefaultMayBeGiven(self):
        self.check(deputy("test-case", self.case(self.sum_with_default(), [(1, 2), (1, 1)], [(2, 3)])), 0, "1 passed")

    def test_GivenDefaultsAreKeptByDpm(self):
        folder = self.case(self.sum_with_default(), [(1, 2), (1, 1)], [(2, 3)])
        self.check(deputy("test-case", "--via-dpm", folder), 0, "1 passed")

    def test_RunTakesAFileForAnInputWithADefault(self):
        path = self.file("sum.onnx", self.sum_with_default())
        ones = self.file("ones.pb", tensor((1, 1), (2,)))
        x = self.file("x.pb", tensor((1, 2), (2,)))
        given = self.file("given.pb", tensor((2, 3), (2,)))
        kept = self.file("kept.pb", tensor((6, 8), (2,)))
        both = ["--config", "cpu-only", "--input", f"x={x}", "--input", f"w={ones}"]
        self.check(deputy("run", path, *both, "--expect", f"y={given}"), 0)
        self.check(deputy("compare", path, *both), 0)
        self.check(deputy("run", path, "--input", f"x={x}", "--expect", f"y={kept}"), 0)

    def test_ConstantThatIsNoInputCannotBeGiven(self):
        data = model([node("Add", ["x", "w"], ["y"], "sum")], [value_info("x", (2,))], [value_info("y", (2,))],
                     initializers=[tensor((5, 6), (2,), "w")])  # fmt: skip
        ones = self.file("ones.pb", tensor((1, 1), (2,)))
        self.check(deputy("run", self.file("sum.onnx", data), "--input", f"w={ones}"), 2, "no input 'w'")


class Doubts(Files):
    def one_node(self, made, opset=13, **kwargs):
        data = model([made], [value_info("x", (2,))], [value_info("y", (2,))], opset=opset, **kwargs)
        return self.file("one.onnx", data)

    def test_UnknownAttributeIsAWarning(self):
        path = self.one_node(node("Softmax", ["x"], ["y"], "r", beta=10.0))
        self.check(deputy("run", path), 0, "one.onnx: node 'r' (Softmax): Softmax-13 has no attribute 'beta'")

    def test_AttributeOfAnUnknownDefinitionIsRefused(self):
        path = self.one_node(node("Softmax", ["x"], ["y"], "r", beta=10.0), opset=NEWEST_OPSET + 1)
        self.check(deputy("run", path), 3, "node 'r' (Softmax): attribute 'beta'", f"known up to {NEWEST_OPSET}")

    def test_NewerOpsetIsReadWithANote(self):
        path = self.one_node(node("Relu", ["x"], ["y"], "r"), opset=NEWEST_OPSET + 1)
        self.check(deputy("run", path), 0, f"opset {NEWEST_OPSET + 1} of ONNX", f"known up to {NEWEST_OPSET}")

    def test_AttributesAreKnownAtTheLargestOpset(self):
        path = self.one_node(node("Softmax", ["x"], ["y"], "s", axis=0), opset=2**31 - 1)
        self.check(deputy("run", path), 0, "known up to")

    def test_NewestOpsetIsReadWithoutANote(self):
        run = deputy("run", self.one_node(node("Relu", ["x"], ["y"], "r"), opset=NEWEST_OPSET))
        self.check(run, 0)
        self.assertNotIn("known up to", run.stderr)

    def test_InitializersOfOneNameAreRefused(self):
        data = model([node("Add", ["x", "w"], ["y"], "sum")], [value_info("x", (2,))], [value_info("y", (2,))],
                     initializers=[tensor((1, 2), (2,), "w"), tensor((3, 4), (2,), "w")])  # fmt: skip
        self.check(deputy("run", self.file("two.onnx", data)), 3, "initializer 'w'", "at index 1")

    def test_InputsThatTheDefinitionOfTheOpsetLacksAreRefused(self):
        cases = {"Clip": (6, 3), "Pad": (10, 2), "Slice": (9, 3), "Unsqueeze": (11, 2), "Squeeze": (11, 2), "TopK": (9, 2),
               "ReduceMax": (17, 2), "ReduceSum": (11, 2), "Resize": (10, 3), "Tile": (6, 3)}  # fmt: skip
        for op_type, (opset, count) in cases.items():
            path = self.one_node(node(op_type, ["x"] * count, ["y"], "n"), opset=opset)
            self.check(deputy("run", path), 3, f"node 'n' ({op_type}): has {count} inputs, {op_type}-")

    def test_AttributesThatTheDefinitionOfTheOpsetRequiresAreNamed(self):
        for op_type, opset, attribute in (("TopK", 9, "k"), ("Slice", 9, "ends"), ("Unsqueeze", 11, "axes"), ("Pad", 10, "pads"),
                                          ("Upsample", 7, "scales"), ("Pad", 1, "paddings")):  # fmt: skip
            outputs = ["y", "indices"] if op_type == "TopK" else ["y"]
            path = self.one_node(node(op_type, ["x"], outputs, "n"), opset=opset)
            self.check(deputy("run", path), 3, f"node 'n' ({op_type})", f"attribute '{attribute}' is missing")

    def test_AWarningOfANodeWithoutANameHasItsIndex(self):
        data = model([node("Neg", ["x"], ["z"]), node("Softmax", ["z"], ["y"], beta=10.0)], [value_info("x", (2,))],
                     [value_info("y", (2,))], opset=13)  # fmt: skip
        self.check(deputy("run", self.file("two.onnx", data)), 0, "node 1 (Softmax): Softmax-13 has no attribute 'beta'")

    def test_AnOutputOfAnotherTypeThanTheFileStatesIsReported(self):
        data = model([node("Shape", ["x"], ["y"], "s")], [value_info("x", (2, 3))], [value_info("y", (2,))], opset=13)
        self.check(deputy("run", self.file("shape.onnx", data)), 0,
                   "warning: shape.onnx: output 'y' is float32 in the file, but its node makes int64")  # fmt: skip
        data = model([node("Shape", ["x"], ["y"], "s")], [value_info("x", (2, 3))], [value_info("y", (2,), 7)], opset=13)
        run = deputy("run", self.file("right.onnx", data))
        self.check(run, 0)
        self.assertNotIn("in the file", run.stderr)

    def test_ElementTypesThatNoTensorHasAreNamed(self):
        for number_of, name in ((27, "float6e2m3"), (28, "float6e3m2"), (14, "complex")):
            path = self.one_node(node("Cast", ["x"], ["y"], "c", to=number_of), opset=NEWEST_OPSET)
            self.check(deputy("run", path), 3, "node 'c' (Cast)", name)
            for op_type, attribute in (("RandomUniformLike", "dtype"), ("Bernoulli", "dtype"), ("BitCast", "to")):
                path = self.one_node(node(op_type, ["x"], ["y"], "n", **{attribute: number_of}), opset=NEWEST_OPSET)
                self.check(deputy("run", path), 3, f"node 'n' ({op_type})", f"attribute '{attribute}'", name)

    def test_OperatorsOfStringsAreRefusedByName(self):
        for op_type in ("StringConcat", "StringNormalizer", "StringSplit", "RegexFullMatch", "ImageDecoder"):
            self.check(deputy("run", self.one_node(node(op_type, ["x"], ["y"], "s"), opset=20)), 3, op_type)


class Functions(Files):
    def function(self, overload, op_type, name="f", domain="own"):
        body = node(op_type, ["a"], ["b"])
        return chunk(1, name) + chunk(4, "a") + chunk(5, "b") + chunk(7, body) + \
            chunk(9, chunk(1, "") + number(2, 21)) + chunk(10, domain) + chunk(13, overload)

    def model(self, calls, outputs, *functions):
        made = graph(calls, [value_info("x", (2,))], [value_info(output, (2,)) for output in outputs])
        opsets = b"".join(chunk(8, chunk(1, domain) + number(2, version)) for domain, version in (("", 21), ("own", 1)))
        return number(1, 10) + chunk(7, made) + opsets + b"".join(chunk(25, function) for function in functions)

    def call(self, overload, output):
        return node("f", ["x"], [output], overload, "own") + chunk(8, overload)

    def test_OverloadsAreToldApart(self):
        data = self.model([self.call("one", "y"), self.call("two", "z")], "yz", self.function("one", "Neg"),
                          self.function("two", "Abs"))  # fmt: skip
        self.check(deputy("test-case", self.case(data, [(1, -2)], [(-1, 2), (1, 2)])), 0, "1 passed")

    def test_ACallOfNoOverloadIsAnErrorWhereThereAreOnlyOverloads(self):
        data = self.model([node("f", ["x"], ["y"], "call", "own")], "y", self.function("one", "Neg"))
        self.check(deputy("run", self.file("call.onnx", data)), 3, "node 'call' (f)", "without an overload", "'one'")

    def test_CallsOfOneNameBesideThatNameWithNumbersEnd(self):
        names = [f"a_{number}" for number in range(2, 40)] + ["a"] * 20
        calls = [node("f", ["x"], [f"y{index}"], name, "own") for index, name in enumerate(names)]
        data = self.model(calls, [f"y{index}" for index in range(len(names))], self.function("", "Neg"))
        self.check(deputy("inspect", self.file("names.onnx", data)), 0)

    def test_AFunctionOfTheNameOfAnOperatorHasNoEffectWithAWarning(self):
        data = self.model([node("Abs", ["x"], ["y"], "abs")], "y", self.function("", "Neg", "Abs", ""))
        self.check(deputy("test-case", self.case(data, [(1, -2)], [(1, 2)])), 0, "1 passed",
                   "node 'abs' (Abs): is computed as the operator Abs")  # fmt: skip


class Numbers(Files):
    def test_NanUnderAWindowIsTheMaximum(self):
        nan = float("nan")
        data = model([node("MaxPool", ["x"], ["y"], "p", kernel_shape=[2], strides=[2])], [value_info("x", (1, 1, 8))],
                     [value_info("y", (1, 1, 4))], opset=12)  # fmt: skip
        x = self.file("x.pb", tensor((nan, 1, 2, nan, 5, 6, -1, -2), (1, 1, 8)))
        y = self.file("y.pb", tensor((nan, nan, 6, -1), (1, 1, 4)))
        self.check(deputy("run", self.file("pool.onnx", data), "--input", f"x={x}", "--expect", f"y={y}"), 0)

    def test_AnAxisOfTileThatIsOutOfRangeInTheRunIsAnError(self):
        data = model([node("Tile", ["x", "tiles", "axis"], ["y"], "n")],
                     [value_info("x", (2, 3)), value_info("tiles", (1,)), value_info("axis", (1,))],
                     [value_info("y", ("rows", "columns"))], opset=1)  # fmt: skip
        path, x = self.file("tile.onnx", data), self.file("x.pb", tensor((1, 2, 3, 4, 5, 6), (2, 3)))
        tiles = self.file("tiles.pb", tensor((2,), (1,)))
        for axis, status in ((0, 0), (1, 0), (2, 6), (-1, 6)):
            given = self.file("axis.pb", tensor((axis,), (1,)))
            run = deputy("run", path, "--input", f"x={x}", "--input", f"tiles={tiles}", "--input", f"axis={given}")
            self.assertEqual(run.returncode == 0, status == 0, f"axis {axis}: {run.stdout}{run.stderr}")
            if status != 0:
                self.assertIn("axis", run.stderr)

    def test_AttributesOfNewerDefinitionsDoNotAct(self):
        data = model([node("MaxPool", ["x"], ["y"], "p", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)],
                     [value_info("x", (1, 1, 5, 5))], [value_info("y", (1, 1, "h", "w"))], opset=8)  # fmt: skip
        run = deputy("run", self.file("pool.onnx", data))
        self.check(run, 0, "MaxPool-8 has no attribute 'ceil_mode': it has no effect", "float32 [1,1,2,2]")

    def test_AnOutputTypeThatTheZeroPointContradictsIsRefused(self):
        def quantize(**attributes):
            return model([node("QuantizeLinear", ["x", "scale", "zero"], ["y"], "q", **attributes)],
                         [value_info("x", (4,)), value_info("scale", ()), value_info("zero", (), 2)],
                         [value_info("y", (4,), 2)], opset=23)  # fmt: skip
        self.check(deputy("run", self.file("q.onnx", quantize(output_dtype=2, precision=1))), 0)
        self.check(deputy("run", self.file("q.onnx", quantize(output_dtype=3))), 3,
                   "node 'q' (QuantizeLinear): attribute 'output_dtype' is int8, but y_zero_point is uint8")  # fmt: skip
        self.check(deputy("run", self.file("q.onnx", quantize(precision=7))), 3, "'precision' is int64")

    def test_CastToFourBitsRounds(self):
        data = model([node("Cast", ["x"], ["q"], "narrow", to=22), node("Cast", ["q"], ["y"], "wide", to=1)],
                     [value_info("x", (4,))], [value_info("y", (4,))], opset=21)  # fmt: skip
        x, y = self.file("x.pb", tensor((1.5, 2.5, -1.5, 6.7), (4,))), self.file("y.pb", tensor((2, 2, -2, 7), (4,)))
        self.check(deputy("run", self.file("cast.onnx", data), "--input", f"x={x}", "--expect", f"y={y}"), 0)


def main():
    global DEPUTY
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deputy", type=Path, required=True)
    arguments, rest = parser.parse_known_args()
    DEPUTY = arguments.deputy.resolve()
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
