// A delegate of the tests that keeps what it compiles as bytes and takes other shapes, as the test says. What its
// executables compute does not matter; what is made of them, and how often, is counted.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "delegate/delegate.hpp"

namespace deputy::host {

class KeepingDelegate final : public Delegate {
 public:
  KeepingDelegate(std::string name, bool keeps) : name_(std::move(name)), keeps_(keeps) {
    maker.plugin = "test.keeper";
    maker.version = "1";
    maker.build = "0123";
    maker.delegate = name_;
    maker.compatibility = "format 1";
  }

  const std::string& name() const override { return name_; }
  const std::string& id() const override { return name_; }
  bool takes_dynamic_shapes() const override { return true; }
  bool keeps_partitions() const override { return keeps_; }

  Status QuerySupport(const GraphView& view, std::vector<Verdict>& verdicts) override {
    ++queries;
    for (NodeId id = 0; id < view.graph->nodes.size(); ++id)
      if (view.offered[id]) verdicts[id] = {verdict(view.graph->nodes[id]), ""};
    return {};
  }
  Result<std::shared_ptr<const Executable>> Compile(const GraphView&, const PartitionSpec&) override {
    ++compiles;
    if (!compile_status.ok()) return compile_status;
    return std::shared_ptr<const Executable>(std::make_shared<Made>(*this));
  }

  Result<BlobMaker> blob_maker() const override { return maker; }
  Status CheckBlob(const std::string& compatibility) const override {
    if (compatibility == maker.compatibility) return {};
    return Status(StatusCode::kIncompatible, "made for '" + compatibility + "'");
  }
  Result<std::shared_ptr<const Executable>> Restore(const GraphView&, const PartitionSpec&, Blob blob) override {
    ++restores;
    if (std::vector<uint8_t>(blob.bytes.begin(), blob.bytes.end()) != bytes)
      return Status(StatusCode::kIncompatible, "other bytes");
    return std::shared_ptr<const Executable>(std::make_shared<Made>(*this));
  }

  BlobMaker maker;
  std::vector<uint8_t> bytes = {1, 2, 3, 4, 5};
  Status compile_status;
  std::function<Reason(const Node&)> verdict = [](const Node&) { return Reason::kSupported; };
  std::function<Result<ResizeOutcome>()> resize = [] { return ResizeOutcome::kDone; };
  int queries = 0, compiles = 0, restores = 0, resizes = 0;
  std::vector<int64_t> resized_to;  // first input

 private:
  class Context final : public ExecutionContext {
   public:
    explicit Context(KeepingDelegate& delegate) : delegate_(delegate) {}
    Status Execute(const RunArgs&) override { return {}; }
    Result<ResizeOutcome> Resize(std::span<const deputy_tensor* const> inputs,
                                 std::span<const deputy_tensor* const>) override {
      ++delegate_.resizes;
      delegate_.resized_to.assign(inputs[0]->dims, inputs[0]->dims + inputs[0]->rank);
      return delegate_.resize();
    }

   private:
    KeepingDelegate& delegate_;
  };
  class Made final : public Executable {
   public:
    explicit Made(KeepingDelegate& delegate) : delegate_(delegate) {}
    Result<std::unique_ptr<ExecutionContext>> CreateContext() const override {
      return std::unique_ptr<ExecutionContext>(std::make_unique<Context>(delegate_));
    }
    Result<std::vector<uint8_t>> Serialize(size_t limit) const override {
      if (delegate_.bytes.size() > limit) return Status(StatusCode::kResourceExhausted, "too large");
      return delegate_.bytes;
    }

   private:
    KeepingDelegate& delegate_;
  };

  std::string name_;
  bool keeps_;
};

// in -> Relu -> Sigmoid -> out, float32 [rows, 4].
inline std::shared_ptr<const Graph> ReluSigmoidOf(int64_t rows) {
  auto graph = std::make_shared<Graph>();
  const ValueType type{DType::kFloat32, true, {rows, 4}};
  const ValueId in = graph->AddValue("in", type), middle = graph->AddValue("middle", type),
                out = graph->AddValue("out", type);
  graph->nodes.push_back({"relu", PrimitiveBuilder("", "Relu", 14).Finish(), {in}, {middle}, {}});
  graph->nodes.push_back({"sigmoid", PrimitiveBuilder("", "Sigmoid", 13).Finish(), {middle}, {out}, {}});
  graph->inputs = {in};
  graph->outputs = {out};
  return graph;
}

}  // namespace deputy::host
