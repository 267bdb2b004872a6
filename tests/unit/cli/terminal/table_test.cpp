// Tables fit their terminal: texts are shortened or wrapped, unimportant columns are left out.
#include "cli/terminal/table.hpp"

#include <gtest/gtest.h>

#include <string>

namespace deputy::cli {
namespace {

const std::string kEscapes = "a\x1b[31m\nb";

Terminal Bounded(size_t columns) {
  Terminal terminal;
  terminal.bounded = true;
  terminal.utf8 = true;
  terminal.columns = columns;
  return terminal;
}

size_t WidestLine(const std::string& text) {
  size_t widest = 0;
  for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    widest = std::max(widest, WidthOf(text.substr(begin, end - begin)));
  return widest;
}

Table Example() {
  Table table({{"node"},
               {"nodes", Align::kRight},
               {"operators", Align::kLeft, Fit::kList, 1},
               {"detail", Align::kLeft, Fit::kWrap, 2}});
  table.AddRow({"/backbone/stage2/block7/depthwise/conv1", "12", "Conv ×4, Relu ×4, Add, GlobalAveragePool",
                "the kernel of the delegate takes no dilation of more than one"});
  table.AddRow({"head", "1", "Softmax", "its axis is not the last one"});
  return table;
}

TEST(Table, CellsAreOneLineAndPaintedOnesLineUp) {
  Terminal terminal;
  terminal.colour = true;
  Table table({{"a"}, {"b"}});
  table.AddRow({terminal.Paint(Paint::kGood, "yes"), kEscapes});
  table.AddRow({"longer", "x"});
  EXPECT_EQ(table.Text(terminal, "").text(),
            "\x1b[2ma       b\x1b[0m\n"
            "\x1b[32myes\x1b[0m     a\\x1b[31m\\x0ab\n"
            "longer  x\n");
}

TEST(Table, APipeGetsEverythingInFull) {
  const std::string text = Example().Text(Terminal(), "  ").text();
  EXPECT_NE(text.find("/backbone/stage2/block7/depthwise/conv1"), std::string::npos);
  EXPECT_NE(text.find("takes no dilation of more than one\n"), std::string::npos);
}

TEST(Table, NoLineIsWiderThanTheTerminal) {
  for (size_t columns = 20; columns <= 160; ++columns)
    EXPECT_LE(WidestLine(Example().Text(Bounded(columns), "  ").text()), columns) << columns;
}

TEST(Table, WideTerminalShortensNothing) {
  EXPECT_EQ(Example().Text(Bounded(200), "  ").text(), Example().Text(Terminal(), "  ").text());
}

TEST(Table, TextsGiveWayBeforeColumnsAreLeftOut) {
  EXPECT_EQ(Example().Text(Bounded(80), "").text(),
            "node               nodes  operators            detail\n"
            "/backbone/…/conv1     12  Conv ×4, Relu ×4, …  the kernel of the delegate takes\n"
            "                                               no dilation of more than one\n"
            "head                   1  Softmax              its axis is not the last one\n");
}

TEST(Table, TheLeastImportantColumnIsLeftOutFirst) {
  const std::string text = Example().Text(Bounded(48), "").text();
  EXPECT_EQ(text.substr(0, text.find('\n')), "node               nodes  operators");
}

TEST(Table, NumbersStayWholeAsLongAsTextsCanGiveWay) {
  Table table({{"name"}, {"time", Align::kRight}});
  table.AddRow({std::string(60, 'x'), "1234.5678 ms"});
  EXPECT_EQ(table.Text(Bounded(20), "").text(), "name            time\nxx…xxx  1234.5678 ms\n");
}

TEST(Table, PaintedCellsAreShortenedWithoutTheirColour) {
  Terminal terminal = Bounded(20);
  terminal.colour = true;
  Table table({{""}});
  table.AddRow({terminal.Paint(Paint::kBad, "abcdefghijklmnopqrstuvwxyz")});
  EXPECT_EQ(table.Text(terminal, "").text(), "abcdefghi…qrstuvwxyz\n");
}

TEST(Table, KeysStandBesideWrappedTexts) {
  KeyTable table;
  table.Add("symbols", "batch, sequence, width");
  table.Add("nodes", "7");
  EXPECT_EQ(table.Text(Bounded(28), "  ").text(),
            "  symbols  batch, sequence,\n"
            "           width\n"
            "  nodes    7\n");
}

TEST(ShortenMiddle, PathsLoseWholeComponents) {
  const Terminal terminal = Bounded(80);
  EXPECT_EQ(ShortenMiddle("backbone/stage2/conv1", 21, terminal), "backbone/stage2/conv1");
  EXPECT_EQ(ShortenMiddle("backbone/stage2/conv1", 20, terminal), "backbone/…/conv1");
  EXPECT_EQ(ShortenMiddle("backbone/stage2/a/conv1", 20, terminal), "backbone/…/a/conv1");
  EXPECT_EQ(ShortenMiddle("/backbone/stage2/conv1", 18, terminal), "/backbone/…/conv1");
}

TEST(ShortenMiddle, OtherNamesKeepBothEnds) {
  EXPECT_EQ(ShortenMiddle("abcdefghij", 5, Bounded(80)), "ab…ij");
  EXPECT_EQ(ShortenMiddle("abcdefghij", 6, Terminal()), "a...ij");
  EXPECT_EQ(ShortenMiddle("abcdefghij", 1, Bounded(80)), "a");
}

TEST(ShortenMiddle, WideAndCombiningCharactersCountAsTheyAreShown) {
  EXPECT_EQ(WidthOf("畳み込み"), 8u);
  EXPECT_EQ(WidthOf("e\u0301"), 1u);
  EXPECT_EQ(ShortenMiddle("畳み込み層", 7, Bounded(80)), "畳…み層");
  for (size_t width = 1; width < 10; ++width)
    EXPECT_LE(WidthOf(ShortenMiddle("畳み込み層e\u0301", width, Bounded(80))), width);
}

TEST(ShortenList, FirstItemsStay) {
  const Terminal terminal = Bounded(80);
  EXPECT_EQ(ShortenList("Conv, Relu, Add", 15, terminal), "Conv, Relu, Add");
  EXPECT_EQ(ShortenList("Conv, Relu, Add", 14, terminal), "Conv, Relu, …");
  EXPECT_EQ(ShortenList("Conv, Relu, Add", 7, terminal), "Conv, …");
  EXPECT_EQ(ShortenList("backbone/stage2/conv1, x", 19, terminal), "backbone/…/conv1, …");
}

TEST(WrapWords, LongWordsAreShortened) {
  const std::vector<std::string> want = {"the node", "/a/…/conv"};
  EXPECT_EQ(WrapWords("the node /a/bbbbbbbb/conv", 9, Bounded(80)), want);
}

}  // namespace
}  // namespace deputy::cli
