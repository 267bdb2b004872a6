"""Expressions: small graphs of arithmetic, products, reductions and movement wired at random. Their extents are drawn
from two or three numbers, so that dimensions of one extent, equal extents and operands that broadcast meet in every
order of nodes. Layouts and fusions that confuse dimensions show here first."""

import math

import numpy as np

from architecture_images import ACTIVATIONS, EPSILONS


def bounded(net, x):
    """Near one, so that neither exponents nor long products leave the range where last bits stay last bits."""
    return net.op("Tanh", x)


def positive(net, x):
    return net.binary("Add", net.op("Sigmoid", x), 0.5)


def extents_of(net, rank):
    pool = [net.between(1, 5), net.between(2, 9)]
    return [net.pick(1, *pool, *pool, pool[0]) for _ in range(rank)]


def broadcasting(net, x):
    """An operand of the same rank or less with some extents of 1: a constant, an input, or part of the value itself."""
    form = net.pick("constant", "constant", "input", "reduced", "reduced")
    kept = [net.chance(0.6) for _ in x.shape]
    if form == "reduced" and x.rank:
        axes = [axis for axis, keep in enumerate(kept) if not keep]
        y = net.reduce(net.pick("ReduceMean", "ReduceSum", "ReduceMax"), x, *axes) if axes else x
        return bounded(net, y)
    shape = [d if keep else 1 for d, keep in zip(x.shape, kept)]
    if net.chance(0.4):
        shape = shape[net.between(0, x.rank) :]
    array = net.reals(*shape)
    return net.give(array) if form == "input" else net.parameter(array)


def combined(net, x, others):
    alike = [y for y in others if y.shape == x.shape]
    y = net.pick(*alike) if alike and net.chance(0.5) else broadcasting(net, x)
    form = net.pick("Add", "Add", "Mul", "Mul", "Sub", "Div", "Max", "Min", "PRelu")
    if form == "PRelu":
        fits = y.rank <= x.rank and np.broadcast_shapes(x.shape, y.shape) == x.shape
        return net.op("PRelu", x, y) if fits else net.sub(x, y)
    if form == "Div":
        return net.div(x, positive(net, y))
    if form == "Sub" and net.chance(0.5):
        x, y = y, x
    if form in ("Max", "Min"):
        return net.op(form, x, y, shape=np.broadcast_shapes(x.shape, y.shape))
    return net.binary(form, x, y)


def product(net, x, others):
    """With weights of two dimensions or of a batch, with itself, or with another value; any side may be turned."""
    if x.rank < 2:
        return net.mul(x, 0.7)
    order = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
    fitting = [y for y in others if y.rank >= 2 and y.shape[-2] == x.shape[-1] and y.shape[:-2] == x.shape[:-2]]
    form = net.pick("weights", "batch of weights", "itself", "other", "other")
    count = x.shape[-1]
    if form == "itself":
        left, right = (x, net.transpose(x, *order)) if net.chance(0.5) else (net.transpose(x, *order), x)
        count = left.shape[-1]
    elif form == "other" and fitting:
        left, right = x, net.pick(*fitting)
    elif form == "batch of weights":
        batch = [d if net.chance(0.6) else 1 for d in x.shape[:-2]]
        right = net.parameter(net.reals(*batch, count, net.between(1, 6)))
        left = x
    else:
        return net.linear(x, net.pick(x.shape[-1], net.between(1, 6)), bias=net.chance(0.5))
    y = net.matmul(bounded(net, left) if form == "itself" else left, right)
    return net.mul(y, count**-0.5) if net.chance(0.5) else y


def turned(net, x):
    order = list(range(x.rank))
    net.draw.shuffle(order)
    if x.rank == 4 and net.chance(0.5):
        order = net.pick([0, 2, 1, 3], [0, 2, 3, 1], [0, 3, 1, 2])
    return net.transpose(x, *order)


