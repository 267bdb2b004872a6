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
using namespace deputy::sdk;

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
  Code LoadOMModel() { return kSuccess; }
};

class NPUPassManager {};

class NPUGraph : public sdk::Kernel {
 public:
  NPUGraph(const std::vector<NPUOp*>& ops, NPUManager*, const std::vector<Tensor>& inputs,
           const std::vector<Tensor>& outputs)
      : sdk::Kernel(inputs, outputs) {
    for (const NPUOp* op : ops) kernels_.push_back(op->kernel);
  }
  Code Init() {
    executor_ = std::make_unique<tutorial::TutorialGraph>(inputs(), outputs(), kernels_);
    return kSuccess;
  }
  Status Prepare() override;
  Status Execute() override;
  Status ReSize() override { return kLiteNotSupport; }

 private:
  std::vector<sdk::Kernel*> kernels_;
  std::unique_ptr<tutorial::TutorialGraph> executor_;
};

// Of the ported code, for main.cpp. The first one frees `model_buf`.
Code BuildWithXxxDelegate(char* model_buf, size_t size, deputy::Model** built);
void UseNpuDelegate(deputy::Context* context);
