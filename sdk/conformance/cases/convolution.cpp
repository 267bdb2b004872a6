// Conv, ConvTranspose and their integer relatives, in one to three dimensions.
#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {
namespace {

void AddConv(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "Conv", seed);
  const Dims x = {2, 4, 7, 6}, w = {6, 4, 3, 2};
  const auto plain = [&]() -> CaseBuilder& { return b.In(b.Random(x)).Const(b.Random(w)); };
  plain().Add();
  for (const deputy_dtype dtype : TypesOf("Conv"))
    if (dtype != kF32) b.In(b.Random(dtype, x)).Const(b.Random(dtype, w)).Add();
  const std::vector<Setting> settings = {{"strides", Ints({2, 1})},        {"strides", Ints({1, 3})},
                                         {"dilations", Ints({2, 1})},      {"dilations", Ints({1, 3})},
                                         {"pads", Ints({1, 1, 1, 1})},     {"pads", Ints({0, 2, 1, 0})},
                                         {"auto_pad", Text("SAME_UPPER")}, {"auto_pad", Text("SAME_LOWER")},
                                         {"auto_pad", Text("VALID")},      {"kernel_shape", Ints({3, 2})}};
  for (const Setting& setting : settings) plain().With(setting.name, setting.value).Add();
  for (const int64_t groups : {2, 4})
    b.In(b.Random(x)).Const(b.Random({8, 4 / groups, 3, 2})).With("group", Int(groups)).Add();
  plain().Const(b.Random({6})).Note("input=bias").Add();
  b.In(b.Random(x)).In(b.Random(w)).Note("weights=variable").Add();
  plain().With("strides", Ints({2, 2})).With("pads", Ints({1, 0, 2, 1})).With("dilations", Ints({2, 2})).Add();
  plain().With("strides", Ints({2, 3})).With("auto_pad", Text("SAME_UPPER")).Add();
  b.In(b.Random({1, 2, 17, 19})).Const(b.Random({4, 2, 3, 3})).With("dilations", Ints({5, 5}));
  b.With("pads", Ints({5, 5, 5, 5})).Add();
  b.In(b.Random({2, 6, 5, 5})).Const(b.Random({6, 1, 3, 3})).Const(b.Random({6})).With("group", Int(6));
  b.With("pads", Ints({1, 1, 1, 1})).With("strides", Ints({2, 2})).Note("input=bias").Add();
  const std::vector<std::pair<Dims, Dims>> shapes = {
      {{2, 4, 9}, {3, 4, 3}},          {{1, 3, 4, 5, 6}, {2, 3, 2, 3, 2}}, {{1, 1, 1, 1}, {1, 1, 1, 1}},
      {{1, 17, 3, 3}, {5, 17, 1, 1}},  {{3, 1, 8, 1}, {2, 1, 3, 1}},       {{0, 4, 7, 6}, {6, 4, 3, 2}},
      {{1, 33, 5, 7}, {19, 33, 3, 3}}, {{1, 1, 3, 70}, {4, 1, 3, 3}}};
  for (const auto& [input, weights] : shapes)
    b.In(b.Random(input)).Const(b.Random(weights)).Note(ShapeNote(input) + "*" + TextOf(weights)).Add();
}

void AddConvTranspose(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "ConvTranspose", seed);
  const Dims x = {2, 4, 4, 3}, w = {4, 3, 3, 2};
  const auto plain = [&]() -> CaseBuilder& { return b.In(b.Random(x)).Const(b.Random(w)); };
  plain().Add();
  for (const deputy_dtype dtype : TypesOf("ConvTranspose"))
    if (dtype != kF32) b.In(b.Random(dtype, x)).Const(b.Random(dtype, w)).Add();
  const std::vector<Setting> settings = {{"strides", Ints({2, 1})},      {"strides", Ints({1, 3})},
                                         {"dilations", Ints({2, 1})},    {"dilations", Ints({1, 2})},
                                         {"pads", Ints({1, 0, 1, 0})},   {"pads", Ints({0, 0, 1, 1})},
                                         {"kernel_shape", Ints({3, 2})}, {"auto_pad", Text("VALID")}};
  for (const Setting& setting : settings) plain().With(setting.name, setting.value).Add();
  const auto strided = [&]() -> CaseBuilder& { return plain().Quietly("strides", Ints({2, 2})); };
  strided().With("output_padding", Ints({1, 0})).Add();
  strided().With("output_padding", Ints({0, 1})).Add();
  strided().With("output_shape", Ints({8, 6})).Add();
  strided().With("auto_pad", Text("SAME_UPPER")).Add();
  strided().With("auto_pad", Text("SAME_LOWER")).Add();
  b.In(b.Random(x)).Const(b.Random({4, 3, 3, 2})).With("group", Int(2)).Add();
  plain().Const(b.Random({3})).Note("input=bias").Add();
  b.In(b.Random(x)).In(b.Random(w)).Note("weights=variable").Add();
  b.In(b.Random({2, 3, 5})).Const(b.Random({3, 2, 3})).Note("shape=[2,3,5]*[3,2,3]").Add();
  b.In(b.Random({1, 2, 3, 2, 3})).Const(b.Random({2, 3, 2, 2, 2})).Note("shape=[1,2,3,2,3]*[2,3,2,2,2]").Add();
}

