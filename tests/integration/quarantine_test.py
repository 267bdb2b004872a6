#!/usr/bin/env python3
"""Plugins that failed are not run again, and the descriptions of the others are kept.

  quarantine_test.py --deputy build/release/bin/deputy --fixtures build/release/fixtures/plugins [unittest's arguments]
"""

import argparse
import json
import os
import resource
import shutil
import struct
import subprocess
import sys
import time
import unittest
from pathlib import Path

import onnx_bytes
from scratch import PluginsCase

ARGS = None
SECONDS = 2.5  # of a probe; far more than an answer takes
MISBEHAVES = "{name: misbehaves, isolation: process}"


class Quarantine(PluginsCase):
    def add(self, fixture, name=None):
        file = self.plugins / f"{name or fixture}.so"
        shutil.copy(Path(ARGS.fixtures) / f"{fixture}.so", file)
        return file

    def deputy(self, *arguments, delegates="", status=0, plugins="", prepare=None, **variables):
        config = self.scratch / "c.yaml"
        config.write_text(f"version: 1\nplugins: {{paths: [{self.plugins}], probe_timeout: {SECONDS}s{plugins}}}\n"
                          f"cache: {{dir: {self.scratch}/cache}}\nlog: {{level: debug}}\n"
                          f"delegates: [{delegates}]\n")  # fmt: skip
        environment = {k: v for k, v in os.environ.items() if not k.startswith("FIXTURE_")}
        done = subprocess.run([ARGS.deputy, *map(str, arguments), "--config", config],
                              env={**environment, **variables}, capture_output=True, text=True, timeout=60,
                              preexec_fn=prepare)  # fmt: skip
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def scan(self, **how):
        """What a scan that runs every plugin reports, by file name, and the seconds that it took."""
        begin = time.monotonic()
        listing = json.loads(self.deputy("plugins", "--probe", "--json", **how).stdout)
        return {Path(plugin["file"]).name: plugin for plugin in listing["plugins"]}, time.monotonic() - begin

    def listed(self):
        return json.loads(self.deputy("quarantine", "ls", "--json").stdout)["plugins"]

    def model(self, operators=("Relu",), name="m"):
        path = self.scratch / f"{name}.onnx"
        names = ["x", *(f"v{i}" for i in range(len(operators) - 1)), "y"]
        nodes = [onnx_bytes.node(op, [names[i]], [names[i + 1]], f"n{i}") for i, op in enumerate(operators)]
        x, y = (onnx_bytes.value_info(name, (2, 3)) for name in "xy")
        path.write_bytes(onnx_bytes.model(nodes, [x], [y]))
        return path

    def test_a_hang_costs_its_time_once(self):
        self.add("hang_in_init")
        first, seconds = self.scan()
        self.assertGreaterEqual(seconds, SECONDS)
        second, seconds = self.scan()
        self.assertLess(seconds, SECONDS)
        self.assertEqual(first, second)
        self.assertEqual(first["hang_in_init.so"]["rule"], "probe-timed-out")
        self.assertIn("it is quarantined (deputy quarantine ls)", first["hang_in_init.so"]["reason"])

    def test_a_fault_is_of_the_bytes_not_of_the_name(self):
        self.add("hang_in_init")
        self.scan()
        self.add("hang_in_init", "renamed").touch()
        (self.plugins / "hang_in_init.so").unlink()
        report, seconds = self.scan()
        self.assertLess(seconds, SECONDS)
        self.assertEqual(report["renamed.so"]["rule"], "probe-timed-out")
        with (self.plugins / "renamed.so").open("ab") as file:
            file.write(b"another build")
        self.assertGreaterEqual(self.scan()[1], SECONDS)
        self.assertEqual(len(self.listed()), 2)

    def test_every_fault_of_a_probe_is_kept_with_its_reason(self):
        for fixture, rule, reason in (("crash_in_constructor", "probe-crashed", "crashed with SIGSEGV"),
                                      ("exit_in_constructor", "probe-exited", "ended the process"),
                                      ("garbage_answer", "probe-garbage", "gave an invalid answer")):  # fmt: skip
            with self.subTest(fixture):
                file = self.add(fixture)
                self.assertEqual(self.scan()[0][file.name]["rule"], rule)
                (kept,) = (plugin for plugin in self.listed() if plugin["file"] == str(file))
                self.assertEqual((kept["rule"], kept["in_force"]), (rule, True))
                self.assertIn(reason, kept["reason"])
                text = self.deputy("quarantine", "why", file.name).stdout
                self.assertIn(rule, text)
                self.assertIn(reason, " ".join(text.split()))

    def test_a_refusal_is_no_fault(self):
        self.add("fails_init")
        self.assertEqual(self.scan()[0]["fails_init.so"]["rule"], "init-failed")
        self.assertEqual(self.listed(), [])
        self.assertEqual(self.deputy("quarantine", "ls").stdout, "no plugin is quarantined\n")

    def test_a_probe_that_the_system_ends_is_no_fault(self):
        self.add("killed_in_constructor")
        scan, _ = self.scan(plugins=", sandbox: false")
        self.assertEqual(scan["killed_in_constructor.so"]["rule"], "probe-killed")
        self.assertEqual(self.listed(), [])

    def test_R198_a_plugin_cannot_pass_off_its_end_as_that_of_the_system(self):
        self.add("killed_in_constructor")
        self.assertEqual(self.scan()[0]["killed_in_constructor.so"]["rule"], "probe-crashed")
        self.deputy("quarantine", "clear", "--all")
        self.add("misbehaves")
        model = self.model(["Relu", "Tanh"] * 2, "bad")
        for way in ("signal", "group", "old_call", "high_bits", "queue", "thread_queue", "timer", "limit"):
            with self.subTest(way):
                self.deputy("quarantine", "clear", "--all")
                for _ in range(2):
                    log = self.deputy("run", model, "--repeat", "3", delegates=MISBEHAVES,
                                      FIXTURE_FAULT=f"execute:kill_{way}").stderr  # fmt: skip
                    self.assertNotIn("SIGKILL", log)
                (kept,) = {part["model"] for part in self.listed()}
                self.assertEqual(kept, "bad.onnx")
                self.assertEqual(self.owner(model), "cpu")


    def test_a_cleared_plugin_is_run_again(self):
        self.add("hang_in_init")
        self.add("crash_in_constructor")
        self.scan()
        self.assertIn("will be run again", self.deputy("quarantine", "clear", "hang_in_init.so").stdout)
        self.assertEqual([Path(plugin["file"]).name for plugin in self.listed()], ["crash_in_constructor.so"])
        self.assertGreaterEqual(self.scan()[1], SECONDS)
        self.deputy("quarantine", "clear", "--all")
        self.assertEqual(self.listed(), [])

    def test_a_name_that_is_not_listed_is_an_error(self):
        self.add("crash_in_constructor")
        self.scan()
        for command in ("why", "clear"):
            error = self.deputy("quarantine", command, "crash_in_construktor.so", status=2).stderr
            self.assertIn("no quarantined plugin is called 'crash_in_construktor.so'", error)
            self.assertIn("crash_in_constructor.so", error)
        self.assertIn("a NAME or --all is required", self.deputy("quarantine", "clear", status=2).stderr)

    def probes(self, **variables):
        """How often a run of a model loaded the plugin in a process of its own; one of them serves it."""
        entry = "{name: escapes, isolation: process, required: true}"
        run = self.deputy("run", self.model(), delegates=entry, FIXTURE_ESCAPE=str(self.scratch), **variables)
        return run.stderr.count("escapes in load: tried") - 1

    def test_a_description_is_kept_until_something_changes(self):
        file = self.add("escapes")
        self.assertEqual(self.probes(), 1)
        self.assertEqual(self.probes(), 0)
        self.assertEqual(self.probes(ANOTHER="1"), 1)
        self.assertEqual(self.probes(), 0)
        file.touch()
        self.assertEqual(self.probes(), 1)
        self.deputy("cache", "purge", "--kind", "probe")
        self.assertEqual(self.probes(), 1)

    def run_faulty(self, model, stage="execute", **variables):
        return self.deputy("run", model, "--repeat", "3", delegates=MISBEHAVES, FIXTURE_FAULT=f"{stage}:segv", **variables)

    def owner(self, model, delegates=MISBEHAVES, **how):
        """The delegate of the first node, where the plugin has no fault."""
        listing = self.deputy("partition", model, "--json", delegates=delegates, **how)
        return json.loads(listing.stdout)["nodes"][0]["delegate"]

    def test_R159_one_model_that_kills_the_plugin_is_kept_away_and_others_run(self):
        self.add("misbehaves")
        bad, other = self.model(["Relu", "Tanh"] * 2, "bad"), self.model(["Relu"] * 2, "other")
        for stage in ("query_support", "compile", "context_create", "execute"):
            with self.subTest(stage):
                self.deputy("quarantine", "clear", "--all")
                for number in range(10):
                    done = self.run_faulty(bad, stage)
                    # It has ended the process of one run or two, and is known from then on.
                    if number >= 3:
                        self.assertNotIn("was started again", done.stderr)
                        self.assertNotIn("for the second time in a row", done.stderr)
                kept = self.listed()
                self.assertTrue(kept)
                for part in kept:
                    self.assertEqual((part["rule"], part["model"], part["in_force"]), ("failed-in-use", "bad.onnx", True))
                    self.assertRegex(part["part"], "^(partition .*|a graph of 4 nodes|all parts)$")
                self.assertEqual(self.owner(bad), "cpu")
                self.assertEqual(self.owner(other), "misbehaves")
                self.assertIn("match", self.right(other).stdout)

    def right(self, model):
        (self.scratch / "x.raw").write_bytes(struct.pack("<6f", 1, -2, 3, -4, 5, -6))
        (self.scratch / "y.raw").write_bytes(struct.pack("<6f", 1, 0, 3, 0, 5, 0))
        return self.deputy("run", model, "--input", f"x={self.scratch}/x.raw", "--expect", f"y={self.scratch}/y.raw",
                           delegates="{name: misbehaves, isolation: process, required: true}")  # fmt: skip

    def test_R159_three_models_that_kill_the_plugin_quarantine_it(self):
        self.add("misbehaves")
        models = [self.model(operators, f"m{number}") for number, operators in
                  enumerate((["Relu"], ["Relu"] * 2, ["Relu"] * 3))]  # fmt: skip
        for model in models[:2]:
            self.run_faulty(model)
        self.assertFalse([entry for entry in self.listed() if entry["part"] == ""])
        last = self.run_faulty(models[2]).stderr
        reason = "failed 3 times within five minutes, with 3 different models: its worker process was ended by SIGSEGV"
        self.assertIn(reason, last)
        (kept,) = (entry for entry in self.listed() if entry["part"] == "")
        self.assertEqual((kept["rule"], kept["plugin"], kept["model"]), ("failed-in-use", "misbehaves", ""))
        after = self.run_faulty(self.model(["Relu"] * 5, "innocent")).stderr
        self.assertIn(reason, after)
        self.assertIn("failed-in-use", after)
        self.assertNotIn("was started again", after)
        required = "{name: misbehaves, isolation: process, required: true}"
        self.deputy("run", models[0], delegates=required, status=4)
        self.assertIn("the plugin", self.deputy("quarantine", "why", "misbehaves.so").stdout)
        self.deputy("quarantine", "clear", "misbehaves.so")
        self.assertEqual(self.owner(models[0]), "misbehaves")

    def test_R159_what_is_kept_away_is_shown_and_released(self):
        self.add("misbehaves")
        bad = self.model(["Relu"], "bad")
        self.run_faulty(bad)
        (kept,) = self.listed()
        table = " ".join(self.deputy("quarantine", "ls").stdout.split())
        self.assertIn("partition", table)
        self.assertIn("of bad.onnx", table)
        why = " ".join(self.deputy("quarantine", "why", kept["key"][:12]).stdout.split())
        self.assertIn("of partition misbehaves/0 of 1 node of bad.onnx", why)
        self.assertIn("it ended its worker process 2 times: it was ended by SIGSEGV", why)
        self.assertIn("kept away from misbehaves.so", " ".join(self.deputy("doctor").stdout.split()))
        self.assertIn("will be run again", self.deputy("quarantine", "clear", kept["key"]).stdout)
        self.assertEqual(self.listed(), [])
        self.assertEqual(self.owner(bad), "misbehaves")

    def test_R159_a_run_that_its_caller_limits_proves_nothing(self):
        self.add("misbehaves")
        model = self.model(["Relu"], "slow")
        for _ in range(3):
            self.deputy("run", model, "--timeout", "50ms", delegates=MISBEHAVES, FIXTURE_FAULT="execute:spin", status=5)
        self.assertEqual(self.listed(), [])

    def models(self):
        return [self.model(["Relu"] * (number + 1), f"m{number}") for number in range(3)]

    def quarantine(self, fault, limits, **how):
        """Three models with which the plugin fails under these limits, and the reason that is listed then."""
        entry = f"{{name: misbehaves, isolation: process{limits}}}"
        for model in self.models():
            self.deputy("run", model, "--repeat", "2", delegates=entry, FIXTURE_FAULT=fault, **how)
        (kept,) = (part for part in self.listed() if part["part"] == "")
        self.assertEqual(self.owner(self.model(["Relu"] * 4, "other"), entry, **how), "cpu")
        return kept["reason"]

    def test_R201_a_limit_of_one_configuration_quarantines_for_no_larger_one(self):
        self.add("misbehaves")
        for fault, limits, reason, larger in (
                ("execute:slow", ", timeout: 10ms", "this counts only with timeout of 10 ms or less",
                 ("", ", timeout: 20s", ", timeout: none")),
                ("execute:allocate", ", memory_limit: 300MB", "this counts only with memory_limit of 300 MB or less",
                 ("", ", memory_limit: 2GB"))):  # fmt: skip
            with self.subTest(limits):
                self.deputy("quarantine", "clear", "--all")
                self.assertIn(reason, self.quarantine(fault, limits))
                for others in larger:
                    entry = f"{{name: misbehaves, isolation: process{others}}}"
                    for model in self.models():
                        self.assertEqual(self.owner(model, entry), "misbehaves")
                    done = self.deputy("run", self.models()[0], delegates=entry, FIXTURE_FAULT=fault)
                    self.assertNotIn("was started again", done.stderr)
                # The plugin is not used, and says why, where the limit is that one or a smaller one.
                required = f"{{name: misbehaves, isolation: process, required: true{limits}}}"
                done = self.deputy("run", self.models()[0], delegates=required, status=4)
                self.assertIn("failed-in-use", done.stderr)
                self.assertIn("quarantined", done.stderr)
        # Faults without a limit of time count with any.
        self.deputy("quarantine", "clear", "--all")
        self.assertNotIn("this counts only", self.quarantine("execute:segv", ""))
        self.assertEqual(self.owner(self.models()[0], "{name: misbehaves, isolation: process, timeout: 20s}"), "cpu")

    def test_R201_limits_of_the_system_and_the_sandbox_quarantine_for_no_larger_ones(self):
        self.add("misbehaves")
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        fewer = {"prepare": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, hard) - 100, hard))}
        self.quarantine("execute:segv", "", **fewer)
        self.assertEqual(self.owner(self.models()[0]), "misbehaves")
        self.deputy("quarantine", "clear", "--all")
        self.quarantine("execute:segv", "")
        self.assertEqual(self.owner(self.models()[0], **fewer), "cpu")
        self.assertEqual(self.owner(self.models()[0], plugins=", sandbox: false"), "misbehaves")

    def test_R201_quarantines_under_several_limits_are_kept_side_by_side(self):
        self.add("misbehaves")
        self.quarantine("execute:slow", ", timeout: 10ms")
        self.deputy("quarantine", "ls")
        entry = "{name: misbehaves, isolation: process, memory_limit: 300MB}"
        for model in self.models():
            self.deputy("run", model, "--repeat", "2", delegates=entry, FIXTURE_FAULT="execute:allocate")
        reasons = [part["reason"] for part in self.listed() if part["part"] == ""]
        self.assertEqual(len(reasons), 2, reasons)
        slow = "{name: misbehaves, isolation: process, timeout: 10ms}"
        for quarantined in (entry, slow):
            self.assertEqual(self.owner(self.model(["Relu"] * 5, "other"), quarantined), "cpu")
        self.assertEqual(self.owner(self.models()[0]), "misbehaves")
        self.deputy("quarantine", "clear", "misbehaves.so")
        self.assertEqual(self.listed(), [])

    def test_R201_a_short_limit_of_probes_quarantines_for_no_longer_one(self):
        file = self.add("hang_in_init")
        rule = lambda listing: json.loads(listing.stdout)["plugins"][0]["rule"]  # noqa: E731
        probe = ("plugins", "--probe", "--json")
        self.assertEqual(rule(self.deputy(*probe, FIXTURE_SLEEP="4")), "probe-timed-out")
        self.assertIn("this counts only with probe_timeout of 2500 ms or less",
                      " ".join(self.deputy("quarantine", "why", file.name).stdout.split()))
        self.assertNotEqual(rule(self.deputy(*probe, "--set", "plugins.probe_timeout=50s", FIXTURE_SLEEP="4")),
                            "probe-timed-out")
        self.assertEqual(rule(self.deputy(*probe, FIXTURE_SLEEP="4")), "probe-timed-out")

    def test_a_plugin_that_fails_again_and_again_without_a_model_is_quarantined(self):
        self.add("misbehaves")
        model = self.model()
        for _ in range(3):
            self.deputy("run", model, delegates=MISBEHAVES, FIXTURE_FAULT="open:segv")
        self.assertEqual(self.owner(model), "misbehaves")  # each process opens it once


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--fixtures", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
