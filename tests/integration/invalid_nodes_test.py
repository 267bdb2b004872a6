#!/usr/bin/env python3
"""Models with a node that its definition rules out, with each plugin of the tree first, in process: every command that
places a model refuses it with status 3 and names node, attribute or operand, and rule.

  invalid_nodes_test.py --deputy build/release/bin/deputy [unittest's arguments]
"""

import argparse
import struct
import sys
import unittest

import onnx_bytes
import settings

FLOAT, UINT8, INT8, UINT16, INT32, INT64, BOOL = 1, 2, 3, 4, 6, 7, 9
# Through each of these a model reaches a plugin; the file itself, and what is behind it.
COMMANDS = (("run",), ("partition",), ("verify",), ("bench", "--runs", "1"), ("profile",))


def floats(name, shape):
    count = 1
    for extent in shape:
        count *= extent
    return onnx_bytes.tensor([0.5] * count, shape, name)


def image_model(op_type, weights, **attributes):
    """A node 'n' that reads x [1,4,8,8], and weights w if there are any, between two that a delegate takes as well."""
    names = ["a", "w"] if weights else ["a"]
    nodes = [onnx_bytes.node("Relu", ["x"], ["a"], "first"), onnx_bytes.node(op_type, names, ["b"], "n", **attributes),
             onnx_bytes.node("Relu", ["b"], ["y"], "last")]  # fmt: skip
    return onnx_bytes.model(nodes, [onnx_bytes.value_info("x", [1, 4, 8, 8])], [onnx_bytes.value_info("y", ["n"] * 4)],
                            initializers=[floats("w", weights)] if weights else [])  # fmt: skip


def conv(**attributes):
    return image_model("Conv", [4, 4, 3, 3], **attributes)


def quantized_model(zero_point):
    """x -> QuantizeLinear -> DequantizeLinear -> Relu, whose second zero point is given as (dtype, bytes, shape)."""
    nodes = [onnx_bytes.node("QuantizeLinear", ["x", "s", "z"], ["q"], "q"),
             onnx_bytes.node("DequantizeLinear", ["q", "s", "other"], ["d"], "n"),
             onnx_bytes.node("Relu", ["d"], ["y"], "last")]  # fmt: skip
    return onnx_bytes.model(nodes, [onnx_bytes.value_info("x", [1, 4, 8, 8])], [onnx_bytes.value_info("y", ["n"] * 4)],
                            initializers=[onnx_bytes.tensor([0.5], [], "s"),
                                          onnx_bytes.integer_tensor(UINT8, b"\x80", [], "z"),
                                          onnx_bytes.integer_tensor(*zero_point, "other")])  # fmt: skip


def linear_convolution(x_zero=(UINT8, b"\x80", []), w_zero=(INT8, b"\x00", []), scales=1):
    names = ["x", "s", "xz", "w", "ws", "wz", "s", "yz"]
    initializers = [onnx_bytes.tensor([0.5], [], "s"), onnx_bytes.tensor([0.5] * scales, [scales], "ws"),
                    onnx_bytes.integer_tensor(INT8, b"\x01" * 144, [4, 4, 3, 3], "w"),
                    onnx_bytes.integer_tensor(*x_zero, "xz"), onnx_bytes.integer_tensor(*w_zero, "wz"),
                    onnx_bytes.integer_tensor(UINT8, b"\x80", [], "yz")]  # fmt: skip
    return onnx_bytes.model([onnx_bytes.node("QLinearConv", names, ["y"], "n")],
                            [onnx_bytes.value_info("x", [1, 4, 8, 8], UINT8)],
                            [onnx_bytes.value_info("y", ["n"] * 4, UINT8)], initializers=initializers)  # fmt: skip


def int64s(name, values, shape=None):
    return onnx_bytes.integer_tensor(INT64, struct.pack(f"<{len(values)}q", *values), shape or [len(values)], name)


