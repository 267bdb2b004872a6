#include "plugin/checks/unwritten.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "delegate/kept_outputs.hpp"

namespace deputy::host {
namespace {

constexpr size_t kWord = 8;

// A multiplication and a shift are enough: neighbours differ in all bytes, and the compiler makes vectors of it.
uint64_t PatternAt(size_t word) {
  const uint64_t mixed = (static_cast<uint64_t>(word) + 1) * 0x9E3779B97F4A7C15u;
  return mixed ^ (mixed >> 29);
}

// The pattern beside two buffers, unit by unit: visit(offset, bytes, pattern) until it returns false.
template <class Visit>
void ForEachUnit(size_t size, size_t unit, Visit&& visit) {
  for (size_t at = 0; at < size;) {
    const uint64_t word = PatternAt(at / kWord);
    uint8_t pattern[kWord];
    std::memcpy(pattern, &word, kWord);
    const size_t end = std::min(size, at + kWord);
    for (size_t begin = at; begin < end; begin += unit)
      if (!visit(begin, std::min(unit, end - begin), pattern + (begin - at))) return;
    at = end;
  }
}

bool HasZeroUnit(uint64_t word, size_t unit) {
  // The lowest unit that is zero borrows, and its highest bit was not set: the known trick for the end of a string.
  const uint64_t ones = unit == 1 ? 0x0101010101010101u : unit == 2 ? 0x0001000100010001u : 0x0000000100000001u;
  return ((word - ones) & ~word & (ones << (8 * unit - 1))) != 0;
}

bool Overlap(const deputy_tensor& a, const deputy_tensor& b) {
  const auto x = reinterpret_cast<uintptr_t>(a.data), y = reinterpret_cast<uintptr_t>(b.data);
  return x < y + b.byte_size && y < x + a.byte_size;
}

bool IsAlone(const RunArgs& args, size_t output) {
  const deputy_tensor& tensor = *args.outputs[output];
  const auto shares = [&](const deputy_tensor* other) {
    return other != nullptr && other != &tensor && IsReadable(*other) && Overlap(tensor, *other);
  };
  return std::none_of(args.inputs.begin(), args.inputs.end(), shares) &&
         std::none_of(args.outputs.begin(), args.outputs.end(), shares);
}

// The plugin gets the descriptors themselves and could change them: after a run only these copies are used.
class FilledOutputs final : public OutputAllocator {
 public:
  FilledOutputs(const RunArgs& args, bool by_element) : args_(args), by_element_(by_element) {
    filled_.reserve(args.outputs.size());
  }

  void Fill(size_t output) {
    const deputy_tensor* tensor = args_.outputs[output];
    if (tensor == nullptr || !IsReadable(*tensor) || !IsAlone(args_, output)) return;
    FillPattern(tensor->data, tensor->byte_size, second_);
    const auto known = std::find_if(filled_.begin(), filled_.end(), [&](const auto& f) { return f.output == output; });
    Filled& filled = known != filled_.end() ? *known : filled_.emplace_back();
    filled.output = output;
    filled.data = static_cast<uint8_t*>(tensor->data);
    filled.size = tensor->byte_size;
    filled.unit = UnitOf(*tensor, by_element_);
  }

  Status Allocate(deputy_tensor* tensor, std::span<const int64_t> dims) override {
    DEPUTY_RETURN_IF_ERROR(args_.allocator->Allocate(tensor, dims));
    const auto output = std::find(args_.outputs.begin(), args_.outputs.end(), tensor);
    if (output != args_.outputs.end()) Fill(static_cast<size_t>(output - args_.outputs.begin()));
    return {};
  }

  // After the first run: drops the outputs that are written, and fills the others with the inverted pattern. False when
  // none is left.
  bool KeepSuspects() {
    std::erase_if(filled_, [](const Filled& one) { return !HoldsPattern(one.data, one.size, one.unit); });
    second_ = true;
    for (Filled& one : filled_) {
      one.result.assign(one.data, one.data + one.size);
      FillPattern(one.data, one.size, true);
    }
    return !filled_.empty();
  }

