#!/usr/bin/env python3
"""The node cases of the installed package onnx, all of its newest opset, must pass, or be refused for a reason that is
listed here; and the package's own newest versions must be known, so that its next release fails here first. Exits 77
where the package is not installed.

  onnx_package_test.py --deputy DEPUTY [--only TEXT]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    from onnx.backend.test.case.node import collect_testcases
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

# Element types that no tensor here has.
TYPES = {TensorProto.STRING: "strings", TensorProto.COMPLEX64: "complex numbers", TensorProto.COMPLEX128: "complex numbers"}
for name in ("FLOAT6E2M3", "FLOAT6E3M2"):
    if name in TensorProto.DataType.keys():
        TYPES[TensorProto.DataType.Value(name)] = "float6"
OPERATORS = {
    "ImageDecoder": "left out, the application decodes images",
    "RegexFullMatch": "strings", "StringConcat": "strings", "StringNormalizer": "strings", "StringSplit": "strings",
}  # fmt: skip
DOMAINS = {"ai.onnx.preview": "not final",
           "ai.onnx.preview.training": "training", "ai.onnx.training": "training"}
# Cases that do not pass, with a part of what is said of them.
RANDOM, TRAINING = "generates random numbers", "Dropout in training mode is not supported"
REFUSED = {
    "test_bernoulli": RANDOM, "test_bernoulli_double": RANDOM, "test_bernoulli_double_expanded": RANDOM,
    "test_bernoulli_expanded": RANDOM, "test_bernoulli_seed": RANDOM, "test_bernoulli_seed_expanded": RANDOM,
    "test_training_dropout": TRAINING, "test_training_dropout_default": TRAINING,
    "test_training_dropout_default_mask": TRAINING, "test_training_dropout_mask": TRAINING,
    # The indices are those of the output's own shape, as in ONNX Runtime; the case counts in another one.
    "test_maxunpool_export_with_output_shape": "elements differ",
}  # fmt: skip
BATCH = 200


def types_of(graph):
    """The element types of a graph's inputs and outputs, of tensors in sequences and optionals too."""
    found = set()

    def visit(value):
        kind = value.WhichOneof("value")
        if kind == "tensor_type":
            found.add(value.tensor_type.elem_type)
        elif kind in ("sequence_type", "optional_type"):
            visit(getattr(value, kind).elem_type)

    for value in [*graph.input, *graph.output, *graph.value_info]:
        visit(value.type)
    for tensor in graph.initializer:
        found.add(tensor.data_type)
    return found


