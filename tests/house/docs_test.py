#!/usr/bin/env python3
"""Checks every fenced code block of the documents: what a reader is told to write is written, built and run.

  docs_test.py --build-dir DIR [DOCUMENT...]   all documents of the tree, or those named
  docs_test.py --self-test                     plants wrong blocks and sees each caught

Every document but those of ELSEWHERE must be installed, with the same text but for its links; no link of an installed
document is dead or leads out of the installation. Blocks and samples are those of the installation.

A document is a project in a scratch folder; its blocks are gone through in their order:

  after a line that ends in `NAME`:             the block is written to the file NAME
  after a line that ends in `NAME`, continued:  it is appended to NAME
                                                a NAME of the sample that the project began with: the block must stand
                                                in that file, line for line
  sh                                            is run by bash -eu in the project's folder, the installation in PATH
                                                and its folder in $prefix
  yaml                                          `deputy config check` accepts it, in a file of its own or not
  json                                          is JSON

Comments before a block, one to a line, say what the block does not:

  <!-- check: project DIR -->          from here on the project is a copy of DIR: of this tree, or installed for a sample
  <!-- check: output -->               the block stands in what the commands before it printed
  <!-- check: output of COMMAND -->    the same of a command of its own
  <!-- check: with PACKAGE -->         commands of sh that need another engine's package: run with the Python of
                                       packaging/peers.sh or packaging/guests.sh that has it. Without one, the project's
                                       files of Python are compiled only. The next output is also compared with theirs
  <!-- check: folders -->              the first word of each line is a folder of this tree
  <!-- check: none, REASON -->         nothing is checked. How many there are stands below, so that it cannot grow unseen

In outputs, blanks and times of measurement are all alike and a line that begins with "..." stands for any lines. Code
that no command follows is wrong, and so is a link to a file or a heading that is not there. The page of the template of
new plugins is checked in a new project, with what its reader puts in for its words in capitals.
"""

import argparse
import functools
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UNCHECKED = 33
# No documents of the tree, but of the project that `deputy new-plugin` makes of them: see check_template.
TEMPLATE = "sdk/template/common/README.md"
ELSEWHERE = ("sdk/template/",)
# Checked with the Python package, where the build has it: packaging/python-deps.sh.
WITH_PYTHON = ("host/docs/python-guide.md", "host/docs/coming-from-litert.md", "host/docs/coming-from-openvino.md")
# The folders of the Pythons that have other engines, where they were made.
WITH_ENGINES = [ROOT / "build/peers/bin", ROOT / "build/guests/venv/bin"]
# Read where the sources are only.
NOT_INSTALLED = (".github/", "tests/faults/", "tests/fuzz/")
INSTALLED = "share/doc/deputy"  # below the prefix
SAMPLES = "tests/samples/"  # are installed whole

FENCE = re.compile(r"^( *)(```+)\s*([A-Za-z+]*)\s*$")
CHECK = re.compile(r"^ *<!-- check: (.+) -->$")
NAMED = re.compile(r"`([\w./-]+)`(, continued)?:$")
DECISION = re.compile(r"\[ADR (\d+)\]\([^)]*?(\d{4})-[^)]*\)")
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
HEADING = re.compile(r"^#{1,6} +(.*?) *#*$")
TIME = re.compile(r"\d[\d.,]*\s?(ns|us|ms|s)\b")
CODE = (".c", ".cpp", ".h", ".hpp", ".txt", ".cmake")


class Wrong(Exception):
    pass


class Block:
    def __init__(self, line, language, lines, checks, before):
        self.line, self.language, self.lines, self.before = line, language, lines, before
        self.projects = [check.split(None, 1)[1] for check in checks if check.startswith("project ")]
        self.how = next((check for check in checks if not check.startswith("project ")), None)
        self.text = "\n".join(lines) + "\n"


def blocks_of(text):
    """The blocks of a document, each with the comments and the last line of text before it."""
    blocks, checks, before = [], [], ""
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        fence, check = FENCE.match(line), CHECK.match(line)
        if check:
            checks.append(check[1])
        elif fence:
            body = list(itertools.takewhile(lambda item: item[1].strip() != fence[2], lines))
            indent = len(fence[1])  # of a list that the block is in
            blocks.append(Block(number, fence[3], [item[1][indent:] for item in body], checks, before))
            checks, before = [], ""
        elif line.lstrip("> ").startswith("```"):
            raise Wrong(f"line {number} looks like a block, but is none")
        elif line.strip():
            before = line.rstrip()
    if checks:
        raise Wrong(f"a comment 'check: {checks[0]}' has no block")
    return blocks


