#include "execute/device_values.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "base/printable.hpp"
#include "graph/graph.hpp"

namespace deputy::host {
namespace {

// Whether the bytes of the value have a place of their own and known extents.
bool MayLeaveHost(const Plan& plan, ValueId id) {
  const Slot& slot = plan.slots[id];
  const ValueType& type = plan.graph->values[id].type;
  const bool has_place = slot.storage == StorageClass::kArena || slot.storage == StorageClass::kBound ||
                         slot.storage == StorageClass::kConstant;
  return has_place && type.is_tensor() && type.is_static();
}

}  // namespace

void Execution::RenewDevices() {
  has_new_contexts_ = false;
  devices_ = DeviceValues::Make(*this);
}

std::unique_ptr<Execution::DeviceValues> Execution::DeviceValues::Make(Execution& execution) {
  std::unique_ptr<DeviceValues> made;
  for (const BoundStep& step : execution.steps_) {
    if (step.context == nullptr) continue;
    const std::shared_ptr<DeviceMemory> memory = step.context->device_memory();
    if (memory == nullptr || memory->has_ended()) continue;
    if (made == nullptr) made.reset(new DeviceValues(execution));
    made->steps_[step.index].domain = &made->DomainOf(memory);
    for (size_t i = 0; i < step.inputs.size() + step.outputs.size(); ++i) made->Want(step, memory, i);
  }
  if (made == nullptr || made->copies_.empty()) return nullptr;
  made->AssignPlaces();
  for (DeviceCopy& copy : made->copies_)
    if (copy.is_shared() && made->Allocate(copy)) made->Place(copy, true);
  made->FindHostReaders();
  return made;
}

Execution::DeviceValues::DeviceValues(Execution& execution)
    : execution_(execution),
      steps_(execution.plan_->steps.size()),
      written_(execution.tensors_.size(), nullptr),
      on_host_(execution.tensors_.size(), 1) {
  for (const BoundStep& step : execution.steps_) {
    steps_[step.index].inputs.assign(step.inputs.begin(), step.inputs.end());
    steps_[step.index].outputs.assign(step.outputs.begin(), step.outputs.end());
  }
}

void Execution::DeviceValues::Want(const BoundStep& step, const std::shared_ptr<DeviceMemory>& memory, size_t index) {
  const bool is_input = index < step.inputs.size();
  const size_t position = is_input ? index : index - step.inputs.size();
  const ValueId value = is_input ? step.step->inputs[position] : step.step->outputs[position];
  if (value == kNone || !MayLeaveHost(*execution_.plan_, value)) return;
  const deputy_tensor& tensor = execution_.tensors_[value];
  if (tensor.byte_size == 0) return;
  const MemoryWish wish = step.context->WishOf(index, tensor);
  if (!wish.on_device) return;
  Domain& domain = DomainOf(memory);
  auto copy = std::find_if(copies_.begin(), copies_.end(),
                           [&](const DeviceCopy& one) { return one.value == value && one.domain == &domain; });
  if (copy == copies_.end()) {
    DeviceCopy& added = copies_.emplace_back();
    added.value = value;
    added.domain = &domain;
    added.shown = tensor;
    added.shown.memory = DEPUTY_MEMORY_DEVICE;
    added.shown.data = nullptr;
    added.shown.domain = memory->domain();
    added.is_constant = execution_.plan_->slots[value].storage == StorageClass::kConstant;
    copy = copies_.end() - 1;
  }
  copy->byte_size = std::max(copy->byte_size, wish.byte_size);
  copy->alignment = std::max(copy->alignment, wish.alignment);
  copy->uses.push_back({step.index, position, is_input});
}

Execution::DeviceValues::Domain& Execution::DeviceValues::DomainOf(const std::shared_ptr<DeviceMemory>& memory) {
  for (Domain& domain : domains_)
    if (domain.memory->domain() == memory->domain()) return domain;
  Domain& domain = domains_.emplace_back();
  domain.memory = memory;
  domain.seen = memory->losses();
  return domain;
}

// The largest first, each in the first place whose values have other steps: as the planner of the arena does.
void Execution::DeviceValues::AssignPlaces() {
  if (execution_.plan_->overlaps) return;
  std::vector<DeviceCopy*> order;
  for (DeviceCopy& copy : copies_)
    if (copy.is_shared() && !copy.is_constant) order.push_back(&copy);
  std::stable_sort(order.begin(), order.end(),
                   [](const DeviceCopy* a, const DeviceCopy* b) { return a->byte_size > b->byte_size; });
  for (DeviceCopy* const copy : order) {
    const auto is_free = [&](const SharedPlace& place) {
      return place.domain == copy->domain &&
             std::none_of(place.copies.begin(), place.copies.end(), [&](const DeviceCopy* other) {
               return other->first_step() <= copy->last_step() && copy->first_step() <= other->last_step();
             });
    };
    auto place = std::find_if(places_.begin(), places_.end(), is_free);
    if (place == places_.end()) place = places_.insert(place, {copy->domain, copy->byte_size, 1, {}, {}});
    place->alignment = std::max(place->alignment, copy->alignment);
    place->copies.push_back(copy);
    copy->place = static_cast<size_t>(place - places_.begin());
  }
}

void Execution::DeviceValues::Place(DeviceCopy& copy, bool on_device) {
  copy.is_placed = on_device;
  for (const Use& use : copy.uses) {
    DeviceStep& step = steps_[use.step];
    std::vector<DeviceCopy*>& touched = use.is_input ? step.reads : step.writes;
    std::erase(touched, &copy);
    if (on_device) touched.push_back(&copy);
    deputy_tensor& host = execution_.tensors_[copy.value];
    if (use.is_input)
      step.inputs[use.position] = on_device ? &copy.shown : &host;
    else
      step.outputs[use.position] = on_device ? &copy.shown : &host;
    if (!use.is_input) written_[copy.value] = on_device ? &copy : nullptr;
  }
}

bool Execution::DeviceValues::Bind(ValueId value, bool is_input, const std::shared_ptr<DeviceBuffer>& buffer) {
  bool is_bound = false, has_changed = false;
  for (DeviceCopy& copy : copies_) {
    if (copy.value != value || copy.is_read_only() != is_input) continue;
    const bool fits = buffer != nullptr && buffer->is_valid() &&
                      buffer->memory().domain() == copy.domain->memory->domain() && buffer->size() >= copy.byte_size &&
                      buffer->alignment() >= copy.alignment;
    is_bound = is_bound || fits;
    if (fits ? copy.bound == buffer : copy.bound == nullptr) continue;
    has_changed = true;
    if (written_[value] == &copy) written_[value] = nullptr;
    copy.bound = fits ? buffer : nullptr;
    copy.buffer = nullptr;
    copy.current = false;
    if (fits) copy.shown.handle = buffer->handle();
    Place(copy, fits || (copy.is_shared() && Allocate(copy)));
    if (fits && is_input) written_[value] = &copy;
  }
  if (has_changed) FindHostReaders();
  return is_bound;
}

std::optional<DevicePlace> Execution::DeviceValues::PlaceOf(ValueId value, bool is_input) const {
  for (const DeviceCopy& copy : copies_)
    if (copy.value == value && copy.is_read_only() == is_input)
      return DevicePlace{copy.domain->memory, copy.byte_size, copy.alignment};
  return std::nullopt;
}

bool Execution::DeviceValues::Allocate(DeviceCopy& copy) {
  SharedPlace* const place = copy.place == SIZE_MAX ? nullptr : &places_[copy.place];
  if (place != nullptr) copy.buffer = place->buffer.lock();
  if (copy.buffer == nullptr || !copy.buffer->is_valid()) {
    copy.buffer = nullptr;
    Result<DeviceBuffer> made =
        DeviceBuffer::Make(copy.domain->memory, place == nullptr ? copy.byte_size : place->byte_size,
                           place == nullptr ? copy.alignment : place->alignment);
    if (!made.ok()) {
      Log(LogLevel::kInfo, "value '{}' stays in host memory: {}",
          Printable(execution_.plan_->graph->values[copy.value].name), made.status().ToString());
      return false;
    }
    copy.buffer = std::make_shared<DeviceBuffer>(std::move(made).value());
    if (place != nullptr) place->buffer = copy.buffer;
  }
  copy.shown.handle = copy.buffer->handle();
  copy.current = false;
  return true;
}

void Execution::DeviceValues::FindHostReaders() {
  const Plan& plan = *execution_.plan_;
  const auto read_on_host = [&](ValueId value) {
    if (value != kNone && written_[value] != nullptr) written_[value]->for_host = true;
  };
  for (DeviceCopy& copy : copies_) copy.for_host = false;
  std::vector<ValueId> outputs = plan.graph->outputs;
  std::sort(outputs.begin(), outputs.end());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const bool is_single =
        (i == 0 || outputs[i - 1] != outputs[i]) && (i + 1 == outputs.size() || outputs[i + 1] != outputs[i]);
    const DeviceCopy* const written = written_[outputs[i]];
    if (written != nullptr && (written->bound == nullptr || !is_single || written->is_read_only()))
      read_on_host(outputs[i]);
  }
  for (ValueId value = 0; value < written_.size(); ++value)
    if (plan.slots[value].next_alias != value && plan.slots[value].next_alias != kNone) read_on_host(value);
  for (const BoundStep& step : execution_.steps_) {
    const DeviceStep& bound = steps_[step.index];
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const ValueId value = step.step->inputs[i];
      if (value == kNone || written_[value] == nullptr) continue;
      if (bound.inputs[i] != &written_[value]->shown) read_on_host(value);
    }
    for (const Branch& branch : step.step->branches)
      for (const ValueId capture : branch.captures) read_on_host(capture);
  }
}

