// Shape inference of LSTM, GRU and RNN, and of DynamicQuantizeLSTM. X is [steps, batch, input] and Y [steps,
// directions, batch, hidden]; with layout 1 the batch is the first axis of all of them.
#include <algorithm>
#include <array>

#include "graph/inference/functions.hpp"
#include "graph/inference/operands.hpp"

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

struct RecurrentExtents {
  int64_t steps, batch, directions, hidden, gates;
  bool batch_first;
};

// A state is [directions, batch, hidden], or with layout 1 [batch, directions, hidden].
Status CheckState(const InferenceContext& context, size_t i, const RecurrentExtents& of, const char* name) {
  return of.batch_first ? CheckShape(context, i, {of.batch, of.directions, of.hidden}, name)
                        : CheckShape(context, i, {of.directions, of.batch, of.hidden}, name);
}

// The operands after the weights.
Status CheckRest(const InferenceContext& context, const RecurrentExtents& of, bool has_cell) {
  const int64_t hidden = of.hidden;
  const auto times = [hidden](int64_t factor) { return hidden < 0 ? kUnknownDim : factor * hidden; };
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 3, {of.directions, times(2 * of.gates)}, "B"));
  DEPUTY_RETURN_IF_ERROR(CheckShape(context, 4, {of.batch}, "sequence_lens"));
  if (of.steps >= 0) DEPUTY_RETURN_IF_ERROR(CheckValues(context, 4, {0, of.steps}, "sequence_lens"));
  DEPUTY_RETURN_IF_ERROR(CheckState(context, 5, of, "initial_h"));
  if (!has_cell) return Status();
  DEPUTY_RETURN_IF_ERROR(CheckState(context, 6, of, "initial_c"));
  return CheckShape(context, 7, {of.directions, times(3)}, "P");
}

// Without names each direction has its defaults. The default of RNN names two, for any direction.
Status CheckActivations(const InferenceContext& context, int64_t gates, int64_t directions) {
  const size_t named = context.primitive().GetStrings("activations").size();
  const int64_t each = gates == 4 ? 3 : gates == 3 ? 2 : 1;
  if (named == 0 || named >= static_cast<size_t>(each * directions)) return Status();
  return Error(StatusCode::kModel, "activations has {} elements, expected {}, {} for each direction", named,
               each * directions, each);
}

// Scales and zero points of quantized weights [directions, depth, columns]: one for each direction, or each column.
Status CheckPerColumn(const InferenceContext& context, size_t i, const ValueType& weights, const char* name) {
  DEPUTY_RETURN_IF_ERROR(CheckGiven(context, i, name));
  if (!context.input(i).ranked) return Status();
  const std::array<int64_t, 2> expected = {DimOf(weights, 0), DimOf(weights, 2)};
  return CheckShape(context, i, std::span(expected).first(context.input(i).dims.size() == 1 ? 1 : 2), name);
}

Status InferRecurrent(InferenceContext& context, int64_t gates, bool has_cell, WeightAxes axes = {}) {
  const ValueType& x = context.input(0);
  const ValueType& r = context.input(2);
  static constexpr const char* kNames[] = {"X", "W", "R"};
  for (size_t i = 0; i < 3; ++i)
    if (context.input(i).ranked && context.input(i).dims.size() != 3)
      return Error(StatusCode::kModel, "{} has rank {}, expected 3", kNames[i], context.input(i).dims.size());
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
  const RecurrentExtents extents = {steps, batch, directions, hidden, gates, batch_first};
  DEPUTY_RETURN_IF_ERROR(CheckRest(context, extents, has_cell));
  DEPUTY_RETURN_IF_ERROR(CheckActivations(context, gates, directions));
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
  DEPUTY_RETURN_IF_ERROR(InferRecurrent(context, 4, true, {2, 1}));
  const ValueType &w = context.input(1), &r = context.input(2);
  DEPUTY_RETURN_IF_ERROR(CheckPerColumn(context, 8, w, "W_scale"));
  DEPUTY_RETURN_IF_ERROR(CheckPerColumn(context, 9, w, "W_zero_point"));
  DEPUTY_RETURN_IF_ERROR(CheckPerColumn(context, 10, r, "R_scale"));
  return CheckPerColumn(context, 11, r, "R_zero_point");
}

}  // namespace deputy::host
