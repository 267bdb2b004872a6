#include "cli/measure/measured_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "cli/terminal/progress.hpp"
#include "cli/terminal/terminal.hpp"

namespace deputy::cli {
namespace {

using Samples = std::map<std::string, std::vector<uint64_t>>;

uint64_t MedianOfSamples(std::vector<uint64_t> samples) {
  const auto middle = samples.begin() + static_cast<ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

std::map<std::string, uint64_t> Medians(Samples& samples) {
  std::map<std::string, uint64_t> medians;
  for (auto& [name, times] : samples) medians[name] = MedianOfSamples(std::move(times));
  return medians;
}

// Adds one run. A step of one node is the time of that node; other nodes have the sum of their own events.
void AddEvents(const std::vector<RunEvent>& events, Samples& partitions, Samples& nodes) {
  std::map<std::string, uint64_t> alone, sums;
  for (const RunEvent& event : events) {
    const uint64_t time = event.end_ns - event.begin_ns;
    if (event.is_step) partitions[event.partition].push_back(time);
    if (event.nodes.size() == 1) (event.is_step ? alone : sums)[event.nodes.front()] += time;
  }
  alone.merge(sums);
  for (const auto& [node, time] : alone) nodes[node].push_back(time);
}

}  // namespace

const char* VerificationText(VerificationResult result) {
  switch (result) {
    case VerificationResult::kRight: return "right";
    case VerificationResult::kRounding: return "rounding errors";
    case VerificationResult::kWrong: return "wrong";
    case VerificationResult::kNotVerified: return "not verified";
  }
  return "";
}

Result<MeasuredRun> MeasureRun(const Model& model, const std::vector<Tensor>& inputs, uint32_t runs) {
  MeasuredRun measured;
  // First, while no session holds memory of the devices.
  ShowProgress("comparing with the CPU");
  DEPUTY_ASSIGN_OR_RETURN(measured.verifications, model.Verify(inputs, {}));
  DEPUTY_ASSIGN_OR_RETURN(Session session, model.CreateSession());
  std::vector<Tensor> outputs;
  DEPUTY_RETURN_IF_ERROR(session.Predict(inputs, &outputs));
  session.EnableProfiling(true);
  session.EnableEvents(true);
  Samples partitions, nodes;
  std::vector<uint64_t> totals;
  for (uint32_t i = 0; i < runs; ++i) {
    ShowProgress(fmt::format("run {} of {}", i + 1, runs));
    DEPUTY_RETURN_IF_ERROR(session.Predict(inputs, &outputs));
    totals.push_back(session.statistics().total_ns);
    AddEvents(session.events(), partitions, nodes);
  }
  ClearProgress();
  measured.runs = runs;
  measured.total_ns = MedianOfSamples(std::move(totals));
  measured.partition_ns = Medians(partitions);
  measured.node_ns = Medians(nodes);
  return measured;
}

}  // namespace deputy::cli
