#include "partition/minimum_cut.hpp"

#include <algorithm>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <utility>

namespace deputy::host {

uint32_t MinimumCut::AnyOf(std::span<const uint32_t> others, Side side) {
  if (others.size() == 1) return others.front();
  const auto added = static_cast<uint32_t>(vertices_++);
  source_.push_back(0);
  sink_.push_back(0);
  for (const uint32_t other : others)
    arcs_.push_back(side == Side::kSink ? Arc{added, other, kInfinite} : Arc{other, added, kInfinite});
  return added;
}

void MinimumCut::PayForAny(int64_t cost, std::span<const uint32_t> others, Side side) {
  if (cost != 0 && !others.empty()) Pay(cost, AnyOf(others, side), side);
}

void MinimumCut::PayAcross(int64_t cost, uint32_t choice, std::span<const uint32_t> others, Side side) {
  if (cost == 0 || others.empty()) return;
  const uint32_t any = AnyOf(others, side);
  arcs_.push_back(side == Side::kSink ? Arc{choice, any, cost} : Arc{any, choice, cost});
}

std::vector<Side> MinimumCut::Solve() {
  const auto source = static_cast<uint32_t>(vertices_), sink = source + 1;
  // Only the difference between the two sides of a vertex matters: one arc, from or to a terminal.
  for (uint32_t vertex = 0; vertex < vertices_; ++vertex) {
    const int64_t net = source_[vertex] - sink_[vertex];
    if (net > 0) arcs_.push_back({vertex, sink, net});
    if (net < 0) arcs_.push_back({source, vertex, -net});
  }
  // Every arc and its reverse, sorted by origin.
  const size_t vertices = vertices_ + 2, edges = 2 * arcs_.size();
  std::vector<size_t> next(vertices + 1, 0);
  for (const Arc& arc : arcs_) ++next[arc.from + 1], ++next[arc.to + 1];
  for (size_t vertex = 0; vertex < vertices; ++vertex) next[vertex + 1] += next[vertex];
  std::vector<std::pair<uint32_t, uint32_t>> ends(edges);
  std::vector<int64_t> capacity(edges, 0);
  std::vector<uint32_t> reverse(edges);
  for (const Arc& arc : arcs_) {
    const size_t there = next[arc.from]++, back = next[arc.to]++;
    ends[there] = {arc.from, arc.to};
    ends[back] = {arc.to, arc.from};
    capacity[there] = arc.cost;
    reverse[there] = static_cast<uint32_t>(back);
    reverse[back] = static_cast<uint32_t>(there);
  }
  using Flow = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, boost::no_property,
                                                  boost::no_property, uint32_t, uint32_t>;
  using Edge = boost::graph_traits<Flow>::edge_descriptor;
  const Flow flow(boost::edges_are_sorted, ends.begin(), ends.end(), static_cast<uint32_t>(vertices));
  const auto edge_index = boost::get(boost::edge_index, flow);
  const auto vertex_index = boost::get(boost::vertex_index, flow);
  const auto reverse_of = boost::make_function_property_map<Edge>(
      [&](const Edge& edge) { return Edge(ends[get(edge_index, edge)].second, reverse[get(edge_index, edge)]); });
  std::vector<int64_t> residual(edges);
  std::vector<Edge> predecessor(vertices);
  std::vector<boost::default_color_type> color(vertices);
  std::vector<uint32_t> distance(vertices);
  boost::boykov_kolmogorov_max_flow(flow, boost::make_iterator_property_map(capacity.begin(), edge_index),
                                    boost::make_iterator_property_map(residual.begin(), edge_index), reverse_of,
                                    boost::make_iterator_property_map(predecessor.begin(), vertex_index),
                                    boost::make_iterator_property_map(color.begin(), vertex_index),
                                    boost::make_iterator_property_map(distance.begin(), vertex_index), vertex_index,
                                    source, sink);
  std::vector<Side> sides(choices_, Side::kSink);
  for (size_t choice = 0; choice < choices_; ++choice)
    if (color[choice] == boost::black_color) sides[choice] = Side::kSource;
  return sides;
}

}  // namespace deputy::host
