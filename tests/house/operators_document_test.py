#!/usr/bin/env python3
"""Holds host/docs/operators.md against the one list of operators, from which it is made, and the list against the
operators that ONNX has: each is in the list or is left out for a reason given here.

  operators_document_test.py              compares, exit status 1 if anything differs
  operators_document_test.py --write      writes the document anew
  operators_document_test.py --self-test  takes an operator from the list and from the reasons, and sees it missed
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "abi"))

from operators import newest_opset  # noqa: E402

LIST = ROOT / "sdk" / "schema" / "operators.inc"
NEWEST_OPSET = newest_opset(LIST.read_text(encoding="utf-8"))
DOCUMENT = ROOT / "host" / "docs" / "operators.md"
KERNELS = ROOT / "host" / "cpu" / "ops"
# The names of ONNX's default domain up to its newest opset, by its specification (onnx.defs of ONNX 1.23.2).
STANDARD = """
Abs Acos Acosh Add AffineGrid And ArgMax ArgMin Asin Asinh Atan Atanh Attention AveragePool BatchNormalization Bernoulli
BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor BlackmanWindow Cast CastLike CausalConvWithState Ceil Celu
CenterCropPad Clip Col2Im Compress Concat ConcatFromSequence Constant ConstantOfShape Conv ConvInteger ConvTranspose Cos
Cosh CumProd CumSum DFT DeformConv DepthToSpace DequantizeLinear Det Div Dropout DynamicQuantizeLinear Einsum Elu Equal
Erf Exp Expand EyeLike Flatten Floor GRU Gather GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalLpPool
GlobalMaxPool Greater GreaterOrEqual GridSample GroupNormalization HammingWindow HannWindow HardSigmoid HardSwish
Hardmax Identity If ImageDecoder InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization LeakyRelu Less
LessOrEqual LinearAttention Log LogSoftmax Loop LpNormalization LpPool MatMul MatMulInteger Max MaxPool MaxRoiPool
MaxUnpool Mean MeanVarianceNormalization MelWeightMatrix Min Mish Mod Mul Multinomial Neg NegativeLogLikelihoodLoss
NonMaxSuppression NonZero Not OneHot Optional OptionalGetElement OptionalHasElement Or PRelu Pad Pow QLinearConv
QLinearMatMul QuantizeLinear RMSNormalization RNN RandomNormal RandomNormalLike RandomUniform RandomUniformLike Range
Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum
ReduceSumSquare RegexFullMatch Relu Reshape Resize ReverseSequence RoiAlign RotaryEmbedding Round STFT Scan Scatter
ScatterElements ScatterND Selu SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength
SequenceMap Shape Shrink Sigmoid Sign Sin Sinh Size Slice Softmax SoftmaxCrossEntropyLoss Softplus Softsign SpaceToDepth
Split SplitToSequence Sqrt Squeeze StringConcat StringNormalizer StringSplit Sub Sum SwiGLU Swish Tan Tanh TensorScatter
TfIdfVectorizer ThresholdedRelu Tile TopK Transpose Trilu Unique Unsqueeze Upsample Where Xor
""".split()
# Experimental operators that opset 10 removed; ONNX Runtime still runs them.
REMOVED = {"Affine", "Crop", "ImageScaler", "ParametricSoftplus", "Scale", "ScaledTanh"}
TEXT = "strings: no delegate has them, and neither have the CPU's kernels"
LEFT_OUT = {
    "ImageDecoder": "the application decodes images before inference",
    "RegexFullMatch": TEXT,
    "StringConcat": TEXT,
    "StringNormalizer": TEXT,
    "StringSplit": TEXT,
}
NO_MAPS = "maps, which are no values of a graph"
LEFT_OUT_ML = {
    "CastMap": NO_MAPS,
    "DictVectorizer": NO_MAPS,
    "ZipMap": "read as the tensor of scores, without the maps from labels to scores",
}
OTHER_DOMAINS = {
    "ai.onnx.preview": "not final yet",
    "ai.onnx.preview.training": "training",
    "ai.onnx.training": "training",
}
STRING_LABELS = "labels that are strings are given as their numbers in `classlabels_strings`"
# What the kernels of an operator refuse, where no line of theirs says so by name.
LIMITS = {
    "BatchNormalization": "`spatial` other than 1",
    "Cast": "strings",
    "Col2Im": "integers",
    "Constant": "strings are kept, not computed with",
    "Einsum": "integers",
    "GridSample": "integers",
    "Microsoft_Attention": "a mask of rank 4",
    "Ml_ArrayFeatureExtractor": "strings",
    "Ml_CategoryMapper": "strings, which it has on one side",
    "Ml_LabelEncoder": "strings",
    "Ml_LinearClassifier": STRING_LABELS,
    "Ml_OneHotEncoder": "strings",
    "Ml_SVMClassifier": STRING_LABELS,
    "Ml_TreeEnsembleClassifier": STRING_LABELS,
    "Microsoft_EmbedLayerNormalization": "embeddings of float64",
    "Microsoft_FusedConv": "an `activation` other than Clip and those of FusedGemm",
    "Microsoft_FusedGemm": "an `activation` other than Celu, Clip, Elu, HardSigmoid, LeakyRelu, Relu, Selu, Sigmoid, "
                           "Softplus, Softsign, Tanh, ThresholdedRelu",
    "Microsoft_MatMulNBits": "`bits` other than 2, 4 and 8",
    "Microsoft_MultiHeadAttention": "a mask of rank 4",
    "Microsoft_RotaryEmbedding": "`scale` other than 1",
    "OneHot": "indices of float16",
    "Shrink": "integers",
    "TfIdfVectorizer": "strings",
}  # fmt: skip
TYPES = {
    "kU8": "uint8", "kU16": "uint16", "kU32": "uint32", "kU64": "uint64", "kI8": "int8", "kI16": "int16", "kI32": "int32",
    "kI64": "int64", "kF16": "float16", "kF32": "float32", "kF64": "float64", "kBf16": "bfloat16", "kBool": "bool",
    "kStr": "string", "kFloats": "floats", "kFloatsBf16": "floats, bfloat16", "kWide": "wide",
    "kWideBf16": "wide, bfloat16", "kNumeric": "numeric", "kNumericBf16": "numeric, bfloat16",
    "kAnyButBf16": "any but bfloat16", "kAnyTensor": "any", "kInt4s": "4-bit integers", "kSmall19": "float8",
    "kSmall21": "float8, 4-bit integers", "kSmall23": "float8, 4-bit integers, float4",
    "kSmall24": "float8, 4-bit integers, float4, float8e8m0",
    "kSmall25": "float8, 2- and 4-bit integers, float4, float8e8m0",
}  # fmt: skip
HEAD = """# Operators

