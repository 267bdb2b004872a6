#include "execute/execution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/aligned.hpp"
#include "base/cancellation.hpp"
#include "base/printable.hpp"
#include "execute/bound_step.hpp"
#include "execute/device_values.hpp"
#include "execute/loop_execution.hpp"
#include "execute/overlapped_run.hpp"
#include "graph/graph.hpp"
#include "plan/subgraph_shapes.hpp"
#include "tensor/held_value.hpp"

namespace deputy::host {

Result<AlignedBytes> TensorMemory(size_t bytes) {
  AlignedBytes memory = AllocateWithinMachine(bytes);
  if (memory == nullptr) return Error(StatusCode::kResourceExhausted, "no memory for {} bytes of tensors", bytes);
  return memory;
}

namespace {

// "tensors, of which 'x' [4,8] has 128 bytes", and the node that writes the largest value; empty where none does.
struct ArenaText {
  std::string text, node;
};

ArenaText DescribeArena(const Plan& plan) {
  ValueId largest = kNone;
  for (ValueId id = 0; id < plan.slots.size(); ++id)
    if (plan.slots[id].storage == StorageClass::kArena &&
        (largest == kNone || plan.slots[id].bytes > plan.slots[largest].bytes))
      largest = id;
  ArenaText found{"tensors", {}};
  if (largest == kNone) return found;
  const Slot& slot = plan.slots[largest];
  found.text += fmt::format(", of which '{}' {} has {} bytes", Printable(plan.graph->values[largest].name),
                            ShapeToString(slot.dims), slot.bytes);
  for (NodeId id = 0; id < plan.graph->nodes.size() && found.node.empty(); ++id)
    for (const ValueId output : plan.graph->nodes[id].outputs)
      if (output == largest) found.node = Describe(*plan.graph, id);
  return found;
}

bool ReadsSharedMemory(const Plan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [](const Step& step) {
    return step.executable != nullptr && step.executable->reads_shared_memory();
  });
}

// The arena of a plan, after its bytes and those of its weights were taken from the budget. On failure the message
// names the largest value.
Result<std::shared_ptr<uint8_t>> AllocateArena(const Plan& plan, const ExecutionMemory& memory) {
  DEPUTY_RETURN_IF_ERROR(TakeMemory(memory.budget.get(), plan.weight_bytes, "packed weights"));
  Status status;
  if (memory.budget == nullptr || memory.budget->Take(plan.arena_bytes)) {
    const bool is_shared = memory.arenas != nullptr && plan.arena_bytes != 0 && ReadsSharedMemory(plan);
    std::shared_ptr<uint8_t> arena =
        is_shared ? memory.arenas->Allocate(plan.arena_bytes) : AllocateWithinMachine(plan.arena_bytes);
    if (arena != nullptr) return arena;
    status = Error(StatusCode::kResourceExhausted, "no memory for {} bytes of {}", plan.arena_bytes,
                   DescribeArena(plan).text);
  } else {
    status = memory.budget->Exceeded(plan.arena_bytes, DescribeArena(plan).text);
  }
  const std::string node = DescribeArena(plan).node;
  return node.empty() ? status : std::move(status).At(node);
}

// A context of an executable that was compiled for other shapes.
Status Resize(ExecutionContext& context, const Plan& plan, const Step& step) {
  const SubgraphShapes shapes(*plan.graph, step.inputs, step.outputs);
  DEPUTY_ASSIGN_OR_RETURN(const ResizeOutcome outcome, context.Resize(shapes.inputs, shapes.outputs));
  if (outcome == ResizeOutcome::kDone) return {};
  return Error(StatusCode::kInternal,
               "the delegate accepted these shapes during planning, but now requires compilation");
}

// What a region or a custom operator makes may be of another type than the model says. Memory of known extents is as
// large as the planned type needs, and so is what a delegate reads.
Status CheckPlannedDType(const Plan& plan, ValueId id, deputy_dtype dtype) {
  const DType planned = plan.slots[id].dtype, made = static_cast<DType>(dtype);
  if (made == planned || planned == DType::kUndefined) return {};
  return Error(StatusCode::kModel, "value '{}' has dtype {}, but {} in the model", plan.graph->values[id].name,
               NameOf(made), NameOf(planned));
}

}  // namespace

