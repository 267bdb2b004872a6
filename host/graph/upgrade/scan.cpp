// Scan-8 iterates over the sequences of a batch, Scan-9 over one sequence. Both can express a batch of one.
#include <span>
#include <utility>
#include <vector>

#include "graph/upgrade/rewrite.hpp"

namespace deputy::host {

Status UpgradeScan(NodeRewrite& node) {
  if (node.has_input(0))
    return Error(StatusCode::kNotSupported, "Scan version 8 with lengths of sequences was removed in version 9");
  const size_t count = node.node().inputs.size();
  for (size_t i = 1; i < count; ++i) {
    const ValueType type = node.input_type(i);
    if (!type.ranked || type.dims.empty() || type.dims[0] != 1)
      return Error(StatusCode::kNotSupported,
                   "Scan version 8 iterates over a batch, which version 9 removed, and the batch of input {} is not "
                   "known to be 1",
                   i);
  }
  DEPUTY_ASSIGN_OR_RETURN(Tensor axis, Tensor::FromValues<int64_t>(DType::kInt64, {1}, std::vector<int64_t>{0}));
  const ValueId axes = node.AddConstant("batch_axis", std::move(axis));
  std::vector<ValueId> inputs;
  for (size_t i = 1; i < count; ++i)
    inputs.push_back(node.AddBefore("sequence", PrimitiveBuilder("", "Squeeze", 13), {node.input(i), axes}));
  node.node().inputs = std::move(inputs);
  PrimitiveBuilder builder(node.primitive());
  if (node.primitive().Has("directions")) {
    const std::span<const int64_t> directions = node.primitive().GetInts("directions");
    builder.Set("scan_input_directions", std::vector<int64_t>(directions.begin(), directions.end()));
  }
  node.SetPrimitive(builder.Remove("directions").SetVersion(9));
  for (size_t i = 0; i < node.node().outputs.size(); ++i)
    if (node.node().outputs[i] != kNone) node.AddAfter("batch", PrimitiveBuilder("", "Unsqueeze", 13), {axes}, i);
  return {};
}

}  // namespace deputy::host
