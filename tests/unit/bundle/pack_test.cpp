// Signatures of bundles that expire, as they are packed and as a later day finds them.
#include "bundle/pack.hpp"

#include "bundle/verify.hpp"
#include "unit/bundle/bundle_folder.hpp"

namespace deputy::host::bundle {
namespace {

using namespace std::chrono_literals;
constexpr std::chrono::sys_days kPacked = 2001y / 1 / 30;

class PackTest : public BundleFolder {
 protected:
  void SetUp() override {
    ASSERT_TRUE(MakeKeys(path() / "k.key", path() / "k.pub").ok());
    sources_ = {"a", "1.0", {Write("c.yaml", "version: 1\n")}, {}, {}, path() / "k.key", {}};
  }
  Result<BundleInfo> Pack(const std::string& expires) {
    sources_.expires = expires;
    return bundle::Pack(sources_, path() / "a-1.0.dpb", kPacked);
  }

  BundleSources sources_;
};

TEST_F(PackTest, R77_ABundleIsRefusedAfterTheLastDayOfItsSignature) {
  const Result<BundleInfo> info = Pack("2001-01-31");
  ASSERT_TRUE(info.ok()) << info.status().ToString();
  EXPECT_EQ(info->expires, "2001-01-31");
  const Result<BundleVerification> result = Verify(path() / "a-1.0.dpb", (path() / "k.pub").string(), {});
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_FALSE(result->signature_checked);
  ASSERT_EQ(result->problems.size(), 1u);
  EXPECT_EQ(result->problems[0].rule, "signature");
  EXPECT_EQ(result->problems[0].message.find(
                "SHA256SUMS.minisig: the signature has expired: its last day was 2001-01-31, and today is "),
            0u)
      << result->problems[0].message;
}

TEST_F(PackTest, R77_ABundleIsAcceptedUpToTheLastDayOfItsSignature) {
  ASSERT_TRUE(Pack("2999-12-31").ok());
  const Result<BundleVerification> result = Verify(path() / "a-1.0.dpb", (path() / "k.pub").string(), {});
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_TRUE(result->signature_checked);
  EXPECT_TRUE(result->problems.empty());
  EXPECT_EQ(result->info.expires, "2999-12-31");
}

TEST_F(PackTest, R77_AWrongLastDayIsNotSigned) {
  EXPECT_TRUE(Pack("2001-01-30").ok()) << "today";
  EXPECT_EQ(Pack("2001-01-29").status().message(),
            "the last day of the signature, 2001-01-29, is past: today is 2001-01-30 (UTC)");
  EXPECT_EQ(Pack("2001-02-29").status().message(),
            "the last day of the signature, '2001-02-29', is not a day (YYYY-MM-DD)");
  sources_.secret_key.clear();
  const Result<BundleInfo> unsigned_info = Pack("2001-01-31");
  EXPECT_EQ(unsigned_info.status().message(), "only a signature can expire, and the bundle is not signed");
  EXPECT_EQ(unsigned_info.status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace deputy::host::bundle
