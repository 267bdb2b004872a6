// deputy::Buffer, and the buffers that a session reads inputs from and writes outputs to.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log.hpp"
#include "base/memory_file.hpp"
#include "base/printable.hpp"
#include "deputy/buffer.hpp"
#include "isolation/shared_memory.hpp"
#include "runtime/buffer_state.hpp"
#include "runtime/session_state.hpp"
#include "tensor/shape.hpp"

namespace deputy {

using host::Error;

namespace {

constexpr size_t kSharedAlignment = 64;  // as that of tensors
constexpr size_t kPage = 4096;

// Of a call that failed.
StatusCode CodeOfErrno() {
  return errno == EMFILE || errno == ENOMEM ? StatusCode::kResourceExhausted : StatusCode::kInvalidArgument;
}

Status Lost() {
  return Error(StatusCode::kDeviceLost, "the buffer was lost with its device").Advise("make and bind another one");
}

}  // namespace

Status Buffer::State::CopyIn(const void* from) const {
  if (device != nullptr && !device->is_valid()) return Lost();
  if (device != nullptr) return device->memory().CopyIn(from, device->handle(), bytes);
  std::memcpy(const_cast<void*>(host.data()), from, bytes);
  return {};
}

Status Buffer::State::CopyOut(void* to) const {
  if (device != nullptr && !device->is_valid()) return Lost();
  if (device != nullptr) return device->memory().CopyOut(device->handle(), to, bytes);
  std::memcpy(to, host.data(), bytes);
  return {};
}

bool BufferUsers::Add(bool writes) {
  int count = count_;
  do {
    if (Bar(count, writes)) return false;
  } while (!count_.compare_exchange_weak(count, writes ? -1 : count + 1));
  return true;
}

void BufferUsers::Remove(bool writes) {
  if (writes)
    count_ = 0;
  else
    --count_;
  count_.notify_all();
}

void BufferUsers::Await(bool writes) const {
  for (int count = count_; Bar(count, writes); count = count_) count_.wait(count);
}

// Each side is counted before it looks at the other one, so that at least one of a run and a copy sees the other: a run
// then waits, a copy is refused.
BufferUse::BufferUse(const std::shared_ptr<Buffer::State>& buffer, bool writes, Of of) : writes_(writes), of_(of) {
  if (of == Of::kRun) {
    if (!buffer->runs.Add(writes)) return;
    buffer->copies.Await(writes);
  } else {
    if (buffer->runs.Bar(writes) || !buffer->copies.Add(writes)) return;
    if (buffer->runs.Bar(writes)) {
      buffer->copies.Remove(writes);
      return;
    }
  }
  buffer_ = buffer;
}

BufferUse::~BufferUse() {
  if (buffer_ != nullptr) (of_ == Of::kRun ? buffer_->runs : buffer_->copies).Remove(writes_);
}

Result<Buffer> Buffer::State::Make(host::Descriptor file, uint64_t offset, DType dtype, const Shape& shape) {
  auto made = std::make_shared<State>();
  made->dtype = dtype;
  made->shape = shape;
  DEPUTY_ASSIGN_OR_RETURN(made->bytes, ByteSize(dtype, shape));
  if (offset % kSharedAlignment != 0)
    return Error(StatusCode::kInvalidArgument, "offset {} of shared memory is no multiple of {}", offset,
                 kSharedAlignment);
  DEPUTY_ASSIGN_OR_RETURN(const uint64_t size, host::SharedMemorySize(file.get()));
  struct stat about {};
  if (fstat(file.get(), &about) == 0) made->inode = {about.st_dev, about.st_ino};
  if (offset > size || made->bytes > size - offset)
    return Error(StatusCode::kInvalidArgument, "the memory has {} bytes, not {} behind offset {}", size, made->bytes,
                 offset);
  if (made->bytes == 0) {
    DEPUTY_ASSIGN_OR_RETURN(made->host, Tensor::Allocate(dtype, shape));
  } else {
    std::shared_ptr<host::Mapping> memory = host::Mapping::Of(file.get(), offset, made->bytes, true);
    if (memory == nullptr)
      return Error(CodeOfErrno(), "the memory cannot be mapped for reading and writing: {}", std::strerror(errno));
    uint8_t* const data = memory->data();
    DEPUTY_ASSIGN_OR_RETURN(made->host, Tensor::Wrap(dtype, shape, data, made->bytes, std::move(memory)));
  }
  made->file = std::move(file);
  made->shared = {made->file.get(), offset, made->bytes};
  return Buffer(std::move(made));
}

bool Buffer::State::Overlaps(const State& other) const {
  if (this == &other) return true;
  return shared.file >= 0 && other.shared.file >= 0 && inode == other.inode &&
         shared.offset < other.shared.offset + other.bytes && other.shared.offset < shared.offset + bytes;
}

Result<Buffer> Buffer::Import(const SharedMemory& memory, DType dtype, const Shape& shape) {
  host::Descriptor file(fcntl(memory.descriptor, F_DUPFD_CLOEXEC, 0));
  if (file.get() < 0)
    return Error(CodeOfErrno(), "descriptor {} cannot be used: {}", memory.descriptor, std::strerror(errno));
  return State::Make(std::move(file), memory.offset, dtype, shape);
}

Result<Buffer> Buffer::MakeShared(DType dtype, const Shape& shape) {
  DEPUTY_ASSIGN_OR_RETURN(const size_t bytes, ByteSize(dtype, shape));
  DEPUTY_ASSIGN_OR_RETURN(host::Descriptor file, host::SealedMemory(bytes));
  return State::Make(std::move(file), 0, dtype, shape);
}

SharedMemory Buffer::shared() const {
  if (state_ == nullptr) return {};
  return {state_->shared.file, state_->shared.offset};
}

DType Buffer::dtype() const { return state_->dtype; }
const Shape& Buffer::shape() const { return state_->shape; }
size_t Buffer::byte_size() const { return state_->bytes; }
bool Buffer::is_on_device() const { return state_ != nullptr && state_->device != nullptr; }

namespace {

Status EmptyBuffer() {
  return Error(StatusCode::kInvalidArgument, "the buffer is empty: a session, Import or MakeShared makes one");
}
Status BufferInUse() { return Error(StatusCode::kFailedPrecondition, "a run or another copy uses the buffer"); }

}  // namespace

Status Buffer::Write(const Tensor& values) {
  if (state_ == nullptr) return EmptyBuffer();
  if (values.dtype() != state_->dtype || values.shape() != state_->shape)
    return Error(StatusCode::kInvalidArgument, "the buffer is {} {}, the tensor is {} {}", NameOf(state_->dtype),
                 host::ShapeToString(state_->shape), NameOf(values.dtype()), host::ShapeToString(values.shape()));
  DEPUTY_RETURN_IF_ERROR(host::CheckNotForked());
  const BufferUse use(state_, true, BufferUse::Of::kCopy);
  if (!use.ok()) return BufferInUse();
  return state_->bytes == 0 ? Status() : state_->CopyIn(values.data());
}

Result<Tensor> Buffer::Read() const {
  if (state_ == nullptr) return EmptyBuffer();
  DEPUTY_RETURN_IF_ERROR(host::CheckNotForked());
  const BufferUse use(state_, false, BufferUse::Of::kCopy);
  if (!use.ok()) return BufferInUse();
  DEPUTY_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(state_->dtype, state_->shape));
  if (state_->bytes != 0) DEPUTY_RETURN_IF_ERROR(state_->CopyOut(tensor.mutable_data()));
  return tensor;
}

