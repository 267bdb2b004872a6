#include <algorithm>
#include <string_view>

#include "import/importer.hpp"

namespace deputy::host {
namespace {

using std::string_view_literals::operator""sv;

struct Signature {
  size_t offset;
  std::string_view bytes;
  const char* description;
  const char* advice;
};

constexpr Signature kSignatures[] = {
    {0, "version https://git-lfs"sv, "a git-LFS pointer", "the model itself was not fetched: `git lfs pull`"},
    {0, "PK\x03\x04"sv, "a zip archive", "a PyTorch checkpoint is one too: export it to ONNX"},
    {0, "PK\x05\x06"sv, "an empty zip archive", ""},
    {0,
     "\x7f"sv
     "ELF",
     "an ELF program or library", ""},
    {0, "\x1f\x8b"sv, "a gzip archive", "unpack it first"},
    {0,
     "\xfd"
     "7zXZ"sv,
     "an xz archive", "unpack it first"},
    {0, "\x28\xb5\x2f\xfd"sv, "a zstd archive", "unpack it first"},
    {257, "ustar"sv, "a tar archive", "unpack it first"},
    {0,
     "\x89"
     "HDF\r\n"sv,
     "an HDF5 file", "export the Keras model to ONNX"},
    {0, "\x89PNG"sv, "a PNG image", ""},
    {0, "\xff\xd8\xff"sv, "a JPEG image", ""},
    {0, "\x93NUMPY"sv, "a numpy array", ""},
    {0, "GGUF"sv, "a GGUF model", ""},
    {0, "ORTM"sv, "an ONNX Runtime model", "use the .onnx file that it was made from"},
    {4, "ORTM"sv, "an ONNX Runtime model", "use the .onnx file that it was made from"},
    {0, "DPM1"sv, "a .dpm model", "it needs no importer: give it the extension .dpm"},
    {0, "%PDF"sv, "a PDF document", ""},
    {0, "\x80\x02"sv, "a Python pickle", "export the model to ONNX"},
};

bool IsSpace(uint8_t byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

// Bytes that no protobuf message consists of alone: the version of an ONNX model has the tag 0x08.
bool IsText(std::span<const uint8_t> head) {
  return std::all_of(head.begin(), head.end(),
                     [](uint8_t byte) { return IsSpace(byte) || (byte >= ' ' && byte < 0x7f); });
}

bool BeginsLike(std::string_view text, std::string_view word) {
  return text.size() >= word.size() && std::equal(word.begin(), word.end(), text.begin(), [](char a, char b) {
           return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b - 'A' + 'a') : b);
         });
}

// Files of other model formats are models too.
Status Foreign(std::string_view description, const char* advice = "") {
  if (description.size() > 5 && description.substr(description.size() - 5) == "model")
    return Error(StatusCode::kModel, "is {}, which cannot be read", description).Advise(advice);
  return Error(StatusCode::kModel, "is {}, not a model", description).Advise(advice);
}

}  // namespace

Status RefuseForeignFile(std::span<const uint8_t> bytes) {
  if (bytes.empty()) return Error(StatusCode::kModel, "is empty (0 bytes), not a model");
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const Signature& it : kSignatures)
    if (all.size() >= it.offset + it.bytes.size() && all.substr(it.offset, it.bytes.size()) == it.bytes)
      return Foreign(it.description, it.advice);
  const std::span<const uint8_t> head = bytes.first(std::min<size_t>(bytes.size(), 256));
  if (!IsText(head)) return {};
  const auto start = static_cast<size_t>(std::find_if_not(head.begin(), head.end(), IsSpace) - head.begin());
  if (start == head.size()) return Foreign("only white space");
  const std::string_view text = all.substr(start);
  if (BeginsLike(text, "<!doctype html") || BeginsLike(text, "<html"))
    return Foreign("an HTML page", "the download returned a web page instead of the file");
  if (BeginsLike(text, "<?xml")) return Foreign("an XML file");
  if (text[0] == '{' || text[0] == '[') return Foreign("a JSON file");
  return Foreign("a text file");
}

}  // namespace deputy::host
