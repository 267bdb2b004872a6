"""Models of one TensorFlow Lite operator each, and inputs for them: CASES, by name."""

import itertools

import numpy as np
from tflite_models import Quantized, Writer, schema

SEED = 20250611  # of the weights and inputs of the small models


class Case:
    """A model of one operator, and inputs for it."""

    def __init__(self, seed=SEED):
        self.rng = np.random.default_rng(seed)
        self.writer = Writer()
        self.inputs = []

    def reals(self, *shape, low=-2.0, high=2.0):
        return self.rng.uniform(low, high, shape).astype(np.float32)

    def feed(self, values, quantized=None, signature=None):
        self.inputs.append(values)
        return self.writer.input(values.dtype, values.shape, quantized, signature)

    def bytes_of(self, dtype, *shape):
        limits = np.iinfo(dtype)
        return self.rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)

    def weights(self, *shape, axis=None, dtype=np.int8):
        """Quantized weights; per axis where one is given."""
        values = self.bytes_of(dtype, *shape)
        if dtype == np.int8:
            values = np.maximum(values, np.int8(-127))
        scale = self.rng.uniform(0.002, 0.02, shape[axis]) if axis is not None else 0.01
        quantized = Quantized(scale, 0 if dtype == np.int8 else 120, axis or 0)
        return self.writer.constant(values, quantized), quantized

    def bias(self, count, input_scale, quantized, dtype=np.int32):
        values = self.rng.integers(-2000, 2000, count, dtype)
        return self.writer.constant(values, Quantized(input_scale * quantized.scale, 0, 0))

    def op(self, name, inputs, outputs=(("float32", [1], None),), version=1, **options):
        if isinstance(outputs, str):
            outputs = [(outputs, [1], None)]
        made = [self.writer.tensor(dtype, shape, quantized) for dtype, shape, quantized in outputs]
        self.writer.add(name, inputs, made, version, **options)
        return made[0] if len(made) == 1 else made


CASES = {}


def case(name):
    def register(make):
        CASES[name] = make
        return make
    return register


def float_op(name, *shapes, out="float32", low=-2.0, high=2.0, version=1, label="", **options):
    """An operator on inputs of floats."""
    def make():
        it = Case()
        ids = [it.feed(it.reals(*shape, low=low, high=high)) for shape in shapes]
        return it, [it.op(name, ids, [(out, [1], None)], version, **options)]
    CASES[f"{name} float{label}"] = make


def int8_op(name, *shapes, out=Quantized(0.02, 3), scales=((0.03, -5), (0.05, 7)), version=2, label="", dtype=np.int8,
            **options):
    """An operator on quantized inputs."""
    def make():
        it = Case()
        ids = [it.feed(it.bytes_of(dtype, *shape), Quantized(*scale)) for shape, scale in zip(shapes, scales)]
        return it, [it.op(name, ids, [(dtype, [1], out)], version, **options)]
    CASES[f"{name} {np.dtype(dtype)}{label}"] = make


def with_constants(name, values, *constants, label="", out=None, version=1, outputs=1, shape=(1,), **options):
    """An operator on one input, with the rest given. Floats in, or int8 of one scale in and out."""
    for kind in ("float32", "int8"):
        if out is not None and kind == "int8":
            continue
        def make(kind=kind):
            it = Case()
            quantized = Quantized(0.05, 3) if kind == "int8" else None
            data = it.bytes_of(np.int8, *values) if quantized else it.reals(*values)
            ids = [it.feed(data, quantized)] + [it.writer.constant(np.asarray(c)) for c in constants]
            newer = version if kind == "float32" or name in ("RESHAPE", "EXPAND_DIMS") else max(version, 2)
            made = it.op(name, ids, [(out or kind, shape, quantized)] * outputs, newer, **options)
            return it, made if isinstance(made, list) else [made]
        CASES[f"{name} {kind}{label}"] = make


def i32(*values):
    return np.array(values, np.int32)


# Element by element.
for unary in ("ABS", "CEIL", "COS", "ELU", "EXP", "FLOOR", "HARD_SWISH", "LOGISTIC", "NEG", "RELU", "RELU6",
              "RELU_N1_TO_1", "ROUND", "SIN", "SQUARE", "TANH", "SIGN", "RELU_0_TO_1"):
    float_op(unary, (2, 3, 4, 5), low=-4, high=8)
