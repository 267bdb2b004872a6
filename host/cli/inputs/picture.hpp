// Grey pictures: read from binary PGM files (P5, 8 bits), and drawn as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/terminal/terminal.hpp"
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

// Each character is 2x4 pixels: 28x28 pixels become 7 lines of 14 characters. Lines are padded to one width.
std::vector<std::string> DrawPicture(const Picture& picture, bool utf8);

// The text below a picture, and the colour of both.
struct Caption {
  std::string text;
  Paint paint = Paint::kPlain;
};

// The pictures side by side, as many in a row as fit, captions centred below. Lines that are blank in all pictures of
// a row are left out.
std::string DrawGallery(const std::vector<Picture>& pictures, const std::vector<Caption>& captions,
                        const Terminal& terminal);

}  // namespace deputy::cli
