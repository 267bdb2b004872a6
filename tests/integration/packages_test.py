#!/usr/bin/env python3
"""What the packages promise: a Debian 12 that has nothing but them runs Deputy, a delegate's package comes and goes without a
trace, and a vendor and an application developer need no more than the -dev packages. As root, with packages of Debian from
where this machine's apt has them; packaging/long.sh packages makes the packages and runs it.

  packages_test.py --packages build/deb/packages --tarball build/tarball/deputy-0.2.0-linux-x86_64.tar.xz --root build/deb/root
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

ARGS = argparse.Namespace()  # filled by main
SIM_NPU = "deputy-delegate-sim-npu"
PYTHON, MODULE = "python3-deputy", "/usr/lib/python3/dist-packages/deputy"
USER = 1000  # has no account in the root
# What apt and dpkg write in any case, the systems of the kernel, and the folders of this test.
NOT_COMPARED = ("dev", "packages", "proc", "sys", "tmp", "var/cache", "var/lib/apt", "var/log")


def run(command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=1800, **options)


def mirrors():
    """Where this machine's apt has Debian from, as lines of a sources.list."""
    fields = "$(REPO_URI) $(CODENAME) $(LABEL) $(COMPONENT)"
    lines = {}
    for line in run(["apt-get", "indextargets", "--format", fields, "Identifier: Packages"]).stdout.splitlines():
        address, name, label, component = line.split()[:4]
        if label.startswith("Debian") and name.startswith("bookworm"):
            lines[f"deb {address} {name} {component}"] = None
    if not lines:
        raise RuntimeError("this machine's apt knows no archive of Debian 12")
    return "\n".join(lines) + "\n"


def apt_options():
    """How this machine's apt reaches them."""
    dumped = run(["apt-config", "dump", "--format", "%f=%v%n", "Acquire::http", "Acquire::https"]).stdout.splitlines()
    return [line for line in dumped if not line.endswith("=")]


class Root:
    """A Debian 12 of its own, with its packages of Deputy in a folder that apt reads."""

    def __init__(self, folder):
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        made = run(["mmdebstrap", "--mode=root", "--variant=minbase", *[f"--aptopt={option.replace('=', ' ', 1)}" for option in
                    apt_options()], "bookworm", folder, "-"], input=mirrors())  # fmt: skip
        if made.returncode != 0:
            raise RuntimeError(made.stderr)
        shutil.copytree(ARGS.packages, folder / "packages")
        (folder / "etc/apt/sources.list.d/deputy.list").write_text("deb [trusted=yes] file:/packages ./\n")
        (folder / "etc/apt/apt.conf.d/99test").write_text('APT::Install-Recommends "false";\n')
        shutil.copy("/etc/resolv.conf", folder / "etc/resolv.conf")
        self.must("apt-get update")

    def run(self, script, user=0):
        """A shell command in the root, with /proc and a /dev, in namespaces of its own."""
        inside = ["chroot", f"--userspec={user}:{user}", self.folder, "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                  "HOME=/tmp/home", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", "sh", "-euc", script]  # fmt: skip
        mounts = f"mount -t proc proc {self.folder}/proc; mount --rbind /dev {self.folder}/dev"
        return run(["unshare", "--mount", "--pid", "--fork", "sh", "-euc", f'{mounts}; exec "$@"', "sh", *inside])

    def must(self, script, user=0):
        done = self.run(script, user)
        if done.returncode != 0:
            raise AssertionError(f"{script}\n{done.stdout}{done.stderr}")
        return done

    def apt(self, *arguments):
        self.must("apt-get --yes --quiet " + " ".join(arguments))

    def files(self):
        """Of the whole root, without what changes in any case."""
        found = set()
        for folder, folders, names in os.walk(self.folder):
            below = os.path.relpath(folder, self.folder)
            folders[:] = [name for name in folders if os.path.normpath(os.path.join(below, name)) not in NOT_COMPARED]
            found.update(os.path.normpath(os.path.join(below, name)) for name in [*folders, *names])
        return found

    def states(self):
        return self.must("dpkg-query -W -f '${Package} ${db:Status-Abbrev}\\n'").stdout

    def plugins(self, *arguments):
        report = json.loads(self.must(" ".join(["deputy plugins --json", *arguments])).stdout)
        return {Path(plugin["file"]).name: plugin for plugin in report["plugins"]}


