"""ONNX models: those of the integration tests that are small, and one for each family of operators."""

import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))

import make_models  # noqa: E402
import onnx_bytes as onnx  # noqa: E402

INT64, BOOL, INT8, UINT8 = 7, 9, 3, 2


def ints(values, name, shape=None):
    return onnx.integer_tensor(INT64, struct.pack(f"<{len(values)}q", *values), shape or [len(values)], name)


def floats(count, name, shape=None):
    return onnx.tensor([(index * 7 % 11 - 5) / 4 for index in range(count)], shape or [count], name)


def image(nodes, initializers, opset=13):
    inputs = [onnx.value_info("x", [1, 2, 6, 5])]
    return onnx.model(nodes, inputs, [onnx.chunk(1, "y")], initializers=initializers, opset=opset)


def convolution():
    return image([
        onnx.node("Conv", ["x", "w", "b"], ["c"], "conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 1]),
        onnx.node("BatchNormalization", ["c", "b", "b", "b", "b"], ["n"], "norm", epsilon=0.1),
        onnx.node("Relu", ["n"], ["r"]),
        onnx.node("MaxPool", ["r"], ["y"], "pool", kernel_shape=[2, 2], ceil_mode=1),
    ], [floats(54, "w", [3, 2, 3, 3]), floats(3, "b")])


def transposed():
    return image([
        onnx.node("ConvTranspose", ["x", "w"], ["c"], kernel_shape=[2, 2], strides=[2, 2], group=2, output_padding=[1, 0]),
        onnx.node("AveragePool", ["c"], ["p"], kernel_shape=[3, 3], auto_pad="SAME_UPPER", count_include_pad=1),
        onnx.node("GlobalAveragePool", ["p"], ["g"]),
        onnx.node("Softmax", ["g"], ["y"], axis=1),
    ], [floats(16, "w", [2, 2, 2, 2])])


def shapes():
    return image([
        onnx.node("Shape", ["x"], ["s"]),
        onnx.node("Gather", ["s", "i"], ["g"], axis=0),
        onnx.node("Concat", ["g", "m"], ["t"], axis=0),
        onnx.node("Reshape", ["x", "t"], ["r"]),
        onnx.node("Transpose", ["r"], ["p"], perm=[1, 0]),
        onnx.node("Slice", ["p", "zero", "i", "zero", "i"], ["l"]),
        onnx.node("Pad", ["l", "pads"], ["q"], mode="reflect"),
        onnx.node("Expand", ["q", "e"], ["z"]),
        onnx.node("Tile", ["z", "repeats"], ["w"]),
        onnx.node("Split", ["w"], ["y", "v"], axis=1),
    ], [ints([2], "i"), ints([-1], "m"), ints([0], "zero"), ints([1, 0, 1, 1], "pads"), ints([1, 1, 1], "e"),
        ints([1, 2, 1], "repeats")])


def products():
    return onnx.model([
        onnx.node("MatMul", ["a", "b"], ["m"]),
        onnx.node("Gemm", ["m", "w", "c"], ["g"], alpha=0.5, beta=2.0, transB=1),
        onnx.node("Einsum", ["g", "m"], ["e"], equation="ij,ik->jk"),
        onnx.node("ReduceSum", ["e", "axes"], ["s"], keepdims=0),
        onnx.node("CumSum", ["s", "axis"], ["u"], reverse=1),
        onnx.node("TopK", ["u", "k"], ["y", "i"], axis=0, largest=0),
    ], [onnx.value_info("a", [4, 3]), onnx.value_info("b", [3, 5])], [onnx.chunk(1, "y"), onnx.chunk(1, "i")],
        initializers=[floats(10, "w", [2, 5]), floats(2, "c"), ints([1], "axes"), ints([0], "axis", []),
                      ints([2], "k")])


def recurrent():
    return onnx.model([
        onnx.node("LSTM", ["x", "w", "r", "b", "", "h"], ["o", "l"], hidden_size=2, direction="bidirectional"),
        onnx.node("GRU", ["x", "w3", "r3"], ["", "g"], hidden_size=2, linear_before_reset=1, clip=2.0),
        onnx.node("Squeeze", ["g", "zero"], ["q"]),
        onnx.node("Mul", ["l", "q"], ["y"]),
    ], [onnx.value_info("x", [3, 1, 2])], [onnx.chunk(1, "y"), onnx.chunk(1, "o")],
        initializers=[floats(32, "w", [2, 8, 2]), floats(32, "r", [2, 8, 2]), floats(32, "b", [2, 16]),
                      floats(4, "h", [2, 1, 2]), floats(12, "w3", [1, 6, 2]), floats(12, "r3", [1, 6, 2]),
                      ints([0], "zero")])


def quantized():
    scale, zero = onnx.tensor([0.1], [], "s"), onnx.integer_tensor(UINT8, b"\x80", [], "z")
    return image([
        onnx.node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        onnx.node("QLinearConv", ["q", "s", "z", "w", "s", "wz", "s", "z"], ["c"], kernel_shape=[1, 1]),
        onnx.node("DequantizeLinear", ["c", "s", "z"], ["d"]),
        onnx.node("Resize", ["d", "", "scales"], ["y"], mode="linear", coordinate_transformation_mode="half_pixel"),
    ], [scale, zero, onnx.integer_tensor(INT8, b"\x00", [], "wz"),
        onnx.integer_tensor(INT8, bytes(range(4)), [2, 2, 1, 1], "w"), onnx.tensor([1, 1, 2, 0.5], [4], "scales")])


def indices():
    return onnx.model([
        onnx.node("NonZero", ["x"], ["n"]),
        onnx.node("Transpose", ["n"], ["t"]),
        onnx.node("GatherND", ["x", "t"], ["g"]),
        onnx.node("ScatterND", ["x", "t", "g"], ["s"]),
        onnx.node("ScatterElements", ["s", "i", "u"], ["e"], axis=1),
        onnx.node("GatherElements", ["e", "i"], ["h"], axis=1),
        onnx.node("Where", ["c", "h", "u"], ["w"]),
        onnx.node("OneHot", ["i", "d", "v"], ["o"], axis=-1),
        onnx.node("Unique", ["w"], ["y"], sorted=1),
    ], [onnx.value_info("x", [2, 3])], [onnx.chunk(1, "y"), onnx.chunk(1, "o")],
        initializers=[ints([0, 1], "i", [2, 1]), floats(2, "u", [2, 1]), ints([4], "d", []), floats(2, "v"),
                      onnx.integer_tensor(BOOL, b"\x01\x00", [2, 1], "c")])


def detection():
    return onnx.model([
        onnx.node("NonMaxSuppression", ["b", "s", "k", "i", "t"], ["n"], center_point_box=1),
        onnx.node("RoiAlign", ["x", "r", "j"], ["a"], output_height=2, output_width=2, sampling_ratio=1),
        onnx.node("GridSample", ["x", "g"], ["y"], padding_mode="border"),
    ], [onnx.value_info("b", [1, 3, 4]), onnx.value_info("s", [1, 2, 3]), onnx.value_info("x", [1, 1, 4, 4]),
        onnx.value_info("g", [1, 2, 2, 2])], [onnx.chunk(1, name) for name in "nay"],
        initializers=[ints([2], "k"), onnx.tensor([0.5], [1], "i"), onnx.tensor([0.1], [1], "t"),
                      floats(4, "r", [1, 4]), ints([0], "j")], opset=16)


def sequences():
    return onnx.model([
        onnx.node("SplitToSequence", ["x", "k"], ["q"], axis=0),
        onnx.node("SequenceInsert", ["q", "x"], ["p"]),
        onnx.node("SequenceErase", ["p", "i"], ["e"]),
        onnx.node("SequenceAt", ["e", "i"], ["a"]),
        onnx.node("ConcatFromSequence", ["e"], ["c"], axis=0),
        onnx.node("Add", ["c", "a"], ["y"]),
    ], [onnx.value_info("x", ["n", 2])], [onnx.chunk(1, "y")], initializers=[ints([1], "k", []), ints([0], "i", [])])


def scan():
    body = onnx.graph([onnx.node("Add", ["a", "e"], ["b"]), onnx.node("Identity", ["b"], ["o"])],
                      [onnx.value_info("a", [2]), onnx.value_info("e", [2])], [onnx.chunk(1, "b"), onnx.chunk(1, "o")])
    return onnx.model([onnx.node("Scan", ["s", "x"], ["last", "y"], "scan", num_scan_inputs=1, body=body)],
                      [onnx.value_info("s", [2]), onnx.value_info("x", [3, 2])],
                      [onnx.chunk(1, "last"), onnx.chunk(1, "y")])


def function_call():
    function = onnx.chunk(1, "Twice") + onnx.chunk(4, "a") + onnx.chunk(5, "b") + onnx.chunk(6, "alpha")
    function += onnx.chunk(7, onnx.node("Add", ["a", "a"], ["c"])) + onnx.chunk(7, onnx.node("Elu", ["c"], ["b"]))
    function += onnx.chunk(9, onnx.chunk(1, "") + onnx.number(2, 13)) + onnx.chunk(10, "own")
    nodes = [onnx.node("Twice", ["x"], ["t"], "first", "own"), onnx.node("Twice", ["t"], ["y"], "second", "own")]
    inputs, outputs = [onnx.value_info("x", [2])], [onnx.value_info("y", [2])]
    return onnx.model(nodes, inputs, outputs, ["own"]) + onnx.chunk(25, function) + onnx.chunk(
        14, onnx.chunk(1, "author") + onnx.chunk(2, "test"))  # fmt: skip


def attention():
    return onnx.model([
        onnx.node("LayerNormalization", ["x", "g", "g"], ["n"], axis=-1),
        onnx.node("MultiHeadAttention", ["n", "n", "n"], ["m"], domain="com.microsoft", num_heads=2),
        onnx.node("SkipLayerNormalization", ["m", "x", "g"], ["k"], domain="com.microsoft"),
        onnx.node("FastGelu", ["k"], ["y"], domain="com.microsoft"),
    ], [onnx.value_info("x", [1, 3, 4])], [onnx.chunk(1, "y")], ["com.microsoft"], [floats(4, "g")], opset=17)


def trees():
    """Classical models: an ensemble of one tree behind a scaler, and its scores as a ZipMap."""
    def of(name, values):
        if isinstance(values[0], str):
            return onnx.chunk(1, name) + b"".join(onnx.chunk(9, value) for value in values) + onnx.number(20, 8)
        data = struct.pack(f"<{len(values)}f", *values)
        return onnx.chunk(1, name) + onnx.chunk(7, data) + onnx.number(20, 6)

    def ml(op_type, inputs, outputs, lists, **attributes):
        made = onnx.node(op_type, inputs, outputs, domain="ai.onnx.ml", **attributes)
        return made + b"".join(onnx.chunk(5, of(*item)) for item in lists.items())

    return onnx.model([
        ml("Scaler", ["x"], ["s"], {"scale": [2.0], "offset": [0.5]}),
        ml("TreeEnsembleClassifier", ["s"], ["label", "p"], {
            "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_values": [0.5, 0.0, 0.0],
            "class_weights": [0.25, 0.75, 1.0]}, nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2],
            nodes_featureids=[1, 0, 0], nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0], class_ids=[0, 1, 2],
            class_nodeids=[1, 1, 2], class_treeids=[0, 0, 0], classlabels_int64s=[10, 20, 30],
            post_transform="SOFTMAX"),
        ml("ZipMap", ["p"], ["y"], {}, classlabels_int64s=[10, 20, 30]),
    ], [onnx.value_info("x", [2, 3])], [onnx.chunk(1, "label"), onnx.chunk(1, "y")], ["ai.onnx.ml"])  # fmt: skip


