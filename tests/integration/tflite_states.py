"""TensorFlow Lite models whose values pass from run to run: CASES, by name. Each function returns a case, its outputs and
the inputs of successive runs."""

import numpy as np
from tflite_models import Quantized, schema
from tflite_operators import Case, i32

RUNS = 5
CASES = {}


def case(name):
    def register(make):
        CASES[name] = make
        return make
    return register


def runs_of(it, make):
    """Inputs for further runs, beside those of the case."""
    return [list(it.inputs)] + [make() for _ in range(RUNS - 1)]


def handle(it, name):
    return it.op("VAR_HANDLE", [], "resource", sharedName=name, container="")


def initialized(it, **variables):
    """A CALL_ONCE that assigns these constants; (values, quantized) for quantized ones."""
    subgraph = it.writer.begin("init")
    for name, values in variables.items():
        values, quantized = values if isinstance(values, tuple) else (values, None)
        it.writer.add("ASSIGN_VARIABLE", [handle(it, name), it.writer.constant(values, quantized)], [])
    it.writer.end()
    it.writer.add("CALL_ONCE", [], [], initSubgraphIndex=subgraph)


def ring(it, name, frame, frames, kept, quantized=None, dtype="float32"):
    """The buffer of a streaming layer: the frames that are kept and the new one; the oldest goes."""
    width = list(frames)
    variable = handle(it, name)
    buffer = it.op("READ_VARIABLE", [variable], [(dtype, [1, kept, *width], quantized)])
    whole = it.op("CONCATENATION", [buffer, frame], [(dtype, [1, kept + 1, *width], quantized)],
                  version=2 if quantized else 1, axis=1)
    axes = len(width) + 2
    latest = it.op("STRIDED_SLICE", [whole, it.writer.constant(i32(*[0, 1] + [0] * (axes - 2))),
                                     it.writer.constant(i32(*[0] * axes)), it.writer.constant(i32(*[1] * axes))],
                   [(dtype, [1, kept, *width], quantized)], version=2 if quantized else 1,
                   beginMask=(1 << axes) - 3, endMask=(1 << axes) - 1)
    it.writer.add("ASSIGN_VARIABLE", [variable, latest], [])
    return whole


@case("a counter")
def _():
    it = Case()
    step = it.feed(np.float32(2.5))
    initialized(it, count=np.float32(10))
    variable = handle(it, "count")
    before = it.op("READ_VARIABLE", [variable], [("float32", [], None)])
    it.writer.add("ASSIGN_VARIABLE", [variable, it.op("ADD", [before, step], [("float32", [], None)])], [])
    after = it.op("READ_VARIABLE", [variable], [("float32", [], None)])
    return it, [before, after], runs_of(it, lambda: [it.reals()])


@case("reads before and after two writes")
def _():
    it = Case()
    row = it.feed(it.reals(2, 3))
    initialized(it, a=it.reals(2, 3), b=it.reals(2, 3))
    floats = [("float32", [2, 3], None)]
    a, b = handle(it, "a"), handle(it, "b")
    first = it.op("READ_VARIABLE", [a], floats)
    it.writer.add("ASSIGN_VARIABLE", [a, it.op("READ_VARIABLE", [b], floats)], [])
    it.writer.add("ASSIGN_VARIABLE", [handle(it, "b"), first], [])
    exchanged = it.op("READ_VARIABLE", [b], floats)
    it.writer.add("ASSIGN_VARIABLE", [a, it.op("ADD", [it.op("READ_VARIABLE", [a], floats), row], floats)], [])
    return it, [first, exchanged, it.op("READ_VARIABLE", [a], floats)], runs_of(it, lambda: [it.reals(2, 3)])


@case("variables that nothing changes are weights")
def _():
    it = Case()
    image = it.feed(it.reals(1, 5, 5, 3))
    initialized(it, weights=it.reals(2, 3, 3, 3), bias=it.reals(2))
    weights = it.op("READ_VARIABLE", [handle(it, "weights")], [("float32", [2, 3, 3, 3], None)])
    bias = it.op("READ_VARIABLE", [handle(it, "bias")], [("float32", [2], None)])
    made = it.op("CONV_2D", [image, weights, bias], [("float32", [1, 3, 3, 2], None)], padding=1, strideW=1, strideH=1)
    return it, [made], runs_of(it, lambda: [it.reals(1, 5, 5, 3)])


