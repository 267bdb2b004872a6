// What a plugin says about its delegates: operators and devices.
#include "plugin/discovery/description.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "plugin/checks/handles.hpp"
#include "plugin/discovery/table_check.hpp"
#include "plugin/proxy/host_services.hpp"

namespace deputy::host {
namespace {

deputy_str AbiStr(const char* text) { return {text, std::string_view(text).size()}; }

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
  info.id = info.name = AbiStr(name);
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

TEST(Devices, TwoOfOneIdAreRejected) {
  Lister lister;
  lister.enumerate = [](const deputy_device_sink* sink) {
    deputy_status* first = AddDevice(sink, "npu");
    return first == nullptr ? AddDevice(sink, "npu") : first;
  };
  std::vector<DeviceEntry> devices;
  Status failure;
  const auto rejection = EnumerateDevices(lister.table, lister.services.table(), devices, failure);
  ASSERT_TRUE(rejection);
  EXPECT_EQ(rejection->text, "enumerate of 'lister': two devices have the id 'npu'");
}

// Identical cards.
TEST(Devices, TwoOfOneNameAreTwo) {
  Lister lister;
  lister.enumerate = [](const deputy_device_sink* sink) {
    deputy_device_info info{};
    info.struct_size = sizeof info;
    info.name = {"accelerator", 11};
    info.id = {"pci-1", 5};
    deputy_status* first = sink->add(sink->self, &info);
    info.id = {"pci-2", 5};
    return first == nullptr ? sink->add(sink->self, &info) : first;
  };
  std::vector<DeviceEntry> devices;
  Status failure;
  ASSERT_FALSE(EnumerateDevices(lister.table, lister.services.table(), devices, failure));
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].name, devices[1].name);
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
