#!/usr/bin/env python3
"""Makes the inputs with which the fuzz targets begin, corpus/<target>/, from small models and the configurations of the
tree. They are committed, since the replay needs them in every build.

  make_corpora.py --deputy build/release/bin/deputy           writes them
  make_corpora.py --deputy build/release/bin/deputy --check   compares them with those of the tree
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import corpus_bundle
import corpus_config
import corpus_dpm
import corpus_onnx
import corpus_plugin
import corpus_plugins
import corpus_store
import corpus_tflite
import corpus_worker

FOLDER = Path(__file__).resolve().parent / "corpus"
MOST_BYTES = 64 * 1024  # of one target's files together


class Tools:
    """The programs that write formats, and a folder for what they write."""

    def __init__(self, deputy, flatc, folder):
        self.deputy, self.flatc, self.folder = Path(deputy).resolve(), flatc, Path(folder)

    def run(self, *command):
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=self.folder,
                              env={**os.environ, "DEPUTY_CONFIG": "cpu-only"})
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def corpora(tools):
    """Target to names to bytes."""
    models = corpus_onnx.models()
    made = {
        "bundle": corpus_bundle.files(),
        "config": corpus_config.files(),
        "dpm": corpus_dpm.files(tools, models),
        "onnx": models,
        "onnx_run": corpus_onnx.runnable(),
        "placement_file": corpus_store.placement_files(),
        "plugin_file": corpus_plugin.files(),
        "plugin_null": corpus_plugins.files(),
        "plugin_onednn": corpus_plugins.files(),
        "plugin_sim_npu": corpus_plugins.files(),
        "store": corpus_store.files(),
        "tensor_file": corpus_onnx.tensors(),
        "tflite": corpus_tflite.files(tools),
        "worker_host": corpus_worker.conversations(),
        "worker_messages": corpus_worker.messages(),
    }
    for target, files in made.items():
        size = sum(map(len, files.values()))
        if not files or size > MOST_BYTES:
            raise SystemExit(f"{target}: {len(files)} files of {size} bytes")
    return made


def differences(made):
    wrong = []
    for target, files in made.items():
        present = {path.name: path.read_bytes() for path in (FOLDER / target).glob("*")}
        wrong += [f"{target}/{name} is not in the tree" for name in sorted(files.keys() - present.keys())]
        wrong += [f"{target}/{name} is not made" for name in sorted(present.keys() - files.keys())]
        wrong += [f"{target}/{name} differs" for name in sorted(files) if present.get(name, files[name]) != files[name]]
    wrong += [f"{path.name}/ is not made" for path in FOLDER.glob("*") if path.name not in made]
    return wrong


def write(made):
    for target, files in made.items():
        folder = FOLDER / target
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*"):
            old.unlink()
        for name, content in files.items():
            (folder / name).write_bytes(content)
        print(f"{target}: {len(files)} files, {sum(map(len, files.values()))} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deputy", required=True)
    parser.add_argument("--flatc", default="flatc")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made = corpora(Tools(arguments.deputy, arguments.flatc, folder))
    if not arguments.check:
        write(made)
        return 0
    wrong = differences(made)
    for line in wrong:
        print(line)
    print(f"corpora: {len(made)} targets, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
