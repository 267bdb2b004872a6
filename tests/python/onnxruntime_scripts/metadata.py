"""Prints what a model says of itself."""

import pathlib
import sys

import onnxruntime as ort

folder = pathlib.Path(sys.argv[1])
session = ort.InferenceSession(str(folder / "digits.onnx"), providers=["CPUExecutionProvider"])
meta = session.get_modelmeta()
print("producer:", meta.producer_name)
print("graph:", meta.graph_name)
print("domain:", repr(meta.domain))
print("description:", meta.description)
print("version:", meta.version)
for key in sorted(meta.custom_metadata_map):
    print(f"{key} = {meta.custom_metadata_map[key]}")
labels = meta.custom_metadata_map["labels"].split(",")
print(len(labels), "labels")
for value in session.get_inputs() + session.get_outputs():
    print(value.name, value.type, value.shape)
