#include "tensor/window.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace deputy::host {
namespace {

// Owns the lists that WindowOptions points to.
struct Lists {
  std::vector<int64_t> kernel, strides = {}, dilations = {}, pads = {}, output_padding = {}, output_shape = {};
  std::string_view auto_pad = "NOTSET";
  bool ceil_mode = false;

  Result<Window> Make() const {
    WindowOptions options;
    options.auto_pad = auto_pad;
    options.ceil_mode = ceil_mode;
    options.kernel = kernel;
    options.strides = strides;
    options.dilations = dilations;
    options.pads = pads;
    options.output_padding = output_padding;
    options.output_shape = output_shape;
    return MakeWindow(options);
  }
  // Output extents of one axis, or -1 when resolving fails.
  int64_t Output(int64_t input, bool transposed = false) const {
    Window window = Make().value();
    SpatialDims output = {};
    const int64_t dims[] = {input};
    const Status status =
        transposed ? ResolveTransposedWindow(window, dims, output) : ResolveWindow(window, dims, output);
    return status.ok() ? output[0] : -1;
  }
  // The same for a pool.
  int64_t Pooled(int64_t input) const {
    Window window = Make().value();
    SpatialDims output = {};
    const int64_t dims[] = {input};
    return ResolvePoolWindow(window, dims, output).ok() ? output[0] : -1;
  }
  WindowAxis Resolved(int64_t input) const {
    Window window = Make().value();
    SpatialDims output = {};
    const int64_t dims[] = {input};
    EXPECT_TRUE(ResolveWindow(window, dims, output).ok());
    return window.axes[0];
  }
};

TEST(Window, WithoutPaddingTheOutputCountsWholeWindows) {
  EXPECT_EQ((Lists{.kernel = {3}, .strides = {2}}.Output(8)), 3);
}

TEST(Window, PaddingExtendsTheInput) { EXPECT_EQ((Lists{.kernel = {3}, .pads = {1, 2}}.Output(5)), 6); }

TEST(Window, DilationSpreadsTheTaps) { EXPECT_EQ((Lists{.kernel = {3}, .dilations = {2}}.Output(7)), 3); }

TEST(Window, CeilModeCountsTheLastPartialWindow) {
  EXPECT_EQ((Lists{.kernel = {3}, .strides = {2}, .ceil_mode = true}.Output(8)), 4);
}

TEST(Window, CeilModeDropsAWindowThatStartsInThePadding) {
  EXPECT_EQ((Lists{.kernel = {1}, .strides = {2}, .pads = {0, 1}, .ceil_mode = true}.Output(2)), 1);
}

TEST(Window, SameUpperPutsTheOddElementAtTheEnd) {
  const WindowAxis axis = Lists{.kernel = {2}, .auto_pad = "SAME_UPPER"}.Resolved(5);
  EXPECT_EQ(axis.pad_begin, 0);
  EXPECT_EQ(axis.pad_end, 1);
}

TEST(Window, SameLowerPutsTheOddElementAtTheStart) {
  const WindowAxis axis = Lists{.kernel = {2}, .auto_pad = "SAME_LOWER"}.Resolved(5);
  EXPECT_EQ(axis.pad_begin, 1);
  EXPECT_EQ(axis.pad_end, 0);
}

TEST(Window, SameGivesInputOverStrideRoundedUp) {
  EXPECT_EQ((Lists{.kernel = {3}, .strides = {2}, .auto_pad = "SAME_UPPER"}.Output(5)), 3);
}

TEST(Window, SameNeverPadsByLessThanNothing) {
  const WindowAxis axis = Lists{.kernel = {1}, .strides = {3}, .auto_pad = "SAME_UPPER"}.Resolved(6);
  EXPECT_EQ(axis.pad_begin + axis.pad_end, 0);
}

TEST(Window, GivenPadsMeanNothingBesideAutoPad) {
  EXPECT_EQ((Lists{.kernel = {3}, .pads = {1, 1}, .auto_pad = "VALID"}.Output(5)), 3);
}

TEST(Window, LargerThanThePaddedInputIsRefused) { EXPECT_EQ((Lists{.kernel = {5}, .pads = {1, 0}}.Output(3)), -1); }

// The numbers are ONNX Runtime's.
TEST(Window, OfAPoolMayBeLessThanAStrideLargerThanThePaddedInput) {
  for (const bool ceil : {false, true}) {
    EXPECT_EQ((Lists{.kernel = {3}, .strides = {2}, .ceil_mode = ceil}.Pooled(2)), 1);
    EXPECT_EQ((Lists{.kernel = {4}, .strides = {3}, .ceil_mode = ceil}.Pooled(2)), 1);
    EXPECT_EQ((Lists{.kernel = {6}, .strides = {3}, .pads = {1, 1}, .ceil_mode = ceil}.Pooled(2)), 1);
    EXPECT_EQ((Lists{.kernel = {3}, .strides = {4}, .dilations = {2}, .ceil_mode = ceil}.Pooled(2)), 1);
    EXPECT_EQ((Lists{.kernel = {3}, .strides = {2}, .auto_pad = "VALID", .ceil_mode = ceil}.Pooled(2)), 1);
  }
}

TEST(Window, OfAPoolThatIsAStrideTooLargeGivesNothing) {
  for (const bool ceil : {false, true}) {
    EXPECT_EQ((Lists{.kernel = {3}, .ceil_mode = ceil}.Pooled(2)), 0);
    EXPECT_EQ((Lists{.kernel = {5}, .strides = {2}, .ceil_mode = ceil}.Pooled(2)), 0);
    EXPECT_EQ((Lists{.kernel = {7}, .strides = {3}, .ceil_mode = ceil}.Pooled(2)), 0);
  }
}

TEST(Window, OfAPoolThatIsTwoStridesTooLargeIsRefused) {
  for (const bool ceil : {false, true}) {
    EXPECT_EQ((Lists{.kernel = {4}, .ceil_mode = ceil}.Pooled(2)), -1);
    EXPECT_EQ((Lists{.kernel = {9}, .strides = {3}, .ceil_mode = ceil}.Pooled(2)), -1);
  }
}

TEST(Window, OfAPoolOverNothingIsRefused) { EXPECT_EQ((Lists{.kernel = {2}, .strides = {4}}.Pooled(0)), -1); }

TEST(Window, TransposedOutputReversesTheStride) {
  EXPECT_EQ((Lists{.kernel = {3}, .strides = {2}, .pads = {1, 0}, .output_padding = {1}}.Output(4, true)), 9);
}

TEST(Window, TransposedOutputShapeDecidesThePadding) {
  Window window = Lists{.kernel = {3}, .strides = {3}, .output_shape = {8}}.Make().value();
  SpatialDims output = {};
  const int64_t input[] = {3};
  ASSERT_TRUE(ResolveTransposedWindow(window, input, output).ok());
  EXPECT_EQ(output[0], 8);
  EXPECT_EQ(window.axes[0].pad_begin, 1);
  EXPECT_EQ(window.axes[0].pad_end, 0);
}

TEST(Window, TransposedSameMultipliesTheInputByTheStride) {
  EXPECT_EQ((Lists{.kernel = {3}, .strides = {2}, .auto_pad = "SAME_UPPER"}.Output(4, true)), 8);
}

TEST(Window, OfNoAxesIsRefused) { EXPECT_FALSE((Lists{.kernel = {}}.Make().ok())); }

TEST(Window, OfTooManyAxesIsNotSupported) {
  EXPECT_EQ((Lists{.kernel = {1, 1, 1, 1, 1, 1, 1}}.Make().status().code()), StatusCode::kNotSupported);
}

TEST(Window, ListOfTheWrongLengthIsNamed) {
  const Result<Window> window = Lists{.kernel = {3, 3}, .strides = {1}}.Make();
  ASSERT_FALSE(window.ok());
  EXPECT_EQ(window.status().message(), "strides has 1 elements, expected 2");
}

TEST(Window, StrideOfZeroIsRefused) { EXPECT_FALSE((Lists{.kernel = {3}, .strides = {0}}.Make().ok())); }

TEST(Window, NegativePaddingIsRefused) { EXPECT_FALSE((Lists{.kernel = {3}, .pads = {-1, 0}}.Make().ok())); }

TEST(Window, UnknownAutoPadIsRefused) { EXPECT_FALSE((Lists{.kernel = {3}, .auto_pad = "SAME"}.Make().ok())); }

TEST(Window, ValuesThatWouldOverflowAreRefused) {
  EXPECT_FALSE((Lists{.kernel = {3}, .dilations = {int64_t{1} << 62}}.Make().ok()));
}

TEST(Window, AxesOfOneElementAndOneTapAreDropped) {
  Window window = Lists{.kernel = {1, 3, 1}}.Make().value();
  SpatialDims input = {1, 5, 1}, output = {1, 3, 1};
  DropUnitAxes(window, input, output);
  ASSERT_EQ(window.rank, 1u);
  EXPECT_EQ(window.axes[0].kernel, 3);
  EXPECT_EQ(input[0], 5);
  EXPECT_EQ(output[0], 3);
}

TEST(Window, TheOnlyAxisIsNeverDropped) {
  Window window = Lists{.kernel = {1, 1}}.Make().value();
  SpatialDims input = {1, 1}, output = {1, 1};
  DropUnitAxes(window, input, output);
  EXPECT_EQ(window.rank, 1u);
}

TEST(Window, OneElementBehindPaddingIsNotDropped) {
  Window window = Lists{.kernel = {3, 1}, .strides = {1, 2}, .pads = {0, 1, 0, 0}}.Make().value();
  SpatialDims input = {5, 1}, output = {3, 1};
  DropUnitAxes(window, input, output);
  EXPECT_EQ(window.rank, 2u);
}

TEST(Window, OutputsInsideExcludesThoseThatReadPadding) {
  const WindowAxis axis{.kernel = 3, .stride = 2, .pad_begin = 3, .pad_end = 0};
  const TapRange range = OutputsInside(axis, 0, 4, 3);  // outputs 0..2 read -3, -1, 1
  EXPECT_EQ(range.first, 2);
  EXPECT_EQ(range.last, 3);
}

TEST(Window, TapsInsideExcludesThoseThatReadPadding) {
  const WindowAxis axis{.kernel = 4, .dilation = 2, .pad_begin = 3};
  const TapRange range = TapsInside(axis, 0, 2);  // taps 0..3 read -3, -1, 1, 3
  EXPECT_EQ(range.first, 2);
  EXPECT_EQ(range.last, 3);
}

}  // namespace
}  // namespace deputy::host
