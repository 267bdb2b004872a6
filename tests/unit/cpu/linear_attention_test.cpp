// The operators with a state, with numbers that are easy to follow.
#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

PrimitiveBuilder Linear(const char* rule, int64_t heads = 1, int64_t key_heads = 1) {
  return PrimitiveBuilder("", "LinearAttention", 27)
      .Set("q_num_heads", heads)
      .Set("kv_num_heads", key_heads)
      .Set("scale", 1.0f)
      .Set("update_rule", std::string(rule));
}

// Two tokens of one head: keys (1, 0) and (1, 1), values 2 and 3, queries (1, 1).
const Tensor kQueries = TensorOf<float>({1, 2, 2}, {1, 1, 1, 1}), kKeys = TensorOf<float>({1, 2, 2}, {1, 0, 1, 1}),
             kValues = TensorOf<float>({1, 2, 1}, {2, 3});

TEST(LinearAttention, AddsTheProductOfKeyAndValue) {
  const std::vector<Tensor> out =
      RunNode(MakeLinearAttention, Linear("linear"), {kQueries, kKeys, kValues}, {.outputs = 2});
  ExpectFloats(out[0], {2, 8});  // states (2, 0), (5, 3)
  ExpectFloats(out[1], {5, 3});
  EXPECT_EQ(out[1].shape(), (Shape{1, 1, 2, 1}));
}

TEST(LinearAttention, DecaysTheStateFirst) {
  const float half = std::log(0.5f);
  const std::vector<Tensor> of_head =
      RunNode(MakeLinearAttention, Linear("gated"),
              {kQueries, kKeys, kValues, TensorOf<float>({1, 1, 2, 1}, {4, 8}), TensorOf<float>({1, 2, 1}, {half, 0})},
              {.outputs = 2});
  ExpectFloats(of_head[0], {8, 14});  // (2, 4) + (2, 0), then + (3, 3)
  const std::vector<Tensor> of_each = RunNode(
      MakeLinearAttention, Linear("gated"),
      {kQueries, kKeys, kValues, TensorOf<float>({1, 1, 2, 1}, {4, 8}), TensorOf<float>({1, 2, 2}, {half, 0, 0, half})},
      {.outputs = 2});
  ExpectFloats(of_each[0], {12, 14});  // (2, 8) + (2, 0), then (4, 4) + (3, 3)
}

TEST(LinearAttention, SubtractsWhatTheStateHoldsForTheKey) {
  const std::vector<Tensor> out =
      RunNode(MakeLinearAttention, Linear("delta"),
              {kQueries, kKeys, kValues, kNoInput, kNoInput, TensorOf<float>({1, 2, 1}, {1, 0.5f})}, {.outputs = 2});
  ExpectFloats(out[1], {2.5f, 0.5f});  // (2, 0), then + (1, 1) * 0.5 * (3 - 2)
  ExpectFloats(out[0], {2, 3});
}

// What the decayed state holds is subtracted.
TEST(LinearAttention, DecaysBeforeItSubtracts) {
  const float half = std::log(0.5f);
  const std::vector<Tensor> out =
      RunNode(MakeLinearAttention, Linear("gated_delta"),
              {kQueries, kKeys, kValues, TensorOf<float>({1, 1, 2, 1}, {4, 8}),
               TensorOf<float>({1, 2, 1}, {half, half}), TensorOf<float>({1, 2, 1}, {1, 1})},
              {.outputs = 2});
  ExpectFloats(out[1], {1, 2});  // (2, 4) with 2 for the key: unchanged; then (1, 2) with 3 for the key: unchanged
}

TEST(LinearAttention, HeadsOfQueriesShareAState) {
  const std::vector<Tensor> out = RunNode(
      MakeLinearAttention, Linear("linear", 2, 1),
      {TensorOf<float>({1, 1, 4}, {1, 0, 0, 1}), TensorOf<float>({1, 1, 2}, {2, 3}), TensorOf<float>({1, 1, 1}, {5})});
  ExpectFloats(out[0], {10, 15});
}

TEST(LinearAttention, StateHasATypeOfItsOwn) {
  const Tensor past = TensorOf<uint16_t>({1, 1, 2, 1}, {0x4400, 0x4800}, DType::kFloat16);  // 4, 8
  const std::vector<Tensor> out =
      RunNode(MakeLinearAttention, Linear("linear"), {kQueries, kKeys, kValues, past}, {.outputs = 2});
  ExpectFloats(out[0], {14, 20});
  EXPECT_EQ(ValuesOf<uint16_t>(out[1]), (std::vector<uint16_t>{0x4880, 0x4980}));  // 9, 11
}

TEST(LinearAttention, InputsMustMatchTheRule) {
  const auto failure = [](const char* rule, std::vector<Tensor> more) {
    std::vector<Tensor> inputs = {kQueries, kKeys, kValues};
    inputs.insert(inputs.end(), more.begin(), more.end());
    return TryRunNode(MakeLinearAttention, Linear(rule), inputs).status().message();
  };
  const Tensor gate = TensorOf<float>({1, 2, 1}, {0, 0});
  EXPECT_EQ(failure("gated", {}), "update_rule 'gated' requires the input 'decay'");
  EXPECT_EQ(failure("delta", {}), "update_rule 'delta' requires the input 'beta'");
  EXPECT_EQ(failure("linear", {kNoInput, gate}), "update_rule 'linear' does not read the input 'decay'");
  EXPECT_NE(failure("delta", {kNoInput, kNoInput, TensorOf<float>({1, 2, 2}, {0, 0, 0, 0})}), "");
}

