"""A grammar of architectures: random networks of the blocks that real ones are made of, small, with channel counts that
fit no vector, batches above one and odd extents.

`Architecture(seed)` is the same network for the same seed: an ONNX model, its inputs, and a line that describes it. A
family (below) puts together blocks (architecture_images.py, architecture_sequences.py); the network under construction
(architecture_network.py, architecture_quantized.py) writes each node in one of the forms that exporters have for it.
One network in four computes with integers of 8 bits, with ranges that `evaluate` finds in the network of floats; one in
three is a streaming network with states (architecture_streams.py), and one in three is converted from TFLite
(architecture_converted.py).

Every output is continuous in the inputs and weights: what picks elements by comparing them (NonMaxSuppression, indices
of TopK and ArgMax) compares inputs, never what was computed, and Resize never has to choose between two elements that
are equally near."""

import math
import tempfile
from pathlib import Path

import numpy as np

from architecture_converted import CONVERTED
from architecture_expressions import expression
from architecture_images import (act, affine, block, clip, conv_norm_act, down, fitted, group_norm, hand_written_norm,
                                 norm, up)  # fmt: skip
from architecture_network import OPSETS, Network
from architecture_quantized import QuantizedNetwork
from architecture_sequences import (attended_map, embedded, layer, layer_norm, map_of_tokens, patches, tokens_of_map)
from architecture_streams import STREAMS

# Inputs.


def picture(net, low=9, high=20):
    """Of one to four channels; as floats, or as bytes that the network brings to floats itself."""
    shape = [net.pick(1, 1, 2, 3), net.between(1, 4), net.between(low, high), net.between(low, high)]
    form = net.pick("normal", "normal", "unit", "bytes", "channels last")
    if form == "bytes":
        x = net.cast(net.give(net.numbers.integers(0, 256, shape).astype("uint8")), "float32")
        mean, deviation = net.uniform(100, 150, shape[1], 1, 1), net.uniform(50, 80, shape[1], 1, 1)
        return net.div(net.sub(x, net.parameter(mean)), net.parameter(deviation))
    if form == "channels last":
        return net.transpose(net.give(net.reals(shape[0], *shape[2:], shape[1])), 0, 3, 1, 2)
    x = net.give(net.uniform(0, 1, *shape) if form == "unit" else net.reals(*shape))
    return x if form == "normal" else net.mul(net.sub(x, 0.5), 4.0)


# Heads.


def classified(net, x):
    """A map or sequence to scores of classes."""
    if x.rank == 3 and net.chance(0.5):
        x = net.op("Gather", x, net.constant_of(0, "int64"), shape=[x.shape[0], x.shape[2]], axis=1)
    elif x.rank == 3:
        x = net.reduce("ReduceMean", x, 1, keepdims=0)
    elif math.prod(x.shape[1:]) <= 600 and net.chance(0.3):
        x = net.op("Flatten", x, shape=[x.batch, math.prod(x.shape[1:])], axis=1)
    else:
        form = net.pick("average", "average", "largest", "both")
        largest = [x.batch, x.channels, *[1] * len(x.extents)]
        parts = [] if form == "largest" else [net.global_average(x)]
        parts += [] if form == "average" else [net.op("GlobalMaxPool", x, shape=largest)]
        y = parts[0] if len(parts) == 1 else net.concat(1, *parts)
        x = net.op("Flatten", y, shape=y.shape[:2], axis=1) if net.chance(0.6) else net.reshape(y, *y.shape[:2])
    for _ in range(net.between(0, 1)):
        x = act(net, net.linear(x, net.some_channels(4, 40)))
    y = net.linear(x, net.some_channels(2, 40))
    last = net.pick("none", "softmax", "softmax", "log", "sigmoid", "unit")
    if last in ("softmax", "log"):
        return net.softmax(y, -1, "Softmax" if last == "softmax" else "LogSoftmax")
    if last == "unit":
        length = net.reduce("ReduceL2", y, 1)
        return net.div(y, clip(net, length, 1e-3, 1e9))
    return net.op("Sigmoid", y) if last == "sigmoid" else y


