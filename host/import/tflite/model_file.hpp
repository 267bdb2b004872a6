// The bytes of a .tflite file as FlatBuffers tables, checked by FlatBuffers' verifier against offsets outside of the
// file. Parts of a FlatBuffer may be shared, so that a small file can expand to a huge graph; bytes read through this
// class are counted, and their sum is bounded by a multiple of the file's size.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "import/importer.hpp"
#include "tflite_generated.h"

namespace deputy::host::tflite_import {

namespace fb = ::deputy::tflite;

// One file. [one-thread]
class ModelFile {
 public:
  static Result<ModelFile> Open(const ImportSource& source);

  const fb::Model& model() const { return *fb::GetModel(structure_.data()); }
  // Keeps constants alive that point into the file; null when they must be copied.
  const std::shared_ptr<const void>& keep() const { return keep_; }

  // The elements of a list; empty if it is omitted.
  template <class T>
  Result<std::vector<int64_t>> Ints(const flatbuffers::Vector<T>* list);
  Result<std::vector<float>> Floats(const flatbuffers::Vector<float>* list);
  Result<std::string> Text(const flatbuffers::String* text);
  // The bytes of a buffer; empty for one without data.
  Result<std::span<const uint8_t>> Buffer(uint32_t index) const;
  // Bytes behind the FlatBuffer, which a table names by their place in the file.
  Result<std::span<const uint8_t>> Outside(uint64_t offset, uint64_t size, const char* subject) const;
  // Counts bytes that are read, and the size of constants that are copied.
  Status Spend(size_t bytes);
  Status SpendCopy(size_t bytes);

  // The options of an operator, an untyped table in the schema, as a table of their type; null if they are invalid
  // FlatBuffers or have too many tables.
  template <class Options>
  const Options* Verified(const fb::AnyTable* table) const {
    const auto* options = static_cast<const Options*>(static_cast<const void*>(table));
    flatbuffers::Verifier verifier(structure_.data(), structure_.size(), kOptionsDepth, kMostTables);
    return options->Verify(verifier) ? options : nullptr;
  }

 private:
  static constexpr flatbuffers::uoffset_t kOptionsDepth = 8, kMostTables = 256;

  ModelFile(std::span<const uint8_t> file, std::span<const uint8_t> structure, std::shared_ptr<const void> keep,
            std::shared_ptr<const void> copy);

  std::span<const uint8_t> file_;       // the whole file
  std::span<const uint8_t> structure_;  // the part with FlatBuffers: the first 2 GiB, aligned
  std::shared_ptr<const void> keep_;
  std::shared_ptr<const void> copy_;  // of the file, if the caller's bytes were not aligned
  size_t budget_, copy_budget_;
};

template <class T>
Result<std::vector<int64_t>> ModelFile::Ints(const flatbuffers::Vector<T>* list) {
  if (list == nullptr) return std::vector<int64_t>();
  DEPUTY_RETURN_IF_ERROR(Spend(list->size() * sizeof(int64_t)));
  std::vector<int64_t> ints(list->size());
  for (flatbuffers::uoffset_t i = 0; i < list->size(); ++i) {
    T element;  // copied, since the verifier accepts lists of 8-byte numbers at any multiple of 4
    std::memcpy(&element, list->Data() + i * sizeof(T), sizeof(T));
    ints[i] = static_cast<int64_t>(element);
  }
  return ints;
}

}  // namespace deputy::host::tflite_import
