// Constants without their zeros.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "import/tflite/tensor_info.hpp"

namespace deputy::host::tflite_import {

// All elements of a constant that has `sparsity`; `bytes` are the elements in the file.
Result<Tensor> ReadSparse(ModelFile& file, const TensorInfo& info, std::span<const uint8_t> bytes);

}  // namespace deputy::host::tflite_import
