#include "unit/onednn/graphs.hpp"

#include <gtest/gtest.h>
#include <oneapi/dnnl/dnnl_debug.h>

#include <deque>

namespace onednn {
namespace {

std::vector<float> RandomValues(size_t count, uint32_t& state) {
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    values.push_back(static_cast<float>(state >> 8) / static_cast<float>(1u << 23) - 1);
  }
  return values;
}

std::string NameOf(dnnl::algorithm algorithm) {
  const std::string name = dnnl_alg_kind2str(dnnl::convert_to_c(algorithm));
  return name.substr(name.find('_') + 1);
}

struct Namer {
  std::string operator()(const Convolution& c) const { return c.transposed ? "Deconvolution" : "Convolution"; }
  std::string operator()(const Matmul& m) const { return m.output_order.empty() ? "Matmul" : "Matmul/transposed"; }
  std::string operator()(const Eltwise& e) const { return NameOf(e.algorithm); }
  std::string operator()(const Binary& b) const { return NameOf(b.algorithm); }
  std::string operator()(const Pool&) const { return "Pool"; }
  std::string operator()(const LayerNorm&) const { return "LayerNorm"; }
  std::string operator()(const Softmax&) const { return "Softmax"; }
  std::string operator()(const Concat&) const { return "Concat"; }
  std::string operator()(const Reduction&) const { return "Reduction"; }
  std::string operator()(const Resample&) const { return "Resample"; }
  std::string operator()(const Lrn&) const { return "Lrn"; }
  std::string operator()(const Prelu&) const { return "Prelu"; }
  std::string operator()(const Reshape&) const { return "Reshape"; }
  std::string operator()(const Erf&) const { return "Erf"; }
  std::string operator()(const Transpose&) const { return "Transpose"; }
  std::string operator()(const Slice&) const { return "Slice"; }
  std::string operator()(const Pad&) const { return "Pad"; }
  std::string operator()(const Quantize&) const { return "Quantize"; }
  std::string operator()(const Dequantize&) const { return "Dequantize"; }
  std::string operator()(const Cast&) const { return "Cast"; }
};

deputy_partition WholeOf(const fake::Host& host, std::vector<deputy_node_id>& nodes) {
  for (deputy_node_id node = 0; node < host.nodes.size(); ++node) nodes.push_back(node);
  deputy_partition partition{};
  partition.struct_size = sizeof partition;
  partition.node_count = static_cast<uint32_t>(nodes.size());
  partition.graph = host.graph();
  partition.nodes = nodes.data();
  partition.inputs = host.inputs.data();
  partition.outputs = host.outputs.data();
  partition.input_count = static_cast<uint32_t>(host.inputs.size());
  partition.output_count = static_cast<uint32_t>(host.outputs.size());
  return partition;
}

// Tensors over float vectors, as a host binds them.
class Tensors {
 public:
  void Bind(std::vector<float>& values, const Dims& dims) {
    deputy_tensor tensor{};
    tensor.struct_size = sizeof tensor;
    tensor.dtype = DEPUTY_DTYPE_FLOAT32;
    tensor.rank = static_cast<uint32_t>(dims.size());
    tensor.dims = dims.data();
    tensor.data = values.data();
    tensor.byte_size = values.size() * sizeof(float);
    tensors_.push_back(tensor);
    pointers_.push_back(&tensors_.back());
  }
  const deputy_tensor* const* data() const { return pointers_.data(); }
  uint32_t size() const { return static_cast<uint32_t>(pointers_.size()); }

 private:
  std::deque<deputy_tensor> tensors_;
  std::vector<const deputy_tensor*> pointers_;
};

}  // namespace

deputy_value_id Graph::Input(const Dims& dims) {
  host.inputs.push_back(host.AddValue("input" + std::to_string(host.values.size()), dims));
  return host.inputs.back();
}

std::vector<float> Graph::Random(const Dims& dims) { return RandomValues(static_cast<size_t>(CountOf(dims)), state_); }

deputy_value_id Graph::Constant(const Dims& dims) { return Constant(dims, Random(dims)); }

deputy_value_id Graph::Constant(const Dims& dims, std::vector<float> values) {
  return host.AddConstant("constant" + std::to_string(host.values.size()), std::move(values), dims);
}

deputy_value_id Graph::Add(const std::string& type, const std::vector<deputy_value_id>& inputs, const Dims& dims,
                           Attributes attributes, uint32_t since) {
  const deputy_value_id output = host.AddValue("value" + std::to_string(host.values.size()), dims);
  host.AddNode({type, inputs, {output}, true, since, std::move(attributes)});
  return output;
}

