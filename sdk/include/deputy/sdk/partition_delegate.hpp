// A delegate that answers per node and compiles the partitions that the host forms: the usual way.
#pragma once

#include <memory>
#include <utility>

#include "deputy/sdk/delegate_base.hpp"

namespace deputy::sdk {

class PartitionDelegate : public DelegateBase {
 public:
  // Called with the whole graph before Supports is called for its nodes: for delegates whose answers depend on
  // neighbours.
  virtual void Look(const GraphView&) {}
  // Decides whether this node can run here. Pure: the same graph gives the same answers. Never called for nodes of too
  // new a definition.
  virtual Verdict Supports(const NodeView& node) = 0;
  // All nodes were supported. kNotSupported: they go to the next delegate. Views and names live as long as the call;
  // constants and primitives as long as the model.
  virtual Result<std::unique_ptr<Executable>> Compile(const PartitionView& partition) = 0;

  // With kBlobs: as Compile, from the bytes that Serialize wrote for such a partition. The bytes may be damaged or of
  // another version: kIncompatible, or any other failure, makes the host compile.
  virtual Result<std::unique_ptr<Executable>> Restore(const PartitionView&, Blob) {
    return Status(Code::kNotSupported, "no compiled blobs");
  }

  void LookAt(const GraphView& graph) final { Look(graph); }
  Verdict AnswerFor(const NodeView& node) final { return Supports(node); }
  Status ProposeClaims(const GraphView&, const ClaimSink&) final { return {}; }
  void ReleaseClaim(void*) final {}
  Result<std::unique_ptr<Executable>> CompilePartition(const PartitionView& partition, void*&) final {
    return Compile(partition);
  }
  Result<std::unique_ptr<Executable>> RestorePartition(const PartitionView& partition, Blob blob) final {
    return Restore(partition, std::move(blob));
  }
};

}  // namespace deputy::sdk
