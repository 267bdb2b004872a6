// Operators that make a tensor from a shape, a number or attributes alone.
#include "random/families.hpp"

namespace deputy::conformance {
namespace {

void WriteConstant(Draft& d) {
  const int64_t form = d.since() >= 12 ? d.Between(0, 5) : 0;
  if (form <= 1) {
    deputy_dtype dtype = d.Type();
    d.Set("value", Attribute::OfTensor(d.Any(dtype, d.Shape(0, 8))));
  } else if (form == 2) {
    d.Set("value_float", Number(d, -9, 9));
  } else if (form == 3) {
    d.Set("value_floats", Attribute::Floats({0.5f, -1.25f, 3.0f}));
  } else if (form == 4) {
    d.Set("value_int", Int(d.Between(-1000, 1000)));
  } else {
    d.Set("value_ints", Ints({d.Between(-9, 9), d.Between(-9, 9)}));
  }
}

void WriteConstantOfShape(Draft& d) {
  d.In(Whole(d.Shape(0, 8)));
  deputy_dtype dtype = d.AnyType();
  if (dtype == kBF16 && d.since() < 20) dtype = kF32;
  d.Maybe("value", Attribute::OfTensor(d.Any(dtype, {1})));
}

void WriteEyeLike(Draft& d) {
  const Dims dims = d.Shape(2, 2);
  d.In(d.Values(d.Type(), dims)).Maybe("dtype", Int(d.Type())).Maybe("k", Int(d.Between(-4, 4)));
}

void WriteRange(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const int64_t step = d.Pick<int64_t>({1, 2, 3, -1, -2}), start = d.Between(-10, 10);
  const int64_t limit = start + step * d.Between(-1, 12) + d.Between(0, 1);
  const double part = reference::IsReal(dtype) && d.Half() ? 0.25 : 1;
  const auto scalar = [&](int64_t value) { return RealScalar(static_cast<double>(value) * part, dtype); };
  d.In(scalar(start)).In(scalar(limit)).In(scalar(step));
}

void WriteWindow(Draft& d) {
  const deputy_dtype dtype = d.Type();
  d.In(RealScalar(static_cast<double>(d.Between(2, 30)), dtype));
  d.Maybe("output_datatype", Int(d.Pick<deputy_dtype>({kF32, kF64, kF16})));
  d.Maybe("periodic", Int(d.Between(0, 1)));
}

void WriteMelWeightMatrix(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const deputy_dtype number = d.Pick<deputy_dtype>({kF32, kF64, kF16});
  const int64_t length = d.Pick<int64_t>({8, 16, 32});
  d.In(RealScalar(static_cast<double>(d.Between(1, 6)), dtype)).In(RealScalar(static_cast<double>(length), dtype));
  d.In(RealScalar(8192, dtype)).In(RealScalar(static_cast<double>(d.Between(0, 500)), number));
  d.In(RealScalar(static_cast<double>(d.Between(2000, 4096)), number));
  d.Maybe("output_datatype", Int(d.Pick<deputy_dtype>({kF32, kF64})));
}

}  // namespace

DraftRows GenerationDrafts() {
  return {{"BlackmanWindow", WriteWindow},
          {"Constant", WriteConstant},
          {"ConstantOfShape", WriteConstantOfShape},
          {"EyeLike", WriteEyeLike},
          {"HammingWindow", WriteWindow},
          {"HannWindow", WriteWindow},
          {"MelWeightMatrix", WriteMelWeightMatrix},
          {"Range", WriteRange}};
}

}  // namespace deputy::conformance