for unary in ("LOG", "SQRT", "RSQRT"):
    float_op(unary, (2, 7), low=0.1, high=9)
float_op("GELU", (3, 50), low=-5, high=5, label=" erf", approximate=False)
float_op("GELU", (3, 50), low=-5, high=5, label=" tanh", approximate=True)
float_op("LEAKY_RELU", (2, 3, 4, 5), alpha=0.3)
for binary, activation in itertools.product(("ADD", "SUB", "MUL", "DIV"), (0, 1, 2, 3)):
    float_op(binary, (2, 3, 4, 5), (4, 5), label=f" activation {activation}", low=0.5, fusedActivationFunction=activation)
for binary in ("MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", "FLOOR_DIV"):
    float_op(binary, (2, 3, 4, 5), (1, 3, 1, 5), low=0.3, high=5)
float_op("POW", (2, 9), (1, 9), low=0.2)
for binary in ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"):
    float_op(binary, (2, 3, 4, 5), (5,), out="bool")
float_op("ADD_N", (2, 5), (2, 5), (2, 5))
for binary in ("ADD", "SUB"):
    for activation in (0, 1, 3):
        int8_op(binary, (1, 4, 5, 6), (1, 4, 5, 6), label=f" activation {activation}",
                fusedActivationFunction=activation)
    int8_op(binary, (1, 4, 5, 6), (6,), label=" broadcast")
int8_op("MUL", (1, 4, 5, 6), (1, 4, 5, 6), out=Quantized(0.1, 3))
int8_op("ADD", (1, 4, 5, 6), (1, 4, 5, 6), version=1, dtype=np.uint8, scales=((0.03, 100), (0.05, 130)),
        out=Quantized(0.06, 128))
int8_op("MAXIMUM", (1, 4, 5, 6), (1, 4, 5, 6), out=Quantized(0.05, 3), scales=((0.05, 3), (0.05, 3)))
int8_op("LOGISTIC", (2, 300), out=Quantized(1 / 256, -128))
int8_op("TANH", (2, 300), out=Quantized(1 / 128, 0))
int8_op("HARD_SWISH", (2, 300), out=Quantized(0.04, -100), version=1)
int8_op("RELU", (2, 300), out=Quantized(0.03, -5))
int8_op("RELU6", (2, 300), out=Quantized(6 / 255, -128))
int8_op("LEAKY_RELU", (2, 300), out=Quantized(0.03, -20), alpha=0.2)
int8_op("SQUARED_DIFFERENCE", (2, 30), (2, 30), out=Quantized(0.4, -128))
int8_op("ELU", (2, 300), out=Quantized(0.03, -20), version=1)
int8_op("ABS", (2, 300), out=Quantized(0.03, -128))
int8_op("L2_NORMALIZATION", (3, 40), out=Quantized(1 / 128, 0), scales=((0.03, 0),))
float_op("L2_NORMALIZATION", (3, 40))
float_op("L2_NORMALIZATION", (2, 3, 4, 6), label=" image")


@case("PRELU float32")
def _():
    it = Case()
    return it, [it.op("PRELU", [it.feed(it.reals(2, 3, 4, 5)), it.writer.constant(it.reals(1, 1, 5))])]


@case("PRELU int8")
def _():
    it = Case()
    slopes = it.writer.constant(it.bytes_of(np.int8, 1, 1, 5), Quantized(0.01, 2))
    return it, [it.op("PRELU", [it.feed(it.bytes_of(np.int8, 2, 3, 4, 5), Quantized(0.03, -5)), slopes],
                      [("int8", [1], Quantized(0.04, 6))])]


for logical in ("LOGICAL_AND", "LOGICAL_OR"):
    def make_logical(name=logical):
        it = Case()
        ids = [it.feed(it.rng.integers(0, 2, (3, 5)).astype(bool)) for _ in range(2)]
        return it, [it.op(name, ids, [("bool", [1], None)])]
    CASES[logical] = make_logical


@case("LOGICAL_NOT")
def _():
    it = Case()
    return it, [it.op("LOGICAL_NOT", [it.feed(it.rng.integers(0, 2, (3, 5)).astype(bool))], [("bool", [1], None)])]


