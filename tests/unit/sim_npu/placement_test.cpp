// What the simulated NPU says before anything is compiled, through its plugin's table: devices, operators, estimates.
#include <gtest/gtest.h>

#include <set>

#include "deputy/sdk/sdk.hpp"
#include "unit/sdk/fake_host.hpp"

extern "C" const deputy_plugin* deputy_plugin_query_v1(uint32_t host_abi, const void* reserved);

namespace {

const deputy_delegate* TheDelegate() {
  const deputy_plugin* plugin = deputy_plugin_query_v1(DEPUTY_ABI_VERSION, nullptr);
  return plugin->delegate_at(plugin, 0);
}

template <class Table>
const Table* Extension(const char* id) {
  return static_cast<const Table*>(TheDelegate()->get_extension(TheDelegate(), id));
}

struct Device {
  std::string name;
  deputy_device_kind kind;
  uint64_t memory_bytes, frequency_hz;
};

std::vector<Device> Devices() {
  fake::Host host;
  std::vector<Device> devices;
  const deputy_device_sink sink{
      sizeof sink, 0, &devices, [](void* self, const deputy_device_info* info) -> deputy_status* {
        static_cast<std::vector<Device>*>(self)->push_back(
            {std::string(deputy::sdk::ToView(info->name)), info->kind, info->memory_bytes, info->frequency_hz});
        return nullptr;
      }};
  const auto* extension = Extension<deputy_ext_devices>(DEPUTY_EXT_DEVICES);
  EXPECT_EQ(fake::StatusPtr(extension->enumerate(TheDelegate(), host.table(), &sink)), nullptr);
  return devices;
}

TEST(SimNpuDevices, AreTwo) {
  const std::vector<Device> devices = Devices();
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].kind, deputy_device_kind{DEPUTY_DEVICE_NPU});
  EXPECT_NE(devices[0].name, devices[1].name);
  EXPECT_LT(devices[0].memory_bytes, devices[1].memory_bytes);
}

TEST(SimNpuDevices, NumberThatThereIsNotCannotBeOpened) {
  fake::Host host;
  const fake::Opened opened(host, TheDelegate(), {}, "sim-2");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.failure()->code, DEPUTY_NOT_FOUND);
}

