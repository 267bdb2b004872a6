"""TensorFlow Lite models, written by flatc from JSON with the schema that the importer reads."""

import json
import struct
from pathlib import Path

# The numbers that the format gives to tables of options.
OPTIONS = {"ConvOptions": 1, "PoolOptions": 5, "FullyConnectedOptions": 8, "ReshapeOptions": 17, "GatherOptions": 23,
           "StridedSliceOptions": 32, "IfOptions": 92, "WhileOptions": 93}
SCHEMA = Path(__file__).resolve().parents[2] / "host/import/tflite/tflite.fbs"


def floats(*values):
    return list(struct.pack(f"<{len(values)}f", *values))


def ints(*values):
    return list(struct.pack(f"<{len(values)}i", *values))


class Model:
    """One subgraph, or several. Tensors are numbered per subgraph, in the order of their making."""

    def __init__(self, options="ReshapeOptions"):
        self.options = options  # the one table of options of all operators that have some
        self.buffers, self.codes, self.subgraphs = [{}], [], []
        self.begin()

    def begin(self):
        self.subgraphs.append({"tensors": [], "inputs": [], "outputs": [], "operators": [], "name": "g"})

    def tensor(self, shape, dtype="FLOAT32", data=None, **more):
        tensors = self.subgraphs[-1]["tensors"]
        if data is not None:
            self.buffers.append({"data": data})
        tensors.append({"shape": shape, "type": dtype, "name": f"t{len(tensors)}",
                        "buffer": 0 if data is None else len(self.buffers) - 1, **more})
        return len(tensors) - 1

    def input(self, shape, dtype="FLOAT32", **more):
        index = self.tensor(shape, dtype, **more)
        self.subgraphs[-1]["inputs"].append(index)
        return index

    def output(self, shape, dtype="FLOAT32", **more):
        index = self.tensor(shape, dtype, **more)
        self.subgraphs[-1]["outputs"].append(index)
        return index

    def operator(self, name, inputs, outputs, **options):
        self.codes.append({"builtin_code": name})
        made = {"opcode_index": len(self.codes) - 1, "inputs": inputs, "outputs": outputs}
        if options:
            made.update(builtin_options_type=OPTIONS[self.options], builtin_options=options)
        self.subgraphs[-1]["operators"].append(made)

    def text(self):
        return json.dumps({"version": 3, "operator_codes": self.codes, "subgraphs": self.subgraphs, "buffers": self.buffers})


def convolution():
    model = Model("ConvOptions")
    x, w, b = model.input([1, 5, 4, 2]), model.tensor([3, 3, 3, 2], data=floats(*range(54))), model.tensor(
        [3], data=floats(1, 2, 3))  # fmt: skip
    y = model.output([1, 3, 4, 3])
    model.operator("CONV_2D", [x, w, b], [y], padding="SAME", stride_w=1, stride_h=2, activation="RELU6")
    return model


def pooled():
    model = Model("PoolOptions")
    x, y = model.input([1, 5, 4, 2]), model.tensor([1, 4, 3, 2])
    z = model.output([1, 4, 3, 2])
    model.operator("MAX_POOL_2D", [x], [y], padding="VALID", stride_w=1, stride_h=1, filter_width=2, filter_height=2)
    model.operator("LOGISTIC", [y], [z])
    return model


def quantized():
    model = Model("FullyConnectedOptions")
    small = {"quantization": {"scale": [0.5], "zero_point": [3]}}
    rows = {"quantization": {"scale": [0.25, 0.5], "zero_point": [0, 0], "quantized_dimension": 0}}
    x, w = model.input([2, 3], "INT8", **small), model.tensor([2, 3], "INT8", data=[1, 2, 3, 250, 5, 6], **rows)
    b, y = model.tensor([2], "INT32", data=ints(7, 8)), model.output([2, 2], "INT8", **small)
    model.operator("FULLY_CONNECTED", [x, w, b], [y], activation="RELU", keep_num_dims=True)
    return model


