#!/usr/bin/env python3
"""Includes go down only: holds every #include of the project against the table of floors.

The table below is the architecture as data. Each folder names the folders that it may include directly; what those
may include comes with them, so "its row, transitively". The picture for people is host/docs/architecture.md; this
check also holds that page against the table, so that the two cannot drift.

  include_floors_test.py [--root DIR]   checks the tree, exit status 1 if anything is wrong
  include_floors_test.py --self-test    plants each kind of violation in a scratch tree and sees it caught
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path, PurePosixPath
from typing import NamedTuple


class Row(NamedTuple):
    floor: int
    may: tuple = ()        # folders, directly
    libraries: tuple = ()  # third party, by their names in LIBRARIES


BODIES = "host/include/deputy/detail/"  # of functions of the C++ API for programs, at the end of their headers
CLIENT = 99  # outside the house, a client of what is installed; "-" in the document

# `sdk` and `plugins/*` at the end stand for all that is not named before them below these folders.
ROWS = {
    "sdk/include/deputy/abi": Row(0),
    "sdk/schema": Row(0, (), ("FlatBuffers",)),
    "sdk/include/deputy/sdk": Row(1, ("sdk/include/deputy/abi", "sdk/schema"), ("FlatBuffers",)),
    # The public API: of the plugin ABI it may name plain C types, nothing else.
    "host/include": Row(1, ("sdk/include/deputy/abi",)),
    "host/base": Row(1, ("sdk/include/deputy/abi",), ("spdlog", "fmt")),
    "host/store": Row(2, ("host/base",), ("fmt",)),
    "host/tensor": Row(2, ("host/base",), ("fmt",)),
    "host/memory": Row(2, ("host/base",)),
    "host/compare": Row(3, ("host/include", "host/tensor"), ("fmt",)),
    "host/graph": Row(3, ("host/tensor", "sdk/schema"), ("FlatBuffers", "fmt")),
    "host/format": Row(4, ("host/graph",), ("FlatBuffers", "fmt")),
    "host/import": Row(4, ("host/graph",), ("fmt",)),
    "host/import/onnx": Row(4, ("host/import",), ("protobuf", "libonnx", "fmt")),
    "host/import/tflite": Row(4, ("host/import",), ("FlatBuffers", "fmt")),
    "host/config": Row(4, ("host/base", "host/graph"), ("yaml-cpp", "fmt")),
    "host/delegate": Row(4, ("host/graph", "host/memory"), ("fmt",)),
    "host/kernels": Row(4, ("host/tensor", "host/kernels/linalg"), ("fmt",)),
    "host/kernels/linalg": Row(4, ("host/tensor",), ("Eigen",)),
    "host/plugin": Row(5, ("host/plugin/checks", "host/delegate", "sdk/include/deputy/abi"), ("Boost.DLL", "fmt")),
    "host/plugin/checks": Row(5, ("host/delegate", "sdk/include/deputy/abi"), ("fmt",)),
    "host/isolation": Row(5, ("host/delegate", "sdk/include/deputy/abi"), ("fmt",)),
    "host/cpu": Row(5, ("host/delegate", "host/kernels"), ("fmt",)),
    "host/partition": Row(5, ("host/delegate",), ("Boost.Graph", "fmt")),
    "host/bundle": Row(6, ("host/include", "host/plugin"), ("libarchive", "libsodium", "nlohmann-json", "fmt")),
    "host/plan": Row(6, ("host/partition", "host/format", "host/store"), ("fmt",)),
    "host/execute": Row(7, ("host/plan",), ("fmt",)),
    "host/measure": Row(8, ("host/execute",), ("fmt",)),
    "host/verify": Row(8, ("host/include", "host/execute", "host/compare"), ("fmt",)),
    "host/runtime": Row(
        9,
        ("host/include", "host/execute", "host/measure", "host/verify", "host/import", "host/config", "host/plugin", "host/bundle", "host/isolation", "host/cpu"),
        ("fmt",),
    ),
    "host/capi": Row(10, ("host/runtime",), ("yaml-cpp", "fmt")),
    "host/worker": Row(10, ("host/plugin", "host/isolation"), ("libseccomp", "fmt")),
    "host/cli": Row(11, ("host/include",), ("CLI11", "nlohmann-json", "libpng", "libjpeg-turbo", "fmt")),
    "host/python": Row(11, ("host/include",), ("nanobind",)),
    "sdk/conformance/reference": Row(CLIENT, ("sdk/include/deputy/sdk",)),
    "sdk/conformance": Row(
        CLIENT, ("host/include", "sdk/include/deputy/sdk", "sdk/conformance/reference"), ("GoogleTest",)
    ),
    "sdk": Row(CLIENT, ("sdk/include/deputy/sdk",)),
    "plugins/onnxruntime/api": Row(0),
    "plugins/onnxruntime": Row(CLIENT, ("sdk/include/deputy/sdk", "plugins/onnxruntime/api")),
    # A client of libdeputy, which uses of the SDK only what writes messages of protobuf.
    "plugins/onnxruntime_ep": Row(CLIENT, ("host/include", "sdk/include/deputy/sdk", "plugins/onnxruntime/api")),
    "plugins/onednn": Row(CLIENT, ("sdk/include/deputy/sdk",), ("oneDNN",)),
    "plugins/tflite_abi": Row(0),
    "plugins/tflite_delegate": Row(CLIENT, ("host/include", "plugins/tflite_abi"), ("FlatBuffers", "nlohmann-json")),
    "plugins/tflite_external": Row(CLIENT, ("sdk/include/deputy/sdk", "plugins/tflite_abi")),
    "plugins/openvino": Row(CLIENT, ("sdk/include/deputy/sdk",), ("OpenVINO",)),
    "plugins/*": Row(CLIENT, ("sdk/include/deputy/sdk",)),
}

# Tests look into every folder and may use every library.
TESTS = "tests"

# The vocabulary: value types that every host folder shares. The rest of host/include is for those whose row names it.
VALUE_HEADERS = {
    "deputy/status.hpp", "deputy/dtype.hpp", "deputy/storage.hpp", "deputy/tensor.hpp", "deputy/model_value.hpp",
    "deputy/tolerance.hpp",
}  # fmt: skip

# Folders below host/ that hold no code.
HOST_WITHOUT_CODE = {"docs"}
HOST_FILES = {"host/CMakeLists.txt", "host/CHANGELOG.md"}

# How a library is recognised: the beginnings of its include names. FlatBuffers' generated headers belong to the folder
# of their schema instead (GENERATED).
LIBRARIES = {
    "FlatBuffers": ("flatbuffers/",),
    "spdlog": ("spdlog/",),
    "fmt": ("fmt/",),
    "yaml-cpp": ("yaml-cpp/",),
    "Boost.DLL": ("boost/dll/", "boost/dll.hpp"),
    "Boost.Graph": ("boost/graph/", "boost/property_map/", "boost/pending/"),
    "Eigen": ("Eigen/", "unsupported/Eigen/", "eigen3/"),
    "protobuf": ("google/protobuf/",),
    "libonnx": ("onnx/onnx.pb.h",),  # generated from its onnx.proto: types, no more
    "libarchive": ("archive.h", "archive_entry.h"),
    "libsodium": ("sodium.h", "sodium/"),
    "libseccomp": ("seccomp.h",),
    "CLI11": ("CLI/",),
    "nanobind": ("nanobind/",),
    "nlohmann-json": ("nlohmann/",),
    "libpng": ("png.h",),
    "libjpeg-turbo": ("turbojpeg.h",),
    "GoogleTest": ("gtest/", "gmock/"),
    "Google Benchmark": ("benchmark/",),
    "oneDNN": ("dnnl.", "dnnl_", "oneapi/dnnl/", "omp.h"),  # with the OpenMP that Debian builds it on
    "OpenVINO": ("openvino/",),
    "the TPU's runtime": ("tpu_runtime.h",),  # brought along by tests/samples/tengine_tpu
}

# Headers that the build makes: a pattern of the include name, and the folder that owns it.
GENERATED = (
    (re.compile(r"(deputy/schema/.*|(.*/)?primitive_generated\.h)$"), "sdk/schema"),
    (re.compile(r"(format/)?model_generated\.h$"), "host/format"),
    (re.compile(r"tflite_generated\.h$"), "host/import/tflite"),
    (re.compile(r"abi_slots\.inc$"), "sdk/include/deputy/abi"),
)

TOP_LEVEL = {
    "CMakeLists.txt", "host", "sdk", "plugins", "configs", "tests", "packaging", "README.md", "LICENSE",
    "CMakePresets.json", ".ci", ".github", ".clang-format", ".clang-tidy", ".editorconfig", ".gitattributes", ".gitignore",
}  # fmt: skip

C_HEADERS = set(
    """assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic
    stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype""".split()
)
CXX_HEADERS = set(
    """algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes
    climits clocale cmath codecvt compare complex concepts condition_variable coroutine csetjmp csignal cstdarg cstddef
    cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype deque exception execution filesystem format forward_list
    fstream functional future initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map
    memory memory_resource mutex new numbers numeric optional ostream queue random ranges ratio regex scoped_allocator
    semaphore set shared_mutex source_location span sstream stack stdexcept stop_token streambuf string string_view
    strstream syncstream system_error thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility
    valarray variant vector version""".split()
)
SYSTEM_HEADERS = set(
    """alloca byteswap cpuid cxxabi dirent dlfcn elf endian execinfo fcntl features fnmatch ftw getopt glob grp
    immintrin langinfo libgen link malloc netdb poll pthread pwd sched semaphore spawn strings syscall syslog termios
    ucontext unistd wordexp x86intrin arm_neon arm_sve""".split()
)
SYSTEM_FOLDERS = ("sys/", "linux/", "asm/", "net/", "netinet/", "arpa/", "sanitizer/")

CODE = re.compile(r"\.(h|hpp|hh|c|cc|cpp|cxx|inc|ipp|inl)(\.in)?$")
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include(?:_next)?[ \t]*(?:<([^>\n]+)>|\"([^\"\n]+)\"|([^\s<\"].*))", re.M)
# What may hold the look of a directive without being one (group 1), and what must not be taken for the start of that.
NOT_CODE = re.compile(
    r"""(R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"|/\*.*?\*/|//[^\n]*)"""
    r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'""",
    re.S,
)

