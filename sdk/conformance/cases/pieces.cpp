#include "cases/pieces.hpp"

#include <algorithm>
#include <cmath>

namespace deputy::conformance {
namespace {

using Made = std::optional<size_t>;

// Numbers in which the errors of a long row drown are no test.
constexpr double kLargest = 1000;

bool IsFloat(const Tensor& tensor) { return reference::IsReal(tensor.dtype); }
bool IsImage(const Tensor& tensor) {
  return IsFloat(tensor) && tensor.rank() == 4 && tensor.dims[2] >= 3 && tensor.dims[3] >= 3;
}

Dims PerChannel(const Tensor& x) {
  Dims dims(x.rank(), 1);
  if (x.rank() >= 3)
    dims[1] = x.dims[1];
  else if (!dims.empty())
    dims.back() = x.dims.back();
  return dims;
}

Piece Function(const std::string& type, const NodeSettings& settings = {}) {
  return {type, type, [=](ModelBuilder& m, size_t x) -> Made {
            if (!IsFloat(m.ValueOf(x))) return std::nullopt;
            return m.Op(type, {x}, settings);
          }};
}

// With one constant for each channel, or the last axis of a matrix.
Piece WithConstant(const std::string& type, double low, double high) {
  return {type + " of a constant", type, [=](ModelBuilder& m, size_t x) -> Made {
            const Tensor& value = m.ValueOf(x);
            if (!IsFloat(value) || value.rank() < 2) return std::nullopt;
            return m.Op(type, {x, m.Const(m.Full(value.dtype, PerChannel(value), low, high))});
          }};
}

Piece WithInput(const std::string& type, double low, double high) {
  return {type + " of an input", type, [=](ModelBuilder& m, size_t x) -> Made {
            const Tensor value = m.ValueOf(x);
            if (!IsFloat(value)) return std::nullopt;
            return m.Op(type, {x, m.In(m.Full(value.dtype, value.dims, low, high))});
          }};
}

// The model's first input once more.
Piece WithFirstInput(const std::string& type) {
  return {
      type + " of the first input", type, [=](ModelBuilder& m, size_t x) -> Made {
        const size_t first = m.model().inputs.front();
        if (m.ValueOf(first).dims != m.ValueOf(x).dims || m.ValueOf(first).dtype != m.ValueOf(x).dtype || first == x)
          return std::nullopt;
        return m.Op(type, {x, first});
      }};
}

Piece Convolution(const std::string& name, const std::string& type, int64_t kernel, bool by_channel, int64_t stride) {
  return {name, type, [=](ModelBuilder& m, size_t x) -> Made {
            const Tensor value = m.ValueOf(x);
            if (!IsImage(value)) return std::nullopt;
            const int64_t channels = value.dims[1], pad = kernel / 2, in = by_channel ? 1 : channels;
            if (channels > 64) return std::nullopt;
            const double limit = 1.5 / std::sqrt(static_cast<double>(in * kernel * kernel));
            NodeSettings settings = {{"pads", Ints({pad, pad, pad, pad})}, {"kernel_shape", Ints({kernel, kernel})}};
            if (by_channel) settings.push_back({"group", Int(channels)});
            if (stride != 1) settings.push_back({"strides", Ints({stride, stride})});
            const size_t w = m.Const(m.Full(value.dtype, {channels, in, kernel, kernel}, -limit, limit));
            return m.Op(type, {x, w, m.Const(m.Full(value.dtype, {channels}))}, settings);
          }};
}

Piece Pool(const std::string& type) {
  return {type, type, [=](ModelBuilder& m, size_t x) -> Made {
            if (!IsImage(m.ValueOf(x))) return std::nullopt;
            return m.Op(type, {x}, {{"kernel_shape", Ints({3, 3})}, {"pads", Ints({1, 1, 1, 1})}});
          }};
}

Piece Normalization(const std::string& type) {
  return {type, type, [=](ModelBuilder& m, size_t x) -> Made {
            const Tensor value = m.ValueOf(x);
            const bool of_rows = type == "LayerNormalization";
            if (!IsFloat(value) || value.rank() < (of_rows ? 2u : 3u)) return std::nullopt;
            const Dims dims = {of_rows ? value.dims.back() : value.dims[1]};
            if (dims[0] < (of_rows ? 4 : 1)) return std::nullopt;
            const auto constant = [&](double low, double high) {
              return m.Const(m.Full(value.dtype, dims, low, high));
            };
            std::vector<size_t> inputs = {x, constant(0.5, 1.5), constant(-1, 1)};
            if (type == "BatchNormalization") {
              inputs.push_back(constant(-1, 1));
              inputs.push_back(constant(0.5, 2));
            }
            return m.Op(type, inputs);
          }};
}

Piece Product(const std::string& name, const std::string& type, const NodeSettings& settings, bool biased) {
  return {name, type, [=](ModelBuilder& m, size_t x) -> Made {
            const Tensor value = m.ValueOf(x);
            if (!IsFloat(value) || value.rank() < 2 || (type == "Gemm" && value.rank() != 2)) return std::nullopt;
            const int64_t width = value.dims.back();
            if (width > 64) return std::nullopt;
            const double limit = 1.5 / std::sqrt(static_cast<double>(width));
            std::vector<size_t> inputs = {x, m.Const(m.Full(value.dtype, {width, width}, -limit, limit))};
            if (biased) inputs.push_back(m.Const(m.Full(value.dtype, {width})));
            return m.Op(type, inputs, settings);
          }};
}

Piece Movement(const std::string& name, const std::string& type, std::function<Made(ModelBuilder&, size_t)> add) {
  return {name, type, [=](ModelBuilder& m, size_t x) -> Made {
            if (!IsFloat(m.ValueOf(x)) || m.ValueOf(x).rank() < 2) return std::nullopt;
            return add(m, x);
          }};
}

void AddMovements(std::vector<Piece>& all) {
  all.push_back(Function("Identity"));
  all.push_back(Movement("Transpose of the last two", "Transpose", [](ModelBuilder& m, size_t x) -> Made {
    std::vector<int64_t> order;
    for (size_t i = 0; i < m.ValueOf(x).rank(); ++i) order.push_back(static_cast<int64_t>(i));
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    return m.Op("Transpose", {x}, {{"perm", Ints(order)}});
  }));
  all.push_back(Movement("Reshape to a matrix", "Reshape", [](ModelBuilder& m, size_t x) -> Made {
    return m.Op("Reshape", {x, m.Const(Whole({m.ValueOf(x).dims[0], -1}))});
  }));
  all.push_back(Movement("Concat with itself", "Concat", [](ModelBuilder& m, size_t x) -> Made {
    if (reference::CountOf(m.ValueOf(x).dims) > 2000) return std::nullopt;
    return m.Op("Concat", {x, x}, {{"axis", Int(1)}});
  }));
  all.push_back(Movement("Slice of the second half", "Slice", [](ModelBuilder& m, size_t x) -> Made {
    const int64_t extent = m.ValueOf(x).dims[1];
    if (extent < 2) return std::nullopt;
    return m.Op("Slice", {x, m.Const(Whole({extent / 2})), m.Const(Whole({extent})), m.Const(Whole({1}))});
  }));
  all.push_back(Movement("ReduceMean of the image", "ReduceMean", [](ModelBuilder& m, size_t x) -> Made {
    if (m.ValueOf(x).rank() != 4) return std::nullopt;
    return m.Op("ReduceMean", {x, m.Const(Whole({2, 3}))});
  }));
  all.push_back(Movement("QuantizeLinear and back", "QuantizeLinear", [](ModelBuilder& m, size_t x) -> Made {
    if (m.ValueOf(x).dtype != kF32) return std::nullopt;
    const size_t scale = m.Const(RealScalar(0.03125)), zero = m.Const(Zero(kU8, {128}));
    return m.Op("DequantizeLinear", {m.Op("QuantizeLinear", {x, scale, zero}), scale, zero});
  }));
  all.push_back(Movement("a gate by channel", "GlobalAveragePool", [](ModelBuilder& m, size_t x) -> Made {
    if (!IsImage(m.ValueOf(x))) return std::nullopt;
    return m.Op("Mul", {x, m.Op("Sigmoid", {m.Op("GlobalAveragePool", {x})})});
  }));
  all.push_back(Movement("Mul with its Sigmoid", "Sigmoid", [](ModelBuilder& m, size_t x) -> Made {
    return m.Op("Mul", {x, m.Op("Sigmoid", {x})});
  }));
  all.push_back(Movement("attention", "MatMul", [](ModelBuilder& m, size_t x) -> Made {
    const Tensor value = m.ValueOf(x);
    if (value.rank() != 2 || value.dims[0] > 64) return std::nullopt;
    const auto projected = [&] {
      return m.Op("MatMul", {x, m.Const(m.Full(value.dtype, {value.dims[1], 8}, -0.4, 0.4))});
    };
    const size_t q = projected(), k = m.Op("Transpose", {projected()});
    const size_t p = m.Op("Softmax", {m.Op("Mul", {m.Op("MatMul", {q, k}), m.Const(RealScalar(0.35, value.dtype))})});
    return m.Op("MatMul", {p, projected()});
  }));
}

std::vector<Piece> MakePieces() {
  std::vector<Piece> all = {Convolution("Conv 3x3", "Conv", 3, false, 1),
                            Convolution("Conv 1x1", "Conv", 1, false, 1),
                            Convolution("Conv by channel", "Conv", 3, true, 1),
                            Convolution("Conv 3x3 with strides", "Conv", 3, false, 2),
                            Convolution("ConvTranspose 3x3", "ConvTranspose", 3, false, 1),
                            Product("MatMul", "MatMul", {}, false),
                            Product("Gemm", "Gemm", {}, true),
                            Product("Gemm of transposed weights", "Gemm", {{"transB", Int(1)}}, true),
                            Normalization("BatchNormalization"),
                            Normalization("InstanceNormalization"),
                            Normalization("LayerNormalization"),
                            Pool("MaxPool"),
                            Pool("AveragePool"),
                            Function("GlobalAveragePool")};
  all.back().add = [](ModelBuilder& m, size_t x) -> Made {
    if (!IsImage(m.ValueOf(x))) return std::nullopt;
    return m.Op("GlobalAveragePool", {x});
  };
  for (const char* type : {"Relu", "Sigmoid", "Tanh", "HardSwish", "Gelu", "Softmax", "Abs", "Neg", "Erf", "Exp",
                           "Softplus", "Mish", "Elu", "HardSigmoid", "Selu", "Softsign", "LogSoftmax"})
    all.push_back(Function(type));
  all.push_back(Function("LeakyRelu", {{"alpha", Float(0.2f)}}));
  all.push_back({"Clip", "Clip", [](ModelBuilder& m, size_t x) -> Made {
                   const deputy_dtype dtype = m.ValueOf(x).dtype;
                   if (!IsFloat(m.ValueOf(x))) return std::nullopt;
                   return m.Op("Clip", {x, m.Const(RealScalar(-0.5, dtype)), m.Const(RealScalar(0.75, dtype))});
                 }});
  for (const char* type : {"Add", "Mul", "Sub", "Max", "Min"}) all.push_back(WithConstant(type, -1, 1));
  all.push_back(WithConstant("Div", 0.5, 2));
  all.push_back(WithConstant("PRelu", 0.1, 0.5));
  for (const char* type : {"Add", "Mul", "Sub", "Max"}) all.push_back(WithInput(type, -1, 1));
  for (const char* type : {"Add", "Mul"}) all.push_back(WithFirstInput(type));
  all.push_back({"Add of itself", "Add", [](ModelBuilder& m, size_t x) -> Made {
                   if (!IsFloat(m.ValueOf(x))) return std::nullopt;
                   return m.Op("Add", {x, x});
                 }});
  AddMovements(all);
  return all;
}

bool IsModest(const Tensor& tensor) {
  double largest = 0;
  for (const double value : tensor.real) {
    if (!std::isfinite(value)) return false;
    largest = std::max(largest, std::fabs(value));
  }
  return largest <= kLargest && tensor.count() != 0;
}

Made Added(const Piece& piece, ModelBuilder& m, size_t x) {
  const Made made = piece.add(m, x);
  return made && IsModest(m.ValueOf(*made)) ? made : std::nullopt;
}

size_t Begun(ModelBuilder& m, const Ground& ground) { return m.In(m.Full(ground.dtype, ground.dims, -1.5, 1.5)); }

std::vector<Ground> GroundsOf(const std::vector<Dims>& shapes) {
  std::vector<Ground> all;
  for (const deputy_dtype dtype : {kF32, kF16, kBF16})
    for (const Dims& dims : shapes) all.push_back({dtype, dims});
  return all;
}

}  // namespace

const std::vector<Piece>& AllPieces() {
  static const auto* const pieces = new std::vector<Piece>(MakePieces());
  return *pieces;
}

std::vector<Ground> Images() { return GroundsOf({{1, 8, 5, 5}, {1, 8, 8, 8}, {1, 16, 8, 8}, {1, 32, 4, 4}}); }
std::vector<Ground> Matrices() { return GroundsOf({{5, 16}, {16, 16}, {1, 64}, {8, 32}}); }

std::vector<ModelCase> PairsOf(const Piece& first, const Piece& second, const Ground& ground, uint64_t seed) {
  std::vector<ModelCase> all;
  const std::string names = first.name + ", " + second.name;
  for (const char* form : {"", ", the inner value an output", ", both joined"}) {
    const std::string kind = form;
    ModelBuilder m(names + kind, seed);
    const size_t x = Begun(m, ground);
    const Made inner = Added(first, m, x);
    const Made last = inner ? Added(second, m, *inner) : std::nullopt;
    if (!last) return all;
    if (kind == ", both joined") {
      if (m.ValueOf(*inner).dims != m.ValueOf(*last).dims) break;
      m.Out(m.Op("Add", {*last, *inner}));
    } else {
      m.Out(*last);
      if (!kind.empty()) m.Out(*inner);
    }
    all.push_back(m.Done());
  }
  return all;
}

std::optional<ModelCase> RowOf(const std::vector<const Piece*>& pieces, const Ground& ground, uint64_t seed) {
  std::string label;
  for (const Piece* piece : pieces) label += (label.empty() ? "" : ", ") + piece->name;
  ModelBuilder m(label, seed);
  Made x = Begun(m, ground);
  for (const Piece* piece : pieces) {
    x = Added(*piece, m, *x);
    if (!x) return std::nullopt;
  }
  m.Out(*x);
  return m.Done();
}

std::optional<ModelCase> NetworkOf(const std::vector<const Piece*>& pieces, const Ground& ground, uint64_t seed) {
  RandomSource random(seed * 7919 + 13);
  ModelBuilder m("network " + std::to_string(seed), seed);
  std::vector<size_t> values = {Begun(m, ground)};
  std::vector<size_t> read;
  const int64_t wanted = random.Between(3, 9);
  for (int tries = 0; tries < 60 && static_cast<int64_t>(values.size()) <= wanted; ++tries) {
    // Mostly the newest value, so that rows grow; sometimes an older one, so that branches begin.
    const size_t x = random.Once(3) ? random.Pick(values) : values.back();
    std::optional<size_t> made;
    if (random.Once(4) && values.size() > 1) {
      const size_t other = random.Pick(values);
      const bool fits = m.ValueOf(x).dims == m.ValueOf(other).dims && x != other;
      if (!fits) continue;
      made = m.Op(random.Half() ? "Add" : "Mul", {x, other});
      if (!IsModest(m.ValueOf(*made))) return std::nullopt;
      read.push_back(other);
    } else {
      made = random.Pick(pieces)->add(m, x);
      if (made && !IsModest(m.ValueOf(*made))) return std::nullopt;
    }
    if (!made) continue;
    read.push_back(x);
    values.push_back(*made);
  }
  if (values.size() < 3) return std::nullopt;
  for (size_t i = 1; i < values.size(); ++i) {
    const bool is_read = std::find(read.begin(), read.end(), values[i]) != read.end();
    if (!is_read || random.Once(5)) m.Out(values[i]);
  }
  return m.Done();
}

}  // namespace deputy::conformance
