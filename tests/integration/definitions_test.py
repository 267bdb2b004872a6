#!/usr/bin/env python3
"""Compares the one list of operators with the schemas of the packages onnx and onnxruntime: operands with their types or
type variables, element types of each variable, and attributes that are required. In the other direction, each definition
that the package onnx has of each operator of each domain, of all its history, is listed with its attributes, those that
are required, and how many operands it has, or its operator is left out for a reason given here; and the importer knows the package's IR version and the fields of its
messages. So the next release of ONNX fails here first. Skipped without these packages.

  definitions_test.py --schema DIR --importer DIR      the folders of operators.inc, and of the importer of ONNX
"""

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "abi"))

import operators  # noqa: E402

SKIPPED = 77
# The list's names of sets of element types.
ONE = {"kU8": "uint8", "kU16": "uint16", "kU32": "uint32", "kU64": "uint64", "kI8": "int8", "kI16": "int16",
       "kI32": "int32", "kI64": "int64", "kF16": "float16", "kF32": "float", "kF64": "double", "kBf16": "bfloat16",
       "kBool": "bool", "kStr": "string", "kFloat8E4M3FN": "float8e4m3fn", "kFloat8E8M0": "float8e8m0"}  # fmt: skip
SETS = {name: {one} for name, one in ONE.items()}
SETS["kFloats"] = {"float16", "float", "double"}
SETS["kFloatsBf16"] = SETS["kFloats"] | {"bfloat16"}
SETS["kWide"] = SETS["kFloats"] | {"uint32", "uint64", "int32", "int64"}
SETS["kWideBf16"] = SETS["kWide"] | {"bfloat16"}
SETS["kNumeric"] = SETS["kWide"] | {"uint8", "uint16", "int8", "int16"}
SETS["kNumericBf16"] = SETS["kNumeric"] | {"bfloat16"}
SETS["kAnyButBf16"] = SETS["kNumeric"] | {"bool", "string"}
SETS["kAnyTensor"] = SETS["kAnyButBf16"] | {"bfloat16"}
SETS["kSmall19"] = {"float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"}
SETS["kInt4s"], SETS["kInt2s"] = {"uint4", "int4"}, {"uint2", "int2"}
SETS["kSmall21"] = SETS["kSmall19"] | SETS["kInt4s"]
SETS["kSmall23"] = SETS["kSmall21"] | {"float4e2m1"}
SETS["kSmall24"] = SETS["kSmall23"] | {"float8e8m0"}
SETS["kSmall25"] = SETS["kSmall24"] | SETS["kInt2s"]
OWN_NAMES = {"float": "float32", "double": "float64"}
# What the text and the reference implementation have, but not the schema.
MORE_THAN_THE_SCHEMA = {("DequantizeLinear", "T1"): {"float8e8m0"}}
# Element types that no tensor here has.
NO_TYPES = {"float6e2m3", "float6e3m2"}
GRAPHS = ("body", "then_branch", "else_branch")
# Operators and whole domains that are not listed, with the reason; a domain of which some are listed is not left out.
TEXT = "strings: no delegate has them, and neither have the CPU's kernels"
MAPS = "maps are no values of a run"
LEFT_OUT = {"ImageDecoder": "the application decodes images before inference", "RegexFullMatch": TEXT,
            "StringConcat": TEXT, "StringNormalizer": TEXT, "StringSplit": TEXT, "ai.onnx.ml.CastMap": MAPS,
            "ai.onnx.ml.DictVectorizer": MAPS, "ai.onnx.ml.ZipMap": "read as the scores of which it makes maps"}  # fmt: skip
DOMAINS_LEFT_OUT = {"ai.onnx.preview": "not final", "ai.onnx.preview.training": "training"}
# Definitions of the list that are ONNX Runtime's or of operators that ONNX removed.
NOT_OF_THE_PACKAGE = {("LayerNormalization", 1)}
KINDS = {"INT": "Int", "FLOAT": "Float", "STRING": "String", "INTS": "Ints", "FLOATS": "Floats", "STRINGS": "Strings",
         "TENSOR": "Tensor", "TYPE_PROTO": "String"}
# Attributes of strings or sparse tensors, which the importer reads or refuses by itself.
OWN_ATTRIBUTES = {("Constant", "sparse_value")}
# Required attributes that the importer checks by itself, and one that says nothing of the results.
NOT_REQUIRED = {("Constant", "value"), ("BatchNormalization", "consumed_inputs")}
MOST = 2**31 - 1  # operands, of a schema that has any number


def element_of(type_text):
    """"float" of "seq(tensor(float))"; None for what is no tensor, and for complex numbers."""
    found = re.search(r"tensor\((\w+)\)", type_text)
    return found[1] if found and not found[1].startswith("complex") and found[1] not in NO_TYPES else None


