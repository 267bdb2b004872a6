"""ONNX Runtime as one of the engines of compare.py: the language of deputy_engine.cpp, on its CPU provider with its
defaults (all optimisations, spinning threads). Inputs and outputs are bound once, as Deputy's are, so that Python's own
time is a few microseconds a run.

  ort_engine.py MODEL THREADS [NAME=FILE.npy...]
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import onnxruntime


def status_bytes(key):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    return 0


def answer(line, session, binding, resident_before):
    command, _, argument = line.strip().partition(" ")
    if command == "run":
        times = []
        for _ in range(int(argument)):
            start = time.perf_counter_ns()
            session.run_with_iobinding(binding)
            times.append(time.perf_counter_ns() - start)
        return " ".join(map(str, times))
    if command == "outputs":
        for index, value in enumerate(binding.copy_outputs_to_cpu()):
            np.save(f"{argument}/{index}.npy", value)
        return "done"
    if command == "memory":
        return json.dumps({"before": resident_before, "peak": status_bytes("VmHWM")})
    raise ValueError(f"unknown command: {line}")


def main():
    model, threads, *inputs = sys.argv[1:]
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(np.load(file)) for name, file in
              (argument.split("=", 1) for argument in inputs)}  # fmt: skip
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(threads)
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    resident_before = status_bytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # from now on the peak is that of what follows
    start = time.perf_counter_ns()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    loaded = time.perf_counter_ns()
    binding = session.io_binding()
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    for output in session.get_outputs():
        binding.bind_output(output.name)
    first = time.perf_counter_ns()
    session.run_with_iobinding(binding)
    first_ns = time.perf_counter_ns() - first
    facts = {"version": onnxruntime.__version__, "load_ns": loaded - start, "first_ns": first_ns}
    print("ready", json.dumps(facts), flush=True)
    for line in sys.stdin:
        print(answer(line, session, binding, resident_before), flush=True)


if __name__ == "__main__":
    try:
        main()
    except Exception as error:  # whatever it is, the other side must hear of it
        print("error", " ".join(str(error).split()), flush=True)
        sys.exit(1)
