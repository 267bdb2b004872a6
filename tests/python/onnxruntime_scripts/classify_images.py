"""Classifies pictures one by one, with the softmax of the scores."""

import pathlib
import sys

import numpy as np
import onnxruntime as ort

folder = pathlib.Path(sys.argv[1])
session = ort.InferenceSession(str(folder / "digits.onnx"), providers=["CPUExecutionProvider"])
input_name = session.get_inputs()[0].name
output_name = session.get_outputs()[0].name


def load(path):
    pixels = np.frombuffer(path.read_bytes()[-784:], dtype=np.uint8)
    return (pixels.astype(np.float32) / 255.0).reshape(1, 1, 28, 28)


def softmax(x):
    e = np.exp(x - np.max(x))
    return e / e.sum()


for path in sorted((folder / "images").glob("*.pgm")):
    scores = session.run([output_name], {input_name: load(path)})[0]
    probabilities = softmax(scores[0])
    best = int(np.argmax(probabilities))
    print(f"{path.name}: class {best}, probability {probabilities[best]:.4f}")