std::vector<deputy_value_id> Graph::Split(deputy_value_id x, int64_t axis, const std::vector<Dims>& parts) {
  std::vector<deputy_value_id> outputs;
  for (const Dims& part : parts) outputs.push_back(host.AddValue("value" + std::to_string(host.values.size()), part));
  host.AddNode({"Split", {x}, outputs, true, 2, [axis](fake::PrimitiveBytes& p) { p.Int("axis", axis); }});
  return outputs;
}

Graph::Reading Graph::Read(bool fused) const {
  const sdk::GraphView graph(sdk::Host(host.table()), host.graph());
  std::vector<deputy_node_id> nodes;
  const sdk::PartitionView partition(graph, WholeOf(host, nodes));
  Program program(partition);
  for (const sdk::NodeView& node : partition.nodes()) {
    const Operator* op = FindOperator(node);
    if (op == nullptr) throw std::invalid_argument("not an operator here: " + std::string(node.op_type()));
    const sdk::Verdict verdict = op->supports(node);
    if (!verdict.supported()) throw std::invalid_argument(std::string(node.op_type()) + ": " + verdict.detail);
    program.SetNode(node.id());
    op->read(node, program);
  }
  program.FinishReading(partition);
  const Origins origins(program);
  const size_t saved = fused ? Fuse(program) : 0;
  return {std::move(program), origins, Shapes(partition), saved};
}

std::string Graph::Describe(bool fused) const {
  std::string text;
  const Program program = Read(fused).program;
  for (const Operation& operation : program.operations()) {
    text += (text.empty() ? "" : " ") + std::visit(Namer(), operation.parameters);
    for (size_t i = 0; i < operation.post_ops.size(); ++i)
      text += (i == 0 ? "[" : ",") + NameOf(operation.post_ops[i].algorithm);
    if (!operation.post_ops.empty()) text += "]";
  }
  return text;
}

std::unique_ptr<Executable> Graph::Compile(bool fused, int threads) const {
  Reading reading = Read(fused);
  ConstantStore store;
  Lowering lowering(reading.program, reading.origins, dnnl::engine(dnnl::engine::kind::cpu, 0), store, threads);
  return lowering.Run(clock, std::move(reading.shapes));
}

std::vector<float> Graph::Run(bool fused, int threads) const {
  const std::unique_ptr<Executable> executable = Compile(fused, threads);
  const auto context = executable->CreateContext();
  std::deque<std::vector<float>> inputs, outputs;
  Tensors in, out;
  uint32_t state = 7;
  for (const deputy_value_id id : host.inputs) {
    inputs.push_back(RandomValues(static_cast<size_t>(CountOf(host.values[id].dims)), state));
    in.Bind(inputs.back(), host.values[id].dims);
  }
  for (const deputy_value_id id : host.outputs) {
    outputs.emplace_back(static_cast<size_t>(CountOf(host.values[id].dims)), -77.0f);
    out.Bind(outputs.back(), host.values[id].dims);
  }
  const std::deque<std::vector<float>> given = inputs;
  deputy_run_args args{};
  args.struct_size = sizeof args;
  args.inputs = in.data();
  args.outputs = out.data();
  args.input_count = in.size();
  args.output_count = out.size();
  // Twice: nothing of the first run may be left behind.
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(context.value()->Execute(sdk::RunArgs(args)).ok());
  EXPECT_EQ(inputs, given) << "a partition's inputs belong to others";
  std::vector<float> all;
  for (const std::vector<float>& output : outputs) all.insert(all.end(), output.begin(), output.end());
  return all;
}

std::vector<deputy_value_id> Graph::Converted() const {
  const Reading reading = Read(true);
  ConstantStore store;
  std::vector<deputy_value_id> converted;
  Lowering(reading.program, reading.origins, dnnl::engine(dnnl::engine::kind::cpu, 0), store, 1)
      .Run(sdk::Host(host.table()), reading.shapes, [&](deputy_value_id id) { converted.push_back(id); });
  return converted;
}

Analysis Graph::Analyze() const {
  const Reading reading = Read(true);
  ConstantStore store;
  return Lowering(reading.program, reading.origins, dnnl::engine(dnnl::engine::kind::cpu, 0), store, 1).Analyze();
}

bool Graph::IsWorthCalling() const {
  const Reading reading = Read(true);
  return onednn::IsWorthCalling(reading.program, Analyze(), reading.saved);
}

sdk::Verdict Graph::VerdictOn(deputy_node_id node) const {
  const sdk::GraphView graph(sdk::Host(host.table()), host.graph());
  const sdk::NodeView view = graph.Node(node);
  return FindOperator(view)->supports(view);
}

}  // namespace onednn