def single(op_type, operands, opset=21, outputs=1, **attributes):
    """A node 'n' alone. An operand is the shape of an input of floats or (dtype, shape), a constant as a function of its
    name, or None where it is left out."""
    names, inputs, initializers = [], [], []
    for i, operand in enumerate(operands):
        names.append("" if operand is None else f"i{i}")
        if callable(operand):
            initializers.append(operand(names[-1]))
        elif operand is not None:
            dtype, shape = operand if isinstance(operand, tuple) else (FLOAT, operand)
            inputs.append(onnx_bytes.value_info(names[-1], shape, dtype))
    made = [f"y{i}" for i in range(outputs)]
    return onnx_bytes.model([onnx_bytes.node(op_type, names, made, "n", **attributes)], inputs,
                            [onnx_bytes.value_info(name, []) for name in made], initializers=initializers,
                            opset=opset)  # fmt: skip


def indices(values, shape=None):
    return lambda name: int64s(name, values, shape)


def branches(then, otherwise, name="if", shape=(1, 2, 9, 9)):
    """An If on input c whose branches each have a node that reads x of the outer graph: (operator, constants by name,
    attributes), as its first input, and writes y."""
    graphs = []
    for op_type, constants, attributes in (then, otherwise):
        inner = onnx_bytes.node(op_type, ["x", *constants], ["o"], "n" if name else "", **attributes)
        graphs.append(onnx_bytes.graph([inner], [], [onnx_bytes.value_info("o", ["?"] * len(shape))]))
    weights = {**then[1], **otherwise[1]}
    node = onnx_bytes.node("If", ["c"], ["y"], name, then_branch=graphs[0], else_branch=graphs[1])
    return onnx_bytes.model([node], [onnx_bytes.value_info("x", shape), onnx_bytes.value_info("c", [], BOOL)],
                            [onnx_bytes.value_info("y", ["?"] * len(shape))],
                            initializers=[tensor for tensor in weights.values() if tensor], opset=19)  # fmt: skip


RELU = ("Relu", {}, {})
SHORT_POOL = ("MaxPool", {}, {"kernel_shape": [2]})
RESIZED = ("Resize", {"": None, "sc": floats("sc", [3])}, {})
WRONG_AXIS = ("Softmax", {}, {"axis": -5})
NO_PERM = ("Transpose", {}, {"perm": []})
STATISTICS = ("BatchNormalization", {name: floats(name, [2 + (name == "d")]) for name in "abed"}, {})

