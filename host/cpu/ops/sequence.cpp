// CPU kernels of sequences, of optionals, and of Identity for values other than tensors. Only the host makes, reads and
// passes sequences, as values that share their elements: an insertion copies a list of references, never the elements.
// A tensor or a sequence given for an optional counts as an optional with a value.
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/cancellation.hpp"
#include "base/checked.hpp"
#include "cpu/ops/function_kernel.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "kernels/parts.hpp"
#include "tensor/held_value.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

// Output 0 with memory for such a tensor; null when it is omitted. Fails when the model has another type for it.
Result<deputy_tensor*> AllocateTensor(const KernelArgs& args, DType dtype, std::span<const int64_t> dims) {
  deputy_tensor* const output = args.outputs.empty() ? nullptr : args.outputs[0];
  if (output == nullptr) return output;
  if (static_cast<DType>(output->dtype) != dtype)
    return Error(StatusCode::kInvalidArgument, "the result has dtype {}, but {} in the model", NameOf(dtype),
                 NameOf(static_cast<DType>(output->dtype)));
  DEPUTY_RETURN_IF_ERROR(args.allocator->Allocate(output, dims));
  return output;
}

// Copies the tensor to output 0.
Status WriteTensor(const KernelArgs& args, const Tensor& tensor) {
  DEPUTY_ASSIGN_OR_RETURN(deputy_tensor* const output, AllocateTensor(args, tensor.dtype(), tensor.shape()));
  if (output != nullptr) CopyInParts(output->data, tensor.data(), tensor.byte_size());
  return {};
}

// A part needs memory of its own beside its elements.
constexpr int64_t kMostParts = int64_t{1} << 20;

Status CheckPartCount(int64_t count) {
  if (count <= kMostParts) return {};
  return Error(StatusCode::kResourceExhausted, "a split into {} parts exceeds the limit of {}", count, kMostParts);
}

Result<const deputy_tensor*> Present(const KernelArgs& args, size_t i) {
  if (i < args.inputs.size() && args.inputs[i] != nullptr) return args.inputs[i];
  return Error(StatusCode::kInternal, "input {} is missing", i);
}

Result<const ModelValue*> SequenceIn(const KernelArgs& args) {
  DEPUTY_ASSIGN_OR_RETURN(const deputy_tensor* const input, Present(args, 0));
  const ModelValue* value = HeldValue(*input);
  if (value == nullptr) return Error(StatusCode::kInternal, "input must be a sequence, got a tensor");
  if (!value->is_sequence()) return Error(StatusCode::kInvalidArgument, "the optional does not contain a sequence");
  return value;
}

Status HoldSequence(const KernelArgs& args, DType dtype, std::vector<Tensor> elements) {
  if (args.outputs.empty() || args.outputs[0] == nullptr) return {};
  DEPUTY_ASSIGN_OR_RETURN(ModelValue made, ModelValue::Sequence(dtype, std::move(elements)));
  return args.allocator->Hold(args.outputs[0], std::move(made));
}

// A position that counts from the end when negative; `count` positions are valid.
Result<size_t> PositionOf(const KernelArgs& args, size_t i, size_t length, size_t count) {
  DEPUTY_ASSIGN_OR_RETURN(const SmallDims position, ReadInts(args.input(i), "position"));
  if (position.size() != 1)
    return Error(StatusCode::kInvalidArgument, "position has {} elements, expected 1", position.size());
  const auto end = static_cast<int64_t>(length);
  if (position[0] < -end || position[0] >= static_cast<int64_t>(count))
    return Error(StatusCode::kInvalidArgument, "position {} is outside a sequence of {} elements", position[0], length);
  return static_cast<size_t>(position[0] < 0 ? position[0] + end : position[0]);
}

Status RunConstruct(const KernelArgs& args) {
  std::vector<Tensor> elements;
  for (size_t i = 0; i < args.inputs.size(); ++i) {
    DEPUTY_ASSIGN_OR_RETURN(const deputy_tensor* const input, Present(args, i));
    DEPUTY_ASSIGN_OR_RETURN(Tensor element, CopyOf(*input));
    elements.push_back(std::move(element));
  }
  const DType dtype = elements.front().dtype();
  return HoldSequence(args, dtype, std::move(elements));
}

Status RunAt(const KernelArgs& args) {
  DEPUTY_ASSIGN_OR_RETURN(const ModelValue* const sequence, SequenceIn(args));
  const std::vector<Tensor>& elements = sequence->elements();
  DEPUTY_ASSIGN_OR_RETURN(const size_t position, PositionOf(args, 1, elements.size(), elements.size()));
  return WriteTensor(args, elements[position]);
}

