"""Programs and libraries: what they need, what they export, and where the dynamic linker finds it."""

import os
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Elf(NamedTuple):
    path: Path
    machine: str  # class and machine: only files of one kind are linked to each other
    soname: str
    needed: tuple
    folders: tuple  # RUNPATH or RPATH, with $ORIGIN replaced


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def files_below(prefix):
    """The ELF files of an installation, as paths relative to it, in order."""
    found = (path for path in Path(prefix).rglob("*") if path.is_file() and not path.is_symlink() and is_elf(path))
    return sorted(path.relative_to(prefix).as_posix() for path in found)


@cache
def read(path):
    printed = subprocess.run(["readelf", "-hdW", str(path)], check=True, stdout=subprocess.PIPE, text=True,
                             env={**os.environ, "LC_ALL": "C"}).stdout

    def first(pattern):
        match = re.search(pattern, printed, re.M)
        return match[1].strip() if match else ""

    folders = first(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]").replace("${ORIGIN}", "$ORIGIN")
    origin = str(Path(path).resolve().parent)
    return Elf(Path(path), f"{first(r'^ *Class: *(.*)$')} {first(r'^ *Machine: *(.*)$')}",
               first(r"\(SONAME\).*\[(.*)\]"), tuple(re.findall(r"\(NEEDED\).*\[(.*)\]", printed)),
               tuple(folder.replace("$ORIGIN", origin) for folder in folders.split(":") if folder))


def is_program(path):
    """Programs have an interpreter; libraries do not."""
    headers = subprocess.run(["readelf", "-lW", str(path)], check=True, stdout=subprocess.PIPE, text=True).stdout
    return re.search(r"^ *INTERP", headers, re.M) is not None


@cache
def linker_cache():
    """{soname: [path, ...]} of the dynamic linker."""
    printed = subprocess.run(["/sbin/ldconfig", "-p"], check=True, stdout=subprocess.PIPE, text=True).stdout
    known = {}
    for name, path in re.findall(r"^\t(\S+) \(.*\) => (\S+)$", printed, re.M):
        known.setdefault(name, []).append(Path(path))
    return known


def find(soname, user):
    """The file that the dynamic linker takes for a name that `user` needs; None where this machine has none."""
    candidates = [Path(folder, soname) for folder in user.folders] + linker_cache().get(soname, [])
    for path in candidates:
        if path.is_file() and is_elf(path) and read(path).machine == user.machine:
            return path
    return None


def exported(path):
    """Names with their versions, as `nm` shows them: what others may link to."""
    printed = subprocess.run(["nm", "-D", "--defined-only", str(path)], check=True, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True).stdout
    names = (line.split() for line in printed.splitlines())
    # Kind A: the names of versions themselves.
    return sorted({words[-1] for words in names if len(words) == 3 and words[1] != "A"})
