#include "execute/loop_execution.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/aligned.hpp"
#include "base/cancellation.hpp"
#include "base/checked.hpp"
#include "execute/execution.hpp"
#include "tensor/held_value.hpp"

namespace deputy::host {
namespace {

std::span<const int64_t> DimsOf(const deputy_tensor& tensor) { return {tensor.dims, tensor.rank}; }

// A tensor around one of its axes, in bytes.
struct ByteView {
  size_t outer = 1, inner = 1;
};

Result<ByteView> ViewAlong(std::span<const int64_t> dims, int64_t axis, size_t element) {
  const int64_t rank = static_cast<int64_t>(dims.size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank)
    return Error(StatusCode::kInvalidArgument, "the scan axis is out of range for shape {}", ShapeToString(dims));
  ByteView view;
  view.inner = element;
  for (int64_t d = 0; d < rank; ++d)
    if (d != axis) (d < axis ? view.outer : view.inner) *= static_cast<size_t>(dims[static_cast<size_t>(d)]);
  return view;
}

Result<bool> Truth(const deputy_tensor& tensor) {
  if (tensor.dtype != DEPUTY_DTYPE_BOOL || tensor.byte_size != 1)
    return Error(StatusCode::kInvalidArgument, "the loop condition must be a bool of one element");
  return *static_cast<const uint8_t*>(tensor.data) != 0;
}

Status TooManySteps(const LoopSteps& steps, int64_t iteration) {
  return Error(StatusCode::kResourceExhausted,
               "iteration {} exceeds the limit of {} loop steps, which all Loops and Scans of a run share", iteration,
               steps.limit)
      .Advise("raise 'limits: {loop_steps: ...}' in the configuration, or none for no limit");
}

template <class T>
deputy_tensor Scalar(DType dtype, T* value) {
  deputy_tensor tensor = {};
  tensor.struct_size = sizeof tensor;
  tensor.dtype = static_cast<deputy_dtype>(dtype);
  tensor.data = value;
  tensor.byte_size = sizeof *value;
  return tensor;
}

// Calls fn(i) for `count` pieces of so many bytes each, until the run ends.
template <class F>
void ForEachPiece(size_t count, size_t bytes, F&& fn) {
  constexpr int64_t kLeastWork = 64;  // bytes that take as long as a piece without any
  const int64_t part = std::max<int64_t>(1, kLongCopy / std::max(static_cast<int64_t>(bytes), kLeastWork));
  InParts(static_cast<int64_t>(count), part, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) fn(static_cast<size_t>(i));
  });
}

}  // namespace

// Growing memory that keeps its contents.
class LoopExecution::Bytes {
 public:
  uint8_t* data() const { return data_.get(); }

  Status Grow(size_t bytes, MemoryBudget* budget) {
    if (bytes <= capacity_ && data_ != nullptr) return {};
    const size_t wanted = std::max(bytes, 2 * capacity_);
    DEPUTY_RETURN_IF_ERROR(TakeMemory(budget, wanted, "states and sequences of a loop"));
    AlignedBytes larger = AllocateWithinMachine(wanted);
    if (larger == nullptr) {
      GiveMemory(budget, wanted);
      return Error(StatusCode::kResourceExhausted, "no memory for {} bytes of a loop", wanted);
    }
    GiveMemory(budget, capacity_);
    CopyInParts(larger.get(), data_.get(), capacity_);
    data_ = std::move(larger);
    capacity_ = wanted;
    return {};
  }

 private:
  AlignedBytes data_;
  size_t capacity_ = 0;
};

// A copy of a tensor, or a shared reference to another kind of value.
class LoopExecution::Held {
 public:
  Status Copy(const deputy_tensor& from, MemoryBudget* budget) {
    if (const ModelValue* value = HeldValue(from)) {
      value_ = *value;
      tensor_ = from;
      tensor_.data = &value_;
      return {};
    }
    DEPUTY_RETURN_IF_ERROR(bytes_.Grow(static_cast<size_t>(from.byte_size), budget));
    dims_.assign(from.dims, from.dims + from.rank);
    tensor_ = from;
    tensor_.dims = dims_.data();
    tensor_.data = bytes_.data();
    CopyInParts(bytes_.data(), from.data, static_cast<size_t>(from.byte_size));
    return {};
  }

