#include "lowering/own_post_ops.hpp"

namespace onednn {

OwnPostOps FirstOwnPostOps(const Operation& operation, const memory::desc& layout, Lowering& lowering,
                           std::vector<Slot>& slots) {
  using Kind = OwnPostOp::Kind;
  OwnPostOps own;
  for (const PostOp& post_op : operation.post_ops) {
    if (own.count == OwnPostOps::kMost) break;
    OwnPostOp& next = own.all[own.count];
    if (post_op.algorithm == dnnl::algorithm::eltwise_relu) {
      next = {Kind::kRelu, post_op.alpha};
    } else if (post_op.algorithm == dnnl::algorithm::eltwise_clip) {
      next = {Kind::kClip, post_op.alpha, post_op.beta};
    } else if (post_op.algorithm == dnnl::algorithm::eltwise_gelu_erf) {
      next = {Kind::kGelu};
    } else if (post_op.algorithm == dnnl::algorithm::binary_add &&
               lowering.program().dims(post_op.operand) == layout.dims()) {
      next = {Kind::kAdd};
      slots.push_back(lowering.As(post_op.operand, layout));
    } else {
      break;
    }
    ++own.count;
  }
  return own;
}

OwnPostOps WithOperands(OwnPostOps post_ops, const std::vector<char*>& buffers, size_t& next) {
  for (size_t i = 0; i < post_ops.count; ++i)
    if (post_ops.all[i].kind == OwnPostOp::Kind::kAdd)
      post_ops.all[i].added = reinterpret_cast<const float*>(buffers[next++]);
  return post_ops;
}

}  // namespace onednn
