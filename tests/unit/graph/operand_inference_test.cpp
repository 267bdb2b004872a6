// Operands whose extents and constants do not decide the types of the outputs: each that a kernel would refuse in a run
// is refused by inference, and the same node with operands that fit is not.
#include "graph/inference/operands.hpp"
#include "infer_one.hpp"

namespace deputy::host {
namespace {

using Dims = std::vector<int64_t>;

Operand KnownBools(const std::vector<uint8_t>& values) {
  const Shape shape = {static_cast<int64_t>(values.size())};
  return {{DType::kBool, true, shape},
          Tensor::FromValues<uint8_t>(DType::kBool, shape, std::span<const uint8_t>(values)).value()};
}
// The elements of a known list in another shape.
Operand Shaped(const Dims& dims, const Operand& known) {
  return {{DType::kInt64, true, dims},
          Tensor::FromValues<int64_t>(DType::kInt64, dims, known.constant.values<int64_t>()).value()};
}
Operand Known32(const std::vector<int32_t>& values) {
  const Shape shape = {static_cast<int64_t>(values.size())};
  return {{DType::kInt32, true, shape},
          Tensor::FromValues<int32_t>(DType::kInt32, shape, std::span<const int32_t>(values)).value()};
}

PrimitiveBuilder Op(const char* type, int32_t version) { return PrimitiveBuilder("", type, version); }
PrimitiveBuilder Microsoft(const char* type) { return PrimitiveBuilder("com.microsoft", type, 1); }

// Operands that fit, and changes of one operand with the message that each gives.
struct Change {
  size_t operand;
  Operand other;
  std::string message;
};
struct Case {
  PrimitiveBuilder builder;
  std::vector<Operand> operands;
  std::vector<Change> changes;
  size_t outputs = 1;
};

std::vector<Case> Cases() {
  const Operand one = Known({1});
  const auto ints = [](Dims dims) { return Typed(std::move(dims), DType::kInt64); };
  const auto ints32 = [](Dims dims) { return Typed(std::move(dims), DType::kInt32); };
  const auto bytes = [](Dims dims) { return Typed(std::move(dims), DType::kUint8); };
  return {
      {Op("Clip", 13),
       {Typed({2, 3}), Typed({}), Typed({1})},
       {{1, Typed({2}), "input 'min' has shape [2], expected 1 element"},
        {2, Typed({0}), "input 'max' has shape [0], expected 1 element"}}},
      {Op("Gather", 13),
       {Typed({2, 3}), Known({-2, 1})},
       {{1, Known({0, 2}), "input 'indices' has the value 2, expected -2 to 1"},
        {1, Known({INT64_MIN}), "input 'indices' has the value -9223372036854775808, expected -2 to 1"},
        {1, Known32({-3}), "input 'indices' has the value -3, expected -2 to 1"}}},
      {Op("GatherElements", 13),
       {Typed({3, 2}), Shaped({1, 2}, Known({2, -3}))},
       {{1, Shaped({1, 2}, Known({2, 3})), "input 'indices' has the value 3, expected -3 to 2"}}},
      {Op("GatherND", 13),
       {Typed({3, 2}), Shaped({1, 2}, Known({2, 1}))},
       {{1, Shaped({1, 2}, Known({1, 2})), "input 'indices' has the value 2, expected -2 to 1"}}},
      {Op("ScatterElements", 18),
       {Typed({3, 2}), Shaped({1, 2}, Known({2, 0})), Typed({1, 2})},
       {{1, ints({1}), "indices with shape [1] do not fit data with shape [3,2] along axis 0"},
        {1, ints({1, 3}), "indices with shape [1,3] do not fit data with shape [3,2] along axis 0"},
        {1, Shaped({1, 2}, Known({3, 0})), "input 'indices' has the value 3, expected -3 to 2"},
        {2, Typed({2, 2}), "input 'updates' has shape [2,2], expected [1,2]"}}},
      {Op("ScatterND", 18),
       {Typed({4, 4, 4}), Shaped({2, 1}, Known({0, 3})), Typed({2, 4, 4})},
       {{2, Typed({2, 3, 4}), "input 'updates' has shape [2,3,4], expected [2,4,4]"},
        {1, Shaped({2, 1}, Known({0, 4})), "input 'indices' has the value 4, expected -4 to 3"},
        {1, ints({2, 4}), "the last extent of indices with shape [2,4] is out of range for data with shape [4,4,4]"},
        {1, ints({}), "the last extent of indices with shape [] is out of range for data with shape [4,4,4]"}}},
      {Op("ReverseSequence", 10),
       {Typed({4, 3, 2}), Known({1, 4, 0})},
       {{1, ints({4}), "input 'sequence_lens' has shape [4], expected [3]"},
        {1, ints({1, 3}), "input 'sequence_lens' has shape [1,3], expected [3]"},
        {1, Known({1, 5, 0}), "input 'sequence_lens' has the value 5, expected 0 to 4"}}},
      {Op("Compress", 11).Set("axis", int64_t{1}),
       {Typed({2, 3}), KnownBools({1, 0, 1, 0})},
       {{1, KnownBools({0, 0, 0, 1}), "condition selects index 3 of an axis of extent 3"}}},
      {Op("OneHot", 11),
       {ints({2}), Typed({1}, DType::kInt64), Typed({2})},
       {{1, ints({2}), "input 'depth' has shape [2], expected 1 element"},
        {2, Typed({3}), "input 'values' has shape [3], expected 2 elements"}}},
      {Op("Pad", 18),
       {Typed({2}), Known({1, 1}), Typed({})},
       {{2, Typed({2}), "input 'constant_value' has shape [2], expected 1 element"}}},
      {Op("Trilu", 14), {Typed({2, 2}), ints({})}, {{1, ints({2}), "input 'k' has shape [2], expected 1 element"}}},
      {Op("CumSum", 14), {Typed({2, 2}), ints({})}, {{1, ints({2}), "input 'axis' has shape [2], expected 1 element"}}},
      {Op("Range", 11),
       {ints({}), ints({}), ints({})},
       {{1, ints({2}), "input 'limit' has shape [2], expected 1 element"}}},
      {Op("LayerNormalization", 17).Set("axis", int64_t{1}),
       {Typed({2, 3, 5}), Typed({3, 5}), Typed({5})},
       {{1, Typed({3, 3}), "input 'Scale' with shape [3,3] cannot be broadcast to shape [3,5]"},
        {2, Typed({2, 3, 5}), "input 'B' with shape [2,3,5] cannot be broadcast to shape [3,5]"}}},
      {Op("RMSNormalization", 23),
       {Typed({2, 3}), Typed({3})},
       {{0, Typed({2, 4}), "input 'scale' with shape [3] cannot be broadcast to shape [4]"}}},
      {Op("RMSNormalization", 23).Set("axis", int64_t{-2}),
       {Typed({2, 3}), Typed({2, 3})},
       {{0, Typed({3}), "axis -2 is out of range for an input of rank 1"}}},
      {Op("LpNormalization", 22).Set("axis", int64_t{1}),
       {Typed({2, 3})},
       {{0, Typed({3}), "axis 1 is out of range for an input of rank 1"}}},
      {Op("MeanVarianceNormalization", 13),
       {Typed({2, 3, 4, 5})},
       {{0, Typed({2, 3, 4}), "axis 3 is out of range for an input of rank 3"}}},
      {Op("BatchNormalization", 7).Set("spatial", int64_t{0}),
       {Typed({2, 3, 4}), Typed({3, 4}), Typed({12}), Typed({3, 4}), Typed({3, 4})},
       {{2, Typed({3}), "input 'bias' has shape [3], expected 12 elements"}}},
      {Op("SoftmaxCrossEntropyLoss", 13),
       {Typed({3, 5, 2}), ints({3, 2}), Typed({5})},
       {{1, ints({3}), "input 'target' has shape [3], expected [3,2]"},
        {1, Shaped({3, 2}, Known({0, 1, 2, 3, 4, 5})), "input 'target' has the value 5, expected 0 to 4"},
        {2, Typed({3}), "input 'weights' has shape [3], expected [5]"}}},
      {Op("NegativeLogLikelihoodLoss", 13).Set("ignore_index", int64_t{-1}),
       {Typed({2, 5}), Known({4, -1})},
       {{1, Known({4, -2}), "input 'target' has the value -2, expected 0 to 4"}}},
      {Op("GlobalMaxPool", 22),
       {Typed({0, 3, 0})},
       {{0, Typed({2, 3, 0}), "the spatial axes of input [2,3,0] are empty"}}},
      {Op("MaxUnpool", 22).Set("kernel_shape", Dims{2}),
       {Typed({1, 2, 3}), ints({1, 2, 3})},
       {{1, ints({1, 2, 2}), "input 'I' has shape [1,2,2], expected 6 elements"}}},
      {Op("Multinomial", 22),
       {Typed({2, 3})},
       {{0, Typed({2, 0}), "input of shape [2,0] has no classes to draw from"}}},
      {Op("LSTM", 22).Set("hidden_size", int64_t{2}),
       {Typed({3, 1, 4}), Typed({1, 8, 4}), Typed({1, 8, 2}), Typed({1, 16}), Known32({3}), Typed({1, 1, 2}),
        Typed({1, 1, 2}), Typed({1, 6})},
       {{1, Typed({1, 8, 4, 2}), "W has rank 4, expected 3"},
        {3, Typed({1, 8}), "input 'B' has shape [1,8], expected [1,16]"},
        {4, ints32({2}), "input 'sequence_lens' has shape [2], expected [1]"},
        {4, Known32({4}), "input 'sequence_lens' has the value 4, expected 0 to 3"},
        {5, Typed({1, 2}), "input 'initial_h' has shape [1,2], expected [1,1,2]"},
        {6, Typed({1, 1, 3}), "input 'initial_c' has shape [1,1,3], expected [1,1,2]"},
        {7, Typed({1, 8}), "input 'P' has shape [1,8], expected [1,6]"}}},
      {Op("Resize", 19).Set("coordinate_transformation_mode", std::string("tf_crop_and_resize")),
       {Typed({1, 4}), Typed({4}), LeftOut(), Known({1, 2})},
       {{1, LeftOut(), "input 1 ('roi') is missing"},
        {1, Typed({3}), "input 'roi' has 3 elements, expected a start and an end for each of 2 axes"},
        {3, ints({3}), "input 'sizes' has shape [3], expected 2 elements"}}},
      {Op("Resize", 19),
       {Typed({1, 4}), LeftOut(), Typed({2})},
       {{2, Typed({3}), "input 'scales' has shape [3], expected 2 elements"}}},
      {Op("DFT", 20),
       {Typed({1, 8, 2}), ints({}), ints({})},
       {{0, Typed({1, 8, 17}), "the last axis, of real and imaginary parts, has extent 17, expected 1 or 2"},
        {1, ints({2}), "input 'dft_length' has shape [2], expected 1 element"}}},
      {Op("STFT", 17),
       {Typed({1, 128, 1}), Known({8}), Typed({16})},
       {{2, Typed({1, 1, 16}), "input 'window' has shape [1,1,16], expected [1]"},
        {0, Typed({1, 128, 3}), "signal has shape [1,128,3], expected 1 or 2 numbers in its last axis"}}},
      {Op("NonMaxSuppression", 11),
       {Typed({1, 6, 4}), Typed({1, 2, 6}), ints({1})},
       {{0, Typed({1, 6, 5}), "input 'boxes' has shape [1,6,5], expected [?,?,4]"},
        {1, Typed({1, 2, 5}), "input 'scores' has shape [1,2,5], expected [1,?,6]"},
        {2, ints({2}), "input 'max_output_boxes_per_class' has shape [2], expected 1 element"}}},
      {Op("RoiAlign", 16),
       {Typed({2, 3, 8, 8}), Typed({2, 4}), Known({0, 1})},
       {{1, Typed({2, 5}), "input 'rois' has shape [2,5], expected [?,4]"},
        {2, ints({3}), "input 'batch_indices' has shape [3], expected [2]"},
        {2, Known({0, 2}), "input 'batch_indices' has the value 2, expected 0 to 1"},
        {0, Typed({2, 3, 0, 8}), "X of shape [2,3,0,8] has no elements"}}},
      {Op("MaxRoiPool", 22).Set("pooled_shape", Dims{2, 2}),
       {Typed({2, 3, 8, 8}), Typed({2, 5})},
       {{1, Typed({2, 4}), "input 'rois' has shape [2,4], expected [?,5]"}}},
      {Op("GridSample", 20),
       {Typed({1, 1, 4, 4}), Typed({1, 2, 2, 2})},
       {{0, Typed({1, 1, 0, 4}), "X of shape [1,1,0,4] has no elements"}}},
      {Op("AffineGrid", 20),
       {Typed({1, 2, 3}), Known({1, 1, 4, 4})},
       {{0, Typed({2, 2, 3}), "input 'theta' has shape [2,2,3], expected [1,2,3]"},
        {0, Typed({1, 2, 5}), "input 'theta' has shape [1,2,5], expected [1,2,3]"}}},
      {Op("Col2Im", 18),
       {Typed({1, 4, 9}), Known({4, 4}), Known({2, 2})},
       {{0, Typed({1, 4, 5}), "input 'input' has shape [1,4,5], expected [?,?,9]"},
        {2, Known({4}), "image_shape has 2 elements and block_shape 1, expected as many"}}},
      {Op("DeformConv", 22),
       {Typed({1, 4, 5, 5}), Typed({2, 4, 3, 3}), Typed({1, 18, 3, 3}), Typed({2}), Typed({1, 9, 3, 3})},
       {{2, Typed({1, 9, 3, 3}), "input 'offset' has shape [1,9,3,3], expected [1,18,3,3]"},
        {3, Typed({3}), "input 'B' has shape [3], expected [2]"},
        {4, Typed({1, 9, 2, 3}), "input 'mask' has shape [1,9,2,3], expected [1,9,3,3]"}}},
      {Op("SplitToSequence", 24),
       {Typed({5, 2}), Known({2, 3})},
       {{1, Known({2, 2}), "the sizes in 'split' add up to 4, expected the extent 5"},
        {1, Known({6, -1}), "the sizes in 'split' must not be negative or overflow, got -1"},
        {1, KnownScalar<int64_t>(DType::kInt64, 0), "input 'split' must be at least 1, got 0"}}},
      {Op("Attention", 23),
       {Typed({1, 4, 5, 8}), Typed({1, 2, 6, 8}), Typed({1, 2, 6, 9}), Typed({5, 6}), Typed({1, 2, 0, 8}),
        Typed({1, 2, 0, 9})},
       {{1, Typed({1, 3, 6, 8}), "query [1,4,5,8], key [1,3,6,8] and value [1,2,6,9] do not match"},
        {2, Typed({1, 2, 7, 9}), "query [1,4,5,8], key [1,2,6,8] and value [1,2,7,9] do not match"},
        {3, Typed({5, 7}), "input 'attn_mask' with shape [5,7] cannot be broadcast to [1,4,5,6]"},
        {4, LeftOut(), "past_key and past_value must be given together"},
        {5, Typed({1, 2, 1, 9}), "input 'past_value' has shape [1,2,1,9], expected [1,2,0,9]"}}},
      {Op("RotaryEmbedding", 23),
       {Typed({2, 4, 3, 8}), Typed({2, 3, 4}), Typed({2, 3, 4})},
       {{1, Typed({2, 3, 3}), "input 'sin_cache' has shape [2,3,4], expected [2,3,3]"},
        {2, Typed({2, 3, 0}), "input 'sin_cache' has shape [2,3,0], expected [2,3,4]"},
        {0, Typed({2, 4, 3, 9, 1}), "X has rank 5, expected 3 or 4"},
        {0, Typed({2, 4, 5, 8}), "input 'cos_cache' has shape [2,3,4], expected [2,5,4]"}}},
      {Microsoft("BiasGelu"),
       {Typed({2, 3}), Typed({3})},
       {{1, Typed({2}), "input 'bias' has shape [2], expected [3]"}}},
      {Microsoft("SkipLayerNormalization"),
       {Typed({2, 3, 4}), Typed({1, 3, 4}), Typed({4}), Typed({4}), Typed({4})},
       {{1, Typed({3, 4, 4}), "input 'skip' has shape [3,4,4], expected [2,3,4]"},
        {3, Typed({3}), "input 'beta' has shape [3], expected [4]"}}},
      {Microsoft("RotaryEmbedding"),
       {Typed({2, 3, 8}), ints({1}), Typed({9, 2}), Typed({9, 2})},
       {{1, ints({3, 2}), "input 'position_ids' has shape [3,2], expected [2,3]"},
        {3, Typed({9, 3}), "input 'sin_cache' has shape [9,3], expected [9,2]"}}},
      {Microsoft("Attention").Set("num_heads", int64_t{2}),
       {Typed({1, 5, 8}), Typed({8, 12}), Typed({12}), ints32({1, 5})},
       {{1, Typed({7, 12}), "input 'weights' has shape [7,12], expected [8,?]"},
        {1, Typed({8, 9}), "hidden size 3 is not divisible by the number of heads 2"},
        {2, Typed({11}), "input 'bias' has shape [11], expected [12]"},
        {3, ints32({1, 6}), "the mask of shape [1,6] does not match 1 sequences of 5 queries and 5 keys"}}},
      {Microsoft("MultiHeadAttention").Set("num_heads", int64_t{2}),
       {Typed({1, 5, 8}), Typed({1, 6, 8}), Typed({1, 6, 4}), Typed({20})},
       {{1, Typed({1, 6, 6}), "input 'key' has shape [1,6,6], expected [1,6,8]"},
        {2, Typed({1, 7, 4}), "input 'value' has shape [1,7,4], expected [1,6,4]"},
        {3, Typed({24}), "input 'bias' has shape [24], expected [20]"}}},
      {Microsoft("GroupQueryAttention").Set("num_heads", int64_t{4}).Set("kv_num_heads", int64_t{2}),
       {Typed({1, 5, 16}), Typed({1, 5, 8}), Typed({1, 5, 8}), LeftOut(), LeftOut(), ints32({1}), ints32({})},
       {{1, Typed({1, 5, 16}), "input 'key' has shape [1,5,16], expected [1,5,8]"},
        {2, LeftOut(), "key and value must be given together"},
        {5, ints32({2}), "input 'seqlens_k' has shape [2], expected 1 element"},
        {6, LeftOut(), "input 6 ('total_sequence_length') is missing"}}},
      {Microsoft("MatMulNBits").Set("K", int64_t{32}).Set("N", int64_t{4}).Set("block_size", int64_t{16}),
       {Typed({2, 32}), bytes({4, 2, 8}), Typed({8}), bytes({4})},
       {{1, bytes({4, 2, 7}), "input 'B' has shape [4,2,7], expected 64 elements"},
        {2, Typed({4}), "input 'scales' has shape [4], expected 8 elements"},
        {3, bytes({8}), "input 'zero_points' has shape [8], expected 4 elements"}}},
      {Microsoft("QLinearAdd"),
       {bytes({2}), Typed({}), LeftOut(), bytes({2}), Typed({}), LeftOut(), Typed({})},
       {{6, LeftOut(), "input 6 ('C_scale') is missing"}}},
      {Microsoft("EmbedLayerNormalization"),
       {ints32({2, 3}), LeftOut(), Typed({9, 4}), Typed({9, 4}), LeftOut(), Typed({4}), Typed({4})},
       {{3, Typed({9, 5}), "input 'position_embedding' has shape [9,5], expected [?,4]"},
        {1, ints32({2, 3}), "segment_ids and segment_embedding must be given together"},
        {6, LeftOut(), "input 6 ('beta') is missing"}}},
  };
}

TEST(OperandInference, R203_OperandsThatFitAreTaken) {
  for (const Case& one : Cases()) {
    const std::string name(one.builder.Finish().op_type());
    EXPECT_EQ(InferError(one.builder, one.operands, one.outputs), "") << name;
  }
}

TEST(OperandInference, R203_AnOperandThatDoesNotFitIsRefused) {
  for (const Case& one : Cases())
    for (const Change& change : one.changes) {
      std::vector<Operand> operands = one.operands;
      operands[change.operand] = change.other;
      const std::string name(one.builder.Finish().op_type());
      EXPECT_EQ(InferError(one.builder, operands, one.outputs), change.message) << name;
    }
}

// What is not known yet may fit.
TEST(OperandInference, R203_UnknownExtentsAndRanksPass) {
  for (const Case& one : Cases())
    for (const bool ranked : {false, true})
      for (size_t i = 0; i < one.operands.size(); ++i) {
        std::vector<Operand> operands = one.operands;
        if (operands[i].left_out) continue;
        ValueType& type = operands[i].type;
        type = {type.dtype, ranked, ranked ? Dims(type.dims.size(), kUnknownDim) : Dims()};
        operands[i].constant = Tensor();
        const std::string name(one.builder.Finish().op_type());
        EXPECT_EQ(InferError(one.builder, operands, one.outputs), "") << name << " operand " << i;
      }
}

TEST(OperandInference, R203_PoolsOfNgramsThatDoNotFitAreRefused) {
  const auto made = [](Dims counts, Dims indexes, std::vector<float> weights, int64_t longest) {
    return PrimitiveBuilder("", "TfIdfVectorizer", 9)
        .Set("mode", std::string("TF"))
        .Set("min_gram_length", int64_t{1})
        .Set("max_gram_length", longest)
        .Set("max_skip_count", int64_t{0})
        .Set("ngram_counts", std::move(counts))
        .Set("ngram_indexes", std::move(indexes))
        .Set("pool_int64s", Dims{2, 3, 5, 4})
        .Set("weights", std::move(weights));
  };
  const std::vector<Operand> input = {Typed({6}, DType::kInt64)};
  EXPECT_EQ(InferError(made({0, 2}, {0, 1, 2}, {}, 2), input), "");
  EXPECT_EQ(InferError(made({0, 3}, {0, 1, 2}, {}, 2), input),
            "ngram_counts [0,3] does not divide a pool of 4 elements");
  EXPECT_EQ(InferError(made({0, 2}, {0, 1}, {}, 2), input),
            "ngram_indexes has 2 elements, expected 3, one for each n-gram");
  EXPECT_EQ(InferError(made({0, 2}, {0, 1, 2}, {1}, 2), input),
            "weights has 1 elements, expected 3, one for each n-gram");
  EXPECT_EQ(InferError(made({0, 2}, {0, 1, 2}, {}, 3), input),
            "min_gram_length 1 and max_gram_length 3 with max_skip_count 0 do not match 2 ngram_counts");
}

TEST(OperandInference, R203_TooFewActivationsAreRefused) {
  const auto lstm = [](std::vector<std::string> names) {
    return Op("LSTM", 22).Set("hidden_size", int64_t{2}).Set("activations", std::move(names));
  };
  const std::vector<Operand> operands = {Typed({3, 1, 4}), Typed({1, 8, 4}), Typed({1, 8, 2})};
  EXPECT_EQ(InferError(lstm({"Sigmoid", "Tanh", "Tanh"}), operands), "");
  EXPECT_EQ(InferError(lstm({"Tanh"}), operands), "activations has 1 elements, expected 3, 3 for each direction");
}

// The kernels check them, without a second pass over all values.
TEST(OperandInference, ValuesThatOnlyARunKnowsAreNotChecked) {
  Node node;
  node.primitive = PrimitiveBuilder("", "Gather", 13).Finish();
  node.inputs = {0, 1};
  node.outputs = {2};
  const Operand indices = Known({7});
  const std::vector<ValueType> types = {{DType::kFloat32, true, {2, 3}}, indices.type};
  const std::vector<Tensor> known = {Tensor(), indices.constant};
  InferenceContext at_load(node, types, known), in_a_run(node, types, known, {}, InferenceTime::kRun);
  EXPECT_FALSE(InferNode(at_load).ok());
  EXPECT_TRUE(InferNode(in_a_run).ok());
}

}  // namespace
}  // namespace deputy::host
