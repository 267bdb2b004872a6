#!/usr/bin/env python3
"""What an installation promises: a plugin from outside the tree is found and used without touching a byte of the host,
and editing the YAML alone changes who runs what. Installs into a scratch prefix, then moves it, then uses only that."""

import json
import os
import re
import shutil
import sys
import unittest

import installation
import make_models
import onnx_bytes
from installation import digest, run

ARGS = None
ALL_ONEDNN = "  - {name: onednn, options: {accept: everything}}\n"  # of a network as small as that of digits, too


class InstalledTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.installed = installation.Installation(ARGS)
        cls.addClassCleanup(cls.installed.remove)
        cls.scratch, cls.deputy, cls.digits = cls.installed.scratch, cls.installed.deputy, cls.installed.digits
        cls.host_files = [cls.deputy] + [path for path in cls.installed.files()
                                         if os.path.basename(path).startswith("libdeputy") and ".so" in path]
        cls.before = [digest(path) for path in cls.host_files]
        cls.plugins = os.path.join(cls.scratch, "plugins")
        for sample in ("outside_plugin", "mindspore_tutorial"):
            source = os.path.join(cls.scratch, sample)
            shutil.copytree(os.path.join(ARGS.source_dir, "tests", "samples", sample), source)
            # What is written in C++ needs no compiler of C.
            cls.installed.build(source, f"-DCMAKE_LIBRARY_OUTPUT_DIRECTORY={cls.plugins}",
                                environment=["CC=/nowhere/cc"])

    def config(self, text):
        path = os.path.join(self.scratch, "test.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"version: 1\nplugins: {{paths: [./plugins, $deputy/plugins]}}\n{text}")
        return path

    def place(self, delegates, *extra):
        done = run([self.deputy, "partition", self.digits, "--shape", "image=1x1x28x28", "--json", "--config",
                    self.config(delegates), *extra])
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        return {d["name"]: d["nodes"] for d in report["delegates"]}, report, done.stderr

    # Seed rows 6, 83.
    def test_a_plugin_from_outside_takes_nodes(self):
        nodes, _, _ = self.place("delegates:\n  - name: outside\n")
        self.assertEqual(nodes["outside"], 2)

    def test_the_host_is_not_touched(self):
        self.place("delegates:\n  - name: outside\n")
        self.assertGreaterEqual(len(self.host_files), 3)
        self.assertEqual(self.before, [digest(path) for path in self.host_files])

    # Seed row 23.
    def test_swapping_two_entries_swaps_the_placement(self):
        outside_first, _, _ = self.place("delegates:\n  - name: outside\n" + ALL_ONEDNN)
        onednn_first, _, _ = self.place("delegates:\n" + ALL_ONEDNN + "  - name: outside\n")
        self.assertEqual(outside_first["outside"], 2)
        self.assertEqual(onednn_first["outside"], 0)
        self.assertEqual(onednn_first["onednn"], outside_first["onednn"] + 2)

    def test_a_drop_in_of_a_package_adds_a_delegate_and_takes_it_along(self):
        system, drop_ins = os.path.join(self.scratch, "etc"), os.path.join(self.installed.prefix, "share/deputy/conf.d")
        os.makedirs(os.path.join(system, "conf.d"))
        os.makedirs(drop_ins, exist_ok=True)
        for name, text in (("deputy.yaml", "delegates: [{name: onednn}]\n"), ("conf.d/50-own.yaml", "")):
            with open(os.path.join(system, name), "w", encoding="utf-8") as file:
                file.write("version: 1\n" + text)

        def delegates():
            done = run([self.deputy, "config", "show", "--offline"], env={
                **os.environ, "DEPUTY_CONFIG": "", "DEPUTY_SYSTEM_CONFIG": os.path.join(system, "deputy.yaml")})
            self.assertEqual(done.returncode, 0, done.stderr)
            return re.findall(r"(?m)^  - name: (\S+)", done.stdout)

        self.assertEqual(delegates(), ["onednn"])
        package = os.path.join(drop_ins, "outside.yaml")
        with open(package, "w", encoding="utf-8") as file:
            file.write("version: 1\ndelegates: [{name: outside, before: onednn}]\n")
        self.assertEqual(delegates(), ["outside", "onednn"])
        # One of the same name in the system's folder is read in its place.
        shutil.copy(os.path.join(system, "conf.d/50-own.yaml"), os.path.join(system, "conf.d/outside.yaml"))
        self.assertEqual(delegates(), ["onednn"])
        os.remove(os.path.join(system, "conf.d/outside.yaml"))
        self.assertEqual(delegates(), ["outside", "onednn"])
        os.remove(package)
        self.assertEqual(delegates(), ["onednn"])

    def test_enabled_false_removes_a_delegate(self):
        nodes, _, _ = self.place("delegates:\n  - {name: outside, enabled: false}\n  - name: onednn\n")
        self.assertNotIn("outside", nodes)

    def test_an_unlisted_plugin_is_reported_and_not_used(self):
        nodes, _, log = self.place("delegates:\n  - name: onednn\n")
        self.assertNotIn("outside", nodes)
        self.assertRegex(log, r"found, but not used.*\boutside\b")
        listing = run([self.deputy, "plugins", "--why", "--config", self.config("delegates:\n  - name: onednn\n")])
        self.assertIn("outside.so", listing.stdout)
        self.assertIn("not used", listing.stdout)

    # Seed rows 14, 15.
    def test_the_tutorials_delegate_runs_as_a_plugin(self):
        model = os.path.join(self.scratch, "tutorial.onnx")
        with open(model, "wb") as file:
            file.write(make_models.tutorial())
        config = self.config("delegates:\n  - name: tutorial\n")
        report = json.loads(run([self.deputy, "partition", model, "--json", "--config", config]).stdout)
        self.assertEqual(len(report["partitions"]), 1)
        self.assertEqual(report["delegates"][0]["nodes"], 5)
        outputs = []
        for arguments in (["--config", config], []):
            folder = os.path.join(self.scratch, f"tutorial-out-{len(outputs)}")
            done = run([self.deputy, "run", model, "--output-dir", folder, *arguments])
            self.assertEqual(done.returncode, 0, done.stderr)
            outputs.append(os.path.join(folder, os.listdir(folder)[0]))
        done = run([self.deputy, "run", model, "--config", config, "--expect", f"z={outputs[1]}"])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    # Seed row 1.
    def test_one_plugin_serves_two_names_with_different_options(self):
        text = (
            "delegates:\n"
            "  - {name: slow, delegate: sim_npu, options: {frequency: low}, rules: {allow_ops: [Conv]}}\n"
            "  - {name: fast, delegate: sim_npu, device: SimNPU-XL, options: {frequency: extreme}}\n"
        )
        nodes, report, _ = self.place(text)
        clocks = {d["name"]: d["device"]["level_granted"] for d in report["delegates"] if d.get("device")}
        self.assertEqual(nodes["slow"], 2)
        self.assertGreater(nodes["fast"], 0)
        self.assertEqual(clocks, {"slow": 1, "fast": 4})

    # Seed row 16.
    def test_operators_are_listed_without_a_model(self):
        config = self.config("delegates: []\n")
        done = run([self.deputy, "plugins", "--operators", "sim_npu", "--config", config])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^  Conv +\d+ to \d+ +float32, float16 +4 ")
        self.assertNotIn("onednn", done.stdout)
        done = run([self.deputy, "plugins", "--operators", "--probe", "--json", "--config", config])
        listed = {d["delegate"]: d["operators"] for d in json.loads(done.stdout)["delegates"]}
        self.assertEqual({row["dtypes"][0] for row in listed["onednn"]}, {"float32"})
        self.assertEqual(listed["null"], [])
        done = run([self.deputy, "plugins", "--operators", "sim_npo", "--config", config])
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean 'sim_npu'", done.stderr)

    # Seed row 58.
    def test_devices_are_listed_and_picked_by_number_or_name(self):
        done = run([self.deputy, "plugins", "--probe", "--json", "--config", self.config("delegates: []\n")])
        devices = {d["id"]: d["devices"] for p in json.loads(done.stdout)["plugins"] for d in p["delegates"]}
        self.assertEqual([d["name"] for d in devices["sim_npu"]], ["SimNPU", "SimNPU-XL"])
        self.assertEqual({d["kind"] for d in devices["sim_npu"]}, {"npu"})
        self.assertEqual(devices["onednn"], [])
        for device, name in (("0", "SimNPU"), ("1", "SimNPU-XL"), ("SimNPU-XL", "SimNPU-XL")):
            text = f"delegates:\n  - name: npu0\n    delegate: sim_npu\n    device: {device}\n"
            _, report, _ = self.place(text)
            self.assertEqual(report["delegates"][0]["device"]["device"], name)

    def test_a_device_that_there_is_not_is_an_error_with_its_place(self):
        for device in ("2", "SimNPU-XXL", "-1"):
            text = f"delegates:\n  - name: npu0\n    delegate: sim_npu\n    device: {device}\n"
            done = run([self.deputy, "run", self.digits, "--config", self.config(text)])
            self.assertEqual(done.returncode, 2, device + done.stdout + done.stderr)
            self.assertRegex(done.stderr, r"test\.yaml:6:13: .*no device '.*devices: 0 \(SimNPU\), 1 \(SimNPU-XL\)")
        done = run([self.deputy, "run", self.digits, "--config", self.config("delegates: [{name: onednn, device: 1}]\n")])
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("it lists no devices, so only 0 exists", done.stderr)

    # Seed row 18.
    def test_estimates_are_shown_and_what_does_not_fit_goes_on(self):
        size = 1024
        weights = onnx_bytes.tensor([0.5] * (size * size), [size, size], "w")
        path = os.path.join(self.scratch, "large.onnx")
        with open(path, "wb") as file:
            file.write(onnx_bytes.model(
                [onnx_bytes.node("Relu", ["x"], ["a"], "relu"), onnx_bytes.node("MatMul", ["a", "w"], ["y"], "product")],
                [onnx_bytes.value_info("x", [1, size])], [onnx_bytes.value_info("y", [1, size])], initializers=[weights]))
        text = "delegates:\n  - {name: npu0, delegate: sim_npu, options: {memory: %d}}\n"
        owners, estimates = {}, {}
        for memory in (1, 16):
            done = run([self.deputy, "partition", path, "--json", "--config", self.config(text % memory)])
            self.assertEqual(done.returncode, 0, done.stderr)
            report = json.loads(done.stdout)
            owners[memory] = {node["name"]: node["delegate"] for node in report["nodes"]}
            estimates[memory] = report["partitions"][0]["estimate"]
            refusals = {r["reason"] for node in report["nodes"] for r in node["refusals"] if r["delegate"] == "npu0"}
            self.assertEqual(refusals, {"infeasible by estimate"} if memory == 1 else set())
        self.assertEqual(owners, {1: {"relu": "npu0", "product": "cpu"}, 16: {"relu": "npu0", "product": "npu0"}})
        self.assertGreater(estimates[16]["memory_bytes"], 2 * size * size)
        self.assertGreater(estimates[16]["latency_ns"], estimates[1]["latency_ns"])
        done = run([self.deputy, "partition", path, "--config", self.config(text % 16)])
        self.assertRegex(done.stdout, r"npu0/0 .* (us|ms), [\d.]+ MB, [\d.]+ mJ")

    def test_a_frequency_out_of_range_is_an_error_with_its_place(self):
        for wish in ("turbo", "5", "0", "9GHz", "100MHz", "-1", "800"):
            text = f"delegates:\n  - name: npu0\n    delegate: sim_npu\n    options: {{frequency: {wish}}}\n"
            done = run([self.deputy, "run", self.digits, "--config", self.config(text)])
            self.assertEqual(done.returncode, 2, wish + done.stdout + done.stderr)
            self.assertRegex(done.stderr, r"test\.yaml:6:26: .*frequency")

    def test_an_option_that_the_plugin_does_not_have_is_an_error_with_its_place(self):
        text = "delegates:\n  - name: npu0\n    delegate: sim_npu\n    options: {frequncy: high}\n"
        done = run([self.deputy, "run", self.digits, "--config", self.config(text)])
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"test\.yaml:6:.*did you mean 'frequency'")

    # Seed row 57.
    def test_device_time_scales_with_the_clock(self):
        channels, extent = 32, 56
        weights = [((i * 7919) % 1000 - 500) / 5000 for i in range(channels * channels * 9)]
        names = ["x", "a", "b", "y"]
        nodes = [onnx_bytes.node("Conv", [names[i], "w"], [names[i + 1]], f"conv{i}", pads=[1, 1, 1, 1])
                 for i in range(3)]
        shape = [1, channels, extent, extent]
        path = os.path.join(self.scratch, "compute_bound.onnx")
        with open(path, "wb") as file:
            file.write(onnx_bytes.model(nodes, [onnx_bytes.value_info("x", shape)], [onnx_bytes.value_info("y", shape)],
                                        initializers=[onnx_bytes.tensor(weights, [channels, channels, 3, 3], "w")]))
        device_ns = {}
        megahertz = {}
        for level in (1, 2, 3, 4):
            config = self.config(f"delegates:\n  - {{name: npu0, delegate: sim_npu, options: {{frequency: {level}}}}}\n")
            done = run([self.deputy, "run", path, "--config", config])
            self.assertEqual(done.returncode, 0, done.stderr)
            row = next(line for line in done.stdout.splitlines() if line.strip().startswith("npu0"))
            times = re.findall(r"([\d.]+) (ns|us|ms|s)\b", row)
            scale = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
            device_ns[level] = float(times[1][0]) * scale[times[1][1]]
            megahertz[level] = float(re.search(r"granted ([\d.]+) MHz", row).group(1))
        for level in (2, 3, 4):
            want = megahertz[level] / megahertz[1]
            self.assertAlmostEqual(device_ns[1] / device_ns[level] / want, 1.0, delta=0.05)

    def test_the_main_job_runs_from_the_installation(self):
        done = run([self.deputy, "digits"], cwd="/", env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        right, total = map(int, re.search(r"(\d+) of (\d+) right", done.stdout).groups())
        self.assertGreaterEqual(right / total, 0.95)
        self.assertRegex(done.stdout, r"granted \d+ MHz")
        for delegate in ("npu0", "onednn", "cpu"):
            row = re.search(rf"^\s*{delegate}\s+(\d+)", done.stdout, re.M)
            self.assertIsNotNone(row)
            self.assertGreater(int(row.group(1)), 0, f"{delegate} ran nothing")

    def test_an_application_finds_the_library(self):
        source = os.path.join(self.scratch, "app")
        os.makedirs(source, exist_ok=True)
        with open(os.path.join(source, "CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write("cmake_minimum_required(VERSION 3.25)\nproject(App CXX)\nfind_package(Deputy REQUIRED)\n"
                       "add_executable(app app.cpp)\ntarget_link_libraries(app Deputy::deputy)\n")
        with open(os.path.join(source, "app.cpp"), "w", encoding="utf-8") as file:
            file.write('#include <cstdio>\n#include "deputy/deputy.hpp"\nint main(int, char** argv) {\n'
                       "  deputy::Model model;\n  deputy::Context context;\n"
                       "  const deputy::Status status = model.Build(argv[1], context);\n"
                       '  std::puts(status.ToString().c_str());\n  return status.ok() ? 0 : 1;\n}\n')
        build = os.path.join(self.scratch, "app-build")
        for command in (
            [ARGS.cmake, "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={self.installed.prefix}",
             *ARGS.plugin_cmake_args.split()],
            [ARGS.cmake, "--build", build],
            [os.path.join(build, "app"), self.digits],
        ):
            done = run(command)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    ARGS, rest = installation.parse_arguments()
    unittest.main(argv=[sys.argv[0]] + rest)
