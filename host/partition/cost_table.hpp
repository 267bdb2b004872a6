// Measured times of operators and transfers, by delegate, operator, element type and size: what a machine has learnt
// about its delegates. Plain data, to be kept and shipped.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "base/status.hpp"
#include "delegate/delegate.hpp"

namespace deputy::host {

// What a node has to do: multiply-adds where its operator has them, else the bytes that it reads and writes. Extents
// that are unknown count as one.
enum class WorkUnit : uint8_t { kMultiplyAdds, kBytes };
struct Work {
  WorkUnit unit = WorkUnit::kBytes;
  uint64_t amount = 1;  // at least 1
};
Work WorkOf(const Graph& graph, const Node& node);
// Bytes of all values that a node reads and writes.
uint64_t BytesOf(const Graph& graph, const Node& node);
// Bytes of a value, with unknown extents as one; 0 for sequences and the like.
uint64_t BytesOf(const ValueType& type);

// The operator of a node as the table names it: "Conv", "com.microsoft.FusedConv".
std::string OperatorOf(const Node& node);
// The element type of a node's first tensor input, or of its first output.
DType MainTypeOf(const Graph& graph, const Node& node);
// A delegate as the table names it: its id with the options in force, since a clock or a number of threads changes
// every time: "sim_npu frequency=low".
std::string CostKeyOf(const Delegate& delegate);

class CostTable {
 public:
  // One measurement. Several of one size class (a power of two of work) are averaged. Names must not be empty or hold
  // control characters; `ns` must be finite and not negative.
  void Add(std::string_view delegate, std::string_view op, DType dtype, Work work, double ns);
  // The time of moving `bytes` between the host's memory and the delegate.
  void AddTransfer(std::string_view delegate, uint64_t bytes, double ns);

  // All measurements of another table, and those of one delegate.
  void Add(const CostTable& more);
  CostTable Of(std::string_view delegate) const;

  // Predicted time: the rate of the nearest size class times the work. Empty when the delegate was never measured on
  // the operator and type.
  std::optional<double> Find(std::string_view delegate, std::string_view op, DType dtype, Work work) const;
  // Nanoseconds per unit over all operators of a delegate; empty when nothing of this unit was measured.
  std::optional<double> RateOf(std::string_view delegate, WorkUnit unit) const;
  std::optional<double> FindTransfer(std::string_view delegate, uint64_t bytes) const;

  bool empty() const { return cells_.empty(); }

  // A text of one line per entry. Parse refuses any other text.
  std::string ToText() const;
  static Result<CostTable> Parse(std::string_view text);

 private:
  // Ordered so that the size classes of one operator are neighbours.
  using Key = std::tuple<std::string, std::string, DType, WorkUnit, uint32_t>;
  struct Cell {
    uint64_t count = 0;
    double work = 0, ns = 0;  // sums
  };

  void AddCell(const Key& key, const Cell& cell);

  std::map<Key, Cell> cells_;
};

}  // namespace deputy::host
