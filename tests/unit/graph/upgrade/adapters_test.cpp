#include "graph/upgrade/adapters.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>

namespace deputy::host {
namespace {

constexpr int32_t kNewestOpset = 21;

// Upsample ends where Resize begins.
bool IsRenamed(const Adapter& adapter) { return adapter.kind == OpKind::kUpsample && adapter.since_version == 10; }

TEST(Adapters, EveryChangedDefinitionHasADecision) {
  for (const OperatorInfo& info : AllOperators()) {
    const OpKind kind = FindOperator(info.domain, info.name);
    for (const OperatorDefinition& definition : info.definitions.subspan(1)) {
      if (!definition.changed || definition.since_version > kNewestOpset) continue;
      const Adapter* adapter = NextAdapter(kind, definition.since_version - 1);
      EXPECT_TRUE(adapter != nullptr && adapter->since_version == definition.since_version)
          << "nobody has decided what becomes of nodes older than " << info.name << " version "
          << definition.since_version;
    }
  }
}

TEST(Adapters, EachBelongsToADefinitionOfTheList) {
  for (const Adapter& adapter : AllAdapters()) {
    if (IsRenamed(adapter)) continue;
    const OperatorInfo& info = *InfoOf(adapter.kind);
    EXPECT_TRUE(std::any_of(info.definitions.begin(), info.definitions.end(),
                            [&](const OperatorDefinition& it) { return it.since_version == adapter.since_version; }))
        << info.name << " version " << adapter.since_version << " does not exist";
  }
}

TEST(Adapters, EachHasARuleOrAReason) {
  for (const Adapter& adapter : AllAdapters())
    EXPECT_NE(adapter.rule == nullptr, adapter.because.empty())
        << InfoOf(adapter.kind)->name << " version " << adapter.since_version;
}

TEST(Adapters, StandInTheOrderOfOperatorsAndVersions) {
  const std::span<const Adapter> all = AllAdapters();
  for (size_t i = 1; i < all.size(); ++i)
    EXPECT_LT(std::pair(all[i - 1].kind, all[i - 1].since_version), std::pair(all[i].kind, all[i].since_version));
}

TEST(Adapters, NewestNodesNeedNone) {
  for (const OperatorInfo& info : AllOperators()) {
    const OpKind kind = FindOperator(info.domain, info.name);
    if (kind == OpKind::kUpsample) continue;
    EXPECT_EQ(NextAdapter(kind, info.newest()), nullptr) << info.name;
  }
  EXPECT_EQ(NextAdapter(OpKind::kOther, 0), nullptr);
}

}  // namespace
}  // namespace deputy::host
