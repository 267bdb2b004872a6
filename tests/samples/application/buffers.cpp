// Memory of the caller's for inputs, outputs and the model itself: buffers MODEL
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "deputy/deputy.hpp"

namespace {

deputy::Status RunInBuffers(const std::string& model_file) {
  deputy::Model model;
  {
    std::ifstream file(model_file, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    DEPUTY_RETURN_IF_ERROR(model.Build(bytes.data(), bytes.size(), deputy::ModelType::kAuto, deputy::Context()));
  }  // the model keeps nothing of the buffer

  std::vector<float> pixels(28 * 28, 0.5f), logits(10);
  DEPUTY_ASSIGN_OR_RETURN(
      const deputy::Tensor input,
      deputy::Tensor::Wrap(deputy::DType::kFloat32, {1, 1, 28, 28}, pixels.data(), pixels.size() * sizeof(float)));
  DEPUTY_ASSIGN_OR_RETURN(deputy::Tensor output, deputy::Tensor::Wrap(deputy::DType::kFloat32, {1, 10}, logits.data(),
                                                                      logits.size() * sizeof(float)));
  std::vector<deputy::Tensor> outputs = {output};
  DEPUTY_ASSIGN_OR_RETURN(deputy::Session session, model.CreateSession());
  DEPUTY_RETURN_IF_ERROR(session.Predict({input}, &outputs));
  std::cout << (outputs[0].data() == logits.data() ? "written in place" : "replaced") << '\n';

  // A file whose weights are mapped instead of read; no importer is needed to load it.
  DEPUTY_RETURN_IF_ERROR(model.Save("model.dpm"));
  deputy::Model mapped;
  DEPUTY_RETURN_IF_ERROR(mapped.Build("model.dpm", deputy::Context()));
  DEPUTY_ASSIGN_OR_RETURN(deputy::Session again, mapped.CreateSession());
  std::vector<deputy::Tensor> results;
  DEPUTY_RETURN_IF_ERROR(again.Predict({input}, &results));
  const deputy::Comparison same = deputy::CompareTensors(results[0], outputs[0], deputy::Tolerance());
  std::cout << (same.ok ? "the same results from model.dpm" : same.description) << '\n';
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const deputy::Status status = RunInBuffers(argc > 1 ? argv[1] : "");
  if (!status.ok()) std::cerr << "buffers: " << status.ToString() << '\n';
  return status.ok() ? 0 : 1;
}
