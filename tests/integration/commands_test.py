#!/usr/bin/env python3
"""The description of the commands, and all that is generated from it: completions, exercised in the real shells, and
manual pages, checked by mandoc. Fails where bash, zsh, fish or mandoc is not installed: packaging/install-deps.sh test.

  commands_test.py --deputy build/release/bin/deputy [unittest's arguments]
"""

import argparse
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEPUTY = None
# Commands without --json, and the reason.
WITHOUT_JSON = {
    "completion": "prints a script for a shell",
    "config show": "prints YAML, which programs read",
    "config schema": "prints JSON without being asked",
    "config init": "writes a file and nothing else",
    "report": "writes JSON into a file",
    "config reference": "prints Markdown for the documents",
}
SUBCOMMAND = re.compile(r"(?m)^  ([a-z][a-z-]+) +[A-Z]")


def deputy(*arguments):
    return subprocess.run([str(DEPUTY), *map(str, arguments)], capture_output=True, text=True, timeout=100)


def inner_commands(text):
    return SUBCOMMAND.findall(text.partition("Subcommands:\n")[2])


def all_commands():
    """{"config check": its help}"""
    found = {}
    for name in inner_commands(deputy("--help").stdout):
        found[name] = deputy(name, "--help").stdout
        for inner in inner_commands(found[name]):
            found[f"{name} {inner}"] = deputy(name, inner, "--help").stdout
    return found


def leaves(commands):
    return {name: text for name, text in commands.items() if not inner_commands(text)}


class Commands(unittest.TestCase):
    def test_EachHasAnExample(self):
        commands = all_commands()
        self.assertIn("cache purge", commands)
        for name, text in commands.items():
            with self.subTest(name):
                self.assertRegex(text, rf"Example:\n  deputy {name} ?")

    def test_EachHasJsonOrAReason(self):
        for name, text in leaves(all_commands()).items():
            with self.subTest(name):
                self.assertTrue("--json" in text or name in WITHOUT_JSON, "neither --json nor a reason here")

    def test_EachIsInTheDocument(self):
        document = (ROOT / "host/docs/cli.md").read_text()
        for name in leaves(all_commands()):
            with self.subTest(name):
                self.assertTrue(re.search(rf"`deputy {name}\b", document), "not in host/docs/cli.md")

    def test_TheKeysOfEachJsonAreInTheDocument(self):
        document = (ROOT / "host/docs/cli.md").read_text()
        for name, text in leaves(all_commands()).items():
            if "--json" in text and not name.startswith("config "):
                with self.subTest(name):
                    self.assertTrue(f"`{name} --json`" in document, "not in host/docs/cli.md")


