#include "report.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "deputy/version.hpp"

namespace deputy::tflite_delegate {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const DelegateReport& delegate) {
  Json options = Json::object();
  for (const auto& [name, value] : delegate.options) options[name] = value;
  return {{"name", delegate.name},
          {"id", delegate.id},
          {"plugin", delegate.plugin},
          {"nodes", delegate.nodes},
          {"partitions", delegate.partitions},
          {"multiply_adds", delegate.multiply_adds},
          {"options", std::move(options)}};
}

Json ToJson(const PartitionReport& partition) {
  return {{"name", partition.name},
          {"delegate", partition.delegate},
          {"replaces", partition.replaces},
          {"nodes", partition.nodes},
          {"executable", partition.executable}};
}

Json ToJson(const NodeReport& node, int source) {
  Json refusals = Json::array();
  for (const RefusalReport& refusal : node.refusals)
    refusals.push_back({{"delegate", refusal.delegate}, {"reason", refusal.reason}, {"detail", refusal.detail}});
  return {{"name", node.name},
          {"op_type", node.op_type},
          {"of_node", source < 0 ? Json(nullptr) : Json(source)},
          {"delegate", node.delegate},
          {"partition", node.partition},
          {"refusals", std::move(refusals)}};
}

Json ToJson(const PartitionRecord& record) {
  Json delegates = Json::array(), partitions = Json::array(), nodes = Json::array();
  for (const DelegateReport& delegate : record.placement.delegates) delegates.push_back(ToJson(delegate));
  for (const PartitionReport& partition : record.placement.partitions) partitions.push_back(ToJson(partition));
  for (size_t i = 0; i < record.placement.nodes.size(); ++i)
    nodes.push_back(ToJson(record.placement.nodes[i], record.sources[i]));
  return {{"nodes", record.nodes},
          {"inputs", record.inputs},
          {"outputs", record.outputs},
          {"runs", record.runs},
          {"failures", record.failures},
          {"last_failure", record.last_failure},
          {"placement",
           {{"summary", record.placement.summary},
            {"delegates", std::move(delegates)},
            {"partitions", std::move(partitions)},
            {"nodes", std::move(nodes)}}}};
}

Json ToJson(const HealthReport& health) {
  Json delegates = Json::array(), incidents = Json::array();
  for (const DelegateHealthReport& delegate : health.delegates)
    delegates.push_back({{"name", delegate.name},
                         {"failures", delegate.failures},
                         {"demoted_partitions", delegate.demoted_partitions},
                         {"available", delegate.available},
                         {"failing", delegate.failing}});
  for (const Incident& incident : health.incidents)
    incidents.push_back({{"delegate", incident.delegate},
                         {"partition", incident.partition},
                         {"nodes", incident.nodes},
                         {"failure", incident.failure},
                         {"taken_over", incident.taken_over}});
  return {{"degraded", health.degraded}, {"delegates", std::move(delegates)}, {"incidents", std::move(incidents)}};
}

size_t Delegated(const GraphRecord& graph) {
  size_t count = 0;
  for (const auto& partition : graph.partitions) count += partition->nodes.size();
  return count;
}

}  // namespace

std::shared_ptr<PartitionRecord> Report::Add(const Partition& partition) {
  auto record = std::make_shared<PartitionRecord>();
  record->nodes = partition.NodeIndices();
  for (const int32_t input : partition.subset().inputs)
    record->inputs.push_back(partition.graph().tensors.at(input).name);
  for (const int32_t output : partition.subset().outputs)
    record->outputs.push_back(partition.graph().tensors.at(output).name);
  return record;
}

void Report::Add(GraphRecord graph) {
  const std::lock_guard lock(mutex_);
  graphs_.push_back(std::move(graph));
}

void Report::Update(PartitionRecord& record, Partition& partition) {
  Result<PlacementReport> placement = partition.session().Placement();
  if (!placement.ok()) return;
  const std::lock_guard lock(mutex_);
  record.placement = std::move(placement).value();
  record.sources.clear();
  for (const NodeReport& node : record.placement.nodes)
    record.sources.push_back(SourceOf(partition.graph(), partition.subset(), node.name));
}

void Report::CountRuns(PartitionRecord& record, uint64_t runs, uint64_t failures, const std::string& last_failure) {
  const std::lock_guard lock(mutex_);
  record.runs = runs;
  record.failures = failures;
  record.last_failure = last_failure;
}

std::string Report::Json(const HealthReport& health) const {
  const std::lock_guard lock(mutex_);
  tflite_delegate::Json graphs = tflite_delegate::Json::array();
  for (const GraphRecord& graph : graphs_) {
    tflite_delegate::Json partitions = tflite_delegate::Json::array(), left = tflite_delegate::Json::array();
    for (const auto& partition : graph.partitions) partitions.push_back(ToJson(*partition));
    for (const LeftNode& node : graph.left)
      left.push_back({{"node", node.index}, {"operator", node.op}, {"reason", node.reason}});
    graphs.push_back({{"nodes", graph.nodes},
                      {"delegated", Delegated(graph)},
                      {"partitions", std::move(partitions)},
                      {"left", std::move(left)}});
  }
  const tflite_delegate::Json report{
      {"deputy", DEPUTY_VERSION}, {"graphs", std::move(graphs)}, {"health", ToJson(health)}};
  return report.dump(2, ' ', /*ensure_ascii=*/true, tflite_delegate::Json::error_handler_t::replace) + "\n";
}

std::string Report::Text(const HealthReport& health) const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const GraphRecord& graph : graphs_) {
    text += "deputy: " + std::to_string(Delegated(graph)) + " of " + std::to_string(graph.nodes) + " nodes in " +
            std::to_string(graph.partitions.size()) + " partitions\n";
    for (const auto& partition : graph.partitions)
      text += "deputy:   " + Printable(partition->placement.summary) + "; " + std::to_string(partition->runs) +
              " runs, " + std::to_string(partition->failures) + " failed\n";
    for (const LeftNode& node : graph.left)
      text += "deputy:   node " + std::to_string(node.index) + " (" + Printable(node.op) +
              ") is left: " + Printable(node.reason) + "\n";
  }
  for (const Incident& incident : health.incidents)
    text += "deputy: " + Printable(incident.delegate) + ": " + Printable(incident.failure) + "\n";
  return text;
}

}  // namespace deputy::tflite_delegate
