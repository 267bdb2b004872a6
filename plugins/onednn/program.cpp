#include "program.hpp"

#include <algorithm>
#include <utility>

#include "deputy/sdk/half.hpp"

namespace onednn {
namespace {

memory::data_type TypeOf(sdk::DType type) {
  switch (type) {
    case sdk::DType::kInt8: return memory::data_type::s8;
    case sdk::DType::kUint8: return memory::data_type::u8;
    case sdk::DType::kInt32: return memory::data_type::s32;
    case sdk::DType::kFloat16: return memory::data_type::f16;
    default: return memory::data_type::f32;
  }
}

// The same numbers in float32.
std::shared_ptr<const Constant> Widened(const void* halves, const memory::dims& dims) {
  const std::string recipe = "halves(@" + std::to_string(reinterpret_cast<uintptr_t>(halves)) + ")";
  return std::make_shared<Constant>(recipe, dims, [halves, dims] {
    std::vector<float> values(static_cast<size_t>(CountOf(dims)));
    sdk::ToFloat(static_cast<const uint16_t*>(halves), values.data(), values.size());
    return values;
  });
}

}  // namespace

Program::Program(const sdk::PartitionView& partition) {
  for (const sdk::ValueView& value : partition.inputs()) {
    inputs_.push_back(NewValue({ToDims(value.dims()), TypeOf(value.dtype())}));
    Bind(value, inputs_.back());
  }
}

Value Program::NewValue(ValueFacts facts) {
  values_.push_back(std::move(facts));
  producer_.push_back(kNoValue);
  uses_.push_back(0);
  return values_.size() - 1;
}

Value Program::Find(const sdk::ValueView& value) {
  if (!value.exists()) return kNoValue;
  const auto found = known_.find(value.id());
  if (found != known_.end()) {
    if (facts(found->second).type == memory::data_type::f16)
      found->second = Add(Cast{}, {found->second}, dims(found->second));
    return found->second;
  }
  if (!value.is_constant() || !sdk::HasAllElements(value))
    throw Refusal("'" + std::string(value.name()) + "' is no input of the partition, and no node of it makes it");
  const memory::dims dims = ToDims(value.dims());
  return known_[value.id()] = AddConstant(
             value.dtype() == sdk::DType::kFloat16
                 ? Widened(value.constant(), dims)
                 : std::make_shared<Constant>(value.constant(), Plain(dims, TypeOf(value.dtype())), value.id()));
}

Value Program::Add(Parameters parameters, std::vector<Value> inputs, const memory::dims& dims, memory::data_type type) {
  const Value output = NewValue({dims, type});
  operations_.emplace_back();
  Operation operation{std::move(parameters), std::move(inputs), output};
  operation.node = node_;
  Replace(operations_.size() - 1, std::move(operation));
  return output;
}

Value Program::AddConstant(std::shared_ptr<const Constant> constant, std::shared_ptr<const Integers> integers) {
  const memory::desc desc = constant->desc();
  return NewValue({desc.dims(), desc.data_type(), std::move(constant), std::move(integers)});
}

Value Program::AddReshape(Value value, const memory::dims& dims) {
  const ValueFacts& given = facts(value);
  if (given.dims == dims) return value;
  if (given.constant != nullptr) return AddConstant(Constant::Reshaped(given.constant, dims));
  return Add(Reshape{}, {value}, dims, given.type);
}

void Program::FinishReading(const sdk::PartitionView& partition) {
  for (const sdk::ValueView& value : partition.outputs()) {
    const Value made = Find(value);
    if (made == kNoValue) throw Refusal("an output of the partition does not exist");
    const size_t producer = ProducerOf(made);
    if (producer != kNoValue) node_ = operations_[producer].node;
    const bool half = value.dtype() == sdk::DType::kFloat16;
    outputs_.push_back(half ? Add(Cast{}, {made}, dims(made), memory::data_type::f16) : made);
    ++uses_[outputs_.back()];
  }
}

void Program::Replace(size_t index, Operation operation) {
  for (const Value read : ReadBy(operation)) ++uses_[read];
  Drop(index);
  producer_[operation.output] = index;
  operations_[index] = std::move(operation);
}

void Program::Drop(size_t index) {
  Operation& operation = operations_[index];
  if (operation.dropped) return;
  for (const Value read : ReadBy(operation)) --uses_[read];
  if (operation.output != kNoValue && producer_[operation.output] == index) producer_[operation.output] = kNoValue;
  operation.dropped = true;
}

void Program::Sweep() {
  for (size_t i = operations_.size(); i-- > 0;)
    if (uses_[operations_[i].output] == 0) Drop(i);
  operations_.erase(
      std::remove_if(operations_.begin(), operations_.end(), [](const Operation& o) { return o.dropped; }),
      operations_.end());
  for (size_t i = 0; i < operations_.size(); ++i) producer_[operations_[i].output] = i;
}

bool IsBlockwise(const Operation& operation, const Program& program) {
  const Convolution* convolution = operation.As<Convolution>();
  if (convolution == nullptr || !convolution->transposed || convolution->groups != 1) return false;
  if (program.constant(operation.inputs[1]) == nullptr) return false;
  if (operation.Has(2) && program.constant(operation.inputs[2]) == nullptr) return false;
  const memory::dims weights = program.dims(operation.inputs[1]);
  const Window& window = convolution->window;
  const memory::dims none(2, 0);
  return weights.size() == 4 && window.strides == memory::dims(weights.begin() + 2, weights.end()) &&
         window.dilations == none && window.pads_before == none && window.pads_after == none;
}

std::vector<Value> ReadBy(const Operation& operation) {
  std::vector<Value> values;
  for (const Value input : operation.inputs)
    if (input != kNoValue) values.push_back(input);
  for (const PostOp& post_op : operation.post_ops)
    if (post_op.operand != kNoValue) values.push_back(post_op.operand);
  return values;
}

}  // namespace onednn