  // Element `index` of a sequence.
  Status CopyElement(const deputy_tensor& sequence, int64_t axis, int64_t index, MemoryBudget* budget) {
    const size_t size = SizeOf(static_cast<DType>(sequence.dtype));
    DEPUTY_ASSIGN_OR_RETURN(const ByteView view, ViewAlong(DimsOf(sequence), axis, size));
    const size_t at = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(sequence.rank) : axis);
    DEPUTY_RETURN_IF_ERROR(bytes_.Grow(view.outer * view.inner, budget));
    dims_.assign(sequence.dims, sequence.dims + sequence.rank);
    const size_t length = static_cast<size_t>(dims_[at]);
    dims_.erase(dims_.begin() + static_cast<ptrdiff_t>(at));
    tensor_ = sequence;
    tensor_.rank = static_cast<uint32_t>(dims_.size());
    tensor_.dims = dims_.data();
    tensor_.data = bytes_.data();
    tensor_.byte_size = view.outer * view.inner;
    const auto* from = static_cast<const uint8_t*>(sequence.data) + static_cast<size_t>(index) * view.inner;
    if (view.inner == 0) return {};
    ForEachPiece(view.outer, view.inner, [&](size_t o) {
      CopyInParts(bytes_.data() + o * view.inner, from + o * length * view.inner, view.inner);
    });
    return {};
  }

  const deputy_tensor& tensor() const { return tensor_; }

 private:
  Bytes bytes_;
  ModelValue value_;
  std::vector<int64_t> dims_;
  deputy_tensor tensor_ = {};
};

// Elements of one sequence, in the order of the iterations.
class LoopExecution::Collected {
 public:
  void Clear() { count_ = 0; }

  Status Append(const deputy_tensor& element, MemoryBudget* budget) {
    if (count_ == 0) {
      dims_.assign(element.dims, element.dims + element.rank);
      dtype_ = element.dtype;
      size_ = static_cast<size_t>(element.byte_size);
    } else if (!std::equal(dims_.begin(), dims_.end(), element.dims, element.dims + element.rank)) {
      return Error(StatusCode::kInvalidArgument, "an iteration returned shape {}, the previous one {}",
                   ShapeToString(DimsOf(element)), ShapeToString(dims_));
    }
    const std::optional<size_t> end = CheckedMultiply(size_, count_ + 1);
    if (!end) return Error(StatusCode::kResourceExhausted, "no memory for {} elements of {} bytes", count_ + 1, size_);
    DEPUTY_RETURN_IF_ERROR(bytes_.Grow(*end, budget));
    CopyInParts(bytes_.data() + count_ * size_, element.data, size_);
    ++count_;
    return {};
  }

  // Without an iteration the shape is derived from the element's type, as far as it is known.
  Status Write(deputy_tensor* target, ScanDirection direction, const ValueType& element, OutputAllocator& allocator) {
    if (count_ == 0) {
      dtype_ = static_cast<deputy_dtype>(element.dtype);
      dims_.clear();
      for (const int64_t extent : element.dims) dims_.push_back(std::max<int64_t>(extent, 0));
    }
    const int64_t rank = static_cast<int64_t>(dims_.size()) + 1;
    const int64_t axis = direction.axis < 0 ? direction.axis + rank : direction.axis;
    if (axis < 0 || axis >= rank)
      return Error(StatusCode::kInvalidArgument, "scan outputs of rank {} cannot be stacked along axis {}", rank - 1,
                   direction.axis);
    shape_ = dims_;
    shape_.insert(shape_.begin() + axis, static_cast<int64_t>(count_));
    target->dtype = dtype_;
    DEPUTY_RETURN_IF_ERROR(allocator.Allocate(target, shape_));
    if (count_ == 0 || size_ == 0) return {};
    DEPUTY_ASSIGN_OR_RETURN(const ByteView view, ViewAlong(shape_, axis, SizeOf(static_cast<DType>(dtype_))));
    auto* to = static_cast<uint8_t*>(target->data);
    ForEachPiece(count_, size_, [&](size_t i) {
      const size_t at = direction.reverse ? count_ - 1 - i : i;
      ForEachPiece(view.outer, view.inner, [&](size_t o) {
        CopyInParts(to + (o * count_ + at) * view.inner, bytes_.data() + i * size_ + o * view.inner, view.inner);
      });
    });
    return {};
  }

 private:
  Bytes bytes_;
  std::vector<int64_t> dims_, shape_;
  deputy_dtype dtype_ = DEPUTY_DTYPE_UNDEFINED;
  size_t size_ = 0, count_ = 0;
};

LoopExecution::LoopExecution(const Node& node, Execution& body, const LoopForm& form, MemoryBudget* budget)
    : node_(node),
      body_(body),
      form_(form),
      budget_(budget),
      states_(form.states),
      held_(2 * form.states),
      elements_(form.scanned_inputs),
      collected_(form.scanned_outputs) {}

LoopExecution::~LoopExecution() = default;

Result<std::unique_ptr<LoopExecution>> LoopExecution::Create(const Node& node, Execution& body, MemoryBudget* budget) {
  DEPUTY_ASSIGN_OR_RETURN(const LoopForm form, LoopFormOf(node, *body.plan().graph));
  return std::unique_ptr<LoopExecution>(new LoopExecution(node, body, form, budget));
}

Status LoopExecution::Run(std::span<const deputy_tensor* const> inputs, std::span<deputy_tensor* const> outputs,
                          OutputAllocator& allocator, const CancellationToken& token) {
  for (Collected& sequence : collected_) sequence.Clear();
  for (size_t i = 0; i < form_.states; ++i) states_[i] = *inputs[form_.before_inputs() + i];
  DEPUTY_RETURN_IF_ERROR(form_.is_loop ? RunLoop(inputs, token) : RunScan(inputs, token));
  return WriteOutputs(outputs, allocator);
}

