"""The ONNX conformance cases as files: what their one node is, and the same cases as exported models have them, with
parameters that are constant, alone and between two nodes that a delegate computes, and with one output alone."""

import csv
import os
import shutil

import onnx_bytes

DTYPES = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 8: "string", 9: "bool",
          10: "float16", 11: "float64", 12: "uint32", 13: "uint64", 16: "bfloat16"}
NODE, NAME, INITIALIZER, INPUT, OUTPUT = 1, 2, 5, 11, 12  # of a GraphProto
GRAPH = 7  # of a ModelProto


def fields(data):
    """The fields of a message in their order: number, value (an integer or bytes), and both as they are written."""
    found, at = [], 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value

    while at < len(data):
        begin, key = at, varint()
        if key & 7 == 0:
            value = varint()
        else:
            length = {1: 8, 5: 4}.get(key & 7) or varint()
            value, at = data[at:at + length], at + length
        found.append((key >> 3, value, data[begin:at]))
    return found


def every(data, field):
    return [value for number, value, _ in fields(data) if number == field]


def first(data, field, default=b""):
    return next(iter(every(data, field)), default)


class Case:
    """A folder with a model and data sets."""

    def __init__(self, folder, row):
        self.folder, self.row, self.name = folder, row, row["case"]
        with open(os.path.join(folder, "model.onnx"), "rb") as file:
            self.model = fields(file.read())
        self.graph = next(value for number, value, _ in self.model if number == GRAPH)
        self.nodes = every(self.graph, NODE)
        node = self.nodes[0]
        self.op_type, self.domain = first(node, 4).decode(), first(node, 7).decode()
        self.definition = int(row["opset"])
        self.inputs = [name.decode() for name in every(node, 1)]
        self.outputs = [name.decode() for name in every(node, 2)]
        self.attributes = {first(value, 1).decode(): value for value in every(node, 5)}
        self.types = dict(map(self.type_of, every(self.graph, INPUT) + every(self.graph, OUTPUT)))

    @staticmethod
    def type_of(info):
        """The name of a value, its element type and extents; no extents for what is no tensor of known rank."""
        name, tensor = first(info, 1).decode(), first(first(info, 2), 1)
        dtype, shape = first(tensor, 1, 0), every(tensor, 2)
        dims = [first(extent, 1, 0) for extent in every(shape[0], 1)] if shape else None
        return name, (DTYPES.get(dtype, "other"), dims)

    def dtype(self, name):
        return self.types.get(name, ("none", None))[0]

    def dims(self, name):
        return self.types.get(name, ("none", None))[1]

    def integer(self, attribute, default):
        return first(self.attributes[attribute], 3, default) if attribute in self.attributes else default

    def text(self, attribute, default):
        return first(self.attributes[attribute], 4).decode() if attribute in self.attributes else default

    def is_covered_by(self, row):
        """Whether a row of a delegate's table is about the only node, its definition, element types and rank."""
        if len(self.nodes) != 1 or not self.inputs or (row["op_type"], row["domain"]) != (self.op_type, self.domain):
            return False
        if self.definition < (row["min_version"] or 0) or self.definition > (row["max_version"] or self.definition):
            return False
        dtypes = {self.dtype(name) for name in self.inputs[:1] + self.outputs[:1]}
        dims = self.dims(self.inputs[0])
        if dims is None or not dtypes <= set(row["dtypes"]):
            return False
        return row["min_rank"] <= len(dims) <= (len(dims) if row["max_rank"] is None else row["max_rank"])


