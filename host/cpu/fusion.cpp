#include "cpu/fusion.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "cpu/delegate.hpp"
#include "cpu/ops/function_kernel.hpp"
#include "graph/inference/windows.hpp"
#include "kernels/quantize.hpp"

namespace deputy::host {
namespace {

using linalg::PairFunction;

// Integers of 8 bits, and the scales and zero points that they have between these and reals.
struct Quantized {
  ValueId integers, scale, zero;
  QuantizedRange range;  // where there is one scale
};

bool IsQuantize(OpKind kind) { return kind == OpKind::kQuantizeLinear || kind == OpKind::kMicrosoft_QuantizeLinear; }
bool IsDequantize(OpKind kind) {
  return kind == OpKind::kDequantizeLinear || kind == OpKind::kMicrosoft_DequantizeLinear;
}

// Gives elements of the input as they are, or the largest of some.
bool OnlyChooses(OpKind kind) {
  switch (kind) {
    case OpKind::kDepthToSpace:
    case OpKind::kExpand:
    case OpKind::kFlatten:
    case OpKind::kGather:
    case OpKind::kMaxPool:
    case OpKind::kReshape:
    case OpKind::kSlice:
    case OpKind::kSpaceToDepth:
    case OpKind::kSqueeze:
    case OpKind::kTile:
    case OpKind::kTranspose:
    case OpKind::kUnsqueeze: return true;
    default: return false;
  }
}

std::optional<PairFunction> PairFunctionOf(OpKind kind) {
  switch (kind) {
    case OpKind::kAdd: return PairFunction::kAdd;
    case OpKind::kDiv: return PairFunction::kDiv;
    case OpKind::kMul: return PairFunction::kMul;
    case OpKind::kSub: return PairFunction::kSub;
    default: return std::nullopt;
  }
}

// Whether QLinearAveragePool, which counts all taps or those inside the input, divides as this AveragePool; that one
// does not count taps behind the padding, of windows that ceil_mode adds and, since opset 19, of windows larger than
// the padded input.
bool DividesAsIntegers(const Node& node, std::span<const Value> values) {
  const Primitive& primitive = node.primitive;
  if (primitive.GetInt("count_include_pad", 0) == 0) return true;
  if (primitive.GetInt("ceil_mode", 0) != 0) return false;
  if (primitive.since_version() < 19) return true;
  const ValueType& x = values[node.inputs[0]].type;
  Result<Window> window = MakeWindow(WindowOptionsOf(primitive));
  SpatialDims out;
  return window.ok() && x.is_static() && x.dims.size() == window.value().rank + 2 &&
         ResolveWindow(window.value(), std::span(x.dims).subspan(2), out).ok();
}

// The same attributes with another operator.
Primitive Renamed(const Primitive& primitive, std::string_view domain, std::string_view op_type, int32_t version) {
  PrimitiveBuilder builder(domain, op_type, version);
  const PrimitiveBuilder given(primitive);
  for (const auto& [name, value] : given.attributes()) builder.Set(name, value);
  return builder.Finish();
}

KernelResult CombineKernel(PairFunction function, const QuantizedRange& a, const QuantizedRange& b,
                           const QuantizedRange& c) {
  return KernelOf([=](const KernelArgs& args) -> Status {
    const ConstView x = args.input(0), y = args.input(1);
    const MutableView z = args.output(0);
    DEPUTY_RETURN_IF_ERROR(CheckTyped(x, a.dtype));
    DEPUTY_RETURN_IF_ERROR(CheckTyped(y, b.dtype));
    DEPUTY_RETURN_IF_ERROR(CheckOutput(z, c.dtype, z.dims()));
    DEPUTY_ASSIGN_OR_RETURN(const BroadcastPlan<2> plan, PlanBroadcast<2>({x.dims(), y.dims()}, z.dims()));
    CombineQuantized(function, plan, a, x.data<uint8_t>(), b, y.data<uint8_t>(), c, z.data<uint8_t>(), args.pool);
    return {};
  });
}

// Maps the output of `first`; without it, the input.
KernelResult MapKernel(const QuantizedTable& table, std::shared_ptr<const CpuKernel> first) {
  return KernelOf([table, first = std::move(first)](const KernelArgs& args) -> Status {
    const MutableView y = args.output(0);
    if (first != nullptr) DEPUTY_RETURN_IF_ERROR(first->Run(args));
    const ConstView x = first == nullptr ? args.input(0) : ConstView(args.outputs[0]);
    DEPUTY_RETURN_IF_ERROR(CheckTyped(x, y.dtype()));
    DEPUTY_RETURN_IF_ERROR(CheckOutput(y, y.dtype(), x.dims()));
    Map(table, x.data<uint8_t>(), y.data<uint8_t>(), x.element_count(), args.pool);
    return {};
  });
}

class Fuser {
 public:
  explicit Fuser(const GraphView& view)
      : whole_(*view.graph), offered_(view.offered), producers_(whole_.Producers()), reads_(whole_.values.size(), 0) {
    graph_.values = whole_.values;
    graph_.symbols = whole_.symbols;
    for (const ValueId id : whole_.outputs) ++reads_[id];
    for (const Node& node : whole_.nodes) node.ForEachRead([&](ValueId id) { ++reads_[id]; });
  }