# Name: (model, what the message says of node 'n').
REFUSED = {
    "conv_empty_dilations": (conv(dilations=[]), r"\(Conv\): attribute 'dilations' has 0 values, expected 2"),
    "conv_long_strides": (conv(strides=[1, 1, 1]), r"\(Conv\): attribute 'strides' has 3 values, expected 2"),
    "conv_short_pads": (conv(pads=[1, 1]), r"\(Conv\): attribute 'pads' has 2 values, expected 4"),
    "conv_kernel_of_another_rank": (conv(kernel_shape=[3]), r"\(Conv\): attribute 'kernel_shape' has 1 values"),
    "conv_stride_of_0": (conv(strides=[1, 0]), r"\(Conv\): attribute 'strides' has the value 0, expected 1 to"),
    "conv_negative_pad": (conv(pads=[0, 0, 0, -1]), r"\(Conv\): attribute 'pads' has the value -1"),
    "conv_group_of_0": (conv(group=0), r"\(Conv\): attribute 'group' has the value 0"),
    "conv_unknown_word": (conv(auto_pad="SOME"), r"\(Conv\): attribute 'auto_pad' is 'SOME', expected one of: NOTSET"),
    "transposed_empty_strides": (image_model("ConvTranspose", [4, 4, 3, 3], strides=[]),
                                 r"\(ConvTranspose\): attribute 'strides' has 0 values"),
    "transposed_long_output_padding": (image_model("ConvTranspose", [4, 4, 3, 3], output_padding=[0, 0, 0]),
                                       r"\(ConvTranspose\): attribute 'output_padding' has 3 values"),
    "max_pool_empty_pads": (image_model("MaxPool", None, kernel_shape=[2, 2], pads=[]),
                            r"\(MaxPool\): attribute 'pads' has 0 values, expected 4"),
    "average_pool_without_kernel": (image_model("AveragePool", None),
                                    r"\(AveragePool\): attribute 'kernel_shape' is missing"),
    "lp_pool_p_of_0": (image_model("LpPool", None, kernel_shape=[2, 2], p=0),
                       r"\(LpPool\): attribute 'p' has the value"),
    "transpose_short_perm": (image_model("Transpose", None, perm=[1, 0]),
                             r"\(Transpose\): attribute 'perm' has 2 values"),
    "cast_without_type": (image_model("Cast", None), r"\(Cast\): attribute 'to' is missing"),
    "zero_point_of_another_type": (quantized_model((UINT16, b"\x00\x80", [])),
                                   r"\(DequantizeLinear\): input 2 \('x_zero_point'\) has element type uint16"),
    "zero_point_float": (quantized_model((FLOAT, b"\0" * 4, [])),
                         r"\(DequantizeLinear\): input 2 \('x_zero_point'\) has element type float32"),
    "linear_zero_point_of_another_type": (linear_convolution(x_zero=(INT8, b"\0", [])),
                                          r"\(QLinearConv\): input 2 \('x_zero_point'\) has element type int8"),
    "linear_zero_points_of_the_input": (linear_convolution(x_zero=(UINT8, b"\0" * 4, [4])),
                                        r"\(QLinearConv\): input 'x_zero_point' has shape \[4\], expected one value"),
    "linear_weight_zero_point_int32": (linear_convolution(w_zero=(INT32, b"\0" * 4, [])),
                                       r"\(QLinearConv\): input 5 \('w_zero_point'\) has element type int32"),
    "linear_scales_of_another_length": (linear_convolution(scales=3),
                                        r"\(QLinearConv\): input 'w_scale' has shape \[3\], expected one value, or"),
    "rms_axis": (single("RMSNormalization", [[2, 3], [3]], 23, axis=-(2**31)), "axis -2147483648 is out of range for"),
    "mean_variance_axes": (single("MeanVarianceNormalization", [[1, 2, 3, 4]], axes=[2**31 - 1]), "axis 2147483647 is out"),
    "lp_norm_axis": (single("LpNormalization", [[2, 3]], axis=2**63 - 1), "axis 9223372036854775807 is out of range"),
    "layer_scale": (single("LayerNormalization", [[2, 3, 5], [3, 3]], axis=1), "'Scale' with shape"),
    "lstm_weights": (single("LSTM", [[3, 1, 4], [1, 8, 4, 2], [1, 8, 2]], hidden_size=2), "W has rank 4, expected 3"),
    "stft_window": (single("STFT", [[1, 128, 1], indices([8], [1]), [1, 1, 16]]), "'window' has shape"),
    "scattered_updates": (single("ScatterND", [[4, 4, 4], (INT64, [2, 1]), [2, 3, 4]]), "'updates' has shape"),
    "scattered_index": (single("ScatterElements", [[3, 2], indices([3, 0], [1, 2]), [1, 2]]), "'indices' has the value 3"),
    "gathered_index": (single("Gather", [[2, 3], indices([0, 5])]), "'indices' has the value 5, expected -2 to 1"),
    "dft_numbers": (single("DFT", [[1, 8, 17]], 20), "the last axis, of real and imaginary parts, has extent 17"),
    "grid_theta": (single("AffineGrid", [[2, 2, 5], indices([1, 1, 4, 4])]), "'theta' has shape"),
    "reversed_lengths": (single("ReverseSequence", [[4, 3], (INT64, [4])]), "'sequence_lens' has shape"),
    "rotary_caches": (single("RotaryEmbedding", [[2, 4, 3, 8], [2, 3, 4], [2, 3, 0]], 23), "'sin_cache' has shape"),
    "loss_target": (single("SoftmaxCrossEntropyLoss", [[3, 5, 2], (INT64, [3])]), "'target' has shape"),
    "log_loss_target": (single("NegativeLogLikelihoodLoss", [[3, 5, 2, 6], (INT64, [3, 6, 6])]), "'target' has shape"),
    "roi_batches": (single("RoiAlign", [[1, 2, 8, 8], [3, 4], (INT64, [2])]), "'batch_indices' has shape"),
    "clip_bounds": (single("Clip", [[2, 3], [2]]), "'min' has shape"),
    "unpooled_indices": (single("MaxUnpool", [[1, 1, 4], (INT64, [1, 1, 3])], kernel_shape=[2]), "'I' has shape"),
    "one_hot_values": (single("OneHot", [(INT64, [2]), (INT64, [1]), [3]]), "'values' has shape"),
    "branches_of_a_short_kernel": (branches(SHORT_POOL, SHORT_POOL), r"\(MaxPool\): attribute 'kernel_shape' has 1"),
    "branches_of_three_scales": (branches(RESIZED, RESIZED), r"\(Resize\): input 'scales' has shape"),
    "branches_of_a_wrong_axis": (branches(WRONG_AXIS, WRONG_AXIS), r"\(Softmax\): axis -5 is out of range"),
    "branches_without_perm": (branches(NO_PERM, NO_PERM), r"\(Transpose\): attribute 'perm' has 0 values"),
    "branches_of_three_channels": (branches(STATISTICS, STATISTICS), r"\(BatchNormalization\): variance has 3 values"),
    "a_branch_of_a_short_kernel": (branches(RELU, SHORT_POOL), r"\(MaxPool\): attribute 'kernel_shape' has 1"),
    "a_branch_of_three_scales": (branches(RESIZED, RELU), r"\(Resize\): input 'scales' has shape"),
    "a_branch_of_a_wrong_axis": (branches(WRONG_AXIS, RELU), r"\(Softmax\): axis -5 is out of range"),
    "a_branch_without_perm": (branches(RELU, NO_PERM), r"\(Transpose\): attribute 'perm' has 0 values"),
}  # fmt: skip

