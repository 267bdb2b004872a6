#!/usr/bin/env python3
"""Makes the small models that tests need, into the folder given."""

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


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, make in {"tutorial": tutorial, "tutorial_cut": tutorial_cut, "small": small,
                       "two_inputs": two_inputs, "values": values}.items():
        with open(os.path.join(folder, name + ".onnx"), "wb") as file:
            file.write(make())


if __name__ == "__main__":
    main()
