"""Packages of Debian: which one a file belongs to, and what a bill of materials says about it."""

import platform
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

# The name of a licence in a copyright file, in lower case, and its identifier in the list of SPDX. MIT's text is
# Debian's "Expat". Names without a row are kept as they are.
SPDX = {
    "apache-2.0": "Apache-2.0",
    "bsd-2-clause": "BSD-2-Clause",
    "bsd-3-clause": "BSD-3-Clause",
    "bsd-c3": "BSD-3-Clause",
    "bsl-1.0": "BSL-1.0",
    "bsd-3-clause~google": "BSD-3-Clause",
    "expat": "MIT",
    "gpl-2": "GPL-2.0-only",
    "gpl-2+": "GPL-2.0-or-later",
    "gpl-3": "GPL-3.0-only",
    "gpl-3+": "GPL-3.0-or-later",
    "isc": "ISC",
    "lgpl-2+": "LGPL-2.0-or-later",
    "lgpl-2.1": "LGPL-2.1-only",
    "lgpl-2.1+": "LGPL-2.1-or-later",
    "lgpl-3+": "LGPL-3.0-or-later",
    "libpng": "Libpng",
    "mit": "MIT",
    "mpl-2": "MPL-2.0",
    "mpl-2.0": "MPL-2.0",
    "x11": "X11",
    "zlib": "Zlib",
}
# Source packages whose copyright file is prose, or has no line for all files, and the licence that it states for their
# libraries and headers.
STATED = {
    "gcc-12": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "glibc": "LGPL-2.1-or-later",
    "libjpeg-turbo": "IJG AND BSD-3-Clause AND Zlib",
    "linux": "GPL-2.0-only WITH Linux-syscall-note",
}


class Package(NamedTuple):
    name: str
    version: str
    architecture: str
    source: str
    homepage: str
    licence: str  # "" where the copyright file does not tell

    @property
    def purl(self):
        release = platform.freedesktop_os_release()
        distribution = f"{release['ID']}-{release['VERSION_ID']}" if "VERSION_ID" in release else release["ID"]
        return (f"pkg:deb/{release['ID']}/{quote(self.name, safe='')}@{quote(self.version, safe=':~')}"
                f"?arch={self.architecture}&distro={distribution}")


def licence_in(copyright_text):
    """That of `Files: *` in a machine-readable copyright file; "" where there is none."""
    if not copyright_text.startswith("Format:"):
        return ""
    for paragraph in re.split(r"\n[ \t]*\n", copyright_text):
        files = re.search(r"^Files:\s*(.*)$", paragraph, re.M)
        licence = re.search(r"^License:[ \t]*(\S.*)$", paragraph, re.M)
        if files and files[1].strip() == "*" and licence:
            names = re.split(r"(?:,| or) +", licence[1].strip())
            known = [SPDX.get(name.lower()) for name in names]
            return " OR ".join(known) if all(known) else licence[1].strip()
    return ""


def licence_of(name, source):
    path = Path("/usr/share/doc", name, "copyright")
    if source in STATED or not path.is_file():
        return STATED.get(source, "")
    return licence_in(path.read_text(encoding="utf-8", errors="replace"))


@cache
def package(name):
    """The installed package of a name as `dpkg -S` gives it, with or without its architecture."""
    fields = ("Package", "Version", "Architecture", "source:Package", "Homepage")
    printed = subprocess.run(["dpkg-query", "-W", "-f=" + "\\t".join(f"${{{field}}}" for field in fields), name],
                             check=True, stdout=subprocess.PIPE, text=True).stdout
    found, version, architecture, source, homepage = printed.split("\t")
    return Package(found, version, architecture, source, homepage, licence_of(found, source))


def spellings(path):
    """A file may be known below /usr or, where /lib is a link to /usr/lib, without it; a link is known by itself."""
    for one in dict.fromkeys((str(path), str(Path(path).resolve()))):
        yield one
        yield one.removeprefix("/usr") if one.startswith("/usr/lib") else f"/usr{one}"


def packages_of(paths):
    """{path: package} for those files that belong to one."""
    spelled = {path: list(spellings(path)) for path in paths}
    wanted = sorted({one for several in spelled.values() for one in several})
    owner = {}
    for start in range(0, len(wanted), 500):
        # Its status tells that one of them is unknown, which some spelling always is.
        printed = subprocess.run(["dpkg-query", "-S", *wanted[start:start + 500]], stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, text=True).stdout
        for line in printed.splitlines():
            names, _, path = line.partition(": ")
            if not line.startswith("diversion by "):
                owner[path] = names.split(", ")[0]
    found = {}
    for path, several in spelled.items():
        known = next((owner[one] for one in several if one in owner), None)
        if known:
            found[path] = package(known)
    return found