namespace {

const std::vector<TensorInfo>& InfosOf(const Model::State& model, bool is_input) {
  return is_input ? model.inputs : model.outputs;
}

// The number of the input or output with this name.
Result<size_t> Find(const Model::State& model, const std::string& name, bool is_input) {
  const std::vector<TensorInfo>& infos = InfosOf(model, is_input);
  for (size_t i = 0; i < infos.size(); ++i)
    if (infos[i].name == name) return i;
  return Error(StatusCode::kNotFound, "the model has no {} '{}'", is_input ? "input" : "output", host::Printable(name))
      .At(model.name);
}

}  // namespace

Result<Buffer> Session::State::MakeBuffer(size_t i, bool is_input) {
  if (!has_shapes)
    return Error(StatusCode::kFailedPrecondition, "the shapes of the inputs are not known yet")
        .Advise("call Resize first");
  DEPUTY_RETURN_IF_ERROR(Renew());
  const host::Plan& plan = execution->plan();
  const host::ValueId value = is_input ? plan.graph->inputs[i] : plan.graph->outputs[i];
  const host::ValueType& type = plan.graph->values[value].type;
  if (!type.is_tensor() || !type.is_static() || BitsOf(type.dtype) == 0)
    return Error(StatusCode::kNotSupported, "'{}' is no tensor of known type and shape",
                 host::Printable(plan.graph->values[value].name));
  auto made = std::make_shared<Buffer::State>();
  made->dtype = type.dtype;
  made->shape.assign(type.dims.begin(), type.dims.end());
  DEPUTY_ASSIGN_OR_RETURN(made->bytes, ByteSize(made->dtype, made->shape));
  if (const std::optional<host::DevicePlace> place = execution->PlaceOf(value, is_input)) {
    Result<host::DeviceBuffer> buffer = host::DeviceBuffer::Make(place->memory, place->byte_size, place->alignment);
    if (buffer.ok()) made->device = std::make_shared<host::DeviceBuffer>(std::move(buffer).value());
  }
  if (made->device == nullptr) {
    DEPUTY_ASSIGN_OR_RETURN(made->host, Tensor::Allocate(made->dtype, made->shape));
  }
  return Buffer(std::move(made));
}

