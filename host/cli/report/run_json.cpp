#include "cli/report/run_json.hpp"

#include <cstddef>
#include <utility>

#include "cli/report/tensor_summary.hpp"

namespace deputy::cli {
namespace {

Json TensorJson(const std::string& name, const Tensor& tensor) {
  return {{"name", name}, {"dtype", NameOf(tensor.dtype())}, {"shape", tensor.shape()}};
}

Json OutputJson(const std::string& name, const Tensor& tensor) {
  const TensorSummary summary = Summarize(tensor);
  Json json = TensorJson(name, tensor);
  json["nan_count"] = summary.nans;
  json["min"] = summary.has_range() ? Json(summary.min) : Json(nullptr);
  json["mean"] = summary.has_range() ? Json(summary.mean) : Json(nullptr);
  json["max"] = summary.has_range() ? Json(summary.max) : Json(nullptr);
  json["first"] = summary.first;
  return json;
}

}  // namespace

Json ToJson(const RunResult& result) {
  Json inputs = Json::array(), outputs = Json::array(), delegates = Json::array(), comparisons = Json::array();
  for (size_t i = 0; i < result.input_infos.size(); ++i) {
    Json input = TensorJson(result.input_infos[i].name, result.bound.inputs[i].tensor);
    input["from"] = result.bound.inputs[i].origin;
    inputs.push_back(std::move(input));
  }
  for (size_t i = 0; i < result.outputs.size(); ++i)
    outputs.push_back(OutputJson(result.output_infos[i].name, result.outputs[i]));
  const uint64_t runs = result.run_ns.size();
  for (size_t d = 0; d < result.after.delegates.size(); ++d) {
    const DelegateReport& delegate = result.after.delegates[d];
    Json json = {{"name", delegate.name},
                 {"nodes", TimeOf(result.ran_nodes, delegate.name)},
                 {"placed_nodes", delegate.nodes},
                 {"partitions", delegate.partitions},
                 {"multiply_adds", delegate.multiply_adds},
                 {"host_time_ns", TimeOf(result.delegate_ns, delegate.name) / runs},
                 {"device_time_ns", nullptr}};
    if (delegate.has_device && d < result.before.delegates.size())
      json["device_time_ns"] = BusyBetween(result.before.delegates[d], delegate) / runs;
    delegates.push_back(std::move(json));
  }
  for (const Comparison& comparison : result.comparisons)
    comparisons.push_back({{"output", comparison.output},
                           {"file", comparison.file},
                           {"matches", comparison.matches},
                           {"detail", comparison.detail}});
  Json json = {{"model", result.model},
               {"assumed", result.bound.assumed},
               {"inputs", std::move(inputs)},
               {"outputs", std::move(outputs)},
               {"runs", runs},
               {"time_ns", ToJson(SummarizeRuns(result.run_ns))},
               {"summary", result.after.summary},
               {"multiply_adds", result.after.multiply_adds},
               {"delegates", std::move(delegates)},
               {"expected", std::move(comparisons)}};
  Json incidents = Json::array();
  for (const Incident& incident : result.incidents) incidents.push_back(ToJson(incident));
  json["incidents"] = std::move(incidents);
  json["degraded"] = result.degraded;
  if (!result.top.empty()) json["top"] = ToJson(result.top);
  return json;
}

Json ToJson(const Incident& incident) {
  return {{"delegate", incident.delegate},
          {"partition", incident.partition},
          {"nodes", incident.nodes},
          {"failure", incident.failure},
          {"taken_over", incident.taken_over}};
}

}  // namespace deputy::cli
