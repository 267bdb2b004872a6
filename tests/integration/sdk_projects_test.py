#!/usr/bin/env python3
"""The SDK's CMake helper and its files for pkg-config in the places of a project where vendors call them: functions, sibling
and child folders, projects that enable a language later, superbuilds. Each plugin that is built is one that the
installation accepts.

  sdk_projects_test.py --build-dir DIR --source-dir DIR [unittest's arguments]
"""

import os
import shutil
import sys
import unittest

import installation
from installation import run

ARGS = None
HEAD = "cmake_minimum_required(VERSION 3.25)\n"
PLUGIN = "deputy_add_delegate(my_npu SOURCES {c} ID com.example.my_npu VERSION 1)\n"
SDK = "find_package(DeputySDK REQUIRED)\n"
# By name: the files of a project, and how many plugins it builds. {c} and {cxx} are sources of `deputy new-plugin`.
PROJECTS = {
    "function": ({"": "project(p C)\nfunction(need_sdk)\n" + SDK + "endfunction()\nneed_sdk()\n" + PLUGIN}, 1),
    "siblings": ({"": "project(p C)\nadd_subdirectory(first)\nadd_subdirectory(second)\n", "first": SDK, "second": PLUGIN}, 1),
    "child": ({"": "project(p C)\n" + SDK + "add_subdirectory(first)\n", "first": PLUGIN}, 1),
    "twice": ({"": "project(p C)\n" + SDK + SDK + "add_subdirectory(first)\n", "first": SDK + PLUGIN}, 1),
    "language_later": ({"": "project(p C)\n" + SDK + "enable_language(CXX)\n" + PLUGIN +
                            "deputy_add_delegate(cpp_npu SOURCES {cxx} ID com.example.cpp_npu VERSION 1)\n"}, 2),
    "language_in_a_child": ({"": "project(p C)\n" + SDK + "add_subdirectory(first)\n",
                             "first": "project(q VERSION 1 LANGUAGES CXX)\n" + SDK +
                                      "deputy_add_delegate(cpp_npu SOURCES {cxx} ID com.example.cpp_npu)\n"}, 1),
    "superbuild": ({"": "project(p NONE)\ninclude(ExternalProject)\nExternalProject_Add(plugin SOURCE_DIR ${{CMAKE_CURRENT_"
                        "SOURCE_DIR}}/first\n  CMAKE_ARGS -DCMAKE_PREFIX_PATH=${{CMAKE_PREFIX_PATH}} INSTALL_COMMAND true)\n",
                    "first": HEAD + "project(q C)\n" + SDK + PLUGIN}, 1),
}  # fmt: skip


class SdkProjects(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.installed = installation.Installation(ARGS)
        cls.addClassCleanup(cls.installed.remove)
        cls.scratch, cls.prefix = cls.installed.scratch, cls.installed.prefix
        for name, *language in (("my_npu", "--language", "c"), ("cpp_npu",)):
            done = run([cls.installed.deputy, "new-plugin", name, *language], cwd=cls.scratch)
            assert done.returncode == 0, done.stderr
        cls.sources = {"c": f"{cls.scratch}/my_npu/my_npu.c", "cxx": f"{cls.scratch}/cpp_npu/cpp_npu.cpp"}

    def project(self, name, files):
        """Writes the CMakeLists.txt of each folder; returns the project's."""
        root = os.path.join(self.scratch, "projects", name)
        for folder, text in files.items():
            os.makedirs(os.path.join(root, folder), exist_ok=True)
            with open(os.path.join(root, folder, "CMakeLists.txt"), "w", encoding="utf-8") as file:
                file.write(("" if folder else HEAD) + text.format(**self.sources))
        return root

    def accepted(self, folder):
        """The plugins below the folder that the installation accepts."""
        found = [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names if name.endswith(".so")]
        for path in found:
            done = run([self.installed.deputy, "plugins", path], cwd="/")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return len(found)

    def test_the_helper_works_from_every_scope(self):
        for name, (files, plugins) in PROJECTS.items():
            with self.subTest(name):
                build = self.installed.build(self.project(name, files), "-DBUILD_TESTING=OFF")
                self.assertEqual(self.accepted(build), plugins)

    def test_without_exceptions_the_layer_for_cxx_is_refused_with_the_reason(self):
        files = {"": "project(p VERSION 1 LANGUAGES CXX)\n" + SDK +
                     "deputy_add_delegate(cpp_npu SOURCES {cxx} ID com.example.cpp_npu)\n"}  # fmt: skip
        with self.assertRaises(AssertionError) as failed:
            self.installed.build(self.project("no_exceptions", files), "-DCMAKE_CXX_FLAGS=-fno-exceptions")
        self.assertIn("compile it without -fno-exceptions", str(failed.exception))

    def outside(self, script):
        done = self.installed.run_outside(f"export PKG_CONFIG_PATH={self.prefix}/lib/pkgconfig\n{script}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    @unittest.skipUnless(shutil.which("pkg-config"), "pkg-config is not installed")
    def test_pkg_config_knows_the_sdk_and_the_library(self):
        with open(os.path.join(self.scratch, "abi.c"), "w", encoding="utf-8") as file:
            file.write('#include "deputy/abi/delegate.h"\nint main(void) { return DEPUTY_OK; }\n')
        self.outside(f"cd {self.scratch} && cc abi.c $(pkg-config --cflags deputy-sdk) -o abi && ./abi")
        with open(os.path.join(self.scratch, "app.cpp"), "w", encoding="utf-8") as file:
            file.write('#include "deputy/deputy.hpp"\nint main(int, char** argv) {\n  deputy::Context context;\n'
                       "  return deputy::Model().Build(argv[1], context).ok() ? 0 : 1;\n}\n")
        self.outside(f"cd {self.scratch} && c++ -std=c++20 app.cpp $(pkg-config --cflags --libs deputy) "
                     f"-Wl,-rpath,{self.prefix}/lib -o app && ./app {self.installed.digits}")
        versions = self.outside("pkg-config --modversion deputy deputy-sdk").split()
        self.assertRegex(" ".join(versions), r"^\d+\.\d+\.\d+ \d+\.\d+\.\d+$")


if __name__ == "__main__":
    ARGS, rest = installation.parse_arguments()
    unittest.main(argv=[sys.argv[0]] + rest)