Status Session::State::BindBuffer(size_t i, bool is_input, std::shared_ptr<Buffer::State> buffer) {
  const size_t inputs_count = model->inputs.size(), outputs_count = model->outputs.size();
  bound_inputs.resize(inputs_count);
  bound_outputs.resize(outputs_count);
  buffer_uses.reserve(inputs_count + outputs_count);
  if (execution != nullptr) Detach(i, is_input);
  BoundBuffer bound;
  if (buffer != nullptr && buffer->device == nullptr) bound.host = buffer->host;
  if (buffer != nullptr && buffer->device != nullptr) {
    DEPUTY_ASSIGN_OR_RETURN(bound.host, Tensor::Allocate(buffer->dtype, buffer->shape));
  }
  bound.buffer = std::move(buffer);
  (is_input ? bound_inputs : bound_outputs)[i] = std::move(bound);
  if (!imported.empty()) imported[ImportedIndex(i, is_input)] = nullptr;
  const auto is_bound = [](const BoundBuffer& one) { return one.buffer != nullptr; };
  has_buffers = std::any_of(bound_inputs.begin(), bound_inputs.end(), is_bound) ||
                std::any_of(bound_outputs.begin(), bound_outputs.end(), is_bound);
  return {};
}

void Session::State::Detach(size_t i, bool is_input) {
  const host::Graph& graph = *execution->plan().graph;
  (void)execution->BindBuffer(is_input ? graph.inputs[i] : graph.outputs[i], is_input, nullptr);
}

template <class Copy>
Status Session::State::CopyBound(Copy&& copy) {
  ++statistics.buffer_copies;
  return copy().At(model->name);
}

Status Session::State::PredictWithBuffers(const std::vector<Tensor>& wanted, std::vector<Tensor>& outputs) {
  Status status = RunWithBuffers(wanted, outputs);
  buffer_uses.clear();
  return status.ok() ? Finish() : std::move(status);
}