  const Graph& graph() const { return graph_; }

  std::optional<QuantizedGroup> Fuse(NodeId last) {
    const Node& quantize = whole_.nodes[last];
    const std::optional<Quantized> y = ReadRange(quantize, quantize.outputs[0]);
    if (!y) return std::nullopt;
    // Back to what an operator of two operands, or a sum, computes, or to integers.
    std::vector<NodeId> unary;
    ValueId value = quantize.inputs[0];
    for (;;) {
      const std::optional<Quantized> x = SourceOf(value);
      if (x) return MapOf(unary.empty() ? last : unary.back(), *x, unary, *y);
      const NodeId producer = producers_[value];
      if (producer == kNone || offered_[producer] == 0 || reads_[value] != 1) return std::nullopt;
      if (!IsUnary(whole_.nodes[producer].kind())) break;
      unary.push_back(producer);
      value = whole_.nodes[producer].inputs[0];
    }
    const NodeId place = producers_[value];
    const Node& node = whole_.nodes[place];
    if (node.outputs.size() != 1 || !node.regions.empty()) return std::nullopt;
    // Only of these the rounded result can be computed from the rounded operand.
    const auto limits = [&](NodeId id) {
      return whole_.nodes[id].kind() == OpKind::kRelu || whole_.nodes[id].kind() == OpKind::kClip;
    };
    if (!std::all_of(unary.begin(), unary.end(), limits)) return std::nullopt;
    std::optional<QuantizedGroup> made = Compute(node, *y);
    if (!made) return std::nullopt;
    made->place = place;
    made->node.outputs = {y->integers};
    if (made->kernel == nullptr) {
      KernelResult kernel = MakeKernel({made->node, graph_});
      if (!kernel.ok()) return std::nullopt;
      made->kernel = std::move(kernel).value();
    }
    const QuantizedRange from = OnlyChooses(node.kind()) ? SourceOf(node.inputs[0])->range : y->range;
    const std::optional<QuantizedTable> table = TableFor(from, unary, *y);
    if (!table) return std::nullopt;
    QuantizedTable same;
    std::iota(same.begin(), same.end(), uint8_t{0});
    if (*table != same) made->kernel = MapKernel(*table, std::move(made->kernel)).value();
    return Finish(std::move(made));
  }

 private:
  // The parameters of a QuantizeLinear or DequantizeLinear, constants of float32. Their zero point becomes one where it
  // is left out.
  std::optional<Quantized> Read(const Node& node, ValueId integers) {
    const DType dtype = graph_.values[integers].type.dtype;
    const Value scale = graph_.values[node.inputs[1]];  // a copy: values may be added below
    if ((dtype != DType::kUint8 && dtype != DType::kInt8) || !scale.is_constant() ||
        scale.type.dtype != DType::kFloat32 || scale.constant.element_count() == 0 ||
        node.primitive.GetInt("block_size", 0) != 0)
      return std::nullopt;
    for (const float one : scale.constant.values<float>())
      if (!(one > 0) || !std::isfinite(one)) return std::nullopt;
    Quantized read{integers, node.inputs[1], node.inputs.size() > 2 ? node.inputs[2] : kNone, {}};
    if (read.zero == kNone) {
      Result<Tensor> zero = Tensor::Allocate(dtype, {});
      if (!zero.ok()) return std::nullopt;
      *static_cast<uint8_t*>(zero->mutable_data()) = 0;
      read.zero = graph_.AddConstant("", std::move(zero).value());
    }
    const Tensor& zero = graph_.values[read.zero].constant;
    if (zero.empty() || zero.dtype() != dtype || zero.element_count() == 0) return std::nullopt;
    read.range = {dtype, scale.constant.values<float>()[0], 0};
    read.range.zero_point = read.range.IntegerOf(*static_cast<const uint8_t*>(zero.data()));
    return read;
  }

