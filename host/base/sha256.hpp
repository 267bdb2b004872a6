// SHA-256 (FIPS 180-4): for lists that other programs check, too (sha256sum). Data that only the host reads is named by
// the faster digest of digest.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/digest.hpp"

namespace deputy::host {

class Sha256 {
 public:
  // kPortable: without the CPU's instructions for it, where it has them.
  enum class Code { kBest, kPortable };
  Sha256() : Sha256(Code::kBest) {}
  explicit Sha256(Code code);
  Sha256& Add(std::span<const uint8_t> bytes);
  // Once, at the end.
  Digest Finish();

 private:
  void Compress(const uint8_t* block);

  const bool uses_instructions_;
  std::array<uint32_t, 8> state_;
  std::array<uint8_t, 64> block_{};
  size_t filled_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace deputy::host
