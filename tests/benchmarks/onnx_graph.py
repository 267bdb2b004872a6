"""An ONNX graph under construction, written as bytes: nodes, weights, inputs and outputs, with names as PyTorch's
exporter gives them. Needs numpy for the weights and nothing else."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
from onnx_bytes import attribute as float_or_integers, chunk, number  # noqa: E402

FLOAT, INT64 = 1, 7
UNSIGNED = (1 << 64) - 1  # negative numbers are written as if they were not
DTYPES = {np.dtype(name): value for name, value in {
    "float32": FLOAT, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": INT64, "bool": 9,
    "float16": 10, "float64": 11, "uint32": 12, "uint64": 13}.items()}  # fmt: skip


def tensor_bytes(array, name=""):
    """A TensorProto with its values as raw bytes."""
    array = np.asarray(array)
    dims = b"".join(number(1, extent) for extent in array.shape)
    return dims + number(2, DTYPES[array.dtype]) + chunk(8, name) + chunk(9, np.ascontiguousarray(array).tobytes())


def attribute_bytes(name, value):
    if isinstance(value, np.ndarray):
        return chunk(1, name) + chunk(5, tensor_bytes(value)) + number(20, 4)
    if isinstance(value, int):
        return chunk(1, name) + number(3, value & UNSIGNED) + number(20, 2)
    if isinstance(value, str):
        return chunk(1, name) + chunk(4, value) + number(20, 3)
    if isinstance(value, list) and value and isinstance(value[0], str):
        return chunk(1, name) + b"".join(chunk(9, item) for item in value) + number(20, 8)
    return float_or_integers(name, value if isinstance(value, float) else [item & UNSIGNED for item in value])


def value_info_bytes(name, dtype, shape):
    dims = b"".join(chunk(1, chunk(2, d) if isinstance(d, str) else number(1, d)) for d in shape)
    return chunk(1, name) + chunk(2, chunk(1, number(1, dtype) + chunk(2, dims)))


class OnnxGraph:
    def __init__(self, name, opset):
        self.name, self.opset = name, opset
        self.nodes, self.initializers, self.inputs, self.outputs = [], [], [], []
        self.counts, self.domains = {}, {""}

    def input(self, name, dtype, shape):
        """An extent is a number, or the name of a symbol."""
        self.inputs.append(value_info_bytes(name, dtype, shape))
        return name

    def output(self, name, dtype, shape):
        self.outputs.append(value_info_bytes(name, dtype, shape))

    def weight(self, name, array):
        self.initializers.append(tensor_bytes(array, name))
        return name

    def node(self, op_type, *inputs, output=None, outputs=(), scope="", domain="", **attributes):
        """Returns the name of the first output, which is the only one unless `outputs` names them all."""
        path = f"{scope}/{op_type}"
        count = self.counts.get(path, 0)
        self.counts[path] = count + 1
        name = f"{path}_{count}" if count else path
        outputs = outputs or [output or f"{name}_output_0"]
        parts = [chunk(1, i) for i in inputs] + [chunk(2, o) for o in outputs] + [chunk(3, name), chunk(4, op_type)]
        parts += [chunk(5, attribute_bytes(*item)) for item in attributes.items()] + [chunk(7, domain)] * bool(domain)
        self.domains.add(domain)
        self.nodes.append(b"".join(parts))
        return outputs[0]

    def constant(self, array, scope=""):
        """A Constant node, which is what exporters write for a small constant in the middle of the graph."""
        return self.node("Constant", scope=scope, value=np.asarray(array))

    def write(self, path):
        parts = [chunk(1, n) for n in self.nodes] + [chunk(2, self.name)] + [chunk(5, i) for i in self.initializers]
        parts += [chunk(11, i) for i in self.inputs] + [chunk(12, o) for o in self.outputs]
        model = number(1, 8) + chunk(2, "deputy-benchmarks") + chunk(7, b"".join(parts))
        imports = [chunk(1, domain) + number(2, 1 if domain else self.opset) for domain in sorted(self.domains)]
        Path(path).write_bytes(model + b"".join(chunk(8, one) for one in imports))
