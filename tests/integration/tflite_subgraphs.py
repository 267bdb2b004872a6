"""Models of operators that call subgraphs, and of those on complex numbers: added to the cases of tflite_operators."""

import numpy as np
from tflite_models import Quantized, schema
from tflite_operators import Case, case, i32


def branches(it, shape, then, otherwise, dtype="float32", quantized=None):
    """Two subgraphs, each of which makes of its input what the function adds."""
    numbers = []
    for name, make in (("then", then), ("else", otherwise)):
        numbers.append(it.writer.begin(name))
        made = make(it.writer.input(dtype, shape, quantized))
        it.writer.end(made if isinstance(made, list) else [made])
    return dict(thenSubgraphIndex=numbers[0], elseSubgraphIndex=numbers[1])


for taken in (False, True):
    @case(f"IF {taken}")
    def _(taken=taken):
        it = Case()
        image = it.feed(it.reals(1, 4, 5, 3))
        weights = it.reals(2, 3, 3, 3)

        def convolved(x):
            ids = [x, it.writer.constant(weights), it.writer.constant(np.zeros(2, np.float32))]
            return it.op("CONV_2D", ids, [("float32", [1, 4, 5, 2], None)], padding=0, strideW=1, strideH=1)

        def pooled(x):
            first = it.op("SLICE", [x, it.writer.constant(i32(0, 0, 0, 1)), it.writer.constant(i32(1, 4, 5, 2))],
                          [("float32", [1, 4, 5, 2], None)])
            return it.op("MAX_POOL_2D", [first], [("float32", [1, 4, 5, 2], None)], padding=0, strideW=1, strideH=1,
                         filterWidth=3, filterHeight=3)

        subgraphs = branches(it, (1, 4, 5, 3), convolved, pooled)
        condition = it.feed(np.array(taken))
        before = it.op("TANH", [image], [("float32", [1, 4, 5, 3], None)])
        made = it.op("IF", [condition, before], [("float32", [1, 4, 5, 2], None)], **subgraphs)
        return it, [made, it.op("EXP", [made], [("float32", [1, 4, 5, 2], None)])]

    @case(f"IF {taken} with branches that hand on, and constants")
    def _(taken=taken):
        it = Case()
        row = it.feed(it.reals(1, 6))
        values = it.reals(1, 6)
        subgraphs = branches(it, (1, 6), lambda x: [x, x], lambda x: [it.writer.constant(values), x])
        condition = it.op("GREATER", [it.feed(np.float32(taken)), it.writer.constant(np.float32(0.5))], "bool")
        return it, it.op("IF", [condition, row], [("float32", [1, 6], None)] * 2, **subgraphs)

    @case(f"IF {taken} quantized, in an IF")
    def _(taken=taken):
        it = Case()
        quantized = Quantized(0.05, 3)
        row = it.feed(it.bytes_of(np.int8, 1, 6), quantized)
        made = [("int8", [1, 6], quantized)]
        inner = branches(it, (1, 6), lambda x: it.op("RELU", [x], made, 2),
                         lambda x: it.op("ADD", [x, x], made, 2), "int8", quantized)
        outer = branches(it, (1, 6),
                         lambda x: it.op("IF", [it.writer.constant(np.array(False)), x], made, **inner),
                         lambda x: it.op("IF", [it.writer.constant(np.array(True)), x], made, **inner), "int8", quantized)
        return it, [it.op("IF", [it.feed(np.array([taken])), row], made, **outer)]


for rounds in (0, 1, 5):
    @case(f"WHILE {rounds} rounds")
    def _(rounds=rounds):
        it = Case()
        count, row = it.feed(np.int32(rounds)), it.feed(it.reals(1, 6))
        loop = {}
        loop["condSubgraphIndex"] = it.writer.begin("cond")
        left, _ = it.writer.input("int32", []), it.writer.input("float32", (1, 6))
        it.writer.end([it.op("GREATER", [left, it.writer.constant(np.int32(0))], [("bool", [], None)])])
        loop["bodySubgraphIndex"] = it.writer.begin("body")
        left, state = it.writer.input("int32", []), it.writer.input("float32", (1, 6))
        fewer = it.op("SUB", [left, it.writer.constant(np.int32(1))], [("int32", [], None)])
        it.writer.end([fewer, it.op("MUL", [state, it.writer.constant(it.reals(1, 6))], [("float32", [1, 6], None)])])
        return it, it.op("WHILE", [count, row], [("int32", [], None), ("float32", [1, 6], None)], **loop)


