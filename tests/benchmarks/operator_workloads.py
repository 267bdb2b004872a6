"""One typical and one awkward use of each operator, as models of a single node: large enough that a run costs more than
calling it, awkward where extents are odd or prime, axes are in the middle and operands broadcast."""

from dataclasses import dataclass, field

import numpy as np

RANDOM = np.random.default_rng(7)
PICTURE, ODD = (1, 64, 112, 112), (3, 37, 61, 67)  # 3.2 MB and 1.8 MB of floats


def floats(*shape, low=-2.0, high=2.0):
    return RANDOM.uniform(low, high, shape).astype(np.float32)


def small(*shape):
    """Weights with which a recurrent network is not chaotic, which would make rounding the result."""
    return floats(*shape, low=-0.1, high=0.1)


def integers(*shape, low=0, high=100, dtype=np.int64):
    return RANDOM.integers(low, high, shape).astype(dtype)


def bools(*shape):
    return RANDOM.integers(0, 2, shape).astype(bool)


def numbers(*values):
    return np.array(values, np.int64)


@dataclass
class Fixed:
    """An input that is a constant of the model."""

    value: np.ndarray


@dataclass
class Use:
    operator: str
    shape: str  # "typical" or "awkward"
    inputs: list  # arrays, Fixed, or None where one is left out
    attributes: dict = field(default_factory=dict)
    outputs: tuple = (np.float32,)
    opset: int = 23
    group: str = ""  # "element-wise" and "movement" have a limit of their own


USES = []
# fmt: off: a table


def use(operator, typical, awkward, outputs=None, opset=21, group="", **common):
    """Each of the two is a list of inputs, or (inputs, attributes)."""
    for shape, given in (("typical", typical), ("awkward", awkward)):
        inputs, attributes = given if isinstance(given, tuple) else (given, {})
        first = next((i for i in inputs if i is not None), np.zeros(1, np.float32))
        kind = (first.value if isinstance(first, Fixed) else first).dtype
        USES.append(Use(operator, shape, inputs, {**common, **attributes}, outputs or (kind,), opset, group))


def elementwise(operator, low=-2.0, high=2.0, outputs=None, **common):
    use(operator, [floats(*PICTURE, low=low, high=high)], [floats(*ODD, low=low, high=high)], outputs,
        group="element-wise", **common)


for name in ("Abs", "Ceil", "Celu", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Mish",
             "Neg", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Cos", "Sinh", "Cosh", "Asinh", "Atan",
             "Softplus", "Softsign", "Tan", "Tanh", "ThresholdedRelu", "Identity"):
    elementwise(name)
for name, low, high in (("Acos", -1, 1), ("Asin", -1, 1), ("Atanh", -0.9, 0.9), ("Acosh", 1.1, 4), ("Log", 0.1, 4),
                        ("Sqrt", 0.1, 4), ("Reciprocal", 0.1, 4)):
    elementwise(name, low, high)
for name in ("IsInf", "IsNaN"):
    elementwise(name, outputs=(bool,))
elementwise("Cast", outputs=(np.int32,), to=6)
use("Clip", [floats(*PICTURE), Fixed(np.float32(-1)), Fixed(np.float32(1))],
    [floats(*ODD), Fixed(np.float32(0)), None], group="element-wise")
use("CastLike", [floats(*PICTURE), integers(1, dtype=np.int32)], [floats(*ODD), integers(1, dtype=np.int32)],
    outputs=(np.int32,), group="element-wise")
for name in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Mean", "Sum", "PRelu"):
    use(name, [floats(*PICTURE), floats(*PICTURE, low=0.5)], [floats(64, 1, 113, 31), floats(127, 1, 31, low=0.5)],
        group="element-wise") if name != "PRelu" else use(
        name, [floats(*PICTURE), Fixed(floats(64, 1, 1))], [floats(*ODD), Fixed(floats(61, 1))],
        group="element-wise")
