#!/usr/bin/env python3
"""Models of one node each, of com.microsoft, must give what ONNX Runtime gives. Exits 77, with the reason, where the
package onnxruntime is not installed.

  microsoft_operators_test.py --deputy DEPUTY [--seed N] [--rounds N]
"""

import argparse
import os
import struct
import subprocess
import sys
import tempfile

from onnx_bytes import chunk, graph, number, value_info, varint

try:
    import numpy as np
    import onnxruntime
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

MICROSOFT = "com.microsoft"
DTYPES = {np.dtype(name): number_ for name, number_ in
          {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "float16": 10,
           "float64": 11}.items()}  # fmt: skip


def attribute(name, value):
    """An integer, a float, a string, or a list of integers or floats."""
    if isinstance(value, float):
        return chunk(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    if isinstance(value, str):
        return chunk(1, name) + chunk(4, value) + number(20, 3)
    if isinstance(value, int):
        return chunk(1, name) + number(3, value & 0xFFFFFFFFFFFFFFFF) + number(20, 2)
    if isinstance(value[0], float):
        return chunk(1, name) + b"".join(varint(7 << 3 | 5) + struct.pack("<f", v) for v in value) + number(20, 6)
    return chunk(1, name) + b"".join(number(8, item & 0xFFFFFFFFFFFFFFFF) for item in value) + number(20, 7)


def tensor(array, name=""):
    dims = b"".join(number(1, extent) for extent in array.shape)
    return dims + number(2, DTYPES[array.dtype]) + chunk(8, name) + chunk(9, array.tobytes())


class Case:
    """A node; inputs are arrays, None where left out, and constants where `constants` has their number."""

    def __init__(self, op_type, inputs, outputs=1, domain=MICROSOFT, constants=(), **attributes):
        self.op_type, self.inputs, self.domain, self.constants = op_type, inputs, domain, set(constants)
        self.outputs = [1] * outputs if isinstance(outputs, int) else outputs  # 0 where left out
        self.attributes = attributes

    def model(self, results=None):
        names = [f"x{i}" if x is not None else "" for i, x in enumerate(self.inputs)]
        outputs = [f"y{i}" if wanted else "" for i, wanted in enumerate(self.outputs)]
        node = b"".join(chunk(1, name) for name in names) + b"".join(chunk(2, name) for name in outputs)
        node += chunk(3, "node") + chunk(4, self.op_type)
        node += b"".join(chunk(5, attribute(*item)) for item in sorted(self.attributes.items())) + chunk(7, self.domain)
        given = [(i, x) for i, x in enumerate(self.inputs) if x is not None]
        present = [name for name in outputs if name]
        made = graph(
            [node],
            [value_info(f"x{i}", x.shape, DTYPES[x.dtype]) for i, x in given if i not in self.constants],
            [chunk(1, name) for name in present] if results is None else
            [value_info(name, y.shape, DTYPES[y.dtype]) for name, y in zip(present, results)],
            [tensor(x, f"x{i}") for i, x in given if i in self.constants],
        )  # fmt: skip
        opsets = b"".join(chunk(8, chunk(1, domain) + number(2, version)) for domain, version in (("", 16), (MICROSOFT, 1)))
        return number(1, 8) + chunk(7, made) + opsets

    def results(self):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        # With several threads DynamicQuantizeLSTM quantizes the state of each thread's sequences by a range of their own.
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(self.model(), options, providers=["CPUExecutionProvider"])
        return session.run(None, {f"x{i}": x for i, x in enumerate(self.inputs)
                                  if x is not None and i not in self.constants})  # fmt: skip

    def write(self, folder):
        results = self.results()
        data = os.path.join(folder, "test_data_set_0")
        os.makedirs(data)
        with open(os.path.join(folder, "model.onnx"), "wb") as file:
            file.write(self.model(results))
        fed = [x for i, x in enumerate(self.inputs) if x is not None and i not in self.constants]
        for what, arrays in (("input", fed), ("output", results)):
            for i, array in enumerate(arrays):
                with open(os.path.join(data, f"{what}_{i}.pb"), "wb") as file:
                    file.write(tensor(array))


class Maker:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def pick(self, *values):
        return values[self.random.integers(len(values))]

    def reals(self, *dims, scale=1.0, dtype="float32"):
        return (self.random.standard_normal(dims) * scale).astype(dtype)

    def bytes(self, *dims, dtype="uint8"):
        return self.random.integers(0, 256, dims).astype("uint8").view(dtype)

    def weights(self, *dims, dtype):
        """Signed ones have seven bits: on processors without VNNI ONNX Runtime adds two products in 16 bits, which
        saturates."""
        return self.bytes(*dims, dtype=dtype) if dtype == "uint8" else self.whole(-64, 64, *dims, dtype=dtype)

    def whole(self, low, high, *dims, dtype="int32"):
        return self.random.integers(low, high, dims).astype(dtype)

    def between(self, low, high):
        return int(self.random.integers(low, high + 1))

    @staticmethod
    def scale(value):
        return np.array(value, "float32")

    def zero(self, dtype):
        return self.bytes(1, dtype=dtype).reshape(())

    def products(self):
        batch, (m, k, n) = self.pick((), (2,), (2, 3)), (self.between(1, 9) for _ in range(3))
        a, b, first, second = (self.between(0, 1) for _ in range(4))
        first, second = (first, second) if batch else (0, 0)

        def factor(rows, columns, turned, moved):
            dims = [*batch, *((columns, rows) if turned else (rows, columns))]
            return self.reals(*([dims[-2], *dims[:-2], dims[-1]] if moved else dims))

        yield Case("FusedMatMul", [factor(m, k, a, first), factor(k, n, b, second)], transA=a, transB=b,
                   transBatchA=first, transBatchB=second, alpha=self.pick(1.0, -0.5))  # fmt: skip
        yield Case("TransposeMatMul", [factor(m, k, a, 0), factor(k, n, b, 0)], transA=a, transB=b)
        activation, parameter = self.pick(("Relu", {}), ("Tanh", {}), ("LeakyRelu", {"activation_alpha": 0.25}))
        yield Case("FusedGemm", [self.reals(m, k), self.reals(k, n), self.reals(n)], activation=activation, alpha=0.5,
                   beta=2.0, **parameter)  # fmt: skip
        activation, parameter = self.pick(("Relu", {}), ("Sigmoid", {}), ("Clip", {"activation_params": [-0.5, 0.5]}))
        yield Case("FusedConv", [self.reals(2, 4, 7, 6), self.reals(6, 2, 3, 3), self.reals(6)], group=2,
                   pads=[1, 0, 1, 2], strides=[2, 1], activation=activation, **parameter)  # fmt: skip
        rows, columns, block = self.between(1, 150), self.between(1, 70), self.pick(16, 32, 64)
        bits = self.pick(2, 4, 8)
        blocks = -(-rows // block)
        zeros = self.pick(None, self.bytes(columns, -(-blocks * bits // 8)))
        yield Case("MatMulNBits", [self.reals(self.between(1, 12), rows), self.bytes(columns, blocks, block * bits // 8),
                                   self.reals(columns, blocks), zeros], constants=(1, 2, 3), K=rows, N=columns,
                   block_size=block, bits=bits)  # fmt: skip

    def activations_and_normalizations(self):
        dims, size = (self.between(1, 4), self.between(1, 6)), self.pick(1, 8, 33)
        x, row = self.reals(*dims, size), self.reals(size)
        yield Case("BiasGelu", [x, row])
        yield Case("FastGelu", [x, self.pick(None, row)])
        yield Case("Gelu", [x])
        yield Case("QuickGelu", [x], alpha=self.pick(1.702, 0.5))
        skip = self.pick(self.reals(*dims, size), self.reals(1, dims[1], size), self.reals(dims[1], size))
        yield Case("SkipLayerNormalization", [x, skip, row, self.pick(None, row), self.pick(None, row)],
                   self.pick(1, [1, 0, 0, 1]), epsilon=1e-5)  # fmt: skip
        yield Case("SkipSimplifiedLayerNormalization", [x, self.reals(*dims, size), row, self.pick(None, row)],
                   self.pick(1, [1, 0, 0, 1]), epsilon=1e-5)  # fmt: skip
        yield Case("SimplifiedLayerNormalization", [x, row], domain="", epsilon=1e-5)
        yield Case("LayerNormalization", [x, row, self.pick(None, row)], domain="", axis=-1, epsilon=1e-5)
        parts = self.pick(None, self.whole(0, 2, *dims))
        yield Case("EmbedLayerNormalization", [self.whole(0, 9, *dims), parts, self.reals(9, size), self.reals(7, size),
                                               None if parts is None else self.reals(2, size), row, row,
                                               self.whole(0, 2, *dims)], 3, epsilon=1e-3)  # fmt: skip

    def attention(self):
        batch, queries, heads, size = self.between(1, 3), self.between(1, 5), self.between(1, 3), self.pick(4, 8)
        past, hidden = self.pick(0, 3), heads * size
        keys = past + queries
        flags = self.whole(0, 2, batch, keys), self.whole(0, 2, batch, queries, keys)
        for mask in flags:
            mask[..., 0] = 1  # scores that all lie at the filter's -10000 have lost their last digits
        masks = (None, self.whole(1, keys + 1, batch), *flags)
        bias = self.pick(None, self.reals(1, heads, queries, keys))
        yield Case("Attention", [self.reals(batch, queries, 5), self.reals(5, 3 * hidden), self.reals(3 * hidden),
                                 self.pick(*masks), self.reals(2, batch, heads, past, size) if past else None,
                                 None if past else bias], 2 if past else 1, num_heads=heads, unidirectional=self.pick(0, 1))  # fmt: skip
        old = [self.reals(batch, heads, past, size) if past else None for _ in range(2)]
        yield Case("MultiHeadAttention", [*(self.reals(batch, queries, hidden) for _ in range(3)),
                                          self.pick(None, self.reals(3 * hidden)), self.pick(*masks), bias, *old],
                   3 if past else 1, num_heads=heads)  # fmt: skip
        group, size, rotates = self.pick(1, 2), 16, self.pick(0, 1)
        past = self.pick(0, 4)
        fresh = 1 if past else queries
        longest = past + fresh
        angles = self.random.uniform(0, 6, (longest + 3, size // 2))
        tables = [np.cos(angles).astype("float32"), np.sin(angles).astype("float32")] if rotates else []
        old = [self.reals(batch, heads, past, size) if past else None for _ in range(2)]
        yield Case("GroupQueryAttention", [self.reals(batch, fresh, heads * group * size),
                                           *(self.reals(batch, fresh, heads * size) for _ in range(2)), *old,
                                           np.full(batch, longest - 1, "int32"), np.array(longest, "int32"), *tables],
                   3, num_heads=heads * group, kv_num_heads=heads, do_rotary=rotates, constants=(6,),
                   local_window_size=self.pick(-1, 2))  # fmt: skip
        angles = self.random.uniform(0, 6, (9, 4))
        places = self.pick(self.whole(0, 4, 1, dtype="int64"), self.whole(0, 9, batch, queries, dtype="int64"))
        yield Case("RotaryEmbedding", [self.reals(batch, heads, queries, 8), places, np.cos(angles).astype("float32"),
                                       np.sin(angles).astype("float32")], interleaved=self.pick(0, 1))  # fmt: skip

    def quantized(self):
        dtype = self.pick("uint8", "int8")
        one = [self.bytes(2, 6, 5, 7, dtype=dtype), self.scale(0.03), self.zero(dtype), self.scale(0.05), self.zero(dtype)]
        pair = [self.bytes(2, 3, 4, dtype=dtype), self.scale(0.03), self.zero(dtype),
                self.pick(self.bytes(4, dtype=dtype), self.bytes(2, 3, 1, dtype=dtype)), self.scale(0.07),
                self.zero(dtype), self.scale(0.1), self.zero(dtype)]  # fmt: skip
        yield Case("QLinearAdd", pair)
        yield Case("QLinearMul", pair)
        yield Case("QLinearSigmoid", one)
        yield Case("QLinearLeakyRelu", one, alpha=0.25)
        yield Case("QLinearAveragePool", one, kernel_shape=[2, 3], pads=[1, 0, 0, 1], strides=[2, 1],
                   count_include_pad=self.pick(0, 1), channels_last=self.pick(0, 1))  # fmt: skip
        yield Case("QLinearGlobalAveragePool", one, channels_last=self.pick(0, 1))
        low = np.array(-128 if dtype == "int8" else 0, dtype)
        yield Case("QLinearSoftmax", [*one[:3], self.scale(1 / 256), low], axis=self.pick(-1, 1), opset=self.pick(12, 13))
        yield Case("QLinearConcat", [self.scale(0.05), self.zero(dtype), *one[:3], self.bytes(2, 6, 2, 7, dtype=dtype),
                                     self.scale(0.02), self.zero(dtype)], constants=(0, 1, 3, 4, 6, 7), axis=2)  # fmt: skip
        columns = self.between(1, 9)
        weights = [self.weights(5, columns, dtype=dtype), self.reals(columns, scale=0.1), self.bytes(columns, dtype=dtype)]
        yield Case("MatMulIntegerToFloat", [self.bytes(4, 5), weights[0], self.scale(0.03), weights[1],
                                            self.zero("uint8"), weights[2], self.reals(columns)])  # fmt: skip
        yield Case("DynamicQuantizeMatMul", [self.reals(4, 5), *weights, self.reals(columns)])
        yield self.lstm(dtype)
        yield Case("QGemm", [self.bytes(4, 5), self.scale(0.03), self.zero("uint8"), weights[0], abs(weights[1]),
                             weights[2], self.whole(-99, 99, columns), self.scale(0.7), self.zero("uint8")])  # fmt: skip
        zeros = self.bytes(4, dtype=dtype)
        scales = abs(self.reals(4)) + self.scale(0.05)
        yield Case("QuantizeLinear", [self.reals(3, 4, 5, scale=9), scales, zeros], axis=1)
        yield Case("DequantizeLinear", [self.bytes(3, 4, 5, dtype=dtype), scales, zeros], axis=1)

    def lstm(self, dtype):
        steps, batch, inputs, hidden = (self.between(1, 7) for _ in range(4))
        directions = self.pick(1, 2)
        ranges = (directions, 4 * hidden) if self.pick(0, 1) else (directions,)
        zero = np.full(ranges, 0 if dtype == "int8" else 120, dtype)
        scales = [abs(self.reals(*ranges, scale=0.01)) + self.scale(0.001) for _ in range(2)]
        state = (directions, batch, hidden)
        lengths = np.array([self.between(1, steps) for _ in range(batch)], np.int32)
        return Case("DynamicQuantizeLSTM",
                    [self.reals(steps, batch, inputs), self.weights(directions, inputs, 4 * hidden, dtype=dtype),
                     self.weights(directions, hidden, 4 * hidden, dtype=dtype),
                     self.pick(None, self.reals(directions, 8 * hidden, scale=0.3)), self.pick(None, lengths),
                     self.pick(None, self.reals(*state)), self.pick(None, self.reals(*state)),
                     self.pick(None, self.reals(directions, 3 * hidden, scale=0.3)), scales[0], zero, scales[1], zero],
                    outputs=3, constants=(1, 2, 3, 7, 8, 9, 10, 11), hidden_size=hidden,
                    input_forget=self.pick(0, 1),
                    direction="bidirectional" if directions == 2 else self.pick("forward", "reverse"))  # fmt: skip

    def all(self):
        for family in (self.products, self.activations_and_normalizations, self.attention, self.quantized):
            yield from family()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=10)
    arguments = parser.parse_args()
    maker, failed, count = Maker(arguments.seed), 0, 0
    with tempfile.TemporaryDirectory(prefix="deputy-microsoft-") as scratch:
        for round_ in range(arguments.rounds):
            folders = []
            for case in maker.all():
                folders.append(os.path.join(scratch, f"{round_}_{case.op_type}"))
                case.write(folders[-1])
            # A sum that falls between two steps may go to either, by the order in which it was added up: of these small
            # tensors that is a large share.
            command = [arguments.deputy, "test-case", "--atol-scale", "1e-5", "--outliers", "0.25", *folders]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            count += len(folders)
            if done.returncode != 0:
                failed += 1
                print(f"seed {arguments.seed}, round {round_}:\n{done.stdout}{done.stderr}")
    print(f"{count} models, {failed} of {arguments.rounds} rounds failed")
    return 1 if failed or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