Status RunInsert(const KernelArgs& args) {
  DEPUTY_ASSIGN_OR_RETURN(const ModelValue* const sequence, SequenceIn(args));
  DEPUTY_ASSIGN_OR_RETURN(const deputy_tensor* const input, Present(args, 1));
  std::vector<Tensor> elements;
  elements.reserve(sequence->elements().size() + 1);
  elements = sequence->elements();
  size_t position = elements.size();
  if (args.input(2).present()) {
    DEPUTY_ASSIGN_OR_RETURN(position, PositionOf(args, 2, elements.size(), elements.size() + 1));
  }
  DEPUTY_ASSIGN_OR_RETURN(Tensor element, CopyOf(*input));
  elements.insert(elements.begin() + static_cast<ptrdiff_t>(position), std::move(element));
  return HoldSequence(args, sequence->dtype(), std::move(elements));
}

Status RunErase(const KernelArgs& args) {
  DEPUTY_ASSIGN_OR_RETURN(const ModelValue* const sequence, SequenceIn(args));
  std::vector<Tensor> elements = sequence->elements();
  if (elements.empty()) return Error(StatusCode::kInvalidArgument, "cannot erase from an empty sequence");
  size_t position = elements.size() - 1;
  if (args.input(1).present()) {
    DEPUTY_ASSIGN_OR_RETURN(position, PositionOf(args, 1, elements.size(), elements.size()));
  }
  elements.erase(elements.begin() + static_cast<ptrdiff_t>(position));
  return HoldSequence(args, sequence->dtype(), std::move(elements));
}

Status RunLength(const KernelArgs& args) {
  DEPUTY_ASSIGN_OR_RETURN(const ModelValue* const sequence, SequenceIn(args));
  const auto length = static_cast<int64_t>(sequence->elements().size());
  DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), DType::kInt64, {}));
  std::memcpy(args.output(0).data<char>(), &length, sizeof length);
  return {};
}

// The ends of the parts of a split along the axis; the last one is `extent`.
Result<std::vector<int64_t>> PartEnds(const KernelArgs& args, int64_t extent) {
  std::vector<int64_t> ends;
  const ConstView split = args.input(1);
  if (split.present() && split.rank() != 0) {
    DEPUTY_RETURN_IF_ERROR(CheckPartCount(split.element_count()));
    DEPUTY_ASSIGN_OR_RETURN(const SmallDims sizes, ReadInts(split, "split"));
    for (const int64_t size : sizes) {
      const int64_t begin = ends.empty() ? 0 : ends.back();
      if (size < 0) return Error(StatusCode::kInvalidArgument, "split has the negative value {}", size);
      if (size > extent - begin)
        return Error(StatusCode::kInvalidArgument, "the values of split {} exceed the extent {}", ShapeToString(sizes),
                     extent);
      ends.push_back(begin + size);
    }
    if ((ends.empty() ? 0 : ends.back()) != extent)
      return Error(StatusCode::kInvalidArgument, "the sum of split {} is less than the extent {}", ShapeToString(sizes),
                   extent);
    return ends;
  }
  int64_t size = 1;
  if (split.present()) {
    DEPUTY_ASSIGN_OR_RETURN(const SmallDims sizes, ReadInts(split, "split"));
    size = sizes[0];
  }
  if (size < 1) return Error(StatusCode::kInvalidArgument, "split must be at least 1, got {}", size);
  DEPUTY_RETURN_IF_ERROR(CheckPartCount(extent / size + (extent % size != 0 ? 1 : 0)));
  for (int64_t begin = 0; begin < extent; begin += std::min(size, extent - begin))
    ends.push_back(begin + std::min(size, extent - begin));
  return ends;
}

Status RunSplit(const KernelArgs& args, int64_t named_axis, bool keeps_axis) {
  const ConstView input = args.input(0);
  DEPUTY_ASSIGN_OR_RETURN(const size_t element, ElementBytes(input));
  DEPUTY_ASSIGN_OR_RETURN(const size_t axis, ResolveAxis(named_axis, input.rank()));
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<int64_t> ends, PartEnds(args, input.dim(axis)));
  const bool drops_axis = !args.input(1).present() && !keeps_axis;
  const size_t inner = static_cast<size_t>(ElementCount(input.dims().subspan(axis + 1))) * element;
  const size_t row = static_cast<size_t>(input.dim(axis)) * inner;
  constexpr size_t kUnchecked = 1024;  // parts between two checks whether the run ends
  CancellationScope* const scope = CancellationScope::Current();
  std::vector<Tensor> parts;
  size_t offset = 0;
  for (const int64_t end : ends) {
    if (scope != nullptr && parts.size() % kUnchecked == 0 && scope->Ends()) return {};
    Shape shape(input.dims().begin(), input.dims().end());
    shape[axis] = end - (parts.empty() ? 0 : ends[parts.size() - 1]);
    const size_t bytes = static_cast<size_t>(shape[axis]) * inner;
    if (drops_axis) shape.erase(shape.begin() + static_cast<ptrdiff_t>(axis));
    DEPUTY_ASSIGN_OR_RETURN(Tensor part, Tensor::Allocate(input.dtype(), std::move(shape)));
    auto* const to = static_cast<char*>(part.mutable_data());
    for (size_t at = 0; at < part.byte_size(); at += bytes)
      CopyInParts(to + at, input.data<char>() + at / bytes * row + offset, bytes);
    offset += bytes;
    parts.push_back(std::move(part));
  }
  return HoldSequence(args, input.dtype(), std::move(parts));
}

