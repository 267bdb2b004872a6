#!/usr/bin/env python3
"""Makes a wheel that runs elsewhere of one that runs here.

    repair_wheel.py WHEEL FOLDER

auditwheel puts the libraries that the wheel needs beside it and finds its manylinux tag. Those of plugins go on into
the folder of the plugins: in their sandbox they read no other one. The lock of that folder is made then, since the
plugins were changed, and the licenses of the libraries are added, as Debian's packages have them.
"""

import base64
import hashlib
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from elftools.elf.elffile import ELFFile

ROOT = Path(__file__).resolve().parents[1]
PLUGINS = "deputy/installation/lib/deputy/plugins"


def repair(wheel, folder):
    subprocess.run(["auditwheel", "repair", "--strip", "--wheel-dir", folder, wheel], check=True)
    made = list(Path(folder).glob("*.whl"))
    if len(made) != 1:
        sys.exit(f"repair_wheel: {len(made)} wheels were made, not one")
    return made[0]


def needed_by(file):
    with open(file, "rb") as opened:
        dynamic = ELFFile(opened).get_section_by_name(".dynamic")
        return {tag.needed for tag in dynamic.iter_tags("DT_NEEDED")} if dynamic else set()


def closure(files, libraries):
    """The libraries of these files, with those that they need."""
    found, todo = set(), list(files)
    while todo:
        for name in needed_by(todo.pop()) & set(libraries) - found:
            found.add(name)
            todo.append(libraries[name])
    return found


def is_elf(path):
    with open(path, "rb") as opened:
        return opened.read(4) == b"\x7fELF"


def move_libraries(top):
    """Those that only plugins need; a library of both stays as well."""
    libraries = {path.name: path for path in top.glob("deputy.libs/*")}
    plugins = list((top / PLUGINS).glob("*.so"))
    others = [path for path in (top / "deputy").rglob("*") if path.is_file() and path not in plugins and is_elf(path)]
    kept = closure(others, libraries)
    for name in closure(plugins, libraries):
        target = top / PLUGINS / name
        target.write_bytes(libraries[name].read_bytes())
        target.chmod(0o755)
        if name not in kept:
            libraries[name].unlink()


def lock(folder):
    """SHA256SUMS of a folder of plugins, as `sha256sum *` writes it."""
    files = sorted(path for path in folder.iterdir() if path.name != "SHA256SUMS")
    if not files:
        sys.exit(f"repair_wheel: no plugins in {folder}")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="ascii")


def license_of(library):
    """The license of a library that auditwheel copied from the system: "libdnnl-0a1b2c3d.so.2.7"."""
    name = re.sub(r"-[0-9a-f]{8}(?=[.-])", "", library)
    found = subprocess.run(["dpkg-query", "--search", f"*/{name}"], capture_output=True, text=True).stdout
    packages = sorted({line.split(":")[0] for line in found.splitlines()})
    for package in packages:
        text = Path("/usr/share/doc") / package / "copyright"
        if text.is_file():
            return package, text.read_text(encoding="utf-8", errors="replace")
    return None


def add_licenses(top):
    folder = top / "deputy/licenses"
    folder.mkdir()
    (folder / "deputy.txt").write_text((ROOT / "LICENSE").read_text(encoding="utf-8"), encoding="utf-8")
    missing = []
    copied = [*top.glob("deputy.libs/*"), *(path for path in (top / PLUGINS).iterdir() if path.suffix != ".so")]
    for library in sorted(path.name for path in copied if is_elf(path)):
        found = license_of(library)
        if found is None:
            missing.append(library)
        else:
            (folder / f"{found[0]}.txt").write_text(found[1], encoding="utf-8")
    if missing:
        print(f"repair_wheel: no license is found for {', '.join(missing)}", file=sys.stderr)


def digest(path):
    return base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).decode().rstrip("=")


def record(top):
    path = next(top.glob("*.dist-info/RECORD"))
    lines = []
    for file in sorted(one for one in top.rglob("*") if one.is_file() and one != path):
        lines.append(f"{file.relative_to(top).as_posix()},sha256={digest(file)},{file.stat().st_size}\n")
    path.write_text("".join([*lines, f"{path.relative_to(top).as_posix()},,\n"]), encoding="utf-8")


def unpack(wheel, top):
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            path = Path(archive.extract(entry, top))
            if entry.external_attr >> 16 & 0o111:
                path.chmod(0o755)


def pack(top, wheel):
    """The same bytes for the same contents."""
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in sorted(path for path in top.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(file.relative_to(top).as_posix(), (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if file.stat().st_mode & 0o100 else 0o100644) << 16
            archive.writestr(entry, file.read_bytes())


def main():
    wheel, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        repaired = repair(wheel, Path(scratch, "repaired"))
        top = Path(scratch, "top")
        unpack(repaired, top)
        move_libraries(top)
        lock(top / PLUGINS)
        add_licenses(top)
        record(top)
        pack(top, folder / repaired.name)
    print(f"repair_wheel: {folder / repaired.name}")


if __name__ == "__main__":
    main()