def alike(line):
    return " ".join(TIME.sub("TIME", line).split())


def stands_in(wanted, printed):
    """Do the lines follow each other in the output? '...' stands for any lines."""
    wanted = [alike(line) for line in wanted]
    printed = [alike(line) for line in printed.splitlines()]

    def from_here(i, j):
        if i == len(wanted):
            return True
        if wanted[i].startswith("..."):
            return any(from_here(i + 1, k) for k in range(j, len(printed) + 1))
        return j < len(printed) and wanted[i] == printed[j] and from_here(i + 1, j + 1)

    return any(from_here(0, start) for start in range(len(printed)))


def follows_in(wanted, lines):
    """Do the lines stand in the file one after the other, all indented by the same?"""
    wanted = [line.rstrip() for line in wanted]
    lines = [line.rstrip() for line in lines]
    for start in range(len(lines) - len(wanted) + 1):
        found = lines[start:start + len(wanted)]
        indents = {len(have) - len(want) for want, have in zip(wanted, found) if want}
        if len(indents) == 1 and min(indents) >= 0:
            indent = " " * indents.pop()
            if all(have == (indent + want if want else "") for want, have in zip(wanted, found)):
                return True
    return False


@functools.cache
def folder_with(package):
    """The folder of the first Python that has the package, and NumPy, which its programs need; or None."""
    find = f"from importlib.util import find_spec; import sys; sys.exit(None in map(find_spec, ({package!r}, 'numpy')))"
    for folder in WITH_ENGINES:
        python = folder / "python3"
        if python.exists() and subprocess.run([python, "-c", find], check=False).returncode == 0:
            return folder
    return None


class Document:
    def __init__(self, root, scratch, environment, installed=None):
        self.root, self.scratch, self.environment = root, scratch, environment
        self.installed = installed  # where projects are copied from first
        self.projects = 0
        self.unchecked, self.compiled = [], []
        self.begin(None)

    def begin(self, sample):
        self.projects += 1
        self.folder = self.scratch / f"project{self.projects}"
        self.sample = set()
        self.unbuilt = None  # the line of code that no command has followed yet
        self.printed = ""  # None of commands that did not run
        self.also = []  # what other engines printed, which the next output must be, too
        if sample is None:
            self.folder.mkdir(parents=True)
            return
        installed = self.installed is not None and sample.startswith(SAMPLES)
        shutil.copytree((self.installed if installed else self.root) / sample, self.folder)
        self.sample = {path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*") if path.is_file()}

    def run(self, command, environment=None):
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=self.folder,
                              env=environment or self.environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                              timeout=300)  # fmt: skip
        if done.returncode != 0:
            raise Wrong(f"exit status {done.returncode}:\n{done.stdout}")
        return done.stdout

    def end(self):
        if self.unbuilt is not None:
            raise Wrong(f"no command follows that builds the code of line {self.unbuilt}")

    def check(self, block):
        for sample in block.projects:
            self.end()
            self.begin(sample)
        if block.how is not None:
            return self.as_told(block)
        named = NAMED.search(block.before)
        if named:
            self.named(block, named[1], named[2] is not None)
        if block.language == "sh":
            self.printed = self.run(block.text)
            self.unbuilt = None
        elif block.language == "yaml":
            self.configuration(block)
        elif block.language == "json":
            json.loads(block.text)
        elif not named:
            raise Wrong("nothing says how this block is checked")

    def as_told(self, block):
        if block.how.startswith("none, "):
            self.unchecked.append(f"{block.line}: {block.how[6:]}")
        elif block.how == "folders":
            for line in block.lines:
                if line.strip() and not (self.root / line.split()[0]).is_dir():
                    raise Wrong(f"there is no folder {line.split()[0]}")
        elif block.how.startswith("with "):
            self.with_engine(block, block.how[len("with "):])
        elif block.how == "output" and self.printed is None:
            return
        elif block.how == "output" or block.how.startswith("output of "):
            printed = [self.printed, *self.also] if block.how == "output" else [self.run(block.how[len("output of "):])]
            for one in printed:
                if not stands_in(block.lines, one):
                    raise Wrong(f"this is not what was printed:\n{one}")
            self.also = []
        else:
            raise Wrong(f"'check: {block.how}' is not known")

    def with_engine(self, block, package):
        folder = folder_with(package)
        if folder is not None:
            self.printed = self.run(block.text, self.environment | {"PATH": f"{folder}:{self.environment['PATH']}"})
            self.also.append(self.printed)
            return
        self.printed = None
        self.compiled.append(f"{block.line}: there is no {package}")
        for path in sorted(self.folder.glob("*.py")):
            try:
                compile(path.read_text(encoding="utf-8"), path.name, "exec")
            except SyntaxError as error:
                raise Wrong(f"{path.name}:{error.lineno}: {error.msg}") from error

    def named(self, block, name, continued):
        path = self.folder / name
        if name in self.sample:
            if not follows_in(block.lines, path.read_text(encoding="utf-8").splitlines()):
                raise Wrong(f"{name} of the sample does not have these lines")
        elif continued:
            if not path.is_file():
                raise Wrong(f"there is no {name} to continue")
            with open(path, "a", encoding="utf-8") as file:
                file.write("\n" + block.text)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        if name.endswith(CODE):
            self.unbuilt = block.line

    def configuration(self, block):
        text = block.text if re.search(r"^version:", block.text, re.M) else "version: 1\n" + block.text
        path = self.folder / f"block_{block.line}.yaml"
        path.write_text(text, encoding="utf-8")
        self.run(f"deputy config check {path.name}")


