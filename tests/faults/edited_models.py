#!/usr/bin/env python3
"""Single edits of small models, for every operator that a plugin of the tree claims: each attribute of its definition left
out, of another kind, length or value; each input of every other element type, of another rank, with extents of 0, 1 and
more than memory holds, constant or not, or left out. Each model is run, placed, verified, converted and compared with the
plugin first, in process (mutants.cpp): none ends the process, and each refusal has a message.

  edited_models.py --deputy build/release/bin/deputy --mutants build/release/bin/mutants [--every N] [--save FOLDER]

With --every N, each N-th edit alone.
"""

import argparse
import json
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "fuzz"), str(TESTS / "integration")]

import corpus_plugins  # noqa: E402
import onnx_bytes as onnx  # noqa: E402

# What each plugin is given, so that small models are run as well.
PLUGINS = {"onednn": "{accept: everything}", "sim_npu": "{memory: 16}", "null": "{claim_identity: true}"}
OPSETS = {"Gelu": 20, "Mish": 18, "HardSwish": 14, "LayerNormalization": 17}
SIZES = {1: 4, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 7: 8, 8: 0, 9: 1, 10: 2, 11: 8, 12: 4, 13: 8, 14: 8, 15: 16, 16: 2, 17: 1, 18: 1,
         19: 1, 20: 1, 21: 0.5, 22: 0.5, 23: 0.5, 24: 1, 25: 0.25, 26: 0.25}
PACKING = {1: "f", 2: "B", 3: "b", 6: "i", 7: "q", 10: "e"}
LEAST, MOST = -(1 << 63), (1 << 63) - 1
OTHERS = (7, 0.5, "word", [1], [], b"floats")  # of each kind


class Value:
    def __init__(self, words):
        self.name, self.dtype, self.constant = words[1], int(words[2]), words[4] == "constant"
        self.dims = [] if words[3] == "." else [int(extent) for extent in words[3].split(",")]
        self.output, self.numbers, self.data = words[4] == "output", [float(word) for word in words[5:]], None

    def copy(self, **changes):
        other = Value.__new__(Value)
        other.__dict__.update(self.__dict__, **changes)
        return other

    def bytes(self):
        """Of a constant; of types other than those of the graphs zeros, at most 64 KiB."""
        count = 1
        for extent in self.dims:
            count *= extent
        if self.dtype not in PACKING or count > 1 << 14:
            return bytes(min(1 << 16, max(0, int(count * SIZES[self.dtype] + 0.5))))
        numbers = self.numbers or [(index * 7 % 11 - 5) / 4 for index in range(11)]
        numbers = [numbers[index % len(numbers)] for index in range(max(0, count))]
        letter = PACKING[self.dtype]
        if letter not in "fe":
            least, most = (0, 255) if letter == "B" else (-128, 127)
            numbers = [int(min(most, max(least, number))) if letter in "Bb" else int(number) for number in numbers]
        return struct.pack(f"<{len(numbers)}{letter}", *numbers)


class Node:
    def __init__(self, words):
        self.op, _, self.domain = words[1].partition("@")
        self.inputs = [name if name != "-" else "" for name in words[3].split(",")]
        self.outputs, self.attributes = words[4].split(","), {}

    def copy(self, **changes):
        other = Node.__new__(Node)
        other.__dict__.update(self.__dict__, **changes)
        return other


def read(text):
    """Values by name, and nodes, of a graph of corpus_plugins."""
    values, nodes = {}, []
    for line in text.decode().splitlines():
        words = line.split()
        if words[0] == "value":
            values[words[1]] = Value(words)
        elif words[0] == "node":
            nodes.append(Node(words))
        else:
            convert = {"int": int, "ints": int, "float": float, "floats": float, "string": str}[words[0]]
            items = [convert(word) for word in words[2:]]
            nodes[-1].attributes[words[1]] = items if words[0].endswith("s") else items[0]
    return values, nodes


def attribute(name, value):
    if value == b"floats":
        return onnx.chunk(1, name) + onnx.chunk(7, struct.pack("<2f", 1, 2)) + onnx.number(20, 6)
    return onnx.attribute(name, value)


def encoded(node):
    parts = [onnx.chunk(1, name) for name in node.inputs] + [onnx.chunk(2, name) for name in node.outputs]
    parts += [onnx.chunk(4, node.op)] + [onnx.chunk(5, attribute(*item)) for item in node.attributes.items()]
    return b"".join(parts) + onnx.chunk(7, node.domain)


def model(values, nodes):
    made = {name for node in nodes for name in node.outputs}
    used = [name for node in nodes for name in node.inputs if name]
    read_inside = set(used)
    names = sorted({name for name in used if name not in made})
    inputs = [onnx.value_info(name, ["n" if extent < 0 else extent for extent in values[name].dims], values[name].dtype)
              for name in names if not values[name].constant]
    constants = [onnx.integer_tensor(values[name].dtype, values[name].bytes(), values[name].dims, name)
                 for name in names if values[name].constant]
    outputs = [onnx.chunk(1, name) for name in sorted(made) if values[name].output or name not in read_inside]
    opset = max(OPSETS.get(node.op, 13) for node in nodes)
    return onnx.model([encoded(node) for node in nodes], inputs, outputs, sorted({node.domain for node in nodes} - {""}),
                      constants, opset)


def definitions():
    """Names and kinds of the attributes of each operator, from the list that all parts of the tree read."""
    text = (TESTS.parent / "sdk" / "schema" / "operators.inc").read_text(encoding="utf-8")
    found = {}
    for block in re.findall(r"DEPUTY_OPERATOR_BEGIN\((\w+)(.*?)DEPUTY_OPERATOR_END", text, re.S):
        found[block[0]] = re.findall(r"DEPUTY_ATTRIBUTE\(\w+,\s*(\w+),\s*(\w+),", block[1])
    return found