The operators that Deputy supports, generated from [the one list](../../sdk/schema/operators.inc) by
`tests/house/operators_document_test.py --write`; a test compares it with the list.
[adding-an-operator.md](adding-an-operator.md) shows how to add one.

- *Definitions* are the opsets in which the operator changed or grew; a model of any opset from the first one on is
  brought to the newest meaning, or is refused by name and version where it cannot be. A node with operands that the
  definition of its opset does not have, or without attributes and operands that it requires, is an error.
- *Element types* are those of the main operand of the newest definition. *floats*: float16, float32, float64; *wide*:
  these and the integers of 32 and 64 bits; *numeric*: these and those of 8 and 16 bits.
- *Limits* are the uses that the CPU rejects, by name, when the model is loaded; it never computes another result. A
  delegate may support more.

A file of a newer IR version or operator set than those of the newest release of ONNX that the list knows is read where all
of its fields, attributes and inputs are known, with a warning in the log; otherwise it is refused with the versions that
are known. An attribute that no definition of its operator's version has is a warning with node, operator and attribute, as
are two constants of one name and a function of the model for the name of an operator in this list, which has no effect;
two initializers of one name with different elements are an error. The IR version is 14, the operator set {newest_opset};
the element types float6e2m3, float6e3m2 and complex numbers are refused by name.
"""
SAME_PADDING = """
With `auto_pad` SAME_UPPER or SAME_LOWER a convolution or a pool gives `ceil(input / stride)` elements along each spatial
axis. As in the definition of the operators, the padding of both ends together is
`(output - 1) * stride + (kernel - 1) * dilation + 1 - input`; where this is negative, as it may be if the stride is larger
than the kernel, it is 0, so that windows begin at multiples of the stride. An odd element of padding is at the end for
SAME_UPPER, at the beginning for SAME_LOWER. ONNX Runtime 1.32 differs: for pools it leaves the dilation out of the formula,
convolutions with a dilation it refuses; where the formula is negative it refuses MaxPool, and the windows of the other
operators may begin inside the input.

