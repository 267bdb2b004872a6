#include "store/entry_origin.hpp"

#include <gtest/gtest.h>

namespace deputy::host {
namespace {

const EntryOrigin kOrigin{"m.onnx", "org.npu", "1.2", "/p/npu.so", "ab+cd", "npu", "0", {"/l/liba.so", "/l/libb.so"}};

TEST(EntryOriginTest, ATextIsSeparatedFromItsOrigin) {
  const auto [text, origin] = SplitOrigin(WithOrigin("format 2", kOrigin, 4095));
  EXPECT_EQ(text, "format 2");
  EXPECT_EQ(origin, kOrigin);
}

TEST(EntryOriginTest, ATextWithoutAnOriginStaysAsItIs) {
  EXPECT_EQ(WithOrigin("format 2", {}, 4095), "format 2");
  EXPECT_EQ(SplitOrigin("format 2").second, EntryOrigin());
}

TEST(EntryOriginTest, AnOriginThatDoesNotFitIsLeftOut) { EXPECT_EQ(WithOrigin("format 2", kOrigin, 20), "format 2"); }

TEST(EntryOriginTest, DamagedOriginsAreRead) {
  for (const std::string& stored : {std::string(40, '\0'), std::string("a\0b", 3), std::string()})
    EXPECT_EQ(SplitOrigin(stored).first, stored.substr(0, stored.find('\0')));
}

}  // namespace
}  // namespace deputy::host