@case("WHILE with a state that grows")
def _():
    it = Case()
    row = it.feed(it.reals(1, 3))
    loop = {"condSubgraphIndex": it.writer.begin("cond")}
    shape = it.op("SHAPE", [it.writer.input("float32", (1, 3), signature=[-1, 3])], [("int32", [2], None)],
                  outType=schema.TensorType.INT32)
    rows = it.op("STRIDED_SLICE", [shape] + [it.writer.constant(i32(n)) for n in (0, 1, 1)], [("int32", [], None)],
                 shrinkAxisMask=1)
    it.writer.end([it.op("LESS", [rows, it.writer.constant(np.int32(4))], [("bool", [], None)])])
    loop["bodySubgraphIndex"] = it.writer.begin("body")
    state = it.writer.input("float32", (1, 3), signature=[-1, 3])
    it.writer.end([it.op("CONCATENATION", [state, it.writer.constant(it.reals(1, 3))],
                         [("float32", [2, 3], None)], axis=0)])
    return it, [it.op("WHILE", [row], [("float32", [1, 3], None)], **loop)]


# Complex numbers.
def spectrum(it, frames, length):
    """As tf.signal.stft is converted: the transform of one row each."""
    count, width = frames.shape[-2], frames.shape[-1]
    rows = it.op("RESHAPE", [it.feed(frames), it.writer.constant(i32(count, 1, width))],
                 [("float32", [count, 1, width], None)])
    made = it.op("RFFT2D", [rows, it.writer.constant(i32(1, length))],
                 [("complex64", [count, 1, length // 2 + 1], None)])
    return it.op("RESHAPE", [made, it.writer.constant(i32(1, count, length // 2 + 1))],
                 [("complex64", [1, count, length // 2 + 1], None)])


for width, length in ((16, 16), (12, 16), (20, 16), (512, 512)):
    @case(f"RFFT2D of {width} to {length}, magnitudes")
    def _(width=width, length=length):
        it = Case()
        return it, [it.op("COMPLEX_ABS", [spectrum(it, it.reals(3, width), length)],
                          [("float32", [1, 3, length // 2 + 1], None)])]


@case("RFFT2D, REAL, IMAG and CAST")
def _():
    it = Case()
    made = spectrum(it, it.reals(5, 32), 32)
    floats = [("float32", [1, 5, 17], None)]
    real, imaginary = it.op("REAL", [made], floats), it.op("IMAG", [made], floats)
    power = it.op("ADD", [it.op("SQUARE", [real], floats), it.op("SQUARE", [imaginary], floats)], floats)
    cast = it.op("CAST", [made], floats, inDataType=schema.TensorType.COMPLEX64, outDataType=schema.TensorType.FLOAT32)
    return it, [real, imaginary, power, cast]


@case("RFFT2D of two axes")
def _():
    it = Case()
    made = it.op("RFFT2D", [it.feed(it.reals(2, 7, 12)), it.writer.constant(i32(8, 16))],
                 [("complex64", [2, 8, 9], None)])
    return it, [it.op("REAL", [made]), it.op("IMAG", [made])]


@case("RFFT2D, SQUEEZE, EXPAND_DIMS and REAL")
def _():
    it = Case()
    made = it.op("RFFT2D", [it.feed(it.reals(3, 1, 16)), it.writer.constant(i32(1, 16))],
                 [("complex64", [3, 1, 9], None)])
    flat = it.op("SQUEEZE", [made], [("complex64", [3, 9], None)], squeezeDims=[-2])
    deep = it.op("EXPAND_DIMS", [flat, it.writer.constant(np.int32(-1))], [("complex64", [3, 9, 1], None)])
    return it, [it.op("REAL", [deep]), it.op("IMAG", [flat])]
