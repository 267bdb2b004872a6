#include "cases/models.hpp"

#include "cases/model_builder.hpp"
#include "definitions.hpp"

namespace deputy::conformance {

Tensor ModelBuilder::Full(deputy_dtype dtype, Dims dims, double low, double high) {
  Tensor tensor(dtype, std::move(dims));
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const double part = static_cast<double>(fractions_.Next() >> 11) / 9007199254740992.0;
    tensor.Put(i, low + part * (high - low));
  }
  return tensor;
}

size_t ModelBuilder::Op(const std::string& type, std::vector<size_t> inputs, const NodeSettings& settings) {
  ModelNode made;
  made.node.op_type = type;
  for (const Setting& setting : settings) made.node.attributes[setting.name] = setting.value;
  reference::Inputs operands;
  for (const size_t input : inputs) operands.push_back(&made_.values[input].value);
  made.node.since_version = OldestDefinition(made.node, operands);
  std::vector<Tensor> outputs = reference::Compute(made.node, operands);
  made.inputs = std::move(inputs);
  made.outputs.push_back(Value(std::move(outputs.at(0)), false));
  made_.nodes.push_back(std::move(made));
  return made_.nodes.back().outputs[0];
}

size_t ModelBuilder::Append(const Case& tested, size_t x) {
  ModelNode made;
  made.node = tested.node;
  for (size_t i = 0; i < tested.inputs.size(); ++i) {
    const Operand& input = tested.inputs[i];
    if (i == 0)
      made.inputs.push_back(x);
    else if (!input.present)
      made.inputs.push_back(kLeftOut);
    else
      made.inputs.push_back(input.constant ? Const(input.value) : In(input.value));
  }
  reference::Inputs operands;
  for (const size_t input : made.inputs) operands.push_back(input == kLeftOut ? nullptr : &made_.values[input].value);
  std::vector<Tensor> outputs = reference::Compute(made.node, operands);
  made.outputs.push_back(Value(std::move(outputs.at(0)), false));
  made_.nodes.push_back(std::move(made));
  return made_.nodes.back().outputs[0];
}

