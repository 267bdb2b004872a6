// Checks that the tables of a plugin are complete enough to be used. Every struct of a plugin is checked here before
// other code reads it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "deputy/abi/delegate.h"
#include "deputy/abi/ext/blob.h"
#include "deputy/abi/ext/capabilities.h"
#include "deputy/abi/ext/concurrency.h"
#include "deputy/abi/ext/device_control.h"
#include "deputy/abi/ext/devices.h"
#include "deputy/abi/ext/draft/memory.h"
#include "deputy/abi/ext/draft/scheduling.h"
#include "deputy/abi/ext/estimate.h"
#include "deputy/abi/ext/operators.h"
#include "deputy/abi/ext/options.h"
#include "deputy/abi/ext/profiling.h"
#include "deputy/abi/ext/propose.h"
#include "deputy/abi/ext/resize.h"
#include "plugin/checks/plugin_code.hpp"
#include "plugin/discovery/rejection.hpp"

namespace deputy::host {

inline constexpr uint32_t kMaxDelegates = 64;

// Calls the entry function and checks its result.
Checked<const deputy_plugin*> QueryTable(deputy_plugin_query_fn query);
std::optional<Rejection> CheckPluginTable(const deputy_plugin* table);

// The plugin's delegates; the plugin has been initialised.
Checked<std::vector<const deputy_delegate*>> DelegateTables(const deputy_plugin& plugin);

// An extension's table, or null when the delegate lacks it or the table is not whole. [any-thread]
const deputy_ext_options* OptionsOf(const deputy_delegate& delegate);
const deputy_ext_propose* ProposeOf(const deputy_delegate& delegate);
// The same table of a delegate that answers per node and names groups.
const deputy_ext_propose* GroupsOf(const deputy_delegate& delegate);
const deputy_ext_device_control* DeviceControlOf(const deputy_delegate& delegate);
const deputy_ext_capabilities* CapabilitiesOf(const deputy_delegate& delegate);
const deputy_ext_devices* DevicesOf(const deputy_delegate& delegate);
const deputy_ext_estimate* EstimateOf(const deputy_delegate& delegate);
const deputy_ext_concurrency* ConcurrencyOf(const deputy_delegate& delegate);
const deputy_ext_blob* BlobOf(const deputy_delegate& delegate);
const deputy_ext_resize* ResizeOf(const deputy_delegate& delegate);
const deputy_ext_profiling* ProfilingOf(const deputy_delegate& delegate);
const deputy_ext_memory* MemoryOf(const deputy_delegate& delegate);
const deputy_ext_async* AsyncOf(const deputy_delegate& delegate);
const deputy_ext_scheduling* SchedulingOf(const deputy_delegate& delegate);
const deputy_ext_operators* OperatorsOf(const deputy_delegate& delegate);

}  // namespace deputy::host
