// One session at several shapes, with delegates that keep their partitions: what stays, what is compiled anew, and that
// the answers are those of the CPU.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "deputy/deputy.hpp"

namespace deputy {
namespace {

// The numbers are the same in every run.
Tensor Numbers(const Shape& shape, uint32_t seed) {
  Tensor tensor = *Tensor::Allocate(DType::kFloat32, shape);
  for (float& value : tensor.mutable_values<float>()) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 8) / static_cast<float>(1u << 24);
  }
  return tensor;
}

Context With(const std::string& delegate) {
  // Models as small as these would be left to the CPU.
  const std::string options = delegate == "onednn" ? ", options: {accept: everything}" : "";
  const std::string entries = delegate.empty() ? "" : "{name: " + delegate + ", required: true" + options + "}";
  return *Context::FromYamlText("reshaping",
                                "version: 1\nplugins: {paths: [$deputy/plugins]}\ncache: {dir: \"off\"}\n"
                                "log: {level: error}\ndelegates: [" +
                                    entries + "]\n");
}

std::vector<float> Predict(Session& session, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> outputs;
  const Status status = session.Predict(inputs, &outputs);
  EXPECT_TRUE(status.ok()) << status.ToString();
  if (!status.ok()) return {};
  const std::span<const float> values = outputs[0].values<float>();
  return {values.begin(), values.end()};
}

Session Of(const std::string& path, const std::string& delegate) {
  Model model;
  const Status status = model.Build(path, With(delegate));
  EXPECT_TRUE(status.ok()) << status.ToString();
  return *model.CreateSession();
}

void ExpectClose(const std::vector<float>& got, const std::vector<float>& wanted, float tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  float largest = 0;
  for (const float value : wanted) largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], tolerance * largest) << "element " << i;
}

TEST(ManyShapes, NineInTurnAreOneLineOfTheLog) {
  std::vector<std::string> lines;
  SetLogSink([&](LogLevel level, std::string_view, std::string_view message) {
    if (level >= LogLevel::kInfo) lines.emplace_back(message);
  });
  Context context = *Context::FromYamlText("shapes", "version: 1\ncache: {dir: \"off\"}\n");
  Model model;
  ASSERT_TRUE(model.Build(DEPUTY_TEST_MODELS "/two_inputs.onnx", context).ok());
  Session session = *model.CreateSession();
  for (int round = 0; round < 3; ++round)
    for (int64_t extent = 1; extent < 10; ++extent)
      (void)Predict(session, {Numbers({extent, 3}, 1), Numbers({1, 3}, 2)});
  SetLogSink(nullptr);
  EXPECT_EQ(lines.size(), 1u) << ::testing::PrintToString(lines);
}

// Name and origin of every partition of a delegate.
using Origins = std::vector<std::pair<std::string, std::string>>;
Origins OriginsOf(const Session& session, const std::string& delegate) {
  Origins origins;
  const Result<PlacementReport> report = session.Placement();
  EXPECT_TRUE(report.ok()) << report.status().ToString();
  for (const PartitionReport& partition : report->partitions)
    if (partition.delegate == delegate) origins.emplace_back(partition.name, partition.executable);
  return origins;
}

struct Keeper {
  const char* delegate;
  float tolerance;
};
void PrintTo(const Keeper& keeper, std::ostream* out) { *out << keeper.delegate; }

class Reshaping : public testing::TestWithParam<Keeper> {};

TEST_P(Reshaping, AnswersAreThoseOfTheCpuAtEveryShape) {
  Session session = Of(DEPUTY_TEST_DIGITS, GetParam().delegate), plain = Of(DEPUTY_TEST_DIGITS, "");
  for (const int64_t batch : {2, 5, 1, 5, 2}) {
    const Tensor pictures = Numbers({batch, 1, 28, 28}, static_cast<uint32_t>(batch));
    ExpectClose(Predict(session, {pictures}), Predict(plain, {pictures}), GetParam().tolerance);
    EXPECT_FALSE(OriginsOf(session, GetParam().delegate).empty()) << "batch " << batch;
  }
}

INSTANTIATE_TEST_SUITE_P(Delegates, Reshaping, testing::Values(Keeper{"onednn", 1e-5f}, Keeper{"sim_npu", 2e-2f}),
                         [](const auto& keeper) { return std::string(keeper.param.delegate); });

