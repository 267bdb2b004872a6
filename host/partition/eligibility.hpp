// Which delegates may own a node: the host's own verdicts, by the rules of the configuration and the kind of the node,
// and the answers of the delegates from the support matrix.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "partition/placement.hpp"
#include "partition/support.hpp"

namespace deputy::host {

class Eligibility {
 public:
  // One set of limits in `options` per delegate; the last delegate is the CPU. All arguments must outlive this.
  Eligibility(const Graph& graph, Delegates delegates, const PlacementOptions& options, SupportMatrix& support);

  const Graph& graph() const { return graph_; }
  Delegates delegates() const { return delegates_; }
  // False: nodes of the CPU are an error, except those with regions.
  bool cpu_fallback() const { return options_.cpu_fallback; }
  // No policy may take nodes from a required delegate that supports them.
  bool is_required(size_t delegate) const { return delegates_[delegate].limits.required; }
  // kSupported when the host does not prevent the delegate from owning the node.
  const Verdict& OfHost(size_t delegate, NodeId node) const { return host_[delegate][node]; }
  // The host's verdict where that denies the node or the delegate proposes, otherwise the delegate's answer. It is
  // queried at the first call.
  const Verdict& Of(size_t delegate, NodeId node);
  // False: the delegate's support query failed.
  bool Answered(size_t delegate) { return Row(delegate).answered; }

 private:
  Verdict ByRules(size_t delegate, NodeId id) const;
  Verdict ByKind(size_t delegate, NodeId id) const;
  const SupportMatrix::Row& Row(size_t delegate);

  const Graph& graph_;
  const Delegates delegates_;
  const PlacementOptions& options_;
  SupportMatrix& support_;
  std::vector<std::vector<Verdict>> host_;       // per delegate, per node
  std::vector<const SupportMatrix::Row*> rows_;  // per delegate; null until needed
};

// Whether `text` matches a glob of '*' and '?'.
bool MatchesGlob(std::string_view glob, std::string_view text);

}  // namespace deputy::host
