"""Reads the ABI headers and works out, with a real compiler, where every field of every struct lies and what every
enumerator is worth. Nothing is listed by hand, so nothing can be forgotten."""

import os
import re
import subprocess
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
INCLUDE = os.path.join(ROOT, "sdk", "include")


def headers():
    """The ABI's headers, as include names."""
    found = []
    for folder, _, names in os.walk(os.path.join(INCLUDE, "deputy", "abi")):
        found += [os.path.relpath(os.path.join(folder, name), INCLUDE) for name in names if name.endswith(".h")]
    return sorted(found)


def _source(include_root):
    text = ""
    for header in headers():
        with open(os.path.join(include_root, header), encoding="utf-8") as file:
            text += file.read() + "\n"
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:\\\n|.)*", " ", text, flags=re.M)


def _field_name(declaration):
    pointer = re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(", declaration)
    if pointer:
        return pointer.group(1)
    return re.search(r"(\w+)\s*(?:\[[^\]]*\])?$", declaration).group(1)


def structs(include_root=INCLUDE):
    """(name of the type, names of its fields) in order of appearance."""
    text = _source(include_root)
    found = []
    for match in re.finditer(r"(typedef\s+)?struct\s+(\w+)\s*\{(.*?)\}\s*(\w*)\s*;", text, flags=re.S):
        fields = [_field_name(" ".join(part.split())) for part in match.group(3).split(";") if part.strip()]
        found.append((match.group(4) or "struct " + match.group(2), fields))
    return found


def enumerators(include_root=INCLUDE):
    text = _source(include_root)
    return [
        re.match(r"\s*(\w+)", part).group(1)
        for body in re.findall(r"\benum\s*\{(.*?)\}", text, flags=re.S)
        for part in body.split(",")
        if part.strip()
    ]


def program(include_root=INCLUDE):
    lines = [f'#include "{header}"' for header in headers()]
    lines += ["#include <stdio.h>", "int main(void) {"]
    for name, fields in structs(include_root):
        for field in fields:
            lines.append(
                f'  printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));'
            )
        lines.append(f'  printf("{name} size %zu\\n", sizeof({name}));')
    lines += [f'  printf("{name} = %lld\\n", (long long){name});' for name in enumerators(include_root)]
    return "\n".join(lines + ["  return 0;", "}", ""])


def measure(compiler, run=(), include_root=INCLUDE):
    """The table of this compiler's target: one line per field, per struct, per enumerator."""
    with tempfile.TemporaryDirectory() as folder:
        source, binary = os.path.join(folder, "layout.c"), os.path.join(folder, "layout")
        with open(source, "w", encoding="utf-8") as file:
            file.write(program(include_root))
        subprocess.run([compiler, "-std=c11", "-I", include_root, source, "-o", binary], check=True)
        return subprocess.run([*run, binary], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


def _parse(lines):
    """fields: struct -> [(field, offset and size)] in order; sizes: struct -> bytes; values: enumerator -> number."""
    fields, sizes, values = {}, {}, {}
    for line in lines:
        if " = " in line:
            name, number = line.split(" = ")
            values[name] = number
        elif " size " in line:
            name, size = line.split(" size ")
            sizes[name] = size
        else:
            path, offset, size = line.rsplit(" ", 2)
            name, field = path.rsplit(".", 1)
            fields.setdefault(name, []).append((field, f"at {offset}, {size} bytes"))
    return fields, sizes, values


def compare(golden, present):
    """What breaks the promise. A struct may only grow, at its end, and only if it begins with struct_size; enumerators
    keep their numbers; nothing goes away."""
    old_fields, old_sizes, old_values = _parse(golden)
    fields, sizes, values = _parse(present)
    problems = []
    for name, old in old_fields.items():
        now = fields.get(name, [])
        if now[: len(old)] != old:
            wrong = next((o for o, n in zip(old, now + [None] * len(old)) if o != n), old[-1])
            problems.append(f"{name}.{wrong[0]} was {wrong[1]}, and is not any more")
        elif old[0][0] != "struct_size" and (now != old or sizes[name] != old_sizes[name]):
            problems.append(f"{name} is frozen, and has changed")
    for name, number in old_values.items():
        if values.get(name) != number:
            problems.append(f"{name} was {number}, and is {values.get(name, 'gone')}")
    return problems