class ManualPages(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name) / "man"
        done = deputy("manual-pages", self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.pages = {path.name: path.read_text() for path in self.folder.iterdir()}

    def test_EachCommandHasAPage(self):
        names = {f"deputy-{name}.1" for name in all_commands() if " " not in name}
        self.assertEqual(set(self.pages), names | {"deputy.1"})

    def test_MandocFindsNoErrors(self):
        for name in self.pages:
            with self.subTest(name):
                done = subprocess.run(["mandoc", "-T", "lint", "-W", "error", str(self.folder / name)],
                                      capture_output=True, text=True)  # fmt: skip
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_EachOptionOfTheHelpIsInThePage(self):
        rendered = {}
        for name, text in all_commands().items():
            page = f"deputy-{name.split()[0]}.1"
            if page not in rendered:
                done = subprocess.run(["mandoc", "-T", "utf8", str(self.folder / page)], capture_output=True, text=True)
                rendered[page] = re.sub(".\b", "", done.stdout)
            for option in re.findall(r"(?m)^  (?:-\w,)?(--[a-z-]+)", text):
                with self.subTest(name, option=option):
                    self.assertIn(option, rendered[page])

    def test_EachHasExitStatusesAndExamples(self):
        for name, text in self.pages.items():
            with self.subTest(name):
                self.assertIn('.SH EXIT STATUS', text)
                if name != "deputy.1":
                    self.assertIn('.SH EXAMPLES', text)

    def test_VariablesOfTheProgramAreListed(self):
        read = set()
        for path in (ROOT / "host").rglob("*.cpp"):
            read |= set(re.findall(r'(?:getenv|Environment)\("(DEPUTY_\w+|NO_COLOR)"\)', path.read_text()))
        self.assertIn("DEPUTY_CHECK", read)
        for name in read:
            with self.subTest(name):
                self.assertIn(name, self.pages["deputy.1"])
        # Each is known to the warning about names that are nearly one of them.
        for name in read - {"NO_COLOR"}:
            with self.subTest(name + "_"):
                done = subprocess.run([str(DEPUTY), "doctor"], capture_output=True, text=True,
                                      env={**os.environ, name + "_": "x"})  # fmt: skip
                self.assertIn(f"{name}_ has no effect; did you mean '{name}'?", done.stdout + done.stderr)

    def test_AFolderThatCannotBeMadeIsFive(self):
        done = deputy("manual-pages", "/dev/null/man")
        self.assertEqual(done.returncode, 5, done.stderr)


class Completions(unittest.TestCase):
    """Every case in every shell: what is typed, and candidates that there must be and must not be."""

    CASES = (
        ("deputy conve", {"convert"}, {"config"}),
        ("deputy config ", {"check", "show", "schema"}, {"run", "m.onnx"}),
        ("deputy run --exp", {"--expect"}, {"--input"}),
        ("deputy cache purge --ki", {"--kind"}, {"--json"}),
        ("deputy cache purge --kind ", {"blob", "verdict"}, {"m.onnx"}),
        ("deputy cache purge --kind=ver", {"verdict"}, {"blob"}),
        ("deputy new-plugin my_npu --language ", {"c", "c++"}, {"m.onnx"}),
        ("deputy completion ", {"bash", "zsh", "fish"}, {"m.onnx"}),
        ("deputy run ", {"m.onnx", "n.dpm", "folder/"}, {"a.yaml", "notes.txt"}),
        ("deputy run --config ", {"a.yaml", "folder/"}, {"m.onnx", "notes.txt"}),
        ("deputy run --config a.yaml --repeat 3 m", {"m.onnx"}, {"n.dpm"}),
        ("deputy run m.onnx --output-dir ", {"folder/"}, {"notes.txt"}),
    )  # fmt: skip

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        self.work = self.scratch / "work"
        (self.work / "folder").mkdir(parents=True)
        for name in ("m.onnx", "n.dpm", "a.yaml", "notes.txt"):
            (self.work / name).write_text("")
        (self.scratch / "bin").mkdir()
        (self.scratch / "bin" / "deputy").symlink_to(DEPUTY)
        self.environment = {"PATH": f"{self.scratch}/bin:{os.environ['PATH']}", "HOME": str(self.scratch),
                            "TERM": "xterm", "LC_ALL": "C.UTF-8"}  # fmt: skip

    def script(self, shell, name):
        done = deputy("completion", shell)
        self.assertEqual(done.returncode, 0, done.stderr)
        path = self.scratch / name
        path.write_text(done.stdout)
        return path

    def run_shell(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.work, env=self.environment, timeout=100)
        self.assertEqual(done.stderr, "")
        return done.stdout.splitlines()

    def check(self, candidates_of):
        for line, wanted, unwanted in (*self.CASES, ("deputy plugins ", set(self.delegates()), set())):
            with self.subTest(line):
                # A folder may be shown with its slash or without.
                found = {word.rstrip("/") for word in candidates_of(line)}
                self.assertLessEqual({word.rstrip("/") for word in wanted}, found)
                self.assertFalse(unwanted & found, found)

    def delegates(self):
        return deputy("completion", "--values", "delegates").stdout.split()

    def test_Bash(self):
        path = self.script("bash", "deputy.bash")
        self.assertEqual(self.run_shell("bash", "-n", path), [])

        def candidates(line):
            words = line.replace("=", " = ").split(" ")  # as bash takes them apart
            return self.run_shell(
                "bash", "--norc", "-c",
                'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _deputy; printf "%s\\n" "${COMPREPLY[@]}"',
                path, *words)  # fmt: skip

        self.check(candidates)
        self.assertIn("notes.txt", candidates("deputy run --input x=no"))
        self.assertEqual(candidates("deputy run --input x"), [""])

    def test_BashAtATerminal(self):
        path = self.script("bash", "deputy.bash")
        with Typing(["bash", "--norc", "--noprofile", "-i"], self.work, {**self.environment, "PS1": "ready> "}) as shell:
            shell.type(f"source {path}\n")
            shell.wait_for("ready> ")
            shell.type("deputy new-pl\tmy_npu --lang\tc++ --d\t")
            shell.wait_for("deputy new-plugin my_npu --language c++ --dir ")

    def test_Fish(self):
        path = self.script("fish", "deputy.fish")

        def candidates(line):
            shown = self.run_shell("fish", "--no-config", "-c", f"source {path}; complete -C '{line}'")
            # Of a value after "=" fish shows the whole word.
            return [word.split("\t")[0].rpartition("=")[2] for word in shown]

        self.check(candidates)
        self.assertIn("notes.txt", candidates("deputy run --input x=no"))

    def test_Zsh(self):
        self.script("zsh", "_deputy")
        found = self.scratch / "found"
        # Each call that adds candidates also notes them; one that only filters words does not.
        (self.scratch / ".zshrc").write_text(
            f"""
PROMPT='ready> '
fpath=({self.scratch} $fpath)
autoload -Uz compinit && compinit -u -d {self.scratch}/dump
unsetopt zle_bracketed_paste 2>/dev/null
complete-and-note() {{
  zle complete-word
  print -r -- END-OF-CANDIDATES >> {found}
}}
zle -N complete-and-note
bindkey '^I' complete-and-note
bindkey '^U' kill-whole-line
compadd() {{
  local word
  for word in "$@"; do
    if [[ $word == -(O|A|D)* ]]; then builtin compadd "$@"; return; fi
    [[ $word == (-|--) ]] && break
  done
  local -a noted
  builtin compadd -O noted "$@"
  (( $#noted )) && print -rl -- $noted >> {found}
  builtin compadd "$@"
}}
zstyle ':completion:*' menu no
"""
        )
        environment = {**self.environment, "ZDOTDIR": str(self.scratch)}
        with Typing(["zsh", "-i"], self.work, environment) as shell:
            shell.wait_for("ready> ")

            def candidates(line):
                found.write_text("")
                shell.type(f"\x15{line}\t")
                words = shell.wait_until(lambda: found.read_text().splitlines(), "END-OF-CANDIDATES")
                return [word for word in words if word != "END-OF-CANDIDATES"]

            self.check(candidates)
            self.assertIn("notes.txt", candidates("deputy run --input x=no"))

    def test_ValuesAreOneToALine(self):
        done = deputy("completion", "--values", "delegates")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(deputy("completion", "--values", "nonsense").returncode, 2)

    def test_AShellIsRequired(self):
        done = deputy("completion")
        self.assertEqual(done.returncode, 2)
        self.assertIn("bash, zsh or fish", done.stderr)


class Typing:
    """A program at a terminal of its own."""

    def __init__(self, command, folder, environment):
        self.shown = ""
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, environment)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.terminal)
        os.kill(self.child, 9)
        os.waitpid(self.child, 0)

    def type(self, text):
        os.write(self.terminal, text.encode())

    def read(self):
        if select.select([self.terminal], [], [], 0.05)[0]:
            self.shown += os.read(self.terminal, 65536).decode(errors="replace")

    def wait_until(self, words_now, last):
        limit = time.monotonic() + 60
        while last not in (words := words_now()):
            self.read()
            if time.monotonic() > limit:
                raise AssertionError(f"{last!r} did not come; shown: {self.shown!r}")
        return words

    def wait_for(self, text):
        self.wait_until(lambda: re.sub(r"\x1b\[[?\d;]*[A-Za-z]|\x07", "", self.shown), text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", type=Path, required=True)
    known, rest = parser.parse_known_args()
    DEPUTY = known.deputy.resolve(strict=True)
    unittest.main(argv=[sys.argv[0], *rest])