def read(base):
    with open(os.path.join(base, "index.tsv"), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [Case(os.path.join(base, row["folder"], row["case"]), row) for row in rows]


def constants_of(case, data_set):
    """By their names: what the data set has for all inputs but the first, as initializers. Nothing where one is no
    tensor of the declared type."""
    constants = {}
    held = {first(tensor, 8) for tensor in every(case.graph, INITIALIZER)}
    for index, info in enumerate([info for info in every(case.graph, INPUT) if first(info, 1) not in held]):
        if index == 0:
            continue
        declared = first(first(info, 2), 1)
        with open(os.path.join(data_set, f"input_{index}.pb"), "rb") as file:
            content = fields(file.read())
        # Some files have the bits of a type in another one.
        if declared == b"" or first(declared, 1) not in [value for field, value, _ in content if field == 2]:
            return None
        name = first(info, 1)
        constants[name] = b"".join(raw for field, _, raw in content if field != 8) + onnx_bytes.chunk(8, name)
    return constants


def beside(case):
    """The node between two others that change nothing; nothing where it neither reads nor makes float32."""
    reads, makes = (case.dtype(name) == "float32" for name in (case.inputs[0], case.outputs[0]))
    if not (reads or makes):
        return None
    least = onnx_bytes.chunk(INITIALIZER, onnx_bytes.tensor((float("-inf"),), (), "the least"))
    renamed = {(1, case.inputs[0].encode()): b"x of the node"} if reads else {}
    if makes:
        renamed[2, case.outputs[0].encode()] = b"y of the node"
    node = b"".join(onnx_bytes.chunk(field, renamed[field, value]) if field < 3 and (field, value) in renamed else raw
                    for field, value, raw in fields(case.nodes[0]))
    before = onnx_bytes.node("Max", [case.inputs[0], "the least"], ["x of the node"])
    after = onnx_bytes.node("Max", ["y of the node", "the least"], [case.outputs[0]])
    nodes = ([before] if reads else []) + [node] + ([after] if makes else [])
    return b"".join(onnx_bytes.chunk(NODE, node) for node in nodes) + least


def write_with_constants(case, folder, neighbours):
    """Writes the case of one node with all inputs but the first as constants; with `neighbours`, between two other
    nodes. Says whether the case has such a form."""
    sets = [name for name in os.listdir(case.folder) if name.startswith("test_data_set_")]
    if len(case.nodes) != 1 or not case.inputs or len(sets) != 1 or case.definition < 8:  # before: another Max
        return False
    data_set = os.path.join(case.folder, sets[0])
    inputs = every(case.graph, INPUT)
    constants = constants_of(case, data_set) if inputs and first(inputs[0], 1).decode() == case.inputs[0] else None
    nodes = beside(case) if neighbours else onnx_bytes.chunk(NODE, case.nodes[0]) if constants else None
    if constants is None or nodes is None:
        return False
    graph = nodes + b"".join(raw for field, value, raw in fields(case.graph)
                             if field != NODE and not (field == INPUT and first(value, 1) in constants))
    graph += b"".join(onnx_bytes.chunk(INITIALIZER, tensor) for tensor in constants.values())
    os.makedirs(os.path.join(folder, "test_data_set_0"))
    with open(os.path.join(folder, "model.onnx"), "wb") as file:
        file.write(b"".join(onnx_bytes.chunk(GRAPH, graph) if field == GRAPH else raw
                            for field, _, raw in case.model))
    for name in os.listdir(data_set):
        if name == "input_0.pb" or name.startswith("output_"):
            shutil.copy(os.path.join(data_set, name), os.path.join(folder, "test_data_set_0", name))
    return True


def write_with_one_output(case, folder, index):
    """Writes the case with this output alone: the others are computed by its nodes and never read."""
    kept = every(case.graph, OUTPUT)[index]
    graph = b"".join(raw for field, value, raw in fields(case.graph) if field != OUTPUT or value == kept)
    for name in [name for name in os.listdir(case.folder) if name.startswith("test_data_set_")]:
        os.makedirs(os.path.join(folder, name))
        for file in os.listdir(os.path.join(case.folder, name)):
            if file.startswith("input_"):
                shutil.copy(os.path.join(case.folder, name, file), os.path.join(folder, name, file))
        wanted = os.path.join(case.folder, name, f"output_{index}.pb")
        if os.path.exists(wanted):
            shutil.copy(wanted, os.path.join(folder, name, "output_0.pb"))
    with open(os.path.join(folder, "model.onnx"), "wb") as file:
        file.write(b"".join(onnx_bytes.chunk(GRAPH, graph) if field == GRAPH else raw for field, _, raw in case.model))
