// Signatures of locks against several keys, as `trust_keys` has them.
#include "bundle/tools.hpp"

#include "bundle/signature.hpp"
#include "unit/bundle/bundle_folder.hpp"

extern "C" const deputy::host::BundleTools* deputy_bundle_v1(const char* build);

namespace deputy::host::bundle {
namespace {

using ToolsTest = BundleFolder;

TEST_F(ToolsTest, R77_AnExpiredLockIsNamedAsSuchInWhicheverPlaceItsKeyIs) {
  std::vector<std::string> keys;
  for (const char* name : {"k", "o"}) {
    const std::filesystem::path secret = path() / (std::string(name) + ".key"), open = path() / name;
    ASSERT_TRUE(MakeKeys(secret, open).ok());
    keys.push_back(ReadAll<std::string>(open));
  }
  const Result<std::string> expired = Sign("text", path() / "k.key", "expires:2001-01-31");
  const Result<std::string> good = Sign("text", path() / "k.key", "expires:2999-12-31");
  ASSERT_TRUE(expired.ok() && good.ok());
  const BundleTools& tools = *deputy_bundle_v1(kBundleBuild);
  for (int order = 0; order < 2; ++order, std::swap(keys[0], keys[1])) {
    EXPECT_TRUE(tools.CheckSignature("text", *good, keys).ok());
    const Status status = tools.CheckSignature("text", *expired, keys);
    EXPECT_EQ(status.code(), StatusCode::kAborted);
    EXPECT_EQ(status.message().find("the signature has expired: its last day was 2001-01-31"), 0u) << status.message();
  }
}

}  // namespace
}  // namespace deputy::host::bundle
