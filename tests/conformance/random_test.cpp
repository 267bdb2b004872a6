// Random models of one node: the kernels of the host and the oracle, which know nothing of each other, must agree on
// each. Seeds 0 to 4999 unless the environment says otherwise: DEPUTY_RANDOM_FIRST and DEPUTY_RANDOM_COUNT. A failure
// names its seed; DEPUTY_RANDOM_FIRST=<seed> DEPUTY_RANDOM_COUNT=1 runs that one alone.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>

#include "host_run.hpp"
#include "random/draft.hpp"
#include "random/model.hpp"
#include "tolerance.hpp"

namespace deputy::conformance {
namespace {

using reference::Tensor;

constexpr uint64_t kCount = 5000;
constexpr size_t kShown = 10;

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::string FaultOf(const Case& tested, const std::vector<Tensor>& got, const std::vector<Tensor>& expected) {
  if (got.size() != expected.size())
    return std::to_string(got.size()) + " outputs instead of " + std::to_string(expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::string output = "output " + std::to_string(i);
    if (got[i].dtype != expected[i].dtype)
      return output + " is " + reference::NameOf(got[i].dtype) + " instead of " + reference::NameOf(expected[i].dtype);
    if (got[i].dims != expected[i].dims)
      return output + " is " + TextOf(got[i].dims) + " instead of " + TextOf(expected[i].dims);
    const std::string wrong =
        Difference(got[i], expected[i], ToleranceOf(tested, got[i].dtype, DEPUTY_DTYPE_UNDEFINED));
    if (!wrong.empty()) return output + ": " + wrong;
  }
  return "";
}

TEST(Random, ASeedIsTheSameModelEverywhere) {
  RandomSource source(0);
  EXPECT_EQ(source.Next(), 0xe220a8397b1dcdafu);  // the published stream of SplitMix64
}

TEST(Random, KernelsAndOracleAgree) {
  Result<::deputy::Context> context = KernelContext();
  ASSERT_TRUE(context.ok()) << context.status().ToString();
  const uint64_t first = FromEnvironment("DEPUTY_RANDOM_FIRST", 0);
  const uint64_t count = FromEnvironment("DEPUTY_RANDOM_COUNT", kCount);
  std::map<std::string, std::pair<size_t, size_t>> runs;  // all, and those that disagree
  size_t failed = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const RandomModel model = DrawModel(seed);
    ASSERT_FALSE(model.tested.node.op_type.empty()) << "seed " << seed << ": nobody draws this operator";
    const std::vector<Tensor> expected = reference::Compute(model.tested.node, model.tested.operands());
    ASSERT_FALSE(expected.empty()) << "seed " << seed << ": the oracle does not compute " << model.tested.name();
    const Result<std::vector<Tensor>> got = RunOnHost(context.value(), model.tested, FileOf(model, expected));
    const std::string wrong = got.ok() ? FaultOf(model.tested, got.value(), expected) : got.status().ToString();
    ++runs[model.tested.node.op_type].first;
    if (wrong.empty()) continue;
    ++runs[model.tested.node.op_type].second;
    if (++failed <= kShown)
      ADD_FAILURE() << "seed " << seed << ", " << model.tested.name() << " opset=" << model.opset << "\n  " << wrong
                    << "\n  alone: DEPUTY_RANDOM_FIRST=" << seed
                    << " DEPUTY_RANDOM_COUNT=1 random_test --gtest_filter=Random.KernelsAndOracleAgree";
  }
  for (const auto& [op_type, of_operator] : runs)
    if (of_operator.second != 0)
      std::cout << op_type << ": " << of_operator.second << " of " << of_operator.first << " disagree\n";
  std::cout << count << " models of " << runs.size() << " operators, " << failed << " disagree\n";
  if (count < kCount) return;
  for (const std::string& op_type : RandomOperators()) EXPECT_NE(runs.count(op_type), 0u) << op_type << " is not drawn";
}

}  // namespace
}  // namespace deputy::conformance
