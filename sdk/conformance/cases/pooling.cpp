// Pools over windows, global pools, and the operators that put windows back.
#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {
namespace {

void AddPool(std::vector<Case>& cases, const char* op_type, uint64_t seed) {
  CaseBuilder b(cases, op_type, seed);
  const Dims x = {2, 3, 7, 6};
  const auto plain = [&](const Dims& dims = {2, 3, 7, 6}) -> CaseBuilder& {
    return b.In(b.Distinct(kF32, dims)).Quietly("kernel_shape", Ints(Dims(dims.size() - 2, 2)));
  };
  plain().Add();
  for (const deputy_dtype dtype : TypesOf(op_type))
    if (dtype != kF32)
      b.In(b.Distinct(dtype, dtype == kI8 ? Dims{1, 2, 7, 6} : x)).Quietly("kernel_shape", Ints({2, 2})).Add();
  const std::vector<Setting> settings = {
      {"kernel_shape", Ints({3, 2})},   {"kernel_shape", Ints({1, 4})}, {"strides", Ints({2, 1})},
      {"strides", Ints({1, 3})},        {"dilations", Ints({2, 1})},    {"dilations", Ints({1, 3})},
      {"pads", Ints({1, 1, 1, 1})},     {"pads", Ints({0, 1, 1, 0})},   {"auto_pad", Text("SAME_UPPER")},
      {"auto_pad", Text("SAME_LOWER")}, {"auto_pad", Text("VALID")}};
  for (const Setting& setting : settings) plain().With(setting.name, setting.value).Add();
  plain().Quietly("strides", Ints({2, 4})).With("ceil_mode", Int(1)).Add();
  plain().With("strides", Ints({3, 2})).With("pads", Ints({1, 0, 1, 1})).With("kernel_shape", Ints({3, 3})).Add();
  plain().With("ceil_mode", Int(1)).With("strides", Ints({2, 4})).With("pads", Ints({1, 1, 0, 0})).Add();
  for (const Dims& shape : std::vector<Dims>{{2, 3, 9}, {1, 2, 4, 3, 5}, {1, 1, 2, 2}, {1, 17, 5, 3}, {0, 3, 7, 6}})
    plain(shape).Note(ShapeNote(shape)).Add();
  // A window larger than the padded input, by less than a stride: one output. By more: none.
  const auto large = [&](Dims kernel) -> CaseBuilder& {
    return b.In(b.Distinct(kF32, {1, 3, 2, 3}))
        .With("kernel_shape", Ints(std::move(kernel)))
        .With("strides", Ints({2, 2}))
        .Note("larger than the input");
  };
  large({3, 4}).Add();
  large({3, 4}).With("ceil_mode", Int(1)).Add();
  large({3, 3}).With("auto_pad", Text("VALID")).Add();
  large({5, 4}).With("pads", Ints({1, 0, 1, 0})).Add();
  if (b.op_type() == "AveragePool")
    large({4, 4}).With("count_include_pad", Int(1)).With("pads", Ints({0, 0, 1, 0})).Add();
  if (b.op_type() == "AveragePool") {
    plain().Quietly("pads", Ints({1, 0, 1, 1})).With("count_include_pad", Int(1)).Add();
    plain()
        .With("count_include_pad", Int(1))
        .With("ceil_mode", Int(1))
        .Quietly("strides", Ints({2, 4}))
        .Quietly("pads", Ints({0, 1, 1, 1}))
        .Add();
  }
  if (b.op_type() == "LpPool") plain().With("p", Int(3)).Add();
  if (b.op_type() == "MaxPool") {
    plain().Outputs(2).Note("output=Indices").Add();
    plain().Outputs(2).With("storage_order", Int(1)).Add();
    large({3, 4}).Outputs(2).Note("output=Indices").Add();
  }
}

void AddGlobal(std::vector<Case>& cases, const char* op_type, uint64_t seed) {
  CaseBuilder b(cases, op_type, seed);
  for (const deputy_dtype dtype : TypesOf(op_type)) b.In(b.Random(dtype, {2, 3, 4, 5})).Add();
  for (const Dims& shape : std::vector<Dims>{{2, 3, 9}, {1, 2, 4, 3, 5}, {1, 1, 1, 1}, {1, 17, 5, 3}, {0, 3, 4, 5}})
    b.In(b.Random(shape)).Note(ShapeNote(shape)).Add();
  if (b.op_type() == "GlobalLpPool") b.In(b.Random({2, 3, 4, 5})).With("p", Int(3)).Add();
}

void AddCol2Im(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "Col2Im", seed);
  const auto add = [&](deputy_dtype t, const Dims& x, const Dims& image, const Dims& block) -> CaseBuilder& {
    return b.In(b.Random(t, x)).Const(Whole(image)).Const(Whole(block));
  };
  for (const deputy_dtype dtype : TypesOf("Col2Im")) add(dtype, {2, 12, 12}, {4, 5}, {2, 2}).Add();
  add(kF32, {1, 10, 5}, {5, 5}, {1, 5}).Note("block=[1,5]").Add();
  add(kF32, {1, 6, 4}, {6, 5}, {3, 2}).With("strides", Ints({2, 2})).Add();
  add(kF32, {1, 6, 8}, {6, 5}, {3, 2}).With("dilations", Ints({2, 1})).Add();
  add(kF32, {1, 6, 30}, {5, 5}, {3, 2}).With("pads", Ints({1, 0, 1, 2})).Add();
  add(kF32, {1, 6, 4}, {6, 5}, {3, 2})
      .With("strides", Ints({3, 2}))
      .With("dilations", Ints({1, 2}))
      .With("pads", Ints({0, 0, 1, 1}))
      .Add();
  add(kF32, {1, 6, 5}, {7}, {3}).Note("rank=1").Add();
  add(kF32, {1, 16, 8}, {3, 3, 3}, {2, 2, 2}).Note("rank=3").Add();
  add(kF32, {1, 1, 1}, {1, 1}, {1, 1}).Note("shape=[1,1,1]").Add();
}

