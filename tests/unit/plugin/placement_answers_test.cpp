// What a plugin answers before compile, looked at by the collectors: groups, estimates, operators, devices.
#include "plugin/proxy/placement_answers.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "plugin/checks/handles.hpp"
#include "plugin/discovery/description.hpp"
#include "plugin/discovery/table_check.hpp"
#include "plugin/proxy/host_services.hpp"
#include "plugin/proxy/placement_answers.hpp"
#include "unit/plugin/support.hpp"

namespace deputy::host {
namespace {

using testing::ReluSigmoid;

deputy_str AbiStr(const char* text) { return {text, std::string_view(text).size()}; }

class Estimates : public ::testing::Test {
 protected:
  Estimates() {
    raw_.struct_size = sizeof raw_;
    raw_.feasible = 1;
    raw_.latency_ns = raw_.memory_bytes = raw_.energy_nj = DEPUTY_AMOUNT_UNKNOWN;
  }
  void Answer() { collector_.sink()->answer(collector_.sink()->self, &raw_); }
  std::string Fault() {
    Answer();
    return collector_.faults().empty() ? "" : collector_.faults().front();
  }

  const Graph graph_ = ReluSigmoid();
  const std::vector<NodeId> nodes_{0, 1};
  EstimateCollector collector_{graph_, nodes_};
  deputy_estimate raw_{};
};

TEST_F(Estimates, AmountsAreTakenAndUnknownOnesAreNot) {
  raw_.latency_ns = 1500;
  raw_.reason = AbiStr("why not");
  EXPECT_EQ(Fault(), "");
  EXPECT_EQ(collector_.estimate().latency_ns, 1500u);
  EXPECT_FALSE(collector_.estimate().memory_bytes);
  EXPECT_TRUE(collector_.estimate().feasible);
  EXPECT_EQ(collector_.estimate().reason, "why not");
}

TEST_F(Estimates, NodesGivenBackAreTaken) {
  const deputy_node_id back = 1;
  raw_.give_back = &back;
  raw_.give_back_count = 1;
  EXPECT_EQ(Fault(), "");
  EXPECT_EQ(collector_.estimate().give_back, std::vector<NodeId>{1});
}

TEST_F(Estimates, GivingEverythingBackIsNo) {
  raw_.give_back = nodes_.data();
  raw_.give_back_count = 2;
  EXPECT_EQ(Fault(), "");
  EXPECT_FALSE(collector_.estimate().feasible);
}

TEST_F(Estimates, ForeignNodeIsAFaultAndNothingIsBelieved) {
  const deputy_node_id foreign = 7;
  raw_.feasible = 0;
  raw_.give_back = &foreign;
  raw_.give_back_count = 1;
  EXPECT_EQ(Fault(), "it gives back node 7, which the partition does not have");
  EXPECT_TRUE(collector_.estimate().feasible);
}

TEST_F(Estimates, NodeGivenBackTwiceIsAFault) {
  const deputy_node_id twice[] = {1, 1};
  raw_.give_back = twice;
  raw_.give_back_count = 2;
  EXPECT_EQ(Fault(), "it gives back node 'second' (Sigmoid) twice");
}

TEST_F(Estimates, MoreNodesThanThereAreIsAFault) {
  raw_.give_back = nodes_.data();
  raw_.give_back_count = 4000000000u;
  EXPECT_EQ(Fault(), "it gives back 4000000000 of 2 nodes");
}

TEST_F(Estimates, CountWithoutNodesIsAFault) {
  raw_.give_back_count = 1;
  EXPECT_EQ(Fault(), "it gives back 1 of 2 nodes");
}

TEST_F(Estimates, AnotherTruthValueIsAFault) {
  raw_.feasible = 2;
  EXPECT_EQ(Fault(), "'feasible' must be 0 or 1, got 2");
}

TEST_F(Estimates, ReasonThatIsNotUtf8IsAFault) {
  raw_.reason = AbiStr("\xff");
  EXPECT_EQ(Fault(), "its reason is not UTF-8");
}

TEST_F(Estimates, SecondAnswerIsAFault) {
  Answer();
  raw_.latency_ns = 1;
  EXPECT_EQ(Fault(), "it answers twice about one partition");
  EXPECT_FALSE(collector_.estimate().latency_ns);
}

TEST_F(Estimates, StructWithoutItsSizeIsAFault) {
  raw_.struct_size = 8;
  EXPECT_EQ(Fault(), "an estimate has an invalid struct_size");
}

class GroupAnswers : public ::testing::Test {
 protected:
  std::string Add(const std::vector<deputy_node_id>& nodes) {
    const deputy_group group{sizeof group, static_cast<uint32_t>(nodes.size()), nodes.data()};
    const StatusHandle refused{collector_.sink()->add(collector_.sink()->self, &group)};
    return refused == nullptr ? "" : refused->message;
  }

