"""The machine and the builds that a comparison ran on."""

import os
import platform
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

FLAGS = ("avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512_vnni", "avx512_bf16", "amx_int8")


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def first_match(pattern, content):
    found = re.search(pattern, content, re.M)
    return found.group(1).strip() if found else ""


def load_average():
    return [round(value, 2) for value in os.getloadavg()]


def describe(build):
    cpu = Path("/proc/cpuinfo").read_text()
    flags = first_match(r"^flags\s*:(.*)$", cpu).split()
    cache = (Path(build) / "CMakeCache.txt").read_text()
    compiler = first_match(r"^CMAKE_CXX_COMPILER:.*=(.*)$", cache)
    scheduler = {os.SCHED_OTHER: "normal", os.SCHED_RR: "real time", os.SCHED_FIFO: "real time"}
    return {
        "cpu": first_match(r"^model name\s*:(.*)$", cpu) or platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "virtual": "hypervisor" in flags,
        "flags": [flag for flag in FLAGS if flag in flags],
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "os": platform.freedesktop_os_release().get("PRETTY_NAME", platform.system()),
        "kernel": platform.release(),
        "scheduling": scheduler.get(os.sched_getscheduler(0), "other"),
        "compiler": output_of(compiler, "--version").split("\n")[0],
        "build_type": first_match(r"^CMAKE_BUILD_TYPE:.*=(.*)$", cache),
        "flags_of_build": first_match(r"^CMAKE_CXX_FLAGS_RELWITHDEBINFO:.*=(.*)$", cache),
        "onednn": output_of("dpkg-query", "-W", "-f=${Version}", "libdnnl2"),
    }


def stripped_library_bytes(build):
    """libdeputy with all that it always needs; importers and plugins are opened only where something asks for them."""
    library = (Path(build) / "lib" / "libdeputy.so").resolve()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, library.name)
        shutil.copy(library, copy)
        subprocess.run(["strip", "--strip-unneeded", copy], check=True)
        return copy.stat().st_size