use("Pow", [floats(*PICTURE, low=0.5), Fixed(np.float32(2))], [floats(*ODD, low=0.5), floats(67)], group="element-wise")
use("Mod", [integers(*PICTURE, low=1), Fixed(np.int64(7))], [floats(*ODD), floats(67, low=0.5)], group="element-wise")
USES[-1].attributes["fmod"] = 1
for name in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"):
    use(name, [floats(*PICTURE), floats(*PICTURE)], [floats(64, 1, 113, 31), floats(127, 1, 31)], outputs=(bool,),
        group="element-wise")
for name in ("And", "Or", "Xor"):
    use(name, [bools(*PICTURE), bools(*PICTURE)], [bools(64, 1, 113, 131), bools(127, 1, 131)], outputs=(bool,),
        group="element-wise")
use("Not", [bools(4, *PICTURE[1:])], [bools(*ODD)], group="element-wise")
for name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
    use(name, [integers(*PICTURE, dtype=np.int32), integers(*PICTURE, dtype=np.int32)],
        [integers(64, 1, 113, 31, dtype=np.int32), integers(127, 1, 31, dtype=np.int32)], group="element-wise")
use("BitwiseNot", [integers(*PICTURE, dtype=np.int32)], [integers(*ODD, dtype=np.uint8)], group="element-wise")
use("BitShift", [integers(*PICTURE, dtype=np.uint32), Fixed(np.uint32(3))],
    [integers(*ODD, dtype=np.uint32), integers(67, high=5, dtype=np.uint32)], direction="LEFT",
    group="element-wise")
use("Where", [bools(*PICTURE), floats(*PICTURE), floats(*PICTURE)],
    [bools(113, 1), floats(64, 127, 1, 31), floats(113, 31)], outputs=(np.float32,), group="element-wise")
use("Dropout", [floats(*PICTURE)], [floats(*ODD)], group="element-wise")

# Movement.
use("Transpose", ([floats(*PICTURE)], {"perm": [0, 2, 3, 1]}), ([floats(*ODD)], {"perm": [3, 1, 0, 2]}), group="movement")
use("Reshape", [floats(*PICTURE), Fixed(numbers(1, -1))], [floats(*ODD), Fixed(numbers(67, 37, -1))], group="movement")
use("Flatten", [floats(*PICTURE)], ([floats(*ODD)], {"axis": 3}), group="movement")
use("Squeeze", [floats(*PICTURE), Fixed(numbers(0))], [floats(3, 1, 601, 1, 401), Fixed(numbers(1, 3))], group="movement")
use("Unsqueeze", [floats(*PICTURE), Fixed(numbers(0))], [floats(*ODD), Fixed(numbers(1, 3))], group="movement")
use("Concat", ([floats(1, 32, 112, 112), floats(1, 32, 112, 112)], {"axis": 1}),
    ([floats(301, 37, 17), floats(301, 37, 29), floats(301, 37, 3)], {"axis": 2}), group="movement")
use("Split", ([floats(*PICTURE)], {"axis": 1, "num_outputs": 2}),
    ([floats(301, 37, 49), Fixed(numbers(17, 29, 3))], {"axis": 2}), outputs=(np.float32,) * 2, group="movement")
USES[-1].outputs = (np.float32,) * 3
use("Slice", [floats(*PICTURE), Fixed(numbers(0, 10)), Fixed(numbers(64, 100)), Fixed(numbers(1, 2))],
    [floats(*ODD), Fixed(numbers(60, 66)), Fixed(numbers(-100, -100)), Fixed(numbers(2, 3)), Fixed(numbers(-1, -3))],
    group="movement")
use("Pad", [floats(*PICTURE), Fixed(numbers(0, 0, 1, 1, 0, 0, 1, 1))],
    ([floats(*ODD), Fixed(numbers(0, 1, 3, 5, 0, 2, 7, 11))], {"mode": "reflect"}), group="movement")
use("Tile", [floats(1, 64, 56, 56), Fixed(numbers(1, 1, 2, 2))], [floats(37, 61, 3), Fixed(numbers(3, 1, 67))],
    group="movement")
use("Expand", [floats(1, 64, 1, 112), Fixed(numbers(1, 64, 112, 112))], [floats(37, 1, 67), Fixed(numbers(3, 37, 61, 67))],
    group="movement")