def detected(net, maps):
    """Boxes and scores of all positions of several maps, by convolutions of their own or shared by the maps."""
    classes, anchors = net.between(1, 5), net.between(1, 3)
    same = net.chance(0.5)
    if same:
        channels = net.some_channels(4, 20)
        maps = [x if x.channels == channels else net.conv(x, channels, 1) for x in maps]
    shared = [[None, None] for _ in range(3)] if same else None
    boxes, scores = [], []
    for level, x in enumerate(maps):
        count = math.prod(x.extents)
        pairs = shared or [None] * 3
        tower = act(net, net.conv(x, x.channels, 3, weights=pairs[0]))
        box = net.conv(tower, 4 * anchors, 1, weights=pairs[1])
        score = net.conv(tower, classes * anchors, 1, weights=pairs[2])
        if net.chance(0.5):
            box = net.reshape(net.transpose(box, 0, *range(2, x.rank), 1), x.batch, count * anchors, 4)
            score = net.reshape(net.transpose(score, 0, *range(2, x.rank), 1), x.batch, count * anchors, classes)
        else:
            box = net.transpose(net.reshape(box, x.batch, anchors, 4, count), 0, 3, 1, 2)
            box = net.reshape(box, x.batch, count * anchors, 4)
            score = net.transpose(net.reshape(score, x.batch, anchors, classes, count), 0, 3, 1, 2)
            score = net.reshape(score, x.batch, count * anchors, classes)
        if net.chance(0.5):
            box = net.mul(box, float(2**level))
        boxes.append(box)
        scores.append(score)
    box, score = (parts[0] if len(parts) == 1 else net.concat(1, *parts) for parts in (boxes, scores))
    score = net.softmax(score) if classes > 1 and net.chance(0.4) else net.op("Sigmoid", score)
    if net.chance(0.6):
        middle, extent = net.split(box, 2, 2, 2)
        grid = net.parameter(net.uniform(0, 9, 1, box.shape[1], 2))
        middle = net.binary("Add", net.mul(net.op("Sigmoid", middle), 2.0), grid)
        anchor = net.parameter(net.uniform(0.5, 2.0, 1, box.shape[1], 2))
        extent = net.mul(net.op("Exp", net.op("Tanh", extent)), anchor)
        half = net.mul(extent, 0.5)
        box = net.concat(2, net.sub(middle, half), net.binary("Add", middle, half))
    results = [box, score] if net.chance(0.6) else [net.concat(2, box, score)]
    if net.chance(0.4):
        best = net.reduce("ReduceMax", score, 2, keepdims=0)
        count = min(5, best.shape[1])
        shape = [best.shape[0], count]
        results.append(largest(net, best, count, shape)[0])
    return results


def largest(net, x, count, shape):
    """The values and the places of the largest elements along axis 1."""
    values, places = net.ops("TopK", [x, net.integers(count)], [shape, shape], axis=1)
    places.dtype = "int64"
    net.taken.remove(places)
    return [values, places]


def segmented(net, x, extents):
    """A map of classes over the whole picture."""
    y = net.conv(x, net.some_channels(1, 7), net.pick(1, 3))
    if y.extents != tuple(extents):
        y = net.resize(y, extents) if y.rank == 4 else up(net, y, extents)
    last = net.pick("none", "sigmoid", "softmax", "tanh")
    if last == "softmax" and y.channels > 1:
        return net.softmax(y, 1)
    return y if last in ("none", "softmax") else net.op(last.capitalize(), y)


def located(net, x):
    """Keypoints: where the softmax over positions has its middle."""
    count, points = math.prod(x.extents), net.between(1, 9)
    y = net.softmax(net.reshape(net.conv(x, points, 1), x.batch, points, count))
    return net.matmul(y, net.parameter(net.uniform(0, 1, count, 2)))