Status RunSequenceConcat(const KernelArgs& args, int64_t named_axis, bool stacks) {
  DEPUTY_ASSIGN_OR_RETURN(const ModelValue* const sequence, SequenceIn(args));
  const std::vector<Tensor>& elements = sequence->elements();
  if (elements.empty()) return Error(StatusCode::kInvalidArgument, "cannot concatenate an empty sequence");
  if (IsPacked(sequence->dtype()))
    return Error(StatusCode::kNotSupported, "packed dtype {} is not supported", NameOf(sequence->dtype()));
  const Shape& first = elements.front().shape();
  DEPUTY_ASSIGN_OR_RETURN(const size_t axis, ResolveAxis(named_axis, first.size() + (stacks ? 1 : 0)));
  Shape joined = first;
  if (stacks) joined.insert(joined.begin() + static_cast<ptrdiff_t>(axis), 1);
  const Shape alike = joined;
  joined[axis] = 0;
  for (const Tensor& element : elements) {
    Shape shape = element.shape();
    if (stacks && shape.size() == first.size()) shape.insert(shape.begin() + static_cast<ptrdiff_t>(axis), 1);
    const int64_t extent = shape.size() == alike.size() ? shape[axis] : 0;
    if (shape.size() == alike.size()) shape[axis] = alike[axis];
    if (shape != alike || __builtin_add_overflow(joined[axis], extent, &joined[axis]))
      return Error(StatusCode::kInvalidArgument, "elements of shapes {} and {} cannot be concatenated along axis {}",
                   ShapeToString(first), ShapeToString(element.shape()), named_axis);
  }
  DEPUTY_ASSIGN_OR_RETURN(deputy_tensor* const output, AllocateTensor(args, sequence->dtype(), joined));
  if (output == nullptr || output->byte_size == 0) return {};
  auto* to = static_cast<char*>(output->data);
  const auto outer = static_cast<size_t>(ElementCount(std::span<const int64_t>(joined).first(axis)));
  EndCheck check;
  for (size_t o = 0; o < outer; ++o)
    for (const Tensor& element : elements) {
      const size_t bytes = element.byte_size() / outer;
      if (check.Ends(static_cast<int64_t>(bytes / 16) + 16)) return {};
      CopyInParts(to, static_cast<const char*>(element.data()) + o * bytes, bytes);
      to += bytes;
    }
  return {};
}

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

KernelResult MakeSequenceConstruct(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  return KernelOf<OutputMemory::kOwn>(RunConstruct);
}

KernelResult MakeSequenceEmpty(const KernelSpec& spec) {
  const auto dtype = static_cast<DType>(spec.primitive().GetInt("dtype", 1));
  return KernelOf<OutputMemory::kOwn>([dtype](const KernelArgs& args) { return HoldSequence(args, dtype, {}); });
}

KernelResult MakeSequenceAt(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  return KernelOf<OutputMemory::kOwn>(RunAt);
}

KernelResult MakeSequenceInsert(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  return KernelOf<OutputMemory::kOwn>(RunInsert);
}

KernelResult MakeSequenceErase(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  return KernelOf<OutputMemory::kOwn>(RunErase);
}

KernelResult MakeSequenceLength(const KernelSpec&) { return KernelOf(RunLength); }

KernelResult MakeSequenceMap(const KernelSpec&) {
  return Error(StatusCode::kNotSupported, "a SequenceMap becomes a Loop when its model is read");
}

KernelResult MakeSplitToSequence(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  const int64_t axis = spec.primitive().GetInt("axis", 0);
  const bool keeps_axis = spec.primitive().GetInt("keepdims", 1) != 0;
  return KernelOf<OutputMemory::kOwn>(
      [axis, keeps_axis](const KernelArgs& args) { return RunSplit(args, axis, keeps_axis); });
}

KernelResult MakeConcatFromSequence(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  const int64_t axis = spec.primitive().GetInt("axis", 0);
  const bool stacks = spec.primitive().GetInt("new_axis", 0) != 0;
  return KernelOf<OutputMemory::kOwn>(
      [axis, stacks](const KernelArgs& args) { return RunSequenceConcat(args, axis, stacks); });
}

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
