// A kernel that a MindSpore delegate's Replace put in: first a claim, then, after Prepare, an executable whose contexts
// share it. One mutex serializes the calls of one delegate's kernels.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "deputy/sdk/delegate_model.hpp"
#include "deputy/sdk/executable.hpp"

namespace deputy::sdk::detail {

class KeptKernel final : public Executable {
 public:
  KeptKernel(std::shared_ptr<DelegateModel> model, std::unique_ptr<Kernel> kernel, std::shared_ptr<std::mutex> mutex)
      : model_(std::move(model)), kernel_(std::move(kernel)), mutex_(std::move(mutex)) {}

  const Kernel& kernel() const { return *kernel_; }

  // Values to bind, in the kernel's order: no constants, no optional ones left out, none twice.
  static std::vector<deputy_value_id> IdsOf(const std::vector<Tensor>& tensors) {
    std::unordered_set<deputy_value_id> seen{DEPUTY_NO_VALUE};
    std::vector<deputy_value_id> ids;
    for (const Tensor& tensor : tensors)
      if (seen.insert(tensor.Id()).second && !tensor.IsConst()) ids.push_back(tensor.Id());
    return ids;
  }

  Status Prepare(const PartitionView& partition) {
    for (const ValueView& value : partition.inputs()) inputs_.push_back(model_->Find(value.id()));
    for (const ValueView& value : partition.outputs()) outputs_.push_back(model_->Find(value.id()));
    const auto written = IdsOf(kernel_->outputs());
    for (const ValueView& value : partition.outputs())
      if (std::find(written.begin(), written.end(), value.id()) == written.end())
        return Status(Code::kInvalidArgument,
                      "others read '" + std::string(value.name()) + "', which is not among the outputs of the kernel");
    shapes_.resize(inputs_.size() + outputs_.size());
    size_t index = 0;
    for (const auto* tensors : {&inputs_, &outputs_})
      for (const Tensor& tensor : *tensors) {
        if (tensor == nullptr) return Status(Code::kInternal, "the partition has a value that Build did not see");
        shapes_[index++] = tensor.Shape();
      }
    const std::lock_guard<std::mutex> lock(*mutex_);
    return kernel_->Prepare();
  }

  inline Result<std::unique_ptr<ExecutionContext>> CreateContext() override;

  // Kernel::ReSize decides. Sessions share the kernel; a run with the former shapes resizes it back to them.
  Result<ResizeOutcome> Resize(const ResizeArgs& args) {
    const std::lock_guard<std::mutex> lock(*mutex_);
    std::vector<std::vector<int64_t>> before = shapes_;
    const bool sized_before = std::exchange(sized_, false);
    Status status;
    try {
      for (size_t i = 0; i < inputs_.size(); ++i) Reshape(inputs_[i], args.input(i), shapes_[i]);
      for (size_t i = 0; i < outputs_.size(); ++i) Reshape(outputs_[i], args.output(i), shapes_[inputs_.size() + i]);
      status = kernel_->ReSize();
    } catch (...) {
      GoBack(std::move(before));
      throw;
    }
    sized_ = status.ok();
    if (status.ok()) return ResizeOutcome::kDone;
    // A kernel that does not support ReSize is unchanged; any other failure may have left it half resized.
    if (status.code() == Code::kNotSupported) sized_ = sized_before;
    GoBack(std::move(before));
    return status;
  }

  Status Run(const RunArgs& args) {
    const std::lock_guard<std::mutex> lock(*mutex_);
    const Binding binding{*this};
    bool reshaped = false;
    for (size_t i = 0; i < inputs_.size(); ++i) reshaped |= Bind(inputs_[i], args.input(i), shapes_[i]);
    for (size_t i = 0; i < outputs_.size(); ++i)
      reshaped |= Bind(outputs_[i], args.output(i), shapes_[inputs_.size() + i]);
    if (reshaped || !sized_) {
      sized_ = false;
      DEPUTY_SDK_RETURN_IF_ERROR(kernel_->ReSize());
      sized_ = true;
    }
    return kernel_->Execute();
  }

 private:
  // However a run ends, no tensor keeps a pointer into it.
  struct Binding {
    KeptKernel& kept;
    ~Binding() {
      for (const auto* tensors : {&kept.inputs_, &kept.outputs_})
        for (const Tensor& tensor : *tensors) tensor.Bind(nullptr);
    }
  };

  void GoBack(std::vector<std::vector<int64_t>> before) {
    shapes_ = std::move(before);
    for (size_t i = 0; i < shapes_.size(); ++i)
      (i < inputs_.size() ? inputs_[i] : outputs_[i - inputs_.size()]).SetShape({shapes_[i].data(), shapes_[i].size()});
  }

  // True if the shape differs from that of the run before.
  static bool Bind(const Tensor& tensor, const TensorView& given, std::vector<int64_t>& shape) {
    tensor.Bind(given.data());
    return Reshape(tensor, given, shape);
  }
  static bool Reshape(const Tensor& tensor, const TensorView& given, std::vector<int64_t>& shape) {
    tensor.SetShape(given.dims());
    if (tensor.Shape() == shape) return false;
    shape = tensor.Shape();
    return true;
  }

  std::shared_ptr<DelegateModel> model_;
  std::unique_ptr<Kernel> kernel_;
  std::shared_ptr<std::mutex> mutex_;
  std::vector<Tensor> inputs_, outputs_;
  std::vector<std::vector<int64_t>> shapes_;  // of inputs, then outputs, in the run before
  bool sized_ = true;
};

class KernelContext final : public ExecutionContext {
 public:
  explicit KernelContext(KeptKernel& kept) : kept_(kept) {}
  Status Execute(const RunArgs& args) override { return kept_.Run(args); }
  Result<ResizeOutcome> Resize(const ResizeArgs& args) override { return kept_.Resize(args); }

 private:
  KeptKernel& kept_;
};

inline Result<std::unique_ptr<ExecutionContext>> KeptKernel::CreateContext() {
  return std::make_unique<KernelContext>(*this);
}

}  // namespace deputy::sdk::detail
