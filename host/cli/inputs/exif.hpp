// The orientation of a picture in its EXIF data (JEITA CP-3451, a TIFF structure).
#pragma once

#include <cstdint>
#include <span>

namespace deputy::cli {

// 1 to 8; 1, which leaves the picture as it is, without valid data. Of a JPEG file.
int OrientationInJpeg(std::span<const uint8_t> file);
// Of a PNG file, in the chunk eXIf before the pixels.
int OrientationInPng(std::span<const uint8_t> file);

}  // namespace deputy::cli
