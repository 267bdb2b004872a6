// The delegate `onednn`: float32, float16 (computed in float32) and int8 on the CPU through Intel's oneAPI Deep Neural
// Network Library.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "fusion/fusion.hpp"
#include "lowering/lowering.hpp"
#include "operators/operators.hpp"

namespace onednn {

class Delegate final : public sdk::PartitionDelegate {
 public:
  static constexpr uint32_t kExtensions = sdk::kResizes | sdk::kProfiles;

  static constexpr bool kReadsPrecision = true;

  // oneDNN's kernels count in 32 bits; products of two such numbers do not overflow in 64.
  static constexpr int64_t kMostElements = std::numeric_limits<int32_t>::max();

  static sdk::OptionSchema Options() {
    return sdk::OptionSchema()
        .Int("threads", 0, 0, 1024, "threads of oneDNN's own pool, 0 for as many as the host's")
        .Enum("accept", "worthwhile", {"worthwhile", "everything"},
              "worthwhile: rejects nodes for which oneDNN is slow, and partitions of too little work");
  }

  static std::vector<sdk::Capability> Capabilities() { return ListCapabilities(); }

  sdk::Status Init() override {
    engine_ = dnnl::engine(dnnl::engine::kind::cpu, 0);
    // oneDNN keeps primitives for shapes that may come again, 1024 by default: tens of megabytes of code where shapes
    // keep changing. Those in use are kept by their executables.
    constexpr int kPrimitivesKept = 128;
    if (dnnl::get_primitive_cache_capacity() > kPrimitivesKept) dnnl::set_primitive_cache_capacity(kPrimitivesKept);
    return {};
  }

  void Look(const sdk::GraphView& graph) override {
    movers_ = MoversWorthTaking(graph, [this](const sdk::NodeView& node) { return SupportsAlone(node).supported(); });
  }

  sdk::Verdict Supports(const sdk::NodeView& node) override {
    sdk::Verdict verdict = SupportsAlone(node);
    if (verdict.supported() && FindOperator(node)->moves && movers_.count(node.id()) == 0)
      return sdk::Verdict::No(sdk::Reason::kOther, "only moves elements, and no adjacent node is computed here");
    return verdict;
  }

  // An operator between its quantization is one primitive; without it, the rest of the group only moves bytes.
  sdk::Status Groups(const sdk::GraphView& graph, const sdk::GroupSink& sink) override {
    for (const std::vector<deputy_node_id>& group : sdk::PartitionHelpers(graph).QuantizedGroups()) {
      const bool whole = std::all_of(group.begin(), group.end(),
                                     [&](deputy_node_id node) { return SupportsAlone(graph.Node(node)).supported(); });
      if (whole && !sink.Add(group)) break;
    }
    return {};
  }

  // The implementation of a node and the work of a call are known only together with the surrounding nodes.
  sdk::Result<sdk::PartitionEstimate> Estimate(const sdk::PartitionView& partition) override {
    sdk::PartitionEstimate estimate;
    if (options().Enum("accept") == "everything") return estimate;
    for (const sdk::NodeView& node : partition.nodes())
      if (const sdk::Verdict verdict = SupportsAlone(node); !verdict.supported())
        return sdk::PartitionEstimate::Infeasible(verdict.Text());
    try {
      return EstimateSupported(partition);
    } catch (const dnnl::error&) {
      return estimate;  // Compile reports the failure
    } catch (const Refusal& refusal) {
      return sdk::PartitionEstimate::Infeasible(refusal.what());
    }
  }

  sdk::Result<std::unique_ptr<sdk::Executable>> Compile(const sdk::PartitionView& partition) override {
    // The host does not query support again for other shapes.
    for (const sdk::NodeView& node : partition.nodes()) {
      if (const sdk::Verdict verdict = SupportsAlone(node); !verdict.supported())
        return sdk::Status(sdk::Code::kNotSupported, verdict.Text(), node.id());
      const sdk::DType asked = partition.PrecisionOf(node.id());
      if (asked != sdk::DType::kUndefined && asked != sdk::DType::kFloat32)
        return sdk::Status(sdk::Code::kNotSupported, "floats are computed in float32", node.id());
    }
    deputy_node_id at = DEPUTY_NO_NODE;
    try {
      return CompileSupported(partition, at);
    } catch (const dnnl::error& error) {
      const bool lacking = error.status == dnnl_unimplemented || error.status == dnnl_invalid_arguments;
      return sdk::Status(lacking ? sdk::Code::kNotSupported : sdk::Code::kInternal,
                         "oneDNN: " + std::string(error.what()), at);
    } catch (const Refusal& refusal) {
      return sdk::Status(sdk::Code::kNotSupported, refusal.what());
    }
  }

