// The able actor as the host opens it, behind the checked proxy, with a partition that tests compile and restore.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "unit/plugin/able_actor.hpp"
#include "unit/plugin/support.hpp"

namespace deputy::host::testing {

class AbleDelegate : public ::testing::Test {
 protected:
  Delegate& Open(bool compile_only = false) {
    if (delegate_ != nullptr) return *delegate_;
    EXPECT_TRUE(registry_.AddInProcess(&actor_.plugin, nullptr).ok());
    OpenRequest request{"able", "stage", "d2", {}, nullptr};
    request.compile_only = compile_only;
    Result<std::unique_ptr<Delegate>> opened = registry_.Open(request);
    EXPECT_TRUE(opened.ok()) << opened.status().ToString();
    delegate_ = std::move(opened).value();
    return *delegate_;
  }
  std::shared_ptr<const Executable> Compiled() { return *Open().Compile(view_, kFirst); }
  std::unique_ptr<ExecutionContext> Context() { return *Compiled()->CreateContext(); }
  Result<std::shared_ptr<const Executable>> Restored() {
    const auto bytes = std::make_shared<std::vector<uint8_t>>(64, uint8_t{7});
    return Open().blobs()->Restore(view_, kFirst, Blob{*bytes, bytes});
  }

  LogKeeper log_;
  AbleActor actor_;
  const Graph graph_ = ReluSigmoid();
  const GraphView view_ = OfferAll(graph_);
  const PartitionSpec kFirst{{0}, {0}, {1}, nullptr, "stage.0"};
  PluginRegistry registry_;
  std::unique_ptr<Delegate> delegate_;
};

}  // namespace deputy::host::testing
