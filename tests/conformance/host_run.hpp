// A model of one node, computed by the host's own kernels through the public API.
#pragma once

#include <cstdint>
#include <vector>

#include "case.hpp"
#include "deputy/deputy.hpp"

namespace deputy::conformance {

// A context of the CPU's kernels alone.
inline Result<::deputy::Context> KernelContext() {
  return ::deputy::Context::FromYamlText("oracle", "version: 1\nlog: {level: off}\n");
}

// The outputs of the ONNX model in `file`, which is that of the case.
inline Result<std::vector<reference::Tensor>> RunOnHost(::deputy::Context& context, const Case& tested,
                                                        const std::vector<uint8_t>& file) {
  Model model;
  if (const Status status = model.Build(file.data(), file.size(), ModelType::kOnnx, context); !status.ok())
    return status;
  Result<Session> session = model.CreateSession();
  if (!session.ok()) return session.status();
  std::vector<::deputy::Tensor> inputs, outputs;
  std::vector<std::vector<uint8_t>> kept;
  for (const Operand& input : tested.inputs) {
    if (!input.present || input.constant) continue;
    kept.push_back(reference::Encode(input.value));
    Result<::deputy::Tensor> wrapped = ::deputy::Tensor::Wrap(static_cast<DType>(input.value.dtype), input.value.dims,
                                                              kept.back().data(), kept.back().size());
    if (!wrapped.ok()) return wrapped.status();
    inputs.push_back(wrapped.value());
  }
  if (const Status status = session.value().Predict(inputs, &outputs); !status.ok()) return status;
  std::vector<reference::Tensor> got;
  for (const ::deputy::Tensor& output : outputs)
    got.push_back(reference::Decode(static_cast<deputy_dtype>(output.dtype()),
                                    reference::Dims(output.shape().begin(), output.shape().end()),
                                    static_cast<const uint8_t*>(output.data())));
  return got;
}

}  // namespace deputy::conformance