# An empty text: of a node of its own, and what the node computes without the attribute.
WORDS = [
    ("Pad", [[2, 3], indices([0, 1, 0, 1])], {}, ["mode"]),
    ("DepthToSpace", [[1, 4, 2, 2]], {"blocksize": 2}, ["mode"]),
    ("Resize", [[1, 1, 2, 2], None, lambda name: onnx_bytes.tensor([1.0, 1.0, 2.0, 2.0], [4], name)], {},
     ["mode", "coordinate_transformation_mode", "nearest_mode", "keep_aspect_ratio_policy"]),
    ("GridSample", [[1, 1, 4, 4], [1, 2, 2, 2]], {}, ["mode", "padding_mode"]),
    ("RoiAlign", [[1, 2, 8, 8], lambda name: floats(name, [1, 4]), indices([0])], {},
     ["mode", "coordinate_transformation_mode"]),
    ("Gelu", [[2, 3]], {}, ["approximate"]),
    ("NegativeLogLikelihoodLoss", [[2, 3], indices([0, 2])], {}, ["reduction"]),
    ("SoftmaxCrossEntropyLoss", [[2, 3], indices([0, 2])], {}, ["reduction"]),
    ("ScatterElements", [[2, 3], indices([1], [1, 1]), [1, 1]], {}, ["reduction"]),
    ("ScatterND", [[2, 3], indices([1], [1, 1]), [1, 3]], {}, ["reduction"]),
    ("MaxPool", [[1, 1, 4, 4]], {"kernel_shape": [2, 2]}, ["auto_pad"]),
    ("LSTM", [[3, 1, 4], [1, 8, 4], [1, 8, 2]], {"hidden_size": 2}, ["direction"]),
]  # fmt: skip


