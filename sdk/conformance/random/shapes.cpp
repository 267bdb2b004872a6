// Operators that change a shape without moving elements, or return it.
#include <algorithm>

#include "random/families.hpp"

namespace deputy::conformance {
namespace {

// A list as an attribute, or as an input from the definition `input_since` on.
void List(Draft& d, const char* name, int32_t input_since, std::vector<int64_t> list) {
  if (d.since() >= input_since)
    d.In(Whole(std::move(list)));
  else
    d.Set(name, Ints(std::move(list)));
}

void WriteReshape(Draft& d) {
  const Dims from = d.Shape(0, 8);
  Dims to = from;
  const int64_t count = reference::CountOf(from);
  const bool allow_zero = d.Has("allowzero") && d.Half();
  if (d.Half()) {  // extents in another order, some put together
    d.Shuffle(to);
    while (to.size() > 1 && d.Half()) {
      to[to.size() - 2] *= to.back();
      to.pop_back();
    }
    while (to.size() < 8 && d.Once(3)) to.insert(to.begin() + d.Between(0, static_cast<int64_t>(to.size())), 1);
  }
  if (allow_zero) d.Set("allowzero", Int(1));
  if (count > 0) {
    for (size_t i = 0; i < to.size() && i < from.size() && !allow_zero; ++i)
      if (to[i] == from[i] && d.Once(3)) to[i] = 0;
    if (!to.empty() && d.Half()) to[static_cast<size_t>(d.Next() % to.size())] = -1;
  } else if (!allow_zero) {
    // An extent of 0 must be copied from the input.
    to = from;
  }
  d.In(d.Any(d.Type(), from)).Maybe("consumed_inputs", Ints({0}));
  List(d, "shape", 5, to);
}

void WriteFlatten(Draft& d) {
  const Dims dims = d.Shape(d.since() < 11 ? 1 : 0, 8);
  const auto rank = static_cast<int64_t>(dims.size());
  d.In(d.Any(d.Type(), dims));
  // The limit is included.
  if (rank == 0)
    d.Set("axis", Int(0));
  else
    d.Maybe("axis", Int(d.Between(d.since() >= 11 ? -rank : 0, rank)));
}

void WriteSqueeze(Draft& d) {
  Dims dims = d.Shape(0, 7);
  for (int64_t& extent : dims)
    if (extent != 0 && d.Once(3)) extent = 1;
  std::vector<int64_t> axes;
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] == 1 && d.Half())
      axes.push_back(static_cast<int64_t>(i) - (d.since() >= 11 && d.Half() ? static_cast<int64_t>(dims.size()) : 0));
  d.Shuffle(axes);
  d.In(d.Any(d.Type(), dims));
  if (!axes.empty()) List(d, "axes", 13, axes);
}

void WriteUnsqueeze(Draft& d) {
  const Dims dims = d.Shape(0, 6);
  const auto added = static_cast<size_t>(d.Between(1, 2));
  d.In(d.Any(d.Type(), dims));
  List(d, "axes", 13, d.Axes(dims.size() + added, added));
}

void WriteShape(Draft& d) {
  const Dims dims = d.Shape(0, 8);
  const auto rank = static_cast<int64_t>(dims.size());
  d.In(d.Any(d.Type(), dims)).Maybe("start", Int(d.Between(-rank - 1, rank + 1)));
  d.Maybe("end", Int(d.Between(-rank - 1, rank + 1)));
}

void WriteSize(Draft& d) { d.In(d.Any(d.Type(), d.Shape(0, 8))); }

void WriteExpand(Draft& d) {
  const Dims to = d.Shape(0, 8), from = d.BroadcastableTo(to);
  Dims asked = to;
  // Expand broadcasts in both directions.
  for (size_t i = 0; i < asked.size(); ++i)
    if (i + from.size() >= to.size() && from[i + from.size() - to.size()] == to[i] && d.Half()) asked[i] = 1;
  d.In(d.Any(d.Type(), from)).In(Whole(asked));
}

void WriteTile(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const Dims dims = d.Shape(d.since() < 6 ? 1 : 0, 8);
  d.In(d.Any(dtype, dims));
  if (d.since() < 6) {
    d.In(RealScalar(static_cast<double>(d.Between(1, 4)), dtype));
    d.In(RealScalar(static_cast<double>(d.Axis(dims.size(), false)), dtype));
    return;
  }
  std::vector<int64_t> repeats(dims.size(), 1);
  for (int64_t& times : repeats)
    if (d.Once(dims.size() > 4 ? 4 : 2)) times = d.Once(10) ? 0 : d.Between(1, 3);
  d.In(Whole(repeats));
}

}  // namespace

DraftRows ShapeDrafts() {
  return {{"Expand", WriteExpand}, {"Flatten", WriteFlatten}, {"Reshape", WriteReshape}, {"Shape", WriteShape},
          {"Size", WriteSize},     {"Squeeze", WriteSqueeze}, {"Tile", WriteTile},       {"Unsqueeze", WriteUnsqueeze}};
}

}  // namespace deputy::conformance
