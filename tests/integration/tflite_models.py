"""Writes small .tflite models with the schema that comes with ai-edge-litert, for tests that compare with LiteRT."""

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

TYPES = {"float32": schema.TensorType.FLOAT32, "float16": schema.TensorType.FLOAT16, "int8": schema.TensorType.INT8,
         "uint8": schema.TensorType.UINT8, "int16": schema.TensorType.INT16, "int32": schema.TensorType.INT32,
         "int64": schema.TensorType.INT64, "bool": schema.TensorType.BOOL, "complex64": schema.TensorType.COMPLEX64,
         "resource": schema.TensorType.RESOURCE}
# Operators whose table of options has another name than the operator.
OPTIONS = {"CONV_2D": "Conv2D", "DEPTHWISE_CONV_2D": "DepthwiseConv2D", "AVERAGE_POOL_2D": "Pool2D",
           "MAX_POOL_2D": "Pool2D", "L2_NORMALIZATION": "L2Norm", "BATCH_MATMUL": "BatchMatMul",
           "MEAN": "Reducer", "SUM": "Reducer", "REDUCE_MAX": "Reducer", "REDUCE_MIN": "Reducer",
           "REDUCE_PROD": "Reducer", "REDUCE_ANY": "Reducer", "REDUCE_ALL": "Reducer", "TOPK_V2": "TopKV2",
           "PADV2": "PadV2", "MAXIMUM": "MaximumMinimum", "MINIMUM": "MaximumMinimum", "SVDF": "SVDF",
           "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTM"}


def with_float_weights(content):
    """The same model with the integers of weights beside float activations written out as floats; None where there are
    no such weights. LiteRT rounds activations to 8 bits before it multiplies them with weights of 8 bits."""
    model = schema.ModelT.InitFromPackedBuf(content, 0)
    graph, changed = model.subgraphs[0], False
    for operator in graph.operators:
        if operator.inputs is None or len(operator.inputs) == 0:
            continue
        first = graph.tensors[operator.inputs[0]]
        for index in operator.inputs[1:]:
            tensor = graph.tensors[index] if index >= 0 else None
            if tensor is None or first.type != schema.TensorType.FLOAT32 or tensor.type != schema.TensorType.INT8:
                continue
            stored = np.frombuffer(bytes(model.buffers[tensor.buffer].data), np.int8).reshape(tensor.shape)
            along = [1] * stored.ndim
            along[tensor.quantization.quantizedDimension] = -1
            scale = np.asarray(tensor.quantization.scale, np.float32).reshape(along)
            zero = np.asarray(tensor.quantization.zeroPoint, np.int64).reshape(along)
            real = ((stored - zero) * scale).astype(np.float32)
            model.buffers[tensor.buffer].data = np.frombuffer(real.tobytes(), np.uint8)
            tensor.type, tensor.quantization, changed = schema.TensorType.FLOAT32, None, True
    if not changed:
        return None
    builder = flatbuffers.Builder(len(content))
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


class Quantized:
    """How a tensor stands for real numbers: one scale, or a list of them along `axis`."""

    def __init__(self, scale, zero_point=0, axis=0):
        self.scale = np.atleast_1d(np.float32(scale))
        self.zero_point = np.broadcast_to(np.int64(zero_point), self.scale.shape)
        self.axis = axis


class Writer:
    def __init__(self):
        self.model = schema.ModelT()
        self.model.version = 3
        self.model.description = "a test"
        self.model.buffers = [schema.BufferT()]
        self.model.operatorCodes = []
        self.model.subgraphs = []
        self.begin("main")

    def begin(self, name):
        """Another subgraph, which what follows is added to."""
        self.graph = schema.SubGraphT()
        self.graph.name = name
        self.graph.tensors, self.graph.operators, self.graph.inputs, self.graph.outputs = [], [], [], []
        self.model.subgraphs.append(self.graph)
        return len(self.model.subgraphs) - 1

    def end(self, outputs=()):
        """Back to the first subgraph."""
        self.graph.outputs = list(outputs)
        self.graph = self.model.subgraphs[0]

    def tensor(self, dtype, shape, quantized=None, name=None, signature=None, variable=False):
        made = schema.TensorT()
        made.name = name or f"t{len(self.graph.tensors)}"
        made.type = TYPES[dtype if dtype == "resource" else str(np.dtype(dtype))]
        made.isVariable = variable
        made.shape = list(shape)
        made.buffer = 0
        if signature is not None:
            made.shapeSignature = list(signature)
        if quantized is not None:
            made.quantization = schema.QuantizationParametersT()
            made.quantization.scale = list(map(float, quantized.scale))
            made.quantization.zeroPoint = list(map(int, quantized.zero_point))
            made.quantization.quantizedDimension = quantized.axis
        self.graph.tensors.append(made)
        return len(self.graph.tensors) - 1

    def input(self, dtype, shape, quantized=None, signature=None):
        index = self.tensor(dtype, shape, quantized, signature=signature)
        self.graph.inputs.append(index)
        return index

    def constant(self, values, quantized=None):
        values = np.asarray(values, order="C")
        index = self.tensor(values.dtype, values.shape, quantized)
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(values.tobytes(), np.uint8)
        self.model.buffers.append(buffer)
        self.graph.tensors[index].buffer = len(self.model.buffers) - 1
        return index

    def add(self, name, inputs, outputs, version=1, intermediates=(), **options):
        code = schema.OperatorCodeT()
        code.builtinCode = getattr(schema.BuiltinOperator, name)
        code.deprecatedBuiltinCode = min(code.builtinCode, 127)
        code.version = version
        self.model.operatorCodes.append(code)
        made = schema.OperatorT()
        made.opcodeIndex = len(self.model.operatorCodes) - 1
        made.inputs, made.outputs = list(inputs), list(outputs)
        made.intermediates = list(intermediates)
        stem = OPTIONS.get(name) or "".join(word.capitalize() for word in name.split("_"))
        kind = getattr(schema.BuiltinOptions, stem + "Options", None)
        if kind is not None and (options or hasattr(schema, stem + "OptionsT")):
            table = getattr(schema, stem + "OptionsT")()
            for key, value in options.items():
                if not hasattr(table, key):
                    raise ValueError(f"{name} has no option {key}")
                setattr(table, key, value)
            made.builtinOptionsType, made.builtinOptions = kind, table
        elif options:
            raise ValueError(f"{name} has no options")
        self.graph.operators.append(made)

    def finish(self, outputs):
        self.graph.outputs = list(outputs)
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())
