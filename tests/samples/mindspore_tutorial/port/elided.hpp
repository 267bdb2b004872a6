// What the tutorial leaves out because it is each vendor's own: the device's manager and its executor, the operators'
// objects, the device's description. Here the "device" is the arithmetic of the hand-written sample.
#pragma once

#include <iostream>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "deputy/deputy.hpp"
#include "deputy/sdk/sdk.hpp"
#include "tutorial_delegate.hpp"

namespace sdk = deputy::sdk;
namespace schema = deputy::schema;

namespace lite {
struct NpuDeviceInfo {
  int frequency_;
};
}  // namespace lite

// One operator of the model, as the device takes it.
struct NPUOp {
  sdk::Kernel* kernel;
};
using NPUGetOp = NPUOp* (*)(sdk::Kernel* kernel);

class NPUManager {
 public:
  bool IsSupportNPU() const { return true; }
  sdk::Code LoadOMModel() { return sdk::kSuccess; }
};

class NPUPassManager {};

class NPUGraph : public sdk::Kernel {
 public:
  NPUGraph(const std::vector<NPUOp*>& ops, NPUManager*, const std::vector<sdk::Tensor>& inputs,
           const std::vector<sdk::Tensor>& outputs)
      : sdk::Kernel(inputs, outputs) {
    for (const NPUOp* op : ops) kernels_.push_back(op->kernel);
  }
  sdk::Code Init() {
    executor_ = std::make_unique<tutorial::TutorialGraph>(inputs(), outputs(), kernels_);
    return sdk::kSuccess;
  }
  sdk::Status Prepare() override;
  sdk::Status Execute() override;
  sdk::Status ReSize() override { return sdk::kLiteNotSupport; }

 private:
  std::vector<sdk::Kernel*> kernels_;
  std::unique_ptr<tutorial::TutorialGraph> executor_;
};

// Of the ported code, for main.cpp. The first one frees `model_buf`.
sdk::Code BuildWithXxxDelegate(char* model_buf, size_t size, deputy::Model** built);
void UseNpuDelegate(deputy::Context* context);