use("Gather", [floats(3000, 384), integers(1, 2048, high=3000)], ([floats(37, 301, 67), integers(211, high=301)], {"axis": 1}),
    group="movement")
use("GatherElements", ([floats(1024, 1024), integers(1024, 1024, high=1024)], {"axis": 1}),
    ([floats(37, 301, 67), integers(37, 211, 67, high=301)], {"axis": 1}), group="movement")
use("GatherND", [floats(300, 300, 64), integers(16384, 2, high=300)],
    ([floats(37, 61, 67, 3), integers(37, 1001, 2, high=61)], {"batch_dims": 1}), group="movement")
use("ScatterElements", ([floats(1024, 1024), integers(1024, 512, high=1024), floats(1024, 512)], {"axis": 1}),
    ([floats(37, 301, 67), integers(37, 211, 67, high=301), floats(37, 211, 67)], {"axis": 1, "reduction": "add"}),
    group="movement")
use("ScatterND", [floats(4096, 256), RANDOM.permutation(4096)[:2048].reshape(-1, 1), floats(2048, 256)],
    ([floats(61, 67, 301), integers(1001, 2, high=61), floats(1001, 301)], {"reduction": "add"}), group="movement")
use("DepthToSpace", ([floats(1, 256, 56, 56)], {"blocksize": 2}), ([floats(1, 117, 37, 61)], {"blocksize": 3, "mode": "CRD"}),
    group="movement")
use("SpaceToDepth", ([floats(1, 64, 112, 112)], {"blocksize": 2}), ([floats(1, 13, 111, 183)], {"blocksize": 3}),
    group="movement")
use("Trilu", [floats(12, 384, 384)], ([floats(7, 301, 211), Fixed(np.int64(-3))], {"upper": 0}), group="movement")
use("ReverseSequence", ([floats(128, 32, 256), integers(32, low=1, high=128)], {"batch_axis": 1, "time_axis": 0}),
    ([floats(37, 301, 67), integers(37, low=1, high=301)], {"batch_axis": 0, "time_axis": 1}), group="movement")
use("ConstantOfShape", [numbers(1, 64, 112, 112)], [numbers(*ODD)], outputs=(np.float32,), group="movement")
use("Range", [np.float32(0), np.float32(800000), np.float32(1)], [np.int64(-3), np.int64(3000000), np.int64(7)],
    group="movement")
USES[-1].outputs = (np.int64,)
use("EyeLike", [floats(1024, 1024)], ([floats(1021, 601)], {"k": -3}), group="movement")
use("OneHot", [integers(64, 128, high=100), Fixed(np.int64(100)), Fixed(np.array([0, 1], np.float32))],
    ([integers(37, 61, high=301), Fixed(np.int64(301)), Fixed(np.array([0, 1], np.float32))], {"axis": 1}),
    outputs=(np.float32,), group="movement")
use("CenterCropPad", [floats(*PICTURE), Fixed(numbers(1, 64, 100, 100))], [floats(*ODD), Fixed(numbers(3, 41, 53, 71))])
use("Compress", ([floats(4096, 256), bools(4096)], {"axis": 0}), ([floats(37, 301, 67), bools(301)], {"axis": 1}))
use("NonZero", [floats(512, 512)], [bools(37, 61, 67)], outputs=(np.int64,))
use("Unique", [integers(65536, high=1000)], ([integers(301, 37, high=3)], {"axis": 0}))

# Reductions and sorting.
for name in ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum", "ReduceSumSquare", "ReduceL1", "ReduceL2",
             "ReduceLogSum", "ReduceLogSumExp"):
    use(name, [floats(*PICTURE, low=0.5), Fixed(numbers(2, 3))], [floats(*ODD, low=0.5), Fixed(numbers(0, 2))])
use("ReduceProd", [floats(*PICTURE, low=0.999, high=1.001), Fixed(numbers(2, 3))],
    [floats(*ODD, low=0.99, high=1.01), Fixed(numbers(0, 2))])