  const Graph model_ = ReluSigmoid();
  const deputy_graph graph_{OfferAll(model_)};
  GroupCollector collector_{graph_};
};

TEST_F(GroupAnswers, AreKeptInTheGraphsOrder) {
  EXPECT_EQ(Add({1, 0}), "");
  EXPECT_EQ(collector_.groups(), (std::vector<std::vector<NodeId>>{{0, 1}}));
}

TEST_F(GroupAnswers, OneNodeIsNoGroup) { EXPECT_EQ(Add({0}), "a group has 1 nodes; at least two are needed"); }

TEST_F(GroupAnswers, ForeignNodeIsRefused) { EXPECT_EQ(Add({0, 9}), "a group names node 9, which does not exist"); }

TEST_F(GroupAnswers, NodeNamedTwiceIsRefused) { EXPECT_EQ(Add({0, 0}), "a group names node 'first' (Relu) twice"); }

TEST_F(GroupAnswers, NodeOfAnotherGroupIsRefused) {
  EXPECT_EQ(Add({0, 1}), "");
  EXPECT_EQ(Add({1, 0}), "node 'second' (Sigmoid) is in two groups");
  EXPECT_EQ(collector_.groups().size(), 1u);
}

// A delegate's table with two extensions, filled by the test.
struct Lister {
  deputy_delegate table{};
  deputy_ext_capabilities capabilities{};
  deputy_ext_devices devices{};
  std::vector<deputy_capability> rows;
  std::function<deputy_status*(const deputy_device_sink*)> enumerate;
  const HostServices services{"test", nullptr};

  Lister() {
    table.struct_size = sizeof table;
    table.id = AbiStr("lister");
    table.impl = this;
    table.get_extension = [](const deputy_delegate* self, const char* id) -> const void* {
      Lister& lister = *static_cast<Lister*>(self->impl);
      if (std::string_view(id) == DEPUTY_EXT_CAPABILITIES) return &lister.capabilities;
      if (std::string_view(id) == DEPUTY_EXT_DEVICES && lister.enumerate) return &lister.devices;
      return nullptr;
    };
    capabilities.struct_size = sizeof capabilities;
    capabilities.capability_count = [](const deputy_delegate* self) {
      return static_cast<uint32_t>(static_cast<Lister*>(self->impl)->rows.size());
    };
    capabilities.capability_at = [](const deputy_delegate* self, uint32_t index) -> const deputy_capability* {
      return &static_cast<Lister*>(self->impl)->rows[index];
    };
    devices.struct_size = sizeof devices;
    devices.enumerate = [](const deputy_delegate* self, const deputy_host*, const deputy_device_sink* sink) {
      return static_cast<Lister*>(self->impl)->enumerate(sink);
    };
  }
  deputy_capability& AddRow(const char* op_type) {
    deputy_capability row{};
    row.struct_size = sizeof row;
    row.op_type = AbiStr(op_type);
    row.max_rank = DEPUTY_ANY_RANK;
    rows.push_back(row);
    return rows.back();
  }
  std::string RowFault() {
    std::vector<CapabilityRow> listed;
    const auto rejection = ListCapabilities(table, listed);
    return rejection ? rejection->text : "";
  }
};

deputy_status* AddDevice(const deputy_device_sink* sink, const char* name, uint32_t kind = DEPUTY_DEVICE_NPU) {
  deputy_device_info info{};
  info.struct_size = sizeof info;
  info.name = AbiStr(name);
  info.kind = kind;
  info.memory_bytes = 1024;
  return sink->add(sink->self, &info);
}

TEST(Capabilities, AreCopied) {
  Lister lister;
  const deputy_dtype dtypes[] = {DEPUTY_DTYPE_FLOAT32, DEPUTY_DTYPE_INT8};
  deputy_capability& row = lister.AddRow("Conv");
  row.dtypes = dtypes;
  row.dtype_count = 2;
  row.min_version = 11;
  row.note = AbiStr("small kernels");
  std::vector<CapabilityRow> listed;
  ASSERT_FALSE(ListCapabilities(lister.table, listed));
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].op_type, "Conv");
  EXPECT_EQ(listed[0].dtypes, (std::vector<int32_t>{1, 3}));
  EXPECT_EQ(listed[0].min_version, 11u);
  EXPECT_EQ(listed[0].layouts, 1u << DEPUTY_LAYOUT_DENSE);
  EXPECT_EQ(listed[0].note, "small kernels");
}

