#!/usr/bin/env python3
"""The command `deputy cache`, on entries that are written here as host/docs/store.md defines them.

  cache_test.py --deputy build/release/bin/deputy [unittest's arguments]
"""

import argparse
import hashlib
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ARGS = None
ORIGIN = ("model", "plugin", "plugin_version", "plugin_file", "delegate", "device", "stale")


class Cache(unittest.TestCase):
    DAY = 86400

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        self.folder = self.scratch / "cache"
        self.config = self.scratch / "c.yaml"
        self.config.write_text("version: 1\ncache: {dir: cache, max: 1MB}\n")

    def entry(self, kind, key, text=b"", content=b"", days=0, version=1):
        """A file of host/docs/store.md, with this key of two digits repeated."""
        key = bytes.fromhex(key * 32)
        number = ["blob", "verdict", "placement", "costs", "model", "probe", "quarantine", "faults"].index(kind)
        front = b"DPTYSTOR" + struct.pack("<IIQQ", version, number, len(text), len(content)) + key
        rest = text + bytes(-(96 + len(text)) % 64) + content
        checksum = hashlib.blake2b(front + bytes(32) + rest, digest_size=32).digest()
        self.folder.mkdir(mode=0o700, exist_ok=True)
        path = self.folder / f"{key.hex()}.{kind}"
        path.write_bytes(front + checksum + rest)
        used = time.time() - days * self.DAY
        os.utime(path, (used, used))
        return path

    def cache(self, *arguments):
        return self.deputy("cache", *arguments, "--config", self.config)

    def deputy(self, *arguments):
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
        return subprocess.run([str(ARGS.deputy), *map(str, arguments)], capture_output=True, text=True,
                              env=environment, timeout=300)  # fmt: skip

    def check(self, run, status, *patterns):
        """Exit status, and patterns in what was printed on stderr (on an error) or stdout."""
        said = f"exit status {run.returncode}\nstdout:\n{run.stdout}\nstderr:\n{run.stderr}"
        self.assertEqual(run.returncode, status, said)
        for pattern in patterns:
            self.assertRegex(run.stderr if status >= 2 else run.stdout, pattern, said)

    def test_EverySubcommandHelpsWithAnExample(self):
        for name in ("ls", "verify", "purge"):
            self.check(self.deputy("cache", name, "--help"), 0, rf"Example:\n  deputy cache {name}")

    def test_EntriesAreListedWithTotals(self):
        self.entry("blob", "ab", b"format 1", bytes(2000), days=3)
        self.entry("verdict", "cd", b"right")
        self.check(self.cache("ls"), 0, rf"(?m)^folder  {self.folder}$", r"blob +abababababab +2\.13 kB +3 d +format 1\n",
                   r"verdict +cdcdcdcdcdcd +128 bytes +now +right\n",
                   r"2 entries \(2\.26 kB\): blob 1, verdict 1; limit 1\.00 MB\n$")  # fmt: skip

    def test_ACacheThatDoesNotExistIsEmpty(self):
        for command, text in (("ls", "0 entries"), ("verify", "0 entries"), ("purge", "removed 0 entries")):
            self.check(self.cache(command), 0, text)
        self.assertFalse(self.folder.exists())

    def test_ACacheThatIsOffIsEmpty(self):
        for command in ("ls", "verify", "purge"):
            done = self.cache(command, "--set", "cache.dir=off", "--json")
            self.check(done, 0)
            self.assertEqual(json.loads(done.stdout), {"folder": None, "max_bytes": 0, "bytes": 0, "entries": []})
        self.check(self.cache("ls", "--set", "cache.dir=off"), 0, "^the cache is off\n$")

    def test_JsonHasThePromisedKeys(self):
        path = self.entry("placement", "ab", b"text \xff\n", b"content", days=2)
        for command, state in (("ls", "unchecked"), ("verify", "intact"), ("purge", "unchecked")):
            used = int(time.time() - 2 * self.DAY)
            done = self.cache(command, "--json")
            self.check(done, 0)
            report = json.loads(done.stdout)
            entry = report["entries"][0]
            self.assertLess(abs(entry.pop("last_used_unix_s") - used), 600)
            self.assertEqual(report, {"folder": str(self.folder), "max_bytes": 1000000, "bytes": 135, "entries": [
                {"kind": "placement", "key": "ab" * 32, "file": str(path), "bytes": 135, "text": "text \ufffd\n",
                 "state": state, "problem": "", **dict.fromkeys(ORIGIN, "")}]})  # fmt: skip

    def test_DamagedEntriesAreFoundAndLeftToTheirReaders(self):
        good, bad = self.entry("blob", "ab", b"", b"content"), self.entry("costs", "cd", b"", b"content")
        self.check(self.cache("verify"), 0, "^2 entries: 2 intact, 0 damaged or unreadable, 0 of another version\n$")
        content = bytearray(bad.read_bytes())
        content[-1] ^= 1
        bad.write_bytes(content)
        self.check(self.cache("verify"), 1, rf"(?m)^damaged  {bad}: is damaged: its checksum does not match$",
                   "2 entries: 1 intact, 1 damaged or unreadable, 0 of another version")  # fmt: skip
        done = self.cache("verify", "--json")
        self.check(done, 1)
        self.assertEqual([entry["state"] for entry in json.loads(done.stdout)["entries"]], ["intact", "damaged"])
        self.assertTrue(good.exists() and bad.exists())

    def test_AnEntryOfAnotherVersionIsNoDamage(self):
        path = self.entry("model", "ab", b"", b"content", version=7)
        self.check(self.cache("verify"), 0, rf"other version  {path}: has version 7 of the format, expected 1\n",
                   "1 entry: 0 intact, 0 damaged or unreadable, 1 of another version")  # fmt: skip

    def test_PurgeRemovesAllEntriesAndNothingElse(self):
        self.entry("blob", "ab", b"", bytes(5000))
        self.entry("verdict", "cd", version=7)
        other = self.folder / "notes.blob"
        other.write_text("not an entry")
        self.check(self.cache("purge"), 0, r"^removed 2 entries \(5\.26 kB\): blob 1, verdict 1\n$")
        self.assertEqual(list(self.folder.iterdir()), [other])

    def test_PurgeSelectsByKindAndAge(self):
        old, new = self.entry("blob", "ab", days=40), self.entry("blob", "cd", days=20)
        decision = self.entry("verdict", "ab", days=40)
        self.check(self.cache("purge", "--kind", "blob", "--kind", "costs", "--older-than", "30d"), 0,
                   r"^removed 1 entry \(128 bytes\): blob 1\n$")  # fmt: skip
        self.assertEqual([path.exists() for path in (old, new, decision)], [False, True, True])
        self.check(self.cache("purge", "--older-than", "30d"), 0, "verdict 1")
        self.check(self.cache("purge", "--kind", "blob"), 0, "blob 1")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_WrongKindsAndAgesAreTwoAndRemoveNothing(self):
        path = self.entry("blob", "ab")
        self.check(self.cache("purge", "--kind", "blobs"), 2,
                   "--kind: blobs not in {blob,verdict,placement,costs,model,probe,quarantine,faults}")  # fmt: skip
        for age in ("30", "d", "0d", "1.5d", "-1d", "30s", "99999999999999999999d", "36501d"):
            self.check(self.cache("purge", f"--older-than={age}"), 2, "--older-than: the age must be .*, got '")
        self.assertTrue(path.exists())

    def test_AFolderThatOthersMayChangeIsFive(self):
        path = self.entry("blob", "ab")
        self.folder.chmod(0o777)
        for command in ("ls", "verify", "purge"):
            self.check(self.cache(command), 5, "the cache in .* is not used: users other than you and root may write to it")
        self.assertTrue(path.exists())

    def test_TextsOfEntriesDoNotControlTheTerminal(self):
        self.entry("blob", "ab", b"\x1b[31mred\nline")
        done = self.cache("ls")
        self.check(done, 0, r"\\x1b\[31mred\\")
        self.assertNotIn("\x1b", done.stdout)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", type=Path, required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
