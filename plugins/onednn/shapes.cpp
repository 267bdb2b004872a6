#include "shapes.hpp"

#include "operators/operators.hpp"

namespace onednn {

Shapes::Shapes(const sdk::PartitionView& partition) {
  for (const sdk::ValueView& value : partition.inputs()) inputs_.push_back(ToDims(value.dims()));
  for (const sdk::ValueView& value : partition.outputs()) outputs_.push_back(ToDims(value.dims()));
  for (const sdk::NodeView& node : partition.nodes())
    for (size_t i = FindOperator(node)->data_inputs; i < node.input_count(); ++i)
      decided_by_inputs_ = decided_by_inputs_ && (!node.input(i).exists() || node.input(i).is_constant());
}

sdk::Result<sdk::ResizeOutcome> Shapes::Answer(const sdk::ResizeArgs& wanted) const {
  bool same = decided_by_inputs_, empty = false;
  const auto look = [&](const sdk::TensorView& tensor, const memory::dims& before) {
    same = same && ToDims(tensor.dims()) == before;
    empty = empty || tensor.element_count() == 0;
  };
  for (size_t i = 0; i < inputs_.size(); ++i) look(wanted.input(i), inputs_[i]);
  for (size_t i = 0; i < outputs_.size(); ++i) look(wanted.output(i), outputs_[i]);
  if (empty) return sdk::Status(sdk::Code::kNotSupported, "a tensor without elements");
  return same ? sdk::ResizeOutcome::kDone : sdk::ResizeOutcome::kRecompile;
}

}  // namespace onednn
