#!/usr/bin/env python3
"""Makes the models that the samples run, into the folder given."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))

import onnx_bytes as onnx  # noqa: E402: found by the line before


def residual():
    """Two convolutions around which a value is carried past, and a pool."""
    weights = [((i * 7919) % 201 - 100) / 300 for i in range(4 * 4 * 3 * 3)]
    nodes = [
        onnx.node("Conv", ["x", "w"], ["a"], "conv1", pads=[1, 1, 1, 1]),
        onnx.node("Relu", ["a"], ["b"], "relu1"),
        onnx.node("Conv", ["b", "w", "bias"], ["c"], "conv2", pads=[1, 1, 1, 1]),
        onnx.node("Add", ["c", "b"], ["d"], "add"),
        onnx.node("Relu", ["d"], ["e"], "relu2"),
        onnx.node("MaxPool", ["e"], ["y"], "pool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
    ]
    constants = [onnx.tensor(weights, [4, 4, 3, 3], "w"), onnx.tensor([0.5, -0.5, 0.25, 0], [4], "bias")]
    return onnx.model(nodes, [onnx.value_info("x", [1, 4, 9, 9])], [onnx.value_info("y", [1, 4, 5, 5])],
                      initializers=constants)  # fmt: skip


def add_mul_sin():
    """sin(x * w + x), then what the demo backend does not have, then one of its operators again."""
    nodes = [
        onnx.node("Mul", ["x", "w"], ["a"], "mul"),
        onnx.node("Add", ["a", "x"], ["b"], "add"),
        onnx.node("Sin", ["b"], ["c"], "sin"),
        onnx.node("Exp", ["c"], ["d"], "exp"),
        onnx.node("Add", ["d", "x"], ["y"], "last"),
    ]
    return onnx.model(nodes, [onnx.value_info("x", [2, 3])], [onnx.value_info("y", [2, 3])],
                      initializers=[onnx.tensor([0.5, 1, 1.5, 2, 2.5, 3], [2, 3], "w")])  # fmt: skip


def negated():
    nodes = [
        onnx.node("Neg", ["x"], ["a"], "first"),
        onnx.node("Exp", ["a"], ["b"], "exp"),
        onnx.node("Neg", ["b"], ["y"], "last"),
    ]
    return onnx.model(nodes, [onnx.value_info("x", [2, 3])], [onnx.value_info("y", [2, 3])])


def three_and_one():
    """Three operators of the TPU in a row, one that it does not have, and a single one behind that."""
    nodes = [
        onnx.node("Relu", ["x"], ["a"], "relu"),
        onnx.node("Add", ["a", "x"], ["b"], "add"),
        onnx.node("Mul", ["b", "w"], ["c"], "mul"),
        onnx.node("Exp", ["c"], ["d"], "exp"),
        onnx.node("Add", ["d", "x"], ["y"], "last"),
    ]
    return onnx.model(nodes, [onnx.value_info("x", [8, 128])], [onnx.value_info("y", [8, 128])],
                      initializers=[onnx.tensor([i / 512 - 1 for i in range(1024)], [8, 128], "w")])  # fmt: skip


def hypotenuses():
    """An operator that no one but an application has: Hypot of the domain com.example."""
    nodes = [onnx.node("Hypot", ["a", "b"], ["c"], "hypot", domain="com.example")]
    infos = [onnx.value_info(name, [3]) for name in "abc"]
    return onnx.model(nodes, infos[:2], infos[2:], domains=["com.example"])


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for make in (residual, add_mul_sin, negated, three_and_one, hypotenuses):
        (folder / f"{make.__name__}.onnx").write_bytes(make())


if __name__ == "__main__":
    main()