DOCUMENT = "host/docs/architecture.md"


def row_of(path):
    """The row that a file belongs to: the longest folder of ROWS above it; None if there is none."""
    folders = [str(parent) for parent in PurePosixPath(path).parents]
    for folder in folders:  # innermost first
        if folder in ROWS:
            return folder
        if str(PurePosixPath(folder).parent) == "plugins":
            return folder
        if folder == TESTS:
            return TESTS
    return None


def row(folder):
    return ROWS["plugins/*"] if folder.startswith("plugins/") and folder not in ROWS else ROWS[folder]


def floor_text(entry):
    return "-" if entry.floor == CLIENT else str(entry.floor)


def reach(folder):
    """All folders that `folder` may include, itself too."""
    seen, todo = set(), [folder]
    while todo:
        here = todo.pop()
        if here not in seen:
            seen.add(here)
            todo.extend(row(here).may)
    return seen


def is_standard(name, c_only):
    stem = name[:-2] if name.endswith(".h") else None
    if c_only:
        return stem in C_HEADERS
    return (
        name in CXX_HEADERS
        or (stem is not None and (stem in C_HEADERS or stem in SYSTEM_HEADERS))
        or name.startswith(SYSTEM_FOLDERS)
    )


def library_of(name):
    return next((library for library, starts in LIBRARIES.items() if name.startswith(starts)), None)