for number in ("FLOOR_DIV", "FLOOR_MOD", "ADD", "MUL", "DIV"):
    def make_ints(name=number):
        it = Case()
        a, b = it.rng.integers(-50, 50, (4, 6), np.int32), it.rng.integers(1, 9, (4, 6), np.int32)
        b *= it.rng.choice([-1, 1], b.shape).astype(np.int32)
        return it, [it.op(name, [it.feed(a), it.feed(b)], [("int32", [1], None)])]
    CASES[f"{number} int32"] = make_ints

# Softmax and its like.
float_op("SOFTMAX", (3, 10), beta=1.0)
float_op("SOFTMAX", (2, 3, 4, 6), label=" beta", beta=0.5)
float_op("LOG_SOFTMAX", (3, 10))
int8_op("SOFTMAX", (3, 10), out=Quantized(1 / 256, -128), scales=((0.1, 5),), beta=1.0)
int8_op("LOG_SOFTMAX", (3, 10), out=Quantized(16 / 256, 127), scales=((0.1, 5),))

# Convolutions.
for padding, stride, dilation, activation in ((0, 1, 1, 0), (1, 1, 1, 1), (0, 2, 1, 3), (1, 2, 1, 0), (0, 1, 2, 0)):
    label = f" padding {padding} stride {stride} dilation {dilation} activation {activation}"
    window = dict(padding=padding, strideW=stride, strideH=stride, dilationWFactor=dilation, dilationHFactor=dilation,
                  fusedActivationFunction=activation)

    def conv_float(window=window):
        it = Case()
        ids = [it.feed(it.reals(2, 9, 10, 3)), it.writer.constant(it.reals(7, 3, 4, 3)), it.writer.constant(it.reals(7))]
        return it, [it.op("CONV_2D", ids, **window)]

    def depthwise_float(window=window):
        it = Case()
        ids = [it.feed(it.reals(2, 9, 10, 3)), it.writer.constant(it.reals(1, 3, 3, 6)), it.writer.constant(it.reals(6))]
        return it, [it.op("DEPTHWISE_CONV_2D", ids, depthMultiplier=2, **window)]

    def conv_int8(window=window, axis=0):
        it = Case()
        image = it.feed(it.bytes_of(np.int8, 2, 9, 10, 3), Quantized(0.03, -5))
        weights, scales = it.weights(7, 3, 4, 3, axis=axis)
        return it, [it.op("CONV_2D", [image, weights, it.bias(7, 0.03, scales)], [("int8", [1], Quantized(0.07, -9))], 3,
                          **window)]

    def depthwise_int8(window=window):
        it = Case()
        image = it.feed(it.bytes_of(np.int8, 2, 9, 10, 3), Quantized(0.03, -5))
        weights, scales = it.weights(1, 3, 3, 6, axis=3)
        return it, [it.op("DEPTHWISE_CONV_2D", [image, weights, it.bias(6, 0.03, scales)],
                          [("int8", [1], Quantized(0.04, -9))], 3, depthMultiplier=2, **window)]

    CASES["CONV_2D float32" + label] = conv_float
    CASES["DEPTHWISE_CONV_2D float32" + label] = depthwise_float
    CASES["CONV_2D int8" + label] = conv_int8
    CASES["DEPTHWISE_CONV_2D int8" + label] = depthwise_int8


@case("CONV_2D int8 per tensor")
def _():
    return conv_int8(dict(padding=0, strideW=1, strideH=1, fusedActivationFunction=0), axis=None)


@case("CONV_2D uint8")
def _():
    it = Case()
    image = it.feed(it.bytes_of(np.uint8, 1, 9, 10, 3), Quantized(0.03, 120))
    weights, scales = it.weights(7, 3, 4, 3, dtype=np.uint8)
    return it, [it.op("CONV_2D", [image, weights, it.bias(7, 0.03, scales)], [("uint8", [1], Quantized(0.09, 128))], 1,
                      padding=0, strideW=1, strideH=1, fusedActivationFunction=1)]


