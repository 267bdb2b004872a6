#include "measure/decision.hpp"

#include <algorithm>
#include <cstring>

namespace deputy::host {
namespace {

constexpr double kDisturbanceUnits = 1000;

// Little-endian numbers of 32 bits, and texts with their length before them.
class Writer {
 public:
  void Number(size_t number) {
    const auto value = static_cast<uint32_t>(number);
    const auto* const bytes = reinterpret_cast<const uint8_t*>(&value);
    out_.insert(out_.end(), bytes, bytes + sizeof value);
  }
  void Text(const std::string& text) {
    Number(text.size());
    out_.insert(out_.end(), text.begin(), text.end());
  }
  std::vector<uint8_t> Take() { return std::move(out_); }

 private:
  std::vector<uint8_t> out_;
};

// After the end of the bytes every number is 0 and ok() false.
class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : rest_(bytes) {}
  uint32_t Number() {
    uint32_t value = 0;
    if (!Has(sizeof value)) return 0;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_ = rest_.subspan(sizeof value);
    return value;
  }
  std::string Text() {
    const size_t size = Number();
    if (!Has(size)) return {};
    std::string text(reinterpret_cast<const char*>(rest_.data()), size);
    rest_ = rest_.subspan(size);
    return text;
  }
  size_t left() const { return rest_.size(); }
  bool ok() const { return ok_; }

 private:
  bool Has(size_t bytes) {
    ok_ = ok_ && bytes <= rest_.size();
    return ok_;
  }
  std::span<const uint8_t> rest_;
  bool ok_ = true;
};

}  // namespace

PlacementDecision MoreCertain(const std::optional<PlacementDecision>& before, PlacementDecision found) {
  if (!before || found.unsure_searches == 0) return found;
  if (before->unsure_searches == 0) return *before;
  const uint32_t searches = before->unsure_searches + found.unsure_searches;
  if (before->disturbance < found.disturbance) found = *before;
  found.unsure_searches = searches;
  return found;
}

void Apply(const PlacementDecision& decision, const Graph& graph, PlacementOptions& options) {
  for (const SlowerNodes& slower : decision.slower)
    ForEachNode(graph, [&](const Graph& where, NodeId id, uint32_t number) {
      if (std::binary_search(slower.nodes.begin(), slower.nodes.end(), number))
        options.refused[{&where, slower.delegate, id}] = {Reason::kSlower, slower.text};
    });
}

std::vector<uint8_t> BytesOf(const PlacementDecision& decision) {
  Writer writer;
  writer.Text(decision.summary);
  writer.Number(decision.unsure_searches);
  writer.Number(static_cast<size_t>(decision.disturbance * kDisturbanceUnits));
  writer.Number(decision.slower.size());
  for (const SlowerNodes& slower : decision.slower) {
    writer.Number(slower.delegate);
    writer.Text(slower.text);
    writer.Number(slower.nodes.size());
    for (const uint32_t node : slower.nodes) writer.Number(node);
  }
  return writer.Take();
}

std::optional<PlacementDecision> ParseDecision(std::span<const uint8_t> bytes, size_t delegates, uint32_t nodes) {
  Reader reader(bytes);
  PlacementDecision decision;
  decision.summary = reader.Text();
  decision.unsure_searches = reader.Number();
  decision.disturbance = reader.Number() / kDisturbanceUnits;
  const uint32_t groups = reader.Number();
  for (uint32_t i = 0; i < groups && reader.ok(); ++i) {
    SlowerNodes slower;
    slower.delegate = reader.Number();
    slower.text = reader.Text();
    const uint32_t count = reader.Number();
    if (slower.delegate + 1 >= delegates || count > reader.left() / sizeof(uint32_t)) return std::nullopt;
    for (uint32_t n = 0; n < count; ++n) slower.nodes.push_back(reader.Number());
    if (!std::is_sorted(slower.nodes.begin(), slower.nodes.end()) || slower.nodes.empty() ||
        slower.nodes.back() >= nodes)
      return std::nullopt;
    decision.slower.push_back(std::move(slower));
  }
  if (!reader.ok() || reader.left() != 0) return std::nullopt;
  return decision;
}

}  // namespace deputy::host
