#include "program.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <unordered_map>

#include "fp16.hpp"

namespace sim_npu {

using deputy::sdk::Blob;
using deputy::sdk::BlobReader;
using deputy::sdk::BlobWriter;
using deputy::sdk::ClockKind;
using deputy::sdk::Code;
using deputy::sdk::CopySide;
using deputy::sdk::DebugMap;
using deputy::sdk::DType;
using deputy::sdk::ExecutionContext;
using deputy::sdk::Host;
using deputy::sdk::MemoryWish;
using deputy::sdk::NodeView;
using deputy::sdk::PartitionView;
using deputy::sdk::ProfileEvent;
using deputy::sdk::Profiler;
using deputy::sdk::ResizeArgs;
using deputy::sdk::ResizeOutcome;
using deputy::sdk::Result;
using deputy::sdk::RunArgs;
using deputy::sdk::SizeOf;
using deputy::sdk::Status;
using deputy::sdk::SubmittedRun;
using deputy::sdk::TensorView;
using deputy::sdk::ValueView;
using deputy::sdk::Verdict;

namespace {

constexpr uint32_t kBlobFormat = 2;
constexpr std::chrono::milliseconds kLateBy(50);  // of a run that option 'faults' names

// Leaves the queue that a run has entered.
class DeviceTurn {
 public:
  explicit DeviceTurn(DeviceQueue& queue) : queue_(queue) {}
  ~DeviceTurn() { queue_.Leave(); }
  DeviceTurn(const DeviceTurn&) = delete;
  DeviceTurn& operator=(const DeviceTurn&) = delete;

 private:
  DeviceQueue& queue_;
};

class Context final : public ExecutionContext {
 public:
  explicit Context(Program& program) : program_(program) {}
  MemoryWish WishOf(size_t index) override { return {program_.Keeps(index), 0, 64}; }
  Status Execute(const RunArgs& run) override { return program_.Run(run, profiler() ? &spans_ : nullptr); }
  Status Submit(SubmittedRun& run) override { return program_.Submit(*this, run); }
  void Cancel() override { program_.Interrupt(); }
  Result<ResizeOutcome> Resize(const ResizeArgs& shapes) override { return program_.Resize(shapes); }
  Status CollectEvents(const Profiler& to) override {
    program_.Report(spans_, to);
    spans_.clear();
    return {};
  }

