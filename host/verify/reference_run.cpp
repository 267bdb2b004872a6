#include "verify/reference_run.hpp"

#include <utility>

#include "tensor/held_value.hpp"

namespace deputy::host {
namespace {

deputy_tensor FormOf(const Tensor& tensor) {
  deputy_tensor form{};
  form.struct_size = sizeof form;
  form.dtype = static_cast<deputy_dtype>(tensor.dtype());
  form.rank = static_cast<uint32_t>(tensor.shape().size());
  form.dims = tensor.shape().data();
  form.data = const_cast<void*>(tensor.data());
  form.byte_size = tensor.byte_size();
  return form;
}

}  // namespace

Status RunWith(Execution& execution, const std::vector<Tensor>& inputs, const CancellationToken& token) {
  const std::vector<ValueId>& captured = execution.plan().graph->captured;
  for (size_t i = 0; i < captured.size(); ++i) DEPUTY_RETURN_IF_ERROR(execution.Bind(captured[i], FormOf(inputs[i])));
  return execution.Run(token);
}

Result<std::vector<Tensor>> OutputsOf(const Execution& execution) {
  std::vector<Tensor> outputs;
  for (const ValueId id : execution.plan().graph->outputs) {
    DEPUTY_ASSIGN_OR_RETURN(Tensor copy, CopyOf(execution.tensor(id)));
    outputs.push_back(std::move(copy));
  }
  return outputs;
}

}  // namespace deputy::host