// Memory of values whose extents are known only at run time: one buffer per value, kept at its largest size so far.
class Execution::Allocator final : public OutputAllocator {
 public:
  Allocator(const Plan& plan, std::vector<deputy_tensor>& tensors, MemoryBudget* budget)
      : plan_(plan), tensors_(tensors), budget_(budget) {
    const auto any = [&](StorageClass storage) {
      return std::any_of(plan.slots.begin(), plan.slots.end(),
                         [storage](const Slot& slot) { return slot.storage == storage; });
    };
    const bool holds = any(StorageClass::kHeld);
    if (holds) held_.resize(plan.slots.size());
    if (holds || any(StorageClass::kDynamic)) buffers_.resize(plan.slots.size());
  }

  Status Allocate(deputy_tensor* tensor, std::span<const int64_t> dims) override {
    const size_t id = static_cast<size_t>(tensor - tensors_.data());
    if (id >= tensors_.size())
      return Error(StatusCode::kInternal, "an allocation was requested for a tensor of another execution");
    DEPUTY_RETURN_IF_ERROR(CheckPlannedDType(plan_, static_cast<ValueId>(id), tensor->dtype));
    if (plan_.slots[id].storage == StorageClass::kHeld)
      return Error(StatusCode::kInternal, "value '{}' is not a tensor in the plan", plan_.graph->values[id].name);
    if (plan_.slots[id].storage != StorageClass::kDynamic) {
      if (std::equal(dims.begin(), dims.end(), tensor->dims, tensor->dims + tensor->rank)) return {};
      return Error(StatusCode::kInternal, "value '{}' has shape {}, but {} in the plan", plan_.graph->values[id].name,
                   ShapeToString(dims), ShapeToString({tensor->dims, tensor->rank}));
    }
    if (dims.size() > kMostAxes)
      return Error(StatusCode::kInvalidArgument, "an output has rank {}, more than {}", dims.size(), kMostAxes);
    DEPUTY_ASSIGN_OR_RETURN(const size_t bytes, ByteSize(static_cast<DType>(tensor->dtype), dims));
    Buffer& buffer = buffers_[id];
    if (buffer.data == nullptr || bytes > buffer.capacity) {
      GiveMemory(budget_, buffer.capacity);
      buffer.data = nullptr;  // old and new need not live at once
      buffer.capacity = 0;
      if (budget_ != nullptr && !budget_->Take(bytes))
        return budget_->Exceeded(
            bytes, fmt::format("value '{}' {}", Printable(plan_.graph->values[id].name), ShapeToString(dims)));
      buffer.capacity = bytes;  // taken, also where there is no memory
      DEPUTY_ASSIGN_OR_RETURN(buffer.data, TensorMemory(bytes));
    }
    buffer.dims.assign(dims.begin(), dims.end());
    tensor->rank = static_cast<uint32_t>(dims.size());
    tensor->dims = buffer.dims.data();
    tensor->data = buffer.data.get();
    tensor->byte_size = bytes;
    return {};
  }

  Status Hold(deputy_tensor* tensor, ModelValue value) override {
    const size_t id = static_cast<size_t>(tensor - tensors_.data());
    if (id >= tensors_.size() || plan_.slots[id].storage != StorageClass::kHeld)
      return Error(StatusCode::kInternal, "a sequence or an optional was returned for a tensor");
    if (budget_ != nullptr) {
      GiveMemory(budget_, buffers_[id].capacity);
      buffers_[id].capacity = 0;
      const size_t bytes = BytesOf(value);
      if (!budget_->Take(bytes))
        return budget_->Exceeded(bytes, fmt::format("value '{}'", Printable(plan_.graph->values[id].name)));
      buffers_[id].capacity = bytes;
    }
    held_[id] = std::move(value);
    return {};
  }
  ModelValue* held(ValueId id) { return &held_[id]; }

 private:
  struct Buffer {
    AlignedBytes data;
    size_t capacity = 0;  // of a value that is not a tensor: its bytes
    std::vector<int64_t> dims;
  };

  // Elements that several sequences share count in each of them.
  static size_t BytesOf(const ModelValue& value) {
    size_t bytes = value.is_tensor() ? value.tensor().byte_size() : 0;
    if (value.is_sequence())
      for (const Tensor& element : value.elements()) bytes += element.byte_size();
    return bytes;
  }

  const Plan& plan_;
  std::vector<deputy_tensor>& tensors_;
  MemoryBudget* const budget_;    // null: there is no limit
  std::vector<Buffer> buffers_;   // per value; empty where all have planned memory
  std::vector<ModelValue> held_;  // per value; empty where the plan has only tensors
};

