"""The table of the ABI: what the golden files of a machine hold, how it is made from headers and a compiler, and which
changes of it keep old plugins and old hosts alive. (What does not depend on the machine and is not in the headers, the
schema of operators, has a golden file of its own: schema.py.)

One line for each thing, in the order of the headers:

  abi 0.1
  struct deputy_str 16                                        size
  field deputy_str.data 0 8 const char *data                  offset, size, declaration
  typedef deputy_code int32_t deputy_code
  enumerator DEPUTY_OK 0 DEPUTY_OK                            value, first enumerator of its enum
  constant DEPUTY_NO_NODE 0xffffffffu
  macro DEPUTY_HAS (p, T, f) = ((size_t) (p) -> ...           and its condition; one for each of a name (headers.py)
  flags DEPUTY_OPEN_COMPILE_ONLY                              first enumerator of a set of flags (flags.py)
  optional deputy_ext_blob.check                              a slot that may be NULL
  contract deputy_delegate.open 1e470b1c197c15bb              hash of the comment (contracts.py); - where there is none
"""

import re
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import contracts
import flags

SIZE_FIELD = "struct_size"  # structs that do not begin with it are frozen (base.h)


class Field(NamedTuple):
    name: str
    offset: int
    size: int
    text: str


class Struct(NamedTuple):
    size: int
    fields: list

    @property
    def grows(self):
        return bool(self.fields) and self.fields[0].name == SIZE_FIELD


class Table(NamedTuple):
    version: tuple
    structs: dict
    typedefs: dict  # name: text
    enumerators: dict  # name: (value, group)
    constants: dict  # name: text
    macros: dict  # name: (text, ...)
    flags: dict  # first enumerator of a set of flags: True
    optional: dict  # slot: True
    contracts: dict  # function, struct or field: hash


SAME = ("typedefs", "enumerators", "constants", "macros", "flags")  # what is as it was


def program(abi):
    """C that prints where every field lies and what every enumerator is."""
    lines = ["#include <stdio.h>"] + [f'#include "{header}"' for header in abi.headers] + ["int main(void) {"]
    for struct in abi.structs.values():
        lines.append(f'  printf("{struct.name} %zu\\n", sizeof({struct.name}));')
        for field in struct.fields:
            lines.append(f'  printf("{struct.name}.{field.name} %zu %zu\\n", offsetof({struct.name}, {field.name}), '
                         f"sizeof((({struct.name} *)0)->{field.name}));")
    lines += [f'  printf("{name} %lld\\n", (long long){name});' for name in abi.enumerators]
    return "\n".join(lines + ["  return 0;", "}", ""])


class CompilerRefuses(Exception):
    pass