void AddConvInteger(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "ConvInteger", seed);
  const auto zero = [](deputy_dtype dtype, int64_t value) {
    Tensor tensor(dtype, {});
    tensor.Put(0, value);
    return tensor;
  };
  for (const deputy_dtype wt : {kU8, kI8}) {
    b.In(b.Random(kU8, {1, 3, 5, 5}, 0, 40)).Const(b.Random(wt, {2, 3, 3, 3}, -20, 20)).Const(zero(kU8, 7));
    b.Note(wt == kU8 ? "weights=uint8" : "weights=int8").Add();
  }
  b.In(b.Random(kU8, {1, 3, 5, 5}, 0, 40)).Const(b.Random(kU8, {2, 3, 3, 3}, 0, 20)).Note("zero-points=none").Add();
  b.In(b.Random(kU8, {1, 3, 5, 5}, 0, 40)).Const(b.Random(kU8, {2, 3, 3, 3}, 0, 20)).Const(zero(kU8, 7));
  b.Const(zero(kU8, 5)).Note("zero-points=both").Add();
  b.In(b.Random(kU8, {1, 4, 5, 5}, 0, 40)).Const(b.Random(kU8, {2, 2, 3, 3}, 0, 20)).With("group", Int(2)).Add();
  for (const Setting& setting :
       {Setting{"strides", Ints({2, 1})}, Setting{"dilations", Ints({1, 2})}, Setting{"pads", Ints({1, 0, 0, 1})},
        Setting{"auto_pad", Text("SAME_UPPER")}, Setting{"kernel_shape", Ints({3, 3})}})
    b.In(b.Random(kU8, {1, 3, 6, 6}, 0, 40))
        .Const(b.Random(kU8, {2, 3, 3, 3}, 0, 20))
        .Const(zero(kU8, 7))
        .With(setting.name, setting.value)
        .Add();
}

void AddQLinearConv(std::vector<Case>& cases, uint64_t seed) {
  CaseBuilder b(cases, "QLinearConv", seed);
  const auto zero = [](deputy_dtype dtype, int64_t value) {
    Tensor tensor(dtype, {});
    tensor.Put(0, value);
    return tensor;
  };
  const auto add = [&](deputy_dtype xt, deputy_dtype wt, const Dims& w, bool per_channel) -> CaseBuilder& {
    b.In(b.Random(xt, {1, 4, 6, 5}, -30, 30)).Const(RealScalar(0.03125)).Const(zero(xt, 3));
    Tensor scales(kF32, per_channel ? Dims{w[0]} : Dims{});
    for (int64_t i = 0; i < scales.count(); ++i) scales.Put(i, 0.015625 * static_cast<double>(i + 1));
    Tensor zeros(wt, scales.dims);
    b.Const(b.Random(wt, w, -30, 30)).Const(scales).Const(zeros).Const(RealScalar(0.25)).Const(zero(xt, 5));
    return b;
  };
  add(kU8, kU8, {3, 4, 3, 3}, false).Add();
  add(kU8, kI8, {3, 4, 3, 3}, false).Note("weights=int8").Add();
  add(kI8, kI8, {3, 4, 3, 3}, false).Add();
  add(kU8, kI8, {3, 4, 3, 3}, true).Note("scales=per-channel").Add();
  add(kU8, kI8, {3, 4, 3, 3}, true).Const(b.Random(kI32, {3}, -40, 40)).Note("scales=per-channel input=B");
  b.Add();
  add(kU8, kU8, {4, 2, 3, 3}, false).With("group", Int(2)).Add();
  for (const Setting& setting :
       {Setting{"strides", Ints({2, 1})}, Setting{"dilations", Ints({1, 2})}, Setting{"pads", Ints({1, 0, 0, 1})},
        Setting{"auto_pad", Text("SAME_LOWER")}, Setting{"kernel_shape", Ints({3, 3})}})
    add(kU8, kU8, {3, 4, 3, 3}, false).With(setting.name, setting.value).Add();
}

}  // namespace

void AddConvolutionCases(std::vector<Case>& cases, uint64_t seed) {
  AddConv(cases, seed);
  AddConvTranspose(cases, seed);
  AddConvInteger(cases, seed);
  AddQLinearConv(cases, seed);
}

}  // namespace deputy::conformance
