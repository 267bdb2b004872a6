// Tengine's device as a delegate: interface, allocator and optimizer are functions of one class.
#include <string>

#include "deputy/sdk/partition_helpers.hpp"
#include "tpu_graph.hpp"

namespace {

namespace sdk = deputy::sdk;

class TpuDevice final : public sdk::PartitionDelegate {
 public:
  static constexpr uint32_t kFlags = DEPUTY_DELEGATE_SERIAL;  // the runtime takes one call at a time

  static sdk::OptionSchema Options() {
    return sdk::OptionSchema()
        .Int("memory", 64, 1, 65536, "memory of the TPU", "KiB")
        .Int("least", 3, 1, 1000, "operators that a partition must have to be worth it");
  }

  // interface.init; release_device is the destructor of Tpu
  sdk::Status Init() override {
    tpu_ = std::make_shared<Tpu>(static_cast<size_t>(options().Int("memory")) * 1024);
    return tpu_->device == nullptr ? sdk::Status(sdk::Code::kNotSupported, "no TPU") : sdk::Status();
  }

  // allocator.describe
  static std::vector<sdk::Capability> Capabilities() {
    std::vector<sdk::Capability> rows;
    for (const TpuOp& op : TpuOps()) rows.push_back({op.type, {sdk::DType::kFloat32}});
    return rows;
  }

  sdk::Verdict Supports(const sdk::NodeView& node) override {
    if (FindTpuOp(node) == nullptr) return sdk::Verdict::No(sdk::Reason::kOperatorUnknown);
    if (node.input(0).dtype() != sdk::DType::kFloat32) return sdk::Verdict::No(sdk::Reason::kDType, "float32 only");
    for (size_t i = 0; i < node.input_count(); ++i)
      if (node.input(i).dims().ToVector() != node.output(0).dims().ToVector())
        return sdk::Verdict::No(sdk::Reason::kShape, "no broadcasting");
    return sdk::Verdict::Yes();
  }

  // optimizer.split_graph: the host's own split, whose parts then stay together
  sdk::Status Groups(const sdk::GraphView& graph, const sdk::GroupSink& sink) override {
    const sdk::PartitionHelpers host(graph);
    const auto wanted = [&](const sdk::NodeView& node) { return node.offered() && Supports(node).supported() ? 1 : 0; };
    for (const auto& part : host.Cluster(wanted))
      if (part.size() > 1) sink.Add(part);
    return {};
  }

  // allocator.evaluation
  sdk::Result<sdk::PartitionEstimate> Estimate(const sdk::PartitionView& partition) override {
    const auto least = static_cast<size_t>(options().Int("least"));
    if (partition.nodes().size() < least)
      return sdk::PartitionEstimate::Infeasible("fewer than " + std::to_string(least) + " operators");
    sdk::PartitionEstimate estimate;
    estimate.memory_bytes = TpuGraph::MemoryOf(partition);
    if (*estimate.memory_bytes > static_cast<uint64_t>(options().Int("memory")) * 1024)
      return sdk::PartitionEstimate::Infeasible("more than the TPU's memory");
    return estimate;
  }

  // interface.pre_run, with TpuGraph::CreateContext
  sdk::Result<std::unique_ptr<sdk::Executable>> Compile(const sdk::PartitionView& partition) override {
    return std::make_unique<TpuGraph>(partition, tpu_, host());
  }

 private:
  std::shared_ptr<Tpu> tpu_;
};

}  // namespace

DEPUTY_EXPORT_DELEGATE(TpuDevice, "tpu", "Tengine's TPU: Relu, Add and Mul")
