// A .tflite model to Graph: operator by operator, in the order of the file, which is that of execution.
#pragma once

#include <string>
#include <vector>

#include "base/status.hpp"
#include "graph/graph.hpp"
#include "import/tflite/emitter.hpp"
#include "import/tflite/model_file.hpp"
#include "import/tflite/tensors.hpp"

namespace deputy::host::tflite_import {

// Verified, with the inputs and outputs of the file in their order and shapes.
Result<Graph> ReadModel(ModelFile& file);

}  // namespace deputy::host::tflite_import
