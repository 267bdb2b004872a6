// The provider of one session: claims nodes, compiles them and writes the report at its end.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "deputy/status.hpp"
#include "planner.hpp"
#include "report.hpp"
#include "runtime.hpp"
#include "settings.hpp"

namespace ort_ep {

class Provider final : public ort::Ep {
 public:
  // Opens the delegates of the configuration.
  static deputy::Result<std::unique_ptr<Provider>> Make(const Runtime& environment, const ort::Logger* session_logger,
                                                        Settings settings);
  // Writes the report, if one was asked for; a failure is logged.
  ~Provider();
  Provider(const Provider&) = delete;
  Provider& operator=(const Provider&) = delete;

 private:
  struct ComputeInfo;

  Provider(const Runtime& environment, const ort::Logger* session_logger, Settings settings, Deputy deputy);
  deputy::Status Claim(const ort::Graph* graph, ort::EpGraphSupportInfo* support);
  deputy::Status CompileAll(const ort::Graph** graphs, const ort::Node** fused, size_t count,
                            ort::NodeComputeInfo** infos);
  deputy::Result<std::shared_ptr<FusedModel>> CompileOne(const ort::Graph* graph, const ort::Node* fused);
  void LogClaims(const Graph& graph, const Claims& claims) const;

  const Runtime environment_;  // whose log outlives the session's
  const Runtime runtime_;
  std::mutex mutex_;  // ONNX Runtime makes one of these calls at a time; it is not relied upon
  Planner planner_;
  Report report_;
  bool has_claimed_ = false;
};

}  // namespace ort_ep
