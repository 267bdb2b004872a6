#!/usr/bin/env python3
"""Holds the C API against what was written down: functions, types, structs, enumerators, and the fields of reports.

  golden_test.py --include DIR --golden FILE [--library LIBDEPUTY --nm NM] [--write] COMPILER [OPTION...]
  golden_test.py --include DIR --golden FILE --self-test COMPILER [OPTION...]

A function's declaration, a field's place and type, an enumerator's number and a report's field stay as they are. New
ones are appended, and written down by --write, which refuses where something is broken. Structs without `struct_size`
are frozen. With a library: it exports each function, in the version DEPUTY_1, and no other function of that name.
The self-test plants each kind of break in a copy of the headers, and sees it refused.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FUNCTION = re.compile(r"DEPUTY_C_API ([^;]*?\b(Deputy\w+)\([^;]*\));")
STRUCT = re.compile(r"typedef struct (Deputy\w+) \{(.*?)\} \1;", re.S)
TYPEDEF = re.compile(r"^typedef ([^{;]*?\(\*(\w+)\)\([^;]*\)|[\w ]+ (\w+));", re.M)
ENUM = re.compile(r"^enum \{(.*?)\};", re.S | re.M)
REPORT = re.compile(r"void Describe\(V& v, (\w+)& (\w+)\) \{(.*?)^\}", re.S | re.M)


def one_line(text):
    return re.sub(r"\s+", " ", text).strip()


def fields_of(body):
    """(name, declaration) of each field of a struct."""
    for declaration in body.split(";"):
        declaration = one_line(declaration)
        if not declaration:
            continue
        pointer = re.search(r"\(\*(\w+)\)\(", declaration)
        if pointer:
            yield pointer[1], declaration
            continue
        first, *others = declaration.split(",")
        kind = re.match(r"(.*?)\s*(\**)\w+$", first)
        for name in (first, *others):
            yield re.search(r"(\w+)$", name.strip())[1], f"{kind[1]}{' *' if '*' in name else ''}"


def numbers(include, names, compiler):
    """What the compiler makes of sizes, offsets and enumerators."""
    with tempfile.TemporaryDirectory() as scratch:
        source, program = Path(scratch, "numbers.c"), Path(scratch, "numbers")
        lines = [f'  printf("%lld\\n", (long long)({name}));' for name in names]
        source.write_text("#include <deputy.h>\n#include <stdio.h>\nint main(void) {\n" + "\n".join(lines) +
                          "\n  return 0;\n}\n", encoding="utf-8")
        subprocess.run([*compiler, "-std=c11", f"-I{include}", str(source), "-o", str(program)], check=True)
        output = subprocess.run([str(program)], check=True, stdout=subprocess.PIPE, text=True).stdout
        return dict(zip(names, output.split()))


def read(include, compiler):
    """{name: rest of the line}, in the order of the headers."""
    text = re.sub(r"/\*.*?\*/", "", (include / "deputy.h").read_text(encoding="utf-8"), flags=re.S)
    structs = {name: list(fields_of(body)) for name, body in STRUCT.findall(text)}
    enumerators = [item.split("=")[0].strip() for body in ENUM.findall(text) for item in body.split(",") if item.strip()]
    wanted = [f"sizeof({struct})" for struct in structs] + enumerators
    for struct, fields in structs.items():
        wanted += [f"offsetof({struct}, {name})" for name, _ in fields]
    number = numbers(include, wanted, compiler)
    table = {}
    for name in enumerators:
        table[f"enumerator {name}"] = number[name]
    for struct, fields in structs.items():
        grows = fields[0][0] == "struct_size"
        table[f"struct {struct}"] = "grows" if grows else f"frozen {number[f'sizeof({struct})']}"
        for name, declaration in fields:
            table[f"field {struct}.{name}"] = f"{number[f'offsetof({struct}, {name})']} {declaration}"
    for declaration, pointer, name in TYPEDEF.findall(text):
        table[f"typedef {pointer or name}"] = one_line(declaration)
    for declaration, name in FUNCTION.findall(text):
        table[f"function {name}"] = one_line(declaration)
    for header in sorted((include / "deputy" / "fields").glob("*.hpp")):
        described = header.read_text(encoding="utf-8")
        for struct, member, body in REPORT.findall(described):
            for field, source in re.findall(r'v\("(\w+)", ' + member + r"\.([\w.]+)\)", body):
                table[f"report {struct}.{field}"] = source
    return table


def compare(golden, present):
    """What is broken, and what is new."""
    broken = [f"{name} is gone" if name not in present else f"{name}: was '{text}', is '{present[name]}'"
              for name, text in golden.items() if present.get(name) != text]
    frozen = {name.split()[1] for name, text in golden.items() if name.startswith("struct ") and text != "grows"}
    new = [name for name in present if name not in golden]
    broken += [f"{name}: the struct is frozen" for name in new
               if name.startswith("field ") and name.split()[1].split(".")[0] in frozen]
    return broken, new


def parse(text):
    return dict(line.split(" = ", 1) for line in text.splitlines() if line and not line.startswith("#"))


def wrong_exports(library, nm, present):
    output = subprocess.run([nm, "-D", "--defined-only", str(library)], check=True, stdout=subprocess.PIPE, text=True)
    exported = {line.split()[-1] for line in output.stdout.splitlines() if line.split()[-1].startswith("Deputy")}
    declared = {f"{name.split()[1]}@@DEPUTY_1" for name in present if name.startswith("function ")}
    return ([f"{name} is declared, but not exported" for name in sorted(declared - exported)] +
            [f"{name} is exported, but not declared" for name in sorted(exported - declared)])


EDITS = (
    ("a function is removed", "DEPUTY_C_API void DeputySessionCancel(DeputySession *session);", ""),
    ("a parameter is added", "int on);", "int on, int more);"),
    ("a parameter is retyped", "int64_t timeout_ns);", "int32_t timeout_ns);"),
    ("a result is retyped", "DEPUTY_C_API size_t DeputyModelInputCount", "DEPUTY_C_API int DeputyModelInputCount"),
    ("fields are swapped", "  uint32_t permille;\n  const char *step;", "  const char *step;\n  uint32_t permille;"),
    ("a field is inserted", "  const DeputyTensor *inputs;\n  size_t input_count;",
     "  int32_t flags;\n  const DeputyTensor *inputs;\n  size_t input_count;"),
    ("a field is retyped", "  double margin;", "  float margin;"),
    ("a field is renamed", "  int32_t power_level;", "  int32_t power;"),
    ("a frozen struct grows", "owns shape and data; NULL: they are the caller's */",
     "owns shape and data; NULL: they are the caller's */\n  int64_t flags;"),
    ("a growing struct is frozen", "typedef struct DeputyRunHints {\n  size_t struct_size;",
     "typedef struct DeputyRunHints {\n  size_t size;"),
    ("a callback is retyped", "DeputyRequestDone)(void *user, const", "DeputyRequestDone)(const void *user, const"),
    ("a type is widened", "typedef int32_t DeputyFormat;", "typedef int64_t DeputyFormat;"),
    ("an enumerator is renumbered", "kDeputyDpm = 2", "kDeputyDpm = 4"),
    ("an enumerator is removed", "kDeputyArray = 7,", ""),
)


def self_test(include, compiler):
    golden = read(include, compiler)
    wrong = []
    for what, old, new in EDITS + (("a field of a report is renamed", 'v("multiply_adds", n.', 'v("macs", n.'),
                                   ("a field of a report is another", 'v("busy_ns", d.busy_ns)', 'v("busy_ns", d.runs)')):
        with tempfile.TemporaryDirectory() as scratch:
            copy = Path(scratch, "include")
            shutil.copytree(include, copy)
            header = copy / ("deputy/fields/placement.hpp" if old.startswith("v(") else "deputy.h")
            text = header.read_text(encoding="utf-8")
            if old not in text:
                wrong.append(f"{what}: '{old}' is not in the header")
                continue
            header.write_text(text.replace(old, new, 1), encoding="utf-8")
            if not compare(golden, read(copy, compiler))[0]:
                wrong.append(f"{what}: not refused")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", type=Path, required=True)
    parser.add_argument("--golden", type=Path, required=True)
    parser.add_argument("--library", type=Path)
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("compiler", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    if arguments.self_test:
        wrong = self_test(arguments.include, arguments.compiler)
    else:
        present = read(arguments.include, arguments.compiler)
        golden = parse(arguments.golden.read_text(encoding="utf-8")) if arguments.golden.exists() else {}
        wrong, new = compare(golden, present)
        if arguments.write and not wrong:
            arguments.golden.write_text("".join(f"{name} = {text}\n" for name, text in present.items()),
                                        encoding="utf-8")
        else:
            wrong += [f"{name} is new: write it down (--write)" for name in new]
        if arguments.library:
            wrong += wrong_exports(arguments.library, arguments.nm, present)
    for message in wrong:
        print(message)
    print(f"{len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
