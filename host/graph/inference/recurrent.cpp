// Shape inference of LSTM, GRU and RNN, and of DynamicQuantizeLSTM. X is [steps, batch, input] and Y [steps,
// directions, batch, hidden]; with layout 1 the batch is the first axis of all of them.
#include "graph/inference/functions.hpp"

namespace deputy::host {
namespace {

constexpr int64_t kLargestHidden = int64_t{1} << 31;

Status CheckDim(const InferenceContext& context, size_t i, size_t axis, int64_t wanted, const char* name) {
  if (!context.has_input(i) || !context.input(i).ranked || wanted < 0) return Status();
  const std::vector<int64_t>& dims = context.input(i).dims;
  if (axis >= dims.size() || (dims[axis] >= 0 && dims[axis] != wanted))
    return Error(StatusCode::kModel, "{} has shape {}, expected axis {} to have extent {}", name, ShapeToString(dims),
                 axis, wanted);
  return Status();
}

// The axes of W and R after the first: of the gates, and of the multiplied extent.
struct WeightAxes {
  size_t gates = 1, depth = 2;
};

Status InferRecurrent(InferenceContext& context, int64_t gates, bool has_cell, WeightAxes axes = {}) {
  const ValueType& x = context.input(0);
  const ValueType& r = context.input(2);
  if (x.ranked && x.dims.size() != 3) return Error(StatusCode::kModel, "X has rank {}, expected 3", x.dims.size());
  if (r.ranked && r.dims.size() != 3) return Error(StatusCode::kModel, "R has rank {}, expected 3", r.dims.size());
  const int64_t directions = context.primitive().GetString("direction", "forward") == "bidirectional" ? 2 : 1;
  int64_t hidden = context.primitive().GetInt("hidden_size", 0);
  if (hidden < 0 || hidden > kLargestHidden) return Error(StatusCode::kModel, "hidden_size {} is out of range", hidden);
  if (hidden == 0) {
    const int64_t depth = r.ranked ? r.dims[axes.depth] : kUnknownDim;
    hidden = depth >= 0 && depth <= kLargestHidden ? depth : kUnknownDim;
  }
  DEPUTY_RETURN_IF_ERROR(CheckDim(context, 1, 0, directions, "W"));
  DEPUTY_RETURN_IF_ERROR(CheckDim(context, 1, axes.gates, hidden < 0 ? hidden : gates * hidden, "W"));
  DEPUTY_RETURN_IF_ERROR(CheckDim(context, 1, axes.depth, x.ranked ? x.dims[2] : kUnknownDim, "W"));
  DEPUTY_RETURN_IF_ERROR(CheckDim(context, 2, 0, directions, "R"));
  DEPUTY_RETURN_IF_ERROR(CheckDim(context, 2, axes.gates, hidden < 0 ? hidden : gates * hidden, "R"));
  DEPUTY_RETURN_IF_ERROR(CheckDim(context, 2, axes.depth, hidden, "R"));

  const bool batch_first = context.primitive().GetInt("layout", 0) != 0;
  const int64_t first = x.ranked ? x.dims[0] : kUnknownDim, second = x.ranked ? x.dims[1] : kUnknownDim;
  const int64_t steps = batch_first ? second : first, batch = batch_first ? first : second;
  const std::vector<int64_t> last =
      batch_first ? std::vector<int64_t>{batch, directions, hidden} : std::vector<int64_t>{directions, batch, hidden};
  context.SetOutput(0, x.dtype,
                    batch_first ? std::vector<int64_t>{batch, steps, directions, hidden}
                                : std::vector<int64_t>{steps, directions, batch, hidden});
  context.SetOutput(1, x.dtype, last);
  if (has_cell) context.SetOutput(2, x.dtype, last);
  return Status();
}

}  // namespace

Status InferRNN(InferenceContext& context) { return InferRecurrent(context, 1, false); }
Status InferGRU(InferenceContext& context) { return InferRecurrent(context, 3, false); }
Status InferLSTM(InferenceContext& context) { return InferRecurrent(context, 4, true); }
Status InferMicrosoft_DynamicQuantizeLSTM(InferenceContext& context) {
  return InferRecurrent(context, 4, true, {2, 1});
}

}  // namespace deputy::host
