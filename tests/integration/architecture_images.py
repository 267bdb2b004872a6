"""Blocks of the grammar that take and give a feature map [N, C, spatial...] of the same spatial extents, and heads over
such maps. A block may change the number of channels."""

import math

import numpy as np

# Functions of one value, all continuous, so that the last bit of an argument stays a last bit.


def swish(net, x):
    return net.mul(x, net.op("Sigmoid", x))


def hard_swish(net, x):
    if net.opset >= 14 and net.chance(0.3):
        return net.op("HardSwish", x)
    if net.chance(0.3):
        return net.mul(x, net.op("HardSigmoid", x, alpha=1 / 6, beta=0.5))
    return net.div(net.mul(x, clip(net, net.binary("Add", x, 3.0), 0.0, 6.0)), 6.0)


def clip(net, x, low, high):
    return net.op("Clip", x, net.parameter(low), net.parameter(high))


def exponent(net, value):
    return net.constant_of(value, "float32", exact=True)


def gelu(net, x):
    if net.chance(0.4):
        inner = net.binary("Add", x, net.mul(net.op("Pow", x, exponent(net, 3.0)), 0.044715))
        half = net.mul(net.binary("Add", net.op("Tanh", net.mul(inner, math.sqrt(2 / math.pi))), 1.0), 0.5)
        return net.mul(x, half)
    erf = net.op("Erf", net.div(x, math.sqrt(2)))
    return net.mul(net.mul(x, net.binary("Add", erf, 1.0)), 0.5)


def mish(net, x):
    if net.opset >= 18 and net.chance(0.3):
        return net.op("Mish", x)
    return net.mul(x, net.op("Tanh", net.op("Softplus", x)))


def prelu(net, x):
    shape = [x.channels, *[1] * len(x.extents)] if x.rank > 2 else [x.shape[-1]]
    return net.op("PRelu", x, net.parameter(net.uniform(0.0, 0.5, *net.pick(shape, [1]))))


ACTIVATIONS = (
    *[lambda net, x: net.op("Relu", x)] * 8, *[swish] * 3, *[hard_swish] * 2, *[gelu] * 2, mish, prelu,
    *[lambda net, x: net.op("LeakyRelu", x, alpha=net.pick(0.01, 0.1, 0.25))] * 2,
    *[lambda net, x: clip(net, x, 0.0, 6.0)] * 2,
    lambda net, x: net.op("Elu", x, alpha=net.pick(1.0, 0.5)), lambda net, x: net.op("Selu", x),
    lambda net, x: net.op("Sigmoid", x), lambda net, x: net.op("Tanh", x), lambda net, x: net.op("Softplus", x),
    lambda net, x: net.op("Softsign", x), lambda net, x: net.op("Abs", x),
    lambda net, x: net.op("Celu" if net.opset >= 12 else "Elu", x, alpha=1.0), lambda net, x: net.op("HardSigmoid", x),
    lambda net, x: net.op("Sqrt", net.binary("Add", net.mul(x, x), 1.0)),
    lambda net, x: net.div(x, net.binary("Add", net.op("Abs", x), 1.0)),
    lambda net, x: net.op("Max", x, net.mul(x, 0.2)), lambda net, x: net.op("Exp", net.op("Neg", net.op("Abs", x))),
)  # fmt: skip


def act(net, x):
    return net.pick(*ACTIVATIONS)(net, x)


# Normalizations. Their epsilons are larger than usual: 1e-5 lets the last bits of nearly equal elements grow by 300.
EPSILONS = (5e-3, 2e-2, 5e-2)


def hand_written_norm(net, x, *axes):
    """Layer normalization as exporters write it out, without scale and bias."""
    centred = net.sub(x, net.reduce("ReduceMean", x, *axes))
    square = net.mul(centred, centred) if net.chance(0.4) else net.op("Pow", centred, exponent(net, 2.0))
    variance = net.binary("Add", net.reduce("ReduceMean", square, *axes), net.pick(*EPSILONS))
    if net.chance(0.2):
        return net.mul(centred, net.op("Reciprocal", net.op("Sqrt", variance)))
    return net.div(centred, net.op("Sqrt", variance))


