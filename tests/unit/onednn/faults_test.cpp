// What oneDNN 2.6 does wrong and the plugin does otherwise: an operation for each entry of lowering/faults.hpp, whose
// numbers must be those of the same without fusion. Each fails where the entry is taken out.
#include "plugins/onednn/lowering/faults.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "plugins/onednn/layout.hpp"
#include "unit/onednn/graphs.hpp"

namespace onednn {
namespace {

using Id = deputy_value_id;

void KeepsTheNumbers(const Graph& graph) {
  const std::vector<float> plain = graph.Run(false), fused = graph.Run(true);
  ASSERT_EQ(fused.size(), plain.size());
  for (size_t i = 0; i < plain.size(); ++i)
    ASSERT_NEAR(fused[i], plain[i], 2e-5f * std::max(1.0f, std::fabs(plain[i]))) << "element " << i;
}

Id Conv(Graph& graph, Id x, int64_t in, int64_t out, const Dims& y) {
  return graph.Add("Conv", {x, graph.Constant({out, in, 3, 3})}, y, [](fake::PrimitiveBytes& p) {
    p.Ints("pads", {1, 1, 1, 1});
  });
}

Id Resize(Graph& graph, Id x, const Dims& y, const std::vector<float>& scales, const char* mode) {
  return graph.Add("Resize", {x, graph.Constant({0}), graph.Constant({4}, scales)}, y,
                   [mode](fake::PrimitiveBytes& p) { p.String("mode", mode); });
}

TEST(Faults, ReferencesAreKnownByTheirNames) {
  for (const char* name : {"ref:any", "ref_int8:any", "simple:any", "simple_nchw:any", "lrn_ref:any", "gemm:ref"})
    EXPECT_TRUE(IsReference(name)) << name;
  for (const char* name : {"jit:avx512_core", "brg:avx512_core", "x64:gemm:jit", "jit:uni", "brgconv_1x1:avx512_core"})
    EXPECT_FALSE(IsReference(name)) << name;
}

// Narrow convolutions choose channels last, where the implementation of resampling depends on the number of channels.
TEST(Faults, FeaturePyramidsAddTheirLateralBranch) {
  for (const char* mode : {"nearest", "linear"})
    for (const int64_t channels : {3, 5, 8, 12, 20, 33, 48, 70})
      for (const char* join : {"Add", "Mul"}) {
        SCOPED_TRACE(std::string(mode) + " " + join + ", channels " + std::to_string(channels));
        Graph graph;
        const Dims large = {2, channels, 8, 12}, small = {2, channels, 4, 6};
        const Id lateral = Conv(graph, graph.Input({2, 3, 8, 12}), 3, channels, large);
        const Id pooled = graph.Add("MaxPool", {lateral}, small, [](fake::PrimitiveBytes& p) {
          p.Ints("kernel_shape", {2, 2}).Ints("strides", {2, 2});
        });
        const Id top = Resize(graph, Conv(graph, pooled, channels, channels, small), large, {1, 1, 2, 2}, mode);
        graph.Output(graph.Add("Relu", {graph.Add(join, {top, lateral}, large)}, large));
        KeepsTheNumbers(graph);
      }
}

TEST(Faults, ASecondFunctionOfOneKindKeepsItsOwnParameters) {
  Graph graph;
  const Dims map = {1, 8, 6, 6};
  Id x = Conv(graph, graph.Input(map), 8, 8, map);
  x = graph.Add("LeakyRelu", {x}, map, [](fake::PrimitiveBytes& p) { p.Float("alpha", 0.5f); });
  graph.Output(graph.Add("LeakyRelu", {x}, map, [](fake::PrimitiveBytes& p) { p.Float("alpha", 0.1f); }));
  KeepsTheNumbers(graph);
}

// Its result has channels in blocks that are not full.
TEST(Faults, ArithmeticOverPartsOfVectorsIsFollowedByItsFunction) {
  for (const Dims& extents : {Dims{1}, Dims{5}, Dims{4, 5}, Dims{2, 2, 3}})
    for (const char* function : {"Tanh", "Relu", "Exp"}) {
      Graph graph;
      Dims map = {2, 3}, kernel = {3, 3};
      map.insert(map.end(), extents.begin(), extents.end());
      kernel.insert(kernel.end(), extents.size(), 3);
      const Dims pads(2 * extents.size(), 1);
      const Id x = graph.Add("ConvTranspose", {graph.Input(map), graph.Constant(kernel)}, map,
                             [&](fake::PrimitiveBytes& p) { p.Ints("pads", pads); });
      graph.Output(graph.Add(function, {graph.Add("Mul", {x, graph.Constant(map)}, map)}, map));
      KeepsTheNumbers(graph);
    }
}

// The last is a scalar. Equal extents: a transposed result could be taken for one that is not.
TEST(Faults, ProductsThatAreTransposedAfterwardsReadTheirOperands) {
  const Dims heads = {1, 3, 3, 4};
  for (const Dims& operand : {Dims{1, 1, 1, 4}, Dims{1, 1, 3, 1}, Dims{1, 3, 1, 1}, Dims{1, 3, 3, 1}, heads, Dims{1}})
    for (const char* type : {"Mul", "Add", "Div"}) {
      SCOPED_TRACE(std::string(type) + ", " + std::to_string(CountOf(operand)) + " elements");
      Graph graph;
      const Id product = graph.Add("MatMul", {graph.Input({1, 3, 3, 5}), graph.Input({1, 3, 5, 4})}, heads);
      const Id positive = graph.Add("Exp", {graph.Input(operand)}, operand);
      graph.Output(
          graph.Add("Transpose", {graph.Add(type, {product, positive}, heads)}, heads, [](fake::PrimitiveBytes& p) {
            p.Ints("perm", {0, 2, 1, 3});
          }));
      KeepsTheNumbers(graph);
    }
}

struct Order {
  Dims dims;
  Dims perm;
};
// Those of equal extents could be taken for one another; the last have channels last, or strides of a single image that
// are no order of their own.
const Order kOrders[] = {
    {{10, 3}, {1, 0}},
    {{4, 4}, {1, 0}},
    {{8, 3, 9}, {2, 0, 1}},
    {{4, 4, 4}, {1, 0, 2}},
    {{4, 4, 4, 4}, {0, 2, 3, 1}},
    {{2, 3, 5, 4}, {0, 3, 2, 1}},
    {{2, 2, 2, 3}, {2, 1, 0, 3}},
    {{2, 3, 2, 3, 2}, {4, 2, 3, 1, 0}},
    {{1, 5, 30}, {0, 2, 1}},
    {{2, 3, 4, 8}, {0, 3, 1, 2}},
    {{3, 2, 2, 40}, {0, 3, 1, 2}},
    {{7, 2, 1}, {2, 0, 1}},
    {{3, 4, 1}, {2, 1, 0}},
};

Id Transposed(Graph& graph, Id x, const Order& order, Dims* result) {
  *result = Permute(order.dims, order.perm);
  return graph.Add("Transpose", {x}, *result, [&](fake::PrimitiveBytes& p) { p.Ints("perm", order.perm); });
}

// The elements that broadcasting gives for one kept dimension, or for all.
std::vector<float> SpreadOver(const Dims& dims, size_t kept, const std::vector<float>& values) {
  std::vector<float> all;
  int64_t inner = 1;
  for (size_t i = kept + 1; i < dims.size(); ++i) inner *= dims[i];
  for (int64_t at = 0; at < CountOf(dims); ++at) all.push_back(values[static_cast<size_t>(at / inner % dims[kept])]);
  return all;
}

TEST(Faults, ArithmeticOverATransposedTensorReadsOneOperandPerIndex) {
  for (const Order& order : kOrders)
    for (size_t kept = 0; kept < order.dims.size(); ++kept) {
      SCOPED_TRACE("rank " + std::to_string(order.dims.size()) + ", kept " + std::to_string(kept));
      Graph graph;
      Dims dims;
      const Id x = Transposed(graph, graph.Input(order.dims), order, &dims);
      Dims one(dims.size(), 1);
      one[kept] = dims[kept];
      const Id doubled = graph.Add("Add", {x, x}, dims);
      graph.Output(graph.Add("Mul", {doubled, graph.Input(one)}, dims));
      KeepsTheNumbers(graph);
    }
}

// One slope for each index of a dimension, or for each element if `kept` is the rank.
void ReadsItsSlopes(Graph& graph, Id x, const Dims& dims, size_t kept) {
  SCOPED_TRACE("kept " + std::to_string(kept));
  const bool full = kept == dims.size();
  Dims one = full ? dims : Dims(dims.size(), 1);
  if (!full) one[kept] = dims[kept];
  std::vector<float> slopes(static_cast<size_t>(CountOf(one)));
  for (size_t i = 0; i < slopes.size(); ++i) slopes[i] = 0.1f + 0.05f * static_cast<float>(i);
  graph.Output(x);
  graph.Output(graph.Add("PRelu", {x, graph.Constant(one, slopes)}, dims));
  const std::vector<float> all = graph.Run(), spread = full ? slopes : SpreadOver(dims, kept, slopes);
  const size_t count = spread.size();
  ASSERT_EQ(all.size(), 2 * count);
  for (size_t i = 0; i < count; ++i)
    ASSERT_NEAR(all[count + i], all[i] < 0 ? spread[i] * all[i] : all[i], 1e-6f) << "element " << i;
}

TEST(Faults, SlopesOfATransposedTensorAreReadWhereTheyLie) {
  for (const Order& order : kOrders)
    for (size_t kept = 0; kept <= order.dims.size(); ++kept) {
      SCOPED_TRACE("rank " + std::to_string(order.dims.size()));
      Graph graph;
      Dims dims;
      const Id x = Transposed(graph, graph.Input(order.dims), order, &dims);
      ReadsItsSlopes(graph, x, dims, kept);
    }
}

TEST(Faults, SlopesOfAReshapedTensorAreReadWhereTheyLie) {
  for (size_t kept = 0; kept <= 3; ++kept) {
    Graph graph;
    const Dims dims = {1, 30, 5};
    const Id turned = graph.Add("Transpose", {graph.Input({5, 6, 1, 5})}, {1, 6, 5, 5}, [](fake::PrimitiveBytes& p) {
      p.Ints("perm", {2, 1, 3, 0});
    });
    ReadsItsSlopes(graph, graph.Add("Reshape", {turned, graph.Constant({3})}, dims), dims, kept);
  }
}

// Convolutions choose channels last or blocks, of which the last may not be full.
TEST(Faults, SlopesOfConvolutionsAreReadWhereTheyLie) {
  for (const Dims& map : {Dims{2, 3, 5, 4}, Dims{1, 17, 3, 3}, Dims{3, 16, 2, 3}, Dims{1, 1, 4, 4}})
    for (const bool transposed : {false, true})
      for (size_t kept = 0; kept <= map.size(); ++kept) {
        SCOPED_TRACE(std::to_string(map[1]) + " channels, transposed " + std::to_string(transposed));
        Graph graph;
        const Id input = graph.Input({map[0], 4, map[2], map[3]});
        const auto pads = [](fake::PrimitiveBytes& p) { p.Ints("pads", {1, 1, 1, 1}); };
        const Id x = transposed ? graph.Add("ConvTranspose", {input, graph.Constant({4, map[1], 3, 3})}, map, pads)
                                : Conv(graph, input, 4, map[1], map);
        ReadsItsSlopes(graph, x, map, kept);
      }
}

TEST(Faults, ArithmeticWhereThereAreOnlyChannelsReadsOneOperandPerChannel) {
  Graph graph;
  const Dims map = {2, 3, 1}, channels = {1, 3, 1};
  const Id x = graph.Add("Mul", {graph.Input(map), graph.Constant(channels)}, map);
  graph.Output(graph.Add("Add", {x, graph.Constant(channels)}, map));
  KeepsTheNumbers(graph);
}

TEST(Faults, ResamplingToOnlyChannelsReadsAnOperandOfItsExtents) {
  for (const int64_t channels : {3, 8, 20, 64}) {
    Graph graph;
    const Dims map = {1, channels, 1, 1};
    const Id x = Resize(graph, graph.Input({1, channels, 2, 2}), map, {1, 1, 0.5f, 0.5f}, "linear");
    graph.Output(graph.Add("Add", {x, graph.Input(map)}, map));
    KeepsTheNumbers(graph);
  }
}

// Channels are padded to a vector there.
TEST(Faults, ASecondOperandOfOneChannelIsReadBeforeItIsOverwritten) {
  Graph graph;
  const Dims line = {1, 1, 16};
  const deputy_value_id made = graph.Add("ConvTranspose", {graph.Input({1, 2, 16}), graph.Constant({2, 1, 2})}, line,
                                         [](fake::PrimitiveBytes& p) {
                                           p.Ints("pads", {0, 1});
                                         });
  const deputy_value_id x = graph.Add("Add", {made, graph.Constant({1, 1}, {-2.0f})}, line);
  const deputy_value_id power = graph.Add("Exp", {graph.Add("Max", {made, made}, line)}, line);
  graph.Output(x);
  graph.Output(graph.Add("Div", {x, power}, line));
  const std::vector<float> all = graph.Run();
  for (size_t i = 0; i < 16; ++i) EXPECT_NEAR(all[16 + i], all[i] / std::exp(all[i] + 2), 1e-5f);
}

TEST(Faults, ATransposedTensorOfOneChannelIsNormalized) {
  Graph graph;
  const deputy_value_id x = graph.Add("Transpose", {graph.Input({1, 4, 7})}, {4, 1, 7}, [](fake::PrimitiveBytes& p) {
    p.Ints("perm", {1, 0, 2});
  });
  const deputy_value_id one = graph.Constant({1}, {1.0f}), two = graph.Constant({1}, {2.0f});
  graph.Output(x);
  graph.Output(graph.Add("BatchNormalization", {x, two, one, one, one}, {4, 1, 7},
                         [](fake::PrimitiveBytes& p) { p.Float("epsilon", 0.0f); }));
  const std::vector<float> all = graph.Run();
  for (size_t i = 0; i < 28; ++i) EXPECT_NEAR(all[28 + i], 2 * (all[i] - 1) + 1, 1e-5f);
}

TEST(Faults, OrdinaryOnesAreThoseOfARowMajorTensor) {
  EXPECT_EQ(WithOrdinaryOnes(Permuted(Plain({1, 4, 7}), {1, 0, 2})), Plain({4, 1, 7}));
  const memory::desc turned = Permuted(Plain({1, 4, 7, 2}), {1, 0, 3, 2});
  EXPECT_EQ(WithOrdinaryOnes(turned), memory::desc({4, 1, 2, 7}, memory::data_type::f32, memory::dims{14, 14, 1, 2}));
}

}  // namespace
}  // namespace onednn
