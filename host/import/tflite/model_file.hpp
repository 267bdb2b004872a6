// The bytes of a .tflite file as FlatBuffers tables, after FlatBuffers' verifier has seen that nothing points outside.
// Parts of a FlatBuffer may be shared, so that a small file unfolds to a huge graph; all that is read through here is
// counted, and may not add up to much more than the file has bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "import/importer.hpp"
#include "tflite_generated.h"

namespace deputy::host::tflite_import {

namespace fb = ::deputy::tflite;

// "TFL3" behind the offset of the root.
bool IsModelFile(std::span<const uint8_t> head);

// One file. [one-thread]
class ModelFile {
 public:
  static Result<ModelFile> Open(const ImportSource& source);

  const fb::Model& model() const { return *fb::GetModel(structure_.data()); }
  // What keeps constants alive that point into the file; null when they must be copied.
  const std::shared_ptr<const void>& keep() const { return keep_; }

  // The elements of a list; empty where it is left out.
  template <class T>
  Result<std::vector<int64_t>> Ints(const flatbuffers::Vector<T>* list);
  Result<std::vector<float>> Floats(const flatbuffers::Vector<float>* list);
  Result<std::string> Text(const flatbuffers::String* text);
  // The bytes of a buffer; empty for one that holds nothing.
  Result<std::span<const uint8_t>> Buffer(uint32_t index) const;
  // Counts what is read, and what a constant takes that is a copy.
  Status Spend(size_t bytes);
  Status SpendCopy(size_t bytes);

  // The options of an operator, or what else is any table until it is read, as the table that they are; null when they
  // break the rules of FlatBuffers or have far more tables than any.
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

  std::span<const uint8_t> file_;       // all
  std::span<const uint8_t> structure_;  // what FlatBuffers see of it: the first 2 GiB, aligned
  std::shared_ptr<const void> keep_;
  std::shared_ptr<const void> copy_;  // of the file, where the caller's bytes were not aligned
  size_t budget_, copy_budget_;
};

template <class T>
Result<std::vector<int64_t>> ModelFile::Ints(const flatbuffers::Vector<T>* list) {
  if (list == nullptr) return std::vector<int64_t>();
  DEPUTY_RETURN_IF_ERROR(Spend(list->size() * sizeof(int64_t)));
  std::vector<int64_t> ints(list->size());
  for (flatbuffers::uoffset_t i = 0; i < list->size(); ++i) ints[i] = static_cast<int64_t>(list->Get(i));
  return ints;
}

}  // namespace deputy::host::tflite_import
