"""A network under construction for the grammar of architectures: ONNX nodes with known extents, in the form that the
network's opset has, with weights that keep the magnitudes of activations near one."""

import math
import random
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
from onnx_graph import DTYPES, OnnxGraph  # noqa: E402

MICROSOFT = "com.microsoft"
CHANNELS = (*range(1, 14), 15, 16, 17, 18, 19, 20, 21, 23, 24, 27, 31, 32, 33, 36, 40)
OPSETS = (11, 12, 13, 14, 16, 17, 18)


class Value:
    """A tensor of the graph; an extent that inputs decide is a string. One without a name is a constant that `emit`
    adds to the graph when a node first reads it, so that one that takes another form leaves nothing behind."""

    def __init__(self, name, shape, dtype="float32", array=None, emit=None):
        self.name, self.shape, self.dtype = name, tuple(d if isinstance(d, str) else int(d) for d in shape), dtype
        self.array, self.emit = array, emit

    @property
    def rank(self):
        return len(self.shape)

    @property
    def batch(self):
        return self.shape[0]

    @property
    def channels(self):
        return self.shape[1]

    @property
    def extents(self):
        return self.shape[2:]


def pooled_extent(extent, kernel, stride, before, after, dilation=1, ceil_mode=False):
    span = extent + before + after - dilation * (kernel - 1) - 1
    count = (math.ceil(span / stride) if ceil_mode else span // stride) + 1
    if ceil_mode and (count - 1) * stride >= extent + before:  # a window that begins in the padding at the end
        count -= 1
    return count


class Network(OnnxGraph):
    """All draws come from the two generators of the seed, so that equal seeds give equal networks. `jitter` changes
    every constant and input of floats by about this share, and `halves` rounds the factors of products to float16, to
    show how much of a difference rounding alone can make."""

    def __init__(self, seed, opset, jitter=0.0, halves=False):
        super().__init__(f"architecture_{seed}", opset)
        self.draw = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.jitter, self.halves, self.shaking = jitter, halves, np.random.default_rng([seed, int(jitter * 2**40)])
        self.feeds = {}  # arrays by the names of the inputs, of the first run
        self.later = {}  # inputs with new values in each run: the arrays of the second and later runs, by name
        self.states = {}  # values that the next run takes as inputs, by the names of these inputs
        self.results = []  # values that are outputs
        self.taken = []  # values in the middle that may become outputs
        self.constant_nodes = self.chance(0.2)
        self.count = 0

    # Draws.

    def chance(self, share):
        return self.draw.random() < share

    def pick(self, *choices):
        return self.draw.choice(choices)

    def between(self, low, high):
        return self.draw.randint(low, high)

    def some_channels(self, low=1, high=40):
        return self.draw.choice([c for c in CHANNELS if low <= c <= high])

    def blocked_channels(self, low=1, high=40):
        """Half of them multiples of 8 and 16, for which libraries have blocked layouts."""
        return self.pick(8, 16, 16, 24, 32, 48) if self.chance(0.5) else self.some_channels(low, high)

    # Inputs, outputs, constants.

    def give(self, array):
        """A new input of the graph, fed with this array."""
        array = np.asarray(array)
        name = f"input_{len(self.feeds)}"
        self.feeds[name] = self.shaken(array)
        self.input(name, DTYPES[array.dtype], array.shape)
        return Value(name, array.shape, str(array.dtype))

    def give_each_run(self, draw):
        """A new input; `draw` makes its array for each of three runs."""
        value = self.give(draw())
        self.later[value.name] = [self.shaken(draw()) for _ in range(2)]
        return value

    def give_state(self, array):
        """A new input: this array in the first run, then the value that `keep_state` names."""
        return self.give(array)

    def keep_state(self, state, after):
        self.states[state.name] = after

    @property
    def runs(self):
        return 3 if self.later else 1

    def feeds_after(self, run, results):
        """The inputs of the run after this one (from 0), which gave these results."""
        by_name = dict(zip([value.name for value in self.results], results))
        feeds = dict(self.feeds) | {name: arrays[run] for name, arrays in self.later.items()}
        return feeds | {name: by_name[value.name] for name, value in self.states.items()}

    def reals(self, *shape, scale=1.0, mean=0.0):
        return (self.numbers.standard_normal(shape) * scale + mean).astype("float32")

    def uniform(self, low, high, *shape):
        return self.numbers.uniform(low, high, shape).astype("float32")

    def constant_of(self, array, dtype=None, exact=False):
        """An initializer, or the output of a Constant in networks that have all their constants so."""
        array = np.asarray(array, dtype)
        if not exact:
            array = self.shaken(array)

        def emit():
            if self.constant_nodes:
                return self.constant(array, scope="/constants")
            self.count += 1
            return self.weight(f"constant_{self.count}", array)

        return Value(None, array.shape, str(array.dtype), array, emit)

    def shaken(self, array):
        if self.jitter == 0 or array.dtype != np.float32:
            return array
        return np.asarray(array * (1 + self.jitter * self.shaking.standard_normal(array.shape)), "float32")

    def parameter(self, array):
        return self.constant_of(array, "float32")

    def name_of(self, value):
        if value is None:
            return ""
        if value.name is None:
            value.name = value.emit()
        return value.name

    def integers(self, *values):
        return self.constant_of(list(values), "int64")

    def finish(self, *values):
        """Makes these values outputs, and some in the middle of the network as well."""
        names = {value.name for value in values}
        middle = [value for value in self.taken if value.name not in names]
        self.draw.shuffle(middle)
        chosen = middle[: self.pick(0, 0, 1, 1, 2, 3)]
        for value in [*values, *self.states.values(), *chosen]:
            if value.name not in [one.name for one in self.results]:
                self.results.append(value)
                self.output(value.name, DTYPES[np.dtype(value.dtype)], value.shape)

    # Nodes.

    def op(self, op_type, *inputs, shape=None, dtype=None, **attributes):
        """A node with one output, of the first input's shape and type unless these are given."""
        names = [self.name_of(one) for one in inputs]
        while names and not names[-1]:
            names.pop()
        shape = inputs[0].shape if shape is None else shape
        value = Value(self.node(op_type, *names, **attributes), shape, dtype or inputs[0].dtype)
        if value.dtype in ("float32", "uint8", "int8"):
            self.taken.append(value)
        return value

    def ops(self, op_type, inputs, shapes, **attributes):
        """A node with several outputs; a shape that is None leaves its output out."""
        self.count += 1
        names = [f"{op_type}_{self.count}_{i}" if shape is not None else "" for i, shape in enumerate(shapes)]
        self.node(op_type, *map(self.name_of, inputs), outputs=names, **attributes)
        values = [None if shape is None else Value(name, shape, inputs[0].dtype) for name, shape in zip(names, shapes)]
        self.taken += [value for value in values if value is not None and value.dtype == "float32"]
        return values

    def binary(self, op_type, a, b):
        """Arithmetic of two operands; numbers become constants, which may stand on either side where order is free."""
        if isinstance(a, (int, float)):
            a = self.parameter(self.pick(a, [a]))
        if isinstance(b, (int, float)):
            b = self.parameter(self.pick(b, [b]))
        if op_type in ("Add", "Mul") and self.chance(0.3):
            a, b = b, a
        return self.op(op_type, a, b, shape=np.broadcast_shapes(a.shape, b.shape))

    def add(self, a, b):
        """Of two activations, which quantizers quantize; `binary` is for everything else."""
        return self.binary("Add", self.entering(a), self.entering(b))

    def sub(self, a, b):
        return self.binary("Sub", a, b)

    def mul(self, a, b):
        return self.binary("Mul", a, b)

    def div(self, a, b):
        return self.binary("Div", a, b)

    def cast(self, x, dtype):
        return self.op("Cast", x, dtype=dtype, to=DTYPES[np.dtype(dtype)])

    # Movement.

    def reshape(self, x, *shape):
        """With the extents as constants, with a 0 or -1 among them, or computed from the shape of the input."""
        extents = list(shape)
        form = self.pick("plain", "plain", "plain", "rest", "batch", "computed")
        if form == "rest" and 0 not in shape:
            extents[self.between(0, len(shape) - 1)] = -1
        if form in ("batch", "computed") and shape[0] == x.shape[0]:
            extents[0] = 0
        if form == "computed" and extents[0] == 0:
            whole = self.op("Shape", x, shape=(x.rank,), dtype="int64")
            first = self.op("Gather", whole, self.constant_of(0, "int64"), shape=(), axis=0)
            parts = [self.unsqueeze(first, 0), self.integers(*extents[1:])]
            target = self.op("Concat", *parts, shape=(len(extents),), axis=0)
        else:
            target = self.integers(*extents)
        return self.op("Reshape", x, target, shape=shape)

    def transpose(self, x, *order):
        return self.op("Transpose", x, shape=[x.shape[axis] for axis in order], perm=list(order))

    def with_axes(self, op_type, x, axes, shape, first, **attributes):
        """The axes are an attribute before opset `first`, an input from then on."""
        if self.opset < first:
            return self.op(op_type, x, shape=shape, axes=list(axes), **attributes)
        return self.op(op_type, x, self.integers(*axes), shape=shape, **attributes)

    def unsqueeze(self, x, *axes):
        shape = list(x.shape)
        for axis in sorted(axes):
            shape.insert(axis, 1)
        return self.with_axes("Unsqueeze", x, axes, shape, 13)

    def squeeze(self, x, *axes):
        return self.with_axes("Squeeze", x, axes, [d for i, d in enumerate(x.shape) if i not in axes], 13)

    def reduce(self, op_type, x, *axes, keepdims=1):
        axes = [axis % x.rank for axis in axes]
        shape = [1 if i in axes else d for i, d in enumerate(x.shape) if keepdims or i not in axes]
        if self.chance(0.3):
            axes = [axis - x.rank for axis in axes]
        return self.with_axes(op_type, x, axes, shape, 13 if op_type == "ReduceSum" else 18, keepdims=keepdims)

    def concat(self, axis, *values):
        shape = list(values[0].shape)
        shape[axis] = sum(value.shape[axis] for value in values)
        axis -= len(shape) if self.chance(0.2) else 0
        return self.op("Concat", *map(self.entering, values), shape=shape, axis=axis)

    def split(self, x, axis, *sizes):
        shapes = [[size if i == axis else d for i, d in enumerate(x.shape)] for size in sizes]
        if self.opset < 13:
            return self.ops("Split", [x], shapes, axis=axis, split=list(sizes))
        return self.ops("Split", [x, self.integers(*sizes)], shapes, axis=axis)

    def slice(self, x, axis, begin, end, step=1):
        """Of one axis, with 0 <= begin < end <= extent."""
        shape = list(x.shape)
        shape[axis] = -(-(end - begin) // step)
        limit = self.pick(end, (1 << 63) - 1) if end == x.shape[axis] else end
        steps = [self.integers(step)] if step != 1 or self.chance(0.5) else []
        inputs = [self.integers(begin), self.integers(limit), self.integers(axis), *steps]
        return self.op("Slice", x, *inputs, shape=shape)

    def pad(self, x, pads, mode="constant", value=None):
        """`pads`: what goes before each axis, then what goes after."""
        shape = [d + pads[i] + pads[i + x.rank] for i, d in enumerate(x.shape)]
        fill = [self.parameter(value)] if value is not None else []
        return self.op("Pad", x, self.integers(*pads), *fill, shape=shape, mode=mode)

    # Arithmetic with weights. What a quantized network does in another way has a function of its own.

    def he(self, fan_in, *shape):
        return self.reals(*shape, scale=math.sqrt(1.6 / fan_in))

    def entering(self, x):
        """What an operator reads that quantizers quantize."""
        return x

    def weighted(self, op_type, x, weights, bias, axis, shape, **attributes):
        """Conv, ConvTranspose, Gemm and MatMul with constant weights, whose output channels are at the axis."""
        factors = [self.factor(x), self.factor(weights)]
        return self.op(op_type, *factors, *([] if op_type == "MatMul" else [bias]), shape=shape, **attributes)

    def factor(self, x):
        return self.cast(self.cast(x, "float16"), "float32") if self.halves else x

    def linear(self, x, size, bias=True):
        """Over the last axis: Gemm of two dimensions, MatMul and Add otherwise; the weights as they are or turned."""
        fan_in = x.shape[-1]
        weights = self.he(fan_in, fan_in, size)
        offset = self.parameter(self.reals(size, scale=0.1)) if bias else None
        if x.rank == 2 and self.chance(0.7):
            turned = self.chance(0.5)
            matrix = self.parameter(weights.T if turned else weights)
            shape = (x.shape[0], size)
            attributes = {"transB": 1} if turned else {}
            return self.weighted("Gemm", x, matrix, offset, 0 if turned else 1, shape, **attributes)
        if self.chance(0.15):  # folded by some exporters only
            turned = self.transpose(self.parameter(weights.T), 1, 0)
            y = self.op("MatMul", x, turned, shape=[*x.shape[:-1], size])
        else:
            y = self.weighted("MatMul", x, self.parameter(weights), None, 1, [*x.shape[:-1], size])
        return y if offset is None else self.binary("Add", y, offset)

    def matmul(self, a, b):
        shape = [*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]]
        return self.op("MatMul", self.factor(self.entering(a)), self.factor(self.entering(b)), shape=shape)

    def window(self, x, kernel, stride, dilation, ceil_mode=False, valid=False, pools=False):
        """The attributes of a window over the spatial axes with padding that keeps extents at stride 1, in one of the
        forms that exporters write, and the extents that come out."""
        rank = len(x.extents)
        kernel, stride, dilation = ([v] * rank if isinstance(v, int) else list(v) for v in (kernel, stride, dilation))
        reach = [d * (k - 1) for k, d in zip(kernel, dilation)]
        before = [0 if valid else r // 2 for r in reach]
        after = [0 if valid else r - b for r, b in zip(reach, before)]
        form = self.pick("written", "written", "written", "written", "uneven", "auto")
        attributes = {"kernel_shape": kernel}
        if form == "uneven" and not valid:
            before = [self.between(0, r) for r in reach]
            after = [r - b for r, b in zip(reach, before)]
        if form == "auto" and not valid and not ceil_mode and max(dilation) == 1:
            lower = self.chance(0.3)
            out = [-(-e // s) for e, s in zip(x.extents, stride)]
            attributes |= {"auto_pad": "SAME_LOWER" if lower else "SAME_UPPER"}
        else:
            out = [pooled_extent(e, k, s, b, a, d, ceil_mode)
                   for e, k, s, b, a, d in zip(x.extents, kernel, stride, before, after, dilation)]
            if any(before + after) or self.chance(0.5):
                attributes |= {"pads": before + after}
        if max(stride) > 1 or self.chance(0.5):
            attributes |= {"strides": stride}
        if max(dilation) > 1 or (not pools and self.chance(0.3)):
            attributes |= {"dilations": dilation}
        return attributes, out

    def conv(self, x, channels, kernel=3, stride=1, group=1, dilation=1, bias=None, weights=None, valid=False):
        """`weights`: a pair of values shared with another convolution; (None, None) is filled in."""
        attributes, out = self.window(x, kernel, stride, dilation, valid=valid)
        fan_in = x.channels // group * math.prod(attributes["kernel_shape"])
        pair = [None, None] if weights is None else weights
        if pair[0] is None:
            pair[0] = self.parameter(self.he(fan_in, channels, x.channels // group, *attributes["kernel_shape"]))
            if self.chance(0.7) if bias is None else bias:
                pair[1] = self.parameter(self.reals(channels, scale=0.1))
        if group > 1 or self.chance(0.3):
            attributes |= {"group": group}
        return self.weighted("Conv", x, *pair, 0, [x.batch, channels, *out], **attributes)

    def whole_conv_transpose(self, x, channels, kernels, strides):
        """Without padding; kernels and strides are those of the spatial axes."""
        out = [(e - 1) * s + k for e, k, s in zip(x.extents, kernels, strides)]
        per_output = max(1.0, x.channels * math.prod(kernels) / math.prod(strides))
        weights = self.parameter(self.he(per_output, x.channels, channels, *kernels))
        bias = self.parameter(self.reals(channels, scale=0.1)) if self.chance(0.6) else None
        attributes = {"kernel_shape": kernels, "strides": strides}
        return self.weighted("ConvTranspose", x, weights, bias, 1, [x.batch, channels, *out], **attributes)

    def conv_transpose(self, x, channels, kernel, stride, group=1):
        rank = len(x.extents)
        pad = self.between(0, (kernel - 1) // 2)
        extra = self.between(0, stride - 1) if self.chance(0.3) else 0
        out = [(e - 1) * stride + kernel - 2 * pad + extra for e in x.extents]
        per_output = max(1.0, x.channels / group * (kernel / stride) ** rank)
        weights = self.parameter(self.he(per_output, x.channels, channels // group, *[kernel] * rank))
        bias = self.parameter(self.reals(channels, scale=0.1)) if self.chance(0.6) else None
        attributes = {"kernel_shape": [kernel] * rank, "strides": [stride] * rank}
        attributes |= {"pads": [pad] * 2 * rank} if pad or self.chance(0.5) else {}
        attributes |= {"output_padding": [extra] * rank} if extra else {}
        attributes |= {"group": group} if group > 1 or self.chance(0.3) else {}
        return self.weighted("ConvTranspose", x, weights, bias, 1, [x.batch, channels, *out], **attributes)

    def pool(self, x, kind, kernel, stride, ceil_mode=False, valid=False):
        attributes, out = self.window(x, kernel, stride, 1, ceil_mode, valid, pools=True)
        if ceil_mode:
            attributes |= {"ceil_mode": 1}
        if kind == "AveragePool" and self.chance(0.4):
            attributes |= {"count_include_pad": self.between(0, 1)}
        return self.op(kind, self.entering(x), shape=[x.batch, x.channels, *out], **attributes)

    def global_average(self, x):
        """[N, C, 1, ...]."""
        x = self.entering(x)
        if self.chance(0.6):
            return self.op("GlobalAveragePool", x, shape=[x.batch, x.channels, *[1] * len(x.extents)])
        return self.reduce("ReduceMean", x, *range(2, x.rank))

    def batch_norm(self, x):
        size = x.channels
        parameters = [self.uniform(0.7, 1.3, size), self.reals(size, scale=0.2), self.reals(size, scale=0.2),
                      self.uniform(0.6, 1.5, size)]  # fmt: skip
        return self.op("BatchNormalization", x, *map(self.parameter, parameters), epsilon=self.pick(1e-5, 1e-3))

    def softmax(self, x, axis=-1, op_type="Softmax"):
        """Before opset 13 everything from the axis on is one row: only the last axis means the same."""
        if self.opset < 13 and axis % x.rank != x.rank - 1:
            order = [i for i in range(x.rank) if i != axis % x.rank] + [axis % x.rank]
            back = [order.index(i) for i in range(x.rank)]
            return self.transpose(self.op(op_type, self.transpose(x, *order), axis=-1), *back)
        return self.op(op_type, x, axis=axis)

    def resize(self, x, extents, scales=None):
        """To these spatial extents. With `scales` where the ratio is whole, by the sizes otherwise; these are constants
        or computed from the shape of the input."""
        mode = self.pick("nearest", "nearest", "linear", "linear", "cubic") if x.rank == 4 else "nearest"
        if x.rank == 3:
            mode = self.pick("nearest", "linear")
        where = self.pick("asymmetric", "half_pixel", "align_corners", "pytorch_half_pixel")
        attributes = {"mode": mode}
        if mode == "nearest":
            # Elsewhere positions fall halfway between two elements, where the last bit of a division decides.
            where = self.pick("asymmetric", "half_pixel") if scales else "asymmetric"
            attributes["nearest_mode"] = "floor" if where == "asymmetric" else self.pick("round_prefer_floor",
                                                                                          "round_prefer_ceil")
        if mode == "cubic" and self.chance(0.5):
            attributes["cubic_coeff_a"] = self.pick(-0.5, -0.75)
        attributes["coordinate_transformation_mode"] = where
        shape = [x.batch, x.channels, *extents]
        none = self.constant_of(np.zeros(0, "float32")) if self.opset < 13 or self.chance(0.3) else None
        if scales and self.chance(0.7):
            inputs = [none, self.constant_of([1, 1, *scales], "float32", exact=True)]
        else:
            sizes = self.integers(*shape)
            if self.chance(0.3):
                whole = self.op("Shape", x, shape=(x.rank,), dtype="int64")
                kept = self.op("Slice", whole, self.integers(0), self.integers(2), self.integers(0), shape=(2,))
                sizes = self.op("Concat", kept, self.integers(*extents), shape=(x.rank,), axis=0)
            inputs = [none, none, sizes]
        return self.op("Resize", x, *inputs, shape=shape, **attributes)