 private:
  Program& program_;
  std::vector<Span> spans_;
};

}  // namespace

Result<void*> Device::Locate(const TensorView& tensor, size_t bytes, const char* kind, size_t index) const {
  if (tensor.byte_size() != bytes)
    return Status(Code::kInvalidArgument, kind + std::to_string(index) + " does not have the compiled shape");
  if (!tensor.is_on_device()) return tensor.data();
  return memory->Find(tensor.handle(), tensor.offset(), bytes);
}

Status Device::Copy(const CopySide& from, const CopySide& to, uint64_t bytes) {
  const auto locate = [&](const CopySide& side) -> Result<void*> {
    if (side.data != nullptr) return side.data;
    return memory->Find(side.handle, side.offset, bytes);
  };
  DEPUTY_SDK_ASSIGN_OR_RETURN(const void* const source, locate(from));
  DEPUTY_SDK_ASSIGN_OR_RETURN(void* const target, locate(to));
  std::memcpy(target, source, static_cast<size_t>(bytes));
  const uint64_t hz = clock.hz(), cycles = bytes / kBytesPerCycle;
  clock.SpendOnCopy(cycles, hz);
  if (realtime) std::this_thread::sleep_for(std::chrono::nanoseconds(NanosecondsOf(cycles, hz)));
  return {};
}

Result<std::unique_ptr<Program>> Program::Make(const PartitionView& partition, const Host& host,
                                               std::shared_ptr<Device> device) {
  std::unique_ptr<Program> program(new Program(host, std::move(device)));
  DEPUTY_SDK_RETURN_IF_ERROR(program->Lower(partition, program->constants_));
  DEPUTY_SDK_RETURN_IF_ERROR(program->Place());
  return program;
}

Result<std::unique_ptr<Program>> Program::Restore(const PartitionView& partition, const Blob& blob, const Host& host,
                                                  std::shared_ptr<Device> device) {
  BlobReader reader(blob);
  if (reader.Number<uint32_t>() != kBlobFormat) return Status(Code::kIncompatible, "the blob has another format");
  const auto cycles = reader.Number<uint64_t>();
  std::unique_ptr<Program> program(new Program(host, std::move(device)));
  program->restored_ = true;
  Constants constants(reader);
  DEPUTY_SDK_RETURN_IF_ERROR(program->Lower(partition, constants));
  if (!constants.ok() || !reader.at_end() || program->cycles_ != cycles)
    return Status(Code::kIncompatible, "the blob does not match this partition");
  DEPUTY_SDK_RETURN_IF_ERROR(program->Place());
  return program;
}

Status Program::Lower(const PartitionView& partition, Constants& constants) {
  for (const NodeView& node : partition.nodes())
    if (const Verdict verdict = Check(node); !verdict.supported())
      return Status(Code::kNotSupported, verdict.Text(), node.id());
  std::unordered_map<deputy_value_id, size_t> tensor_of;
  const auto tensor = [&](const ValueView& value, size_t step) {
    const auto [found, added] = tensor_of.try_emplace(value.id(), tensors_.size());
    if (added) tensors_.push_back({static_cast<size_t>(value.element_count()), step, step, 0});
    tensors_[found->second].last = std::max(tensors_[found->second].last, step);
    return found->second;
  };
  // Step 0 copies in; the step after the last one copies out.
  Work copies;
  const auto value_at = [&](const ValueView& value, size_t step) {
    const size_t index = tensor(value, step);
    copies.bytes += tensors_[index].elements * kElementBytes;
    return SubgraphValue{index, value.dtype(), tensors_[index].elements * SizeOf(value.dtype())};
  };
  const auto foreign = [](const ValueView& value) {
    return Status(Code::kNotSupported,
                  "'" + std::string(value.name()) + "' is no input of the partition, and no node of it makes it");
  };
  for (const ValueView& input : partition.inputs()) {
    const auto elements = deputy::sdk::ElementCount(input);
    const bool data = (input.dtype() == DType::kFloat32 || input.dtype() == DType::kFloat16) && elements &&
                      *elements <= kMostElements;
    inputs_.push_back(data ? value_at(input, 0) : SubgraphValue{kNoTensor, input.dtype(), 0});
  }
  for (const NodeView& node : partition.nodes()) {
    const size_t number = steps_.size() + 1;
    Step step;
    step.layer = FindOperator(node)->make(node, constants);
    step.node = node.id();
    step.type = std::string(node.op_type());
    Work work{step.layer->macs(), step.layer->constant_bytes()};
    for (const size_t operand : step.layer->operands()) {
      if (tensor_of.count(node.input(operand).id()) == 0) return foreign(node.input(operand));
      step.reads.push_back(tensor(node.input(operand), number));
      work.bytes += tensors_[step.reads.back()].elements * kElementBytes;
    }
    step.writes = tensor(node.output(0), number);
    work.bytes += tensors_[step.writes].elements * kElementBytes;
    constant_bytes_ += step.layer->constant_bytes();
    step.cycles = CyclesOf(work);
    cycles_ += step.cycles;
    steps_.push_back(std::move(step));
  }
  for (const ValueView& output : partition.outputs()) {
    if (tensor_of.count(output.id()) == 0) return foreign(output);
    outputs_.push_back(value_at(output, steps_.size() + 1));
  }
  layer_cycles_ = cycles_;
  cycles_ += CyclesOf(copies);
  return {};
}

Status Program::Place() {
  const size_t elements = PlanArena(tensors_);
  if (device_ == nullptr) return {};
  DEPUTY_SDK_ASSIGN_OR_RETURN(
      block_, device_->memory->Reserve(static_cast<size_t>(constant_bytes_) + elements * kElementBytes));
  arena_.resize(elements);
  for (const Step& step : steps_) {
    step.layer->Prepare();
    reads_.reserve(step.reads.size());
  }
  return {};
}

Result<std::unique_ptr<ExecutionContext>> Program::CreateContext() {
  if (device_ == nullptr) return Status(Code::kFailedPrecondition, "opened without a device, to compile only");
  return std::make_unique<Context>(*this);
}

Status Program::Serialize(BlobWriter& blob) const {
  if (restored_) return Status(Code::kNotSupported, "an executable that was restored from a blob cannot be serialized");
  blob.Number(kBlobFormat);
  blob.Number(cycles_);
  constants_.Write(blob);
  return {};
}

Status Program::DescribeEvents(DebugMap& map) const {
  for (size_t i = 0; i < steps_.size(); ++i) map.Add(static_cast<uint32_t>(i + 1), steps_[i].node);
  return {};
}

Result<ResizeOutcome> Program::Resize(const ResizeArgs& shapes) const {
  const auto fits = [](const TensorView& tensor) { return tensor.dims().size() <= 4 && tensor.element_count() > 0; };
  bool all = true;
  for (size_t i = 0; i < inputs_.size(); ++i) all = all && (inputs_[i].tensor == kNoTensor || fits(shapes.input(i)));
  for (size_t i = 0; i < outputs_.size(); ++i) all = all && fits(shapes.output(i));
  if (!all) return Status(Code::kNotSupported, "the device supports only tensors of up to rank 4 with elements");
  // Programs are made for their shapes; only a compile shows whether the layers exist for others.
  return ResizeOutcome::kRecompile;
}

void Program::Report(const std::vector<Span>& spans, const Profiler& profiler) const {
  for (const Span& span : spans) {
    const bool layer = span.step > 0 && span.step <= steps_.size();
    const std::string metadata = "{\"cycles\": " + std::to_string(span.cycles) +
                                 ", \"macs\": " + std::to_string(layer ? steps_[span.step - 1].layer->macs() : 0) + "}";
    ProfileEvent event;
    event.id = layer ? static_cast<uint32_t>(span.step) : DEPUTY_NO_EVENT_ID;
    event.clock = ClockKind::kDevice;
    event.begin_ns = span.begin_ns;
    event.end_ns = span.end_ns;
    event.name = layer ? std::string_view(steps_[span.step - 1].type) : span.step == 0 ? "copy in" : "copy out";
    event.metadata = metadata;
    profiler.Report(event);
  }
}

Status Program::Submit(ExecutionContext& context, SubmittedRun& run) {
  if (device_->faults.IsNextSubmitRefused()) return Status(Code::kUnavailable, "the queue is full (option 'faults')");
  device_->commands.Add(context, run);
  return {};
}

void Program::Interrupt() {
  device_->commands.EndCancelled();
  device_->hardware.queue().Interrupt();
}

bool Program::Keeps(size_t index) const { return index >= inputs_.size() || inputs_[index].tensor != kNoTensor; }

Status Program::Load(const RunArgs& run) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].tensor == kNoTensor) continue;
    DEPUTY_SDK_ASSIGN_OR_RETURN(const void* const from, device_->Locate(run.input(i), inputs_[i].bytes, "input ", i));
    const Lifetime& tensor = tensors_[inputs_[i].tensor];
    float* const to = arena_.data() + tensor.offset;
    if (inputs_[i].dtype == DType::kFloat16)
      ToFloat(static_cast<const uint16_t*>(from), to, tensor.elements);
    else
      std::memcpy(to, from, inputs_[i].bytes);
  }
  return {};
}

