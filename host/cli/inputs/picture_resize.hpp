// Pictures of another size, and with another number of channels.
#pragma once

#include <cstddef>

#include "cli/inputs/picture_file.hpp"

namespace deputy::cli {

enum class PictureFit {
  kStretch,    // the whole picture, with another aspect ratio if need be
  kLetterbox,  // the whole picture, centred, with black bars
  kCrop,       // the largest part of the picture's middle that has the wanted aspect ratio
};

// Bilinear, with a filter as wide as the reduction (a triangle over twice the distance of two pixels of the result), so
// that reduction does not alias: as Pillow's Image.resize, ImageOps.pad and ImageOps.fit with BILINEAR, from which
// values differ by 1 at most. A picture of the wanted size is returned as it is.
PixelImage Resized(const PixelImage& image, size_t width, size_t height, PictureFit fit);

// With one channel or three. Grey is 0.299 red + 0.587 green + 0.114 blue (ITU-R BT.601).
PixelImage WithChannels(PixelImage image, size_t channels);

}  // namespace deputy::cli
