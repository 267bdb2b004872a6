// A delegate that takes the operators that it is told to and is never run: for benchmarks of placement.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "delegate/delegate.hpp"

namespace deputy::host::benchmarks {

class PickyDelegate final : public Delegate {
 public:
  PickyDelegate(std::string name, std::vector<OpKind> kinds) : name_(std::move(name)), kinds_(std::move(kinds)) {}

  const std::string& name() const override { return name_; }
  const std::string& id() const override { return name_; }
  DelegateTraits traits() const override { return {.takes_dynamic_shapes = true}; }
  Status QuerySupport(const GraphView& view, std::vector<Verdict>& verdicts) override {
    for (NodeId id = 0; id < view.graph->nodes.size(); ++id) {
      const bool taken = std::find(kinds_.begin(), kinds_.end(), view.graph->nodes[id].kind()) != kinds_.end();
      if (view.offered[id]) verdicts[id] = {taken ? Reason::kSupported : Reason::kOperatorUnknown, ""};
    }
    return {};
  }
  Result<std::shared_ptr<const Executable>> Compile(const GraphView&, const PartitionSpec&) override {
    return Status(StatusCode::kNotSupported, "never run");
  }

 private:
  const std::string name_;
  const std::vector<OpKind> kinds_;
};

}  // namespace deputy::host::benchmarks
