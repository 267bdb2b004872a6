#!/usr/bin/env python3
"""Makes the small models that tests need, into the folder given."""

import math
import os
import sys

import onnx_bytes as onnx

EXTENTS = [2, 3]


def tutorial():
    """Everything that the tutorial's delegate knows, and nothing else."""
    nodes = [
        onnx.node("Add", ["x", "y"], ["sum"], "add"),
        onnx.node("LeakyRelu", ["sum"], ["leaky"], "leaky", alpha=0.25),
        onnx.node("Mul", ["leaky", "x"], ["product"], "mul"),
        onnx.node("Sigmoid", ["product"], ["gate"], "sigmoid"),
        onnx.node("Relu", ["gate"], ["z"], "relu"),
    ]
    inputs = [onnx.value_info("x", EXTENTS), onnx.value_info("y", EXTENTS)]
    return onnx.model(nodes, inputs, [onnx.value_info("z", EXTENTS)])


def tutorial_cut():
    """Single supported nodes around one that the tutorial's delegate does not know, and one at the end."""
    nodes = [
        onnx.node("Relu", ["x"], ["a"], "first"),
        onnx.node("Exp", ["a"], ["b"], "unknown"),
        onnx.node("Add", ["b", "x"], ["z"], "last"),
    ]
    return onnx.model(nodes, [onnx.value_info("x", EXTENTS)], [onnx.value_info("z", EXTENTS)])


def small():
    """Add and Relu around an operator that a delegate of the two does not know, and an Add that broadcasts."""
    extents = [64, 65]
    nodes = [
        onnx.node("Add", ["x", "y"], ["sum"], "sum"),
        onnx.node("Relu", ["sum"], ["positive"], "positive"),
        onnx.node("Add", ["positive", "weights"], ["shifted"], "shifted"),
        onnx.node("Exp", ["shifted"], ["unknown"], "unknown"),
        onnx.node("Add", ["unknown", "positive"], ["joined"], "joined"),
        onnx.node("Relu", ["joined"], ["z"], "z"),
        onnx.node("Add", ["z", "row"], ["broadcast"], "broadcast"),
    ]
    weights = [(index * 7919 % 1000 - 500) / 250 for index in range(64 * 65)]
    return onnx.model(nodes, [onnx.value_info("x", extents), onnx.value_info("y", extents)],
                      [onnx.value_info("z", extents), onnx.value_info("broadcast", extents)],
                      initializers=[onnx.tensor(weights, extents, "weights"), onnx.tensor(weights[:65], [65], "row")])


def two_inputs():
    """x [n,3] plus a row that does not know n; in the row's way is an operator that oneDNN is not given."""
    nodes = [
        onnx.node("Sigmoid", ["row"], ["gate"], "gate"),
        onnx.node("Log", ["gate"], ["log"], "log"),
        onnx.node("Add", ["x", "log"], ["y"], "sum"),
    ]
    inputs = [onnx.value_info("x", ["n", 3]), onnx.value_info("row", [1, 3])]
    return onnx.model(nodes, inputs, [onnx.value_info("y", ["n", 3])])


def values():
    """Takes and makes what is no tensor: x [n] goes to the end of a sequence, and whether `maybe` is there is told."""
    nodes = [
        onnx.node("SequenceInsert", ["sequence", "x"], ["longer"], "insert"),
        onnx.node("SequenceLength", ["longer"], ["length"], "length"),
        onnx.node("OptionalHasElement", ["maybe"], ["there"], "there"),
    ]
    inputs = [onnx.sequence_info("sequence", ["k"]), onnx.value_info("x", ["n"]),
              onnx.sequence_info("maybe", [2], optional=True)]
    outputs = [onnx.sequence_info("longer", ["k"]), onnx.value_info("length", [], 7), onnx.value_info("there", [], 9)]
    return onnx.model(nodes, inputs, outputs, opset=16)


def many_outputs(count=400):
    """y{i} = Relu(x{i}); then x0 itself, y1 once more, and the positions of what is not zero in x2."""
    nodes = [onnx.node("Relu", [f"x{i}"], [f"y{i}"], f"relu{i}") for i in range(count)]
    nodes.append(onnx.node("NonZero", ["x2"], ["positions"], "positions"))
    names = [f"y{i}" for i in range(count)]
    outputs = [onnx.value_info(name, EXTENTS) for name in [*names, "x0", "y1"]]
    outputs.append(onnx.value_info("positions", [2, "found"], 7))
    return onnx.model(nodes, [onnx.value_info(f"x{i}", EXTENTS) for i in range(count)], outputs)


def unprintable_outputs():
    """Two outputs whose names hold a terminal's escape and a line's end."""
    names = ["red\x1b[31m", "two\nlines"]
    return onnx.model([onnx.node("Relu", ["x"], [names[0]], "relu"), onnx.node("Neg", ["x"], [names[1]], "neg")],
                      [onnx.value_info("x", EXTENTS)], [onnx.value_info(name, EXTENTS) for name in names])  # fmt: skip


