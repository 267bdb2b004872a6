#include "import/tflite/model_file.hpp"

#include <algorithm>
#include <utility>

namespace deputy::host::tflite_import {
namespace {

constexpr uint32_t kVersion = 3;
constexpr size_t kAlignment = 16;     // of buffers, from the start of the file
constexpr size_t kSmallestTable = 8;  // bytes
constexpr size_t kSharing = 16;       // how often parts of a file may be read again
constexpr size_t kLeastBudget = 1 << 20;
constexpr size_t kZeros = 256 << 20;           // bytes of sparse constants that may exceed that
constexpr flatbuffers::uoffset_t kDepth = 16;  // nested tables; the deepest one read is at depth five

}  // namespace

ModelFile::ModelFile(std::span<const uint8_t> file, std::span<const uint8_t> structure,
                     std::shared_ptr<const void> keep, std::shared_ptr<const void> copy)
    : file_(file),
      structure_(structure),
      keep_(std::move(keep)),
      copy_(std::move(copy)),
      budget_(std::max(file.size() * kSharing, kLeastBudget)),
      copy_budget_(budget_ + kZeros) {}

Result<ModelFile> ModelFile::Open(const ImportSource& source) {
  std::span<const uint8_t> bytes = source.bytes;
  std::shared_ptr<const void> keep = source.keep, copy;
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kAlignment != 0) {
    DEPUTY_ASSIGN_OR_RETURN(Tensor aligned,
                            Tensor::FromValues<uint8_t>(DType::kUint8, {static_cast<int64_t>(bytes.size())}, bytes));
    bytes = aligned.values<uint8_t>();
    keep = copy = aligned.owner();
  }
  const std::span<const uint8_t> structure =
      bytes.first(std::min<size_t>(bytes.size(), FLATBUFFERS_MAX_BUFFER_SIZE - 1));
  const auto tables = static_cast<flatbuffers::uoffset_t>(structure.size() / kSmallestTable);
  flatbuffers::Verifier verifier(structure.data(), structure.size(), kDepth, tables);
  if (!fb::VerifyModelBuffer(verifier))
    return Error(StatusCode::kModel, "is damaged or truncated: its FlatBuffer points outside of the file")
        .Advise("fetch it again");
  ModelFile file(bytes, structure, std::move(keep), std::move(copy));
  if (file.model().version() != kVersion)
    return Error(StatusCode::kIncompatible,
                 "has version {} of the TensorFlow Lite schema; only version {} is supported", file.model().version(),
                 kVersion)
        .Advise("convert the model again with a current converter");
  return file;
}

Status ModelFile::Spend(size_t bytes) {
  if (bytes > budget_) return Error(StatusCode::kModel, "is damaged: its data expands to far more than the file size");
  budget_ -= bytes;
  return {};
}

Status ModelFile::SpendCopy(size_t bytes) {
  if (bytes > copy_budget_) return Error(StatusCode::kModel, "is damaged: its constants are far larger than the file");
  copy_budget_ -= bytes;
  return {};
}

Result<std::vector<float>> ModelFile::Floats(const flatbuffers::Vector<float>* list) {
  if (list == nullptr) return std::vector<float>();
  DEPUTY_RETURN_IF_ERROR(Spend(list->size() * sizeof(float)));
  return std::vector<float>(list->begin(), list->end());
}

Result<std::string> ModelFile::Text(const flatbuffers::String* text) {
  if (text == nullptr) return std::string();
  DEPUTY_RETURN_IF_ERROR(Spend(text->size()));
  return text->str();
}

Result<std::span<const uint8_t>> ModelFile::Buffer(uint32_t index) const {
  const auto* buffers = model().buffers();
  if (buffers == nullptr || index >= buffers->size())
    return Error(StatusCode::kModel, "buffer index {} is out of range", index);
  const fb::Buffer& buffer = *buffers->Get(index);
  if (buffer.data() != nullptr && buffer.data()->size() != 0)
    return std::span<const uint8_t>(buffer.data()->data(), buffer.data()->size());
  if (buffer.offset() <= 1) return std::span<const uint8_t>();
  return Outside(buffer.offset(), buffer.size(), ("buffer " + std::to_string(index)).c_str());
}

Result<std::span<const uint8_t>> ModelFile::Outside(uint64_t offset, uint64_t size, const char* subject) const {
  if (size > file_.size() || offset > file_.size() - size)
    return Error(StatusCode::kModel, "{} with {} bytes at offset {} exceeds the file size of {}", subject, size, offset,
                 file_.size());
  return file_.subspan(offset, size);
}

}  // namespace deputy::host::tflite_import
