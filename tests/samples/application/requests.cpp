// Several requests of one session in flight: requests MODEL [CONFIGURATION]; the text to it is
// host/docs/coming-from-openvino.md
#include <cstdint>
#include <future>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "deputy/deputy.hpp"

namespace {

deputy::Status RunRequests(const std::string& model_file, const std::string& config) {
  DEPUTY_ASSIGN_OR_RETURN(const deputy::Context context, deputy::Context::FromLayers({{config}, {}}));
  deputy::Model model;
  DEPUTY_RETURN_IF_ERROR(model.Build(model_file, context));
  DEPUTY_ASSIGN_OR_RETURN(deputy::Session session, model.CreateSession());

  std::vector<std::future<deputy::PredictResult>> requests;
  for (int64_t batch = 1; batch <= 4; ++batch) {  // as many as SetInFlight allows, 4 without it
    DEPUTY_ASSIGN_OR_RETURN(deputy::Tensor image,
                            deputy::Tensor::Allocate(deputy::DType::kFloat32, {batch, 1, 28, 28}));
    DEPUTY_ASSIGN_OR_RETURN(std::future<deputy::PredictResult> request, session.PredictAsync({std::move(image)}));
    requests.push_back(std::move(request));
  }
  for (std::future<deputy::PredictResult>& request : requests) {
    const deputy::PredictResult result = request.get();
    DEPUTY_RETURN_IF_ERROR(result.status);
    std::cout << "batch " << result.outputs[0].shape()[0] << '\n';
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const deputy::Status status = RunRequests(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "npu-first");
  if (!status.ok()) std::cerr << "requests: " << status.ToString() << '\n';
  return status.ok() ? 0 : 1;
}