def outside_of_blocks(path):
    """(number, line) of the text around the blocks."""
    inside = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        inside ^= line.lstrip().startswith("```")
        if not inside:
            yield number, line


def anchors_of(path):
    """The names that GitHub gives to the headings of a document: small letters, digits, - and _; a second one gets -1."""
    anchors = set()
    for _, line in outside_of_blocks(path):
        heading = HEADING.match(line)
        if heading:
            words = re.sub(r"\]\([^)]*\)", "", heading[1].lower())  # of a link its text
            name = anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            for number in itertools.count(1):
                if anchor not in anchors:
                    break
                anchor = f"{name}-{number}"
            anchors.add(anchor)
    return anchors


def check_links(root, name, prefix=None):
    """Dead links of a document; with a prefix also those that lead out of it."""
    wrong, page = [], root / name
    for number, line in outside_of_blocks(page):
        wrong += [f"{name}:{number}: 'ADR {label}' is a link to {decision}" for label, decision in DECISION.findall(line)
                  if int(label) != int(decision)]
        for target, anchor in LINK.findall(line):
            if "://" in target or not (target or anchor):
                continue
            path = page.parent / target if target else page
            if target.startswith("/") or not path.exists():
                wrong.append(f"{name}:{number}: a link to {target}, which is not there")
            elif prefix is not None and prefix.resolve() not in path.resolve().parents:
                wrong.append(f"{name}:{number}: a link to {target}, out of the installation")
            elif anchor and path.suffix == ".md" and anchor not in anchors_of(path):
                wrong.append(f"{name}:{number}: a link to {target}#{anchor}, a heading that is not there")
    return wrong


def without_links(text):
    """The text of a document; where a link may be missing, the words of it stand."""
    return re.sub(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\](\([^)\s]+\))?", r"\1", text)


def check_installed(root, prefix):
    """What is wrong with the installed documents as such, and how many links they have."""
    wrong, links, pages = [], 0, prefix / INSTALLED
    for name in documents_of(root):
        installed = pages / name
        if name.startswith(NOT_INSTALLED):
            continue
        if not installed.is_file():
            wrong.append(f"{name}: is not installed")
        elif without_links((root / name).read_text(encoding="utf-8")) != without_links(
            installed.read_text(encoding="utf-8")
        ):
            wrong.append(f"{name}: is installed with another text")
    for page in sorted(prefix.rglob("*.md")):
        wrong += [f"installed {message}" for message in check_links(prefix, page.relative_to(prefix).as_posix(), prefix)]
        links += sum(len(LINK.findall(line)) for _, line in outside_of_blocks(page))
    return wrong, links


