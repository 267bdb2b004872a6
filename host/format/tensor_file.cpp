#include "format/tensor_file.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "base/file_writer.hpp"
#include "base/printable.hpp"

namespace deputy::host {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kMostDims = 64;

struct Spelling {
  std::string_view descr;
  DType dtype;
};

constexpr Spelling kSpellings[] = {
    {"<f4", DType::kFloat32}, {"<f8", DType::kFloat64}, {"<f2", DType::kFloat16}, {"|b1", DType::kBool},
    {"|i1", DType::kInt8},    {"|u1", DType::kUint8},   {"<i2", DType::kInt16},   {"<u2", DType::kUint16},
    {"<i4", DType::kInt32},   {"<u4", DType::kUint32},  {"<i8", DType::kInt64},   {"<u8", DType::kUint64},
};

Status Damaged(const char* problem) {
  return Error(StatusCode::kInvalidArgument, "is not a valid .npy file: {}", problem);
}

struct NpyHeader {
  std::string descr;
  std::optional<bool> fortran_order;
  std::optional<Shape> shape;
};

// The header is a Python dict literal of three known keys.
class NpyHeaderParser {
 public:
  explicit NpyHeaderParser(std::string_view text) : text_(text) {}

  Result<NpyHeader> Run() {
    NpyHeader header;
    if (!Take('{')) return Damaged("the header is not a dict");
    while (!Take('}')) {
      const std::optional<std::string> key = Quoted();
      if (!key || !Take(':') || !Value(*key, header)) return Damaged("the header is malformed");
      if (!Take(',') && Peek() != '}') return Damaged("the header is malformed");
    }
    if (header.descr.empty() || !header.fortran_order || !header.shape) return Damaged("the header lacks a key");
    return header;
  }

 private:
  char Peek() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) text_.remove_prefix(1);
    return text_.empty() ? '\0' : text_[0];
  }
  bool Take(char wanted) {
    if (Peek() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool TakeWord(std::string_view word) {
    (void)Peek();
    if (text_.substr(0, word.size()) != word) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  std::optional<std::string> Quoted() {
    const char quote = Peek();
    if (quote != '\'' && quote != '"') return std::nullopt;
    const size_t end = text_.find(quote, 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string value(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return value;
  }
  std::optional<Shape> Tuple() {
    if (!Take('(')) return std::nullopt;
    Shape shape;
    while (!Take(')')) {
      (void)Peek();
      int64_t extent = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), extent);
      if (error != std::errc() || extent < 0 || shape.size() == kMostDims) return std::nullopt;
      text_.remove_prefix(static_cast<size_t>(end - text_.data()));
      shape.push_back(extent);
      if (!Take(',') && Peek() != ')') return std::nullopt;
    }
    return shape;
  }
  bool Value(const std::string& key, NpyHeader& header) {
    if (key == "descr") {
      std::optional<std::string> descr = Quoted();
      if (descr) header.descr = std::move(*descr);
      return descr.has_value();
    }
    if (key == "fortran_order") {
      if (TakeWord("True")) header.fortran_order = true;
      if (TakeWord("False")) header.fortran_order = false;
      return header.fortran_order.has_value();
    }
    if (key == "shape") header.shape = Tuple();
    return key == "shape" && header.shape.has_value();
  }

  std::string_view text_;
};

Result<DType> DTypeOf(std::string descr) {
  if (descr.size() == 3 && descr[0] == '>' && descr[2] != '1')
    return Error(StatusCode::kNotSupported, "has big-endian dtype '{}', which is not supported", Printable(descr));
  if (descr.size() == 3 && descr[2] == '1') descr[0] = '|';
  if (descr.size() == 3 && descr[0] == '=') descr[0] = '<';
  for (const Spelling& it : kSpellings)
    if (it.descr == descr) return it.dtype;
  return Error(StatusCode::kNotSupported, "has dtype '{}', which is not supported", Printable(descr));
}

Result<Tensor> CopyOf(DType dtype, Shape shape, std::span<const uint8_t> bytes) {
  DEPUTY_ASSIGN_OR_RETURN(const size_t needed, ByteSize(dtype, shape));
  if (needed != bytes.size())
    return Error(StatusCode::kInvalidArgument, "has {} bytes of data, expected {}", bytes.size(), needed);
  if (dtype == DType::kBool && std::any_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte > 1; }))
    return Error(StatusCode::kInvalidArgument, "has a bool that is neither 0 nor 1");
  DEPUTY_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(dtype, std::move(shape)));
  if (!bytes.empty()) std::memcpy(tensor.mutable_data(), bytes.data(), bytes.size());
  return tensor;
}

}  // namespace

Result<Tensor> ParseNpy(std::span<const uint8_t> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.substr(0, kMagic.size()) != kMagic || bytes.size() < 12) return Damaged("the magic number is wrong");
  const uint8_t major = bytes[6];
  if (major < 1 || major > 3) return Damaged("the format version is unknown");
  const size_t start = major == 1 ? 10 : 12;
  size_t size = bytes[8] | static_cast<size_t>(bytes[9]) << 8;
  if (major > 1) size |= static_cast<size_t>(bytes[10]) << 16 | static_cast<size_t>(bytes[11]) << 24;
  if (size > bytes.size() - start) return Damaged("the header is truncated");
  DEPUTY_ASSIGN_OR_RETURN(const NpyHeader header, NpyHeaderParser(text.substr(start, size)).Run());
  DEPUTY_ASSIGN_OR_RETURN(const DType dtype, DTypeOf(header.descr));
  if (*header.fortran_order && header.shape->size() > 1)
    return Error(StatusCode::kNotSupported, "is in Fortran order").Advise("save numpy.ascontiguousarray(x)");
  return CopyOf(dtype, *header.shape, bytes.subspan(start + size));
}

Result<Tensor> ReadNpyFile(const std::filesystem::path& path) {
  DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  Result<Tensor> tensor = ParseNpy(file->bytes());
  if (tensor.ok()) return tensor;
  return std::move(tensor).status().At(path.string());
}

Status WriteNpyFile(const Tensor& tensor, const std::filesystem::path& path) {
  const auto* const spelling = std::find_if(std::begin(kSpellings), std::end(kSpellings),
                                            [&](const Spelling& it) { return it.dtype == tensor.dtype(); });
  if (spelling == std::end(kSpellings))
    return Error(StatusCode::kNotSupported, "numpy has no dtype {}", NameOf(tensor.dtype())).At(path.string());
  std::string header = "{'descr': '" + std::string(spelling->descr) + "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < tensor.shape().size(); ++i) header += (i == 0 ? "" : ", ") + std::to_string(tensor.shape()[i]);
  if (tensor.shape().size() == 1) header += ',';
  header += "), }";
  constexpr size_t kPrefix = 10, kAlignment = 64;
  header.append(kAlignment - 1 - (kPrefix + header.size()) % kAlignment, ' ');
  header += '\n';
  std::string prefix(kMagic);
  prefix += {1, 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  prefix += header;
  const std::span<const uint8_t> pieces[] = {
      {reinterpret_cast<const uint8_t*>(prefix.data()), prefix.size()},
      {static_cast<const uint8_t*>(tensor.data()), tensor.byte_size()},
  };
  return WriteFileAtomically(path, pieces);
}

Result<Tensor> ReadRawFile(const std::filesystem::path& path, DType dtype, Shape shape) {
  DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  Result<Tensor> tensor = CopyOf(dtype, std::move(shape), file->bytes());
  if (tensor.ok()) return tensor;
  return std::move(tensor).status().At(path.string());
}

}  // namespace deputy::host