def chosen(net):
    """What compares elements, of inputs alone."""
    form = net.pick("suppression", "largest", "places")
    batch, count = net.between(1, 2), net.between(5, 20)
    if form == "suppression":
        corner = net.uniform(0, 1, batch, count, 2)
        boxes = net.give(np.concatenate([corner, corner + net.uniform(0.1, 0.6, batch, count, 2)], 2))
        scores = net.give(net.uniform(0, 1, batch, 1, count))
        most, limits = net.integers(net.between(1, 4)), [net.parameter([0.45]), net.parameter([0.2])]
        return [net.op("NonMaxSuppression", boxes, scores, most, *limits, shape=["found", 3], dtype="int64")]
    x = net.give(net.reals(batch, count, 3))
    if form == "largest":
        return [net.op("ArgMax", x, shape=[batch, 1, 3], dtype="int64", axis=1)]
    return largest(net, x, 4, [batch, 4, 3])


# Families. Each returns the values that are outputs.


def stages(net, x, count):
    """Of a backbone: maps of falling extents."""
    maps = []
    for _ in range(count):
        x = down(net, x)
        for _ in range(net.between(0, 1)):
            x = block(net, x)
        maps.append(x)
    return maps


def classifier(net):
    x = picture(net)
    x = conv_norm_act(net, x, stride=net.between(1, 2))
    for _ in range(net.between(2, 5)):
        x = block(net, x)
        x = down(net, x) if min(x.extents) > 3 and net.chance(0.4) else x
    x = attended_map(net, x) if net.chance(0.15) else x
    return [classified(net, x)]


def pyramid(net):
    """A backbone, laterals of one width, the way down and now and then up again, and heads on each map."""
    x = picture(net, 13, 26)
    maps = stages(net, conv_norm_act(net, x), net.between(2, 3))
    width, by_concat = net.some_channels(3, 24), net.chance(0.4)
    with_norm = net.chance(0.4)
    laterals = [conv_norm_act(net, y, width, 1) if with_norm else net.conv(y, width, 1) for y in maps]
    done = [laterals[-1]]
    for lateral in reversed(laterals[:-1]):
        y = done[0]
        twice = tuple(2 * e for e in y.extents) == lateral.extents
        y = net.resize(y, lateral.extents, [2, 2] if twice else None)
        y = conv_norm_act(net, net.concat(1, y, lateral), width, 3) if by_concat else net.add(y, lateral)
        done.insert(0, net.conv(y, width, 3) if net.chance(0.7) else y)
    if net.chance(0.35):  # PAN
        for level in range(1, len(done)):
            y = net.conv(done[level - 1], width, 3, stride=2)
            y = fitted(net, y, done[level].extents)
            y = net.concat(1, y, done[level]) if by_concat else net.add(y, done[level])
            done[level] = conv_norm_act(net, y, width, 3)
    done = [block(net, y) if net.chance(0.2) else y for y in done]
    last = net.pick("detected", "detected", "maps", "segmented", "summed")
    if last == "detected":
        return detected(net, done)
    if last == "segmented":
        return [segmented(net, done[0], x.extents)]
    if last == "summed":
        spread = [done[0], *[net.resize(y, done[0].extents) for y in done[1:]]]
        alike = len({y.shape for y in spread}) == 1
        return [segmented(net, net.op("Sum", *spread) if alike else net.concat(1, *spread), x.extents)]
    return done


def u_net(net):
    x = picture(net, 9, 20)
    y, skipped = conv_norm_act(net, x), []
    for _ in range(net.between(1, 3)):
        if min(y.extents) < 3:
            break
        y = conv_norm_act(net, y, None, 3)
        skipped.append(y)
        y = net.pool(y, "MaxPool", 2, 2, valid=True) if net.chance(0.5) else down(net, y)
    y = attended_map(net, y) if net.chance(0.2) else block(net, y)
    for skip in reversed(skipped):
        y = up(net, y, skip.extents)
        if net.chance(0.2):
            gate = net.op("Sigmoid", net.conv(act(net, net.add(net.conv(skip, 5, 1), net.conv(y, 5, 1))), 1, 1))
            skip = net.mul(skip, gate)
        y = net.concat(1, *([y, skip] if net.chance(0.5) else [skip, y]))
        y = conv_norm_act(net, y, None, 3) if net.chance(0.6) else block(net, y)
    return [segmented(net, y, x.extents)] + ([located(net, y)] if net.chance(0.2) else [])