def code_files(root):
    files = []
    for top in ("host", "sdk", "plugins", "tests"):
        for path in sorted((root / top).rglob("*")):
            parts = path.relative_to(root).parts
            if path.is_file() and not any(p.startswith(".") or p in ("build", "__pycache__") for p in parts):
                files.append(path.relative_to(root).as_posix())
    return files


def includes_of(text):
    """(line, name, quoted) of each #include; name is None for one that only the preprocessor can read."""
    text = NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]) if match[1] else match[0], text)
    for match in INCLUDE.finditer(text):
        angle, quoted, other = match.groups()
        yield text.count("\n", 0, match.start()) + 1, None if other else angle or quoted, quoted is not None


class Target(NamedTuple):
    kind: str         # "ours" | "standard" | "library" | "unknown"
    folder: str = ""  # ours: the row
    file: str = ""    # ours: the file, if it is in the tree
    library: str = ""


def resolve(source, name, quoted, files):
    """Where an include leads. Files need not exist (the build makes some): their folder is told by their name."""
    here = PurePosixPath(source).parent
    own = row_of(source)
    if quoted:
        near = normal(here / name)
        if near in files:
            return Target("ours", row_of(near), near)
    for pattern, folder in GENERATED:
        if pattern.match(name):
            return Target("ours", folder)
    if library_of(name):
        return Target("library", library=library_of(name))
    around = [str(parent) for parent in PurePosixPath(source).parents if str(parent).startswith(own)]
    for base in ("host/include", "sdk/include", "host", "sdk", "sdk/conformance", "", *around, TESTS):
        file = normal(PurePosixPath(base) / name)
        if file in files and row_of(file) is not None:
            return Target("ours", row_of(file), file)
    if name.startswith(("deputy/abi/", "deputy/sdk/")):
        return Target("ours", "/".join(("sdk/include", *name.split("/")[:2])))
    if name.startswith("deputy/"):
        return Target("ours", "host/include", "host/include/" + name)
    folder = row_of("host/" + name)
    if folder is not None:
        return Target("ours", folder)
    if is_standard(name, own == "sdk/include/deputy/abi"):
        return Target("standard")
    return Target("unknown")


