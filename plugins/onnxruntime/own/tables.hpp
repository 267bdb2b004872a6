// The tables of functions that an execution provider (EP) gets in place of ONNX Runtime's: OrtApi and OrtEpApi, with
// the functions that EPs use which compile, and a stub in every other slot.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>

#include "api/types.hpp"

namespace ort::own {

// The versions of ONNX Runtime's API that the tables have the slots of.
inline constexpr uint32_t kFirstVersion = 1, kLastVersion = 32;

// Slots beyond the last one that is known, for EPs that were built for a later version.
inline constexpr size_t kReserve = 64;
inline constexpr size_t kApiSlots = static_cast<size_t>(Slot::kCount) + kReserve;
inline constexpr size_t kEpApiSlots = static_cast<size_t>(EpSlot::kCount) + kReserve;

// Filled by the parts of the runtime, each with its functions. The signature of a function is that of ONNX Runtime's
// documentation for the slot.
class Tables {
 public:
  template <class F>
  void Set(Slot slot, F* function) {
    api_[static_cast<size_t>(slot)] = reinterpret_cast<Function>(function);
  }
  template <class F>
  void Set(EpSlot slot, F* function) {
    ep_api_[static_cast<size_t>(slot)] = reinterpret_cast<Function>(function);
  }

  // Made at the first call, constant from then on. [any-thread]
  static const Tables& Get();

  const ApiBase& base() const { return base_; }
  const Api* api() const { return reinterpret_cast<const Api*>(api_.data()); }
  const EpApi* ep_api() const { return reinterpret_cast<const EpApi*>(ep_api_.data()); }
  const std::array<Function, kApiSlots>& api_slots() const { return api_; }
  const std::array<Function, kEpApiSlots>& ep_api_slots() const { return ep_api_; }

 private:
  Tables();

  ApiBase base_{};
  std::array<Function, kApiSlots> api_{};
  std::array<Function, kEpApiSlots> ep_api_{};
};

// The names of the functions without an implementation that EPs have called in this process since the last call of this
// one, separated by commas; "" if there are none. [any-thread]
std::string TakeMissingFunctions();

// False for a function whose result is no status: its stub returns zero, in place of a status.
bool ReturnsStatus(std::string_view name);

// Each part's functions.
void SetStatusFunctions(Tables& tables);
void SetKeyValueFunctions(Tables& tables);
void SetTypeFunctions(Tables& tables);
void SetValueFunctions(Tables& tables);
void SetMemoryFunctions(Tables& tables);
void SetGraphFunctions(Tables& tables);
void SetNodeFunctions(Tables& tables);
void SetKernelFunctions(Tables& tables);
void SetLoggerFunctions(Tables& tables);
void SetOptionFunctions(Tables& tables);
void SetDeviceFunctions(Tables& tables);
void SetCapabilityFunctions(Tables& tables);

}  // namespace ort::own