Status Program::Store(const RunArgs& run) const {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    DEPUTY_SDK_ASSIGN_OR_RETURN(void* const to, device_->Locate(run.output(i), outputs_[i].bytes, "output ", i));
    const Lifetime& tensor = tensors_[outputs_[i].tensor];
    const float* const from = arena_.data() + tensor.offset;
    if (outputs_[i].dtype == DType::kFloat16)
      ToHalf(from, static_cast<uint16_t*>(to), tensor.elements);
    else
      std::memcpy(to, from, outputs_[i].bytes);
  }
  return {};
}

Status Program::Run(const RunArgs& run, std::vector<Span>* spans) {
  // What is in memory of the device is not transferred.
  uint64_t bytes_in = 0, bytes_out = 0;
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i].tensor != kNoTensor && !run.input(i).is_on_device())
      bytes_in += tensors_[inputs_[i].tensor].elements * kElementBytes;
  for (size_t i = 0; i < outputs_.size(); ++i)
    if (!run.output(i).is_on_device()) bytes_out += tensors_[outputs_[i].tensor].elements * kElementBytes;
  const uint64_t cycles_out = bytes_out / kBytesPerCycle;
  const uint64_t cycles_in = CyclesOf({0, bytes_in + bytes_out}) - cycles_out;  // with the fixed cost of both
  const uint64_t cycles = layer_cycles_ + cycles_in + cycles_out;

  DeviceQueue& queue = device_->hardware.queue();
  DEPUTY_SDK_RETURN_IF_ERROR(queue.Enter(run, host_));
  const DeviceTurn turn(queue);
  const Faults::OfRun fault = device_->faults.NextRun();
  if (fault == Faults::OfRun::kDeviceLost) {
    device_->memory->LoseBuffers();
    return Status(Code::kDeviceLost, "the device was lost (option 'faults')");
  }
  // The hint of a run is a clock for it alone.
  const uint64_t hz = run.power_level() == 0 ? device_->clock.hz() : GrantedHz({run.power_level(), 0});
  const uint64_t end_ns = device_->realtime ? host_.clock_ns() + NanosecondsOf(cycles, hz) : 0;
  DEPUTY_SDK_RETURN_IF_ERROR(Load(run));
  for (const Step& step : steps_) {
    if (run.deadline_ns() != 0 && host_.clock_ns() > run.deadline_ns())
      return Status(Code::kDeadlineExceeded, "the run did not end in time", step.node);
    Compute(step);
  }
  if (device_->realtime) DEPUTY_SDK_RETURN_IF_ERROR(queue.Until(end_ns, run, host_));
  if (fault == Faults::OfRun::kLate) std::this_thread::sleep_for(kLateBy);
  DEPUTY_SDK_RETURN_IF_ERROR(Store(run));
  if (spans != nullptr) {
    const uint64_t start_ns = device_->clock.busy_ns();
    uint64_t done = 0;
    const auto add = [&](size_t step, uint64_t taken) {
      spans->push_back({start_ns + NanosecondsOf(done, hz), start_ns + NanosecondsOf(done + taken, hz), taken, step});
      done += taken;
    };
    add(0, cycles_in);
    for (size_t i = 0; i < steps_.size(); ++i) add(i + 1, steps_[i].cycles);
    add(steps_.size() + 1, cycles_out);
  }
  device_->clock.Spend(cycles, hz);
  return {};
}

void Program::Compute(const Step& step) {
  reads_.clear();
  for (const size_t read : step.reads) reads_.push_back(arena_.data() + tensors_[read].offset);
  step.layer->Run(host_, reads_, arena_.data() + tensors_[step.writes].offset);
}

}  // namespace sim_npu
