// Pictures as files in memory, for tests.
#pragma once

#include <gtest/gtest.h>
#include <png.h>
#include <turbojpeg.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/inputs/picture_file.hpp"

namespace deputy::cli {

// Smooth in both directions, so that JPEG keeps it, with other values in each channel.
inline PixelImage Gradient(size_t width, size_t height, size_t channels) {
  PixelImage image{width, height, channels, {}};
  for (size_t y = 0; y < height; ++y)
    for (size_t x = 0; x < width; ++x)
      for (size_t c = 0; c < channels; ++c)
        image.values.push_back(static_cast<uint8_t>(30 * c + 100 * x / width + 80 * y / height));
  return image;
}

// `format` of libpng's simplified interface; `pixels` are as many as it needs.
inline std::string PngOf(size_t width, size_t height, uint32_t format, const void* pixels) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(width);
  png.height = static_cast<png_uint_32>(height);
  png.format = format;
  png_alloc_size_t size = 0;
  EXPECT_NE(png_image_write_get_memory_size(png, size, 0, pixels, 0, nullptr), 0) << png.message;
  std::string bytes(size, '\0');
  EXPECT_NE(png_image_write_to_memory(&png, bytes.data(), &size, 0, pixels, 0, nullptr), 0) << png.message;
  bytes.resize(size);
  return bytes;
}

inline std::string PngOf(const PixelImage& image) {
  return PngOf(image.width, image.height, image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB, image.values.data());
}

inline std::string JpegOf(const PixelImage& image, int flags = 0) {
  const tjhandle encoder = tjInitCompress();
  unsigned char* made = nullptr;
  unsigned long size = 0;  // NOLINT: the library's type
  const bool grey = image.channels == 1;
  EXPECT_EQ(tjCompress2(encoder, image.values.data(), static_cast<int>(image.width), 0, static_cast<int>(image.height),
                        grey ? TJPF_GRAY : TJPF_RGB, &made, &size, grey ? TJSAMP_GRAY : TJSAMP_444, 95, flags),
            0)
      << tjGetErrorStr2(encoder);
  std::string bytes(reinterpret_cast<const char*>(made), size);
  tjFree(made);
  tjDestroy(encoder);
  return bytes;
}

inline std::string PnmOf(const PixelImage& image) {
  return (image.channels == 1 ? "P5 " : "P6 ") + std::to_string(image.width) + " " + std::to_string(image.height) +
         " 255\n" + std::string(image.values.begin(), image.values.end());
}

// The JPEG file with an EXIF segment of this orientation after its first marker.
inline std::string WithOrientation(const std::string& jpeg, char orientation) {
  std::string segment = "\xff\xe1";
  const std::string content =
      std::string("Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0", 25) + orientation + std::string(6, '\0');
  segment += static_cast<char>((content.size() + 2) >> 8);
  segment += static_cast<char>((content.size() + 2) & 255);
  return jpeg.substr(0, 2) + segment + content + jpeg.substr(2);
}

}  // namespace deputy::cli
