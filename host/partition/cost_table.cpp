#include "partition/cost_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "base/printable.hpp"
#include "graph/graph.hpp"

namespace deputy::host {
namespace {

constexpr std::string_view kHeader = "deputy costs 1\n";
// Stored like an operator; its bytes are those of the value.
constexpr std::string_view kTransfer = "(transfer)";
constexpr size_t kMostEntries = 1'000'000;

uint32_t SizeClass(uint64_t work) { return static_cast<uint32_t>(std::bit_width(std::max<uint64_t>(work, 1))) - 1; }

std::string_view NameOf(WorkUnit unit) { return unit == WorkUnit::kMultiplyAdds ? "multiply-adds" : "bytes"; }

bool IsName(std::string_view text) {
  return !text.empty() &&
         std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; });
}

template <class T>
bool ParseNumber(std::string_view text, T& number) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

std::optional<DType> ParseDType(std::string_view name) {
  for (uint32_t i = 0; i < 32; ++i)
    if (NameOf(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  return std::nullopt;
}

std::vector<std::string_view> Split(std::string_view line, char separator) {
  std::vector<std::string_view> fields;
  for (size_t begin = 0;;) {
    const size_t end = line.find(separator, begin);
    fields.push_back(line.substr(begin, end - begin));
    if (end == std::string_view::npos) return fields;
    begin = end + 1;
  }
}

}  // namespace

uint64_t BytesOf(const ValueType& type) {
  if (!type.is_tensor()) return 0;
  Shape shape = type.ranked ? type.dims : Shape();
  for (int64_t& dim : shape) dim = dim < 0 ? 1 : dim;
  const Result<size_t> bytes = ByteSize(type.dtype, shape);
  return bytes.ok() ? *bytes : 0;
}

uint64_t BytesOf(const Graph& graph, const Node& node) {
  uint64_t bytes = 0;
  node.ForEachRead([&](ValueId id) { bytes += BytesOf(graph.values[id].type); });
  for (const ValueId id : node.outputs)
    if (id != kNone) bytes += BytesOf(graph.values[id].type);
  return bytes;
}

Work WorkOf(const Graph& graph, const Node& node) {
  if (const uint64_t products = MultiplyAdds(graph, node)) return {WorkUnit::kMultiplyAdds, products};
  return {WorkUnit::kBytes, std::max<uint64_t>(1, BytesOf(graph, node))};
}

std::string OperatorOf(const Node& node) {
  const std::string_view domain = node.primitive.domain(), type = node.primitive.op_type();
  std::string name = domain.empty() ? "" : std::string(domain) + ".";
  name += type;
  return Printable(name);
}

DType MainTypeOf(const Graph& graph, const Node& node) {
  for (const std::vector<ValueId>* list : {&node.inputs, &node.outputs})
    for (const ValueId id : *list)
      if (id != kNone && graph.values[id].type.is_tensor()) return graph.values[id].type.dtype;
  return DType::kUndefined;
}

std::string CostKeyOf(const Delegate& delegate) {
  std::string key = delegate.id();
  std::vector<std::pair<std::string, std::string>> options = delegate.options();
  std::sort(options.begin(), options.end());
  for (const auto& [name, value] : options) key += " " + name + "=" + value;
  return Printable(key);
}

void CostTable::Add(std::string_view delegate, std::string_view op, DType dtype, Work work, double ns) {
  if (!IsName(delegate) || !IsName(op) || !std::isfinite(ns) || ns < 0) return;
  const uint64_t amount = std::max<uint64_t>(work.amount, 1);
  AddCell({std::string(delegate), std::string(op), dtype, work.unit, SizeClass(amount)},
          {1, static_cast<double>(amount), ns});
}

void CostTable::AddTransfer(std::string_view delegate, uint64_t bytes, double ns) {
  Add(delegate, kTransfer, DType::kUint8, {WorkUnit::kBytes, bytes}, ns);
}

void CostTable::Add(const CostTable& more) {
  for (const auto& [key, cell] : more.cells_) AddCell(key, cell);
}

CostTable CostTable::Of(std::string_view delegate) const {
  CostTable table;
  for (auto it = cells_.lower_bound({std::string(delegate), "", DType::kUndefined, WorkUnit::kMultiplyAdds, 0});
       it != cells_.end() && std::get<0>(it->first) == delegate; ++it)
    table.cells_.insert(table.cells_.end(), *it);
  return table;
}

void CostTable::AddCell(const Key& key, const Cell& cell) {
  Cell& sum = cells_[key];
  sum.count += cell.count;
  sum.work += cell.work;
  sum.ns += cell.ns;
}

std::optional<double> CostTable::Find(std::string_view delegate, std::string_view op, DType dtype, Work work) const {
  const uint32_t size = SizeClass(work.amount);
  const auto above = cells_.lower_bound({std::string(delegate), std::string(op), dtype, work.unit, size});
  const auto is_same = [&](const auto& it) {
    const auto& [its_delegate, its_op, its_dtype, its_unit, its_size] = it->first;
    return its_delegate == delegate && its_op == op && its_dtype == dtype && its_unit == work.unit;
  };
  const auto distance = [&](const auto& it) {
    const uint32_t its = std::get<4>(it->first);
    return its > size ? its - size : size - its;
  };
  auto nearest = cells_.end();
  if (above != cells_.end() && is_same(above)) nearest = above;
  if (above != cells_.begin() && is_same(std::prev(above)))
    if (nearest == cells_.end() || distance(std::prev(above)) < distance(nearest)) nearest = std::prev(above);
  if (nearest == cells_.end()) return std::nullopt;
  return nearest->second.ns / nearest->second.work * static_cast<double>(std::max<uint64_t>(work.amount, 1));
}

std::optional<double> CostTable::RateOf(std::string_view delegate, WorkUnit unit) const {
  Cell sum;
  for (auto it = cells_.lower_bound({std::string(delegate), "", DType::kUndefined, WorkUnit::kMultiplyAdds, 0});
       it != cells_.end() && std::get<0>(it->first) == delegate; ++it) {
    if (std::get<1>(it->first) == kTransfer || std::get<3>(it->first) != unit) continue;
    sum.work += it->second.work;
    sum.ns += it->second.ns;
  }
  if (sum.work == 0) return std::nullopt;
  return sum.ns / sum.work;
}

std::optional<double> CostTable::FindTransfer(std::string_view delegate, uint64_t bytes) const {
  return Find(delegate, kTransfer, DType::kUint8, {WorkUnit::kBytes, bytes});
}

std::string CostTable::ToText() const {
  std::string text(kHeader);
  for (const auto& [key, cell] : cells_) {
    const auto& [delegate, op, dtype, unit, size] = key;
    text += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", delegate, op, NameOf(dtype), NameOf(unit), size, cell.count,
                        cell.work, cell.ns);
  }
  return text;
}

