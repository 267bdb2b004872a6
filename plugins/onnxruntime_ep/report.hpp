// What a session left to Deputy and what became of it, as JSON.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fused_model.hpp"
#include "planner.hpp"

namespace ort_ep {

struct Report {
  std::string host_version;
  Settings settings;
  TextPairs absent;  // of Deputy::absent
  std::vector<LeftNode> left;
  std::vector<std::shared_ptr<FusedModel>> models;
};

// A value that the commands of `deputy` print in JSON too has their name for it.
std::string ReportText(const Report& report, const deputy::Context& context);

}  // namespace ort_ep
