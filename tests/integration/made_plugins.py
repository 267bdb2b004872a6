"""Plugins that a test compiles itself, on the header of the fixtures: right ones but for what the test makes of them."""

import hashlib
import subprocess
from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "plugins"
HEADERS = Path(__file__).resolve().parents[2] / "sdk" / "include"


def compile_c(target, text, *flags):
    """A shared object of C text, put in the place of one that may be in use by renaming."""
    source, new = target.with_name(f".{target.name}.c"), target.with_name(f".{target.name}.new")
    source.write_text(text)
    subprocess.run(["cc", "-std=gnu11", "-shared", "-fPIC", "-fvisibility=hidden", f"-I{FIXTURES}", f"-I{HEADERS}",
                    source, "-o", new, "-Wl,--build-id,-z,now", *map(str, flags)],
                   check=True, capture_output=True, text=True)  # fmt: skip
    source.unlink()
    new.rename(target)
    return target


def plugin(folder, name, hooks="", *flags, note="", before=""):
    """folder/name.so: a delegate `name` that runs Relu. `hooks` are macros of minimal.h, one a line; `before` declares
    what they use. The folder is one that the host trusts."""
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    text = "\n".join(["#define _GNU_SOURCE", '#include "deputy/abi/delegate.h"', before, f'#define FIXTURE_ID "{name}"',
                      f'#define FIXTURE_NOTE_MORE "{note}"', hooks, '#include "minimal.h"', ""])  # fmt: skip
    return compile_c(folder / f"{name}.so", text, *flags)


def library(target, text, *flags):
    """A vendor's library with its name as soname."""
    return compile_c(target, text, "-fvisibility=default", f"-Wl,-soname,{target.name}", *flags)


def lock(folder):
    """Lists every file of the folder, so that its plugins run in the process of the application."""
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n"
             for file in sorted(folder.iterdir()) if file.name != "SHA256SUMS"]  # fmt: skip
    (folder / "SHA256SUMS").write_text("".join(lines))
