// Answers of the probe process: frames on a pipe, each with a magic number, the probe's nonce, its length and a
// checksum. The other end runs foreign code, so every byte is checked; only a frame is an answer, an exit status is
// not.
//
// All numbers little endian. Frame: magic u32, kind u32, nonce u64, length u32, FNV-1a of the payload u32, payload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plugin/discovery/description.hpp"
#include "plugin/discovery/rejection.hpp"
#include "plugin/discovery/table_check.hpp"

namespace deputy::host {

inline constexpr uint32_t kProbeMagic = 0x42505044u;  // "DPPB"
inline constexpr size_t kProbeHeaderSize = 24;
// All delegates that a plugin may have, each with the longest description that the ABI allows (about 0.8 MB).
inline constexpr size_t kMaxProbePayload = size_t{kMaxDelegates} << 20;

// The next step of the probe process; the last one received tells where it ended.
// From kOpen on the delegates are tried, one after another, which may take longer.
enum class ProbeStage : uint32_t {
  kStart = 0,
  kLoad = 1,
  kQuery = 2,
  kInit = 3,
  kDescribe = 4,
  kOpen = 5,
  kCompile = 6,
  kClose = 7
};
const char* TextOf(ProbeStage stage);  // "while loading the library"

std::vector<uint8_t> EncodeStage(uint64_t nonce, ProbeStage stage);
// The libraries that are mapped so far; the last one received counts, also where no answer follows.
std::vector<uint8_t> EncodeMapped(uint64_t nonce, const std::vector<PluginPart>& parts);
std::vector<uint8_t> EncodeReply(uint64_t nonce, const Checked<PluginDescription>& reply);

// Decodes the answer as it arrives, in pieces of any size.
class ProbeStream {
 public:
  explicit ProbeStream(uint64_t nonce) : nonce_(nonce) {}

  // False: the bytes are not in the protocol; fault() says why, and nothing more is read.
  bool Feed(std::span<const uint8_t> bytes);

  const std::string& fault() const { return fault_; }
  ProbeStage stage() const { return stage_; }
  // Bytes of a frame that has begun and not ended.
  size_t pending() const { return buffer_.size(); }
  const std::vector<PluginPart>& mapped() const { return mapped_; }
  const std::optional<Checked<PluginDescription>>& reply() const { return reply_; }

 private:
  bool Fail(std::string fault);
  bool TakeFrame(uint32_t kind, std::span<const uint8_t> payload);

  uint64_t nonce_;
  std::vector<uint8_t> buffer_;
  std::string fault_;
  ProbeStage stage_ = ProbeStage::kStart;
  std::vector<PluginPart> mapped_;
  std::optional<Checked<PluginDescription>> reply_;
};

}  // namespace deputy::host
