// The conformance kit's oracle, which judges others, judged itself: it knows every operator of the SDK's list or says
// why not, it has cases for each element type, and it agrees with ONNX's own cases and with the host's kernels.
#include <gtest/gtest.h>

#include <climits>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>

#include "definitions.hpp"
#include "host_run.hpp"
#include "onnx_case.hpp"
#include "onnx_model.hpp"
#include "tolerance.hpp"

namespace deputy::conformance {
namespace {

namespace fs = std::filesystem;
using reference::Tensor;

TEST(Oracle, KnowsEveryOperatorOfTheListOrSaysWhyNot) {
  std::map<std::string, std::string> absent;
  for (const reference::Absence& one : reference::Absences()) absent[one.op_type] = one.reason;
  for (const OperatorFacts& facts : AllOperators()) {
    const std::string name(facts.name);
    EXPECT_NE(reference::Knows(name), absent.count(name) != 0) << name;
    absent.erase(name);
  }
  for (const auto& [name, reason] : absent) ADD_FAILURE() << name << " is absent, but not on the list";
}

// Attributes that make no difference to what is computed from numbers, or to what these element types hold.
const std::set<std::string>& WithoutEffect() {
  static const auto* const names =
      new std::set<std::string>{"seed", "saturate", "round_mode", "stash_type", "precision"};
  return *names;
}
// Attributes with which no case can be told right from wrong.
const std::map<std::string, std::string>& WithoutCase() {
  static const auto* const names = new std::map<std::string, std::string>{
      {"Attention.softmax_precision", "how precisely the softmax is computed"},
      {"Constant.value_string", "a string"},
      {"Constant.value_strings", "strings"},
      {"Microsoft_Attention.do_rotary", "refused"},
      {"Microsoft_Attention.past_present_share_buffer", "refused"},
      {"Microsoft_Attention.rotary_embedding_dim", "only together with do_rotary"},
      {"Microsoft_EmbedLayerNormalization.mask_index_type", "what the outputs say as well"},
      {"Microsoft_GroupQueryAttention.k_quant_type", "refused"},
      {"Microsoft_GroupQueryAttention.kv_cache_bit_width", "refused"},
      {"Microsoft_GroupQueryAttention.qk_norm_epsilon", "only together with inputs that are refused"},
      {"Microsoft_GroupQueryAttention.qk_output", "refused"},
      {"Microsoft_GroupQueryAttention.sliding_window_cache", "refused"},
      {"Microsoft_GroupQueryAttention.v_quant_type", "refused"},
      {"Microsoft_MatMulNBits.accuracy_level", "how precisely at least"},
      {"Microsoft_MatMulNBits.weight_prepacked", "refused"},
      {"Microsoft_RotaryEmbedding.is_packed_batching", "refused"},
      {"Microsoft_RotaryEmbedding.scale", "refused"},
      {"TfIdfVectorizer.pool_strings", "strings"},
      {"TopK.sorted", "without it any order is right"}};
  return *names;
}

// As ONNX Runtime has it: a pool has one window then, a convolution none.
TEST(Oracle, OnlyPoolsHaveAWindowThatIsLargerThanTheInput) {
  const Tensor x(DEPUTY_DTYPE_FLOAT32, {1, 1, 2}), w(DEPUTY_DTYPE_FLOAT32, {1, 1, 3});
  reference::Node node;
  node.attributes["kernel_shape"] = reference::Attribute::Ints({3});
  node.attributes["strides"] = reference::Attribute::Ints({2});
  node.op_type = "MaxPool";
  EXPECT_EQ(reference::Compute(node, {&x})[0].dims, (reference::Dims{1, 1, 1}));
  node.op_type = "Conv";
  EXPECT_EQ(reference::Compute(node, {&x, &w})[0].dims, (reference::Dims{1, 1, 0}));
}

TEST(Oracle, ComputesEveryCase) {
  for (const Case& tested : AllCases(0))
    EXPECT_FALSE(reference::Compute(tested.node, tested.operands()).empty()) << tested.name();
}

TEST(Oracle, HasACaseForEveryOperatorAndElementType) {
  std::map<std::string, std::set<deputy_dtype>> covered;
  for (const Case& tested : AllCases(0)) {
    std::set<deputy_dtype>& types = covered[tested.node.name()];
    for (const Operand& input : tested.inputs)
      if (input.present) types.insert(input.value.dtype);
    for (const Tensor& output : reference::Compute(tested.node, tested.operands())) types.insert(output.dtype);
  }
  for (const OperatorFacts& facts : AllOperators()) {
    const std::string name(facts.name);
    if (!reference::Knows(name)) continue;
    // The logarithm of a sum of powers of e is no whole number, and each library rounds in its own way.
    const bool floats_alone = name == "ReduceLogSumExp";
    for (const deputy_dtype dtype : TypesOf(name))
      EXPECT_TRUE(covered[name].count(dtype) != 0 || (floats_alone && !reference::IsReal(dtype)))
          << name << " with " << reference::NameOf(dtype);
  }
}

TEST(Oracle, HasACaseForEveryAttribute) {
  std::map<std::string, std::set<std::string>> covered;
  for (const Case& tested : AllCases(0))
    for (const auto& [name, value] : tested.node.attributes) covered[tested.node.name()].insert(name);
  for (const OperatorFacts& facts : AllOperators()) {
    const std::string type(facts.name);
    if (!reference::Knows(type)) continue;
    for (const AttributeFact& attribute : facts.attributes) {
      const std::string name(attribute.name), full = type + "." + name;
      const bool excused = WithoutEffect().count(name) != 0 || WithoutCase().count(full) != 0;
      EXPECT_NE(covered[type].count(name) != 0, excused) << full;
    }
  }
}

TEST(Oracle, HasACaseForEveryMeaningThatAnOperatorHad) {
  std::map<std::string, std::set<int32_t>> covered;
  for (const Case& tested : AllCases(0)) covered[tested.node.name()].insert(tested.node.since_version);
  for (const OperatorFacts& facts : AllOperators()) {
    const std::string type(facts.name);
    if (!reference::Knows(type)) continue;
    const std::set<int32_t>& versions = covered[type];
    for (size_t i = 0; i < facts.definitions.size(); ++i) {
      if (!facts.definitions[i].changed) continue;
      size_t next = i + 1;
      while (next < facts.definitions.size() && !facts.definitions[next].changed) ++next;
      const int32_t end = next < facts.definitions.size() ? facts.definitions[next].since : INT_MAX;
      EXPECT_NE(versions.lower_bound(facts.definitions[i].since), versions.lower_bound(end))
          << type << " of definition " << facts.definitions[i].since;
    }
  }
}

// As ONNX's own runner compares; what is computed in half precision by others is as far off as that is.
std::string DifferenceFrom(const Tensor& expected, const Tensor& got) {
  if (got.dtype != expected.dtype)
    return std::string("is ") + reference::NameOf(got.dtype) + " instead of " + reference::NameOf(expected.dtype);
  if (got.dims != expected.dims) return "is " + TextOf(got.dims) + " instead of " + TextOf(expected.dims);
  Tolerance tolerance{0, 0, 0, "whole numbers"};
  if (reference::IsReal(expected.dtype))
    tolerance = {1e-7, 1e-3, 1e-6, "1e-7, 1e-3 of the element and 1e-6 of the largest"};
  if (reference::BytesOf(expected.dtype) == 2 && reference::IsReal(expected.dtype))
    tolerance = {1e-3, 1e-2, 0, "1e-3 and 1e-2 of the element"};
  return Difference(got, expected, tolerance);
}

std::string FaultOf(const OnnxCase& tested) {
  const std::vector<Tensor> got = RunOnOracle(tested);
  for (size_t i = 0; i < got.size(); ++i)
    if (const std::string wrong = DifferenceFrom(tested.expected[i].second, got[i]); !wrong.empty())
      return "output " + std::to_string(i) + ": " + wrong;
  return "";
}

TEST(Oracle, AgreesWithTheConformanceCasesOfOnnx) {
  const fs::path root = fs::path(DEPUTY_TEST_DATA) / "onnx-cases";
  if (!fs::is_directory(root))
    GTEST_SKIP() << "no cases at " << root << "; set DEPUTY_TEST_DATA to a folder with models/ and onnx-cases/";
  std::set<fs::path> folders;
  for (const auto& group : fs::directory_iterator(root))
    if (group.is_directory())
      for (const auto& folder : fs::directory_iterator(group)) folders.insert(folder.path());
  size_t passed = 0, failed = 0;
  std::map<std::string, size_t> not_applicable;
  for (const fs::path& folder : folders) {
    try {
      const std::string wrong = FaultOf(ReadOnnxCase(folder));
      if (!wrong.empty()) ADD_FAILURE() << folder.filename().string() << ": " << wrong;
      ++(wrong.empty() ? passed : failed);
    } catch (const NotApplicable& why) {
      ++not_applicable[why.reason];
    }
  }
  size_t others = 0;
  for (const auto& [reason, count] : not_applicable) {
    std::cout << "not applicable, " << count << " cases: " << reason << "\n";
    others += count;
  }
  std::cout << passed << " passed, " << failed << " failed, " << others << " not applicable\n";
  EXPECT_GE(passed, size_t{800});
}

// Two computations that know nothing of each other; where they differ, one of them is wrong.
TEST(Oracle, AgreesWithTheKernelsOfTheHost) {
  Result<::deputy::Context> context = KernelContext();
  ASSERT_TRUE(context.ok()) << context.status().ToString();
  size_t compared = 0;
  for (const Case& tested : AllCases(0)) {
    const std::vector<Tensor> expected = reference::Compute(tested.node, tested.operands());
    const Result<std::vector<Tensor>> got = RunOnHost(context.value(), tested, OnnxModel(tested, expected));
    EXPECT_TRUE(got.ok()) << tested.name() << ": " << got.status().ToString();
    if (!got.ok()) continue;
    ++compared;
    ASSERT_EQ(got.value().size(), expected.size()) << tested.name();
    for (size_t i = 0; i < expected.size(); ++i) {
      const Tensor& one = got.value()[i];
      const bool alike = one.dims == expected[i].dims && one.dtype == expected[i].dtype;
      EXPECT_TRUE(alike) << tested.name() << ", output " << i << " is " << TextOf(one.dims) << " instead of "
                         << TextOf(expected[i].dims) << ", or of another element type";
      if (!alike) continue;
      const std::string wrong = Difference(one, expected[i], ToleranceOf(tested, one.dtype, DEPUTY_DTYPE_UNDEFINED));
      EXPECT_TRUE(wrong.empty()) << tested.name() << ", output " << i << ": " << wrong;
    }
  }
  std::cout << compared << " cases compared\n";
}

}  // namespace
}  // namespace deputy::conformance