Status Session::State::RunWithBuffers(const std::vector<Tensor>& wanted, std::vector<Tensor>& outputs) {
  const auto use = [&](const BoundBuffer& bound, bool writes, const std::string& name) -> Status {
    const auto is_it = [&](const BoundBuffer& one) {
      return &one != &bound && one.buffer != nullptr && one.buffer->Overlaps(*bound.buffer);
    };
    if (writes && (std::any_of(bound_inputs.begin(), bound_inputs.end(), is_it) ||
                   std::any_of(bound_outputs.begin(), bound_outputs.end(), is_it)))
      return Error(StatusCode::kInvalidArgument, "the buffer that is bound to output '{}' is bound twice",
                   host::Printable(name))
          .Advise("bind two buffers in turn");
    buffer_uses.emplace_back(bound.buffer, writes);
    if (buffer_uses.back().ok()) return {};
    return Error(StatusCode::kFailedPrecondition, "another run uses the buffer that is bound to '{}'",
                 host::Printable(name));
  };
  for (size_t i = 0; i < inputs.size() && i < bound_inputs.size(); ++i) {
    if (bound_inputs[i].buffer == nullptr) continue;
    const std::string& name = model->inputs[i].name;
    if (!wanted[i].empty())
      return Error(StatusCode::kInvalidArgument, "input '{}' is bound to a buffer, but a tensor is given too",
                   host::Printable(name))
          .At(model->name);
    DEPUTY_RETURN_IF_ERROR(use(bound_inputs[i], false, name).At(model->name));
    inputs[i] = {&bound_inputs[i].host, nullptr};
  }
  outputs.resize(bound_outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (bound_outputs[i].buffer == nullptr) continue;
    DEPUTY_RETURN_IF_ERROR(use(bound_outputs[i], true, model->outputs[i].name).At(model->name));
    outputs[i] = bound_outputs[i].host;
  }
  Status status = Run(outputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const BoundBuffer& bound = bound_outputs[i];
    if (bound.buffer == nullptr) continue;
    const Tensor made = std::exchange(outputs[i], Tensor());
    if (!status.ok() || bound.on_device) continue;
    if (made.dtype() != bound.buffer->dtype || made.shape() != bound.buffer->shape)
      status = Error(StatusCode::kInvalidArgument, "output '{}' is {} {}, the bound buffer is {} {}",
                     host::Printable(model->outputs[i].name), NameOf(made.dtype()), host::ShapeToString(made.shape()),
                     NameOf(bound.buffer->dtype), host::ShapeToString(bound.buffer->shape))
                   .At(model->name);
    else if (made.data() != bound.buffer->host.data() && made.byte_size() != 0)
      status = CopyBound([&] { return bound.buffer->CopyIn(made.data()); });
  }
  return status;
}

std::shared_ptr<host::DeviceBuffer> Session::State::DeviceBufferOf(size_t i, bool is_input, host::ValueId value) {
  BoundBuffer& bound = (is_input ? bound_inputs : bound_outputs)[i];
  const Buffer::State& buffer = *bound.buffer;
  if (buffer.shared.file < 0 || buffer.bytes == 0) return buffer.device;
  const std::optional<host::DevicePlace> place = execution->PlaceOf(value, is_input);
  if (!place || place->memory == bound.refused_by.lock() || place->byte_size > buffer.bytes) return nullptr;
  imported.resize(bound_inputs.size() + bound_outputs.size());
  std::shared_ptr<host::DeviceBuffer>& known = imported[ImportedIndex(i, is_input)];
  if (known != nullptr && known->is_valid() && &known->memory() == place->memory.get()) return known;
  known = nullptr;
  // Up to a page the addresses of a file have the alignment of the offset everywhere.
  const size_t alignment = size_t{1} << std::countr_zero(buffer.shared.offset | kPage);
  Result<host::DeviceBuffer> made =
      host::DeviceBuffer::Import(place->memory, buffer.shared, buffer.host.data(), alignment);
  if (made.ok()) {
    known = std::make_shared<host::DeviceBuffer>(std::move(made).value());
  } else {
    bound.refused_by = place->memory;
    host::Log(host::LogLevel::kInfo, "the buffer that is bound to '{}' is in host memory: {}",
              host::Printable(execution->plan().graph->values[value].name), made.status().ToString());
  }
  return known;
}

