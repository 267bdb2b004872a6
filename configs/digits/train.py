#!/usr/bin/python3
"""Trains the digit classifier from drawn digits and writes everything shipped here.

Writes digits.onnx, images/*.pgm and record.json beside this file (or below
--out). Plain numpy does the training, so Debian 12 packages are all it takes:

    apt-get install python3-numpy python3-pil python3-onnx libopenblas0-pthread \\
        fonts-dejavu-core fonts-dejavu-extra fonts-liberation fonts-freefont-ttf \\
        fonts-lato fonts-open-sans fonts-linuxlibertine fonts-crosextra-caladea \\
        fonts-cabin \\
        fonts-cantarell fonts-roboto-unhinted fonts-sil-gentium-basic fonts-inconsolata

The last line's fonts are the held-out ones: only tests use them. Any BLAS
will do; without OpenBLAS training is merely slow.
"""

import os

# One BLAS thread: how a product is split among threads decides the order of
# its sums, and with it the last bits of every weight. Must precede numpy.
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import sys

sys.dont_write_bytecode = True  # Keeps __pycache__ out of the shipped folder.

import argparse
import hashlib
import json
import math
import time
from pathlib import Path

import numpy as np
import onnx
import PIL
from numpy.lib.stride_tricks import sliding_window_view
from onnx import TensorProto, helper, numpy_helper
from PIL import features

import draw

HERE = Path(__file__).resolve().parent

TRAINING_SEED = 10_001
TRAINING_COUNT = 30_000
EPOCHS = 6
BATCH = 50
PEAK_RATE = 2e-3

KERNEL = 5
CHANNELS = (8, 16)