Status StoreValue(deputy_tensor* target, const deputy_tensor& source, OutputAllocator& allocator) {
  if (IsHeld(*target) || IsHeld(source)) {
    DEPUTY_ASSIGN_OR_RETURN(ModelValue value, ValueOf(source));
    return allocator.Hold(target, std::move(value));
  }
  target->dtype = source.dtype;
  DEPUTY_RETURN_IF_ERROR(allocator.Allocate(target, {source.dims, source.rank}));
  CopyInParts(target->data, source.data, source.byte_size);
  return {};
}

Execution::Execution(std::shared_ptr<const Plan> plan, StepFallback* fallback, ExecutionMemory memory)
    : plan_(std::move(plan)),
      fallback_(fallback),
      memory_(std::move(memory)),
      tensors_(plan_->slots.size()),
      scratch_(memory_.budget.get()) {}

Execution::~Execution() = default;

Result<std::unique_ptr<Execution>> Execution::Create(std::shared_ptr<const Plan> plan, StepFallback* fallback,
                                                     ExecutionMemory memory) {
  std::unique_ptr<Execution> execution(new Execution(std::move(plan), fallback, std::move(memory)));
  DEPUTY_RETURN_IF_ERROR(execution->Prepare());
  return execution;
}

Status Execution::Prepare() {
  DEPUTY_ASSIGN_OR_RETURN(arena_, AllocateArena(*plan_, memory_));
  auto allocator = std::make_unique<Allocator>(*plan_, tensors_, memory_.budget.get());
  for (ValueId id = 0; id < tensors_.size(); ++id) {
    const Slot& slot = plan_->slots[id];
    deputy_tensor& tensor = tensors_[id];
    tensor = {};
    tensor.struct_size = sizeof tensor;
    tensor.dtype = static_cast<deputy_dtype>(slot.dtype);
    tensor.rank = static_cast<uint32_t>(slot.dims.size());
    tensor.dims = slot.dims.data();
    tensor.byte_size = slot.bytes;
    if (slot.storage == StorageClass::kArena) tensor.data = arena_.get() + slot.offset;
    if (slot.storage == StorageClass::kConstant)
      tensor.data = const_cast<void*>(plan_->graph->values[id].constant.data());
    if (!plan_->graph->values[id].type.is_tensor()) {
      tensor.memory = kHeldMemory;
      if (slot.storage == StorageClass::kHeld) tensor.data = allocator->held(id);
    } else if (slot.storage == StorageClass::kBound) {
      Result<size_t> bytes = ByteSize(slot.dtype, slot.dims);
      if (bytes.ok()) tensor.byte_size = *bytes;
    }
  }
  allocator_ = std::move(allocator);
  BindTensors();
  const deputy_tensor* const* inputs = step_inputs_.data();
  deputy_tensor* const* outputs = step_outputs_.data();
  steps_.reserve(plan_->steps.size());
  for (const Step& step : plan_->steps) {
    if (!step.runs()) continue;
    BoundStep bound;
    bound.step = &step;
    bound.index = static_cast<size_t>(&step - plan_->steps.data());
    bound.inputs = {inputs, step.inputs.size()};
    bound.outputs = {outputs, step.outputs.size()};
    inputs += step.inputs.size();
    outputs += step.outputs.size();
    if (fallback_ != nullptr) bound.health = step.health.get();
    if (step.executable != nullptr) {
      bound.broken = CreateContext(bound);
      if (!bound.broken.ok() && (bound.health == nullptr || !bound.health->delegate().handling().falls_back))
        return bound.broken;
    }
    for (const Branch& branch : step.branches) {
      DEPUTY_ASSIGN_OR_RETURN(std::unique_ptr<Execution> nested, Execution::Create(branch.plan, fallback_, memory_));
      bound.branches.push_back(std::move(nested));
    }
    const Node& node = plan_->graph->nodes[plan_->placement.partitions[step.partition].spec.nodes.front()];
    if (node.kind() == OpKind::kLoop || node.kind() == OpKind::kScan) {
      DEPUTY_ASSIGN_OR_RETURN(bound.loop, LoopExecution::Create(node, *bound.branches[0], memory_.budget.get()));
    }
    steps_.push_back(std::move(bound));
  }
  RenewDevices();
  if (plan_->overlaps) overlapped_ = OverlappedRun::Make(*this);
  return {};
}

void Execution::BindTensors() {
  size_t inputs = 0, outputs = 0;
  for (const Step& step : plan_->steps) {
    if (!step.runs()) continue;
    inputs += step.inputs.size();
    outputs += step.outputs.size();
  }
  step_inputs_.reserve(inputs);
  step_outputs_.reserve(outputs);
  for (const Step& step : plan_->steps) {
    if (!step.runs()) continue;
    for (const ValueId id : step.inputs) step_inputs_.push_back(id == kNone ? nullptr : &tensors_[id]);
    for (const ValueId id : step.outputs) step_outputs_.push_back(id == kNone ? nullptr : &tensors_[id]);
  }
}

