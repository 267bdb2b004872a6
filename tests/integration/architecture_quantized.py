"""Networks whose products, sums, pools and concatenations compute with integers of 8 bits, in the forms that quantizers
write: QuantizeLinear and DequantizeLinear around operators of floats, operators of integers (QLinearConv and the like,
also of com.microsoft), and products whose activations are quantized while the network runs (DynamicQuantizeLinear)."""

import numpy as np

from architecture_network import MICROSOFT, Network, Value


class QuantizedNetwork(Network):
    """Built twice: the first time with `ranges` None, as floats, which notes in `points` the values whose ranges are
    wanted; then with the ranges (least and largest element) of these, in the same order."""

    def __init__(self, seed, opset, ranges=None, jitter=0.0, halves=False):
        super().__init__(seed, opset, jitter, halves)
        self.ranges, self.points, self.pairs = ranges, [], {}
        self.form = self.pick("pairs", "pairs", "operators", "dynamic")
        self.activation = self.pick("uint8", "uint8", "int8")
        self.weight_type = "int8" if self.activation == "int8" else self.pick("int8", "int8", "uint8")
        self.per_channel = opset >= 13 and self.weight_type == "int8" and self.chance(0.6)
        self.symmetric = self.activation == "int8" and self.chance(0.5)
        self.integer_bias = self.chance(0.6)

    def scale_and_zero(self, value):
        """Of the values' range, as two constants; both are None while ranges are not known."""
        self.points.append(value)
        if self.ranges is None:
            return None
        low, high = self.ranges[len(self.points) - 1]
        # No two scales are the same or powers of two: sums and means would often lie halfway between two steps.
        wider = 1 + 0.1 * (len(self.points) * 0.618 % 1)
        low, high = min(float(low), 0.0) * wider, max(float(high), 0.0) * wider
        if self.symmetric:
            low, high = -max(-low, high), max(-low, high)
        scale = max((high - low) / 255, 1e-4)
        least = -128 if self.activation == "int8" else 0
        zero = 0 if self.symmetric else int(np.clip(round(least - low / scale), least, least + 255))
        return self.constant_of(scale, "float32", exact=True), self.constant_of(zero, self.activation)

    def dividing(self, scale, zero):
        """The same for what is divided by the scale, whose last bits decide elements that lie between two steps."""
        return (self.parameter(scale.array) if self.jitter else scale), zero

    def noted(self, y):
        """The result of what will be an operator of integers, while ranges are not known."""
        self.scale_and_zero(y)
        self.pairs[y.name] = None
        return y

    def quantize(self, x):
        """The integers of x, with their scale and zero point; made once."""
        if x.name not in self.pairs:
            parameters = self.scale_and_zero(x)
            if parameters is None:
                self.pairs[x.name] = None
            else:
                integers = self.op("QuantizeLinear", x, *self.dividing(*parameters), dtype=self.activation)
                self.pairs[x.name] = integers, *parameters
        return self.pairs[x.name]

    def dequantized(self, integers, scale, zero):
        y = self.op("DequantizeLinear", integers, scale, zero, dtype="float32")
        self.pairs[y.name] = integers, scale, zero
        return y

    def entering(self, x):
        if self.form == "dynamic" or x.dtype != "float32" or x.array is not None:
            return x
        pair = self.quantize(x)
        if pair is None:
            return x
        return self.op("DequantizeLinear", *pair, dtype="float32")

    def weight_integers(self, weights, axis, per_channel):
        """Integers, scales and zero points. Seven bits of the eight: sums of two products in 16 bits, which is how
        processors without better instructions add them, do not overflow."""
        array = weights.array
        others = tuple(i for i in range(array.ndim) if i != axis)
        largest = np.abs(array).max(axis=others if per_channel else None, keepdims=True)
        scale = (np.maximum(largest, 1e-4) / 63).astype("float32")
        zero = 128 if self.weight_type == "uint8" else 0
        integers = (np.round(array / scale) + zero).astype(self.weight_type)
        scale = scale.reshape(-1) if per_channel else scale.reshape(())
        zeros = np.full(scale.shape, zero, self.weight_type)
        return self.constant_of(integers), self.constant_of(scale, exact=True), self.constant_of(zeros)

    def weighted(self, op_type, x, weights, bias, axis, shape, **attributes):
        if self.form == "dynamic":
            return self.dynamic(op_type, x, weights, bias, axis, shape, **attributes)
        pair = self.quantize(x)
        by_operator = self.form == "operators" and op_type in ("Conv", "MatMul")
        if pair is None:
            y = super().weighted(op_type, x, weights, bias, axis, shape, **attributes)
            return self.noted(y) if by_operator else y
        per_channel = self.per_channel and op_type != "ConvTranspose"  # groups share the scales there
        integers, scales, zeros = self.weight_integers(weights, axis, per_channel)
        summed = np.asarray(pair[1].array * scales.array, "float32")  # the scale of the sums
        whole = np.round(bias.array / summed).astype("int32") if bias is not None else None
        if by_operator:
            result = self.scale_and_zero(None)
            inputs = [*pair, integers, scales, zeros, *self.dividing(*result)]
            inputs += [self.constant_of(whole)] if whole is not None else []
            y = self.op(f"QLinear{op_type}", *inputs, shape=shape, dtype=self.activation, **attributes)
            return self.dequantized(y, *result)
        x = self.op("DequantizeLinear", *pair, dtype="float32")
        along = {"axis": axis} if per_channel else {}
        w = self.op("DequantizeLinear", integers, scales, zeros, dtype="float32", **along)
        if bias is not None and self.integer_bias:
            along = {"axis": 0} if per_channel else {}
            integers = [self.constant_of(whole), self.constant_of(summed, exact=True)]
            bias = self.op("DequantizeLinear", *integers, dtype="float32", **along)
        return super().weighted(op_type, x, w, bias, axis, shape, **attributes)

    def dynamic(self, op_type, x, weights, bias, axis, shape, **attributes):
        if self.ranges is None or op_type not in ("Conv", "MatMul"):
            return super().weighted(op_type, x, weights, bias, axis, shape, **attributes)
        self.count += 1
        names = [f"dynamic_{self.count}_{what}" for what in ("integers", "scale", "zero")]
        self.node("DynamicQuantizeLinear", self.name_of(x), outputs=names)
        given = [Value(name, s, t) for name, s, t in zip(names, (x.shape, (), ()), ("uint8", "float32", "uint8"))]
        integers, scale, zero = self.weight_integers(weights, axis, False)
        operands = [given[0], integers, given[2], zero]
        sums = self.op(f"{op_type}Integer", *operands, shape=shape, dtype="int32", **attributes)
        scales = self.op("Mul", given[1], scale)
        y = self.op("Mul", self.op("Cast", sums, dtype="float32", to=1), scales)
        if bias is None:
            return y
        dims = [-1 if i == 1 else 1 for i in range(len(shape))]
        return self.op("Add", y, self.parameter(bias.array.reshape(dims)))

    def add(self, a, b):
        if self.form != "operators" or a.array is not None or b.array is not None:
            return super().add(a, b)
        return self.by_microsoft("QLinearAdd", [a, b], np.broadcast_shapes(a.shape, b.shape), lambda: self.op(
            "Add", a, b, shape=np.broadcast_shapes(a.shape, b.shape)))  # fmt: skip

    def by_microsoft(self, op_type, inputs, shape, floats, **attributes):
        """An operator of integers; `floats` computes the same while the ranges are not known."""
        pairs = [self.quantize(x) for x in inputs]
        if None in pairs:
            return self.noted(floats())
        result = self.scale_and_zero(None)
        operands = [one for pair in pairs for one in pair]
        operands += self.dividing(*result)
        y = self.op(op_type, *operands, shape=shape, dtype=self.activation, domain=MICROSOFT, **attributes)
        return self.dequantized(y, *result)

    def global_average(self, x):
        if self.form != "operators":
            return super().global_average(x)
        shape = [x.batch, x.channels, *[1] * len(x.extents)]
        return self.by_microsoft("QLinearGlobalAveragePool", [x], shape, lambda: self.op(
            "GlobalAveragePool", x, shape=shape), channels_last=0)  # fmt: skip