for name in ("ArgMax", "ArgMin"):
    use(name, ([floats(1, 21, 256, 256)], {"axis": 1}), ([floats(*ODD)], {"axis": 2}), outputs=(np.int64,))
use("CumSum", [floats(1024, 1024), Fixed(np.int64(1))], ([floats(*ODD), Fixed(np.int64(1))], {"reverse": 1}))
use("TopK", [floats(64, 8192), Fixed(numbers(10))], ([floats(37, 301, 67), Fixed(numbers(17))], {"axis": 1, "largest": 0}),
    outputs=(np.float32, np.int64))
use("Hardmax", [floats(1024, 1000)], ([floats(*ODD)], {"axis": 1}))
use("Softmax", [floats(12, 384, 384)], ([floats(*ODD)], {"axis": 1}))
use("LogSoftmax", [floats(1024, 1000)], ([floats(*ODD)], {"axis": 2}))
use("LpNormalization", [floats(1024, 1024)], ([floats(*ODD)], {"axis": 1, "p": 1}))

# Products, convolutions, pools.
use("MatMul", [floats(128, 384), Fixed(floats(384, 1536))], [floats(12, 127, 61), floats(12, 61, 131)])
use("Gemm", [floats(64, 2048), Fixed(floats(2048, 1000)), Fixed(floats(1000))],
    ([floats(301, 127), floats(61, 301), floats(127, 1)], {"transA": 1, "transB": 1, "alpha": 0.5}))
use("Einsum", ([floats(8, 128, 64), floats(8, 64, 128)], {"equation": "bij,bjk->bik"}),
    ([floats(7, 61, 13, 5), floats(13, 7, 31, 5)], {"equation": "abcd,caed->eb"}))
use("Conv", ([floats(1, 64, 56, 56), Fixed(floats(64, 64, 3, 3)), Fixed(floats(64))], {"pads": [1, 1, 1, 1]}),
    ([floats(2, 6, 37, 61), Fixed(floats(9, 2, 5, 3))], {"group": 3, "dilations": [2, 3], "strides": [2, 1]}))