void Execution::DeviceValues::ForgetCopies() {
  std::fill(on_host_.begin(), on_host_.end(), uint8_t{1});
  for (DeviceCopy& copy : copies_) {
    copy.current = copy.current && copy.is_constant;
    if (copy.bound == nullptr || !copy.is_read_only()) continue;
    copy.current = !IsLost(*copy.domain);
    on_host_[copy.value] = 0;
  }
}

Status Execution::DeviceValues::ReadyInputs() {
  for (DeviceCopy& copy : copies_)
    if (copy.bound != nullptr && copy.is_read_only() && copy.for_host)
      DEPUTY_RETURN_IF_ERROR(ToHost(copy.value, steps_[copy.uses.front().step]));
  return {};
}

Status Execution::DeviceValues::ReadyOutputs() {
  for (DeviceCopy& copy : copies_) {
    if (copy.bound == nullptr || copy.is_read_only() || copy.current) continue;
    // Others than its delegate have written it.
    const deputy_tensor& from = execution_.tensors_[copy.value];
    if (copy.bound->host() == from.data) continue;
    if (IsLost(*copy.domain)) return WhyOf(*copy.domain);
    DEPUTY_RETURN_IF_ERROR(copy.domain->memory->CopyIn(from.data, copy.shown.handle, from.byte_size));
    steps_[copy.uses.front().step].Count(from);
  }
  return {};
}

