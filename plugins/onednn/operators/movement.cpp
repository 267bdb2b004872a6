// Operators that only move or reshape elements: most become views, the others a copy at most.
#include <algorithm>
#include <numeric>

#include "deputy/sdk/operators.hpp"
#include "operators/operators.hpp"

namespace onednn {
namespace {

// The shape is known, regardless of its source: the other inputs are ignored.
void ReadView(const sdk::NodeView& node, Program& program) {
  program.Bind(node.output(0), program.AddReshape(program.Find(node.input(0)), ToDims(node.output(0).dims())));
}

sdk::Verdict SupportsDropout(const sdk::NodeView& node) {
  if (node.output(1).exists()) return sdk::Verdict::No(sdk::Reason::kAttribute, "the output mask");
  // From 12 on an input may request training, before 7 an attribute.
  if (node.input(2).exists() || (node.since_version() < 7 && node.Int("is_test", 0) == 0))
    return sdk::Verdict::No(sdk::Reason::kAttribute, "training");
  return sdk::Verdict::Yes();
}

void ReadTranspose(const sdk::NodeView& node, Program& program) {
  const Value x = program.Find(node.input(0));
  memory::dims backwards(program.dims(x).size());
  std::iota(backwards.rbegin(), backwards.rend(), 0);
  const memory::dims order = node.Ints("perm", backwards);
  program.Bind(node.output(0),
               node.input(0).rank() == 0 ? x : program.Add(Transpose{order}, {x}, Permute(program.dims(x), order)));
}

void ReadConcat(const sdk::NodeView& node, Program& program) {
  std::vector<Value> inputs;
  for (size_t i = 0; i < node.input_count(); ++i) inputs.push_back(program.Find(node.input(i)));
  const int axis = static_cast<int>(FromFront(node.Int("axis", 1), node.input(0).rank()));
  program.Bind(node.output(0),
               inputs.size() == 1 ? inputs[0] : program.Add(Concat{axis}, inputs, ToDims(node.output(0).dims())));
}

// Does a block of extents `part`, `offsets` behind the first element, lie inside `whole`?
bool LiesInside(const memory::dims& offsets, const memory::dims& part, const memory::dims& whole) {
  if (part.size() != whole.size()) return false;
  for (size_t i = 0; i < whole.size(); ++i)
    if (offsets[i] > whole[i] || part[i] > whole[i] - offsets[i]) return false;
  return true;
}

// The first position of a slice; nothing if a step is not 1 or if the limits are not known before the run.
std::optional<memory::dims> OffsetsOf(const sdk::NodeView& node) {
  const memory::dims x = ToDims(node.input(0).dims());
  const auto list = [&](const char* attribute, size_t input) -> std::optional<std::vector<int64_t>> {
    if (node.since_version() < 10) return node.Ints(attribute, {});
    if (!node.input(input).exists()) return std::vector<int64_t>();
    return ConstantInts(node.input(input));
  };
  const auto starts = list("starts", 1), steps = list("", 4);
  auto axes = list("axes", 3);
  if (!starts || !axes || !steps || starts->size() > x.size()) return std::nullopt;
  if (!axes->empty() && axes->size() != starts->size()) return std::nullopt;
  if (std::any_of(steps->begin(), steps->end(), [](int64_t step) { return step != 1; })) return std::nullopt;
  if (axes->empty()) {
    axes->resize(starts->size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  memory::dims offsets(x.size(), 0);
  for (size_t i = 0; i < starts->size(); ++i) {
    const std::optional<size_t> axis = sdk::AxisOf((*axes)[i], x.size());
    if (!axis) return std::nullopt;
    const int64_t start = (*starts)[i] < 0 ? (*starts)[i] + x[*axis] : (*starts)[i];
    offsets[*axis] = std::clamp<int64_t>(start, 0, x[*axis]);
  }
  if (!LiesInside(offsets, ToDims(node.output(0).dims()), x)) return std::nullopt;
  return offsets;
}

sdk::Verdict SupportsSlice(const sdk::NodeView& node) {
  if (!OffsetsOf(node))
    return sdk::Verdict::No(sdk::Reason::kAttribute, "starts and ends must be constant, and steps 1");
  return sdk::Verdict::Yes();
}

void ReadSlice(const sdk::NodeView& node, Program& program) {
  const Slice slice{OffsetsOf(node).value_or(memory::dims())};
  const Value x = program.Find(node.input(0));
  const memory::dims y = ToDims(node.output(0).dims());
  program.Bind(node.output(0), y == program.dims(x) ? x : program.Add(slice, {x}, y));
}

void ReadSplit(const sdk::NodeView& node, Program& program) {
  const Value x = program.Find(node.input(0));
  const size_t axis = static_cast<size_t>(FromFront(node.Int("axis", 0), program.dims(x).size()));
  Slice slice{memory::dims(program.dims(x).size(), 0)};
  for (size_t i = 0; i < node.output_count(); ++i) {
    const memory::dims part = ToDims(node.output(i).dims());
    program.Bind(node.output(i), part == program.dims(x) ? x : program.Add(slice, {x}, part));
    slice.offsets[axis] += part[axis];
  }
}

sdk::Verdict SupportsSplit(const sdk::NodeView& node) {
  for (size_t i = 0; i < node.output_count(); ++i)
    if (!node.output(i).exists()) return sdk::Verdict::No(sdk::Reason::kAttribute, "an omitted output");
  return sdk::Verdict::Yes();
}

// Elements added in front, per dimension; nothing if elements are removed or the numbers are not known.
std::optional<memory::dims> PadsBefore(const sdk::NodeView& node) {
  const size_t rank = node.input(0).rank();
  std::optional<std::vector<int64_t>> pads = ConstantInts(node.input(1));
  if (node.since_version() < 11) pads = node.Ints(node.since_version() < 2 ? "paddings" : "pads", {});
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (node.input(3).exists()) {
    const auto given = ConstantInts(node.input(3));
    if (!given) return std::nullopt;
    axes = *given;
  }
  if (!pads || pads->size() != 2 * axes.size()) return std::nullopt;
  if (std::any_of(pads->begin(), pads->end(), [](int64_t pad) { return pad < 0; })) return std::nullopt;
  memory::dims before(rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const std::optional<size_t> axis = sdk::AxisOf(axes[i], rank);
    if (!axis) return std::nullopt;
    before[*axis] = (*pads)[i];
  }
  if (!LiesInside(before, ToDims(node.input(0).dims()), ToDims(node.output(0).dims()))) return std::nullopt;
  return before;
}

sdk::Verdict SupportsPad(const sdk::NodeView& node) {
  if (node.String("mode", "constant") != "constant") return sdk::Verdict::No(sdk::Reason::kAttribute, "mode");
  if (node.input(2).exists() && !ConstantScalar(node.input(2)))
    return sdk::Verdict::No(sdk::Reason::kNotConstant, "constant_value");
  if (!PadsBefore(node)) return sdk::Verdict::No(sdk::Reason::kAttribute, "pads must be constant and not negative");
  return sdk::Verdict::Yes();
}

void ReadPad(const sdk::NodeView& node, Program& program) {
  const Value x = program.Find(node.input(0));
  const memory::dims y = ToDims(node.output(0).dims());
  const float value = node.input(2).exists() ? ConstantScalar(node.input(2)).value_or(0) : node.Float("value", 0);
  const Pad pad{PadsBefore(node).value_or(memory::dims()), value};
  program.Bind(node.output(0), y == program.dims(x) ? x : program.Add(pad, {x}, y));
}

void ReadBlocks(const sdk::NodeView& node, Program& program, const memory::dims& split, const memory::dims& order) {
  const Value parts = program.AddReshape(program.Find(node.input(0)), split);
  const Value moved = program.Add(Transpose{order}, {parts}, Permute(split, order));
  program.Bind(node.output(0), program.AddReshape(moved, ToDims(node.output(0).dims())));
}

void ReadDepthToSpace(const sdk::NodeView& node, Program& program) {
  const memory::dims x = ToDims(node.input(0).dims());
  const int64_t block = node.Int("blocksize", 1), channels = x[1] / (block * block);
  if (node.String("mode", "DCR") == "DCR")
    ReadBlocks(node, program, {x[0], block, block, channels, x[2], x[3]}, {0, 3, 4, 1, 5, 2});
  else
    ReadBlocks(node, program, {x[0], channels, block, block, x[2], x[3]}, {0, 1, 4, 2, 5, 3});
}

void ReadSpaceToDepth(const sdk::NodeView& node, Program& program) {
  const memory::dims x = ToDims(node.input(0).dims());
  const int64_t block = node.Int("blocksize", 1);
  const bool depth_first = node.String("mode", "DCR") == "DCR";
  ReadBlocks(node, program, {x[0], x[1], x[2] / block, block, x[3] / block, block},
             depth_first ? memory::dims{0, 3, 5, 1, 2, 4} : memory::dims{0, 1, 3, 5, 2, 4});
}

constexpr const char* kDropoutNote = "beside a node that is computed here, inference";
constexpr const char* kSliceNote = "beside a node that is computed here, constant parameters, steps of 1";
constexpr const char* kPadNote = "beside a node that is computed here, constant parameters, mode constant";

constexpr Operator kMovementOperators[] = {
    {"Reshape", 1, SupportsAll, ReadView, {}, kBeside, true},
    {"Flatten", 1, SupportsAll, ReadView, {}, kBeside, true},
    {"Squeeze", 1, SupportsAll, ReadView, {}, kBeside, true},
    {"Unsqueeze", 1, SupportsAll, ReadView, {}, kBeside, true},
    {"Identity", 1, SupportsAll, ReadView, {}, kBeside, true},
    {"Dropout", 1, SupportsDropout, ReadView, {}, kDropoutNote, true},
    {"Transpose", 1, SupportsAll, ReadTranspose, {}, kBeside, true},
    {"Concat", kAllInputs, SupportsAll, ReadConcat, {1, 6}, kBeside, true},
    {"Slice", 1, SupportsSlice, ReadSlice, {}, kSliceNote, true},
    {"Split", 1, SupportsSplit, ReadSplit, {}, kBeside, true},
    {"Pad", 1, SupportsPad, ReadPad, {1, 6}, kPadNote, true},
    {"DepthToSpace", 1, SupportsAll, ReadDepthToSpace, {4, 4}, kBeside, true},
    {"SpaceToDepth", 1, SupportsAll, ReadSpaceToDepth, {4, 4}, kBeside, true},
};

}  // namespace

sdk::Span<const Operator> MovementOperators() { return {kMovementOperators, std::size(kMovementOperators)}; }

}  // namespace onednn
