// Files of one tensor: numpy's .npy, and bare elements. (TensorProto files are read by the ONNX importer.)
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "base/status.hpp"
#include "deputy/tensor.hpp"

namespace deputy::host {

// A .npy file of version 1 to 3: little endian, C order, plain element types. The tensor owns its bytes. [any-thread]
Result<Tensor> ParseNpy(std::span<const uint8_t> bytes);
Result<Tensor> ReadNpyFile(const std::filesystem::path& path);

// numpy has no bfloat16: kNotSupported.
Status WriteNpyFile(const Tensor& tensor, const std::filesystem::path& path);

// Elements without a header, row-major, little endian. Fails unless the file has exactly as many bytes as needed.
Result<Tensor> ReadRawFile(const std::filesystem::path& path, DType dtype, Shape shape);

}  // namespace deputy::host