void Execution::DeviceValues::Begin() {
  replays_ = false;
  for (Domain& domain : domains_)
    if (IsLost(domain)) Restore(domain);
  ForgetCopies();
}

// The device may work again: its buffers are new ones. Bound ones are lost until others are bound.
void Execution::DeviceValues::Restore(Domain& domain) {
  const uint64_t seen = domain.memory->losses();
  bool whole = true;
  for (DeviceCopy& copy : copies_)
    if (copy.domain == &domain && copy.is_placed) whole = Replace(copy) && whole;
  FindHostReaders();
  if (whole && domain.memory->has_ended())
    for (DeviceStep& step : steps_)
      if (step.domain == &domain) step.domain = nullptr;
  const MutexLock lock(domain.mutex);
  domain.seen = seen;
  domain.answered = false;
  domain.step = SIZE_MAX;
  domain.lost = !whole;
}

bool Execution::DeviceValues::Replace(DeviceCopy& copy) {
  copy.buffer = nullptr;
  if (copy.bound != nullptr) return copy.bound->is_valid();
  if (!copy.domain->memory->has_ended()) return Allocate(copy);
  Place(copy, false);
  return true;
}

Status Execution::DeviceValues::Upload(BoundStep& step) {
  DeviceStep& bound = steps_[step.index];
  if (bound.domain != nullptr && IsLost(*bound.domain)) return WhyOf(*bound.domain);
  for (DeviceCopy* copy : bound.reads) {
    if (copy->current) continue;
    DEPUTY_RETURN_IF_ERROR(ToHost(copy->value, bound));
    const deputy_tensor& from = execution_.tensors_[copy->value];
    DEPUTY_RETURN_IF_ERROR(copy->domain->memory->CopyIn(from.data, copy->shown.handle, from.byte_size));
    copy->current = true;
    bound.Count(from);
  }
  return {};
}

