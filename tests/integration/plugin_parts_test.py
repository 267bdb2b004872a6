#!/usr/bin/env python3
"""The libraries, files and drivers of a plugin count as the plugin: what was found out about it holds only as long as
they have not changed, and no plugin computes with the library of another one.

  plugin_parts_test.py --deputy build/release/bin/deputy [unittest's arguments]
"""

import json

import made_plugins

RIGHT = "float vendor_factor(void) { return 1; }\n"
WRONG = "float vendor_factor(void) { return 3; }\n"
USES_FACTOR = "float vendor_factor(void);\n"
TIMES_FACTOR = (
    "#define FIXTURE_AFTER_EXECUTE for (uint64_t k = 0; k < args->outputs[0]->byte_size / 4; ++k) "
    "((float *)args->outputs[0]->data)[k] *= vendor_factor();\n"
)


class PluginParts(made_plugins.MadePlugins):
    def run_model(self, *arguments, delegates="{name: vendor, verify: first_run}", more="", folders=None):
        """The output's first value, the delegate's nodes, and the messages."""
        report, messages = self.run_json(self.config(delegates, more, folders), *arguments)
        nodes = {delegate["name"]: delegate["nodes"] for delegate in report["delegates"]}
        return report["outputs"][0]["first"][0], nodes.get("vendor", 0), messages

    def entries(self, kind):
        listing = json.loads(self.deputy("cache", "ls", "--json", "--config", self.scratch / "c.yaml").stdout)
        return sum(entry["kind"] == kind for entry in listing["entries"])

    def in_force(self):
        """Of each entry of the quarantine."""
        listing = self.deputy("quarantine", "ls", "--json", "--config", self.scratch / "c.yaml").stdout
        return [entry["in_force"] for entry in json.loads(listing)["plugins"]]

    def check_changes(self, file, *arguments):
        """With the library at `file`, which the plugin uses: the answer is right whatever the library computes."""
        self.assertEqual(self.run_model(*arguments)[:2], (2, 1))
        made_plugins.library(file, WRONG)
        answer, nodes, messages = self.run_model(*arguments)
        self.assertEqual((answer, nodes), (2, 0))
        self.assertIn("wrong", messages)
        made_plugins.library(file, RIGHT)
        self.assertEqual(self.run_model(*arguments)[:2], (2, 1))

    def test_R177_a_library_of_the_note_is_replaced(self):
        file = made_plugins.library(self.plugins / "libvendor.so.1", RIGHT)
        made_plugins.plugin(self.plugins, "vendor", TIMES_FACTOR, file, "-Wl,-rpath,$ORIGIN",
                            note="files=libvendor.so.1\\n", before=USES_FACTOR)  # fmt: skip
        self.check_changes(file)

    def test_R177_a_library_of_another_folder_is_replaced(self):
        elsewhere = self.scratch / "vendor"
        elsewhere.mkdir()
        file = made_plugins.library(elsewhere / "libvendor.so.1", RIGHT)
        made_plugins.plugin(self.plugins, "vendor", TIMES_FACTOR, file, f"-Wl,-rpath,{elsewhere}", before=USES_FACTOR)
        # The sandbox would not let it read that folder.
        self.check_changes(file, "--set", "plugins.sandbox=false")

    def test_R177_a_link_to_a_library_is_turned(self):
        for version, text in (("1.0", RIGHT), ("1.1", WRONG)):
            made_plugins.library(self.plugins / f"libvendor.so.{version}", text, "-Wl,-soname,libvendor.so.1")
        link = self.plugins / "libvendor.so.1"
        link.symlink_to("libvendor.so.1.0")
        made_plugins.plugin(self.plugins, "vendor", TIMES_FACTOR, link, "-Wl,-rpath,$ORIGIN", before=USES_FACTOR)
        self.assertEqual(self.run_model()[:2], (2, 1))
        link.unlink()
        link.symlink_to("libvendor.so.1.1")
        self.assertEqual(self.run_model()[:2], (2, 0))

    def test_R177_a_library_that_the_plugin_opens_itself_is_replaced(self):
        file = made_plugins.library(self.plugins / "libvendor.so.1", RIGHT)
        opens = ("#include <dlfcn.h>\n#include <stddef.h>\nstatic float (*vendor_factor)(void);\n"
                 f'static void Load(void) {{ void *l = dlopen("{file}", RTLD_NOW); '
                 'if (l != NULL) *(void **)&vendor_factor = dlsym(l, "vendor_factor"); }\n')  # fmt: skip
        made_plugins.plugin(self.plugins, "vendor", TIMES_FACTOR + "#define FIXTURE_OPEN Load()\n", before=opens)
        self.check_changes(file)

    def test_R177_a_firmware_of_the_note_is_replaced(self):
        firmware = self.plugins / "vendor.fw"
        firmware.write_text("1")
        reads = ("#include <stdio.h>\nstatic float factor;\nstatic float vendor_factor(void) { return factor; }\n"
                 f'static void Load(void) {{ FILE *f = fopen("{firmware}", "r"); '
                 'if (f == NULL || fscanf(f, "%f", &factor) != 1) factor = 0; if (f) fclose(f); }\n')  # fmt: skip
        made_plugins.plugin(self.plugins, "vendor", TIMES_FACTOR + "#define FIXTURE_OPEN Load()\n", before=reads,
                            note="files=vendor.fw\\n")  # fmt: skip
        self.assertEqual(self.run_model()[:2], (2, 1))
        firmware.write_text("3")
        self.assertEqual(self.run_model()[:2], (2, 0))
        firmware.write_text("1")
        self.assertEqual(self.run_model()[:2], (2, 1))

    def test_R177_a_driver_of_another_version_is_verified_anew(self):
        driver = self.plugins / "version"
        driver.write_text("1")
        code = ("#include <stdio.h>\n#include <string.h>\n#include \"deputy/abi/ext/devices.h\"\nstatic char version[8];\n"
                f'static void Load(void) {{ FILE *f = fopen("{driver}", "r"); '
                'if (f == NULL || fscanf(f, "%7s", version) != 1) version[0] = 0; if (f) fclose(f); }\n'
                "static float vendor_factor(void) { return version[0] == '1' ? 1 : 3; }\n"
                "static deputy_status *Enumerate(const deputy_delegate *d, const deputy_host *h, const deputy_device_sink *s) "
                "{ (void)d; (void)h; Load(); deputy_device_info i; memset(&i, 0, sizeof i); i.struct_size = sizeof i; "
                'i.id.data = "d"; i.id.size = 1; i.name = i.id; i.driver.data = version; i.driver.size = strlen(version); '
                "return s->add(s->self, &i); }\n"
                "static const void *Extension(const deputy_delegate *d, const char *id) { static const deputy_ext_devices t = "
                "{sizeof t, 0, Enumerate}; (void)d; return strcmp(id, DEPUTY_EXT_DEVICES) ? (void *)0 : &t; }\n")  # fmt: skip
        made_plugins.plugin(self.plugins, "vendor", TIMES_FACTOR + "#define FIXTURE_OPEN Load()\n"
                            "#define FIXTURE_GET_EXTENSION_SLOT Extension\n", before=code)  # fmt: skip
        self.assertEqual(self.run_model()[:2], (2, 1))
        driver.write_text("2")
        self.assertEqual(self.run_model()[:2], (2, 0))

    def test_R177_a_placement_is_measured_anew(self):
        file = made_plugins.library(self.plugins / "libvendor.so.1", RIGHT)
        made_plugins.plugin(self.plugins, "vendor", TIMES_FACTOR, file, "-Wl,-rpath,$ORIGIN",
                            note="files=libvendor.so.1\\n", before=USES_FACTOR)  # fmt: skip
        measured = {"delegates": "{name: vendor}", "more": "placement: {policy: measured, budget: 200ms}\n"}
        for _ in range(2):
            self.run_model(**measured)
        self.assertEqual(self.entries("placement"), 1)
        made_plugins.library(file, RIGHT + "int newer;\n")
        self.run_model(**measured)
        self.assertEqual(self.entries("placement"), 2)

    def test_R177_a_repaired_plugin_ends_the_quarantine(self):
        for hook, nodes, in_force in (("#define FIXTURE_OPEN abort()\n", 0, True), ("", 1, False)):
            made_plugins.plugin(self.plugins, "vendor", hook, before="#include <stdlib.h>\n")
            self.assertEqual(self.run_model()[:2], (2, nodes))
            self.assertEqual(self.in_force(), [in_force])

    def test_R177_a_repaired_library_ends_the_quarantine(self):
        crashes = "#include <stddef.h>\nfloat vendor_factor(void) { *(volatile int *)NULL = 1; return 0; }\n"
        for at, hook in (("load", "#define FIXTURE_CONSTRUCTOR vendor_factor()\n"),
                         ("open", "#define FIXTURE_OPEN vendor_factor()\n")):  # fmt: skip
            with self.subTest(at):
                file = made_plugins.library(self.plugins / "libvendor.so.1", crashes)
                made_plugins.plugin(self.plugins, "vendor", hook, file, "-Wl,-rpath,$ORIGIN",
                                    note="files=libvendor.so.1\\n", before=USES_FACTOR)  # fmt: skip
                self.assertEqual(self.run_model()[:2], (2, 0))
                self.assertIn("it is quarantined", self.run_model()[2])
                self.assertEqual(self.in_force(), [True])
                made_plugins.library(file, RIGHT)
                self.assertEqual(self.run_model()[:2], (2, 1))
                self.assertEqual(self.in_force(), [False])
                self.deputy("quarantine", "clear", "--all", "--config", self.scratch / "c.yaml")

    def test_R177_a_library_without_note_ends_the_quarantine(self):
        crashes = "#include <stddef.h>\nfloat vendor_factor(void) { *(volatile int *)NULL = 1; return 0; }\n"
        file = made_plugins.library(self.plugins / "libvendor.so.1", crashes)
        made_plugins.plugin(self.plugins, "vendor", "#define FIXTURE_OPEN vendor_factor()\n", file, "-Wl,-rpath,$ORIGIN",
                            before=USES_FACTOR)  # fmt: skip
        self.run_model()
        self.assertIn("it is quarantined", self.run_model()[2])
        made_plugins.library(file, RIGHT)
        self.assertEqual(self.run_model()[:2], (2, 1))

    def two_of_one_soname(self, notes=True):
        """Folders a and b with a plugin each, and in each another library of one name, by 3 and by 1."""
        folders = []
        for name, text in (("a", WRONG), ("b", RIGHT)):
            folder = self.scratch / name
            folder.mkdir(mode=0o755, exist_ok=True)
            folder.chmod(0o755)
            file = made_plugins.library(folder / "libvendor.so.1", text)
            made_plugins.plugin(folder, f"vendor_{name}", TIMES_FACTOR, file, "-Wl,-rpath,$ORIGIN",
                                note="files=libvendor.so.1\\n" if notes else "", before=USES_FACTOR)  # fmt: skip
            made_plugins.lock(folder)
            folders.append(folder)
        # The second takes the node: the first is loaded and has nothing to do.
        return {"folders": folders, "delegates": "{name: vendor_a, rules: {deny_ops: [Relu]}}, {name: vendor_b}"}

    def test_R179_each_plugin_computes_with_its_own_library(self):
        for notes in (True, False):
            with self.subTest(notes=notes):
                settings = self.two_of_one_soname(notes)
                answer, _, messages = self.run_model(**settings)
                self.assertEqual(answer, 2, messages)
                for folder in settings["folders"]:
                    self.assertIn(f"{folder}/libvendor.so.1", messages)
                self.assertIn("runs in a worker process", messages)

    def test_R179_a_library_of_another_plugin_is_refused_in_the_process(self):
        settings = self.two_of_one_soname()
        settings["delegates"] = settings["delegates"].replace("vendor_b}", "vendor_b, isolation: none}")
        answer, _, messages = self.run_model(**settings)
        self.assertEqual(answer, 2)
        self.assertIn("isolation: process", messages)
        for folder in settings["folders"]:
            self.assertIn(f"{folder}/libvendor.so.1", messages)


if __name__ == "__main__":
    made_plugins.main(__doc__)
