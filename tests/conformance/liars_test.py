#!/usr/bin/env python3
"""A hundred delegates, each wrong about one attribute, element type or rank of one operator: the conformance kit must
name the operator and what is wrong for at least 98 of them. One plugin lies as its options say; what it lies about is
drawn from the SDK's list of operators, not from the kit's cases.

  liars_test.py --kit deputy-conformance --plugin liar.so --operators operators.inc [--seed N] [--count N] [--verbose]
"""

import argparse
import concurrent.futures
import random
import re
import subprocess
import sys
from pathlib import Path

# Values that make no difference to what is computed, so that nobody can lie about them.
WITHOUT_EFFECT = {
    "seed": "only training uses it",
    "saturate": "only float8 has it",
    "stash_type": "chooses how precisely the host may compute",
    "precision": "chooses how precisely the host may compute",
    "round_mode": "only float8 has it",
    "allowzero": "only matters for tensors without elements",
    "output_dtype": "changes the type of the output, which the host checks",
    "output_datatype": "changes the type of the output, which the host checks",
    "hidden_size": "the weights say it as well",
    "softmax_precision": "chooses how precisely the host may compute",
    ("LinearAttention", "chunk_size"): "is a hint",
    ("TopK", "sorted"): "without it any order is right",
    ("Constant", "value"): "is all that there is",
}
# What an attribute is in the plainest case where the operator has no default for it.
USUAL = {
    ("Concat", "axis"): "1", ("DepthToSpace", "blocksize"): "2", ("SpaceToDepth", "blocksize"): "2",
    ("LRN", "size"): "3", ("GroupNormalization", "num_groups"): "2", ("Cast", "to"): "1",
    ("MaxUnpool", "kernel_shape"): "2,2", ("MaxUnpool", "strides"): "2,2", ("MaxRoiPool", "pooled_shape"): "2,2",
    ("RoiAlign", "output_height"): "2", ("RoiAlign", "output_width"): "3", ("Einsum", "equation"): "ij,jk->ik",
    ("BitCast", "to"): "6", ("LinearAttention", "q_num_heads"): "2", ("LinearAttention", "kv_num_heads"): "2",
    ("LinearAttention", "update_rule"): "linear",
    ("MaxPool", "kernel_shape"): "2,2", ("AveragePool", "kernel_shape"): "2,2", ("LpPool", "kernel_shape"): "2,2",
}  # fmt: skip
ENOUGH = 98
# What a delegate may get wrong about partitions that has each node right, and the model that must say so.
ABOUT_PARTITIONS = {
    "order": "inputs read in another order",
    "output-order": "every value an output, the last one first bound in reverse order",
    "inner-output": "every value an output, the last one first",
    "same-input": "one tensor as both inputs",
    "in-place": "one tensor for two nodes",
}

# The main element types by the words of the list, without float32, which the plainest case has.
FLOATS = ("float16", "float64")
WIDE = FLOATS + ("uint32", "uint64", "int32", "int64")
NUMERIC = WIDE + ("uint8", "uint16", "int8", "int16")
TYPES = {"kFloats": FLOATS, "kFloatsBf16": FLOATS + ("bfloat16",), "kWide": WIDE, "kWideBf16": WIDE + ("bfloat16",),
         "kNumeric": NUMERIC, "kNumericBf16": NUMERIC + ("bfloat16",), "kAnyTensor": NUMERIC + ("bfloat16", "bool"),
         "kAnyButBf16": NUMERIC + ("bool",)}  # fmt: skip
# Operators whose element type is not that of the first input, or that change it.
TYPED_OTHERWISE = {"Where", "Cast", "OneHot", "QuantizeLinear", "DequantizeLinear", "Pow", "Dropout", "Constant"}
# Ranks that an operator has beside that of its plainest case.
RANKS = {
    "Relu": (1, 2, 3, 5), "Sigmoid": (0, 1, 2, 3, 5), "Tanh": (1, 2, 5), "Exp": (0, 1, 3), "Abs": (1, 2, 5),
    "Add": (0, 1, 2, 4), "Mul": (0, 1, 2, 4), "Sub": (1, 2, 4), "Div": (1, 2, 4), "Max": (1, 2, 4),
    "Conv": (3, 5), "ConvTranspose": (3, 5), "MaxPool": (3, 5), "AveragePool": (3, 5), "GlobalAveragePool": (3, 5),
    "MatMul": (1, 3, 4), "BatchNormalization": (2, 3, 5), "Softmax": (1, 5), "ReduceSum": (1, 2, 4),
    "ReduceMean": (1, 2, 4), "Transpose": (1, 2, 5), "LayerNormalization": (2, 4), "Resize": (1, 2, 3),
}  # fmt: skip


