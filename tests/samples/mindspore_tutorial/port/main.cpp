// Runs each model given through the tutorial's two delegates and through the CPU alone, and compares.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "elided.hpp"

namespace {

std::vector<float> Run(const deputy::Model& model) {
  std::vector<deputy::Tensor> inputs, outputs;
  for (const deputy::TensorInfo& info : model.inputs()) {
    inputs.push_back(*deputy::Tensor::Allocate(deputy::DType::kFloat32, info.shape));
    float value = -1.7f;
    for (float& element : inputs.back().mutable_values<float>()) element = value += 0.6f;
  }
  auto session = model.CreateSession();
  if (!session.ok() || !session->Predict(inputs, &outputs).ok()) return {};
  const auto values = outputs[0].values<float>();
  return {values.begin(), values.end()};
}

bool Agrees(const char* path, const char* delegate, const deputy::Model& model, const std::vector<float>& expected) {
  const std::vector<float> got = Run(model);
  bool same = got.size() == expected.size() && !got.empty();
  for (size_t i = 0; same && i < got.size(); ++i) same = std::abs(got[i] - expected[i]) <= 1e-6f;
  const auto report = model.Placement();
  if (!report.ok()) return false;
  const deputy::DelegateReport& taken = report->delegates[0];
  std::printf("%s: %s took %zu of %zu nodes in %zu partitions, %s\n", path, delegate, taken.nodes, report->nodes.size(),
              taken.partitions, same ? "same as the CPU" : "NOT the same as the CPU");
  size_t others = 0;
  for (const deputy::NodeReport& node : report->nodes) others += node.op_type == "Exp" ? 1 : 0;
  return same && taken.nodes + others == report->nodes.size();
}

}  // namespace

int main(int count, char** paths) {
  bool all = count > 1;
  for (int i = 1; i < count; ++i) {
    std::ifstream file(paths[i], std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    deputy::Model on_cpu, on_npu;
    if (!on_cpu.Build(paths[i], deputy::Context()).ok()) return 1;
    const std::vector<float> expected = Run(on_cpu);

    auto* model_buf = new char[bytes.size()];
    std::copy(bytes.begin(), bytes.end(), model_buf);
    deputy::Model* made = nullptr;
    if (BuildWithXxxDelegate(model_buf, bytes.size(), &made) != sdk::kSuccess) return 1;
    const std::unique_ptr<deputy::Model> on_xxx(made);
    all &= Agrees(paths[i], "XXXDelegate", *on_xxx, expected);

    deputy::Context context;
    UseNpuDelegate(&context);
    if (!on_npu.Build(paths[i], context).ok()) return 1;
    all &= Agrees(paths[i], "NPUDelegate", on_npu, expected);
  }
  return all ? 0 : 1;
}