def relu():
    """One node that any delegate for tests has."""
    return onnx.model([onnx.node("Relu", ["x"], ["y"], "the relu")], [onnx.value_info("x", EXTENTS)],
                      [onnx.value_info("y", EXTENTS)])  # fmt: skip


def branches():
    """The sum of b and of what a branch makes of a; their first extent is the same symbol."""
    extents = ["n", 3]
    then_branch = onnx.graph([onnx.node("Relu", ["a"], ["then"], "positive")], [], [onnx.value_info("then", extents)])
    else_branch = onnx.graph([onnx.node("Neg", ["a"], ["else"], "negative")], [], [onnx.value_info("else", extents)])
    nodes = [onnx.node("If", ["c"], ["made"], "choice", then_branch=then_branch, else_branch=else_branch),
             onnx.node("Add", ["made", "b"], ["y"], "sum")]  # fmt: skip
    inputs = [onnx.value_info("c", [], 9), onnx.value_info("a", extents), onnx.value_info("b", extents)]
    return onnx.model(nodes, inputs, [onnx.value_info("y", extents)])


def blocks_of_two():
    """One node that takes even extents only."""
    return onnx.model([onnx.node("SpaceToDepth", ["x"], ["y"], "blocks", blocksize=2)],
                      [onnx.value_info("x", [1, 1, "h", "w"])], [onnx.value_info("y", [1, 4, "i", "j"])])  # fmt: skip


def long_pool():
    """One node that keeps a CPU busy for much longer than any test may take."""
    node = onnx.node("LpPool", ["x"], ["y"], "the pool", kernel_shape=[512, 512], p=3)
    return onnx.model([node], [onnx.value_info("x", [1, 1, 1024, 1024])], [onnx.value_info("y", [1, 1, 513, 513])])


def pyramid():
    """What delegates like to fuse: a lateral Add behind a Resize, a Sub of two results, a wide convolution; with an x of
    hundreds, `products` are too large for half precision. Extents of x: [n, 3, 4 i, 4 j]."""

    def weights(name, shape):
        count = math.prod(shape)
        values = [(index * 7919 % 1009 - 504) / 504 / math.sqrt(count / shape[0]) for index in range(count)]
        return onnx.tensor(values, shape, name)

    nodes = [
        onnx.node("Conv", ["x", "stem_w", "stem_b"], ["stem"], "stem", pads=[1, 1, 1, 1]),
        onnx.node("Relu", ["stem"], ["low"], "low"),
        onnx.node("MaxPool", ["low"], ["small"], "small", kernel_shape=[2, 2], strides=[2, 2]),
        onnx.node("Conv", ["small", "wide_w"], ["wide"], "wide", pads=[1, 1, 1, 1]),
        onnx.node("Sigmoid", ["wide"], ["gate"], "gate"),
        onnx.node("Conv", ["gate", "narrow_w"], ["narrow"], "narrow"),
        onnx.node("Resize", ["narrow", "", "scales"], ["up"], "up", mode="nearest"),
        onnx.node("Add", ["up", "low"], ["lateral"], "lateral"),
        onnx.node("Tanh", ["lateral"], ["bounded"], "bounded"),
        onnx.node("Sub", ["lateral", "bounded"], ["difference"], "difference"),
        onnx.node("Mul", ["difference", "low"], ["products"], "products"),
        onnx.node("ReduceMean", ["products"], ["mean"], "mean", axes=[2, 3], keepdims=0),
        onnx.node("Gemm", ["mean", "head_w", "head_b"], ["y"], "head"),
    ]
    initializers = [weights("stem_w", [8, 3, 3, 3]), weights("stem_b", [8]), weights("wide_w", [80, 8, 3, 3]),
                    weights("narrow_w", [8, 80, 1, 1]), onnx.tensor([1, 1, 2, 2], [4], "scales"),
                    weights("head_w", [8, 5]), weights("head_b", [5])]  # fmt: skip
    return onnx.model(nodes, [onnx.value_info("x", ["n", 3, "h", "w"])], [onnx.value_info("y", ["n", 5])],
                      initializers=initializers)


