// The extensions that act before compile, from a class of the C++ layer through its tables and the host's proxy, with
// the host's own partitioning behind it.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <map>
#include <numeric>
#include <thread>

#include "base/file.hpp"
#include "deputy/sdk/sdk.hpp"
#include "partition/helpers.hpp"
#include "partition/placer.hpp"
#include "plugin/discovery/registry.hpp"
#include "support/borrowed_delegate.hpp"
#include "support/resident_memory.hpp"
#include "support/temp_folder.hpp"
#include "support/test_delegate.hpp"
#include "unit/plugin/support.hpp"

namespace deputy::host {
namespace {

using testing::LogKeeper;

// Counts how many runs are inside at once, by what they have in common.
struct Meter {
  std::mutex mutex;
  std::map<const void*, int> inside;  // by executable
  bool contexts_met = false, executables_met = false;

  void Enter(const void* executable) {
    const std::lock_guard lock(mutex);
    for (const auto& [other, count] : inside) {
      if (count == 0) continue;
      (other == executable ? contexts_met : executables_met) = true;
    }
    ++inside[executable];
  }
  void Leave(const void* executable) {
    const std::lock_guard lock(mutex);
    --inside[executable];
  }
};

class MeteredExecutable final : public sdk::Executable {
 public:
  explicit MeteredExecutable(Meter& meter) : meter_(meter) {}
  sdk::Result<std::unique_ptr<sdk::ExecutionContext>> CreateContext() override;

  Meter& meter_;
};

class MeteredContext final : public sdk::ExecutionContext {
 public:
  explicit MeteredContext(MeteredExecutable& executable) : executable_(executable) {}
  sdk::Status Execute(const sdk::RunArgs&) override {
    executable_.meter_.Enter(&executable_);
    for (int i = 0; i < 50; ++i) std::this_thread::yield();
    executable_.meter_.Leave(&executable_);
    return {};
  }

 private:
  MeteredExecutable& executable_;
};

sdk::Result<std::unique_ptr<sdk::ExecutionContext>> MeteredExecutable::CreateContext() {
  return std::unique_ptr<sdk::ExecutionContext>(std::make_unique<MeteredContext>(*this));
}

// Supports everything; the rest is what the test sets.
class Stage final : public sdk::PartitionDelegate {
 public:
  static std::vector<sdk::Capability> Capabilities() {
    return {{"Relu", {sdk::DType::kFloat32}, 6, 14}, {"Sigmoid", {}, 0, 0, 1, 4, "slowly"}};
  }
  static sdk::Result<std::vector<sdk::DeviceDescription>> Devices(const sdk::Host&) {
    return std::vector<sdk::DeviceDescription>{{"l", "left", sdk::DeviceKind::kDsp},
                                               {"r", "right", sdk::DeviceKind::kNpu, 4096}};
  }
  sdk::Verdict Supports(const sdk::NodeView&) override { return sdk::Verdict::Yes(); }
  sdk::Status Groups(const sdk::GraphView& graph, const sdk::GroupSink& sink) override {
    return groups ? groups(graph, sink) : sdk::Status();
  }
  sdk::Result<sdk::PartitionEstimate> Estimate(const sdk::PartitionView& partition) override {
    return estimate ? estimate(partition) : sdk::PartitionEstimate();
  }
  sdk::Concurrency concurrency() const override { return may; }
  sdk::Result<std::unique_ptr<sdk::Executable>> Compile(const sdk::PartitionView&) override {
    return std::unique_ptr<sdk::Executable>(std::make_unique<MeteredExecutable>(meter));
  }

