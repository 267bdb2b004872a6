"""Options that programs set before they make a session."""

import pathlib
import sys

import numpy as np
import onnxruntime as ort

folder = pathlib.Path(sys.argv[1])
options = ort.SessionOptions()
options.intra_op_num_threads = 1
options.inter_op_num_threads = 1
options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
options.enable_mem_pattern = False
options.enable_cpu_mem_arena = False
options.log_severity_level = 3
options.logid = "digits"
options.add_session_config_entry("session.intra_op.allow_spinning", "0")
print(options.get_session_config_entry("session.intra_op.allow_spinning"))

session = ort.InferenceSession(str(folder / "digits.onnx"), sess_options=options, providers=["CPUExecutionProvider"])
print(session.get_session_options().intra_op_num_threads, session.get_session_options().logid)
ones = np.ones((4, 1, 28, 28), np.float32)
print(np.round(session.run(None, {"image": ones})[0][0], 3).tolist())
