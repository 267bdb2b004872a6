"""Graphs for plugins (plugin_graph.hpp): one for each operator that a plugin of the tree takes, and the combinations that
oneDNN's fusion looks for."""

FLOAT, UINT8, INT8, INT32, INT64, HALF = 1, 2, 3, 6, 7, 10


class Graph:
    """Writes the lines; extents are lists, attributes keywords."""

    def __init__(self):
        self.values, self.nodes = [], []

    def value(self, name, dims, role, dtype=FLOAT, numbers=()):
        extents = ",".join(map(str, dims)) or "."
        self.values.append(" ".join(map(str, ["value", name, dtype, extents, role, *numbers])))
        return name

    def input(self, name, dims, dtype=FLOAT):
        return self.value(name, dims, "input", dtype)

    def constant(self, name, dims, dtype=FLOAT, numbers=()):
        return self.value(name, dims, "constant", dtype, numbers)

    def ints(self, name, *numbers):
        return self.constant(name, [len(numbers)], INT64, numbers)

    def node(self, op, inputs, dims, version=13, name=None, role="inner", dtype=FLOAT, **attributes):
        made = self.value(name or f"v{len(self.values)}", dims, role, dtype)
        self.operation(op, inputs, [made], version, **attributes)
        return made

    def operation(self, op, inputs, outputs, version, **attributes):
        self.nodes.append(f"node {op} {version} {','.join(inputs) or '-'} {','.join(outputs)}")
        for name, value in attributes.items():
            values = value if isinstance(value, (list, tuple)) else [value]
            kind = {int: "int", float: "float", str: "string"}[type(values[0])]
            many = "s" if values is value else ""
            self.nodes.append(" ".join(map(str, [kind + many, name, *values])))

    def output(self, op, inputs, dims, version=13, **attributes):
        return self.node(op, inputs, dims, version, name=f"y{len(self.values)}", role="output", **attributes)

    def content(self):
        return ("\n".join(self.values + self.nodes) + "\n").encode()


