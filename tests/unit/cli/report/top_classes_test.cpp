#include "cli/report/top_classes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "support/temp_folder.hpp"

namespace deputy::cli {
namespace {

Tensor Floats(const Shape& shape, const std::vector<float>& values) {
  return Tensor::FromValues<float>(DType::kFloat32, shape, values).value();
}

std::vector<TensorInfo> Named(size_t count) {
  std::vector<TensorInfo> infos(count);
  for (size_t i = 0; i < count; ++i) infos[i].name = "y" + std::to_string(i);
  return infos;
}

TopOptions Top(uint32_t count, bool softmax = false) { return {count, "names.txt", softmax}; }

std::vector<int64_t> Indices(const TopRow& row) {
  std::vector<int64_t> indices;
  for (const TopClass& found : row.classes) indices.push_back(found.index);
  return indices;
}

TEST(TopClasses, EachRowIsSortedAndEqualValuesKeepTheirOrder) {
  const auto rows = FindTopClasses(Top(3), {}, Named(1), {Floats({2, 4}, {1, 3, 3, 2, NAN, -1, 0, NAN})}).value();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(Indices(rows[0]), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(Indices(rows[1]), (std::vector<int64_t>{2, 1, 0})) << "NaN is last";
  EXPECT_EQ(rows[1].row, 1);
}

TEST(TopClasses, OneDimensionAndFurtherExtentsOfOneAreClasses) {
  EXPECT_EQ(Indices(FindTopClasses(Top(9), {}, Named(1), {Floats({2}, {1, 2})}).value()[0]),
            (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(FindTopClasses(Top(1), {}, Named(1), {Floats({2, 2, 1, 1}, {1, 2, 4, 3})}).value().size(), 2U);
}

TEST(TopClasses, LabelsChooseTheOutputWithAsManyClasses) {
  const auto rows =
      FindTopClasses(Top(1), {"cat", "dog"}, Named(2), {Floats({1, 3}, {1, 2, 3}), Floats({1, 2}, {1, 2})});
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_EQ((*rows)[0].output, "y1");
  EXPECT_EQ((*rows)[0].classes[0].label, "dog");
}

TEST(TopClasses, AnotherNumberOfLabelsIsAnErrorWithBoth) {
  const auto refused = FindTopClasses(Top(1), {"cat", "dog"}, Named(1), {Floats({1, 3}, {1, 2, 3})});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().ToString(), "--labels: names.txt has 2 labels, output 'y0' has 3 classes");
}

TEST(TopClasses, OutputsWithoutClassesAreAnError) {
  for (const Shape& shape : {Shape{}, Shape{1, 2, 2}, Shape{4, 1}, Shape{0, 3}}) {
    const auto refused = FindTopClasses(Top(1), {}, Named(1), {Tensor::Allocate(DType::kFloat32, shape).value()});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.status().where(), "--top");
  }
}

TEST(TopClasses, SoftmaxSumsToOneAlsoForLargeValues) {
  const auto rows = FindTopClasses(Top(2, true), {}, Named(1), {Floats({1, 2}, {1000, 1000})}).value();
  EXPECT_DOUBLE_EQ(rows[0].classes[0].value, 0.5);
  EXPECT_DOUBLE_EQ(rows[0].classes[1].value, 0.5);
}

TEST(TopClasses, JsonHasStableKeys) {
  const auto rows = FindTopClasses(Top(1), {"cat", "dog"}, Named(1), {Floats({1, 2}, {1, 2})}).value();
  EXPECT_EQ(ToJson(rows).dump(), R"([{"output":"y0","row":0,"classes":[{"index":1,"value":2.0,"label":"dog"}]}])");
}

TEST(Labels, AreTheLinesOfTheFile) {
  const host::TempFolder folder;
  const std::string path = folder.path() / "labels.txt";
  std::ofstream(path, std::ios::binary) << "n01440764 tench\r\n\nlast";
  EXPECT_EQ(ReadLabels(path).value(), (std::vector<std::string>{"n01440764 tench", "", "last"}));
  std::ofstream(path, std::ios::binary) << "";
  EXPECT_EQ(ReadLabels(path).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadLabels("/nowhere").status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(ReadLabels("/dev/zero").ok());
}

}  // namespace
}  // namespace deputy::cli
