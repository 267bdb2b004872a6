#include "profile.hpp"

#include <algorithm>
#include <utility>

namespace openvino {
namespace {

// As text in JSON: OpenVINO's names of types and implementations have neither quotes nor control characters.
std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text)
    if (c != '"' && c != '\\' && static_cast<unsigned char>(c) >= 0x20) quoted += c;
  return quoted + "\"";
}

}  // namespace

ProfiledModel::ProfiledModel(ov::CompiledModel profiled, const std::vector<std::string>& names)
    : model(std::move(profiled)) {
  const std::shared_ptr<const ov::Model> executed = model.get_runtime_model();
  for (const std::shared_ptr<ov::Node>& op : executed->get_ordered_ops()) {
    const auto& about = op->get_rt_info();
    const auto origins = about.find("originalLayersNames");
    events_.emplace(op->get_friendly_name(), static_cast<uint32_t>(nodes_.size()));
    nodes_.push_back(origins == about.end() ? std::vector<size_t>()
                                            : FindNames(origins->second.as<std::string>(), names));
  }
}

void ProfiledModel::Report(const ov::InferRequest& request, uint64_t begin_ns, uint64_t end_ns,
                           const sdk::Profiler& profiler) const {
  uint64_t now = begin_ns;
  for (const ov::ProfilingInfo& info : request.get_profiling_info()) {
    if (info.status != ov::ProfilingInfo::Status::EXECUTED) continue;
    sdk::ProfileEvent event;
    const auto found = events_.find(info.node_name);
    if (found != events_.end() && !nodes_[found->second].empty()) event.id = found->second;
    event.begin_ns = now;
    // Whole microseconds of another clock: rounding may not lead past the end of the run.
    now = std::min(end_ns, now + static_cast<uint64_t>(std::max<int64_t>(0, info.real_time.count())) * 1000);
    event.end_ns = now;
    event.name = info.node_type;
    const std::string metadata = "{\"implementation\": " + Quoted(info.exec_type) + "}";
    event.metadata = metadata;
    profiler.Report(event);
  }
}

}  // namespace openvino
