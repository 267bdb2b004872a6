"""The operator schema: the node as plugins read it (primitive.fbs) and the list of operators (operators.inc), the
golden file of both, and the changes that keep old plugins and old hosts alive.

One line for each thing:

  abi 0.1
  namespace deputy.schema
  enum AttributeType ubyte                                  values and fields follow in their order
  value AttributeType.None 0
  table Attribute
  field Attribute.name 0 string key                         id, type, default and attributes
  root_type Primitive
  file_identifier "DPRM"
  operator Add "" 2 2 1 1                                   domain, inputs and outputs: least, most
  definition Add 14 kExtended kNumericBf16                  since_version, change, types
  attribute Add.axis Int 1 7 0                              kind, since, until, default
  former Cast.to String 1 6 ""                              the form of an attribute before it changed its kind
  inputs Add A T, B T                                       operands with their types or type variables
  outputs Add C T
  types Attention.T2 kFloatsBf16                            element types of a type variable
  rule Cast.to required 1                                   what values an attribute may have

The readers know the part of the two languages that these files use, and fail on everything else.
"""

import re
from typing import NamedTuple

import operators
import primitive


class Schema(NamedTuple):
    version: tuple
    single: dict  # "namespace", "root_type", "file_identifier": text
    enums: dict  # name: (type, {value: number})
    tables: dict  # name: {field: "id type ..."}, in the order of ids
    operators: dict  # name: operators.Operator


class Unreadable(Exception):
    pass


def read(folder, version):
    """The schema in the folder (.../sdk/schema)."""
    try:
        flat = primitive.parse((folder / "primitive.fbs").read_text(encoding="utf-8"))
        listed = operators.parse((folder / "operators.inc").read_text(encoding="utf-8"))
    except (primitive.Unreadable, operators.Unreadable) as error:
        raise Unreadable(str(error)) from None
    return Schema(version, flat.single, flat.enums, flat.tables, listed)


def write(schema):
    lines = [f"abi {schema.version[0]}.{schema.version[1]}", f"namespace {schema.single['namespace']}"]
    for name, (of, values) in schema.enums.items():
        lines.append(f"enum {name} {of}")
        lines += [f"value {name}.{value} {number}" for value, number in values.items()]
    for name, fields in schema.tables.items():
        lines.append(f"table {name}")
        lines += [f"field {name}.{field} {text}" for field, text in fields.items()]
    lines += [f"{what} {schema.single[what]}" for what in ("root_type", "file_identifier")]
    for name, operator in schema.operators.items():
        lines.append(f"operator {name} {operator.domain} {' '.join(operator.counts)}")
        lines += [f"definition {name} {since} {change} {types}" for since, change, types in operator.definitions]
        lines += [f"counts {name} {since} {' '.join(counts)}" for since, counts in operator.of_definitions.items()]
        lines += [f"{noun} {name} {', '.join(operands)}" for noun, operands in operator.operands.items() if operands]
        lines += [f"types {name}.{variable} {types}" for variable, types in operator.types.items()]
        for kind, attributes in (("attribute", operator.attributes), ("former", operator.former)):
            lines += [f"{kind} {name}.{attribute} {' '.join(parts)}" for attribute, parts in attributes.items()]
        lines += [f"rule {name}.{attribute} {aspect} {text}" for (attribute, aspect), text in operator.rules.items()]
    return "\n".join(lines) + "\n"


def parse(text, source):
    schema = Schema(None, {}, {}, {}, {})
    for number, line in enumerate(text.splitlines(), 1):
        kind, name, *rest = line.split(" ", 2)
        owner, _, member = name.partition(".")
        try:
            if kind == "abi":
                schema = schema._replace(version=tuple(int(part) for part in name.split(".")))
            elif kind in primitive.SINGLE:
                schema.single[kind] = name
            elif kind == "enum":
                schema.enums[name] = (rest[0], {})
            elif kind == "value":
                schema.enums[owner][1][member] = int(rest[0])
            elif kind == "table":
                schema.tables[name] = {}
            elif kind == "field":
                schema.tables[owner][member] = rest[0]
            elif kind == "operator":
                domain, *counts = rest[0].split(" ")
                schema.operators[name] = operators.empty(domain, tuple(counts))
            elif kind == "definition":
                since, change, types = rest[0].split(" ", 2)
                schema.operators[name].definitions.append((int(since), change, types))
            elif kind == "counts":
                since, *counts = rest[0].split(" ")
                schema.operators[name].of_definitions[int(since)] = tuple(counts)
            elif kind in ("inputs", "outputs"):
                schema.operators[name].operands[kind] += rest[0].split(", ")
            elif kind == "types":
                schema.operators[owner].types[member] = rest[0]
            elif kind == "rule":
                aspect, _, text = rest[0].partition(" ")
                schema.operators[owner].rules[member, aspect] = text
            elif kind in ("attribute", "former"):
                held = schema.operators[owner]
                (held.attributes if kind == "attribute" else held.former)[member] = tuple(rest[0].split(" ", 3))
            else:
                raise ValueError
        except (IndexError, KeyError, ValueError):
            raise SystemExit(f"{source}:{number}: cannot read '{line}'") from None
    if schema.version is None:
        raise SystemExit(f"{source}: says no version")
    return schema


def compare(old, new):
    """The changes in `new` that break plugins and hosts built with `old`. Appending breaks none."""
    wrong = [f"{what} was {text}, is {new.single.get(what, 'gone')}" for what, text in old.single.items()
             if new.single.get(what) != text]
    for name, (of, values) in old.enums.items():
        present = new.enums.get(name)
        if present is None or present[0] != of:
            wrong.append(f"{name} was an enum of {of}, is {present[0] if present else 'gone'}")
        else:
            wrong += changed_order(name, values, present[1])
    for name, fields in old.tables.items():
        if name not in new.tables:
            wrong.append(f"{name} is gone")
        else:
            wrong += changed_order(name, fields, new.tables[name])
            wrong += [f"{name}.{field} is required, and was not there before"
                      for field, text in new.tables[name].items()
                      if field not in fields and re.search(r"\brequired\b", text)]
    return wrong + operators.compare(old.operators, new.operators)


def changed_order(name, old, new):
    """The members of `old` come first in `new`, as they were; the first that does not."""
    present = list(new.items())
    for index, item in enumerate(old.items()):
        now = present[index] if index < len(present) else "gone"
        if now != item:
            return [f"{name}: member {index} was {item}, is {now}"]
    return []


def forgotten(old, new):
    """The lines of `new` that the golden file of the same version does not hold."""
    held = set(write(old).splitlines())
    return [line for line in write(new).splitlines() if line not in held]
