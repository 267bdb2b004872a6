"""The same for the operators of com.microsoft."""

import numpy as np
from operator_workloads import ODD, PICTURE, SCALE, USES, ZERO, Fixed, floats, integers, use

# fmt: off: a table
ROWS, ODD_ROWS = (1, 128, 768), (3, 37, 301)
BYTES = dict(dtype=np.uint8)


def mine(operator, typical, awkward, outputs=None, **common):
    use(f"Microsoft_{operator}", typical, awkward, outputs, opset=21, **common)


mine("BiasGelu", [floats(*ROWS), Fixed(floats(768))], [floats(*ODD_ROWS), floats(301)])
mine("FastGelu", [floats(*ROWS), Fixed(floats(768))], [floats(*ODD_ROWS)])
mine("Gelu", [floats(*ROWS)], [floats(*ODD_ROWS)])
mine("QuickGelu", [floats(*ROWS)], ([floats(*ODD_ROWS)], {"alpha": 0.5}))
for name in ("FusedMatMul", "TransposeMatMul"):
    mine(name, ([floats(12, 128, 64), floats(12, 128, 64)], {"transB": 1, "alpha": 0.125}),
         ([floats(7, 61, 127), floats(7, 61, 131)], {"transA": 1}))
mine("FusedGemm", ([floats(64, 2048), Fixed(floats(2048, 1000)), Fixed(floats(1000))], {"activation": "Relu"}),
     ([floats(301, 127), floats(61, 301), floats(127, 1)], {"transA": 1, "transB": 1, "activation": "Sigmoid"}))
mine("FusedConv", ([floats(1, 64, 56, 56), Fixed(floats(64, 64, 3, 3)), Fixed(floats(64))],
                   {"pads": [1, 1, 1, 1], "activation": "Relu"}),
     ([floats(2, 6, 37, 61), Fixed(floats(9, 2, 5, 3))], {"group": 3, "strides": [2, 1], "activation": "Tanh"}))
mine("SkipLayerNormalization", [floats(*ROWS), floats(*ROWS), Fixed(floats(768)), Fixed(floats(768)), Fixed(floats(768))],
     [floats(*ODD_ROWS), floats(*ODD_ROWS), floats(301)])
mine("SkipSimplifiedLayerNormalization", [floats(*ROWS), floats(*ROWS), Fixed(floats(768))],
     [floats(*ODD_ROWS), floats(*ODD_ROWS), floats(301)])
TABLES = [Fixed(floats(3000, 768)), Fixed(floats(512, 768)), Fixed(floats(2, 768)), Fixed(floats(768)), Fixed(floats(768))]
WORDS = dict(high=2, dtype=np.int32)
mine("EmbedLayerNormalization", [integers(1, 128, high=3000, dtype=np.int32), integers(1, 128, **WORDS), *TABLES],
     [integers(7, 61, high=3000, dtype=np.int32), integers(7, 61, **WORDS), *TABLES, integers(7, 61, **WORDS)],
     outputs=(np.float32, np.int32))
mine("Attention", ([floats(1, 128, 384), Fixed(floats(384, 1152)), Fixed(floats(1152))], {"num_heads": 12}),
     ([floats(3, 37, 66), floats(66, 198), floats(198)], {"num_heads": 6, "unidirectional": 1}))
mine("MultiHeadAttention", ([floats(1, 128, 384), floats(1, 128, 384), floats(1, 128, 384)], {"num_heads": 12}),
     ([floats(3, 37, 66), floats(3, 61, 66), floats(3, 61, 66)], {"num_heads": 6}))
CACHE = [None, None, np.full(1, 127, np.int32), np.array(128, np.int32)]
ODD_CACHE = [floats(2, 2, 24, 16), floats(2, 2, 24, 16), np.full(2, 60, np.int32), np.array(61, np.int32)]
mine("GroupQueryAttention",
     ([floats(1, 128, 384), floats(1, 128, 128), floats(1, 128, 128), *CACHE], {"num_heads": 12, "kv_num_heads": 4}),
     ([floats(2, 37, 96), floats(2, 37, 32), floats(2, 37, 32), *ODD_CACHE], {"num_heads": 6, "kv_num_heads": 2}),
     outputs=(np.float32,) * 3)
mine("RotaryEmbedding", [floats(1, 8, 512, 64), np.arange(512).reshape(1, 512), Fixed(floats(512, 32)), Fixed(floats(512, 32))],
     ([floats(3, 7, 301, 38), np.tile(np.arange(301), (3, 1)), floats(301, 19), floats(301, 19)], {"interleaved": 1}))
