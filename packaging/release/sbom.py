#!/usr/bin/env python3
"""Writes the bill of materials of an installation, in CycloneDX 1.5 (JSON).

  sbom.py --prefix DIR --build-dir DIR --version VERSION --epoch SECONDS OUTPUT.cdx.json

Components are the project's programs and libraries, with their SHA-256; the packages of the libraries that they need, and
those that these need in turn (property `deputy:use` = linked, `deputy:library` the library's name); and the packages of
which headers, static libraries or message definitions were compiled in (compiled in), as the build recorded them. Each
component depends on what it links; Deputy as a whole also on what was compiled into it. Libraries that a plugin opens by
configuration (ONNX Runtime, external delegates of TensorFlow Lite) are no part of a release and not listed.

The same installation and --epoch give the same bytes.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import uuid
from datetime import datetime, timezone
from pathlib import Path

import debian
import elf

LICENCE = "Apache-2.0"
# What of the build is installed; tests are not.
INSTALLED_TARGETS = ("host/all", "sdk/all", "sdk/conformance/all", "plugins/tflite_delegate/all",
                     "plugins/onnxruntime_ep/all")
TESTS = re.compile(r"^tests/")
# What is compiled in of files that are no headers.
SOURCES = (".a", ".proto")
# Several identifiers of SPDX's list with their operators.
EXPRESSION = re.compile(r"[\w.+-]+( (WITH|AND|OR) [\w.+-]+)+")


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def licences(text):
    if not text:
        return {}
    if text == LICENCE or text in debian.SPDX.values():
        return {"licenses": [{"license": {"id": text}}]}
    if EXPRESSION.fullmatch(text):
        return {"licenses": [{"expression": text}]}
    return {"licenses": [{"license": {"name": text}}]}


def properties(**values):
    """One for each value, sorted; `use` is written deputy:use."""
    return {"properties": [{"name": f"deputy:{name}", "value": value} for name in sorted(values)
                           for value in sorted(values[name])]}


class Bill:
    def __init__(self, prefix, version):
        self.prefix, self.version = Path(prefix).resolve(), version
        self.root = f"deputy@{version}"
        self.parts = {}  # reference: component
        self.edges = {self.root: set()}  # reference: references
        self.packages = {}  # reference: (package, uses, libraries)
        self.unpackaged = {}  # path or name of a library: reference

    def add_package(self, package, use, library=None):
        _, uses, libraries = self.packages.setdefault(package.purl, (package, set(), set()))
        uses.add(use)
        libraries.update([library] if library else [])
        self.edges.setdefault(package.purl, set())
        return package.purl

    def add_files(self):
        for name in elf.files_below(self.prefix):
            path, reference = self.prefix / name, f"file:{name}"
            self.edges[self.root].add(reference)
            self.edges[reference] = set()
            self.parts[reference] = {
                "type": "application" if elf.is_program(path) else "library",
                "bom-ref": reference,
                "name": path.name,
                "version": self.version,
                "scope": "required",
                "hashes": [{"alg": "SHA-256", "content": digest(path)}],
                **licences(LICENCE),
                **properties(path=[name]),
            }

    def add_unpackaged(self, soname, path):
        """A library of no package: one that was put here by hand, or that this machine does not have."""
        reference = f"library:{soname}"
        self.unpackaged[soname] = reference
        self.edges.setdefault(reference, set())
        hashes = {"hashes": [{"alg": "SHA-256", "content": digest(path)}]} if path else {}
        self.parts[reference] = {"type": "library", "bom-ref": reference, "name": soname, "scope": "required", **hashes,
                                 **properties(use=["linked"], library=[soname])}  # fmt: skip
        return reference

    def add_libraries(self):
        """From the project's files to all that they need, directly or not."""
        users = [(f"file:{name}", self.prefix / name) for name in elf.files_below(self.prefix)]
        seen = set()
        while users:
            found = {}  # (reference of the user, soname): path
            for reference, path in users:
                user = elf.read(path)
                for soname in user.needed:
                    found[reference, soname] = elf.find(soname, user)
            outside = {path for path in found.values() if path and not path.resolve().is_relative_to(self.prefix)}
            packaged = debian.packages_of(sorted(outside))
            users = []
            for (user, soname), path in found.items():
                if path and path.resolve().is_relative_to(self.prefix):
                    self.edges[user].add(f"file:{path.resolve().relative_to(self.prefix).as_posix()}")
                    continue
                reference = (self.add_package(packaged[path], "linked", soname) if path in packaged
                             else self.add_unpackaged(soname, path))  # fmt: skip
                if reference != user:  # libraries of one package
                    self.edges[user].add(reference)
                if path and path not in seen:
                    seen.add(path)
                    users.append((reference, path))

    def add_compiled(self, build):
        for package in debian.packages_of(compiled_in(Path(build))).values():
            self.edges[self.root].add(self.add_package(package, "compiled in"))

    def write(self, epoch):
        for reference, (package, uses, libraries) in self.packages.items():
            links = {"externalReferences": [{"type": "website", "url": package.homepage}]} if package.homepage else {}
            self.parts[reference] = {
                "type": "library",
                "bom-ref": reference,
                "name": package.name,
                "version": package.version,
                "scope": "required",
                **licences(package.licence),
                "purl": package.purl,
                **links,
                **properties(use=uses, library=libraries),
            }
        project = {
            "type": "application",
            "bom-ref": self.root,
            "name": "deputy",
            "version": self.version,
            "description": "A host for inference delegates",
            **licences(LICENCE),
            "purl": f"pkg:generic/deputy@{self.version}",
        }
        document = {
            "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "version": 1,
            "metadata": {"timestamp": datetime.fromtimestamp(epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "component": project},
            "components": [self.parts[reference] for reference in sorted(self.parts)],
            "dependencies": [{"ref": reference, "dependsOn": sorted(self.edges[reference])}
                             for reference in sorted(self.edges)],
        }  # fmt: skip
        content = json.dumps(document, sort_keys=True)
        document["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}"
        return json.dumps(document, indent=2) + "\n"


def ninja(build, *arguments):
    return subprocess.run(["ninja", "-C", str(build), "-t", *arguments], check=True, stdout=subprocess.PIPE,
                          text=True).stdout  # fmt: skip


def compiled_in(build):
    """Files of the system that the objects of what is installed were made of."""
    files = set()
    for folder in (build, build / "plugins-build"):
        if not (folder / "build.ninja").is_file():
            continue
        counted = False
        for line in ninja(folder, "deps").splitlines():
            if not line.startswith(" "):
                counted = not TESTS.match(line)
            elif counted and line.strip().startswith("/usr/"):
                files.add(os.path.normpath(line.strip()))
    inputs = ninja(build, "inputs", *INSTALLED_TARGETS).splitlines()
    return sorted(files | {path for path in inputs if path.startswith("/usr/") and path.endswith(SOURCES)})


def make(prefix, build, version, epoch):
    bill = Bill(prefix, version)
    bill.add_files()
    bill.add_libraries()
    bill.add_compiled(build)
    for soname in bill.unpackaged:
        print(f"sbom: {soname} belongs to no package", file=sys.stderr)
    return bill.write(epoch)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path, required=True)
    parser.add_argument("--build-dir", type=Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--epoch", type=int, required=True)
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    text = make(arguments.prefix, arguments.build_dir, arguments.version, arguments.epoch)
    arguments.output.write_text(text, encoding="utf-8")
    parts = json.loads(text)["components"]
    print(f"{arguments.output.name}: {len(parts)} components, {sum('licenses' not in part for part in parts)} of them without a "
          "known licence")


if __name__ == "__main__":
    main()
