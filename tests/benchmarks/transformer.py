"""A 6-layer MiniLM (the shape of all-MiniLM-L6-v2) as PyTorch exports it, with seeded random weights and a batch and
sequence that are known only at run time. LayerNorm keeps its activations sane whatever the weights are."""

import numpy as np

from onnx_graph import FLOAT, INT64, OnnxGraph

WIDTH, HEADS, HIDDEN, LAYERS, VOCABULARY, POSITIONS = 384, 12, 1536, 6, 30522, 512
EPSILON = 1e-12


class Transformer:
    def __init__(self, seed, decomposed):
        """`decomposed`: as exporters wrote before opset 17, with LayerNorm as nine nodes and axes as attributes."""
        self.decomposed = decomposed
        self.graph = OnnxGraph("minilm", opset=12 if decomposed else 17)
        self.random = np.random.default_rng(seed)

    def node(self, scope, op_type, *inputs, **attributes):
        return self.graph.node(op_type, *inputs, scope=scope, **attributes)

    def constant(self, scope, value, dtype=np.float32):
        return self.graph.constant(np.asarray(value, dtype), scope)

    def unsqueeze(self, scope, value, axis):
        if self.decomposed:
            return self.node(scope, "Unsqueeze", value, axes=[axis])
        return self.node(scope, "Unsqueeze", value, self.constant(scope, [axis], np.int64))

    def linear(self, scope, value, inputs, outputs):
        weight = self.random.standard_normal((inputs, outputs), np.float32) / np.float32(np.sqrt(inputs))
        bias = 0.1 * self.random.standard_normal(outputs, np.float32)
        dotted = scope.strip("/").replace("/", ".")
        product = self.node(scope, "MatMul", value, self.graph.weight(f"{dotted}.weight", weight))
        return self.node(scope, "Add", self.graph.weight(f"{dotted}.bias", bias), product)

    def layer_norm(self, scope, value, output=None):
        dotted = scope.strip("/").replace("/", ".")
        gamma = self.random.uniform(0.8, 1.2, WIDTH).astype(np.float32)
        beta = 0.1 * self.random.standard_normal(WIDTH, np.float32)
        weight = self.graph.weight(f"{dotted}.weight", gamma)
        bias = self.graph.weight(f"{dotted}.bias", beta)
        if not self.decomposed:
            return self.node(
                scope, "LayerNormalization", value, weight, bias, output=output, axis=-1, epsilon=EPSILON
            )  # fmt: skip
        centred = self.node(scope, "Sub", value, self.node(scope, "ReduceMean", value, axes=[-1]))
        squared = self.node(scope, "Pow", centred, self.constant(scope, 2))
        variance = self.node(scope, "ReduceMean", squared, axes=[-1])
        deviation = self.node(scope, "Sqrt", self.node(scope, "Add", variance, self.constant(scope, EPSILON)))
        scaled = self.node(scope, "Mul", self.node(scope, "Div", centred, deviation), weight)
        return self.node(scope, "Add", scaled, bias, output=output)

    def extents(self, scope, value, tail):
        """[batch, sequence, *tail], as the exporter writes it for a view."""
        parts = []
        for axis in (0, 1):
            extent = self.node(scope, "Gather", self.node(scope, "Shape", value), self.constant(scope, axis, np.int64))
            parts.append(self.unsqueeze(scope, extent, 0))
        parts += [self.constant(scope, [extent], np.int64) for extent in tail]
        return self.node(scope, "Concat", *parts, axis=0)

    def embeddings(self, ids, types):
        scope = "/embeddings"
        tables = {}
        for name, rows in (("word", VOCABULARY), ("position", POSITIONS), ("token_type", 2)):
            table = self.random.standard_normal((rows, WIDTH), np.float32)
            tables[name] = self.graph.weight(f"embeddings.{name}_embeddings.weight", table)
        length = self.node(scope, "Gather", self.node(scope, "Shape", ids), self.constant(scope, 1, np.int64))
        end, start, axis, step = (
            self.unsqueeze(scope, length, 0), *(self.constant(scope, [number], np.int64) for number in (0, 1, 1))
        )  # fmt: skip
        numbers = self.graph.weight("embeddings.position_ids", np.arange(POSITIONS, dtype=np.int64)[None])
        positions = self.node(scope, "Slice", numbers, start, end, axis, step)
        words = self.node(f"{scope}/word_embeddings", "Gather", tables["word"], ids)
        kinds = self.node(f"{scope}/token_type_embeddings", "Gather", tables["token_type"], types)
        places = self.node(f"{scope}/position_embeddings", "Gather", tables["position"], positions)
        total = self.node(scope, "Add", self.node(scope, "Add", words, kinds), places)
        return self.layer_norm(f"{scope}/LayerNorm", total)

    def mask(self, attention_mask):
        """0 where attention may look, the lowest float where not."""
        wide = self.unsqueeze("", self.unsqueeze("", attention_mask, 1), 2)
        inverted = self.node("", "Sub", self.constant("", 1), self.node("", "Cast", wide, to=FLOAT))
        return self.node("", "Mul", inverted, self.constant("", np.finfo(np.float32).min))

    def attention(self, scope, value, mask):
        inner, size = f"{scope}/self", WIDTH // HEADS
        heads = {}
        for name, order in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])):
            projected = self.linear(f"{inner}/{name}", value, WIDTH, WIDTH)
            split = self.node(inner, "Reshape", projected, self.extents(inner, projected, [HEADS, size]))
            heads[name] = self.node(inner, "Transpose", split, perm=order)
        scores = self.node(inner, "MatMul", heads["query"], heads["key"])
        scores = self.node(inner, "Div", scores, self.constant(inner, np.sqrt(size)))
        shares = self.node(inner, "Softmax", self.node(inner, "Add", scores, mask), axis=3 if self.decomposed else -1)
        context = self.node(inner, "MatMul", shares, heads["value"])
        context = self.node(inner, "Transpose", context, perm=[0, 2, 1, 3])
        joined = self.node(inner, "Reshape", context, self.extents(inner, context, [WIDTH]))
        projected = self.linear(f"{scope}/output/dense", joined, WIDTH, WIDTH)
        total = self.node(f"{scope}/output", "Add", projected, value)
        return self.layer_norm(f"{scope}/output/LayerNorm", total)

    def gelu(self, scope, value):
        curve = self.node(scope, "Erf", self.node(scope, "Div", value, self.constant(scope, np.sqrt(2))))
        shifted = self.node(scope, "Add", curve, self.constant(scope, 1))
        return self.node(scope, "Mul", self.node(scope, "Mul", value, shifted), self.constant(scope, 0.5))

    def layer(self, index, value, mask):
        scope = f"/encoder/layer.{index}"
        value = self.attention(f"{scope}/attention", value, mask)
        inner = self.linear(f"{scope}/intermediate/dense", value, WIDTH, HIDDEN)
        inner = self.gelu(f"{scope}/intermediate/intermediate_act_fn", inner)
        total = self.node(f"{scope}/output", "Add", self.linear(f"{scope}/output/dense", inner, HIDDEN, WIDTH), value)
        last = index == LAYERS - 1
        return self.layer_norm(f"{scope}/output/LayerNorm", total, output="last_hidden_state" if last else None)


def minilm(seed, decomposed=False):
    net = Transformer(seed, decomposed)
    names = ("input_ids", "attention_mask", "token_type_ids")
    ids, attention_mask, types = (net.graph.input(name, INT64, ("batch", "sequence")) for name in names)
    value, mask = net.embeddings(ids, types), net.mask(attention_mask)
    for index in range(LAYERS):
        value = net.layer(index, value, mask)
    net.graph.output(value, FLOAT, ("batch", "sequence", WIDTH))
    return net.graph
