// Operations along one dimension: softmax and layer normalization.
#include <algorithm>
#include <numeric>

#include "lowering/post_ops.hpp"

namespace onednn {
namespace {

template <class Primitive>
void LowerSoftmaxAs(const Operation& operation, int axis, Lowering& lowering) {
  using Descriptor = typename Primitive::primitive_desc;
  Slot source = lowering.Dense(operation.inputs[0]);
  const auto describe = [&] {
    const typename Primitive::desc wanted(dnnl::prop_kind::forward_inference, source.desc, axis);
    return Descriptor(wanted, OwnScratchpad(), lowering.engine());
  };
  Descriptor chosen = describe();
  if (IsReference(chosen.impl_info_str())) {
    // Rows without gaps between their elements.
    const memory::dims dims = source.desc.dims();
    memory::dims order(dims.size());
    std::iota(order.begin(), order.end(), 0);
    std::rotate(order.begin() + axis, order.begin() + axis + 1, order.end());
    source = lowering.As(operation.inputs[0], Permuted(Plain(Permute(dims, order)), Inverse(order)));
    chosen = describe();
  }
  const Slot result = lowering.ResultOver(operation.output, source.desc, source);
  lowering.Emit<Primitive>(chosen, {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, result}});
}

// For very short rows oneDNN's overhead per row exceeds the computation. Here oneDNN computes only the exponentials.
constexpr int64_t kShortRow = 8;

void LowerShortRows(const Operation& operation, int64_t length, Lowering& lowering) {
  const Slot source = lowering.PlainOf(operation.inputs[0]);
  const Slot result = lowering.ResultOver(operation.output, source.desc, source);
  const int64_t count = CountOf(source.desc.dims());
  lowering.EmitFunction("subtract maximum", {source, result}, [count, length](const std::vector<char*>& data) {
    const float* const x = reinterpret_cast<const float*>(data[0]);
    float* const y = reinterpret_cast<float*>(data[1]);
    for (int64_t row = 0; row < count; row += length) {
      const float most = *std::max_element(x + row, x + row + length);
      for (int64_t i = row; i < row + length; ++i) y[i] = x[i] - most;
    }
  });
  const dnnl::eltwise_forward::desc wanted(dnnl::prop_kind::forward_inference, dnnl::algorithm::eltwise_exp,
                                           result.desc);
  const dnnl::eltwise_forward::primitive_desc chosen(wanted, OwnScratchpad(), lowering.engine());
  lowering.Emit<dnnl::eltwise_forward>(chosen, {{DNNL_ARG_SRC, result}, {DNNL_ARG_DST, result}});
  lowering.EmitFunction("divide by sum", {result}, [count, length](const std::vector<char*>& data) {
    float* const y = reinterpret_cast<float*>(data[0]);
    for (int64_t row = 0; row < count; row += length) {
      const float scale = 1 / std::accumulate(y + row, y + row + length, 0.0f);
      for (int64_t i = row; i < row + length; ++i) y[i] *= scale;
    }
  });
}

}  // namespace

void LowerSoftmax(const Operation& operation, const Softmax& parameters, Lowering& lowering) {
  const memory::dims y = lowering.program().dims(operation.output);
  const bool along_last = parameters.axis + 1 == static_cast<int>(y.size());
  if (!parameters.log && along_last && y.back() <= kShortRow && CountOf(y) / y.back() > kShortRow)
    return LowerShortRows(operation, y.back(), lowering);
  if (parameters.log)
    LowerSoftmaxAs<dnnl::logsoftmax_forward>(operation, parameters.axis, lowering);
  else
    LowerSoftmaxAs<dnnl::softmax_forward>(operation, parameters.axis, lowering);
}

void LowerLayerNorm(const Operation& operation, const LayerNorm& parameters, Lowering& lowering) {
  using dnnl::normalization_flags;
  Slot source = lowering.PlainOf(operation.inputs[0]);
  const memory::desc layout = source.desc;
  // oneDNN requires at least two dimensions.
  source.desc = Plain(WithRank(layout.dims(), 2));
  normalization_flags flags = normalization_flags::none;
  if (operation.Has(1)) flags |= normalization_flags::use_scale;
  if (operation.Has(2)) flags |= normalization_flags::use_shift;
  const dnnl::layer_normalization_forward::desc wanted(dnnl::prop_kind::forward_inference, source.desc,
                                                       parameters.epsilon, flags);
  const dnnl::layer_normalization_forward::primitive_desc chosen(wanted, OwnScratchpad(), lowering.engine());
  Slot result = lowering.ResultOver(operation.output, layout, source);
  result.desc = source.desc;
  Lowering::Arguments arguments = {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, result}};
  if (operation.Has(1)) arguments.emplace_back(DNNL_ARG_SCALE, lowering.PlainOf(operation.inputs[1]));
  if (operation.Has(2)) arguments.emplace_back(DNNL_ARG_SHIFT, lowering.PlainOf(operation.inputs[2]));
  lowering.Emit<dnnl::layer_normalization_forward>(chosen, std::move(arguments));
}

}  // namespace onednn
