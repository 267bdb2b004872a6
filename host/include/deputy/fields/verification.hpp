// The fields of deputy/verification.hpp in reports and options (fields.hpp).
#pragma once

#include <array>
#include <string_view>

#include "deputy/fields/compare.hpp"
#include "deputy/fields/names.hpp"
#include "deputy/verification.hpp"

namespace deputy::fields {

// Of verdicts.
template <>
struct Names<VerificationResult> {
  static constexpr std::array<std::string_view, 4> kTexts = {"right", "rounding", "wrong", "not_verified"};
  static constexpr VerificationResult kOther = VerificationResult::kNotVerified;  // a verdict of a later library
};

}  // namespace deputy::fields

namespace deputy {

template <class V>
void Describe(V& v, PartitionVerification& p) {
  v("delegate", p.delegate);
  v("plugin", p.plugin);
  v("partition", p.partition);
  v("nodes", p.nodes);
  v("result", p.result);
  v("max_difference", p.max_difference);
  v("detail", p.detail);
  v("wrong_nodes", p.wrong_nodes);
  v("case_folders", p.case_folders);
  v("op_types", p.op_types);
}

template <class V>
void Describe(V& v, VerifyOptions& o) {
  Describe(v, o.tolerance);
  v("folder", o.folder);
}

}  // namespace deputy