  std::function<sdk::Status(const sdk::GraphView&, const sdk::GroupSink&)> groups;
  std::function<sdk::PartitionEstimate(const sdk::PartitionView&)> estimate;
  sdk::Concurrency may;
  Meter meter;
};

class PlacementExtensions : public ::testing::Test {
 protected:
  PlacementExtensions() {
    rest_.dynamic_shapes = true;
    const sdk::InProcessPlugin made = sdk::MakeInProcessPlugin(stage_, "stage");
    EXPECT_TRUE(registry_.AddInProcess(made.plugin, made.keep).ok());
  }
  std::unique_ptr<Delegate> Open(const std::string& name = "stage") {
    OpenRequest request;
    request.delegate = "stage";
    request.name = name;
    request.helpers = &DefaultPartitionHelpers();
    Result<std::unique_ptr<Delegate>> opened = registry_.Open(request);
    EXPECT_TRUE(opened.ok()) << opened.status().ToString();
    return std::move(opened).value();
  }
  Placement Placed(Delegate& delegate) {
    const HostedDelegate delegates[] = {Borrowed(delegate), Borrowed(rest_)};
    SupportMatrix support;
    Result<Placement> placed = Place(graph_, delegates, {}, support, /*may_overlap=*/true);
    EXPECT_TRUE(placed.ok()) << placed.status().ToString();
    return placed.ok() ? std::move(placed).value() : Placement();
  }

