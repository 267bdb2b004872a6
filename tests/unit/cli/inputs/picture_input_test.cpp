#include "cli/inputs/picture_input.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "cli/inputs/model_inputs.hpp"
#include "deputy/element.hpp"
#include "support/temp_folder.hpp"
#include "unit/cli/inputs/picture_bytes.hpp"

namespace deputy::cli {
namespace {

TensorInfo Input(DType dtype, const Shape& shape) {
  TensorInfo info;
  info.name = "image";
  info.dtype = dtype;
  info.shape = shape;
  for (const int64_t extent : shape) info.dims.push_back(extent < 0 ? "" : std::to_string(extent));
  return info;
}

std::vector<double> Elements(const Tensor& tensor) {
  std::vector<double> elements;
  for (int64_t i = 0; i < tensor.element_count(); ++i) elements.push_back(ElementAt(tensor, i));
  return elements;
}

class PictureInput : public testing::Test {
 protected:
  std::string File(const std::string& name, const PixelImage& image) {
    const std::string path = folder_.path() / name;
    std::ofstream(path, std::ios::binary) << PnmOf(image);
    return path;
  }
  Result<PictureTensor> Make(DType dtype, const Shape& shape, const PictureSettings& settings = {}) {
    // Two pixels, red and blue among others.
    const std::string file = File("a.ppm", {2, 1, 3, {10, 20, 30, 40, 50, 60}});
    return MakePictureTensor(Input(dtype, shape), shape, {file}, settings);
  }

  const host::TempFolder folder_;
};

TEST_F(PictureInput, ChannelsAreFirstOrLastAsInTheShape) {
  EXPECT_EQ(Elements(Make(DType::kFloat32, {1, 3, 1, 2})->tensor), (std::vector<double>{10, 40, 20, 50, 30, 60}));
  EXPECT_EQ(Elements(Make(DType::kUint8, {-1, -1, 2, 3})->tensor), (std::vector<double>{10, 20, 30, 40, 50, 60}));
  EXPECT_EQ(Make(DType::kUint8, {-1, -1, -1, 3})->tensor.shape(), (Shape{1, 1, 2, 3}));
  EXPECT_EQ(Make(DType::kFloat32, {3, -1, -1})->tensor.shape(), (Shape{3, 1, 2}));
}

TEST_F(PictureInput, BgrReversesTheChannelsAndMeansFollowTheTensor) {
  PictureSettings settings;
  settings.bgr = true;
  settings.mean = {1, 2, 3};
  settings.scale = {10};
  EXPECT_EQ(Elements(Make(DType::kFloat32, {1, 3, 1, 2}, settings)->tensor),
            (std::vector<double>{290, 590, 180, 480, 70, 370}));
}

TEST_F(PictureInput, IntegersAreRoundedAndMustFit) {
  PictureSettings settings;
  settings.mean = {127.5};
  EXPECT_EQ(
      Elements(
          Make(DType::kInt8, {1, 1, 2, 3}, PictureSettings{"NHWC", PictureFit::kStretch, {128}, {1}, false})->tensor),
      (std::vector<double>{-118, -108, -98, -88, -78, -68}));
  EXPECT_TRUE(Make(DType::kInt8, {1, 3, 1, 2}, settings).ok()) << "255 - 127.5 rounds to 127 or 128, which is 127";
  const auto refused = Make(DType::kInt8, {1, 3, 1, 2});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().ToString().find("--mean 128"), std::string::npos) << refused.status().ToString();
  settings.scale = {1000};
  EXPECT_FALSE(Make(DType::kFloat16, {1, 3, 1, 2}, settings).ok()) << "beyond 65504";
}

TEST_F(PictureInput, HalfPrecisionHoldsTheScaledSamples) {
  PictureSettings settings;
  settings.scale = {0.5};
  EXPECT_EQ(Elements(Make(DType::kFloat16, {1, 3, 1, 2}, settings)->tensor),
            (std::vector<double>{5, 20, 10, 25, 15, 30}));
}

TEST_F(PictureInput, OneChannelTakesGrey) {
  EXPECT_EQ(Elements(Make(DType::kUint8, {1, 1, 1, 2}, {"NCHW", PictureFit::kStretch, {0}, {1}, false})->tensor),
            (std::vector<double>{18, 48}));
}

TEST_F(PictureInput, AnotherSizeIsResizedAndSaid) {
  const auto made = Make(DType::kFloat32, {1, 3, 4, 4});
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  EXPECT_EQ(made->tensor.shape(), (Shape{1, 3, 4, 4}));
  EXPECT_NE(made->origin.find("2x1 stretched to 4x4"), std::string::npos) << made->origin;
}

TEST_F(PictureInput, ShapesThatDoNotShowTheChannelsNeedALayout) {
  for (const Shape& shape :
       {Shape{1, 3, 8, 3}, Shape{1, 8, 8, 8}, Shape{-1, -1, -1, -1}, Shape{1, 8}, Shape{1, 1, 3}}) {
    const auto layout = DeduceLayout(Input(DType::kFloat32, shape), shape);
    ASSERT_FALSE(layout.ok());
    if (shape.size() > 2) {
      EXPECT_NE(layout.status().advice().find("--layout"), std::string::npos);
    }
  }
  EXPECT_EQ(DeduceLayout(Input(DType::kFloat32, {8, 8, 1}), {8, 8, 1}).value(), "HWC");
}

TEST_F(PictureInput, LayoutOfAnotherRankAndOtherChannelsAreRefused) {
  EXPECT_FALSE(Make(DType::kFloat32, {1, 3, 1, 2}, {"CHW", PictureFit::kStretch, {0}, {1}, false}).ok());
  EXPECT_FALSE(Make(DType::kFloat32, {1, 4, 1, 2}, {"NCHW", PictureFit::kStretch, {0}, {1}, false}).ok());
  EXPECT_FALSE(Make(DType::kFloat32, {1, 3, 1, 2}, {"NCHW", PictureFit::kStretch, {0, 0}, {1}, false}).ok());
  EXPECT_FALSE(Make(DType::kString, {1, 3, 1, 2}).ok());
  EXPECT_FALSE(Make(DType::kFloat32, {1, 3, 100000, 100000}).ok());
}

TEST_F(PictureInput, SeveralPicturesAreABatch) {
  const std::string a = File("a.pgm", {2, 1, 1, {1, 2}}), b = File("b.pgm", {2, 1, 1, {3, 4}});
  const TensorInfo open = Input(DType::kFloat32, {-1, 1, 1, 2}), one = Input(DType::kFloat32, {1, 1, 1, 2});
  const PictureSettings settings{"NCHW", PictureFit::kStretch, {0}, {1}, false};
  const auto made = MakePictureTensor(open, open.shape, {a, b}, settings);
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  EXPECT_EQ(Elements(made->tensor), (std::vector<double>{1, 2, 3, 4}));
  const auto refused = MakePictureTensor(one, one.shape, {a, b}, settings);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().advice().find("--shape image=2x1x1x2"), std::string::npos) << refused.status().ToString();
}

