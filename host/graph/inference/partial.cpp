#include "graph/inference/partial.hpp"

#include <algorithm>

#include "graph/inference.hpp"
#include "graph/inference/functions.hpp"
#include "graph/inference/slicing.hpp"

namespace deputy::host {
namespace {

using Known = std::optional<PartialInts>;

Known ShapeOf(const InferenceContext& context) {
  const ValueType& input = context.input(0);
  if (!input.ranked || input.dims.size() > kMostPartialInts) return std::nullopt;
  const int64_t rank = static_cast<int64_t>(input.dims.size());
  const auto clamp = [rank](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  const int64_t start = clamp(context.primitive().GetInt("start", 0));
  const int64_t end = clamp(context.primitive().GetInt("end", rank));
  PartialInts shape;
  for (int64_t i = start; i < end; ++i) shape.elements.push_back(IntOfDim(input.dims[static_cast<size_t>(i)]));
  return shape;
}

Known SizeOfInput(const InferenceContext& context) {
  const ValueType& input = context.input(0);
  if (!input.ranked) return std::nullopt;
  const Result<int64_t> count = DimProduct(input.dims);
  if (!count.ok()) return std::nullopt;
  return PartialInts{true, {IntOfDim(*count)}};
}

// The same elements in another shape of at most one dimension.
Known Moved(const InferenceContext& context) {
  Known input = context.partial_ints(0);
  const ValueType& output = context.outputs()[0];
  if (!input || !output.ranked || output.dims.size() > 1) return std::nullopt;
  input->scalar = output.dims.empty();
  return input;
}

bool HoldsInts(DType dtype) { return dtype == DType::kInt64 || dtype == DType::kInt32; }

Known Converted(const InferenceContext& context) {
  if (!HoldsInts(context.input(0).dtype) || !HoldsInts(context.outputs()[0].dtype)) return std::nullopt;
  Known input = Moved(context);
  // Extents that do not fit were refused before.
  const auto fits = [](const PartialInt& element) {
    return element.is_symbol() || (element.known && element.value >= INT32_MIN && element.value <= INT32_MAX);
  };
  if (input && context.outputs()[0].dtype == DType::kInt32)
    for (PartialInt& element : input->elements)
      if (!fits(element)) element = {};
  return input;
}

Known Gathered(const InferenceContext& context) {
  const Known data = context.partial_ints(0);
  const std::optional<std::vector<int64_t>> indices = context.constant_ints(1);
  const int64_t axis = context.primitive().GetInt("axis", 0);
  if (!data || data->scalar || !indices || (axis != 0 && axis != -1)) return std::nullopt;
  const size_t rank = context.constant(1)->shape().size();
  if (rank > 1 || indices->size() > kMostPartialInts) return std::nullopt;
  PartialInts gathered{rank == 0, {}};
  const int64_t count = static_cast<int64_t>(data->elements.size());
  for (const int64_t index : *indices) {
    const int64_t at = index < 0 ? index + count : index;
    if (at < 0 || at >= count) return std::nullopt;
    gathered.elements.push_back(data->elements[static_cast<size_t>(at)]);
  }
  return gathered;
}

Known Concatenated(const InferenceContext& context) {
  PartialInts joined;
  for (size_t i = 0; i < context.input_count(); ++i) {
    const ValueType& type = context.input(i);
    const Known part = context.partial_ints(i);
    if (part && part->scalar) return std::nullopt;
    if (part) {
      joined.elements.insert(joined.elements.end(), part->elements.begin(), part->elements.end());
    } else if (type.ranked && type.dims.size() == 1 && type.dims[0] >= 0 &&
               type.dims[0] <= static_cast<int64_t>(kMostPartialInts)) {
      joined.elements.resize(joined.elements.size() + static_cast<size_t>(type.dims[0]));
    } else {
      return std::nullopt;
    }
    if (joined.elements.size() > kMostPartialInts) return std::nullopt;
  }
  return joined;
}

Known Sliced(const InferenceContext& context) {
  const Known data = context.partial_ints(0);
  const auto one = [&](size_t i, int64_t fallback) -> std::optional<int64_t> {
    if (!context.has_input(i)) return fallback;
    const std::optional<std::vector<int64_t>> values = context.constant_ints(i);
    return values && values->size() == 1 ? std::optional<int64_t>((*values)[0]) : std::nullopt;
  };
  const std::optional<int64_t> start = one(1, 0), end = one(2, 0), step = one(4, 1);
  if (!data || data->scalar || !start || !end || !step || *step == 0) return std::nullopt;
  const SliceRange range = ResolveSlice(*start, *end, *step, static_cast<int64_t>(data->elements.size()));
  PartialInts sliced;
  for (int64_t i = 0; i < range.count; ++i)
    sliced.elements.push_back(data->elements[static_cast<size_t>(range.start + i * range.step)]);
  return sliced;
}

PartialInt Computed(OpKind kind, const PartialInt& a, const PartialInt& b) {
  const auto is = [](const PartialInt& x, int64_t number) { return x.known && x.value == number; };
  if (a.known && b.known) {
    int64_t result = 0;
    bool overflow = false;
    switch (kind) {
      case OpKind::kAdd: overflow = __builtin_add_overflow(a.value, b.value, &result); break;
      case OpKind::kSub: overflow = __builtin_sub_overflow(a.value, b.value, &result); break;
      case OpKind::kMul: overflow = __builtin_mul_overflow(a.value, b.value, &result); break;
      case OpKind::kDiv:
        overflow = b.value == 0 || (b.value == -1 && a.value == INT64_MIN);
        if (!overflow) result = a.value / b.value;
        break;
      case OpKind::kMax: result = std::max(a.value, b.value); break;
      case OpKind::kMin: result = std::min(a.value, b.value); break;
      case OpKind::kEqual: result = a.value == b.value; break;
      default: overflow = true; break;
    }
    return overflow ? PartialInt() : KnownInt(result);
  }
  const bool same_symbol = a.is_symbol() && a == b;
  switch (kind) {
    case OpKind::kAdd:
      if (is(a, 0)) return b;
      return is(b, 0) ? a : PartialInt();
    case OpKind::kSub:
      if (same_symbol) return KnownInt(0);
      return is(b, 0) ? a : PartialInt();
    case OpKind::kMul:
      if (is(a, 0) || is(b, 0)) return KnownInt(0);
      if (is(a, 1)) return b;
      return is(b, 1) ? a : PartialInt();
    case OpKind::kDiv: return is(b, 1) ? a : PartialInt();
    case OpKind::kMax:
    case OpKind::kMin: return same_symbol ? a : PartialInt();
    case OpKind::kEqual:
      if (same_symbol) return KnownInt(1);
      // An extent is never negative.
      if ((a.is_symbol() && b.known && b.value < 0) || (b.is_symbol() && a.known && a.value < 0)) return KnownInt(0);
      return {};
    default: return {};
  }
}

// Lists of one length, or a list and a single element.
std::optional<size_t> CommonLength(std::initializer_list<const PartialInts*> operands) {
  size_t length = 1;
  for (const PartialInts* operand : operands) {
    const size_t own = operand->elements.size();
    if (own != 1 && length != 1 && own != length) return std::nullopt;
    if (own != 1) length = own;
  }
  return length;
}

const PartialInt& At(const PartialInts& list, size_t i) { return list.elements[list.elements.size() == 1 ? 0 : i]; }

Known Combined(const InferenceContext& context) {
  if (context.input_count() != 2) return std::nullopt;
  const Known a = context.partial_ints(0), b = context.partial_ints(1);
  if (!a || !b) return std::nullopt;
  const std::optional<size_t> length = CommonLength({&*a, &*b});
  if (!length) return std::nullopt;
  PartialInts result{a->scalar && b->scalar, {}};
  const bool narrow = context.outputs()[0].dtype == DType::kInt32;  // may overflow where int64 does not
  for (size_t i = 0; i < *length; ++i) {
    const PartialInt element = Computed(context.node().kind(), At(*a, i), At(*b, i));
    const bool fits = !narrow || !element.known || (element.value >= INT32_MIN && element.value <= INT32_MAX);
    result.elements.push_back(fits ? element : PartialInt());
  }
  return result;
}

Known Selected(const InferenceContext& context) {
  const Known condition = context.partial_ints(0), a = context.partial_ints(1), b = context.partial_ints(2);
  if (!condition || !a || !b) return std::nullopt;
  const std::optional<size_t> length = CommonLength({&*condition, &*a, &*b});
  if (!length) return std::nullopt;
  PartialInts result{condition->scalar && a->scalar && b->scalar, {}};
  for (size_t i = 0; i < *length; ++i) {
    const PartialInt& which = At(*condition, i);
    const PartialInt &x = At(*a, i), &y = At(*b, i);
    result.elements.push_back(which.known ? (which.value != 0 ? x : y) : x == y ? x : PartialInt());
  }
  return result;
}

// The product of all elements.
Known Multiplied(const InferenceContext& context) {
  const Known input = context.partial_ints(0);
  const ValueType& output = context.outputs()[0];
  if (!input || !output.ranked || output.dims.size() > 1 || context.has_input(1)) return std::nullopt;
  if (context.primitive().GetInt("noop_with_empty_axes", 0) != 0) return std::nullopt;
  PartialInt product = KnownInt(1);
  for (const PartialInt& element : input->elements) product = Computed(OpKind::kMul, product, element);
  return PartialInts{output.dims.empty(), {product}};
}

Known Infer(const InferenceContext& context) {
  switch (context.node().kind()) {
    case OpKind::kShape: return ShapeOf(context);
    case OpKind::kSize: return SizeOfInput(context);
    case OpKind::kIdentity:
    case OpKind::kReshape:
    case OpKind::kSqueeze:
    case OpKind::kUnsqueeze: return Moved(context);
    case OpKind::kCast: return Converted(context);
    case OpKind::kGather: return Gathered(context);
    case OpKind::kConcat: return Concatenated(context);
    case OpKind::kSlice: return Sliced(context);
    case OpKind::kAdd:
    case OpKind::kSub:
    case OpKind::kMul:
    case OpKind::kDiv:
    case OpKind::kMax:
    case OpKind::kMin:
    case OpKind::kEqual: return Combined(context);
    case OpKind::kWhere: return Selected(context);
    case OpKind::kReduceProd: return Multiplied(context);
    default: return std::nullopt;
  }
}

}  // namespace

bool PartialInts::all_known() const {
  return std::all_of(elements.begin(), elements.end(), [](const PartialInt& element) { return element.known; });
}

std::optional<PartialInts> InferPartialInts(const InferenceContext& context) {
  const DType dtype = context.outputs().empty() ? DType::kUndefined : context.outputs()[0].dtype;
  if (!HoldsInts(dtype) && dtype != DType::kBool) return std::nullopt;
  Known known = Infer(context);
  const bool nothing = known && !known->elements.empty() &&
                       std::all_of(known->elements.begin(), known->elements.end(),
                                   [](const PartialInt& element) { return element == PartialInt(); });
  if (!known || nothing || known->elements.size() > kMostPartialInts) return std::nullopt;
  return known;
}

}  // namespace deputy::host
