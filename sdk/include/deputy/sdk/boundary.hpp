// The boundary between the vendor's C++ and the host's C: the objects behind the ABI's opaque handles, and the guard
// that catches every exception.
#pragma once

#if !defined(__cpp_exceptions) && !defined(__EXCEPTIONS)
#error \
    "Deputy's C++ layer turns exceptions into statuses: compile it without -fno-exceptions, or use the C ABI (deputy/abi)"
#endif

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "deputy/sdk/delegate_base.hpp"

namespace deputy::sdk::detail {

// A delegate's object, and whether Init has run. In a plugin each opened instance has one of its own; an application's
// object is shared by all instances opened on it.
struct Holder {
  std::shared_ptr<DelegateBase> delegate;
  std::mutex load;  // the host promises one load-time call at a time per instance, not per shared object
  bool ready = false;
};

// Behind deputy_delegate.impl: the data of a delegate's class for the tables.
struct Record {
  deputy_delegate table{};
  std::string id, description;
  OptionSchema schema;
  bool reads_precision = false;
  std::vector<deputy_option_info> option_infos;
  bool proposes = false, controls_device = false;
  uint32_t extensions = 0;
  OwnOperators operators;
  std::vector<deputy_operator_info> operator_infos;
  std::vector<deputy_opset> opsets;
  deputy_ext_options options{};
  deputy_ext_blob blob{};
  deputy_ext_resize resize{};
  deputy_ext_profiling profiling{};
  deputy_ext_memory memory{};
  deputy_ext_async async{};
  deputy_ext_scheduling scheduling{};
  deputy_ext_operators own_operators{};
  std::function<Status(const Host&, std::string_view)> check_blob;  // empty: only a text equal to the delegate's own
  std::function<Status(const Host&)> probe;
  // For placement_thunks.hpp; an empty `devices`: the class does not enumerate.
  bool groups = false, estimates = false, limits_concurrency = false, chooses = false;
  std::vector<Capability> capabilities;
  std::deque<std::vector<deputy_dtype>> capability_dtypes;
  std::vector<deputy_capability> capability_rows;
  std::function<Result<std::vector<DeviceDescription>>(const Host&)> devices;
  std::function<std::shared_ptr<Holder>()> make;
};

struct Instance {
  Host host;
  std::shared_ptr<Holder> holder;
  const Record* record = nullptr;
  DelegateBase& delegate() const { return *holder->delegate; }
};
struct BoxedExecutable {
  Host host;
  std::unique_ptr<Executable> executable;
};
struct BoxedContext {
  Host host;
  std::unique_ptr<ExecutionContext> context;
  std::atomic<uint64_t> cancelled_run{0};

  explicit BoxedContext(const Host& of) : host(of) {}
};

template <class To, class From>
To* As(From* handle) {
  return reinterpret_cast<To*>(handle);
}

// Runs `body` (a function that returns Status) and converts its status or exception to a status of the host.
template <class Body>
deputy_status* Guard(const Host& host, Body&& body) noexcept {
  try {
    return host.Make(body());
  } catch (const std::bad_alloc&) {
    return host.table()->status_new(host.table()->self, DEPUTY_OUT_OF_MEMORY, DEPUTY_NO_NODE, "out of memory", 13);
  } catch (const std::exception& error) {
    const char* message = error.what();
    return host.table()->status_new(host.table()->self, DEPUTY_INTERNAL, DEPUTY_NO_NODE, message, std::strlen(message));
  } catch (...) {
    return host.table()->status_new(host.table()->self, DEPUTY_INTERNAL, DEPUTY_NO_NODE, "an unknown exception", 20);
  }
}

// Returns the failure that the host itself reported during the call, which `lent` (a GraphView, a BlobWriter, ...)
// keeps, in preference to its consequence: a failure or an exception of the vendor's code. Of two statuses the plugin
// can return only one and free none, so the second is never created.
template <class Lent, class Body>
deputy_status* GuardWith(const Host& host, Lent& lent, Body&& body) noexcept {
  deputy_status* made = Guard(host, [&]() -> Status {
    try {
      Status status = body();
      return lent.failed() ? Status() : status;
    } catch (...) {
      if (lent.failed()) return {};
      throw;
    }
  });
  return lent.failed() ? lent.TakeFailure() : made;
}
template <class Body>
deputy_status* GuardWithGraph(const GraphView& graph, Body&& body) noexcept {
  return GuardWith(graph.host(), graph, body);
}

// A bit that these headers do not define would change the meaning of a call.
inline Status CheckFlags(uint32_t flags, uint32_t known) {
  if ((flags & ~known) == 0) return {};
  return Status(Code::kInvalidArgument,
                "flags have bits that this plugin does not know: " + std::to_string(flags & ~known));
}

// Checks the arguments of compile and restore.
inline Status CheckCompile(const Instance& instance, const deputy_compile_args& args) {
  DEPUTY_SDK_RETURN_IF_ERROR(CheckFlags(args.flags, 0));
  if (args.precision_count == 0 || instance.record->reads_precision) return {};
  return Status(Code::kNotSupported, "it computes in a precision of its own choice only", args.precision[0].node);
}

// Fills as much of *out as out->struct_size allows.
template <class T>
void Fill(T* out, const T& full) {
  const uint32_t size = out->struct_size;
  std::memcpy(out, &full, std::min<size_t>(size, sizeof full));
  out->struct_size = size;
}

inline const Record& RecordOf(const deputy_delegate* self) { return *static_cast<const Record*>(self->impl); }

}  // namespace deputy::sdk::detail
