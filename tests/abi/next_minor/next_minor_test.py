#!/usr/bin/env python3
"""Old plugins on a host of the next minor version, and a plugin of the next one on the host as it is: what both know
works, and what one of them lacks is absent for the other, not in its way.

  next_minor_test.py --next-host PROGRAM --host PROGRAM --old PLUGIN,... --next PLUGIN --next-cxx PLUGIN
                     [--needs-next PLUGIN,...]

The real host runs the plugin of the next version in small_delegate_test.
"""

import argparse
import subprocess
import sys
import unittest

ARGS = None
SUPPORTED, TOO_NEW = "reason 0", "reason 2"


def lines_of(host, plugin):
    done = subprocess.run([host, plugin], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    if done.returncode != 0:
        raise AssertionError(f"{host} {plugin}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout.splitlines()


class NextMinorTest(unittest.TestCase):
    def answers(self, lines):
        return [" ".join(line.split()[2:4]) for line in lines if line.startswith("node ")]

    def test_old_plugins_run_on_the_next_host(self):
        for plugin in filter(None, ARGS.old.split(",")):
            with self.subTest(plugin):
                lines = lines_of(ARGS.next_host, plugin)
                self.assertEqual(self.answers(lines), [SUPPORTED, SUPPORTED, TOO_NEW])
                self.assertIn("z is right", lines)
                self.assertIn("warm-up absent", lines)
                self.assertIn("extension absent", lines)

    def test_the_next_plugin_uses_what_the_next_host_has(self):
        lines = lines_of(ARGS.next_host, ARGS.next)
        self.assertEqual(self.answers(lines), [SUPPORTED] * 3)
        self.assertIn("z is right", lines)
        self.assertIn("w is right", lines)
        self.assertIn("warm-up called", lines)
        self.assertIn("extension: ticket 17, number 4711, warmed up 3", lines)

    def test_the_next_plugin_runs_on_the_present_host(self):
        lines = lines_of(ARGS.host, ARGS.next)
        self.assertEqual(self.answers(lines)[:2], [SUPPORTED] * 2)
        self.assertIn("z is right", lines)

    def test_a_newer_list_of_operators_is_all_that_a_plugin_of_the_layer_needs(self):
        for host in (ARGS.next_host, ARGS.host):
            lines = lines_of(host, ARGS.next_cxx)
            self.assertEqual(self.answers(lines), [SUPPORTED] * 3)
            self.assertIn("w is right", lines)

    def test_old_plugins_run_on_the_present_host(self):
        for plugin in filter(None, ARGS.old.split(",")):
            with self.subTest(plugin):
                lines = lines_of(ARGS.host, plugin)
                self.assertEqual(self.answers(lines), [SUPPORTED, SUPPORTED, TOO_NEW])
                self.assertIn("z is right", lines)

    def test_a_plugin_that_says_so_runs_on_the_next_host_alone(self):
        for plugin in filter(None, ARGS.needs_next.split(",")):
            with self.subTest(plugin):
                self.assertIn("z is right", lines_of(ARGS.next_host, plugin))
                done = subprocess.run([ARGS.host, plugin], stdout=subprocess.PIPE, text=True, timeout=60)
                self.assertIn(done.stdout, ("needs a host of 1.1\n", "no plugin with one delegate\n"))
                self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name in ("--next-host", "--host", "--old", "--next", "--next-cxx"):
        parser.add_argument(name, required=True)
    parser.add_argument("--needs-next", default="")
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0]] + rest)
