// The report of `deputy run --json`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/inputs/model_inputs.hpp"
#include "cli/measure/timing.hpp"
#include "cli/report/json_report.hpp"
#include "cli/report/top_classes.hpp"
#include "deputy/model.hpp"

namespace deputy::cli {

// A result of --expect.
struct Comparison {
  std::string output, file;
  bool matches = false;
  std::string detail;  // the tolerance and largest difference, or the mismatch
};

// What a run leaves behind; all referred to must outlive the call that reads it.
struct RunResult {
  const std::string& model;
  const std::vector<TensorInfo>&input_infos, &output_infos;
  const BoundInputs& bound;
  const std::vector<Tensor>& outputs;
  const std::vector<uint64_t>& run_ns;
  const DelegateTimes& delegate_ns;  // sum of all runs
  const DelegateTimes& ran_nodes;    // nodes of the last run
  const PlacementReport &before, &after;
  const std::vector<Comparison>& comparisons;
  const std::vector<TopRow>& top;  // of --top
  const std::vector<Incident>& incidents;
  bool degraded;
};

Json ToJson(const RunResult& result);
Json ToJson(const Incident& incident);

}  // namespace deputy::cli
