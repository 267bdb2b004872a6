// The checked proxy around executables as bytes: what is written, what is given back, and who may take it.
#include <gtest/gtest.h>

#include "unit/plugin/able_delegate.hpp"

namespace deputy::host {
namespace {

using testing::AbleDelegate;

using Blobs = AbleDelegate;

TEST_F(Blobs, AreWhatTheExecutableWrites) {
  actor_.serialize = [](const deputy_blob_sink& sink) -> deputy_status* {
    if (deputy_status* failure = sink.write(sink.self, "ab", 2)) return failure;
    return sink.write(sink.self, "c", 1);
  };
  const Result<std::vector<uint8_t>> bytes = Compiled()->Serialize(100);
  ASSERT_TRUE(bytes.ok()) << bytes.status().ToString();
  EXPECT_EQ(*bytes, (std::vector<uint8_t>{'a', 'b', 'c'}));
}

TEST_F(Blobs, MoreThanTheLimitIsRefused) {
  actor_.serialize = [](const deputy_blob_sink& sink) {
    if (deputy_status* failure = sink.write(sink.self, "abc", 3)) return failure;
    return sink.write(sink.self, "def", 3);
  };
  EXPECT_EQ(Compiled()->Serialize(5).status().code(), StatusCode::kResourceExhausted);
}

TEST_F(Blobs, BytesFromNullAreAFault) {
  actor_.serialize = [](const deputy_blob_sink& sink) { return sink.write(sink.self, nullptr, 6); };
  EXPECT_EQ(Compiled()->Serialize(100).status().code(), StatusCode::kPlugin);
}

TEST_F(Blobs, SuccessWithoutAByteIsAFault) {
  actor_.serialize = [](const deputy_blob_sink&) -> deputy_status* { return nullptr; };
  EXPECT_EQ(Compiled()->Serialize(100).status().code(), StatusCode::kPlugin);
}

TEST_F(Blobs, AThrowingSerializeIsAFault) {
  actor_.serialize = [](const deputy_blob_sink&) -> deputy_status* { throw 1; };
  EXPECT_EQ(Compiled()->Serialize(100).status().code(), StatusCode::kPlugin);
}

TEST_F(Blobs, TheirMakerIsThePluginItsDeviceAndItsText) {
  const Result<BlobMaker> maker = Open().blobs()->blob_maker();
  ASSERT_TRUE(maker.ok());
  EXPECT_EQ(maker->plugin, "test.able");
  EXPECT_EQ(maker->version, "3");
  EXPECT_EQ(maker->build, "") << "it has no file";
  EXPECT_EQ(maker->device, "d2");
  EXPECT_EQ(maker->compatibility, "format 1");
}

TEST_F(Blobs, ACompatibilityThatIsNotUtf8IsAFault) {
  actor_.compatibility = "\xff";
  EXPECT_EQ(Open().blobs()->blob_maker().status().code(), StatusCode::kPlugin);
}

TEST_F(Blobs, ACompatibilityThatIsTooLongIsAFault) {
  actor_.compatibility.assign(5000, 'x');
  EXPECT_EQ(Open().blobs()->blob_maker().status().code(), StatusCode::kPlugin);
}

TEST_F(Blobs, TheDelegateSaysWhetherATextStillFits) {
  actor_.check = [&](deputy_str text) {
    return std::string_view(text.data, text.size) == "format 0" ? actor_.Fail(DEPUTY_INCOMPATIBLE, "too old") : nullptr;
  };
  EXPECT_TRUE(Open().blobs()->CheckBlob("format 1").ok());
  const Status status = Open().blobs()->CheckBlob("format 0");
  EXPECT_EQ(status.code(), StatusCode::kIncompatible);
  EXPECT_EQ(status.message(), "too old");
}

TEST_F(Blobs, WithoutACheckOnlyTheVeryTextFits) {
  actor_.blob.check = nullptr;
  EXPECT_TRUE(Open().blobs()->CheckBlob("format 1").ok());
  EXPECT_EQ(Open().blobs()->CheckBlob("format 2").code(), StatusCode::kIncompatible);
}

// Seed row 37.
TEST_F(Blobs, AreGivenBackOnce) {
  actor_.restore = [&](const deputy_blob& blob, deputy_executable** out) -> deputy_status* {
    EXPECT_EQ(blob.size, 64u);
    EXPECT_EQ(static_cast<const uint8_t*>(blob.data)[63], 7);
    blob.release(blob.owner);
    *out = reinterpret_cast<deputy_executable*>(&actor_);
    return nullptr;
  };
  EXPECT_TRUE(Restored().ok());
  EXPECT_EQ(actor_.destroyed, 1);
  EXPECT_EQ(log_.text().find("broke its contract"), std::string::npos) << log_.text();
}

TEST_F(Blobs, GivenBackTwiceAreAFault) {
  actor_.restore = [&](const deputy_blob& blob, deputy_executable** out) -> deputy_status* {
    blob.release(blob.owner);
    blob.release(blob.owner);
    *out = reinterpret_cast<deputy_executable*>(&actor_);
    return nullptr;
  };
  EXPECT_TRUE(Restored().ok());
  EXPECT_NE(log_.text().find("releases its blob twice"), std::string::npos) << log_.text();
}

TEST_F(Blobs, NeverGivenBackAreAFault) {
  actor_.restore = [&](const deputy_blob&, deputy_executable** out) -> deputy_status* {
    *out = reinterpret_cast<deputy_executable*>(&actor_);
    return nullptr;
  };
  EXPECT_TRUE(Restored().ok());
  EXPECT_NE(log_.text().find("never released"), std::string::npos) << log_.text();
}

TEST_F(Blobs, AFailedRestoreDestroysNothing) {
  actor_.restore = [&](const deputy_blob& blob, deputy_executable**) {
    blob.release(blob.owner);
    return actor_.Fail(DEPUTY_INCOMPATIBLE, "another chip");
  };
  EXPECT_EQ(Restored().status().code(), StatusCode::kIncompatible);
  EXPECT_EQ(actor_.destroyed, 0);
}

TEST_F(Blobs, SuccessWithoutAnExecutableIsAFault) {
  actor_.restore = [&](const deputy_blob& blob, deputy_executable**) -> deputy_status* {
    blob.release(blob.owner);
    return nullptr;
  };
  EXPECT_EQ(Restored().status().code(), StatusCode::kPlugin);
}

// Seed row 32.
TEST_F(Blobs, AreMadeWithoutTheDeviceAndNotRunThere) {
  Open(/*compile_only=*/true);
  EXPECT_EQ(actor_.open_flags, uint32_t{DEPUTY_OPEN_COMPILE_ONLY});
  EXPECT_EQ(Compiled()->CreateContext().status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(Blobs, ADelegateThatNeedsItsDeviceIsNotOpenedWithoutIt) {
  actor_.blob.flags = 0;
  ASSERT_TRUE(registry_.AddInProcess(&actor_.plugin, nullptr).ok());
  OpenRequest request{"able", "stage", "", {}, nullptr};
  request.compile_only = true;
  EXPECT_EQ(registry_.Open(request).status().code(), StatusCode::kNotSupported);
}

}  // namespace
}  // namespace deputy::host
