#include "partition/measured_costs.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/log.hpp"

namespace deputy::host {

MeasuredCosts::MeasuredCosts(const Graph& graph, Delegates delegates, const CostTable& table)
    : graph_(graph), delegates_(delegates), table_(table) {
  constexpr Rates kCpu{100, 0.1, 0.1}, kLibrary{200, 0.05, 0.1}, kDevice{2000, 0.005, 0.02};
  for (size_t d = 0; d < delegates.size(); ++d) {
    Profile& profile = profiles_.emplace_back();
    profile.key = CostKeyOf(*delegates[d]);
    profile.multiply_add_ns = table.RateOf(profile.key, WorkUnit::kMultiplyAdds);
    profile.byte_ns = table.RateOf(profile.key, WorkUnit::kBytes);
    profile.defaults = kCpu;
    if (IsCpu(delegates, d)) continue;
    profile.clock_hz = StateOf(*delegates[d]).value_or(DeviceState()).frequency_granted_hz;
    const bool is_device = profile.clock_hz != 0;
    profile.defaults = is_device ? kDevice : kLibrary;
    profile.transfer_ns = is_device ? 2000 : 200;
    profile.transfer_byte_ns = is_device ? 0.1 : 0.02;
    for (uint32_t size = 0; size < profile.measured_transfer.size(); ++size) {
      const uint64_t bytes = uint64_t{1} << size;
      if (const std::optional<double> ns = table.FindTransfer(profile.key, bytes))
        profile.measured_transfer[size] = *ns / static_cast<double>(bytes);
    }
  }
  bytes_.reserve(graph.values.size());
  for (const Value& value : graph.values) bytes_.push_back(BytesOf(value.type));
}

double MeasuredCosts::NodeNs(size_t delegate, NodeId id) const {
  const Profile& profile = profiles_[delegate];
  const Node& node = graph_.nodes[id];
  const Work work = WorkOf(graph_, node);
  const auto amount = static_cast<double>(work.amount);
  if (profile.multiply_add_ns || profile.byte_ns) {
    if (const auto ns = table_.Find(profile.key, OperatorOf(node), MainTypeOf(graph_, node), work)) return *ns;
    const std::optional<double>& rate =
        work.unit == WorkUnit::kMultiplyAdds ? profile.multiply_add_ns : profile.byte_ns;
    if (rate) return *rate * amount;
  }
  if (const std::optional<double> ns = EstimateOf(delegate, id)) return *ns;
  const double products = work.unit == WorkUnit::kMultiplyAdds ? amount : 0;
  return profile.defaults.fixed_ns + products * profile.defaults.multiply_add_ns +
         static_cast<double>(BytesOf(graph_, node)) * profile.defaults.byte_ns;
}

std::optional<double> MeasuredCosts::EstimateOf(size_t delegate, NodeId id) const {
  PartitionEstimator* const estimator = delegates_[delegate]->estimator();
  if (estimator == nullptr) return std::nullopt;
  const Node& node = graph_.nodes[id];
  std::string key(reinterpret_cast<const char*>(node.primitive.bytes().data()), node.primitive.bytes().size());
  const auto append = [&](int64_t number) { key.append(reinterpret_cast<const char*>(&number), sizeof number); };
  append(static_cast<int64_t>(delegate));
  for (const std::vector<ValueId>* list : {&node.inputs, &node.outputs}) {
    append(static_cast<int64_t>(list->size()));
    for (const ValueId value : *list) {
      if (value == kNone) {
        append(-1);
        continue;
      }
      const ValueType& type = graph_.values[value].type;
      append(static_cast<int64_t>(type.dtype));
      append(graph_.values[value].is_constant() ? 1 : 0);
      append(static_cast<int64_t>(type.dims.size()));
      for (const int64_t dim : type.dims) append(dim);
    }
  }
  const auto [found, is_new] = estimates_.try_emplace(std::move(key));
  if (!is_new) return found->second;
  // A graph of the node alone: a plugin is shown the whole graph of a view.
  std::vector<ValueId> inputs, outputs;
  for (const ValueId value : node.inputs)
    if (value != kNone && !graph_.values[value].is_constant() &&
        std::find(inputs.begin(), inputs.end(), value) == inputs.end())
      inputs.push_back(value);
  for (const ValueId value : node.outputs)
    if (value != kNone) outputs.push_back(value);
  const NodeId nodes[] = {id};
  const Graph alone = Subgraph(graph_, nodes, inputs, outputs);
  PartitionSpec spec;
  spec.nodes = {0};
  spec.inputs = alone.captured;
  spec.outputs = alone.outputs;
  spec.name = delegates_[delegate]->name();
  const GraphView view{&alone, {0}, {0}};
  Result<Estimate> estimate = estimator->EstimatePartition(view, spec);
  if (!estimate.ok()) {
    Log(LogLevel::kDebug, "{}: {} cannot be estimated alone: {}", delegates_[delegate]->name(), Describe(graph_, id),
        estimate.status().ToString());
  } else if (estimate->feasible && estimate->give_back.empty() && estimate->latency_ns) {
    found->second = static_cast<double>(*estimate->latency_ns);
  }
  return found->second;
}

double MeasuredCosts::HostTransferNs(size_t delegate, ValueId value) const {
  if (IsCpu(delegates_, delegate)) return 0;
  const Profile& profile = profiles_[delegate];
  const auto bytes = static_cast<double>(bytes_[value]);
  const auto size = static_cast<size_t>(std::bit_width(std::max<uint64_t>(bytes_[value], 1))) - 1;
  if (profile.measured_transfer[size]) return *profile.measured_transfer[size] * bytes;
  return profile.transfer_ns + profile.transfer_byte_ns * bytes;
}

double MeasuredCosts::TransferNs(size_t from, size_t to, ValueId value) const {
  return from == to ? 0 : HostTransferNs(from, value) + HostTransferNs(to, value);
}

}  // namespace deputy::host