class Schema:
    """What both packages say of an operator, in the words of the list."""

    def __init__(self, schema, of_runtime):
        self.version = schema.since_version
        type_of = (lambda operand: operand.typeStr) if of_runtime else (lambda operand: operand.type_str)
        is_uniform = (lambda operand: operand.isHomogeneous) if of_runtime else (lambda operand: operand.is_homogeneous)
        self.types = {constraint.type_param_str: {element_of(text) for text in constraint.allowed_type_strs} - {None}
                      for constraint in schema.type_constraints}

        def operand(given):
            name = type_of(given)
            element = name if name in self.types else OWN_NAMES.get(element_of(name), element_of(name))
            variadic = str(given.option).endswith("Variadic")
            own = "~" if variadic and not is_uniform(given) else ""
            return f"{given.name.replace(' ', '_')} {own}{element}{'...' if variadic else ''}"

        self.operands = {"inputs": [operand(one) for one in schema.inputs],
                         "outputs": [operand(one) for one in schema.outputs]}
        self.required = {name for name, one in schema.attributes.items() if one.required}


def types_in(text):
    return set().union(*(SETS[name] for name in text.split(" | ")))


def check(name, listed, schema):
    wrong = [f"{name}: {noun} are {', '.join(schema.operands[noun])}, listed: {', '.join(listed.operands[noun])}"
             for noun in ("inputs", "outputs") if listed.operands[noun] != schema.operands[noun]]
    first = (schema.operands["inputs"] or schema.operands["outputs"])[0]
    main = first.split(" ")[1].strip("~.")
    of_definitions = set().union(*(types_in(types) for *_, types in listed.definitions))
    for variable, types in schema.types.items():
        if variable not in listed.types and variable != main:
            wrong.append(f"{name}: the types of {variable} are not listed")
            continue
        own = types_in(listed.types[variable]) if variable in listed.types else of_definitions
        own = own - MORE_THAN_THE_SCHEMA.get((name, variable), set())
        if variable == main and variable not in listed.types:
            missing, more = types - own, set()  # older definitions may have more
        else:
            missing, more = types - own, own - types - (of_definitions if variable == main else set())
        if missing or more:
            wrong.append(f"{name}: {variable} lacks {sorted(missing)}, has too many {sorted(more)}")
    required = {attribute for attribute, aspect in listed.rules
                if aspect == "required" and attribute in in_force(listed, schema.version)}
    expected = {attribute for attribute in schema.required - set(GRAPHS)}
    if required != expected:
        wrong.append(f"{name}: {sorted(expected)} are required, listed: {sorted(required)}")
    return wrong


def in_force(operator, version):
    """The attributes that the list has for a definition: {name: kind}."""
    found = {}
    for rows in (operator.former, operator.attributes):
        for name, (kind, since, end, _) in rows.items():
            if int(since) <= version and (end == operators.STILL_THERE or version < int(end)):
                found[name] = kind
    return found


def counts_of(operator, version):
    """The least and most inputs, and the most outputs, that the list has for a definition."""
    known = [counts for since, counts in operator.of_definitions.items() if since <= version]
    least, most, _, outputs = operator.counts
    return tuple(MOST if count == operators.VARIADIC else int(count)
                 for count in (known[-1] if known else (least, most, outputs)))


def check_history(listed, schemas):
    """Every definition of the package, of all its history, is in the list."""
    by_name = {(operator.domain.strip('"'), name.split("_", 1)[1] if operator.domain != '""' else name): operator
               for name, operator in listed.items()}
    domains = {domain for domain, _ in by_name}
    wrong, history = [], {}
    for schema in schemas:
        history.setdefault((schema.domain, schema.name), {})[schema.since_version] = schema
    for (domain, name), versions in sorted(history.items()):
        if domain in DOMAINS_LEFT_OUT and domain not in domains:
            continue
        what = f"{domain}{'.' if domain else ''}{name}"
        operator = by_name.get((domain, name))
        if operator is None or what in LEFT_OUT:
            if what not in LEFT_OUT:
                wrong.append(f"{what} is neither listed nor left out for a reason")
            elif operator is not None:
                wrong.append(f"{what} is left out, but listed")
            continue
        known = {since for since, *_ in operator.definitions}
        for version, schema in sorted(versions.items()):
            if schema.deprecated:
                continue
            if version not in known:
                wrong.append(f"{what}: definition {version} is not listed")
                continue
            counts = (schema.min_input, min(schema.max_input, MOST), min(schema.max_output, MOST))
            if counts != counts_of(operator, version):
                wrong.append(f"{what}-{version}: has {counts} inputs and outputs, listed: {counts_of(operator, version)}")
            wanted = {attribute: KINDS.get(str(one.type).rpartition(".")[2], "other")
                      for attribute, one in schema.attributes.items()
                      if attribute not in GRAPHS and (name, attribute) not in OWN_ATTRIBUTES}
            got = in_force(operator, version)
            if wanted != got:
                wrong.append(f"{what}-{version}: attributes are {sorted(wanted.items() - got.items())}, listed: "
                             f"{sorted(got.items() - wanted.items())}")
            required = {attribute for attribute, one in schema.attributes.items() if one.required}
            required -= {*GRAPHS, *(attribute for of, attribute in NOT_REQUIRED if of == name)}
            listed_so = {attribute for (attribute, aspect), since in operator.rules.items()
                         if aspect == "required" and int(since) <= version and attribute in got}
            if required != listed_so:
                wrong.append(f"{what}-{version}: {sorted(required)} are required, listed: {sorted(listed_so)}")
        wrong += [f"{what}: the listed definition {version} does not exist"
                  for version in sorted(known - set(versions)) if (name, version) not in NOT_OF_THE_PACKAGE]
    of_onnx = {f"{domain}{'.' if domain else ''}{name}" for domain, name in history}
    wrong += [f"{name} is left out, but ONNX has no such operator" for name in LEFT_OUT if name not in of_onnx]
    return wrong


