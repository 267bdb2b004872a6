// The cost model of a placement: measured times where there are some, else estimates of the delegates, else defaults.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "partition/cost_model.hpp"
#include "partition/cost_table.hpp"
#include "partition/hosted_delegate.hpp"

namespace deputy::host {

// A node's time is, in this order: that of the nearest size class of its operator in the table; its work at the
// delegate's measured rate; the delegate's estimate of the node as a partition of its own; the default of its kind.
//
//                                     node                                              transfer of a value
//   CPU                               100 ns + 0.1 ns a multiply-add + 0.1 ns a byte    none
//   delegate without a clock          200 ns + 0.05 ns + 0.1 ns                         200 ns + 0.02 ns a byte
//   delegate that reports a clock     2 us + 0.005 ns + 0.02 ns                         2 us + 0.1 ns a byte
//
// A transfer between two delegates passes the host's memory and costs both of theirs.
class MeasuredCosts final : public CostModel {
 public:
  // All arguments must outlive this; the last delegate is the CPU.
  MeasuredCosts(const Graph& graph, Delegates delegates, const CostTable& table);

  double NodeNs(size_t delegate, NodeId node) const override;
  double TransferNs(size_t from, size_t to, ValueId value) const override;

  // The delegate's granted clock in Hz; 0 for one that reports none.
  uint64_t clock_hz(size_t delegate) const { return profiles_[delegate].clock_hz; }

 private:
  struct Rates {
    double fixed_ns, multiply_add_ns, byte_ns;
  };
  struct Profile {
    std::string key;
    uint64_t clock_hz = 0;
    Rates defaults{};
    std::optional<double> multiply_add_ns, byte_ns;           // measured
    double transfer_ns = 0, transfer_byte_ns = 0;             // defaults
    std::array<std::optional<double>, 64> measured_transfer;  // ns per byte, by size class
  };

  std::optional<double> EstimateOf(size_t delegate, NodeId node) const;
  double HostTransferNs(size_t delegate, ValueId value) const;

  const Graph& graph_;
  const Delegates delegates_;
  const CostTable& table_;
  std::vector<Profile> profiles_;
  std::vector<uint64_t> bytes_;  // per value
  // Nodes that look alike are estimated once: by delegate, operator with attributes, and types.
  mutable std::unordered_map<std::string, std::optional<double>> estimates_;
};

}  // namespace deputy::host
