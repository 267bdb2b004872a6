// The words of the line of progress.
#include "cli/terminal/progress.hpp"

#include <gtest/gtest.h>

namespace deputy::cli {
namespace {

TEST(ProgressText, NamesTheDelegateAndCounts) {
  EXPECT_EQ(ProgressText({ProgressStage::kCompile, "npu0", "m.onnx", 1, 2, 14}),
            "npu0: compiling partition 1 of 2, 14 nodes");
  EXPECT_EQ(ProgressText({ProgressStage::kCompile, "npu0", "m.onnx", 1, 1, 1}),
            "npu0: compiling partition 1 of 1, 1 node");
  EXPECT_EQ(ProgressText({ProgressStage::kVerification, "npu0", "npu0/1", 0, 0, 3}),
            "npu0: verifying partition npu0/1, 3 nodes");
  EXPECT_EQ(ProgressText({ProgressStage::kOpen, "npu0", "sim_npu"}), "npu0: opening");
}

TEST(ProgressText, NamesTheModelOrTheFile) {
  EXPECT_EQ(ProgressText({ProgressStage::kScan, "", "/plugins/a.so"}), "checking plugin /plugins/a.so");
  EXPECT_EQ(ProgressText({ProgressStage::kImport, "", "m.onnx"}), "m.onnx: reading");
  EXPECT_EQ(ProgressText({ProgressStage::kPasses, "", "m.onnx", 0, 0, 9}), "m.onnx: simplifying the graph, 9 nodes");
  EXPECT_EQ(ProgressText({ProgressStage::kPlacement, "", "m.onnx", 0, 0, 9}), "m.onnx: placing 9 nodes");
  EXPECT_EQ(ProgressText({ProgressStage::kMeasurement, "", "without npu0", 3}), "measuring placement 3: without npu0");
}

TEST(ReportProgress, CountsStages) {
  const uint64_t before = ProgressCount(ProgressStage::kVerification);
  ReportProgress({ProgressStage::kVerification, "npu0", "npu0/1", 0, 0, 3});
  ReportProgress({ProgressStage::kOpen, "npu0", "sim_npu"});
  EXPECT_EQ(ProgressCount(ProgressStage::kVerification), before + 1);
}

}  // namespace
}  // namespace deputy::cli
