#!/usr/bin/env python3
"""What the program writes, which files it believes, and which plugins it runs.

  files_test.py --deputy build/release/bin/deputy --fixtures build/release/fixtures/plugins [unittest's arguments]
"""

import argparse
import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import onnx_bytes

ARGS = None
ROOT = os.geteuid() == 0


def deputy(*arguments, env=None, **more):
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1", **(env or {})}
    return subprocess.run([ARGS.deputy, *map(str, arguments)], capture_output=True, text=True, env=environment,
                          timeout=300, **more)  # fmt: skip


class Scratch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        x, y = (onnx_bytes.value_info(name, (2, 3)) for name in "xy")
        self.model = self.scratch / "relu.onnx"
        self.model.write_bytes(onnx_bytes.model([onnx_bytes.node("Relu", ["x"], ["y"])], [x], [y]))

    def plugins(self, *fixtures):
        """A folder with these fixtures, and a configuration that searches it and names what is given to it."""
        folder = self.scratch / "plugins"
        folder.mkdir(exist_ok=True)
        for fixture in fixtures:
            shutil.copy(Path(ARGS.fixtures) / f"{fixture}.so", folder)
        return folder

    def config(self, *delegates, required=True, more=""):
        entries = "".join(f"  - {{name: {name}, required: {str(required).lower()}}}\n" for name in delegates)
        path = self.scratch / "c.yaml"
        path.write_text(f"version: 1\nplugins: {{paths: [plugins]{more}}}\ndelegates:{'' if entries else ' []'}\n{entries}")
        return path

    def check(self, run, status):
        said = f"exit status {run.returncode}\nstdout:\n{run.stdout}\nstderr:\n{run.stderr}"
        self.assertEqual(run.returncode, status, said)
        return said


class Writers(Scratch):
    def targets(self):
        """Names that no writer may write to, with what stands under them."""
        out = self.scratch / "out"
        out.mkdir()
        (out / "precious").write_text("precious")
        (out / "directory").mkdir()
        os.mkfifo(out / "fifo")
        (out / "link").symlink_to("precious")
        (out / "dangling").symlink_to("nowhere")
        kinds = {"directory": "is a directory", "fifo": "is a pipe", "link": "is a symbolic link",
                 "dangling": "is a symbolic link"}  # fmt: skip
        if ROOT:
            os.mknod(out / "device", stat.S_IFCHR | 0o600, os.makedev(1, 3))
            kinds["device"] = "is a device"
        return out, kinds

    def refuses(self, *command):
        """The command with a target behind it."""
        out, kinds = self.targets()
        before = {path.name: os.lstat(path) for path in out.iterdir()}
        for name, why in kinds.items():
            with self.subTest(target=name):
                said = self.check(deputy(*command, out / name), 5)
                self.assertIn(f"{out / name}: {why}", said)
        after = {path.name: os.lstat(path) for path in out.iterdir()}
        self.assertEqual({n: (s.st_ino, s.st_mode) for n, s in before.items()},
                         {n: (s.st_ino, s.st_mode) for n, s in after.items()})  # fmt: skip
        self.assertEqual((out / "precious").read_text(), "precious")

    def test_ConvertWritesRegularFilesAlone(self):
        self.refuses("convert", self.model, "-o")

    def test_TraceIsWrittenToRegularFilesAlone(self):
        self.refuses("run", self.model, "--trace")

    def test_TheTraceOfAProfileIsWrittenToRegularFilesAlone(self):
        self.refuses("profile", self.model, "--runs", "1", "--trace")

    def test_StandardOutputIsNoTarget(self):
        with open(self.scratch / "captured", "w") as captured:
            done = subprocess.run([ARGS.deputy, "convert", self.model, "-o", "/dev/stdout"], stdout=captured,
                                  stderr=subprocess.PIPE, text=True, timeout=100)  # fmt: skip
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertTrue(os.path.islink("/dev/stdout"))

    def test_OutputFilesFollowNoLink(self):
        folder = self.scratch / "outputs"
        folder.mkdir()
        precious = self.scratch / "precious"
        precious.write_text("precious")
        (folder / "y.npy").symlink_to(precious)
        self.assertIn("is a symbolic link", self.check(deputy("run", self.model, "--output-dir", folder), 5))
        self.assertEqual(precious.read_text(), "precious")

    def test_NewPluginFollowsNoLink(self):
        elsewhere = self.scratch / "elsewhere"
        elsewhere.mkdir()
        (self.scratch / "link").symlink_to(elsewhere)
        (self.scratch / "dangling").symlink_to("nowhere")
        for name in ("link", "dangling"):
            self.assertNotEqual(deputy("new-plugin", "my_npu", "--dir", self.scratch / name).returncode, 0)
        self.assertEqual(list(elsewhere.iterdir()), [])

    def test_ReplacedFileIsWholeAndNothingIsLeftBeside(self):
        out = self.scratch / "out"
        out.mkdir()
        (out / "m.dpm").write_text("old")
        self.check(deputy("convert", self.model, "-o", out / "m.dpm"), 0)
        self.assertEqual([path.name for path in out.iterdir()], ["m.dpm"])
        self.check(deputy("run", out / "m.dpm"), 0)

    def test_SignalInTheMiddleOfWritingLeavesNothing(self):
        out = self.scratch / "out"
        out.mkdir()
        (out / "m.dpm").write_text("old")
        done = deputy("convert", self.model, "-o", out / "m.dpm",
                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512)))  # fmt: skip
        self.check(done, -signal.SIGXFSZ)
        self.assertEqual([path.name for path in out.iterdir()], ["m.dpm"])
        self.assertEqual((out / "m.dpm").read_text(), "old")


