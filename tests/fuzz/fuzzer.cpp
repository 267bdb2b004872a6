// A target under libFuzzer.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "fuzz/target.hpp"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t limit);

namespace deputy::fuzz {

void Fail(std::string_view promise, std::string_view detail) {
  std::fprintf(stderr, "broken promise: %.*s\n%.*s\n", static_cast<int>(promise.size()), promise.data(),
               static_cast<int>(detail.size()), detail.data());
  std::abort();
}

}  // namespace deputy::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  deputy::fuzz::CheckInput({data, size});
  return 0;
}

// libFuzzer's own changes once in eight times, since they find what the mutator of a target leaves out.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t limit, unsigned seed) {
  deputy::fuzz::Random random(seed);
  if (random.OneIn(8)) return LLVMFuzzerMutate(data, size, limit);
  deputy::fuzz::Bytes input(data, data + size);
  for (size_t changes = 1 + random.Below(4); changes > 0; --changes) deputy::fuzz::MutateInput(input, random);
  if (input.size() > limit) input.resize(limit);
  std::copy(input.begin(), input.end(), data);
  return input.size();
}