@case("a streaming convolution of floats")
def _():
    it = Case()
    frame = it.feed(it.reals(1, 1, 1, 8))
    initialized(it, ring=it.reals(1, 4, 1, 8))
    whole = ring(it, "ring", frame, (1, 8), 4)
    made = it.op("CONV_2D", [whole, it.writer.constant(it.reals(6, 5, 1, 8)), it.writer.constant(it.reals(6))],
                 [("float32", [1, 1, 1, 6], None)], padding=1, strideW=1, strideH=1, fusedActivationFunction=1)
    return it, [made], runs_of(it, lambda: [it.reals(1, 1, 1, 8)])


@case("a streaming network of int8")
def _():
    it = Case()
    features, inner, out = Quantized(0.1, -128), Quantized(0.05, -100), Quantized(1 / 256, -128)
    frame = it.feed(it.bytes_of(np.int8, 1, 3, 40), features)
    zeros = np.full((1, 2, 1, 40), -128, np.int8), features
    inner_zeros = np.full((1, 4, 1, 6), -100, np.int8), inner
    initialized(it, stream=zeros, stream_1=inner_zeros)
    frames = it.op("RESHAPE", [frame, it.writer.constant(i32(1, 3, 1, 40))], [("int8", [1, 3, 1, 40], features)])
    variable = handle(it, "stream")
    buffer = it.op("READ_VARIABLE", [variable], [("int8", [1, 2, 1, 40], features)])
    whole = it.op("CONCATENATION", [buffer, frames], [("int8", [1, 5, 1, 40], features)], version=2, axis=1)
    slice_ids = [whole] + [it.writer.constant(i32(*v)) for v in ((0, 3, 0, 0), (0, 0, 0, 0), (1, 1, 1, 1))]
    kept = it.op("STRIDED_SLICE", slice_ids, [("int8", [1, 2, 1, 40], features)], 2, beginMask=13, endMask=15)
    it.writer.add("ASSIGN_VARIABLE", [variable, kept], [])
    weights, quantized = it.weights(6, 5, 1, 40, axis=0)
    first = it.op("CONV_2D", [whole, weights, it.bias(6, 0.1, quantized)], [("int8", [1, 1, 1, 6], inner)], 3,
                  padding=1, strideW=3, strideH=3, fusedActivationFunction=1)
    second = ring(it, "stream_1", first, (1, 6), 4, inner, "int8")
    weights, quantized = it.weights(1, 5, 1, 6, axis=3)
    deep = it.op("DEPTHWISE_CONV_2D", [second, weights, it.bias(6, 0.05, quantized)], [("int8", [1, 1, 1, 6], inner)],
                 3, padding=1, strideW=1, strideH=1, depthMultiplier=1)
    weights, quantized = it.weights(1, 6)
    made = it.op("FULLY_CONNECTED", [deep, weights, it.bias(1, 0.05, quantized)], [("int8", [1, 1], Quantized(0.2, 5))], 4)
    made = it.op("LOGISTIC", [made], [("int8", [1, 1], out)], 2)
    return it, [made, deep], runs_of(it, lambda: [it.bytes_of(np.int8, 1, 3, 40)])


@case("IF that assigns in one branch")
def _():
    it = Case()
    condition, row = it.feed(np.array(True)), it.feed(it.reals(1, 4))
    initialized(it, sum=it.reals(1, 4))
    floats = [("float32", [1, 4], None)]
    numbers = []
    for name, assigns in (("then", True), ("else", False)):
        numbers.append(it.writer.begin(name))
        x, variable = it.writer.input("float32", (1, 4)), handle(it, "sum")
        made = it.op("ADD", [it.op("READ_VARIABLE", [variable], floats), x], floats)
        if assigns:
            it.writer.add("ASSIGN_VARIABLE", [variable, made], [])
        it.writer.end([made])
    made = it.op("IF", [condition, row], floats, thenSubgraphIndex=numbers[0], elseSubgraphIndex=numbers[1])
    after = it.op("READ_VARIABLE", [handle(it, "sum")], floats)
    return it, [made, after], [[np.array(taken), it.reals(1, 4)] for taken in (True, False, False, True, True)]