def normal(path):
    parts = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def check_include(source, line, name, quoted, files):
    """The violation, or None; and the file that is included, or ''."""
    at = f"{source}:{line}: "
    if name is None:
        return at + "an include by macro cannot be checked", ""
    own = row_of(source)
    target = resolve(source, name, quoted, files)
    if target.kind == "unknown":
        return at + f"'{name}': nobody knows this header; a new library needs a row in {Path(__file__).name}", ""
    if own == TESTS or target.kind == "standard":
        return None, target.file
    if target.kind == "library":
        if target.library in row(own).libraries:
            return None, ""
        visible = [folder for folder, r in ROWS.items() if target.library in r.libraries]
        return at + f"'{name}': {own} may not see {target.library} (visible in {', '.join(visible)})", ""
    allowed = reach(own)
    if target.folder in allowed:
        return None, target.file
    if target.file.removeprefix("host/include/") in VALUE_HEADERS and own.startswith("host/"):
        return None, target.file
    return at + f"'{name}': {own} may not include {target.folder} (may: {', '.join(sorted(allowed - {own}))})", ""


def find_cycle(edges):
    """Some cycle of files as a list, or None."""
    done = set()
    for start in sorted(edges):
        path, stack = [], [(start, iter(sorted(edges.get(start, ()))))]
        on_path = {start}
        path.append(start)
        if start in done:
            continue
        while stack:
            node, targets = stack[-1]
            step = next(targets, None)
            if step is None:
                stack.pop()
                path.pop()
                on_path.discard(node)
                done.add(node)
            elif step in on_path:
                return path[path.index(step):] + [step]
            elif step not in done:
                stack.append((step, iter(sorted(edges.get(step, ())))))
                path.append(step)
                on_path.add(step)
    return None


def check_table():
    """The table must itself go down: a folder may include lower floors only, or a folder inside or around it."""
    wrong = []
    for folder, entry in ROWS.items():
        for other in entry.may:
            nested = other.startswith(folder + "/") or folder.startswith(other + "/")
            if ROWS[other].floor >= entry.floor and not (nested and folder not in reach(other)):
                wrong.append(f"table: {folder} (floor {entry.floor}) includes {other} (floor {ROWS[other].floor})")
    return wrong


def check_folders(files):
    known = {folder.split("/")[1] for folder in ROWS if folder.startswith("host/")} | HOST_WITHOUT_CODE
    wrong, reported = [], set()
    for file in files:
        parts = file.split("/")
        if parts[0] != "host" or parts[1] in known or file in HOST_FILES:
            continue
        if parts[1] not in reported:
            reported.add(parts[1])
            wrong.append(f"host/{parts[1]}: not in the table of floors")
    for file in files:
        if file.startswith("host/docs/") and CODE.search(file):
            wrong.append(f"{file}: host/docs holds no code")
        if re.match(r"plugins/[^/]+$", file) and CODE.search(file):
            wrong.append(f"{file}: each plugin lives in a folder of its own")
    return wrong


