#!/usr/bin/env python3
"""Calls about files that fail, with each error of a disk: the cache is lost with one warning, and the answer is right;
a file that was asked for is an error, and nothing is left of it.

  disk_faults_test.py --deputy build/release/bin/deputy --fixtures build/release/fixtures/plugins --failing-calls FILE.so
                      [unittest's arguments]
"""

import argparse
import errno
import os
import sys
import time
import unittest

from fault_run import FaultRun

CALLS = ("create", "write", "fsync", "rename")
CALLS_OF_A_PLUGIN = ("open", "stat", "read")
ERRORS = (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EMFILE)


class DiskFaults(FaultRun):
    def faulty(self, call, error, **variables):
        self.count = self.scratch / "count"
        self.count.write_bytes(b"")
        return self.environment(LD_PRELOAD=self.arguments.failing_calls, FAILING_CALL=call, FAILING_ERROR=str(error),
                                FAILING_CALL_COUNT=str(self.count), **variables)  # fmt: skip

    def test_R138_each_error_of_the_cache_costs_no_answer(self):
        self.add("able")
        folder = self.scratch / "cache"
        config = self.config("able", folder, more=", required: true")
        for call in set(CALLS) - {"fsync"}:  # an entry is not flushed: one that is not whole is detected
            for error in ERRORS:
                with self.subTest(call=call, error=errno.errorcode[error]):
                    environment = self.faulty(call, error)
                    done = self.run_it(self.command(config=config), environment=environment)
                    self.right(done)
                    self.assertNotEqual(self.count.read_bytes(), b"", "no call failed")
                    self.assertEqual(done.stderr.count("warning: "), 1, done.stderr)
                    self.assertIn(os.strerror(error), done.stderr)
                    self.assertEqual(list(folder.iterdir()), [])
        self.right(self.run_it(self.command(config=config)))
        self.assertNotEqual(list(folder.iterdir()), [])

    def test_R85_a_plugin_that_cannot_be_read_is_one_line_and_hides_no_other(self):
        """As on a network file system that lost the file, or on a disk with bad blocks."""
        self.add("good")
        lost = str(self.plugins / "misbehaves.so")
        command = [self.arguments.deputy, "plugins", "--why", "--config"]
        for call in CALLS_OF_A_PLUGIN:
            for error in (errno.ESTALE, errno.EIO):
                with self.subTest(call=call, error=errno.errorcode[error]):
                    environment = self.faulty(call, error, FAILING_PATH=lost)
                    config = self.config("good", more=", required: true")
                    done = self.run_it(self.command(config=config), environment=environment)
                    self.right(done)
                    self.assertNotEqual(self.count.read_bytes(), b"", "no call failed")
                    self.assertIn("good 1/1 node", done.stderr)
                    warnings = [line for line in done.stderr.splitlines() if "warning: " in line]
                    self.assertEqual(len(warnings), 1, done.stderr)
                    self.assertIn("misbehaves.so", warnings[0])
                    self.assertIn(os.strerror(error), warnings[0])

                    why = self.run_it([*command, config], environment=environment)
                    self.assertEqual(why.returncode, 0, why.stderr)
                    self.assertRegex(why.stdout, rf"{lost}\n +unreadable: cannot be read: {os.strerror(error)}\n")
                    self.assertEqual(why.stdout.count("unreadable: "), 1, why.stdout)

                    config = self.config("misbehaves", more=", required: true")
                    refused = self.run_it(self.command(config=config), environment=environment)
                    self.assertEqual(refused.returncode, 4, refused.stderr)
                    self.assertIn(os.strerror(error), refused.stderr)

    def test_R114_a_worker_that_no_signal_ends_costs_time_and_no_answer(self):
        config = self.config(cache="'off'", more=", timeout: 200ms, call_timeout: 400ms")
        for stage in ("compile", "execute"):
            with self.subTest(stage):
                environment = {**self.faulty("kill", 0), "FIXTURE_FAULT": f"{stage}:hang"}
                begin = time.monotonic()
                done = self.run_it(self.command(config=config), environment=environment)
                self.right(done)
                self.assertNotEqual(self.count.read_bytes(), b"", "no signal was lost")
                self.assertLess(time.monotonic() - begin, 40)

    def test_R138_R139_each_error_of_a_file_is_an_error(self):
        out = self.scratch / "out"
        out.mkdir()
        (out / "m.dpm").write_text("old")
        for call in CALLS:
            for error in ERRORS:
                with self.subTest(call=call, error=errno.errorcode[error]):
                    command = [self.arguments.deputy, "convert", self.model, "-o", out / "m.dpm"]
                    done = self.run_it(command, environment=self.faulty(call, error))
                    self.assertNotEqual(self.count.read_bytes(), b"", "no call failed")
                    self.assertEqual(done.returncode, 5, done.stderr)
                    self.assertIn(os.strerror(error), done.stderr)
                    self.assertEqual([path.name for path in out.iterdir()], ["m.dpm"])
                    self.assertEqual((out / "m.dpm").read_text(), "old")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--deputy", "--fixtures", "--failing-calls"):
        parser.add_argument(name, required=True)
    FaultRun.arguments, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