def check_document(root, name, scratch, environment, installed=None):
    """What is wrong with the document, what it leaves unchecked, and what was compiled only."""
    document = Document(root, scratch, environment, installed)
    page = installed / name if installed is not None and (installed / name).is_file() else root / name
    line = 0
    try:
        for block in blocks_of(page.read_text(encoding="utf-8")):
            line = block.line
            document.check(block)
        document.end()
    except (Wrong, OSError, ValueError, subprocess.TimeoutExpired) as error:
        return [f"{name}:{line}: {error}"], document.unchecked, document.compiled
    return check_links(root, name), document.unchecked, document.compiled


def left_unchecked(page):
    return [f"{block.line}: {block.how[6:]}" for block in blocks_of(page.read_text(encoding="utf-8"))
            if block.how is not None and block.how.startswith("none, ")]


def check_template(root, scratch, environment):
    """Runs what the page of a new project tells its owner to."""
    scratch.mkdir()
    document = Document(root, scratch, environment)
    words = {"PREFIX": "$prefix", "MODEL.onnx": "$prefix/share/deputy/digits/digits.onnx"}
    missing = set(words)
    try:
        document.run("deputy new-plugin my_npu --dir my_npu")
        document.folder /= "my_npu"
        blocks = blocks_of((document.folder / "README.md").read_text(encoding="utf-8"))
        for block in blocks:
            for word, meant in words.items():
                block.text, count = re.subn(rf"(?<!\w){re.escape(word)}(?!\w)", lambda _, to=meant: to, block.text)
                missing -= {word} if count else set()
            document.check(block)
        if missing:
            raise Wrong(f"it says nothing of {', '.join(sorted(missing))}")
    except (Wrong, OSError, ValueError, subprocess.TimeoutExpired) as error:
        return [f"{TEMPLATE}: {error}"]
    return []


def documents_of(root):
    """Tracked documents and new ones that git does not ignore; where git does not know the tree, all but builds."""
    try:
        listed = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"],
            capture_output=True, check=True, text=True,
        ).stdout  # fmt: skip
        names = set(listed.split("\0")) - {""}
    except (OSError, subprocess.CalledProcessError):
        names = {path.relative_to(root).as_posix() for path in root.rglob("*.md")}
        names = {name for name in names if not {"build", ".git"} & set(Path(name).parts)}
    return sorted(name for name in names if (root / name).is_file() and not name.startswith(ELSEWHERE))