@case("CONV_2D int16 with int64 bias")
def _():
    it = Case()
    image = it.feed(it.bytes_of(np.int16, 1, 9, 10, 3), Quantized(0.0003, 0))
    weights, scales = it.weights(7, 3, 4, 3, axis=0)
    return it, [it.op("CONV_2D", [image, weights, it.bias(7, 0.0003, scales, np.int64)],
                      [("int16", [1], Quantized(0.0009, 0))], 4, padding=0, strideW=1, strideH=1)]


@case("CONV_2D float32 grouped")
def _():
    it = Case()
    ids = [it.feed(it.reals(1, 6, 6, 8)), it.writer.constant(it.reals(6, 3, 3, 4)), it.writer.constant(it.reals(6))]
    return it, [it.op("CONV_2D", ids, version=6, padding=0, strideW=1, strideH=1)]


@case("CONV_2D with a dynamic batch")
def _():
    it = Case()
    image = it.feed(it.reals(3, 6, 6, 2), signature=[-1, 6, 6, 2])
    conv = it.op("CONV_2D", [image, it.writer.constant(it.reals(4, 3, 3, 2)), it.writer.constant(it.reals(4))],
                 padding=0, strideW=1, strideH=1)
    return it, [it.op("RESHAPE", [conv, it.writer.constant(i32(-1, 144))])]


@case("CONV_2D with an image of unknown size")
def _():
    it = Case()
    image = it.feed(it.reals(1, 7, 5, 2), signature=[1, -1, -1, 2])
    return it, [it.op("CONV_2D", [image, it.writer.constant(it.reals(4, 3, 3, 2)), it.writer.constant(it.reals(4))],
                      padding=0, strideW=2, strideH=2)]


@case("CONV_2D of float16 weights")
def _():
    it = Case()
    half = it.writer.constant(it.reals(4, 3, 3, 2).astype(np.float16))
    weights = it.op("DEQUANTIZE", [half], [("float32", [4, 3, 3, 2], None)], 3)
    return it, [it.op("CONV_2D", [it.feed(it.reals(1, 7, 5, 2)), weights, it.writer.constant(it.reals(4))],
                      padding=0, strideW=2, strideH=2)]


for padding, stride, size, out in ((0, 2, 3, (10, 8)), (1, 2, 3, (11, 9)), (0, 1, 3, (5, 4)), (1, 3, 2, (15, 12)),
                                   (0, 2, 4, (9, 7))):
    def transposed_float(padding=padding, stride=stride, size=size, out=out):
        it = Case()
        ids = [it.writer.constant(i32(2, *out, 5)), it.writer.constant(it.reals(5, size, size, 3)),
               it.feed(it.reals(2, 5, 4, 3)), it.writer.constant(it.reals(5))]
        return it, [it.op("TRANSPOSE_CONV", ids, version=3, padding=padding, strideW=stride, strideH=stride)]

    def transposed_int8(padding=padding, stride=stride, size=size, out=out):
        it = Case()
        weights, scales = it.weights(5, size, size, 3, axis=0)
        image = it.feed(it.bytes_of(np.int8, 2, 5, 4, 3), Quantized(0.03, -5))
        return it, [it.op("TRANSPOSE_CONV", [it.writer.constant(i32(2, *out, 5)), weights, image,
                                             it.bias(5, 0.03, scales)],
                          [("int8", [1], Quantized(0.05, 4))], 3, padding=padding, strideW=stride, strideH=stride)]
    CASES[f"TRANSPOSE_CONV float32 padding {padding} stride {stride} to {out}"] = transposed_float
    CASES[f"TRANSPOSE_CONV int8 padding {padding} stride {stride} to {out}"] = transposed_int8

# Products.
for keeps in (False, True):
    def dense_float(keeps=keeps):
        it = Case()
        ids = [it.feed(it.reals(2, 3, 8)), it.writer.constant(it.reals(5, 8)), it.writer.constant(it.reals(5))]
        return it, [it.op("FULLY_CONNECTED", ids, version=2, keepNumDims=keeps, fusedActivationFunction=1)]

    def dense_int8(keeps=keeps):
        it = Case()
        weights, scales = it.weights(5, 8, axis=None)
        ids = [it.feed(it.bytes_of(np.int8, 2, 3, 8), Quantized(0.03, -5)), weights, it.bias(5, 0.03, scales)]
        return it, [it.op("FULLY_CONNECTED", ids, [("int8", [1], Quantized(0.06, 4))], 4, keepNumDims=keeps)]
    CASES[f"FULLY_CONNECTED float32 keeps {keeps}"] = dense_float
    CASES[f"FULLY_CONNECTED int8 keeps {keeps}"] = dense_int8


