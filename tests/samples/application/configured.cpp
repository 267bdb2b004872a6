// A configuration of the machine or of a bundle, and changes while models are in use: configured MODEL [BUNDLE]
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "deputy/deputy.hpp"

namespace {

deputy::Result<deputy::Context> MakeContext(const std::string& bundle) {
  if (!bundle.empty()) return deputy::Context::FromBundle(bundle);
  deputy::ConfigSources over;
  over.files = {"npu-first"};  // a path, or the name of a shipped configuration
  over.settings = {"delegates.npu0.options.frequency=high"};
  return deputy::Context::FromLayers(over);
}

deputy::Status PrintClock(const deputy::Context& context) {
  DEPUTY_ASSIGN_OR_RETURN(const deputy::DelegateListing listing, context.ListDelegates());
  for (const deputy::DelegateReport& delegate : listing.delegates)
    for (const auto& [name, value] : delegate.options)
      if (name == "frequency") std::cout << delegate.name << ": " << name << ' ' << value << '\n';
  return {};
}

deputy::Status Run(const std::string& model_file, const std::string& bundle) {
  DEPUTY_ASSIGN_OR_RETURN(deputy::Context context, MakeContext(bundle));
  deputy::Model model;
  DEPUTY_RETURN_IF_ERROR(model.Build(model_file, context));
  DEPUTY_ASSIGN_OR_RETURN(deputy::Session session, model.CreateSession());
  DEPUTY_ASSIGN_OR_RETURN(const deputy::Tensor input,
                          deputy::Tensor::Allocate(deputy::DType::kFloat32, {1, 1, 28, 28}));
  std::vector<deputy::Tensor> outputs;
  DEPUTY_RETURN_IF_ERROR(session.Predict({input}, &outputs));
  DEPUTY_RETURN_IF_ERROR(PrintClock(context));

  DEPUTY_RETURN_IF_ERROR(context.SetOption("npu0", "frequency", "low"));  // of all runs that begin from now on
  DEPUTY_RETURN_IF_ERROR(PrintClock(context));

  deputy::RunHints hints;
  hints.power_level = 1;  // low power, for the runs of this session
  session.SetHints(hints);
  return session.Predict({input}, &outputs);
}

}  // namespace

int main(int argc, char** argv) {
  deputy::SetLogSink([](deputy::LogLevel, std::string_view, std::string_view) {});
  const deputy::Status status = argc < 2 ? deputy::Status(deputy::StatusCode::kInvalidArgument, "no model")
                                         : Run(argv[1], argc < 3 ? "" : argv[2]);
  deputy::SetLogSink(nullptr);
  if (!status.ok()) std::cerr << "configured: " << status.ToString() << '\n';
  return status.ok() ? 0 : 1;
}
