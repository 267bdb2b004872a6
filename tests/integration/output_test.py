#!/usr/bin/env python3
"""Output that cannot be written: exit status 5 for every command, whatever stdout is, and for files alike. And what a
closed stream must not do: change an exit status, or send what is printed into a file.

  output_test.py --deputy build/release/bin/deputy [unittest's arguments]
"""

import argparse
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import onnx_bytes

ROOT = Path(__file__).resolve().parents[2]
DEPUTY = None


def limit_files():
    """A write beyond 64 bytes of a file fails, as on a disk that is full."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))


class Output(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        self.model = self.scratch / "add.onnx"
        self.model.write_bytes(onnx_bytes.add_model())
        self.case = self.make_case("case", 5)

    def make_case(self, name, first):
        folder = self.scratch / name / "test_data_set_0"
        folder.mkdir(parents=True)
        (folder.parent / "model.onnx").write_bytes(onnx_bytes.add_model())
        for file, values in (("input_0", (1, 2, 3, 4, 5, 6)), ("input_1", (4, 5, 6, 7, 8, 9)),
                             ("output_0", (first, 7, 9, 11, 13, 15))):  # fmt: skip
            (folder / f"{file}.pb").write_bytes(onnx_bytes.tensor(values, (2, 3)))
        return folder.parent

    def commands(self):
        """Every command at work, with and without --json where it has that."""
        config = self.scratch / "c.yaml"
        config.write_text(f"version: 1\nplugins: {{paths: [{self.scratch}]}}\n")
        npy = self.scratch / "y.npy"
        npy.write_bytes(onnx_bytes.npy([2, 4, 6, 8, 10, 12], (2, 3)))
        return {
            "digits": [["digits", "--config", config, "--model", ROOT / "configs/digits/digits.onnx", "--images",
                        ROOT / "configs/digits/images", *more] for more in ([], ["--json"])],
            "run": [["run", self.model], ["run", self.model, "--json"], ["run", self.model, "--profile"],
                    ["run", self.model, "--trace", self.scratch / "trace.json"]],
            "profile": [["profile", self.model, "--runs", "1"], ["profile", self.model, "--runs", "1", "--json"]],
            "bench": [["bench", self.model, "--runs", "1"], ["bench", self.model, "--runs", "1", "--json"]],
            "tune": [["tune", self.model, "--budget", "1ms", "-o", self.scratch / "t.yaml", *more]
                     for more in ([], ["--json"])],
            "compare": [["compare", self.model, "--config", config, "--runs", "2", *more] for more in ([], ["--json"])],
            "verify": [],  # without a plugin it has nothing to compare, which is an error already
            "test-case": [["test-case", self.case], ["test-case", self.case, "--json"]],
            "partition": [["partition", self.model], ["partition", self.model, "--json"],
                          ["partition", self.model, "--node", "sum"]],
            "inspect": [["inspect", self.model], ["inspect", self.model, "--json"]],
            "plugins": [["plugins", "--config", config], ["plugins", "--config", config, "--json"]],
            "cache": [["cache", command, "--set", f"cache.dir={self.scratch}/none", *more]
                      for command in ("ls", "verify", "purge") for more in ([], ["--json"])],
            "quarantine": [["quarantine", "ls", "--set", f"cache.dir={self.scratch}/none", *more]
                           for more in ([], ["--json"])],
            "config": [["config", "check", config], ["config", "show"], ["config", "schema", "--config", config],
                       ["config", "check", config, "--json"], ["config", "explain", "cache"], ["config", "reference"],
                       ["config", "explain", "cache", "--json"]],
            "convert": [["convert", self.model, "-o", self.scratch / "add.dpm", *more] for more in ([], ["--json"])],
            "new-plugin": [["new-plugin", "my_npu", *more, "--dir"] for more in ([], ["--json"])],
            "devices": [["devices", "--config", config, *more] for more in ([], ["--json"])],
            "doctor": [["doctor", "--config", config, *more] for more in ([], ["--json"])],
            "report": [["report", self.model, "--config", config, "-o", self.scratch / "r.json"]],
            "completion": [["completion", shell] for shell in ("bash", "zsh", "fish")],
            "bundle": [["bundle", "pack", "--config", config, "-o", self.scratch / "a-1.dpb"],
                       *(["bundle", *call, *more] for call in (["inspect", self.scratch / "a-1.dpb"],
                                                               ["verify", self.scratch / "a-1.dpb"],
                                                               ["list", "--root", self.scratch / "none"])
                         for more in ([], ["--json"]))],
        }  # fmt: skip

    def calls(self):
        yield ["--help"]
        yield ["--version"]
        listed = re.findall(r"(?m)^  ([a-z][a-z-]+) +[A-Z]", self.deputy("--help").stdout)
        commands = self.commands()
        self.assertEqual(set(listed), set(commands), "a command without a call here")
        for name in listed:
            yield [name, "--help"]
            yield from commands[name]

    def shell(self, redirection, arguments, **kwargs):
        if arguments[0] == "new-plugin" and arguments[-1] == "--dir":
            arguments = [*arguments, tempfile.mkdtemp(dir=self.scratch) + "/my_npu"]
        command = ["sh", "-c", f'exec "$0" "$@" {redirection}', str(DEPUTY), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, env=self.environment(), timeout=300, **kwargs)

    def deputy(self, *arguments, **kwargs):
        return subprocess.run([str(DEPUTY), *map(str, arguments)], capture_output=True, text=True,
                              env=self.environment(), timeout=300, **kwargs)  # fmt: skip

    def environment(self):
        return {**os.environ, "LC_ALL": "C.UTF-8", "XDG_CACHE_HOME": str(self.scratch / "cache")}


class Stdout(Output):
    def check_lost(self, redirection, why):
        for call in self.calls():
            with self.subTest(" ".join(map(str, call))):
                done = self.shell(redirection, call)
                self.assertEqual(done.returncode, 5, done.stdout + done.stderr)
                self.assertRegex(done.stderr, rf"(?m)^deputy: error: the output could not be written: {why}$")

    def test_AllCallsSucceedOtherwise(self):
        for call in self.calls():
            with self.subTest(" ".join(map(str, call))):
                done = self.shell("", call)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertNotEqual(done.stdout, "")

    def test_AFullDiskIsFive(self):
        self.check_lost("> /dev/full", "No space left on device")

    def test_AClosedStdoutIsFive(self):
        self.check_lost(">&-", "Bad file descriptor")

    def test_MoreThanABufferOnAFullDiskIsFive(self):
        nodes = [onnx_bytes.node("Relu", ["x" if i == 0 else f"v{i}"], ["y" if i == 499 else f"v{i + 1}"], f"n{i}")
                 for i in range(500)]  # fmt: skip
        x, y = (onnx_bytes.value_info(name, (2, 3)) for name in "xy")
        self.model.write_bytes(onnx_bytes.model(nodes, [x], [y]))
        done = self.shell("> /dev/full", ["partition", self.model, "--json"])
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertEqual(done.stderr.count("error: the output could not be written"), 1, done.stderr)

    def test_AMismatchThatCannotBeReportedIsFive(self):
        wrong = self.make_case("wrong", 6)
        self.assertEqual(self.shell("", ["test-case", wrong]).returncode, 1)
        self.assertEqual(self.shell("> /dev/full", ["test-case", wrong]).returncode, 5)

    def test_AnErrorKeepsItsStatus(self):
        for redirection in ("> /dev/full", ">&-"):
            with self.subTest(redirection):
                self.assertEqual(self.shell(redirection, ["run", self.scratch / "absent.onnx"]).returncode, 3)
                self.assertEqual(self.shell(redirection, ["run", "--frobnicate"]).returncode, 2)

    def test_AReaderThatGoesAwayEndsTheProgramQuietly(self):
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run([str(DEPUTY), "run", str(self.model)], stdout=write, stderr=subprocess.PIPE, text=True,
                              env=self.environment(), timeout=300)  # fmt: skip
        os.close(write)
        self.assertEqual(done.returncode, -signal.SIGPIPE, done.stderr)
        self.assertNotIn("error", done.stderr)

    def test_AReaderThatGoesAwayIsFiveWhereTheSignalIsIgnored(self):
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run([str(DEPUTY), "run", str(self.model)], stdout=write, stderr=subprocess.PIPE, text=True,
                              env=self.environment(), timeout=300,
                              preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN))  # fmt: skip
        os.close(write)
        self.assertEqual(done.returncode, 5, done.stderr)

    def test_NoFileTakesThePlaceOfAClosedStdout(self):
        for stream in ("<&-", "<&- >&-", "<&- >&- 2>&-"):
            with self.subTest(stream):
                name = f"out{len(stream)}"
                done = self.shell(stream, ["run", self.model, "--output-dir", self.scratch / name, "--trace",
                                           self.scratch / "trace.json"])  # fmt: skip
                self.assertEqual(done.returncode, 0 if stream == "<&-" else 5)
                written = (self.scratch / name / "y.npy").read_bytes()
                self.assertEqual(len(written), 128 + 24)
                self.assertEqual((self.scratch / "trace.json").read_bytes()[:1], b"{")
                self.assertEqual(self.model.read_bytes(), onnx_bytes.add_model())


class Stderr(Output):
    def test_MessagesThatAreLostDoNotChangeTheStatus(self):
        for redirection in ("2> /dev/full", "2>&-"):
            with self.subTest(redirection):
                self.assertEqual(self.shell(redirection, ["run", self.model]).returncode, 0)
                self.assertEqual(self.shell(redirection, ["run", "--frobnicate"]).returncode, 2)
                self.assertEqual(self.shell(redirection, ["run", self.scratch / "absent.onnx"]).returncode, 3)
                self.assertEqual(self.shell(redirection, ["test-case", self.make_case(f"w{len(redirection)}", 6)])
                                 .returncode, 1)  # fmt: skip


class Files(Output):
    def test_AFileThatDoesNotFitIsFive(self):
        config, noise = self.scratch / "c.yaml", self.scratch / "noise"
        config.write_text("version: 1\n")
        noise.write_bytes(os.urandom(10000))  # is not compressed
        for name, arguments in {
            "y.npy": ["run", self.model, "--output-dir", self.scratch / "out"],
            "trace.json": ["run", self.model, "--trace", self.scratch / "trace.json"],
            "add.dpm": ["convert", self.model, "-o", self.scratch / "add.dpm"],
            "my_npu": ["new-plugin", "my_npu", "--dir", self.scratch / "my_npu"],
            "a-1.dpb": ["bundle", "pack", "--config", config, "--model", noise, "-o", self.scratch / "a-1.dpb"],
        }.items():
            with self.subTest(name):
                done = self.deputy(*arguments, preexec_fn=limit_files)
                self.assertEqual(done.returncode, 5, done.stdout + done.stderr)
                self.assertRegex(done.stderr, rf"(?m)^deputy: error: .*{name}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", type=Path, required=True)
    known, rest = parser.parse_known_args()
    DEPUTY = known.deputy.resolve(strict=True)
    unittest.main(argv=[sys.argv[0], *rest])
