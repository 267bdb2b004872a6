// Graphs and tensors as ONNX files, for parts of a model that are given to others.
#pragma once

#include <string>

#include "base/status.hpp"
#include "graph/graph.hpp"

namespace deputy::host::onnx_import {

// A ModelProto of the graph: its inputs and captures are the model's inputs. kNotSupported for nodes with regions,
// constants of strings, and values that are not tensors.
Result<std::string> ExportModel(const Graph& graph);

// A TensorProto. kNotSupported for strings.
Result<std::string> ExportTensor(const Tensor& tensor, const std::string& name);

}  // namespace deputy::host::onnx_import