class InvalidNodes(settings.Settings):
    def configs(self):
        for name in ("onednn", "sim_npu", "null"):
            path = self.scratch / f"{name}.yaml"
            path.write_text("version: 1\nplugins: {paths: [$deputy/plugins]}\n"
                            f"delegates: [{{name: '{name}', isolation: none, required: true}}]\n")  # fmt: skip
            yield path

    def test_the_models_they_are_edited_from_run_with_each_plugin_first(self):
        models = [conv(), conv(strides=[1, 1], pads=[1, 1, 1, 1], kernel_shape=[3, 3]),
                  quantized_model((UINT8, b"\x80", [])), linear_convolution(scales=4),
                  image_model("MaxPool", None, kernel_shape=[2, 2])]  # fmt: skip
        for config in self.configs():
            for model in models:
                path = self.scratch / "sound.onnx"
                path.write_bytes(model)
                self.deputy("run", path, "--config", config)

    def test_R155_R156_R157_R203_every_command_refuses_them_with_node_and_rule(self):
        for name, (model, message) in REFUSED.items():
            path = self.scratch / f"{name}.onnx"
            path.write_bytes(model)
            for index, config in enumerate(self.configs()):
                # The first plugin sees each command, the others one.
                for command, *flags in COMMANDS if index == 0 else COMMANDS[:1]:
                    with self.subTest(model=name, command=command, config=config.name):
                        done = self.deputy(command, path, *flags, "--config", config, status=3)
                        self.assertRegex(done.stderr, rf"node 'n' .*{message}")

    def test_R203_a_branch_for_other_extents_fails_only_where_it_is_taken(self):
        model = self.scratch / "branches.onnx"
        model.write_bytes(branches(RELU, STATISTICS))
        for config in self.configs():
            self.deputy("partition", model, "--config", config)
        for taken, status in ((1, 0), (0, 3)):
            condition = self.scratch / "c.bin"
            condition.write_bytes(bytes([taken]))
            done = self.deputy("run", model, "--input", f"c={condition}", status=status)
            if status:
                self.assertIn("variance has 3 values, expected 2", done.stderr)

    def test_R155_an_empty_text_is_the_default(self):
        for op_type, operands, attributes, words in WORDS:
            for word in words:
                with self.subTest(op_type, word=word):
                    outputs = []
                    for name, given in (("plain", {}), ("empty", {word: ""})):
                        path, results = self.scratch / f"{name}.onnx", self.scratch / name
                        path.write_bytes(single(op_type, operands, **attributes, **given))
                        for config in self.configs():
                            self.deputy("partition", path, "--config", config)
                        self.deputy("run", path, "--output-dir", results)
                        outputs.append((results / "y0.npy").read_bytes())
                    self.assertEqual(*outputs)

    def test_R155_an_empty_text_without_a_default_is_refused(self):
        path = self.scratch / "shift.onnx"
        path.write_bytes(single("BitShift", [(UINT8, [2]), (UINT8, [2])], direction=""))
        done = self.deputy("partition", path, "--config", next(self.configs()), status=3)
        self.assertIn("node 'n' (BitShift): attribute 'direction' is '', expected one of: LEFT RIGHT", done.stderr)

    def test_R204_a_node_without_a_name_has_its_number_in_its_graph(self):
        relus = [onnx_bytes.node("Relu", [f"v{i}"], [f"v{i + 1}"]) for i in range(4)]
        relus.insert(3, onnx_bytes.node("Softmax", ["v2"], ["q"], axis=7))
        info = onnx_bytes.value_info
        flat = onnx_bytes.model(relus, [info("v0", [2, 3])], [info("v4", [2, 3]), info("q", [2, 3])])
        wrong = ("Softmax", {}, {"axis": 7})
        for model, place in ((flat, "node 3 (Softmax): axis 7"),
                             (branches(wrong, wrong, name=""),
                              "node 0 (If): region 'else_branch': node 0 (Softmax): axis 7")):  # fmt: skip
            with self.subTest(place):
                path = self.scratch / "unnamed.onnx"
                path.write_bytes(model)
                done = self.deputy("partition", path, "--config", next(self.configs()), status=3)
                self.assertIn(f"unnamed.onnx: {place} is out of range for an input of rank", done.stderr)

    def test_R155_a_converted_model_is_refused_as_well(self):
        for name, (model, message) in REFUSED.items():
            with self.subTest(model=name):
                path, converted = self.scratch / f"{name}.onnx", self.scratch / f"{name}.dpm"
                path.write_bytes(model)
                self.deputy("convert", path, "-o", converted, status=None)
                if not converted.exists():
                    continue
                done = self.deputy("run", converted, "--config", next(self.configs()), status=3)
                self.assertRegex(done.stderr, rf"node 'n' .*{message}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    settings.Settings.arguments, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
