// What goes to a terminal: names are escaped wherever they enter, colours are this program's own.
#include "cli/terminal/terminal.hpp"

#include <gtest/gtest.h>

namespace deputy::cli {
namespace {

const std::string kHostile = "a\x1b[31m\nb";

TEST(Shown, TextIsEscapedWhereverItEnters) {
  EXPECT_EQ(Shown(kHostile).text(), "a\\x1b[31m\\x0ab");
  EXPECT_EQ(Show("{}\n{:>3}\n", kHostile, 7).text(), "a\\x1b[31m\\x0ab\n  7\n");
  EXPECT_EQ(Show("{}", Joined({kHostile, "c"})).text(), "a\\x1b[31m\\x0ab, c");
}

TEST(Shown, WhatIsShownAlreadyStaysAsItIs) {
  Shown lines = Show("{}\n", "one");
  lines += Show("{}\n", "two");
  EXPECT_EQ(Show("{}", lines).text(), "one\ntwo\n");
}

TEST(Shown, LinesKeepTheirEnds) { EXPECT_EQ(Shown::Lines("a\x1b\nb\n").text(), "a\\x1b\nb\n"); }

TEST(Shown, ColoursAreAroundTheTextAndTakeNoWidth) {
  Terminal terminal;
  EXPECT_EQ(terminal.Paint(Paint::kBad, kHostile).text(), "a\\x1b[31m\\x0ab");
  terminal.colour = true;
  EXPECT_EQ(terminal.Paint(Paint::kBad, "x\x1b").text(), "\x1b[1;31mx\\x1b\x1b[0m");
  EXPECT_EQ(terminal.Paint(Paint::kBad, "no").width(), 2u);
}

}  // namespace
}  // namespace deputy::cli
