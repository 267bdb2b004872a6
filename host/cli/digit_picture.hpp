// A small grey picture as text: quarter blocks in UTF-8, otherwise shades of ASCII characters.
#pragma once

#include <string>
#include <vector>

#include "cli/pgm.hpp"
#include "cli/terminal.hpp"

namespace deputy::cli {

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