TEST_F(PictureInput, PicturesOfDifferentSizesNeedAShape) {
  const std::string a = File("a.pgm", {2, 1, 1, {1, 2}}), b = File("b.pgm", {1, 1, 1, {3}});
  const TensorInfo open = Input(DType::kFloat32, {-1, 1, -1, -1});
  EXPECT_FALSE(MakePictureTensor(open, open.shape, {a, b}, {}).ok());
}

TEST(PictureSettings, AFlagForOneInputComesBeforeThoseForAll) {
  PictureOptions options;
  options.mean = {"left=1,2,3", "0.5"};
  options.scale = {"1/4"};
  options.resize = {"crop"};
  options.layout = {"right=NHWC"};
  options.channels = {"bgr"};
  const PictureSettings left = SettingsFor(options, "left").value(), right = SettingsFor(options, "right").value();
  EXPECT_EQ(left.mean, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(right.mean, std::vector<double>{0.5});
  EXPECT_EQ(right.scale, std::vector<double>{0.25});
  EXPECT_EQ(right.layout, "NHWC");
  EXPECT_EQ(left.layout, "");
  EXPECT_TRUE(left.bgr);
  EXPECT_EQ(left.fit, PictureFit::kCrop);
}

TEST(PictureSettings, OtherWordsAndNumbersAreRefusedByTheFlag) {
  const auto refused = [](std::vector<std::string> PictureOptions::*flag, const std::string& value) {
    PictureOptions options;
    (options.*flag).push_back(value);
    return SettingsFor(options, "x").status().where();
  };
  EXPECT_EQ(refused(&PictureOptions::layout, "nchw"), "--layout");
  EXPECT_EQ(refused(&PictureOptions::resize, "fit"), "--resize");
  EXPECT_EQ(refused(&PictureOptions::channels, "rgba"), "--channels");
  for (const char* value : {"", "a", "1,2", "1,2,3,4", "1/0", "1,,3", "nan", "1/", "1e999", "1 ", "1,2,"})
    EXPECT_EQ(refused(&PictureOptions::mean, value), "--mean") << value;
  EXPECT_EQ(refused(&PictureOptions::scale, "x=1,2"), "--scale");
}

TEST_F(PictureInput, FlagsOfPicturesWithoutAPictureAreRefused) {
  InputArguments arguments;
  arguments.pictures.mean = {"1"};
  const std::vector<TensorInfo> inputs = {Input(DType::kFloat32, {1, 3, 1, 2})};
  EXPECT_EQ(BindInputs(inputs, arguments, {}, 1).status().where(), "--mean 1");
  arguments.files = {"image=" + File("a.ppm", {2, 1, 3, {1, 2, 3, 4, 5, 6}})};
  EXPECT_TRUE(BindInputs(inputs, arguments, {}, 1).ok());
  arguments.pictures.mean = {"imgae=1"};
  EXPECT_FALSE(BindInputs(inputs, arguments, {}, 1).ok());
}

}  // namespace
}  // namespace deputy::cli
