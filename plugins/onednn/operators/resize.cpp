// Resize, where oneDNN uses the same elements with the same weights. ONNX has many ways to map positions, oneDNN one;
// both maps are computed and compared.
#include <algorithm>
#include <cmath>

#include "operators/operators.hpp"

namespace onednn {
namespace {

// Every position of an axis is compared.
constexpr int64_t kMostPositions = 1 << 20;

// How positions of the result map to positions of the input along one dimension.
struct Axis {
  int64_t in, out;
  double scale;
};

// Nothing where the scales are not known before the run.
std::optional<std::vector<Axis>> ResizedAxes(const sdk::NodeView& node) {
  const memory::dims x = ToDims(node.input(0).dims()), y = ToDims(node.output(0).dims());
  std::vector<Axis> axes;
  for (size_t i = 0; i < x.size(); ++i)
    axes.push_back({x[i], y[i], static_cast<double>(y[i]) / static_cast<double>(x[i])});
  const sdk::ValueView scales = node.input(node.since_version() < 11 ? 1 : 2);
  if (!scales.exists() || (scales.shape_known() && scales.element_count() == 0)) return axes;
  if (!scales.is_constant()) return std::nullopt;
  const sdk::Span<const float> given = scales.constant_values<float>();
  const std::vector<int64_t> chosen = node.Ints("axes", {});
  for (size_t i = 0; i < given.size(); ++i) {
    const size_t at = chosen.empty() ? i : static_cast<size_t>(FromFront(chosen[i], x.size()));
    axes[at].scale = static_cast<double>(given[i]);
  }
  return axes;
}

std::optional<double> PositionByOnnx(const Axis& axis, int64_t at, std::string_view mode) {
  const double x = static_cast<double>(at), in = static_cast<double>(axis.in), out = static_cast<double>(axis.out);
  if (mode == "asymmetric") return x / axis.scale;
  if (mode == "half_pixel" || (mode == "pytorch_half_pixel" && axis.out > 1)) return (x + 0.5) / axis.scale - 0.5;
  if (mode == "pytorch_half_pixel") return 0;
  if (mode == "align_corners") return axis.out == 1 ? 0 : x * (in - 1) / (out - 1);
  return std::nullopt;
}

// As oneDNN computes it, in float.
float PositionByOneDnn(const Axis& axis, int64_t at) {
  return (static_cast<float>(at) + 0.5f) * static_cast<float>(axis.in) / static_cast<float>(axis.out) - 0.5f;
}

int64_t Nearest(double position, std::string_view how) {
  if (how == "floor") return static_cast<int64_t>(std::floor(position));
  if (how == "ceil") return static_cast<int64_t>(std::ceil(position));
  if (how == "round_prefer_ceil") return static_cast<int64_t>(std::floor(position + 0.5));
  return static_cast<int64_t>(std::ceil(position - 0.5));
}

bool SameElements(const sdk::NodeView& node, const Axis& axis, bool linear) {
  const bool old = node.since_version() < 11;
  const std::string_view mode = old ? "asymmetric" : node.String("coordinate_transformation_mode", "half_pixel");
  const std::string_view how = old ? "floor" : node.String("nearest_mode", "round_prefer_floor");
  const auto within = [&](auto position) {
    return std::clamp<decltype(position)>(position, 0, static_cast<decltype(position)>(axis.in - 1));
  };
  for (int64_t at = 0; at < axis.out; ++at) {
    const std::optional<double> wanted = PositionByOnnx(axis, at, mode);
    if (!wanted) return false;
    const float given = PositionByOneDnn(axis, at);
    if (linear && std::fabs(within(*wanted) - within(static_cast<double>(given))) > 1e-5) return false;
    if (!linear && Nearest(within(*wanted), how) != static_cast<int64_t>(std::round(within(given)))) return false;
  }
  return true;
}

sdk::Verdict SupportsResize(const sdk::NodeView& node) {
  const size_t rank = node.input(0).rank();
  const std::string_view mode = node.String("mode", "nearest");
  if (mode != "nearest" && mode != "linear") return sdk::Verdict::No(sdk::Reason::kAttribute, "mode");
  if (node.Int("antialias", 0) != 0) return sdk::Verdict::No(sdk::Reason::kAttribute, "antialias");
  if (node.String("keep_aspect_ratio_policy", "stretch") != "stretch")
    return sdk::Verdict::No(sdk::Reason::kAttribute, "keep_aspect_ratio_policy");
  const auto axes = ResizedAxes(node);
  if (!axes) return sdk::Verdict::No(sdk::Reason::kNotConstant, "scales");
  for (size_t i = 0; i < rank; ++i) {
    const Axis& axis = (*axes)[i];
    if (i < 2 && (axis.in != axis.out || axis.scale != 1))
      return sdk::Verdict::No(sdk::Reason::kShape, "only spatial dimensions can be resized");
    if (axis.out > kMostPositions) return sdk::Verdict::No(sdk::Reason::kShape, "an extent is too large to compare");
    if (!SameElements(node, axis, mode == "linear"))
      return sdk::Verdict::No(sdk::Reason::kAttribute, "oneDNN maps the coordinates differently");
  }
  return sdk::Verdict::Yes();
}

void ReadResize(const sdk::NodeView& node, Program& program) {
  using dnnl::algorithm;
  const bool linear = node.String("mode", "nearest") == "linear";
  const Resample resample{linear ? algorithm::resampling_linear : algorithm::resampling_nearest};
  program.Bind(node.output(0), program.Add(resample, {program.Find(node.input(0))}, ToDims(node.output(0).dims())));
}

constexpr Operator kResizeOperators[] = {
    {"Resize", 1, SupportsResize, ReadResize, {3, 5}, "constant parameters, positions as oneDNN has them"}};

}  // namespace

sdk::Span<const Operator> ResizeOperators() { return {kResizeOperators, std::size(kResizeOperators)}; }

}  // namespace onednn
