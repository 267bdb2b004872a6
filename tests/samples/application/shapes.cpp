// A model with a dynamic batch at several shapes, and the values that a model may take: shapes MODEL
#include <iostream>
#include <string>
#include <vector>

#include "deputy/deputy.hpp"

namespace {

std::string TextOf(const deputy::TensorInfo& info) {
  std::string text = info.name + ":";
  for (size_t i = 0; i < info.shape.size(); ++i)
    text += " " + (info.shape[i] < 0 ? info.dims[i] : std::to_string(info.shape[i]));
  return text;
}

deputy::Status RunShapes(const std::string& model_file) {
  deputy::Model model;
  DEPUTY_RETURN_IF_ERROR(model.Build(model_file, deputy::Context()));
  std::cout << TextOf(model.inputs()[0]) << '\n' << TextOf(model.outputs()[0]) << '\n';

  DEPUTY_ASSIGN_OR_RETURN(deputy::Session session, model.CreateSession());
  // Prepared before the first request arrives; Predict with another shape does the same by itself.
  DEPUTY_RETURN_IF_ERROR(session.Resize({{8, 1, 28, 28}}));
  std::vector<deputy::Tensor> outputs;
  for (const int64_t batch : {8, 3}) {
    DEPUTY_ASSIGN_OR_RETURN(const deputy::Tensor input,
                            deputy::Tensor::Allocate(deputy::DType::kFloat32, {batch, 1, 28, 28}));
    DEPUTY_RETURN_IF_ERROR(session.Predict({input}, &outputs));
    std::cout << "batch " << batch << ": output " << outputs[0].shape()[0] << " x " << outputs[0].shape()[1] << '\n';
  }

  DEPUTY_ASSIGN_OR_RETURN(const deputy::Tensor wrong, deputy::Tensor::Allocate(deputy::DType::kInt32, {1, 1, 28, 28}));
  const deputy::Status refused = session.Predict({wrong}, &outputs);
  std::cout << deputy::StatusCodeName(refused.code()) << ": " << refused.message() << '\n';
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const deputy::Status status = RunShapes(argc > 1 ? argv[1] : "");
  if (!status.ok()) std::cerr << "shapes: " << status.ToString() << '\n';
  return status.ok() ? 0 : 1;
}
