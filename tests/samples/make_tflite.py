#!/usr/bin/env python3
"""Makes digits.tflite and digits_int8.tflite of the shipped digits.onnx, with nothing but Python itself.

  make_tflite.py DIGITS.onnx FOLDER

Both have the signature `classify` and channels last. Input and output of digits_int8 are int8, between them is float32.
"""

import struct
import sys
from array import array
from pathlib import Path

FLOAT32, INT32, INT8 = 0, 2, 9  # TensorType
CONV_2D, DEQUANTIZE, FULLY_CONNECTED, MAX_POOL_2D, RESHAPE, QUANTIZE = 3, 6, 9, 17, 22, 114  # BuiltinOperator
CONV_OPTIONS, POOL_OPTIONS, DENSE_OPTIONS, RESHAPE_OPTIONS = 1, 5, 8, 17  # BuiltinOptions
VALID, RELU = 1, 1  # Padding, ActivationFunctionType


class FlatBuffer:
    """Objects are written after those that refer to them: dict a table by the ids of its fields, list a vector of tables,
    array and bytes a vector of numbers, str a string, int and float a field of four bytes."""

    def __init__(self, root, identifier):
        self.out = bytearray(4) + identifier
        self.refer(0, root)

    def align(self, size, ahead=0):
        self.out += bytes(-(len(self.out) + ahead) % size)

    def refer(self, place, value):
        position = self.table(value) if isinstance(value, dict) else self.vector(value)
        struct.pack_into("<I", self.out, place, position - place)

    def table(self, fields):
        count = max(fields, default=-1) + 1
        self.align(4, 4 + 2 * count)
        slots = {field: 4 + 4 * number for number, field in enumerate(fields)}
        size = 4 + 4 * len(fields)
        self.out += struct.pack(f"<HH{count}H", 4 + 2 * count, size, *(slots.get(field, 0) for field in range(count)))
        start = len(self.out)
        self.out += struct.pack("<i", 4 + 2 * count) + bytes(size - 4)
        for field, value in fields.items():
            place = start + slots[field]
            if isinstance(value, (int, float)):
                struct.pack_into("<f" if isinstance(value, float) else "<i", self.out, place, value)
            else:
                self.refer(place, value)
        return start

    def vector(self, value):
        size = 4 if isinstance(value, (list, str)) else 16 if isinstance(value, bytes) else value.itemsize
        self.align(max(size, 4), 4)
        start = len(self.out)
        if isinstance(value, list):
            self.out += struct.pack("<I", len(value)) + bytes(4 * len(value))
            for number, one in enumerate(value):
                self.refer(start + 4 + 4 * number, one)
        elif isinstance(value, str):
            self.out += struct.pack("<I", len(value.encode())) + value.encode() + b"\0"
        else:
            self.out += struct.pack("<I", len(value)) + bytes(value)
        return start


class Graph:
    """A model of one subgraph whose first extent is the batch."""

    def __init__(self):
        self.buffers, self.codes, self.tensors, self.operators = [{}], [], [], []

    def value(self, name, shape, dtype=FLOAT32, quantization=None):
        tensor = {0: array("i", [1, *shape]), 1: dtype, 3: name, 7: array("i", [-1, *shape])}
        if quantization:
            scale, zero_point = quantization
            tensor[4] = {2: array("f", [scale]), 3: array("q", [zero_point])}
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def constant(self, name, shape, numbers, dtype=FLOAT32):
        self.buffers.append({0: array("f" if dtype == FLOAT32 else "i", numbers).tobytes()})
        self.tensors.append({0: array("i", shape), 1: dtype, 2: len(self.buffers) - 1, 3: name})
        return len(self.tensors) - 1

    def add(self, code, inputs, output, kind=0, options=None):
        operator = {0: len(self.codes), 1: array("i", inputs), 2: array("i", [output])}
        if options is not None:
            operator.update({3: kind, 4: options})
        self.codes.append({0: code, 2: 1, 3: code})
        self.operators.append(operator)
        return output

    def bytes(self, given, result):
        names = [[{0: self.tensors[index][3], 1: index}] for index in (given, result)]
        subgraph = {0: self.tensors, 1: array("i", [given]), 2: array("i", [result]), 3: self.operators, 4: "main"}
        signature = {0: names[0], 1: names[1], 2: "classify", 4: 0}
        root = {0: 3, 1: self.codes, 2: [subgraph], 4: self.buffers, 7: [signature]}
        return bytes(FlatBuffer(root, b"TFL3").out)


