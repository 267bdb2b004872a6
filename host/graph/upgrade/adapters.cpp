#include "graph/upgrade/adapters.hpp"

#include <array>

namespace deputy::host {
namespace {

constexpr auto kAdapters = std::to_array<Adapter>({
    {OpKind::kAbs, 6, DropConsumedInputs, ""},
    {OpKind::kAdd, 6, DropConsumedInputs, ""},
    {OpKind::kAdd, 7, UpgradeBroadcast, ""},
    {OpKind::kAnd, 7, UpgradeBroadcast, ""},
    {OpKind::kBatchNormalization, 6, DropConsumedInputs, ""},
    {OpKind::kBatchNormalization, 7, DropIsTest, ""},
    {OpKind::kBatchNormalization, 9, UpgradeBatchNormalization7, ""},
    {OpKind::kBatchNormalization, 14, UpgradeBatchNormalization9, ""},
    {OpKind::kCast, 6, UpgradeCast, ""},
    {OpKind::kCeil, 6, DropConsumedInputs, ""},
    {OpKind::kClip, 6, DropConsumedInputs, ""},
    {OpKind::kClip, 11, UpgradeClip, ""},
    {OpKind::kConcat, 4, UpgradeConcat, ""},
    {OpKind::kDFT, 20, nullptr, "the axis stays an attribute: the kernel reads the version"},
    {OpKind::kDiv, 6, DropConsumedInputs, ""},
    {OpKind::kDiv, 7, UpgradeBroadcast, ""},
    {OpKind::kDropout, 6, DropConsumedInputs, ""},
    {OpKind::kDropout, 7, DropIsTest, ""},
    {OpKind::kDropout, 10, UpgradeDropout7, ""},
    {OpKind::kDropout, 12, UpgradeDropout10, ""},
    {OpKind::kElu, 6, DropConsumedInputs, ""},
    {OpKind::kEqual, 7, UpgradeBroadcast, ""},
    {OpKind::kExp, 6, DropConsumedInputs, ""},
    {OpKind::kFloor, 6, DropConsumedInputs, ""},
    {OpKind::kGRU, 3, UpgradeRecurrent, ""},
    {OpKind::kGRU, 7, UpgradeRecurrent, ""},
    {OpKind::kGemm, 7, UpgradeGemm, ""},
    {OpKind::kGlobalLpPool, 2, UpgradePower, ""},
    {OpKind::kGreater, 7, UpgradeBroadcast, ""},
    {OpKind::kGroupNormalization, 21, nullptr, "the scale stays one per group: the kernel reads the version"},
    {OpKind::kHardSigmoid, 6, DropConsumedInputs, ""},
    {OpKind::kHardmax, 13, UpgradeSoftmax, ""},
    {OpKind::kInstanceNormalization, 6, DropConsumedInputs, ""},
    {OpKind::kLSTM, 7, UpgradeRecurrent, ""},
    {OpKind::kLayerNormalization, 17, nullptr, "ONNX adopted it from ONNX Runtime unchanged"},
    {OpKind::kLeakyRelu, 6, DropConsumedInputs, ""},
    {OpKind::kLess, 7, UpgradeBroadcast, ""},
    {OpKind::kLog, 6, DropConsumedInputs, ""},
    {OpKind::kLogSoftmax, 13, UpgradeSoftmax, ""},
    {OpKind::kLoop, 11, nullptr, "adds only carried values of changing shape"},
    {OpKind::kLpPool, 2, UpgradePower, ""},
    {OpKind::kMax, 6, DropConsumedInputs, ""},
    {OpKind::kMax, 8, nullptr, "adds only broadcasting"},
    {OpKind::kMaxPool, 8, nullptr, "adds only a second output"},
    {OpKind::kMean, 6, DropConsumedInputs, ""},
    {OpKind::kMean, 8, nullptr, "adds only broadcasting"},
    {OpKind::kMin, 6, DropConsumedInputs, ""},
    {OpKind::kMin, 8, nullptr, "adds only broadcasting"},
    {OpKind::kMl_LabelEncoder, 2, nullptr, "another map: the kernel reads the version"},
    {OpKind::kMul, 6, DropConsumedInputs, ""},
    {OpKind::kMul, 7, UpgradeBroadcast, ""},
    {OpKind::kNeg, 6, DropConsumedInputs, ""},
    {OpKind::kOneHot, 11, UpgradeOneHot, ""},
    {OpKind::kOr, 7, UpgradeBroadcast, ""},
    {OpKind::kPRelu, 6, DropConsumedInputs, ""},
    {OpKind::kPRelu, 7, UpgradePRelu, ""},
    {OpKind::kPad, 2, UpgradePad1, ""},
    {OpKind::kPad, 11, UpgradePad, ""},
    {OpKind::kPow, 7, UpgradeBroadcast, ""},
    {OpKind::kPow, 12, nullptr, "adds only exponents of another type"},
    {OpKind::kRNN, 7, UpgradeRecurrent, ""},
    {OpKind::kReciprocal, 6, DropConsumedInputs, ""},
    {OpKind::kReduceL1, 18, UpgradeReduce, ""},
    {OpKind::kReduceL2, 18, UpgradeReduce, ""},
    {OpKind::kReduceLogSum, 18, UpgradeReduce, ""},
    {OpKind::kReduceLogSumExp, 18, UpgradeReduce, ""},
    {OpKind::kReduceMax, 18, UpgradeReduce, ""},
    {OpKind::kReduceMean, 18, UpgradeReduce, ""},
    {OpKind::kReduceMin, 18, UpgradeReduce, ""},
    {OpKind::kReduceProd, 18, UpgradeReduce, ""},
    {OpKind::kReduceSum, 13, UpgradeReduce, ""},
    {OpKind::kReduceSumSquare, 18, UpgradeReduce, ""},
    {OpKind::kRelu, 6, DropConsumedInputs, ""},
    {OpKind::kReshape, 5, UpgradeReshape, ""},
    {OpKind::kResize, 11, UpgradeResize, ""},
    {OpKind::kRoiAlign, 16, nullptr, "another default of a new attribute: the kernel reads the version"},
    {OpKind::kScan, 9, UpgradeScan, ""},
    {OpKind::kScan, 11, nullptr, "adds only negative axes"},
    {OpKind::kSelu, 6, UpgradeSelu, ""},
    {OpKind::kSigmoid, 6, DropConsumedInputs, ""},
    {OpKind::kSlice, 10, UpgradeSlice, ""},
    {OpKind::kSoftmax, 13, UpgradeSoftmax, ""},
    {OpKind::kSplit, 2, UpgradeSplit1, ""},
    {OpKind::kSplit, 13, UpgradeSplit, ""},
    {OpKind::kSqrt, 6, DropConsumedInputs, ""},
    {OpKind::kSqueeze, 13, UpgradeSqueeze, ""},
    {OpKind::kSub, 6, DropConsumedInputs, ""},
    {OpKind::kSub, 7, UpgradeBroadcast, ""},
    {OpKind::kSum, 6, DropConsumedInputs, ""},
    {OpKind::kSum, 8, nullptr, "adds only broadcasting"},
    {OpKind::kTanh, 6, DropConsumedInputs, ""},
    {OpKind::kTile, 6, UpgradeTile, ""},
    {OpKind::kTopK, 10, UpgradeTopK, ""},
    {OpKind::kUnsqueeze, 13, UpgradeSqueeze, ""},
    {OpKind::kUpsample, 7, UpgradeUpsample1, ""},
    {OpKind::kUpsample, 9, UpgradeUpsample7, ""},
    {OpKind::kUpsample, 10, UpgradeUpsample9, ""},
    {OpKind::kXor, 7, UpgradeBroadcast, ""},
});

// Where the adapters of each operator begin.
constexpr size_t kOperatorCount = 1
#define DEPUTY_OPERATOR_BEGIN(name, ...) +1
#include "schema/operators.inc"
    ;

constexpr std::array<uint16_t, kOperatorCount> FirstAdapters() {
  std::array<uint16_t, kOperatorCount> first{};
  for (uint16_t i = kAdapters.size(); i-- > 0;) first[static_cast<size_t>(kAdapters[i].kind)] = i;
  return first;
}

}  // namespace

std::span<const Adapter> AllAdapters() { return kAdapters; }

const Adapter* NextAdapter(OpKind kind, int32_t version) {
  static constexpr std::array<uint16_t, kOperatorCount> kFirst = FirstAdapters();
  for (size_t i = kFirst[static_cast<size_t>(kind)]; i < kAdapters.size() && kAdapters[i].kind == kind; ++i)
    if (kAdapters[i].since_version > version) return &kAdapters[i];
  return nullptr;
}

}  // namespace deputy::host
