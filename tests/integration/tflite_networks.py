"""TensorFlow Lite models of several operators that are drawn by number."""

import numpy as np
from tflite_operators import Case, i32


class Network:
    """A model of random operators on images, in which layouts meet in every way."""

    def __init__(self, seed, steps=9):
        self.it = Case(seed)
        self.rng = self.it.rng
        shape = tuple(int(n) for n in self.rng.integers(2, 7, 3))
        self.live = [(self.it.feed(self.it.reals(2, *shape)), (2, *shape))]
        kinds = [name for name in dir(self) if name.startswith("add_")]
        while steps > 0:
            steps -= getattr(self, kinds[self.rng.integers(len(kinds))])(*self.live[self.rng.integers(len(self.live))])

    def finish(self):
        chosen = {self.live[-1][0], self.live[self.rng.integers(len(self.live))][0]}
        return self.it.writer.finish(sorted(chosen))

    def make(self, name, inputs, shape, **options):
        made = self.it.op(name, inputs, [("float32", shape, None)], **options)
        self.live.append((made, tuple(int(n) for n in shape)))
        return 1

    def constant(self, *shape, scale=1.0):
        return self.it.writer.constant(self.it.reals(*shape) * np.float32(scale))

    def ints(self, *values):
        return self.it.writer.constant(i32(*values))

    def add_conv(self, x, shape):
        out, stride = int(self.rng.integers(1, 5)), int(self.rng.integers(1, 3))
        ids = [x, self.constant(out, 3, 2, shape[3], scale=0.2), self.constant(out)]
        size = [-(-n // stride) for n in shape[1:3]]
        return self.make("CONV_2D", ids, (shape[0], *size, out), padding=0, strideW=stride, strideH=stride,
                         fusedActivationFunction=int(self.rng.integers(0, 4)))

    def add_depthwise(self, x, shape):
        ids = [x, self.constant(1, 3, 3, shape[3], scale=0.3), self.constant(shape[3])]
        return self.make("DEPTHWISE_CONV_2D", ids, shape, padding=0, strideW=1, strideH=1, depthMultiplier=1)

    def add_pool(self, x, shape):
        name = ("MAX_POOL_2D", "AVERAGE_POOL_2D")[self.rng.integers(2)]
        return self.make(name, [x], shape, padding=0, strideW=1, strideH=1, filterWidth=2, filterHeight=3)

    def add_unary(self, x, shape):
        return self.make(("RELU", "LOGISTIC", "TANH", "HARD_SWISH")[self.rng.integers(4)], [x], shape)

    def add_binary(self, x, shape):
        others = [made for made, other in self.live if other == shape]
        constants = [self.constant(shape[3]), self.constant(1, shape[1], 1, shape[3]), self.constant(shape[2], 1),
                     self.constant()]
        return self.make(("ADD", "MUL", "SUB", "MAXIMUM")[self.rng.integers(4)],
                         [x, (others + constants)[self.rng.integers(len(others) + 4)]], shape)

    def add_concatenation(self, x, shape):
        others = [made for made, other in self.live if other == shape]
        axis = int(self.rng.integers(4))
        return self.make("CONCATENATION", [x, others[self.rng.integers(len(others))]],
                         [n * 2 if i == axis else n for i, n in enumerate(shape)], axis=axis)

    def add_pad(self, x, shape):
        pads = self.rng.integers(0, 2, (4, 2), np.int32)
        return self.make("PAD", [x, self.it.writer.constant(pads)], [n + sum(pads[i]) for i, n in enumerate(shape)])

    def add_transpose(self, x, shape):
        perm = [(0, 3, 1, 2), (0, 2, 3, 1), tuple(int(n) for n in self.rng.permutation(4))][self.rng.integers(3)]
        return self.make("TRANSPOSE", [x, self.ints(*perm)], [shape[axis] for axis in perm])

    def add_slice(self, x, shape):
        begin = [int(self.rng.integers(0, n)) for n in shape]
        size = [int(self.rng.integers(1, n - b + 1)) for n, b in zip(shape, begin)]
        return self.make("SLICE", [x, self.ints(*begin), self.ints(*size)], size)

    def add_strided_slice(self, x, shape):
        step = [int(self.rng.integers(1, 3)) for _ in shape]
        return self.make("STRIDED_SLICE", [x, self.ints(0, 0, 0, 0), self.ints(*shape), self.ints(*step)],
                         [-(-n // s) for n, s in zip(shape, step)])

    def add_reduction(self, x, shape):
        axes = sorted({int(axis) for axis in self.rng.integers(0, 4, 2)})
        return self.make(("MEAN", "REDUCE_MAX")[self.rng.integers(2)], [x, self.ints(*axes)],
                         [1 if i in axes else n for i, n in enumerate(shape)], keepDims=True)

    def add_reduction_and_back(self, x, shape):
        axes = [(1, 2), (3,), (1,), (2, 3)][self.rng.integers(4)]
        kept = [n for i, n in enumerate(shape) if i not in axes]
        reduced = self.it.op("MEAN", [x, self.ints(*axes)], [("float32", kept, None)], keepDims=False)
        back = [1 if i in axes else n for i, n in enumerate(shape)]
        return 1 + self.make("RESHAPE", [reduced, self.ints(*back)], back)

    def add_reshape(self, x, shape):
        return self.make("RESHAPE", [x, self.ints(shape[0], shape[2], -1, shape[1])],
                         (shape[0], shape[2], shape[3], shape[1]))

    def add_resize(self, x, shape):
        size = [int(n) for n in self.rng.integers(1, 8, 2)]
        return self.make("RESIZE_BILINEAR", [x, self.ints(*size)], (shape[0], *size, shape[3]), version=3,
                         halfPixelCenters=True)

    def add_softmax(self, x, shape):
        return self.make("SOFTMAX", [x], shape, beta=1.0)