def nodes_of(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from nodes_of(attribute.g)


def excuse_for(model):
    """Why the case needs not pass; none."""
    for node in nodes_of(model.graph):
        if node.domain in DOMAINS:
            return DOMAINS[node.domain]
        if node.op_type in OPERATORS and node.domain == "":
            return OPERATORS[node.op_type]
        for attribute in node.attribute:
            if attribute.name in ("to", "dtype", "output_dtype") and attribute.i in TYPES:
                return TYPES[attribute.i]
            if attribute.HasField("t") and attribute.t.data_type in TYPES:
                return TYPES[attribute.t.data_type]
            if attribute.strings or attribute.name == "value_string":
                return "strings" if node.op_type in ("Constant", "TfIdfVectorizer", "LabelEncoder") else None
    return next((TYPES[dtype] for dtype in types_of(model.graph) if dtype in TYPES), None)


def message_of(value, declared):
    if declared.WhichOneof("value") == "optional_type":
        kind = declared.optional_type.elem_type.WhichOneof("value")
        number = {"tensor_type": onnx.OptionalProto.TENSOR, "sequence_type": onnx.OptionalProto.SEQUENCE}[kind]
        made = onnx.OptionalProto()
        made.elem_type = number
        if value is not None:
            inner = message_of(value, declared.optional_type.elem_type)
            (made.tensor_value if kind == "tensor_type" else made.sequence_value).CopyFrom(inner)
        return made
    if declared.WhichOneof("value") == "sequence_type":
        made = onnx.SequenceProto()
        made.elem_type = onnx.SequenceProto.TENSOR
        made.tensor_values.extend(numpy_helper.from_array(np.asarray(one)) for one in value)
        return made
    return value if isinstance(value, onnx.TensorProto) else numpy_helper.from_array(np.asarray(value))


def write(case, folder):
    os.makedirs(folder)
    with open(os.path.join(folder, "model.onnx"), "wb") as file:
        file.write(case.model.SerializeToString())
    for number, (inputs, outputs) in enumerate(case.data_sets):
        data = os.path.join(folder, f"test_data_set_{number}")
        os.makedirs(data)
        for what, values, declared in (("input", inputs, case.model.graph.input), ("output", outputs, case.model.graph.output)):
            for i, value in enumerate(values):
                with open(os.path.join(data, f"{what}_{i}.pb"), "wb") as file:
                    file.write(message_of(value, declared[i].type).SerializeToString())


def deputy(arguments, *more):
    environment = {**os.environ, "DEPUTY_SYSTEM_CONFIG": "", "LC_ALL": "C.UTF-8"}
    return subprocess.run([arguments.deputy, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=600, env=environment)


def check_cases(arguments, scratch):
    wrong, passed, excused, names = [], 0, {}, {}
    for case in collect_testcases(None):
        if arguments.only and arguments.only not in case.name:
            continue
        why = excuse_for(case.model)
        if why:
            excused[why] = excused.get(why, 0) + 1
            continue
        folder = os.path.join(scratch, case.name)
        try:
            write(case, folder)
        except (TypeError, ValueError, AttributeError, NotImplementedError) as error:
            wrong.append(f"{case.name}: its data cannot be written: {error}")
            continue
        names[case.name] = folder
    listed = sorted(names)
    for begin in range(0, len(listed), BATCH):
        part = listed[begin:begin + BATCH]
        run = deputy(arguments, "test-case", "--config", "cpu-only", "--json", *(names[name] for name in part))
        try:
            results = {one["name"]: one for one in json.loads(run.stdout)["cases"]}
        except (ValueError, KeyError):
            wrong.append(f"cases {part[0]} to {part[-1]}: exit status {run.returncode}: {run.stderr[-2000:]}")
            continue
        for name in part:
            result = results.get(name, {"result": "absent", "detail": ""})
            if result["result"] == "pass":
                passed += 1
            elif REFUSED.get(name, "\0") not in result["detail"]:
                wrong.append(f"{name}: {result['result']}: {result['detail']}")
    for why, count in sorted(excused.items()):
        print(f"{count} cases need not pass: {why}")
    print(f"{passed} cases pass")
    if not arguments.only and passed < 1700:
        wrong.append(f"only {passed} cases were run")
    return wrong


def check_default_model(arguments, scratch):
    """What the package writes without being told a version."""
    node = helper.make_node("Relu", ["x"], ["y"], name="relu")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
    model = helper.make_model(helper.make_graph([node], "g", [x], [y]))
    path, wrong = os.path.join(scratch, "default.onnx"), []
    for what, ir, opset, noted in (("default", model.ir_version, model.opset_import[0].version, False),
                                   ("newest", onnx.IR_VERSION, onnx.defs.onnx_opset_version(), False),
                                   ("IR of the future", onnx.IR_VERSION + 1, onnx.defs.onnx_opset_version(), True),
                                   ("opset of the future", onnx.IR_VERSION, onnx.defs.onnx_opset_version() + 1, True)):
        model.ir_version, model.opset_import[0].version = ir, opset
        with open(path, "wb") as file:
            file.write(model.SerializeToString())
        run = deputy(arguments, "run", path, "--config", "cpu-only")
        if run.returncode != 0:
            wrong.append(f"{what} (IR {ir}, opset {opset}): exit status {run.returncode}: {run.stderr}")
        elif ("known up to" in run.stderr) != noted:
            wrong.append(f"{what} (IR {ir}, opset {opset}): {'no note' if noted else 'a note'}: {run.stderr}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--only", help="cases whose name has this text")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(prefix="deputy-onnx-") as scratch:
        wrong = check_default_model(arguments, scratch) + check_cases(arguments, scratch)
    for message in wrong:
        print(message)
    print(f"onnx {onnx.__version__}: {len(wrong)} failures")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
