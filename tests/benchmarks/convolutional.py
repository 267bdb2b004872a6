"""MobileNetV2, ResNet-50 and SqueezeNet as PyTorch exports them, with seeded random weights.

Random weights alone would let the signal die or grow over fifty layers, and outputs that are all the same prove
nothing. So the graph is built together with a small picture that goes through it: each convolution is scaled to the
variance that the picture has there (as in "All you need is a good init", Mishkin and Matas, arXiv 1511.06422), and the
statistics of each BatchNormalization are those of what reaches it. They are rounded, so that another BLAS changes a
last digit at most.
"""

import numpy as np

from onnx_graph import FLOAT, OnnxGraph

SIDE = 224
PICTURE = 64  # of the small picture: a twelfth of the work, and the same statistics
CLASSES = 1000


def rounded(values):
    """Three significant digits; what is nearly zero becomes zero."""
    values = np.asarray(values, np.float64)
    scale = 10.0 ** (2 - np.floor(np.log10(np.maximum(np.abs(values), 1e-3))))
    return (np.round(values * scale) / scale).astype(np.float32)


def pad_to(x, kernel, stride, pads, value=0.0, ceil=False):
    """Padded so that windows of `kernel` at `stride` cover it; also returns how many there are on each axis."""
    counts, extra = [], []
    for extent in x.shape[1:]:
        span = extent + 2 * pads - kernel
        count = (span + (stride - 1 if ceil else 0)) // stride + 1
        counts.append(count)
        extra.append((pads, max(0, (count - 1) * stride + kernel - extent - pads)))
    return np.pad(x, [(0, 0), *extra], constant_values=value), counts


def windows(x, kernel, stride, counts):
    """[channels, rows, columns, kernel, kernel], a view."""
    view = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), axis=(1, 2))[:, ::stride, ::stride]
    return view[:, : counts[0], : counts[1]]


def convolve(x, weight, stride, pads, groups):
    padded, counts = pad_to(x, weight.shape[2], stride, pads)
    view = windows(padded, weight.shape[2], stride, counts)
    if groups == 1:
        return np.tensordot(weight, view, axes=([1, 2, 3], [0, 3, 4]))
    return np.einsum("crskl,ckl->crs", view, weight[:, 0])  # depthwise


class ConvolutionalNetwork:
    """Each method adds nodes for a value, which is its name in the graph and what the small picture is there."""

    def __init__(self, name, seed):
        self.graph = OnnxGraph(name, opset=17)
        self.random = np.random.default_rng(seed)
        picture = self.random.standard_normal((3, PICTURE, PICTURE), np.float32)
        self.input = (self.graph.input("input", FLOAT, (1, 3, SIDE, SIDE)), picture)

    def convolution(self, scope, value, channels, kernel, stride=1, groups=1, pads=None, bias=False):
        """Without `pads` as many as keep the extents at stride 1."""
        name, x = value
        pads = kernel // 2 if pads is None else pads
        shape = (channels, x.shape[0] // groups, kernel, kernel)
        weight = self.random.standard_normal(shape, np.float32)
        weight -= weight.mean(axis=(1, 2, 3), keepdims=True) * 0.9  # else the means of ReLUs drown the signal
        y = convolve(x, weight, stride, pads, groups)
        scale = rounded(1 / y.std())
        weight, y = weight * scale, y * scale
        inputs = [name, self.graph.weight(f"{scope}.weight", weight)]
        if bias:
            values = rounded(0.1 * self.random.standard_normal(channels))
            inputs.append(self.graph.weight(f"{scope}.bias", values))
            y = y + values[:, None, None]
        output = self.graph.node(
            "Conv", *inputs, scope=path(scope), dilations=[1, 1], group=groups, kernel_shape=[kernel] * 2,
            pads=[pads] * 4, strides=[stride] * 2,
        )  # fmt: skip
        return output, y

    def batch_norm(self, scope, value):
        name, x = value
        channels = x.shape[0]
        parameters = {
            "weight": self.random.uniform(0.8, 1.2, channels),
            "bias": 0.2 * self.random.standard_normal(channels),
            "running_mean": x.mean(axis=(1, 2)) + 0.1 * self.random.standard_normal(channels),
            "running_var": x.var() * self.random.uniform(0.7, 1.3, channels),
        }
        parameters = {key: rounded(values) for key, values in parameters.items()}
        inputs = [self.graph.weight(f"{scope}.{key}", values) for key, values in parameters.items()]
        output = self.graph.node("BatchNormalization", name, *inputs, scope=path(scope), epsilon=1e-5, momentum=0.9)
        gamma, beta, mean, variance = (values[:, None, None] for values in parameters.values())
        return output, gamma * (x - mean) / np.sqrt(variance + 1e-5) + beta

    def relu(self, scope, value):
        return self.graph.node("Relu", value[0], scope=path(scope)), np.maximum(value[1], 0)

    def relu6(self, scope, value):
        low, high = (self.graph.constant(np.float32(bound), path(scope)) for bound in (0, 6))
        return self.graph.node("Clip", value[0], low, high, scope=path(scope)), np.clip(value[1], 0, 6)

    def add(self, scope, left, right):
        return self.graph.node("Add", left[0], right[0], scope=path(scope)), left[1] + right[1]

    def concatenate(self, scope, values):
        names = [name for name, _ in values]
        return self.graph.node("Concat", *names, scope=path(scope), axis=1), np.concatenate([x for _, x in values])

    def max_pool(self, scope, value, pads=0, ceil=False):
        padded, counts = pad_to(value[1], 3, 2, pads, -np.inf, ceil)
        output = self.graph.node(
            "MaxPool", value[0], scope=path(scope), ceil_mode=int(ceil), kernel_shape=[3, 3], pads=[pads] * 4,
            strides=[2, 2],
        )  # fmt: skip
        return output, windows(padded, 3, 2, counts).max(axis=(3, 4))

    def flat_average(self, value, output=None):
        pooled = self.graph.node("GlobalAveragePool", value[0])
        return self.graph.node("Flatten", pooled, output=output, axis=1), value[1].mean(axis=(1, 2))

    def classifier(self, scope, value):
        name, x = value
        weight = self.random.standard_normal((CLASSES, x.shape[0]), np.float32) / np.float32(np.sqrt((x * x).sum()))
        bias = rounded(0.1 * self.random.standard_normal(CLASSES))
        inputs = [name, self.graph.weight(f"{scope}.weight", rounded(weight)), self.graph.weight(f"{scope}.bias", bias)]
        self.graph.node("Gemm", *inputs, output="output", scope=path(scope), alpha=1.0, beta=1.0, transB=1)

    def finish(self):
        self.graph.output("output", FLOAT, (1, CLASSES))
        return self.graph


def path(scope):
    return "/" + scope.replace(".", "/")


def resnet50(seed):
    """v1.5: a bottleneck's stride is that of its 3x3 convolution."""
    net = ConvolutionalNetwork("resnet50", seed)

    def block(scope, value, width, stride):
        left = value
        for index, (channels, kernel) in enumerate(((width, 1), (width, 3), (4 * width, 1)), 1):
            left = net.convolution(f"{scope}.conv{index}", left, channels, kernel, stride if kernel == 3 else 1)
            left = net.batch_norm(f"{scope}.bn{index}", left)
            if index < 3:
                left = net.relu(f"{scope}.relu", left)
        if value[1].shape != left[1].shape:
            value = net.convolution(f"{scope}.downsample.0", value, 4 * width, 1, stride)
            value = net.batch_norm(f"{scope}.downsample.1", value)
        return net.relu(f"{scope}.relu", net.add(scope, left, value))

    x = net.relu("relu", net.batch_norm("bn1", net.convolution("conv1", net.input, 64, 7, 2)))
    x = net.max_pool("maxpool", x, pads=1)
    for stage, (blocks, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512)), 1):
        for index in range(blocks):
            x = block(f"layer{stage}.{index}", x, width, 2 if stage > 1 and index == 0 else 1)
    net.classifier("fc", net.flat_average(x))
    return net.finish()


