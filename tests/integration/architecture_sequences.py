"""Blocks of the grammar that take and give a sequence [N, T, C] of the same T and C: attention, gated products,
recurrences, convolutions over time; and what leads from feature maps to sequences."""

import math

import numpy as np

from architecture_images import EPSILONS, act, conv_norm_act, gelu, hand_written_norm, swish


def layer_norm(net, x):
    size = x.shape[-1]
    scale, bias = net.parameter(net.uniform(0.7, 1.3, size)), net.parameter(net.reals(size, scale=0.2))
    if net.opset >= 17 and net.chance(0.5):
        bias = bias if net.chance(0.8) else None
        return net.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=net.pick(*EPSILONS))
    if net.chance(0.25):  # of RMS alone
        square = net.reduce("ReduceMean", net.mul(x, x), -1)
        root = net.op("Sqrt", net.binary("Add", square, net.pick(*EPSILONS)))
        return net.mul(scale, net.div(x, root) if net.chance(0.5) else net.mul(x, net.op("Reciprocal", root)))
    return net.binary("Add", net.mul(hand_written_norm(net, x, -1), scale), bias)


def heads_of(net, x, heads):
    """[N, T, H*D] as [N, H, T, D]."""
    y = net.reshape(x, x.shape[0], x.shape[1], heads, x.shape[2] // heads)
    return net.transpose(y, 0, 2, 1, 3)


def three_of(net, x, heads, size):
    """Queries, keys and values from one product, taken apart by Split, Slice or Gather, or from three."""
    form = net.pick("three", "three", "split", "slice", "gather")
    if form == "three":
        return [heads_of(net, net.linear(x, heads * size), heads) for _ in range(3)]
    whole = net.linear(x, 3 * heads * size)
    if form == "gather":
        y = net.reshape(whole, x.shape[0], x.shape[1], 3, heads, size)
        y = net.transpose(y, 2, 0, 3, 1, 4)
        return [net.op("Gather", y, net.constant_of(i, "int64"), shape=y.shape[1:], axis=0) for i in range(3)]
    width = heads * size
    if form == "split":
        parts = net.split(whole, 2, width, width, width)
    else:
        parts = [net.slice(whole, 2, i * width, (i + 1) * width) for i in range(3)]
    return [heads_of(net, part, heads) for part in parts]


def rotated(net, x):
    """Rotary positions, written out: halves exchanged, one of them negated."""
    half, steps = x.shape[-1] // 2, x.shape[-2]
    angles = np.outer(np.arange(steps), 1 / 10 ** (np.arange(half) / half))
    angles = np.concatenate([angles, angles], -1)
    first, second = net.split(x, x.rank - 1, half, half)
    turned = net.op("Concat", net.op("Neg", second), first, shape=x.shape, axis=-1)
    return net.binary("Add", net.mul(x, net.parameter(np.cos(angles))), net.mul(turned, net.parameter(np.sin(angles))))


def mask_of(net, scores):
    """The future, or the end of each row, far below everything; as a constant, or from an input by Where."""
    queries, keys = scores.shape[-2:]
    if net.chance(0.6):
        mask = np.triu(np.full((queries, keys), net.pick(-1e4, -30.0), "float32"), 1)
        return net.binary("Add", scores, net.parameter(mask))
    kept = np.ones((scores.shape[0], 1, 1, keys), bool)
    for row in kept:
        row[..., net.between(1, keys) :] = False
    if net.chance(0.5):
        return net.op("Where", net.give(kept), scores, net.parameter(-1e4), shape=scores.shape, dtype="float32")
    flags = net.cast(net.give(kept.astype("int64")), "float32")
    return net.binary("Add", scores, net.mul(net.sub(net.parameter(1.0), flags), -1e4))


def attend(net, queries, keys, values):
    """Scores scaled on one side or the other, softmax, and the sum."""
    size = queries.shape[-1]
    where = net.pick("scores", "scores", "queries")
    if where == "queries":
        queries = net.mul(queries, size**-0.5)
    scores = net.matmul(queries, net.transpose(keys, 0, 1, 3, 2))
    if where == "scores":
        scores = net.div(scores, math.sqrt(size)) if net.chance(0.5) else net.mul(scores, size**-0.5)
    if net.chance(0.4):
        scores = mask_of(net, scores)
    if net.chance(0.2):  # relative positions
        scores = net.binary("Add", scores, net.parameter(net.reals(1, *scores.shape[1:])))
    return net.matmul(net.softmax(scores), values)


def attention(net, x):
    heads, size = net.between(1, 4), net.pick(4, 5, 6, 8, 10)
    queries, keys, values = three_of(net, x, heads, size)
    if size % 2 == 0 and net.chance(0.25):
        queries, keys = rotated(net, queries), rotated(net, keys)
    y = net.transpose(attend(net, queries, keys, values), 0, 2, 1, 3)
    return net.linear(net.reshape(y, x.shape[0], x.shape[1], heads * size), x.shape[2])


def shared_keys(net, x):
    """Several heads of queries, one of keys and values, which Expand repeats or broadcasting does."""
    heads, size = net.between(2, 4), net.pick(4, 6, 7)
    queries = heads_of(net, net.linear(x, heads * size), heads)
    keys, values = (heads_of(net, net.linear(x, size), 1) for _ in range(2))
    if net.chance(0.5):
        shape = [x.shape[0], heads, x.shape[1], size]
        keys, values = (net.op("Expand", y, net.integers(1, heads, 1, 1), shape=shape) for y in (keys, values))
    y = net.transpose(attend(net, queries, keys, values), 0, 2, 1, 3)
    return net.linear(net.reshape(y, x.shape[0], x.shape[1], heads * size), x.shape[2])


def linear_attention(net, x):
    """Keys and values are multiplied first; all factors are positive."""
    heads, size = net.between(1, 3), net.pick(4, 6)
    queries, keys, values = three_of(net, x, heads, size)
    queries, keys = (net.binary("Add", net.op("Elu", y, alpha=1.0), 1.1) for y in (queries, keys))
    together = net.matmul(net.transpose(keys, 0, 1, 3, 2), values)
    total = net.reduce("ReduceSum", keys, 2)
    weight = net.reduce("ReduceSum", net.mul(queries, total), -1)
    y = net.div(net.matmul(queries, together), weight)
    y = net.transpose(y, 0, 2, 1, 3)
    return net.linear(net.reshape(y, x.shape[0], x.shape[1], heads * size), x.shape[2])


def einsum_attention(net, x):
    if net.opset < 12:
        return linear_attention(net, x)
    heads, size = net.between(1, 3), net.pick(3, 4, 8)
    queries, keys, values = (net.reshape(net.linear(x, heads * size), x.shape[0], x.shape[1], heads, size)
                             for _ in range(3))  # fmt: skip
    shape = [x.shape[0], heads, x.shape[1], x.shape[1]]
    scores = net.mul(net.op("Einsum", queries, keys, shape=shape, equation="bqhd,bkhd->bhqk"), size**-0.5)
    y = net.op("Einsum", net.softmax(scores), values, shape=queries.shape, equation="bhqk,bkhd->bqhd")
    return net.linear(net.reshape(y, x.shape[0], x.shape[1], heads * size), x.shape[2])


def feed_forward(net, x):
    wide = net.some_channels(8, 40)
    return net.linear(act(net, net.linear(x, wide)) if net.chance(0.5) else gelu(net, net.linear(x, wide)), x.shape[2])


def gated_product(net, x):
    """GLU and its relatives: one product or two, one half of which gates the other."""
    wide = net.some_channels(4, 33)
    if net.chance(0.5):
        gate, y = net.split(net.linear(x, 2 * wide), 2, wide, wide)
    else:
        gate, y = net.linear(x, wide), net.linear(x, wide)
    gate = net.pick(lambda: net.op("Sigmoid", gate), lambda: swish(net, gate), lambda: gelu(net, gate),
                    lambda: net.op("Relu", gate))()  # fmt: skip
    return net.linear(net.mul(gate, y), x.shape[2])


def recurrence(net, x):
    """GRU, LSTM or RNN over time in one direction or both, and a product that brings back the size."""
    kind, direction = net.pick("GRU", "LSTM", "LSTM", "RNN"), net.pick("forward", "reverse", "bidirectional")
    gates, ways = {"GRU": 3, "LSTM": 4, "RNN": 1}[kind], 2 if direction == "bidirectional" else 1
    hidden, (batch, steps, size) = net.some_channels(1, 20), x.shape
    scale = 1 / math.sqrt(hidden)
    weights = [net.parameter(net.uniform(-scale, scale, ways, gates * hidden, n)) for n in (size, hidden)]
    bias = net.parameter(net.uniform(-scale, scale, ways, 2 * gates * hidden)) if net.chance(0.8) else None
    begins = [None] * (2 if kind == "LSTM" else 1)
    if net.chance(0.5):
        begins = [net.parameter(net.reals(ways, batch, hidden, scale=net.pick(0.0, 0.5))) for _ in begins]
    options = {"linear_before_reset": net.between(0, 1)} if kind == "GRU" else {}
    shapes = [[steps, ways, batch, hidden], [ways, batch, hidden], [ways, batch, hidden]][: 3 if kind == "LSTM" else 2]
    y = net.transpose(x, 1, 0, 2)
    options |= {"direction": direction, "hidden_size": hidden}
    outputs = net.ops(kind, [y, *weights, bias, None, *begins], shapes, **options)
    if ways == 1 and net.chance(0.6):
        y = net.transpose(net.squeeze(outputs[0], 1), 1, 0, 2)
    else:
        y = net.reshape(net.transpose(outputs[0], 2, 0, 1, 3), batch, steps, ways * hidden)
    if net.chance(0.2):  # the last state, added to every step
        last = net.reshape(net.transpose(outputs[1], 1, 0, 2), batch, 1, ways * hidden)
        y = net.binary("Add", y, last)
    return net.linear(y, size)


def unrolled_cell(net, x):
    """A few steps of a recurrent cell written out."""
    size, hidden = x.shape[2], net.some_channels(2, 12)
    state = net.parameter(np.zeros((x.shape[0], hidden)))
    inward = [net.he(size + hidden, size + hidden, 2 * hidden), net.reals(2 * hidden, scale=0.1)]
    inward = [net.parameter(array) for array in inward]
    states = []
    for step in range(min(3, x.shape[1])):
        now = net.op("Gather", x, net.constant_of(step, "int64"), shape=[x.shape[0], size], axis=1)
        both = net.op("Concat", now, state, shape=[x.shape[0], size + hidden], axis=1)
        y = net.op("Gemm", both, *inward, shape=[x.shape[0], 2 * hidden])
        gate, fresh = net.split(y, 1, hidden, hidden)
        gate, fresh = net.op("Sigmoid", gate), net.op("Tanh", fresh)
        kept = net.mul(gate, state) if step else net.mul(gate, 0.0)
        state = net.binary("Add", kept, net.mul(net.sub(net.parameter(1.0), gate), fresh))
        states.append(net.unsqueeze(state, 1))
    y = net.reduce("ReduceMean", net.concat(1, *states), 1)
    return net.binary("Add", x, net.linear(y, size))


def over_time(net, x):
    """A gated convolution along the sequence, as in speech recognizers."""
    y = net.transpose(x, 0, 2, 1)
    size = x.shape[2]
    y = net.conv(y, 2 * size, 1)
    a, b = net.split(y, 1, size, size)
    y = net.mul(a, net.op("Sigmoid", b))
    y = net.conv(y, size, net.pick(3, 5, 7), group=size, dilation=net.pick(1, 1, 2))
    y = net.conv(act(net, net.batch_norm(y)), size, 1)
    return net.transpose(y, 0, 2, 1)


def mixed_tokens(net, x):
    """MLP-Mixer: a product along the sequence."""
    y = net.linear(net.transpose(x, 0, 2, 1), net.some_channels(3, 30))
    return net.transpose(net.linear(gelu(net, y), x.shape[1]), 0, 2, 1)


def rolled(net, x):
    """Swin's shift: the first steps become the last ones."""
    at = net.between(1, x.shape[1] - 1)
    return net.concat(1, net.slice(x, 1, at, x.shape[1]), net.slice(x, 1, 0, at))


MIXERS = (attention, attention, attention, shared_keys, linear_attention, einsum_attention, recurrence, recurrence,
          over_time, mixed_tokens, unrolled_cell)  # fmt: skip
PRODUCTS = (feed_forward, feed_forward, gated_product)


def around(net, x, inner):
    """With a way around it, normalized before or after."""
    if net.chance(0.5):
        return net.add(x, inner(net, layer_norm(net, x)))
    return layer_norm(net, net.add(x, inner(net, x)))


def layer(net, x):
    if x.shape[1] > 2 and net.chance(0.15):
        x = rolled(net, x)
    x = around(net, x, net.pick(*MIXERS))
    return around(net, x, net.pick(*PRODUCTS)) if net.chance(0.8) else x


# From and to feature maps.


def tokens_of_map(net, x):
    """[N, C, ...] as [N, T, C]: one token for each position, or the last axis as time."""
    if x.rank == 4 and net.chance(0.4):
        y = net.transpose(x, 0, 3, 1, 2)
        y = net.reshape(y, x.batch, x.shape[3], x.channels * x.shape[2])
        return net.linear(y, net.some_channels(6, 32))
    y = net.transpose(net.reshape(x, x.batch, x.channels, math.prod(x.extents)), 0, 2, 1)
    return y if x.channels >= 6 else net.linear(y, net.some_channels(6, 32))


def map_of_tokens(net, x, extents):
    return net.reshape(net.transpose(x, 0, 2, 1), x.shape[0], x.shape[2], *extents)


def patches(net, x):
    """A convolution whose windows do not overlap, flattened, with positions added."""
    size = net.pick(2, 3, 4)
    y = net.conv(x, net.some_channels(6, 32), size, stride=size, valid=True)
    y = net.transpose(net.reshape(y, y.batch, y.channels, math.prod(y.extents)), 0, 2, 1)
    if net.chance(0.4):
        shape = [y.shape[0], 1, y.shape[2]]
        first = net.op("Expand", net.parameter(net.reals(1, 1, y.shape[2])), net.integers(*shape), shape=shape)
        y = net.concat(1, first, y)
    return net.binary("Add", y, net.parameter(net.reals(1, *y.shape[1:], scale=0.5)))


def embedded(net, steps, batch, size):
    """Token ids through tables of words and positions."""
    words = net.between(5, 60)
    ids = net.give(net.numbers.integers(0, words, (batch, steps)).astype(net.pick("int64", "int32")))
    y = net.op("Gather", net.parameter(net.reals(words, size)), ids, shape=[batch, steps, size], dtype="float32")
    positions = net.parameter(net.reals(steps, size, scale=0.5))
    y = net.binary("Add", y, positions)
    return layer_norm(net, y) if net.chance(0.5) and size >= 6 else y


def attended_map(net, x):
    """A layer of attention within a convolutional network, over the positions of a map."""
    if math.prod(x.extents) > 150 or x.channels < 6:
        x = conv_norm_act(net, x, net.some_channels(6, 24), 1)
    if math.prod(x.extents) > 150:
        return x
    y = net.transpose(net.reshape(x, x.batch, x.channels, math.prod(x.extents)), 0, 2, 1)
    return map_of_tokens(net, layer(net, y), x.extents)
