#include "rules.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

namespace openvino {
namespace {

enum Change { kChanged, kExtended };

struct Definition {
  std::string_view type, domain;
  int32_t since;
  Change change;
};

// Each macro is a piece of the braced rows of an operator.
struct DefinitionRow {
  int32_t since;
  Change change;
};
struct OperatorDefinitions {
  std::string_view type, domain;
  DefinitionRow rows[24];
};
// clang-format off
constexpr OperatorDefinitions kDefinitions[] = {
#define DEPUTY_OPERATOR_BEGIN(name, domain, min_inputs, max_inputs, min_outputs, max_outputs) \
  {deputy::schema::OperatorType(#name), domain, {{0, kExtended}
#define DEPUTY_DEFINITION(name, since, change, types) , {since, change}
#define DEPUTY_OPERATOR_END(name) }},
#include "schema/operators.inc"
};
// clang-format on

bool IsNarrow(sdk::DType dtype) {
  switch (dtype) {
    case sdk::DType::kFloat32:
    case sdk::DType::kFloat16:
    case sdk::DType::kBFloat16:
    case sdk::DType::kBool:
    case sdk::DType::kInt8:
    case sdk::DType::kUint8:
    case sdk::DType::kInt32: return true;
    default: return false;
  }
}

}  // namespace

bool IsDefinitionIn(const sdk::NodeView& node, int32_t version) {
  for (const OperatorDefinitions& one : kDefinitions) {
    if (one.type != node.op_type() || one.domain != node.domain()) continue;
    return std::none_of(std::begin(one.rows), std::end(one.rows), [&](const DefinitionRow& row) {
      return row.since > node.since_version() && row.since <= version && row.change == kChanged;
    });
  }
  return true;
}

sdk::Verdict CheckNode(const sdk::NodeView& node) {
  if (node.has_regions()) return sdk::Verdict::No(sdk::Reason::kOperatorUnknown, "nodes with graphs are not converted");
  for (size_t i = 0; i < node.input_count() + node.output_count(); ++i) {
    const bool is_output = i >= node.input_count();
    const sdk::ValueView value = is_output ? node.output(i - node.input_count()) : node.input(i);
    if (!value.exists()) continue;
    if (!IsNarrow(value.dtype()) && !(value.is_constant() && value.dtype() == sdk::DType::kInt64))
      return sdk::Verdict::No(sdk::Reason::kDType, std::string("OpenVINO computes ") + sdk::NameOf(value.dtype()) +
                                                       " in fewer bits, or not at all");
    if (!value.rank_known()) return sdk::Verdict::No(sdk::Reason::kShapeDynamic, "the rank must be known");
    if (value.shape_known() && value.element_count() == 0)
      return sdk::Verdict::No(sdk::Reason::kShape, "a tensor has no elements");
  }
  return sdk::Verdict::Yes();
}

}  // namespace openvino
