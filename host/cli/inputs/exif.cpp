#include "cli/inputs/exif.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace deputy::cli {
namespace {

constexpr uint32_t kOrientationTag = 0x0112, kShortType = 3;
constexpr int kUpright = 1;

using Bytes = std::span<const uint8_t>;

// An unsigned number of `size` bytes; 0 beyond the end, which no valid structure needs.
uint32_t NumberAt(Bytes bytes, size_t at, size_t size, bool big_endian) {
  if (at > bytes.size() || bytes.size() - at < size) return 0;
  uint32_t number = 0;
  for (size_t i = 0; i < size; ++i) number = number << 8 | bytes[at + (big_endian ? i : size - 1 - i)];
  return number;
}

bool BeginsWith(Bytes bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::equal(text.begin(), text.end(), bytes.begin(), [](char c, uint8_t byte) {
           return static_cast<uint8_t>(c) == byte;
         });
}

int OrientationInTiff(Bytes tiff) {
  using namespace std::string_view_literals;
  const bool big_endian = BeginsWith(tiff, "MM\0*"sv);
  if (!big_endian && !BeginsWith(tiff, "II*\0"sv)) return kUpright;
  const size_t folder = NumberAt(tiff, 4, 4, big_endian);
  const size_t entries = NumberAt(tiff, folder, 2, big_endian);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = folder + 2 + 12 * i;
    if (NumberAt(tiff, entry, 2, big_endian) != kOrientationTag) continue;
    const uint32_t orientation = NumberAt(tiff, entry + 8, 2, big_endian);
    const bool valid = NumberAt(tiff, entry + 2, 2, big_endian) == kShortType && orientation >= 1 && orientation <= 8;
    return valid ? static_cast<int>(orientation) : kUpright;
  }
  return kUpright;
}

}  // namespace

int OrientationInJpeg(Bytes file) {
  using namespace std::string_view_literals;
  constexpr uint32_t kExif = 0xffe1, kScan = 0xffda;
  for (size_t at = 2; at + 4 <= file.size();) {  // each segment: a marker, then its length without the marker
    const uint32_t marker = NumberAt(file, at, 2, true);
    const size_t length = NumberAt(file, at + 2, 2, true);
    if (marker < 0xff00 || marker == kScan || length < 2 || file.size() - at - 2 < length) return kUpright;
    const Bytes content = file.subspan(at + 4, length - 2);
    if (marker == kExif && BeginsWith(content, "Exif\0\0"sv)) return OrientationInTiff(content.subspan(6));
    at += 2 + length;
  }
  return kUpright;
}

int OrientationInPng(Bytes file) {
  for (size_t at = 8; at + 12 <= file.size();) {  // each chunk: length, type, content, checksum
    const size_t length = NumberAt(file, at, 4, true);
    const Bytes type = file.subspan(at + 4, 4);
    if (BeginsWith(type, "IDAT") || file.size() - at - 12 < length) return kUpright;
    if (BeginsWith(type, "eXIf")) return OrientationInTiff(file.subspan(at + 8, length));
    at += 12 + length;
  }
  return kUpright;
}

}  // namespace deputy::cli
