#!/usr/bin/env python3
"""Turns the code of MindSpore Lite's tutorial on delegates into a program for this SDK, and runs it.

  port.py TUTORIAL FOLDER    writes FOLDER/ported.cpp; TUTORIAL is the page as text
  port.py TUTORIAL --check --build-dir DIR [--cmake CMAKE]
                             installs Deputy from DIR, builds the program against that, runs it. Exit status 77
                             ("skipped") where TUTORIAL is not a file

SUBSTITUTIONS is all that a delegate's code needs on the way from one framework to the other. FIXES mends the two bugs
of the tutorial. ELIDED are the places where the tutorial has "..." or a comment and a vendor has code.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SKIPPED = 77

# At most ten: what it is called here.
SUBSTITUTIONS = {
    "kernels": (r"\bkernel::Kernel\b", "sdk::Kernel"),
    "tensors are handles": (r"\btensor::MSTensor \*", "sdk::Tensor"),
    "a sub-graph has no primitive and no context": (r", nullptr, nullptr\)", ")"),
    "failures are values": (r"\bint (?=(\w+::)?(Prepare|Execute|ReSize)\()", "Status "),
    "codes": (r"\bRET_(\w+)", lambda m: {"OK": "kSuccess", "ERROR": "kLiteError", "NOT_SUPPORT": "kLiteNotSupport"}[m[1]]),
    "logging": (r"\bMS_LOG\(\w+\)", "std::cerr"),
    "operators are named": (r"\bschema::PrimitiveType\b", "std::string"),
    "a class to make objects of": (r"\) = 0;", ") override;"),
    "how a model is built": (r"mindspore::kMindIR, context", "deputy::ModelType::kAuto, *context"),
    "the application's side": (r"\b(\w+ != )?mindspore::(\w+)",
                               lambda m: f"!{m[1][:-4]}.ok()" if m[1] else f"deputy::{m[2]}"),
}  # fmt: skip
assert len(SUBSTITUTIONS) <= 10

# By block: what stands there, what has to. `from` to `end` is a range without its end, so that one kernel is one too.
FIXES = {
    "a run of one kernel is replaced as well": [
        ("xxx_build", r"\bend = iter;", "end = iter + 1;"),
        ("xxx_build", r"\bend \+ 1\b", "end"),
    ],
    "a run at the end of the list is replaced as well": [
        ("xxx_build", r"(?=  return kSuccess;)",
         "  if (from != end) model->Replace(from, end, CreateXXXGraph(from, end, model));\n"),
        ("npu_build", r"(?=  auto ret = )",
         "  if (!npu_ops.empty()) model->Replace(from, end + 1, CreateNPUGraph(npu_ops));\n"),
    ],
}  # fmt: skip
assert len(FIXES) == 2

# By block: a pattern and what is put in front of it; a name of a function or class in braces means "before its end".
ELIDED = [
    ("xxx_class", "{XXXDelegate}",
     "  bool IsSupport(sdk::Kernel *kernel, const schema::Primitive *primitive) {\n"
     "    return primitive != nullptr && tutorial::CanCompute(*kernel);\n  }\n"
     "  sdk::Kernel *CreateXXXGraph(KernelIter from, KernelIter end, DelegateModel *model);\n"),
    ("xxx_init", "{Init}", "  return kSuccess;\n"),
    ("xxx_create", "  auto in_tensors", "  const std::vector<sdk::Kernel *> kernels(from, end);\n"),
    ("xxx_create", r"\(\.\.\.\)", "(kernels)", 5),
    ("xxx_create", r"\(\.\.\.\)", "(kernels, *model)", 5),
    ("xxx_create", "  return graph_kernel;",
     "  graph_kernel->engine_ = std::make_unique<tutorial::TutorialGraph>(in_tensors, out_tensors, kernels);\n"),
    ("xxx_graph", "{Prepare}", "    return engine_->Prepare();\n"),
    ("xxx_graph", "{Execute}", "    return engine_->Execute();\n"),
    ("xxx_graph", "{ReSize}", "    return engine_->ReSize();\n"),
    ("xxx_graph", "{XXXGraph}", "  std::unique_ptr<tutorial::TutorialGraph> engine_;\n"),
    ("npu_class", "{NPUDelegate}",
     "  sdk::Kernel *CreateNPUGraph(const std::vector<NPUOp *> &ops);\n"
     "  std::vector<sdk::Kernel *> KernelsOf(const std::vector<NPUOp *> &ops) {\n"
     "    std::vector<sdk::Kernel *> kernels;\n"
     "    for (const NPUOp *op : ops) kernels.push_back(op->kernel);\n    return kernels;\n  }\n"
     "  std::vector<Tensor> GraphInTensors(const std::vector<NPUOp *> &ops) {\n"
     "    return sdk::GraphInTensors(KernelsOf(ops));\n  }\n"
     "  std::vector<Tensor> GraphOutTensors(const std::vector<NPUOp *> &ops) {\n"
     "    return sdk::GraphOutTensors(KernelsOf(ops), *model_);\n  }\n"
     "  std::vector<std::unique_ptr<NPUOp>> ops_;\n  DelegateModel *model_ = nullptr;\n"),
    ("npu_init", r"  return kSuccess;",
     '  for (const char *type : {"Relu", "LeakyRelu", "Sigmoid", "Add", "Mul"})\n'
     "    op_func_lists_[type] = [](sdk::Kernel *kernel) { return new NPUOp{kernel}; };\n"),
    ("npu_build", r"  int graph_index", "  model_ = model;\n"),
    ("npu_create", r"ret = graph", "auto "),
    ("npu_prepare", "{Prepare}", "  return executor_->Prepare();\n"),
    ("npu_execute", r"executor_->Execute", "return "),
    ("call", None, "*built = model;\nreturn build_ret.ok() ? kSuccess : kLiteError;\n"),
]  # fmt: skip

# The order in which C++ wants the blocks; a block begins with this and ends with a line of one brace.
BLOCKS = {
    "xxx_class": r"^class XXXDelegate\b",
    "xxx_graph": r"^class XXXGraph\b",
    "xxx_init": r"^Status XXXDelegate::Init",
    "xxx_create": r"^kernel::Kernel \*XXXDelegate::CreateXXXGraph",
    "xxx_build": r"^Status XXXDelegate::Build",
    "npu_class": r"^class NPUDelegate\b",
    "npu_init": r"^Status NPUDelegate::Init",
    "npu_create": r"^kernel::Kernel \*NPUDelegate::CreateNPUGraph",
    "npu_build": r"^Status NPUDelegate::Build",
    "npu_prepare": r"^int NPUGraph::Prepare",
    "npu_execute": r"^int NPUGraph::Execute",
    "call": r"^auto context = ",
}

# Around the tutorial's code.
BEFORE_CALL = """
XXXGraph::~XXXGraph() = default;

