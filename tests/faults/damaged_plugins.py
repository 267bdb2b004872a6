#!/usr/bin/env python3
"""Runs a model with damaged copies of plugins: the host refuses each, runs it in a worker process, or gives its work
to the CPU; it neither crashes nor hangs, and leaves no process.

  damaged_plugins.py --deputy build/release/bin/deputy --plugins build/release/lib/deputy/plugins
      [--only null ...] [--random 300] [--truncations 202] [--flips 400] [--seed 1] [--jobs 2] [--keep FOLDER]
"""

import argparse
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
from fault_run import processes_with  # noqa: E402

# Longer than all limits of the run together.
HANG_SECONDS = 60
CONFIG = """version: 1
plugins: {{paths: [{folder}]}}
cache: {{dir: '{folder}/cache'}}
delegates: [{{name: '{name}', isolation: process, timeout: 2s, call_timeout: 4s}}]
"""


def header_size(plugin):
    """Bytes of the ELF header and the program headers behind it."""
    offset, = struct.unpack_from("<Q", plugin, 32)
    size, count = struct.unpack_from("<HH", plugin, 54)
    return offset + size * count


def randomly_damaged(plugin, source):
    """A copy in which one to sixteen places hold other bytes, each of one byte up to a page."""
    damaged = bytearray(plugin)
    for _ in range(source.choice((1, 1, 2, 4, 16))):
        length = source.choice((1, 1, 1, 8, 64, 4096))
        at = source.randrange(len(damaged) - length)
        damaged[at:at + length] = source.randbytes(length)
    return bytes(damaged)


def damaged_copies(plugin, args, source):
    for i in range(args.random):
        yield f"random {i}", randomly_damaged(plugin, source)
    for i in range(args.truncations):
        size = len(plugin) * i // args.truncations
        yield f"truncated to {size}", plugin[:size]
    for i in range(args.flips):
        flipped = bytearray(plugin)
        bit = source.randrange(header_size(plugin) * 8)
        flipped[bit // 8] ^= 1 << bit % 8
        yield f"bit {bit}", bytes(flipped)


def try_copy(name, content, args):
    """What became of one copy, and the output where that may not be."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / f"{name}.so").write_bytes(content)
        (folder / f"{name}.so").chmod(0o755)
        for belonging in args.plugins.glob("*.so.*"):
            shutil.copy(belonging, folder)
        config = folder / "c.yaml"
        config.write_text(CONFIG.format(folder=folder, name=name))
        environment = {**os.environ, "HOME": scratch, "XDG_CACHE_HOME": f"{scratch}/cache"}
        try:
            done = subprocess.run([args.deputy, "run", args.model, "--config", config, "--repeat", "2"], env=environment,
                                  capture_output=True, text=True, errors="replace", timeout=HANG_SECONDS)  # fmt: skip
        except subprocess.TimeoutExpired as hung:
            return "HANGS", str(hung)
        left = processes_with(scratch)
        if left:
            return "LEAVES A PROCESS", done.stderr
        if done.returncode != 0:
            return f"EXIT STATUS {done.returncode}", done.stdout + done.stderr
        if "its worker process" in done.stderr:
            return "failed in its worker", ""
        return ("refused" if "no plugin offers" in done.stderr or "cannot" in done.stderr else "ran"), ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--plugins", required=True, type=Path)
    parser.add_argument("--model", default=str(Path(__file__).resolve().parents[2] / "configs/digits/digits.onnx"))
    parser.add_argument("--only", nargs="+", help="of the folder's plugins, these; default: all")
    parser.add_argument("--random", type=int, default=300)
    parser.add_argument("--truncations", type=int, default=202)
    parser.add_argument("--flips", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="folder for the copies that the host does not survive")
    args = parser.parse_args()
    failed = False
    for path in sorted(args.plugins.glob("*.so")):
        if args.only and path.stem not in args.only:
            continue
        plugin = path.read_bytes()
        # One that opens another vendor's library may lack that here.
        usual = ("ran", "refused") if b"\nopens=" in plugin else ("ran",)
        if try_copy(path.stem, plugin, args) not in [(word, "") for word in usual]:
            sys.exit(f"{path}: the copy without damage does not run: {try_copy(path.stem, plugin, args)}")
        copies = list(damaged_copies(plugin, args, random.Random(f"{args.seed} {path.stem}")))
        with ThreadPoolExecutor(args.jobs) as pool:
            results = list(pool.map(lambda copy: try_copy(path.stem, copy[1], args), copies))
        for (what, content), (result, output) in zip(copies, results):
            if result.isupper() or result.startswith("EXIT"):
                failed = True
                print(f"{path.name}, {what}: {result}\n{output}")
                if args.keep:
                    args.keep.mkdir(parents=True, exist_ok=True)
                    (args.keep / f"{path.stem} {what}.so").write_bytes(content)
        counts = Counter(result for result, _ in results)
        print(f"{path.name}: {len(copies)} damaged copies: " + ", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    sys.exit(failed)


if __name__ == "__main__":
    main()