Otherwise the extent is `(input + padding - effective kernel) / stride + 1`, where the division truncates toward 0, as in
ONNX Runtime: a kernel that is larger than the padded input by less than the stride gives one element.

A Cast to float8e8m0 with `saturate` 0 gives NaN for 0 and for each number below the smallest or above the largest power of
two, in every `round_mode`, as the definition's table and ONNX Runtime have it; ONNX's reference implementation does not.
"""
EXPERIMENTAL = """As ONNX Runtime has them, DynamicSlice is read as Slice, MemcpyFromHost and MemcpyToHost as Identity, ThresholdedRelu
before opset 10 as that of opset 10, and MeanVarianceNormalization before opset 9 with the axes that `across_channels`
stands for, or, without `normalize_variance`, as the mean and its difference. GivenTensorFill, GRUUnit and ATen, which ONNX
Runtime knows and does not compute, are refused by name.
"""
CLASSICAL = """
What scikit-learn, XGBoost and LightGBM export. Results are those of ONNX Runtime, also where the definitions are silent: a
classifier of two classes whose trees have weights of both has labels 0 and 1; one score is not changed by SOFTMAX and
LOGISTIC. Where they are not silent and ONNX Runtime 1.32 departs from them, they are followed: of equal keys of a
LabelEncoder since definition 4 the last counts, `post_transform` of TreeEnsemble is 1 for SOFTMAX and 2 for LOGISTIC, and
`base_values` of a TreeEnsembleRegressor are added to targets without a leaf, too, where ONNX Runtime gives 0. A
LinearClassifier has `intercepts`. Ensembles of trees are checked when the model is loaded: lists of different lengths,
nodes that do not exist, cycles, several roots and targets out of range are errors that name attribute and element.

