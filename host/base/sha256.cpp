#include "base/sha256.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cstring>

namespace deputy::host {
namespace {

// FIPS 180-4, section 4.2.2: the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> kRoundConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t BigEndian(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | uint32_t{bytes[3]};
}

#if defined(__x86_64__)

// SSSE3, SSE4.1 and SHA, by Intel's "Architecture Instruction Set Extensions", chapter on SHA: a table of bits.
bool FindInstructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kSsse3 = 1u << 9, kSse41 = 1u << 19, kSha = 1u << 29;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kSsse3) == 0 || (c & kSse41) == 0) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & kSha) != 0;
}

// The instructions hold the state as (a, b, e, f) and (c, d, g, h), the first in the highest lane, and do two rounds
// each.
__attribute__((target("ssse3,sse4.1,sha"))) void CompressByInstructions(std::array<uint32_t, 8>& state,
                                                                        const uint8_t* block) {
  const auto load = [](const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); };
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const __m128i badc = _mm_shuffle_epi32(load(&state[0]), 0xb1), hgfe = _mm_shuffle_epi32(load(&state[4]), 0x1b);
  const __m128i abef_before = _mm_alignr_epi8(badc, hgfe, 8), cdgh_before = _mm_blend_epi16(hgfe, badc, 0xf0);
  __m128i abef = abef_before, cdgh = cdgh_before;
  __m128i words[4];  // the last 16 of the message schedule
  for (size_t i = 0; i < 16; ++i) {
    __m128i& next = words[i % 4];
    if (i < 4) {
      next = _mm_shuffle_epi8(load(block + 16 * i), big_endian);
    } else {
      const __m128i &before = words[(i + 3) % 4], before_that = words[(i + 2) % 4];
      const __m128i sum =
          _mm_add_epi32(_mm_sha256msg1_epu32(next, words[(i + 1) % 4]), _mm_alignr_epi8(before, before_that, 4));
      next = _mm_sha256msg2_epu32(sum, before);
    }
    const __m128i added = _mm_add_epi32(next, load(&kRoundConstants[4 * i]));
    cdgh = _mm_sha256rnds2_epu32(cdgh, abef, added);
    abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(added, 0x0e));
  }
  const __m128i feba = _mm_shuffle_epi32(_mm_add_epi32(abef, abef_before), 0x1b);
  const __m128i dchg = _mm_shuffle_epi32(_mm_add_epi32(cdgh, cdgh_before), 0xb1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(&state[0]), _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(&state[4]), _mm_alignr_epi8(dchg, feba, 8));
}

// The question takes microseconds in a virtual machine.
bool HasInstructions() {
  static const bool has = FindInstructions();
  return has;
}

#else

bool HasInstructions() { return false; }
void CompressByInstructions(std::array<uint32_t, 8>&, const uint8_t*) {}

#endif

}  // namespace

Sha256::Sha256(Code code)
    : uses_instructions_(code == Code::kBest && HasInstructions()), state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                                                           0xa54ff53a, 0x510e527f, 0x9b05688c,
                                                                           0x1f83d9ab, 0x5be0cd19} {}

Sha256& Sha256::Add(std::span<const uint8_t> bytes) {
  bytes_ += bytes.size();
  while (!bytes.empty()) {
    if (filled_ == 0 && bytes.size() >= block_.size()) {
      Compress(bytes.data());
      bytes = bytes.subspan(block_.size());
      continue;
    }
    const size_t count = std::min(bytes.size(), block_.size() - filled_);
    std::memcpy(block_.data() + filled_, bytes.data(), count);
    filled_ += count;
    bytes = bytes.subspan(count);
    if (filled_ < block_.size()) break;
    Compress(block_.data());
    filled_ = 0;
  }
  return *this;
}

Digest Sha256::Finish() {
  const uint64_t bits = bytes_ * 8;
  block_[filled_++] = 0x80;
  if (filled_ > block_.size() - sizeof bits) {
    std::fill(block_.begin() + static_cast<ptrdiff_t>(filled_), block_.end(), uint8_t{0});
    Compress(block_.data());
    filled_ = 0;
  }
  std::fill(block_.begin() + static_cast<ptrdiff_t>(filled_), block_.end(), uint8_t{0});
  for (size_t i = 0; i < sizeof bits; ++i) block_[block_.size() - 1 - i] = static_cast<uint8_t>(bits >> 8 * i);
  Compress(block_.data());
  Digest digest;
  for (size_t i = 0; i < digest.size(); ++i) digest[i] = static_cast<uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

void Sha256::Compress(const uint8_t* block) {
  if (uses_instructions_) return CompressByInstructions(state_, block);
  std::array<uint32_t, 64> w;
  for (size_t i = 0; i < 16; ++i) w[i] = BigEndian(block + 4 * i);
  for (size_t i = 16; i < w.size(); ++i) {
    const uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
    const uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (size_t i = 0; i < w.size(); ++i) {
    const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRoundConstants[i] + w[i];
    const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const std::array<uint32_t, 8> mixed = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < state_.size(); ++i) state_[i] += mixed[i];
}

}  // namespace deputy::host
