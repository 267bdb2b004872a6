// The device's operators. Each has a check, which decides whether a node fits the hardware and gives the reason if not,
// and a maker, which turns an accepted node into a layer.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "deputy/sdk/sdk.hpp"
#include "layer.hpp"

namespace sim_npu {

// A constant's or an activation's extents; the device supports matrices and images (NCHW).
using Dims = std::vector<int64_t>;

// Of one tensor: the largest device has 512 MiB.
inline constexpr int64_t kMostElements = int64_t{1} << 27;
// Of the copies that a layer keeps of its operands: with padding, in tiles.
inline constexpr int64_t kMostScratch = int64_t{1} << 26;

// Which inputs the layer reads as tensors.
enum class Data {
  kFirst,       // the first; others only repeat the shapes
  kParameters,  // the first, and others that may have fewer dimensions than the device's tensors
  kAnyShape     // all, broadcast to the output
};

struct Operator {
  std::string_view type;
  int32_t since;  // the oldest definition with the layer's semantics; 1: any
  size_t rank;    // of the first input; 0: any that the device has
  Data data;
  const char* note;
  deputy::sdk::Verdict (*check)(const deputy::sdk::NodeView& node);
  // Requests its constants always in the same order.
  std::unique_ptr<Layer> (*make)(const deputy::sdk::NodeView& node, Constants& constants);
};

// The operator of the node's type, NULL if the device has none.
const Operator* FindOperator(const deputy::sdk::NodeView& node);
// Reshape, Flatten, Identity: the data under another shape. Worth a transfer only together with the operator behind.
bool IsCopy(const deputy::sdk::NodeView& node);
// A row for each operator and rank of the table that Check uses.
std::vector<deputy::sdk::Capability> ListCapabilities();
// The complete verdict: the conditions of every operator, then the operator's own check.
deputy::sdk::Verdict Check(const deputy::sdk::NodeView& node);

// Nodes that the device accepts only together: a copy is placed with the one operator that reads it, or rejected: by
// itself it costs two transfers and saves nothing.
deputy::sdk::Status NameGroups(const deputy::sdk::GraphView& graph, const deputy::sdk::GroupSink& sink);

// The sliding window of convolutions and pools: kernel, stride, dilation and start, for height and width.
struct Window {
  std::array<int64_t, 2> kernel{1, 1}, stride{1, 1}, dilation{1, 1};
  std::array<int64_t, 2> begin{0, 0};  // padding above and to the left

  // Extent of the input that `outputs` positions of the window touch.
  int64_t Span(size_t axis, int64_t outputs) const {
    return (outputs - 1) * stride[axis] + (kernel[axis] - 1) * dilation[axis] + 1;
  }
};

// `kernel` is {0, 0} where the node must have kernel_shape. Only for nodes that CheckWindow accepts.
Window ReadWindow(const deputy::sdk::NodeView& node, std::array<int64_t, 2> kernel);
// Does it fit the hardware: a two-dimensional window of at most `largest` elements a side?
deputy::sdk::Verdict CheckWindow(const deputy::sdk::NodeView& node, std::array<int64_t, 2> kernel, int64_t largest);

deputy::sdk::Verdict CheckConv(const deputy::sdk::NodeView& node);
std::unique_ptr<Layer> MakeConv(const deputy::sdk::NodeView& node, Constants& constants);
deputy::sdk::Verdict CheckPool(const deputy::sdk::NodeView& node);
std::unique_ptr<Layer> MakePool(const deputy::sdk::NodeView& node, Constants& constants);
deputy::sdk::Verdict CheckGlobalPool(const deputy::sdk::NodeView& node);
std::unique_ptr<Layer> MakeGlobalPool(const deputy::sdk::NodeView& node, Constants& constants);
deputy::sdk::Verdict CheckMatrix(const deputy::sdk::NodeView& node);  // Gemm, MatMul
std::unique_ptr<Layer> MakeMatrix(const deputy::sdk::NodeView& node, Constants& constants);
deputy::sdk::Verdict CheckBinary(const deputy::sdk::NodeView& node);  // Add, Sub, Mul
std::unique_ptr<Layer> MakeBinary(const deputy::sdk::NodeView& node, Constants& constants);
deputy::sdk::Verdict CheckActivation(const deputy::sdk::NodeView& node);
std::unique_ptr<Layer> MakeActivation(const deputy::sdk::NodeView& node, Constants& constants);
deputy::sdk::Verdict CheckBatchNormalization(const deputy::sdk::NodeView& node);
std::unique_ptr<Layer> MakeBatchNormalization(const deputy::sdk::NodeView& node, Constants& constants);
deputy::sdk::Verdict CheckSoftmax(const deputy::sdk::NodeView& node);
std::unique_ptr<Layer> MakeSoftmax(const deputy::sdk::NodeView& node, Constants& constants);
deputy::sdk::Verdict CheckConcat(const deputy::sdk::NodeView& node);
std::unique_ptr<Layer> MakeConcat(const deputy::sdk::NodeView& node, Constants& constants);
deputy::sdk::Verdict CheckCopy(const deputy::sdk::NodeView& node);  // Reshape, Flatten, Identity
std::unique_ptr<Layer> MakeCopy(const deputy::sdk::NodeView& node, Constants& constants);

// The device's own operator, Gate (gate.cpp), and its description for the host.
inline constexpr const char* kOwnDomain = "org.deputy.sim_npu";
deputy::sdk::OwnOperators OwnOperatorsOfTheDevice();
deputy::sdk::Verdict CheckGate(const deputy::sdk::NodeView& node);
std::unique_ptr<Layer> MakeGate(const deputy::sdk::NodeView& node, Constants& constants);

}  // namespace sim_npu
