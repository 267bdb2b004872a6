#!/usr/bin/env python3
"""What hosts of plugins meet besides computing: output of plugins, changed processes, missing rights, several vendors'
packages, crashes and the delegates that took over.

  hosting_test.py --deputy build/release/bin/deputy [unittest's arguments]
"""

import json
import os
import subprocess
import unittest
from pathlib import Path

import made_plugins

WRITES_SEVEN = ("#define FIXTURE_AFTER_EXECUTE for (uint64_t k = 0; k < args->outputs[0]->byte_size / 4; ++k) "
                "((float *)args->outputs[0]->data)[k] = 7;\n")  # fmt: skip


class Hosting(made_plugins.MadePlugins):
    def test_R181_what_a_plugin_prints_is_in_no_json(self):
        made_plugins.plugin(self.plugins, "prints", '#define FIXTURE_OPEN printf("ready\\n"), fflush(stdout)\n',
                            before="#include <stdio.h>")  # fmt: skip
        made_plugins.lock(self.plugins)
        config = self.config("{name: prints}")
        for command in (["run", self.model], ["partition", self.model], ["bench", self.model, "--runs", "3"], ["devices"],
                        ["plugins"], ["doctor"], ["verify", self.model], ["profile", self.model]):  # fmt: skip
            with self.subTest(command[0]):
                done = self.deputy(*command, "--json", "--config", config, status=None)
                json.loads(done.stdout)
                if command[0] == "run":
                    self.assertIn("ready", done.stderr)

    def test_R182_what_a_plugin_changes_in_the_process_is_restored_and_told(self):
        for name, code, told in (
            ("pins", "cpu_set_t s; CPU_ZERO(&s); CPU_SET(0, &s); sched_setaffinity(0, sizeof s, &s)", "the processors"),
            ("nices", "setpriority(PRIO_PROCESS, 0, 19)", "the priority (nice)"),
            ("limits", "struct rlimit r = {64, 64}; setrlimit(RLIMIT_NOFILE, &r)", "limits of the process"),
            ("hides", "prctl(PR_SET_DUMPABLE, 0)", "PR_SET_DUMPABLE"),
            ("batches", "struct sched_param q = {0}; sched_setscheduler(0, SCHED_BATCH, &q)", "the scheduling policy"),
            ("unblocks", "fcntl(2, F_SETFL, fcntl(2, F_GETFL) | O_NONBLOCK)", "O_NONBLOCK"),
            ("masks", "umask(0)", "umask"),
        ):
            if name == "pins" and len(os.sched_getaffinity(0)) < 2:
                continue
            with self.subTest(name):
                made_plugins.plugin(self.plugins, name, f"#define FIXTURE_OPEN {{ {code}; }}\n",
                                    before="#include <fcntl.h>\n#include <sched.h>\n#include <sys/prctl.h>\n"
                                    "#include <sys/resource.h>\n#include <sys/stat.h>")  # fmt: skip
                _, messages = self.run_json(self.config(f"{{name: {name}, isolation: none}}"))
                (line,) = (line for line in messages.splitlines() if "open changed" in line)
                self.assertIn(told, line)

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "there is one processor")
    def test_R182_what_the_first_run_changes_in_its_thread_is_restored_and_told(self):
        pins = "{ cpu_set_t s; CPU_ZERO(&s); CPU_SET(0, &s); sched_setaffinity(0, sizeof s, &s); }"
        made_plugins.plugin(self.plugins, "pins", f"#define FIXTURE_AFTER_EXECUTE {pins}\n", before="#include <sched.h>")
        _, messages = self.run_json(self.config("{name: pins, isolation: none}"))
        self.assertIn("execute changed the processors on which its thread may run; restored", messages)

    def test_R182_two_wishes_for_one_variable_are_told(self):
        for name, value in (("a", "1"), ("b", "2")):
            made_plugins.plugin(self.plugins, name, note=f"env=VENDOR_MODE={value}\\n")
        done = self.deputy("doctor", "--config", self.config("{name: a}, {name: b}"), status=None)
        text = " ".join(done.stdout.split())
        self.assertIn("VENDOR_MODE=1", text)
        self.assertIn("VENDOR_MODE=2", text)

    @unittest.skipIf(os.geteuid() != 0, "only root may become another user")
    def test_R183_a_home_that_may_not_be_entered_is_passed_over(self):
        home = self.scratch / "home"
        home.mkdir(mode=0o700)
        done = subprocess.run(["setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups", self.program, "run",
                               self.model], capture_output=True, text=True, timeout=60,
                              env={"HOME": str(home), "PATH": os.environ["PATH"]})  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("conf.d", done.stderr)

    def test_unlisted_plugins_are_verified_by_default(self):
        made_plugins.plugin(self.plugins, "seven", WRITES_SEVEN)
        report, messages = self.run_json(self.config("{name: seven}"))
        self.assertEqual(report["outputs"][0]["first"][0], 2)
        self.assertIn("wrong", messages)
        report, _ = self.run_json(self.config("{name: seven, verify: never}"))
        self.assertEqual(report["outputs"][0]["first"][0], 7)
        made_plugins.lock(self.plugins)
        report, _ = self.run_json(self.config("{name: seven}"))
        self.assertEqual(report["outputs"][0]["first"][0], 7)

    def test_a_declared_precision_widens_the_tolerance(self):
        rounds = ("#define FIXTURE_AFTER_EXECUTE for (uint64_t k = 0; k < args->outputs[0]->byte_size / 4; ++k) "
                  "((float *)args->outputs[0]->data)[k] *= 1.004f;\n")  # fmt: skip
        made_plugins.plugin(self.plugins, "exact", rounds)
        made_plugins.plugin(self.plugins, "narrow", rounds, note="computes=float16\\n")
        for name, nodes in (("exact", 0), ("narrow", 1)):
            with self.subTest(name):
                report, _ = self.run_json(self.config(f"{{name: {name}}}"))
                self.assertEqual({d["name"]: d["nodes"] for d in report["delegates"]}[name], nodes)

    def test_R188_two_packages_bring_a_folder_and_an_entry_each(self):
        system = self.scratch / "etc"
        drop_ins = system / "conf.d"
        drop_ins.mkdir(parents=True)
        for folder in (system, drop_ins):
            folder.chmod(0o755)
        for name in ("first", "second"):
            folder = self.scratch / name
            made_plugins.plugin(folder, name)
            (drop_ins / f"{name}.yaml").write_text(
                f"version: 1\nplugins: {{paths: [{folder}]}}\ndelegates: [{{name: {name}}}]\n")
        (system / "deputy.yaml").write_text("version: 1\n")
        done = self.deputy("plugins", "--json", DEPUTY_SYSTEM_CONFIG=str(system / "deputy.yaml"), HOME="/nonexistent")
        used = {delegate["id"] for plugin in json.loads(done.stdout)["plugins"] for delegate in plugin["delegates"]
                if delegate["used_by"]}  # fmt: skip
        self.assertLessEqual({"first", "second"}, used)
        done = self.deputy("config", "check", DEPUTY_SYSTEM_CONFIG=str(system / "deputy.yaml"), HOME="/nonexistent")
        self.assertIn("has no 'before'", " ".join((done.stdout + done.stderr).split()))

    def test_an_empty_list_of_paths_removes_those_below(self):
        lower, upper = self.scratch / "lower.yaml", self.scratch / "upper.yaml"
        lower.write_text(f"version: 1\nplugins: {{paths: [{self.plugins}]}}\n")
        for paths, wanted in (("[./other]", [self.scratch / "other", self.plugins]), ("[]", [])):
            with self.subTest(paths):
                upper.write_text(f"version: 1\nplugins: {{paths: {paths}}}\n")
                done = self.deputy("plugins", "--json", "--config", lower, "--config", upper)
                self.assertEqual(json.loads(done.stdout)["folders"], [str(folder) for folder in wanted])

    def test_config_check_with_a_model_refuses_what_a_run_refuses(self):
        made_plugins.plugin(self.plugins, "odd")
        model = self.write_model("sigmoid", (4,), ("Relu", "Sigmoid"))
        config = self.config("{name: odd}", "fallback: none\n")
        self.assertNotEqual(self.deputy("run", model, "--config", config, status=None).returncode, 0)
        done = self.deputy("config", "check", config, "--model", model, status=2)
        text = " ".join((done.stdout + done.stderr).split())
        self.assertIn("c.yaml:5:11", text)
        self.assertIn("1 of 2 nodes is not supported", text)
        self.deputy("config", "check", self.config("{name: odd}"), "--model", model)

    def crashing(self, name, when, hook="FIXTURE_EXECUTE"):
        made_plugins.plugin(self.plugins, name, f"#define {hook} if ({when}) *(volatile int *)NULL = 1\n",
                            before="#include <stddef.h>\nstatic int runs;")  # fmt: skip
        return self.config(f"{{name: {name}}}")

    def test_R185_a_crash_is_credited_to_those_that_ran(self):
        config = self.crashing("crashes", "++runs > 0")
        report, messages = self.run_json(config, "--set", "delegates.crashes.verify=never")
        self.assertEqual(report["outputs"][0]["first"][0], 2)
        self.assertEqual({d["name"]: d["nodes"] for d in report["delegates"]}, {"crashes": 0, "cpu": 1})
        self.assertTrue(report["degraded"])
        (incident,) = report["incidents"]
        self.assertEqual((incident["delegate"], incident["nodes"], incident["taken_over"]), ("crashes", 1, "cpu"))
        self.assertIn("SIGSEGV", incident["failure"])
        self.assertIn("ran it instead", messages)
        made_plugins.plugin(self.plugins, "sound")
        report, _ = self.run_json(self.config("{name: sound}"))
        self.assertEqual((report["incidents"], report["degraded"]), ([], False))

    def test_R186_crashes_of_no_part_of_a_model_add_up_over_starts(self):
        # Another thread ends the process after a hundred runs, whatever the host does then.
        made_plugins.plugin(self.plugins, "late", "#define FIXTURE_AFTER_EXECUTE if (++runs == 100) Later()",
                            "-pthread", before="#include <pthread.h>\n#include <stddef.h>\nstatic int runs;\n"
                            "static void *Crash(void *p) { *(volatile int *)NULL = 1; return p; }\n"
                            "static void Later(void) { pthread_t t; pthread_create(&t, NULL, Crash, NULL); }")  # fmt: skip
        config = self.config("{name: late, verify: never}")
        for _ in range(6):
            self.deputy("bench", self.model, "--config", config, "--runs", "1000", status=None)
        done = self.deputy("quarantine", "ls", "--json", "--config", config)
        quarantined = [(Path(one["file"]).name, one["rule"]) for one in json.loads(done.stdout)["plugins"]]
        self.assertEqual(quarantined, [("late.so", "failed-in-use")])

    def test_R189_the_sandbox_is_named_with_the_file_that_it_keeps(self):
        secret = self.scratch / "vendor.conf"
        secret.write_text("x")
        for name, code in (
            ("reads", f'FILE *f = fopen("{secret}", "r"); if (f == NULL) failed = 1'),
            ("makes", 'char n[] = "/tmp/vendorXXXXXX"; if (mkstemp(n) < 0) failed = 1'),
            ("shares", 'if (shm_open("/vendor", O_CREAT | O_RDWR, 0600) < 0) failed = 1'),
        ):
            with self.subTest(name):
                made_plugins.plugin(self.plugins, name, "#define FIXTURE_OPEN { int failed = 0; " + code + "; if (failed) { "
                                    "free(instance); return Fail(args->host, DEPUTY_UNAVAILABLE, DEPUTY_NO_NODE, "
                                    '"no device is configured"); } }\n',
                                    before="#include <fcntl.h>\n#include <stdio.h>\n#include <sys/mman.h>\n"
                                    "#include <stdlib.h>\n#include <unistd.h>")  # fmt: skip
                _, messages = self.run_json(self.config(f"{{name: {name}}}"))
                self.assertIn("the sandbox has kept files from the plugin", messages)

    def test_R189_threads_of_the_plugin_may_choose_their_processors(self):
        made_plugins.plugin(self.plugins, "pins", "#define FIXTURE_OPEN { cpu_set_t s; CPU_ZERO(&s); CPU_SET(0, &s); "
                            "if (pthread_setaffinity_np(pthread_self(), sizeof s, &s) != 0) { free(instance); return "
                            'Fail(args->host, DEPUTY_UNAVAILABLE, DEPUTY_NO_NODE, "cannot pin"); } }\n', "-pthread",
                            before="#include <pthread.h>\n#include <sched.h>\n#include <stdlib.h>")  # fmt: skip
        report, messages = self.run_json(self.config("{name: pins}"))
        self.assertEqual({d["name"]: d["nodes"] for d in report["delegates"]}["pins"], 1, messages)

    def test_R189_a_device_of_an_unknown_driver_is_a_warning(self):
        made_plugins.plugin(self.plugins, "device", note="devices=mynpu*\\n")
        _, messages = self.run_json(self.config("{name: device}"))
        self.assertIn("lists the device 'mynpu*'", messages)

    @unittest.skipIf(os.geteuid() != 0, "limits of threads are those of a user, and root has none")
    def test_R178_no_further_thread_is_an_error_or_an_answer(self):
        made_plugins.plugin(self.plugins, "odd")
        config = self.config("{name: odd}")
        self.run_json(config)  # the description is kept now
        for path in (self.scratch, *self.scratch.rglob("*")):
            os.chown(path, 54321, 54321)
        os.chmod(self.scratch / "cache", 0o700)
        messages = ""
        for most in range(1, 6):
            with self.subTest(most):
                done = subprocess.run(["setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups", "prlimit",
                                       f"--nproc={most}", self.program, "run", self.model, "--config", config],
                                      capture_output=True, text=True, timeout=60, env=self.environment())  # fmt: skip
                self.assertIn(done.returncode, (0, 4, 5), done.stderr)
                self.assertNotIn("terminate called", done.stderr)
                messages += done.stderr
        self.assertIn("no further thread can be started", messages)


if __name__ == "__main__":
    made_plugins.main(__doc__)