def windows(graph):
    x = graph.input("x", [1, 4, 9, 8])
    w, b = graph.constant("w", [6, 2, 3, 3]), graph.constant("b", [6])
    graph.output("Conv", [x, w, b], [1, 6, 5, 4], 11, group=2, strides=[2, 2], pads=[1, 1, 1, 1], dilations=[1, 1],
                 kernel_shape=[3, 3])
    graph.output("Conv", [x, graph.constant("d", [2, 4, 2, 3])], [1, 2, 9, 8], 11, auto_pad="SAME_UPPER")
    t = graph.constant("t", [4, 3, 2, 2])
    graph.output("ConvTranspose", [x, t, graph.constant("c", [3])], [1, 3, 18, 16], 11, strides=[2, 2])
    graph.output("ConvTranspose", [x, t], [1, 3, 10, 10], 11, dilations=[2, 2], output_padding=[0, 1],
                 pads=[0, 0, 1, 1], strides=[1, 1])
    graph.output("MaxPool", [x], [1, 4, 4, 4], 12, kernel_shape=[3, 2], strides=[2, 2], ceil_mode=0)
    graph.output("AveragePool", [x], [1, 4, 9, 8], 11, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
    graph.output("GlobalAveragePool", [x], [1, 4, 1, 1], 1)
    graph.output("GlobalMaxPool", [x], [1, 4, 1, 1], 1)


def lines(graph):
    x = graph.input("x", [2, 8, 12])
    graph.output("Conv", [x, graph.constant("w", [8, 1, 3])], [2, 8, 10], 11, group=8)
    graph.output("MaxPool", [x], [2, 8, 6], 12, kernel_shape=[2], strides=[2])
    graph.output("ConvTranspose", [x, graph.constant("t", [8, 2, 4])], [2, 4, 25], 11, group=2, strides=[2], pads=[1, 0])
    graph.output("GlobalAveragePool", [x], [2, 8, 1], 1)


def winograd(graph):
    x = graph.input("x", [1, 16, 10, 10])
    c = graph.node("Conv", [x, graph.constant("w", [16, 16, 3, 3]), graph.constant("b", [16])], [1, 16, 10, 10], 11,
                   pads=[1, 1, 1, 1])
    s = graph.node("Add", [c, x], [1, 16, 10, 10], 14)
    graph.output("Relu", [s], [1, 16, 10, 10], 14)


def products(graph):
    x, b = graph.input("x", [4, 16]), graph.constant("w", [16, 8])
    m = graph.node("MatMul", [x, b], [4, 8])
    graph.output("Add", [m, graph.constant("b", [8])], [4, 8], 14)
    graph.output("Gemm", [x, graph.constant("g", [6, 16]), graph.constant("c", [1, 6])], [4, 6], 13, transB=1, alpha=0.5,
                 beta=2.0)
    stack = graph.input("z", [2, 3, 5, 7])
    k = graph.node("Transpose", [stack], [2, 3, 7, 5], perm=[0, 1, 3, 2])
    p = graph.node("MatMul", [stack, k], [2, 3, 5, 5])
    s = graph.node("Softmax", [p], [2, 3, 5, 5], axis=-1)
    q = graph.node("MatMul", [s, stack], [2, 3, 5, 7])
    graph.output("Transpose", [q], [2, 5, 3, 7], perm=[0, 2, 1, 3])


ONE = ("Relu", "LeakyRelu", "Elu", "Sigmoid", "HardSigmoid", "HardSwish", "Tanh", "Softplus", "Mish", "Gelu", "Erf", "Exp",
       "Sqrt", "Reciprocal", "Abs", "Neg", "Round", "Identity", "Dropout", "Softmax", "LogSoftmax")


def functions(graph):
    x = graph.input("x", [3, 20])
    for op in ONE:
        graph.output(op, [x], [3, 20], 13 if op not in ("HardSwish", "Mish", "Gelu") else 18)


def chains(graph):
    x = last = graph.input("x", [2, 4, 3, 5])
    for op in ("LeakyRelu", "Abs", "Sqrt", "Tanh", "Exp"):
        last = graph.node(op, [last], [2, 4, 3, 5])
    clipped = graph.node("Clip", [last, graph.constant("low", [], FLOAT, [0]), graph.constant("high", [], FLOAT, [6])],
                         [2, 4, 3, 5])
    power = graph.node("Pow", [clipped, graph.constant("two", [], FLOAT, [2])], [2, 4, 3, 5])
    graph.output("PRelu", [power, graph.constant("slope", [4, 1, 1])], [2, 4, 3, 5], 16)
    graph.output("Div", [power, x], [2, 4, 3, 5], 14)
    for op in ("Sum", "Max", "Min", "Mean"):
        graph.output(op, [x, power, graph.constant("c" + op, [3, 1])], [2, 4, 3, 5])


def normalized(graph):
    x = graph.input("x", [2, 6, 3, 3])
    per_channel = [graph.constant(name, [6], FLOAT, [1, 2, 3]) for name in ("s", "b", "m", "v")]
    n = graph.node("BatchNormalization", [x, *per_channel], [2, 6, 3, 3], 15, epsilon=0.01)
    graph.output("LRN", [n], [2, 6, 3, 3], 13, size=3, alpha=0.1, beta=0.5, bias=1.0)
    rows = graph.input("r", [2, 5, 12])
    graph.output("LayerNormalization", [rows, graph.constant("g", [12]), graph.constant("h", [12])], [2, 5, 12], 17,
                 axis=-1, epsilon=0.001)
    mean = graph.node("ReduceMean", [rows], [2, 5, 1], axes=[-1], keepdims=1)
    centred = graph.node("Sub", [rows, mean], [2, 5, 12], 14)
    squares = graph.node("Mul", [centred, centred], [2, 5, 12], 14)
    variance = graph.node("ReduceMean", [squares], [2, 5, 1], axes=[-1], keepdims=1)
    shifted = graph.node("Add", [variance, graph.constant("e", [], FLOAT, [0.001])], [2, 5, 1], 14)
    root = graph.node("Sqrt", [shifted], [2, 5, 1])
    graph.output("Div", [centred, root], [2, 5, 12], 14)


def moved(graph):
    x = graph.input("x", [1, 8, 4, 6])
    r = graph.node("Relu", [x], [1, 8, 4, 6], 14)
    graph.output("DepthToSpace", [r], [1, 2, 8, 12], 13, blocksize=2, mode="DCR")
    graph.output("SpaceToDepth", [r], [1, 32, 2, 3], 13, blocksize=2)
    a, b = graph.value("a", [1, 3, 4, 6], "output"), graph.value("b", [1, 5, 4, 6], "output")
    graph.operation("Split", [r, graph.ints("parts", 3, 5)], [a, b], 13, axis=1)
    graph.output("Slice", [r, graph.ints("from", 1, 2), graph.ints("to", 3, 5), graph.ints("on", 2, 3)], [1, 8, 2, 3])
    graph.output("Pad", [r, graph.ints("pads", 0, 0, 1, 2, 0, 0, 0, 1)], [1, 8, 5, 9], 13, mode="constant")
    graph.output("Concat", [r, x], [1, 16, 4, 6], axis=1)
    f = graph.node("Flatten", [r], [1, 192], axis=1)
    graph.output("Reshape", [f, graph.ints("shape", 4, 48)], [4, 48], 14)
    u = graph.node("Unsqueeze", [r, graph.ints("axes", 0)], [1, 1, 8, 4, 6])
    graph.output("Squeeze", [u, "axes"], [1, 8, 4, 6])


def reduced(graph):
    x = graph.input("x", [2, 3, 4, 5])
    graph.output("ReduceSum", [x, graph.ints("axes", 1, -1)], [2, 1, 4, 1], 13, keepdims=1)
    graph.output("ReduceMax", [x], [2, 3], 13, axes=[2, 3], keepdims=0)
    graph.output("ReduceMin", [x], [], 13, keepdims=0)
    graph.output("ReduceMean", [x], [2, 3, 1, 5], 13, axes=[2])


def resized(graph):
    x = graph.input("x", [1, 2, 3, 4])
    none, scales = graph.constant("none", [0]), graph.constant("scales", [4], FLOAT, [1, 1, 2, 2])
    graph.output("Resize", [x, none, scales], [1, 2, 6, 8], 13, mode="nearest", nearest_mode="floor",
                 coordinate_transformation_mode="asymmetric")
    graph.output("Resize", [x, none, scales], [1, 2, 6, 8], 13, mode="linear")


def quantized(graph):
    x = graph.input("x", [1, 4, 6, 6], UINT8)
    scale, zero = graph.constant("scale", [], FLOAT, [0.05]), graph.constant("zero", [], UINT8, [128])
    d = graph.node("DequantizeLinear", [x, scale, zero], [1, 4, 6, 6])
    scales, zeros = graph.constant("scales", [8], FLOAT, [0.01, 0.02]), graph.constant("zeros", [8], INT8, [0])
    w = graph.node("DequantizeLinear", [graph.constant("w", [8, 4, 3, 3], INT8), scales, zeros], [8, 4, 3, 3], 13, axis=0)
    bias = graph.node("DequantizeLinear", [graph.constant("b", [8], INT32), graph.constant("bs", [8], FLOAT, [0.001])],
                      [8], 13, axis=0)
    c = graph.node("Conv", [d, w, bias], [1, 8, 4, 4], 11)
    r = graph.node("Relu", [c], [1, 8, 4, 4], 14)
    q = graph.node("QuantizeLinear", [r, scale, zero], [1, 8, 4, 4], 13, dtype=UINT8)
    e = graph.node("DequantizeLinear", [q, scale, zero], [1, 8, 4, 4])
    s = graph.node("Add", [e, e], [1, 8, 4, 4], 14)
    graph.output("QuantizeLinear", [s, graph.constant("out", [], FLOAT, [0.1]), zero], [1, 8, 4, 4], 13, dtype=UINT8)
    flat = graph.node("Reshape", [e, graph.ints("shape", 1, 128)], [1, 128], 14)
    m = graph.node("DequantizeLinear", [graph.constant("mw", [128, 5], INT8), scale], [128, 5])
    p = graph.node("MatMul", [flat, m], [1, 5])
    graph.output("QuantizeLinear", [p, scale, zero], [1, 5], 13, dtype=UINT8)


def halves(graph):
    x = graph.input("x", [2, 4, 8, 8], HALF)
    w, b = graph.constant("w", [4, 4, 1, 1], HALF), graph.constant("b", [4], HALF)
    c = graph.node("Conv", [x, w, b], [2, 4, 8, 8], 11, dtype=HALF)
    a = graph.node("Add", [c, graph.constant("k", [], HALF)], [2, 4, 8, 8], 14, dtype=HALF)
    graph.output("MaxPool", [a], [2, 4, 4, 4], 12, dtype=HALF, kernel_shape=[2, 2], strides=[2, 2])


def gated(graph):
    x = graph.input("x", [4, 32])
    graph.output("Gate@org.deputy.sim_npu", [x], [4, 32], 1, slope=0.25)
    e = graph.node("Erf", [graph.node("Mul", [x, graph.constant("h", [], FLOAT, [0.70710678])], [4, 32], 14)], [4, 32])
    o = graph.node("Add", [e, graph.constant("one", [], FLOAT, [1])], [4, 32], 14)
    m = graph.node("Mul", [x, o], [4, 32], 14)
    graph.output("Mul", [m, graph.constant("half", [], FLOAT, [0.5])], [4, 32], 14)
    s = graph.node("Sigmoid", [x], [4, 32])
    graph.output("Mul", [x, s], [4, 32], 14)


def unknown(graph):
    x = graph.input("x", [-1, 3])
    r = graph.node("Relu", [x], [-1, 3], 14)
    graph.output("MatMul", [r, graph.constant("w", [3, 4])], [-1, 4])


GRAPHS = (windows, lines, winograd, products, functions, chains, normalized, moved, reduced, resized, quantized, halves,
          gated, unknown)


def files():
    made = {}
    for write in GRAPHS:
        graph = Graph()
        write(graph)
        made[f"{write.__name__}.txt"] = graph.content()
    return made