def check_top_level(entries):
    return [f"{entry}: not in the fixed list of top-level entries" for entry in sorted(set(entries) - TOP_LEVEL)]


def check_document(root):
    """The page's table (between the two marks) must have this table's rows: floor, folder, may include, libraries."""
    path = root / DOCUMENT
    if not path.is_file():
        return [f"{DOCUMENT}: missing"]
    text = path.read_text(encoding="utf-8")
    found = re.search(r"<!-- floors -->\n(.*?)<!-- /floors -->", text, re.S)
    if not found:
        return [f"{DOCUMENT}: the marks <!-- floors --> and <!-- /floors --> are missing"]
    listed = {}
    for line in found.group(1).splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and cells[1].startswith("`"):
            names = lambda cell: tuple(sorted(part.strip(" `") for part in cell.split(",") if part.strip(" `-")))
            listed[cells[1].strip("`")] = (cells[0], names(cells[3]), names(cells[4]))
    wrong = []
    for folder in sorted(set(ROWS) | set(listed)):
        entry = ROWS.get(folder)
        want = entry and (floor_text(entry), tuple(sorted(entry.may)), tuple(sorted(set(entry.libraries) - {"fmt"})))
        if listed.get(folder) != want:
            wrong.append(f"{DOCUMENT}: `{folder}` is {listed.get(folder)} there and {want} in the check")
    return wrong


def tracked_top_level(root):
    """None where git cannot say (an unpacked archive)."""
    try:
        names = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z"], capture_output=True, check=True, text=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return {name.split("/")[0] for name in names.split("\0") if name}


def check(root, top_level):
    files = code_files(root)
    sources = [file for file in files if CODE.search(file)]
    if not any(file.startswith("host/") for file in sources) or not any(file.startswith("sdk/") for file in sources):
        return [f"{root}: no sources below host/ and sdk/; there is nothing that could be checked"], 0
    wrong = check_table() + check_folders(files) + check_top_level(top_level or ()) + check_document(root)
    known, edges, count = set(files), {}, 0
    for source in sources:
        if row_of(source) is None:
            continue  # already reported by check_folders
        text = (root / source).read_text(encoding="utf-8", errors="replace")
        for line, name, quoted in includes_of(text):
            count += 1
            violation, file = check_include(source, line, name, quoted, known)
            if violation:
                wrong.append(violation)
            elif file in known and file != source and not file.startswith(BODIES):
                edges.setdefault(source, set()).add(file)
            elif file == source:
                wrong.append(f"{source}:{line}: includes itself")
    cycle = find_cycle(edges)
    if cycle:
        wrong.append("cycle of includes: " + " -> ".join(cycle))
    return wrong, count


# --- self-test: the check can fail ------------------------------------------------------------------------------------

