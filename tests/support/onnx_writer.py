"""Writes small ONNX models with the standard library alone: the protobuf fields that a test needs, by number."""

import struct


def _varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while True:
        out.append((value & 0x7F) | (0x80 if value > 0x7F else 0))
        value >>= 7
        if not value:
            return bytes(out)


def field(number, value):
    """A protobuf field: ints as varints, text and bytes and nested messages with their length."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    if isinstance(value, float):
        return _varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def fields(number, values):
    return b"".join(field(number, value) for value in values)


def tensor(name, dims, floats):
    """A float32 initializer."""
    return fields(1, dims) + field(2, 1) + field(8, name) + field(9, struct.pack(f"<{len(floats)}f", *floats))


def value_info(name, dims):
    """A float32 input or output; text in `dims` is a symbol."""
    extents = b"".join(field(1, field(2, dim) if isinstance(dim, str) else field(1, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, extents)))


def node(op_type, inputs, outputs, name="", domain="", **attributes):
    made = fields(1, inputs) + fields(2, outputs) + field(3, name) + field(4, op_type)
    for key, value in sorted(attributes.items()):
        if isinstance(value, int):
            attribute = field(1, key) + field(3, value) + field(20, 2)
        elif isinstance(value, float):
            attribute = field(1, key) + field(2, value) + field(20, 1)
        else:
            attribute = field(1, key) + fields(8, value) + field(20, 7)
        made += field(5, attribute)
    return made + (field(7, domain) if domain else b"")


def model(nodes, inputs, outputs, initializers=(), opset=13):
    graph = fields(1, nodes) + field(2, "test") + fields(5, initializers) + fields(11, inputs) + fields(12, outputs)
    return field(1, 7) + field(7, graph) + field(8, field(1, "") + field(2, opset))
