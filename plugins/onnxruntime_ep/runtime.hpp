// ONNX Runtime as the provider calls it: its tables in one version, and its statuses and Deputy's in each other's form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <string>

#include "../onnxruntime/api/types.hpp"
#include "deputy/status.hpp"

namespace ort_ep {

// The versions of the tables that this library knows. In version 22 a provider in a library cannot read graphs yet.
inline constexpr uint32_t kOldestApi = 23, kNewestApi = 24;
// The version that the tables of this library state: ONNX Runtime reads no slots that later ones have added to them.
inline constexpr uint32_t kStatedVersion = 23;

// The tables of the host process; copies are cheap. [any-thread]
class Runtime {
 public:
  // kIncompatible: the host is older than kOldestApi.
  static deputy::Result<Runtime> Open(const ort::ApiBase* base, const ort::Logger* logger);

  const std::string& host_version() const { return host_version_; }
  // Of 1.32.0: 32.
  uint32_t host_minor() const { return host_minor_; }
  Runtime WithLogger(const ort::Logger* logger) const {
    Runtime other = *this;
    if (logger != nullptr) other.logger_ = logger;
    return other;
  }

  // Calls a function of OrtApi or OrtEpApi, whose arguments must have the types of its declaration.
  template <class Returned, class... Arguments>
  Returned Do(ort::Slot slot, Arguments... arguments) const {
    return Call<Returned>(reinterpret_cast<const ort::Function*>(api_), static_cast<size_t>(slot), arguments...);
  }
  template <class Returned, class... Arguments>
  Returned Do(ort::EpSlot slot, Arguments... arguments) const {
    return Call<Returned>(reinterpret_cast<const ort::Function*>(ep_api_), static_cast<size_t>(slot), arguments...);
  }
  // The same for functions that return an OrtStatus.
  template <class Slot, class... Arguments>
  deputy::Status Try(Slot slot, Arguments... arguments) const {
    return Taken(Do<ort::Status*>(slot, arguments...));
  }

  // NULL for OK.
  ort::Status* ToOrt(const deputy::Status& status) const;
  // Releases `status`.
  deputy::Status Taken(ort::Status* status) const;
  // To the log of the session, else of the environment.
  void Log(ort::LoggingLevel level, const std::string& message) const;

  // Runs `function`, which returns a Status, and keeps exceptions from the host.
  template <class Function>
  ort::Status* Guard(Function&& function) const {
    try {
      return ToOrt(function());
    } catch (const std::bad_alloc&) {
      return ToOrt({deputy::StatusCode::kResourceExhausted, "out of memory"});
    } catch (const std::exception& error) {
      return ToOrt({deputy::StatusCode::kInternal, error.what()});
    } catch (...) {
      return ToOrt({deputy::StatusCode::kInternal, "an unknown exception"});
    }
  }

 private:
  template <class Returned, class... Arguments>
  static Returned Call(const ort::Function* table, size_t slot, Arguments... arguments) {
    return reinterpret_cast<Returned (*)(Arguments...)>(table[slot])(arguments...);
  }

  const ort::Api* api_ = nullptr;
  const ort::EpApi* ep_api_ = nullptr;
  const ort::Logger* logger_ = nullptr;
  uint32_t host_minor_ = 0;
  std::string host_version_;
};

// A status in a host that is too old for Runtime, through the one function that all versions have.
ort::Status* RefusedBy(const ort::ApiBase* base, const deputy::Status& status);

}  // namespace ort_ep
