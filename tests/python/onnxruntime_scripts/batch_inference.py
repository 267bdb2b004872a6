"""Runs batches of several sizes through a model with a dynamic batch."""

import pathlib
import sys

import numpy as np
import onnxruntime as ort

folder = pathlib.Path(sys.argv[1])
session = ort.InferenceSession(str(folder / "digits.onnx"), providers=["CPUExecutionProvider"])
images = np.stack([
    np.frombuffer(path.read_bytes()[-784:], np.uint8).reshape(1, 28, 28).astype(np.float32) / 255
    for path in sorted((folder / "images").glob("*.pgm"))
])
print("input shape:", session.get_inputs()[0].shape)
for size in (1, 3, 8, 20):
    found = []
    for start in range(0, len(images), size):
        logits, = session.run(None, {"image": images[start:start + size]})
        found.extend(logits.argmax(axis=1).tolist())
    print(size, found)