TEST(SimNpuDevices, ClockIsSetAtOpenAndRestoredOnClose) {
  const uint64_t rest = Devices()[1].frequency_hz;
  fake::Host host;
  {
    const fake::Opened opened(host, TheDelegate(), {{"frequency", "4"}}, "sim-1");
    EXPECT_EQ(Devices()[1].frequency_hz, 1'200'000'000u);
    EXPECT_EQ(Devices()[0].frequency_hz, rest);
  }
  EXPECT_EQ(Devices()[1].frequency_hz, rest);
}

TEST(SimNpuDevices, LastOfTwoInstancesRestoresTheClock) {
  const uint64_t rest = Devices()[0].frequency_hz;
  fake::Host host;
  {
    const fake::Opened outer(host, TheDelegate(), {{"frequency", "2"}});
    {
      const fake::Opened inner(host, TheDelegate(), {{"frequency", "4"}});
      EXPECT_EQ(Devices()[0].frequency_hz, 1'200'000'000u);
    }
    EXPECT_EQ(Devices()[0].frequency_hz, 600'000'000u);
  }
  EXPECT_EQ(Devices()[0].frequency_hz, rest);
}

// x [1,width] -> MatMul -> MatMul -> ..., each with weights of `width` squared.
struct Matrices : fake::Host {
  Matrices(int64_t width, size_t count) {
    const std::vector<float> weights(static_cast<size_t>(width * width), 0.5f);
    auto last = AddValue("x", {1, width});
    inputs = {last};
    for (size_t i = 0; i < count; ++i) {
      const auto constant = AddConstant("w" + std::to_string(i), weights, {width, width});
      const auto next = AddValue("v" + std::to_string(i), {1, width});
      AddNode({"MatMul", {last, constant}, {next}});
      last = next;
    }
    outputs = {last};
  }
};

TEST(SimNpuDevices, FailedCompileLeavesNothingBehind) {
  const uint64_t rest = Devices()[0].frequency_hz;
  Matrices host(1024, 1);
  {
    fake::Opened opened(host, TheDelegate(), {{"frequency", "4"}, {"memory", "1"}});
    deputy_executable* executable = nullptr;
    EXPECT_NE(opened.Compile({{0}, host.inputs, host.outputs, nullptr}, &executable), nullptr);
  }
  EXPECT_EQ(Devices()[0].frequency_hz, rest);
}

struct Answer {
  bool answered = false, feasible = false;
  std::string reason;
  uint64_t latency_ns = 0, memory_bytes = 0, energy_nj = 0;
  std::vector<deputy_node_id> give_back;
};

Answer Ask(Matrices& host, const std::vector<std::pair<std::string, std::string>>& options) {
  fake::Opened opened(host, TheDelegate(), options);
  Answer answer;
  const deputy_estimate_sink sink{sizeof sink, 0, &answer, [](void* self, const deputy_estimate* estimate) {
                                    *static_cast<Answer*>(self) = {
                                        true,
                                        estimate->feasible == 1,
                                        std::string(deputy::sdk::ToView(estimate->reason)),
                                        estimate->latency_ns,
                                        estimate->memory_bytes,
                                        estimate->energy_nj,
                                        {estimate->give_back, estimate->give_back + estimate->give_back_count}};
                                  }};
  std::vector<deputy_node_id> nodes;
  for (deputy_node_id node = 0; node < host.nodes.size(); ++node) nodes.push_back(node);
  deputy_partition partition{};
  partition.struct_size = sizeof partition;
  partition.graph = host.graph();
  partition.nodes = nodes.data();
  partition.node_count = static_cast<uint32_t>(nodes.size());
  partition.inputs = host.inputs.data();
  partition.outputs = host.outputs.data();
  partition.input_count = partition.output_count = 1;
  const auto* extension = Extension<deputy_ext_estimate>(DEPUTY_EXT_ESTIMATE);
  EXPECT_EQ(fake::StatusPtr(extension->estimate(opened.instance(), &partition, &sink)), nullptr);
  EXPECT_TRUE(answer.answered);
  return answer;
}

TEST(SimNpuEstimate, FollowsTheClock) {
  Matrices host(256, 2);
  const Answer low = Ask(host, {{"frequency", "1"}}), extreme = Ask(host, {{"frequency", "4"}});
  EXPECT_TRUE(low.feasible);
  EXPECT_NEAR(static_cast<double>(low.latency_ns), 4.0 * static_cast<double>(extreme.latency_ns), 4.0);
  EXPECT_GT(extreme.energy_nj, low.energy_nj);
  EXPECT_GE(low.memory_bytes, 2u * 256 * 256 * 2);
}

TEST(SimNpuEstimate, GivesBackTheLastNodesThatDoNotFit) {
  Matrices host(512, 4);  // half a MiB of weights each
  const Answer answer = Ask(host, {{"memory", "1"}});
  EXPECT_TRUE(answer.feasible);
  EXPECT_EQ(answer.give_back, (std::vector<deputy_node_id>{1, 2, 3}));
  EXPECT_NE(answer.reason.find("KiB of device memory of 1024"), std::string::npos) << answer.reason;
}

TEST(SimNpuEstimate, SaysNoToWhatCannotFitAtAll) {
  Matrices host(1024, 1);
  const Answer answer = Ask(host, {{"memory", "1"}});
  EXPECT_FALSE(answer.feasible);
}

std::vector<std::vector<deputy_node_id>> Groups(fake::Host& host) {
  fake::Opened opened(host, TheDelegate());
  std::vector<std::vector<deputy_node_id>> groups;
  const deputy_group_sink sink{sizeof sink, 0, &groups, [](void* self, const deputy_group* group) -> deputy_status* {
                                 static_cast<std::vector<std::vector<deputy_node_id>>*>(self)->emplace_back(
                                     group->nodes, group->nodes + group->node_count);
                                 return nullptr;
                               }};
  const auto* extension = Extension<deputy_ext_propose>(DEPUTY_EXT_PROPOSE);
  EXPECT_EQ(extension->propose, nullptr);
  EXPECT_EQ(fake::StatusPtr(extension->groups(opened.instance(), host.graph(), &sink)), nullptr);
  return groups;
}

TEST(SimNpuGroups, CopiesGoWithTheirReader) {
  fake::Host host;
  host.AddChain({"Relu", "Flatten", "Identity", "Exp"});
  for (fake::Value& value : host.values) value.dims = {1, 2};
  EXPECT_EQ(Groups(host), (std::vector<std::vector<deputy_node_id>>{{2, 1, 3}}));
}

TEST(SimNpuGroups, CopyThatIsReadTwiceIsFree) {
  fake::Host host;
  host.AddChain({"Flatten", "Relu"});
  for (fake::Value& value : host.values) value.dims = {1, 2};
  host.AddNode({"Tanh", {1}, {host.AddValue("y", {1, 2})}});
  EXPECT_TRUE(Groups(host).empty());
}

TEST(SimNpuCapabilities, NameEveryOperatorOnceForEachRank) {
  const auto* extension = Extension<deputy_ext_capabilities>(DEPUTY_EXT_CAPABILITIES);
  std::set<std::pair<std::string, uint32_t>> rows;
  for (uint32_t i = 0; i < extension->capability_count(TheDelegate()); ++i) {
    const deputy_capability& row = *extension->capability_at(TheDelegate(), i);
    EXPECT_TRUE(rows.emplace(std::string(deputy::sdk::ToView(row.op_type)), row.min_rank).second);
    EXPECT_EQ(row.min_rank, row.max_rank);
  }
  EXPECT_EQ(rows.count({"Conv", 4}), 1u);
  EXPECT_EQ(rows.count({"Conv", 2}), 0u);
  EXPECT_EQ(rows.count({"Relu", 2}), 1u);
}

TEST(SimNpuConcurrency, OnlyInstancesOverlap) {
  fake::Host host;
  fake::Opened opened(host, TheDelegate());
  uint32_t flags = 0;
  const auto* extension = Extension<deputy_ext_concurrency>(DEPUTY_EXT_CONCURRENCY);
  ASSERT_EQ(fake::StatusPtr(extension->concurrency(opened.instance(), &flags)), nullptr);
  EXPECT_EQ(flags, uint32_t{DEPUTY_CONCURRENT_INSTANCES});
}

}  // namespace
