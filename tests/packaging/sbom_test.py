#!/usr/bin/env python3
"""The bill of materials of an installation of this build: valid, complete, the same twice.

  sbom_test.py --prefix DIR --build-dir DIR [--validator] [unittest's arguments]

--validator checks it by the schema of the format itself, with cyclonedx-python-lib; status 77 where that is not there."""

import argparse
import copy
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from urllib.parse import unquote

import cyclonedx_rules

ROOT = Path(__file__).resolve().parents[2]
SBOM = ROOT / "packaging" / "release" / "sbom.py"
EPOCH = 1750000000  # 2025-06-15T15:06:40Z
SKIPPED = 77
ARGS = None


def output_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def make(epoch=EPOCH):
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "bill.cdx.json")
        output_of(sys.executable, str(SBOM), "--prefix", ARGS.prefix, "--build-dir", ARGS.build_dir, "--version", "1.2.3",
                  "--epoch", str(epoch), str(path))
        return path.read_text(encoding="utf-8")


def values(component, name):
    return [item["value"] for item in component.get("properties", []) if item["name"] == f"deputy:{name}"]


def elf_files():
    """Found by another way than that of the script."""
    listed = (path for path in Path(ARGS.prefix).rglob("*") if path.is_file() and not path.is_symlink())
    return [path for path in listed if path.read_bytes()[:4] == b"\x7fELF"]


