// The common structure of the neural kernels. An operation plans a run from its extents; the plan tells the size of the
// working memory; then it computes. 16-bit floats are widened to float32 around the computation, so that operations are
// written for float and double only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/aligned.hpp"
#include "cpu/kernel.hpp"
#include "kernels/dispatch.hpp"

namespace deputy::host {

// Fails with both shapes unless they are equal.
Status CheckDims(std::span<const int64_t> dims, std::span<const int64_t> wanted, const char* subject);
// Fails unless every input and output with a bit in the masks has this dtype, or is omitted.
Status CheckDTypes(const KernelArgs& args, DType dtype, uint32_t inputs, uint32_t outputs);

// The arguments of one run with float32 in place of 16-bit floats. Allocates nothing itself.
class WidenedArgs {
 public:
  static constexpr size_t kMaxInputs = 16, kMaxOutputs = 5;

  // `constants[i]`, when not empty, is input i already widened.
  WidenedArgs(const KernelArgs& args, std::span<const Tensor> constants);
  WidenedArgs(const WidenedArgs&) = delete;
  WidenedArgs& operator=(const WidenedArgs&) = delete;
  size_t bytes() const { return bytes_; }
  // Widens the inputs into `memory`; the result is valid as long as this object and `memory`.
  const KernelArgs& Widen(void* memory);
  // Rounds the outputs into their memory.
  void Narrow() const;

 private:
  const KernelArgs& args_;
  std::span<const Tensor> constants_;
  size_t bytes_ = 0;
  std::array<deputy_tensor, kMaxInputs> inputs_;
  std::array<deputy_tensor, kMaxOutputs> outputs_;
  std::array<const deputy_tensor*, kMaxInputs> input_pointers_ = {};
  std::array<deputy_tensor*, kMaxOutputs> output_pointers_ = {};
  const KernelArgs wide_;
};

// A constant with float32 in place of a 16-bit float.
Result<Tensor> Widened(const Tensor& constant);
// Memory that a kernel keeps for weights in its own form, counted by WeightMemoryScope.
Result<Tensor> AllocateWeights(DType dtype, Shape shape);
// After a constant has been packed: its file's pages leave the memory of the process until they are read again.
void ReleasePages(const KernelSpec& spec, const Tensor& constant);
// The constants among the inputs, widened; empty tensors elsewhere.
Result<std::vector<Tensor>> WidenConstants(const KernelSpec& spec);

// What PlannedKernel does for every operation: it is compiled once.
class PlannedKernelBase : public CpuKernel {
 public:
  Status Run(const KernelArgs& args) const final;

 protected:
  // What an operation computes with.
  struct Prepared {
    const KernelArgs* args;  // without 16-bit floats
    void* workspace;         // unspecified where the plan needs none
  };

  PlannedKernelBase(DType dtype, uint32_t typed_inputs, uint32_t typed_outputs, std::vector<Tensor> widened_constants);
  ~PlannedKernelBase() override;
  static Result<Prepared> Prepare(const KernelArgs& args, WidenedArgs* widened, size_t workspace_bytes);

 private:
  // `widened`, unless null, is to be computed with in place of `args`.
  virtual Status PlanAndCompute(const KernelArgs& args, WidenedArgs* widened) const = 0;

  DType dtype_;
  uint32_t typed_inputs_, typed_outputs_;
  std::vector<Tensor> constants_;
};

// Operation: struct Plan { size_t workspace_bytes; ... };
//            Result<Plan> MakePlan(const KernelArgs&) const;   checks extents; the bytes of floats are not there yet
//            Status Compute(const Plan&, const KernelArgs&, void* workspace) const;
//            static constexpr uint32_t kTypedInputs, kTypedOutputs;   bits of those that have the kernel's dtype
template <class Operation>
class PlannedKernel final : public PlannedKernelBase {
 public:
  // `dtype` is that of the tensors, `widened_constants` for a 16-bit float the result of WidenConstants.
  PlannedKernel(Operation operation, DType dtype, std::vector<Tensor> widened_constants)
      : PlannedKernelBase(dtype, Operation::kTypedInputs, Operation::kTypedOutputs, std::move(widened_constants)),
        operation_(std::move(operation)) {}

 private:
  Status PlanAndCompute(const KernelArgs& args, WidenedArgs* widened) const override {
    DEPUTY_ASSIGN_OR_RETURN(const typename Operation::Plan plan, operation_.MakePlan(args));
    DEPUTY_ASSIGN_OR_RETURN(const Prepared prepared, Prepare(args, widened, plan.workspace_bytes));
    return operation_.Compute(plan, *prepared.args, prepared.workspace);
  }

  Operation operation_;
};

// Fails when a required input or output is omitted; kernels do not check them again.
Status CheckRequired(const KernelSpec& spec);

template <class Operation>
KernelResult MakePlannedKernel(const KernelSpec& spec, Operation operation) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  const DType dtype = spec.input_type(0).dtype;
  std::vector<Tensor> constants;
  if (IsFloat16(dtype)) {
    DEPUTY_ASSIGN_OR_RETURN(constants, WidenConstants(spec));
  }
  return KernelResult(std::make_unique<PlannedKernel<Operation>>(std::move(operation), dtype, std::move(constants)));
}

Status UnsupportedDType(const KernelSpec& spec);

// Makes Operation<float> or Operation<double>, by the dtype of input 0.
template <template <class> class Operation, class... Arguments>
KernelResult MakeFloatKernel(const KernelSpec& spec, const Arguments&... arguments) {
  switch (ComputeType(spec.input_type(0).dtype)) {
    case DType::kFloat32: return MakePlannedKernel(spec, Operation<float>(arguments...));
    case DType::kFloat64: return MakePlannedKernel(spec, Operation<double>(arguments...));
    default: return UnsupportedDType(spec);
  }
}

// Attributes, inputs and outputs that the CPU does not compute are refused by name when the kernel is made. Fails
// unless the attribute is omitted or has the value without an effect.
Status RefuseUnless(const KernelSpec& spec, std::string_view attribute, int64_t neutral);
Status RefuseUnless(const KernelSpec& spec, std::string_view attribute, std::string_view neutral);
Status RefuseInput(const KernelSpec& spec, size_t input, std::string_view name);
Status RefuseOutput(const KernelSpec& spec, size_t output, std::string_view name);
// Fails when one of these inputs, which may follow optional ones, is omitted.
Status RequireInputs(const KernelSpec& spec, std::initializer_list<size_t> inputs);

// Working memory in pieces: the pieces are counted first, and are then at their offsets in one block.
class Arena {
 public:
  // The offset of `count` elements, aligned to a cache line.
  template <class T>
  size_t Reserve(int64_t count) {
    const size_t at = bytes_;
    bytes_ += AlignUp(static_cast<size_t>(count) * sizeof(T));
    return at;
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

}  // namespace deputy::host
