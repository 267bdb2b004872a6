// A delegate of a context with what the host knows of it; placing, planning, running and judging read the same record.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.hpp"
#include "delegate/delegate.hpp"
#include "deputy/tolerance.hpp"

namespace deputy::host {

class DelegateHealth;  // of host/plan

// Limits of the configuration on the nodes of one delegate. An empty list is no limit.
struct DelegateLimits {
  std::vector<std::string> only_ops = {}, deny_ops = {};      // operator names
  std::vector<std::string> only_nodes = {}, deny_nodes = {};  // globs over node names
  uint32_t min_nodes = 1;
  uint64_t min_multiply_adds = 0;
  bool required = false;   // no policy takes nodes from it that it supports
  std::string place = {};  // of its `rules` in the configuration, for reasons; empty: not known
};

struct HostedDelegate {
  // Without limits, health and identity.
  template <class D>
  requires std::convertible_to<D*, Delegate*> HostedDelegate(std::shared_ptr<D> opened) : delegate(std::move(opened)) {}

  Delegate& operator*() const { return *delegate; }
  Delegate* operator->() const { return delegate.get(); }

  std::shared_ptr<Delegate> delegate;
  DelegateLimits limits;
  std::shared_ptr<DelegateHealth> health;  // null: a failure ends the run, and no result is verified
  ToleranceSettings tolerances;            // of its results
  // Of its plugin, its device and this machine; none: nothing is kept about it for another process.
  std::optional<Digest> identity;
  std::optional<Digest> verdict_scope;  // the identity with the tolerances; none: its verdicts are not kept
  std::string plugin_file;              // empty: it is part of the host or of the application
};

// In the order of the configuration. The CPU is the last: it gets every node that no other delegate has.
using Delegates = std::span<const HostedDelegate>;

constexpr size_t CpuOf(Delegates delegates) { return delegates.size() - 1; }
constexpr bool IsCpu(Delegates delegates, size_t delegate) { return delegate == CpuOf(delegates); }

}  // namespace deputy::host
