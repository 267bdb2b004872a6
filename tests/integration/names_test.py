#!/usr/bin/env python3
"""Names and texts of models and plugins that try to steer a terminal: no command prints one as it is.

  names_test.py --deputy build/release/bin/deputy --fixtures build/release/fixtures/plugins [unittest's arguments]
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unicodedata
import unittest
from pathlib import Path

from onnx_bytes import chunk, graph, node, number, tensor, value_info
from pty_run import run_on_terminal

ARGS = None
# Colours, a window title, another line, the line from its start, deletion, CSI as one character, reversed direction.
TEXT = "\x1b[31mred\x1b]0;title\x07\nFORGED\rFORGED\x7f\u009b2J\u202eend"
# And bytes that are no UTF-8.
BYTES = TEXT.encode() + b"\xff\xc0\xaf"


def named(name):
    return BYTES + name.encode()


def add_model(hostile=named, op_type=b"Add", domain=b""):
    """A hostile name for everything that has one: in -> Relu -> Add (of a constant) -> out, with a symbol in the shape."""
    inside = graph(
        [node("Relu", [hostile("in")], [hostile("middle")], hostile("first")),
         node(op_type, [hostile("middle"), hostile("constant")], [hostile("out")], hostile("second"), domain)],
        [value_info(hostile("in"), (BYTES.decode("latin-1"), 3))],
        [value_info(hostile("out"), (BYTES.decode("latin-1"), 3))],
        [tensor((1, 2, 3), (3,), hostile("constant"))],
    )  # fmt: skip
    opsets = chunk(8, chunk(1, "") + number(2, 13))
    if domain:
        opsets += chunk(8, chunk(1, domain) + number(2, 1))
    about = chunk(2, BYTES) + chunk(3, BYTES) + chunk(4, BYTES) + chunk(6, BYTES)
    about += chunk(14, chunk(1, BYTES) + chunk(2, BYTES))
    return number(1, 7) + about + chunk(7, inside + chunk(10, BYTES)) + opsets


class Names(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        self.model = self.file("m.onnx", add_model())

    def file(self, name, content):
        path = self.scratch / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def plugins(self, options=""):
        (self.scratch / "plugins").mkdir(exist_ok=True)
        shutil.copy(Path(ARGS.fixtures) / "hostile_texts.so", self.scratch / "plugins")
        return self.file("c.yaml", "version: 1\nplugins: {paths: [plugins]}\nlog: {level: debug}\n"
                         f"delegates: [{{name: hostile_texts, required: true{options}}}]\n")  # fmt: skip

    def clean(self, printed, where):
        """Nothing but printable characters and ends of lines, none of which a name has begun."""
        try:
            text = printed.decode()
        except UnicodeDecodeError as error:
            self.fail(f"{where}: {error}: {printed!r}")
        bad = {c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cs")}
        self.assertFalse(bad, f"{where}: {bad} in {text!r}")
        for line in text.splitlines():
            self.assertFalse(line.lstrip().startswith("FORGED"), f"{where}: a name began the line {line!r}")
        return text

    def deputy(self, *arguments, status=0, env=None):
        environment = {**os.environ, "LC_ALL": "C.UTF-8", **(env or {})}
        command = [str(ARGS.deputy).encode(), *(a if isinstance(a, bytes) else str(a).encode() for a in arguments)]
        done = subprocess.run(command, capture_output=True, env=environment, timeout=100)
        self.assertEqual(done.returncode, status, done)
        self.clean(done.stderr, f"stderr of {arguments}")
        return self.clean(done.stdout, f"stdout of {arguments}")

    def test_ModelsThroughEveryCommand(self):
        shape = named("in") + b"=2x3"
        for command in (
            ["run", self.model, "--profile", "--output-dir", self.scratch / "out"],
            ["run", self.model, "--shape", shape, "--repeat", "2"],
            ["partition", self.model, "--nodes", "--shape", shape],
            ["partition", self.model, "--node", named("second"), "--shape", shape],
            ["inspect", self.model, "--nodes"],
            ["bench", self.model, "--runs", "1"],
            ["profile", self.model, "--runs", "1"],
            ["convert", self.model, "-o", self.scratch / "m.dpm"],
        ):
            with self.subTest(command=command):
                self.assertTrue(self.deputy(*command))
        for command in (["run"], ["partition", "--shape", shape], ["inspect", "--nodes"]):
            with self.subTest(dpm=command):
                self.deputy(*command, self.scratch / "m.dpm")

    def test_JsonHoldsTheNamesEscaped(self):
        self.model.write_bytes(add_model(lambda name: TEXT + name))
        shape = f"{TEXT}in=2x3"
        nodes = [node["name"] for node in json.loads(self.deputy("partition", self.model, "--json", "--shape", shape))["nodes"]]
        self.assertEqual(nodes, [TEXT + "first", TEXT + "second"])
        inspected = json.loads(self.deputy("inspect", self.model, "--nodes", "--json"))
        self.assertEqual([i["name"] for i in inspected["inputs"]], [TEXT + "in"])
        self.assertEqual(json.loads(self.deputy("bench", self.model, "--runs", "1", "--json"))["inputs"][0]["name"],
                         TEXT + "in")  # fmt: skip

    def test_JsonOfNamesThatAreNoUtf8IsUtf8(self):
        shape = named("in") + b"=2x3"
        for command in (["partition", "--shape", shape], ["inspect", "--nodes"], ["bench", "--runs", "1"]):
            json.loads(self.deputy(*command, "--json", self.model))
        trace = self.scratch / "trace.json"
        self.deputy("run", self.model, "--trace", trace)
        self.clean(trace.read_bytes(), "the trace")
        json.loads(trace.read_bytes())

    def test_DumpsAreText(self):
        folder = self.scratch / "dumped"
        self.deputy("run", self.model, "--set", "debug.dump=[graph, placement, plan, tensors]", "--set",
                    f"debug.dump_dir={folder}")  # fmt: skip
        texts = [path for path in folder.rglob("*") if path.suffix in (".txt", ".json")]
        self.assertEqual(len(texts), 4)
        for path in texts:
            self.clean(path.read_bytes(), path.name)
            if path.suffix == ".json":
                json.loads(path.read_bytes())
        for path in folder.rglob("*"):
            self.assertRegex(path.name, r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$")

    def test_Cases(self):
        case = self.scratch / os.fsdecode(b"case\x1b[31m\nFORGED\xff")
        (case / "test_data_set_0").mkdir(parents=True)
        (case / "model.onnx").write_bytes(add_model())
        (case / "test_data_set_0" / "input_0.pb").write_bytes(tensor((1, 2, 3), (1, 3)))
        for values, status in (((2, 4, 6), 0), ((9, 9, 9), 1)):
            (case / "test_data_set_0" / "output_0.pb").write_bytes(tensor(values, (1, 3), "out"))
            self.deputy("test-case", os.fsencode(case), status=status)
            self.deputy("test-case", "--json", os.fsencode(case), status=status)

    def test_Mismatch(self):
        expected = self.file("y.pb", tensor((9, 9, 9), (1, 3)))
        self.deputy("run", self.model, "--expect", named("out") + b"=" + str(expected).encode(), status=1)

    def test_ErrorsAboutModels(self):
        infos = [value_info(named("in"), (2, 3))], [value_info(named("out"), (2, 3))]

        def one(*nodes):
            inside = graph(nodes, *infos)
            return number(1, 7) + chunk(7, inside) + chunk(8, chunk(1, "") + number(2, 13))

        models = {
            "operator": add_model(op_type=BYTES),
            "domain": add_model(op_type=BYTES, domain=BYTES),
            "value": one(node("Relu", [named("missing")], [named("out")], named("n"))),
            "twice": one(*[node("Relu", [named("in")], [named("out")], named("n"))] * 2),
            "output": one(node("Relu", [named("in")], [named("other")], named("n"))),
            "cycle": one(node("Add", [named("in"), named("b")], [named("out")], named("n")),
                         node("Relu", [named("out")], [named("b")], named("n"))),
            "attribute": one(node("Relu", [named("in")], [named("out")], named("n"), **{TEXT: 1})),
            "rank": one(node("Conv", [named("in"), named("in")], [named("out")], named("n"))),
            "string": one(node("Cast", [named("in")], [named("out")], named("n"), to=BYTES)),
            "mode": one(node("Pad", [named("in")], [named("out")], named("n"), mode=BYTES)),
            "einsum": one(node("Einsum", [named("in")], [named("out")], named("n"), equation=BYTES)),
        }  # fmt: skip
        for what, content in models.items():
            for command in (["run"], ["partition"], ["inspect", "--nodes"], ["inspect", "--json"],
                            ["convert", "-o", self.scratch / "x.dpm"]):  # fmt: skip
                with self.subTest(wrong=what, command=command):
                    path = self.file("bad.onnx", content)
                    done = subprocess.run([ARGS.deputy, *map(str, command), path], capture_output=True, timeout=100)
                    # Some commands can do with some of these; an attribute that nobody knows is passed over by all.
                    self.assertIn(done.returncode, (2, 3) if command == ["run"] and what != "attribute" else (0, 2, 3))
                    self.clean(done.stdout, "stdout")
                    self.clean(done.stderr, "stderr")
                    self.assertEqual(done.stderr.count(b"deputy: error: "), 1 if done.returncode else 0, done)

    def test_ErrorsAboutTheCommandLine(self):
        for arguments in (["run", self.scratch / "no", "--shape", BYTES + b"=1"], ["partition", self.model, "--node", BYTES],
                          ["run", self.model, "--input", BYTES + b"=x"], ["run", BYTES], [BYTES], ["run", b"--" + BYTES],
                          ["run", self.model, "--config", BYTES], ["run", self.model, "--set", BYTES]):  # fmt: skip
            with self.subTest(arguments=arguments):
                done = subprocess.run([ARGS.deputy, *arguments], capture_output=True, timeout=100)
                self.assertGreaterEqual(done.returncode, 2, done)
                self.clean(done.stderr, "stderr")

    def test_Plugins(self):
        config = self.plugins()
        shape = named("in") + b"=2x3"
        for command in (["plugins"], ["plugins", "--why"], ["plugins", "hostile_texts.so"], ["devices"], ["doctor"],
                        ["devices", "--json"], ["doctor", "--json"], ["plugins", "--json"], ["plugins", "--operators"],
                        ["config", "schema"], ["run", self.model, "--profile"],
                        ["partition", "--nodes", "--shape", shape, self.model],
                        ["partition", "--json", "--shape", shape, self.model]):  # fmt: skip
            with self.subTest(command=command):
                self.deputy(*command, "--config", config)
        printed = self.deputy("plugins", "--config", config)
        self.assertIn("FORGED", printed, "the fixture's texts are not shown at all, so this test proves nothing")

    def test_PluginsThatFail(self):
        config = self.plugins()
        self.deputy("run", self.model, "--config", config, env={"FIXTURE_HOSTILE": "compile"})
        self.deputy("run", self.model, "--config", config, env={"FIXTURE_HOSTILE": "execute"}, status=5)
        self.deputy("run", self.model, "--config", self.plugins(", options: {text: 1, more: 2}"), status=2)

    def test_FilesOfPluginFolders(self):
        config = self.plugins()
        self.file("plugins/" + os.fsdecode(b"\x1b[31m\nFORGED\xff.so"), "text")
        for command in (["plugins"], ["plugins", "--why"], ["plugins", "--json"], ["run", self.model]):
            self.deputy(*command, "--config", config)

    def test_OnATerminalThereAreColoursOfOurOwnAlone(self):
        config = self.plugins()
        for command in (["inspect", self.model, "--nodes"], ["run", self.model, "--config", config],
                        ["plugins", "--why", "--config", config], ["run", self.scratch / "none"],
                        ["partition", self.model, "--node", named("second"), "--shape", named("in") + b"=2x3"]):  # fmt: skip
            with self.subTest(command=command):
                _, text, _ = run_on_terminal([ARGS.deputy, *command], 80, both=True)
                shown = text.encode()
                self.assertIn(b"\x1b[", shown, "no colours, so this test proves nothing")
                self.assertNotIn(b"\x1b[31m", shown)
                plain = re.sub(rb"\x1b\[(0|1|2|32|1;31|96)m|\r\x1b\[K", b"", shown)
                self.clean(plain, "the terminal")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--fixtures", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