use("ConvTranspose", ([floats(1, 64, 28, 28), Fixed(floats(64, 32, 4, 4))], {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ([floats(2, 6, 37, 31), Fixed(floats(6, 3, 5, 3))], {"group": 3, "strides": [3, 2], "output_padding": [1, 0]}))
use("DeformConv", [floats(1, 32, 28, 28), Fixed(floats(32, 32, 3, 3)), floats(1, 18, 26, 26)],
    ([floats(1, 6, 37, 31), Fixed(floats(4, 6, 3, 5)), floats(1, 30, 35, 27)], {}), opset=22)
use("Col2Im", [floats(1, 144, 3136), Fixed(numbers(58, 58)), Fixed(numbers(3, 3))],
    ([floats(2, 45, 513), Fixed(numbers(37, 31)), Fixed(numbers(5, 3))], {"strides": [2, 1], "pads": [2, 0, 2, 0],
                                                                         "dilations": [1, 2]}))
for name in ("AveragePool", "MaxPool"):
    use(name, ([floats(*PICTURE)], {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ([floats(*ODD)], {"kernel_shape": [5, 2], "strides": [1, 3], "ceil_mode": 1}))
use("LpPool", ([floats(*PICTURE)], {"kernel_shape": [3, 3], "strides": [2, 2]}),
    ([floats(*ODD)], {"kernel_shape": [5, 2], "strides": [1, 3]}))
for name in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
    use(name, [floats(*PICTURE)], [floats(*ODD)])
use("MaxUnpool", ([floats(1, 64, 56, 56), np.arange(64 * 56 * 56).reshape(1, 64, 56, 56) * 4],
                  {"kernel_shape": [2, 2], "strides": [2, 2]}),
    ([floats(1, 5, 37, 61), np.arange(5 * 37 * 61).reshape(1, 5, 37, 61) * 6],
     {"kernel_shape": [3, 2], "strides": [3, 2]}))
use("MaxRoiPool", ([floats(1, 64, 56, 56), np.tile(np.array([0, 4, 4, 40, 40], np.float32), (32, 1))],
                   {"pooled_shape": [7, 7]}),
    ([floats(2, 5, 61, 67), np.tile(np.array([1, 3, 5, 60, 41], np.float32), (101, 1))], {"pooled_shape": [5, 3]}))
boxes = np.tile(np.array([4, 4, 40, 40], np.float32), (32, 1)) + floats(32, 4)
use("RoiAlign", ([floats(1, 64, 56, 56), boxes, np.zeros(32, np.int64)], {"output_height": 7, "output_width": 7}),
    ([floats(2, 5, 61, 67), boxes, np.ones(32, np.int64)], {"output_height": 5, "output_width": 3, "mode": "max"}))

# Normalizations.
use("BatchNormalization", [floats(*PICTURE), *(Fixed(floats(64, low=0.5)) for _ in range(4))],
    [floats(*ODD), *(floats(37, low=0.5) for _ in range(4))], opset=15)
use("InstanceNormalization", [floats(*PICTURE), Fixed(floats(64)), Fixed(floats(64))], [floats(*ODD), floats(37), floats(37)])
use("LayerNormalization", [floats(1, 512, 768), Fixed(floats(768)), Fixed(floats(768))],
    ([floats(*ODD), Fixed(floats(61, 67)), Fixed(floats(61, 67))], {"axis": 2}))
use("GroupNormalization", ([floats(*PICTURE), Fixed(floats(64)), Fixed(floats(64))], {"num_groups": 8}),
    ([floats(3, 36, 61, 67), floats(36), floats(36)], {"num_groups": 3}))
use("RMSNormalization", [floats(1, 512, 768), Fixed(floats(768))], ([floats(*ODD), Fixed(floats(61, 67))], {"axis": 2}), opset=23)
use("SimplifiedLayerNormalization", [floats(1, 512, 768), Fixed(floats(768))],
    ([floats(*ODD), Fixed(floats(61, 67))], {"axis": 2}))
use("MeanVarianceNormalization", [floats(*PICTURE)], ([floats(*ODD)], {"axes": [0, 2]}))
use("LRN", ([floats(*PICTURE)], {"size": 5}), ([floats(*ODD)], {"size": 3}))

# Networks' larger parts.
use("Attention", [floats(1, 8, 128, 64), floats(1, 8, 128, 64), floats(1, 8, 128, 64)],
    ([floats(2, 6, 37, 31), floats(2, 2, 61, 31), floats(2, 2, 61, 13), floats(37, 61)], {}), opset=23)
use("RotaryEmbedding", [floats(1, 8, 512, 64), floats(1, 512, 32), floats(1, 512, 32)],
    ([floats(3, 7, 301, 38), floats(3, 301, 19), floats(3, 301, 19)], {"interleaved": 1}), opset=23)
use("LSTM", ([floats(32, 1, 128), Fixed(small(1, 512, 128)), Fixed(small(1, 512, 128)), Fixed(small(1, 1024))],
             {"hidden_size": 128}),
    ([floats(17, 5, 37), Fixed(floats(2, 124, 37)), Fixed(floats(2, 124, 31))],
     {"hidden_size": 31, "direction": "bidirectional"}))
use("GRU", ([floats(32, 1, 128), Fixed(small(1, 384, 128)), Fixed(small(1, 384, 128)), Fixed(small(1, 768))],
            {"hidden_size": 128}),
    ([floats(17, 5, 37), Fixed(floats(2, 93, 37)), Fixed(floats(2, 93, 31))],
     {"hidden_size": 31, "direction": "bidirectional"}))
use("RNN", ([floats(32, 1, 128), Fixed(small(1, 128, 128)), Fixed(small(1, 128, 128)), Fixed(small(1, 256))],
            {"hidden_size": 128}),
    ([floats(17, 5, 37), Fixed(floats(2, 31, 37)), Fixed(floats(2, 31, 31))],
     {"hidden_size": 31, "direction": "bidirectional"}))

# Pictures and signals.
use("Resize", ([floats(1, 16, 112, 112), None, Fixed(np.array([1, 1, 2, 2], np.float32))], {"mode": "linear"}),
    ([floats(1, 5, 61, 67), None, None, Fixed(numbers(1, 5, 97, 131))],
     {"mode": "cubic", "coordinate_transformation_mode": "align_corners"}), opset=19)
use("Upsample", ([floats(1, 16, 112, 112), Fixed(np.array([1, 1, 2, 2], np.float32))], {"mode": "nearest"}),
    ([floats(1, 5, 61, 67), Fixed(np.array([1, 1, 3, 2], np.float32))], {"mode": "linear"}), opset=9)
use("GridSample", [floats(1, 16, 112, 112), floats(1, 112, 112, 2, low=-1, high=1)],
    ([floats(2, 5, 61, 67), floats(2, 37, 31, 2, low=-1.2, high=1.2)], {"mode": "cubic", "padding_mode": "reflection"}),
    opset=20)
use("AffineGrid", [floats(1, 2, 3), Fixed(numbers(1, 3, 256, 256))],
    ([floats(3, 3, 4), Fixed(numbers(3, 2, 17, 37, 31))], {"align_corners": 1}), opset=20)
use("NonMaxSuppression", [floats(1, 500, 4, low=0, high=1), floats(1, 2, 500, low=0, high=1), Fixed(numbers(20)),
                          Fixed(np.array([0.5], np.float32)), Fixed(np.array([0.1], np.float32))],
    ([floats(2, 301, 4, low=0, high=1), floats(2, 3, 301, low=0, high=1), Fixed(numbers(17))], {"center_point_box": 1}),
    outputs=(np.int64,))
for name in ("HannWindow", "HammingWindow", "BlackmanWindow"):
    use(name, [np.int64(65536)], ([np.int64(50001)], {"periodic": 0}), outputs=(np.float32,), opset=17)
use("DFT", [floats(16, 1024, 1), None, None], ([floats(7, 301, 2), None, Fixed(np.int64(1))], {"inverse": 1}), opset=20)
use("STFT", [floats(1, 16000, 1), Fixed(np.int64(160)), Fixed(floats(400)), None],
    [floats(3, 4001, 1), Fixed(np.int64(61)), None, Fixed(np.int64(301))], opset=17)
use("MelWeightMatrix", [np.int64(80), np.int64(1024), np.int64(16000), np.float32(20), np.float32(8000)],
    [np.int64(61), np.int64(801), np.int64(22050), np.float32(3), np.float32(7001)], outputs=(np.float32,), opset=17)
use("Det", [floats(64, 32, 32)], [floats(7, 31, 13, 13)])

# Quantized.
SCALE, ZERO = Fixed(np.float32(0.05)), Fixed(np.uint8(128))
use("QuantizeLinear", [floats(*PICTURE), SCALE, ZERO], [floats(*ODD), Fixed(floats(37, low=0.1)), Fixed(np.zeros(37, np.int8))],
    outputs=(np.uint8,), opset=19)
USES[-1].outputs = (np.int8,)
use("DequantizeLinear", [integers(*PICTURE, dtype=np.uint8), SCALE, ZERO],
    [integers(*ODD, dtype=np.int8), Fixed(floats(37, low=0.1))], outputs=(np.float32,), opset=19)
use("DynamicQuantizeLinear", [floats(*PICTURE)], [floats(*ODD)], outputs=(np.uint8, np.float32, np.uint8))
use("MatMulInteger", [integers(128, 384, dtype=np.uint8), Fixed(integers(384, 1536, low=-90, dtype=np.int8)), ZERO],
    [integers(7, 127, 61, dtype=np.uint8), integers(7, 61, 131, dtype=np.uint8)], outputs=(np.int32,))
use("QLinearMatMul", [integers(128, 384, dtype=np.uint8), SCALE, ZERO, Fixed(integers(384, 1536, dtype=np.uint8)), SCALE,
                      ZERO, SCALE, ZERO],
    [integers(7, 127, 61, dtype=np.uint8), SCALE, ZERO, integers(7, 61, 131, dtype=np.uint8), SCALE, ZERO, SCALE, ZERO])
QUANTIZED = [integers(1, 64, 56, 56, dtype=np.uint8), SCALE, ZERO, Fixed(integers(64, 64, 3, 3, low=-90, dtype=np.int8)),
             SCALE, Fixed(np.int8(0)), SCALE, ZERO]
use("QLinearConv", (QUANTIZED, {"pads": [1, 1, 1, 1]}),
    ([integers(2, 6, 37, 61, dtype=np.uint8), SCALE, ZERO, Fixed(integers(9, 2, 5, 3, dtype=np.uint8)), SCALE, ZERO, SCALE,
      ZERO], {"group": 3, "dilations": [2, 3], "strides": [2, 1]}))
use("ConvInteger", ([integers(1, 64, 56, 56, dtype=np.uint8), Fixed(integers(64, 64, 3, 3, dtype=np.uint8)), ZERO],
                    {"pads": [1, 1, 1, 1]}),
    ([integers(2, 6, 37, 61, dtype=np.uint8), Fixed(integers(9, 2, 5, 3, dtype=np.uint8))],
     {"group": 3, "dilations": [2, 3], "strides": [2, 1]}), outputs=(np.int32,))

# Losses, shapes, words.
use("NegativeLogLikelihoodLoss", [floats(1024, 1000), integers(1024, high=1000)],
    ([floats(3, 37, 61), integers(3, 61, high=37), floats(37)], {"reduction": "none"}))
use("SoftmaxCrossEntropyLoss", [floats(1024, 1000), integers(1024, high=1000)],
    ([floats(3, 37, 61), integers(3, 61, high=37), floats(37)], {"reduction": "sum"}))
use("Shape", [floats(*PICTURE)], ([floats(*ODD)], {"start": 1}), outputs=(np.int64,))
use("Size", [floats(*PICTURE)], [floats(*ODD)], outputs=(np.int64,))
use("TfIdfVectorizer", [integers(64, 512, high=100)], [integers(7, 301, high=100)], outputs=(np.float32,), mode="TF",
    max_gram_length=2, min_gram_length=1, max_skip_count=1, ngram_counts=[0, 50], ngram_indexes=list(range(75)),
    pool_int64s=[*range(50), *range(50)])
for name, attributes in (("RandomNormal", {}), ("RandomUniform", {})):
    use(name, ([], {"shape": list(PICTURE)}), ([], {"shape": list(ODD), "seed": 1.0}), **attributes)
for name in ("RandomNormalLike", "RandomUniformLike"):
    use(name, [floats(*PICTURE)], [floats(*ODD)])
use("Bernoulli", [floats(*PICTURE, low=0, high=1)], [floats(*ODD, low=0, high=1)])
use("Multinomial", ([floats(64, 100)], {"sample_size": 1000}), ([floats(37, 61)], {"sample_size": 301}), outputs=(np.int32,))

# Small uses of what delegates claim, where a call and its steps cost more than what they compute.
SMALL = []


def small_use(operator, inputs, outputs=(np.float32,), opset=21, **attributes):
    SMALL.append(Use(operator, "small", inputs, attributes, outputs, opset))


MAP = (1, 8, 10, 10)
for name in ("Abs", "Elu", "Erf", "Exp", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Mish", "Neg", "Relu", "Round",
             "Sigmoid", "Softplus", "Tanh", "Identity", "Dropout", "Transpose", "Flatten", "GlobalAveragePool",
             "GlobalMaxPool", "LogSoftmax", "Softmax"):
    small_use(name, [floats(*MAP)])
for name in ("Sqrt", "Reciprocal"):
    small_use(name, [floats(*MAP, low=0.1)])
for name in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Mean", "Sum"):
    small_use(name, [floats(*MAP), floats(*MAP, low=0.5)])
for name in ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum"):
    small_use(name, [floats(*MAP), Fixed(numbers(-1))])
for name in ("AveragePool", "MaxPool"):
    small_use(name, [floats(*MAP)], kernel_shape=[2, 2], strides=[2, 2])
for name in ("Squeeze", "Unsqueeze"):
    small_use(name, [floats(*MAP), Fixed(numbers(0))])
for name in ("DepthToSpace", "SpaceToDepth"):
    small_use(name, [floats(*MAP)], blocksize=2)
small_use("BatchNormalization", [floats(*MAP), *(Fixed(floats(8, low=0.5)) for _ in range(4))], opset=15)
small_use("Clip", [floats(*MAP), Fixed(np.float32(-1)), Fixed(np.float32(1))])
small_use("Concat", [floats(*MAP), floats(*MAP)], axis=1)
small_use("Conv", [floats(*MAP), Fixed(floats(8, 8, 3, 3)), Fixed(floats(8))], pads=[1, 1, 1, 1])
small_use("ConvTranspose", [floats(*MAP), Fixed(floats(8, 8, 3, 3))], strides=[2, 2], pads=[1, 1, 1, 1])
small_use("DequantizeLinear", [integers(*MAP, dtype=np.uint8), SCALE, ZERO], opset=19)
small_use("QuantizeLinear", [floats(*MAP), SCALE, ZERO], outputs=(np.uint8,), opset=19)
small_use("Gemm", [floats(1, 64), Fixed(floats(64, 32)), Fixed(floats(32))])
small_use("MatMul", [floats(1, 64), Fixed(floats(64, 64))])
small_use("LRN", [floats(*MAP)], size=5)
small_use("LayerNormalization", [floats(4, 64), Fixed(floats(64)), Fixed(floats(64))])
small_use("PRelu", [floats(*MAP), Fixed(floats(8, 1, 1))])
small_use("Pad", [floats(*MAP), Fixed(numbers(0, 0, 1, 1, 0, 0, 1, 1))])
small_use("Pow", [floats(*MAP, low=0.5), Fixed(np.float32(2))])
small_use("Reshape", [floats(*MAP), Fixed(numbers(8, 100))])
small_use("Resize", [floats(*MAP), None, Fixed(np.array([1, 1, 2, 2], np.float32))], opset=19)
small_use("Slice", [floats(*MAP), Fixed(numbers(2)), Fixed(numbers(6)), Fixed(numbers(1))])
small_use("Split", [floats(*MAP), Fixed(numbers(3, 5))], outputs=(np.float32, np.float32), axis=1)

# What only moves control, or is gone before anything runs.
WITHOUT = {
    "Affine": "an experimental operator of old files; Mul and Add in one",
    "BitCast": "a copy",
    "CausalConvWithState": "a depthwise convolution",
    "Constant": "gone before anything runs",
    "Crop": "an experimental operator of old files; a copy, like Slice",
    "CumProd": "the loop of CumSum",
    "If": "runs other operators",
    "ImageScaler": "an experimental operator of old files; Mul and Add in one",
    "LinearAttention": "token after token, products of a head's size",
    "Loop": "runs other operators",
    "Microsoft_DynamicQuantizeLSTM": "LSTM's kernel on dequantized weights",
    "ParametricSoftplus": "an experimental operator of old files; Softplus with two factors",
    "Scale": "an experimental operator of old files; a Mul",
    "ScaledTanh": "an experimental operator of old files; Tanh with two factors",
    "Scan": "runs other operators",
    "Scatter": "ScatterElements by its older name",
    "SwiGLU": "Swish and Mul in one",
    "Swish": "one function for each element, like Mish",
    "TensorScatter": "a copy",
    **{f"Ml_{name}": "classical machine learning: small models, whose time is that of the call" for name in (
        "ArrayFeatureExtractor", "Binarizer", "CategoryMapper", "FeatureVectorizer", "Imputer", "LabelEncoder",
        "LinearClassifier", "LinearRegressor", "Normalizer", "OneHotEncoder", "SVMClassifier", "SVMRegressor", "Scaler",
        "TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor")},
    **{name: "passes values on, which are no tensors" for name in (
        "Optional", "OptionalGetElement", "OptionalHasElement", "SequenceAt", "SequenceConstruct", "SequenceEmpty",
        "SequenceErase", "SequenceInsert", "SequenceLength", "SequenceMap", "SplitToSequence", "ConcatFromSequence")},
}
