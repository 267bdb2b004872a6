#include "isolation/worker_limits.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "isolation/run_limit.hpp"

namespace deputy::host {
namespace {

uint64_t Milliseconds(std::chrono::milliseconds time) { return static_cast<uint64_t>(time.count()); }

}  // namespace

FaultLimits LimitsOfSurroundings(const RemotePluginOptions& options) {
  FaultLimits limits = FaultLimits::OfSystem(options.sandbox);
  if (options.memory_limit != 0) limits.Add(FaultLimits::kMemory, options.memory_limit);
  if (options.opened != 0) limits.Add(fmt::format("opened_{:016x}", options.opened), 0);
  return limits;
}

FaultLimits LimitsOfTime(const RemotePluginOptions& options, std::string_view name) {
  FaultLimits limits;
  if (name == FaultLimits::kTimeout && options.run_timeout.count() != 0) {
    // A limit that the host chooses is no less than this one for the first run, and may be for later ones: a fault
    // counts where the host chooses as well.
    const bool automatic = options.run_timeout == kAutomaticTimeout;
    const auto most = automatic ? std::max(options.call_timeout, RunLimit::kLeast) : options.run_timeout;
    limits.Add(FaultLimits::kTimeout, Milliseconds(most));
    if (automatic) limits.Add(FaultLimits::kAutomatic, 0);
  }
  if (name == FaultLimits::kCallTimeout) limits.Add(name, Milliseconds(options.call_timeout));
  if (name == FaultLimits::kCallTimeoutTotal)
    limits.Add(name, Milliseconds(std::max(options.call_timeout, options.call_timeout_total)));
  if (name == FaultLimits::kDeadline) limits.Add(name, 0);
  return limits;
}

FaultLimits LimitsOf(const RemotePluginOptions& options) {
  FaultLimits limits = LimitsOfSurroundings(options);
  for (const std::string_view name : {FaultLimits::kTimeout, FaultLimits::kCallTimeout, FaultLimits::kCallTimeoutTotal})
    limits.Add(LimitsOfTime(options, name));
  return limits;
}

}  // namespace deputy::host
