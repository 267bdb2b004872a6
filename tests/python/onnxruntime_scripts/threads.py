"""One session, run by several threads at once."""

import concurrent.futures
import pathlib
import sys

import numpy as np
import onnxruntime as ort

folder = pathlib.Path(sys.argv[1])
options = ort.SessionOptions()
options.intra_op_num_threads = 1
session = ort.InferenceSession(folder / "digits.onnx", options, providers=["CPUExecutionProvider"])


def classify(path):
    image = np.frombuffer(path.read_bytes()[-784:], np.uint8).reshape(1, 1, 28, 28).astype(np.float32) / 255
    return int(session.run(["logits"], {"image": image})[0].argmax())


with concurrent.futures.ThreadPoolExecutor(8) as pool:
    print(list(pool.map(classify, sorted((folder / "images").glob("*.pgm")) * 5)))