TEST(Capabilities, RowWithoutAnOperatorIsRejected) {
  Lister lister;
  lister.AddRow("");
  EXPECT_EQ(lister.RowFault(), "capability 0 of 'lister' has no operator");
}

TEST(Capabilities, ImpossibleRanksAreRejected) {
  Lister lister;
  deputy_capability& row = lister.AddRow("Add");
  row.min_rank = 4;
  row.max_rank = 2;
  EXPECT_EQ(lister.RowFault(), "capability 0 of 'lister' has the invalid rank range 4 to 2");
}

TEST(Capabilities, ImpossibleDefinitionsAreRejected) {
  Lister lister;
  deputy_capability& row = lister.AddRow("Add");
  row.min_version = 9;
  row.max_version = 7;
  EXPECT_EQ(lister.RowFault(), "capability 0 of 'lister' has the invalid version range 9 to 7");
}

TEST(Capabilities, CountWithoutDTypesIsRejected) {
  Lister lister;
  lister.AddRow("Add").dtype_count = 1;
  EXPECT_EQ(lister.RowFault(), "capability 0 of 'lister' declares 1 dtypes, which is invalid");
}

TEST(Capabilities, TextThatIsNotUtf8IsRejected) {
  Lister lister;
  lister.AddRow("Add").note = AbiStr("\xff");
  EXPECT_EQ(lister.RowFault(), "capability 0 of 'lister' note is not UTF-8");
}

TEST(Capabilities, MoreRowsThanAnyTableHasAreRejected) {
  Lister lister;
  lister.capabilities.capability_count = [](const deputy_delegate*) { return 1000000u; };
  EXPECT_EQ(lister.RowFault(), "'lister' declares 1000000 capabilities, the maximum is 1024");
}

TEST(Capabilities, TableThatEndsEarlyIsNotRead) {
  Lister lister;
  lister.AddRow("");
  lister.capabilities.struct_size = 8;
  EXPECT_EQ(CapabilitiesOf(lister.table), nullptr);
  EXPECT_EQ(lister.RowFault(), "");
}

TEST(Devices, AreCopiedInTheirOrder) {
  Lister lister;
  lister.enumerate = [](const deputy_device_sink* sink) {
    deputy_status* first = AddDevice(sink, "big");
    return first == nullptr ? AddDevice(sink, "little", 99) : first;
  };
  std::vector<DeviceEntry> devices;
  Status failure;
  ASSERT_FALSE(EnumerateDevices(lister.table, lister.services.table(), devices, failure));
  EXPECT_TRUE(failure.ok());
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].name, "big");
  EXPECT_EQ(NameOfDeviceKind(devices[0].kind), std::string("npu"));
  EXPECT_EQ(NameOfDeviceKind(devices[1].kind), std::string("other"));
  EXPECT_EQ(devices[1].memory_bytes, 1024u);
}

TEST(Devices, TwoOfOneNameAreRejected) {
  Lister lister;
  lister.enumerate = [](const deputy_device_sink* sink) {
    deputy_status* first = AddDevice(sink, "npu");
    return first == nullptr ? AddDevice(sink, "npu") : first;
  };
  std::vector<DeviceEntry> devices;
  Status failure;
  const auto rejection = EnumerateDevices(lister.table, lister.services.table(), devices, failure);
  ASSERT_TRUE(rejection);
  EXPECT_EQ(rejection->text, "enumerate of 'lister': two devices are called 'npu'");
}

TEST(Devices, DelegateThatCannotLookIsNotAvailable) {
  Lister lister;
  lister.enumerate = [&](const deputy_device_sink*) {
    const deputy_host* host = lister.services.table();
    return host->status_new(host->self, DEPUTY_UNAVAILABLE, DEPUTY_NO_NODE, "no driver", 9);
  };
  std::vector<DeviceEntry> devices;
  Status failure;
  ASSERT_FALSE(EnumerateDevices(lister.table, lister.services.table(), devices, failure));
  EXPECT_EQ(failure.message(), "no driver");
}

TEST(Devices, ExceptionIsRejected) {
  Lister lister;
  lister.enumerate = [](const deputy_device_sink*) -> deputy_status* { throw 1; };
  std::vector<DeviceEntry> devices;
  Status failure;
  const auto rejection = EnumerateDevices(lister.table, lister.services.table(), devices, failure);
  ASSERT_TRUE(rejection);
  EXPECT_EQ(rejection->reason, RejectReason::kThrew);
}

}  // namespace
}  // namespace deputy::host
