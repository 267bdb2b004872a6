"""Asks for a GPU first, and goes on with the CPU where there is none."""

import pathlib
import sys
import warnings

import numpy as np
import onnxruntime as ort

warnings.simplefilter("ignore")
folder = pathlib.Path(sys.argv[1])
wanted = [("CUDAExecutionProvider", {"device_id": 0}), "CPUExecutionProvider"]
session = ort.InferenceSession(str(folder / "digits.onnx"), providers=wanted)
print(session.get_providers())
print(session.get_provider_options())
print("CPUExecutionProvider" in ort.get_available_providers())
session.set_providers(["CPUExecutionProvider"])
print(session.run(["logits"], {"image": np.zeros((1, 1, 28, 28), np.float32)})[0].shape)
print(ort.get_device())
