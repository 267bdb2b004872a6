#include "cli/pgm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>

namespace deputy::cli {
namespace {

constexpr size_t kLargestSide = 4096;
constexpr size_t kMostBytes = kLargestSide * kLargestSide + 4096;

class Header {
 public:
  explicit Header(const std::string& bytes) : bytes_(bytes) {}

  // Skips space and comments. False if no number follows.
  bool Number(size_t& value) {
    while (at_ < bytes_.size()) {
      if (bytes_[at_] == '#') {
        while (at_ < bytes_.size() && bytes_[at_] != '\n') ++at_;
      } else if (IsSpace(bytes_[at_])) {
        ++at_;
      } else {
        break;
      }
    }
    const char* begin = bytes_.data() + at_;
    const std::from_chars_result read = std::from_chars(begin, bytes_.data() + bytes_.size(), value);
    at_ += static_cast<size_t>(read.ptr - begin);
    return read.ec == std::errc();
  }

  // Exactly one space separates the header from the pixels, whose bytes may be spaces too.
  bool EndsWithSpace() { return at_ < bytes_.size() && IsSpace(bytes_[at_++]); }
  size_t at() const { return at_; }

 private:
  static bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  const std::string& bytes_;
  size_t at_ = 2;
};

}  // namespace

Result<Picture> ParsePgm(const std::string& name, const std::string& bytes) {
  const auto refuse = [&](const std::string& why) {
    return Status(StatusCode::kInvalidArgument, why).At(name).Advise("a picture is a binary PGM file of 8 bits");
  };
  if (bytes.compare(0, 2, "P5") != 0) return refuse("not a PGM file");
  Header header(bytes);
  Picture picture;
  size_t white = 0;
  if (!header.Number(picture.width) || !header.Number(picture.height) || !header.Number(white) ||
      !header.EndsWithSpace())
    return refuse("its header is damaged");
  if (picture.width == 0 || picture.height == 0 || picture.width > kLargestSide || picture.height > kLargestSide)
    return refuse(fmt::format("its size is {}x{}", picture.width, picture.height));
  if (white == 0 || white > 255) return refuse(fmt::format("its largest value is {}, not 1 to 255", white));
  const size_t count = picture.width * picture.height;
  if (bytes.size() - header.at() < count)
    return refuse(fmt::format("it ends after {} of {} pixels", bytes.size() - header.at(), count));
  picture.pixels.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(static_cast<unsigned char>(bytes[header.at() + i]));
    picture.pixels.push_back(std::min(1.0F, value / static_cast<float>(white)));
  }
  return picture;
}

Result<Picture> ReadPgm(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return Status(StatusCode::kNotFound, "cannot be read").At(path);
  if (file.tellg() > static_cast<std::streamoff>(kMostBytes))
    return Status(StatusCode::kInvalidArgument, "is too large for a picture").At(path);
  file.seekg(0);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return ParsePgm(path, bytes);
}

}  // namespace deputy::cli
