#!/usr/bin/env python3
"""Writes SHA256SUMS of the files in a folder, and its signature by minisign where there is a key.

  sums.py [--key SECRET_KEY --comment TEXT] FOLDER

`sha256sum --check SHA256SUMS` and `minisign -V -p PUBLIC_KEY -m SHA256SUMS` check them. minisign asks for the password of
a key that has one. The comment is part of what is signed; the same files, key and comment give the same signature.
"""

import argparse
import hashlib
import subprocess
from pathlib import Path

SUMS = "SHA256SUMS"
SIGNATURE = f"{SUMS}.minisig"


def write(folder):
    names = sorted(path.name for path in folder.iterdir() if path.is_file() and path.name not in (SUMS, SIGNATURE))
    if not names:
        raise SystemExit(f"{folder}: there is nothing to sign")
    (folder / SIGNATURE).unlink(missing_ok=True)  # of other files
    lines = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")
    return names


def sign(folder, key, comment):
    done = subprocess.run(["minisign", "-S", "-s", str(key), "-m", SUMS, "-x", SIGNATURE, "-t", comment], cwd=folder)
    if done.returncode != 0 or not (folder / SIGNATURE).is_file():
        raise SystemExit(f"sums: minisign could not sign with {key}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--key", type=Path)
    parser.add_argument("--comment", default="")
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    names = write(arguments.folder)
    if arguments.key:
        sign(arguments.folder, arguments.key.resolve(), arguments.comment)
    print(f"{SUMS}: {len(names)} files, {'signed' if arguments.key else 'NOT signed: no --key was given'}")


if __name__ == "__main__":
    main()