@case("FULLY_CONNECTED float32 without bias on an image")
def _():
    it = Case()
    image = it.op("AVERAGE_POOL_2D", [it.feed(it.reals(2, 4, 4, 8))], padding=1, strideW=4, strideH=4, filterWidth=4,
                  filterHeight=4)
    return it, [it.op("FULLY_CONNECTED", [image, it.writer.constant(it.reals(5, 8)), -1])]


@case("FULLY_CONNECTED int8 per channel")
def _():
    it = Case()
    weights, scales = it.weights(5, 8, axis=0)
    ids = [it.feed(it.bytes_of(np.int8, 6, 8), Quantized(0.03, -5)), weights, it.bias(5, 0.03, scales)]
    return it, [it.op("FULLY_CONNECTED", ids, [("int8", [1], Quantized(0.06, 4))], 12)]


for adj_x, adj_y in itertools.product((False, True), repeat=2):
    float_op("BATCH_MATMUL", (2, 3, 5, 4) if adj_x else (2, 3, 4, 5), (3, 6, 5) if adj_y else (3, 5, 6),
             label=f" {adj_x} {adj_y}", adjX=adj_x, adjY=adj_y)

# Pools and images.
for name, padding in itertools.product(("AVERAGE_POOL_2D", "MAX_POOL_2D"), (0, 1)):
    pool = dict(padding=padding, strideW=2, strideH=2, filterWidth=3, filterHeight=2)
    float_op(name, (2, 7, 8, 3), label=f" padding {padding}", fusedActivationFunction=3, **pool)
    int8_op(name, (2, 7, 8, 3), label=f" padding {padding}", out=Quantized(0.03, -5), **pool)
for align, half in ((False, False), (True, False), (False, True)):
    for size in ((7, 11), (3, 2), (12, 10)):
        label = f" to {size} align {align} half {half}"
        with_constants("RESIZE_BILINEAR", (2, 6, 5, 3), i32(*size), label=label, alignCorners=align, halfPixelCenters=half)
        with_constants("RESIZE_NEAREST_NEIGHBOR", (2, 6, 5, 3), i32(*size), label=label, alignCorners=align,
                       halfPixelCenters=half)
with_constants("SPACE_TO_DEPTH", (2, 6, 4, 3), blockSize=2)
with_constants("DEPTH_TO_SPACE", (2, 3, 4, 12), blockSize=2)
with_constants("PAD", (2, 6, 4, 3), i32(0, 0, 1, 2, 3, 0, 0, 1).reshape(4, 2))
with_constants("PADV2", (2, 6), i32(1, 0, 1, 2).reshape(2, 2), np.float32(1.5), out="float32")
for mode in (0, 1):
    with_constants("MIRROR_PAD", (2, 6, 4, 3), i32(0, 0, 1, 2, 2, 0, 0, 1).reshape(4, 2), label=f" mode {mode}", mode=mode)
with_constants("SPACE_TO_BATCH_ND", (2, 5, 6, 3), i32(3, 2), i32(1, 0, 0, 2).reshape(2, 2))
with_constants("BATCH_TO_SPACE_ND", (12, 2, 3, 3), i32(3, 2), i32(1, 0, 0, 2).reshape(2, 2))
float_op("LOCAL_RESPONSE_NORMALIZATION", (2, 3, 4, 9), radius=2, bias=1.0, alpha=0.3, beta=0.75)