@case("WHILE that assigns")
def _():
    it = Case()
    count = it.feed(np.int32(2))
    initialized(it, product=np.array([1.5, -2], np.float32))
    loop = {"condSubgraphIndex": it.writer.begin("cond")}
    it.writer.end([it.op("GREATER", [it.writer.input("int32", []), it.writer.constant(np.int32(0))],
                         [("bool", [], None)])])
    loop["bodySubgraphIndex"] = it.writer.begin("body")
    left, variable = it.writer.input("int32", []), handle(it, "product")
    value = it.op("READ_VARIABLE", [variable], [("float32", [2], None)])
    made = it.op("MUL", [value, it.writer.constant(np.array([1.25, 0.5], np.float32))], [("float32", [2], None)])
    it.writer.add("ASSIGN_VARIABLE", [variable, made], [])
    it.writer.end([it.op("SUB", [left, it.writer.constant(np.int32(1))], [("int32", [], None)])])
    left = it.op("WHILE", [count], [("int32", [], None)], **loop)
    after = it.op("READ_VARIABLE", [handle(it, "product")], [("float32", [2], None)])
    return it, [after, left], [[np.int32(n)] for n in (2, 0, 1, 3, 0)]


# SVDF.
def svdf(batch, width, units, rank, memory, activation, bias=True):
    it = Case()
    x = it.feed(it.reals(batch, width))
    filters = units * rank
    ids = [x, it.writer.constant(it.reals(filters, width)), it.writer.constant(it.reals(filters, memory)),
           it.writer.constant(it.reals(units)) if bias else -1,
           it.writer.tensor("float32", [batch, memory * filters], variable=True)]
    made = it.op("SVDF", ids, [("float32", [batch, units], None)], rank=rank, fusedActivationFunction=activation)
    return it, [made], runs_of(it, lambda: [it.reals(batch, width)])


for sizes in ((1, 8, 4, 1, 10, 1), (2, 3, 4, 2, 10, 0), (3, 5, 2, 3, 1, 0), (1, 40, 16, 2, 3, 1)):
    CASES[f"SVDF float {sizes}"] = lambda sizes=sizes: svdf(*sizes)
CASES["SVDF float without a bias"] = lambda: svdf(2, 3, 4, 2, 5, 0, bias=False)


for sizes in ((1, 8, 4, 1, 10), (2, 12, 4, 2, 6)):
    @case(f"SVDF int8 {sizes}")
    def _(sizes=sizes):
        batch, width, units, rank, memory = sizes
        it = Case()
        filters = units * rank
        x = it.feed(it.bytes_of(np.int8, batch, width), Quantized(0.05, 7))
        feature, _ = it.weights(filters, width)
        state, time = Quantized(0.001), Quantized(0.00002)
        times = it.writer.constant(it.bytes_of(np.int16, filters, memory), time)
        bias = it.writer.constant(it.rng.integers(-2000000, 2000000, units, np.int32), Quantized(0.001 * 0.00002))
        memory_id = it.writer.tensor("int16", [batch, memory * filters], state, variable=True)
        made = it.op("SVDF", [x, feature, times, bias, memory_id], [("int8", [batch, units], Quantized(0.1, -128))], 3,
                     rank=rank, fusedActivationFunction=1)
        return it, [made], runs_of(it, lambda: [it.bytes_of(np.int8, batch, width)])


@case("SVDF with weights of int8 beside floats")
def _():
    it = Case()
    x = it.feed(it.reals(1, 10))
    state = it.writer.tensor("float32", [1, 32], variable=True)
    ids = [x, it.weights(4, 10)[0], it.weights(4, 8)[0], it.writer.constant(it.reals(4)), state]
    made = it.op("SVDF", ids, [("float32", [1, 4], None)], 2, rank=1)
    return it, [made], runs_of(it, lambda: [it.reals(1, 10)])


