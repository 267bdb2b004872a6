#include "cpu/ops/planned_kernel.hpp"

#include <algorithm>

#include "base/aligned.hpp"
#include "base/file.hpp"
#include "base/memory_budget.hpp"
#include "kernels/cast.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

size_t WidenedBytes(const deputy_tensor& tensor) {
  return AlignUp(static_cast<size_t>(tensor.byte_size) / sizeof(Half) * sizeof(float));
}

bool NeedsWidening(const deputy_tensor* tensor) {
  return tensor != nullptr && IsFloat16(static_cast<DType>(tensor->dtype));
}

deputy_tensor Widened(const deputy_tensor& tensor, void* data) {
  deputy_tensor wide = tensor;
  wide.dtype = static_cast<deputy_dtype>(DType::kFloat32);
  wide.byte_size = tensor.byte_size / sizeof(Half) * sizeof(float);
  wide.data = data;
  return wide;
}

}  // namespace

Status CheckDims(std::span<const int64_t> dims, std::span<const int64_t> wanted, const char* subject) {
  if (std::equal(dims.begin(), dims.end(), wanted.begin(), wanted.end())) return Status();
  return Error(StatusCode::kInvalidArgument, "{} has shape {}, expected {}", subject, ShapeToString(dims),
               ShapeToString(wanted));
}

Status CheckDTypes(const KernelArgs& args, DType dtype, uint32_t inputs, uint32_t outputs) {
  if (args.inputs.size() > WidenedArgs::kMaxInputs || args.outputs.size() > WidenedArgs::kMaxOutputs)
    return Error(StatusCode::kInternal, "a node with {} inputs and {} outputs is not supported", args.inputs.size(),
                 args.outputs.size());
  for (size_t i = 0; i < args.inputs.size(); ++i)
    if ((inputs >> i & 1u) != 0 && args.input(i).present() && args.input(i).dtype() != dtype)
      return Error(StatusCode::kInvalidArgument, "input {} has dtype {}, expected {}", i, NameOf(args.input(i).dtype()),
                   NameOf(dtype));
  for (size_t i = 0; i < args.outputs.size(); ++i)
    if ((outputs >> i & 1u) != 0 && args.output(i).present() && args.output(i).dtype() != dtype)
      return Error(StatusCode::kInvalidArgument, "output {} has dtype {}, expected {}", i,
                   NameOf(args.output(i).dtype()), NameOf(dtype));
  return Status();
}

WidenedArgs::WidenedArgs(const KernelArgs& args, std::span<const Tensor> constants)
    : args_(args),
      constants_(constants),
      wide_{std::span(input_pointers_).first(args.inputs.size()),
            std::span(output_pointers_).first(args.outputs.size()), args.pool, args.scratch, args.allocator} {
  for (size_t i = 0; i < args.inputs.size(); ++i) {
    input_pointers_[i] = args.inputs[i];
    if (!NeedsWidening(args.inputs[i])) continue;
    if (i >= constants.size() || constants[i].empty()) bytes_ += WidenedBytes(*args.inputs[i]);
  }
  for (size_t i = 0; i < args.outputs.size(); ++i) {
    output_pointers_[i] = args.outputs[i];
    if (NeedsWidening(args.outputs[i])) bytes_ += WidenedBytes(*args.outputs[i]);
  }
}

const KernelArgs& WidenedArgs::Widen(void* memory) {
  char* next = static_cast<char*>(memory);
  for (size_t i = 0; i < args_.inputs.size(); ++i) {
    if (!NeedsWidening(args_.inputs[i])) continue;
    const deputy_tensor& narrow = *args_.inputs[i];
    if (i < constants_.size() && !constants_[i].empty()) {
      inputs_[i] = Widened(narrow, const_cast<void*>(constants_[i].data()));
    } else {
      Cast(static_cast<DType>(narrow.dtype), narrow.data, DType::kFloat32, next, ConstView(&narrow).element_count(),
           args_.pool);
      inputs_[i] = Widened(narrow, next);
      next += WidenedBytes(narrow);
    }
    input_pointers_[i] = &inputs_[i];
  }
  for (size_t i = 0; i < args_.outputs.size(); ++i) {
    if (!NeedsWidening(args_.outputs[i])) continue;
    outputs_[i] = Widened(*args_.outputs[i], next);
    next += WidenedBytes(*args_.outputs[i]);
    output_pointers_[i] = &outputs_[i];
  }
  return wide_;
}

void WidenedArgs::Narrow() const {
  for (size_t i = 0; i < args_.outputs.size(); ++i) {
    if (!NeedsWidening(args_.outputs[i])) continue;
    const deputy_tensor& narrow = *args_.outputs[i];
    Cast(DType::kFloat32, outputs_[i].data, static_cast<DType>(narrow.dtype), narrow.data,
         ConstView(&narrow).element_count(), args_.pool);
  }
}

namespace {

void Widen(const Tensor& narrow, Tensor& wide) {
  FindConvert(narrow.dtype(), DType::kFloat32)(narrow.data(), wide.mutable_data(), wide.element_count());
}

}  // namespace

