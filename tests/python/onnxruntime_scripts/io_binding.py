"""Binds inputs and outputs, so that runs make no arrays."""

import pathlib
import sys

import numpy as np
import onnxruntime as ort

folder = pathlib.Path(sys.argv[1])
session = ort.InferenceSession(str(folder / "digits.onnx"), providers=["CPUExecutionProvider"])
x = np.frombuffer(sorted((folder / "images").glob("*.pgm"))[7].read_bytes()[-784:], np.uint8)
x = (x.astype(np.float32) / 255).reshape(1, 1, 28, 28)

io_binding = session.io_binding()
io_binding.bind_cpu_input("image", x)
io_binding.bind_output("logits")
session.run_with_iobinding(io_binding)
print("copied:", io_binding.copy_outputs_to_cpu()[0].argmax())

x_value = ort.OrtValue.ortvalue_from_numpy(x)
y_value = ort.OrtValue.ortvalue_from_shape_and_type([1, 10], np.float32, "cpu", 0)
io_binding.clear_binding_inputs()
io_binding.clear_binding_outputs()
io_binding.bind_input(name="image", device_type="cpu", device_id=0, element_type=np.float32,
                      shape=x_value.shape(), buffer_ptr=x_value.data_ptr())
io_binding.bind_output(name="logits", device_type="cpu", device_id=0, element_type=np.float32,
                       shape=y_value.shape(), buffer_ptr=y_value.data_ptr())
session.run_with_iobinding(io_binding)
print("in place:", y_value.numpy().argmax(), np.round(float(y_value.numpy().max()), 3))

io_binding.bind_ortvalue_input("image", ort.OrtValue.ortvalue_from_numpy(np.zeros_like(x)))
io_binding.bind_ortvalue_output("logits", y_value)
io_binding.synchronize_inputs()
session.run_with_iobinding(io_binding)
io_binding.synchronize_outputs()
print("zeros:", np.round(y_value.numpy()[0], 3).tolist())
print("outputs:", [value.data_type() for value in io_binding.get_outputs()])