def reshaped():
    model = Model()
    x, s = model.input([2, 6], shape_signature=[-1, 6]), model.tensor([2], "INT32", data=ints(3, -1))
    y, z = model.tensor([3, 4]), model.output([4, 3])
    p = model.tensor([2], "INT32", data=ints(1, 0))
    model.operator("RESHAPE", [x, s], [y], new_shape=[3, -1])
    model.operator("TRANSPOSE", [y, p], [z])
    return model


def sliced():
    model = Model("StridedSliceOptions")
    x = model.input([4, 5, 3])
    begin, end, step = (model.tensor([3], "INT32", data=ints(*values)) for values in ((1, 0, 0), (-1, 4, 3), (1, 2, 1)))
    pads, y, z = model.tensor([2, 2], "INT32", data=ints(0, 1, 2, 0)), model.tensor([2, 3]), model.output([3, 5])
    model.operator("STRIDED_SLICE", [x, begin, end, step], [y], begin_mask=2, shrink_axis_mask=4)
    model.operator("PAD", [y, pads], [z])
    return model


def gathered():
    model = Model("GatherOptions")
    x, i, y = model.input([3, 4]), model.tensor([2], "INT32", data=ints(2, 0)), model.tensor([3, 2])
    axes, z = model.tensor([1], "INT32", data=ints(-1)), model.output([3])
    model.operator("GATHER", [x, i], [y], axis=1)
    model.operator("SUM", [y, axes], [z])
    return model


def branches():
    model = Model("IfOptions")
    c, x = model.input([], "BOOL"), model.input([2])
    y = model.output([2])
    model.operator("IF", [c, x], [y], then_subgraph=1, else_subgraph=2)
    for name in ("NEG", "ABS"):
        model.begin()
        a = model.input([2])
        model.operator(name, [a], [model.output([2])])
    return model


def repeated():
    model = Model("WhileOptions")
    n, x = model.input([], "INT32"), model.input([2])
    outputs = [model.output([], "INT32"), model.output([2])]
    model.operator("WHILE", [n, x], outputs, cond_subgraph=1, body_subgraph=2)
    model.begin()
    n, _ = model.input([], "INT32"), model.input([2])
    model.operator("LESS", [n, model.tensor([], "INT32", data=ints(3))], [model.output([], "BOOL")])
    model.begin()
    n, x = model.input([], "INT32"), model.input([2])
    model.operator("ADD", [n, model.tensor([], "INT32", data=ints(1))], [model.output([], "INT32")])
    model.operator("NEG", [x], [model.output([2])])
    return model


def sparse():
    model = Model()
    dense = {"format": "DENSE", "dense_size": 2}
    compressed = {"format": "SPARSE_CSR", "segments_type": "INT32", "segments": {"values": [0, 1, 2]},
                  "indices_type": "INT32", "indices": {"values": [1, 0]}}
    sparsity = {"traversal_order": [0, 1], "dim_metadata": [dense, compressed]}
    x, w, y = model.input([2, 2]), model.tensor([2, 2], data=floats(5, 6), sparsity=sparsity), model.output([2, 2])
    d = model.tensor([2, 2])
    model.operator("DENSIFY", [w], [d])
    model.operator("MUL", [x, d], [y])
    return model


def files(tools):
    made = {}
    for make in (convolution, pooled, quantized, reshaped, sliced, gathered, branches, repeated, sparse):
        model, name = make(), make.__name__
        schema = SCHEMA.read_text(encoding="utf-8")
        for field, table in (("builtin_options", model.options), ("sparsity", "SparsityParameters"),
                             ("segments", "Int32Indices"), ("indices", "Int32Indices")):
            old, new = f"  {field}: AnyTable", f"  {field}: {table}"
            if old not in schema:
                raise SystemExit(f"{SCHEMA}: no '{old}'")
            schema = schema.replace(old, new)
        (tools.folder / "own.fbs").write_text(schema, encoding="utf-8")
        (tools.folder / f"{name}.json").write_text(model.text(), encoding="utf-8")
        tools.run(tools.flatc, "-b", "--strict-json", "own.fbs", f"{name}.json")
        written = next(path for path in tools.folder.glob(f"{name}.*") if path.suffix != ".json")
        made[f"{name}.tflite"] = written.read_bytes()
    return made