Result<CostTable> CostTable::Parse(std::string_view text) {
  if (!text.starts_with(kHeader))
    return Error(StatusCode::kIncompatible, "a table of costs must begin with '{}'",
                 kHeader.substr(0, kHeader.size() - 1));
  if (text.back() != '\n') return Error(StatusCode::kModel, "a table of costs is truncated");
  const std::vector<std::string_view> lines = Split(text.substr(0, text.size() - 1), '\n');
  if (lines.size() > kMostEntries)
    return Error(StatusCode::kResourceExhausted, "a table of costs has {} entries, expected at most {}", lines.size(),
                 kMostEntries);
  CostTable table;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string_view> fields = Split(lines[i], '\t');
    const auto damaged = [&](std::string_view what) {
      return Error(StatusCode::kModel, "line {} of a table of costs: {}", i + 1, what);
    };
    if (fields.size() != 8) return damaged("expected 8 fields");
    if (!IsName(fields[0]) || !IsName(fields[1])) return damaged("a name is empty or has control characters");
    const std::optional<DType> dtype = ParseDType(fields[2]);
    if (!dtype) return damaged("the element type is unknown");
    if (fields[3] != NameOf(WorkUnit::kBytes) && fields[3] != NameOf(WorkUnit::kMultiplyAdds))
      return damaged("the unit of work is unknown");
    const WorkUnit unit = fields[3] == NameOf(WorkUnit::kBytes) ? WorkUnit::kBytes : WorkUnit::kMultiplyAdds;
    uint32_t size = 0;
    Cell cell;
    if (!ParseNumber(fields[4], size) || !ParseNumber(fields[5], cell.count) || !ParseNumber(fields[6], cell.work) ||
        !ParseNumber(fields[7], cell.ns))
      return damaged("a number is invalid");
    // The average must be of the size class.
    const double average = cell.work / static_cast<double>(cell.count);
    if (size > 63 || cell.count == 0 || !(average >= std::ldexp(1.0, static_cast<int>(size))) ||
        !(average <= std::ldexp(2.0, static_cast<int>(size))) || !std::isfinite(cell.ns) || cell.ns < 0)
      return damaged("a number is out of range");
    const Key key{std::string(fields[0]), std::string(fields[1]), *dtype, unit, size};
    if (!table.cells_.empty() && !(table.cells_.rbegin()->first < key)) return damaged("the entries are not in order");
    table.AddCell(key, cell);
  }
  return table;
}

}  // namespace deputy::host
