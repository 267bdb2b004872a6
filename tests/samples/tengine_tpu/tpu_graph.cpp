// Buffers are taken from the TPU when a session begins, and given back when it ends.
#include "tpu_graph.hpp"

#include <utility>

namespace sdk = deputy::sdk;

const std::vector<TpuOp>& TpuOps() {
  static const std::vector<TpuOp> ops = {
      {"Relu", 1, [](const tpu_buffer* a, const tpu_buffer*, tpu_buffer* y) { tpu_relu(a, y); }},
      {"Add", 2, tpu_add},
      {"Mul", 2, tpu_mul},
  };
  return ops;
}

const TpuOp* FindTpuOp(const sdk::NodeView& node) {
  for (const TpuOp& op : TpuOps())
    if (node.Is(op.type)) return &op;
  return nullptr;
}

namespace {

// The values that the partition touches, each once.
std::map<deputy_value_id, sdk::ValueView> ValuesOf(const sdk::PartitionView& partition) {
  std::map<deputy_value_id, sdk::ValueView> values;
  for (const sdk::NodeView& node : partition.nodes()) {
    for (size_t i = 0; i < node.input_count(); ++i) values.emplace(node.input(i).id(), node.input(i));
    values.emplace(node.output(0).id(), node.output(0));
  }
  return values;
}

class TpuContext final : public sdk::ExecutionContext {
 public:
  explicit TpuContext(const TpuGraph& graph) : graph_(graph) {}
  ~TpuContext() override {
    const std::lock_guard<std::mutex> lock(graph_.tpu->mutex);
    for (const auto& [id, buffer] : buffers_) tpu_free(graph_.tpu->device, buffer);
  }

  // pre_run
  sdk::Status Allocate() {
    const std::lock_guard<std::mutex> lock(graph_.tpu->mutex);
    for (const auto& [id, elements] : graph_.elements) {
      tpu_buffer* buffer = tpu_alloc(graph_.tpu->device, elements);
      if (buffer == nullptr) return sdk::Status(sdk::Code::kOutOfMemory, "the TPU's memory is taken");
      buffers_[id] = buffer;
    }
    for (const auto& [id, values] : graph_.constants) tpu_write(buffers_[id], values);
    return {};
  }

  // run
  sdk::Status Execute(const sdk::RunArgs& args) override {
    if (TPU_TRACE) graph_.host.Info("run of " + std::to_string(graph_.steps.size()) + " operators");
    for (size_t i = 0; i < args.input_count(); ++i)
      tpu_write(buffers_[graph_.inputs[i]], args.input(i).values<float>().data());
    for (const TpuGraph::Step& step : graph_.steps) step.op->run(buffers_[step.a], buffers_[step.b], buffers_[step.y]);
    for (size_t i = 0; i < args.output_count(); ++i)
      tpu_read(buffers_[graph_.outputs[i]], args.output(i).values<float>().data());
    return {};
  }

 private:
  const TpuGraph& graph_;
  std::map<deputy_value_id, tpu_buffer*> buffers_;
};

}  // namespace

TpuGraph::TpuGraph(const sdk::PartitionView& partition, std::shared_ptr<Tpu> opened, sdk::Host services)
    : tpu(std::move(opened)), host(services) {
  for (const sdk::ValueView& value : partition.inputs()) inputs.push_back(value.id());
  for (const sdk::ValueView& value : partition.outputs()) outputs.push_back(value.id());
  for (const auto& [id, value] : ValuesOf(partition)) {
    elements[id] = static_cast<size_t>(value.element_count());
    if (value.is_constant()) constants[id] = value.constant_values<float>().data();
  }
  for (const sdk::NodeView& node : partition.nodes()) {
    const TpuOp* op = FindTpuOp(node);
    steps.push_back({op, node.input(0).id(), node.input(op->inputs - 1).id(), node.output(0).id()});
  }
}

sdk::Result<std::unique_ptr<sdk::ExecutionContext>> TpuGraph::CreateContext() {
  auto context = std::make_unique<TpuContext>(*this);
  DEPUTY_SDK_RETURN_IF_ERROR(context->Allocate());
  return context;
}

uint64_t TpuGraph::MemoryOf(const sdk::PartitionView& partition) {
  uint64_t bytes = 0;
  for (const auto& [id, value] : ValuesOf(partition))
    bytes += static_cast<uint64_t>(value.element_count()) * sizeof(float);
  return bytes;
}
