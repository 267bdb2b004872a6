// The plugin under test, driven as the ABI prescribes: each call by name, so that a crash can be attributed; each
// result checked; what the ABI forbids written down as a fault. One delegate of it is opened at a time or several
// times.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "deputy/abi/ext/options.h"
#include "deputy/abi/ext/propose.h"
#include "host_services.hpp"
#include "model_graph.hpp"

namespace deputy::conformance {

using OptionList = std::vector<std::pair<std::string, std::string>>;

class Plugin {
 public:
  // Loads the library with the environment that its note asks for, and calls its query function. NULL and the reason
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

  // Runs a function of the plugin. Exceptions and changes of the floating point environment become faults.
  Outcome Call(const char* function, const std::function<deputy_status*()>& call);
  void CallVoid(const char* function, const std::function<void()>& call);

 private:
  explicit Plugin(const deputy_plugin* table) : table_(table) {}
  HostServices host_;
  const deputy_plugin* table_;
  bool initialized_ = false;
};

struct Answer {
  deputy_reason reason = DEPUTY_REASON_OTHER;
  std::string detail;
  bool operator==(const Answer& other) const { return reason == other.reason && detail == other.detail; }
};
const char* ReasonName(deputy_reason reason);

struct Claim {
  std::vector<deputy_node_id> nodes;
  std::vector<deputy_value_id> inputs, outputs;
  void* handle = nullptr;
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
  std::unique_ptr<Context> CreateContext(std::string* why_not);

 private:
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
  Outcome Execute(const std::vector<deputy_tensor>& inputs, const std::vector<deputy_tensor>& outputs);

 private:
  Plugin& plugin_;
  const deputy_delegate* delegate_;
  deputy_context* made_;
};

// An opened delegate.
class Instance {
 public:
  static std::unique_ptr<Instance> Open(Plugin& plugin, const deputy_delegate* delegate, const OptionList& options,
                                        Outcome* outcome, const std::string& name = "conformance");
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  deputy_instance* handle() { return made_; }
  Plugin& plugin() { return plugin_; }
  const deputy_delegate* delegate() const { return delegate_; }

  // One answer per node of the graph; a node without an answer is not taken.
  std::vector<Answer> Query(const deputy_graph& graph);
  // Empty for a delegate that does not form its own partitions. Every claim must be compiled or released.
  std::vector<Claim> Propose(const deputy_graph& graph);
  void Release(Claim& claim);
  // Consumes the claim.
  std::unique_ptr<Executable> Compile(const deputy_graph& graph, Claim claim, Outcome* outcome);

  // As a host does it: its own claim for all nodes if it makes one, else all nodes if it says yes to each. Nothing and
  // the first "no" otherwise. The claim has the graph's inputs and outputs.
  std::optional<Claim> ClaimAll(const deputy_graph& graph, Answer* refusal);

 private:
  Instance(Plugin& plugin, const deputy_delegate* delegate, deputy_instance* made);
  Plugin& plugin_;
  const deputy_delegate* delegate_;
  deputy_instance* made_;
  const deputy_ext_propose* propose_;
};

}  // namespace deputy::conformance
