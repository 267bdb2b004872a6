// A digest that names data by content: BLAKE2b (RFC 7693) with 32 bytes of output, without a key.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace deputy::host {

using Digest = std::array<uint8_t, 32>;

// Lower-case hexadecimal, 64 characters.
std::string HexText(const Digest& digest);

class Digester {
 public:
  Digester();

  Digester& Add(std::span<const uint8_t> bytes);
  // Prefixed with its length, so that two texts are never equal to the same bytes split elsewhere.
  Digester& AddText(std::string_view text);
  Digester& AddNumber(uint64_t number);

  // Once, at the end.
  Digest Finish();

 private:
  void Compress(const uint8_t* block, bool last);

  std::array<uint64_t, 8> state_;
  std::array<uint8_t, 128> block_{};
  size_t filled_ = 0;
  uint64_t counted_ = 0;
};

}  // namespace deputy::host
