// Resize: every output element is the sum of the input elements around its position, each dimension with its own
// weights.
#include <algorithm>
#include <cmath>

#include "reference/node.hpp"

namespace deputy::conformance::reference {
namespace {

struct Axis {
  int64_t in = 1, out = 1;
  double length = 1;                     // `out` before it is rounded down
  double scale = 1, begin = 0, end = 1;  // the region of interest, as parts of the extent
};

struct Tap {
  int64_t at;
  double weight;
};

double Position(const Axis& axis, int64_t i, const std::string& mode) {
  const auto x = static_cast<double>(i), in = static_cast<double>(axis.in), out = static_cast<double>(axis.out);
  const double length = axis.length;
  if (mode == "asymmetric") return x / axis.scale;
  if (mode == "align_corners") return length == 1 ? 0 : x * (in - 1) / (length - 1);
  if (mode == "pytorch_half_pixel") return axis.out == 1 ? 0 : (x + 0.5) / axis.scale - 0.5;
  if (mode == "half_pixel_symmetric") {
    const double wanted = in * axis.scale, center = in / 2;
    return center * (1 - out / wanted) + (x + 0.5) / axis.scale - 0.5;
  }
  if (mode == "tf_crop_and_resize")
    return length <= 1 ? 0.5 * (axis.begin + axis.end) * (in - 1)
                       : axis.begin * (in - 1) + x * (axis.end - axis.begin) * (in - 1) / (length - 1);
  return (x + 0.5) / axis.scale - 0.5;
}

int64_t Nearest(double position, const std::string& how, double scale) {
  // Before definition 11: down where it enlarges, up where it shrinks.
  if (how == "first") return static_cast<int64_t>(scale < 1 ? std::ceil(position) : std::floor(position));
  if (how == "floor") return static_cast<int64_t>(std::floor(position));
  if (how == "ceil") return static_cast<int64_t>(std::ceil(position));
  if (how == "round_prefer_ceil") return static_cast<int64_t>(std::floor(position + 0.5));
  return static_cast<int64_t>(std::ceil(position - 0.5));
}

double Cubic(double distance, double a) {
  const double d = std::fabs(distance);
  if (d <= 1) return (a + 2) * d * d * d - (a + 3) * d * d + 1;
  if (d < 2) return a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a;
  return 0;
}

// The input positions that an output position takes, with their weights.
std::vector<Tap> TapsOf(const Node& node, const Axis& axis, double position) {
  const std::string mode = node.String("mode", "nearest");
  const auto clamped = [&](int64_t at) { return std::clamp<int64_t>(at, 0, axis.in - 1); };
  if (mode == "nearest") {
    if (axis.scale == 1 && axis.in == axis.out && position == std::floor(position))
      return {{clamped(static_cast<int64_t>(position)), 1}};
    return {{clamped(Nearest(position, node.String("nearest_mode", "round_prefer_floor"), axis.scale)), 1}};
  }
  const bool linear = mode == "linear", exclude = node.Int("exclude_outside", 0) != 0;
  // With antialiasing a reduction widens the filter.
  const double stretch = node.Int("antialias", 0) != 0 && axis.scale < 1 ? axis.scale : 1;
  const double a = node.Float("cubic_coeff_a", -0.75f), radius = (linear ? 1 : 2) / stretch;
  std::vector<Tap> taps;
  double sum = 0;
  for (auto at = static_cast<int64_t>(std::ceil(position - radius)); static_cast<double>(at) <= position + radius;
       ++at) {
    const double distance = (static_cast<double>(at) - position) * stretch;
    double weight = linear ? std::max(0.0, 1 - std::fabs(distance)) : Cubic(distance, a);
    if (exclude && (at < 0 || at >= axis.in)) weight = 0;
    if (weight == 0) continue;
    taps.push_back({clamped(at), weight});
    sum += weight;
  }
  for (Tap& tap : taps) tap.weight /= sum;
  return taps;
}

std::vector<int64_t> AxesOf(const Node& node, size_t rank) {
  std::vector<int64_t> all;
  for (size_t i = 0; i < rank; ++i) all.push_back(static_cast<int64_t>(i));
  return node.Ints("axes", all);
}

std::vector<Axis> Layout(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  std::vector<Axis> axes(x.rank());
  for (size_t i = 0; i < x.rank(); ++i) {
    axes[i].in = axes[i].out = x.dims[i];
    axes[i].length = static_cast<double>(x.dims[i]);
  }
  const std::vector<int64_t> chosen = AxesOf(node, x.rank());
  const Tensor *roi = At(in, 1), *scales = At(in, 2), *sizes = At(in, 3);
  const std::string policy = node.String("keep_aspect_ratio_policy", "stretch");
  double common = 0;
  for (size_t i = 0; i < chosen.size(); ++i) {
    Axis& axis = axes[FromFront(chosen[i], x.rank())];
    const auto at = static_cast<int64_t>(i);
    if (sizes != nullptr && sizes->count() > 0) {
      axis.out = static_cast<int64_t>(sizes->Get(at));
      axis.scale = static_cast<double>(axis.out) / static_cast<double>(axis.in);
      axis.length = static_cast<double>(axis.out);
      const bool better = policy == "not_larger" ? axis.scale < common : axis.scale > common;
      if (i == 0 || better) common = axis.scale;
    } else {
      axis.scale = scales->Get(at);
      axis.length = static_cast<double>(axis.in) * axis.scale;
      axis.out = static_cast<int64_t>(std::floor(axis.length));
    }
    if (roi != nullptr && roi->count() > 0) {
      axis.begin = roi->Get(at);
      axis.end = roi->Get(at + static_cast<int64_t>(chosen.size()));
    }
  }
  if (policy == "stretch" || sizes == nullptr) return axes;
  for (const int64_t i : chosen) {
    Axis& axis = axes[FromFront(i, x.rank())];
    axis.scale = common;
    axis.out = static_cast<int64_t>(std::floor(common * static_cast<double>(axis.in) + 0.5));
    axis.length = common * static_cast<double>(axis.in);
  }
  return axes;
}

// In the form of the newest definition: before definition 11 there is no region, and positions are scaled as they are.
Node AsNew(const Node& node) {
  Node newer = node;
  newer.since_version = 19;
  newer.attributes["coordinate_transformation_mode"] = Attribute::String("asymmetric");
  newer.attributes["nearest_mode"] = Attribute::String("first");
  return newer;
}

std::vector<Tensor> Resize(const Node& node, const Inputs& in) {
  if (node.since_version < 11) return Resize(AsNew(node), {in[0], nullptr, in[1]});
  const Tensor& x = *in[0];
  const std::vector<Axis> axes = Layout(node, in);
  const std::string mode = node.String("coordinate_transformation_mode", "half_pixel");
  Dims dims;
  for (const Axis& axis : axes) dims.push_back(axis.out);
  Tensor y(x.dtype, dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims at = IndexOf(dims, i);
    std::vector<std::pair<int64_t, double>> terms = {{0, 1.0}};  // position in the input, weight
    bool outside = false;
    for (size_t d = 0; d < axes.size(); ++d) {
      const double position = Position(axes[d], at[d], mode);
      outside =
          outside || (mode == "tf_crop_and_resize" && (position < 0 || position > static_cast<double>(axes[d].in - 1)));
      const bool kept = axes[d].in == axes[d].out && axes[d].scale == 1 && mode != "tf_crop_and_resize";
      const std::vector<Tap> taps = kept ? std::vector<Tap>{{at[d], 1}} : TapsOf(node, axes[d], position);
      std::vector<std::pair<int64_t, double>> next;
      for (const auto& term : terms)
        for (const Tap& tap : taps) next.emplace_back(term.first * axes[d].in + tap.at, term.second * tap.weight);
      terms = std::move(next);
    }
    if (outside) {
      y.Put(i, node.Float("extrapolation_value", 0.0f));
      continue;
    }
    if (terms.size() == 1 && terms[0].second == 1) {
      y.Copy(i, x, terms[0].first);
      continue;
    }
    double sum = 0;
    for (const auto& term : terms) sum += x.Get(term.first) * term.second;
    y.Put(i, sum);
  }
  return {y};
}

// Scales are an input, before definition 9 an attribute, and before definition 7 two.
std::vector<Tensor> Upsample(const Node& node, const Inputs& in) {
  Node newer = AsNew(node);
  if (node.String("mode", "nearest") == "bilinear") newer.attributes["mode"] = Attribute::String("linear");
  if (At(in, 1) != nullptr) return Resize(newer, {in[0], nullptr, in[1]});
  std::vector<float> scales = node.Floats("scales", {});
  if (scales.empty())
    scales = {1, 1, static_cast<float>(node.Float("height_scale", 1)),
              static_cast<float>(node.Float("width_scale", 1))};
  Tensor as_input(DEPUTY_DTYPE_FLOAT32, {static_cast<int64_t>(scales.size())});
  for (size_t i = 0; i < scales.size(); ++i) as_input.Put(static_cast<int64_t>(i), static_cast<double>(scales[i]));
  return Resize(newer, {in[0], nullptr, &as_input});
}

}  // namespace

KernelRows ResizeKernels() { return {{"Resize", Resize}, {"Upsample", Upsample}}; }

}  // namespace deputy::conformance::reference
