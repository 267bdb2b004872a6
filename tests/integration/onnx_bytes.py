"""Writes small ONNX models and tensors as bytes, field by field, so that tests need nothing but Python itself."""

import struct

FLOAT = 1


def varint(value):
    """Negative numbers are the 64 bits of their two's complement."""
    value &= (1 << 64) - 1
    out = bytearray()
    while True:
        out.append((value & 0x7F) | (0x80 if value > 0x7F else 0))
        value >>= 7
        if value == 0:
            return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def chunk(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def tensor(values, shape, name=""):
    """A float TensorProto."""
    dims = b"".join(number(1, extent) for extent in shape)
    return dims + number(2, FLOAT) + chunk(8, name) + chunk(9, struct.pack(f"<{len(values)}f", *values))


def integer_tensor(dtype, data, shape, name=""):
    """A TensorProto of the type that ONNX gives this number, of the elements' bytes."""
    dims = b"".join(number(1, extent) for extent in shape)
    return dims + number(2, dtype) + chunk(8, name) + chunk(9, data)


def value_info(name, shape, dtype=FLOAT):
    """An extent is a number, or the name of a symbol."""
    dims = b"".join(chunk(1, chunk(2, d) if isinstance(d, str) else number(1, d)) for d in shape)
    return chunk(1, name) + chunk(2, chunk(1, number(1, dtype) + chunk(2, dims)))


def sequence_info(name, shape, dtype=FLOAT, optional=False):
    """A sequence of tensors of this shape; as an optional where it need not be there."""
    dims = b"".join(chunk(1, chunk(2, d) if isinstance(d, str) else number(1, d)) for d in shape)
    sequence = chunk(4, chunk(1, chunk(1, number(1, dtype) + chunk(2, dims))))
    return chunk(1, name) + chunk(2, chunk(9, chunk(1, sequence)) if optional else sequence)


def attribute(name, value):
    if isinstance(value, float):
        return chunk(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    if isinstance(value, int):
        return chunk(1, name) + number(3, value) + number(20, 2)
    if isinstance(value, str):
        return chunk(1, name) + chunk(4, value) + number(20, 3)
    if isinstance(value, bytes):
        return chunk(1, name) + chunk(6, value) + number(20, 5)
    return chunk(1, name) + b"".join(number(8, item) for item in value) + number(20, 7)


def node(op_type, inputs, outputs, name="", domain="", **attributes):
    """Attributes are floats, integers, texts, lists of integers or graphs."""
    parts = [chunk(1, i) for i in inputs] + [chunk(2, o) for o in outputs]
    parts += [chunk(3, name), chunk(4, op_type)] + [chunk(5, attribute(*item)) for item in attributes.items()]
    return b"".join(parts) + chunk(7, domain)


def graph(nodes, inputs, outputs, initializers=()):
    data = b"".join(chunk(1, n) for n in nodes) + chunk(2, "test") + b"".join(chunk(5, i) for i in initializers)
    return data + b"".join(chunk(11, i) for i in inputs) + b"".join(chunk(12, o) for o in outputs)


def model(nodes, inputs, outputs, domains=(), initializers=(), opset=13):
    opsets = chunk(8, chunk(1, "") + number(2, opset))
    opsets += b"".join(chunk(8, chunk(1, d) + number(2, 1)) for d in domains)
    return number(1, 7) + chunk(7, graph(nodes, inputs, outputs, initializers)) + opsets


def add_model(shape=(2, 3), op_type="Add", domain=""):
    """y = a + b, in one node called 'sum'."""
    return model(
        [node(op_type, ["a", "b"], ["y"], "sum", domain)],
        [value_info("a", shape), value_info("b", shape)],
        [value_info("y", shape)],
        [domain] if domain else [],
    )


def npy(values, shape, descr="<f4"):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    code = {"<f4": "f", "<f8": "d", "<i8": "q"}[descr]
    data = struct.pack(f"<{len(values)}{code}", *values)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data