class Network:
    """Conv-ReLU-MaxPool twice, then one dense layer, forward and backward.

    Arrays are laid out NHWC here because im2col then needs no transposition;
    onnx_model() turns the weights to ONNX's NCHW.
    """

    def __init__(self, rng):
        """He initialisation; the 16 4x4 maps left after two stages feed the dense layer."""
        first, second = CHANNELS

        def weights(fan_in, fan_out):
            values = rng.normal(0.0, math.sqrt(2.0 / fan_in), (fan_in, fan_out))
            return values.astype(np.float32)

        self.parameters = {
            "conv1.weight": weights(KERNEL * KERNEL, first),
            "conv1.bias": np.zeros(first, np.float32),
            "conv2.weight": weights(KERNEL * KERNEL * first, second),
            "conv2.bias": np.zeros(second, np.float32),
            "dense.weight": weights(4 * 4 * second, 10),
            "dense.bias": np.zeros(10, np.float32),
        }

    def _stage(self, name, images):
        """One conv-ReLU-MaxPool; also returns the values that its backward pass needs."""
        weight, bias = self.parameters[name + ".weight"], self.parameters[name + ".bias"]
        windows = sliding_window_view(images, (KERNEL, KERNEL), axis=(1, 2))
        count, height, width = windows.shape[:3]
        columns = windows.transpose(0, 1, 2, 4, 5, 3).reshape(-1, len(weight))
        maps = (columns @ weight).reshape(count, height // 2, 2, width // 2, 2, -1)
        quads = maps.transpose(0, 1, 3, 5, 2, 4).reshape(count, height // 2, width // 2, -1, 4)
        # Bias and ReLU are monotone, so pooling first gives the same and is cheaper.
        winners = quads.argmax(axis=-1)[..., np.newaxis]
        pooled = np.take_along_axis(quads, winners, axis=-1)[..., 0] + bias
        active = pooled > 0
        return pooled * active, (images.shape, columns, winners, active)

    def _stage_backward(self, name, saved, gradient, gradients, wants_input):
        """Adds the stage's weight gradients; returns the input's where it is wanted."""
        shape, columns, winners, active = saved
        weight = self.parameters[name + ".weight"]
        count, rows, cols, channels = gradient.shape
        gradient = gradient * active
        gradients[name + ".bias"] = gradient.sum(axis=(0, 1, 2))
        quads = np.zeros((count, rows, cols, channels, 4), np.float32)
        np.put_along_axis(quads, winners, gradient[..., np.newaxis], axis=-1)
        maps = quads.reshape(count, rows, cols, channels, 2, 2).transpose(0, 1, 4, 2, 5, 3)
        maps = maps.reshape(-1, channels)
        gradients[name + ".weight"] = columns.T @ maps
        if not wants_input:
            return None
        height, width = 2 * rows, 2 * cols
        spread = (maps @ weight.T).reshape(count, height, width, KERNEL, KERNEL, shape[3])
        result = np.zeros(shape, np.float32)
        for y in range(KERNEL):
            for x in range(KERNEL):
                result[:, y:y + height, x:x + width] += spread[:, :, :, y, x]
        return result

    def loss_and_gradients(self, images, labels):
        """Mean cross-entropy of a batch and its gradient for every parameter."""
        first, saved1 = self._stage("conv1", images)
        second, saved2 = self._stage("conv2", first)
        flat = second.reshape(len(images), -1)
        logits = flat @ self.parameters["dense.weight"] + self.parameters["dense.bias"]

        logits -= logits.max(axis=1, keepdims=True)
        odds = np.exp(logits)
        chances = odds / odds.sum(axis=1, keepdims=True)
        each = np.arange(len(labels))
        loss = -np.log(chances[each, labels] + 1e-12).mean()

        error = chances
        error[each, labels] -= 1.0
        error /= len(labels)
        gradients = {"dense.weight": flat.T @ error, "dense.bias": error.sum(axis=0)}
        back = (error @ self.parameters["dense.weight"].T).reshape(second.shape)
        back = self._stage_backward("conv2", saved2, back, gradients, wants_input=True)
        self._stage_backward("conv1", saved1, back, gradients, wants_input=False)
        return float(loss), gradients


class Adam:
    """The Adam optimiser, stepping a dictionary of arrays in place."""

    def __init__(self, parameters, beta1=0.9, beta2=0.999):
        self.parameters, self.beta1, self.beta2, self.steps = parameters, beta1, beta2, 0
        self.mean = {name: np.zeros_like(value) for name, value in parameters.items()}
        self.square = {name: np.zeros_like(value) for name, value in parameters.items()}

    def step(self, gradients, rate):
        """One update; `rate` is the learning rate of this step."""
        self.steps += 1
        rate *= math.sqrt(1 - self.beta2 ** self.steps) / (1 - self.beta1 ** self.steps)
        for name, gradient in gradients.items():
            mean, square = self.mean[name], self.square[name]
            mean += np.float32(1 - self.beta1) * (gradient - mean)
            square += np.float32(1 - self.beta2) * (gradient * gradient - square)
            self.parameters[name] -= np.float32(rate) * mean / (np.sqrt(square) + np.float32(1e-8))


def train(report=print):
    """Draws the training set and trains on it; returns the parameters (NHWC layout)."""
    pixels, labels = draw.draw_set(draw.TRAINING_FONTS, TRAINING_COUNT, TRAINING_SEED)
    images = draw.as_input(pixels).reshape(-1, draw.SIDE, draw.SIDE, 1)
    rng = np.random.default_rng(TRAINING_SEED + 1)
    network = Network(rng)
    optimiser = Adam(network.parameters)
    steps = EPOCHS * (TRAINING_COUNT // BATCH)
    for epoch in range(EPOCHS):
        order, total = rng.permutation(TRAINING_COUNT), 0.0
        for chosen in order.reshape(-1, BATCH):
            loss, gradients = network.loss_and_gradients(images[chosen], labels[chosen])
            # A cosine from the peak rate to nothing, so that training converges.
            rate = PEAK_RATE * 0.5 * (1 + math.cos(math.pi * optimiser.steps / steps))
            optimiser.step(gradients, rate)
            total += loss
        report(f"epoch {epoch + 1}/{EPOCHS}: mean loss {total * BATCH / TRAINING_COUNT:.4f}")
    return network.parameters


def onnx_model(parameters):
    """The trained network as an ONNX model, opset 13 and IR version 7."""
    first, second = CHANNELS
    kernel = (KERNEL, KERNEL)
    weights = {
        "conv1.weight": parameters["conv1.weight"].reshape(*kernel, 1, first).transpose(3, 2, 0, 1),
        "conv1.bias": parameters["conv1.bias"],
        "conv2.weight":
            parameters["conv2.weight"].reshape(*kernel, first, second).transpose(3, 2, 0, 1),
        "conv2.bias": parameters["conv2.bias"],
        # Rows follow the flattening of [channel, y, x], and Gemm has transB set.
        "dense.weight":
            parameters["dense.weight"].reshape(4, 4, second, 10).transpose(3, 2, 0, 1)
            .reshape(10, -1),
        "dense.bias": parameters["dense.bias"],
    }
    nodes = []
    previous = "image"
    for stage in ("1", "2"):
        conv, relu, pool = "conv" + stage, "relu" + stage, "pool" + stage
        nodes += [
            helper.make_node("Conv", [previous, conv + ".weight", conv + ".bias"], [conv],
                             name=conv, kernel_shape=kernel, strides=[1, 1], pads=[0, 0, 0, 0]),
            helper.make_node("Relu", [conv], [relu], name=relu),
            helper.make_node("MaxPool", [relu], [pool], name=pool,
                             kernel_shape=[2, 2], strides=[2, 2]),
        ]
        previous = pool
    nodes += [
        helper.make_node("Flatten", [previous], ["flat"], name="flatten", axis=1),
        helper.make_node("Gemm", ["flat", "dense.weight", "dense.bias"], ["logits"],
                         name="dense", transB=1),
    ]
    graph = helper.make_graph(
        nodes, "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT,
                                       ["batch", 1, draw.SIDE, draw.SIDE],
                                       doc_string="grey pixels, 0 ground to 1 ink")],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 10],
                                       doc_string="one score per digit, before softmax")],
        [numpy_helper.from_array(np.ascontiguousarray(value, np.float32), name)
         for name, value in weights.items()])
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7,
        producer_name="configs/digits/train.py",
        doc_string="Classifies a printed digit, 0 to 9, on a 28x28 grey picture. "
                   "Trained by configs/digits/train.py on digits it draws from fonts.")
    helper.set_model_props(model, {
        "labels": "0,1,2,3,4,5,6,7,8,9",
        "input": "28x28 grey, dark ground 0, bright ink 1",
        "trained_by": "configs/digits/train.py",
    })
    onnx.checker.check_model(model, full_check=True)
    return model


def versions():
    """The versions that can change a pixel or a weight."""
    return {"numpy": np.__version__, "pillow": PIL.__version__,
            "freetype": features.version("freetype2")}


def main():
    """Trains and writes the model, the images and the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=HERE, help="folder to write to")
    out = parser.parse_args().out
    images = draw.shipped_images()  # First, so that a missing font shows at once.
    started = time.monotonic()
    model = onnx_model(train()).SerializeToString()
    print(f"trained in {time.monotonic() - started:.0f} s; {len(model)} bytes")

    (out / "images").mkdir(parents=True, exist_ok=True)
    (out / "digits.onnx").write_bytes(model)
    for name, pixels in images.items():
        (out / "images" / name).write_bytes(draw.pgm_bytes(pixels))
    record = {"model_sha256": hashlib.sha256(model).hexdigest(), "made_with": versions()}
    (out / "record.json").write_text(json.dumps(record, indent=2) + "\n")
    print("now run check.py, and put the accuracy it prints in README.md")


if __name__ == "__main__":
    main()
