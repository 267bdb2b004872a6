"""A model from memory with two outputs, of which a run may take one; and a sequence of tensors."""

import sys

import numpy as np
import onnxruntime as ort

with open(sys.argv[2] + "/two_outputs.onnx", "rb") as file:
    session = ort.InferenceSession(file.read(), providers=["CPUExecutionProvider"])
x = np.array([[3, 1, 2], [9, 7, 8]], np.float32)
print([(value.name, value.type, value.shape) for value in session.get_outputs()])
values, indices = session.run(None, {"x": x, "k": np.array([2], np.int64)})
print(values.tolist(), indices.tolist(), indices.dtype)
print(session.run(["indices"], {"x": x, "k": np.array([1], np.int64)})[0].tolist())
print([array.shape for array in session.run(["indices", "values"], {"x": x, "k": np.array([3], np.int64)})])

session = ort.InferenceSession(sys.argv[2] + "/sequence.onnx", providers=["CPUExecutionProvider"])
print(session.get_outputs()[0].type, session.get_outputs()[0].name)
parts = session.run(None, {"x": x})[0]
print(type(parts).__name__, [part.tolist() for part in parts])