Result<Tensor> Widened(const Tensor& constant) {
  if (!IsFloat16(constant.dtype())) return constant;
  DEPUTY_ASSIGN_OR_RETURN(Tensor wide, Tensor::Allocate(DType::kFloat32, constant.shape()));
  Widen(constant, wide);
  return wide;
}

Result<Tensor> AllocateWeights(DType dtype, Shape shape) {
  DEPUTY_ASSIGN_OR_RETURN(const size_t bytes, ByteSize(dtype, shape));
  if (!WeightMemoryScope::Take(bytes)) return WeightMemoryScope::Check();
  return Tensor::Allocate(dtype, std::move(shape));
}

void ReleasePages(const KernelSpec& spec, const Tensor& constant) {
  if (spec.graph.is_mapped(constant)) DropPages({static_cast<const uint8_t*>(constant.data()), constant.byte_size()});
}

Result<std::vector<Tensor>> WidenConstants(const KernelSpec& spec) {
  std::vector<Tensor> widened(spec.node.inputs.size());
  for (size_t i = 0; i < widened.size(); ++i) {
    const Tensor* constant = spec.constant(i);
    if (constant == nullptr || !IsFloat16(constant->dtype())) continue;
    DEPUTY_ASSIGN_OR_RETURN(widened[i], AllocateWeights(DType::kFloat32, constant->shape()));
    Widen(*constant, widened[i]);
  }
  return widened;
}

PlannedKernelBase::PlannedKernelBase(DType dtype, uint32_t typed_inputs, uint32_t typed_outputs,
                                     std::vector<Tensor> widened_constants)
    : dtype_(dtype),
      typed_inputs_(typed_inputs),
      typed_outputs_(typed_outputs),
      constants_(std::move(widened_constants)) {}

PlannedKernelBase::~PlannedKernelBase() = default;

Status PlannedKernelBase::Run(const KernelArgs& args) const {
  DEPUTY_RETURN_IF_ERROR(CheckDTypes(args, dtype_, typed_inputs_, typed_outputs_));
  if (!IsFloat16(dtype_)) return PlanAndCompute(args, nullptr);
  WidenedArgs widened(args, constants_);
  DEPUTY_RETURN_IF_ERROR(PlanAndCompute(args, &widened));
  widened.Narrow();
  return Status();
}

Result<PlannedKernelBase::Prepared> PlannedKernelBase::Prepare(const KernelArgs& args, WidenedArgs* widened,
                                                               size_t workspace_bytes) {
  if (widened == nullptr) {
    void* workspace = nullptr;
    if (workspace_bytes != 0) {
      DEPUTY_ASSIGN_OR_RETURN(workspace, args.scratch.Get(workspace_bytes));
    }
    return Prepared{&args, workspace};
  }
  DEPUTY_ASSIGN_OR_RETURN(void* const memory, args.scratch.Get(widened->bytes() + workspace_bytes));
  return Prepared{&widened->Widen(memory), static_cast<char*>(memory) + widened->bytes()};
}

Status CheckRequired(const KernelSpec& spec) {
  const OperatorInfo* info = InfoOf(spec.node.kind());
  for (size_t i = 0; i < info->min_inputs; ++i)
    if (!spec.has_input(i)) return Error(StatusCode::kModel, "required input {} of {} is missing", i, info->name);
  for (size_t i = 0; i < info->min_outputs; ++i)
    if (i >= spec.node.outputs.size() || spec.node.outputs[i] == kNone)
      return Error(StatusCode::kNotSupported, "{} without output {} is not supported", info->name, i);
  return Status();
}

Status UnsupportedDType(const KernelSpec& spec) {
  return Error(StatusCode::kNotSupported, "{} of {} is not supported", spec.primitive().op_type(),
               NameOf(spec.input_type(0).dtype));
}

Status RefuseUnless(const KernelSpec& spec, std::string_view attribute, int64_t neutral) {
  const int64_t value = spec.primitive().GetInt(attribute, neutral);
  if (value == neutral) return {};
  return Error(StatusCode::kNotSupported, "{} {} is not supported", attribute, value);
}

Status RefuseUnless(const KernelSpec& spec, std::string_view attribute, std::string_view neutral) {
  const std::string_view value = spec.primitive().GetString(attribute, neutral);
  if (value == neutral) return {};
  return Error(StatusCode::kNotSupported, "{} '{}' is not supported", attribute, value);
}

Status RefuseInput(const KernelSpec& spec, size_t input, std::string_view name) {
  if (!spec.has_input(input)) return {};
  return Error(StatusCode::kNotSupported, "{} with input {} is not supported", spec.primitive().op_type(), name);
}

Status RefuseOutput(const KernelSpec& spec, size_t output, std::string_view name) {
  if (output >= spec.node.outputs.size() || spec.node.outputs[output] == kNone) return {};
  return Error(StatusCode::kNotSupported, "{} with output {} is not supported", spec.primitive().op_type(), name);
}

Status RequireInputs(const KernelSpec& spec, std::initializer_list<size_t> inputs) {
  for (const size_t input : inputs)
    if (!spec.has_input(input))
      return Error(StatusCode::kModel, "required input {} of {} is missing", input, spec.primitive().op_type());
  return {};
}

}  // namespace deputy::host
