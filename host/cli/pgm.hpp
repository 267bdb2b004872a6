// Reads grey pictures: binary PGM (P5), 8 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "deputy/status.hpp"

namespace deputy::cli {

struct Picture {
  size_t width = 0, height = 0;
  std::vector<float> pixels;  // row by row, 0 black to 1 white
  float at(size_t x, size_t y) const { return pixels[y * width + x]; }
};

// `name` is the file's name in messages. At most 4096 pixels a side. kInvalidArgument for any other data.
Result<Picture> ParsePgm(const std::string& name, const std::string& bytes);
// kNotFound if the file cannot be read.
Result<Picture> ReadPgm(const std::string& path);

}  // namespace deputy::cli