def own_models():
    return {make.__name__ + ".onnx": make() for make in (
        convolution, transposed, shapes, products, recurrent, quantized, indices, detection, sequences, scan,
        function_call, attention, trees)}  # fmt: skip


def models():
    """All, also those that no delegate runs."""
    more = {name + ".onnx": getattr(make_models, name)() for name in (
        "tutorial", "branches", "counting", "values", "two_inputs", "open_rows", "unprintable_outputs")}  # fmt: skip
    vendor = onnx.add_model(op_type="Vendor", domain="own")
    return {**more, **own_models(), "vendor.onnx": vendor, "nested.onnx": make_models.nested(4)}


def runnable():
    return {name: content for name, content in models().items() if name != "vendor.onnx"}


def tensors():
    """TensorProto, SequenceProto and .npy files."""
    words = onnx.number(1, 2) + onnx.number(2, 8) + onnx.chunk(6, "a") + onnx.chunk(6, "bc")
    packed = onnx.number(1, 3) + onnx.number(2, INT64) + onnx.chunk(7, b"\x01\x02\x80\x01")
    outside = onnx.number(1, 1) + onnx.number(2, 1) + onnx.number(14, 1) + onnx.chunk(13, onnx.chunk(1, "location") + onnx.chunk(2, "w"))
    return {
        "floats.pb": floats(6, "x", [2, 3]),
        "ints.pb": ints([1, -2], "i"),
        "words.pb": words,
        "packed.pb": packed,
        "external.pb": outside,
        "sequence.pb": onnx.chunk(1, "s") + onnx.number(2, 1) + onnx.chunk(3, floats(2, "x")) * 2,
        "floats.npy": onnx.npy([1.0, 2.0, 3.0, 4.0], [2, 2]),
        "ints.npy": onnx.npy([1, 2], [2], "<i8"),
    }
