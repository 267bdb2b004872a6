// Layouts, memory and arguments of what a program is turned into.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>

#include "plugins/onednn/lowering/vectors.hpp"
#include "unit/onednn/graphs.hpp"

namespace onednn {
namespace {

void Pads(fake::PrimitiveBytes& p) { p.Ints("pads", {1, 1, 1, 1}); }

const Dims kLoweredMap = {1, 16, 12, 12};

deputy_value_id Conv(Graph& graph, deputy_value_id x) {
  return graph.Add("Conv", {x, graph.Constant({16, 16, 3, 3})}, kLoweredMap, Pads);
}

size_t Reorders(const Executable& executable) {
  return static_cast<size_t>(std::count_if(executable.steps().begin(), executable.steps().end(), [](const Step& step) {
    return step.function == nullptr && step.primitive.get_kind() == dnnl::primitive::kind::reorder;
  }));
}

// The primitives that are reference implementations.
std::vector<std::string> References(const Executable& executable) {
  std::vector<std::string> found;
  for (const Step& step : executable.steps()) {
    if (step.function != nullptr || step.primitive.get_kind() == dnnl::primitive::kind::reorder) continue;
    const char* name = nullptr;
    dnnl_primitive_desc_query(step.primitive.get_primitive_desc(), dnnl_query_impl_info_str, 0, &name);
    if (IsReference(name)) found.emplace_back(name);
  }
  return found;
}

const std::vector<std::string> kNone;

TEST(Lowering, ConvolutionsHandOnTheirLayout) {
  Graph graph;
  deputy_value_id x = graph.Input(kLoweredMap);
  for (int i = 0; i < 5; ++i)
    x = graph.Add("MaxPool", {graph.Add("Relu", {Conv(graph, x)}, kLoweredMap)}, kLoweredMap,
                  [](fake::PrimitiveBytes& p) {
                    p.Ints("kernel_shape", {3, 3}).Ints("pads", {1, 1, 1, 1});
                  });
  graph.Output(x);
  // One at each border at most.
  EXPECT_LE(Reorders(*graph.Compile()), 2u);
}

TEST(Lowering, OnlyConvertedConstantsAreReleased) {
  Graph convolution;
  const deputy_value_id x = convolution.Input(kLoweredMap), weights = convolution.Constant({16, 16, 3, 3});
  convolution.Output(convolution.Add("Conv", {x, weights}, kLoweredMap, Pads));
  EXPECT_EQ(convolution.Converted(), (std::vector<deputy_value_id>{weights}));
  Graph sum;
  sum.Output(sum.Add("Add", {sum.Input(kLoweredMap), sum.Constant(kLoweredMap)}, kLoweredMap));
  EXPECT_EQ(sum.Converted(), std::vector<deputy_value_id>());
}

TEST(Lowering, ReshapedOutputIsWrittenOnce) {
  Graph graph;
  const deputy_value_id y = graph.Add("Softmax", {graph.Input({4, 50})}, {4, 50});
  graph.Output(graph.Add("Reshape", {y, graph.Constant({2})}, {2, 100}));
  EXPECT_EQ(graph.Compile()->steps().size(), 1u);
}

TEST(Lowering, TransposedOperandsOfAProductAreViews) {
  Graph graph;
  const auto last_two = [](fake::PrimitiveBytes& p) { p.Ints("perm", {0, 2, 1}); };
  const deputy_value_id a = graph.Add("Transpose", {graph.Input({3, 8, 5})}, {3, 5, 8}, last_two);
  const deputy_value_id b = graph.Add("Transpose", {graph.Input({3, 6, 8})}, {3, 8, 6}, last_two);
  graph.Output(graph.Add("MatMul", {a, b}, {3, 5, 6}));
  EXPECT_EQ(graph.Compile()->steps().size(), 1u);
  EXPECT_EQ(graph.Run(true).size(), 90u);
}

TEST(Lowering, AnInputThatIsOnlyViewedIsCopiedOut) {
  Graph graph;
  const deputy_value_id x = graph.Input({2, 6});
  graph.Output(graph.Add("Reshape", {x, graph.Constant({2})}, {3, 4}));
  graph.Output(graph.Add("Relu", {x}, {2, 6}));
  const std::vector<float> all = graph.Run();
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(std::max(0.0f, all[i]), all[12 + i]);
}

TEST(Lowering, OneValueThatLeavesTwiceIsInBothOutputs) {
  Graph graph;
  const deputy_value_id y = graph.Add("Relu", {graph.Input({2, 6})}, {2, 6});
  graph.Output(graph.Add("Reshape", {y, graph.Constant({1})}, {12}));
  graph.Output(graph.Add("Reshape", {y, graph.Constant({2})}, {3, 4}));
  graph.Output(y);
  const std::vector<float> all = graph.Run();
  EXPECT_TRUE(std::equal(all.begin(), all.begin() + 12, all.begin() + 12));
  EXPECT_TRUE(std::equal(all.begin(), all.begin() + 12, all.begin() + 24));
}

TEST(Lowering, AChainOfFunctionsNeedsTheMemoryOfOne) {
  Graph graph;
  deputy_value_id x = graph.Input({1000});
  for (int i = 0; i < 10; ++i) x = graph.Add(i % 2 == 0 ? "Exp" : "Tanh", {x}, {1000});
  graph.Output(x);
  EXPECT_LE(graph.Compile()->arena_bytes(), 4096u);
}

TEST(Lowering, ValuesOfAWideGraphDoNotOverlap) {
  Graph graph;
  std::vector<deputy_value_id> parts;
  deputy_value_id x = graph.Input(kLoweredMap);
  for (int i = 0; i < 4; ++i) parts.push_back(x = Conv(graph, x));
  graph.Output(graph.Add("Concat", parts, {1, 64, 12, 12}, [](fake::PrimitiveBytes& p) { p.Int("axis", 1); }));
  EXPECT_EQ(graph.Run(true), graph.Run(false));
}

TEST(Lowering, TwoContextsOfOneExecutableRunApart) {
  Graph graph;
  graph.Output(graph.Add("Relu", {Conv(graph, graph.Input(kLoweredMap))}, kLoweredMap));
  const auto executable = graph.Compile();
  const auto one = executable->CreateContext(), two = executable->CreateContext();
  ASSERT_TRUE(one.ok());
  ASSERT_TRUE(two.ok());
  EXPECT_NE(one.value().get(), two.value().get());
}

// A step of a sequence that was transposed: its elements lie apart.
TEST(Lowering, AProductOfOneRowIsNoReference) {
  Graph graph;
  const deputy_value_id x = graph.Add("Transpose", {graph.Input({3, 64, 5})}, {3, 5, 64}, [](fake::PrimitiveBytes& p) {
    p.Ints("perm", {0, 2, 1});
  });
  const std::vector<deputy_value_id> steps = graph.Split(x, 1, {{3, 1, 64}, {3, 4, 64}});
  graph.Output(graph.Add("MatMul", {steps[0], graph.Constant({3, 64, 100})}, {3, 1, 100}));
  graph.Output(graph.Add("MatMul", {steps[0], graph.Constant({64, 100})}, {3, 1, 100}));
  EXPECT_EQ(References(*graph.Compile()), kNone);
  const std::vector<float> fused = graph.Run(true), plain = graph.Run(false);
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(fused[i], plain[i], 1e-4f);
}

TEST(Lowering, WhatIsAReferenceInOneLayoutTakesAnother) {
  const auto axis = [](fake::PrimitiveBytes& p) { p.Int("axis", 1); };
  Graph graph;
  const deputy_value_id x = graph.Input({2, 37, 11, 7});
  graph.Output(graph.Add("Softmax", {x}, {2, 37, 11, 7}, axis));
  graph.Output(graph.Add("LogSoftmax", {x}, {2, 37, 11, 7}, axis));
  graph.Output(graph.Add("MaxPool", {x}, {2, 37, 10, 6}, [](fake::PrimitiveBytes& p) {
    p.Ints("kernel_shape", {2, 2});
  }));
  for (const Dims& reduced : {Dims{1}, Dims{2}, Dims{1, 2}, Dims{3}, Dims{0}}) {
    Dims y = {2, 37, 11, 7};
    for (const int64_t at : reduced) y[static_cast<size_t>(at)] = 1;
    graph.Output(graph.Add("ReduceMax", {x}, y, [&](fake::PrimitiveBytes& p) { p.Ints("axes", reduced); }));
  }
  EXPECT_EQ(References(*graph.Compile()), kNone);
}

// Sum, mean, maximum and minimum of the elements of x [extents] that have the same place in the dimensions that stay.
struct Reductions {
  std::vector<double> sum, mean;
  std::vector<float> max, min;
};
Reductions Reduce(const float* x, const Dims& extents, const Dims& reduced) {
  const auto is_reduced = [&](size_t d) {
    return std::find(reduced.begin(), reduced.end(), static_cast<int64_t>(d)) != reduced.end();
  };
  size_t groups = 1;
  for (size_t d = 0; d < extents.size(); ++d) groups *= is_reduced(d) ? 1 : static_cast<size_t>(extents[d]);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Reductions y{
      std::vector<double>(groups), {}, std::vector<float>(groups, -kInfinity), std::vector<float>(groups, kInfinity)};
  const auto count = static_cast<size_t>(CountOf(extents));
  for (size_t i = 0; i < count; ++i) {
    size_t group = 0, stride = 1, rest = i;
    for (size_t d = extents.size(); d-- > 0;) {
      const auto extent = static_cast<size_t>(extents[d]);
      if (!is_reduced(d)) {
        group += rest % extent * stride;
        stride *= extent;
      }
      rest /= extent;
    }
    y.sum[group] += static_cast<double>(x[i]);
    y.max[group] = std::max(y.max[group], x[i]);
    y.min[group] = std::min(y.min[group], x[i]);
  }
  for (const double sum : y.sum) y.mean.push_back(sum * static_cast<double>(groups) / static_cast<double>(count));
  return y;
}

TEST(Lowering, ReductionsOverAnyDimensionsAreThoseOfTheirElements) {
  const Dims axis_lists[] = {{3}, {1}, {0}, {0, 1}, {1, 2, 3}, {0, 3}, {0, 1, 2, 3}};
  for (size_t at = 0; at < 2 * std::size(axis_lists); ++at) {
    const Dims extents = at % 2 == 0 ? Dims{3, 5, 1, 19} : Dims{2, 75, 1, 70}, reduced = axis_lists[at / 2];
    Graph graph;
    const deputy_value_id x = graph.Input(extents);
    Dims y = extents;
    for (const int64_t axis : reduced) y[static_cast<size_t>(axis)] = 1;
    const auto axes = [&](fake::PrimitiveBytes& p) { p.Ints("axes", reduced); };
    for (const char* type : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"})
      graph.Output(graph.Add(type, {x}, y, axes, 11));
    graph.Output(graph.Add("Neg", {x}, extents));  // to see the input
    std::vector<float> all = graph.Run();
    const auto made = static_cast<size_t>(CountOf(y));
    ASSERT_EQ(all.size(), 4 * made + static_cast<size_t>(CountOf(extents)));
    std::transform(all.begin() + static_cast<std::ptrdiff_t>(4 * made), all.end(),
                   all.begin() + static_cast<std::ptrdiff_t>(4 * made), std::negate<float>());
    const Reductions expected = Reduce(all.data() + 4 * made, extents, reduced);
    for (size_t i = 0; i < made; ++i) {
      EXPECT_NEAR(static_cast<double>(all[i]), expected.sum[i], 5e-4);
      EXPECT_NEAR(static_cast<double>(all[made + i]), expected.mean[i], 1e-5);
      EXPECT_EQ(all[2 * made + i], expected.max[i]);
      EXPECT_EQ(all[3 * made + i], expected.min[i]);
    }
  }
}

struct PoolCase {
  Dims x, y, kernel, strides, pads, dilations;
};

// A pool of x [1, channels, in...] in the row-major order of its result.
std::vector<float> Largest(const float* x, const PoolCase& pool) {
  std::vector<float> y;
  const size_t rank = pool.kernel.size();
  const int64_t plane = CountOf(Dims(pool.x.begin() + 2, pool.x.end()));
  const int64_t positions = CountOf(Dims(pool.y.begin() + 2, pool.y.end()));
  for (int64_t at = 0; at < pool.x[1] * positions; ++at) {
    float largest = -std::numeric_limits<float>::infinity();
    for (int64_t tap = 0; tap < CountOf(pool.kernel); ++tap) {
      int64_t position = at % positions, rest = tap, element = 0, stride = 1;
      bool inside = true;
      for (size_t d = rank; d-- > 0;) {
        const int64_t from =
            position % pool.y[d + 2] * pool.strides[d] + rest % pool.kernel[d] * pool.dilations[d] - pool.pads[d];
        inside = inside && from >= 0 && from < pool.x[d + 2];
        element += from * stride;
        stride *= pool.x[d + 2];
        position /= pool.y[d + 2];
        rest /= pool.kernel[d];
      }
      if (inside) largest = std::max(largest, x[at / positions * plane + element]);
    }
    y.push_back(largest);
  }
  return y;
}

// Behind a convolution channels lie in vectors: in blocks, or innermost.
TEST(Lowering, APoolOfVectorsIsThatOfItsElements) {
  const PoolCase cases[] = {
      {{1, 16, 9, 11}, {1, 16, 5, 6}, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}},
      {{1, 16, 9, 11}, {1, 16, 9, 11}, {5, 5}, {1, 1}, {2, 2, 2, 2}, {1, 1}},
      {{1, 21, 8, 8}, {1, 21, 4, 4}, {2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}},
      {{1, 32, 10, 10}, {1, 32, 6, 8}, {3, 2}, {1, 1}, {0, 0, 0, 0}, {2, 2}},
      {{1, 8, 12, 3}, {1, 8, 2, 3}, {9, 9}, {3, 1}, {0, 4, 0, 4}, {1, 1}},
      {{1, 16, 3, 70}, {1, 16, 1, 4}, {3, 67}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
      {{1, 16, 40}, {1, 16, 20}, {3}, {2}, {1, 0}, {1}},
      {{1, 16, 5, 6, 7}, {1, 16, 3, 3, 3}, {3, 2, 3}, {2, 2, 2}, {1, 0, 0, 1, 0, 0}, {1, 1, 1}},
  };
  for (const PoolCase& pool : cases) {
    Graph graph;
    Dims weights = {pool.x[1], pool.x[1]};
    weights.resize(pool.x.size(), 1);
    const deputy_value_id x = graph.Add("Conv", {graph.Input(pool.x), graph.Constant(weights)}, pool.x);
    graph.Output(x);
    graph.Output(graph.Add("MaxPool", {x}, pool.y, [&](fake::PrimitiveBytes& p) {
      p.Ints("kernel_shape", pool.kernel).Ints("strides", pool.strides).Ints("pads", pool.pads);
      p.Ints("dilations", pool.dilations);
    }));
    const std::vector<float> all = graph.Run();
    const std::vector<float> pooled(all.begin() + CountOf(pool.x), all.end());
    EXPECT_EQ(pooled, Largest(all.data(), pool)) << pool.x.size() << " " << pool.x[1] << " " << pool.kernel[0];
  }
}

TEST(Lowering, WhatIsOnlyConcatenatedIsWrittenInPlace) {
  const auto channels = [](fake::PrimitiveBytes& p) { p.Int("axis", 1); };
  const auto copies = [](const Executable& executable) {
    return std::count_if(executable.steps().begin(), executable.steps().end(),
                         [](const Step& step) { return std::string(step.name) == "concat"; });
  };
  Graph graph;
  deputy_value_id x = Conv(graph, graph.Input(kLoweredMap));
  // Of the second one a part is read again, and only the other part is written in place.
  const deputy_value_id a = graph.Add("Concat", {Conv(graph, x), Conv(graph, x)}, {1, 32, 12, 12}, channels);
  const deputy_value_id b = graph.Add("Concat", {x, a}, {1, 48, 12, 12}, channels);
  graph.Output(graph.Add("Conv", {b, graph.Constant({16, 48, 3, 3})}, kLoweredMap, Pads));
  graph.Output(graph.Add("Relu", {x}, kLoweredMap));
  const auto executable = graph.Compile();
  // Convolutions of the plugin's own are row-major, where the channels of a part are one piece.
  EXPECT_LE(copies(*executable), HasVectors() ? 1 : 2);
  const std::vector<float> fused = graph.Run(true), plain = graph.Run(false);
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(fused[i], plain[i], 1e-4f);

  Graph twice;
  const deputy_value_id y = Conv(twice, twice.Input(kLoweredMap));
  twice.Output(twice.Add("Concat", {y, y, twice.Input(kLoweredMap)}, {1, 48, 12, 12}, channels));
  twice.Output(twice.Add("Neg", {y}, kLoweredMap));
  const std::vector<float> all = twice.Run();
  const size_t part = static_cast<size_t>(CountOf(kLoweredMap));
  for (size_t i = 0; i < part; ++i) {
    ASSERT_EQ(all[i], all[part + i]);
    ASSERT_EQ(all[i], -all[3 * part + i]);
  }
}

// The state of a streaming model: the sum is kept in blocks for the next convolution, which adds to it in place, and
// row-major for the slice that leaves.
TEST(Lowering, ASumLeavesAViewOfItsOperandAlone) {
  for (const int64_t channels : {1, 4, 8, 16, 24}) {
    Graph graph;
    const Dims map = {1, channels, 6, 5}, last_row = {1, channels, 1, 5};
    const deputy_value_id narrow = graph.Add("Relu", {graph.Input({1, 8, 6, 5})}, {1, 8, 6, 5});
    const deputy_value_id wide = graph.Add("Relu", {graph.Input({1, 32, 6, 5})}, {1, 32, 6, 5});
    const deputy_value_id first = graph.Add("Conv", {narrow, graph.Constant({channels, 8, 1, 1})}, map);
    const deputy_value_id state = graph.Add("Add", {graph.Input(map), first}, map);
    const auto last = [](fake::PrimitiveBytes& p) { p.Ints("axes", {2}).Ints("starts", {5}).Ints("ends", {6}); };
    graph.Output(graph.Add("Slice", {state}, last_row, last, 1));
    const deputy_value_id second = graph.Add("Conv", {wide, graph.Constant({channels, 32, 1, 1})}, map);
    graph.Output(graph.Add("Add", {second, state}, map));
    const std::vector<float> fused = graph.Run(true), plain = graph.Run(false);
    for (size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(fused[i], plain[i], 1e-5f) << channels << " channels, " << i;
  }
}

// Convolutions in blocks of channels, concatenated in each dimension: each element lies where row-major order has it.
TEST(Lowering, BlockedPartsAreConcatenatedInEachDimension) {
  for (const Dims& map : {Dims{2, 32, 5, 3}, Dims{1, 64, 20, 1}, Dims{1, 48, 1, 7}, Dims{3, 16, 2, 2, 4}})
    for (size_t axis = 0; axis < map.size(); ++axis) {
      Dims weights(map.size(), 1), joined = map;
      weights[0] = weights[1] = map[1];
      joined[axis] = 2 * map[axis];
      Graph graph;
      const auto made = [&] {
        const deputy_value_id y = graph.Add("Conv", {graph.Input(map), graph.Constant(weights)}, map);
        return graph.Add("Add", {y, graph.Input(map)}, map);  // kept in the layout of the convolution
      };
      const std::vector<deputy_value_id> parts = {made(), made()};
      graph.Output(
          graph.Add("Concat", parts, joined, [&](fake::PrimitiveBytes& p) { p.Int("axis", static_cast<int>(axis)); }));
      for (const deputy_value_id part : parts) graph.Output(part);
      const std::vector<float> all = graph.Run();
      const auto count = static_cast<size_t>(CountOf(map)),
                 rows = static_cast<size_t>(CountOf(Dims(map.begin(), map.begin() + static_cast<int>(axis))));
      const size_t piece = count / rows;
      for (size_t i = 0; i < 2 * count; ++i) {
        const size_t row = i / (2 * piece), part = i / piece % 2, at = i % piece;
        ASSERT_EQ(all[i], all[2 * count + part * count + row * piece + at]) << "axis " << axis << ", element " << i;
      }
    }
}

// Equal terms, whose rounding errors have one sign: a plain loop over 512 is off by up to 100 units in the last place.
TEST(Lowering, LongSumsAreExactToAUnit) {
  for (const Dims& x : {Dims{1, 512, 96}, Dims{3, 2000}})
    for (const float term : {0.7F, 0.1F, 1.3F}) {
      Graph graph;
      Dims y = x;
      y[1] = 1;
      const deputy_value_id input = graph.Input(x);
      const deputy_value_id zero = graph.Add("Mul", {input, graph.Constant({1}, {0.0F})}, x);
      const deputy_value_id terms = graph.Add("Add", {zero, graph.Constant({1}, {term})}, x);
      graph.Output(graph.Add(
          "ReduceSum", {terms}, y, [](fake::PrimitiveBytes& p) { p.Ints("axes", {1}); }, 11));
      for (const float sum : graph.Run()) {
        const double exact = static_cast<double>(x[1]) * static_cast<double>(term);
        ASSERT_NEAR(sum, exact, 0x1p-23 * exact) << x[1] << " times " << term;
      }
    }
}

TEST(Analysis, NamesTheNodesThatAreSlow) {
  Graph graph;
  const Dims map = {2, 16, 12, 12};
  const deputy_value_id x = graph.Add("Conv", {graph.Input(map), graph.Constant({16, 16, 3, 3})}, map, Pads);
  graph.Output(graph.Add("PRelu", {x, graph.Constant({1, 1, 12, 1})}, map));
  EXPECT_EQ(graph.Analyze().slow, (std::set<deputy_node_id>{1}));
}

TEST(Lowering, AHardSigmoidIsOneStep) {
  Graph graph;
  graph.Output(graph.Add("HardSigmoid", {graph.Input(kLoweredMap)}, kLoweredMap));
  EXPECT_EQ(graph.Compile()->steps().size(), 1u);
}

// Where channels are padded to a vector, what is added must not reach the padding, over which the convolution sums.
TEST(Lowering, AHardSigmoidLeavesThePaddingAlone) {
  Graph graph;
  const deputy_value_id made =
      graph.Add("ConvTranspose", {graph.Input({1, 2, 9, 9}), graph.Constant({2, 5, 3, 3})}, {1, 5, 11, 11});
  const deputy_value_id y = graph.Add("HardSigmoid", {made}, {1, 5, 11, 11});
  graph.Output(graph.Add("Conv", {y, graph.Constant({16, 5, 3, 3})}, {1, 16, 9, 9}));
  const std::vector<float> fused = graph.Run(true), plain = graph.Run(false);
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(fused[i], plain[i], 1e-4f);
}

// oneDNN multiplies matrices for each group.
TEST(Lowering, TransposedConvolutionsOfNarrowGroupsAreSlow) {
  const auto slow = [](int64_t channels, int64_t groups) {
    Graph graph;
    const deputy_value_id x = graph.Input({1, channels, 14, 14});
    graph.Output(graph.Add("ConvTranspose", {x, graph.Constant({channels, channels / groups, 2, 2})},
                           {1, channels, 15, 15}, [&](fake::PrimitiveBytes& p) { p.Int("group", groups); }));
    return !graph.Analyze().slow.empty();
  };
  // oneDNN has a kernel of its own for AVX-512.
  const auto isa = static_cast<int>(dnnl::get_effective_cpu_isa()), avx512 = static_cast<int>(dnnl_cpu_isa_avx512_core);
  const bool has_kernel = (isa & avx512) == avx512;
  EXPECT_EQ(slow(64, 16), !has_kernel);
  EXPECT_EQ(slow(12, 3), !has_kernel);
  EXPECT_FALSE(slow(12, 1));
  EXPECT_FALSE(slow(64, 64));
}

// oneDNN's kernel for channels last is slower than a loop whatever their number.
TEST(Analysis, ANormalizationOverChannelsIsSlowUnlessRowMajorHasAKernel) {
  const auto five = [](fake::PrimitiveBytes& p) { p.Int("size", 5); };
  const auto three = [](fake::PrimitiveBytes& p) { p.Int("size", 3); };
  const auto slow = [](const Dims& dims, const Graph::Attributes& size) {
    Graph graph;
    graph.Output(graph.Add("LRN", {graph.Input(dims)}, dims, size));
    return !graph.Analyze().slow.empty();
  };
  EXPECT_FALSE(slow({1, 64, 14, 14}, five));
  EXPECT_TRUE(slow({1, 37, 14, 14}, five));
  EXPECT_TRUE(slow({1, 64, 14, 14}, three));
  Graph behind;
  behind.Output(behind.Add("LRN", {Conv(behind, behind.Input(kLoweredMap))}, kLoweredMap, five));
  EXPECT_TRUE(behind.Analyze().slow.empty());
}

TEST(Analysis, AnErfThatIsPartOfNoGeluIsSlow) {
  Graph graph;
  const deputy_value_id x = graph.Add("MatMul", {graph.Input({8, 64}), graph.Constant({64, 64})}, {8, 64});
  graph.Output(graph.Add("Erf", {x}, {8, 64}));
  EXPECT_EQ(graph.Analyze().slow, (std::set<deputy_node_id>{1}));
}

// From the second Elu on the post-ops are primitives of their own, and that of the product is a reference.
TEST(Analysis, OfAPostOpThatDidNotFitOnlyItsOwnNodeIsSlow) {
  Graph graph;
  const Dims map = {2, 16, 12, 12};
  deputy_value_id x = graph.Add("Conv", {graph.Input(map), graph.Constant({16, 16, 3, 3})}, map, Pads);
  x = graph.Add("Elu", {x}, map);
  x = graph.Add("Elu", {x}, map, [](fake::PrimitiveBytes& p) { p.Float("alpha", 2); });
  graph.Output(graph.Add("Mul", {x, graph.Input({2, 1, 1, 1})}, map));
  EXPECT_EQ(graph.Analyze().slow, (std::set<deputy_node_id>{3}));
}

TEST(Analysis, APoolIsSlowOverARowMajorTensorOnly) {
  const auto window = [](fake::PrimitiveBytes& p) { p.Ints("kernel_shape", {3, 3}); };
  Graph alone, behind;
  alone.Output(alone.Add("MaxPool", {alone.Input(kLoweredMap)}, {1, 16, 10, 10}, window));
  EXPECT_EQ(alone.Analyze().slow.size(), 1u);
  behind.Output(behind.Add("MaxPool", {Conv(behind, behind.Input(kLoweredMap))}, {1, 16, 10, 10}, window));
  EXPECT_EQ(behind.Analyze().slow.size(), 0u);
}

TEST(Analysis, CountsWhatWouldBeMade) {
  Graph graph;
  graph.Output(
      graph.Add("Softmax", {graph.Add("Relu", {Conv(graph, graph.Input(kLoweredMap))}, kLoweredMap)}, kLoweredMap));
  EXPECT_EQ(graph.Analyze().steps, graph.Compile()->steps().size());
}

TEST(Work, AFewElementsAreNotWorthACall) {
  Graph few, many;
  few.Output(few.Add("Relu", {few.Input({100})}, {100}));
  EXPECT_FALSE(few.IsWorthCalling());
  many.Output(many.Add("Relu", {many.Input({100000})}, {100000}));
  EXPECT_TRUE(many.IsWorthCalling());
}

TEST(Work, ManySmallProductsAreNotWorthTheirSteps) {
  Graph graph;
  deputy_value_id x = graph.Input({1, 32});
  for (int i = 0; i < 50; ++i) x = graph.Add("MatMul", {x, graph.Constant({32, 32})}, {1, 32});
  graph.Output(x);
  EXPECT_FALSE(graph.IsWorthCalling());
}

TEST(Work, AFewStepsForManyNodesAreWorthCalling) {
  Graph graph;
  const Dims row = {1, 8};
  const deputy_value_id three = graph.Constant({1}, {3}), zero = graph.Constant({}, {0}), six = graph.Constant({}, {6});
  deputy_value_id x = graph.Input(row);
  for (int i = 0; i < 10; ++i) {  // HardSwish, written out
    const deputy_value_id gate = graph.Add("Clip", {graph.Add("Add", {x, three}, row), zero, six}, row);
    x = graph.Add("Div", {graph.Add("Mul", {x, gate}, row), six}, row);
  }
  graph.Output(x);
  EXPECT_EQ(graph.Analyze().steps, 10u);
  EXPECT_TRUE(graph.IsWorthCalling());
}

TEST(Work, MovementIsNone) {
  Graph graph;
  graph.Output(graph.Add("Transpose", {graph.Input({500, 500})}, {500, 500}));
  EXPECT_FALSE(graph.IsWorthCalling());
}

}  // namespace
}  // namespace onednn