class BillOfMaterials(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = make()
        cls.document = json.loads(cls.text)
        cls.components = cls.document["components"]
        cls.edges = {item["ref"]: item["dependsOn"] for item in cls.document["dependencies"]}

    def by_path(self):
        return {values(item, "path")[0]: item for item in self.components if values(item, "path")}

    def test_FollowsTheRulesOfTheFormat(self):
        self.assertEqual(cyclonedx_rules.check(self.document), [])

    def test_HasEveryProgramAndLibraryWithItsDigest(self):
        files = {path.relative_to(ARGS.prefix).as_posix(): path for path in elf_files()}
        listed = self.by_path()
        self.assertEqual(sorted(listed), sorted(files))
        self.assertIn("bin/deputy", listed)
        for name, path in files.items():
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            self.assertEqual(listed[name]["hashes"], [{"alg": "SHA-256", "content": digest}], name)
            self.assertEqual(listed[name]["licenses"], [{"license": {"id": "Apache-2.0"}}], name)
            self.assertEqual(listed[name]["type"], "application" if name in ("bin/deputy", "bin/deputy-conformance",
                             "lib/deputy/deputy-worker") else "library", name)

    def test_HasEveryNeededLibraryAndTheEdgeToIt(self):
        providers = {}
        for item in self.components:
            for soname in values(item, "library"):
                providers[soname] = item["bom-ref"]
        for path in elf_files():
            soname = re.search(r"\(SONAME\).*\[(.*)\]", output_of("readelf", "-dW", str(path)))
            if soname:
                providers[soname[1]] = f"file:{path.relative_to(ARGS.prefix).as_posix()}"
        checked = 0
        for path in elf_files():
            name = f"file:{path.relative_to(ARGS.prefix).as_posix()}"
            for soname in re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-dW", str(path))):
                self.assertIn(soname, providers, f"{name} needs it")
                self.assertIn(providers[soname], self.edges[name], f"{name} needs {soname}")
                checked += 1
        self.assertGreater(checked, 20)

    def test_LibrariesOfLibrariesAreThere(self):
        libraries = {soname for item in self.components for soname in values(item, "library")}
        self.assertIn("libz.so.1", libraries)  # which libpng needs, and the program does not
        png = next(item for item in self.components if "libpng16.so.16" in values(item, "library"))
        self.assertTrue(any(reference.startswith("pkg:deb/debian/zlib1g@") for reference in self.edges[png["bom-ref"]]))

    def test_PackagesHaveTheirInstalledVersions(self):
        packages = [item for item in self.components if item.get("purl", "").startswith("pkg:deb/")]
        self.assertGreater(len(packages), 20)
        for item in packages:
            installed = output_of("dpkg-query", "-W", "-f=${Version}\\n", item["name"]).splitlines()
            self.assertIn(item["version"], installed, item["name"])
            self.assertRegex(item["purl"], r"^pkg:deb/debian/[^@+]+@[^+]+\?arch=\w+&distro=debian-\d+$")
            name, version = re.match(r"pkg:deb/debian/(.*)@(.*)\?", item["purl"]).groups()
            self.assertEqual((unquote(name), unquote(version)), (item["name"], item["version"]))

    def test_LicencesAreTold(self):
        licences = {item["name"]: item.get("licenses") for item in self.components}
        for name, expected in (("libspdlog1.10", {"license": {"id": "MIT"}}),
                               ("libseccomp2", {"license": {"id": "LGPL-2.1-only"}}),
                               ("libstdc++6", {"expression": "GPL-3.0-or-later WITH GCC-exception-3.1"})):
            self.assertEqual(licences[name], [expected], name)

    def test_HasWhatWasCompiledIn(self):
        compiled = {item["name"]: item["bom-ref"] for item in self.components if "compiled in" in values(item, "use")}
        root = self.document["metadata"]["component"]["bom-ref"]
        for name in ("libcli11-dev", "nlohmann-json3-dev", "libflatbuffers-dev", "libboost1.74-dev", "libeigen3-dev",
                     "libfmt-dev", "libonnx-dev"):  # fmt: skip
            self.assertIn(name, compiled)
            self.assertIn(compiled[name], self.edges[root])
        self.assertNotIn("libbenchmark-dev", compiled)  # of tests alone

    def test_TheSameTwice(self):
        self.assertEqual(make(), self.text)

    def test_TheTimeIsThatOfTheCommit(self):
        self.assertEqual(self.document["metadata"]["timestamp"], "2025-06-15T15:06:40Z")
        later = json.loads(make(EPOCH + 1))
        self.assertEqual(later["metadata"]["timestamp"], "2025-06-15T15:06:41Z")
        self.assertNotEqual(later["serialNumber"], self.document["serialNumber"])

    def test_RulesFindWhatIsWrong(self):
        def first(document):
            return document["components"][0]

        planted = (
            ("has no 'name'", lambda d: first(d).pop("name")),
            ("unknown type", lambda d: first(d).update(type="program")),
            ("has 'sha256'", lambda d: first(d).update(sha256="")),
            ("is no such digest", lambda d: first(d)["hashes"][0].update(content="abc")),
            ("has one id or one name", lambda d: first(d).update(licenses=[{"license": {"id": "MIT", "name": "MIT"}}])),
            ("is no package URL", lambda d: first(d).update(purl="deb/debian/libc6@1")),
            ("a second component is", lambda d: first(d).update({"bom-ref": d["components"][1]["bom-ref"]})),
            ("there is no component", lambda d: d["dependencies"][0].update(dependsOn=["file:gone"])),
            ("there is no component", lambda d: d["dependencies"].append({"ref": "file:gone"})),
            ("depends on itself", lambda d: d["dependencies"][0].update(dependsOn=[d["dependencies"][0]["ref"]])),
            ("has equal items", lambda d: d["components"].append(first(d))),
            ("is no URN of a UUID", lambda d: d.update(serialNumber="1")),
            ("is not 1.5", lambda d: d.update(specVersion="1.4")),
            ("has no 'version'", lambda d: d.pop("version")),
        )
        for expected, plant in planted:
            document = copy.deepcopy(self.document)
            plant(document)
            self.assertTrue(any(expected in what for what in cyclonedx_rules.check(document)), expected)


def validate():
    try:
        from cyclonedx.schema import SchemaVersion
        from cyclonedx.validation.json import JsonStrictValidator
    except ImportError as error:
        print(f"SKIPPED: {error} (packaging/peers.sh)")
        return SKIPPED
    validator = JsonStrictValidator(SchemaVersion.V1_5)
    accepted = validator.validate_str("{}") is None
    wrong = validator.validate_str(make())
    print(wrong or "valid")
    return 1 if wrong or accepted else 0


def main():
    global ARGS
    parser = argparse.ArgumentParser()
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--build-dir", required=True)
    parser.add_argument("--validator", action="store_true")
    ARGS, rest = parser.parse_known_args()
    if ARGS.validator:
        return validate()
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    sys.exit(main())
