// Reads pictures: PNG (libpng), JPEG (libjpeg-turbo) and PNM (binary PGM and PPM), as 8-bit pixels. Files are not
// trusted: sizes are checked before anything is decoded or allocated, and decoders are called through those interfaces
// of their libraries that return errors instead of jumping out of the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "deputy/status.hpp"

namespace deputy::cli {

// The largest picture: 65,535 pixels a side, as in JPEG, and 64 Mi pixels in all. The largest file: 512 MiB.
inline constexpr size_t kMostPictureSide = 65'535, kMostPicturePixels = size_t{1} << 26;
inline constexpr size_t kMostPictureBytes = size_t{1} << 29;

// Rows from the top, pixels from the left, channels of a pixel side by side: grey, or red, green and blue.
struct PixelImage {
  size_t width = 0, height = 0, channels = 1;
  std::vector<uint8_t> values;

  const uint8_t* pixel(size_t x, size_t y) const { return values.data() + (y * width + x) * channels; }
};

// Whether the file's name says that it is a picture, by its extension; also of formats that are not supported, so that
// the error says so.
bool IsPictureName(const std::string& path);

// The format is recognized by the first bytes. An alpha channel is dropped, as are bits beyond eight. Pictures that are
// grey in the file have one channel, others three. The orientation in EXIF data is applied. kNotFound for a missing
// file, kInvalidArgument for one that is not a picture, damaged, truncated or too large.
Result<PixelImage> ReadPicture(const std::string& path);
// The same of bytes in memory; `name` is the file's name in errors.
Result<PixelImage> DecodePicture(const std::string& name, const std::string& bytes);

// The header of a binary PNM file ("P5", "P6"). The sample bytes, two for each if `largest` is more than 255, begin at
// `begin`.
struct PnmHeader {
  size_t width = 0, height = 0, channels = 1, largest = 0, begin = 0;
};
// Errors contain only the cause.
Result<PnmHeader> ReadPnmHeader(const std::string& bytes);

// The picture turned and mirrored as EXIF's orientation (1 to 8) says; others leave it as it is.
PixelImage Oriented(PixelImage image, int orientation);

}  // namespace deputy::cli
