#include "cli/inputs/picture_file.hpp"

#include <fmt/format.h>
#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/inputs/exif.hpp"

namespace deputy::cli {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kPngMark = "\x89PNG\r\n\x1a\n", kJpegMark = "\xff\xd8\xff";

Status BadPicture(const std::string& why) { return Status(StatusCode::kInvalidArgument, why); }

std::span<const uint8_t> RawBytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// An image of this size, whose pixels are still to be filled.
Result<PixelImage> MakeImage(size_t width, size_t height, size_t channels) {
  if (width == 0 || height == 0 || width > kMostPictureSide || height > kMostPictureSide ||
      width * height > kMostPicturePixels)
    return BadPicture(fmt::format("its size {}x{} is out of range: at most {} pixels a side and {} in all", width,
                                  height, kMostPictureSide, kMostPicturePixels));
  return PixelImage{width, height, channels, std::vector<uint8_t>(width * height * channels)};
}

// The library stops behind the last pixel. Chunks are [length, type, data, checksum], the last one is IEND.
bool HasAllChunks(std::span<const uint8_t> bytes) {
  constexpr size_t kRest = 12;  // of a chunk, beside its data
  for (size_t at = kPngMark.size(); bytes.size() - at >= kRest;) {
    size_t length = 0;
    for (size_t i = 0; i < 4; ++i) length = length << 8 | bytes[at + i];
    if (length > bytes.size() - at - kRest) return false;
    if (std::memcmp(&bytes[at + 4], "IEND", 4) == 0) return true;
    at += kRest + length;
  }
  return false;
}

// libpng's simplified interface catches the library's own jumps and returns an error.
Result<PixelImage> DecodePng(const std::string& bytes) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, void (*)(png_image*)> release(&png, png_image_free);
  const auto refuse = [&png] { return BadPicture(fmt::format("the PNG file is damaged: {}", png.message)); };
  if (png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()) == 0) return refuse();
  const bool colour = (png.format & PNG_FORMAT_FLAG_COLOR) != 0, alpha = (png.format & PNG_FORMAT_FLAG_ALPHA) != 0;
  DEPUTY_ASSIGN_OR_RETURN(PixelImage image, MakeImage(png.width, png.height, colour ? 3 : 1));
  // With the alpha channel of the file the library leaves colours as they are; without, it would mix them with a
  // background.
  png.format = (colour ? PNG_FORMAT_FLAG_COLOR : 0U) | (alpha ? PNG_FORMAT_FLAG_ALPHA : 0U);
  png.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // 16 bits are the same values, finer; not linear light
  const size_t samples = image.channels + (alpha ? 1 : 0);
  std::vector<uint8_t> decoded(alpha ? image.width * image.height * samples : 0);
  uint8_t* const target = alpha ? decoded.data() : image.values.data();
  if (png_image_finish_read(&png, nullptr, target, 0, nullptr) == 0) return refuse();
  if (!HasAllChunks(RawBytes(bytes))) return BadPicture("the PNG file is damaged: it ends before its IEND chunk");
  for (size_t i = 0, pixel = 0; pixel < decoded.size(); pixel += samples)
    for (size_t c = 0; c < image.channels; ++c) image.values[i++] = decoded[pixel + c];
  return Oriented(std::move(image), OrientationInPng(RawBytes(bytes)));
}

// TurboJPEG returns an error as well. A progressive file may repeat its scans without end, and a truncated one decodes
// to grey: the flags refuse both.
Result<PixelImage> DecodeJpeg(const std::string& bytes) {
  constexpr int kFlags = TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS | TJFLAG_ACCURATEDCT;
  const std::unique_ptr<void, int (*)(tjhandle)> decoder(tjInitDecompress(), tjDestroy);
  if (decoder == nullptr) return Status(StatusCode::kResourceExhausted, "the JPEG decoder could not be created");
  const auto refuse = [&decoder] {
    return BadPicture(
        fmt::format("the JPEG file is damaged or of an unsupported kind: {}", tjGetErrorStr2(decoder.get())));
  };
  const uint8_t* const begin = RawBytes(bytes).data();
  int width = 0, height = 0, subsampling = 0, colours = 0;
  if (tjDecompressHeader3(decoder.get(), begin, bytes.size(), &width, &height, &subsampling, &colours) != 0)
    return refuse();
  const bool grey = colours == TJCS_GRAY;
  DEPUTY_ASSIGN_OR_RETURN(PixelImage image,
                          MakeImage(static_cast<size_t>(width), static_cast<size_t>(height), grey ? 1 : 3));
  if (tjDecompress2(decoder.get(), begin, bytes.size(), image.values.data(), width, 0, height,
                    grey ? TJPF_GRAY : TJPF_RGB, kFlags) != 0)
    return refuse();
  return Oriented(std::move(image), OrientationInJpeg(RawBytes(bytes)));
}

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The next number of a PNM header, after space and comments. False if none follows.
bool NextNumber(const std::string& bytes, size_t& at, size_t& number) {
  while (at < bytes.size() && (bytes[at] == '#' || IsSpace(bytes[at]))) {
    if (bytes[at] == '#') at = std::min(bytes.find('\n', at), bytes.size() - 1);
    ++at;
  }
  const char* const begin = bytes.data() + at;
  const std::from_chars_result read = std::from_chars(begin, bytes.data() + bytes.size(), number);
  at += static_cast<size_t>(read.ptr - begin);
  return read.ec == std::errc();
}