Status LoopExecution::RunLoop(std::span<const deputy_tensor* const> inputs, const CancellationToken& token) {
  int64_t trips = std::numeric_limits<int64_t>::max();
  bool going = true;
  if (inputs[0] != nullptr) {
    if (inputs[0]->dtype != DEPUTY_DTYPE_INT64 || inputs[0]->byte_size != sizeof trips)
      return Error(StatusCode::kInvalidArgument, "the trip count M must be an int64 of one element");
    std::memcpy(&trips, inputs[0]->data, sizeof trips);
  }
  if (inputs[1] != nullptr) {
    DEPUTY_ASSIGN_OR_RETURN(going, Truth(*inputs[1]));
  }
  const Graph& body = *body_.plan().graph;
  for (int64_t iteration = 0; going && iteration < trips; ++iteration) {
    uint8_t condition = 1;
    DEPUTY_RETURN_IF_ERROR(body_.Bind(body.inputs[0], Scalar(DType::kInt64, &iteration)));
    DEPUTY_RETURN_IF_ERROR(body_.Bind(body.inputs[1], Scalar(DType::kBool, &condition)));
    DEPUTY_RETURN_IF_ERROR(RunIteration(iteration, token));
    DEPUTY_ASSIGN_OR_RETURN(going, Truth(body_.tensor(body.outputs[0])));
  }
  return {};
}

Status LoopExecution::RunScan(std::span<const deputy_tensor* const> inputs, const CancellationToken& token) {
  const Graph& body = *body_.plan().graph;
  int64_t length = -1;
  for (size_t i = 0; i < form_.scanned_inputs; ++i) {
    const deputy_tensor& sequence = *inputs[form_.states + i];
    const int64_t rank = static_cast<int64_t>(sequence.rank), named = InputDirection(node_, i).axis;
    const int64_t axis = named < 0 ? named + rank : named;
    if (axis < 0 || axis >= rank)
      return Error(StatusCode::kInvalidArgument, "scan input {} has rank {}, but scan axis {} is out of range", i, rank,
                   named);
    if (length >= 0 && sequence.dims[axis] != length)
      return Error(StatusCode::kInvalidArgument, "scan input {} must have {} elements along the scan axis",
                   ShapeToString(DimsOf(sequence)), length);
    length = sequence.dims[axis];
  }
  for (int64_t iteration = 0; iteration < length; ++iteration) {
    for (size_t i = 0; i < form_.scanned_inputs; ++i) {
      const ScanDirection direction = InputDirection(node_, i);
      DEPUTY_RETURN_IF_ERROR(elements_[i].CopyElement(*inputs[form_.states + i], direction.axis,
                                                      direction.reverse ? length - 1 - iteration : iteration, budget_));
      DEPUTY_RETURN_IF_ERROR(body_.Bind(body.inputs[form_.states + i], elements_[i].tensor()));
    }
    DEPUTY_RETURN_IF_ERROR(RunIteration(iteration, token));
  }
  return {};
}

// The body writes its results to its own memory, which the next iteration overwrites: all states are copied out before
// the first of them is read again.
Status LoopExecution::RunIteration(int64_t iteration, const CancellationToken& token) {
  if (LoopSteps* const steps = token.loop_steps; steps != nullptr && steps->taken++ >= steps->limit)
    return TooManySteps(*steps, iteration);
  DEPUTY_RETURN_IF_ERROR(token.Check());  // a body may have no step
  const Graph& body = *body_.plan().graph;
  for (size_t i = 0; i < form_.states; ++i)
    DEPUTY_RETURN_IF_ERROR(body_.Bind(body.inputs[form_.before_inputs() + i], states_[i]));
  DEPUTY_RETURN_IF_ERROR(body_.Run(token));
  for (size_t i = 0; i < form_.states; ++i) {
    Held& next = held_[2 * i + turn_];
    DEPUTY_RETURN_IF_ERROR(next.Copy(body_.tensor(body.outputs[form_.before_outputs() + i]), budget_));
    states_[i] = next.tensor();
  }
  turn_ = 1 - turn_;
  for (size_t i = 0; i < form_.scanned_outputs; ++i)
    DEPUTY_RETURN_IF_ERROR(
        collected_[i].Append(body_.tensor(body.outputs[form_.before_outputs() + form_.states + i]), budget_));
  return {};
}

Status LoopExecution::WriteOutputs(std::span<deputy_tensor* const> outputs, OutputAllocator& allocator) {
  const Graph& body = *body_.plan().graph;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == nullptr) continue;
    if (i >= form_.states) {
      const size_t scan = i - form_.states;
      const ValueType& element = body.values[body.outputs[form_.before_outputs() + i]].type;
      DEPUTY_RETURN_IF_ERROR(collected_[scan].Write(outputs[i], OutputDirection(node_, scan), element, allocator));
      continue;
    }
    DEPUTY_RETURN_IF_ERROR(StoreValue(outputs[i], states_[i], allocator));
  }
  return {};
}

}  // namespace deputy::host
