// Delegate in MindSpore Lite's shape. Build runs inside the host's propose; each Replace becomes one claim, whose
// kernel is kept here until the host adopts the claim (Prepare) or refuses it (destroyed, with a line in the log).
//
// Sessions share kernels, and a kernel's tensors are shared handles, so calls of one delegate's kernels never overlap:
// the delegate is marked DEPUTY_DELEGATE_SERIAL, and a mutex protects it in hosts that run it from several threads
// anyway.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "deputy/sdk/delegate_base.hpp"
#include "deputy/sdk/delegate_model.hpp"
#include "deputy/sdk/kept_kernel.hpp"

namespace deputy::sdk {

class Delegate : public DelegateBase {
 public:
  static constexpr uint32_t kFlags = DEPUTY_DELEGATE_SERIAL;
  static constexpr uint32_t kExtensions = kResizes;  // Kernel::ReSize

  Status Init() override = 0;
  // Replaces ranges of the model's kernels by the delegate's own. May be called again, for other shapes or for the rest
  // of the graph; `model` lives as long as any kernel that was put into it.
  virtual Status Build(DelegateModel* model) = 0;

  Status Groups(const GraphView&, const GroupSink&) final { return {}; }
  void LookAt(const GraphView&) final {}
  Verdict AnswerFor(const NodeView&) final { return Verdict::No(Reason::kOther, "decided by Build"); }
  inline Status ProposeClaims(const GraphView& graph, const ClaimSink& sink) final;
  inline void ReleaseClaim(void* claim) final;
  inline Result<std::unique_ptr<Executable>> CompilePartition(const PartitionView& partition, void*& claim) final;

 private:
  std::shared_ptr<std::mutex> one_at_a_time_ = std::make_shared<std::mutex>();
};

inline Status Delegate::ProposeClaims(const GraphView& graph, const ClaimSink& sink) {
  const auto model = std::make_shared<DelegateModel>(graph);
  DEPUTY_SDK_RETURN_IF_ERROR(Build(model.get()));
  DEPUTY_SDK_RETURN_IF_ERROR(model->status());
  for (DelegateModel::Claim& replaced : model->TakeClaims()) {
    auto kept = std::make_unique<detail::KeptKernel>(model, std::move(replaced.kernel), one_at_a_time_);
    const auto inputs = detail::KeptKernel::IdsOf(kept->kernel().inputs());
    const auto outputs = detail::KeptKernel::IdsOf(kept->kernel().outputs());
    deputy_claim claim{};
    claim.struct_size = sizeof claim;
    claim.node_count = static_cast<uint32_t>(replaced.nodes.size());
    claim.nodes = replaced.nodes.data();
    claim.inputs = inputs.data();
    claim.outputs = outputs.data();
    claim.input_count = static_cast<uint32_t>(inputs.size());
    claim.output_count = static_cast<uint32_t>(outputs.size());
    claim.handle = kept.get();
    if (!sink.Add(claim)) return Status(Code::kInvalidArgument, "the host refused a claim");
    kept.release();
  }
  return {};
}

inline void Delegate::ReleaseClaim(void* claim) {
  const std::unique_ptr<detail::KeptKernel> kept(static_cast<detail::KeptKernel*>(claim));
  host().Info(instance_name() + ": the host refused the partition '" + kept->kernel().name() + "'");
}

inline Result<std::unique_ptr<Executable>> Delegate::CompilePartition(const PartitionView& partition, void*& claim) {
  if (claim == nullptr) return Status(Code::kNotSupported, "only partitions that Build made can run here");
  std::unique_ptr<detail::KeptKernel> kept(static_cast<detail::KeptKernel*>(std::exchange(claim, nullptr)));
  DEPUTY_SDK_RETURN_IF_ERROR(kept->Prepare(partition));
  return kept;
}

}  // namespace deputy::sdk
