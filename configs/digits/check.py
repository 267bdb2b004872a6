#!/usr/bin/python3
"""Checks the committed model and images against README.md and record.json.

Runs the committed digits.onnx node by node in plain numpy, with code that
shares nothing with the training's, so an export mistake shows as well.

    apt-get install python3-numpy python3-pil python3-onnx \\
        fonts-cantarell fonts-roboto-unhinted fonts-sil-gentium-basic fonts-inconsolata

Exit status: 0 all holds; 1 something does not; 77 nothing failed, but for want
of the held-out fonts the images and the accuracy could not be checked.
With --retrain the training runs again (train.py lists its fonts): the same
model must come out, or, where arithmetic or versions differ, one as accurate.
"""

import argparse
import hashlib
import json
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # Keeps __pycache__ out of the shipped folder.

import train  # Before numpy: it sets the number of BLAS threads.

import numpy as np
import onnx
from numpy.lib.stride_tricks import sliding_window_view
from onnx import helper, numpy_helper

import draw

HERE = Path(__file__).resolve().parent

# In percentage points. The committed model may slip by a picture or two that
# another BLAS rounds differently; another training run differs by more.
TOLERANCE = 0.1
RETRAIN_TOLERANCE = 0.5
LEAST_HELD_OUT = 98.0
LEAST_SHIPPED = 95.0
MOST_MODEL_BYTES = 100_000

failures = []


def expect(holds, statement):
    """Prints one line on the statement and remembers it if it does not hold."""
    print(("ok      " if holds else "FAILED  ") + statement)
    if not holds:
        failures.append(statement)


def conv(image, weight, bias, strides, pads, kernel_shape):
    """ONNX Conv without padding, stride 1: all this model has."""
    if any(pads) or any(step != 1 for step in strides):
        raise NotImplementedError("padded or strided Conv")
    windows = sliding_window_view(image, tuple(kernel_shape), axis=(2, 3))
    return np.einsum("nchwyx,ocyx->nohw", windows, weight, optimize=True) \
        + bias[:, np.newaxis, np.newaxis]


def max_pool(image, kernel_shape, strides):
    """ONNX MaxPool without padding."""
    windows = sliding_window_view(image, tuple(kernel_shape), axis=(2, 3))
    return windows[:, :, ::strides[0], ::strides[1]].max(axis=(4, 5))


def gemm(a, b, c, transB=0):
    """ONNX Gemm with alpha and beta of 1."""
    return a @ (b.T if transB else b) + c


OPERATORS = {
    "Conv": conv,
    "Relu": lambda x: np.maximum(x, 0),
    "MaxPool": max_pool,
    "Flatten": lambda x, axis: x.reshape(int(np.prod(x.shape[:axis])), -1),
    "Gemm": gemm,
}


def evaluate(model, images):
    """The model's logits for float32 images [n, 1, 28, 28]."""
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    values[model.graph.input[0].name] = images
    for node in model.graph.node:
        attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        inputs = [values[name] for name in node.input]
        values[node.output[0]] = OPERATORS[node.op_type](*inputs, **attributes)
    return values[model.graph.output[0].name]


def percent_right(model, pixels, labels):
    """Accuracy in percent; evaluated in slices to keep memory small."""
    right = 0
    for start in range(0, len(labels), 500):
        part = slice(start, start + 500)
        logits = evaluate(model, draw.as_input(pixels[part]))
        right += int((logits.argmax(axis=1) == labels[part]).sum())
    return 100.0 * right / len(labels)


