"""A test case that runs the program on small models with a configuration of its own."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import onnx_bytes


class Settings(unittest.TestCase):
    arguments = None  # deputy: the program; fixtures: the folder of plugins

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)

    def environment(self):
        return {**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "XDG_CACHE_HOME": str(self.scratch / "cache")}

    def deputy(self, *arguments, status=0):
        done = subprocess.run([self.arguments.deputy, *map(str, arguments)], capture_output=True, text=True,
                              env=self.environment(), timeout=300)  # fmt: skip
        if status is not None:
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def config(self, body, head="version: 1\nplugins: {paths: [$deputy/plugins]}\n"):
        path = self.scratch / "c.yaml"
        path.write_text(head + body)
        return path

    def fixture(self, name):
        """A folder with one plugin in it."""
        folder = self.scratch / f"with_{name}"
        folder.mkdir(exist_ok=True)
        shutil.copy(Path(self.arguments.fixtures) / f"{name}.so", folder)
        return folder

    def model(self, nodes=None, initializers=(), shape=(2, 3)):
        """From x to y; a Relu and a Tanh unless the nodes are given."""
        path = self.scratch / "m.onnx"
        x, y = (onnx_bytes.value_info(name, shape) for name in "xy")
        nodes = nodes or [onnx_bytes.node("Relu", ["x"], ["m"], "body/first"),
                          onnx_bytes.node("Tanh", ["m"], ["y"], "head/second")]  # fmt: skip
        path.write_bytes(onnx_bytes.model(nodes, [x], [y], initializers=initializers))
        return path

    def report(self, config, *arguments, model=None):
        done = self.deputy("partition", model or self.model(), "--config", config, "--json", *arguments)
        return json.loads(done.stdout)

    def placed(self, body, *arguments, model=None):
        """Node to delegate."""
        nodes = self.report(self.config(body), *arguments, model=model)["nodes"]
        return {node["name"]: node["delegate"] for node in nodes}

    def operators(self, setting, nodes, initializers=(), shape=(2, 3)):
        """What is left of the nodes under a setting, by operator."""
        report = self.report(self.config(""), "--set", setting, model=self.model(nodes, initializers, shape))
        return [node["op_type"] for node in report["nodes"]]

    def log_of_a_worker(self, spin):
        """The log of a run in a worker process, with all levels."""
        config = self.config(f"delegates: [{{name: good, isolation: process, spin: {spin}}}]\n",
                             f"version: 1\nplugins: {{paths: [{self.fixture('good')}], trust: any}}\nlog: {{level: debug}}\n")  # fmt: skip
        return self.deputy("run", self.model(), "--config", config).stderr

    def passes_secret(self, names):
        """Whether the process that probes a plugin has the variable FIXTURE_SECRET, with these names for a sandbox."""
        folder = self.fixture("escapes")
        config = self.config("delegates: [{name: escapes}]\nlog: {level: debug}\n",
                             f"version: 1\nplugins: {{paths: [{folder}], environment: {names}}}\n")  # fmt: skip
        with mock.patch.dict(os.environ, FIXTURE_ESCAPE=str(folder), FIXTURE_SECRET="x"):
            log = self.deputy("plugins", "--config", config).stderr
        self.assertIn("escapes in load: tried", log)
        return "has_secret_variable" in log

    def reads_secret(self, readable):
        """Whether the process that probes a plugin can read a file in a folder, with these readable folders."""
        folder = self.fixture("escapes")
        private = folder.parent / "private"
        private.mkdir(exist_ok=True)
        (private / "secret").write_text("secret")
        config = self.config("delegates: [{name: escapes}]\nlog: {level: debug}\n",
                             f"version: 1\nplugins: {{paths: [{folder}], readable: {readable.format(private)}}}\n")  # fmt: skip
        with mock.patch.dict(os.environ, FIXTURE_ESCAPE=str(private)):
            log = self.deputy("plugins", "--config", config).stderr
        self.assertIn("escapes in load: tried", log)
        return "escapes in load: reads_file" in log

    def of_a_run(self, file, setting):
        """A file, or the names in a folder, of /proc about the process while it runs a model on the CPU."""
        config = self.config("delegates: []\n", head="version: 1\nplugins: {paths: [.]}\n")
        command = [self.arguments.deputy, "run", self.model(), "--config", config, "--repeat", "1000000", "--set",
                   setting]  # fmt: skip
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              env=self.environment()) as process:  # fmt: skip
            # The line of placement is printed when everything is there.
            line = process.stderr.readline()
            path = Path(f"/proc/{process.pid}") / file
            found = os.listdir(path) if path.is_dir() else path.read_text()
            process.kill()
        self.assertIn("cpu", line)
        return found

    def threads_of_a_run(self, count):
        return len(self.of_a_run("task", f"cpu.threads={count}"))

    def accused(self, plugin, verify, *arguments, options="", model=None, values=(0.1, 2, 2, 2, 2, 2), shape=(2, 3),
                status=0):  # fmt: skip
        """Whether a run says that the plugin's delegate computes wrongly."""
        x = self.scratch / "x.npy"
        x.write_bytes(onnx_bytes.npy(values, shape))
        config = self.config(
            f"cache: {{dir: \"off\"}}\ndelegates: [{{name: {plugin}, options: {{{options}}}, verify: {verify}}}]\n",
            f"version: 1\nplugins: {{paths: [{self.fixture(plugin)}], trust: any}}\n")  # fmt: skip
        done = self.deputy("run", model or self.model(), "--config", config, "--input", f"x={x}", *arguments,
                           status=status)  # fmt: skip
        said = done.stderr
        if "wrong result of" in said:
            for part in (plugin, f"{plugin}.so", f"partition {plugin}/0"):
                self.assertIn(part, said)
        return "wrong result of" in said

    def plans_made(self, kept):
        """For six runs with three shapes in turn, where a model keeps so many."""
        folder = self.scratch / f"shapes{kept}"
        x, y = (onnx_bytes.value_info(name, ("n",)) for name in "xy")
        for index, extent in enumerate((1, 2, 3, 1, 2, 3)):
            data = folder / f"test_data_set_{index}"
            data.mkdir(parents=True)
            for kind, name in (("input", "x"), ("output", "y")):
                (data / f"{kind}_0.pb").write_bytes(onnx_bytes.tensor([1] * extent, (extent,), name))
        (folder / "model.onnx").write_bytes(onnx_bytes.model([onnx_bytes.node("Relu", ["x"], ["y"])], [x], [y]))
        done = self.deputy("test-case", folder, "--config", self.config(f"models: {{plans: {kept}}}\n"), "-v")
        return done.stderr.count("placing 1 node")