def numbers_of(abi, include, compiler, emulator=()):
    """{struct: [size], field: [offset, size], enumerator: [value]}, as `compiler` ([name, option...]) sees them; an
    emulator runs foreign programs."""
    with tempfile.TemporaryDirectory() as scratch:
        source, built = Path(scratch, "layout.c"), Path(scratch, "layout")
        source.write_text(program(abi), encoding="utf-8")
        done = subprocess.run(
            [*compiler, "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-I", str(include), str(source), "-o",
             str(built)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise CompilerRefuses(done.stdout)
        printed = subprocess.run([*emulator, str(built)], check=True, stdout=subprocess.PIPE, text=True).stdout
    rows = (line.split() for line in printed.splitlines())
    return {name: [int(value) for value in values] for name, *values in rows}


def tabulate(abi, numbers):
    structs = {
        struct.name: Struct(numbers[struct.name][0],
                            [Field(field.name, *numbers[f"{struct.name}.{field.name}"], field.text)
                             for field in struct.fields])
        for struct in abi.structs.values()
    }
    known = contracts.read(abi)
    return Table(abi.version, structs, {item.name: item.text for item in abi.typedefs.values()},
                 {item.name: (numbers[item.name][0], item.group) for item in abi.enumerators.values()},
                 {item.name: item.value for item in abi.constants.values()},
                 {name: tuple(item.text for item in items) for name, items in abi.macros.items()},
                 dict.fromkeys(flags.sets(abi), True),
                 {name: True for name, contract in known.items() if contract.table and contract.optional},
                 {name: contracts.hash_of(contract.text) for name, contract in known.items()})


def measure(abi, include, compiler, emulator=()):
    """The table, with the numbers that the compiler gives."""
    return tabulate(abi, numbers_of(abi, include, compiler, emulator))


def write(table):
    lines = [f"abi {table.version[0]}.{table.version[1]}"]
    for name, struct in table.structs.items():
        lines.append(f"struct {name} {struct.size}")
        lines += [f"field {name}.{field.name} {field.offset} {field.size} {field.text}" for field in struct.fields]
    lines += [f"typedef {name} {text}" for name, text in table.typedefs.items()]
    lines += [f"enumerator {name} {value} {group}" for name, (value, group) in table.enumerators.items()]
    lines += [f"constant {name} {text}" for name, text in table.constants.items()]
    lines += [f"macro {name} {text}" for name, texts in table.macros.items() for text in texts]
    lines += [f"flags {name}" for name in table.flags]
    lines += [f"optional {name}" for name in table.optional]
    lines += [f"contract {name} {digest}" for name, digest in table.contracts.items()]
    return "\n".join(lines) + "\n"


def parse(text, source):
    table = Table(None, {}, {}, {}, {}, {}, {}, {}, {})
    for number, line in enumerate(text.splitlines(), 1):
        kind, _, rest = line.partition(" ")
        try:
            name, *values = rest.split(" ", 3 if kind == "field" else 2 if kind == "enumerator" else 1)
            if kind == "abi":
                table = table._replace(version=tuple(int(part) for part in name.split(".")))
            elif kind == "struct":
                table.structs[name] = Struct(int(values[0]), [])
            elif kind == "field":
                struct, field = name.split(".")
                table.structs[struct].fields.append(Field(field, int(values[0]), int(values[1]), values[2]))
            elif kind == "typedef":
                table.typedefs[name] = values[0]
            elif kind == "enumerator":
                table.enumerators[name] = (int(values[0]), values[1])
            elif kind == "constant":
                table.constants[name] = values[0]
            elif kind == "macro":
                table.macros[name] = (*table.macros.get(name, ()), values[0])
            elif kind in ("flags", "optional"):
                getattr(table, kind)[name] = True
            elif kind == "contract" and contracts.HASH.fullmatch(values[0]):
                table.contracts[name] = values[0]
            else:
                raise ValueError
        except (IndexError, KeyError, ValueError):
            raise SystemExit(f"{source}:{number}: cannot read '{line}'") from None
    if table.version is None:
        raise SystemExit(f"{source}: says no version")
    return table


def compare(old, new):
    """What in `new` breaks those who were built with `old`, but for the contracts (contracts.compare). Appending breaks
    nobody."""
    wrong = []
    for name, struct in old.structs.items():
        if name not in new.structs:
            wrong.append(f"{name} is gone")
            continue
        now = new.structs[name]
        for index, field in enumerate(struct.fields):
            present = now.fields[index] if index < len(now.fields) else None
            if present != field:
                is_now = f"{tuple(present)}" if present else "gone"
                wrong.append(f"{name}: field {index} was {tuple(field)}, is {is_now}")
                break  # those behind it are named no better
        if not struct.grows and len(now.fields) > len(struct.fields):
            wrong.append(f"{name} is frozen, and has {len(now.fields)} fields instead of {len(struct.fields)}")
        if now.size < struct.size or (not struct.grows and now.size != struct.size):
            wrong.append(f"{name} had {struct.size} bytes, has {now.size}")
    for what in SAME:
        present = getattr(new, what)
        for name, value in getattr(old, what).items():
            if present.get(name) != value:
                was, now = ("a set of flags", "none") if what == "flags" else (value, present.get(name, "gone"))
                wrong.append(f"{name} was {was}, is {now}")
    wrong += [f"{name} was optional, and is not any more: where it is NULL, it would be called"
              for name in old.optional if name not in new.optional]
    return wrong


def forgotten(old, new):
    """What `new` has and the golden file `old` of the same version does not hold: nothing would protect it."""
    names = [f"{name}.{field.name}" for name, struct in new.structs.items()
             for field in struct.fields[len(old.structs[name].fields) if name in old.structs else 0:]]
    for what in SAME:
        names += [name for name in getattr(new, what) if name not in getattr(old, what)]
    names += [f"{name} as optional" for name in new.optional if name not in old.optional]
    return names + [f"the contract of {name}" for name in new.contracts
                    if name not in old.contracts and name not in names]


def added(old, new):
    """The golden file with what `new` appended; the hashes of contracts that it holds stay."""
    return new._replace(contracts={**new.contracts, **old.contracts})


# What a field or a parameter may be made of, beside the ABI's own types. `char` and `void` only behind a pointer.
PLAIN = {"uint8_t", "uint16_t", "uint32_t", "uint64_t", "int8_t", "int16_t", "int32_t", "int64_t", "float", "double"}


def check_rules(abi, table):
    """The rules of base.h that hold for one version alone."""
    wrong = []

    def check_type(where, text):
        words = [word for word in re.findall(r"\w+", text) if word != "const"]
        name = words[0] if len(words) == 1 else " ".join(words)
        if name in PLAIN or name in abi.typedefs:
            return
        pointer = "*" in text
        if name in table.structs:
            if not pointer and table.structs[name].grows:
                wrong.append(f"{where}: {name} may grow, and so goes by pointer only")
        elif not pointer or (name not in abi.opaque and name not in ("char", "void")):
            wrong.append(f"{where}: '{text}' is not a type of the ABI (fixed widths, pointers, its own types)")

    def check_function(where, item):
        if item.type != "void":
            check_type(where, item.type)
        for parameter in item.parameters:
            check_type(f"{where}({parameter.name})", parameter.type)

    for struct in abi.structs.values():
        end = 0
        for field, place in zip(struct.fields, table.structs[struct.name].fields):
            where = f"{struct.name}.{field.name}"
            if field.parameters is None:
                check_type(where, field.type)
            else:
                check_function(where, field)
            if place.offset != end:
                wrong.append(f"{where}: a hole of {place.offset - end} bytes in front of it")
            end = place.offset + place.size
        if table.structs[struct.name].size != end:
            wrong.append(f"{struct.name}: padding behind its last field, which an appended field would fall into and "
                         "an old peer's struct_size would already cover")
        sizes = [index for index, field in enumerate(struct.fields) if field.name == SIZE_FIELD]
        if sizes not in ([], [0]) or (sizes and struct.fields[0].text != f"uint32_t {SIZE_FIELD}"):
            wrong.append(f"{struct.name}: uint32_t {SIZE_FIELD} stands first or not at all")
    for item in abi.typedefs.values():
        if item.parameters is None:
            check_type(item.name, item.type)
        else:
            check_function(item.name, item)
    values = {}
    for name, (value, group) in table.enumerators.items():
        other = values.setdefault((group, value), name)
        if other != name:
            wrong.append(f"{name} has the value of {other}")
    for contract in contracts.read(abi).values():
        if contract.function and contracts.OPTIONAL in contract.text and not contract.table:
            wrong.append(f"{contract.name}: only a slot of a struct with {SIZE_FIELD} can be optional")
    return wrong + flags.check(abi, table.enumerators)