  const std::shared_ptr<Stage> stage_ = std::make_shared<Stage>();
  PluginRegistry registry_;
  Graph graph_ = TestGraph({{"relu0", "Relu"}, {"relu1", "Relu"}, {"relu2", "Relu"}, {"relu3", "Relu"}}).graph;
  TestDelegate rest_{"rest", {"*"}, /*one_node=*/true};
};

TEST_F(PlacementExtensions, OperatorsAndDevicesAreDescribed) {
  const Result<DelegateDescription> description = registry_.Describe("stage");
  ASSERT_TRUE(description.ok());
  ASSERT_EQ(description->capabilities.size(), 2u);
  EXPECT_EQ(description->capabilities[0].op_type, "Relu");
  EXPECT_EQ(description->capabilities[0].dtypes, std::vector<int32_t>{DEPUTY_DTYPE_FLOAT32});
  EXPECT_EQ(description->capabilities[1].max_rank, 4u);
  EXPECT_EQ(description->capabilities[1].note, "slowly");
  EXPECT_TRUE(description->enumerates);
  ASSERT_EQ(description->devices.size(), 2u);
  EXPECT_EQ(description->devices[1].name, "right");
  EXPECT_EQ(description->devices[1].memory_bytes, 4096u);
}

TEST_F(PlacementExtensions, EstimateIsAskedAndKept) {
  stage_->estimate = [](const sdk::PartitionView& partition) {
    sdk::PartitionEstimate estimate;
    estimate.memory_bytes = partition.nodes().size();
    return estimate;
  };
  const auto delegate = Open();
  const Placement placed = Placed(*delegate);
  ASSERT_EQ(placed.partitions.size(), 1u);
  ASSERT_TRUE(placed.partitions[0].estimate);
  EXPECT_EQ(placed.partitions[0].estimate->memory_bytes, 4u);
  EXPECT_FALSE(placed.partitions[0].estimate->latency_ns);
}

TEST_F(PlacementExtensions, NodesGivenBackGoOn) {
  stage_->estimate = [](const sdk::PartitionView& partition) {
    sdk::PartitionEstimate estimate;
    if (partition.nodes().size() == 4) estimate.give_back = {partition.nodes().back().id()};
    estimate.reason = "full";
    return estimate;
  };
  const auto delegate = Open();
  const Placement placed = Placed(*delegate);
  EXPECT_EQ(placed.delegate_of(2), 0u);
  EXPECT_EQ(placed.delegate_of(3), 1u);
  EXPECT_EQ(placed.verdicts[0][3].reason, Reason::kInfeasible);
  EXPECT_EQ(placed.verdicts[0][3].detail, "full");
}

TEST_F(PlacementExtensions, EstimateThatThrowsCostsNothingButItself) {
  LogKeeper log;
  stage_->estimate = [](const sdk::PartitionView&) -> sdk::PartitionEstimate { throw std::runtime_error("no idea"); };
  const auto delegate = Open();
  EXPECT_EQ(Placed(*delegate).partitions.size(), 1u);
  EXPECT_NE(log.text().find("estimate: no idea"), std::string::npos) << log.text();
}

TEST_F(PlacementExtensions, GroupIsHandedOnWhole) {
  stage_->groups = [](const sdk::GraphView&, const sdk::GroupSink& sink) {
    sink.Add({1, 2});
    return sdk::Status();
  };
  stage_->estimate = [](const sdk::PartitionView& partition) {
    sdk::PartitionEstimate estimate;
    if (partition.nodes().size() == 4) estimate.give_back = {1};
    return estimate;
  };
  const auto delegate = Open();
  const Placement placed = Placed(*delegate);
  EXPECT_EQ(placed.delegate_of(0), 0u);
  EXPECT_EQ(placed.delegate_of(1), 1u);
  EXPECT_EQ(placed.delegate_of(2), 1u);
  EXPECT_EQ(placed.verdicts[0][2].reason, Reason::kGroupIncomplete);
}

TEST_F(PlacementExtensions, GroupThatCannotBeMeantFailsTheCallAlone) {
  LogKeeper log;
  stage_->groups = [](const sdk::GraphView&, const sdk::GroupSink& sink) {
    EXPECT_FALSE(sink.Add({1, 77}));
    return sdk::Status();
  };
  const auto delegate = Open();
  EXPECT_EQ(Placed(*delegate).partitions.size(), 1u);
  EXPECT_NE(log.text().find("a group names node 77, which does not exist"), std::string::npos) << log.text();
}

TEST_F(PlacementExtensions, HelpersClusterForThePlugin) {
  std::vector<std::vector<deputy_node_id>> clusters;
  stage_->groups = [&](const sdk::GraphView& graph, const sdk::GroupSink&) {
    const sdk::PartitionHelpers helpers(graph);
    EXPECT_TRUE(helpers.available());
    clusters = helpers.Cluster([](const sdk::NodeView& node) { return node.id() == 1 ? 0 : 1; });
    return sdk::Status();
  };
  const auto delegate = Open();
  Placed(*delegate);
  EXPECT_EQ(clusters, (std::vector<std::vector<deputy_node_id>>{{0}, {2, 3}}));
}

TEST_F(PlacementExtensions, HelpersRefuseANodeThatIsNotOnOffer) {
  stage_->groups = [](const sdk::GraphView& graph, const sdk::GroupSink&) {
    EXPECT_TRUE(sdk::PartitionHelpers(graph).Cluster([](const sdk::NodeView&) { return 1; }).empty());
    return sdk::Status();
  };
  const auto delegate = Open();
  GraphView view = OfferAll(graph_);
  view.offered[2] = 0;
  const auto groups = delegate->grouper()->Groups(view);
  ASSERT_FALSE(groups.ok());
  EXPECT_NE(groups.status().message().find("was not offered"), std::string::npos) << groups.status().ToString();
}

TEST_F(PlacementExtensions, HelpersFindNamedDataAndReleaseConstants) {
  graph_.metadata.emplace_back("com.example.table", std::string("a\0b", 3));
  Result<Tensor> tensor = Tensor::Allocate(DType::kFloat32, {4096});
  ASSERT_TRUE(tensor.ok());
  float* elements = static_cast<float*>(tensor->mutable_data());
  for (int i = 0; i < 4096; ++i) elements[i] = static_cast<float>(i);
  const ValueId constant = graph_.AddConstant("weights", std::move(tensor).value());
  std::string found, missing = "?";
  stage_->groups = [&](const sdk::GraphView& graph, const sdk::GroupSink&) {
    const sdk::PartitionHelpers helpers(graph);
    const auto data = helpers.NamedData("com.example.table");
    found.assign(data.begin(), data.end());
    missing = helpers.NamedData("com.example.other").data() == nullptr ? "" : "there";
    helpers.Release(graph.Value(constant));
    return sdk::Status();
  };
  const auto delegate = Open();
  ASSERT_TRUE(delegate->grouper()->Groups(OfferAll(graph_)).ok());
  EXPECT_EQ(found, std::string("a\0b", 3));
  EXPECT_EQ(missing, "");
  for (int i = 0; i < 4096; ++i) ASSERT_EQ(elements[i], static_cast<float>(i));
}

TEST_F(PlacementExtensions, ReleasedConstantsOfAFileLeaveTheMemory) {
  const TempFolder folder;
  std::ofstream(folder.path() / "weights") << std::string(4 * 65536, 'x');
  const auto file = MappedFile::Open(folder.path() / "weights");
  ASSERT_TRUE(file.ok());
  const std::span<const uint8_t> bytes = (*file)->bytes();
  const auto sum = [&] { return std::accumulate(bytes.begin(), bytes.end(), uint64_t{0}); };
  ASSERT_EQ(sum(), bytes.size() * 'x');
  ASSERT_NE(ResidentBytes(bytes), 0u);
  const ValueId constant = graph_.AddConstant(
      "weights", *Tensor::Wrap(DType::kFloat32, {65536}, const_cast<uint8_t*>(bytes.data()), bytes.size()));
  graph_.mapped.push_back({bytes, *file});
  stage_->groups = [&](const sdk::GraphView& graph, const sdk::GroupSink&) {
    sdk::PartitionHelpers(graph).Release(graph.Value(constant));
    return sdk::Status();
  };
  ASSERT_TRUE(Open()->grouper()->Groups(OfferAll(graph_)).ok());
  EXPECT_EQ(ResidentBytes(bytes), 0u);
  EXPECT_EQ(sum(), bytes.size() * 'x');
}

TEST_F(PlacementExtensions, ReleaseOfAValueThatChangesIsRefused) {
  stage_->groups = [](const sdk::GraphView& graph, const sdk::GroupSink&) {
    sdk::PartitionHelpers(graph).Release(graph.Value(0));
    return sdk::Status();
  };
  const auto delegate = Open();
  EXPECT_EQ(delegate->grouper()->Groups(OfferAll(graph_)).status().code(), StatusCode::kInvalidArgument);
}

struct Allowed {
  const char* name;
  bool contexts, executables;
};
void PrintTo(const Allowed& allowed, std::ostream* out) { *out << allowed.name; }

class ConcurrencyExtension : public PlacementExtensions, public ::testing::WithParamInterface<Allowed> {};

TEST_P(ConcurrencyExtension, WhatMayNotOverlapDoesNot) {
  stage_->may = {GetParam().contexts, GetParam().executables, true};
  const auto delegate = Open();
  const GraphView view = OfferAll(graph_);
  std::vector<std::unique_ptr<ExecutionContext>> contexts;
  for (NodeId node = 0; node < 2; ++node) {
    PartitionSpec partition;
    partition.nodes = {node};
    partition.inputs = graph_.nodes[node].inputs;
    partition.outputs = graph_.nodes[node].outputs;
    const auto executable = delegate->Compile(view, partition);
    ASSERT_TRUE(executable.ok()) << executable.status().ToString();
    for (int i = 0; i < 2; ++i) contexts.push_back(std::move((*executable)->CreateContext()).value());
  }
  std::vector<std::thread> threads;
  for (const auto& context : contexts)
    threads.emplace_back([own = context.get()] {
      const int64_t none = 0;
      deputy_tensor tensor{};
      tensor.struct_size = sizeof tensor;
      tensor.rank = 1;
      tensor.dims = &none;
      const deputy_tensor* inputs[] = {&tensor};
      deputy_tensor* outputs[] = {&tensor};
      for (int run = 0; run < 100; ++run) {
        RunArgs args;
        args.inputs = inputs;
        args.outputs = outputs;
        EXPECT_TRUE(own->Execute(args).ok());
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(GetParam().contexts || !stage_->meter.contexts_met);
  EXPECT_TRUE(GetParam().executables || !stage_->meter.executables_met);
}

INSTANTIATE_TEST_SUITE_P(Rules, ConcurrencyExtension,
                         ::testing::Values(Allowed{"nothing", false, false}, Allowed{"contexts", true, false},
                                           Allowed{"executables", false, true}),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace deputy::host