class Packages(unittest.TestCase):
    """In the order of the names: each finds what the ones before it have installed."""

    @classmethod
    def setUpClass(cls):
        cls.root = Root(ARGS.root)
        cls.addClassCleanup(shutil.rmtree, ARGS.root)

    def digits(self, command="deputy"):
        for user in (0, USER):
            done = self.root.must(f"'{command}' digits", user)
            self.assertIn("20 of 20 right", done.stdout)
        return dict(re.findall(r"(?m)^ +(npu0|onednn|cpu) +(\d+)", done.stdout))

    def digits_in_python(self):
        for user in (0, USER):
            done = self.root.must("cd /tmp && python3 -m deputy.digits", user)
            self.assertIn("20 of 20 right", done.stdout)
        return dict(re.findall(r"(?m)^ *(npu0|onednn|cpu) +(\d+)", done.stdout))

    def run_model(self):
        model = "/usr/share/deputy/digits/digits.onnx --shape image=1x1x28x28"
        return self.root.must(f"deputy run {model} --set cache.dir=off")

    def test_1_the_command_alone_runs_without_a_compiler(self):
        self.root.apt("install", "deputy")
        self.assertNotEqual(self.root.run("command -v cc c++ cmake").returncode, 0)
        self.assertEqual(self.digits(), {"cpu": "8"})
        self.assertNotIn("warning", self.run_model().stderr)
        self.assertEqual(self.root.plugins(), {})
        libraries = self.root.must("ldd /usr/bin/deputy").stdout
        self.assertRegex(libraries, r"libdeputy\.so\.0 => /(usr/)?lib/[a-z0-9_]+-linux-gnu/libdeputy\.so\.0")
        manual = self.root.must("dpkg -L deputy | grep man1/").stdout.split()
        self.assertIn("/usr/share/man/man1/deputy-run.1.gz", manual)
        self.assertTrue(all(name.endswith(".gz") for name in manual), manual)

    def test_2_a_package_of_a_delegate_comes_and_goes_without_a_trace(self):
        files, states = self.root.files(), self.root.states()
        self.root.apt("install", SIM_NPU)
        plugin = self.root.plugins("--set delegates.sim_npu.enabled=true")["sim_npu.so"]
        self.assertTrue(plugin["accepted"] and plugin["listed"], plugin)
        self.assertRegex(plugin["lock"], r"/deputy/plugins/SHA256SUMS\.d/sim_npu\.sha256$")
        self.assertEqual(list(self.root.plugins()), ["sim_npu.so"])
        shown = self.root.must("deputy config show --offline").stdout
        self.assertIn("name: sim_npu  # /usr/share/deputy/conf.d/sim_npu.yaml:", shown)
        self.assertEqual(self.digits()["npu0"], "6")
        # It comes switched off.
        said = self.run_model()
        self.assertNotIn("warning", said.stderr)
        self.assertNotRegex(said.stdout, r"(?m)^ +sim_npu ")
        self.root.apt("remove", SIM_NPU)
        self.assertEqual(self.root.files() ^ files, set())
        self.assertEqual(self.root.states(), states)
        self.assertEqual(self.root.plugins(), {})
        self.assertNotIn("sim_npu", self.root.must("deputy config show --offline").stdout)
        self.assertNotIn("warning", self.run_model().stderr)

    def test_3_a_plugin_is_not_listed_once_its_list_is_gone(self):
        self.root.apt("install", SIM_NPU)
        (place,) = self.root.folder.glob("usr/lib/*/deputy/plugins/sim_npu.so")
        kept = place.with_name("kept.so")
        shutil.copy(place, kept)
        self.root.apt("remove", SIM_NPU)
        kept.rename(place)
        entry = "'delegates=[{name: npu0, delegate: sim_npu}]'"
        plugin = self.root.plugins("--set", entry)["sim_npu.so"]
        self.assertEqual((plugin["accepted"], plugin["listed"]), (True, False))
        place.unlink()

    def test_4_the_module_for_python_comes_and_goes_without_a_trace(self):
        # Python and NumPy stay at first, since their scripts leave files.
        self.root.apt("install", "python3-numpy")
        files, states = self.root.files(), self.root.states()
        self.root.apt("install", PYTHON)
        (package,) = ARGS.packages.glob(f"{PYTHON}_*.deb")
        version = package.name.split("_")[1].partition("-")[0]

        def python(program, user=0):
            return self.root.must(f"cd /tmp && python3 -c '{program}'", user).stdout

        said = python("import deputy; print(deputy.__file__, deputy.__version__)")
        self.assertEqual(said, f"{MODULE}/__init__.py {version}\n")
        self.assertEqual(python('import importlib.metadata as m; print(m.version("deputy"))'), f"{version}\n")
        self.assertEqual(self.digits_in_python(), {"cpu": "8"})
        owned = set(self.root.must(f"dpkg -L {PYTHON}").stdout.split())
        self.assertLessEqual({f"{MODULE}/py.typed", f"{MODULE}/_native.pyi", f"{MODULE}/onnxruntime/__init__.py"}, owned)
        self.assertEqual([name for name in owned if "/bin/" in name or "libdeputy" in name], [])
        # One library for the command and for Python, with what belongs to it.
        (native,) = [name for name in owned if name.endswith(".so")]
        libraries = self.root.must(f"ldd {native}").stdout
        self.assertRegex(libraries, r"libdeputy\.so\.0 => /(usr/)?lib/[a-z0-9_]+-linux-gnu/libdeputy\.so\.0")
        dynamic = run(["readelf", "--dynamic", f"{self.root.folder}{native}"]).stdout
        self.assertIn("[libdeputy.so.0]", dynamic)
        self.assertNotRegex(dynamic, r"\((RPATH|RUNPATH)\)")
        folder = python("import deputy; print(deputy.installation().folder)")
        self.assertRegex(folder, r"^/usr/lib/[a-z0-9_]+-linux-gnu/deputy\n$")
        session = 'deputy.onnxruntime.InferenceSession("/usr/share/deputy/digits/digits.onnx")'
        said = python(f"import deputy.onnxruntime; print({session}.get_inputs()[0].name)", USER)
        self.assertEqual(said, "image\n")

        self.root.apt("remove", PYTHON)
        self.assertEqual(self.root.files() ^ files, set())
        self.assertEqual(self.root.states(), states)
        self.root.apt("purge", "--auto-remove", "python3-numpy")

    def test_5_the_tarball_runs_from_any_folder(self):
        place = self.root.folder / "opt/a place"
        place.mkdir()
        subprocess.run(["tar", "--extract", "--file", ARGS.tarball, "--directory", place], check=True)
        (tree,) = place.iterdir()
        needed = (tree / "share/deputy/requirements.txt").read_text().split()
        self.root.apt("purge", "--auto-remove", "deputy", "libdeputy0")
        self.assertNotEqual(self.root.run("command -v deputy").returncode, 0)
        self.root.apt("install", *needed)
        owned = self.digits(f"/opt/a place/{tree.name}/bin/deputy")
        self.assertGreater(int(owned["npu0"]) * int(owned["onednn"]), 0, owned)
        shutil.rmtree(place)

    def test_6_all_packages_are_installed_together(self):
        names = [name.name.split("_")[0] for name in sorted(ARGS.packages.glob("*.deb"))]
        self.assertGreater(len(names), 12)
        self.root.apt("install", *names)
        on = ["sim_npu", "onnxruntime", "tflite_external"]
        listed = self.root.plugins(*[f"--set delegates.{name}.enabled=true" for name in on])
        for name in [*on, "onednn"]:
            plugin = listed[f"{name}.so"]
            self.assertTrue(plugin["accepted"] and plugin["listed"], plugin)
        self.assertNotIn("warning", self.run_model().stderr)
        self.assertGreater(int(self.digits()["onednn"]), 0)
        self.assertEqual(self.digits_in_python(), self.digits())
        sums = self.root.must("cd /usr/lib/*/deputy/plugins && cat SHA256SUMS.d/*.sha256 | sha256sum --check").stdout
        self.assertGreaterEqual(sums.count(": OK"), len(on) + 2, sums)  # with onednn, and a library of onnxruntime
        self.root.must("deputy bundle --help >/dev/null && cd /tmp && deputy bundle pack --config npu-first -o made-1.dpb")

    def test_7_programs_are_built_with_pkg_config(self):
        self.root.apt("install", "libdeputy-dev", "deputy-doc", "g++", "pkg-config")
        samples, digits = "/usr/share/doc/deputy/tests/samples", "/usr/share/deputy/digits"
        flags = "$(pkg-config --cflags --libs deputy)"
        done = self.root.must(f"cd /tmp && cc -std=c11 {samples}/c_application/classify.c {flags} -o classify_c && "
                              f"./classify_c {digits}/digits.onnx {digits}/digits.yaml")  # fmt: skip
        self.assertIn("digit 1\n", done.stdout)
        done = self.root.must(f"cd /tmp && c++ -std=c++20 {samples}/application/classify.cpp {flags} -o classify && "
                              f"./classify {digits}/digits.onnx {digits}/digits.yaml {digits}/images/08_4.pgm")  # fmt: skip
        self.assertIn("picture 0: 4\n", done.stdout)
        for program in ("classify_c", "classify"):
            self.assertRegex(self.root.must(f"cd /tmp && ldd {program}").stdout, r"libdeputy\.so\.0 => /")

    def test_8_a_vendor_builds_and_tests_a_plugin(self):
        self.root.apt("install", "deputy-sdk-dev", "deputy", "g++", "cmake", "make")
        self.root.must("cd /tmp && deputy new-plugin made_npu --dir made && cmake -S made -B made-build && "
                       "cmake --build made-build")  # fmt: skip
        done = self.root.must("cd /tmp && deputy-conformance made-build/made_npu.so --filter "
                              "'entry.*,lifecycle.*,numerics.Relu' --timeout 120")  # fmt: skip
        self.assertRegex(done.stdout, r"\bpassed\b")
        # On which the package of such a plugin depends: that of this version is installed, and there is no other.
        abi = json.loads(self.root.run("deputy doctor --json").stdout)["plugin_abi"]
        done = self.root.must(f"apt-get --simulate satisfy deputy-plugin-abi-{abi}")
        self.assertNotIn("Inst ", done.stdout)
        self.assertNotEqual(self.root.run(f"apt-get --simulate satisfy deputy-plugin-abi-{abi}0").returncode, 0)

    def test_9_a_purge_leaves_nothing(self):
        names = [name for name in re.findall(r"(?m)^(\S+) ii", self.root.states()) if "deputy" in name]
        self.root.apt("purge", *names)
        shutil.rmtree(self.root.folder / "tmp")
        (self.root.folder / "tmp").mkdir(mode=0o1777)
        (self.root.folder / "etc/apt/sources.list.d/deputy.list").unlink()
        self.assertEqual([path for path in self.root.files() if "deputy" in path.lower()], [])
        self.assertNotIn("deputy", self.root.states())

    def test_lintian_has_no_objections(self):
        (changes,) = ARGS.packages.glob("*.changes")
        done = run(["lintian", "--allow-root", "--tag-display-limit", "0", "--fail-on", "error,warning", changes])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--packages", type=Path, required=True, help="the folder that packaging/deb.sh has made")
    parser.add_argument("--tarball", type=Path, required=True, help="that packaging/tarball.sh has made")
    parser.add_argument("--root", type=lambda text: Path(text).resolve(), required=True, help="is made, and removed")
    ARGS, rest = parser.parse_known_args(namespace=ARGS)
    if os.geteuid() != 0:
        sys.exit("packages_test.py: needs root, which makes and enters another root")
    unittest.main(argv=[sys.argv[0], *rest])
