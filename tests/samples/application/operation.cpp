// What an application watches in operation: log, placement, verification, health: operation MODEL PICTURE...
#include <iostream>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "deputy/deputy.hpp"
#include "pictures.hpp"

namespace {

// Delegates in code instead of YAML, with the same keys.
deputy::Result<deputy::Context> MakeContext() {
  DEPUTY_ASSIGN_OR_RETURN(deputy::Context context, deputy::Context::FromYaml("operation.yaml"));
  deputy::DeviceInfo head;
  head.name = "onednn";
  head.options["threads"] = "1";
  context.MutableDeviceInfo().push_back(head);
  DEPUTY_RETURN_IF_ERROR(context.Load());  // finds and opens the delegates now, and not in the first Build
  return context;
}

void PrintPlacement(const deputy::PlacementReport& placement) {
  for (const deputy::DelegateReport& delegate : placement.delegates)
    std::cout << delegate.name << ": " << delegate.nodes << " nodes\n";
  for (const deputy::NodeReport& node : placement.nodes)
    for (const deputy::RefusalReport& refusal : node.refusals)
      if (refusal.reason == "wrong result")
        std::cout << refusal.delegate << " computed " << node.op_type << " wrongly\n";
}

void PrintHealth(const deputy::HealthReport& health) {
  std::cout << (health.degraded ? "degraded" : "healthy") << ", incidents: " << health.incidents.size() << '\n';
  for (const deputy::Incident& incident : health.incidents)
    std::cout << incident.delegate << ": " << incident.nodes << " nodes, now on " << incident.taken_over << '\n';
}

deputy::Status Operate(const std::string& model_file, const std::vector<std::string>& files) {
  DEPUTY_ASSIGN_OR_RETURN(const deputy::Context context, MakeContext());
  deputy::Model model;
  DEPUTY_RETURN_IF_ERROR(model.Build(model_file, context));
  DEPUTY_ASSIGN_OR_RETURN(deputy::Session session, model.CreateSession());
  DEPUTY_ASSIGN_OR_RETURN(const deputy::Tensor pictures, ReadPictures(files));
  std::vector<deputy::Tensor> outputs;
  DEPUTY_RETURN_IF_ERROR(session.Predict({pictures}, &outputs));
  DEPUTY_ASSIGN_OR_RETURN(const deputy::PlacementReport placement, session.Placement());
  PrintPlacement(placement);
  PrintHealth(context.Health());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  std::mutex mutex;
  size_t warnings = 0;
  deputy::SetLogSink([&mutex, &warnings](deputy::LogLevel level, std::string_view, std::string_view) {
    const std::lock_guard lock(mutex);  // called by several threads at once
    if (level == deputy::LogLevel::kWarning) ++warnings;
  });
  const deputy::Status status = argc < 3 ? deputy::Status(deputy::StatusCode::kInvalidArgument, "no pictures")
                                         : Operate(argv[1], {argv + 2, argv + argc});
  deputy::SetLogSink(nullptr);
  std::cout << "warnings: " << warnings << '\n';
  if (!status.ok()) std::cerr << "operation: " << status.ToString() << '\n';
  return status.ok() ? 0 : 1;
}