void AddMaxUnpool(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "MaxUnpool", seed);
  // Every window of extent 2 names one of its elements, here and there another one.
  const auto add = [&](deputy_dtype t, const Dims& x) -> CaseBuilder& {
    Tensor indices(kI64, x);
    Dims large = x;
    for (size_t d = 2; d < x.size(); ++d) large[d] *= 2;
    for (int64_t i = 0; i < indices.count(); ++i) {
      Dims at = reference::IndexOf(x, i);
      for (size_t d = 2; d < x.size(); ++d) at[d] = 2 * at[d] + (i + static_cast<int64_t>(d)) % 2;
      indices.Put(i, reference::Flat(large, at));
    }
    return b.In(b.Random(t, x))
        .In(indices)
        .Quietly("kernel_shape", Ints(Dims(x.size() - 2, 2)))
        .Quietly("strides", Ints(Dims(x.size() - 2, 2)));
  };
  for (const deputy_dtype dtype : TypesOf("MaxUnpool")) add(dtype, {1, 2, 2, 3}).Add();
  for (const Dims& x : std::vector<Dims>{{2, 3, 4}, {1, 2, 2, 1, 2}, {1, 1, 1, 1}})
    add(kF32, x).Note(ShapeNote(x)).Add();
  add(kF32, {1, 1, 2, 2}).Const(Whole({1, 1, 5, 6})).Note("input=output_shape").Add();
  Tensor corners(kI64, {1, 1, 2, 2});
  corners.whole = {0, 3, 8, 11};
  b.In(b.Random({1, 1, 2, 2})).In(corners).With("kernel_shape", Ints({2, 3})).With("strides", Ints({1, 1})).Add();
  corners.whole = {0, 1, 2, 3};
  b.In(b.Random({1, 1, 2, 2})).In(corners).With("pads", Ints({0, 1, 1, 0}));
  b.Quietly("kernel_shape", Ints({2, 2})).Add();
}

}  // namespace

void AddPoolingCases(std::vector<Case>& cases, uint64_t seed) {
  for (const char* op_type : {"AveragePool", "LpPool", "MaxPool"}) AddPool(cases, op_type, seed);
  for (const char* op_type : {"GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool"}) AddGlobal(cases, op_type, seed);
  AddCol2Im(cases, seed);
  AddMaxUnpool(cases, seed);
}

}  // namespace deputy::conformance