// A delegate that is asked estimates; what is carried over to other shapes was not asked about again.
TEST(ReshapingSimNpu, PartitionsAreKeptAndCompiledAnew) {
  Session session = Of(DEPUTY_TEST_DIGITS, "sim_npu");
  for (const int64_t batch : {2, 5}) {
    ASSERT_TRUE(session.Resize({{batch, 1, 28, 28}}).ok());
    const Result<PlacementReport> report = session.Placement();
    ASSERT_TRUE(report.ok());
    const auto npu = std::find_if(report->partitions.begin(), report->partitions.end(),
                                  [](const PartitionReport& partition) { return partition.delegate == "sim_npu"; });
    ASSERT_NE(npu, report->partitions.end());
    EXPECT_EQ(npu->executable, "compiled");
    EXPECT_EQ(npu->estimated, batch == 2);
  }
}

TEST(ReshapingOneDnn, APartitionWhoseShapesStayIsKeptAndTheOthersAreCompiledAnew) {
  const std::string model = std::filesystem::path(DEPUTY_TEST_MODELS) / "two_inputs.onnx";
  Session session = Of(model, "onednn"), plain = Of(model, "");
  const Tensor row = Numbers({1, 3}, 1);
  std::vector<Origins> seen;
  for (const int64_t rows : {2, 4, 7}) {
    const std::vector<Tensor> inputs = {Numbers({rows, 3}, 2), row};
    ExpectClose(Predict(session, inputs), Predict(plain, inputs), 1e-5f);
    seen.push_back(OriginsOf(session, "onednn"));
  }
  const Origins first = {{"onednn/0", "compiled"}, {"onednn/1", "compiled"}};
  const Origins later = {{"onednn/0", "resized"}, {"onednn/1", "compiled"}};
  EXPECT_EQ(seen, (std::vector<Origins>{first, later, later}));
}

// Bytes that are in use, by the C library; what a sanitizer's own allocator has in use is not known.
size_t InUse() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

class ChangingShapes : public testing::TestWithParam<const char*> {
 protected:
  // More shapes than a model keeps plans for, so that each run makes a new one, and always the same at last.
  static void Cycle(Session& session, int64_t first, int64_t last) {
    for (int64_t batch = first; batch <= last; ++batch) (void)Predict(session, {Numbers({batch, 1, 28, 28}, 1)});
  }
};

TEST_P(ChangingShapes, R174_TakeNoMoreMemoryRoundAfterRound) {
  constexpr int kRounds = 12;
  Session session = Of(DEPUTY_TEST_DIGITS, GetParam());
  for (int round = 0; round < kRounds; ++round) Cycle(session, 1, 10);
  const size_t before = InUse();
  for (int round = 0; round < 4 * kRounds; ++round) Cycle(session, 1, 10);
  EXPECT_LE(InUse(), before + (64 << 10));
}

TEST_P(ChangingShapes, R174_OfNewSessionsTakeNoMoreMemory) {
  constexpr int kRounds = 5;
  Model model;
  ASSERT_TRUE(model.Build(DEPUTY_TEST_DIGITS, With(GetParam())).ok());
  const auto rounds = [&](int count) {
    for (int round = 0; round < count; ++round) {
      Session session = *model.CreateSession();
      Cycle(session, 1, 10);
    }
  };
  rounds(kRounds);
  const size_t before = InUse();
  rounds(4 * kRounds);
  EXPECT_LE(InUse(), before + (64 << 10));
}

INSTANTIATE_TEST_SUITE_P(Delegates, ChangingShapes, testing::Values("", "onednn", "sim_npu"), [](const auto& delegate) {
  return std::string(*delegate.param == 0 ? "cpu" : delegate.param);
});

// oneDNN keeps primitives of shapes that may come again, whether they are in use or not.
TEST(ManyShapes, R174_OneDnnKeepsABoundedNumberOfPrimitives) {
  Session session = Of(DEPUTY_TEST_DIGITS, "onednn");
  const auto in_use_after = [&](int64_t first, int64_t last) {
    for (int64_t batch = first; batch <= last; ++batch) (void)Predict(session, {Numbers({batch, 1, 28, 28}, 1)});
    for (int64_t batch = 1; batch <= 9; ++batch) (void)Predict(session, {Numbers({batch, 1, 28, 28}, 1)});
    return InUse();
  };
  const size_t some = in_use_after(10, 60);
  EXPECT_LE(in_use_after(61, 160), some + (2 << 20));
}

}  // namespace
}  // namespace deputy