def fields_of(message):
    """(number, value) of a message of protobuf."""
    position = 0

    def varint():
        nonlocal position
        value = shift = 0
        while True:
            byte = message[position]
            value, shift, position = value | (byte & 0x7F) << shift, shift + 7, position + 1
            if byte < 0x80:
                return value

    while position < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            length = varint() if key & 7 == 2 else {1: 8, 5: 4}[key & 7]
            yield key >> 3, message[position : position + length]
            position += length


def weights_of(path):
    """The initializers of an ONNX file by their names, flat."""
    (graph,) = (value for number, value in fields_of(path.read_bytes()) if number == 7)
    tensors = (dict(fields_of(value)) for number, value in fields_of(graph) if number == 5)
    return {tensor[8].decode(): array("f", tensor[9]) for tensor in tensors}


def channels_last(weights, outer, channels, plane):
    """[outer, channels, plane] as [outer, plane, channels]."""
    return [weights[(o * channels + c) * plane + p] for o in range(outer) for p in range(plane) for c in range(channels)]


def digits(weights, integers):
    graph = Graph()
    if integers:
        given = graph.value("image", [28, 28, 1], INT8, (1 / 255, -128))
        value = graph.add(DEQUANTIZE, [given], graph.value("pixels", [28, 28, 1]))
    else:
        given = value = graph.value("image", [28, 28, 1])
    extent, inner = 28, 1
    for name, outer in (("conv1", 8), ("conv2", 16)):
        filters = channels_last(weights[f"{name}.weight"], outer, inner, 25)
        constants = [graph.constant(f"{name}.weight", [outer, 5, 5, inner], filters),
                     graph.constant(f"{name}.bias", [outer], weights[f"{name}.bias"])]  # fmt: skip
        extent -= 4
        value = graph.add(CONV_2D, [value, *constants], graph.value(name, [extent, extent, outer]), CONV_OPTIONS,
                          {0: VALID, 1: 1, 2: 1, 3: RELU})  # fmt: skip
        extent //= 2
        value = graph.add(MAX_POOL_2D, [value], graph.value(f"{name}.pool", [extent, extent, outer]), POOL_OPTIONS,
                          {0: VALID, 1: 2, 2: 2, 3: 2, 4: 2})  # fmt: skip
        inner = outer
    shape = graph.constant("flat.shape", [2], [-1, 256], INT32)
    value = graph.add(RESHAPE, [value, shape], graph.value("flat", [256]), RESHAPE_OPTIONS, {0: array("i", [-1, 256])})
    constants = [graph.constant("dense.weight", [10, 256], channels_last(weights["dense.weight"], 10, 16, 16)),
                 graph.constant("dense.bias", [10], weights["dense.bias"])]  # fmt: skip
    value = graph.add(FULLY_CONNECTED, [value, *constants], graph.value("scores" if integers else "logits", [10]),
                      DENSE_OPTIONS, {})  # fmt: skip
    if integers:
        value = graph.add(QUANTIZE, [value], graph.value("logits", [10], INT8, (0.25, 0)))
    return graph.bytes(given, value)


def main():
    weights, folder = weights_of(Path(sys.argv[1])), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "digits.tflite").write_bytes(digits(weights, integers=False))
    (folder / "digits_int8.tflite").write_bytes(digits(weights, integers=True))


if __name__ == "__main__":
    main()