Status Execution::CreateContext(BoundStep& step) {
  DEPUTY_ASSIGN_OR_RETURN(step.context, step.step->executable->CreateContext());
  has_new_contexts_ = has_new_contexts_ || step.context->device_memory() != nullptr;
  if (profiling_) (void)step.context->SetProfiling(true);
  if (step.step->origin != ExecutableOrigin::kResized) return {};
  Status status = Resize(*step.context, *plan_, *step.step);
  if (!status.ok()) step.context = nullptr;
  return status;
}

void Execution::Bind(ValueId value, void* data) {
  if (tensors_[value].data == data) return;  // and so is that of its aliases
  ValueId id = value;
  do {
    tensors_[id].data = data;
    id = plan_->slots[id].next_alias;
  } while (id != value);
}

Status Execution::Bind(ValueId value, const deputy_tensor& tensor) {
  DEPUTY_RETURN_IF_ERROR(CheckPlannedDType(*plan_, value, tensor.dtype));
  const ValueType& planned = plan_->graph->values[value].type;
  if (planned.is_static() &&
      !std::equal(planned.dims.begin(), planned.dims.end(), tensor.dims, tensor.dims + tensor.rank))
    return Error(StatusCode::kModel, "value '{}' has shape {}, but {} in the model", plan_->graph->values[value].name,
                 ShapeToString({tensor.dims, tensor.rank}), ShapeToString(planned.dims));
  void* const before = tensors_[value].data;
  tensors_[value] = tensor;
  tensors_[value].data = before;
  Bind(value, tensor.data);
  return {};
}

std::optional<DevicePlace> Execution::PlaceOf(ValueId value, bool is_input) {
  if (has_new_contexts_) RenewDevices();
  return devices_ == nullptr ? std::nullopt : devices_->PlaceOf(value, is_input);
}

bool Execution::BindBuffer(ValueId value, bool is_input, const std::shared_ptr<DeviceBuffer>& buffer) {
  if (has_new_contexts_) RenewDevices();
  return devices_ != nullptr && devices_->Bind(value, is_input, buffer);
}

void Execution::SetProfiling(bool on) {
  profiling_ = on;
  if (devices_ != nullptr) devices_->ForgetCounts();
  // A delegate without events has none; the time of its steps is still taken.
  for (BoundStep& step : steps_)
    if (step.context != nullptr) (void)step.context->SetProfiling(on);
  for (BoundStep& step : steps_) {
    for (const std::unique_ptr<Execution>& branch : step.branches) branch->SetProfiling(on);
    if (step.alternative != nullptr) step.alternative->SetProfiling(on);
  }
}

CopyCounts Execution::TakeCopies(size_t index) {
  CopyCounts copies = devices_ == nullptr ? CopyCounts() : devices_->TakeCopies(index);
  const auto add = [&](Execution& other) {
    for (const BoundStep& step : other.steps_) {
      const CopyCounts more = other.TakeCopies(step.index);
      copies.count += more.count;
      copies.bytes += more.bytes;
    }
  };
  const auto step = std::lower_bound(steps_.begin(), steps_.end(), index,
                                     [](const BoundStep& one, size_t wanted) { return one.index < wanted; });
  if (step == steps_.end() || step->index != index) return copies;
  for (const std::unique_ptr<Execution>& branch : step->branches) add(*branch);
  if (step->alternative != nullptr) add(*step->alternative);
  return copies;
}

void Execution::SetHints(const RunHints& hints) {
  hints_ = hints;
  for (BoundStep& step : steps_) {
    for (const std::unique_ptr<Execution>& branch : step.branches) branch->SetHints(hints);
    if (step.alternative != nullptr) step.alternative->SetHints(hints);
  }
}

void Execution::TakeEvents(std::vector<PlanEvent>& into) {
  for (BoundStep& step : steps_) {
    std::vector<ProfileEvent> events;
    if (step.context != nullptr) step.context->TakeEvents(events);
    for (ProfileEvent& event : events) into.push_back({plan_.get(), step.index, step.index, std::move(event)});
    const size_t first = into.size();
    for (const std::unique_ptr<Execution>& branch : step.branches) branch->TakeEvents(into);
    if (step.alternative != nullptr) step.alternative->TakeEvents(into);
    for (size_t i = first; i < into.size(); ++i) into[i].root_step = step.index;
  }
}

}  // namespace deputy::host
