#include "probing/neighbours.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "cases/families.hpp"
#include "definitions.hpp"
#include "probing/forms.hpp"
#include "random/draft.hpp"

namespace deputy::conformance {
namespace {

bool IsOneOf(const reference::Node& node, const std::set<std::string>& types) { return types.count(node.op_type) != 0; }

// Elements of `like` in any order.
Tensor Drawn(const Tensor& like, Dims dims, RandomSource& random) {
  Tensor made(like.dtype, std::move(dims));
  for (int64_t i = 0; i < made.count(); ++i)
    if (like.count() != 0) made.Copy(i, like, random.Between(0, like.count() - 1));
  return made;
}

void Label(Case& made, const std::string& note) { made.label = made.label == "plain" ? note : made.label + " " + note; }

// The rows of a product, its sums and its columns, in any rank of the first operand.
std::optional<Case> WithMatrices(const Case& tested, int64_t rows, int64_t sum, int64_t columns, RandomSource& random) {
  const bool is_gemm = tested.node.op_type == "Gemm";
  const Operand &a = tested.inputs[0], &b = tested.inputs[1];
  if (a.value.rank() < 2 || b.value.rank() != 2 || a.value.count() == 0 || b.value.count() == 0) return std::nullopt;
  const bool trans_a = is_gemm && tested.node.Int("transA", 0) != 0,
             trans_b = is_gemm && tested.node.Int("transB", 0) != 0;
  const int64_t old_columns = b.value.dims[trans_b ? 0 : 1];
  const int64_t old_rows = a.value.dims[a.value.rank() - (trans_a ? 1 : 2)];
  Case made = tested;
  Dims left = a.value.dims;
  left[left.size() - (trans_a ? 1 : 2)] = rows;
  left[left.size() - (trans_a ? 2 : 1)] = sum;
  made.inputs[0].value = Drawn(a.value, left, random);
  made.inputs[1].value = Drawn(b.value, trans_b ? Dims{columns, sum} : Dims{sum, columns}, random);
  if (is_gemm && tested.inputs.size() > 2 && tested.inputs[2].present) {
    Dims bias = tested.inputs[2].value.dims;
    if (tested.inputs[2].value.count() == 0) return std::nullopt;
    if (!bias.empty() && bias.back() == old_columns) bias.back() = columns;
    if (bias.size() == 2 && bias[0] == old_rows && old_rows != 1) bias[0] = rows;
    made.inputs[2].value = Drawn(tested.inputs[2].value, bias, random);
  }
  Label(made, "rows=" + std::to_string(rows) + " sum=" + std::to_string(sum) + " columns=" + std::to_string(columns));
  return made;
}

// A Resize or Upsample of an image of other extents, by the same factors.
std::optional<Case> WithImage(const Case& tested, int64_t channels, int64_t height, int64_t width,
                              RandomSource& random) {
  const bool is_resize = tested.node.op_type == "Resize";
  const Tensor& x = tested.inputs[0].value;
  if (x.rank() != 4 || x.count() == 0 || tested.node.attributes.count("axes") != 0) return std::nullopt;
  if (tested.node.attributes.count("keep_aspect_ratio_policy") != 0) return std::nullopt;
  // Definition 10 has no region.
  const size_t scales = is_resize && tested.inputs.size() > 2 ? 2 : 1;
  Case made = tested;
  made.inputs[0].value = Drawn(x, {x.dims[0], channels, height, width}, random);
  if (tested.inputs.size() > 3 && tested.inputs[3].present) {
    if (!tested.inputs[3].constant) return std::nullopt;
    const std::vector<int64_t>& sizes = tested.inputs[3].value.whole;
    if (sizes.size() != 4 || sizes[0] != x.dims[0] || sizes[1] != x.dims[1]) return std::nullopt;
    Tensor other = Whole({x.dims[0], channels, height * sizes[2] / x.dims[2], width * sizes[3] / x.dims[3]});
    if (*std::min_element(other.whole.begin(), other.whole.end()) < 1) return std::nullopt;
    made.inputs[3].value = std::move(other);
  } else {
    if (scales >= tested.inputs.size() || !tested.inputs[scales].present || !tested.inputs[scales].constant)
      return std::nullopt;
    const std::vector<double>& factors = tested.inputs[scales].value.real;
    if (factors.size() != 4) return std::nullopt;
    for (const size_t i : {2u, 3u})
      if (factors[i] * static_cast<double>(i == 2 ? height : width) < 1) return std::nullopt;
    if (static_cast<double>(channels * height * width) * factors[1] * factors[2] * factors[3] > 1000000)
      return std::nullopt;
  }
  Label(made, "image=" + TextOf(Dims{channels, height, width}));
  return made;
}

bool IsProduct(const Case& tested) {
  return IsOneOf(tested.node, {"Gemm", "MatMul"}) && tested.inputs.size() >= 2 && tested.inputs[0].present &&
         tested.inputs[1].present && !tested.inputs[0].constant;
}
bool IsResize(const Case& tested) {
  return IsOneOf(tested.node, {"Resize", "Upsample"}) && !tested.inputs.empty() && tested.inputs[0].present &&
         !tested.inputs[0].constant;
}

// The oldest definition from 11 on that means the same: older ones do not count axes from the end.
bool CountsFromTheEnd(reference::Node& node) {
  constexpr int32_t kFirst = 11;
  const OperatorFacts* facts = FactsOf(node.name());
  if (facts == nullptr || !facts->domain.empty()) return false;
  int32_t current = 0;
  for (const Definition& definition : facts->definitions) {
    if (definition.since <= node.since_version) {
      current = definition.since;
      continue;
    }
    if (current >= kFirst || definition.changed) break;
    current = definition.since;
  }
  if (current < kFirst) return false;
  node.since_version = std::max(node.since_version, current);
  return true;
}

bool HasDefaultLastAxis(const reference::Node& node) {
  return (IsOneOf(node, {"Softmax", "LogSoftmax", "Hardmax"}) && node.since_version >= 13) ||
         IsOneOf(node, {"LayerNormalization", "RMSNormalization"});
}

}  // namespace

std::vector<Case> Wider(const Case& tested, uint64_t seed) {
  RandomSource random(seed + 11);
  std::vector<Case> all;
  const auto add = [&](std::optional<Case> made) {
    if (made) all.push_back(std::move(*made));
  };
  if (IsProduct(tested)) {
    add(WithMatrices(tested, 3, 24, 1000, random));
    add(WithMatrices(tested, 7, 33, 259, random));
    add(WithMatrices(tested, 5, 300, 17, random));
    add(WithMatrices(tested, 257, 5, 263, random));
    add(WithMatrices(tested, 1, 64, 520, random));
  } else if (IsResize(tested)) {
    const int64_t channels = tested.inputs[0].value.rank() == 4 ? tested.inputs[0].value.dims[1] : 1;
    for (const int64_t count : {int64_t{1}, channels}) {
      if (count == 1 && channels != 1 && !all.empty()) continue;
      add(WithImage(tested, count, 181, 183, random));
      add(WithImage(tested, count, 257, 263, random));
      add(WithImage(tested, count, 5, 130, random));
      add(WithImage(tested, count, 7, 9, random));
    }
  }
  return all;
}

std::vector<Case> WithOtherAxes(const Case& tested, uint64_t seed) {
  std::vector<Case> all;
  if (tested.inputs.empty() || !tested.inputs[0].present || tested.node.op_type == "Unsqueeze") return all;
  const auto rank = static_cast<int64_t>(tested.inputs[0].value.rank());
  const auto turned = [&](int64_t axis) { return axis < 0 ? axis + rank : axis - rank; };
  const auto fits = [&](int64_t axis) { return axis >= -rank && axis < rank; };
  for (const char* name : {"axis", "axes"}) {
    const auto found = tested.node.attributes.find(name);
    if (found == tested.node.attributes.end() || rank == 0) continue;
    Case other = tested;
    Attribute& attribute = other.node.attributes[name];
    if (attribute.type == DEPUTY_ATTRIBUTE_INT && fits(attribute.i)) {
      attribute.i = turned(attribute.i);
    } else if (attribute.type == DEPUTY_ATTRIBUTE_INTS && !attribute.ints.empty() &&
               std::all_of(attribute.ints.begin(), attribute.ints.end(), fits)) {
      for (int64_t& axis : attribute.ints) axis = turned(axis);
    } else {
      continue;
    }
    if (!CountsFromTheEnd(other.node)) continue;
    Label(other, std::string(name) + "=" + TextOf(attribute));
    all.push_back(std::move(other));
  }
  if (!HasDefaultLastAxis(tested.node)) return all;
  // Written, as transformers have it, in each rank.
  std::vector<Case> written = {tested};
  for (const Dims& dims : std::vector<Dims>{{2, 3, 4, 5}, {1, 4, 7, 16}, {3, 7, 33}, {5, 64}})
    if (std::optional<Case> made = CaseIn(tested.node.name(), {tested.inputs[0].value.dtype, dims}, seed)) {
      if (made->node.since_version < tested.node.since_version) made->node.since_version = tested.node.since_version;
      written.push_back(std::move(*made));
    }
  for (Case& made : written) {
    if (made.node.attributes.count("axis") != 0) continue;
    made.node.attributes["axis"] = Int(-1);
    Label(made, "axis=-1");
    all.push_back(made);
  }
  return all;
}

std::vector<Case> OtherExtents(const Case& tested, uint64_t) {
  std::vector<Case> all = OtherShapes(tested);
  for (Case& other : all) other.label = (tested.label == "plain" ? "" : tested.label + " ") + other.label;
  return all;
}

namespace {

void AddResizes(CaseBuilder& b, const Dims& dims) {
  const std::vector<std::pair<const char*, std::vector<const char*>>> modes = {
      {"nearest", {"round_prefer_floor", "floor", "ceil", "round_prefer_ceil"}}, {"linear", {""}}, {"cubic", {""}}};
  for (const auto& [mode, roundings] : modes)
    for (const char* coordinates : {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"})
      for (const char* rounding : roundings)
        for (const char* size : {"scales=2", "sizes=double", "scales=half"}) {
          b.In(b.Random(kF32, dims)).None();
          if (size == std::string("sizes=double"))
            b.None().Const(Whole({dims[0], dims[1], 2 * dims[2], 2 * dims[3]}));
          else
            b.Const(size == std::string("scales=2") ? Real({1, 1, 2, 2}) : Real({1, 1, 0.5, 0.5}));
          b.With("mode", Text(mode)).With("coordinate_transformation_mode", Text(coordinates));
          if (*rounding != 0) b.With("nearest_mode", Text(rounding));
          b.Note(size).Note(ShapeNote(dims)).Add();
        }
}

void AddGemms(CaseBuilder& b) {
  constexpr int64_t kRows = 5, kSum = 16, kColumns = 8;
  for (const bool constant : {true, false})
    for (const int64_t trans_b : {1, 0})
      for (const int64_t trans_a : {0, 1})
        for (const Dims& bias : std::vector<Dims>{{kColumns}, {1, kColumns}, {kRows, kColumns}, {kRows, 1}, {}, {0}})
          for (const float factor : {1.0f, 0.5f}) {
            b.In(b.Random(trans_a != 0 ? Dims{kSum, kRows} : Dims{kRows, kSum}));
            const Tensor weights = b.Random(trans_b != 0 ? Dims{kColumns, kSum} : Dims{kSum, kColumns});
            constant ? b.Const(weights) : b.In(weights);
            const bool has_bias = bias != Dims{0};
            if (has_bias) constant ? b.Const(b.Random(bias)) : b.In(b.Random(bias));
            if (trans_a != 0) b.With("transA", Int(trans_a));
            if (trans_b != 0) b.With("transB", Int(trans_b));
            if (factor < 1) b.With("alpha", Float(factor)).With("beta", Float(factor));
            b.Note(std::string("weights=") + (constant ? "constant" : "variable"));
            b.Note(has_bias ? "bias=" + TextOf(bias) : "bias=none").Add();
          }
}

void AddConvolutions(CaseBuilder& b) {
  for (const int64_t channels : {8, 16})
    for (const int64_t group : {int64_t{1}, channels})
      for (const int64_t kernel : {3, 1, 5})
        for (const int64_t stride : {1, 2})
          for (const bool padded : {true, false})
            for (const bool biased : {true, false}) {
              b.In(b.Random({1, channels, 9, 8}))
                  .Const(b.Random(kF32, {channels, channels / group, kernel, kernel}, -0.5, 0.5));
              if (biased) b.Const(b.Random({channels}));
              b.With("kernel_shape", Ints({kernel, kernel})).With("strides", Ints({stride, stride}));
              b.With("dilations", Ints({1, 1})).With("group", Int(group));
              b.With("pads", Ints(Dims(4, padded ? kernel / 2 : 0)));
              b.Note(biased ? "biased" : "unbiased").Add();
            }
}

void AddPools(CaseBuilder& b) {
  for (const int64_t channels : {8, 3})
    for (const int64_t kernel : {2, 3})
      for (const int64_t stride : {2, 1})
        for (const bool padded : {false, true}) {
          b.In(b.Random({1, channels, 9, 8})).With("kernel_shape", Ints({kernel, kernel}));
          b.With("strides", Ints({stride, stride})).With("pads", Ints(Dims(4, padded ? 1 : 0)));
          b.Note("channels=" + std::to_string(channels)).Add();
        }
}

}  // namespace

std::vector<Case> CombinationsOf(const std::string& op_type, uint64_t seed) {
  std::vector<Case> all;
  CaseBuilder b(all, op_type, seed);
  if (op_type == "Resize")
    for (const Dims& dims : std::vector<Dims>{{1, 2, 4, 6}, {1, 8, 8, 8}}) AddResizes(b, dims);
  if (op_type == "Gemm") AddGemms(b);
  if (op_type == "Conv") AddConvolutions(b);
  if (op_type == "MaxPool" || op_type == "AveragePool") AddPools(b);
  return all;
}

}  // namespace deputy::conformance
