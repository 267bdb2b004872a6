// Pictures of digits as tensors, for the programs of this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "deputy/deputy.hpp"

// float32 [count,1,28,28], 0 black to 1 white, from binary PGM files of 28x28 pixels.
inline deputy::Result<deputy::Tensor> ReadPictures(const std::vector<std::string>& files) {
  constexpr size_t kPixels = 28 * 28;
  const auto count = static_cast<int64_t>(files.size());
  DEPUTY_ASSIGN_OR_RETURN(deputy::Tensor tensor, deputy::Tensor::Allocate(deputy::DType::kFloat32, {count, 1, 28, 28}));
  size_t next = 0;
  for (const std::string& file : files) {
    std::ifstream in(file, std::ios::binary);
    std::string magic, width, height, maximum;
    in >> magic >> width >> height >> maximum;
    in.get();
    std::vector<char> bytes(kPixels);
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!in || magic != "P5" || width != "28" || height != "28" || maximum != "255")
      return deputy::Status(deputy::StatusCode::kInvalidArgument, "not a PGM picture of 28x28 bytes").At(file);
    for (const char byte : bytes)
      tensor.mutable_values<float>()[next++] = static_cast<float>(static_cast<unsigned char>(byte)) / 255;
  }
  return tensor;
}
