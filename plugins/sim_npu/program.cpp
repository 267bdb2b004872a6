#include "program.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>

#include "fp16.hpp"

namespace sim_npu {

using deputy::sdk::Code;
using deputy::sdk::DType;
using deputy::sdk::ExecutionContext;
using deputy::sdk::Host;
using deputy::sdk::NodeView;
using deputy::sdk::PartitionView;
using deputy::sdk::Result;
using deputy::sdk::RunArgs;
using deputy::sdk::SizeOf;
using deputy::sdk::Status;
using deputy::sdk::TensorView;
using deputy::sdk::ValueView;

namespace {

class Context final : public ExecutionContext {
 public:
  explicit Context(Program& program) : program_(program) {}
  Status Execute(const RunArgs& run) override { return program_.Run(run); }

 private:
  Program& program_;
};

}  // namespace

Result<std::unique_ptr<Program>> Program::Make(const PartitionView& partition, const Host& host,
                                               std::shared_ptr<Device> device) {
  std::unique_ptr<Program> program(new Program(host, std::move(device)));
  program->Lower(partition);
  DEPUTY_SDK_RETURN_IF_ERROR(program->Place());
  return program;
}

void Program::Lower(const PartitionView& partition) {
  std::unordered_map<deputy_value_id, size_t> tensor_of;
  const auto tensor = [&](const ValueView& value, size_t step) {
    const auto [found, added] = tensor_of.try_emplace(value.id(), tensors_.size());
    if (added) tensors_.push_back({static_cast<size_t>(value.element_count()), step, step, 0});
    tensors_[found->second].last = std::max(tensors_[found->second].last, step);
    return found->second;
  };
  // Step 0 copies in; the step after the last one copies out.
  Work copies;
  const auto border = [&](const ValueView& value, size_t step) {
    const size_t index = tensor(value, step);
    copies.bytes += tensors_[index].elements * 2;
    return Border{index, value.dtype(), tensors_[index].elements * SizeOf(value.dtype())};
  };
  for (const ValueView& input : partition.inputs()) inputs_.push_back(border(input, 0));
  for (const NodeView& node : partition.nodes()) {
    const size_t number = steps_.size() + 1;
    Step step;
    step.layer = FindOperator(node)->make(node);
    Work work{step.layer->macs(), step.layer->constant_bytes()};
    for (const size_t operand : step.layer->operands()) {
      step.reads.push_back(tensor(node.input(operand), number));
      work.bytes += tensors_[step.reads.back()].elements * 2;
    }
    step.writes = tensor(node.output(0), number);
    work.bytes += tensors_[step.writes].elements * 2;
    constant_bytes_ += step.layer->constant_bytes();
    step.cycles = CyclesOf(work);
    cycles_ += step.cycles;
    steps_.push_back(std::move(step));
  }
  for (const ValueView& output : partition.outputs()) outputs_.push_back(border(output, steps_.size() + 1));
  cycles_ += CyclesOf(copies);
}

Status Program::Place() {
  const size_t elements = PlanArena(tensors_);
  DEPUTY_SDK_ASSIGN_OR_RETURN(block_, device_->memory->Reserve(static_cast<size_t>(constant_bytes_) + elements * 2));
  arena_.resize(elements);
  for (const Step& step : steps_) {
    operands_.resize(std::max(operands_.size(), step.reads.size()));
    for (size_t i = 0; i < step.reads.size(); ++i)
      operands_[i].resize(std::max(operands_[i].size(), tensors_[step.reads[i]].elements));
    result_.resize(std::max(result_.size(), tensors_[step.writes].elements));
  }
  return {};
}

Result<std::unique_ptr<ExecutionContext>> Program::CreateContext() { return std::make_unique<Context>(*this); }

Status Program::Run(const RunArgs& run) {
  const std::lock_guard<std::mutex> lock(device_->hardware.queue());
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const TensorView given = run.input(i);
    if (given.byte_size() != inputs_[i].bytes)
      return Status(Code::kInvalidArgument, "input " + std::to_string(i) + " is not of the shape compiled for");
    const Lifetime& tensor = tensors_[inputs_[i].tensor];
    uint16_t* to = arena_.data() + tensor.offset;
    if (inputs_[i].dtype == DType::kFloat32)
      ToHalf(static_cast<const float*>(given.data()), to, tensor.elements);
    else
      std::memcpy(to, given.data(), given.byte_size());
  }
  for (const Step& step : steps_) Compute(step);
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const TensorView wanted = run.output(i);
    if (wanted.byte_size() != outputs_[i].bytes)
      return Status(Code::kInvalidArgument, "output " + std::to_string(i) + " is not of the shape compiled for");
    const Lifetime& tensor = tensors_[outputs_[i].tensor];
    const uint16_t* from = arena_.data() + tensor.offset;
    if (outputs_[i].dtype == DType::kFloat32)
      ToFloat(from, static_cast<float*>(wanted.data()), tensor.elements);
    else
      std::memcpy(wanted.data(), from, wanted.byte_size());
  }
  device_->clock.Spend(cycles_);
  return {};
}

void Program::Compute(const Step& step) {
  std::vector<const float*> inputs(step.reads.size());
  for (size_t i = 0; i < step.reads.size(); ++i) {
    const Lifetime& tensor = tensors_[step.reads[i]];
    ToFloat(arena_.data() + tensor.offset, operands_[i].data(), tensor.elements);
    inputs[i] = operands_[i].data();
  }
  step.layer->Run(host_, inputs, result_.data());
  const Lifetime& written = tensors_[step.writes];
  ToHalf(result_.data(), arena_.data() + written.offset, written.elements);
}

}  // namespace sim_npu
