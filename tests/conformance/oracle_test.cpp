// The conformance kit's oracle, which judges others, judged itself: it knows every operator of the SDK's list or says
// why not, and it agrees with ONNX's own cases.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>

#include "definitions.hpp"
#include "onnx_case.hpp"
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
    EXPECT_TRUE(facts.domain.empty()) << name << ": the oracle looks at names alone";
    EXPECT_NE(reference::Knows(name), absent.count(name) != 0) << name;
    absent.erase(name);
  }
  for (const auto& [name, reason] : absent) ADD_FAILURE() << name << " is absent, but not on the list";
}

TEST(Oracle, ComputesEveryCase) {
  for (const Case& tested : AllCases(0))
    EXPECT_FALSE(reference::Compute(tested.node, tested.operands()).empty()) << tested.name();
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

}  // namespace
}  // namespace deputy::conformance
