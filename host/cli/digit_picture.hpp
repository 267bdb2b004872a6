// A small grey picture as text: quarter blocks where the terminal has them, shades of ASCII where not.
#pragma once

#include <string>
#include <vector>

#include "cli/pgm.hpp"
#include "cli/terminal.hpp"

namespace deputy::cli {

// A character stands for 2x4 pixels, so that 28x28 pixels become 7 lines of 14 characters. Lines are padded to one
// width.
std::vector<std::string> DrawPicture(const Picture& picture, bool utf8);

// One picture with what is written below it, in the colour of both.
struct Caption {
  std::string text;
  Paint paint = Paint::kPlain;
};

// The pictures side by side, as many in a row as fit, captions centred below. Lines that are blank in all pictures of
// a row are left out.
std::string DrawGallery(const std::vector<Picture>& pictures, const std::vector<Caption>& captions,
                        const Terminal& terminal);

}  // namespace deputy::cli
