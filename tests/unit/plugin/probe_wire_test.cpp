#include "plugin/discovery/probe_wire.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "deputy/abi/ext/options.h"

namespace deputy::host {
namespace {

constexpr uint64_t kNonce = 0x1234567890abcdef;

PluginDescription Example() {
  DelegateDescription delegate;
  delegate.id = "npu";
  delegate.description = "an NPU";
  delegate.flags = DEPUTY_DELEGATE_SERIAL;
  delegate.available = false;
  delegate.unavailable = "no device";
  delegate.options = {{"frequency", DEPUTY_OPTION_FREQUENCY, "clock", "Hz", "3", {}, 0, 0, 2e8, 1e9},
                      {"mode", DEPUTY_OPTION_ENUM, "how", "", "exact", {"exact", "fast"}, 0, 0, 0, 0, true}};
  delegate.extensions = {"deputy.options/1"};
  // A path of the system, which may have any bytes.
  const PluginPart library{"/opt/n\xfcpu/libnpu.so.1", {1, 2, 3, 4, 5}, {6, 7}, true};
  return {"com.example.npu", "Example", "1.2", DEPUTY_ABI_VERSION, {delegate}, {library}, {"socket (2)"}};
}

TEST(ProbeWire, DescriptionComesBackAsItWas) {
  ProbeStream stream(kNonce);
  ASSERT_TRUE(stream.Feed(EncodeReply(kNonce, Example()))) << stream.fault();
  ASSERT_TRUE(stream.reply());
  EXPECT_EQ(std::get<PluginDescription>(*stream.reply()), Example());
}

TEST(ProbeWire, LibrariesArriveBeforeAnyAnswer) {
  ProbeStream stream(kNonce);
  for (const size_t count : {0u, 1u, 2u}) {
    const std::vector<PluginPart> parts(count, {"/opt/libnpu.so.1", {}, {}, false});
    ASSERT_TRUE(stream.Feed(EncodeMapped(kNonce, parts))) << stream.fault();
    EXPECT_EQ(stream.mapped(), parts);
  }
  EXPECT_FALSE(stream.reply());
}

TEST(ProbeWire, R91_ALibraryOfARelativePathIsAFault) {
  ProbeStream stream(kNonce);
  EXPECT_FALSE(stream.Feed(EncodeMapped(kNonce, {{"libnpu.so.1", {}, {}, false}})));
}

TEST(ProbeWire, RefusalComesBackWithItsReason) {
  ProbeStream stream(kNonce);
  ASSERT_TRUE(stream.Feed(EncodeReply(kNonce, Rejection{RejectReason::kInitFailed, "no driver"})));
  EXPECT_EQ(RejectionOf(*stream.reply())->reason, RejectReason::kInitFailed);
  EXPECT_EQ(RejectionOf(*stream.reply())->text, "no driver");
}

TEST(ProbeWire, StagesAndReplyArriveInPiecesOfOneByte) {
  ProbeStream stream(kNonce);
  for (const uint8_t byte : EncodeStage(kNonce, ProbeStage::kInit)) ASSERT_TRUE(stream.Feed({&byte, 1}));
  EXPECT_EQ(stream.stage(), ProbeStage::kInit);
  EXPECT_FALSE(stream.reply());
  for (const uint8_t byte : EncodeReply(kNonce, Example())) ASSERT_TRUE(stream.Feed({&byte, 1}));
  EXPECT_TRUE(stream.reply());
}

TEST(ProbeWire, R91_WrongMagicIsAFault) {
  std::vector<uint8_t> frame = EncodeReply(kNonce, Example());
  frame[0] ^= 1;
  ProbeStream stream(kNonce);
  EXPECT_FALSE(stream.Feed(frame));
  EXPECT_FALSE(stream.reply());
}

TEST(ProbeWire, R91_LengthOfFourGigabytesIsAFaultBeforeAnythingIsAllocated) {
  std::vector<uint8_t> frame = EncodeReply(kNonce, Example());
  std::memset(frame.data() + 16, 0xff, 4);
  ProbeStream stream(kNonce);
  EXPECT_FALSE(stream.Feed(frame));
  EXPECT_EQ(stream.fault(), "a frame declares 4294967295 bytes, the maximum is 67108864");
}

TEST(ProbeWire, R91_AnswerToAnotherProbeIsAFault) {
  ProbeStream stream(kNonce + 1);
  EXPECT_FALSE(stream.Feed(EncodeReply(kNonce, Example())));
}

TEST(ProbeWire, R91_HalfAFrameIsPending) {
  const std::vector<uint8_t> frame = EncodeReply(kNonce, Example());
  ProbeStream stream(kNonce);
  EXPECT_TRUE(stream.Feed(std::span(frame).first(frame.size() / 2)));
  EXPECT_FALSE(stream.reply());
  EXPECT_NE(stream.pending(), 0u);
}

TEST(ProbeWire, R91_WrongChecksumIsAFault) {
  std::vector<uint8_t> frame = EncodeReply(kNonce, Example());
  frame.back() ^= 1;
  ProbeStream stream(kNonce);
  EXPECT_FALSE(stream.Feed(frame));
}

// Gives a frame the length and the checksum of its payload, as an evil plugin can.
void Seal(std::vector<uint8_t>& frame) {
  const auto length = static_cast<uint32_t>(frame.size() - kProbeHeaderSize);
  uint32_t checksum = 2166136261u;
  for (size_t i = kProbeHeaderSize; i < frame.size(); ++i) checksum = (checksum ^ frame[i]) * 16777619u;
  std::memcpy(frame.data() + 16, &length, sizeof length);
  std::memcpy(frame.data() + 20, &checksum, sizeof checksum);
}

TEST(ProbeWire, R91_BytesBehindTheLastFieldAreAFault) {
  std::vector<uint8_t> frame = EncodeReply(kNonce, Example());
  frame.push_back(0);
  Seal(frame);
  ProbeStream stream(kNonce);
  EXPECT_FALSE(stream.Feed(frame));
  EXPECT_EQ(stream.fault(), "its description cannot be read");
}

// With a right checksum, so that the reader behind it is reached.
TEST(ProbeWire, R91_DamagedPayloadsWithRightChecksumsAreSurvived) {
  const std::vector<uint8_t> frame = EncodeReply(kNonce, Example());
  constexpr uint32_t kSeed = 91;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  for (int round = 0; round < 5000; ++round) {
    std::vector<uint8_t> damaged = frame;
    for (uint32_t hits = 1 + random() % 4; hits != 0; --hits)
      damaged[kProbeHeaderSize + random() % (damaged.size() - kProbeHeaderSize)] = static_cast<uint8_t>(random());
    Seal(damaged);
    ProbeStream stream(kNonce);
    const bool sound = stream.Feed(damaged);
    EXPECT_EQ(sound, stream.reply().has_value());
  }
}

}  // namespace
}  // namespace deputy::host