TEST(CausalConvWithState, ReadsThePastAndKeepsItsEnd) {
  const PrimitiveBuilder builder("", "CausalConvWithState", 27);
  const Tensor x = TensorOf<float>({1, 2, 3}, {1, 2, 3, 4, 5, 6}),
               weight = TensorOf<float>({2, 1, 3}, {100, 10, 1, 0, 1, 0});
  const std::vector<Tensor> fresh = RunNode(MakeCausalConvWithState, builder, {x, weight}, {.outputs = 2});
  ExpectFloats(fresh[0], {1, 12, 123, 0, 4, 5});
  ExpectFloats(fresh[1], {2, 3, 5, 6});
  const std::vector<Tensor> next =
      RunNode(MakeCausalConvWithState, builder,
              {x, weight, TensorOf<float>({2}, {0.5f, -1}), TensorOf<float>({1, 2, 2}, {8, 9, 7, 3})}, {.outputs = 2});
  ExpectFloats(next[0], {891.5f, 912.5f, 123.5f, 2, 3, 4});
  ExpectFloats(next[1], {2, 3, 5, 6});
}

TEST(CausalConvWithState, AShortInputLeavesPartOfThePast) {
  const PrimitiveBuilder builder =
      PrimitiveBuilder("", "CausalConvWithState", 27).Set("activation", std::string("silu"));
  const std::vector<Tensor> out = RunNode(MakeCausalConvWithState, builder,
                                          {TensorOf<float>({1, 1, 1}, {4}), TensorOf<float>({1, 1, 4}, {0, 0, 0, 0.5f}),
                                           kNoInput, TensorOf<float>({1, 1, 3}, {1, 2, 3})},
                                          {.outputs = 2});
  ExpectFloats(out[0], {2 / (1 + std::exp(-2.0f))});
  ExpectFloats(out[1], {2, 3, 4});
}

TEST(CausalConvWithState, WeightsOfAnotherShapeAreRefused) {
  EXPECT_NE(TryRunNode(MakeCausalConvWithState, PrimitiveBuilder("", "CausalConvWithState", 27),
                       {TensorOf<float>({1, 2, 1}, {1, 2}), TensorOf<float>({2, 2, 1}, {1, 2, 3, 4})})
                .status()
                .message()
                .find("expected [channels,1,k]"),
            std::string::npos);
}

TEST(TensorScatter, WritesEachSampleAtItsPlace) {
  const Tensor cache = TensorOf<float>({2, 3, 1}, {1, 2, 3, 4, 5, 6}),
               update = TensorOf<float>({2, 2, 1}, {10, 20, 30, 40});
  const auto written = [&](const char* mode, std::vector<int64_t> at) {
    return RunNode(MakeTensorScatter, PrimitiveBuilder("", "TensorScatter", 24).Set("mode", std::string(mode)),
                   {cache, update, TensorOf<int64_t>({2}, at)})[0];
  };
  ExpectFloats(written("linear", {0, 1}), {10, 20, 3, 4, 30, 40});
  ExpectFloats(written("circular", {2, 7}), {20, 2, 10, 4, 30, 40});
  ExpectFloats(RunNode(MakeTensorScatter, PrimitiveBuilder("", "TensorScatter", 24), {cache, update})[0],
               {10, 20, 3, 30, 40, 6});
}

TEST(TensorScatter, OfPackedElements) {
  const Tensor cache = TensorOf<uint8_t>({1, 5}, {0x21, 0x43, 0x05}, DType::kInt4),
               update = TensorOf<uint8_t>({1, 2}, {0x76}, DType::kInt4);
  const Tensor out = RunNode(MakeTensorScatter, PrimitiveBuilder("", "TensorScatter", 24).Set("axis", int64_t{-1}),
                             {cache, update, TensorOf<int64_t>({1}, {2})})[0];
  EXPECT_EQ(ValuesOf<uint8_t>(out), (std::vector<uint8_t>{0x21, 0x76, 0x05}));
}

TEST(TensorScatter, PlacesOutsideTheCacheAreRefused) {
  const Tensor cache = TensorOf<float>({1, 3}, {1, 2, 3}), update = TensorOf<float>({1, 2}, {10, 20});
  const auto failure = [&](const char* mode, int64_t axis, int64_t at) {
    const PrimitiveBuilder builder =
        PrimitiveBuilder("", "TensorScatter", 24).Set("mode", std::string(mode)).Set("axis", axis);
    return TryRunNode(MakeTensorScatter, builder, {cache, update, TensorOf<int64_t>({1}, {at})}).status().message();
  };
  EXPECT_EQ(failure("linear", 1, 2), "write_indices has the value 2: 2 elements do not fit into 3 from there");
  EXPECT_EQ(failure("linear", 1, -1), "write_indices has the value -1: 2 elements do not fit into 3 from there");
  EXPECT_NE(failure("circular", 1, -1), "");
  EXPECT_EQ(failure("linear", 0, 0), "axis 0 is that of the batch");
}

}  // namespace
}  // namespace deputy::host
