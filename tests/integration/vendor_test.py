#!/usr/bin/env python3
"""What a vendor does with an installation and nothing else: a project of `deputy new-plugin` is built, passes the kit and
runs; files travel with a plugin; another FlatBuffers does no harm. The checkout is out of reach where this user may
hide it (standard error says how), and nothing in the installation names it."""

import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import installation
from installation import digest, run

ARGS = None


class VendorTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.installed = installation.Installation(ARGS)
        cls.addClassCleanup(cls.installed.remove)
        cls.scratch, cls.prefix, cls.deputy = cls.installed.scratch, cls.installed.prefix, cls.installed.deputy
        cls.digits = cls.installed.digits

    def outside(self, script, *environment):
        """The script, with the installation's programs in PATH; its output."""
        done = self.installed.run_outside(f"PATH={self.prefix}/bin:$PATH && {script}", *environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_the_checkout_is_out_of_reach(self):
        if self.installed.hiding is None:
            self.skipTest("this user may not hide the checkout, so that only its name is looked for")
        for folder in self.installed.hidden:
            self.assertNotEqual(os.listdir(folder), [])
            self.assertEqual(self.outside(f"ls -A {folder}"), "")

    def test_the_environment_is_path_and_an_empty_home(self):
        names = {line.split("=")[0] for line in self.outside("env").splitlines()}
        self.assertLessEqual(names, {"PATH", "HOME", "DEPUTY_SYSTEM_CONFIG", "PWD", "OLDPWD", "SHLVL", "_"})
        self.assertEqual(self.outside("echo $HOME").strip(), self.installed.storage)

    def traces(self, data):
        """Which of the places that the build knows are named in the bytes."""
        places = [*self.installed.hidden, self.installed.first]
        return [place for place in places if re.search(re.escape(os.fsencode(place)) + rb"(?![\w-])", data)]

    def test_no_file_of_it_names_the_place_where_it_was_made(self):
        with open(os.path.join(ARGS.build_dir, "CMakeCache.txt"), "rb") as file:
            self.assertIn(self.installed.hidden[0], self.traces(file.read()))
        files = self.installed.files()
        self.assertGreater(len(files), 50)
        stripped = os.path.join(self.scratch, "stripped")
        for path in files:
            with open(path, "rb") as file:
                data = file.read()
            if data.startswith(b"\x7fELF"):
                # A debugger is told where the sources were; nothing else reads that.
                subprocess.run(["objcopy", "--strip-debug", path, stripped], check=True)
                with open(stripped, "rb") as file:
                    data = file.read()
            self.assertEqual(self.traces(data), [], path)

    def test_libraries_are_looked_for_beside_those_that_want_them_alone(self):
        programs = [path for path in self.installed.files()
                    if os.path.dirname(path) == os.path.join(self.prefix, "bin") or path.endswith(".so")]
        self.assertGreaterEqual(len(programs), 6)
        for path in programs:
            dynamic = run(["readelf", "-dW", path]).stdout
            for paths in re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", dynamic):
                for one in paths.split(":"):
                    self.assertTrue(one.startswith("$ORIGIN"), f"{path}: {one}")

    def test_a_new_plugin_builds_passes_the_kit_and_runs_as_generated(self):
        logits = os.path.join(self.scratch, "logits")
        self.outside(f"deputy run {self.digits} --config cpu-only --output-dir {logits}")
        want = os.path.join(logits, os.listdir(logits)[0])
        for language, compiler in (("c", "CXX=/nowhere/c++"), ("c++", "CC=/nowhere/cc")):
            with self.subTest(language):
                name = "my_npu_" + language.replace("+", "x")
                folder = os.path.join(self.scratch, name)
                printed = self.outside(f"deputy new-plugin {name} --dir {folder} --language {language}")
                steps = [line.strip() for line in printed.splitlines() if line.startswith("  ")]
                self.assertEqual(steps[0], f"cd {folder}")
                self.assertTrue(any(f"CMAKE_PREFIX_PATH={self.prefix}" in step for step in steps), steps)
                # The steps as they are printed; the last are the host's, from its own folder.
                done = self.outside(" && ".join(steps), compiler)
                self.assertRegex(done, r"(?m)^1/1 Test #1: conformance \.+ +Passed")
                self.assertRegex(done, rf"{name}\.so.*\n(.*\n)*.*used")
                plugin, config = f"{folder}/build/{name}.so", f"{folder}/configs/{name}.yaml"
                passed = re.search(r": (\d+) tests passed, 0 failed", self.outside(f"deputy-conformance {plugin}"))
                self.assertGreaterEqual(int(passed.group(1)), 20)
                report = self.outside(
                    f"deputy partition {self.digits} --shape image=1x1x28x28 --json --config {config}")
                self.assertEqual({d["name"]: d["nodes"] for d in json.loads(report)["delegates"]}[name], 2)
                self.outside(f"deputy run {self.digits} --config {config} --expect logits={want}")

    def test_a_new_plugin_that_computes_wrongly_does_not_pass_the_kit(self):
        folder = os.path.join(self.scratch, "wrong_npu")
        self.outside(f"deputy new-plugin wrong_npu --dir {folder} --language c")
        source = os.path.join(folder, "wrong_npu.c")
        with open(source, encoding="utf-8") as file:
            text, count = re.subn(r"work->in\[i\] < 0 \? 0 :", "work->in[i] < 0.5f ? 0 :", file.read())
        self.assertEqual(count, 1)
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        build = self.installed.build(folder)
        done = self.installed.run_outside(f"{self.prefix}/bin/deputy-conformance {build}/wrong_npu.so")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("numerics.Relu", done.stdout)

    def test_a_folder_that_is_there_is_left_alone(self):
        folder = os.path.join(self.scratch, "taken")
        os.makedirs(folder, exist_ok=True)
        done = run([self.deputy, "new-plugin", "taken", "--dir", folder])
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn(f"{folder}: already exists", done.stderr)
        self.assertEqual(os.listdir(folder), [])

    def test_a_name_that_cannot_be_is_refused(self):
        for name in ("My-NPU", "cpu", "../x"):
            done = run([self.deputy, "new-plugin", name], cwd=self.scratch)
            self.assertEqual(done.returncode, 2, name)
            self.assertIn(f"'{name}'", done.stderr)

    def test_runtime_files_are_found_from_the_source_folder_and_travel(self):
        source = os.path.join(self.scratch, "travelling")
        os.makedirs(os.path.join(source, "firmware"), exist_ok=True)
        shutil.copy(os.path.join(ARGS.source_dir, "tests", "samples", "outside_plugin", "outside.cpp"), source)
        with open(os.path.join(source, "firmware", "npu.bin"), "wb") as file:
            file.write(b"firmware")
        with open(os.path.join(source, "CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write("cmake_minimum_required(VERSION 3.25)\nproject(Travelling VERSION 1.0 LANGUAGES CXX)\n"
                       "find_package(DeputySDK REQUIRED)\ndeputy_add_delegate(travelling SOURCES outside.cpp "
                       "DELEGATES outside RUNTIME_FILES firmware/npu.bin)\n")
        build = self.installed.build(source)
        self.assertEqual(digest(os.path.join(build, "npu.bin")), digest(os.path.join(source, "firmware", "npu.bin")))
        listing = run([self.deputy, "plugins", "--why", "--set", f"plugins.paths=[{build}]"])
        self.assertIn("npu.bin", listing.stdout)

    def test_a_plugin_with_another_flatbuffers_runs_beside_those_with_this_one(self):
        # Debian 12 has one version (2.0.8; none in its backports, no package with headers of its own), and what PyPI has
        # is for Python alone. So the other is made of it: its number is 99, which headers generated for it insist on, as
        # those of newer versions do, and its verifier has another layout. Names are the same, which is what could clash.
        other = os.path.join(self.scratch, "flatbuffers-99")
        include = os.path.join(other, "flatbuffers")
        shutil.copytree("/usr/include/flatbuffers", include)
        edits = {
            "base.h": [(r"#define FLATBUFFERS_VERSION_MAJOR \d+", "#define FLATBUFFERS_VERSION_MAJOR 99")],
            "verifier.h": [(r"const uint8_t \*buf_;", "uint64_t padding_of_99_[8] = {};\n  const uint8_t *buf_;")],
        }
        for name, changes in edits.items():
            path = os.path.join(include, name)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            for old, new in changes:
                text, count = re.subn(old, new, text)
                self.assertEqual(count, 1, f"{name}: {old}")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        flatc = os.path.join(other, "flatc")
        with open(flatc, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nset -e\nflatc "$@"\nfor last; do :; done\n'
                       'sed -i "s/VERSION_MAJOR == [0-9]*/VERSION_MAJOR == 99/" "$3/$(basename "$last" .fbs)_generated.h"\n')
        os.chmod(flatc, 0o755)
        source = os.path.join(self.scratch, "flatbuffers-99-plugin")
        shutil.copytree(os.path.join(ARGS.source_dir, "tests", "samples", "outside_plugin"), source)
        with open(os.path.join(source, "outside.cpp"), "a", encoding="utf-8") as file:
            file.write('static_assert(FLATBUFFERS_VERSION_MAJOR == 99, "the other version");\n')
        build = self.installed.build(source, f"-DDeputySDK_FLATC={flatc}",
                                     f"-DDeputySDK_FLATBUFFERS_INCLUDE_DIR={other}")
        config = os.path.join(self.scratch, "flatbuffers-99.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"version: 1\nplugins: {{paths: [{build}, $deputy/plugins]}}\n"
                       "delegates: [{name: outside, required: true}, {name: sim_npu, required: true}]\n")
        done = run([self.deputy, "digits", "--config", config], env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for delegate in ("outside", "sim_npu"):
            self.assertRegex(done.stdout, rf"(?m)^\s*{delegate}\s+[1-9]")


if __name__ == "__main__":
    ARGS, rest = installation.parse_arguments()
    unittest.main(argv=[sys.argv[0]] + rest)
