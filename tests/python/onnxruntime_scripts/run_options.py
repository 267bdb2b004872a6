"""Options of a run, and the end of one that is not wanted any more."""

import pathlib
import sys

import numpy as np
import onnxruntime as ort

folder = pathlib.Path(sys.argv[1])
session = ort.InferenceSession(str(folder / "digits.onnx"), providers=["CPUExecutionProvider"])
image = np.zeros((1, 1, 28, 28), np.float32)

options = ort.RunOptions()
options.log_severity_level = 4
options.logid = "one run"
options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
print(options.get_run_config_entry("memory.enable_memory_arena_shrinkage"))
print(np.round(session.run(None, {"image": image}, options)[0][0, :3], 3).tolist())

options.terminate = True
try:
    session.run(None, {"image": image}, options)
    print("not ended")
except Exception:
    print("ended")
options.terminate = False
print(session.run(None, {"image": image}, run_options=options)[0].shape)

for feed in ({}, {"image": np.zeros((1, 1, 28, 28), np.float64)}, {"image": np.zeros((1, 28, 28), np.float32)}):
    try:
        session.run(None, feed)
        print("accepted")
    except Exception:
        print("refused")