Result<PixelImage> DecodePnm(const std::string& bytes) {
  DEPUTY_ASSIGN_OR_RETURN(const PnmHeader header, ReadPnmHeader(bytes));
  DEPUTY_ASSIGN_OR_RETURN(PixelImage image, MakeImage(header.width, header.height, header.channels));
  const size_t size = header.largest > 255 ? 2 : 1;
  if ((bytes.size() - header.begin) / size < image.values.size())
    return BadPicture(
        fmt::format("it ends after {} of {} bytes of pixels", bytes.size() - header.begin, image.values.size() * size));
  const uint8_t* sample = RawBytes(bytes).data() + header.begin;
  for (uint8_t& value : image.values) {
    const size_t read = size == 2 ? static_cast<size_t>(sample[0]) << 8 | sample[1] : sample[0];
    value = static_cast<uint8_t>((std::min(read, header.largest) * 255 + header.largest / 2) / header.largest);
    sample += size;
  }
  return image;
}

Result<PixelImage> DecodeAny(const std::string& bytes) {
  const std::string_view text = bytes;
  if (text.substr(0, kPngMark.size()) == kPngMark) return DecodePng(bytes);
  if (text.substr(0, kJpegMark.size()) == kJpegMark) return DecodeJpeg(bytes);
  if (text.substr(0, 2) == "P5" || text.substr(0, 2) == "P6") return DecodePnm(bytes);
  return BadPicture("not a picture of a supported format").Advise("convert it to PNG, JPEG or binary PPM");
}

}  // namespace

bool IsPictureName(const std::string& path) {
  constexpr std::array kExtensions = {".png"sv, ".jpg"sv, ".jpeg"sv, ".ppm"sv,  ".pgm"sv,  ".pnm"sv,  ".bmp"sv,
                                      ".gif"sv, ".tif"sv, ".tiff"sv, ".webp"sv, ".heic"sv, ".avif"sv, ".jxl"sv};
  std::string extension = std::filesystem::path(path).extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end();
}

Result<PnmHeader> ReadPnmHeader(const std::string& bytes) {
  PnmHeader header;
  if (bytes.compare(0, 2, "P5") != 0 && bytes.compare(0, 2, "P6") != 0)
    return BadPicture("not a binary PGM or PPM file");
  header.channels = bytes[1] == '5' ? 1 : 3;
  header.begin = 2;
  // Exactly one space separates the header from the samples, whose bytes may be spaces too.
  if (!NextNumber(bytes, header.begin, header.width) || !NextNumber(bytes, header.begin, header.height) ||
      !NextNumber(bytes, header.begin, header.largest) || header.begin >= bytes.size() ||
      !IsSpace(bytes[header.begin++]))
    return BadPicture("its header is damaged");
  if (header.largest == 0 || header.largest > 65'535)
    return BadPicture(fmt::format("its largest value is {}, not 1 to 65535", header.largest));
  return header;
}

PixelImage Oriented(PixelImage image, int orientation) {
  if (orientation < 2 || orientation > 8) return image;
  // As EXIF numbers them: 2 mirrored, 3 turned by half, 4 both; 5 to 8 the same after rows and columns are exchanged.
  const bool exchanged = orientation >= 5;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_below = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  PixelImage turned{exchanged ? image.height : image.width, exchanged ? image.width : image.height, image.channels,
                    std::vector<uint8_t>(image.values.size())};
  uint8_t* to = turned.values.data();
  for (size_t y = 0; y < turned.height; ++y)
    for (size_t x = 0; x < turned.width; ++x, to += image.channels) {
      const size_t column = exchanged ? y : x, row = exchanged ? x : y;
      const uint8_t* const from =
          image.pixel(from_right ? image.width - 1 - column : column, from_below ? image.height - 1 - row : row);
      std::copy(from, from + image.channels, to);
    }
  return turned;
}

Result<PixelImage> DecodePicture(const std::string& name, const std::string& bytes) {
  Result<PixelImage> image = DecodeAny(bytes);
  if (!image.ok()) return std::move(image).status().At(name);
  return image;
}

Result<PixelImage> ReadPicture(const std::string& path) {
  std::error_code error;
  // A pipe or a device might never end.
  const bool regular = std::filesystem::is_regular_file(path, error);
  if (error) return Status(StatusCode::kNotFound, "cannot be read: " + error.message()).At(path);
  if (!regular) return BadPicture("is not a regular file").At(path);
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  if (size < 0) return Status(StatusCode::kNotFound, "cannot be read").At(path);
  if (static_cast<size_t>(size) > kMostPictureBytes)
    return BadPicture(fmt::format("has {} bytes, at most {} are allowed for a picture", size, kMostPictureBytes))
        .At(path);
  std::string bytes(static_cast<size_t>(size), '\0');
  file.seekg(0);
  if (!file.read(bytes.data(), size)) return Status(StatusCode::kUnavailable, "cannot be read").At(path);
  return DecodePicture(path, bytes);
}

}  // namespace deputy::cli
