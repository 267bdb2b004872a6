#include "runtime/kept_costs.hpp"

#include <string>
#include <utility>

#include "base/log.hpp"

namespace deputy::host {
namespace {

Digest KeyOf(const Digest& identity, const Engine& engine) {
  return Digester().AddText("deputy costs").Add(identity).AddNumber(engine.pool->thread_count()).Finish();
}

CostTable Find(const Digest& key, const Engine& engine) {
  const std::optional<StoredEntry> entry = engine.store->Find(EntryKind::kCosts, key);
  if (!entry) return {};
  Result<CostTable> table = CostTable::Parse({reinterpret_cast<const char*>(entry->bytes.data()), entry->bytes.size()});
  if (table.ok()) return std::move(table).value();
  Log(LogLevel::kInfo, "the measured costs of '{}' in the cache are not used: {}", entry->text,
      table.status().message());
  return {};
}

}  // namespace

std::shared_ptr<const CostTable> RestoreCosts(const Engine& engine) {
  auto table = std::make_shared<CostTable>();
  if (engine.store == nullptr) return table;
  for (const HostedDelegate& hosted : engine.delegates)
    if (hosted.identity) table->Add(Find(KeyOf(*hosted.identity, engine), engine));
  return table;
}

void KeepCosts(const CostTable& measured, const Engine& engine) {
  if (engine.store == nullptr) return;
  for (const HostedDelegate& hosted : engine.delegates) {
    if (!hosted.identity) continue;
    const std::string name = CostKeyOf(*hosted);
    CostTable costs = measured.Of(name);
    if (costs.empty()) continue;
    const Digest key = KeyOf(*hosted.identity, engine);
    costs.Add(Find(key, engine));
    const std::string text = costs.ToText();
    engine.store->Save(EntryKind::kCosts, key, name.substr(0, 200),
                       {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }
}

}  // namespace deputy::host
