"""OrtValues: from arrays, from shapes, changed in place, and as inputs of runs."""

import pathlib
import sys

import numpy as np
import onnxruntime as ort

folder = pathlib.Path(sys.argv[1])
session = ort.InferenceSession(str(folder / "digits.onnx"), providers=["CPUExecutionProvider"])

value = ort.OrtValue.ortvalue_from_numpy(np.full((2, 1, 28, 28), 0.5, np.float32))
print(value.device_name(), value.shape(), value.data_type(), value.element_type(), value.is_tensor(), value.has_value())
first = session.run_with_ort_values(["logits"], {"image": value})[0]
print(first.shape(), first.data_type(), np.round(first.numpy()[0], 3).tolist())

value.update_inplace(np.zeros((2, 1, 28, 28), np.float32))
second = session.run(["logits"], {"image": value.numpy()})[0]
print(np.round(second[0], 3).tolist())

empty = ort.OrtValue.ortvalue_from_shape_and_type([3, 4], np.int64)
print(empty.shape(), empty.data_type(), empty.numpy().dtype, empty.tensor_size_in_bytes())
