#!/usr/bin/env python3
"""Models with a node that its definition rules out, with each plugin of the tree first, in process: every command that
places a model refuses it with status 3 and names node, attribute or operand, and rule.

  invalid_nodes_test.py --deputy build/release/bin/deputy [unittest's arguments]
"""

import argparse
import sys
import unittest

import onnx_bytes
import settings

FLOAT, UINT8, INT8, UINT16, INT32 = 1, 2, 3, 4, 6
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
}  # fmt: skip


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

    def test_R155_R156_R157_every_command_refuses_them_with_node_and_rule(self):
        for name, (model, message) in REFUSED.items():
            path = self.scratch / f"{name}.onnx"
            path.write_bytes(model)
            for index, config in enumerate(self.configs()):
                # The first plugin sees each command, the others one.
                for command, *flags in COMMANDS if index == 0 else COMMANDS[:1]:
                    with self.subTest(model=name, command=command, config=config.name):
                        done = self.deputy(command, path, *flags, "--config", config, status=3)
                        self.assertRegex(done.stderr, rf"node 'n' {message}")

    def test_R155_a_converted_model_is_refused_as_well(self):
        for name, (model, message) in REFUSED.items():
            with self.subTest(model=name):
                path, converted = self.scratch / f"{name}.onnx", self.scratch / f"{name}.dpm"
                path.write_bytes(model)
                self.deputy("convert", path, "-o", converted, status=None)
                if not converted.exists():
                    continue
                done = self.deputy("run", converted, "--config", next(self.configs()), status=3)
                self.assertRegex(done.stderr, rf"node 'n' {message}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    settings.Settings.arguments, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
