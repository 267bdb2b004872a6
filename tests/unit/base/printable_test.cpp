#include "base/printable.hpp"

#include <gtest/gtest.h>

#include "base/log.hpp"

namespace deputy::host {
namespace {

TEST(Printable, OrdinaryTextStaysAsItIs) {
  for (const char* text : {"", "conv1/weights:0", "tab le", "Größe", "名前", "×✓", "\xf0\x9f\x98\x80"})
    EXPECT_EQ(Printable(text), text);
}

TEST(Printable, ControlsAreEscaped) {
  EXPECT_EQ(Printable("a\nb\r\t\x1b[31m\x7f"), "a\\x0ab\\x0d\\x09\\x1b[31m\\x7f");
  EXPECT_EQ(Printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "2J"),
            "\\xc2\\x9b2J")
      << "CSI as one character";
}

TEST(Printable, CharactersThatReorderOrHideTextAreEscaped) {
  EXPECT_EQ(Printable("a\xe2\x80\xae"
                      "b"),
            "a\\xe2\\x80\\xaeb")
      << "right-to-left override";
  for (const char* text : {"\xe2\x80\x8b", "\xe2\x80\x8f", "\xe2\x81\xa6", "\xe2\x80\xa8", "\xef\xbb\xbf", "\xd8\x9c",
                           "\xc2\xad", "\xf3\xa0\x81\x81"})
    EXPECT_EQ(Printable(text).substr(0, 2), "\\x") << Printable(text);
}

TEST(Printable, WhatIsNoUtf8IsEscaped) {
  EXPECT_EQ(Printable("\xff"), "\\xff");
  EXPECT_EQ(Printable("\xc0\xaf"), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "above U+10FFFF";
  EXPECT_EQ(Printable("\xe5\x90"), "\\xe5\\x90") << "cut";
}

TEST(Printable, EveryStringOfTwoBytesBecomesOneLineOfUtf8) {
  for (int first = 0; first < 256; ++first)
    for (int second = 0; second < 256; ++second) {
      const std::string text = {static_cast<char>(first), static_cast<char>(second)};
      const std::string shown = Printable(text);
      for (size_t at = 0; at < shown.size();) {
        const size_t size = Utf8Length(std::string_view(shown).substr(at));
        ASSERT_NE(size, 0u) << first << ' ' << second;
        ASSERT_TRUE(IsPrintable(std::string_view(shown).substr(at, size))) << first << ' ' << second;
        at += size;
      }
      ASSERT_EQ(Printable(shown), shown);
    }
}

TEST(Printable, LongTextIsCutBetweenCharacters) {
  EXPECT_EQ(Printable("名前名前", 4), "名...");
  EXPECT_EQ(Printable("名前", 4), "名前") << "no longer than its beginning with three dots";
}

TEST(Printable, TextThatWasCutIsNotCutAgain) {
  for (const std::string character : {"a", "é", "名", "\n", "\ufeff"})
    for (size_t before = 0; before < 12; ++before)
      for (size_t limit = 0; limit < 24; ++limit) {
        std::string text(before, 'x');
        for (int i = 0; i < 12; ++i) text += character;
        const std::string once = Printable(text, limit);
        ASSERT_LE(once.size(), limit + 3);
        ASSERT_EQ(Printable(once, limit), once);
      }
}

TEST(Log, LineIsOneLineWhateverItQuotes) {
  std::string logged;
  SetLogSink([&](LogLevel, std::string_view, std::string_view message) { logged = message; });
  Log(LogLevel::kWarning, "node '{}'", "a\nwarning: forged\x1b[2J");
  SetLogSink(nullptr);
  EXPECT_EQ(logged, "node 'a\\x0awarning: forged\\x1b[2J'");
}

TEST(Printable, QuotesAndBackslashesAreEscapedInQuotes) {
  EXPECT_EQ(InQuotes(R"(a "b" \x0a)"), R"("a \"b\" \\x0a")");
  EXPECT_EQ(InQuotes(""), R"("")");
}

}  // namespace
}  // namespace deputy::host