# Recurrent layers.
def lstm(time_major=False, coupled=False, peephole=False, projection=0, norm=False, cell_clip=0.0, proj_clip=0.0,
         activation=4, steps=4, batch=2, width=5, cells=6, projection_bias=False, hybrid=False, asymmetric=False):
    """`hybrid`: the matrices and peepholes of int8; `asymmetric`: LiteRT then rounds activations with a zero point."""
    it = Case()
    shape = (steps, batch, width) if time_major else (batch, steps, width)
    x, outputs = it.feed(it.reals(*shape)), projection or cells

    def weights(*dims, present=True):
        return it.writer.constant(it.reals(*dims, low=-0.6, high=0.6)) if present else -1

    def factors(*dims, present=True):
        if not hybrid or not present:
            return weights(*dims, present=present)
        # Sums stay below the same bound whatever the number of cells.
        scale = it.rng.uniform(0.8, 1.0) * 0.6 / 127 * min(1, (11 / (width + outputs)) ** 0.5)
        return it.writer.constant(np.maximum(it.bytes_of(np.int8, *dims), -127), Quantized(scale))

    ids = [x] + [factors(cells, width, present=not coupled or gate) for gate in range(4)]
    ids += [factors(cells, outputs, present=not coupled or gate) for gate in range(4)]
    ids += [factors(cells, present=peephole and (not coupled or gate)) for gate in range(3)]
    ids += [weights(cells, present=not coupled or gate) for gate in range(4)]
    ids += [factors(outputs, cells, present=projection), weights(outputs, present=projection_bias)]
    ids += [it.writer.tensor("float32", [batch, n], variable=True) for n in (outputs, cells)]
    if norm:
        ids += [weights(cells, present=not coupled or gate) for gate in range(4)]
    made = it.op("UNIDIRECTIONAL_SEQUENCE_LSTM", ids, [("float32", [*shape[:2], outputs], None)],
                 2 if norm or hybrid else 1, fusedActivationFunction=activation, cellClip=cell_clip, projClip=proj_clip,
                 timeMajor=time_major, asymmetricQuantizeInputs=asymmetric)
    return it, [made], runs_of(it, lambda: [it.reals(*shape)])


LSTM_FORMS = {
        "": {}, " time major": dict(time_major=True), " of one step": dict(steps=1, batch=1), " coupled": dict(coupled=True),
        " with peepholes": dict(peephole=True), " coupled with peepholes": dict(peephole=True, coupled=True),
        " with a projection": dict(projection=3, time_major=True),
        " with a projection, clipped": dict(projection=7, projection_bias=True, proj_clip=0.3),
        " with layer normalization": dict(norm=True), " coupled with layer normalization": dict(norm=True, coupled=True),
        " with clipped cells": dict(cell_clip=0.2), " with relu": dict(activation=1),
        " with everything": dict(peephole=True, projection=4, norm=True, cell_clip=0.5, proj_clip=0.4)}
for label, how in LSTM_FORMS.items():
    CASES["UNIDIRECTIONAL_SEQUENCE_LSTM float" + label] = lambda how=how: lstm(**how)
    CASES["UNIDIRECTIONAL_SEQUENCE_LSTM hybrid" + label] = lambda how=how: lstm(**how, hybrid=True)
for label, how in {" of many cells": dict(cells=40, width=24, steps=9), " asymmetric": dict(asymmetric=True),
                   " asymmetric with peepholes": dict(asymmetric=True, peephole=True, projection=5)}.items():
    CASES["UNIDIRECTIONAL_SEQUENCE_LSTM hybrid" + label] = lambda how=how: lstm(**how, hybrid=True)


@case("UNIDIRECTIONAL_SEQUENCE_LSTM with weights of int8 beside floats")
def _():
    it = Case()
    x = it.feed(it.reals(1, 4, 5))
    ids = [x] + [it.writer.constant(it.bytes_of(np.int8, 6, n), Quantized(0.004)) for n in [5] * 4 + [6] * 4]
    ids += [-1] * 3 + [it.writer.constant(it.reals(6)) for _ in range(4)] + [-1] * 2
    ids += [it.writer.tensor("float32", [1, 6], variable=True) for _ in range(2)]
    made = it.op("UNIDIRECTIONAL_SEQUENCE_LSTM", ids, [("float32", [1, 4, 6], None)], 2, fusedActivationFunction=4)
    return it, [made], runs_of(it, lambda: [it.reals(1, 4, 5)])


