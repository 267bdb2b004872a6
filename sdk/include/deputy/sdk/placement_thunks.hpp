// The C tables over the information of placement.hpp. As in thunks.hpp, every function catches everything.
#pragma once

#include <cstring>
#include <mutex>
#include <string>
#include <type_traits>

#include "deputy/sdk/boundary.hpp"

namespace deputy::sdk::detail {

struct PlacementThunks {
  static uint32_t CapabilityCount(const deputy_delegate* self) noexcept {
    return static_cast<uint32_t>(RecordOf(self).capability_rows.size());
  }
  static const deputy_capability* CapabilityAt(const deputy_delegate* self, uint32_t index) noexcept {
    return index < CapabilityCount(self) ? &RecordOf(self).capability_rows[index] : nullptr;
  }

  static deputy_status* Enumerate(const deputy_delegate* self, const deputy_host* table,
                                  const deputy_device_sink* sink) noexcept {
    const Host host(table);
    deputy_status* refused = nullptr;
    deputy_status* made = Guard(host, [&]() -> Status {
      DEPUTY_SDK_ASSIGN_OR_RETURN(const auto devices, RecordOf(self).devices(host));
      for (const DeviceDescription& device : devices) {
        const deputy_device_info info{sizeof info,          static_cast<deputy_device_kind>(device.kind),
                                      ToStr(device.id),     ToStr(device.name),
                                      ToStr(device.driver), device.memory_bytes,
                                      device.frequency_hz};
        refused = sink->add(sink->self, &info);
        if (refused != nullptr) break;
      }
      return {};
    });
    return refused == nullptr ? made : refused;
  }

  static deputy_status* Groups(deputy_instance* self, const deputy_graph* shown,
                               const deputy_group_sink* sink) noexcept {
    const Instance& instance = *As<Instance>(self);
    const GraphView graph(instance.host, shown);
    return GuardWithGraph(graph, [&]() -> Status {
      const std::lock_guard<std::mutex> lock(instance.holder->load);
      return instance.delegate().Groups(graph, GroupSink(graph, sink));
    });
  }

  static deputy_status* Estimate(deputy_instance* self, const deputy_partition* partition,
                                 const deputy_estimate_sink* sink) noexcept {
    const Instance& instance = *As<Instance>(self);
    const GraphView graph(instance.host, partition->graph);
    return GuardWithGraph(graph, [&]() -> Status {
      const std::lock_guard<std::mutex> lock(instance.holder->load);
      DEPUTY_SDK_ASSIGN_OR_RETURN(const PartitionEstimate made,
                                  instance.delegate().Estimate(PartitionView(graph, *partition)));
      if (graph.failed()) return {};
      const deputy_estimate estimate{sizeof estimate,
                                     made.feasible ? 1u : 0u,
                                     ToStr(made.reason),
                                     made.latency_ns.value_or(DEPUTY_AMOUNT_UNKNOWN),
                                     made.memory_bytes.value_or(DEPUTY_AMOUNT_UNKNOWN),
                                     made.energy_nj.value_or(DEPUTY_AMOUNT_UNKNOWN),
                                     made.give_back.data(),
                                     static_cast<uint32_t>(made.give_back.size()),
                                     0};
      sink->answer(sink->self, &estimate);
      return {};
    });
  }

  static deputy_status* GetConcurrency(deputy_instance* self, uint32_t* flags) noexcept {
    const Instance& instance = *As<Instance>(self);
    return Guard(instance.host, [&]() -> Status {
      const std::lock_guard<std::mutex> lock(instance.holder->load);
      const Concurrency may = instance.delegate().concurrency();
      *flags = (may.contexts ? uint32_t{DEPUTY_CONCURRENT_CONTEXTS} : 0u) |
               (may.executables ? uint32_t{DEPUTY_CONCURRENT_EXECUTABLES} : 0u) |
               (may.instances ? uint32_t{DEPUTY_CONCURRENT_INSTANCES} : 0u);
      return {};
    });
  }

  // NULL for any other id, or an extension that the delegate's class does not implement.
  static const void* GetExtension(const deputy_delegate* self, const char* id) noexcept {
    static constexpr deputy_ext_capabilities kCapabilities = {sizeof(deputy_ext_capabilities), 0, CapabilityCount,
                                                              CapabilityAt};
    static constexpr deputy_ext_devices kDevices = {sizeof(deputy_ext_devices), 0, Enumerate};
    static constexpr deputy_ext_estimate kEstimate = {sizeof(deputy_ext_estimate), 0, Estimate};
    static constexpr deputy_ext_concurrency kConcurrency = {sizeof(deputy_ext_concurrency), 0, GetConcurrency};
    static constexpr deputy_ext_propose kGroups = {sizeof(deputy_ext_propose), 0, nullptr, nullptr, Groups};
    const Record& record = RecordOf(self);
    const auto is = [&](const char* known) { return std::strcmp(id, known) == 0; };
    if (is(DEPUTY_EXT_CAPABILITIES) && !record.capability_rows.empty()) return &kCapabilities;
    if (is(DEPUTY_EXT_DEVICES) && record.devices) return &kDevices;
    if (is(DEPUTY_EXT_ESTIMATE) && record.estimates) return &kEstimate;
    if (is(DEPUTY_EXT_CONCURRENCY) && record.limits_concurrency) return &kConcurrency;
    if (is(DEPUTY_EXT_PROPOSE) && record.groups && !record.proposes) return &kGroups;
    return nullptr;
  }
};

// The extensions that D has, and their constant tables. D has an extension if it hides or overrides its function; an
// abstract D is a static type whose real class is not known.
template <auto Of, auto Base>
inline constexpr bool kHides =
    !std::is_same_v<std::integral_constant<decltype(Of), Of>, std::integral_constant<decltype(Base), Base>>;

template <class D>
void AddPlacement(Record& record) {
  record.capabilities = D::Capabilities();
  for (const Capability& row : record.capabilities) {
    auto& dtypes = record.capability_dtypes.emplace_back();
    for (const DType dtype : row.dtypes) dtypes.push_back(static_cast<deputy_dtype>(dtype));
    record.capability_rows.push_back({sizeof(deputy_capability), row.min_version, row.max_version, row.min_rank,
                                      row.max_rank, row.layouts, ToStr(row.domain), ToStr(row.op_type), dtypes.data(),
                                      static_cast<uint32_t>(dtypes.size()), 0, ToStr(row.note)});
  }
  if constexpr (kHides<&D::Devices, &DelegateBase::Devices>)
    record.devices = [](const Host& host) { return D::Devices(host); };
  constexpr bool unknown = std::is_abstract_v<D>;
  record.groups = unknown || !std::is_same_v<decltype(&D::Groups), decltype(&DelegateBase::Groups)>;
  record.estimates = unknown || !std::is_same_v<decltype(&D::Estimate), decltype(&DelegateBase::Estimate)>;
  record.limits_concurrency =
      unknown || !std::is_same_v<decltype(&D::concurrency), decltype(&DelegateBase::concurrency)>;
  record.chooses = unknown || !std::is_same_v<decltype(&D::Choose), decltype(&DelegateBase::Choose)>;
}

}  // namespace deputy::sdk::detail
