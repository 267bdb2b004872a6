// Pools over windows, and global pools.
#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {
namespace {

Attribute Ints(std::vector<int64_t> values) { return Attribute::Ints(std::move(values)); }

void AddPool(std::vector<Case>& cases, const char* op_type, uint64_t seed) {
  CaseBuilder b(cases, op_type, seed);
  const Dims x = {2, 3, 7, 6};
  const auto plain = [&](const Dims& dims = {2, 3, 7, 6}) -> CaseBuilder& {
    return b.In(b.Distinct(DEPUTY_DTYPE_FLOAT32, dims)).Quietly("kernel_shape", Ints(Dims(dims.size() - 2, 2)));
  };
  plain().Add();
  for (const deputy_dtype dtype : TypesOf(op_type))
    if (dtype != DEPUTY_DTYPE_FLOAT32)
      b.In(b.Distinct(dtype, dtype == DEPUTY_DTYPE_INT8 ? Dims{1, 2, 7, 6} : x))
          .Quietly("kernel_shape", Ints({2, 2}))
          .Add();
  const std::vector<Setting> settings = {{"kernel_shape", Ints({3, 2})},
                                         {"kernel_shape", Ints({1, 4})},
                                         {"strides", Ints({2, 1})},
                                         {"strides", Ints({1, 3})},
                                         {"dilations", Ints({2, 1})},
                                         {"dilations", Ints({1, 3})},
                                         {"pads", Ints({1, 1, 1, 1})},
                                         {"pads", Ints({0, 1, 1, 0})},
                                         {"auto_pad", Attribute::String("SAME_UPPER")},
                                         {"auto_pad", Attribute::String("SAME_LOWER")},
                                         {"auto_pad", Attribute::String("VALID")}};
  for (const Setting& setting : settings) plain().With(setting.name, setting.value).Add();
  plain().Quietly("strides", Ints({2, 4})).With("ceil_mode", Attribute::Int(1)).Add();
  plain().With("strides", Ints({3, 2})).With("pads", Ints({1, 0, 1, 1})).With("kernel_shape", Ints({3, 3})).Add();
  plain().With("ceil_mode", Attribute::Int(1)).With("strides", Ints({2, 4})).With("pads", Ints({1, 1, 0, 0})).Add();
  for (const Dims& shape : std::vector<Dims>{{2, 3, 9}, {1, 2, 4, 3, 5}, {1, 1, 2, 2}, {1, 17, 5, 3}, {0, 3, 7, 6}})
    plain(shape).Note(ShapeNote(shape)).Add();
  // A window larger than the padded input, by less than a stride: one output. By more: none.
  const auto large = [&](Dims kernel) -> CaseBuilder& {
    return b.In(b.Distinct(DEPUTY_DTYPE_FLOAT32, {1, 3, 2, 3}))
        .With("kernel_shape", Ints(std::move(kernel)))
        .Quietly("strides", Ints({2, 2}))
        .Note("larger than the input");
  };
  large({3, 4}).Add();
  large({3, 4}).With("ceil_mode", Attribute::Int(1)).Add();
  large({3, 3}).With("auto_pad", Attribute::String("VALID")).Add();
  large({5, 4}).With("pads", Ints({1, 0, 1, 0})).Add();
  if (b.op_type() == "AveragePool")
    large({4, 4}).With("count_include_pad", Attribute::Int(1)).Quietly("pads", Ints({0, 0, 1, 0})).Add();
  if (b.op_type() == "AveragePool") {
    plain().Quietly("pads", Ints({1, 0, 1, 1})).With("count_include_pad", Attribute::Int(1)).Add();
    plain()
        .With("count_include_pad", Attribute::Int(1))
        .With("ceil_mode", Attribute::Int(1))
        .Quietly("strides", Ints({2, 4}))
        .Quietly("pads", Ints({0, 1, 1, 1}))
        .Add();
  }
  if (b.op_type() == "LpPool") plain().With("p", Attribute::Int(3)).Add();
  if (b.op_type() == "MaxPool") {
    plain().Outputs(2).Note("output=Indices").Add();
    plain().Outputs(2).With("storage_order", Attribute::Int(1)).Add();
    large({3, 4}).Outputs(2).Note("output=Indices").Add();
  }
}

void AddGlobal(std::vector<Case>& cases, const char* op_type, uint64_t seed) {
  CaseBuilder b(cases, op_type, seed);
  for (const deputy_dtype dtype : TypesOf(op_type)) b.In(b.Random(dtype, {2, 3, 4, 5})).Add();
  for (const Dims& shape : std::vector<Dims>{{2, 3, 9}, {1, 2, 4, 3, 5}, {1, 1, 1, 1}, {1, 17, 5, 3}, {0, 3, 4, 5}})
    b.In(b.Random(shape)).Note(ShapeNote(shape)).Add();
  if (b.op_type() == "GlobalLpPool") b.In(b.Random({2, 3, 4, 5})).With("p", Attribute::Int(3)).Add();
}

}  // namespace

void AddPoolingCases(std::vector<Case>& cases, uint64_t seed) {
  for (const char* op_type : {"AveragePool", "LpPool", "MaxPool"}) AddPool(cases, op_type, seed);
  for (const char* op_type : {"GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool"}) AddGlobal(cases, op_type, seed);
}

}  // namespace deputy::conformance