def check_model(record):
    """The file is the recorded one, valid, small, and has the promised interface."""
    data = (HERE / "digits.onnx").read_bytes()
    model = onnx.load_from_string(data)
    onnx.checker.check_model(model, full_check=True)
    digest = hashlib.sha256(data).hexdigest()
    expect(digest == record["model_sha256"], f"digits.onnx is the recorded model, {digest}")
    expect(len(data) < MOST_MODEL_BYTES, f"digits.onnx is small: {len(data)} bytes")

    def interface(value):
        dims = value.type.tensor_type.shape.dim
        return (value.name, value.type.tensor_type.elem_type,
                [dim.dim_param or dim.dim_value for dim in dims])

    expect([interface(one) for one in model.graph.input]
           == [("image", onnx.TensorProto.FLOAT, ["batch", 1, 28, 28])]
           and [interface(one) for one in model.graph.output]
           == [("logits", onnx.TensorProto.FLOAT, ["batch", 10])],
           "it maps image [batch, 1, 28, 28] to logits [batch, 10], float32")
    parameters = sum(int(np.prod(tensor.dims)) for tensor in model.graph.initializer)
    print(f"        {parameters} parameters, opset {model.opset_import[0].version}, "
          f"IR version {model.ir_version}")
    return model


def check_committed_images(model):
    """The model reads the truth in the file names off the committed pictures."""
    paths = sorted((HERE / "images").glob("*.pgm"))
    pixels = np.stack([draw.read_pgm(path) for path in paths])
    labels = np.array([int(path.stem.split("_")[1]) for path in paths])
    accuracy = percent_right(model, pixels, labels)
    expect(len(paths) == 20 and accuracy >= LEAST_SHIPPED,
           f"images/: {accuracy:.1f} % of {len(paths)} right")


def check_drawing(record):
    """The script still draws exactly the committed pictures."""
    drawn = {name: draw.pgm_bytes(pixels) for name, pixels in draw.shipped_images().items()}
    committed = {path.name: path.read_bytes() for path in (HERE / "images").iterdir()}
    same = drawn == committed
    here, then = train.versions(), record["made_with"]
    drawers = ("pillow", "freetype")
    if not same and any(here[name] != then[name] for name in drawers):
        print(f"        images/: drawn a little differently here, by {here}; made with {then}")
    else:
        expect(same, "images/ equals the output of draw.py byte for byte")


def check_held_out(model, stated):
    """The accuracy README.md states holds on the re-drawn held-out set."""
    pixels, labels = draw.held_out_set()
    accuracy = percent_right(model, pixels, labels)
    expect(accuracy >= max(stated - TOLERANCE, LEAST_HELD_OUT),
           f"held-out accuracy: {accuracy:.2f} % of {len(labels)}; README.md states {stated:.2f} %")


def check_retrained(record, stated):
    """Training again gives the same file, or failing that an equally good model."""
    model = train.onnx_model(train.train(lambda line: print("        " + line, flush=True)))
    digest = hashlib.sha256(model.SerializeToString()).hexdigest()
    if digest == record["model_sha256"]:
        expect(True, "retrained: the same model bit for bit")
        return
    accuracy = percent_right(model, *draw.held_out_set())
    expect(accuracy >= max(stated - RETRAIN_TOLERANCE, LEAST_HELD_OUT),
           f"retrained: another model ({digest[:12]}), held-out accuracy {accuracy:.2f} %")


def stated_accuracy():
    """The percentage README.md gives, the one place where the number is kept."""
    found = re.search(r"Held-out accuracy: \*\*([0-9.]+) %\*\*", (HERE / "README.md").read_text())
    if not found:
        sys.exit("README.md states no held-out accuracy")
    return float(found[1])


def main():
    """Runs every check, and reports all that fails rather than the first."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--retrain", action="store_true", help="train again and compare (minutes)")
    arguments = parser.parse_args()
    record = json.loads((HERE / "record.json").read_text())
    stated = stated_accuracy()
    model = check_model(record)
    check_committed_images(model)
    incomplete = False
    try:
        check_drawing(record)
        check_held_out(model, stated)
        if arguments.retrain:
            check_retrained(record, stated)
    except draw.MissingFonts as missing:
        print(f"        fonts are missing, so not all was checked: {missing}")
        incomplete = True
    if failures:
        sys.exit(1)
    if incomplete:
        sys.exit(77)


if __name__ == "__main__":
    main()
