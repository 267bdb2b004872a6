// Nodes of definitions that later ones have replaced: an attribute that became an input, another default, an explicit
// broadcast axis of the second operand. Models of that time still contain them.
#include "cases/families.hpp"
#include "definitions.hpp"

namespace deputy::conformance {
namespace {

class OldCases {
 public:
  OldCases(std::vector<Case>& cases, uint64_t seed) : cases_(cases), seed_(seed) {}

  // A case of `op_type` in its definition `since`; `make` adds everything but the operator.
  template <class Make>
  void Add(const char* op_type, int32_t since, const Make& make) {
    CaseBuilder b(cases_, op_type, seed_ + ++count_);
    make(b);
    b.Note("definition=" + std::to_string(since)).Since(since).Add();
  }

 private:
  std::vector<Case>& cases_;
  uint64_t seed_, count_ = 0;
};

void AddBroadcasts(OldCases& old) {
  for (const char* op_type : {"Add", "Sub", "Mul", "Div", "And", "Or", "Xor", "Equal", "Greater", "Less", "Pow"}) {
    const std::string name = op_type;
    const bool logical = name == "And" || name == "Or" || name == "Xor";
    const deputy_dtype dtype = logical ? kBool : name == "Equal" ? kI32 : kF32;
    const int32_t since = name == "Add" || name == "Sub" || name == "Mul" || name == "Div" ? 6 : 1;
    const auto pair = [&](CaseBuilder& b, const Dims& second) {
      b.In(b.Random(dtype, {2, 3, 4}, 0.5, 2)).In(b.Random(dtype, second, 0.5, 2));
    };
    old.Add(op_type, since, [&](CaseBuilder& b) { pair(b, {2, 3, 4}); });
    for (const Dims& second : std::vector<Dims>{{4}, {3, 4}, {}})
      old.Add(op_type, since, [&](CaseBuilder& b) {
        pair(b, second);
        b.With("broadcast", Int(1)).Note("second=" + TextOf(second));
      });
    old.Add(op_type, since, [&](CaseBuilder& b) {
      pair(b, {3});
      b.With("broadcast", Int(1)).With("axis", Int(1));
    });
    old.Add(op_type, since, [&](CaseBuilder& b) {
      pair(b, {2, 3});
      b.With("broadcast", Int(1)).With("axis", Int(0));
    });
  }
  old.Add("PRelu", 6, [](CaseBuilder& b) { b.In(b.Random({2, 3, 4, 5})).Const(b.Random({3})); });
  old.Add("PRelu", 6, [](CaseBuilder& b) { b.In(b.Random({2, 3, 4, 5})).Const(b.Random({1})).Note("slope=[1]"); });
  old.Add("Gemm", 6, [](CaseBuilder& b) {
    b.In(b.Random({4, 6})).Const(b.Random({6, 5})).Const(b.Random({5})).With("broadcast", Int(1));
  });
  old.Add("Sum", 6, [](CaseBuilder& b) { b.In(b.Random({2, 3})).In(b.Random({2, 3})).In(b.Random({2, 3})); });
  for (const char* op_type : {"Max", "Min", "Mean"})
    old.Add(op_type, 6, [](CaseBuilder& b) { b.In(b.Random({2, 3})).In(b.Random({2, 3})); });
}

// Attributes that have become inputs.
void AddAttributes(OldCases& old) {
  old.Add("Clip", 6, [](CaseBuilder& b) {
    b.In(b.Random({2, 3, 4})).With("min", Float(-0.5f)).With("max", Float(0.75f));
  });
  old.Add("Clip", 6, [](CaseBuilder& b) { b.In(b.Random({2, 3, 4})).With("max", Float(0.75f)); });
  old.Add("Clip", 6, [](CaseBuilder& b) { b.In(b.Random({2, 3, 4})); });
  old.Add("Squeeze", 1, [](CaseBuilder& b) { b.In(b.Random({2, 1, 3, 1})).With("axes", Ints({1})); });
  old.Add("Squeeze", 11, [](CaseBuilder& b) { b.In(b.Random({2, 1, 3, 1})).With("axes", Ints({-1})); });
  old.Add("Unsqueeze", 1, [](CaseBuilder& b) { b.In(b.Random({2, 3})).With("axes", Ints({0, 3})); });
  old.Add("Unsqueeze", 11, [](CaseBuilder& b) { b.In(b.Random({2, 3})).With("axes", Ints({-1})); });
  old.Add("Slice", 1, [](CaseBuilder& b) {
    b.In(b.Random({5, 7})).With("starts", Ints({1, -4})).With("ends", Ints({4, 100})).With("axes", Ints({0, 1}));
  });
  old.Add("Slice", 1, [](CaseBuilder& b) { b.In(b.Random({5, 7})).With("starts", Ints({2})).With("ends", Ints({4})); });
  old.Add("Split", 2, [](CaseBuilder& b) { b.In(b.Random({6, 2})).With("split", Ints({2, 4})).Outputs(2); });
  old.Add("Split", 2, [](CaseBuilder& b) { b.In(b.Random({2, 6})).With("axis", Int(1)).Outputs(3); });
  old.Add("Pad", 2, [](CaseBuilder& b) {
    b.In(b.Random({3, 4})).With("pads", Ints({1, 0, 0, 2})).With("value", Float(1.5f));
  });
  old.Add("Pad", 2, [](CaseBuilder& b) {
    b.In(b.Random({4, 5})).With("pads", Ints({1, 2, 2, 1})).With("mode", Text("reflect"));
  });
  old.Add("TopK", 1, [](CaseBuilder& b) { b.In(b.Distinct(kF32, {3, 7})).With("k", Int(3)).Outputs(2); });
  old.Add("Dropout", 7, [](CaseBuilder& b) { b.In(b.Random({2, 3, 4})).With("ratio", Float(0.25f)); });
  for (const char* op_type : {"ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
                              "ReduceProd", "ReduceSum", "ReduceSumSquare"}) {
    old.Add(op_type, 1, [](CaseBuilder& b) { b.In(b.Random({2, 3, 4})).With("axes", Ints({1})); });
    old.Add(op_type, 1, [](CaseBuilder& b) {
      b.In(b.Random({2, 3, 4})).With("axes", Ints({0, 2})).With("keepdims", Int(0));
    });
    old.Add(op_type, 1, [](CaseBuilder& b) { b.In(b.Random({2, 3, 4})).Note("axes=none"); });
    old.Add(op_type, 11, [](CaseBuilder& b) { b.In(b.Random({2, 3, 4})).With("axes", Ints({-1})); });
  }
}

// Attributes that had another default or another meaning.
void AddMeanings(OldCases& old) {
  for (const char* op_type : {"Softmax", "LogSoftmax", "Hardmax"}) {
    old.Add(op_type, 1, [](CaseBuilder& b) { b.In(b.Distinct(kF32, {2, 3, 4})); });
    for (const int64_t axis : {0, 2})
      old.Add(op_type, 1, [=](CaseBuilder& b) { b.In(b.Distinct(kF32, {2, 3, 4})).With("axis", Int(axis)); });
    old.Add(op_type, 11, [](CaseBuilder& b) { b.In(b.Distinct(kF32, {2, 3, 4})).With("axis", Int(-2)); });
  }
  const auto normalized = [=](CaseBuilder& b) {
    b.In(b.Random({2, 3, 4, 5})).Const(b.Random(kF32, {3}, 0.5, 2)).Const(b.Random({3})).Const(b.Random({3}));
    b.Const(b.Random(kF32, {3}, 0.25, 2));
  };
  for (const int32_t since : {7, 9}) old.Add("BatchNormalization", since, normalized);
  old.Add("BatchNormalization", 6, [&](CaseBuilder& b) {
    normalized(b);
    b.With("is_test", Int(1));
  });
  old.Add("LayerNormalization", 1, [=](CaseBuilder& b) {
    b.In(b.Random({2, 3, 8})).Const(b.Random(kF32, {8}, 0.5, 2)).Const(b.Random({8}));
  });
  old.Add("GroupNormalization", 18, [=](CaseBuilder& b) {
    b.In(b.Random({2, 4, 3, 5})).Const(b.Random(kF32, {2}, 0.5, 2)).Const(b.Random({2})).With("num_groups", Int(2));
  });
  old.Add("OneHot", 9, [](CaseBuilder& b) { b.In(Whole({2, 0, 3})).Const(WholeScalar(4)).Const(Real({-1, 2})); });
  old.Add("DFT", 17, [](CaseBuilder& b) { b.In(b.Random({2, 5, 4, 2})); });
  old.Add("DFT", 17, [](CaseBuilder& b) {
    b.In(b.Random({2, 5, 4, 1})).With("axis", Int(2)).With("onesided", Int(1));
  });
  for (const char* mode : {"nearest", "linear"}) {
    old.Add("Resize", 10, [=](CaseBuilder& b) {
      b.In(b.Random({1, 2, 4, 3})).Const(Real({1, 1, 2, 3})).With("mode", Text(mode));
    });
    old.Add("Resize", 10, [=](CaseBuilder& b) {
      b.In(b.Random({1, 2, 4, 6})).Const(Real({1, 1, 0.5, 0.5})).With("mode", Text(mode)).Note("scales=half");
    });
    old.Add("Upsample", 7, [=](CaseBuilder& b) {
      b.In(b.Random({1, 2, 4, 3})).With("scales", Attribute::Floats({1, 1, 2, 3})).With("mode", Text(mode));
    });
  }
  old.Add("RoiAlign", 10, [=](CaseBuilder& b) {
    Tensor rois(kF32, {2, 4});
    for (int64_t i = 0; i < rois.count(); ++i) rois.Put(i, static_cast<double>(i) + 0.25);
    b.In(b.Random({1, 2, 9, 9})).In(rois).In(Whole({0, 0}));
    b.Quietly("output_height", Int(2)).Quietly("output_width", Int(3));
  });
}

}  // namespace

void AddOldCases(std::vector<Case>& cases, uint64_t seed) {
  OldCases old(cases, seed);
  AddBroadcasts(old);
  AddAttributes(old);
  AddMeanings(old);
}

}  // namespace deputy::conformance