def several_resolutions(net):
    """HRNet: branches side by side whose maps are exchanged."""
    x = picture(net, 10, 20)
    first = conv_norm_act(net, x)
    branches = [first, down(net, first)]
    for _ in range(net.between(1, 2)):
        branches = [block(net, y) for y in branches]
        high, low = branches
        width = [net.some_channels(2, 17), net.some_channels(2, 17)]
        raised = net.resize(net.conv(low, width[0], 1), high.extents)
        lowered = fitted(net, net.conv(high, width[1], 3, stride=2), low.extents)
        branches = [act(net, net.add(net.conv(high, width[0], 1), raised)),
                    act(net, net.add(net.conv(low, width[1], 1), lowered))]  # fmt: skip
    return [segmented(net, branches[0], x.extents), classified(net, branches[1])]


def free(net):
    """Blocks wired at random: each reads one or two maps made before."""
    x = picture(net, 7, 15)
    maps = [conv_norm_act(net, x)]
    for _ in range(net.between(3, 8)):
        a, b = net.pick(*maps[-3:]), net.pick(*maps)
        form = net.pick("block", "block", "block", "add", "concat", "mul", "norm", "larger")
        if form == "block":
            y = block(net, a)
        elif form == "concat":
            y = net.concat(1, a, b)
            y = net.conv(y, net.some_channels(), 1) if y.channels > 40 else y
        elif form == "norm":
            y = norm(net, a)
        else:
            b = b if b.channels == a.channels else net.conv(b, a.channels, 1)
            if form == "add":
                y = net.add(a, b)
            elif form == "mul":
                y = net.mul(a, net.op("Sigmoid", b))
            else:
                y = net.op(net.pick("Max", "Min"), a, b)
        maps.append(act(net, y) if net.chance(0.3) else y)
    results = [maps[-1], classified(net, net.pick(*maps))]
    return results if net.chance(0.5) else results[:1]


def vision_transformer(net):
    x = picture(net, 9, 20)
    extents = None
    if net.chance(0.6):
        y = patches(net, x)
    else:
        y = stages(net, conv_norm_act(net, x), 2)[-1]
        y = conv_norm_act(net, y, net.some_channels(6, 28), 1)
        extents = y.extents
        y = net.transpose(net.reshape(y, y.batch, y.channels, math.prod(extents)), 0, 2, 1)
    for _ in range(net.between(1, 3)):
        y = layer(net, y)
    if extents and net.chance(0.6):
        return [segmented(net, map_of_tokens(net, y, extents), x.extents)]
    return [classified(net, layer_norm(net, y))]


def text_model(net):
    batch, steps, size = net.between(1, 3), net.between(3, 17), net.some_channels(6, 32)
    y = embedded(net, steps, batch, size)
    for _ in range(net.between(1, 3)):
        y = layer(net, y)
    if net.chance(0.5):
        return [net.linear(y, net.some_channels(3, 40)) if net.chance(0.7) else y]
    return [classified(net, y)]


def recognizer(net):
    """Pictures of text: convolutions, the width as time, recurrences, scores of each step."""
    shape = [net.between(1, 2), net.between(1, 3), net.pick(8, 12, 16), net.between(10, 40)]
    y = conv_norm_act(net, net.give(net.reals(*shape)))
    for _ in range(net.between(1, 2)):
        y = down(net, block(net, y) if net.chance(0.4) else y)
    y = tokens_of_map(net, y)
    for _ in range(net.between(1, 2)):
        y = layer(net, y)
    y = net.linear(y, net.some_channels(3, 40))
    return [net.softmax(y, 2, net.pick("Softmax", "LogSoftmax"))]


