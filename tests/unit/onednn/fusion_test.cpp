// What fuses into what, and that the numbers stay: each graph runs as it stands and fused.
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>

#include "unit/onednn/graphs.hpp"

namespace onednn {
namespace {

using Id = deputy_value_id;

struct Case {
  const char* name;
  const char* fused;
  void (*build)(Graph& graph);
};
std::ostream& operator<<(std::ostream& out, const Case& test) { return out << test.name; }

void Pads(fake::PrimitiveBytes& p) { p.Ints("pads", {1, 1, 1, 1}); }
void SameNorm(fake::PrimitiveBytes& p) { p.Float("epsilon", 1e-5f); }
void LastAxis(fake::PrimitiveBytes& p) { p.Ints("axes", {-1}); }

Id Conv(Graph& g, Id x, Dims y, int64_t inputs, bool bias = true) {
  std::vector<Id> all = {x, g.Constant({y[1], inputs, 3, 3})};
  if (bias) all.push_back(g.Constant({y[1]}));
  return g.Add("Conv", all, y, Pads);
}
Id Norm(Graph& g, Id x, const Dims& y) {
  const std::vector<float> variance(static_cast<size_t>(y[1]), 0.5f);
  return g.Add("BatchNormalization",
               {x, g.Constant({y[1]}), g.Constant({y[1]}), g.Constant({y[1]}), g.Constant({y[1]}, variance)}, y,
               SameNorm);
}
Id Scalar(Graph& g, float value) { return g.Constant({}, {value}); }

const Dims kMap = {1, 8, 6, 7};
const Dims kRows = {2, 5, 32};

// x after a convolution of the one input.
Id Start(Graph& g) { return Conv(g, g.Input({1, 4, 6, 7}), kMap, 4); }

template <class Follow>
void AfterConv(Graph& g, Follow follow) {
  g.Output(follow(g, Start(g)));
}

Id LayerNormWritten(Graph& g, Id x, const Dims& dims, bool square_by_product) {
  Dims mean = dims;
  mean.back() = 1;
  const Id centred = g.Add("Sub", {x, g.Add("ReduceMean", {x}, mean, LastAxis)}, dims);
  const Id square =
      square_by_product ? g.Add("Mul", {centred, centred}, dims) : g.Add("Pow", {centred, Scalar(g, 2)}, dims);
  const Id variance = g.Add("ReduceMean", {square}, mean, LastAxis);
  const Id deviation = g.Add("Sqrt", {g.Add("Add", {variance, Scalar(g, 1e-5f)}, mean)}, mean);
  const Id normal = g.Add("Div", {centred, deviation}, dims);
  return g.Add("Add", {g.Add("Mul", {normal, g.Constant({dims.back()})}, dims), g.Constant({dims.back()})}, dims);
}

Id GeluWritten(Graph& g, Id x, const Dims& dims, int order) {
  const Id erf = g.Add("Erf", {g.Add("Div", {x, Scalar(g, std::sqrt(2.0f))}, dims)}, dims);
  const Id one = g.Add("Add", {erf, Scalar(g, 1)}, dims);
  if (order == 0) return g.Add("Mul", {g.Add("Mul", {x, one}, dims), Scalar(g, 0.5f)}, dims);
  if (order == 1) return g.Add("Mul", {g.Add("Mul", {x, Scalar(g, 0.5f)}, dims), one}, dims);
  return g.Add("Mul", {x, g.Add("Mul", {one, Scalar(g, 0.5f)}, dims)}, dims);
}

Id Linear(Graph& g, Id x, int64_t inputs, const Dims& y) {
  const Id product = g.Add("MatMul", {x, g.Constant({inputs, y.back()})}, y);
  return g.Add("Add", {product, g.Constant({y.back()})}, y);
}

const Case kCases[] = {
    {"BatchNormIntoWeights", "Convolution",
     [](Graph& g) {
       g.Output(Norm(g, Conv(g, g.Input({1, 4, 6, 7}), kMap, 4, false), kMap));
     }},
    {"BatchNormIntoWeightsAndBias", "Convolution[relu]",
     [](Graph& g) { AfterConv(g, [](Graph& h, Id x) { return h.Add("Relu", {Norm(h, x, kMap)}, kMap); }); }},
    {"BatchNormAloneIsOnePrimitive", "mul[add,relu]",
     [](Graph& g) { g.Output(g.Add("Relu", {Norm(g, g.Input(kMap), kMap)}, kMap)); }},
    {"BatchNormOfAResultReadTwiceStays", "Convolution mul[add] Concat",
     [](Graph& g) {
       const Id x = Start(g);
       g.Output(
           g.Add("Concat", {x, Norm(g, x, kMap)}, {1, 16, 6, 7}, [](fake::PrimitiveBytes& p) { p.Int("axis", 1); }));
     }},
    {"BatchNormIntoTransposedConvolution", "Deconvolution add[relu]",
     [](Graph& g) {
       const Id x = g.Input({1, 8, 5, 5});
       const Id y = g.Add("ConvTranspose", {x, g.Constant({8, 3, 3, 3}), g.Constant({6})}, {1, 6, 11, 11},
                          [](fake::PrimitiveBytes& p) {
                            p.Ints("strides", {2, 2}).Int("group", 2);
                          });
       g.Output(g.Add("Relu", {Norm(g, y, {1, 6, 11, 11})}, {1, 6, 11, 11}));
     }},
    {"TransposedConvolutionByBlocks", "Deconvolution[logistic]",
     [](Graph& g) {
       const Id x = g.Input({2, 5, 3, 4});
       const Id y = g.Add("ConvTranspose", {x, g.Constant({5, 3, 2, 3}), g.Constant({3})}, {2, 3, 6, 12},
                          [](fake::PrimitiveBytes& p) {
                            p.Ints("strides", {2, 3});
                          });
       g.Output(g.Add("Sigmoid", {y}, {2, 3, 6, 12}));
     }},
    {"Clip", "Convolution[clip]",
     [](Graph& g) {
       AfterConv(g, [](Graph& h, Id x) { return h.Add("Clip", {x, Scalar(h, 0), Scalar(h, 0.5f)}, kMap); });
     }},
    {"HardSigmoid", "Convolution[linear,clip]",
     [](Graph& g) { AfterConv(g, [](Graph& h, Id x) { return h.Add("HardSigmoid", {x}, kMap); }); }},
    {"HardSigmoidAlone", "linear[clip]", [](Graph& g) { g.Output(g.Add("HardSigmoid", {g.Input(kMap)}, kMap)); }},
    {"NothingElseJoinsAClippedLinear", "linear[clip] mul[abs]",
     [](Graph& g) {
       const Id x = g.Add("HardSigmoid", {g.Input(kMap)}, kMap);
       g.Output(g.Add("Abs", {g.Add("Mul", {g.Input(kMap), x}, kMap)}, kMap));
     }},
    {"Elu", "Convolution[elu]", [](Graph& g) { AfterConv(g, [](Graph& h, Id x) { return h.Add("Elu", {x}, kMap); }); }},
    {"Tanh", "Convolution[tanh]",
     [](Graph& g) { AfterConv(g, [](Graph& h, Id x) { return h.Add("Tanh", {x}, kMap); }); }},
    {"Swish", "Convolution[swish]",
     [](Graph& g) {
       AfterConv(g, [](Graph& h, Id x) { return h.Add("Mul", {x, h.Add("Sigmoid", {x}, kMap)}, kMap); });
     }},
    {"HardSwishOfThreeAndSix", "Convolution[hardswish]",
     [](Graph& g) {
       AfterConv(g, [](Graph& h, Id x) {
         const Id three = h.Add("Add", {x, Scalar(h, 3)}, kMap);
         const Id gate = h.Add("Clip", {three, Scalar(h, 0), Scalar(h, 6)}, kMap);
         return h.Add("Div", {h.Add("Mul", {x, gate}, kMap), Scalar(h, 6)}, kMap);
       });
     }},
    {"HardSwishOfHardSigmoid", "Convolution[hardswish]",
     [](Graph& g) {
       AfterConv(g, [](Graph& h, Id x) {
         const auto sixth = [](fake::PrimitiveBytes& p) { p.Float("alpha", 1.0f / 6); };
         return h.Add("Mul", {h.Add("HardSigmoid", {x}, kMap, sixth), x}, kMap);
       });
     }},
    {"ResidualSum", "Convolution Convolution[add,relu]",
     [](Graph& g) {
       const Id a = Start(g), b = Conv(g, g.Input(kMap), kMap, 8);
       g.Output(g.Add("Relu", {g.Add("Add", {a, b}, kMap)}, kMap));
     }},
    {"ResidualOfAValueReadAgain", "Convolution Convolution[add,mul]",
     [](Graph& g) {
       const Id a = Start(g), sum = g.Add("Add", {Conv(g, a, kMap, 8), a}, kMap);
       g.Output(g.Add("Mul", {sum, a}, kMap));
     }},
    {"ResidualAfterActivation", "Convolution Convolution[relu,add]",
     [](Graph& g) {
       const Id a = Start(g), b = g.Add("Relu", {Conv(g, g.Input(kMap), kMap, 8)}, kMap);
       g.Output(g.Add("Add", {a, b}, kMap));
     }},
    {"TheSameFunctionTwice", "Convolution[relu,mul,relu]",
     [](Graph& g) {
       const Id x = g.Add("LeakyRelu", {Start(g)}, kMap, [](fake::PrimitiveBytes& p) { p.Float("alpha", 0.5f); });
       const Id scaled = g.Add("Mul", {x, g.Constant({8, 1, 1})}, kMap);
       g.Output(g.Add("LeakyRelu", {scaled}, kMap, [](fake::PrimitiveBytes& p) { p.Float("alpha", 0.1f); }));
     }},
    {"SubtractedFromTheOther", "Convolution[linear,add]",
     [](Graph& g) {
       g.Output(g.Add("Sub", {g.Input(kMap), Start(g)}, kMap));
     }},
    {"GatePerChannel", "Convolution Pool[logistic] mul[add]",
     [](Graph& g) {
       const Id x = Start(g);
       const Id gate = g.Add("Sigmoid", {g.Add("GlobalAveragePool", {x}, {1, 8, 1, 1})}, {1, 8, 1, 1});
       g.Output(g.Add("Add", {g.Add("Mul", {x, gate}, kMap), g.Input(kMap)}, kMap));
     }},
    {"AResultThatLeavesStays", "Convolution relu",
     [](Graph& g) {
       const Id x = Start(g);
       g.Output(x);
       g.Output(g.Add("Relu", {x}, kMap));
     }},
    {"PadIntoConvolution", "Convolution",
     [](Graph& g) {
       const auto pads = [](fake::PrimitiveBytes& p) { p.Ints("pads", {0, 0, 1, 0, 0, 0, 0, 2}); };
       const Id x = g.Add("Pad", {g.Input({1, 4, 5, 5})}, {1, 4, 6, 7}, pads, 2);
       g.Output(Conv(g, x, kMap, 4));
     }},
    {"LayerNormWithPow", "LayerNorm", [](Graph& g) { g.Output(LayerNormWritten(g, g.Input(kRows), kRows, false)); }},
    {"LayerNormWithProduct", "LayerNorm", [](Graph& g) { g.Output(LayerNormWritten(g, g.Input(kRows), kRows, true)); }},
    {"GeluAtTheEnd", "gelu_erf", [](Graph& g) { g.Output(GeluWritten(g, g.Input(kRows), kRows, 0)); }},
    {"GeluAtTheFactor", "gelu_erf", [](Graph& g) { g.Output(GeluWritten(g, g.Input(kRows), kRows, 1)); }},
    {"GeluAtTheGate", "gelu_erf", [](Graph& g) { g.Output(GeluWritten(g, g.Input(kRows), kRows, 2)); }},
    {"ASumAfterAFunctionIsAlone", "linear add",
     [](Graph& g) {
       const Id x = g.Input(kRows);
       g.Output(g.Add("Add", {g.Add("Mul", {x, Scalar(g, 3)}, kRows), x}, kRows));
     }},
    {"ErfAloneStays", "Erf", [](Graph& g) { g.Output(g.Add("Erf", {g.Input(kRows)}, kRows)); }},
    {"LinearLayerWithGelu", "Matmul[gelu_erf]",
     [](Graph& g) {
       g.Output(GeluWritten(g, Linear(g, g.Input({2, 5, 16}), 16, kRows), kRows, 0));
     }},
    {"LinearLayerWithResidual", "Matmul[add]",
     [](Graph& g) {
       g.Output(g.Add("Add", {Linear(g, g.Input(kRows), 32, kRows), g.Input(kRows)}, kRows));
     }},
    {"GemmWithFactors", "Matmul[linear,add]",
     [](Graph& g) {
       const Id y = g.Add("Gemm", {g.Input({4, 3}), g.Constant({3, 6}), g.Constant({6})}, {4, 6},
                          [](fake::PrimitiveBytes& p) { p.Float("alpha", 0.5f).Float("beta", 2.0f); });
       g.Output(y);
     }},
    {"Attention", "Matmul Reshape Matmul Reshape Transpose Transpose Matmul[linear] Softmax Matmul/transposed Reshape",
     [](Graph& g) {
       const Dims rows = {1, 6, 32}, split = {1, 6, 4, 8}, heads = {1, 4, 6, 8};
       const auto to_heads = [](fake::PrimitiveBytes& p) { p.Ints("perm", {0, 2, 1, 3}); };
       const Id x = g.Input(rows), shape = g.Constant({4});
       const Id q = g.Add("Reshape", {Linear(g, x, 32, rows), shape}, split);
       const Id k = g.Add("Reshape", {Linear(g, x, 32, rows), shape}, split);
       const Id qt = g.Add("Transpose", {q}, heads, to_heads);
       const Id kt = g.Add("Transpose", {k}, {1, 4, 8, 6}, [](fake::PrimitiveBytes& p) {
         p.Ints("perm", {0, 2, 3, 1});
       });
       const Id scores = g.Add("Div", {g.Add("MatMul", {qt, kt}, {1, 4, 6, 6}), Scalar(g, 2.5f)}, {1, 4, 6, 6});
       const Id weights = g.Add("Softmax", {scores}, {1, 4, 6, 6});
       const Id mixed = g.Add("Transpose", {g.Add("MatMul", {weights, qt}, heads)}, split, to_heads);
       g.Output(g.Add("Reshape", {mixed, g.Constant({3})}, rows));
     }},
    {"FunctionBeforeRowsAreTransposed", "Matmul/transposed[tanh]",
     [](Graph& g) {
       const Dims heads = {2, 3, 4, 5};
       const Id y = g.Add("Tanh", {g.Add("MatMul", {g.Input({2, 3, 4, 6}), g.Input({2, 3, 6, 5})}, heads)}, heads);
       g.Output(g.Add("Transpose", {y}, {2, 4, 3, 5}, [](fake::PrimitiveBytes& p) { p.Ints("perm", {0, 2, 1, 3}); }));
     }},
    {"ConcatOfPartsOfASplit", "Convolution Slice Slice relu Concat",
     [](Graph& g) {
       const Id x = Start(g), a = g.host.AddValue("a", {1, 3, 6, 7}), b = g.host.AddValue("b", {1, 5, 6, 7});
       g.host.AddNode({"Split", {x}, {a, b}, true, 2, [](fake::PrimitiveBytes& p) { p.Int("axis", 1); }});
       const Id y = g.Add("Relu", {a}, {1, 3, 6, 7});
       g.Output(g.Add("Concat", {b, y}, kMap, [](fake::PrimitiveBytes& p) { p.Int("axis", 1); }));
     }},
    {"SoftmaxOfShortRows", "Softmax",
     [](Graph& g) {
       g.Output(g.Add("Softmax", {g.Input({1, 300, 3})}, {1, 300, 3}));
     }},
    {"SumOfBlocksSmallerThanAVector", "Convolution add[relu]",
     [](Graph& g) {
       const Id x = g.Add("Conv", {g.Input({1, 8, 1, 7}), g.Constant({8, 4, 1, 1})}, {1, 8, 1, 7},
                          [](fake::PrimitiveBytes& p) { p.Int("group", 2); });
       g.Output(g.Add("Relu", {g.Add("Add", {x, x}, {1, 8, 1, 7})}, {1, 8, 1, 7}));
     }},
    {"PoolingBesideWhatNobodyElseNeeds", "linear Pool[add,relu]",
     [](Graph& g) {
       const Id x = g.Input({1, 1, 8}), pooled = g.Add("GlobalMaxPool", {x}, {1, 1, 1});
       const Id other = g.Add("Mul", {g.Input({1, 1, 1}), Scalar(g, 3)}, {1, 1, 1});
       g.Output(g.Add("Relu", {g.Add("Add", {pooled, other}, {1, 1, 1})}, {1, 1, 1}));
     }},
};

class FusionTest : public testing::TestWithParam<Case> {};

TEST_P(FusionTest, TakesThePartsThatBelongTogether) {
  Graph graph;
  GetParam().build(graph);
  EXPECT_EQ(graph.Describe(), GetParam().fused) << "as it stands: " << graph.Describe(false);
}

TEST_P(FusionTest, KeepsTheNumbers) {
  Graph graph;
  GetParam().build(graph);
  const std::vector<float> plain = graph.Run(false);
  for (const int threads : {1, 2}) {
    const std::vector<float> fused = graph.Run(true, threads);
    ASSERT_EQ(fused.size(), plain.size());
    for (size_t i = 0; i < plain.size(); ++i)
      ASSERT_NEAR(fused[i], plain[i], 2e-5f * std::max(1.0f, std::fabs(plain[i]))) << "element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, FusionTest, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<Case>& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace onednn
