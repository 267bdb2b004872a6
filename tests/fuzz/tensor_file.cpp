// Files of one tensor: numpy's .npy, and ONNX's TensorProto, which is also read as the elements of a sequence.
#include "format/tensor_file.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "deputy/model_value.hpp"
#include "fuzz/onnx_message.hpp"
#include "fuzz/target.hpp"
#include "fuzz/temporary_file.hpp"
#include "import/importer.hpp"

extern "C" const deputy::host::Importer* deputy_importer_v1(const char* build);

namespace deputy::fuzz {
namespace {

constexpr size_t kMostBytes = 8 * 1024;
constexpr std::string_view kNumpy("\x93NUMPY", 6);
constexpr std::string_view kWords[] = {"'descr': ",
                                       "'shape': ",
                                       "'fortran_order': ",
                                       "True",
                                       "False",
                                       "(",
                                       ")",
                                       "{",
                                       "}",
                                       ", ",
                                       "'<f4'",
                                       "'|b1'",
                                       "'<i8'",
                                       "-1",
                                       "0, ",
                                       "1, ",
                                       "9223372036854775807, ",
                                       "4294967296, ",
                                       "'",
                                       "\"",
                                       "\n"};

bool IsNumpy(std::span<const uint8_t> input) { return TextOf(input).substr(0, kNumpy.size()) == kNumpy; }

void RequireRefusal(const Status& status) {
  Require(!status.message().empty(), "an error has a message", status.ToString());
  Require(status.code() != StatusCode::kInternal && status.code() != StatusCode::kUnknown,
          "a bad input is no internal error", status.ToString());
}

void RequireEqual(const Tensor& a, const Tensor& b) {
  Require(a.dtype() == b.dtype() && a.shape() == b.shape(), "a tensor that was written has the same type");
  if (a.dtype() == DType::kString) return;
  Require(a.byte_size() == b.byte_size() && (a.byte_size() == 0 || std::memcmp(a.data(), b.data(), a.byte_size()) == 0),
          "a tensor that was written has the same elements");
}

void CheckNumpy(std::span<const uint8_t> input) {
  const Result<Tensor> tensor = host::ParseNpy(input);
  if (!tensor.ok()) return RequireRefusal(tensor.status());
  const auto path = TemporaryFolder() / "tensor.npy";
  const Status written = host::WriteNpyFile(*tensor, path);
  Require(written.ok(), "a tensor that was read can be written", written.ToString());
  const Result<Tensor> again = host::ReadNpyFile(path);
  Require(again.ok(), "a tensor that was written can be read", again.status().ToString());
  RequireEqual(*tensor, *again);
}

void CheckMessage(std::span<const uint8_t> input) {
  const host::Importer& importer = *deputy_importer_v1(host::kImporterBuild);
  for (const ValueKind kind : {ValueKind::kSequence, ValueKind::kOptionalTensor, ValueKind::kOptionalSequence})
    if (const auto value = importer.ReadValue(input, kind, DType::kFloat32); !value.ok())
      RequireRefusal(value.status());
  const Result<Tensor> tensor = importer.ReadTensor(input);
  if (!tensor.ok()) return RequireRefusal(tensor.status());
  const Result<std::string> written = importer.ExportTensor(*tensor, "t");
  if (!written.ok()) return RequireRefusal(written.status());
  const Bytes bytes = BytesOf(*written);
  const Result<Tensor> again = importer.ReadTensor(bytes);
  Require(again.ok(), "a tensor that was written can be read", again.status().ToString());
  RequireEqual(*tensor, *again);
}

}  // namespace

void MutateInput(Bytes& input, Random& random) {
  if (!IsNumpy(input)) return MutateMessage(input, host::onnx_import::Message::kTensor, random, kMostBytes);
  if (random.OneIn(3)) return ChangeBytes(input, random, kMostBytes);
  const std::string_view word = random.Of(kWords);
  const size_t at = kNumpy.size() + random.Below(std::min<size_t>(input.size(), 128) - kNumpy.size());
  if (random.OneIn(2))
    input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), word.begin(), word.end());
  else
    std::copy_n(word.begin(), std::min(word.size(), input.size() - at),
                input.begin() + static_cast<std::ptrdiff_t>(at));
}

void CheckInput(std::span<const uint8_t> input) { return IsNumpy(input) ? CheckNumpy(input) : CheckMessage(input); }

}  // namespace deputy::fuzz
