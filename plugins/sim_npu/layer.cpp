#include "layer.hpp"

namespace sim_npu {

Layer::Source Layer::Take(const deputy::sdk::NodeView& node, size_t input, Constants& constants, Form form) {
  Source source;
  const deputy::sdk::ValueView value = node.input(input);
  if (!value.exists()) return source;
  if (!value.is_constant()) {
    source.operand_ = operands_.size();
    operands_.push_back(input);
    return source;
  }
  source.held_ = form == Form::kHalves ? constants.Rounded(value) : constants.Plain(value);
  constant_bytes_ += source.held_.size() * (form == Form::kHalves ? 2 : 4);
  return source;
}

}  // namespace sim_npu