  // After the second run.
  std::optional<Unwritten> Compare() const {
    for (const Filled& one : filled_) {
      if (one.result.size() != one.size) continue;  // another size than in the first run, or not in it
      if (auto found = CompareRuns(one.output, one.result.data(), one.data, one.size, one.unit)) return found;
    }
    return std::nullopt;
  }

 private:
  struct Filled {
    size_t output = 0;
    uint8_t* data = nullptr;
    size_t size = 0, unit = 0;
    std::vector<uint8_t> result;  // of the first run, if it looks like the pattern
  };
  const RunArgs& args_;
  const bool by_element_;
  bool second_ = false;
  std::vector<Filled> filled_;
};

}  // namespace

void FillPattern(void* data, size_t size, bool inverted) {
  auto* bytes = static_cast<uint8_t*>(data);
  const uint64_t flip = inverted ? ~uint64_t{0} : 0;
  const size_t words = size / kWord;
  for (size_t i = 0; i < words; ++i) {
    const uint64_t word = PatternAt(i) ^ flip;
    std::memcpy(bytes + i * kWord, &word, kWord);
  }
  const uint64_t last = PatternAt(words) ^ flip;
  std::memcpy(bytes + words * kWord, &last, size % kWord);
}

bool HoldsPattern(const void* data, size_t size, size_t unit) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  const size_t words = size / kWord;
  for (size_t i = 0; i < words; ++i) {
    uint64_t word;
    std::memcpy(&word, bytes + i * kWord, kWord);
    if (HasZeroUnit(word ^ PatternAt(i), unit)) return true;
  }
  const uint64_t last = PatternAt(words);
  uint8_t pattern[kWord];
  std::memcpy(pattern, &last, kWord);
  const size_t rest = size % kWord;
  for (size_t at = 0; at < rest; at += unit)
    if (std::memcmp(bytes + words * kWord + at, pattern + at, std::min(unit, rest - at)) == 0) return true;
  return false;
}

std::optional<Unwritten> CompareRuns(size_t output, const void* first, const void* second, size_t size, size_t unit) {
  const auto *one = static_cast<const uint8_t*>(first), *two = static_cast<const uint8_t*>(second);
  Unwritten found{output, size, 0, size};
  ForEachUnit(size, unit, [&](size_t at, size_t length, const uint8_t* pattern) {
    bool kept = true;
    for (size_t i = 0; i < length; ++i)
      kept = kept && one[at + i] == pattern[i] && two[at + i] == static_cast<uint8_t>(~pattern[i]);
    if (!kept) return true;
    found.first = std::min(found.first, at);
    found.bytes += length;
    return true;
  });
  if (found.bytes == 0) return std::nullopt;
  return found;
}

std::string Describe(const Unwritten& found, std::string_view name) {
  const std::string output = fmt::format("its output {} ('{}') was not written", found.output, name);
  if (found.bytes == found.size) return output;
  return fmt::format("{} in full: {} of {} bytes are unchanged, the first at offset {}", output, found.bytes,
                     found.size, found.first);
}

bool IsReadable(const deputy_tensor& tensor) {
  return tensor.memory == DEPUTY_MEMORY_HOST && tensor.data != nullptr && tensor.byte_size != 0;
}

size_t UnitOf(const deputy_tensor& tensor, bool by_element) {
  constexpr size_t kUnit = 4;
  const size_t element = SizeOf(static_cast<DType>(tensor.dtype));
  return by_element && element < kUnit ? std::max<size_t>(element, 1) : kUnit;
}

Result<std::optional<Unwritten>> RunOnPattern(const RunArgs& args, bool by_element,
                                              FunctionRef<Status(const RunArgs&)> run) {
  const KeptOutputs kept;
  FilledOutputs filled(args, by_element);
  for (size_t i = 0; i < args.outputs.size(); ++i) filled.Fill(i);
  RunArgs inside = args;
  if (args.allocator != nullptr) inside.allocator = &filled;
  DEPUTY_RETURN_IF_ERROR(run(inside));
  if (!filled.KeepSuspects()) return std::optional<Unwritten>();
  DEPUTY_RETURN_IF_ERROR(run(inside));
  return filled.Compare();
}

}  // namespace deputy::host
