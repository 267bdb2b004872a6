// Keys and signatures; tests/integration/bundle_test.py exchanges them with minisign.
#include "bundle/signature.hpp"

#include <sys/stat.h>

#include "unit/bundle/bundle_folder.hpp"

namespace deputy::host::bundle {
namespace {

namespace fs = std::filesystem;

class SignatureTest : public BundleFolder {
 protected:
  void SetUp() override { ASSERT_TRUE(MakeKeys(path() / "k.key", path() / "k.pub").ok()); }

  Result<PublicKey> Key() const { return ReadPublicKey((path() / "k.pub").string()); }
  std::string Signed(const std::string& text) const {
    const Result<std::string> signature = Sign(text, path() / "k.key", "a comment");
    EXPECT_TRUE(signature.ok()) << signature.status().ToString();
    return signature.ok() ? *signature : "";
  }
  std::string Check(const std::string& text, const std::string& signature) const {
    return CheckSignature(text, signature, *Key()).message();
  }
};

TEST_F(SignatureTest, ATextIsSignedAndChecked) {
  EXPECT_EQ(Check("text", Signed("text")), "");
  EXPECT_EQ(Signed("text"), Signed("text")) << "no time, no random number";
  EXPECT_EQ(IdText(*SignerOf(Signed("text"))), IdText(Key()->id));
}

TEST_F(SignatureTest, AKeyIsAlsoItsLineAlone) {
  const auto text = ReadAll<std::string>(path() / "k.pub");
  const std::string line = text.substr(text.find('\n') + 1, 56);
  ASSERT_TRUE(ReadPublicKey(line).ok());
  EXPECT_EQ(ReadPublicKey(line)->key, Key()->key);
}

TEST_F(SignatureTest, ADamagedTextOfAKeyIsNotTakenForAFile) {
  const auto text = ReadAll<std::string>(path() / "k.pub");
  EXPECT_EQ(ReadPublicKey(text.substr(0, text.size() - 20) + "\n").status().ToString(),
            "is not a public key of minisign's format");
}

TEST_F(SignatureTest, AnotherTextIsRefused) {
  EXPECT_EQ(Check("texts", Signed("text")), "the signature with the key " + IdText(Key()->id) + " is wrong");
}

TEST_F(SignatureTest, EveryChangedCharacterIsRefused) {
  const std::string good = Signed("text");
  for (size_t i = good.find('\n') + 1; i < good.size(); ++i) {  // the first line is an untrusted comment
    std::string bad = good;
    bad[i] = bad[i] == 'A' ? 'B' : 'A';
    EXPECT_NE(Check("text", bad), "") << i;
  }
}

TEST_F(SignatureTest, AnotherKeyIsNamed) {
  ASSERT_TRUE(MakeKeys(path() / "o.key", path() / "o.pub").ok());
  const Result<PublicKey> other = ReadPublicKey((path() / "o.pub").string());
  EXPECT_EQ(CheckSignature("text", Signed("text"), *other).message(),
            "is signed with the key " + IdText(Key()->id) + ", not with " + IdText(other->id));
}

TEST_F(SignatureTest, OtherFilesAreRefused) {
  EXPECT_EQ(Check("text", ""), "the signature is not one of minisign's format");
  EXPECT_EQ(Check("text", Signed("text") + "more\n"), "the signature is not one of minisign's format");
  EXPECT_EQ(ReadPublicKey((path() / "k.key").string()).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Sign("text", path() / "k.pub", "").status().message(), "is not a secret key of minisign's format");
  EXPECT_EQ(Sign("text", path() / "absent", "").status().code(), StatusCode::kNotFound);
}

TEST_F(SignatureTest, TheSecretKeyIsPrivateAndReplacesNoFile) {
  struct stat about {};
  ASSERT_EQ(stat((path() / "k.key").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0600u);
  const auto before = ReadAll<std::string>(path() / "k.key");
  EXPECT_FALSE(MakeKeys(path() / "k.key", path() / "n.pub").ok());
  EXPECT_FALSE(MakeKeys(path() / "n.key", path() / "k.pub").ok());
  EXPECT_EQ(ReadAll<std::string>(path() / "k.key"), before);
  EXPECT_FALSE(fs::exists(path() / "n.key"));
}

}  // namespace
}  // namespace deputy::host::bundle
