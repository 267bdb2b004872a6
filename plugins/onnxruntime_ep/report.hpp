// What a session left to Deputy and what became of it, as JSON.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "deputy/status.hpp"
#include "fused_model.hpp"
#include "planner.hpp"

namespace ort_ep {

struct Report {
  std::string host_version;
  Settings settings;
  std::vector<LeftNode> left;
  std::vector<std::shared_ptr<FusedModel>> models;
};

// Placements and health have the names that the commands of `deputy` give them in JSON.
std::string ReportText(const Report& report, const deputy::Context& context);

// Replaces the file as a whole. kUnavailable, with the reason, where it cannot be written.
deputy::Status WriteFile(const std::string& path, const std::string& text);

}  // namespace ort_ep
