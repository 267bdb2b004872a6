#include "lowering/post_ops.hpp"

#include <utility>

#include "lowering/vectors.hpp"

namespace onednn {

PostOps::PostOps(const Operation& operation, Lowering& lowering, memory::desc result, bool rows)
    : operation_(operation), lowering_(lowering), result_(std::move(result)), rows_(rows) {
  if (result_.data_type() != memory::data_type::f32) return;
  const bool chooses = result_.data.format_kind == dnnl_format_kind_any;
  if (lowering.GoesOut(operation.output) && !chooses && IsPlain(result_)) return;
  // Only these add to the previous content of their result's memory.
  if (operation.As<Convolution>() == nullptr && operation.As<Matmul>() == nullptr) return;
  for (size_t i = 0; i < operation.post_ops.size() && sum_ == kNoValue; ++i) {
    const PostOp& post_op = operation.post_ops[i];
    if (post_op.algorithm != dnnl::algorithm::binary_add || !IsFull(post_op)) continue;
    if (lowering.program().constant(post_op.operand) != nullptr) continue;
    if (lowering.MayOverwrite(lowering.Native(post_op.operand))) sum_ = i;
  }
}

void PostOps::SetScales(dnnl::primitive_attr& attributes) const {
  const IntegerForm& form = *form_;
  if (form.weights.empty()) {
    for (size_t i = 0; i < form.sources.size(); ++i)
      attributes.set_scales(i == 0 ? DNNL_ARG_SRC_0 : DNNL_ARG_SRC_1, 0, {form.sources[i].scale});
    return;
  }
  std::vector<float> scales = form.weights;
  for (float& scale : scales) scale *= form.sources[0].scale;
  attributes.set_output_scales(scales.size() == 1 ? 0 : 1 << outputs_, scales);
  if (form.sources[0].zero != 0) attributes.set_zero_points(DNNL_ARG_SRC, 0, {form.sources[0].zero});
  if (form.result && form.result->zero != 0) attributes.set_zero_points(DNNL_ARG_DST, 0, {form.result->zero});
}

memory::dims PostOps::InPrimitive(const memory::dims& dims) const {
  if (!rows_) return dims;
  return {CountOf(dims) / dims.back(), dims.back()};
}

bool PostOps::IsFull(const PostOp& post_op) const {
  return CountOf(lowering_.program().dims(post_op.operand)) == CountOf(result_.dims());
}

size_t PostOps::FirstSlow() const {
  const bool in_integers = form_ != nullptr && form_->result;  // then nothing may follow the primitive
  if (in_integers || !HasVectors()) return operation_.post_ops.size();
  const auto first = std::find_if(operation_.post_ops.begin(), operation_.post_ops.end(), [](const PostOp& post_op) {
    return post_op.algorithm == dnnl::algorithm::eltwise_tanh;
  });
  return static_cast<size_t>(first - operation_.post_ops.begin());
}

dnnl::primitive_attr PostOps::Attributes(size_t count) const {
  dnnl::post_ops post_ops;
  for (size_t i = 0; i < count; ++i) {
    const PostOp& post_op = operation_.post_ops[i];
    if (post_op.operand == kNoValue)
      post_ops.append_eltwise(1, post_op.algorithm, post_op.alpha, post_op.beta);
    else if (i == sum_)
      post_ops.append_sum();
    else if (IsFull(post_op))
      post_ops.append_binary(post_op.algorithm, result_);
    else
      post_ops.append_binary(post_op.algorithm, Plain(InPrimitive(lowering_.program().dims(post_op.operand))));
  }
  dnnl::primitive_attr attributes = OwnScratchpad();  // a new one: 2.6 cannot set post-ops twice
  attributes.set_post_ops(post_ops);
  if (form_ != nullptr) SetScales(attributes);
  return attributes;
}

Slot PostOps::Place(const memory::desc& layout, const Slot* over) {
  if (sum_ < attached_) {
    Slot summand = lowering_.As(operation_.post_ops[sum_].operand, layout);
    // In this layout the operand may be in other memory, which a view of it still needs.
    if (!lowering_.MayOverwrite(summand)) {
      const Slot copy = lowering_.Temporary(layout);
      lowering_.Copy(summand, copy);
      summand = copy;
    }
    lowering_.Alias(operation_.output, summand);
    return summand;
  }
  if (attached_ < operation_.post_ops.size() && !lowering_.GoesOut(operation_.output)) over = nullptr;
  return over != nullptr ? lowering_.ResultOver(operation_.output, layout, *over)
                         : lowering_.Result(operation_.output, layout);
}

void PostOps::AddArguments(Lowering::Arguments& arguments, const memory::desc& as_made, const memory::desc& layout) {
  for (size_t i = 0; i < attached_; ++i) {
    const Value operand = operation_.post_ops[i].operand;
    if (operand == kNoValue || i == sum_) continue;
    const bool full = IsFull(operation_.post_ops[i]);
    Slot slot = full ? lowering_.As(operand, layout) : lowering_.PlainOf(operand);
    slot.desc = full ? as_made : Plain(InPrimitive(lowering_.program().dims(operand)));
    arguments.emplace_back(DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i)) | DNNL_ARG_SRC_1, slot);
  }
}

void PostOps::EmitRestFrom(size_t first, const Slot& result) {
  const dnnl::primitive_attr attributes = OwnScratchpad();
  for (size_t i = first; i < operation_.post_ops.size(); ++i) {
    const PostOp& post_op = operation_.post_ops[i];
    if (post_op.algorithm == dnnl::algorithm::eltwise_tanh && HasVectors() && IsDense(result.desc)) {
      EmitTanh(result, result, lowering_);
      continue;
    }
    if (post_op.operand == kNoValue) {
      const dnnl::eltwise_forward::desc wanted(dnnl::prop_kind::forward_inference, post_op.algorithm, result.desc,
                                               post_op.alpha, post_op.beta);
      const dnnl::eltwise_forward::primitive_desc chosen(wanted, attributes, lowering_.engine());
      lowering_.Emit<dnnl::eltwise_forward>(chosen, {{DNNL_ARG_SRC, result}, {DNNL_ARG_DST, result}});
      continue;
    }
    const Slot operand =
        IsFull(post_op) ? lowering_.As(post_op.operand, result.desc) : lowering_.PlainOf(post_op.operand);
    const dnnl::binary::desc wanted(post_op.algorithm, result.desc, operand.desc, result.desc);
    const dnnl::binary::primitive_desc chosen(wanted, attributes, lowering_.engine());
    lowering_.Emit<dnnl::binary>(chosen, {{DNNL_ARG_SRC_0, result}, {DNNL_ARG_SRC_1, operand}, {DNNL_ARG_DST, result}},
                                 post_op.operand);
  }
}

}  // namespace onednn
