// Partition to text, text to program, and the machine that runs it.
#include "program.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <sstream>
#include <utility>

namespace sdk = deputy::sdk;

namespace {

std::string NameOf(const sdk::NodeView& node) { return node.Is("Add") ? "add" : node.Is("Mul") ? "mul" : "sin"; }

std::string Hex(float value) {
  char text[32];
  std::snprintf(text, sizeof text, " %a", static_cast<double>(value));
  return text;
}

// Slots that an instruction names; 0: no such instruction.
size_t OperandsOf(const std::string& name) {
  if (name == "add" || name == "mul") return 3;
  if (name == "sin") return 2;
  return name == "input" || name == "output" || name == "const" ? 1 : 0;
}

bool Computes(const Instruction& instruction) { return OperandsOf(instruction.name) > 1; }

bool Parse(const std::string& line, Instruction* instruction) {
  std::istringstream text(line);
  text >> instruction->name >> instruction->count;
  instruction->slots.resize(OperandsOf(instruction->name));
  for (size_t& slot : instruction->slots) text >> slot;
  for (std::string value; instruction->name == "const" && text >> value;)
    instruction->values.push_back(std::strtof(value.c_str(), nullptr));
  const bool whole = instruction->name != "const" || instruction->values.size() == instruction->count;
  return !instruction->slots.empty() && (!text.fail() || instruction->name == "const") && whole;
}

// Are the instructions of this name those that the partition's values need, one by one?
bool Fits(const std::vector<Instruction>& program, const std::string& name, const std::vector<sdk::ValueView>& values) {
  size_t next = 0;
  for (const Instruction& step : program) {
    if (step.name != name) continue;
    if (next == values.size() || static_cast<int64_t>(step.count) != values[next].element_count()) return false;
    ++next;
  }
  return next == values.size();
}

class Machine final : public sdk::ExecutionContext {
 public:
  explicit Machine(const DelegateHandle& handle) : handle_(handle), slots_(handle.slot_count()) {}

  sdk::Status Execute(const sdk::RunArgs& args) override {
    size_t inputs = 0, outputs = 0;
    uint32_t id = 0;
    for (const Instruction& step : handle_.instructions()) {
      std::vector<float>& y = slots_[step.slots.back()];
      if (step.name == "input") {
        y = args.input(inputs++).values<float>().ToVector();
      } else if (step.name == "const") {
        y = step.values;
      } else if (step.name == "output") {
        std::copy(y.begin(), y.end(), args.output(outputs++).values<float>().begin());
      } else {
        const uint64_t begin = profiler() ? handle_.host().clock_ns() : 0;
        DEPUTY_SDK_RETURN_IF_ERROR(Compute(step, id));
        if (profiler()) profiler().Report({id, sdk::ClockKind::kHost, begin, handle_.host().clock_ns(), step.name, {}});
        ++id;
      }
    }
    return {};
  }

 private:
  sdk::Status Compute(const Instruction& step, uint32_t id) {
    const std::vector<float>&a = slots_[step.slots[0]], &b = slots_[step.slots[1]];
    std::vector<float> y(step.count);
    for (size_t i = 0; i < y.size(); ++i) {
      if (step.name == "sin" && std::abs(a[i]) > handle_.limit())
        return sdk::Status(sdk::Code::kFailedPrecondition, "an angle is beyond the option 'limit'",
                           handle_.debug_handles()[id]);
      y[i] = step.name == "add" ? a[i] + b[i] : step.name == "mul" ? a[i] * b[i] : std::sin(a[i]);
    }
    slots_[step.slots.back()] = std::move(y);
    return {};
  }

  const DelegateHandle& handle_;
  std::vector<std::vector<float>> slots_;
};

}  // namespace

std::string Preprocess(const sdk::PartitionView& partition) {
  std::string text;
  std::map<deputy_value_id, size_t> slots;
  const auto line = [&](const std::string& name, const sdk::ValueView& value) {
    text += name + " " + std::to_string(value.element_count());
  };
  const auto operand = [&](const sdk::ValueView& value) {
    text += " " + std::to_string(slots.emplace(value.id(), slots.size()).first->second);
  };
  for (const sdk::ValueView& value : partition.inputs()) {
    line("input", value);
    operand(value);
    text += "\n";
  }
  for (const sdk::NodeView& node : partition.nodes()) {
    for (size_t i = 0; i < node.input_count(); ++i) {
      const sdk::ValueView value = node.input(i);
      if (!value.is_constant() || slots.count(value.id()) != 0) continue;
      line("const", value);
      operand(value);
      for (const float element : value.constant_values<float>()) text += Hex(element);
      text += "\n";
    }
    line(NameOf(node), node.output(0));
    for (size_t i = 0; i < node.input_count(); ++i) operand(node.input(i));
    operand(node.output(0));
    text += "\n";
  }
  for (const sdk::ValueView& value : partition.outputs()) {
    line("output", value);
    operand(value);
    text += "\n";
  }
  return text;
}

sdk::Result<std::unique_ptr<DelegateHandle>> DelegateHandle::Init(std::string processed,
                                                                  const sdk::PartitionView& partition, sdk::Host host,
                                                                  double limit) {
  auto handle = std::make_unique<DelegateHandle>();
  std::map<size_t, size_t> sizes;  // of the slots that have been written
  size_t computing = 0;
  std::istringstream text(processed);
  for (std::string line; std::getline(text, line);) {
    Instruction step;
    bool valid = Parse(line, &step);
    const size_t reads = Computes(step) ? step.slots.size() - 1 : step.name == "output" ? 1 : 0;
    for (size_t i = 0; valid && i < reads; ++i)
      valid = sizes.count(step.slots[i]) != 0 && sizes[step.slots[i]] == step.count;
    if (!valid || step.slots.back() > sizes.size())
      return sdk::Status(sdk::Code::kIncompatible, "not a program of the demo backend: '" + line + "'");
    sizes[step.slots.back()] = step.count;
    computing += Computes(step) ? 1 : 0;
    handle->instructions_.push_back(std::move(step));
  }
  if (computing != partition.nodes().size() || !Fits(handle->instructions_, "input", partition.inputs()) ||
      !Fits(handle->instructions_, "output", partition.outputs()))
    return sdk::Status(sdk::Code::kIncompatible, "the program is that of another partition");
  for (const sdk::NodeView& node : partition.nodes()) handle->debug_handles_.push_back(node.id());
  handle->slot_count_ = sizes.size();
  handle->processed_ = std::move(processed);
  handle->host_ = host;
  handle->limit_ = limit;
  return handle;
}

sdk::Result<std::unique_ptr<sdk::ExecutionContext>> DelegateHandle::CreateContext() {
  return std::make_unique<Machine>(*this);
}

sdk::Status DelegateHandle::Serialize(sdk::BlobWriter& out) const {
  out.Bytes(processed_.data(), processed_.size());
  return {};
}

sdk::Status DelegateHandle::DescribeEvents(sdk::DebugMap& map) const {
  for (uint32_t id = 0; id < debug_handles_.size(); ++id) map.Add(id, debug_handles_[id]);
  return {};
}