def environment_for(prefix, scratch):
    environment = {
        "PATH": f"{prefix}/bin:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(scratch),
        "DEPUTY_SYSTEM_CONFIG": "",
        "LC_ALL": "C.UTF-8",
        "CMAKE_PREFIX_PATH": str(prefix),
        "prefix": str(prefix),
    }
    # Objects are the same from run to run but for the scratch folder's name.
    if shutil.which("ccache"):
        kept = {name: value for name, value in os.environ.items() if name.startswith("CCACHE_")}
        home = os.environ.get("HOME", "")
        environment |= {"CCACHE_DIR": os.environ.get("CCACHE_DIR", f"{home}/.cache/ccache")} | kept
        environment |= {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache", "CCACHE_BASEDIR": str(scratch)}
        environment |= {"CCACHE_NOHASHDIR": "1"}
    return environment


def environment_with_python(environment, build):
    """That of a document about the package; None where the build does not have it."""
    python, package = ROOT / "build/python/bin", Path(build).resolve() / "python"
    if not (python / "python").exists() or not (package / "deputy").is_dir():
        return None
    return environment | {"PATH": f"{python}:{environment['PATH']}", "PYTHONPATH": str(package)}


def check_tree(arguments):
    names = [name for name in arguments.document if name != TEMPLATE] if arguments.document else documents_of(ROOT)
    if len(names) < 3 and not arguments.document:
        print(f"{ROOT}: {len(names)} documents; there must be more")
        return 1
    wrong, unchecked, compiled, blocks = [], [], [], 0
    with tempfile.TemporaryDirectory(prefix="deputy-documents-") as scratch:
        scratch = Path(scratch)
        prefix = scratch / "prefix"
        done = subprocess.run([arguments.cmake, "--install", arguments.build_dir, "--prefix", prefix],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # fmt: skip
        if done.returncode != 0:
            print(done.stdout)
            return 1
        wrong, links = check_installed(ROOT, prefix)
        for message in wrong:
            print(message, flush=True)
        environment = environment_for(prefix, scratch)
        for number, name in enumerate(names):
            variables = environment_with_python(environment, arguments.build_dir) if name in WITH_PYTHON else environment
            if variables is None:
                print(f"{name}: not checked, since the build has no Python package; packaging/python-deps.sh")
                found, left, only = check_links(ROOT, name), left_unchecked(ROOT / name), ["all of it, without Python"]
            else:
                found, left, only = check_document(ROOT, name, scratch / str(number), variables, prefix / INSTALLED)
            wrong += found
            unchecked += [f"{name}:{place}" for place in left]
            compiled += [f"{name}:{place}" for place in only]
            blocks += sum(1 for line in (ROOT / name).read_text(encoding="utf-8").splitlines() if FENCE.match(line)) // 2
            for message in found:
                print(message, flush=True)
        if not arguments.document or TEMPLATE in arguments.document:
            found = check_template(ROOT, scratch / "template", environment)
            wrong += found
            for message in found:
                print(message, flush=True)
    print(f"documents: {links} links in those installed")
    print(f"documents: {len(names)} with {blocks} blocks, {len(wrong)} wrong, {len(unchecked)} unchecked:")
    for place in unchecked:
        print(f"  {place}")
    for place in compiled:
        print(f"documents: not run: {place}")
    if not arguments.document and not wrong and len(unchecked) != UNCHECKED:
        print(f"documents: {UNCHECKED} blocks may stay unchecked, not {len(unchecked)}; see UNCHECKED in this test")
        return 1
    return 1 if wrong else 0


def self_test():
    """Each case: a document, and what must be said of it ('' for nothing)."""
    cases = [
        ("`a.txt`:\n\n```\nx y\n```\n\n```sh\ncat a.txt\n```\n\n<!-- check: output -->\n```\nx   y\n```\n", ""),
        ("`a.txt`:\n\n```\nx\n```\n\n`a.txt`, continued:\n\n```\ny\n```\n\n```sh\ngrep -q y a.txt\n```\n", ""),
        ("```sh\necho 'took 3 ms'; echo b; echo c\n```\n<!-- check: output -->\n```\ntook 14.5 us\n... more\nc\n```\n", ""),
        ("```sh\necho a\n```\n<!-- check: output -->\n```\nb\n```\n", "not what was printed"),
        ("<!-- check: output of echo a -->\n```\nb\n```\n", "not what was printed"),
        ("```sh\nfalse\n```\n", "exit status 1"),
        ("```sh\nfalse | true\n```\n", "exit status 1"),
        ("```\nanything\n```\n", "nothing says how"),
        ("```cpp\nint x;\n```\n", "nothing says how"),
        ("`a.cpp`:\n\n```cpp\nint x;\n```\n", "no command follows"),
        ("`a.txt`, continued:\n\n```\ny\n```\n", "to continue"),
        ("`a.py`:\n\n```python\nprint(1)\n```\n<!-- check: with json -->\n```sh\npython3 a.py\n```\n"
         "<!-- check: output -->\n```\n2\n```\n", "not what was printed"),
        ("`a.py`:\n\n```python\nprint(1)\n```\n<!-- check: with json -->\n```sh\npython3 a.py\n```\n"
         "```sh\necho 2\n```\n<!-- check: output -->\n```\n2\n```\n", "not what was printed"),
        ("`a.py`:\n\n```python\nprint(1)\n```\n<!-- check: with no_such_engine -->\n```sh\npython3 a.py\n```\n"
         "<!-- check: output -->\n```\n2\n```\n", ""),
        ("`a.py`:\n\n```python\nprint(\n```\n<!-- check: with no_such_engine -->\n```sh\npython3 a.py\n```\n", "never closed"),
        ("```json\n{\n```\n", "Expecting"),
        ("<!-- check: folders -->\n```\nsample/ a\nabsent/ b\n```\n", "no folder absent"),
        ("<!-- check: maybe -->\n```\nx\n```\n", "not known"),
        ("<!-- check: none, a drawing -->\n```\nx\n```\n", ""),
        ("<!-- check: none, a drawing -->\n", "has no block"),
        ("[there](a.md), [web](https://example.com/x)\n", ""),
        ("[not there](b.md#part)\n", "a link to b.md"),
        ("# A part, `x`\n\n## Twice\n\n## Twice\n\n[here](#a-part-x), [there](a.md#twice-1)\n", ""),
        ("[ADR 3](sample/0003-x.md)\n", "a link to sample/0003-x.md, which is not there"),
        ("[ADR 4](https://example.com/0003-x.md)\n", "'ADR 4' is a link to 0003"),
        ("# A part\n\n[here](#a-prat)\n", "a link to #a-prat, a heading"),
        ("```json\n[1]\n```\n\n[there](a.md#1)\n", "a link to a.md#1, a heading"),
        ("## Twice\n\n[there](a.md#twice-1)\n", "a heading that is not there"),
        ("- item\n\n  ```sh\n  false\n  ```\n", "exit status 1"),
        ("> ```sh\n> false\n> ```\n", "but is none"),
        ("<!-- check: project sample -->\n`a.cpp`:\n\n```cpp\nint x;\nint y;\n```\n\n```sh\ntrue\n```\n", ""),
        ("<!-- check: project sample -->\n`a.cpp`:\n\n```cpp\nint x;\nint z;\n```\n\n```sh\ntrue\n```\n", "does not have"),
    ]
    missed = []
    WITH_ENGINES.append(Path(sys.executable).parent)  # has json
    for text, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "sample").mkdir()
            (root / "sample" / "a.cpp").write_text("{\n  int x;\n  int y;\n\n  int z;\n}\n", encoding="utf-8")
            (root / "a.md").write_text(text, encoding="utf-8")
            found, _, _ = check_document(root, "a.md", root / "scratch", {"PATH": os.environ["PATH"]})
        if (not expected and found) or (expected and (len(found) != 1 or expected not in found[0])):
            missed.append(f"expected '{expected}', found {found} for:\n{text}")
    installed = installed_cases()
    missed += [message for message in installed.values() if message]
    for message in missed:
        print(f"self-test: {message}")
    print(f"self-test: {len(cases) + len(installed)} cases, {len(missed)} wrong")
    return 1 if missed else 0


def installed_cases():
    """Cases of installed documents: the text as installed (None: not at all), and what must be said of it."""
    page = "# A page\n\nSee [`b` there](b.md#part), ![a](b.png) and [c](../c).\n"
    cases = {
        "as it is": ("# A page\n\nSee [`b` there](../../x.md), a and [c](../../y.md).\n", ""),
        "not installed": (None, "is not installed"),
        "another text": ("# A page\n\nSee `b` here, a and c.\n", "with another text"),
        "a dead link": ("# A page\n\nSee [`b` there](../b.md), a and c.\n", "a link to ../b.md, which is not there"),
        "an absolute link": ("# A page\n\nSee [`b` there](/), a and c.\n", "a link to /, which is not there"),
        "a link out": ("# A page\n\nSee [`b` there](../../../../tree), a and c.\n", "out of the installation"),
        "a dead heading": ("# A page\n\nSee [`b` there](../../x.md#y), a and c.\n", "a heading that is not there"),
    }
    missed = {}
    for name, (text, expected) in cases.items():
        with tempfile.TemporaryDirectory() as folder:
            root, prefix = Path(folder, "tree"), Path(folder, "prefix")
            (prefix / INSTALLED).mkdir(parents=True)
            root.mkdir()
            (root / "a.md").write_text(page, encoding="utf-8")
            for other in ("x.md", "y.md"):
                (prefix / "share" / other).write_text("# X\n", encoding="utf-8")
            if text is not None:
                (prefix / INSTALLED / "a.md").write_text(text, encoding="utf-8")
            found, _ = check_installed(root, prefix)
        right = len(found) == 1 and expected in found[0] if expected else not found
        missed[name] = "" if right else f"installed document, {name}: expected '{expected}', found {found}"
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("document", nargs="*")
    parser.add_argument("--build-dir")
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    if arguments.build_dir is None:
        parser.error("--build-dir is missing")
    return check_tree(arguments)


if __name__ == "__main__":
    sys.exit(main())