  std::optional<Quantized> ReadRange(const Node& node, ValueId integers) {
    const std::optional<Quantized> read = Read(node, integers);
    if (!read || graph_.values[read->scale].constant.element_count() != 1) return std::nullopt;
    return read;
  }

  // The node on offer that dequantizes to `real`, which has the type float32.
  const Node* DequantizeOf(ValueId real) const {
    const NodeId producer = real == kNone ? kNone : producers_[real];
    if (producer == kNone || offered_[producer] == 0 || !IsDequantize(whole_.nodes[producer].kind())) return nullptr;
    return whole_.values[real].type.dtype == DType::kFloat32 ? &whole_.nodes[producer] : nullptr;
  }

  // Of integers with one scale.
  std::optional<Quantized> SourceOf(ValueId real) {
    const Node* const node = DequantizeOf(real);
    return node == nullptr ? std::nullopt : ReadRange(*node, node->inputs[0]);
  }

  // Of constant integers with one scale, or one for each index of `axis`; of others with one.
  std::optional<Quantized> FactorOf(ValueId real, int64_t axis) {
    if (std::optional<Quantized> source = SourceOf(real)) return source;
    const Node* const node = DequantizeOf(real);
    if (node == nullptr || !graph_.values[node->inputs[0]].is_constant()) return std::nullopt;
    const Shape dims = graph_.values[node->inputs[0]].constant.shape();  // Read may add values
    const std::optional<Quantized> read = Read(*node, node->inputs[0]);
    int64_t own = node->primitive.GetInt("axis", 1);
    if (own < 0) own += static_cast<int64_t>(dims.size());
    if (axis < 0) axis += static_cast<int64_t>(dims.size());
    if (!read || own != axis || axis < 0 || axis >= static_cast<int64_t>(dims.size())) return std::nullopt;
    const int64_t extent = dims[static_cast<size_t>(axis)];
    const Tensor &scales = graph_.values[read->scale].constant, &zeros = graph_.values[read->zero].constant;
    const bool fits = scales.shape() == Shape{extent} && (zeros.element_count() == 1 || zeros.shape() == Shape{extent});
    return fits ? read : std::nullopt;
  }

  // The bias in units of the sums, which are products of x and of each filter of w: rounded, unless that were visible
  // in the result. `found` is kNone for none.
  bool FindBias(const Node& node, size_t input, const Quantized& x, const Quantized& w, double alpha,
                const Quantized& y, ValueId& found) {
    found = kNone;
    if (input >= node.inputs.size() || node.inputs[input] == kNone) return true;
    std::vector<double> reals;
    const ValueId id = node.inputs[input];
    if (const Node* const source = DequantizeOf(id)) {
      const Tensor &integers = graph_.values[source->inputs[0]].constant,
                   &scales = graph_.values[source->inputs[1]].constant;
      const bool has_zero = source->inputs.size() > 2 && source->inputs[2] != kNone;
      const Tensor* const zeros = has_zero ? &graph_.values[source->inputs[2]].constant : nullptr;
      if (integers.empty() || integers.dtype() != DType::kInt32 || scales.empty() ||
          scales.dtype() != DType::kFloat32 || integers.shape().size() > 1 ||
          (scales.element_count() != 1 && scales.element_count() != integers.element_count()))
        return false;
      if (zeros != nullptr && (zeros->empty() || zeros->dtype() != DType::kInt32)) return false;
      if (zeros != nullptr)
        for (const int32_t zero : zeros->values<int32_t>())
          if (zero != 0) return false;
      const std::span<const float> scale = scales.values<float>();
      for (const int32_t integer : integers.values<int32_t>())
        reals.push_back(integer * double{scale[scale.size() == 1 ? 0 : reals.size()]});
    } else {
      const Tensor& floats = graph_.values[id].constant;
      if (floats.empty() || floats.dtype() != DType::kFloat32 || floats.shape().size() > 1) return false;
      for (const float real : floats.values<float>()) reals.push_back(double{real});
    }
    const std::span<const float> scales = graph_.values[w.scale].constant.values<float>();
    if (scales.size() != 1 && scales.size() != reals.size()) return false;
    constexpr double kVisible = 1e-4, kMost = 1 << 30;  // of a step of the result
    std::vector<int32_t> integers;
    for (const double real : reals) {
      const double unit = alpha * double{x.range.scale} * double{scales[scales.size() == 1 ? 0 : integers.size()]};
      const double rounded = std::nearbyint(real / unit);
      if (!(std::abs(rounded) < kMost) || std::abs(rounded * unit - real) > kVisible * double{y.range.scale})
        return false;
      integers.push_back(static_cast<int32_t>(rounded));
    }
    const int64_t count = static_cast<int64_t>(integers.size());
    Result<Tensor> tensor = Tensor::FromValues<int32_t>(DType::kInt32, {count}, integers);
    if (!tensor.ok()) return false;
    found = graph_.AddConstant("", std::move(tensor).value());
    return true;
  }