def unsteady_norm():
    """A normalization over rows whose variance is the mean of squares minus the square of the mean: with a mean far from
    0 nearly all digits cancel, so that correct engines differ by percents."""
    extents = ["n", 96]
    nodes = [
        onnx.node("MatMul", ["x", "average"], ["mean"], "mean"),
        onnx.node("Mul", ["x", "x"], ["squares"], "squares"),
        onnx.node("MatMul", ["squares", "average"], ["mean_square"], "mean_square"),
        onnx.node("Mul", ["mean", "mean"], ["square_mean"], "square_mean"),
        onnx.node("Sub", ["mean_square", "square_mean"], ["variance"], "variance"),
        onnx.node("Add", ["variance", "epsilon"], ["positive"], "positive"),
        onnx.node("Sqrt", ["positive"], ["deviation"], "deviation"),
        onnx.node("Sub", ["x", "mean"], ["centred"], "centred"),
        onnx.node("Div", ["centred", "deviation"], ["y"], "normal"),
    ]
    return onnx.model(nodes, [onnx.value_info("x", extents)], [onnx.value_info("y", extents)],
                      initializers=[onnx.tensor([1e-3], [1], "epsilon"), onnx.tensor([1 / 96] * 96, [96, 1], "average")])


def counting():
    """Counts the iterations of a loop in a loop: `outer` times `inner`, in float."""
    inner_body = onnx.graph(
        [onnx.node("Add", ["sum", "one"], ["sum_out"], "count"), onnx.node("Identity", ["c"], ["c_out"])],
        [onnx.value_info("j", [], 7), onnx.value_info("c", [], 9), onnx.value_info("sum", [])],
        [onnx.value_info("c_out", [], 9), onnx.value_info("sum_out", [])])  # fmt: skip
    outer_body = onnx.graph(
        [onnx.node("Loop", ["inner", "", "total"], ["total_out"], "inner", body=inner_body),
         onnx.node("Identity", ["d"], ["d_out"])],
        [onnx.value_info("i", [], 7), onnx.value_info("d", [], 9), onnx.value_info("total", [])],
        [onnx.value_info("d_out", [], 9), onnx.value_info("total_out", [])])  # fmt: skip
    return onnx.model([onnx.node("Loop", ["outer", "", "zero"], ["y"], "outer", body=outer_body)],
                      [onnx.value_info("outer", [], 7), onnx.value_info("inner", [], 7)], [onnx.value_info("y", [])],
                      initializers=[onnx.tensor([0], [], "zero"), onnx.tensor([1], [], "one")])  # fmt: skip


def nested(levels):
    """y = relu(x) `levels` graphs down, of Ifs and Loops of one iteration in turn; c is true, n is 1."""
    extents = [2, 3]
    inside = [onnx.node("Relu", ["x"], ["y0"], "deepest")]
    for level in range(1, levels):
        name, last = f"level {levels - level}", f"y{level - 1}"
        if level % 2:
            then_branch = onnx.graph(inside, [], [onnx.value_info(last, extents)])
            other = onnx.graph([onnx.node("Neg", ["x"], [f"else{level}"])], [], [onnx.value_info(f"else{level}", extents)])
            inside = [onnx.node("If", ["c"], [f"y{level}"], name, then_branch=then_branch, else_branch=other)]
        else:
            nodes = inside + [onnx.node("Identity", [f"go{level}"], [f"on{level}"])]
            body = onnx.graph(nodes, [onnx.value_info(f"i{level}", [], 7), onnx.value_info(f"go{level}", [], 9),
                                      onnx.value_info(f"s{level}", extents)],
                              [onnx.value_info(f"on{level}", [], 9), onnx.value_info(last, extents)])  # fmt: skip
            inside = [onnx.node("Loop", ["n", "", "x"], [f"y{level}"], name, body=body)]
    return onnx.model(inside, [onnx.value_info("x", extents), onnx.value_info("c", [], 9), onnx.value_info("n", [], 7)],
                      [onnx.value_info(f"y{levels - 1}", extents)])  # fmt: skip


def chain(length):
    """Adds and Relus in turn."""
    nodes, last = [], "x"
    for i in range(length):
        inputs = [last] if i % 2 else [last, "step"]
        nodes.append(onnx.node("Relu" if i % 2 else "Add", inputs, [f"v{i}"], f"node {i}"))
        last = f"v{i}"
    return onnx.model(nodes, [onnx.value_info("x", [1, 4])], [onnx.value_info(last, [1, 4])],
                      initializers=[onnx.tensor([0.25, -0.5, 0.125, -0.0625], [1, 4], "step")])


def two_at_once(extents):
    """y = exp(x) - exp(x), by way of two values that live at the same time."""
    nodes = [
        onnx.node("Exp", ["x"], ["a"], "first"),
        onnx.node("Neg", ["a"], ["b"], "second"),
        onnx.node("Add", ["a", "b"], ["y"], "last"),
    ]
    return onnx.model(nodes, [onnx.value_info("x", extents)], [onnx.value_info("y", extents)])


def wide():
    return two_at_once([1000, 1000])


def open_rows():
    return two_at_once(["n", 100])