# Shapes and parts.
with_constants("RESHAPE", (2, 3, 4, 5), i32(6, -1))
with_constants("SQUEEZE", (2, 1, 4, 1), squeezeDims=[1, -1])
with_constants("SQUEEZE", (2, 1, 4, 1), label=" all", squeezeDims=[])
with_constants("EXPAND_DIMS", (2, 3), i32(-1))
with_constants("TRANSPOSE", (2, 3, 4, 5), i32(3, 1, 0, 2))
with_constants("TRANSPOSE", (2, 3, 4, 5), i32(0, 3, 1, 2), label=" to channels second")
with_constants("SLICE", (4, 6, 5), i32(1, 0, 2), i32(2, -1, 3), shape=(2, 6, 3))
with_constants("SPLIT_V", (4, 6, 5), i32(1, -1, 2), i32(1), outputs=3, numSplits=3)
with_constants("TILE", (2, 3), i32(2, 3))
with_constants("BROADCAST_TO", (3, 1), i32(2, 3, 4), version=2)
with_constants("GATHER", (4, 6, 5), i32(3, 0, 1), axis=1)
with_constants("GATHER", (2, 6, 5), i32(3, 0, 1, 5).reshape(2, 2), label=" batched", axis=1, batchDims=1, version=5)
with_constants("GATHER_ND", (4, 6, 5), i32(3, 0, 1, 5).reshape(2, 2))
with_constants("REVERSE_V2", (4, 6, 5), i32(1), out="float32")
with_constants("CUMSUM", (4, 6), i32(1), out="float32", exclusive=True, reverse=True)
for begin, end, masks in (((0, 1, 2), (4, 5, 3), {}), ((1, -3, 0), (4, 6, 5), dict(beginMask=1, endMask=6)),
                          ((1, 1, 0), (3, 2, 2), dict(shrinkAxisMask=2)), ((1, -1, 0), (2, 0, 2), dict(shrinkAxisMask=3)),
                          ((1, 0, 2), (3, 0, 4), dict(ellipsisMask=2)), ((1, 0, 2), (3, 0, 4), dict(newAxisMask=2))):
    with_constants("STRIDED_SLICE", (4, 6, 5), i32(*begin), i32(*end), i32(1, 1, 1), label=f" {begin} {masks}", **masks)
with_constants("STRIDED_SLICE", (4, 6, 5), i32(3, 5, 0), i32(0, 0, 5), i32(-1, -2, 3), label=" backwards", endMask=2)
for kind in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"):
    for axes, keeps in (((1, 2), True), ((1, 2), False), ((-1,), False), ((0, 3), True)):
        with_constants(kind, (2, 3, 4, 5), i32(*axes), label=f" {axes} {keeps}",
                       out="float32" if kind in ("SUM", "REDUCE_PROD") else None, keepDims=keeps)
for kind in ("ARG_MAX", "ARG_MIN"):
    for axis in (1, 3):
        with_constants(kind, (2, 3, 4, 5), i32(axis), label=f" {axis}", out="int32", outputType=2)


@case("SPLIT")
def _():
    it = Case()
    ids = [it.writer.constant(np.int32(1)), it.feed(it.reals(2, 6, 3))]
    return it, it.op("SPLIT", ids, [("float32", [1], None)] * 3, numSplits=3)


for axis in (0, 1, 3):
    float_op("CONCATENATION", (2, 3, 4, 5), (2, 3, 4, 5), label=f" {axis}", axis=axis)
int8_op("CONCATENATION", (2, 3), (2, 3), out=Quantized(0.05, 3), scales=((0.05, 3), (0.05, 3)), axis=1)
int8_op("CONCATENATION", (2, 3), (2, 3), label=" rescaled", dtype=np.uint8, version=1, out=Quantized(0.05, 120),
        scales=((0.05, 120), (0.03, 90)), axis=1)
float_op("PACK", (2, 3), (2, 3), valuesCount=2, axis=1)


@case("UNPACK")
def _():
    it = Case()
    return it, it.op("UNPACK", [it.feed(it.reals(2, 3, 4))], [("float32", [1], None)] * 3, num=3, axis=1)


@case("SHAPE, STRIDED_SLICE, PACK and RESHAPE")
def _():
    it = Case()
    image = it.feed(it.reals(3, 4, 5), signature=[-1, 4, 5])
    shape = it.op("SHAPE", [image], [("int32", [3], None)], outType=schema.TensorType.INT32)
    batch = it.op("STRIDED_SLICE", [shape] + [it.writer.constant(i32(n)) for n in (0, 1, 1)], [("int32", [], None)],
                  shrinkAxisMask=1)
    target = it.op("PACK", [batch, it.writer.constant(np.int32(20))], [("int32", [2], None)], valuesCount=2, axis=0)
    return it, [it.op("RESHAPE", [image, target], [("float32", [1, 20], None)])]