def audio(net):
    """One spatial extent: WaveNet's gates, dilations, strides, and back up."""
    x = net.give(net.reals(net.between(1, 3), net.between(1, 3), net.between(20, 90)))
    y = net.conv(x, net.some_channels(4, 24), net.pick(3, 5, 9), stride=net.between(1, 3))
    total = None
    for level in range(net.between(1, 4)):
        form = net.pick("gate", "gate", "block", "causal")
        if form == "block":
            y = block(net, y)
            continue
        if form == "causal":
            reach = 2 * 2**level
            z = net.conv(net.pad(y, [0, 0, reach, 0, 0, 0]), 2 * y.channels, 3, dilation=2**level, valid=True)
        else:
            z = net.conv(y, 2 * y.channels, 3, dilation=2**level)
        a, b = net.split(z, 1, y.channels, y.channels)
        z = net.mul(net.op("Tanh", a), net.op("Sigmoid", b))
        skip = net.conv(z, 7, 1)
        total = skip if total is None or total.shape != skip.shape else net.add(total, skip)
        y = net.add(y, net.conv(z, y.channels, 1))
    if net.chance(0.4):
        y = layer(net, tokens_of_map(net, y))
        return [classified(net, y)]
    results = [] if total is None else [act(net, total)]
    y = up(net, y, [2 * e for e in y.extents]) if net.chance(0.5) else y
    return [*results, net.conv(y, net.between(1, 4), net.pick(1, 3, 7))]


def volume(net):
    """Three spatial extents."""
    x = net.give(net.reals(net.between(1, 2), net.between(1, 3), *[net.between(4, 9) for _ in range(3)]))
    y = conv_norm_act(net, x, net.some_channels(2, 12), 3)
    y = block(net, conv_norm_act(net, y, net.some_channels(2, 10), 1)) if net.chance(0.5) else y
    y = conv_norm_act(net, y, net.some_channels(2, 12), 1)
    low = net.pool(y, net.pick("MaxPool", "AveragePool"), 2, 2) if net.chance(0.5) else net.conv(y, 9, 3, stride=2)
    low = conv_norm_act(net, low, net.some_channels(2, 12), net.pick(1, 3))
    if net.chance(0.5):
        return [classified(net, low)]
    return [net.conv(net.concat(1, fitted(net, net.conv_transpose(low, 5, 2, 2), y.extents), y), net.between(1, 4), 1)]


def generator(net):
    """A vector to a picture; styles modulate the maps."""
    z = net.give(net.reals(net.between(1, 3), net.some_channels(5, 33)))
    channels, height, width = net.some_channels(4, 24), net.between(2, 5), net.between(2, 5)
    style = act(net, net.linear(z, net.some_channels(5, 20)))
    y = net.reshape(net.linear(z, channels * height * width), z.shape[0], channels, height, width)
    for _ in range(net.between(1, 3)):
        if max(y.extents) > 20:
            break
        y = up(net, act(net, y), [2 * e for e in y.extents])
        if net.chance(0.5):
            both = net.reshape(net.linear(style, 2 * y.channels), y.batch, 2 * y.channels, 1, 1)
            scale, shift = net.split(both, 1, y.channels, y.channels)
            whole = hand_written_norm(net, y, 2, 3) if net.chance(0.5) else group_norm(net, y)
            y = net.binary("Add", net.mul(whole, net.binary("Add", scale, 1.0)), shift)
        y = conv_norm_act(net, y, None, 3)
    return [net.op("Tanh", net.conv(y, 3, net.pick(1, 3, 7)))]


