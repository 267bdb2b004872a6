#!/usr/bin/env python3
"""Holds the sources against the house style, as far as a machine can tell.

  style_test.py [format|text] [--root DIR]   one check, or both
  style_test.py --self-test                  plants violations in a scratch tree and sees each caught

format  clang-format 14 changes nothing. Exit status 77 ("skipped") where that version is not installed: another one
        breaks lines elsewhere.
text    no file over 600 lines, no open task without an owner, no code switched off, no `using namespace` in a header,
        no sleep in a test.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
CLANG_FORMAT_MAJOR = "14"
MOST_LINES = 600

# Files that are allowed to be longer, each with the reason.
LONG_FILES = {
    "sdk/schema/operators.inc": "the one list of operators: a table",
}

CODE = re.compile(r"\.(h|hpp|c|cpp|inc)(\.in)?$")
FORMATTED = re.compile(r"\.(h|hpp|c|cpp)$")
HEADER = re.compile(r"\.(h|hpp|inc)(\.in)?$")
SCRIPT = re.compile(r"(\.(py|sh|cmake)|(^|/)CMakeLists\.txt|^\.ci/[^/.]+)$")

# Spelled in two parts, so that this file does not find itself.
OPEN_TASK = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b(?!\([^)\s][^)]*\))")
SWITCHED_OFF = re.compile(r"^[ \t]*#[ \t]*if[ \t]+(0|false)\b", re.M)
# Threads of the host begin where it is an error, and no exception, that there can be none.
STARTED_THREAD = re.compile(
    r"std::(thread|jthread)(\s+\w+)?\s*[({]|std::async\b|\bpthread_create\b|std::vector<std::(thread|jthread)>"
)
THREAD_STARTERS = {
    "host/base/thread.hpp": "the function that starts them",
    "host/base/thread_pool.hpp": "keeps those that this function has started",
    "host/execute/step_lanes.hpp": "keeps those that this function has started",
    "host/runtime/request_queue.hpp": "keeps those that this function has started",
    "host/cli/thread.hpp": "the same for commands, which see the public headers alone",
    "host/cli/terminal/progress.cpp": "goes on without the line that its thread would draw",
}
# A test waits for an event, or turns a clock: what is long enough today is not on a busy machine.
SLEEP = re.compile(
    r"\b(time|asyncio)\.sle" r"ep\b|\bsle" r"ep_(for|until)\b|\b(u|nano|clock_nano)sle" r"ep\b|(?<![\w.:])sle" r"ep\("
    r"|^[ \t]*sle" r"ep [\d$]", re.M
)  # fmt: skip
SLEEPERS = {
    "tests/benchmarks/compare.py": "between measurements",
    "tests/benchmarks/isolation_benchmark.cpp": "between measurements",
    "tests/benchmarks/operators.py": "between measurements",
    "tests/conformance/liars/threads.cpp": "a device that takes some time",
    "tests/fixtures/plugins/hang_in_init.c": "a plugin that takes long",
    "tests/fixtures/plugins/holds_memory.c": "a plugin that takes long",
    "tests/fixtures/plugins/misbehaves.c": "a plugin that takes long",
    "tests/fixtures/plugins/queue_writes_late.c": "a plugin that takes long",
    "tests/fixtures/plugins/writes_late.c": "a plugin that takes long",
    "tests/integration/waiting.py": "eventually(): between two looks at a state that no event announces",
    "tests/support/waiting.hpp": "Eventually(): the same",
    "tests/support/worker_killer.hpp": "kills now and then",
    "tests/unit/isolation/attacking_worker/main.cpp": "a slow attacker",
}
USING_NAMESPACE = re.compile(r"^[ \t]*using[ \t]+namespace\b", re.M)


def files_of(root):
    """Tracked files and new ones that git does not ignore; where git does not know the tree, all but builds."""
    try:
        listed = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True, check=True, text=True,
        ).stdout  # fmt: skip
        names = set(listed.split("\0")) - {""}
    except (OSError, subprocess.CalledProcessError):
        paths = (path.relative_to(root) for path in root.rglob("*"))
        names = {path.as_posix() for path in paths if not {"build", "__pycache__", ".git"} & set(path.parts)}
    return sorted(name for name in names if (root / name).is_file() and not (root / name).is_symlink())


def line_of(text, match):
    return text.count("\n", 0, match.start()) + 1


def check_text(root, names):
    wrong = []
    for name in names:
        if not CODE.search(name) and not SCRIPT.search(name):
            continue
        text = (root / name).read_text(encoding="utf-8", errors="replace")
        lines = text.count("\n")
        if lines > MOST_LINES and name not in LONG_FILES:
            wrong.append(f"{name}: {lines} lines, more than {MOST_LINES}; split it by noun")
        for match in OPEN_TASK.finditer(text):
            wrong.append(f"{name}:{line_of(text, match)}: {match[1]} without an (owner) or (#issue)")
        if CODE.search(name):
            for match in SWITCHED_OFF.finditer(text):
                wrong.append(f"{name}:{line_of(text, match)}: code that is switched off; delete it")
        if name.startswith("host/") and name not in THREAD_STARTERS:
            for match in STARTED_THREAD.finditer(text):
                wrong.append(f"{name}:{line_of(text, match)}: a thread whose start may throw; use StartThread of "
                             "base/thread.hpp, or RunOnThreads of cli/thread.hpp")  # fmt: skip
        if name.startswith("tests/") and name not in SLEEPERS:
            for match in SLEEP.finditer(text):
                wrong.append(f"{name}:{line_of(text, match)}: a test that sleeps; wait for the event, turn the clock "
                             "of support/test_clock.hpp, or look by Eventually of support/waiting.hpp")  # fmt: skip
        if HEADER.search(name):
            for match in USING_NAMESPACE.finditer(text):
                wrong.append(f"{name}:{line_of(text, match)}: using namespace in a header")
    for name in LONG_FILES:
        if (root / name).is_file() and (root / name).read_text(encoding="utf-8").count("\n") <= MOST_LINES:
            wrong.append(f"{name}: listed as a long file, but is not one; take it off the list")
    for name in SLEEPERS:
        if (root / name).is_file() and not SLEEP.search((root / name).read_text(encoding="utf-8")):
            wrong.append(f"{name}: listed as a test that sleeps, but does not; take it off the list")
    return wrong


def clang_format():
    """The right clang-format, or None."""
    for candidate in (os.environ.get("CLANG_FORMAT"), f"clang-format-{CLANG_FORMAT_MAJOR}", "clang-format"):
        path = candidate and shutil.which(candidate)
        if path:
            version = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
            if re.search(rf"version {CLANG_FORMAT_MAJOR}\.", version):
                return path
    return None


def check_format(root, names, tool):
    """One message per file; the first line that would change tells where to look."""
    wrong = []
    formatted = [name for name in names if FORMATTED.search(name)]
    for start in range(0, len(formatted), 50):
        run = subprocess.run(
            [tool, "--dry-run", "-Werror", "--style=file", *formatted[start:start + 50]],
            cwd=root, capture_output=True, text=True,
        )  # fmt: skip
        first = {}
        for match in re.finditer(r"^([^\s:][^:\n]*):(\d+):\d+: error: ", run.stderr, re.M):
            first.setdefault(match[1], match[2])
        wrong += [f"{name}:{line}: clang-format would change it" for name, line in first.items()]
        if run.returncode != 0 and not first:
            wrong.append(f"clang-format failed: {run.stderr.strip()}")
    return wrong


def self_test():
    clean = {
        ".clang-format": "BasedOnStyle: Google\n",
        "a.hpp": "// TO" "DO(#12): later\nint f();\n",
        "a.cpp": '#include "a.hpp"\n\nusing namespace std;\n',
        "notes.md": "x\n" * 700,
        "b.inc": "#if 1\n#endif\n",
    }
    planted = {
        "long.cpp": ("int x;\n" * 601, "more than 600"),
        "task.py": ("# TO" "DO: later\n", "without an (owner)"),
        "empty.cpp": ("// FIX" "ME( )\n", "without an (owner)"),
        "off.cpp": ("#if 0\n#endif\n", "switched off"),
        "using.hpp": ("using namespace std;\n", "using namespace in a header"),
        "host/thread.cpp": ("std::thread(work).detach();\n", "a thread whose start may throw"),
        "host/watcher.cpp": ("std::thread watcher(work);\n", "a thread whose start may throw"),
        "tests/waits_test.py": ("time.sle" "ep(1)\n", "a test that sleeps"),
        "tests/waits_test.cpp": ("std::this_thread::sle" "ep_for(kMoment);\n", "a test that sleeps"),
        "tests/plugin.c": ("if (kind == 1) usle" "ep(20);\n", "a test that sleeps"),
        "tests/waits.sh": ("sle" "ep 1\n", "a test that sleeps"),
        "tests/support/waiting.hpp": ("bool Eventually();\n", "listed as a test that sleeps"),
    }
    tool, missed, cases = clang_format(), [], 0

    def verdict(files, check):
        with tempfile.TemporaryDirectory() as scratch:
            for name, text in files.items():
                Path(scratch, name).parent.mkdir(parents=True, exist_ok=True)
                Path(scratch, name).write_text(text, encoding="utf-8")
            return check(Path(scratch), files_of(Path(scratch)))

    for name, (text, expected) in planted.items():
        found = verdict({**clean, name: text}, check_text)
        cases += 1
        if len(found) != 1 or expected not in found[0] or not found[0].startswith(name):
            missed.append(f"{name}: expected '{expected}', found {found}")
    checks = [(check_text, None)]
    if tool:
        crooked = {"crooked.cpp": "int   x;\n"}
        checks.append((lambda root, names: check_format(root, names, tool), crooked))
    for check, crooked in checks:
        cases += 1
        if verdict(clean, check):
            missed.append(f"a clean tree is refused: {verdict(clean, check)}")
        if crooked and len(verdict({**clean, **crooked}, check)) != 1:
            missed.append("a crooked line is not found")
    for message in missed:
        print(f"self-test: {message}")
    print(f"self-test: {cases} cases, {len(missed)} wrong" + ("" if tool else " (format not tested: no clang-format)"))
    return 1 if missed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check", nargs="?", choices=["format", "text"])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    checks = [arguments.check] if arguments.check else ["format", "text"]
    names = files_of(arguments.root)
    if not any(name.startswith("host/") and FORMATTED.search(name) for name in names):
        print(f"{arguments.root}: no sources below host/; there is nothing that could be checked")
        return 1
    wrong, skipped = [], False
    if "text" in checks:
        wrong += check_text(arguments.root, names)
    if "format" in checks:
        tool = clang_format()
        if tool:
            wrong += check_format(arguments.root, names, tool)
        else:
            skipped = True
    for message in wrong:
        print(message)
    print(f"style ({', '.join(checks)}): {len(wrong)} violations")
    if skipped:
        print(f"SKIPPED: the format check needs clang-format {CLANG_FORMAT_MAJOR} (packaging/install-deps.sh test)")
    return 1 if wrong else SKIPPED if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