mine("MatMulNBits", ([floats(1, 16, 1024), Fixed(integers(1024, 32, 16, high=256, **BYTES)), Fixed(floats(1024 * 32))],
                     {"K": 1024, "N": 1024, "block_size": 32}),
     ([floats(3, 37, 300), Fixed(integers(61, 5, 32, high=256, **BYTES)), Fixed(floats(61 * 5)),
       Fixed(integers(61 * 3, high=256, **BYTES))], {"K": 300, "N": 61, "block_size": 64}))
for name in ("QLinearAdd", "QLinearMul"):
    mine(name, [integers(*PICTURE, **BYTES), SCALE, ZERO, integers(*PICTURE, **BYTES), SCALE, ZERO, SCALE, ZERO],
         [integers(37, 1, 301, **BYTES), SCALE, ZERO, integers(61, 1, **BYTES), SCALE, ZERO, SCALE, ZERO])
mine("QLinearAveragePool",
     ([integers(*PICTURE, **BYTES), SCALE, ZERO, SCALE, ZERO], {"kernel_shape": [3, 3], "strides": [2, 2]}),
     ([integers(*ODD, **BYTES), SCALE, ZERO, SCALE, ZERO], {"kernel_shape": [5, 2], "strides": [1, 3]}))
mine("QLinearGlobalAveragePool", [integers(*PICTURE, **BYTES), SCALE, ZERO, SCALE, ZERO],
     [integers(*ODD, **BYTES), SCALE, ZERO, SCALE, ZERO])
for name in ("QLinearSigmoid", "QLinearLeakyRelu"):
    mine(name, [integers(*PICTURE, **BYTES), SCALE, ZERO, SCALE, ZERO], [integers(*ODD, **BYTES), SCALE, ZERO, SCALE, ZERO])
mine("QLinearConcat",
     ([SCALE, ZERO, integers(1, 32, 112, 112, **BYTES), SCALE, ZERO, integers(1, 32, 112, 112, **BYTES), SCALE, ZERO],
      {"axis": 1}),
     ([SCALE, ZERO, integers(301, 37, 17, **BYTES), Fixed(np.float32(0.07)), ZERO, integers(301, 37, 29, **BYTES), SCALE, ZERO],
      {"axis": 2}))
mine("QLinearSoftmax", ([integers(1024, 1000, **BYTES), SCALE, ZERO, Fixed(np.float32(1 / 256)), Fixed(np.uint8(0))], {"opset": 13}),
     ([integers(*ODD, **BYTES), SCALE, ZERO, Fixed(np.float32(1 / 256)), Fixed(np.uint8(0))], {"opset": 13, "axis": 2}))
mine("DynamicQuantizeMatMul",
     [floats(128, 384), Fixed(integers(384, 1536, low=-90, dtype=np.int8)), SCALE, Fixed(np.int8(0)), Fixed(floats(1536))],
     [floats(7, 37, 61), integers(61, 131, **BYTES), SCALE, ZERO])
mine("MatMulIntegerToFloat", [integers(128, 384, **BYTES), Fixed(integers(384, 1536, low=-90, dtype=np.int8)), SCALE, SCALE, ZERO],
     [integers(37, 61, **BYTES), integers(61, 131, **BYTES), SCALE, SCALE, ZERO, ZERO], outputs=(np.float32,))
mine("QGemm", [integers(64, 1024, **BYTES), SCALE, ZERO, Fixed(integers(1024, 1000, **BYTES)), SCALE, ZERO,
               Fixed(integers(1000, dtype=np.int32)), SCALE, ZERO],
     ([integers(37, 61, **BYTES), SCALE, ZERO, integers(131, 61, **BYTES), SCALE, ZERO, None, SCALE, ZERO], {"transB": 1}))
mine("QuantizeLinear", [floats(*PICTURE), SCALE, ZERO], [floats(*ODD), Fixed(floats(37, low=0.1)), Fixed(np.zeros(37, np.int8))],
     outputs=(np.uint8,))
USES[-1].outputs = (np.int8,)
mine("DequantizeLinear", [integers(*PICTURE, **BYTES), SCALE, ZERO],
     [integers(*ODD, dtype=np.int8), Fixed(floats(37, low=0.1)), Fixed(np.zeros(37, np.int8))], outputs=(np.float32,))
