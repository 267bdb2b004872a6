"""Networks converted from TFLite (architecture_layouts.py has their operators): blocks, and heads by means over the
middle axes, Squeeze, Reshape, concatenated boxes of several maps, and Resize to the extents of the picture."""

import math

from architecture_layouts import Layouts, Map


class Converted(Layouts):
    """A network converted from TFLite. Blocks keep the extents of their map."""

    def separable(self, x):
        y = self.depthwise(x, self.net.pick(3, 3, 5), dilation=self.net.pick(1, 1, 1, 2))
        y = self.act(y) if self.net.chance(0.7) else y
        return self.act(self.conv(y, self.net.blocked_channels(2, 33), 1))

    def inverted_residual(self, x):
        size = self.channels(x)
        y = self.act(self.conv(x, size * self.net.pick(2, 3) if size < 16 else size + 5, 1))
        y = self.act(self.depthwise(y, self.net.pick(3, 5)))
        return self.add(self.conv(y, size, 1), x)

    def more_channels(self, x):
        """BlazeFace: the way around is padded with channels of zeros."""
        net, size = self.net, self.channels(x)
        wide = size + net.between(1, 12)
        y = self.conv(self.depthwise(x, net.pick(3, 5)), wide, 1)
        around = self.either(x)
        pads = [0] * 8
        pads[4 + self.axis(around, 3)] = wide - size
        if net.chance(0.3):  # in the middle
            pads[self.axis(around, 3)], pads[4 + self.axis(around, 3)] = (wide - size) // 2, -(-(wide - size) // 2)
        return self.act(self.add(y, Map(net.pad(around.value, pads), around.last)))

    def residual(self, x):
        y = self.conv_act(x, None, self.net.pick(1, 3), dilation=self.net.pick(1, 1, 2))
        return self.act(self.add(self.conv(y, self.channels(x), self.net.pick(1, 3)), x))

    def excited(self, x):
        net, size = self.net, self.channels(x)
        if net.chance(0.5):
            y = Map(net.reduce("ReduceMean", self.last(x), 1, 2), True)
            y = self.conv(self.act(self.conv(y, max(1, size // 2), 1)), size, 1)
        else:
            value = net.reduce("ReduceMean", self.last(x), 1, 2, keepdims=0)
            value = net.linear(net.op("Relu", net.linear(value, max(1, size // 2))), size)
            y = Map(net.reshape(value, value.shape[0], 1, 1, size), True)
        gate = Map(net.op("Sigmoid", y.value), y.last)
        a, b, last = self.alike(x, gate)
        return Map(net.mul(a, b), last)

    def branches(self, x):
        net = self.net
        parts = [self.conv_act(x, net.blocked_channels(1, 20), net.pick(1, 1, 3)) for _ in range(net.between(1, 3))]
        parts.append(self.pool(x, net.pick("Max", "Average"), 3, 1) if net.chance(0.5) else x)
        net.draw.shuffle(parts)
        y = self.concat(3, *parts)
        return self.conv(y, net.blocked_channels(3, 30), 1) if self.channels(y) > 36 or net.chance(0.4) else y

    def joined(self, x):
        """Two maps concatenated along height, width or batch, convolved together and split again."""
        net, axis = self.net, self.net.pick(0, 1, 1, 2)
        size = net.blocked_channels(2, 33)
        a = self.conv_act(x, size, net.pick(1, 3))
        b = net.pick(lambda: self.act(self.add(self.conv(x, size, 1), a)), lambda: self.conv_act(x, size, 1))()
        y = self.concat(axis, a, b)
        y = net.pick(lambda: self.conv_act(y, None, net.pick(1, 3)), lambda: self.act(y),
                     lambda: self.act(self.depthwise(y)))()  # fmt: skip
        extent = self.shape(x)[axis]
        a, b = self.slices(y, axis, extent, extent)
        return self.add(a, b) if net.chance(0.5) else net.pick(a, b)

    def strips(self, x):
        """Split along height or width into uneven parts, each with operators of its own, which are concatenated again,
        now and then with constants at both ends."""
        net, axis = self.net, self.net.pick(1, 2)
        extent = self.shape(x)[axis]
        if extent < 3:
            return self.separable(x)
        size = net.blocked_channels(2, 20)
        at = sorted(net.draw.sample(range(1, extent), net.between(1, 2)))
        sizes = [b - a for a, b in zip([0, *at], [*at, extent])]
        parts = self.slices(self.conv_act(x, size, 1), axis, *sizes)
        parts = [net.pick(lambda: y, lambda: self.act(y), lambda: self.conv(y, size, 1),
                          lambda: self.pool(y, "Max", 3, 1), lambda: self.add(y, self.conv(y, size, 3)))()
                 for y in parts]  # fmt: skip
        if net.chance(0.3):
            shape = self.shape(x)[:3] + [size]
            shape[axis] = net.between(1, 2)
            constant = Map(net.parameter(net.reals(*shape)), True)
            y = self.concat(axis, constant, *map(self.kept_last, parts), constant)
            return self.conv_act(Map(net.slice(y.value, self.axis(y, axis), shape[axis], shape[axis] + extent), y.last))
        return self.conv_act(self.concat(axis, *parts), None, net.pick(1, 3))

    def kept_last(self, x):
        return Map(self.last(x), True)

    def interleaved(self, x):
        """The rows or columns of two maps interleaved, as TensorFlow's stack and reshape do it; every second one of the
        result is kept."""
        net, axis = self.net, self.net.pick(1, 2)
        size = net.blocked_channels(2, 20)
        a, b = (self.last(self.conv_act(x, size, net.pick(1, 3))) for _ in range(2))
        both = net.concat(axis + 1, net.unsqueeze(a, axis + 1), net.unsqueeze(b, axis + 1))
        shape = self.shape(x)[:3] + [size]
        shape[axis] *= 2
        y = self.conv_act(Map(net.reshape(both, *shape), True), None, 3)
        y = self.either(y)
        begin = net.between(0, 1)
        return Map(net.slice(y.value, self.axis(y, axis), begin, shape[axis], 2), y.last)

    def halves(self, x):
        """Channels split, one part convolved, and joined."""
        net, size = self.net, self.channels(x)
        if size < 3:
            return self.separable(x)
        a, b = self.slices(x, 3, size // 2, size - size // 2)
        return self.concat(3, a, self.conv_act(b, None, net.pick(1, 3)))

    def mirrored(self, x):
        mode = self.net.pick("reflect", "edge")
        mode = mode if min(self.extents(x)) > 1 else "edge"
        y = self.padded(x, [1, 1], [1, 1], mode=mode)
        return self.conv_act(y, None, 3, valid=True)

    def blocked(self, x):
        """SpaceToDepth, a convolution, DepthToSpace, between transposes."""
        net = self.net
        height, width = self.extents(x)
        if height % 2 or width % 2:
            return self.residual(x)
        y = self.first(x)
        shape = [y.batch, 4 * y.channels, height // 2, width // 2]
        y = self.conv_act(self.done(net.op("SpaceToDepth", y, shape=shape, blocksize=2)), 4 * net.between(1, 7), 1)
        z = self.first(y)
        shape = [z.batch, z.channels // 4, height, width]
        return self.done(net.op("DepthToSpace", z, shape=shape, blocksize=2))

    def around_a_matrix(self, x):
        """FULLY_CONNECTED over the channels, between reshapes."""
        net = self.net
        n, height, width, size = self.shape(x)
        y = net.linear(net.reshape(self.last(x), n * height * width, size), net.some_channels(2, 30))
        return self.act(Map(net.reshape(y, n, height, width, y.shape[1]), True))

    def block(self, x):
        return self.net.pick(self.separable, self.separable, self.inverted_residual, self.more_channels, self.residual,
                             self.residual, self.excited, self.branches, self.joined, self.joined, self.joined,
                             self.strips, self.strips, self.interleaved, self.halves, self.mirrored, self.blocked,
                             self.around_a_matrix)(x)  # fmt: skip

    def down(self, x):
        net = self.net
        form = net.pick("conv", "conv", "depthwise", "max", "average")
        valid = min(self.extents(x)) > 4 and net.chance(0.3)
        if form == "conv":
            return self.conv_act(x, None, net.pick(2, 3, 3, 5) if not valid else net.pick(2, 3), stride=2, valid=valid)
        if form == "depthwise":
            return self.act(self.depthwise(x, 3, 2, factor=net.pick(1, 1, 2), valid=valid))
        return self.pool(x, form.capitalize(), net.pick(2, 2, 3), 2, valid)

    def stages(self, x, count):
        maps = []
        for _ in range(count):
            x = self.down(x) if min(self.extents(x)) > 2 else x
            for _ in range(self.net.between(1, 2)):
                x = self.block(x)
            maps.append(x)
        return maps



def converted_classifier(net):
    made = Converted(net)
    x = made.stages(made.conv_act(made.input(), stride=net.between(1, 2)), net.between(1, 3))[-1]
    form = net.pick("mean", "mean", "mean map", "window", "flat")
    n, height, width, size = made.shape(x)
    if form == "flat" and height * width * size > 600:
        form = "mean"
    if form == "flat":
        y = net.reshape(made.last(x), n, height * width * size)
    elif form == "mean":
        y = net.reduce("ReduceMean", made.last(x), 1, 2, keepdims=0)
    else:
        y = Map(net.reduce("ReduceMean", made.last(x), 1, 2), True) if form == "mean map" else \
            made.pool(x, "Average", [height, width], 1, valid=True)  # fmt: skip
        y = made.conv(y, net.some_channels(2, 40), 1)
        y = net.squeeze(made.last(y), 1, 2) if net.chance(0.6) else net.reshape(made.last(y), n, made.channels(y))
        return [net.softmax(y) if net.chance(0.7) else y]
    y = net.linear(y, net.some_channels(2, 40))
    return [net.pick(lambda: net.softmax(y), lambda: net.op("Sigmoid", y), lambda: y)()]


def converted_detector(net):
    """Boxes and scores of several maps, reshaped and concatenated along the positions."""
    made = Converted(net)
    maps = made.stages(made.conv_act(made.input(9, 20)), net.between(2, 3))
    classes, anchors = net.between(1, 5), net.pick(1, 2, 3, 6)
    boxes, scores = [], []
    for x in maps:
        n, height, width, _ = made.shape(x)
        for parts, size in ((boxes, 4), (scores, classes)):
            y = made.separable(x) if net.chance(0.3) else x
            y = made.last(made.conv(y, anchors * size, net.pick(1, 3)))
            parts.append(net.reshape(y, n, height * width * anchors, size))
    box, score = net.concat(1, *boxes), net.concat(1, *scores)
    score = net.op("Sigmoid", score) if net.chance(0.7) else score
    if net.chance(0.5):
        anchor = net.parameter(net.uniform(0.5, 2.0, *net.pick([1], []), box.shape[1], 4))
        middle, extent = net.split(net.mul(box, anchor), 2, 2, 2)
        box = net.concat(2, net.sub(middle, net.mul(extent, 0.5)), net.binary("Add", middle, net.mul(extent, 0.5)))
    return [box, score] if net.chance(0.7) else [net.concat(2, box, score)]


def converted_segmenter(net):
    made = Converted(net)
    x = made.input()
    y = made.conv_act(x)
    maps = [y, *made.stages(y, net.between(1, 2))]
    y = maps[-1]
    if net.chance(0.4):  # DeepLab: the mean of the map, spread
        mean = made.conv_act(Map(net.reduce("ReduceMean", made.last(y), 1, 2), True), None, 1)
        parts = [made.conv_act(y, None, 3, dilation=d) for d in (1, 2)[: net.between(1, 2)]]
        y = made.conv_act(made.concat(3, made.resize(mean, made.extents(y)), *parts), None, 1)
    for skip in reversed(maps[:-1]):
        want = made.extents(skip)
        if [2 * e for e in made.extents(y)] == list(want) and net.chance(0.4):
            y = made.transposed(y, net.some_channels(2, 20), net.pick(2, 3, 4), 2)
        else:
            y = made.resize(y, want)
        y = made.concat(3, y, skip) if net.chance(0.6) else made.add(made.conv(y, made.channels(skip), 1), skip)
        y = made.block(y) if net.chance(0.4) else made.conv_act(y)
    y = made.conv(y, net.between(1, 6), 1)
    extents = made.extents(x)
    y = made.resize(y, [2 * e for e in extents] if net.chance(0.2) else extents) if net.chance(0.7) else y
    y = made.last(y)
    return [net.softmax(y) if y.shape[3] > 1 and net.chance(0.4) else net.op("Sigmoid", y) if net.chance(0.4) else y]


def landmarks(net):
    """A convolution over the whole map, and numbers for points and their presence."""
    made = Converted(net)
    x = made.stages(made.conv_act(made.input(8, 14), stride=2), net.between(1, 2))[-1]
    points = made.conv(x, 3 * net.between(2, 12), made.extents(x), valid=True)
    present = made.conv(x, 1, made.extents(x), valid=True)
    n = made.shape(x)[0]
    y = net.reshape(made.last(points), n, made.channels(points))
    if net.chance(0.5):
        y = net.reshape(y, n, made.channels(points) // 3, 3)
    flag = net.squeeze(made.last(present), 1, 2) if net.chance(0.5) else net.reshape(made.last(present), n, 1)
    return [y, net.op("Sigmoid", flag)]


def spectrogram(net):
    """Convolutions over one axis, made of [N, T, C] by Unsqueeze (ExpandDims), and scores."""
    made = Converted(net)
    batch, frames, size = net.pick(1, 1, 2), net.between(8, 40), net.some_channels(2, 24)
    x = net.give(net.reals(batch, frames, size))
    for _ in range(net.between(1, 4)):
        axis = net.pick(1, 2)
        y = Map(net.unsqueeze(x, axis), True)
        kernel = net.pick(2, 3, 5)
        kernel = [1, kernel] if axis == 1 else [kernel, 1]
        form = net.pick("conv", "conv", "depthwise", "pool")
        stride = [2 if k > 1 and x.shape[1] > 4 and net.chance(0.3) else 1 for k in kernel]
        if form == "conv":
            y = made.conv(y, net.blocked_channels(2, 33), kernel, stride)
        elif form == "depthwise":
            y = made.conv(made.depthwise(y, kernel, stride), net.blocked_channels(2, 33), 1)
        else:
            y = made.pool(y, net.pick("Max", "Average"), kernel, stride)
        y = made.act(y)
        if made.extents(y)[axis - 1] != 1:  # padded unevenly on purpose
            y = Map(net.slice(y.value, made.axis(y, axis), 0, 1), y.last)
        z = net.squeeze(made.last(y), axis)
        x = net.add(x, z) if z.shape == x.shape and net.chance(0.4) else z
    y = net.reduce(net.pick("ReduceMean", "ReduceMax"), x, 1, keepdims=0) if net.chance(0.7) or x.shape[1] * x.shape[
        2] > 600 else net.reshape(x, batch, x.shape[1] * x.shape[2])  # fmt: skip
    return [net.softmax(net.linear(y, net.some_channels(2, 20)))]


def converted_blocks(net):
    """Blocks wired at random, with concatenations along all axes."""
    made = Converted(net)
    maps = [made.conv_act(made.input(6, 13))]
    for _ in range(net.between(2, 6)):
        a, b = net.pick(*maps[-3:]), net.pick(*maps)
        form = net.pick("block", "block", "block", "add", "concat", "joined")
        if form == "block":
            y = made.block(a)
        elif form == "joined":
            y = made.joined(made.act(a))
        else:
            b = b if made.channels(b) == made.channels(a) else made.conv(b, made.channels(a), 1)
            if form == "add":
                y = made.add(a, b)
            else:
                y = made.concat(3, a, b)
                y = made.conv(y, net.blocked_channels(2, 33), 1) if made.channels(y) > 36 else y
        maps.append(made.act(y) if net.chance(0.3) else y)
    results = maps[-1:]
    if not net.chance(0.5):
        results.insert(0, made.concat(net.pick(0, 1, 2), maps[-1], made.act(maps[-1])))
    return [made.last(y) if net.chance(0.6) else y.value for y in results]


CONVERTED = (converted_classifier, converted_detector, converted_detector, converted_segmenter, converted_segmenter,
               landmarks, spectrogram, converted_blocks, converted_blocks, converted_blocks)  # fmt: skip
