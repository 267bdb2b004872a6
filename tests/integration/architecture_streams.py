"""Streaming networks: speech codecs, keyword spotters and speech enhancers that take a few frames per run. A layer
keeps earlier frames in a state: an input of the graph that is concatenated with the new frames. The end of the result
is the next state, an output of the graph that is fed to the next run.

Maps are [N, C, T], [N, C, T, W], or [N, T, W, C] as in graphs that were TFLite's; T are the frames of one run."""

import math

from architecture_images import act, clip
from architecture_sequences import feed_forward


class Stream:
    """A network in one of the layouts, with the blocks that keep states."""

    def __init__(self, net):
        self.net = net
        self.form = net.pick("sequence", "column", "column", "map", "channels last", "channels last")
        self.last = self.form == "channels last"
        self.time = 1 if self.last else 2

    # Layouts.

    def channels(self, x):
        return x.shape[-1] if self.last else x.shape[1]

    def frames(self, x):
        return x.shape[self.time]

    def shape(self, x, channels, frames):
        if self.last:
            return [x.batch, frames, *x.shape[2:-1], channels]
        return [x.batch, channels, frames, *x.shape[3:]]

    def input(self, channels, frames, width):
        """One frame or several, with new values in each run."""
        batch = self.net.pick(1, 1, 1, 2)
        if self.form == "sequence":
            shape = [batch, channels, frames]
        elif self.last:
            shape = [batch, frames, width, channels]
        else:
            shape = [batch, channels, frames, width]
        return self.net.give_each_run(lambda: self.net.reals(*shape))

    def channels_first(self, x):
        return self.net.transpose(x, 0, x.rank - 1, *range(1, x.rank - 1)) if self.last else x

    def channels_back(self, x):
        return self.net.transpose(x, 0, *range(2, x.rank), 1) if self.last else x

    # States.

    def state(self, *shape):
        """Zeros, as at the start of a stream, or numbers, as in the middle of one."""
        return self.net.give_state(self.net.reals(*shape, scale=self.net.pick(0.0, 1.0, 1.0)))

    def held(self, shape):
        """A state for values of this shape, whose input has this shape, or is flat, or transposed, as converters leave
        it that do not change inputs. Returns the value that layers read, and a function that keeps the next state."""
        net = self.net
        form = net.pick("plain", "plain", "plain", "flat", "transposed", "transposed")
        if form == "flat":
            state = self.state(shape[0], math.prod(shape[1:]))
            return net.reshape(state, *shape), lambda after: net.keep_state(state, net.reshape(after, *state.shape))
        if form == "transposed" and len(shape) > 2:
            order = [0, *range(2, len(shape)), 1]
            back = [order.index(axis) for axis in range(len(shape))]
            state = self.state(*[shape[axis] for axis in order])
            seen = net.transpose(state, *back)
            return seen, lambda after: net.keep_state(state, net.transpose(after, *order))
        state = self.state(*shape)
        return state, lambda after: net.keep_state(state, after)

    def extended(self, x, count):
        """The last `count` frames of earlier runs, then those of this one. The state may hold more than that."""
        net, frames = self.net, self.frames(x)
        more = net.between(1, 3) if net.chance(0.2) else 0
        state, keep = self.held(self.shape(x, self.channels(x), count + more))
        if more:
            whole = net.concat(self.time, net.slice(state, self.time, more, count + more), x)
            both = net.concat(self.time, state, x)
            keep(net.slice(both, self.time, frames, frames + count + more))
            return whole
        whole = net.concat(self.time, state, x)
        form = net.pick("whole", "whole", "new", "apart")
        if form == "new" and frames == count:
            keep(net.op("Identity", x))
        elif form == "new" and frames > count:
            keep(net.slice(x, self.time, frames - count, frames))
        elif form == "apart" and frames < count:
            keep(net.concat(self.time, net.slice(state, self.time, frames, count), x))
        else:
            keep(net.slice(whole, self.time, frames, frames + count))
        return whole

    # Blocks.

    def pointwise(self, x, channels):
        if self.last and self.net.chance(0.2):
            return self.net.linear(x, channels)
        return self.channels_back(self.net.conv(self.channels_first(x), channels, 1))

    def causal(self, x, channels, kernel, stride=1, dilation=1, depthwise=False):
        """A convolution over time without padding there; `stride` divides the frames and is at most `kernel`."""
        net = self.net
        before = dilation * (kernel - 1) - (stride - 1)
        x = self.extended(x, before) if before > 0 else x
        y = self.channels_first(x)
        group = y.channels if depthwise else 1
        wide = len(y.extents) == 2 and y.shape[3] > 1
        across = net.pick(1, 3) if wide else 1
        if across > 1:
            pads = [0] * 3 + [across // 2] + [0] * 3 + [across // 2]
            y = net.pad(y, pads)
        kernels, strides, dilations = [kernel], [stride], [dilation]
        if len(y.extents) == 2:
            kernels, strides, dilations = [kernel, across], [stride, 1], [dilation, 1]
        channels = y.channels * net.pick(1, 1, 2) if depthwise else channels
        return self.channels_back(net.conv(y, channels, kernels, stride=strides, dilation=dilations, group=group,
                                           valid=True))  # fmt: skip

    def raised(self, x, channels, kernel, stride):
        """A transposed convolution: its overlap with later frames is a state, added to them in the next run."""
        net = self.net
        y = self.channels_first(x)
        if len(y.extents) == 2:
            kernels, strides = [kernel, 1], [stride, 1]
        else:
            kernels, strides = [kernel], [stride]
        y = self.channels_back(net.whole_conv_transpose(y, channels, kernels, strides))
        over, whole = kernel - stride, self.frames(y)
        if over <= 0:
            return y
        state, keep = self.held(self.shape(y, self.channels(y), over))
        if net.chance(0.5):
            head = net.add(net.slice(y, self.time, 0, over), state)
            y = net.concat(self.time, head, net.slice(y, self.time, over, whole))
        else:
            pads = [0] * 2 * y.rank
            pads[y.rank + self.time] = whole - over
            y = net.add(y, net.pad(state, pads))
        if net.chance(0.5):
            y, after = net.split(y, self.time, whole - over, over)
        else:
            y, after = net.slice(y, self.time, 0, whole - over), net.slice(y, self.time, whole - over, whole)
        keep(after)
        return y

    def act(self, x):
        net = self.net
        if net.chance(0.5):
            return net.op("LeakyRelu", x, alpha=net.pick(0.01, 0.1, 0.2, 0.3))
        return net.op("Elu", x, alpha=1.0) if net.chance(0.2) else act(net, x)

    def scaled(self, x):
        """A normalization that needs no statistics."""
        net, size = self.net, self.channels(x)
        if not self.last and net.chance(0.6):
            return net.batch_norm(x)
        dims = [size] if self.last else [size, *[1] * len(x.extents)]
        y = net.mul(x, net.parameter(net.uniform(0.7, 1.3, *dims)))
        return net.binary("Add", y, net.parameter(net.reals(*dims, scale=0.2)))

    def residual(self, x):
        """Of a codec: a dilated convolution, a pointwise one, and a residual connection."""
        net = self.net
        y = self.act(x) if net.chance(0.7) else x
        dilation, kernel = net.pick(1, 1, 2, 3), net.pick(2, 3, 3, 5, 7)
        if net.chance(0.5):
            y = self.causal(y, None, kernel, dilation=dilation, depthwise=True)
            y = self.pointwise(y, net.blocked_channels(2, 33))
        else:
            y = self.causal(y, net.blocked_channels(2, 33), kernel, dilation=dilation)
        y = self.scaled(y) if net.chance(0.3) else y
        y = self.pointwise(self.act(y), self.channels(x))
        y = net.add(y, x)
        return self.act(y) if net.chance(0.3) else y

    def delayed(self, x):
        """A residual connection with a delay, as it belongs to layers with look-ahead."""
        net, count = self.net, self.net.between(1, 3)
        earlier = net.slice(self.extended(x, count), self.time, 0, self.frames(x))
        return net.add(self.pointwise(self.act(x), self.channels(x)), earlier)

    def gated(self, x):
        net, size = self.net, self.net.some_channels(2, 20)
        y = self.causal(x, 2 * size, net.pick(2, 3), dilation=net.pick(1, 2))
        a, b = net.split(y, y.rank - 1 if self.last else 1, size, size)
        y = self.pointwise(net.mul(net.op("Tanh", a), net.op("Sigmoid", b)), self.channels(x))
        return net.add(x, y)

    def averaged(self, x):
        """The moving average of all frames is subtracted, or gates the channels."""
        net = self.net
        axes = [self.time] if net.chance(0.5) or x.rank == 3 else [self.time, self.time + 1]
        now = net.reduce("ReduceMean", x, *axes)
        state = self.state(*now.shape)
        mean = net.binary("Add", net.mul(state, 0.9), net.mul(now, 0.1))
        net.keep_state(state, mean)
        if net.chance(0.5):
            return net.sub(x, mean)
        return net.mul(x, net.op("Sigmoid", self.pointwise(mean, self.channels(x))))

    # By tokens [N, T, size].

    def tokens(self, x):
        net = self.net
        y = self.channels_first(x)
        order = (0, 2, 1) if y.rank == 3 else net.pick((0, 2, 1, 3), (0, 2, 3, 1))
        y = net.transpose(y, *order)
        return y if y.rank == 3 else net.reshape(y, y.shape[0], y.shape[1], y.shape[2] * y.shape[3])

    def map_of(self, tokens, x):
        """Tokens as a map of this shape, which has the same number of frames."""
        net = self.net
        size = math.prod(x.shape) // x.batch // self.frames(x)
        y = net.linear(tokens, size)
        if self.last:
            return net.reshape(y, *x.shape)
        y = net.reshape(y, x.batch, self.frames(x), self.channels(x), *x.extents[1:])
        return net.transpose(y, 0, 2, 1, *range(3, y.rank))

    def recurrence(self, x):
        """GRU or LSTM whose last states are the first ones of the next run; the two of an LSTM may be one tensor."""
        net = self.net
        y = self.tokens(x)
        batch, steps, size = y.shape
        kind, hidden = net.pick("GRU", "LSTM", "LSTM"), net.some_channels(2, 20)
        gates, scale = 3 if kind == "GRU" else 4, 1 / math.sqrt(hidden)
        weights = [net.parameter(net.uniform(-scale, scale, 1, gates * hidden, n)) for n in (size, hidden)]
        bias = net.parameter(net.uniform(-scale, scale, 1, 2 * gates * hidden))
        count = 1 if kind == "GRU" else 2
        packed = count == 2 and net.chance(0.5)
        if packed:
            both = self.state(2, batch, hidden)
            states = net.split(both, 0, 1, 1) if net.chance(0.5) else [net.slice(both, 0, i, i + 1) for i in range(2)]
        else:
            states = [self.state(1, batch, hidden) for _ in range(count)]
        options = {"linear_before_reset": net.between(0, 1)} if kind == "GRU" else {}
        shapes = [[steps, 1, batch, hidden], *[[1, batch, hidden]] * count]
        z, *after = net.ops(kind, [net.transpose(y, 1, 0, 2), *weights, bias, None, *states], shapes,
                            hidden_size=hidden, **options)  # fmt: skip
        if packed:
            net.keep_state(both, net.op("Concat", *after, shape=both.shape, axis=0))
        else:
            for one, new in zip(states, after):
                net.keep_state(one, new)
        z = net.transpose(net.squeeze(z, 1), 1, 0, 2)
        return net.add(x, self.map_of(z, x))

    def attention(self, x):
        """Over the keys and values of this run and of a fixed number of earlier frames."""
        net, tokens = self.net, self.tokens(x)
        heads, size, count = net.between(1, 3), net.pick(4, 5, 8), net.between(2, 9)
        batch, steps, _ = tokens.shape
        parts = []
        for _ in range(3):
            y = net.reshape(net.linear(tokens, heads * size), batch, steps, heads, size)
            parts.append(net.transpose(y, 0, 2, 1, 3))
        queries, rest = parts[0], []
        for y in parts[1:]:
            state, keep = self.held([batch, heads, count, size])
            y = net.concat(2, state, y)
            keep(net.slice(y, 2, steps, steps + count))
            rest.append(y)
        scores = net.mul(net.matmul(queries, net.transpose(rest[0], 0, 1, 3, 2)), size**-0.5)
        y = net.transpose(net.matmul(net.softmax(scores), rest[1]), 0, 2, 1, 3)
        y = net.reshape(y, batch, steps, heads * size)
        y = feed_forward(net, y) if net.chance(0.3) else y
        return net.add(x, self.map_of(y, x))

    def memory(self, x):
        """TFLite's SVDF written out: a queue of features, weighted over time."""
        net, units, length = self.net, self.net.some_channels(2, 24), self.net.between(2, 8)
        y = net.reduce("ReduceMean", self.tokens(x), 1, keepdims=0)
        new = net.unsqueeze(net.linear(y, units), 2)
        state, keep = self.held([x.batch, units, length])
        queue = net.concat(2, net.slice(state, 2, 1, length), new)
        keep(queue)
        y = net.reduce("ReduceSum", net.mul(queue, net.parameter(net.reals(units, length, scale=length**-0.5))), 2,
                       keepdims=0)  # fmt: skip
        y = net.linear(self.act(y), self.channels(x))
        dims = [x.batch, *[1] * (x.rank - 2), y.shape[1]] if self.last else [x.batch, y.shape[1], *[1] * len(x.extents)]
        return net.binary("Add", x, net.reshape(y, *dims))

    def block(self, x):
        blocks = [self.residual] * 5 + [self.delayed, self.gated, self.averaged, self.recurrence, self.attention,
                                        self.memory]  # fmt: skip
        return self.net.pick(*blocks)(x)


# Families.


def codec(net):
    """Down in time and up again."""
    stream = Stream(net)
    strides = [net.pick(1, 2, 2, 3, 4) for _ in range(net.between(1, 2))]
    kernels = [stride * net.pick(1, 2, 2) + net.pick(0, 0, 1) for stride in strides]
    frames = math.prod(strides) * net.between(1, 5)
    width = net.pick(1, 1, 1, 3) if stream.form != "map" else net.between(2, 7)
    x = stream.input(net.pick(1, 1, 2), frames, width)
    y = stream.causal(x, net.blocked_channels(4, 33), net.pick(3, 5, 7))
    for stride, kernel in zip(strides, kernels):
        for _ in range(net.between(0, 2)):
            y = stream.block(y)
        y = stream.causal(stream.act(y), net.blocked_channels(4, 36), kernel, stride=stride)
    y = stream.block(y) if net.chance(0.6) else y
    form = net.pick("both", "both", "encoder", "decoder")
    results = [y] if form == "encoder" or net.chance(0.3) else []
    if form != "encoder":
        for stride, kernel in zip(reversed(strides), reversed(kernels)):
            y = stream.raised(stream.act(y), net.blocked_channels(3, 33), kernel, stride)
            for _ in range(net.between(0, 2)):
                y = stream.block(y)
        y = stream.causal(y, net.pick(1, 1, 2), net.pick(1, 3, 7))
        results.append(net.op("Tanh", y) if net.chance(0.6) else y)
    return results


def keyword_spotter(net):
    """Convolutions over time and frequency, a window of the last embeddings, scores."""
    stream = Stream(net)
    frames = net.between(1, 6)
    width = net.between(4, 12) if stream.form in ("map", "channels last") else 1
    y = stream.input(net.pick(1, 2) if width > 1 else net.some_channels(4, 20), frames, width)
    for _ in range(net.between(2, 4)):
        y = net.pick(stream.residual, stream.block, lambda x: stream.act(stream.scaled(
            stream.causal(x, net.blocked_channels(3, 24), net.pick(2, 3, 4)))))(y)  # fmt: skip
    form = net.pick("window", "window", "memory", "tokens")
    if form == "memory":
        y = stream.memory(y)
    if form == "window":
        y = stream.extended(y, net.between(1, 9))
    y = stream.tokens(y)
    if form == "window" and y.shape[1] * y.shape[2] <= 600 and net.chance(0.4):
        y = net.reshape(y, y.shape[0], y.shape[1] * y.shape[2])
    else:
        y = net.reduce(net.pick("ReduceMean", "ReduceMax"), y, 1, keepdims=0)
    y = act(net, net.linear(y, net.some_channels(4, 24))) if net.chance(0.4) else y
    return [net.softmax(net.linear(y, net.some_channels(2, 20)))]


def enhancer(net):
    """Masks of spectra by recurrences, and overlapping frames added in a buffer of samples."""
    stream = Stream(net)
    stream.form, stream.last, stream.time = "sequence", False, 2
    x = stream.input(net.between(6, 24), 1, 1)
    y = x
    for _ in range(net.between(1, 2)):
        y = net.pick(stream.recurrence, stream.recurrence, stream.residual, stream.attention)(y)
    mask = net.op("Sigmoid", stream.pointwise(y, x.channels))
    y = net.mul(mask, x) if net.chance(0.7) else clip(net, net.mul(mask, x), -2.0, 2.0)
    hop = net.between(2, 8)
    length = hop * net.between(2, 4)
    samples = net.linear(net.reshape(y, x.batch, x.channels), length)
    buffer = stream.state(x.batch, length)
    shifted = net.concat(1, net.slice(buffer, 1, hop, length), net.parameter(net.reals(x.batch, hop, scale=0.0)))
    after = net.add(shifted, samples)
    net.keep_state(buffer, after)
    return [net.slice(after, 1, 0, hop), *([mask] if net.chance(0.3) else [])]


def free_stream(net):
    """A chain of blocks, with concatenations of earlier maps."""
    stream = Stream(net)
    x = stream.input(net.between(1, 5), net.between(1, 7), net.between(1, 5))
    maps = [stream.act(stream.causal(x, net.blocked_channels(3, 33), net.pick(1, 2, 3)))]
    for _ in range(net.between(2, 6)):
        a = maps[-1]
        form = net.pick("block", "block", "block", "channels", "time", "sum")
        if form == "block":
            y = stream.block(a)
        elif form == "time":  # twice the frames, half of which go on
            other = stream.act(stream.pointwise(net.pick(*maps), stream.channels(a)))
            y = stream.pointwise(net.concat(stream.time, a, other), net.blocked_channels(3, 33))
            y = net.slice(y, stream.time, *net.pick((0, stream.frames(a)), (stream.frames(a), 2 * stream.frames(a))))
        else:
            b = stream.pointwise(net.pick(*maps), stream.channels(a))
            y = net.add(a, b) if form == "sum" else net.concat(a.rank - 1 if stream.last else 1, a, b)
            y = stream.pointwise(y, net.blocked_channels(3, 33)) if stream.channels(y) > 40 else y
        maps.append(stream.act(y) if net.chance(0.4) else y)
    return maps[-1:] + ([net.pick(*maps)] if net.chance(0.4) else [])


STREAMS = (codec, codec, codec, keyword_spotter, keyword_spotter, enhancer, free_stream, free_stream, free_stream)