class Cache(Scratch):
    def runs(self):
        done = deputy("run", self.model, "--config", self.config("able"), env={"XDG_CACHE_HOME": str(self.scratch)})
        self.check(done, 0)
        return done.stderr

    def test_FolderThatOthersMayWriteIsRefusedWithAWarning(self):
        self.plugins("able")
        folder = self.scratch / "deputy"
        self.assertNotIn("cache", self.runs())
        entries = sorted(folder.iterdir())
        self.assertTrue(entries, "nothing was cached, so this test proves nothing")
        folder.chmod(0o777)
        warnings = [line for line in self.runs().splitlines() if "warning: " in line]
        self.assertEqual(len(warnings), 1, warnings)
        self.assertIn(f"{folder} is not used: users other than you and root may write to it (mode 0777)", warnings[0])
        if ROOT:
            folder.chmod(0o700)
            os.chown(folder, 12345, 12345)
            self.assertIn("is not used: belongs to user 12345", self.runs())
        self.assertEqual(sorted(folder.iterdir()), entries)


class Trust(Scratch):
    def test_PluginFileThatOthersMayWriteIsRefusedWithTheReason(self):
        (self.plugins("good") / "good.so").chmod(0o666)
        said = self.check(deputy("run", self.model, "--config", self.config("good")), 4)
        self.assertIn("good.so has it, but users other than you and root may write to it (mode 0666); chmod go-w", said)
        listing = deputy("plugins", "--why", "--config", self.config("good"))
        shown = self.check(listing, 0)
        self.assertRegex(shown, r"rejected +\S+good\.so\n +untrusted: users other than you")
        self.assertRegex(" ".join(shown.split()), r"no plugin offers the delegate 'good'; \S+good\.so has it, but users other")

    def test_PluginFolderThatOthersMayWriteIsRefusedWithTheReason(self):
        for mode in (0o777, 0o1777):
            folder = self.plugins("good")
            folder.chmod(mode)
            said = self.check(deputy("run", self.model, "--config", self.config("good")), 4)
            self.assertIn(f"{folder}: not used (untrusted): plugin folder: users other than you and root", said)
            self.assertIn(f"(mode {mode:04o})", said)

    def test_TrustAnyUsesThemWithAWarning(self):
        folder = self.plugins("good")
        folder.chmod(0o777)
        (folder / "good.so").chmod(0o666)
        done = deputy("run", self.model, "--config", self.config("good", more=", trust: any"))
        self.assertRegex(self.check(done, 0), r"warning: \S+good\.so: users other than you .*'trust: any'")

    def test_R194_AGroupThatOthersShareIsRefused(self):
        if not ROOT:
            self.skipTest("what the user's group is depends on the account")
        folder = self.plugins("good")
        (folder / "good.so").chmod(0o775)
        said = self.check(deputy("run", self.model, "--config", self.config("good")), 4)
        self.assertIn("good.so has it, but group 0 may write to it (mode 0775); chmod go-w", said)


MARKS = ", sandbox: false"  # else no mark could be left