def numbers_in(text, name):
    """Those of the fields of a constexpr list of wire_schema.cpp."""
    found = re.search(rf"constexpr (?:Field|uint32_t) {name}\[\] = {{(.*?)}};", text, re.S)
    if not found:
        return set()
    body = re.sub(r"//.*", "", found[1])
    return {int(number) for number in (re.findall(r"{(\d+),", body) if "{" in body else re.findall(r"\d+", body))}


def check_messages(importer, onnx):
    """The IR version, and the fields of each message."""
    wrong = []
    reader = (importer / "model_reader.hpp").read_text(encoding="utf-8")
    known = int(re.search(r"kNewestIrVersion = (\d+);", reader)[1])
    if known != onnx.IR_VERSION:
        wrong.append(f"the package's IR version is {onnx.IR_VERSION}, the importer knows {known}")
    schema = (importer / "wire_schema.cpp").read_text(encoding="utf-8")
    names = {"Model": onnx.ModelProto, "OperatorSet": onnx.OperatorSetIdProto, "Graph": onnx.GraphProto,
             "Node": onnx.NodeProto, "Attribute": onnx.AttributeProto, "Tensor": onnx.TensorProto,
             "Segment": onnx.TensorProto.Segment, "SparseTensor": onnx.SparseTensorProto,
             "ValueInfo": onnx.ValueInfoProto, "Type": onnx.TypeProto, "TensorType": onnx.TypeProto.Tensor,
             "ElementType": onnx.TypeProto.Sequence, "MapType": onnx.TypeProto.Map, "Shape": onnx.TensorShapeProto,
             "Dimension": onnx.TensorShapeProto.Dimension, "Function": onnx.FunctionProto,
             "Property": onnx.StringStringEntryProto}  # fmt: skip
    for name, message in names.items():
        read, ignored = numbers_in(schema, f"k{name}Fields"), numbers_in(schema, f"k{name}Ignored")
        actual = {field.number for field in message.DESCRIPTOR.fields}
        if not read or read & ignored or read | ignored != actual:
            wrong.append(f"{message.DESCRIPTOR.full_name} has the fields {sorted(actual)}, the importer reads "
                         f"{sorted(read)} and ignores {sorted(ignored)}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schema", type=Path, required=True)
    parser.add_argument("--importer", type=Path, required=True)
    arguments = parser.parse_args()
    try:
        import onnx
        from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema
    except ImportError:
        print("skipped: needs the packages onnx and onnxruntime; packaging/peers.sh installs them")
        return SKIPPED
    listed = operators.parse((arguments.schema / "operators.inc").read_text(encoding="utf-8"))
    of_runtime = get_all_operator_schema()
    wrong = check_history(listed, onnx.defs.get_all_schemas_with_history()) + check_messages(arguments.importer, onnx)
    newest = max(since for operator in listed.values() if operator.domain == '""' for since, *_ in operator.definitions)
    if newest != onnx.defs.onnx_opset_version():
        wrong.append(f"the package's opset is {onnx.defs.onnx_opset_version()}, the newest listed definition {newest}")
    for name, operator in listed.items():
        domain = operator.domain.strip('"')
        op_type = name.split("_", 1)[1] if domain else name
        newest = operator.definitions[-1][0]
        try:
            schema = Schema(onnx.defs.get_schema(op_type, newest, domain), False)
        except onnx.defs.SchemaError:
            found = [one for one in of_runtime
                     if (one.name, one.domain) == (op_type, domain) and one.since_version <= newest]
            if not found:
                wrong.append(f"{name}: neither package has it")
                continue
            schema = Schema(max(found, key=lambda one: one.since_version), True)
        if schema.version != newest:
            wrong.append(f"{name}: the newest definition is {schema.version}, listed: {newest}")
        wrong += check(name, operator, schema)
    for message in wrong:
        print(message)
    print(f"{len(listed)} operators, {len(wrong)} differences")
    return 1 if wrong or not listed else 0


if __name__ == "__main__":
    sys.exit(main())