def two_pictures(net):
    """One backbone for two inputs, whose maps are correlated or subtracted."""
    shape = [net.between(1, 2), net.between(1, 3), net.between(8, 16), net.between(8, 16)]
    pairs, kinds = [[None, None], [None, None]], net.pick((1, 1), (1, 2), (2, 1))
    channels = net.some_channels(4, 20)
    maps = []
    state = net.draw.getstate()
    for _ in range(2):
        net.draw.setstate(state)
        y = net.op("Relu", net.conv(net.give(net.reals(*shape)), channels, 3, stride=kinds[0], weights=pairs[0]))
        maps.append(net.conv(y, channels, 3, stride=kinds[1], weights=pairs[1]))
    a, b = maps
    form = net.pick("matched", "difference", "product")
    if form == "matched":
        count = math.prod(a.extents)
        rows = net.transpose(net.reshape(a, a.batch, channels, count), 0, 2, 1)
        y = net.mul(net.matmul(rows, net.reshape(b, b.batch, channels, count)), channels**-0.5)
        y = net.transpose(net.softmax(y), 0, 2, 1)
        y = net.reshape(net.matmul(net.reshape(b, b.batch, channels, count), y), *a.shape)
        y = net.concat(1, a, y)
    else:
        y = net.op("Abs", net.sub(a, b)) if form == "difference" else affine(net, net.mul(a, b))
    y = block(net, y)
    return [classified(net, y), *([segmented(net, y, shape[2:])] if net.chance(0.3) else [])]


FAMILIES = (classifier, classifier, pyramid, pyramid, pyramid, u_net, u_net, several_resolutions, free, free, free,
            vision_transformer, text_model, text_model, recognizer, audio, volume, generator, two_pictures,
            expression, expression, expression, expression)  # fmt: skip

KINDS = (FAMILIES, STREAMS, CONVERTED)  # by the remainder of the seed


def construct(net, seed):
    family = net.pick(*KINDS[seed % len(KINDS)])
    results = family(net)
    if net.chance(0.08):
        results += chosen(net)
    net.finish(*results)
    return family.__name__


class Architecture:
    """`evaluate(path of a model, inputs by name)` gives the arrays of the model's outputs. `jitter`, `halves`: see
    Network."""

    def __init__(self, seed, evaluate, jitter=0.0, halves=False):
        self.seed = seed
        opset = OPSETS[seed % len(OPSETS)]
        self.quantized = seed % 4 == 3
        if not self.quantized:
            self.network = Network(seed, opset, jitter, halves)
            family = construct(self.network, seed)
        else:
            trial = QuantizedNetwork(seed, opset)
            construct(trial, seed)
            self.network = QuantizedNetwork(seed, opset, self.ranges_of(trial, evaluate), jitter, halves)
            family = construct(self.network, seed)
            assert len(self.network.points) == len(trial.points)
        kind = f"quantized ({self.network.form})" if self.quantized else "float32"
        self.text = f"{family}, opset {opset}, {kind}, {len(self.network.nodes)} nodes"

    @staticmethod
    def ranges_of(trial, evaluate):
        """The least and largest elements of the points, which become the only outputs."""
        names = list(dict.fromkeys(value.name for value in trial.points))
        trial.outputs = []
        shapes = {value.name: value.shape for value in trial.points}
        for name in names:
            trial.output(name, 1, shapes[name])
        if not names:
            return []
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            trial.write(path)
            arrays = dict(zip(names, evaluate(path, trial.feeds)))
        return [(arrays[value.name].min(), arrays[value.name].max()) for value in trial.points]

    def write(self, path):
        self.network.write(path)

    def runs(self, path, evaluate):
        """The inputs by name and the results of each run; streaming networks have several."""
        feeds, runs = self.network.feeds, []
        for run in range(self.network.runs):
            runs.append((feeds, evaluate(path, feeds)))
            if run + 1 < self.network.runs:
                feeds = self.network.feeds_after(run, runs[-1][1])
        return runs

    def shaken(self, feeds):
        """These inputs as the network's `jitter` changes them."""
        return {name: self.network.shaken(array) for name, array in feeds.items()}
