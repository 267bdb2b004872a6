// Binary choices with the smallest sum of costs, by a minimum cut (Boost.Graph, Boykov and Kolmogorov).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace deputy::host {

enum class Side : uint8_t { kSource, kSink };

// Choices are numbered from 0. All costs are finite and not negative; every sum must be below 2^60.
class MinimumCut {
 public:
  explicit MinimumCut(size_t choices) : choices_(choices), vertices_(choices), source_(choices, 0), sink_(choices, 0) {}

  // `cost` where the choice is `side`.
  void Pay(int64_t cost, uint32_t choice, Side side) { (side == Side::kSource ? source_ : sink_)[choice] += cost; }
  // `cost` where any of `others` is `side`.
  void PayForAny(int64_t cost, std::span<const uint32_t> others, Side side);
  // `cost` where any of `others` is `side` and `choice` is the opposite.
  void PayAcross(int64_t cost, uint32_t choice, std::span<const uint32_t> others, Side side);

  // The side of each choice in a solution of minimum cost; kSink where both would do.
  std::vector<Side> Solve();

 private:
  struct Arc {
    uint32_t from, to;
    int64_t cost;
  };
  static constexpr int64_t kInfinite = int64_t{1} << 61;

  // A vertex that is on `side` where any of `others` is.
  uint32_t AnyOf(std::span<const uint32_t> others, Side side);

  const size_t choices_;
  size_t vertices_;                     // choices, then those that AnyOf has added
  std::vector<int64_t> source_, sink_;  // per vertex: its cost on each side
  std::vector<Arc> arcs_;               // paid where `from` is kSource and `to` is kSink
};

}  // namespace deputy::host
