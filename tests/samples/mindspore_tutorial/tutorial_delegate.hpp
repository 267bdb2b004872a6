// MindSpore Lite's tutorial on delegates ("Using Delegate to Support Third-party AI Framework"), as code that runs: its
// XXXDelegate with Init and Build, and its XXXGraph with Prepare, Execute and ReSize, over a handful of float32
// operators. The tutorial's loop has two bugs, both mended here: a run of supported kernels at the end of the list was
// never replaced, and neither was a run of one kernel. Used as a plugin (plugin.cpp) and in process.
#pragma once

#include <cmath>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "deputy/sdk/sdk.hpp"

namespace tutorial {

using deputy::sdk::DelegateModel;
using deputy::sdk::Kernel;
using deputy::sdk::KernelIter;
using deputy::sdk::Status;
using deputy::sdk::Tensor;

// Does TutorialGraph have the operator, for values of these types and shapes?
inline bool CanCompute(const Kernel& kernel) {
  const std::string& type = kernel.type();
  const bool one = type == "Relu" || type == "LeakyRelu" || type == "Sigmoid";
  const bool two = type == "Add" || type == "Mul";
  if (!one && !two) return false;
  for (const Tensor& input : kernel.inputs())
    if (input.DataType() != deputy::sdk::DType::kFloat32 || input.Shape() != kernel.outputs()[0].Shape()) return false;
  return true;
}

// The sub-graph: its original kernels' work, one after the other.
class TutorialGraph final : public Kernel {
 public:
  TutorialGraph(std::vector<Tensor> inputs, std::vector<Tensor> outputs, const std::vector<Kernel*>& kernels)
      : Kernel(std::move(inputs), std::move(outputs)) {
    for (const Kernel* kernel : kernels) {
      Step step{kernel->type(), 0, kernel->inputs(), kernel->outputs()[0]};
      if (step.type == "LeakyRelu") step.alpha = deputy::sdk::op::LeakyRelu(kernel->primitive()).alpha();
      steps_.push_back(std::move(step));
    }
  }

  // Once, when the host has adopted the sub-graph: nothing to pack here.
  Status Prepare() override { return deputy::sdk::kSuccess; }

  Status ReSize() override { return deputy::sdk::kSuccess; }

  Status Execute() override {
    for (const Step& step : steps_) {
      const size_t count = static_cast<size_t>(step.inputs[0].ElementNum());
      const float* a = Read(step.inputs[0]);
      const float* b = step.inputs.size() > 1 ? Read(step.inputs[1]) : nullptr;
      float* y = Write(step.output, count);
      for (size_t i = 0; i < count; ++i) y[i] = Compute(step, a[i], b == nullptr ? 0 : b[i]);
    }
    return deputy::sdk::kSuccess;
  }

 private:
  struct Step {
    std::string type;
    float alpha;
    std::vector<Tensor> inputs;
    Tensor output;
  };

  static float Compute(const Step& step, float a, float b) {
    if (step.type == "Add") return a + b;
    if (step.type == "Mul") return a * b;
    if (step.type == "Sigmoid") return 1 / (1 + std::exp(-a));
    return a > 0 ? a : step.alpha * a;  // Relu: alpha 0
  }

  // Values of the sub-graph's border have data during a run; those inside live here.
  const float* Read(const Tensor& tensor) {
    if (tensor.Data() != nullptr) return static_cast<const float*>(tensor.Data());
    return inner_[tensor.Id()].data();
  }
  float* Write(const Tensor& tensor, size_t count) {
    if (tensor.MutableData() != nullptr) return static_cast<float*>(tensor.MutableData());
    std::vector<float>& values = inner_[tensor.Id()];
    values.resize(count);
    return values.data();
  }

  std::vector<Step> steps_;
  std::unordered_map<deputy_value_id, std::vector<float>> inner_;
};

class TutorialDelegate final : public deputy::sdk::Delegate {
 public:
  Status Init() override {
    // 1. Check whether the inference device matches the delegate framework.
    // 2. Initialize delegate related resources.
    return deputy::sdk::kSuccess;
  }

  Status Build(DelegateModel* model) override {
    std::vector<Kernel*> supported;  // the run that ends in front of `iter`
    for (KernelIter iter = model->BeginKernelIterator(); iter != model->EndKernelIterator(); ++iter) {
      if (model->GetPrimitive(*iter) != nullptr && CanCompute(**iter)) {  // NULL: somebody else's
        supported.push_back(*iter);
        continue;
      }
      if (!supported.empty()) iter = ReplaceRun(model, iter, supported);
    }
    if (!supported.empty()) ReplaceRun(model, model->EndKernelIterator(), supported);
    return deputy::sdk::kSuccess;
  }

 private:
  // Replaces the kernels in front of `end`; gives back the iterator of the first kernel behind the new one.
  static KernelIter ReplaceRun(DelegateModel* model, KernelIter end, std::vector<Kernel*>& run) {
    const KernelIter from = end - static_cast<std::ptrdiff_t>(run.size());
    auto* graph = new TutorialGraph(deputy::sdk::GraphInTensors(run), deputy::sdk::GraphOutTensors(run, *model), run);
    graph->set_name("TutorialGraph " + run.front()->name());
    run.clear();
    return model->Replace(from, end, graph);
  }
};

}  // namespace tutorial