def per_channel(net, x, mean, scale):
    return net.parameter(net.reals(*net.pick([1], []), x.channels, *[1] * len(x.extents), mean=mean, scale=scale))


def affine(net, x):
    return net.binary("Add", net.mul(x, per_channel(net, x, 1.0, 0.2)), per_channel(net, x, 0.0, 0.2))


def instance_norm(net, x):
    scale, bias = net.uniform(0.7, 1.3, x.channels), net.reals(x.channels, scale=0.2)
    return net.op("InstanceNormalization", x, net.parameter(scale), net.parameter(bias), epsilon=net.pick(*EPSILONS))


def group_norm(net, x):
    """As PyTorch's exporter writes it."""
    groups = net.pick(*[g for g in (1, 2, 3, 4, 5) if x.channels % g == 0])
    rows = net.reshape(x, x.batch, groups, x.channels // groups * math.prod(x.extents))
    ones, zeros = net.parameter(np.ones(groups)), net.parameter(np.zeros(groups))
    y = net.op("InstanceNormalization", rows, ones, zeros, epsilon=net.pick(*EPSILONS))
    return affine(net, net.reshape(y, *x.shape))


def norm(net, x):
    """Normalizations over few elements are left out: they blow up the last bits of nearly equal elements."""
    kinds = [lambda: net.batch_norm(x)] * 6 + [lambda: affine(net, x)]
    if math.prod(x.extents) >= 16:
        kinds += [lambda: instance_norm(net, x), lambda: group_norm(net, x)]
        kinds += [lambda: affine(net, hand_written_norm(net, x, *range(1, x.rank)))]
    if x.channels >= 8:
        kinds += [lambda: affine(net, hand_written_norm(net, x, 1))]
        if x.rank == 4:
            kinds += [lambda: net.op("LRN", x, size=net.pick(3, 5), alpha=1e-2, beta=0.75, bias=1.0)]
    return net.pick(*kinds)()


# Blocks.


def conv_norm_act(net, x, channels=None, kernel=None, **options):
    channels = channels or net.some_channels()
    y = net.conv(x, channels, kernel or net.pick(1, 3, 3, 5), **options)
    y = norm(net, y) if net.chance(0.5) else y
    return act(net, y) if net.chance(0.85) else y


def plain(net, x):
    return conv_norm_act(net, x, kernel=net.pick(1, 3, 3, 3, 5, 7), dilation=net.pick(1, 1, 1, 2))


def uneven_kernels(net, x):
    """1xk and kx1 convolutions one after the other."""
    rank, k = len(x.extents), net.pick(3, 5, 7)
    for axis in range(rank):
        x = net.conv(x, net.some_channels(), [k if i == axis else 1 for i in range(rank)])
    return act(net, x)


def grouped(net, x):
    group = net.pick(2, 3, 4)
    x = net.conv(x, group * net.between(1, 6), 1)
    return act(net, net.conv(x, group * net.between(1, 6), 3, group=group))


def depthwise_separable(net, x):
    y = net.conv(x, x.channels * net.pick(1, 1, 2), net.pick(3, 5), group=x.channels)
    y = act(net, net.batch_norm(y))
    return act(net, net.conv(y, net.some_channels(), 1))


def residual(net, x):
    """Two convolutions or a bottleneck; the input is projected where channels change."""
    same = net.chance(0.6)
    channels = x.channels if same else net.some_channels()
    y = x
    for kernel in net.pick((3, 3), (1, 3, 1), (3,), (5, 1)):
        y = conv_norm_act(net, y, None, kernel)
    y = net.conv(y, channels, 1)
    y = norm(net, y) if net.chance(0.6) else y
    y = net.add(y, x if same else net.conv(x, channels, 1))
    return act(net, y) if net.chance(0.6) else y


def pre_activation(net, x):
    y = net.conv(act(net, net.batch_norm(x)), net.some_channels(), 3)
    return net.add(x, net.conv(act(net, net.batch_norm(y)), x.channels, 3))


def squeeze_excite(net, x):
    """A gate per channel, by convolutions over one element or by products of matrices."""
    y = net.global_average(x)
    narrow = max(1, x.channels // net.pick(2, 4))
    if net.chance(0.6):
        y = net.conv(act(net, net.conv(y, narrow, 1)), x.channels, 1)
    else:
        y = net.reshape(y, x.batch, x.channels)
        y = net.linear(act(net, net.linear(y, narrow)), x.channels)
        y = net.reshape(y, x.batch, x.channels, *[1] * len(x.extents))
    gate = net.pick(lambda: net.op("Sigmoid", y), lambda: net.op("HardSigmoid", y, alpha=0.2, beta=0.5),
                    lambda: net.div(clip(net, net.binary("Add", y, 3.0), 0.0, 6.0), 6.0))()  # fmt: skip
    return net.mul(x, gate)


def inverted_residual(net, x):
    wide = x.channels * net.pick(2, 3, 4) if x.channels < 16 else x.channels + net.between(0, 9)
    y = act(net, net.batch_norm(net.conv(x, wide, 1)))
    y = act(net, net.batch_norm(net.conv(y, wide, net.pick(3, 5), group=wide)))
    y = squeeze_excite(net, y) if net.chance(0.4) else y
    return net.add(net.batch_norm(net.conv(y, x.channels, 1)), x)


def shuffle(net, x):
    """ShuffleNet: half of the channels pass, the halves are concatenated and interleaved."""
    if x.channels < 4:
        x = net.conv(x, net.pick(6, 10, 14), 1)
    half = x.channels // 2
    x = net.conv(x, 2 * half, 1) if x.channels % 2 else x
    passing, y = net.split(x, 1, half, half)
    y = act(net, net.conv(y, half, 1))
    y = net.conv(net.conv(y, half, 3, group=half), half, 1)
    y = net.concat(1, passing, act(net, y))
    y = net.reshape(y, x.batch, 2, half, *x.extents)
    return net.reshape(net.transpose(y, 0, 2, 1, *range(3, y.rank)), *x.shape)


def dense(net, x):
    for _ in range(net.between(2, 3)):
        y = net.conv(act(net, net.batch_norm(x)), net.between(2, 9), 3)
        x = net.concat(1, x, y)
    return net.conv(x, net.some_channels(), 1)


def same_pool(net, x, kernel):
    """With padding on both sides, so that extents stay; AveragePool with what is written here for the padding."""
    kind = net.pick("MaxPool", "MaxPool", "AveragePool")
    attributes = {"count_include_pad": net.between(0, 1)} if kind == "AveragePool" else {}
    rank = len(x.extents)
    return net.op(kind, net.entering(x), kernel_shape=[kernel] * rank, strides=[1] * rank,
                  pads=[kernel // 2] * 2 * rank, **attributes)  # fmt: skip


def inception(net, x):
    branches = [act(net, net.conv(x, net.some_channels(1, 17), 1)) for _ in range(net.between(0, 1))]
    for kernel in net.pick((3,), (3, 5), (3, 3, 5)):
        y = act(net, net.conv(x, net.some_channels(1, 17), 1))
        branches.append(act(net, net.conv(y, net.some_channels(1, 17), kernel)))
    branches.append(net.conv(same_pool(net, x, 3), net.some_channels(1, 17), 1))
    return net.concat(1, *branches)


def spatial_pyramid_pooling(net, x):
    """Of YOLO: pools of several sizes side by side, or one after the other."""
    x = conv_norm_act(net, x, net.some_channels(2, 20), 1)
    parts = [x]
    chained = net.chance(0.5)
    for kernel in (3, 5, 7)[: net.between(2, 3)]:
        parts.append(same_pool(net, parts[-1] if chained else x, 5 if chained else kernel))
    return conv_norm_act(net, net.concat(1, *parts), None, 1)


def atrous_pyramid(net, x):
    """ASPP: dilated convolutions and the image's average, spread by Resize or Expand."""
    parts = [act(net, net.conv(x, net.some_channels(1, 13), 3, dilation=d)) for d in (1, 2, 3)[: net.between(2, 3)]]
    channels = net.some_channels(1, 13)
    mean = act(net, net.conv(net.global_average(x), channels, 1))
    shape = [x.batch, channels, *x.extents]
    if x.rank == 4 and net.chance(0.5):
        parts.append(net.resize(mean, x.extents))
    else:
        parts.append(net.op("Expand", mean, net.integers(*shape), shape=shape))
    return net.conv(net.concat(1, *parts), net.some_channels(), 1)


def partial_stage(net, x):
    """C3 and C2f: one part goes through residual blocks, and all parts are concatenated."""
    half = net.some_channels(2, 18)
    if net.chance(0.5):
        first, y = net.split(conv_norm_act(net, x, 2 * half, 1), 1, half, half)
    else:
        first, y = conv_norm_act(net, x, half, 1), conv_norm_act(net, x, half, 1)
    parts = [first, y]
    for _ in range(net.between(1, 2)):
        y = conv_norm_act(net, conv_norm_act(net, y, half, 1), half, 3)
        parts.append(net.add(parts[-1], y) if net.chance(0.6) else y)
        y = parts[-1]
    return conv_norm_act(net, net.concat(1, *parts), None, 1)


def hierarchical(net, x):
    """Res2Net: each slice of channels is convolved with the one before it."""
    parts, width = net.between(3, 4), net.between(2, 7)
    slices = net.split(net.conv(x, parts * width, 1), 1, *[width] * parts)
    done = [slices[0]]
    for piece in slices[1:]:
        y = piece if len(done) == 1 else net.add(piece, done[-1])
        done.append(act(net, net.conv(y, width, 3)))
    return net.add(net.conv(net.concat(1, *done), x.channels, 1), x)


def ghost(net, x):
    half = net.some_channels(2, 19)
    y = act(net, net.conv(x, half, 1))
    cheap = act(net, net.conv(y, half, 3, group=half))
    return net.concat(1, y, cheap)


def parallel_kernels(net, x):
    """RepVGG before its branches are merged."""
    parts = [net.batch_norm(net.conv(x, x.channels, 1)), net.batch_norm(x), net.batch_norm(net.conv(x, x.channels, 3))]
    if net.chance(0.4):
        return act(net, net.op("Sum", *parts))
    y = parts[0]
    for part in parts[1:]:
        y = net.add(y, part)
    return act(net, y)


def channels_last(net, x):
    """ConvNeXt: a depthwise convolution, then norm and products over the channels in the last axis."""
    y = net.conv(x, x.channels, 7 if min(x.extents) > 6 else 3, group=x.channels)
    y = net.transpose(y, 0, *range(2, x.rank), 1)
    size = x.channels
    if net.opset >= 17 and net.chance(0.5):
        scale, bias = net.parameter(net.uniform(0.7, 1.3, size)), net.parameter(net.reals(size, scale=0.1))
        y = net.op("LayerNormalization", y, scale, bias, axis=-1, epsilon=net.pick(*EPSILONS))
    elif size >= 8:
        y = net.mul(hand_written_norm(net, y, -1), net.parameter(net.uniform(0.7, 1.3, size)))
    y = net.linear(gelu(net, net.linear(y, size * 2)), size)
    y = net.mul(y, net.parameter(net.uniform(0.1, 0.9, size))) if net.chance(0.5) else y
    y = net.transpose(y, 0, x.rank - 1, *range(1, x.rank - 1))
    return net.add(x, y)


def spatial_attention(net, x):
    """CBAM: a gate per position from the largest and mean channel."""
    maps = net.concat(1, net.reduce("ReduceMax", x, 1), net.reduce("ReduceMean", x, 1))
    return net.mul(x, net.op("Sigmoid", net.conv(maps, 1, 7 if min(x.extents) > 6 else 3)))


def gated(net, x):
    y = net.conv(x, 2 * x.channels, net.pick(1, 3))
    a, b = net.split(y, 1, x.channels, x.channels)
    return net.mul(net.op(net.pick("Tanh", "Relu", "Identity"), a), net.op("Sigmoid", b))


def space_to_depth(net, x):
    """Down by Slice and Concat (YOLO's Focus), SpaceToDepth or Reshape, a convolution, and up again."""
    if x.rank != 4 or min(x.extents) < 4:
        return plain(net, x)
    height, width = (e - e % 2 for e in x.extents)
    y = x
    for axis, even in ((2, height), (3, width)):
        y = net.slice(y, axis, 0, even) if y.shape[axis] != even else y
    form = net.pick("slices", "operator", "reshape")
    if form == "slices":
        rows = [net.slice(y, 2, begin, height, 2) for begin in (0, 1)]
        y = net.concat(1, *[net.slice(row, 3, begin, width, 2) for begin in (0, 1) for row in rows])
    elif form == "operator":
        y = net.op("SpaceToDepth", y, shape=[x.batch, 4 * x.channels, height // 2, width // 2], blocksize=2)
    else:
        y = net.reshape(y, x.batch, x.channels, height // 2, 2, width // 2, 2)
        y = net.transpose(y, 0, 3, 5, 1, 2, 4)
        y = net.reshape(y, x.batch, 4 * x.channels, height // 2, width // 2)
    channels = net.between(1, 8)
    y = act(net, net.conv(y, 4 * channels, net.pick(1, 1, 3)))
    shape = [x.batch, channels, 2 * y.extents[0], 2 * y.extents[1]]
    y = net.op("DepthToSpace", y, shape=shape, blocksize=2, mode=net.pick("DCR", "CRD"))
    return fitted(net, y, x.extents)


def padded(net, x):
    """Pad by itself, as in networks that paint pictures, then a convolution without padding."""
    mode = net.pick("reflect", "edge", "constant", "constant")
    mode = mode if min(x.extents) > 2 else "constant"
    amount = [net.between(0, 2) for _ in range(2 * len(x.extents))] if net.chance(0.3) else [1] * 2 * len(x.extents)
    half = len(x.extents)
    value = net.pick(None, 0.0, 0.5) if mode == "constant" else None
    y = net.pad(x, [0, 0, *amount[:half], 0, 0, *amount[half:]], mode, value)
    kernel = [min(3, e) for e in y.extents]
    return fitted(net, act(net, net.conv(y, net.some_channels(), kernel, valid=True)), x.extents)


def coordinates(net, x):
    """CoordConv: constant maps beside the channels."""
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, e) for e in x.extents], indexing="ij"))
    maps = net.parameter(np.broadcast_to(grid, (x.batch, *grid.shape)))
    return plain(net, net.concat(1, x, maps))


def down_and_up(net, x):
    """An hourglass: a pool, a block, Resize, and the way around it."""
    if min(x.extents) < 4 or x.rank == 5:
        return residual(net, x)
    y = net.pool(x, net.pick("MaxPool", "AveragePool"), 2, 2)
    y = conv_norm_act(net, y, x.channels, net.pick(1, 3))
    whole = [2 * e for e in y.extents]
    if tuple(whole) == x.extents:
        y = net.resize(y, whole, [2] * len(whole))
    else:
        y = net.resize(y, x.extents)
    y = net.add(y, x) if net.chance(0.5) else net.mul(x, net.op("Sigmoid", y))
    return act(net, y) if net.chance(0.5) else y


def axis_statistics(net, x):
    """Coordinate attention: averages along each axis, convolved together and apart."""
    if x.rank != 4:
        return squeeze_excite(net, x)
    height, width = x.extents
    rows = net.reduce("ReduceMean", x, 3)
    columns = net.transpose(net.reduce("ReduceMean", x, 2), 0, 1, 3, 2)
    y = act(net, net.conv(net.concat(2, rows, columns), net.some_channels(1, 12), 1))
    rows, columns = net.split(y, 2, height, width)
    rows = net.op("Sigmoid", net.conv(rows, x.channels, 1))
    columns = net.op("Sigmoid", net.conv(net.transpose(columns, 0, 1, 3, 2), x.channels, 1))
    return net.mul(net.mul(x, rows), columns)


BLOCKS = (plain, plain, uneven_kernels, grouped, depthwise_separable, residual, residual, pre_activation,
          squeeze_excite, inverted_residual, inverted_residual, shuffle, dense, inception, spatial_pyramid_pooling,
          atrous_pyramid, partial_stage, hierarchical, ghost, parallel_kernels, channels_last, spatial_attention,
          gated, space_to_depth, padded, coordinates, down_and_up, axis_statistics)  # fmt: skip


def block(net, x):
    return net.pick(*BLOCKS)(net, x)


# Changes of extents.


def fitted(net, x, extents):
    """Cropped or padded at the end of each spatial axis."""
    for axis, want in enumerate(extents, 2):
        if x.shape[axis] > want:
            x = net.slice(x, axis, 0, want)
    more = [want - have for want, have in zip(extents, x.extents)]
    if any(more):
        x = net.pad(x, [0] * x.rank + [0, 0, *more], net.pick("constant", "edge"))
    return x


def down(net, x):
    """Half the extents, rounded as each form rounds."""
    form = net.pick("conv", "conv", "max", "max", "average", "blur", "both")
    if form == "conv":
        return conv_norm_act(net, x, net.some_channels(), net.pick(2, 3, 3, 5) if min(x.extents) > 2 else 3, stride=2)
    if form == "blur" and x.channels > 1:
        return net.conv(x, x.channels, 3, stride=2, group=x.channels, bias=False)
    if form == "both" and x.rank == 4:
        pooled = net.op("MaxPool", net.entering(x), shape=[x.batch, x.channels, *[-(-e // 2) for e in x.extents]],
                        kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])  # fmt: skip
        shape = [x.batch, net.some_channels(), *pooled.extents]
        weights = net.parameter(net.he(x.channels * 9, shape[1], x.channels, 3, 3))
        return net.concat(1, pooled, net.weighted("Conv", x, weights, None, 0, shape, kernel_shape=[3, 3],
                                                  strides=[2, 2], pads=[1, 1, 1, 1]))  # fmt: skip
    kind = "AveragePool" if form == "average" else "MaxPool"
    # With padding and ceil_mode together, ONNX and its runtimes count windows in different ways.
    valid = min(x.extents) >= 3 and net.chance(0.6)
    return net.pool(x, kind, net.pick(2, 3), 2, ceil_mode=valid and net.chance(0.4), valid=valid)


def up(net, x, extents):
    """To these extents, which are about twice those of x, by one of the ways that networks have."""
    twice = tuple(2 * e for e in x.extents) == tuple(extents)
    form = net.pick("resize", "resize", "resize", "transposed", "shuffled")
    if form == "resize" and (x.rank == 4 or (x.rank == 3 and net.chance(0.5))):
        return net.resize(x, extents, [2] * len(extents) if twice else None)
    if form == "shuffled" and x.rank == 4:
        channels = net.some_channels(1, 9)
        y = net.conv(x, 4 * channels, 1)
        shape = [x.batch, channels, 2 * y.extents[0], 2 * y.extents[1]]
        return fitted(net, net.op("DepthToSpace", y, shape=shape, blocksize=2, mode=net.pick("DCR", "CRD")), extents)
    group = net.pick(1, 1, 1, 2) if x.channels % 2 == 0 else 1
    channels = group * net.some_channels(1, 16)
    return fitted(net, net.conv_transpose(x, channels, net.pick(2, 3, 4), 2, group), extents)