@case("FILL")
def _():
    it = Case()
    return it, [it.op("FILL", [it.writer.constant(i32(2, 3)), it.feed(np.float32(2.5))])]


@case("CAST")
def _():
    it = Case()
    return it, [it.op("CAST", [it.feed(it.reals(3, 5, high=9))], [("int32", [1], None)],
                      inDataType=schema.TensorType.FLOAT32, outDataType=schema.TensorType.INT32)]


@case("TOPK_V2")
def _():
    it = Case()
    return it, it.op("TOPK_V2", [it.feed(it.reals(3, 9)), it.writer.constant(np.int32(4))],
                     [("float32", [1], None), ("int32", [1], None)])


@case("SELECT rows")
def _():
    it = Case()
    return it, [it.op("SELECT", [it.feed(np.array([True, False, True])), it.feed(it.reals(3, 4)), it.feed(it.reals(3, 4))])]


@case("SELECT_V2")
def _():
    it = Case()
    return it, [it.op("SELECT_V2", [it.feed(it.rng.integers(0, 2, (3, 1)).astype(bool)), it.feed(it.reals(3, 4)),
                                    it.feed(it.reals(4))])]


@case("WHERE")
def _():
    it = Case()
    return it, [it.op("WHERE", [it.feed(it.rng.integers(0, 2, (3, 4)).astype(bool))], [("int64", [1, 2], None)])]


@case("ONE_HOT")
def _():
    it = Case()
    ids = [it.feed(i32(1, 0, 5, 2))] + [it.writer.constant(v) for v in (np.int32(4), np.float32(2), np.float32(-1))]
    return it, [it.op("ONE_HOT", ids, axis=-1)]


@case("EMBEDDING_LOOKUP")
def _():
    it = Case()
    return it, [it.op("EMBEDDING_LOOKUP", [it.feed(i32(1, 0, 5, 2)), it.writer.constant(it.reals(6, 7))])]


@case("SCATTER_ND")
def _():
    it = Case()
    ids = [it.writer.constant(i32(1, 3, 1).reshape(3, 1)), it.feed(it.reals(3, 4)), it.writer.constant(i32(5, 4))]
    return it, [it.op("SCATTER_ND", ids)]


@case("RANGE")
def _():
    it = Case()
    return it, [it.op("RANGE", [it.feed(np.int32(n)) for n in (2, 11, 3)], [("int32", [1], None)])]


@case("RANK and ZEROS_LIKE")
def _():
    it = Case()
    image = it.feed(it.reals(2, 3, 4))
    return it, [it.op("RANK", [image], [("int32", [], None)]), it.op("ZEROS_LIKE", [image])]


@case("QUANTIZE, requantize and DEQUANTIZE")
def _():
    it = Case()
    first = it.op("QUANTIZE", [it.feed(it.reals(2, 50, low=-4, high=4))], [("int8", [2, 50], Quantized(0.03, -5))])
    second = it.op("QUANTIZE", [first], [("int8", [2, 50], Quantized(0.05, 9))], 2)
    return it, [second, it.op("DEQUANTIZE", [first], [("float32", [2, 50], None)], 2)]


@case("a small network")
def _():
    it = Case()
    image = it.feed(it.reals(1, 12, 12, 3))
    window = dict(padding=0, strideW=1, strideH=1)
    first = it.op("CONV_2D", [image, it.writer.constant(it.reals(8, 3, 3, 3)), it.writer.constant(it.reals(8))],
                  fusedActivationFunction=3, **window)
    second = it.op("DEPTHWISE_CONV_2D", [first, it.writer.constant(it.reals(1, 3, 3, 8)), it.writer.constant(it.reals(8))],
                   depthMultiplier=1, **window)
    scaled = it.op("MUL", [second, it.writer.constant(it.reals(8))])
    both = it.op("CONCATENATION", [it.op("ADD", [first, scaled]), it.op("LOGISTIC", [second])], axis=3)
    padded = it.op("PAD", [both, it.writer.constant(i32(0, 0, 1, 1, 1, 1, 0, 0).reshape(4, 2))])
    pooled = it.op("MEAN", [padded, it.writer.constant(i32(1, 2))], keepDims=False)
    return it, [it.op("SOFTMAX", [pooled], beta=1.0), padded]
