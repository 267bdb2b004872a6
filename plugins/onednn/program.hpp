// A partition as a short list of operations, which fusion rewrites and lowering turns into oneDNN primitives. Every
// operation makes one value. A value is identified by its index and has a shape; the lowering decides its memory and
// its layout.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <unordered_map>
#include <variant>
#include <vector>

#include "constant.hpp"

namespace onednn {

// A partition reads or returns a value that it neither has nor makes.
class Refusal final : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using Value = size_t;
constexpr Value kNoValue = static_cast<Value>(-1);

// Constant integers and their real numbers: scale * (integer - zero), for each index of `axis` or, with one scale, for
// all.
struct Integers {
  std::shared_ptr<const Constant> values;
  std::vector<float> scales;
  std::vector<int32_t> zeros;
  size_t axis = 0;
};

struct ValueFacts {
  memory::dims dims;
  memory::data_type type = memory::data_type::f32;
  std::shared_ptr<const Constant> constant = nullptr;  // NULL: computed in the run
  std::shared_ptr<const Integers> integers = nullptr;  // the integers of a dequantized constant
};

// real = scale * (integer - zero)
struct Scaling {
  float scale = 1;
  int32_t zero = 0;
};

// A window over the spatial dimensions in oneDNN's convention.
struct Window {
  memory::dims strides, dilations, pads_before, pads_after;  // dilation 0: dense
};

// The kinds of operations. Inputs are in the order of the comment; one in brackets may be kNoValue.
struct Convolution {  // x, weights, [bias]; weights as in ONNX
  Window window;
  int64_t groups = 1;
  bool transposed = false;  // ConvTranspose
};
struct Matmul {  // a, b, [bias of the last dimension]
  bool transpose_a = false, transpose_b = false;
  memory::dims output_order;  // the result's dimensions in another order; empty: as they are
};
struct Eltwise {  // x
  dnnl::algorithm algorithm;
  float alpha = 0, beta = 0;
};
struct Binary {  // a with the extents of the result, b that broadcasts to them (and has their rank)
  dnnl::algorithm algorithm;
};
struct Pool {  // x
  dnnl::algorithm algorithm;
  memory::dims kernel;
  Window window;
};
struct LayerNorm {  // x, [scale], [shift]; over the last dimension
  float epsilon;
};
struct Softmax {  // x
  int axis;
  bool log;
};
struct Concat {  // any number
  int axis;
};
struct Reduction {  // x; reduced extents are 1
  dnnl::algorithm algorithm;
};
struct Resample {  // x
  dnnl::algorithm algorithm;
};
struct Lrn {  // x
  int64_t size;
  float alpha, beta, k;
};
struct Prelu {};    // x, slope
struct Reshape {};  // x
struct Erf {};      // x
struct Transpose {  // x
  memory::dims order;
};
struct Slice {  // x
  memory::dims offsets;
};
struct Pad {  // x
  memory::dims before;
  float value;
};
struct Quantize {  // x: real numbers to integers
  Scaling scaling;
};
struct Dequantize {  // x: integers to real numbers
  Scaling scaling;
};
struct Cast {};  // x: between half precision and float32

using Parameters = std::variant<Convolution, Matmul, Eltwise, Binary, Pool, LayerNorm, Softmax, Concat, Reduction,
                                Resample, Lrn, Prelu, Reshape, Erf, Transpose, Slice, Pad, Quantize, Dequantize, Cast>;

// A further function in the same primitive: element-wise, or binary when there is an operand.
struct PostOp {
  dnnl::algorithm algorithm;
  float alpha = 0, beta = 0;
  Value operand = kNoValue;
};

// An operation that reads integers, and perhaps writes them.
struct IntegerForm {
  std::vector<Scaling> sources;  // of the inputs; not of weights
  std::vector<float> weights;    // scales of weights, one or one for each output
  std::optional<Scaling> result;
};

struct Operation {
  Parameters parameters;
  std::vector<Value> inputs;
  Value output = kNoValue;
  std::vector<PostOp> post_ops = {};
  std::optional<IntegerForm> integers = {};
  deputy_node_id node = 0;  // to name in errors
  bool dropped = false;

  template <class Kind>
  const Kind* As() const {
    return dropped ? nullptr : std::get_if<Kind>(&parameters);
  }
  bool Has(size_t input) const { return input < inputs.size() && inputs[input] != kNoValue; }
};

class Program {
 public:
  explicit Program(const sdk::PartitionView& partition);

  // While reading: the value of an operand, and the result of a node. Values of half precision are float32 inside of a
  // partition: inputs and constants are converted at the first use, outputs when all is read. Throws Refusal.
  Value Find(const sdk::ValueView& value);
  void Bind(const sdk::ValueView& value, Value made) { known_[value.id()] = made; }
  // Adds an operation and its result.
  Value Add(Parameters parameters, std::vector<Value> inputs, const memory::dims& dims,
            memory::data_type type = memory::data_type::f32);
  Value NewValue(ValueFacts facts);
  Value AddConstant(std::shared_ptr<const Constant> constant, std::shared_ptr<const Integers> integers = nullptr);
  // The same elements with other extents; no operation is added if they are the same.
  Value AddReshape(Value value, const memory::dims& dims);
  void SetNode(deputy_node_id node) { node_ = node; }
  void FinishReading(const sdk::PartitionView& partition);

  const ValueFacts& facts(Value value) const { return values_[value]; }
  const memory::dims& dims(Value value) const { return values_[value].dims; }
  const Constant* constant(Value value) const { return value == kNoValue ? nullptr : values_[value].constant.get(); }
  std::shared_ptr<const Constant> shared_constant(Value value) const { return values_[value].constant; }
  size_t value_count() const { return values_.size(); }
  const std::vector<Value>& inputs() const { return inputs_; }    // of the partition
  const std::vector<Value>& outputs() const { return outputs_; }  // of the partition

  std::vector<Operation>& operations() { return operations_; }  // in an order in which they can run
  const std::vector<Operation>& operations() const { return operations_; }

  // For rewriting. The index of the operation that makes a value (kNoValue: none), and the number of its reads by
  // operations and as an output.
  size_t ProducerOf(Value value) const { return value == kNoValue ? kNoValue : producer_[value]; }
  size_t UsesOf(Value value) const { return uses_[value]; }
  void Replace(size_t index, Operation operation);
  void Drop(size_t index);
  // Removes operations whose results are not read, and closes the gaps.
  void Sweep();

 private:
  std::vector<ValueFacts> values_;
  std::vector<Operation> operations_;
  std::vector<Value> inputs_, outputs_;
  std::vector<size_t> producer_, uses_;  // by value
  std::unordered_map<deputy_value_id, Value> known_;
  deputy_node_id node_ = 0;
};

// Is this a transposed convolution with constant weights whose windows are adjacent, without gaps and overlap?
bool IsBlockwise(const Operation& operation, const Program& program);

// Every value that an operation reads, once per read.
std::vector<Value> ReadBy(const Operation& operation);

}  // namespace onednn