  // The node that computes the integers y; its output is added by the caller, and the kernel unless it is its own.
  std::optional<QuantizedGroup> Compute(const Node& node, const Quantized& y) {
    QuantizedGroup made;
    made.node.name = node.name;
    std::vector<ValueId>& inputs = made.node.inputs;
    const std::optional<Quantized> x = node.inputs.empty() ? std::nullopt : SourceOf(node.inputs[0]);
    if (!x) return std::nullopt;
    if (OnlyChooses(node.kind())) {
      made.node.primitive = node.primitive;
      inputs = node.inputs;
      inputs[0] = x->integers;
      return x->range.dtype == y.range.dtype ? std::optional<QuantizedGroup>(std::move(made)) : std::nullopt;
    }
    if (const std::optional<PairFunction> function = PairFunctionOf(node.kind())) {
      const std::optional<Quantized> other = SourceOf(node.inputs[1]);
      if (!other) return std::nullopt;
      KernelResult kernel = CombineKernel(*function, x->range, other->range, y.range);
      if (!kernel.ok()) return std::nullopt;
      made.node.primitive = node.primitive;
      inputs = {x->integers, other->integers};
      made.kernel = std::move(kernel).value();
      // Where the extents are known only in a run, they are inferred from operands of one type.
      const bool typed = x->range.dtype == y.range.dtype && other->range.dtype == y.range.dtype;
      return typed ? std::optional<QuantizedGroup>(std::move(made)) : std::nullopt;
    }
    switch (node.kind()) {
      case OpKind::kConv: return Product(std::move(made), node, "", "QLinearConv", *x, FactorOf(node.inputs[1], 0), y);
      case OpKind::kMatMul:
        return Product(std::move(made), node, "", "QLinearMatMul", *x, FactorOf(node.inputs[1], -1), y);
      case OpKind::kGemm: {
        const int64_t axis = node.primitive.GetInt("transB", 0) != 0 ? 0 : 1;
        return Product(std::move(made), node, "com.microsoft", "QGemm", *x, FactorOf(node.inputs[1], axis), y);
      }
      case OpKind::kAveragePool:
      case OpKind::kGlobalAveragePool: {
        if (x->range.dtype != y.range.dtype || node.primitive.Has("dilations")) return std::nullopt;
        const bool global = node.kind() == OpKind::kGlobalAveragePool;
        if (!global && !DividesAsIntegers(node, whole_.values)) return std::nullopt;
        made.node.primitive =
            Renamed(node.primitive, "com.microsoft", global ? "QLinearGlobalAveragePool" : "QLinearAveragePool", 1);
        inputs = {x->integers, x->scale, x->zero, y.scale, y.zero};
        return made;
      }
      case OpKind::kConcat: {
        made.node.primitive = Renamed(node.primitive, "com.microsoft", "QLinearConcat", 1);
        inputs = {y.scale, y.zero};
        for (const ValueId id : node.inputs) {
          const std::optional<Quantized> part = SourceOf(id);
          if (!part || part->range.dtype != y.range.dtype) return std::nullopt;
          inputs.insert(inputs.end(), {part->integers, part->scale, part->zero});
        }
        return made;
      }
      default: return std::nullopt;
    }
  }

