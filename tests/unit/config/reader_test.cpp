// What is refused before there is a configuration to speak of: bytes, and the parts of YAML that are not accepted.
#include "config/reader.hpp"

#include <gtest/gtest.h>

#include "config/text_check.hpp"
#include "unit/config/load.hpp"

namespace deputy::host {
namespace {

using namespace std::string_literals;
using testing::Contains;
using testing::Good;
using testing::ProblemsOf;

constexpr const char* kNothing = ": the configuration is empty; it needs at least 'version: 1'";
constexpr const char* kNoAlias =
    ": aliases are not accepted; write the value out, or quote a text that begins with '*'";
constexpr const char* kMisfit = ": this does not fit the lines above; check indentation, quotes and ':' after keys";

std::string At(const char* place, const char* message) { return std::string("t.yaml:") + place + message; }

TEST(ReaderTest, R51_EmptyFileIsRefused) { EXPECT_EQ(ProblemsOf(""), At("1:1", kNothing)); }

TEST(ReaderTest, R51_FileOfCommentsIsRefused) { EXPECT_EQ(ProblemsOf("# nothing\n\n"), At("1:1", kNothing)); }

TEST(ReaderTest, R51_EmptyDocumentIsRefused) { EXPECT_EQ(ProblemsOf("---\n"), At("1:1", kNothing)); }

TEST(ReaderTest, R51_TopLevelListIsRefused) {
  EXPECT_EQ(ProblemsOf("- version: 1\n"), "t.yaml:1:1: a configuration is a mapping, such as 'version: 1', not a list");
}

TEST(ReaderTest, R51_TopLevelScalarIsRefused) {
  EXPECT_EQ(ProblemsOf("version\n"),
            "t.yaml:1:1: a configuration is a mapping, such as 'version: 1', not a single value");
}

TEST(ReaderTest, R53_DuplicateKeyIsRefusedWithBothLines) {
  EXPECT_EQ(ProblemsOf("version: 1\nfallback: cpu\nfallback: none\n"),
            "t.yaml:3:1: key 'fallback' is set twice, first in line 2");
}

TEST(ReaderTest, R53_DuplicateKeyInAFlowMappingIsRefused) {
  EXPECT_EQ(ProblemsOf("version: 1\ncpu: {threads: 1, threads: 2}\n"),
            "t.yaml:2:19: key 'threads' is set twice, first in line 2");
}

TEST(ReaderTest, R54_CyclicAliasIsRefused) {
  EXPECT_EQ(ProblemsOf("version: 1\ncpu: &x {threads: *x}\n"),
            "t.yaml:2:6: anchors are not accepted: '&x'\n" + At("2:19", kNoAlias));
}

TEST(ReaderTest, R55_AliasBombIsRefused) {
  std::string bomb = "version: 1\na: &a [x, x, x, x, x, x, x, x, x, x]\n";
  for (char name = 'b'; name <= 'j'; ++name) {
    const std::string below = "*"s + static_cast<char>(name - 1);
    bomb += name + ": &"s + name + " [" + below;
    for (int i = 1; i < 10; ++i) bomb += ", " + below;
    bomb += "]\n";
  }
  const std::string problems = ProblemsOf(bomb);
  EXPECT_TRUE(Contains(problems, "t.yaml:2:4: anchors are not accepted: '&a'\n")) << problems;
  EXPECT_TRUE(Contains(problems, At("3:8", kNoAlias))) << problems;
}

TEST(ReaderTest, AliasOfNothingIsRefusedAsAnAlias) {
  EXPECT_EQ(ProblemsOf("version: 1\nfallback: *cpu\n"), At("2:11", kNoAlias));
}

TEST(ReaderTest, AnchorOnAKeyIsRefused) {
  EXPECT_EQ(ProblemsOf("version: 1\n&k fallback: cpu\n"), "t.yaml:2:1: anchors are not accepted: '&k'");
}

TEST(ReaderTest, R56_NestingOf100000LevelsIsRefused) {
  EXPECT_EQ(ProblemsOf("version: 1\ncpu: " + std::string(100000, '[') + std::string(100000, ']')),
            "t.yaml:2:21: this is nested deeper than 16 levels");
  EXPECT_TRUE(Contains(ProblemsOf("version: 1\ncpu: " + std::string(200000, '{')), " is nested deeper than 16 levels"));
}

TEST(ReaderTest, R56_DeepBlockNestingIsRefused) {
  std::string text = "version: 1\n";
  for (size_t i = 0; i < 17; ++i) text += std::string(i, ' ') + "a:\n";
  EXPECT_EQ(ProblemsOf(text), "t.yaml:18:17: this is nested deeper than 16 levels");
}

TEST(ReaderTest, R57_TextOver256KibIsRefused) {
  EXPECT_EQ(ProblemsOf("version: 1\n# " + std::string(256 * 1024, 'x')),
            "t.yaml:1:1: the configuration has 262157 bytes, the maximum is 262144");
}

TEST(ReaderTest, R57_TooManyValuesAreRefused) {
  std::string text = "version: 1\nplugins: {paths: [";
  for (int i = 0; i < 20001; ++i) text += "x,";
  EXPECT_TRUE(Contains(ProblemsOf(text + "]}\n"), ": there are more than 20000 values")) << text.size();
}

TEST(ReaderTest, VeryLongKeyIsRefused) {
  EXPECT_EQ(ProblemsOf("version: 1\n" + std::string(257, 'k') + ": 1\n"),
            "t.yaml:2:1: this key is longer than 256 bytes");
}

TEST(ReaderTest, R61_InvalidUtf8IsRefused) {
  EXPECT_EQ(ProblemsOf("version: 1\n# caf\xe9\n"), "t.yaml:2:6: byte 0xe9 is not valid UTF-8");
}

TEST(ReaderTest, R61_OverlongAndSurrogateUtf8IsRefused) {
  EXPECT_EQ(ProblemsOf("a: \xc0\x80"), "t.yaml:1:4: byte 0xc0 is not valid UTF-8");
  EXPECT_EQ(ProblemsOf("a: \xe0\x80\x80"), "t.yaml:1:4: byte 0xe0 is not valid UTF-8");
  EXPECT_EQ(ProblemsOf("a: \xed\xa0\x80"), "t.yaml:1:4: byte 0xed is not valid UTF-8");
  EXPECT_EQ(ProblemsOf("a: \xf4\x90\x80\x80"), "t.yaml:1:4: byte 0xf4 is not valid UTF-8");
  EXPECT_EQ(ProblemsOf("a: \xf0\x9f\x98"), "t.yaml:1:4: byte 0xf0 is not valid UTF-8");
}

TEST(ReaderTest, R61_NulIsRefused) {
  EXPECT_EQ(ProblemsOf("version: 1\nfall\0back: cpu\n"s),
            "t.yaml:2:5: a NUL byte; this is not a text file, or not UTF-8");
}

TEST(ReaderTest, R61_EscapedNulIsRefused) {
  EXPECT_EQ(ProblemsOf("version: 1\nplugins: {paths: [\"a\\0b\"]}\n"),
            "t.yaml:2:19: a NUL character (\"\\0\") is not accepted");
}

TEST(ReaderTest, R61_ByteOrderMarkIsRefused) {
  EXPECT_EQ(ProblemsOf("\xef\xbb\xbfversion: 1\n"),
            "t.yaml:1:1: the file begins with a byte order mark; save it as UTF-8 without one");
}

TEST(ReaderTest, R61_Utf16IsRefused) {
  EXPECT_EQ(ProblemsOf("\xff\xfev\0"s), "t.yaml:1:1: this is UTF-16; save the file as UTF-8");
  EXPECT_EQ(ProblemsOf("\xfe\xff\0v"s), "t.yaml:1:1: this is UTF-16; save the file as UTF-8");
}

TEST(ReaderTest, R61_TabAsIndentationIsRefused) {
  EXPECT_EQ(ProblemsOf("version: 1\ncpu:\n\tthreads: 1\nlog:\n  \tlevel: info\n"),
            "t.yaml:3:1: a tab as indentation; use spaces\nt.yaml:5:3: a tab as indentation; use spaces");
}

TEST(ReaderTest, TabBehindAKeyIsFine) {
  EXPECT_EQ(*Good("version:\t1\n#\tcomment\n\ncpu: {threads: 3}\t# comment\n").cpu.threads, 3);
}

TEST(ReaderTest, R61_ControlCharactersAreRefused) {
  EXPECT_EQ(ProblemsOf("version: 1\n# \x1b[31m\n# \x7f\n# \xc2\x9b\n"),
            "t.yaml:2:3: control character 0x1b\nt.yaml:3:3: control character 0x7f\n"
            "t.yaml:4:3: control character U+009B");
}

TEST(ReaderTest, CarriageReturnAloneIsRefused) {
  EXPECT_EQ(ProblemsOf("version: 1\rfallback: cpu\n"), "t.yaml:1:11: a carriage return without a line feed");
}

TEST(ReaderTest, LinesMayEndInCarriageReturnAndLineFeed) {
  EXPECT_EQ(*Good("version: 1\r\ncpu:\r\n  threads: 3\r\n").cpu.threads, 3);
  EXPECT_EQ(ProblemsOf("version: 1\r\nfallback: x\r\n"), "t.yaml:2:11: 'fallback' must be one of cpu, none, not 'x'");
}

TEST(ReaderTest, R62_MergeKeyIsRefusedByName) {
  EXPECT_EQ(ProblemsOf("version: 1\ncpu:\n  <<: {threads: 1}\n"),
            "t.yaml:3:3: merge keys ('<<') are not accepted; write the keys out");
}

TEST(ReaderTest, R63_SecondDocumentIsRefused) {
  EXPECT_EQ(ProblemsOf("version: 1\n---\nfallback: cpu\n"),
            "t.yaml:2:1: a second document begins here; a file is one document");
  EXPECT_EQ(ProblemsOf("version: 1\n...\nfallback: cpu\n"),
            "t.yaml:3:1: a second document begins here; a file is one document");
}

TEST(ReaderTest, OneDocumentMayHaveItsMarks) { EXPECT_EQ(*Good("---\nversion: 1\n...\n").version, 1); }

TEST(ReaderTest, R63_TagsAreRefused) {
  constexpr const char* kHint = "; quote a text that begins with '!'";
  EXPECT_EQ(ProblemsOf("version: 1\ncpu: !include cpu.yaml\n"),
            "t.yaml:2:6: tags are not accepted: '!include'"s + kHint +
                "\nt.yaml:2:6: 'cpu' must be a mapping, not 'cpu.yaml'");
  EXPECT_EQ(ProblemsOf("version: !!int 1\n"), "t.yaml:1:10: tags are not accepted: 'tag:yaml.org,2002:int'"s + kHint);
  EXPECT_EQ(ProblemsOf("version: ! 1\n"), "t.yaml:1:10: tags are not accepted: '!'"s + kHint);
  EXPECT_EQ(ProblemsOf("version: 1\ncpu: !!python/object:os.system {}\n"),
            "t.yaml:2:6: tags are not accepted: 'tag:yaml.org,2002:python/object:os.system'"s + kHint);
}

TEST(ReaderTest, DirectivesAreRefused) {
  EXPECT_EQ(ProblemsOf("%YAML 1.1\n---\nversion: 1\n"), "t.yaml:1:1: directives (%YAML, %TAG) are not accepted");
}

TEST(ReaderTest, UnterminatedQuoteIsReportedWhereItBegins) {
  EXPECT_EQ(ProblemsOf("version: 1\nfallback: \"cpu\ncpu: {threads: 1}\n"), "t.yaml:2:11: this quote is never closed");
  EXPECT_EQ(ProblemsOf("version: 1\nfallback: 'cpu"), "t.yaml:2:11: this quote is never closed");
  EXPECT_EQ(ProblemsOf("version: 1\nplugins: {paths: [it's, \"it's\", 'it''s', \"x]}\n"),
            "t.yaml:2:42: this quote is never closed");
  EXPECT_EQ(ProblemsOf("'version: 1\n"), "t.yaml:1:1: this quote is never closed");
}

TEST(ReaderTest, SyntaxErrorsSayWhatWouldFit) {
  EXPECT_EQ(ProblemsOf("version: 1\ncpu: {threads: 1\n"), "t.yaml:3:1: expected ',' or '}' here");
  EXPECT_EQ(ProblemsOf("version: 1\nplugins: {paths: [a}\n"),
            "t.yaml:2:20: this closing bracket has no matching opening one");
  EXPECT_EQ(ProblemsOf("version: 1\ncpu:\n    threads: 1\n  x: 2\n"), At("4:3", kMisfit));
  EXPECT_EQ(ProblemsOf("version: 1\nfallback: a: b\n"),
            "t.yaml:2:12: a ':' does not fit here; quote the text, or check the indentation");
  EXPECT_EQ(ProblemsOf("version: 1\nfallback: @cpu\n"),
            "t.yaml:2:11: a text cannot begin with this character; quote it");
}

TEST(ReaderTest, WrongIndentationOfTheTopLevelIsRefused) {
  EXPECT_EQ(ProblemsOf("  version: 1\nfallback: cpu\n"),
            "t.yaml:2:1: this does not belong to the lines above; check the indentation");
}

TEST(ReaderTest, KeysThatAreNoWordsAreRefused) {
  EXPECT_EQ(ProblemsOf("version: 1\n[a]: b\n"), "t.yaml:2:1: a key must be a non-empty text");
  EXPECT_EQ(ProblemsOf("version: 1\n? {a: b}\n: c\n"), "t.yaml:2:3: a key must be a non-empty text");
  EXPECT_EQ(ProblemsOf("version: 1\n~: c\n"), "t.yaml:2:1: a key must be a non-empty text");
  EXPECT_EQ(ProblemsOf("version: 1\n\"\": c\n"), "t.yaml:2:1: a key must be a non-empty text");
  EXPECT_EQ(ProblemsOf("version: 1\n\"a\\nb\": c\n"), "t.yaml:2:1: key 'a\\x0ab' holds a control character");
}

TEST(ReaderTest, MissingValueIsReportedAtItsKey) {
  EXPECT_EQ(ProblemsOf("version: 1\nfallback:\n\n# comment\ncpu: {threads: 1}\n"),
            "t.yaml:2:1: 'fallback' must be one of cpu, none, not nothing");
  EXPECT_EQ(ProblemsOf("version: 1\nfallback: ~\n"), "t.yaml:2:11: 'fallback' must be one of cpu, none, not nothing");
}

TEST(ReaderTest, ColumnsCountCharactersNotBytes) {
  EXPECT_EQ(ProblemsOf("version: 1\nplugins: {paths: [\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"], auto: x}\n"),
            "t.yaml:2:33: 'auto' must be one of off, last, not 'x'");
}

TEST(ReaderTest, QuotedTextInMessagesIsEscapedAndCut) {
  EXPECT_EQ(ProblemsOf("version: 1\nfallback: \"\\e[31m\"\n"),
            "t.yaml:2:11: 'fallback' must be one of cpu, none, not '\\x1b[31m' in quotes");
  EXPECT_EQ(ProblemsOf("version: 1\nfallback: " + std::string(100000, 'x') + "\n"),
            "t.yaml:2:11: 'fallback' must be one of cpu, none, not '" + std::string(60, 'x') + "...'");
}

TEST(ReaderTest, BadBytesAreReportedAllAtOnce) {
  Problems problems;
  std::string text;
  for (int i = 0; i < 300; ++i) text += "\tx: 1\n";
  EXPECT_FALSE(ReadYaml(text, "t.yaml", true, problems).has_value());
  EXPECT_EQ(problems.list().size(), Problems::kMost);
}

}  // namespace
}  // namespace deputy::host