CLEAN = {
    "sdk/include/deputy/abi/base.h": "#include <stddef.h>\n#include <stdint.h>\n",
    "sdk/include/deputy/abi/host.h": '#include "deputy/abi/base.h"\n',
    "sdk/include/deputy/sdk/delegate.hpp": '#include <vector>\n#include "deputy/abi/host.h"\n'
                                           '#include "deputy/schema/primitive_generated.h"\n',
    "sdk/schema/operators.inc": "",
    "sdk/conformance/main.cpp": '#include <gtest/gtest.h>\n#include "deputy/model.hpp"\n#include "reference/add.hpp"\n',
    "sdk/conformance/reference/add.hpp": "#include <cmath>\n",
    "host/include/deputy/status.hpp": "#include <string>\n",
    "host/include/deputy/model.hpp": '#include "deputy/status.hpp"\n#include "deputy/detail/model.hpp"\n',
    "host/include/deputy/detail/model.hpp": '#include "deputy/model.hpp"\n',
    "host/base/status.hpp": '#include <fmt/format.h>\n#include "deputy/status.hpp"\n#include "deputy/abi/base.h"\n',
    "host/base/log.cpp": "#include <spdlog/spdlog.h>\n#include <sys/mman.h>\n// #include <yaml-cpp/yaml.h>\n",
    "host/tensor/shape.hpp": '#include "base/status.hpp"\n',
    "host/graph/graph.hpp": '#include "tensor/shape.hpp"\n#include "schema/operators.inc"\n'
                            '#include "primitive_generated.h"\n#include <flatbuffers/flatbuffers.h>\n',
    "host/format/writer.cpp": '#include "graph/graph.hpp"\n#include "model_generated.h"\n',
    "host/import/importer.hpp": '#include "graph/graph.hpp"\n',
    "host/import/onnx/parse.cpp": '#include <onnx/onnx.pb.h>\n#include "import/importer.hpp"\n',
    "host/config/parse.cpp": '#include <yaml-cpp/yaml.h>\n#include "base/status.hpp"\n',
    "host/delegate/delegate.hpp": '#include "graph/graph.hpp"\n',
    "host/kernels/conv.cpp": '#include "kernels/linalg/gemm.hpp"\n#include "base/status.hpp"\n',
    "host/kernels/linalg/gemm.hpp": '#include "tensor/shape.hpp"\n',
    "host/kernels/linalg/v3.cpp": '#include <Eigen/Core>\n#include "gemm.hpp"\n',
    "host/cpu/conv.cpp": '#include "kernels/linalg/gemm.hpp"\n#include "delegate/delegate.hpp"\n',
    "host/plugin/loader.cpp": '#include <boost/dll/shared_library.hpp>\n#include "delegate/delegate.hpp"\n',
    "host/partition/clusters.cpp": '#include <boost/graph/adjacency_list.hpp>\n#include "delegate/delegate.hpp"\n',
    "host/runtime/model.cpp": '#include "deputy/model.hpp"\n#include "plugin/loader.hpp"\n#include "cpu/cpu.hpp"\n',
    "host/python/src/module.cpp": '#include <nanobind/nanobind.h>\n#include "deputy/model.hpp"\n',
    "host/cli/main.cpp": '#include <CLI/CLI.hpp>\n#include <nlohmann/json.hpp>\n#include "deputy/model.hpp"\n',
    "host/docs/adr/0001.md": "",
    "host/CMakeLists.txt": "",
    "host/CHANGELOG.md": "",
    "plugins/null/null.cpp": '#include <deputy/sdk/delegate.hpp>\n#include "local.hpp"\n',
    "plugins/null/local.hpp": "#include <memory>\n",
    "plugins/null/src/deep/a.cpp": '#include "clock/a.hpp"\n',
    "plugins/null/src/clock/a.hpp": "#pragma once\n",
    "plugins/onednn/conv.cpp": '#include <dnnl.hpp>\n#include "deputy/sdk/delegate.hpp"\n',
    "tests/unit/plan/plan_test.cpp": '#include <gtest/gtest.h>\n#include "plan/plan.hpp"\n'
                                     'const char* text = R"x(\n#include <no/such.h>\n)x";\n',
}

