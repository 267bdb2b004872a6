// A delegate for tests: takes nodes by operator, proposes, groups and estimates as the test says, counts its calls, and
// compiles to executables that compute nothing, whose blobs and sizes the test decides.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "delegate/delegate.hpp"

namespace deputy::host {

class TestDelegate final : public Delegate,
                           private PartitionProposer,
                           private NodeGrouper,
                           private PartitionEstimator,
                           private NodeFuser,
                           private BlobFormat {
 public:
  // `ops` is the set of operators that are supported; "*" stands for all.
  TestDelegate(std::string name, std::set<std::string> ops, bool one_node = false)
      : name_(std::move(name)), one_node_(one_node) {
    verdict = [ops = std::move(ops)](const Node& node) {
      const bool takes = ops.count("*") + ops.count(std::string(node.primitive.op_type())) != 0;
      return takes ? Reason::kSupported : Reason::kOperatorUnknown;
    };
    maker.plugin = "test.keeper";
    maker.version = "1";
    maker.build = "0123";
    maker.delegate = name_;
    maker.compatibility = "format 1";
  }
  // Takes everything, of any extents; `keeps` its partitions for other shapes.
  static std::shared_ptr<TestDelegate> ForShapes(const std::string& name, bool keeps) {
    auto made = std::make_shared<TestDelegate>(name, std::set<std::string>{"*"});
    made->dynamic_shapes = true;
    made->keeps = keeps;
    return made;
  }

  const std::string& name() const override { return name_; }
  const std::string& id() const override { return name_; }
  DelegateTraits traits() const override {
    return {.takes_dynamic_shapes = dynamic_shapes,
            .one_node_partitions = one_node_,
            .keeps_partitions = keeps,
            .overlaps = overlap};
  }
  uint32_t newest_definition(std::string_view) const override { return newest; }
  PartitionProposer* proposer() override { return claims.empty() ? nullptr : this; }
  NodeGrouper* grouper() override { return group_list.empty() ? nullptr : this; }
  PartitionEstimator* estimator() override { return estimate ? this : nullptr; }
  NodeFuser* fuser() override { return fuse ? this : nullptr; }
  BlobFormat* blobs() override { return this; }

  Status QuerySupport(const GraphView& view, std::vector<Verdict>& verdicts) override {
    ++queries;
    if (!query_status.ok()) return query_status;
    for (NodeId id = 0; id < view.graph->nodes.size(); ++id) {
      if (!view.offered[id]) continue;
      ++asked[id];
      verdicts[id] = {verdict(view.graph->nodes[id]), ""};
    }
    return {};
  }
  Result<std::vector<PartitionSpec>> Propose(const GraphView& view) override {
    last_order = view.order;
    std::vector<PartitionSpec> specs;
    for (const std::vector<NodeId>& nodes : claims) {
      specs.emplace_back();
      specs.back().nodes = nodes;
      specs.back().claim = this;
      specs.back().inputs = claimed_inputs;
      specs.back().outputs = claimed_outputs;
      ++open_claims;
    }
    return specs;
  }
  void ReleaseClaim(void*) override { --open_claims; }
  Result<std::vector<std::vector<NodeId>>> Groups(const GraphView&) override {
    ++group_queries;
    return group_list;
  }
  Result<Estimate> EstimatePartition(const GraphView&, const PartitionSpec& partition) override {
    estimated.push_back(partition.nodes);
    return estimate(partition);
  }
  Result<std::shared_ptr<const Executable>> Compile(const GraphView&, const PartitionSpec&) override {
    ++compiles;
    compiling();
    if (!compile_status.ok()) return compile_status;
    return std::shared_ptr<const Executable>(std::make_shared<Made>(*this));
  }

  std::vector<FusedNode> Fuse(const GraphView& view) override { return fuse(view); }

  Status SetOption(const std::string& name, const std::string& text) override {
    options_set.push_back(name + "=" + text);
    return {};
  }
  Result<BlobMaker> blob_maker() override {
    if (!has_blobs) return Status(StatusCode::kNotSupported, maker.compatibility);
    return maker;
  }
  Status CheckBlob(const std::string& compatibility) override {
    if (compatibility == maker.compatibility) return {};
    return Status(StatusCode::kIncompatible, "made for '" + compatibility + "'");
  }
  Result<std::shared_ptr<const Executable>> Restore(const GraphView&, const PartitionSpec&, Blob blob) override {
    ++restores;
    if (std::vector<uint8_t>(blob.bytes.begin(), blob.bytes.end()) != bytes)
      return Status(StatusCode::kIncompatible, "other bytes");
    return std::shared_ptr<const Executable>(std::make_shared<Made>(*this));
  }

  // Placement.
  std::function<Reason(const Node&)> verdict;
  std::vector<std::vector<NodeId>> claims, group_list, estimated;
  std::function<Result<Estimate>(const PartitionSpec&)> estimate;
  std::vector<ValueId> claimed_inputs, claimed_outputs;  // of every claim; none: those of its nodes
  std::vector<NodeId> last_order;
  std::map<NodeId, int> asked;
  int open_claims = 0, group_queries = 0;
  Status query_status;
  std::function<std::vector<FusedNode>(const GraphView&)> fuse;
  std::function<Status(const RunArgs&)> execute = [](const RunArgs&) { return Status(); };
  // Where contexts want their tensors; null: in host memory.
  std::shared_ptr<DeviceMemory> memory;
  std::function<MemoryWish(size_t, const deputy_tensor&)> wish = [](size_t, const deputy_tensor& tensor) {
    return MemoryWish{true, static_cast<size_t>(tensor.byte_size), 64};
  };
  // Compilation, blobs and other shapes.
  uint32_t newest = UINT32_MAX;  // definition of any operator
  bool dynamic_shapes = false, keeps = false, overlap = false, shared_memory = false;
  BlobMaker maker;
  bool has_blobs = true;
  std::vector<uint8_t> bytes = {1, 2, 3, 4, 5};
  Status compile_status;
  std::function<void()> compiling = [] {};
  std::function<Result<ResizeOutcome>()> resize = [] { return ResizeOutcome::kDone; };
  int queries = 0, compiles = 0, runs = 0, restores = 0, resizes = 0;
  std::vector<int64_t> resized_to;  // first input
  std::vector<std::string> options_set;

 private:
  class Context final : public ExecutionContext {
   public:
    explicit Context(TestDelegate& delegate) : delegate_(delegate) {}
    Status Execute(const RunArgs& args) override { return ++delegate_.runs, delegate_.execute(args); }
    Result<ResizeOutcome> Resize(std::span<const deputy_tensor* const> inputs,
                                 std::span<const deputy_tensor* const>) override {
      ++delegate_.resizes;
      delegate_.resized_to.assign(inputs[0]->dims, inputs[0]->dims + inputs[0]->rank);
      return delegate_.resize();
    }
    std::shared_ptr<DeviceMemory> device_memory() const override { return delegate_.memory; }
    MemoryWish WishOf(size_t index, const deputy_tensor& tensor) override { return delegate_.wish(index, tensor); }

   private:
    TestDelegate& delegate_;
  };
  class Made final : public Executable {
   public:
    explicit Made(TestDelegate& delegate) : delegate_(delegate) {}
    Result<std::unique_ptr<ExecutionContext>> CreateContext() const override {
      return std::unique_ptr<ExecutionContext>(std::make_unique<Context>(delegate_));
    }
    bool reads_shared_memory() const override { return delegate_.shared_memory; }
    Result<std::vector<uint8_t>> Serialize(size_t limit) const override {
      if (delegate_.bytes.size() > limit) return Status(StatusCode::kResourceExhausted, "too large");
      return delegate_.bytes;
    }

   private:
    TestDelegate& delegate_;
  };

  std::string name_;
  bool one_node_;
};

}  // namespace deputy::host
