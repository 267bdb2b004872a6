#include "cases/patterns.hpp"

#include "cases/pattern_builder.hpp"

namespace deputy::conformance {
namespace {

// A constant along one axis of a square or an image, behind and in front of the node that it could be folded into.
void AddBiases(PatternBuilder& b) {
  for (const char* op : {"Add", "Mul", "Sub"}) {
    const std::string type = op;
    for (const Dims& dims : std::vector<Dims>{{kSide}, {kSide, 1}, {1, kSide}}) {
      const std::string with = ", " + type + " of " + TextOf(dims);
      b.Begin("MatMul" + with);
      b.Done(b.Op(type, {b.MatMul(b.In(Square())), b.Const(dims)}));
      b.Begin("Gemm" + with);
      const size_t product = b.Op("Gemm", {b.In(Square()), b.Const(Square(), -0.4, 0.4), b.Const(Row())});
      b.Done(b.Op(type, {product, b.Const(dims)}));
      b.Begin(type + " of " + TextOf(dims) + ", MatMul");
      b.Done(b.MatMul(b.Op(type, {b.In(Square()), b.Const(dims)})));
    }
    for (const Dims& dims : std::vector<Dims>{{kSide}, {kSide, 1}, {kSide, 1, 1}, {1, kSide, 1, 1}}) {
      const std::string with = ", " + type + " of " + TextOf(dims);
      b.Begin("Conv" + with);
      b.Done(b.Op(type, {b.Conv(b.In(Image()), 1, 0), b.Const(dims)}));
      b.Begin("Conv 3x3 with a bias" + with + ", Relu");
      b.Done(b.Op("Relu", {b.Op(type, {b.Conv(b.In(Image()), 3, 1, true), b.Const(dims)})}));
      b.Begin("BatchNormalization" + with);
      b.Done(b.Op(type, {b.BatchNormalization(b.In(Image())), b.Const(dims)}));
      // In front of a convolution the bias is not that of the padding.
      b.Begin(type + " of " + TextOf(dims) + ", Conv with pads");
      b.Done(b.Conv(b.Op(type, {b.In(Image()), b.Const(dims)}), 3, 1));
      if (dims.size() == 4) continue;
      b.Begin("MatMul of a cube" + with);
      b.Done(b.Op(type, {b.MatMul(b.In(Cube())), b.Const(dims)}));
    }
    b.Begin("a constant in front of MatMul, " + type);
    b.Done(b.Op(type, {b.Const(Row()), b.MatMul(b.In(Square()))}));
    b.Begin("a constant in front of Conv, " + type);
    b.Done(b.Op(type, {b.Const({kSide, 1, 1}), b.Conv(b.In(Image()), 1, 0)}));
  }
  for (const Dims& dims : std::vector<Dims>{{kSide}, {kSide, 1}, {1, kSide}}) {
    b.Begin("Gemm with a bias of " + TextOf(dims));
    b.Done(b.Op("Relu", {b.Op("Gemm", {b.In(Square()), b.Const(Square(), -0.4, 0.4), b.Const(dims)})}));
  }
  b.Begin("BatchNormalization, Conv with pads");
  b.Done(b.Conv(b.BatchNormalization(b.In(Image())), 3, 1));
  b.Begin("BatchNormalization, MatMul along the rows");
  b.Done(b.MatMul(b.BatchNormalization(b.In(Image()))));
  b.Begin("MatMul of an image, BatchNormalization");
  b.Done(b.BatchNormalization(b.MatMul(b.In(Image()))));
  b.Begin("Div of a constant by Conv");
  b.Done(b.Op("Div", {b.Const({kSide, 1, 1}), b.Op("Exp", {b.Conv(b.In(Image()), 1, 0)})}));
}

// What moves across a Transpose, and Transposes that are joined.
void AddTransposes(PatternBuilder& b) {
  const std::vector<Dims> orders = {{1, 2, 0}, {2, 0, 1}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}};
  for (const Dims& order : orders) {
    const std::string name = "Transpose to " + TextOf(order);
    for (const Dims& dims : std::vector<Dims>{{kSide}, {kSide, 1}, {kSide, 1, 1}}) {
      b.Begin(name + ", Mul of " + TextOf(dims));
      b.Done(b.Op("Mul", {b.Transpose(b.In(Cube()), order), b.Const(dims)}));
      b.Begin("Add of " + TextOf(dims) + ", " + name);
      b.Done(b.Transpose(b.Op("Add", {b.In(Cube()), b.Const(dims)}), order));
    }
    for (const Dims& second : orders) {
      b.Begin(name + ", Transpose to " + TextOf(second));
      b.Done(b.Transpose(b.Transpose(b.In(Cube()), order), second));
    }
    b.Begin(name + ", Softmax along axis 1, Transpose to " + TextOf(order));
    b.Done(b.Transpose(b.Op("Softmax", {b.Transpose(b.In(Cube()), order)}, {{"axis", Int(1)}}), order));
    b.Begin(name + ", ReduceMean along axis 1");
    b.Done(b.Mean(b.Transpose(b.In(Cube()), order), {1}));
    b.Begin(name + ", Concat along axis 1");
    const size_t turned = b.Transpose(b.In(Cube()), order);
    b.Done(b.Op("Relu", {b.Op("Concat", {turned, b.In(Cube())}, {{"axis", Int(1)}})}));
    b.Begin(name + ", MatMul");
    b.Done(b.MatMul(b.Transpose(b.In(Cube()), order)));
    b.Begin("MatMul, " + name);
    b.Done(b.Transpose(b.MatMul(b.In(Cube())), order));
    b.Begin(name + ", BatchNormalization");
    b.Done(b.BatchNormalization(b.Transpose(b.In(Cube()), order)));
  }
  for (const Dims& dims : std::vector<Dims>{{kSide}, {kSide, 1}}) {
    b.Begin("Transpose of a square, Mul of " + TextOf(dims));
    b.Done(b.Op("Mul", {b.Transpose(b.In(Square()), {1, 0}), b.Const(dims)}));
  }
  b.Begin("Transpose of the second factor, MatMul");
  const size_t x = b.In(Square());
  b.Done(b.Op("MatMul", {x, b.Transpose(b.In(Square()), {1, 0})}));
  b.Begin("Transpose of the first factor, Gemm with transA");
  const size_t turned = b.Transpose(b.In(Square()), {1, 0});
  b.Done(b.Op("Gemm", {turned, b.Const(Square(), -0.4, 0.4), b.Const(Row())}, {{"transA", Int(1)}}));
  b.Begin("Transpose of a square, LayerNormalization");
  b.Done(b.Op("LayerNormalization", {b.Transpose(b.In(Square()), {1, 0}), b.Const(Row(), 0.5, 1.5), b.Const(Row())}));
  const Dims last = {0, 2, 3, 1}, first = {0, 3, 1, 2};
  b.Begin("Transpose to channels last, and as if from it");
  b.Done(b.Transpose(b.Transpose(b.In(Image()), last), last));
  b.Begin("Transpose to channels last and back, the inner value an output");
  const size_t inner = b.Transpose(b.In(Image()), last);
  b.Out(inner);
  b.Done(b.Transpose(inner, first));
  b.Begin("Conv between Transposes of the same order");
  b.Done(b.Transpose(b.Conv(b.Transpose(b.In(Image()), first), 1, 0), first));
  b.Begin("Transpose, MaxPool, Transpose");
  b.Done(b.Transpose(b.Pool("MaxPool", b.Transpose(b.In(Image()), last), 1), first));
  for (const Dims& order : std::vector<Dims>{{0, 2, 1, 3, 4}, {0, 1, 2, 4, 3}}) {
    b.Begin("Reshape, Transpose to " + TextOf(order) + ", Reshape");
    const size_t split = b.Op("Reshape", {b.In(Image()), b.Numbers({1, 2, kSide / 2, kSide, kSide})});
    b.Done(b.Op("Reshape", {b.Transpose(split, order), b.Numbers(Image())}));
  }
}

// Padding and slices in front of windows.
void AddPads(PatternBuilder& b) {
  const std::pair<const char*, double> fills[] = {{"constant", 0}, {"constant", 0.75}, {"reflect", 0}, {"edge", 0}};
  for (const auto& [mode, value] : fills) {
    const std::string name = std::string("Pad ") + mode + (value != 0 ? " of another value" : "");
    b.Begin(name + ", Conv");
    b.Done(b.Conv(b.Pad(b.In(Image()), mode, value), 3, 0));
    b.Begin(name + ", Conv with pads");
    b.Done(b.Conv(b.Pad(b.In(Image()), mode, value), 3, 1));
    b.Begin(name + " of one side, Conv with strides");
    const size_t padded = b.Pad(b.In(Image()), mode, value, {0, 0, 0, 0, 0, 0, 1, 1});
    b.Done(b.Op("Conv", {padded, b.Const({kSide, kSide, 3, 3}, -0.25, 0.25)}, {{"strides", Ints({2, 2})}}));
    // The padding of a pool is no element: the largest of negative numbers, or the mean of some.
    b.Begin(name + ", MaxPool");
    b.Done(b.Pool("MaxPool", b.Pad(b.In(Image(), -2, -1), mode, value), 0));
    b.Begin(name + ", AveragePool");
    b.Done(b.Pool("AveragePool", b.Pad(b.In(Image()), mode, value), 0));
    b.Begin(name + ", Pad constant");
    b.Done(b.Pad(b.Pad(b.In(Image()), mode, value), "constant", 0));
    b.Begin(name + ", Relu");
    b.Done(b.Op("Relu", {b.Pad(b.In(Image()), mode, value)}));
    b.Begin(name + ", Add of a constant by channel");
    b.Done(b.Op("Add", {b.Pad(b.In(Image()), mode, value), b.Const({kSide, 1, 1})}));
  }
  b.Begin("Pad of channels, Conv");
  const size_t wider = b.Pad(b.In({1, kSide / 2, kSide, kSide}), "constant", 0, {0, 2, 0, 0, 0, 2, 0, 0});
  b.Done(b.Conv(wider, 1, 0));
  b.Begin("Pad that crops, Conv");
  b.Done(b.Conv(b.Pad(b.In(Image()), "constant", 0, {0, 0, -1, -1, 0, 0, -1, -1}), 3, 1));
  b.Begin("AveragePool without its padding, Relu");
  b.Done(b.Op("Relu", {b.Pool("AveragePool", b.In(Image()), 1)}));
  b.Begin("AveragePool with its padding, Conv");
  b.Done(b.Conv(b.Pool("AveragePool", b.In(Image()), 1, {{"count_include_pad", Int(1)}}), 1, 0));
  b.Begin("MaxPool, MaxPool");
  b.Done(b.Pool("MaxPool", b.Pool("MaxPool", b.In(Image(), -2, -1), 1), 1));
  b.Begin("Conv 1x1, Conv 3x3 with pads");
  b.Done(b.Conv(b.Conv(b.In(Image()), 1, 0, true), 3, 1));
  const auto slice = [&](size_t x, int64_t from, int64_t to, int64_t axis, int64_t step) {
    return b.Op("Slice", {x, b.Numbers({from}), b.Numbers({to}), b.Numbers({axis}), b.Numbers({step})});
  };
  b.Begin("Slice with a step, Slice with another");
  b.Done(slice(slice(b.In(Image()), 1, 8, 2, 2), 0, 4, 2, 3));
  b.Begin("Slice backwards, Slice backwards");
  b.Done(slice(slice(b.In(Square()), -1, -9, 1, -1), -2, -9, 1, -1));
  b.Begin("halves joined in reverse order");
  const size_t whole = b.In(Square());
  b.Done(b.Op("Concat", {slice(whole, 4, 8, 1, 1), slice(whole, 0, 4, 1, 1)}, {{"axis", Int(1)}}));
  b.Begin("Concat, Slice across the seam");
  const size_t joined = b.Op("Concat", {b.In(Square()), b.In(Square())}, {{"axis", Int(0)}});
  b.Done(slice(joined, 4, 12, 0, 1));
}

// Rows of activations, in an order in which they do not commute, and functions with other numbers than the usual ones.
void AddActivations(PatternBuilder& b) {
  const auto clip = [&](size_t x, double low, double high) { return b.Op("Clip", {x, b.Scalar(low), b.Scalar(high)}); };
  const auto conv = [&] { return b.Conv(b.In(Image()), 1, 0, true); };
  b.Begin("Conv, Relu, Add of an input");
  b.Done(b.Op("Add", {b.Op("Relu", {conv()}), b.In(Image())}));
  b.Begin("Conv, Add of an input, Relu");
  b.Done(b.Op("Relu", {b.Op("Add", {conv(), b.In(Image())})}));
  b.Begin("Conv, Relu, Add of a constant, Relu");
  b.Done(b.Op("Relu", {b.Op("Add", {b.Op("Relu", {conv()}), b.Const({kSide, 1, 1})})}));
  b.Begin("the sum of two Convs, Relu");
  const size_t one = b.Op("Relu", {conv()});
  b.Done(b.Op("Relu", {b.Op("Add", {one, conv()})}));
  b.Begin("an input without Conv");
  const size_t given = b.In(Image());
  b.Done(b.Op("Sub", {given, b.Conv(given, 1, 0)}));
  b.Begin("Conv without an input");
  const size_t taken = b.In(Image());
  b.Done(b.Op("Sub", {b.Conv(taken, 1, 0), taken}));
  b.Begin("Conv, Sigmoid, Mul with another value");
  b.Done(b.Op("Mul", {b.Op("Sigmoid", {conv()}), b.In(Image())}));
  b.Begin("Conv, Relu, Clip below zero");
  b.Done(clip(b.Op("Relu", {conv()}), -0.5, 0.5));
  b.Begin("Conv, Clip, Relu");
  b.Done(b.Op("Relu", {clip(conv(), -0.5, 0.5)}));
  b.Begin("Clip, Clip that cuts more on one side");
  b.Done(clip(clip(b.In(Square()), -0.75, 0.5), -0.25, 1));
  b.Begin("Relu, LeakyRelu");
  b.Done(b.Op("LeakyRelu", {b.Op("Relu", {b.In(Square())})}, {{"alpha", Float(0.3f)}}));
  b.Begin("Neg, Relu");
  b.Done(b.Op("Relu", {b.Op("Neg", {b.In(Square())})}));
  b.Begin("Neg, Neg");
  b.Done(b.Op("Neg", {b.Op("Neg", {b.In(Square())})}));
  b.Begin("Mul with itself, Sqrt");
  const size_t x = b.In(Square());
  b.Done(b.Op("Sqrt", {b.Op("Mul", {x, x})}));
  b.Begin("Exp, Log of another value");
  const size_t power = b.Op("Exp", {b.In(Square())});
  b.Done(b.Op("Log", {b.Op("Add", {power, b.Scalar(0.5)})}));
  b.Begin("AveragePool in front of Relu");
  b.Done(b.Op("Relu", {b.Pool("AveragePool", b.In(Image()), 0)}));
  b.Begin("Relu in front of AveragePool");
  b.Done(b.Pool("AveragePool", b.Op("Relu", {b.In(Image())}), 0));
  b.Begin("HardSigmoid with another slope, Mul with its input");
  const size_t hard = b.In(Square());
  b.Done(b.Op("Mul", {hard, b.Op("HardSigmoid", {hard}, {{"alpha", Float(0.3f)}, {"beta", Float(0.4f)}})}));
  b.Begin("Erf as in Gelu with another width");
  const size_t wide = b.In(Square());
  const size_t erf = b.Op("Erf", {b.Op("Div", {wide, b.Scalar(1.75)})});
  b.Done(b.Op("Mul", {b.Op("Mul", {wide, b.Op("Add", {erf, b.Scalar(1)})}), b.Scalar(0.5)}));
  b.Begin("Softplus, Tanh, Mul with another value");
  const size_t soft = b.Op("Tanh", {b.Op("Softplus", {b.In(Square())})});
  b.Done(b.Op("Mul", {soft, b.In(Square())}));
  b.Begin("Add, Mul, Add of constants of other shapes");
  const size_t added = b.Op("Add", {b.In(Square()), b.Const({kSide, 1})});
  b.Done(b.Op("Add", {b.Op("Mul", {added, b.Const(Row())}), b.Const({kSide, 1})}));
  b.Begin("Mul, Add, Mul of constants");
  const size_t scaled = b.Op("Add", {b.Op("Mul", {b.In(Square()), b.Const(Row())}), b.Const(Row())});
  b.Done(b.Op("Mul", {scaled, b.Const(Row())}));
  b.Begin("a constant without Mul of a constant");
  b.Done(b.Op("Sub", {b.Const(Row()), b.Op("Mul", {b.In(Square()), b.Const({kSide, 1})})}));
}

// Values that several nodes read.
void AddShared(PatternBuilder& b) {
  b.Begin("a sum whose first summand is read later");
  const size_t x = b.Op("Relu", {b.In(Square())}), y = b.Op("Sigmoid", {b.In(Square())});
  const size_t sum = b.Op("Add", {x, y});
  b.Done(b.Op("Mul", {sum, x}));
  b.Begin("a sum whose second summand is read later");
  const size_t v = b.Op("Relu", {b.In(Square())}), w = b.Op("Sigmoid", {b.In(Square())});
  const size_t other = b.Op("Add", {v, w});
  b.Done(b.Op("Mul", {w, other}));
  b.Begin("an activation of a value that is read later");
  const size_t conv = b.Conv(b.In(Image()), 1, 0);
  const size_t active = b.Op("Relu", {conv});
  b.Done(b.Op("Sub", {active, b.Op("Sigmoid", {conv})}));
  b.Begin("Conv that BatchNormalization and Relu read");
  const size_t read = b.Conv(b.In(Image()), 1, 0);
  b.Out(b.Op("Relu", {read}));
  b.Done(b.BatchNormalization(read));
  b.Begin("MatMul that two biases read");
  const size_t product = b.MatMul(b.In(Square()));
  b.Out(b.Op("Add", {product, b.Const(Row())}));
  b.Done(b.Op("Relu", {b.Op("Add", {product, b.Const(Row())})}));
  b.Begin("Transpose that two nodes read");
  const size_t turned = b.Transpose(b.In(Square()), {1, 0});
  b.Out(b.Op("Mul", {turned, b.Const(Row())}));
  b.Done(b.Transpose(turned, {1, 0}));
  b.Begin("Pad that two Convs read");
  const size_t padded = b.Pad(b.In(Image()), "constant", 0.5);
  b.Out(b.Conv(padded, 3, 0));
  b.Done(b.Conv(padded, 1, 0));
  b.Begin("a product with its own Transpose");
  const size_t own = b.In(Square());
  b.Done(b.Op("MatMul", {b.Transpose(own, {1, 0}), own}));
  b.Begin("MatMul of a constant from the left");
  const size_t left = b.Const(Square(), -0.4, 0.4);
  b.Done(b.Op("Add", {b.Op("MatMul", {left, b.In(Square())}), b.Const(Row())}));
}

// Reductions along another axis than in the usual pattern.
void AddReductions(PatternBuilder& b) {
  for (const Dims& axes : std::vector<Dims>{{2, 3}, {1, 2}, {1, 3}, {1}, {3}}) {
    b.Begin("ReduceMean along " + TextOf(axes) + ", Mul with its input");
    const size_t x = b.In(Image());
    b.Done(b.Op("Mul", {x, b.Op("Sigmoid", {b.Mean(x, axes)})}));
  }
  for (const int64_t first : {1, 0})
    for (const int64_t second : {1, 0}) {
      const std::string name = " along " + TextOf(Dims{first, second});
      b.Begin("a normalization" + name);
      const size_t x = b.In(Square());
      const size_t centred = b.Op("Sub", {x, b.Mean(x, {first})});
      const size_t variance = b.Mean(b.Op("Mul", {centred, centred}), {second});
      const size_t scaled = b.Op("Div", {centred, b.Op("Sqrt", {b.Op("Add", {variance, b.Scalar(0.01)})})});
      b.Done(b.Op("Add", {b.Op("Mul", {scaled, b.Const(Row())}), b.Const(Row())}));
      b.Begin("a softmax" + name);
      const size_t shifted = b.In(Square());
      const size_t largest = b.Op("ReduceMax", {shifted, b.Numbers({first})});
      const size_t power = b.Op("Exp", {b.Op("Sub", {shifted, largest})});
      b.Done(b.Op("Div", {power, b.Mean(power, {second})}));
    }
  for (const Dims& dims : std::vector<Dims>{{}, {kSide}, {kSide, 1}}) {
    b.Begin("Mul of " + TextOf(dims) + ", Softmax, MatMul");
    const size_t factor = dims.empty() ? b.Scalar(0.35) : b.Const(dims, 0.25, 1);
    const size_t scores = b.Op("Softmax", {b.Op("Mul", {b.In(Square()), factor})}, {{"axis", Int(-1)}});
    b.Done(b.MatMul(scores));
    b.Begin("Softmax along axis 0, Mul of " + TextOf(dims));
    const size_t after = dims.empty() ? b.Scalar(0.35) : b.Const(dims, 0.25, 1);
    b.Done(b.Op("Mul", {b.Op("Softmax", {b.In(Square())}, {{"axis", Int(0)}}), after}));
  }
  b.Begin("ReduceMean without its axis, MatMul");
  b.Done(b.MatMul(b.Mean(b.In(Cube()), {0}, 0)));
}

// Conversions that lose something.
void AddConversions(PatternBuilder& b) {
  if (b.dtype() != kF32) return;
  for (const deputy_dtype between : {kI32, kF16}) {
    b.Begin(std::string("Cast to ") + reference::NameOf(between) + " and back");
    const size_t cast = b.Op("Cast", {b.In(Square(), -9, 9)}, {{"to", Int(between)}});
    b.Done(b.Op("Cast", {cast}, {{"to", Int(kF32)}}));
  }
  // The inner steps are coarse or fine beside those of the ends.
  for (const double inner : {0.25, 0.015625}) {
    b.Begin("quantized with steps of 0.0625, " + std::to_string(inner) + ", 0.0625");
    size_t x = b.In(Square(), -1, 1);
    for (const double scale : {0.0625, inner, 0.0625}) {
      const size_t step = b.Scalar(scale), zero = b.Zero(128);
      x = b.Op("DequantizeLinear", {b.Op("QuantizeLinear", {x, step, zero}), step, zero});
    }
    b.Done(x);
  }
}

}  // namespace

std::vector<ModelCase> Patterns(deputy_dtype dtype, uint64_t seed) {
  std::vector<ModelCase> all;
  PatternBuilder b(all, dtype, seed);
  AddBiases(b);
  AddTransposes(b);
  AddPads(b);
  AddActivations(b);
  AddShared(b);
  AddReductions(b);
  AddConversions(b);
  return all;
}

}  // namespace deputy::conformance
