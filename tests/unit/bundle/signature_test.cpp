// Keys and signatures; tests/integration/bundle_test.py exchanges them with minisign.
#include "bundle/signature.hpp"

#include <sys/stat.h>

#include <chrono>

#include "unit/bundle/bundle_folder.hpp"

namespace deputy::host::bundle {
namespace {

namespace fs = std::filesystem;

class SignatureTest : public BundleFolder {
 protected:
  void SetUp() override { ASSERT_TRUE(MakeKeys(path() / "k.key", path() / "k.pub").ok()); }

  Result<PublicKey> Key() const { return ReadPublicKey((path() / "k.pub").string()); }
  std::string Signed(const std::string& text, const std::string& comment = "a comment") const {
    const Result<std::string> signature = Sign(text, path() / "k.key", comment);
    EXPECT_TRUE(signature.ok()) << signature.status().ToString();
    return signature.ok() ? *signature : "";
  }
  std::string Check(const std::string& text, const std::string& signature) const {
    return CheckSignature(text, signature, *Key()).message();
  }
  Status CheckOn(std::chrono::sys_days today, const std::string& comment) const {
    return CheckSignature("text", Signed("text", comment), *Key(), today);
  }
};

using namespace std::chrono_literals;
constexpr std::chrono::sys_days kLastDay = 2027y / 1 / 31;

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

TEST_F(SignatureTest, R77_ASignatureIsValidUpToItsLastDay) {
  for (const char* comment : {"expires:2027-01-31", "camera 1.2 expires:2027-01-31", "a\texpires:2027-01-31\thashed"}) {
    EXPECT_TRUE(CheckOn(kLastDay - std::chrono::days(400), comment).ok()) << comment;
    EXPECT_TRUE(CheckOn(kLastDay, comment).ok()) << comment;
    const Status status = CheckOn(kLastDay + std::chrono::days(1), comment);
    EXPECT_EQ(status.code(), StatusCode::kAborted);
    EXPECT_EQ(status.message(),
              "the signature has expired: its last day was 2027-01-31, and today is 2027-02-01 (UTC)");
    EXPECT_FALSE(status.advice().empty());
  }
}

TEST_F(SignatureTest, R77_ASignatureWithoutALastDayDoesNotExpire) {
  for (const char* comment : {"", "camera 1.2", "file:expires:2001-01-31", "Expires:2001-01-31", "expires 2001-01-31"})
    EXPECT_TRUE(CheckOn(kLastDay, comment).ok()) << comment;
}

TEST_F(SignatureTest, R77_ALastDayThatIsNoDayIsRefused) {
  for (const char* day : {"", "2999", "2999-1-31", "2999-02-29", "2999-13-01", "2999-00-10", "2999-01-00", "2999-01-32",
                          "+999-01-31", "2999-01-3 ", "2999/01/31", "2999-01-31,", "02999-01-31", "never"}) {
    const Status status = CheckOn(kLastDay, std::string("camera 1.2 expires:") + day);
    EXPECT_EQ(status.code(), StatusCode::kAborted) << day;
    EXPECT_NE(status.message().find("which is not a day (YYYY-MM-DD)"), std::string::npos) << status.message();
  }
  EXPECT_EQ(CheckOn(kLastDay, "expires:2999-01-31 expires:2999-01-31").message(),
            "the trusted comment has the word 'expires:' twice");
}

TEST_F(SignatureTest, R77_AChangedLastDayIsRefused) {
  std::string signature = Signed("text", "expires:2027-01-31");
  signature.replace(signature.find("2027"), 4, "2999");
  EXPECT_EQ(Check("text", signature), "the signature of the trusted comment is wrong");
}

TEST_F(SignatureTest, DaysAreReadAndWritten) {
  EXPECT_EQ(ParseDay("2027-01-31"), kLastDay);
  EXPECT_EQ(ParseDay("2028-02-29"), std::chrono::sys_days(2028y / 2 / 29));
  for (const char* day : {"0001-01-01", "1970-01-01", "2028-02-29", "9999-12-31"})
    EXPECT_EQ(DayText(*ParseDay(day)), day);
  EXPECT_EQ(*ExpiryOf(Signed("text", "a expires:2027-01-31")), kLastDay);
  EXPECT_EQ(*ExpiryOf(Signed("text", "a")), std::nullopt);
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
