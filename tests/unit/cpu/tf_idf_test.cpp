// TfIdfVectorizer; the numbers are those of the example in its definition (ONNX, docs/Operators.md).
#include <gtest/gtest.h>

#include "base/cancellation.hpp"
#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

using Ints = std::vector<int64_t>;

// Of one number: 2, 3, 5, 4; of two: 56, 78, 67.
PrimitiveBuilder Pool() {
  return PrimitiveBuilder("", "TfIdfVectorizer", 9)
      .Set("mode", std::string("TF"))
      .Set("min_gram_length", int64_t{2})
      .Set("max_gram_length", int64_t{2})
      .Set("max_skip_count", int64_t{0})
      .Set("ngram_counts", Ints{0, 4})
      .Set("ngram_indexes", Ints{0, 1, 2, 3, 4, 5, 6})
      .Set("pool_int64s", Ints{2, 3, 5, 4, 5, 6, 7, 8, 6, 7});
}

Tensor Text() { return TensorOf<int32_t>({12}, {1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8}); }

std::vector<float> Counted(const PrimitiveBuilder& builder) {
  return ValuesOf<float>(RunNode(MakeTfIdfVectorizer, builder, {Text()})[0]);
}

TEST(TfIdfVectorizer, WhatIsSkippedEndsWithTheList) {
  EXPECT_EQ(Counted(Pool().Set("max_skip_count", INT64_MAX)), (std::vector<float>{0, 0, 0, 0, 1, 3, 1}));
}

TEST(TfIdfVectorizer, ManySkipsEndWithTheRun) {
  const CancellationToken stop{NowNs() + 1'000'000, nullptr};
  const CancellationScope scope(&stop);
  RunNode(MakeTfIdfVectorizer, Pool().Set("max_skip_count", INT64_MAX), {Zeros({1 << 20}, DType::kInt32)});
  EXPECT_TRUE(scope.stopped());
}

TEST(TfIdfVectorizer, NoRowsGiveNone) {
  EXPECT_EQ(RunOne(MakeTfIdfVectorizer, Pool(), {Zeros({0, 12}, DType::kInt32)}).shape(), (Shape{0, 7}));
}

TEST(TfIdfVectorizer, R28_APoolThatDoesNotDivideIsRefused) {
  EXPECT_EQ(TryRunNode(MakeTfIdfVectorizer, Pool().Set("ngram_counts", Ints{0, 5}), {Text()}).status().code(),
            StatusCode::kModel);
  EXPECT_EQ(TryRunNode(MakeTfIdfVectorizer, Pool().Set("ngram_indexes", Ints{0}), {Text()}).status().code(),
            StatusCode::kModel);
  EXPECT_EQ(TryRunNode(MakeTfIdfVectorizer, Pool().Set("max_gram_length", int64_t{3}), {Text()}).status().code(),
            StatusCode::kModel);
}

}  // namespace
}  // namespace deputy::host