@case("UNIDIRECTIONAL_SEQUENCE_LSTM with weights of float16")
def _():
    it = Case()
    x = it.feed(it.reals(1, 4, 5))

    def half(*dims):
        stored = it.writer.constant(it.reals(*dims, low=-0.6, high=0.6).astype(np.float16))
        return it.op("DEQUANTIZE", [stored], [("float32", list(dims), None)], 3)

    ids = [x] + [half(6, n) for n in [5] * 4 + [6] * 4] + [-1] * 3 + [half(6) for _ in range(4)] + [-1] * 2
    ids += [it.writer.tensor("float32", [1, 6], variable=True) for _ in range(2)]
    made = it.op("UNIDIRECTIONAL_SEQUENCE_LSTM", ids, [("float32", [1, 4, 6], None)], 1, fusedActivationFunction=4)
    return it, [made], runs_of(it, lambda: [it.reals(1, 4, 5)])


def quantized_lstm(time_major=True, coupled=False, projection=0, steps=3, batch=2, width=5, cells=6, peephole=False,
                   cell_clip=0.0, proj_clip=0.0, cell_bits=3):
    """Activations of 8 bits, cells of 16, as the converter writes them."""
    it = Case()
    shape = (steps, batch, width) if time_major else (batch, steps, width)
    outputs = projection or cells
    inputs, hidden, cell = Quantized(0.01, 3), Quantized(1 / 128, -5), Quantized(2.0 ** (cell_bits - 15))
    x = it.feed(it.bytes_of(np.int8, *shape), inputs)

    def weights(*dims, present=True):
        return it.writer.constant(np.maximum(it.bytes_of(np.int8, *dims), -127), Quantized(0.004)) if present else -1

    def bias(count, scale, present=True):
        return it.writer.constant(it.rng.integers(-5000, 5000, count, np.int32), Quantized(scale)) if present else -1

    ids = [x] + [weights(cells, width, present=not coupled or gate) for gate in range(4)]
    ids += [weights(cells, outputs, present=not coupled or gate) for gate in range(4)]
    for gate in range(3):
        present = peephole and (not coupled or gate)
        ids.append(it.writer.constant(it.bytes_of(np.int16, cells), Quantized(0.00002)) if present else -1)
    ids += [bias(cells, 0.01 * 0.004, present=not coupled or gate) for gate in range(4)]
    ids += [weights(outputs, cells, present=projection), bias(outputs, 0.004 / 128, present=projection)]
    ids += [it.writer.tensor("int8", [batch, outputs], hidden, variable=True),
            it.writer.tensor("int16", [batch, cells], cell, variable=True)]
    within = [it.writer.tensor("int16", [0], Quantized(2.0 ** -12)) for _ in range(4)]
    within.append(it.writer.tensor("int8", [0], hidden))
    made = it.op("UNIDIRECTIONAL_SEQUENCE_LSTM", ids, [("int8", [*shape[:2], outputs], hidden)], 1,
                 intermediates=within, fusedActivationFunction=4, timeMajor=time_major, cellClip=cell_clip,
                 projClip=proj_clip)
    return it, [made], runs_of(it, lambda: [it.bytes_of(np.int8, *shape)])


for label, how in {"": {}, " batch major": dict(time_major=False), " coupled": dict(coupled=True),
                   " with a projection": dict(projection=4), " with peepholes": dict(peephole=True),
                   " of many cells": dict(cells=40, width=24, steps=9), " with large cells": dict(cell_bits=5, steps=6),
                   " with clipped cells": dict(cell_clip=0.3, peephole=True),
                   " with everything": dict(projection=5, peephole=True, proj_clip=0.4, cells=17, steps=5)}.items():
    CASES["UNIDIRECTIONAL_SEQUENCE_LSTM int8" + label] = lambda how=how: quantized_lstm(**how)