def lies(operators, known):
    """All that could be lied about, as (operator, kind, name, usual)."""
    text = operators.read_text(encoding="utf-8")
    attributes, types = [], []
    for match in re.finditer(r"DEPUTY_ATTRIBUTE\((\w+), (\w+), (\w+), (\d+), (\w+), (.*)\)$", text, re.M):
        name, kind, attribute, _, until, default = match.groups()
        # The liar has ONNX's own operators alone; those of other domains are named Domain_Operator.
        if name not in known or until != "kStillThere" or "_" in name:
            continue
        if attribute in WITHOUT_EFFECT or (name, attribute) in WITHOUT_EFFECT:
            continue
        usual = default.strip('"{} ')
        if kind == "Float":
            usual = f"{float(usual.rstrip('f')):.6f}"
        attributes.append((name, "attribute", attribute, USUAL.get((name, attribute), usual)))
    for match in re.finditer(r"DEPUTY_OPERATOR_BEGIN\((\w+), \"\".*?DEPUTY_OPERATOR_END", text, re.S):
        if match[1] not in known or match[1] in TYPED_OTHERWISE:
            continue
        newest = re.findall(r"DEPUTY_DEFINITION\(\w+, \d+, \w+, ([^)]*)\)", match[0])[-1]
        # The logarithm of a sum of powers of e is no whole number, so that there are cases for floats alone.
        floats_alone = match[1] == "ReduceLogSumExp"
        types += [(match[1], "dtype", dtype, "") for dtype in TYPES.get(newest, ())
                  if not floats_alone or "float" in dtype]
    ranks = [(name, "rank", str(rank), "") for name, all_ranks in RANKS.items() for rank in all_ranks]
    return attributes, types, ranks


def named(lie, output):
    """Whether a line of the kit's names the operator and what the lie is about."""
    operator, kind, name, _ = lie
    for line in output.splitlines():
        match = re.match(rf"FAIL  numerics\.{operator}  {operator}: (.*?): ", line)
        if not match:
            continue
        label = match[1]
        if kind == "attribute" and f"{name}=" in label:
            return True
        if kind == "dtype" and f"dtype={name}" in label:
            return True
        if kind == "rank" and re.search(r"(shape|broadcast|first|second|C)=", label):
            return True
    return False


def run(arguments, lie, how):
    operator, kind, name, usual = lie
    command = [arguments.kit, arguments.plugin, "--filter", f"numerics.{operator}", "--timeout", "60"]
    for key, value in (("operator", operator), ("kind", kind), ("name", name), ("usual", usual), ("how", how)):
        command += ["--set", f"{key}={value}"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def wrong_about_partitions(arguments):
    """Those that are not named. They are right about single nodes, and without a lie about models."""
    wrong = 0
    for name, model in {"": "", **ABOUT_PARTITIONS}.items():
        command = [arguments.kit, arguments.plugin, "--filter", "partitions.models,numerics.Add,numerics.Relu",
                   "--set", f"kind={'partition' if name else ''}", "--set", f"name={name}"]  # fmt: skip
        output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        failed = [line for line in output.splitlines() if line.startswith("FAIL  ")]
        right = any(line.startswith(f"FAIL  partitions.models  models: {model}: partition of") for line in failed)
        if right != bool(name) or any("partitions.models" not in line for line in failed):
            wrong += 1
            print(f"about partitions, '{name}':\n{output}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kit", required=True)
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--operators", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()

    listed = subprocess.run([arguments.kit, "--list"], capture_output=True, text=True, check=True).stdout
    known = set(re.findall(r"^numerics\.(\w+)$", listed, re.M))
    attributes, types, ranks = lies(arguments.operators, known)
    if len(attributes) < 60 or len(types) < 100:
        sys.exit(f"only {len(attributes)} attributes and {len(types)} element types are read from the list")
    chance = random.Random(arguments.seed)
    half = arguments.count // 2
    drawn = chance.sample(attributes, min(half + arguments.count % 2, len(attributes)))
    drawn += chance.sample(ranks, arguments.count // 4)
    drawn += chance.sample(types, arguments.count - len(drawn))
    hows = ["ignored" if i % 2 == 0 else "off" for i in range(len(drawn))]

    honest = subprocess.run([arguments.kit, arguments.plugin, "--filter", "numerics.*"], capture_output=True,
                            text=True, check=False)  # fmt: skip
    wrong = wrong_about_partitions(arguments)
    if honest.returncode != 0:
        wrong += 1
        print(f"the plugin fails without a lie, exit status {honest.returncode}:\n{honest.stdout}{honest.stderr}")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        outputs = list(pool.map(lambda pair: run(arguments, *pair), zip(drawn, hows)))
    caught = 0
    for lie, how, output in zip(drawn, hows, outputs):
        if named(lie, output):
            caught += 1
            if not arguments.verbose:
                continue
        print(f"{'named' if named(lie, output) else 'NOT NAMED'}: {lie[0]} {lie[1]} {lie[2]} ({how})")
        if arguments.verbose or not named(lie, output):
            print("   ", output.strip().replace("\n", "\n    "))
    print(f"{caught} of {len(drawn)} liars were named, seed {arguments.seed}")
    return 1 if wrong or caught < ENOUGH * len(drawn) / 100 else 0


if __name__ == "__main__":
    sys.exit(main())