class Unnamed(Scratch):
    def setUp(self):
        super().setUp()
        self.plugins("good", "leaves_a_mark", "crash_in_constructor")
        self.mark = self.scratch / "mark"

    def leaves(self, *arguments):
        done = deputy(*arguments, env={"FIXTURE_MARK": str(self.mark)})
        self.check(done, 0)
        marked = self.mark.exists()
        self.mark.unlink(missing_ok=True)
        return marked, done

    def test_NoCommandRunsAPluginThatNobodyNamed(self):
        config = self.config("good")
        for command in (["run", self.model], ["partition", self.model], ["bench", self.model, "--runs", "1"],
                        ["convert", self.model, "-o", self.scratch / "m.dpm"], ["plugins"], ["plugins", "--why"],
                        ["plugins", "--operators"], ["plugins", "--operators", "good"], ["config", "check"],
                        ["config", "schema"]):  # fmt: skip
            with self.subTest(command=command):
                marked, done = self.leaves(*command, "--config", config)
                self.assertFalse(marked)
                self.assertNotIn("crashed", done.stdout + done.stderr)

    def test_ItsDelegatesAreListedFromItsNote(self):
        _, done = self.leaves("run", self.model, "--config", self.config("good"))
        self.assertRegex(done.stderr, "found, but not used, .*: crash_in_constructor, leaves_a_mark")
        _, done = self.leaves("plugins", "--json", "--config", self.config("good"))
        listed = {plugin["id"]: plugin for plugin in json.loads(done.stdout)["plugins"]}
        self.assertTrue(listed["good"]["probed"])
        self.assertFalse(listed["leaves_a_mark"]["probed"])
        self.assertEqual([d["id"] for d in listed["leaves_a_mark"]["delegates"]], ["leaves_a_mark"])
        self.assertIsNone(listed["leaves_a_mark"]["delegates"][0]["available"])

    def test_DisabledEntryNamesNothing(self):
        config = self.config("good", "leaves_a_mark")
        config.write_text(config.read_text().replace("leaves_a_mark,", "leaves_a_mark, enabled: false,"))
        for command in ("run", "partition"):
            self.assertFalse(self.leaves(command, self.model, "--config", config)[0])
        self.assertFalse(self.leaves("plugins", "--config", config)[0])

    def test_WhoIsNamedIsRun(self):
        self.assertTrue(self.leaves("run", self.model, "--config", self.config("leaves_a_mark", more=MARKS))[0])
        self.assertTrue(self.leaves("plugins", "--config", self.config("leaves_a_mark", more=MARKS))[0])
        config = self.config(more=MARKS)
        self.assertTrue(self.leaves("plugins", "--operators", "leaves_a_mark", "--config", config)[0])
        self.assertTrue(self.leaves("plugins", "--probe", "--config", config)[0])
        self.assertTrue(self.leaves("config", "schema", "--probe", "--config", config)[0])

    def test_AutoNamesAll(self):
        self.assertTrue(self.leaves("run", self.model, "--config", self.config(more=MARKS + ", auto: last"))[0])


class Many(Scratch):
    COUNT = 20000

    def setUp(self):
        super().setUp()
        folder = self.plugins("good")
        for i in range(self.COUNT - 2):
            (folder / f"bad{i:05}.so").write_bytes(b"text")
        (folder / "cut1.so").write_bytes((folder / "good.so").read_bytes()[:1000])
        (folder / "cut2.so").write_bytes((folder / "good.so").read_bytes()[:2000])

    def test_BadFilesAreOneLineAndWhyListsThem(self):
        config = self.config("good")
        done = deputy("run", self.model, "--config", config)
        self.check(done, 0)
        warnings = [line for line in done.stderr.splitlines() if "warning: " in line]
        self.assertEqual(len(warnings), 1, warnings[:5])
        self.assertRegex(warnings[0], "20000 files .* not used: 19998 not-elf, 2 truncated.*--why")
        self.assertLess(len(warnings[0]), 500)
        self.assertLess(len(done.stderr.splitlines()), 10)

        done = deputy("plugins", "--config", config)
        self.check(done, 0)
        self.assertRegex(done.stdout, r"rejected +20000 files \(not-elf 19998, truncated 2\); --why lists them")
        self.assertLess(len(done.stdout.splitlines()), 40)
        done = deputy("plugins", "--why", "--config", config)
        self.check(done, 0)
        self.assertEqual(done.stdout.count("\n  not-elf: "), self.COUNT - 2)

    def test_R175_TheCheckOfAConfigurationSummarizesThemToo(self):
        # Each as a problem of its own took minutes: all were compared with each other.
        done = deputy("config", "check", "--json", "--config", self.config("good"))
        self.check(done, 0)
        problems = json.loads(done.stdout)["configurations"][0]["problems"]
        self.assertEqual(len(problems), 1, problems[:5])
        self.assertRegex(problems[0]["message"], "20000 files .* not used: 19998 not-elf, 2 truncated")


class Work(Scratch):
    """How the work of a scan grows with the files that are no plugins, in system calls of the process that scans."""

    def calls(self, *command):
        trace = self.scratch / "trace"
        done = subprocess.run(["strace", "-qq", "-o", trace, ARGS.deputy, *map(str, command), "--config", self.config("good")],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env={**os.environ, "XDG_CACHE_HOME": str(self.scratch / "cache")})  # fmt: skip
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return len(trace.read_text().splitlines())

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_R175_EachFurtherBadFileCostsThreeSystemCalls(self):
        folder = self.plugins("good")
        commands = {("run", self.model): 1, ("plugins",): 1, ("config", "check"): 1, ("doctor",): 2}  # with their scans
        counts = {}
        for size in (1000, 2000, 4000):
            for i in range(size):
                (folder / f"bad{i:05}.so").touch()
            for command in commands:
                counts[command, size] = self.calls(*command)
        for command, scans in commands.items():
            for size in (1000, 2000):
                with self.subTest(command, size=size):
                    more = counts[command, 2 * size] - counts[command, size]
                    self.assertGreater(more, 2.5 * scans * size)  # each file was opened
                    self.assertLess(more, (3 * scans + 0.5) * size)  # half a call is for memory and reading folders


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--fixtures", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
