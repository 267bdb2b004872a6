// The plugin under test, called as the ABI prescribes: each call is named, so that a crash can be attributed; each
// result is checked; violations of the ABI are recorded as faults. One delegate of it is opened, once or several times.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "guarded_buffer.hpp"
#include "host_services.hpp"

namespace deputy::conformance {

using OptionList = std::vector<std::pair<std::string, std::string>>;

class Plugin {
 public:
  // Loads the library with the environment that its note requests, and calls its query function. NULL and the reason
  // where that is not possible.
  static std::unique_ptr<Plugin> Load(const std::string& path, std::string* why_not);
  ~Plugin();
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  Outcome Init();
  void Shutdown();

  const deputy_plugin& table() const { return *table_; }
  HostServices& host() { return host_; }
  // By id; the first one for "". NULL when there is none.
  const deputy_delegate* Delegate(const std::string& id);
  std::vector<const deputy_delegate*> Delegates();
  const void* Extension(const deputy_delegate* delegate, const char* id);
  // The table of the extension, if it has the `size` bytes of ABI 0.2; a fault and NULL where it is smaller.
  const void* Extension(const deputy_delegate* delegate, const char* id, size_t size);

  // Runs a function of the plugin. Exceptions and changes of the floating point environment become faults.
  Outcome Call(const char* function, const std::function<deputy_status*()>& call);
  void CallVoid(const char* function, const std::function<void()>& call);

 private:
  explicit Plugin(const deputy_plugin* table) : table_(table) {}
  HostServices host_;
  const deputy_plugin* table_;
  bool initialized_ = false;
};

// The arguments of a run and of a new context beside the tensors.
struct RunSettings {
  uint32_t flags = 0;
  uint64_t deadline_ns = 0;
  const deputy_output_allocator* allocator = nullptr;
  uint32_t power_level = 0;
  deputy_dtype precision = DEPUTY_DTYPE_UNDEFINED;
};
struct ContextSettings {
  uint32_t flags = 0;
  int32_t priority = 0;
};

class Context;

class Executable {
 public:
  Executable(Plugin& plugin, const deputy_delegate* delegate, deputy_executable* made)
      : plugin_(plugin), delegate_(delegate), made_(made) {}
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  // NULL and the reason.
  std::unique_ptr<Context> CreateContext(std::string* why_not, const ContextSettings& settings = {});
  // Creates and destroys one.
  Outcome TryContext(const ContextSettings& settings);
  deputy_executable* handle() { return made_; }

 private:
  Outcome CreateContext(const ContextSettings& settings, std::unique_ptr<Context>* context);
  Plugin& plugin_;
  const deputy_delegate* delegate_;
  deputy_executable* made_;
};

class Context {
 public:
  Context(Plugin& plugin, const deputy_delegate* delegate, deputy_context* made)
      : plugin_(plugin), delegate_(delegate), made_(made) {}
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  Outcome Execute(const std::vector<deputy_tensor>& inputs, const std::vector<deputy_tensor>& outputs,
                  const RunSettings& settings = {});
  // The arguments of the next run but its tensors.
  deputy_run_args NextRun();
  // Its scratch memory, between guard pages and of other contents in each run; NULL if it needs none.
  std::unique_ptr<GuardedBuffer> LendScratch(deputy_run_args& args) const;
  // The number of the next run.
  uint64_t next_run() const { return runs_ + 1; }
  bool can_cancel() const { return DEPUTY_HAS_FN(delegate_, deputy_delegate, cancel); }
  // [any-thread]
  void Cancel(uint64_t run);
  deputy_context* handle() { return made_; }

 private:
  Plugin& plugin_;
  const deputy_delegate* delegate_;
  deputy_context* made_;
  uint64_t runs_ = 0;
};

}  // namespace deputy::conformance