namespace {

const Dims& Matrix() {
  static const auto* const dims = new Dims{4, 6};
  return *dims;
}

// Of operators that nearly every delegate has.
void AddPlain(std::vector<ModelCase>& all, uint64_t seed) {
  {
    ModelBuilder m("a row of Relu whose middle is an output", seed);
    const size_t x = m.In(Matrix()), y = m.Op("Relu", {x}), z = m.Op("Relu", {y});
    m.Out(y);
    m.Out(z);
    all.push_back(m.Done());
  }
  {
    ModelBuilder m("a tree of Relu", seed);
    const size_t y = m.Op("Relu", {m.In({1, 2, 3, 4})});
    m.Out(m.Op("Relu", {m.Op("Relu", {y})}));
    m.Out(m.Op("Relu", {y}));
    all.push_back(m.Done());
  }
  {
    ModelBuilder m("a row of Identity whose middle is an output", seed);
    const size_t y = m.Op("Identity", {m.In(Matrix())});
    m.Out(y);
    m.Out(m.Op("Identity", {y}));
    all.push_back(m.Done());
  }
  {
    ModelBuilder m("one tensor as both inputs", seed);
    const size_t x = m.In(Matrix());
    m.Out(m.Op("Relu", {m.Op("Add", {x, x})}));
    all.push_back(m.Done());
  }
  {
    ModelBuilder m("one tensor for two nodes", seed);
    const size_t x = m.In(Matrix());
    m.Out(m.Op("Add", {m.Op("Relu", {x}), x}));
    all.push_back(m.Done());
  }
  {
    ModelBuilder m("a diamond of sums", seed);
    const size_t x = m.In(Matrix()), r = m.Op("Relu", {x}), a = m.Op("Add", {r, x}), b = m.Op("Relu", {a});
    m.Out(m.Op("Add", {m.Op("Add", {r, b}), a}));
    all.push_back(m.Done());
  }
  {
    ModelBuilder m("every value an output, the last one first", seed);
    const size_t x = m.In(Matrix()), y = m.In(Matrix());
    const size_t a = m.Op("Add", {y, x}), b = m.Op("Relu", {a}), c = m.Op("Add", {b, a});
    for (const size_t value : {c, b, a}) m.Out(value);
    all.push_back(m.Done());
  }
  {
    ModelBuilder m("a long row", seed);
    size_t x = m.In({3, 5});
    for (int i = 0; i < 8; ++i) x = m.Op("Relu", {m.Op("Add", {x, m.Const({3, 5})})});
    m.Out(x);
    all.push_back(m.Done());
  }
  {
    ModelBuilder m("inputs read in another order", seed);
    const size_t x = m.In(Matrix()), y = m.In(Matrix()), z = m.In(Matrix());
    m.Out(m.Op("Sub", {m.Op("Mul", {z, y}), m.Op("Relu", {x})}));
    all.push_back(m.Done());
  }
}

void AddNetworks(std::vector<ModelCase>& all, uint64_t seed) {
  const Dims image = {2, 4, 6, 6};
  {
    ModelBuilder m("Conv, Relu, MaxPool", seed);
    const size_t y = m.Op("Relu", {m.Conv(m.In(image), 4, 3)});
    m.Out(m.Op("MaxPool", {y}, {{"kernel_shape", Ints({2, 2})}, {"strides", Ints({2, 2})}}));
    all.push_back(m.Done());
  }
  {
    ModelBuilder m("a residual block", seed);
    const size_t x = m.In(image), y = m.Op("Relu", {m.Conv(x, 4, 4)});
    m.Out(m.Op("Relu", {m.Op("Add", {m.Conv(y, 4, 4), x})}));
    all.push_back(m.Done());
  }
  {
    ModelBuilder m("a diamond", seed);
    const size_t y = m.Op("Relu", {m.In(image)});
    m.Out(m.Op("Mul", {m.Op("Sigmoid", {y}), m.Op("Tanh", {y})}));
    all.push_back(m.Done());
  }
  {
    ModelBuilder m("Conv, BatchNormalization, Relu, with Conv an output", seed);
    const size_t x = m.Conv(m.In(image), 4, 3);
    Tensor variance(kF32, {3});
    for (int64_t i = 0; i < 3; ++i) variance.Put(i, 0.5 + static_cast<double>(i));
    const size_t y =
        m.Op("BatchNormalization", {x, m.Const({3}), m.Const({3}), m.Const({3}), m.Const(std::move(variance))});
    m.Out(m.Op("Relu", {y}));
    m.Out(x);
    all.push_back(m.Done());
  }
  {
    ModelBuilder m("branches joined", seed);
    const size_t x = m.In(image);
    const size_t y = m.Op("Concat", {m.Conv(x, 4, 2), x, m.Op("Relu", {x})}, {{"axis", Int(1)}});
    m.Out(m.Op("Relu", {y}));
    all.push_back(m.Done());
  }
  {
    ModelBuilder m("a gate by channel", seed);
    const size_t x = m.In(image), mean = m.Op("GlobalAveragePool", {x});
    m.Out(m.Op("Mul", {x, m.Op("Sigmoid", {m.Op("Conv", {mean, m.Const({4, 4, 1, 1})})})}));
    all.push_back(m.Done());
  }
  {
    ModelBuilder m("a perceptron", seed);
    const size_t x = m.Op("MatMul", {m.In(Matrix()), m.Const({6, 8})});
    const size_t y = m.Op("Relu", {m.Op("Add", {x, m.Const({8})})});
    m.Out(m.Op("Softmax", {m.Op("MatMul", {y, m.Const({8, 3})})}));
    all.push_back(m.Done());
  }
  {
    ModelBuilder m("weights that two nodes share", seed);
    const size_t w = m.Const({6, 5});
    const size_t x = m.Op("MatMul", {m.In(Matrix()), w}), y = m.Op("MatMul", {m.In(Matrix()), w});
    m.Out(m.Op("Sub", {x, y}));
    all.push_back(m.Done());
  }
  {
    ModelBuilder m("views before arithmetic", seed);
    const size_t x = m.Op("Flatten", {m.In({2, 3, 2, 2})});
    const size_t y = m.Op("Relu", {m.Op("MatMul", {x, m.Const({12, 4})})});
    m.Out(m.Op("Reshape", {m.Op("Transpose", {y}), m.Const(Whole({2, 4}))}));
    all.push_back(m.Done());
  }
  {
    ModelBuilder m("attention", seed);
    const size_t x = m.In({5, 6}), q = m.Op("MatMul", {x, m.Const({6, 4})}), k = m.Op("MatMul", {x, m.Const({6, 4})});
    const size_t s = m.Op("MatMul", {q, m.Op("Transpose", {k})});
    const size_t p = m.Op("Softmax", {m.Op("Mul", {s, m.Const(RealScalar(0.125))})});
    m.Out(m.Op("MatMul", {p, m.Op("MatMul", {x, m.Const({6, 4})})}));
    all.push_back(m.Done());
  }
  {
    ModelBuilder m("quantized at both ends", seed);
    Tensor zero(kU8, {});
    zero.Put(0, int64_t{128});
    const size_t scale = m.Const(RealScalar(0.0625)), half = m.Const(RealScalar(0.5)), z = m.Const(std::move(zero));
    const size_t x = m.Op("DequantizeLinear", {m.Op("QuantizeLinear", {m.In(Matrix()), scale, z}), scale, z});
    m.Out(m.Op("QuantizeLinear", {m.Op("Relu", {x}), half, z}));
    all.push_back(m.Done());
  }
}

}  // namespace

std::vector<ModelCase> AllModels(uint64_t seed) {
  std::vector<ModelCase> all;
  AddPlain(all, seed);
  AddNetworks(all, seed);
  return all;
}

}  // namespace deputy::conformance
