// The table of deputy.capabilities/1 compared with the verdicts: it has every supported case, and at least one case of
// each of its rows is supported, by itself or between two nodes that are computed.
#include "deputy/abi/ext/capabilities.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "case_run.hpp"
#include "definitions.hpp"
#include "test.hpp"
#include "text.hpp"

namespace deputy::conformance {
namespace {

using Rows = std::vector<const deputy_capability*>;
// Operator and element type. Not the definition: cases have the oldest one with the same semantics, so that cases of
// newer ones show only their changes.
using Promise = std::pair<std::string, deputy_dtype>;

Rows RowsOf(Plugin& plugin, const deputy_delegate* delegate) {
  Rows rows;
  const auto* table = static_cast<const deputy_ext_capabilities*>(
      plugin.Extension(delegate, DEPUTY_EXT_CAPABILITIES, sizeof(deputy_ext_capabilities)));
  if (table == nullptr) return rows;
  uint32_t count = 0;
  plugin.CallVoid("capability_count", [&] { count = table->capability_count(delegate); });
  for (uint32_t i = 0; i < count; ++i)
    plugin.CallVoid("capability_at", [&] { rows.push_back(table->capability_at(delegate, i)); });
  rows.erase(std::remove(rows.begin(), rows.end(), nullptr), rows.end());
  return rows;
}

bool IsAbout(const deputy_capability& row, const reference::Node& node) {
  const auto version = static_cast<uint32_t>(node.since_version);
  return TextOf(row.op_type) == node.op_type && TextOf(row.domain) == node.domain && version >= row.min_version &&
         (row.max_version == 0 || version <= row.max_version);
}

bool Holds(const deputy_capability& row, const Tensor& tensor) {
  const deputy_dtype* end = row.dtypes + row.dtype_count;
  const auto rank = static_cast<uint32_t>(tensor.rank());
  return rank >= row.min_rank && rank <= row.max_rank &&
         (row.dtype_count == 0 || std::find(row.dtypes, end, tensor.dtype) != end);
}

// The element types of a case that the rows promise to support; of all tensors, since the position of the data differs
// by operator.
std::set<deputy_dtype> PromisedTypes(const Rows& rows, const Case& tested, const std::vector<Tensor>& made) {
  std::set<deputy_dtype> types;
  for (const deputy_capability* row : rows) {
    if (!IsAbout(*row, tested.node)) continue;
    for (const Tensor* input : tested.operands())
      if (input != nullptr && Holds(*row, *input)) types.insert(input->dtype);
    for (const Tensor& output : made)
      if (Holds(*row, output)) types.insert(output.dtype);
  }
  return types;
}

bool IsTakenAlone(Instance& instance, const CaseGraph& shown) {
  Answer refusal;
  std::optional<Claim> claim = instance.ClaimAll(shown.graph, &refusal);
  if (claim) instance.Release(*claim);
  return claim.has_value();
}

reference::Node Relu() {
  reference::Node node;
  node.op_type = "Relu";
  node.since_version = 14;
  return node;
}

bool IsFloat(deputy_dtype type) { return type == kF32 || type == kF16; }

// Between two Relus, as far as it reads and makes float32 or float16.
bool IsTakenBetween(Instance& instance, const Case& tested, const std::vector<Tensor>& made) {
  deputy_graph graph;
  std::vector<deputy_value_id> inputs, outputs;
  for (const Operand& operand : tested.inputs) {
    const bool first = inputs.empty();
    const std::string name = "x" + std::to_string(inputs.size());
    if (!operand.present) {
      inputs.push_back(DEPUTY_NO_VALUE);
    } else if (operand.constant) {
      inputs.push_back(graph.AddConstant(name, operand.value));
    } else {
      inputs.push_back(graph.AddValue(name, operand.value.dtype, operand.value.dims));
      graph.AddInput(inputs.back());
      if (!first || !IsFloat(operand.value.dtype)) continue;
      const deputy_value_id read = graph.AddValue("before", operand.value.dtype, operand.value.dims);
      graph.AddNode("before", Relu(), {inputs.back()}, {read});
      inputs.back() = read;
    }
  }
  for (const Tensor& output : made)
    outputs.push_back(graph.AddValue("y" + std::to_string(outputs.size()), output.dtype, output.dims));
  const deputy_node_id node = graph.AddNode(tested.node.op_type, tested.node, inputs, outputs);
  for (size_t i = 0; i < made.size(); ++i) {
    deputy_value_id last = outputs[i];
    if (IsFloat(made[i].dtype)) {
      last = graph.AddValue("z" + std::to_string(i), made[i].dtype, made[i].dims);
      graph.AddNode("after", Relu(), {outputs[i]}, {last});
    }
    graph.AddOutput(last);
  }
  return instance.Query(graph)[node].reason == DEPUTY_REASON_SUPPORTED;
}

std::string FaultOfVersions(const deputy_capability& row) {
  const auto newest = static_cast<uint32_t>(NewestDefinition(TextOf(row.domain)));
  if (row.max_version != 0 && row.min_version > row.max_version)
    return "its oldest definition " + std::to_string(row.min_version) + " is newer than its newest, " +
           std::to_string(row.max_version);
  for (const uint32_t version : {row.min_version, row.max_version})
    if (newest != 0 && version > newest)
      return "the table has definition " + std::to_string(version) + ", and the newest of any operator is " +
             std::to_string(newest);
  return "";
}

void CheckTable(TestRun& run, const std::vector<Case>& cases) {
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  const Rows rows = RowsOf(*plugin, instance->delegate());
  if (rows.empty()) return run.Skipped("it has no table of operators");
  for (const deputy_capability* row : rows)
    if (const std::string fault = FaultOfVersions(*row); !fault.empty()) run.Failed(TextOf(row->op_type), fault);
  std::map<Promise, bool> kept;
  for (const Case& tested : cases) {
    const CaseGraph shown(tested);
    const std::set<deputy_dtype> types = PromisedTypes(rows, tested, shown.expected);
    bool taken = !shown.expected.empty() && IsTakenAlone(*instance, shown);
    if (taken && types.empty()) run.Failed(tested.name(), "it takes the node, which is not in its table");
    const auto open = [&](deputy_dtype type) { return !kept[{tested.node.name(), type}]; };
    if (!taken && std::any_of(types.begin(), types.end(), open))
      taken = !instance->proposes() && IsTakenBetween(*instance, tested, shown.expected);
    for (const deputy_dtype type : types) {
      bool& known = kept[{tested.node.name(), type}];
      known = known || taken;
    }
  }
  for (const auto& [promise, is_kept] : kept) {
    const std::string name = promise.first + " of " + reference::NameOf(promise.second);
    if (is_kept)
      run.Passed(name);
    else
      run.Failed(name, "it is in the table, and none of its cases is taken");
  }
  run.NoFaults(*plugin, "");
}

}  // namespace

std::vector<Test> CapabilityTests(const std::vector<Case>& cases) {
  return {{"capabilities.table", With(CheckTable, cases)}};
}

}  // namespace deputy::conformance