def mobilenet_v2(seed):
    """Width 1.0."""
    net = ConvolutionalNetwork("mobilenet_v2", seed)

    def unit(scope, value, channels, kernel, stride=1, groups=1):
        value = net.batch_norm(f"{scope}.1", net.convolution(f"{scope}.0", value, channels, kernel, stride, groups))
        return net.relu6(f"{scope}.2", value)

    x = unit("features.0", net.input, 32, 3, 2)
    index = 1
    for expansion, channels, repeats, first_stride in (
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
    ):  # fmt: skip
        for repeat in range(repeats):
            scope, stride = f"features.{index}", first_stride if repeat == 0 else 1
            narrow = x[1].shape[0]
            wide = narrow * expansion
            y = x if expansion == 1 else unit(f"{scope}.conv.0", x, wide, 1)
            y = unit(f"{scope}.conv.1", y, wide, 3, stride, groups=wide)
            y = net.batch_norm(f"{scope}.conv.3", net.convolution(f"{scope}.conv.2", y, channels, 1))
            x = net.add(scope, x, y) if stride == 1 and narrow == channels else y
            index += 1
    x = unit(f"features.{index}", x, 1280, 1)
    net.classifier("classifier.1", net.flat_average(x))
    return net.finish()


def squeezenet(seed, version):
    """1.0 starts with 96 filters of 7x7 and pools late; 1.1 does a third of the work."""
    net = ConvolutionalNetwork(f"squeezenet1_{version}", seed)

    def convolution(scope, value, channels, kernel, stride=1, pads=0):
        value = net.convolution(scope, value, channels, kernel, stride, pads=pads, bias=True)
        return net.relu(scope + "_activation", value)

    def fire(scope, value, squeeze, expand):
        value = convolution(f"{scope}.squeeze", value, squeeze, 1)
        parts = [convolution(f"{scope}.expand1x1", value, expand, 1)]
        parts.append(convolution(f"{scope}.expand3x3", value, expand, 3, pads=1))
        return net.concatenate(scope, parts)

    x = convolution("features.0", net.input, *((96, 7, 2) if version == 0 else (64, 3, 2)))
    pools = (0, 3, 7) if version == 0 else (0, 2, 4)
    fires = ((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256))
    for index, (squeeze, expand) in enumerate(fires):
        if index in pools:
            x = net.max_pool(f"features.pool{index}", x, ceil=True)
        x = fire(f"features.fire{index + 2}", x, squeeze, expand)
    x = convolution("classifier.1", x, CLASSES, 1)
    net.flat_average(x, output="output")
    return net.finish()
