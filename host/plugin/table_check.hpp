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
#include "deputy/abi/ext/estimate.h"
#include "deputy/abi/ext/operators.h"
#include "deputy/abi/ext/options.h"
#include "deputy/abi/ext/profiling.h"
#include "deputy/abi/ext/propose.h"
#include "deputy/abi/ext/resize.h"
#include "plugin/plugin_code.hpp"
#include "plugin/rejection.hpp"
#include "plugin/thread_keeper.hpp"

namespace deputy::host {

// Sizes of the tables in ABI 0.1, written out because sizeof grows with the header while old plugins do not.
inline constexpr size_t kPluginSize01 = 112;
inline constexpr size_t kDelegateSize01 = 128;
inline constexpr size_t kOptionsSize01 = 32;
inline constexpr size_t kProposeSize01 = 24;
inline constexpr size_t kDeviceControlSize01 = 16;
inline constexpr size_t kCapabilitiesSize01 = 24;
inline constexpr size_t kDevicesSize01 = 16;
inline constexpr size_t kEstimateSize01 = 16;
inline constexpr size_t kConcurrencySize01 = 16;
inline constexpr size_t kBlobSize01 = 40;
inline constexpr size_t kResizeSize01 = 16;
inline constexpr size_t kProfilingSize01 = 40;
inline constexpr size_t kOperatorsSize01 = 40;

inline constexpr uint32_t kMaxDelegates = 64;

// Runs `call`, a call of `site`, and tells whether it returned: exceptions of the plugin end here. Its changes to the
// thread's state are restored.
template <class Call>
bool Returned(const CallSite& site, Call&& call, Watch watch = Watch::kFloatAndSignals) {
  const ThreadKeeper keeper(site, watch);
  try {
    std::forward<Call>(call)();
    return true;
  } catch (...) {
    return false;
  }
}

// A copy of `text` of at most `limit` bytes, or why there is none ("is not UTF-8").
struct CopiedText {
  std::string text;
  std::string fault;  // empty: none
};
CopiedText CopyText(const deputy_str& text, size_t limit);

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
const deputy_ext_operators* OperatorsOf(const deputy_delegate& delegate);

}  // namespace deputy::host