# file, what it says, and a part of the message that must come of it.
PLANTED = (
    ("host/tensor/up.hpp", '#include "graph/graph.hpp"\n', "host/tensor may not include host/graph"),
    ("host/tensor/up.hpp", '#include "../graph/graph.hpp"\n', "host/tensor may not include host/graph"),
    ("host/tensor/up.hpp", '#include "graph/not_written_yet.hpp"\n', "host/tensor may not include host/graph"),
    ("host/tensor/up.hpp", "\n  #  include <graph/graph.hpp>\n", "up.hpp:2: 'graph/graph.hpp'"),
    ("host/base/up.cpp", '#include "tensor/shape.hpp"\n', "host/base may not include host/tensor"),
    ("host/base/up.cpp", 'auto glob = "a/*";\n#include "graph/graph.hpp"\nauto b = "*/c";\n', "up.cpp:2: 'graph/"),
    ("host/base/up.cpp", "auto quote = '\"';\n#include <graph/graph.hpp>\nauto b = '\"';\n", "up.cpp:2: 'graph/"),
    ("host/config/side.cpp", '#include "delegate/delegate.hpp"\n', "host/config may not include host/delegate"),
    ("host/kernels/up.cpp", '#include "graph/graph.hpp"\n', "host/kernels may not include host/graph"),
    ("host/kernels/linalg/up.cpp", '#include "kernels/conv.hpp"\n', "linalg may not include host/kernels"),
    ("host/kernels/wide.cpp", "#include <Eigen/Core>\n", "host/kernels may not see Eigen"),
    ("host/plugin/checks/up.cpp", '#include "plugin/loader.hpp"\n', "checks may not include host/plugin"),
    ("host/partition/side.cpp", '#include "plugin/loader.hpp"\n', "host/partition may not include host/plugin"),
    ("host/execute/side.cpp", '#include "cpu/cpu.hpp"\n', "host/execute may not include host/cpu"),
    ("host/plan/up.cpp", '#include "deputy/model.hpp"\n', "host/plan may not include host/include"),
    ("host/runtime/importer.cpp", '#include "import/onnx/parse.hpp"\n', "may not include host/import/onnx"),
    ("host/import/registry.cpp", '#include "import/onnx/parse.hpp"\n', "may not include host/import/onnx"),
    ("host/worker/up.cpp", '#include "runtime/model.hpp"\n', "host/worker may not include host/runtime"),
    ("host/cli/inside.cpp", '#include "runtime/model.hpp"\n', "host/cli may not include host/runtime"),
    ("host/cli/inside.cpp", '#include "base/status.hpp"\n', "host/cli may not include host/base"),
    ("host/python/src/inside.cpp", '#include "runtime/model.hpp"\n', "host/python may not include host/runtime"),
    ("host/include/deputy/wide.hpp", '#include "base/status.hpp"\n', "host/include may not include host/base"),
    ("host/include/deputy/wide.hpp", "#include <fmt/format.h>\n", "host/include may not see fmt"),
    ("host/include/deputy/wide.hpp", "#include <flatbuffers/flatbuffers.h>\n", "host/include may not see FlatBuffers"),
    ("host/include/deputy/wide.hpp", "#include <yaml-cpp/yaml.h>\n", "host/include may not see yaml-cpp"),
    ("host/graph/wide.cpp", "#include <spdlog/spdlog.h>\n", "host/graph may not see spdlog"),
    ("host/runtime/wide.cpp", "#include <yaml-cpp/yaml.h>\n", "host/runtime may not see yaml-cpp"),
    ("host/plan/wide.cpp", "#include <boost/graph/graph_traits.hpp>\n", "host/plan may not see Boost.Graph"),
    ("host/runtime/wide.cpp", "#include <boost/dll.hpp>\n", "host/runtime may not see Boost.DLL"),
    ("host/import/wide.cpp", "#include <google/protobuf/message.h>\n", "host/import may not see protobuf"),
    ("host/graph/wide.cpp", "#include <onnx/onnx.pb.h>\n", "host/graph may not see libonnx"),
    ("host/import/onnx/wide.cpp", "#include <onnx/checker.h>\n", "nobody knows this header"),
    ("host/base/wide.cpp", "#include <nlohmann/json.hpp>\n", "host/base may not see nlohmann-json"),
    ("host/runtime/wide.cpp", "#include <CLI/CLI.hpp>\n", "host/runtime may not see CLI11"),
    ("host/graph/wide.cpp", "#include <gtest/gtest.h>\n", "host/graph may not see GoogleTest"),
    ("host/cpu/wide.cpp", "#include <benchmark/benchmark.h>\n", "host/cpu may not see Google Benchmark"),
    ("host/cpu/wide.cpp", "#include <dnnl.hpp>\n", "host/cpu may not see oneDNN"),
    ("host/delegate/wide.cpp", "#include <flatbuffers/verifier.h>\n", "host/delegate may not see FlatBuffers"),
    ("host/base/wide.cpp", "#include <absl/strings/str_cat.h>\n", "nobody knows this header"),
    ("host/base/wide.cpp", "#include <boost/filesystem.hpp>\n", "nobody knows this header"),
    ("host/base/wide.cpp", "#include <zlib.h>\n", "nobody knows this header"),
    ("host/base/wide.cpp", "#define H <vector>\n#include H\n", "wide.cpp:2: an include by macro"),
    ("tests/unit/wide_test.cpp", "#include <catch2/catch.hpp>\n", "nobody knows this header"),
    ("sdk/include/deputy/abi/wide.h", "#include <vector>\n", "nobody knows this header"),
    ("sdk/include/deputy/abi/wide.h", "#include <unistd.h>\n", "nobody knows this header"),
    ("sdk/include/deputy/abi/wide.h", '#include "deputy/sdk/delegate.hpp"\n', "may not include sdk/include/deputy/sdk"),
    ("sdk/include/deputy/sdk/wide.hpp", '#include "deputy/status.hpp"\n', "may not include host/include"),
    ("sdk/include/deputy/sdk/wide.hpp", '#include "graph/graph.hpp"\n', "may not include host/graph"),
    ("sdk/conformance/inside.cpp", '#include "graph/graph.hpp"\n', "sdk/conformance may not include host/graph"),
    ("sdk/conformance/reference/up.hpp", '#include "deputy/model.hpp"\n', "may not include host/include"),
    ("plugins/null/inside.cpp", '#include "deputy/status.hpp"\n', "plugins/null may not include host/include"),
    ("plugins/null/inside.cpp", '#include "../../host/graph/graph.hpp"\n', "plugins/null may not include host/graph"),
    ("plugins/null/wide.cpp", "#include <dnnl.hpp>\n", "plugins/null may not see oneDNN"),
    ("plugins/onednn/side.cpp", '#include "../null/local.hpp"\n', "may not include plugins/null"),
    ("plugins/loose.cpp", "", "each plugin lives in a folder of its own"),
    ("host/utils/strings.hpp", "", "host/utils: not in the table of floors"),
    ("host/loose.hpp", "", "host/loose.hpp: not in the table of floors"),
    ("host/docs/sample.cpp", "", "host/docs holds no code"),
    ("host/tensor/a.hpp", '#include "tensor/a.hpp"\n', "includes itself"),
    ("notes.txt", "", "notes.txt: not in the fixed list"),
    (DOCUMENT, "<!-- floors -->\n| 2 | `host/base` | x | `host/graph` | - |\n<!-- /floors -->\n", "`host/base` is"),
    (DOCUMENT, "nothing\n", "the marks"),
)


