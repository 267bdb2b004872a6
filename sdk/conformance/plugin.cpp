#include "plugin.hpp"

#include <dlfcn.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>

#include "float_control.hpp"
#include "guarded_buffer.hpp"
#include "plugin_file.hpp"
#include "text.hpp"
#include "trap.hpp"

namespace deputy::conformance {
namespace {

constexpr uint64_t kMostScratch = uint64_t{1} << 30;

// Names the running function for the parent process, which reads it if this process dies.
class Running {
 public:
  explicit Running(const char* function) {
    SharedProgress()->since_ns = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    std::strncpy(SharedProgress()->function, function, sizeof(Progress::function) - 1);
  }
  ~Running() { SharedProgress()->function[0] = 0; }
};

}  // namespace

std::unique_ptr<Plugin> Plugin::Load(const std::string& path, std::string* why_not) {
  const PluginFile file = PluginFile::Read(path);
  if (!file.fault.empty()) {
    *why_not = "the file " + file.fault;
    return nullptr;
  }
  for (const auto& [key, value] : file.lines) {
    const size_t sign = value.find('=');
    if (key == "env" && sign != std::string::npos)
      setenv(value.substr(0, sign).c_str(), value.substr(sign + 1).c_str(), 1);
  }
  void* library = nullptr;
  {
    const Running running("dlopen");
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  }
  if (library == nullptr) {
    *why_not = std::string("dlopen: ") + dlerror();
    return nullptr;
  }
  const auto query = reinterpret_cast<deputy_plugin_query_fn>(dlsym(library, DEPUTY_ENTRY_SYMBOL));
  if (query == nullptr) {
    *why_not = std::string("the symbol ") + DEPUTY_ENTRY_SYMBOL + " is not exported";
    return nullptr;
  }
  const Running running("query");
  try {
    const deputy_plugin* table = query(DEPUTY_ABI_VERSION, nullptr);
    if (table != nullptr && DEPUTY_HAS(table, deputy_plugin, get_extension))
      return std::unique_ptr<Plugin>(new Plugin(table));
    *why_not = table == nullptr
                   ? "query returned no table for ABI 0.2"
                   : "the plugin's table says that it has " + std::to_string(table->struct_size) + " bytes";
  } catch (...) {
    *why_not = "an exception left query";
  }
  return nullptr;
}

Plugin::~Plugin() { Shutdown(); }

Outcome Plugin::Init() {
  if (table_->init == nullptr) return {};
  const Outcome outcome = Call("init", [&] { return table_->init(table_, host_.table()); });
  initialized_ = outcome.ok();
  return outcome;
}

void Plugin::Shutdown() {
  if (initialized_ && table_->shutdown != nullptr) CallVoid("shutdown", [&] { table_->shutdown(table_); });
  initialized_ = false;
}

Outcome Plugin::Call(const char* function, const std::function<deputy_status*()>& call) {
  const uint64_t control = FloatControl();
  deputy_status* status = nullptr;
  std::string thrown;
  {
    const Running running(function);
    try {
      status = call();
    } catch (const std::exception& error) {
      thrown = std::string("an exception left it: ") + error.what();
    } catch (...) {
      thrown = "an exception left it";
    }
  }
  if (const uint64_t after = FloatControl(); after != control) {
    RestoreFloatControl(control);
    host_.Fault(std::string(function) + ": it changed the floating point environment: " + FloatChanges(control, after));
  }
  if (!thrown.empty()) {
    host_.Fault(std::string(function) + ": " + thrown);
    return {DEPUTY_INTERNAL, DEPUTY_NO_NODE, thrown};
  }
  return host_.Take(status);
}

void Plugin::CallVoid(const char* function, const std::function<void()>& call) {
  (void)Call(function, [&]() -> deputy_status* {
    call();
    return nullptr;
  });
}

std::vector<const deputy_delegate*> Plugin::Delegates() {
  constexpr uint32_t kMost = 256;
  std::vector<const deputy_delegate*> all;
  uint32_t count = 0;
  if (table_->delegate_count == nullptr || table_->delegate_at == nullptr) return all;
  CallVoid("delegate_count", [&] { count = table_->delegate_count(table_); });
  for (uint32_t i = 0; i < std::min(count, kMost); ++i) {
    const deputy_delegate* delegate = nullptr;
    CallVoid("delegate_at", [&] { delegate = table_->delegate_at(table_, i); });
    if (delegate != nullptr) all.push_back(delegate);
  }
  return all;
}

const deputy_delegate* Plugin::Delegate(const std::string& id) {
  for (const deputy_delegate* delegate : Delegates())
    if (id.empty() || TextOf(delegate->id) == id) return delegate;
  return nullptr;
}

const void* Plugin::Extension(const deputy_delegate* delegate, const char* id) {
  if (!DEPUTY_HAS_FN(delegate, deputy_delegate, get_extension)) return nullptr;
  const void* table = nullptr;
  CallVoid("get_extension", [&] { table = delegate->get_extension(delegate, id); });
  return table;
}

const void* Plugin::Extension(const deputy_delegate* delegate, const char* id, size_t size) {
  const void* table = Extension(delegate, id);
  uint32_t said = 0;
  if (table != nullptr) std::memcpy(&said, table, sizeof said);
  if (table == nullptr || said >= size) return table;
  host_.Fault(std::string("the table of ") + id + " says that it has " + std::to_string(said) + " bytes");
  return nullptr;
}

Executable::~Executable() {
  plugin_.CallVoid("executable_destroy", [&] { delegate_->executable_destroy(made_); });
}

Outcome Executable::CreateContext(const ContextSettings& settings, std::unique_ptr<Context>* context) {
  deputy_context_args args{};
  args.struct_size = sizeof args;
  args.flags = settings.flags;
  args.priority = settings.priority;
  deputy_context* made = nullptr;
  const Outcome outcome =
      plugin_.Call("context_create", [&] { return delegate_->context_create(made_, &args, &made); });
  if (outcome.ok() && made == nullptr)
    return {DEPUTY_INTERNAL, DEPUTY_NO_NODE, "context_create succeeded without a context"};
  if (outcome.ok()) *context = std::make_unique<Context>(plugin_, delegate_, made);
  return outcome;
}

std::unique_ptr<Context> Executable::CreateContext(std::string* why_not, const ContextSettings& settings) {
  std::unique_ptr<Context> context;
  *why_not = CreateContext(settings, &context).ToString();
  return context;
}

Outcome Executable::TryContext(const ContextSettings& settings) {
  std::unique_ptr<Context> context;
  return CreateContext(settings, &context);
}

Context::~Context() {
  plugin_.CallVoid("context_destroy", [&] { delegate_->context_destroy(made_); });
}

void Context::Cancel(uint64_t run) {
  plugin_.CallVoid("cancel", [&] { delegate_->cancel(made_, run); });
}

deputy_run_args Context::NextRun() {
  deputy_run_args args{};
  args.struct_size = sizeof args;
  args.run = ++runs_;
  if (DEPUTY_HAS_FN(delegate_, deputy_delegate, scratch_size))
    plugin_.CallVoid("scratch_size", [&] { args.scratch_size = delegate_->scratch_size(made_); });
  return args;
}

std::unique_ptr<GuardedBuffer> Context::LendScratch(deputy_run_args& args) const {
  if (args.scratch_size == 0) return nullptr;
  auto scratch = std::make_unique<GuardedBuffer>("the scratch memory", args.scratch_size, Flush::kEnd, 64);
  std::memset(scratch->data(), static_cast<int>(0x3c + args.run), args.scratch_size);
  args.scratch = scratch->data();
  return scratch;
}

Outcome Context::Execute(const std::vector<deputy_tensor>& inputs, const std::vector<deputy_tensor>& outputs,
                         const RunSettings& settings) {
  std::vector<const deputy_tensor*> in, out;
  for (const deputy_tensor& tensor : inputs) in.push_back(&tensor);
  for (const deputy_tensor& tensor : outputs) out.push_back(&tensor);
  deputy_run_args args = NextRun();
  args.input_count = static_cast<uint32_t>(in.size());
  args.output_count = static_cast<uint32_t>(out.size());
  args.inputs = in.data();
  args.outputs = out.data();
  args.flags = settings.flags;
  args.deadline_ns = settings.deadline_ns;
  args.allocator = settings.allocator;
  args.power_level = settings.power_level;
  args.precision = settings.precision;
  if (args.scratch_size > kMostScratch)
    return {DEPUTY_INTERNAL, DEPUTY_NO_NODE, "it asks for " + std::to_string(args.scratch_size) + " bytes of scratch"};
  const std::unique_ptr<GuardedBuffer> scratch = LendScratch(args);
  return plugin_.Call("execute", [&] { return delegate_->execute(made_, &args); });
}

}  // namespace deputy::conformance
