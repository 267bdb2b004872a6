"""An installation to test with: installed into a scratch folder, moved to another place, used from there with nothing
but PATH and an empty home, and without the checkout, where this user may hide it."""

import argparse
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

# Ways to run a shell command behind an empty mount on top of some folders: whose right it is, and how.
HIDING = (
    ("unshare as this user", ["unshare", "--mount"]),
    ("unshare in a user namespace", ["unshare", "--map-root-user", "--mount"]),
)


def run(command, **kwargs):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300, **kwargs)


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class Installation:
    def __init__(self, args):
        self.cmake, self.cmake_args = args.cmake, args.plugin_cmake_args
        self.scratch = tempfile.mkdtemp(prefix="deputy-installed-")
        self.first = os.path.join(self.scratch, "first")
        self.prefix = os.path.join(self.scratch, "moved")
        self.storage = os.path.join(self.scratch, "home")
        os.mkdir(self.storage)
        done = run([self.cmake, "--install", args.build_dir, "--prefix", self.first])
        if done.returncode != 0:
            raise RuntimeError(done.stdout + done.stderr)
        # Relocatable: everything below happens at another place than the one it was installed to.
        os.rename(self.first, self.prefix)
        self.deputy = os.path.join(self.prefix, "bin", "deputy")
        self.digits = os.path.join(self.prefix, "share", "deputy", "digits", "digits.onnx")
        self.hidden = [os.path.realpath(args.source_dir)]
        if not os.path.realpath(args.build_dir).startswith(self.hidden[0] + os.sep):
            self.hidden.append(os.path.realpath(args.build_dir))
        self.hide = " && ".join(f"mount -t tmpfs none {shlex.quote(folder)}" for folder in self.hidden)
        self.hiding = next(((how, command) for how, command in HIDING
                            if shutil.which(command[0]) and run([*command, "sh", "-c", self.hide]).returncode == 0), None)
        print(f"{' and '.join(self.hidden)}: " + (f"hidden behind an empty mount, by {self.hiding[0]}" if self.hiding
                                                  else "NOT hidden, this user may not mount"), file=sys.stderr)

    def remove(self):
        shutil.rmtree(self.scratch)

    def run_outside(self, script, *environment):
        """In an environment of PATH and HOME alone, with the checkout hidden where this user may do that."""
        command = ["env", "-i", "PATH=/usr/local/bin:/usr/bin:/bin", f"HOME={self.storage}",
                   "DEPUTY_SYSTEM_CONFIG=", *environment, "sh", "-c"]
        if self.hiding is None:
            return run([*command, script], cwd="/")
        return run([*self.hiding[1], "sh", "-c", self.hide + ' && exec "$@"', "sh", *command, script], cwd="/")

    def build(self, source, *arguments, environment=()):
        """Builds a project from outside of the tree; returns the folder of its build."""
        build = source + "-build"
        done = self.run_outside(
            f"{self.cmake} -S {source} -B {build} -DCMAKE_PREFIX_PATH={self.prefix} {' '.join(arguments)} "
            f"{self.cmake_args} && {self.cmake} --build {build}", *environment)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        return build

    def files(self):
        return sorted(os.path.join(folder, name) for folder, _, names in os.walk(self.prefix) for name in names)


def parse_arguments():
    """Of such a test, and what is left for unittest."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--build-dir", required=True)
    parser.add_argument("--source-dir", required=True)
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--plugin-cmake-args", default="")
    return parser.parse_known_args()
