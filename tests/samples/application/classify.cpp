// Classifies pictures of digits: classify MODEL CONFIG PICTURE...
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "deputy/deputy.hpp"
#include "pictures.hpp"

namespace {

deputy::Status Classify(const std::string& model_file, const std::string& config,
                        const std::vector<std::string>& files) {
  DEPUTY_ASSIGN_OR_RETURN(const deputy::Context context, deputy::Context::FromYaml(config));
  deputy::Model model;
  DEPUTY_RETURN_IF_ERROR(model.Build(model_file, context));
  for (const deputy::TensorInfo& input : model.inputs())
    std::cout << "input " << input.name << ": " << deputy::NameOf(input.dtype) << ", rank " << input.shape.size()
              << '\n';

  DEPUTY_ASSIGN_OR_RETURN(deputy::Session session, model.CreateSession());
  DEPUTY_ASSIGN_OR_RETURN(const deputy::Tensor pictures, ReadPictures(files));
  std::vector<deputy::Tensor> outputs;
  DEPUTY_RETURN_IF_ERROR(session.Predict({pictures}, &outputs));

  const auto logits = outputs[0].values<float>();
  for (size_t i = 0; i < files.size(); ++i) {
    const auto row = logits.subspan(i * 10, 10);
    std::cout << "picture " << i << ": " << std::max_element(row.begin(), row.end()) - row.begin() << '\n';
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: classify MODEL CONFIG PICTURE...\n";
    return 2;
  }
  const deputy::Status status = Classify(argv[1], argv[2], {argv + 3, argv + argc});
  if (!status.ok()) std::cerr << "classify: " << status.ToString() << '\n';
  return status.ok() ? 0 : 1;
}