def changed_attributes(node, known):
    """Pairs of what changed and the attributes afterwards."""
    kinds = {name: kind for kind, name in known}
    for name, kind in kinds.items():
        value = node.attributes.get(name)
        if value is not None:
            yield f"without {name}", {key: item for key, item in node.attributes.items() if key != name}
        choices = list(OTHERS)
        if kind == "Ints":
            given = value if isinstance(value, list) else [1, 1]
            choices += [given[:-1], given + given[-1:], given + given]
            choices += [given[:at] + [number] + given[at + 1:] for at in range(len(given))
                        for number in (0, -1, 1, 3, 1 << 31, LEAST, MOST)]
        elif kind == "Int":
            choices += [0, 1, -1, 2, 3, 1 << 31, LEAST, MOST]
        elif kind == "Float":
            choices += [0.0, -1.0, 1e38, float("nan"), float("inf"), float("-inf")]
        else:
            choices += ["", "VALID", "SAME_UPPER", "SAME_LOWER", "reflect", "linear", "tanh", "CRD"]
        for choice in choices:
            yield f"{name}={choice}", {**node.attributes, name: choice}


def changed_values(value):
    for dtype in sorted(SIZES.keys() - {value.dtype}):
        yield f"{value.name} of type {dtype}", value.copy(dtype=dtype)
    yield f"{value.name} of rank + 1", value.copy(dims=[1, *value.dims])
    yield f"{value.name} of rank + 3", value.copy(dims=[1, 1, 1, *value.dims])
    yield f"{value.name}, constant exchanged", value.copy(constant=not value.constant)
    if value.dims:
        yield f"{value.name} of rank - 1", value.copy(dims=value.dims[1:])
        yield f"{value.name} as a scalar", value.copy(dims=[])
    for at in range(len(value.dims)):
        for extent in (0, 1, value.dims[at] + 1, 1 << 20, 1 << 31, 1 << 40, -1):
            yield f"{value.name}[{at}]={extent}", value.copy(dims=value.dims[:at] + [extent] + value.dims[at + 1:])
    if value.constant:
        for number in (0.0, -1.0, 100.0, float("nan")) if value.dtype in (1, 10) else (0, -1, 100, 127):
            yield f"{value.name} of {number}", value.copy(numbers=[number])


def edits(values, nodes, known):
    yield "as it is", model(values, nodes)
    for at, node in enumerate(nodes):
        def with_node(**changes):
            return model(values, nodes[:at] + [node.copy(**changes)] + nodes[at + 1:])

        for what, attributes in changed_attributes(node, known.get(node.op, [("Float", "slope")])):
            yield f"{node.op}: {what}", with_node(attributes=attributes)
        for index in range(len(node.inputs)):
            yield f"{node.op}: without input {index}", with_node(
                inputs=node.inputs[:index] + [""] + node.inputs[index + 1:])
            yield f"{node.op}: {index} inputs", with_node(inputs=node.inputs[:index])
        if len(node.inputs) > 1:
            yield f"{node.op}: inputs exchanged", with_node(inputs=node.inputs[::-1])
        yield f"{node.op}: another input", with_node(inputs=node.inputs + node.inputs[:1])
    made = {name for node in nodes for name in node.outputs}
    for name in sorted({name for node in nodes for name in node.inputs if name} - made):
        for what, value in changed_values(values[name]):
            yield what, model({**values, name: value}, nodes)


def models():
    """All edits: of each node alone, and of whole graphs, in which nodes are fused."""
    known = definitions()
    for name, text in corpus_plugins.files().items():
        values, nodes = read(text)
        for index, node in enumerate(nodes):
            for what, content in edits(values, [node], known):
                yield f"{name} node {index}: {what}", content
        for what, content in edits(values, nodes, known):
            yield f"{name}: {what}", content


def claimed(deputy, plugin):
    shown = subprocess.run([deputy, "plugins", "--operators", plugin, "--json"], capture_output=True, text=True, check=True)
    return {row["op_type"] for delegate in json.loads(shown.stdout)["delegates"] for row in delegate["operators"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--mutants", required=True)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--plugins", default=",".join(PLUGINS))
    parser.add_argument("--show-different", action="store_true", help="name those that are not as on the CPU")
    parser.add_argument("--save", help="a folder for models that end the process or are wrong")
    arguments = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        names = []
        have = {node.op for text in corpus_plugins.files().values() for node in read(text)[1]}
        for number, (what, content) in enumerate(models()):
            if number % arguments.every == 0:
                path = Path(folder) / f"{number}.onnx"
                path.write_bytes(content)
                names.append((path, what))
        listed = Path(folder) / "list"
        listed.write_text("".join(f"{path}\n" for path, _ in names))
        Path(folder, "index").write_text("".join(f"{path.name} {what}\n" for path, what in names))
        for plugin in arguments.plugins.split(","):
            lacking = claimed(arguments.deputy, plugin) - have
            if lacking:
                print(f"{plugin}: no model for {', '.join(sorted(lacking))}")
                wrong += 1
            command = [arguments.mutants, "--files-from", str(listed), "--delegate", plugin, "--options", PLUGINS[plugin],
                       "--through", "run,partition,verify,convert,compare"]
            command += ["--save", f"{arguments.save}/{plugin}"] if arguments.save else []
            command += ["--show-different", "1"] if arguments.show_different else []
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
            titles = {str(path): what for path, what in names}
            for line in done.stdout.splitlines():
                path = line.split(" ", 1)[0]
                print(f"{plugin}: {titles.get(path, '')} {line}" if path in titles else f"{plugin}: {line}", flush=True)
            wrong += done.returncode != 0
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
