"""Operators of networks converted from TFLite: maps are [N, H, W, C], with transposes around convolutions, pools and
Resize. Some converters remove pairs of transposes that cancel each other, some keep all. Padding is TensorFlow's,
uneven or by Pad; biases, scales and normalizations are over the last axis; concatenations are along any axis."""

import collections
import math

from architecture_images import ACTIVATIONS, EPSILONS, hand_written_norm

# A map in one of the two layouts.
Map = collections.namedtuple("Map", "value last")


def same_padding(extent, kernel, stride, dilation):
    """What TensorFlow's SAME adds before and after an extent."""
    out = -(-extent // stride)
    total = max((out - 1) * stride + (kernel - 1) * dilation + 1 - extent, 0)
    return total // 2, total - total // 2


class Layouts:
    """The operators of a network as one converter writes it."""

    def __init__(self, net):
        self.net = net
        self.eager = net.chance(0.4)  # all transposes are kept
        self.by_pad = net.chance(0.3)  # padding by Pad wherever there is any

    # Layouts.

    def last(self, x):
        """[N, H, W, C]."""
        return self.net.transpose(x.value, 0, 2, 3, 1) if not x.last else x.value

    def first(self, x):
        """[N, C, H, W]."""
        return self.net.transpose(x.value, 0, 3, 1, 2) if x.last else x.value

    def shape(self, x):
        """As [N, H, W, C]."""
        n, *rest = x.value.shape
        return [n, *rest] if x.last else [n, *rest[1:], rest[0]]

    def channels(self, x):
        return self.shape(x)[3]

    def extents(self, x):
        return self.shape(x)[1:3]

    def done(self, value):
        """The map of a value [N, C, H, W]."""
        x = Map(value, False)
        return Map(self.last(x), True) if self.eager else x

    def either(self, x):
        """In the layout that it has, or now and then in the other."""
        return Map(self.last(x), True) if not x.last and self.net.chance(0.25) else x

    def axis(self, x, axis):
        """Of [N, H, W, C], in the layout of the map."""
        return axis if x.last else (0, 2, 3, 1)[axis]

    def along_channels(self, x, array):
        """A constant with one element per channel, in the form that fits the layout."""
        if not x.last:
            array = array.reshape(self.net.pick([-1, 1, 1], [1, -1, 1, 1]))
        elif self.net.chance(0.3):
            array = array.reshape([1, 1, 1, -1])
        return self.net.parameter(array)

    # Inputs.

    def input(self, low=8, high=18):
        net = self.net
        shape = [net.pick(1, 1, 1, 2), net.between(low, high), net.between(low, high), net.pick(1, 3, 3, 4)]
        if net.chance(0.2):
            x = net.cast(net.give(net.numbers.integers(0, 256, shape).astype("uint8")), "float32")
            return Map(net.mul(net.sub(x, 127.5), 1 / 64), True)
        x = net.give(net.reals(*shape))
        x = net.sub(net.mul(x, 2.0), 0.3) if net.chance(0.2) else x
        return Map(x, True)

    # Operators.

    def bias(self, x):
        size = self.channels(x)
        return Map(self.net.binary("Add", x.value, self.along_channels(x, self.net.reals(size, scale=0.1))), x.last)

    def window(self, x, kernel, stride, dilation=1, valid=False, value=None):
        """The input [N, C, H, W], the attributes of the window, and the extents that come out."""
        net = self.net
        extents = self.extents(x)
        kernel, stride = ([k] * 2 if isinstance(k, int) else list(k) for k in (kernel, stride))
        attributes = {"kernel_shape": kernel, "strides": stride}
        if dilation > 1 or net.chance(0.5):
            attributes["dilations"] = [dilation] * 2
        pads = [same_padding(e, k, s, dilation) for e, k, s in zip(extents, kernel, stride)]
        same = [[pad[i] for pad in pads] for i in range(2)]
        before, after = same
        if valid:
            before = after = [0, 0]
        elif max(stride) > 1 and min(kernel) > 1 and net.chance(0.2):  # Keras' ZeroPadding2D
            before, after = net.pick(([0, 0], [1, 1]), ([1, 1], [1, 1]))
        out = [(e + b + a - dilation * (k - 1) - 1) // s + 1
               for e, k, s, b, a in zip(extents, kernel, stride, before, after)]  # fmt: skip
        if min(out) < 1:
            return self.window(x, 1, 1, 1)
        if value is not None or (any(before + after) and (self.by_pad or net.chance(0.15))):
            x = self.padded(x, before, after, value)
        elif [before, after] == same and not valid and dilation == 1 and net.chance(0.4):
            attributes["auto_pad"] = "SAME_UPPER"
        elif valid and net.chance(0.3):
            attributes["auto_pad"] = "VALID"
        elif any(before + after) or net.chance(0.6):
            attributes["pads"] = before + after
        return self.first(x), attributes, out

    def padded(self, x, before, after, value=None, mode="constant"):
        x = self.either(x)
        pads = [0, *before, 0, 0, *after, 0] if x.last else [0, 0, *before, 0, 0, *after]
        return Map(self.net.pad(x.value, pads, mode, value), x.last)

    def conv(self, x, channels, kernel=3, stride=1, dilation=1, valid=False):
        net = self.net
        if dilation > 1 and net.chance(0.5) and min(self.extents(x)) > 2:
            return self.by_blocks(x, dilation, lambda y: self.conv(y, channels, kernel, valid=valid))
        y, attributes, out = self.window(x, kernel, stride, dilation, valid)
        kernel = attributes["kernel_shape"]
        weights = net.he(y.channels * math.prod(kernel), channels, y.channels, *kernel)
        shape = [y.batch, channels, *out]
        if net.chance(0.1):  # [H, W, I, O] as TensorFlow has it
            turned = net.transpose(net.parameter(weights.transpose(2, 3, 1, 0)), 3, 2, 0, 1)
            factors = net.factor(net.entering(y)), net.factor(turned)
            return self.bias(self.done(net.op("Conv", *factors, shape=shape, **attributes)))
        if net.chance(0.25):
            return self.bias(self.done(net.weighted("Conv", y, net.parameter(weights), None, 0, shape, **attributes)))
        bias = net.parameter(net.reals(channels, scale=0.1)) if net.chance(0.9) else None
        return self.done(net.weighted("Conv", y, net.parameter(weights), bias, 0, shape, **attributes))

    def depthwise(self, x, kernel=3, stride=1, dilation=1, factor=1, valid=False):
        net = self.net
        if dilation > 1 and net.chance(0.5) and min(self.extents(x)) > 2:
            return self.by_blocks(x, dilation, lambda y: self.depthwise(y, kernel, factor=factor, valid=valid))
        y, attributes, out = self.window(x, kernel, stride, dilation, valid)
        kernel, size = attributes["kernel_shape"], y.channels * factor
        weights = net.he(math.prod(kernel), size, 1, *kernel)
        bias = net.parameter(net.reals(size, scale=0.1)) if net.chance(0.8) else None
        return self.done(net.weighted("Conv", y, net.parameter(weights), bias, 0, [y.batch, size, *out],
                                      group=y.channels, **attributes))  # fmt: skip

    def by_blocks(self, x, block, inner):
        """SpaceToBatchND, an operator without dilations, BatchToSpaceND: TensorFlow's dilated convolutions."""
        net = self.net
        n, height, width, size = self.shape(x)
        more = [-e % block for e in (height, width)]
        y = self.last(self.padded(x, [0, 0], more) if any(more) else x)
        rows, columns = (height + more[0]) // block, (width + more[1]) // block
        y = net.reshape(y, n, rows, block, columns, block, size)
        y = net.transpose(y, 2, 4, 0, 1, 3, 5)
        y = inner(Map(net.reshape(y, block * block * n, rows, columns, size), True))
        _, rows, columns, size = self.shape(y)
        y = net.reshape(self.last(y), block, block, n, rows, columns, size)
        y = net.reshape(net.transpose(y, 2, 3, 0, 4, 1, 5), n, rows * block, columns * block, size)
        for axis, extent in ((1, height), (2, width)):
            y = net.slice(y, axis, 0, extent) if y.shape[axis] > extent else y
        return Map(y, True)

    def transposed(self, x, channels, kernel, stride):
        """SAME: cropped to the extents times the stride, by pads or by Slice."""
        net = self.net
        y = self.first(x)
        over = max(kernel - stride, 0)
        kernel = max(kernel, stride)
        weights = net.parameter(net.he(y.channels * (kernel / stride) ** 2, y.channels, channels, kernel, kernel))
        bias = net.parameter(net.reals(channels, scale=0.1)) if net.chance(0.6) else None
        attributes = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2}
        want = [e * stride for e in y.extents]
        if net.chance(0.6):
            attributes["pads"] = [over // 2] * 2 + [over - over // 2] * 2
            return self.done(net.weighted("ConvTranspose", y, weights, bias, 1, [y.batch, channels, *want],
                                          **attributes))  # fmt: skip
        z = net.weighted("ConvTranspose", y, weights, bias, 1, [y.batch, channels, *[e + over for e in want]],
                         **attributes)  # fmt: skip
        for axis, extent in enumerate(want, 2):
            z = net.slice(z, axis, over // 2, over // 2 + extent) if over else z
        return self.done(z)

    def pool(self, x, kind, kernel, stride, valid=False):
        y, attributes, out = self.window(x, kernel, stride, 1, valid, -9.0 if kind == "Max" and self.by_pad else None)
        attributes.pop("dilations", None)
        if kind == "Average" and self.net.chance(0.4):
            attributes["count_include_pad"] = 0
        return self.done(self.net.op(f"{kind}Pool", self.net.entering(y), shape=[y.batch, y.channels, *out],
                                     **attributes))  # fmt: skip

    def resize(self, x, extents):
        net = self.net
        before = self.extents(x)
        whole = [e // b for e, b in zip(extents, before)] if all(e % b == 0 for e, b in zip(extents, before)) else None
        attributes = {"mode": net.pick("linear", "linear", "linear", "nearest")}
        if attributes["mode"] == "linear":
            where = net.pick("half_pixel", "half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")
        else:
            where = net.pick("asymmetric", "half_pixel") if whole and max(whole) <= 2 else "asymmetric"
            attributes["nearest_mode"] = "floor" if where == "asymmetric" else net.pick("round_prefer_floor", "floor")
        attributes["coordinate_transformation_mode"] = where
        none = net.constant_of(net.reals(0)) if net.opset < 13 else None
        direct = whole is not None and net.chance(0.25)  # over the middle axes of [N, H, W, C]
        y = self.last(x) if direct else self.first(x)
        shape = [y.shape[0], *extents, y.shape[3]] if direct else [*y.shape[:2], *extents]
        if whole and (direct or net.chance(0.5)):
            scales = [1, *whole, 1] if direct else [1, 1, *whole]
            inputs = [none, net.constant_of(scales, "float32", exact=True)]
        else:
            inputs = [none, none, net.integers(*shape)]
        y = net.op("Resize", y, *inputs, shape=shape, **attributes)
        return Map(y, True) if direct else self.done(y)

    def act(self, x):
        net = self.net
        form = net.pick("relu6", "relu6", "relu6", "relu", "relu", "leaky", "leaky", "prelu", "swish", "other")
        y = x.value
        if form == "relu6":
            form = net.pick("clip", "clip", "clip", "relu and min", "minmax")
            if form == "clip":
                y = net.op("Clip", y, net.parameter(0.0), net.parameter(6.0))
            elif form == "relu and min":
                y = net.op("Min", net.op("Relu", y), net.parameter(6.0))
            else:
                y = net.op("Max", net.op("Min", y, net.parameter(6.0)), net.parameter(0.0))
        elif form == "relu":
            y = net.op("Relu", y)
        elif form == "leaky":
            y = net.op("LeakyRelu", y, alpha=net.pick(0.1, 0.2, 0.3))
        elif form == "prelu":
            slope = net.uniform(0.0, 0.5, self.channels(x)).reshape([1, 1, -1] if x.last else [-1, 1, 1])
            y = net.op("PRelu", y, net.parameter(slope))
        elif form == "swish":
            sixth = net.op("Clip", net.binary("Add", y, 3.0), net.parameter(0.0), net.parameter(6.0))
            y = net.mul(net.mul(y, sixth) if net.chance(0.5) else net.mul(sixth, y), 1 / 6)
        else:
            y = net.pick(*ACTIVATIONS)(net, y)
        return Map(y, x.last)

    def norm(self, x):
        """A folded BatchNormalization (Mul and Add), sometimes after a written-out one over the map or the channels."""
        net, size = self.net, self.channels(x)
        if math.prod(self.extents(x)) >= 16 and net.chance(0.15):
            axes = [self.axis(x, 1), self.axis(x, 2)]
            x = Map(hand_written_norm(net, x.value, *axes), x.last)
        elif size >= 8 and net.chance(0.1):
            value = self.last(x)
            square = net.reduce("ReduceMean", net.mul(value, value), -1)
            x = Map(net.div(value, net.op("Sqrt", net.binary("Add", square, net.pick(*EPSILONS)))), True)
        if not x.last and net.chance(0.3):
            return Map(net.batch_norm(x.value), False)
        y = net.mul(x.value, self.along_channels(x, net.uniform(0.7, 1.3, size)))
        return Map(net.binary("Add", y, self.along_channels(x, net.reals(size, scale=0.2))), x.last)

    def conv_act(self, x, channels=None, kernel=3, **options):
        y = self.conv(x, channels or self.net.blocked_channels(2, 33), kernel, **options)
        y = self.norm(y) if self.net.chance(0.2) else y
        return self.act(y) if self.net.chance(0.85) else y

    def alike(self, a, b):
        """Two maps as values of one layout, and what that is."""
        last = a.last if a.last == b.last else self.net.chance(0.5)
        return (self.last(a), self.last(b), True) if last else (self.first(a), self.first(b), False)

    def add(self, a, b):
        a, b, last = self.alike(a, b)
        return Map(self.net.add(a, b), last)

    def concat(self, axis, *maps):
        """Along an axis of [N, H, W, C]."""
        last = maps[0].last if len({x.last for x in maps}) == 1 else self.net.chance(0.5)
        values = [self.last(x) if last else self.first(x) for x in maps]
        return Map(self.net.concat(self.axis(Map(None, last), axis), *values), last)

    def slices(self, x, axis, *sizes):
        """Parts along an axis of [N, H, W, C], by Split or Slice."""
        net, x = self.net, self.either(x)
        at = self.axis(x, axis)
        if net.chance(0.5):
            return [Map(y, x.last) for y in net.split(x.value, at, *sizes)]
        ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
        return [Map(net.slice(x.value, at, end - size, end), x.last) for size, end in zip(sizes, ends)]