def document_of_table():
    lines = ["<!-- floors -->"]
    for folder, entry in ROWS.items():
        cell = lambda names: ", ".join(names) or "-"
        libraries = [name for name in entry.libraries if name != "fmt"]
        lines.append(f"| {floor_text(entry)} | `{folder}` | x | {cell(entry.may)} | {cell(libraries)} |")
    return "\n".join(lines + ["<!-- /floors -->", ""])


def verdict(files):
    with tempfile.TemporaryDirectory() as scratch:
        for name, text in files.items():
            path = Path(scratch, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return check(Path(scratch), {name.split("/")[0] for name in files})[0]


def self_test():
    clean = {**CLEAN, DOCUMENT: document_of_table()}
    missed = [f"a clean tree is refused: {message}" for message in verdict(clean)]
    for name, text, expected in PLANTED:
        found = verdict({**clean, name: text})
        if not any(expected in message for message in found):
            missed.append(f"{name} with {text!r}: expected '{expected}', found {found}")
        elif len(found) != 1 and name != DOCUMENT:
            missed.append(f"{name} with {text!r}: one violation, {len(found)} messages: {found}")
    circle = {"host/tensor/a.hpp": '#include "tensor/b.hpp"\n', "host/tensor/b.hpp": '#include "a.hpp"\n'}
    if not any("cycle of includes" in message for message in verdict({**clean, **circle})):
        missed.append("a cycle of two files is not found")
    if not verdict({"README.md": ""}):
        missed.append("an empty tree passes")
    kept = ROWS["host/base"]
    ROWS["host/base"] = kept._replace(may=("host/graph",))
    if not any(message.startswith("table:") for message in check_table()):
        missed.append("a table that goes up is not found")
    ROWS["host/base"] = kept
    for message in missed:
        print(f"self-test: {message}")
    print(f"self-test: {len(PLANTED) + 4} cases, {len(missed)} wrong")
    return 1 if missed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    if (top_level := tracked_top_level(arguments.root)) is None:
        print("note: git does not know this tree; the top-level entries are not checked")
    wrong, count = check(arguments.root, top_level)
    for message in wrong:
        print(message)
    print(f"include floors: {count} includes, {len(wrong)} violations")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