Strings and maps are no values of a run. A **ZipMap**, which skl2onnx writes behind each classifier, is read as the tensor
of scores that it would turn into maps: the output keeps its name, has a column for each class, and a warning names it with
the labels of the columns. Labels that are not as many as the columns are an error, as are labels of both kinds. The labels
of a classifier with `classlabels_strings` are their numbers in that list, which a warning names, too. Other operators with
strings are refused by name.
"""


class Operator:
    def __init__(self, name, domain, body):
        self.name, self.domain = name, domain
        self.type = name.split("_", 1)[-1]
        definitions = re.findall(r"DEPUTY_DEFINITION\(\w+, (\d+), \w+, (.*)\)$", body, re.M)
        self.versions = [version for version, _ in definitions]
        words = definitions[-1][1].split(" | ")
        unknown = [word for word in words if word not in TYPES]
        if unknown:
            raise SystemExit(f"{name}: no name for the element types {', '.join(unknown)}")
        self.types = ", ".join(TYPES[word] for word in words)


def operators_of(text):
    blocks = re.findall(r"DEPUTY_OPERATOR_BEGIN\((\w+), \"([^\"]*)\"[^\n]*\n(.*?)DEPUTY_OPERATOR_END", text, re.S)
    return [Operator(*block) for block in blocks]


def refusals_of(sources):
    """What the makers refuse by name: {operator: [text]}."""
    refusals = {}
    for text in sources:
        for name, body in re.findall(r"KernelResult Make(\w+)\(const KernelSpec& spec\) \{\n(.*?)\n\}", text, re.S):
            found = [f"`{word}` other than {neutral}".replace('"', "")
                     for word, neutral in re.findall(r'RefuseUnless\(spec, "(\w+)", ([^)]*)\)', body)]
            found += [f"input `{word}`" for word in re.findall(r'RefuseInput\(spec, \d+, "(\w+)"\)', body)]
            found += [f"output `{word}`" for word in re.findall(r'RefuseOutput\(spec, \d+, "(\w+)"\)', body)]
            if found:
                refusals[name] = found
    return refusals


def table(header, rows):
    return "\n".join([f"| {' | '.join(header)} |", "|" + "---|" * len(header)] + [f"| {' | '.join(row)} |" for row in rows])


def run_elsewhere(sources):
    """The operators that have no kernel, with what their makers say."""
    makers = r'KernelResult Make(\w+)\(const KernelSpec&\) \{\n  return Error\(StatusCode::kNotSupported, "([^"]*)"\);'
    return {name: said for text in sources for name, said in re.findall(makers, text)}


def document(operators, refusals, elsewhere):
    parts = [HEAD.replace("{newest_opset}", str(NEWEST_OPSET))]
    for domain, title in (("", "ONNX's own"), ("ai.onnx.ml", "ai.onnx.ml"), ("com.microsoft", "com.microsoft")):
        rows = []
        for operator in operators:
            if operator.domain != domain:
                continue
            limits = "; ".join(filter(None, [LIMITS.get(operator.name, "")] + refusals.get(operator.name, [])))
            rows.append((operator.type, ", ".join(operator.versions), operator.types,
                         elsewhere.get(operator.name, "yes"), limits))
        note = ""
        if domain == "":
            note = (
                "\nScatter is the older name of ScatterElements and is read as that. SimplifiedLayerNormalization, and\n"
                "LayerNormalization before opset 17, are ONNX Runtime's, whose optimizer puts them into this domain.\n"
                f"{', '.join(sorted(REMOVED)[:-1])} and {max(REMOVED)} were experimental; opset 10 removed them.\n"
                + EXPERIMENTAL
                + SAME_PADDING
            )
        elif domain == "ai.onnx.ml":
            note = CLASSICAL
        parts.append(f"## {title}\n{note}\n" + table(("operator", "definitions", "element types", "on the CPU", "limits"), rows) + "\n")
    parts.append(f"## Left out\n\nOf the operators that ONNX's default domain has up to opset {NEWEST_OPSET}:\n\n"
                 + table(("operator", "reason"), sorted(LEFT_OUT.items())) + "\n")
    parts.append("Of ai.onnx.ml:\n\n" + table(("operator", "reason"), sorted(LEFT_OUT_ML.items())) + "\n")
    parts.append("Of the other domains of ONNX, nothing:\n\n"
                 + table(("domain", "reason"), sorted(OTHER_DOMAINS.items())) + "\n")
    return "\n".join(parts)


def omissions(operators, left_out):
    """What neither the list nor the reasons have, and what one of them should not have."""
    known = {operator.name for operator in operators if operator.domain == ""} | {"Scatter"}
    own = {"SimplifiedLayerNormalization"} | REMOVED
    wrong = [f"{name} is neither in the list nor left out for a reason" for name in STANDARD
             if name not in known and name not in left_out]
    wrong += [f"{name} is left out, but in the list" for name in left_out if name in known]
    wrong += [f"{name} is no operator of ONNX up to opset {NEWEST_OPSET}"
              for name in sorted((known | set(left_out)) - own) if name not in STANDARD]  # fmt: skip
    names = {operator.name for operator in operators}
    return wrong + [f"{name} has limits, but is not in the list" for name in LIMITS if name not in names]


def self_test(operators):
    failed = 0
    for name in ("Conv", "Microsoft_Attention"):
        rest = [operator for operator in operators if operator.name != name]
        missed = document(rest, {}, {}) != document(operators, {}, {})
        failed += not missed
        print(f"{'ok' if missed else 'FAILED'}: the document without {name} differs")
    without = [operator for operator in operators if operator.name != "Conv"]
    reasons = {name: reason for name, reason in LEFT_OUT.items() if name != "ImageDecoder"}
    for what, found in (("Conv", omissions(without, LEFT_OUT)), ("ImageDecoder", omissions(operators, reasons))):
        missed = any(line.startswith(what + " ") for line in found)
        failed += not missed
        print(f"{'ok' if missed else 'FAILED'}: {what} is missed")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    operators = operators_of(LIST.read_text(encoding="utf-8"))
    if arguments.self_test:
        return self_test(operators)
    wrong = omissions(operators, LEFT_OUT)
    sources = [path.read_text(encoding="utf-8") for path in sorted(KERNELS.glob("*.cpp"))]
    made = document(operators, refusals_of(sources), run_elsewhere(sources))
    if arguments.write:
        DOCUMENT.write_text(made, encoding="utf-8")
    elif not DOCUMENT.is_file() or DOCUMENT.read_text(encoding="utf-8") != made:
        wrong.append(f"{DOCUMENT.relative_to(ROOT)} is not what the list gives: run this with --write")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