NPUDelegate::~NPUDelegate() {
  delete npu_manager_;
  delete pass_manager_;
}

NPUOp *NPUDelegate::GetOP(sdk::Kernel *kernel, const schema::Primitive *primitive) {
  const auto found = op_func_lists_.find(kernel->type());
  if (primitive == nullptr || found == op_func_lists_.end() || !tutorial::CanCompute(*kernel)) return nullptr;
  ops_.emplace_back(found->second(kernel));
  return ops_.back().get();
}

void UseNpuDelegate(deputy::Context *context) {
  context->SetDelegate(std::make_shared<NPUDelegate>(lite::NpuDeviceInfo{3}));
}

Code BuildWithXxxDelegate(char *model_buf, size_t size, deputy::Model **built) {
"""


def blocks_of(text):
    lines = text.splitlines()
    blocks = {}
    for name, pattern in BLOCKS.items():
        begin = next((i for i, line in enumerate(lines) if re.match(pattern, line)), None)
        if begin is None:
            raise SystemExit(f"port: the tutorial has no line like {pattern}")
        if name == "call":  # statements, up to the last brace before the next chapter
            chapter = next(i for i in range(begin, len(lines)) if lines[i].startswith("Example of "))
            end = max(i for i in range(begin, chapter) if lines[i] == "}")
        else:
            end = next(i for i in range(begin, len(lines)) if lines[i] in ("}", "};"))
        blocks[name] = "\n".join(lines[begin:end + 1]) + "\n"
    return blocks


def end_of(text, name):
    """The index of the line with the brace that closes the body of the last `name`."""
    at = text.index("{", [m for m in re.finditer(rf"\b{name}\b[^;]*?\{{", text)][0].start())
    depth = 0
    for index in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if depth == 0:
            return text.rindex("\n", 0, index) + 1
    raise SystemExit(f"port: the body of {name} does not end")


def ported(text):
    blocks = blocks_of(text)
    for what, (pattern, replacement) in SUBSTITUTIONS.items():
        count = 0
        for name in blocks:
            blocks[name], changed = re.subn(pattern, replacement, blocks[name])
            count += changed
        if count == 0:
            raise SystemExit(f"port: the substitution '{what}' changes nothing")
    for what, edits in FIXES.items():
        for name, pattern, replacement in edits:
            blocks[name], changed = re.subn(pattern, replacement, blocks[name], count=0)
            if changed == 0:
                raise SystemExit(f"port: the fix '{what}' changes nothing in {name}")
    for name, place, lines, *take in ELIDED:
        text = blocks[name]
        if place is None:
            at, after = len(text), len(text)
        elif place.startswith("{"):
            at = after = end_of(text, place[1:-1])
        else:
            found = re.search(place, text)
            if not found:
                raise SystemExit(f"port: {name} has no place for {lines}")
            at, after = found.start(), found.start() + (take[0] if take else 0)
        blocks[name] = text[:at] + lines + text[after:]
    code = [blocks[name] for name in BLOCKS if name != "call"]
    return '#include "elided.hpp"\n\nusing namespace deputy::sdk;\n\n' + "\n".join(code) + BEFORE_CALL + blocks["call"] + "}\n"


def check(tutorial, arguments):
    with tempfile.TemporaryDirectory(prefix="deputy-port-") as scratch:
        scratch = Path(scratch)
        source = scratch / "source"
        shutil.copytree(HERE, source)
        shutil.copy(HERE.parent / "tutorial_delegate.hpp", source)
        (source / "ported.cpp").write_text(ported(tutorial), encoding="utf-8")
        models = scratch / "models"
        for command in (
            [arguments.cmake, "--install", arguments.build_dir, "--prefix", scratch / "prefix"],
            [sys.executable, HERE.parents[2] / "integration" / "make_models.py", models],
            [arguments.cmake, "-S", source, "-B", scratch / "build", f"-DCMAKE_PREFIX_PATH={scratch / 'prefix'}"],
            [arguments.cmake, "--build", scratch / "build"],
            [scratch / "build" / "ported", models / "tutorial.onnx", models / "tutorial_cut.onnx"],
        ):
            done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True)  # fmt: skip
            if done.returncode != 0:
                print(done.stdout)
                return 1
        print(done.stdout, end="")
    print(f"port: {len(SUBSTITUTIONS)} substitutions, {len(FIXES)} fixes, {len(ELIDED)} places filled in")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tutorial", type=Path)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--build-dir")
    parser.add_argument("--cmake", default="cmake")
    arguments = parser.parse_args()
    if not arguments.tutorial.is_file():
        print(f"SKIPPED: the tutorial's text is not there: {arguments.tutorial}")
        return SKIPPED
    tutorial = arguments.tutorial.read_text(encoding="utf-8")
    if arguments.check:
        return check(tutorial, arguments)
    (arguments.folder / "ported.cpp").write_text(ported(tutorial), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