Status Session::State::UseBuffers() {
  // Searches and dumps read inputs in host memory.
  const bool may_be_on_device = measurement == nullptr && dump == nullptr;
  const host::Graph& graph = *execution->plan().graph;
  for (size_t i = 0; i < bound_inputs.size(); ++i) {
    BoundBuffer& bound = bound_inputs[i];
    if (bound.buffer == nullptr) continue;
    bound.on_device = execution->BindBuffer(graph.inputs[i], true,
                                            may_be_on_device ? DeviceBufferOf(i, true, graph.inputs[i]) : nullptr);
    if (bound.on_device || bound.buffer->device == nullptr || bound.buffer->bytes == 0) continue;
    DEPUTY_RETURN_IF_ERROR(CopyBound([&] { return bound.buffer->CopyOut(bound.host.mutable_data()); }));
  }
  for (size_t i = 0; i < bound_outputs.size(); ++i) {
    BoundBuffer& bound = bound_outputs[i];
    if (bound.buffer == nullptr) continue;
    const host::ValueId value = graph.outputs[i];
    const host::Slot& slot = execution->plan().slots[value];
    const bool fits = host::SameDims(slot.dims, bound.buffer->shape) && slot.dtype == bound.buffer->dtype;
    bound.on_device =
        execution->BindBuffer(value, false, may_be_on_device && fits ? DeviceBufferOf(i, false, value) : nullptr);
  }
  return {};
}

Result<Buffer> Session::InputBuffer(const std::string& name) { return MakeBuffer(name, true); }
Result<Buffer> Session::OutputBuffer(const std::string& name) { return MakeBuffer(name, false); }

Result<Buffer> Session::MakeBuffer(const std::string& name, bool is_input) {
  if (state_ == nullptr) return NotCreated();
  const State::Use use(*state_);
  DEPUTY_RETURN_IF_ERROR(use.status());
  DEPUTY_ASSIGN_OR_RETURN(const size_t i, Find(*state_->model, name, is_input));
  return state_->MakeBuffer(i, is_input);
}

Status Session::BindInput(const std::string& name, const Buffer& buffer) { return Bind(name, true, buffer); }
Status Session::BindOutput(const std::string& name, const Buffer& buffer) { return Bind(name, false, buffer); }

Status Session::Bind(const std::string& name, bool is_input, const Buffer& buffer) {
  if (state_ == nullptr) return NotCreated();
  const State::Use use(*state_);
  DEPUTY_RETURN_IF_ERROR(use.status());
  const Model::State& model = *state_->model;
  DEPUTY_ASSIGN_OR_RETURN(const size_t i, Find(model, name, is_input));
  const TensorInfo& info = InfosOf(model, is_input)[i];
  if (!model.only_tensors)
    return Error(StatusCode::kNotSupported, "the model has inputs or outputs that are no tensors").At(model.name);
  if (buffer.state_ != nullptr && buffer.dtype() != info.dtype)
    return Error(StatusCode::kInvalidArgument, "'{}' is {}, the buffer is {}", host::Printable(name),
                 NameOf(info.dtype), NameOf(buffer.dtype()))
        .At(model.name);
  Status status;
  // Requests are made anew: with buffers they run one after another.
  DEPUTY_RETURN_IF_ERROR(state_->ChangeRequests(is_input ? "BindInput" : "BindOutput",
                                                [&] { status = state_->BindBuffer(i, is_input, buffer.state_); }));
  return status;
}

}  // namespace deputy
