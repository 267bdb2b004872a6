// A configuration that changes while a model is in use: reloading MODEL CONFIG NEXT...
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "deputy/deputy.hpp"

namespace {

// Runs once, and prints which configuration was in force and which delegate had nodes.
deputy::Status RunOnce(deputy::Session& session, const deputy::Context& context) {
  DEPUTY_ASSIGN_OR_RETURN(const deputy::Tensor input,
                          deputy::Tensor::Allocate(deputy::DType::kFloat32, {1, 1, 28, 28}));
  std::vector<deputy::Tensor> outputs;
  DEPUTY_RETURN_IF_ERROR(session.Predict({input}, &outputs));
  DEPUTY_ASSIGN_OR_RETURN(const deputy::PlacementReport placed, session.Placement());
  std::cout << "configuration " << context.Health().configuration.generation << ':';
  for (const deputy::DelegateReport& delegate : placed.delegates)
    if (delegate.nodes != 0) std::cout << ' ' << delegate.name;
  std::cout << '\n';
  return {};
}

deputy::Status Run(const std::string& model_file, const std::string& config, const std::vector<std::string>& files) {
  DEPUTY_ASSIGN_OR_RETURN(deputy::Context context, deputy::Context::FromYaml(config));
  deputy::Model model;
  DEPUTY_RETURN_IF_ERROR(model.Build(model_file, context));
  DEPUTY_ASSIGN_OR_RETURN(deputy::Session session, model.CreateSession());
  DEPUTY_RETURN_IF_ERROR(RunOnce(session, context));
  for (const std::string& next : files) {
    std::filesystem::rename(next, config);  // in one step: a half-written file is never read
    const deputy::Status reloaded = context.Reload();
    if (!reloaded.ok()) std::cout << deputy::StatusCodeName(reloaded.code()) << '\n';
    DEPUTY_RETURN_IF_ERROR(RunOnce(session, context));
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  deputy::SetLogSink([](deputy::LogLevel, std::string_view, std::string_view) {});
  const deputy::Status status = argc < 3 ? deputy::Status(deputy::StatusCode::kInvalidArgument, "no configuration")
                                         : Run(argv[1], argv[2], {argv + 3, argv + argc});
  deputy::SetLogSink(nullptr);
  if (!status.ok()) std::cerr << "reloading: " << status.ToString() << '\n';
  return status.ok() ? 0 : 1;
}