def counted_otherwise(net, x):
    """Two neighbouring dimensions made one, one taken apart, or a dimension of 1 put in or taken out."""
    shape = list(x.shape)
    forms = ["insert"] if x.rank < 5 else []
    forms += ["join", "join"] if x.rank > 1 else []
    apart = [axis for axis, d in enumerate(shape) if d > 3 and any(d % n == 0 for n in (2, 3))]
    forms += ["apart", "apart"] if apart and x.rank < 5 else []
    ones = [axis for axis, d in enumerate(shape) if d == 1]
    forms += ["remove"] if ones and x.rank > 1 else []
    form = net.pick(*forms)
    if form == "insert":
        return net.unsqueeze(x, net.between(0, x.rank))
    if form == "remove":
        return net.squeeze(x, net.pick(*ones))
    if form == "join":
        at = net.between(0, x.rank - 2)
        shape[at : at + 2] = [shape[at] * shape[at + 1]]
    else:
        at = net.pick(*apart)
        factor = net.pick(*[n for n in (2, 3) if shape[at] % n == 0])
        pair = [factor, shape[at] // factor]
        shape[at : at + 1] = pair if net.chance(0.5) else pair[::-1]
    return net.reshape(x, *shape)


def reduced(net, x, _others=()):
    axes = [axis for axis in range(x.rank) if net.chance(0.5)] or [x.rank - 1]
    keepdims = 1 if len(axes) == x.rank or net.chance(0.6) else 0
    form = net.pick("ReduceMean", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2",
                    "ReduceSumSquare")  # fmt: skip
    if form == "ReduceL2":  # its slope is steep at zero
        x = positive(net, x)
    return net.reduce(form, x, *axes, keepdims=keepdims)


def normalized(net, x):
    form = net.pick("softmax", "softmax", "layer", "instance", "power")
    if form in ("layer", "instance"):  # of equal elements nothing but the last bits is left
        x = net.binary("Add", x, net.parameter(net.reals(*x.shape)))
    if form == "layer" and net.opset >= 17 and x.shape[-1] > 3:
        return net.op("LayerNormalization", x, net.parameter(net.uniform(0.5, 1.5, x.shape[-1])), axis=-1,
                      epsilon=net.pick(*EPSILONS))  # fmt: skip
    if form == "instance" and x.rank in (3, 4) and math.prod(x.extents) > 3:
        scale, bias = (net.parameter(net.reals(x.channels)) for _ in range(2))
        return net.op("InstanceNormalization", x, scale, bias, epsilon=net.pick(*EPSILONS))
    if form == "power":
        square = net.reduce("ReduceMean", net.mul(x, x), net.between(0, x.rank - 1))
        return net.div(x, net.op("Sqrt", net.binary("Add", square, 0.1)))
    axis = net.between(-x.rank, -1)
    # The logarithm of a row of one element is 0, of which no error is a small part.
    kinds = ("Softmax", "LogSoftmax") if x.shape[axis] > 1 else ("Softmax",)
    return net.softmax(bounded(net, x), axis, net.pick(*kinds))


def cut(net, x, others):
    """A part, parts exchanged, or joined with another value or with itself."""
    axis = net.between(0, x.rank - 1)
    extent = x.shape[axis]
    form = net.pick("slice", "exchanged", "concat", "concat", "pad", "gather", "expand")
    if form == "slice" and extent > 1:
        begin = net.between(0, extent - 1)
        return net.slice(x, axis, begin, net.between(begin + 1, extent), net.pick(1, 1, 2))
    if form == "exchanged" and extent > 1:
        at = net.between(1, extent - 1)
        a, b = net.split(x, axis, at, extent - at)
        return net.concat(axis, b, bounded(net, a) if net.chance(0.5) else a)
    if form == "pad":
        pads = [net.between(0, 1) for _ in range(2 * x.rank)]
        return net.pad(x, pads, "constant", net.pick(None, 0.0, -1.5))
    if form == "gather":
        places = net.numbers.integers(0, extent, net.between(1, extent))
        shape = [len(places) if i == axis else d for i, d in enumerate(x.shape)]
        return net.op("Gather", x, net.integers(*places.tolist()), shape=shape, axis=axis)
    if form == "expand" and extent == 1:
        shape = [3 if i == axis else d for i, d in enumerate(x.shape)]
        return net.op("Expand", x, net.integers(*shape), shape=shape)
    fitting = [y for y in others if y.rank == x.rank
               and all(a == b for i, (a, b) in enumerate(zip(x.shape, y.shape)) if i != axis)]  # fmt: skip
    y = net.pick(*fitting) if fitting and net.chance(0.7) else x
    return net.concat(axis, x, y)


def windowed(net, x):
    """Convolutions, pools and resizing over what happens to have channels."""
    while x.rank < 3:
        x = net.unsqueeze(x, 0)
    if x.rank == 5 or max(x.extents) > 40:
        return x
    form = net.pick("conv", "conv", "conv", "pool", "depthwise", "resize", "transposed", "global")
    if form == "pool":
        return net.pool(x, net.pick("MaxPool", "AveragePool"), net.pick(2, 3), net.pick(1, 2))
    if form == "resize":
        return net.resize(x, [2 * e for e in x.extents], scales=[2] * len(x.extents))
    if form == "transposed":
        return net.conv_transpose(x, net.between(1, 6), net.pick(1, 2, 3), net.pick(1, 2))
    if form == "global":
        return net.global_average(x)
    group = x.channels if form == "depthwise" else 1
    return net.conv(x, x.channels if form == "depthwise" else net.between(1, 9), net.pick(1, 1, 3),
                    stride=net.pick(1, 1, 2), group=group)  # fmt: skip


STEPS = (combined, combined, combined, combined, product, product, turned, turned, counted_otherwise,
         counted_otherwise, reduced, normalized, cut, cut, windowed, "function", "function")  # fmt: skip
WITH_OTHERS = (combined, product, cut)
MOST = 600  # elements of a value


PRODUCERS = (product, product, windowed, normalized, reduced, turned)
FOLLOWERS = (combined, combined, "function")
MOVERS = (turned, turned, turned, counted_otherwise, cut)


def steps_of(net):
    """Wired at random; or what fuses: a producer, arithmetic on its result, movement, another producer."""
    if net.chance(0.5):
        return [net.pick(*STEPS) for _ in range(net.between(5, 25))]
    steps = []
    for _ in range(net.between(1, 3)):
        steps += [net.pick(*PRODUCERS), *[net.pick(*FOLLOWERS) for _ in range(net.between(0, 3))]]
        steps += [net.pick(*MOVERS), net.pick(*PRODUCERS, combined)]
    return steps


def expression(net):
    values = []
    shape = extents_of(net, net.pick(2, 3, 3, 4, 4, 4, 5))
    for _ in range(net.between(1, 2)):
        values.append(net.give(net.reals(*shape)))
        if net.chance(0.3):
            shape = extents_of(net, len(shape))
    used = set()
    freely = net.pick(0.0, 0.1, 0.3, 0.5)
    for step in steps_of(net):
        x = net.pick(*values) if net.chance(freely) else values[-1]
        used.add(x.name)
        if math.prod(x.shape) > MOST:
            step = reduced
        if step == "function":
            y = net.pick(*ACTIVATIONS)(net, x)
        else:
            y = step(net, x, values) if step in WITH_OTHERS else step(net, x)
        if y.rank == 0 or y is x:
            continue
        values.append(bounded(net, y) if net.chance(0.1) else y)
    return [y for y in values if y.name not in used][-4:] or [bounded(net, values[-1])]
