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