Status Execution::DeviceValues::Finish(BoundStep& step) {
  DeviceStep& bound = steps_[step.index];
  for (DeviceCopy* copy : bound.writes) {
    copy->current = true;
    on_host_[copy->value] = 0;
    if (copy->for_host) DEPUTY_RETURN_IF_ERROR(ToHost(copy->value, bound));
  }
  return {};
}

Status Execution::DeviceValues::ToHost(ValueId value, DeviceStep& step) {
  if (on_host_[value] != 0) return {};
  const DeviceCopy& copy = *written_[value];
  const deputy_tensor& to = execution_.tensors_[value];
  if (copy.bound != nullptr && copy.bound->host() == to.data) {
    on_host_[value] = 1;
    return {};
  }
  if (IsLost(*copy.domain)) return WhyOf(*copy.domain);
  DEPUTY_RETURN_IF_ERROR(copy.domain->memory->CopyOut(copy.shown.handle, to.data, to.byte_size));
  on_host_[value] = 1;
  step.Count(to);
  return {};
}

Status Execution::DeviceValues::InputsToHost(const BoundStep& step) {
  for (const ValueId value : step.step->inputs) {
    if (value == kNone) continue;
    Status status = ToHost(value, steps_[step.index]);
    if (status.ok()) continue;
    if (status.code() == StatusCode::kDeviceLost) {
      Set(*written_[value]->domain, step.index, status);
      replays_ = true;
    }
    return status;
  }
  return {};
}

Status Execution::DeviceValues::OutputsToHost(const BoundStep& step) {
  for (const ValueId value : step.step->outputs)
    if (value != kNone) DEPUTY_RETURN_IF_ERROR(ToHost(value, steps_[step.index]));
  return {};
}

void Execution::DeviceValues::WroteOnHost(const BoundStep& step) {
  for (DeviceCopy* copy : steps_[step.index].writes) {
    copy->current = false;
    on_host_[copy->value] = 1;
  }
}

bool Execution::DeviceValues::IsLost(Domain& domain) {
  if (!domain.lost && domain.memory->losses() != domain.seen)
    Set(domain, SIZE_MAX, Status(StatusCode::kDeviceLost, "the device was lost, with the values that it had"));
  return domain.lost;
}

void Execution::DeviceValues::Set(Domain& domain, size_t step, const Status& why) {
  const MutexLock lock(domain.mutex);
  if (domain.lost) return;
  domain.memory->CountLoss(domain.seen);
  domain.why = why;
  domain.step = step;
  domain.lost = true;
}

Status Execution::DeviceValues::WhyOf(Domain& domain) {
  const MutexLock lock(domain.mutex);
  return domain.why;
}

void Execution::DeviceValues::Lose(const BoundStep& step, const Status& why) {
  if (Domain* const domain = steps_[step.index].domain; domain != nullptr) Set(*domain, step.index, why);
}

bool Execution::DeviceValues::TakeReplay() {
  if (!std::exchange(replays_, false)) return false;
  bool replays = false;
  for (Domain& domain : domains_) {
    if (!domain.lost || domain.answered) continue;
    domain.answered = replays = true;
    Log(LogLevel::kWarning, "values were lost with a device: the run begins again from its inputs without it ({})",
        WhyOf(domain).ToString());
  }
  ForgetCopies();
  return replays;
}

Status Execution::DeviceValues::TakeLoss(const BoundStep& step) {
  Domain* const domain = steps_[step.index].domain;
  if (domain == nullptr || !domain->lost) return {};
  const MutexLock lock(domain->mutex);
  if (domain->step != step.index) return {};
  domain->step = SIZE_MAX;
  return domain->why;
}

}  // namespace deputy::host