def expanding():
    """Zeros of the extents that the input has, which no plan knows."""
    return onnx.model([onnx.node("ConstantOfShape", ["extents"], ["grown"], "grow")],
                      [onnx.value_info("extents", [2], 7)], [onnx.value_info("grown", ["rows", "columns"])])  # fmt: skip


def filters():
    """One convolution whose weights the CPU packs."""
    weights = [(index * 7919 % 1009 - 504) / 5040 for index in range(64 * 64 * 9)]
    node = onnx.node("Conv", ["x", "w"], ["y"], "the filters", pads=[1, 1, 1, 1])
    extents = [1, 64, 16, 16]
    return onnx.model([node], [onnx.value_info("x", extents)], [onnx.value_info("y", extents)],
                      initializers=[onnx.tensor(weights, [64, 64, 3, 3], "w")])  # fmt: skip


def in_turn(op, count, source, name):
    """`count` nodes of one operator, one after another, and the name of the last result."""
    names = [source] + [f"{name}{i}" for i in range(count)]
    return [onnx.node(op, [names[i]], [names[i + 1]], names[i + 1]) for i in range(count)], names[-1]


def two_branches():
    """Two chains that do not wait for each other, of operators that can be placed apart."""
    left, last_left = in_turn("Tanh", 200, "x", "left")
    right, last_right = in_turn("Sigmoid", 200, "x", "right")
    return onnx.model(left + right + [onnx.node("Add", [last_left, last_right], ["y"], "sum")],
                      [onnx.value_info("x", [4, 16])], [onnx.value_info("y", [4, 16])])  # fmt: skip


def two_stages():
    """The same chains, one after the other."""
    first, between = in_turn("Tanh", 200, "x", "first")
    second, last = in_turn("Sigmoid", 200, between, "second")
    return onnx.model(first + second + [onnx.node("Neg", [last], ["y"], "negated")],
                      [onnx.value_info("x", [4, 16])], [onnx.value_info("y", [4, 16])])  # fmt: skip


def around_the_cpu():
    """Two partitions of sim_npu with one of the CPU beside them: only the device touches b."""
    shape = [4, 16]
    return onnx.model(
        [onnx.node("Relu", ["x"], ["a"], "relu"), onnx.node("Tanh", ["a"], ["b"], "tanh"),
         onnx.node("Erf", ["a"], ["t"], "erf"), onnx.node("Add", ["b", "t"], ["y"], "add")],
        [onnx.value_info("x", shape)], [onnx.value_info("y", shape)])  # fmt: skip


def faint():
    """Numbers of 1e-8, which y needs."""
    return onnx.model(
        [onnx.node("Mul", ["x", "less"], ["a"], "smaller"), onnx.node("Tanh", ["a"], ["b"], "tanh"),
         onnx.node("Mul", ["b", "more"], ["y"], "larger")],
        [onnx.value_info("x", [4])], [onnx.value_info("y", [4])],
        initializers=[onnx.tensor([1e-8], [1], "less"), onnx.tensor([1e9], [1], "more")])  # fmt: skip


def adding_up():
    """next = tanh(x) + last, all of it on sim_npu."""
    shape = [4, 16]
    return onnx.model(
        [onnx.node("Tanh", ["x"], ["a"], "tanh"), onnx.node("Add", ["a", "last"], ["next"], "add")],
        [onnx.value_info("x", shape), onnx.value_info("last", shape)], [onnx.value_info("next", shape)])  # fmt: skip


def expanded():
    """y = x + a row, which a plan holds as often as x has rows."""
    return onnx.model(
        [onnx.node("Shape", ["x"], ["extents"], "shape"), onnx.node("Expand", ["row", "extents"], ["rows"], "expand"),
         onnx.node("Add", ["x", "rows"], ["y"], "add")],
        [onnx.value_info("x", ["n", 4])], [onnx.value_info("y", ["n", 4])],
        initializers=[onnx.tensor([1, 2, 3, 4], [1, 4], "row")])  # fmt: skip


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, make in {"tutorial": tutorial, "tutorial_cut": tutorial_cut, "small": small,
                       "two_inputs": two_inputs, "values": values, "many_outputs": many_outputs,
                       "unprintable_outputs": unprintable_outputs, "relu": relu,
                       "branches": branches, "blocks_of_two": blocks_of_two, "long_pool": long_pool, "pyramid": pyramid,
                       "unsteady_norm": unsteady_norm, "counting": counting, "wide": wide, "open_rows": open_rows,
                       "expanded": expanded, "expanding": expanding, "filters": filters, "two_branches": two_branches,
                       "two_stages": two_stages, "around_the_cpu": around_the_cpu,
                       "adding_up": adding_up, "faint": faint, "nested": lambda: nested(32),
                       "chain": lambda: chain(20000)}.items():
        with open(os.path.join(folder, name + ".onnx"), "wb") as file:
            file.write(make())


if __name__ == "__main__":
    main()
