// CPU kernels of optionals, and of Identity for values other than tensors. A tensor or a sequence given for an optional
// counts as an optional with a value.
#include <utility>

#include "cpu/makers.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "cpu/ops/sequence.hpp"
#include "cpu/ops/untyped.hpp"
#include "tensor/held_value.hpp"

namespace deputy::host {
namespace {

// An omitted input is an empty optional.
Result<ModelValue> ValueIn(const KernelArgs& args) {
  if (args.inputs.empty() || args.inputs[0] == nullptr) return ModelValue();
  return ValueOf(*args.inputs[0]);
}

Status PassThrough(const KernelArgs& args) {
  DEPUTY_ASSIGN_OR_RETURN(ModelValue value, ValueIn(args));
  if (args.outputs.empty() || args.outputs[0] == nullptr) return {};
  return args.allocator->Hold(args.outputs[0], std::move(value));
}

bool IsThere(const KernelArgs& args) {
  if (args.inputs.empty() || args.inputs[0] == nullptr) return false;
  const ModelValue* held = HeldValue(*args.inputs[0]);
  return held == nullptr || !held->empty();
}

Status RunGet(const KernelArgs& args, bool gives_sequence) {
  if (!IsThere(args)) return Error(StatusCode::kInvalidArgument, "the optional is empty");
  if (gives_sequence) return PassThrough(args);
  const ModelValue* held = HeldValue(*args.inputs[0]);
  if (held != nullptr) return WriteTensor(args, held->tensor());
  DEPUTY_ASSIGN_OR_RETURN(const Tensor copy, CopyOf(*args.inputs[0]));
  return WriteTensor(args, copy);
}

Status RunHas(const KernelArgs& args) {
  DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), DType::kBool, {}));
  *args.output(0).data<uint8_t>() = IsThere(args) ? 1 : 0;
  return {};
}

KernelResult MakeCopy() {
  return KernelOf<OutputMemory::kView>([](const KernelArgs& args) { return CopyElements(args); });
}

}  // namespace

KernelResult MakeIdentity(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  return spec.input_type(0).is_tensor() ? MakeCopy() : KernelOf<OutputMemory::kOwn>(PassThrough);
}

KernelResult MakeOptional(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  return KernelOf<OutputMemory::kOwn>(PassThrough);
}

KernelResult MakeOptionalGetElement(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  const ValueKind kind = spec.input_type(0).kind;
  if (kind == ValueKind::kTensor) return MakeCopy();
  return KernelOf<OutputMemory::kOwn>(
      [gives_sequence = HoldsSequence(kind)](const KernelArgs& args) { return RunGet(args, gives_sequence); });
}

KernelResult MakeOptionalHasElement(const KernelSpec&) { return KernelOf(RunHas); }

}  // namespace deputy::host