 private:
  // The two below throw dnnl::error, and Refusal for partitions that are not closed.
  sdk::PartitionEstimate EstimateSupported(const sdk::PartitionView& partition) {
    sdk::PartitionEstimate estimate;
    const Reading reading(partition);
    Lowering lowering(reading.program, reading.origins, engine_, store_, ThreadCount());
    const Analysis analysis = lowering.Analyze();
    constexpr const char* kSlow = "oneDNN has only a slow implementation for this shape and layout";
    if (analysis.slow.size() == partition.nodes().size()) return sdk::PartitionEstimate::Infeasible(kSlow);
    estimate.give_back.assign(analysis.slow.begin(), analysis.slow.end());
    if (!estimate.give_back.empty()) estimate.reason = kSlow;
    if (IsOneElementwiseFunction(reading.program, partition.nodes().size()))
      return sdk::PartitionEstimate::Infeasible("a single element-wise function is as fast elsewhere");
    if (estimate.give_back.empty() && !IsWorthCalling(reading.program, analysis, reading.saved))
      return sdk::PartitionEstimate::Infeasible("too little work for a call of oneDNN");
    return estimate;
  }

  // `at` is the node at fault where this throws.
  std::unique_ptr<sdk::Executable> CompileSupported(const sdk::PartitionView& partition, deputy_node_id& at) {
    const Reading reading(partition);
    Lowering lowering(reading.program, reading.origins, engine_, store_, ThreadCount());
    const sdk::PartitionHelpers helpers(partition.graph());
    const auto release = [&](deputy_value_id id) { helpers.Release(partition.graph().Value(id)); };
    try {
      return lowering.Run(host(), Shapes(partition), release);
    } catch (const dnnl::error&) {
      at = lowering.current_node();
      throw;
    }
  }

  // A partition as operations, before and after they were fused.
  struct Reading {
    explicit Reading(const sdk::PartitionView& partition) : program(partition) {
      for (const sdk::NodeView& node : partition.nodes()) {
        program.SetNode(node.id());
        FindOperator(node)->read(node, program);
      }
      program.FinishReading(partition);
      origins = Origins(program);
      saved = Fuse(program);
    }
    Program program;
    Origins origins;
    size_t saved = 0;  // operations
  };

  int ThreadCount() const {
    const int64_t threads = options().Int("threads");
    return static_cast<int>(threads > 0 ? threads : host().thread_count());
  }

  sdk::Verdict SupportsAlone(const sdk::NodeView& node) const {
    const Operator* op = FindOperator(node);
    if (op == nullptr) return sdk::Verdict::No(sdk::Reason::kOperatorUnknown);
    for (size_t i = 0; i < node.input_count() + node.output_count(); ++i) {
      const bool is_output = i >= node.input_count(), is_data = is_output || i < op->data_inputs;
      const sdk::ValueView value = is_output ? node.output(i - node.input_count()) : node.input(i);
      if (!value.exists() || (!is_data && value.is_constant())) continue;
      if (is_data && op->types == kFloats && !IsFloat(value.dtype()))
        return sdk::Verdict::No(sdk::Reason::kDType, "float32 and float16 only");
      if (!value.shape_known()) return sdk::Verdict::No(sdk::Reason::kShapeDynamic);
      if (value.element_count() == 0) return sdk::Verdict::No(sdk::Reason::kShape, "a tensor has no elements");
      if (value.element_count() > kMostElements)
        return sdk::Verdict::No(sdk::Reason::kShape, "a tensor has more elements than 32 bits can count");
    }
    for (const sdk::ValueView& value : {node.input(0), node.output(0)})
      if (value.rank() < op->ranks.least || value.rank() > op->ranks.most)
        return sdk::Verdict::No(sdk::Reason::kRank, "rank must be " + std::to_string(op->ranks.least) + " to " +
                                                        std::to_string(op->ranks.most));
    if (sdk::Verdict verdict = sdk::CheckOperator(node); !verdict.supported()) return verdict;
    return op->supports(node);
  }

  dnnl::engine engine_;
  ConstantStore store_;
  std::unordered_set<deputy_node_id> movers_;  // of the queried graph
};

}  // namespace onednn

DEPUTY_EXPORT_DELEGATE(onednn::Delegate, "onednn", "float32 on x86-64 and aarch64 CPUs through oneDNN")