  std::optional<QuantizedGroup> Product(QuantizedGroup made, const Node& node, std::string_view domain,
                                        std::string_view op_type, const Quantized& x, const std::optional<Quantized>& w,
                                        const Quantized& y) {
    if (!w) return std::nullopt;
    made.node.primitive = Renamed(node.primitive, domain, op_type, domain.empty() ? 10 : 1);
    made.node.inputs = {x.integers, x.scale, x.zero, w->integers, w->scale, w->zero};
    const bool general = node.kind() == OpKind::kGemm;
    const double alpha = general ? double{node.primitive.GetFloat("alpha", 1.0f)} : 1.0;
    ValueId bias = kNone;
    if (node.kind() != OpKind::kMatMul && !FindBias(node, 2, x, *w, alpha, y, bias)) return std::nullopt;
    if (general && bias != kNone && node.primitive.GetFloat("beta", 1.0f) != 1.0f) return std::nullopt;
    if (general) made.node.inputs.push_back(bias);
    made.node.inputs.insert(made.node.inputs.end(), {y.scale, y.zero});
    if (!general && bias != kNone) made.node.inputs.push_back(bias);
    return made;
  }

  // Per integer of `from` the integer of `y` of what the nodes, the last one first, compute of its real number; none if
  // they read anything but constants besides.
  std::optional<QuantizedTable> TableFor(const QuantizedRange& from, const std::vector<NodeId>& unary,
                                         const Quantized& y) {
    std::vector<float> reals;
    for (int bits = 0; bits < 256; ++bits) reals.push_back(from.RealOf(static_cast<uint8_t>(bits)));
    Result<Tensor> value = Tensor::FromValues<float>(DType::kFloat32, {256}, reals);
    for (size_t i = unary.size(); i-- > 0 && value.ok();) {
      const Node& node = whole_.nodes[unary[i]];
      std::vector<Tensor> inputs;
      for (const ValueId id : node.inputs) {
        inputs.push_back(inputs.empty() ? *value : id == kNone ? Tensor() : graph_.values[id].constant);
        if (id != kNone && inputs.back().empty()) return std::nullopt;
      }
      if (!evaluator_) evaluator_ = MakeCpuEvaluator();
      Result<std::vector<Tensor>> outputs = evaluator_(node, inputs);
      if (!outputs.ok() || (*outputs)[0].dtype() != DType::kFloat32) return std::nullopt;
      value = std::move((*outputs)[0]);
    }
    if (!value.ok() || value->element_count() != 256) return std::nullopt;
    QuantizedTable table;
    for (size_t i = 0; i < table.size(); ++i) table[i] = y.range.BitsOf(value->values<float>()[i]);
    return table;
  }

  std::optional<QuantizedGroup> MapOf(NodeId place, const Quantized& x, const std::vector<NodeId>& unary,
                                      const Quantized& y) {
    const std::optional<QuantizedTable> table = TableFor(x.range, unary, y);
    if (!table || x.range.dtype != y.range.dtype) return std::nullopt;
    std::optional<QuantizedGroup> made(QuantizedGroup{});
    made->place = place;
    made->node = {
        whole_.nodes[place].name, PrimitiveBuilder("", "Identity", 1).Finish(), {x.integers}, {y.integers}, {}};
    made->kernel = MapKernel(*table, nullptr).value();
    return Finish(std::move(made));
  }

  std::optional<QuantizedGroup> Finish(std::optional<QuantizedGroup> made) const {
    for (const ValueId id : made->node.inputs)
      if (id != kNone && !graph_.values[id].is_constant() &&
          std::find(made->inputs.begin(), made->inputs.end(), id) == made->inputs.end())
        made->inputs.push_back(id);
    return made;
  }

  const Graph& whole_;
  Graph graph_;  // the values of the whole, and further constants
  const std::vector<uint8_t>& offered_;
  const std::vector<NodeId> producers_;
  std::vector<uint32_t> reads_;
  Evaluator evaluator_;
};

}  // namespace

void FuseQuantized(const GraphView& view, const std::function<void(QuantizedGroup&&, const Graph&)>& add) {
  const std::vector<Node>& nodes = view.graph->nodes;
  std::vector<NodeId> last;
  for (NodeId id = 0; id < nodes.size(); ++id)
    if (view.offered[id] != 0 && IsQuantize(nodes[id].kind())) last.push_back(id);
  if (last.empty()) return;
  Fuser fuser(view);
  for (const NodeId id : last)
    if (std::optional<QuantizedGroup> made = fuser.Fuse(id)) add(std::move(*made), fuser.graph());
}

}  // namespace deputy::host
