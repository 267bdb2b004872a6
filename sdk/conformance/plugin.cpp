#include "plugin.hpp"

#include <dlfcn.h>
#include <fenv.h>
#include <stdlib.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstring>
#include <exception>
#include <set>

#include "plugin_file.hpp"
#include "text.hpp"
#include "trap.hpp"

namespace deputy::conformance {
namespace {

// Rounding, flushing and traps: what computes the host's own answers. Flags of past exceptions are free to change.
uint64_t FloatControl() {
  uint64_t control = static_cast<uint64_t>(fegetround());
#if defined(__x86_64__)
  control |= static_cast<uint64_t>(_mm_getcsr() & ~0x3fu) << 32;
#endif
  return control;
}

void RestoreFloatControl(uint64_t control) {
  fesetround(static_cast<int>(control & 0xffffffffu));
#if defined(__x86_64__)
  _mm_setcsr(static_cast<unsigned>(control >> 32));
#endif
}

// Names the function that runs, for whoever finds the process dead.
class Running {
 public:
  explicit Running(const char* function) {
    std::strncpy(SharedProgress()->function, function, sizeof(Progress::function) - 1);
  }
  ~Running() { SharedProgress()->function[0] = 0; }
};

}  // namespace

const char* ReasonName(deputy_reason reason) {
  static constexpr const char* kNames[] = {"supported",
                                           "operator unknown",
                                           "definition too new",
                                           "dtype",
                                           "rank",
                                           "shape dynamic",
                                           "attribute",
                                           "layout",
                                           "shape",
                                           "not constant",
                                           "other"};
  return reason <= DEPUTY_REASON_OTHER ? kNames[reason] : "unknown reason";
}

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
                   ? "query returned no table for ABI 0.1"
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
  if (FloatControl() != control) {
    RestoreFloatControl(control);
    host_.Fault(std::string(function) + ": it changed the floating point environment");
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

Executable::~Executable() {
  plugin_.CallVoid("executable_destroy", [&] { delegate_->executable_destroy(made_); });
}

std::unique_ptr<Context> Executable::CreateContext(std::string* why_not) {
  deputy_context* context = nullptr;
  const Outcome outcome = plugin_.Call("context_create", [&] { return delegate_->context_create(made_, &context); });
  if (outcome.ok() && context != nullptr) return std::make_unique<Context>(plugin_, delegate_, context);
  *why_not = outcome.ok() ? "context_create succeeded without a context" : outcome.ToString();
  return nullptr;
}

Context::~Context() {
  plugin_.CallVoid("context_destroy", [&] { delegate_->context_destroy(made_); });
}

Outcome Context::Execute(const std::vector<deputy_tensor>& inputs, const std::vector<deputy_tensor>& outputs) {
  std::vector<const deputy_tensor*> in, out;
  for (const deputy_tensor& tensor : inputs) in.push_back(&tensor);
  for (const deputy_tensor& tensor : outputs) out.push_back(&tensor);
  deputy_run_args args{};
  args.struct_size = sizeof args;
  args.input_count = static_cast<uint32_t>(in.size());
  args.output_count = static_cast<uint32_t>(out.size());
  args.inputs = in.data();
  args.outputs = out.data();
  return plugin_.Call("execute", [&] { return delegate_->execute(made_, &args); });
}

Instance::Instance(Plugin& plugin, const deputy_delegate* delegate, deputy_instance* made)
    : plugin_(plugin),
      delegate_(delegate),
      made_(made),
      propose_(static_cast<const deputy_ext_propose*>(plugin.Extension(delegate, DEPUTY_EXT_PROPOSE))) {}

std::unique_ptr<Instance> Instance::Open(Plugin& plugin, const deputy_delegate* delegate, const OptionList& options,
                                         Outcome* outcome, const std::string& name) {
  std::vector<deputy_kv> values;
  for (const auto& [key, value] : options) values.push_back({StrOf(key), StrOf(value)});
  deputy_open_args args{};
  args.struct_size = sizeof args;
  args.host = plugin.host().table();
  args.name = StrOf(name);
  args.options = values.data();
  args.option_count = values.size();
  deputy_instance* made = nullptr;
  *outcome = plugin.Call("open", [&] { return delegate->open(delegate, &args, &made); });
  if (outcome->ok() && made == nullptr)
    *outcome = {DEPUTY_INTERNAL, DEPUTY_NO_NODE, "open succeeded without an instance"};
  if (!outcome->ok()) return nullptr;
  return std::unique_ptr<Instance>(new Instance(plugin, delegate, made));
}

Instance::~Instance() {
  plugin_.CallVoid("close", [&] { delegate_->close(made_); });
}

namespace {

// Keeps a graph's handle alive for one call.
class Shown {
 public:
  Shown(HostServices& host, const deputy_graph& graph) : host_(host), graph_(graph) { host_.AddGraph(&graph_); }
  ~Shown() { host_.RemoveGraph(&graph_); }

 private:
  HostServices& host_;
  const deputy_graph& graph_;
};

struct Answers {
  HostServices& host;
  const deputy_graph& graph;
  std::vector<Answer> answers;
  std::set<deputy_node_id> answered;
  bool open = true;

  static void Take(void* self, deputy_node_id node, deputy_reason reason, deputy_str detail) {
    auto& all = *static_cast<Answers*>(self);
    const auto fault = [&](const std::string& text) { all.host.Fault("query_support: " + text); };
    if (!all.open) return fault("it answered after it had returned");
    if (node >= all.graph.node_count()) return fault("it answered for a node that does not exist");
    if (!all.graph.node(node).offered) return fault("it answered for a node that was not offered");
    if (!all.answered.insert(node).second) return fault("it answered twice for one node");
    if (reason > DEPUTY_REASON_OTHER) return fault("it gave the unknown reason " + std::to_string(reason));
    const std::string wrong = FaultOf(detail, true);
    if (!wrong.empty() && wrong != "has no NUL behind it") return fault("its detail " + wrong);
    all.answers[node] = {reason, TextOf(detail)};
  }
};

struct Claims {
  HostServices& host;
  const deputy_graph& graph;
  std::vector<Claim> claims;
  std::set<deputy_node_id> taken;

  std::string Wrong(const deputy_claim& claim) {
    if (claim.node_count == 0 || claim.nodes == nullptr) return "a claim has no nodes";
    for (uint32_t i = 0; i < claim.node_count; ++i) {
      const deputy_node_id node = claim.nodes[i];
      if (node >= graph.node_count()) return "it claims a node that does not exist";
      if (!graph.node(node).offered) return "it claims a node that was not offered";
      if (!taken.insert(node).second) return "it claims a node twice";
    }
    return "";
  }

  static deputy_status* Add(void* self, const deputy_claim* claim) {
    auto& all = *static_cast<Claims*>(self);
    const std::string wrong = all.Wrong(*claim);
    if (!wrong.empty()) {
      all.host.Fault("propose: " + wrong);
      return all.host.NewStatus(DEPUTY_INVALID_ARGUMENT, DEPUTY_NO_NODE, wrong);
    }
    Claim made;
    made.nodes.assign(claim->nodes, claim->nodes + claim->node_count);
    made.inputs.assign(claim->inputs, claim->inputs + claim->input_count);
    made.outputs.assign(claim->outputs, claim->outputs + claim->output_count);
    made.handle = claim->handle;
    all.claims.push_back(std::move(made));
    return nullptr;
  }
};

}  // namespace

std::vector<Answer> Instance::Query(const deputy_graph& graph) {
  const Shown shown(plugin_.host(), graph);
  Answers answers{plugin_.host(), graph, std::vector<Answer>(graph.node_count()), {}};
  deputy_support_sink sink{};
  sink.struct_size = sizeof sink;
  sink.self = &answers;
  sink.answer = Answers::Take;
  const Outcome outcome = plugin_.Call("query_support", [&] { return delegate_->query_support(made_, &graph, &sink); });
  if (!outcome.ok()) {
    plugin_.host().Fault("query_support failed: " + outcome.ToString());
    return std::vector<Answer>(graph.node_count());
  }
  return answers.answers;
}

std::vector<Claim> Instance::Propose(const deputy_graph& graph) {
  // A delegate that only names groups leaves the partitions to the host.
  if (propose_ == nullptr || !DEPUTY_HAS_FN(propose_, deputy_ext_propose, propose)) return {};
  const Shown shown(plugin_.host(), graph);
  Claims claims{plugin_.host(), graph, {}, {}};
  deputy_claim_sink sink{};
  sink.struct_size = sizeof sink;
  sink.self = &claims;
  sink.add = Claims::Add;
  const Outcome outcome = plugin_.Call("propose", [&] { return propose_->propose(made_, &graph, &sink); });
  if (!outcome.ok()) plugin_.host().Fault("propose failed: " + outcome.ToString());
  return claims.claims;
}

void Instance::Release(Claim& claim) {
  if (claim.handle != nullptr) plugin_.CallVoid("claim_release", [&] { propose_->claim_release(made_, claim.handle); });
  claim.handle = nullptr;
}

std::unique_ptr<Executable> Instance::Compile(const deputy_graph& graph, Claim claim, Outcome* outcome) {
  const Shown shown(plugin_.host(), graph);
  static const std::string kName = "conformance/0";
  deputy_partition partition{};
  partition.struct_size = sizeof partition;
  partition.node_count = static_cast<uint32_t>(claim.nodes.size());
  partition.graph = &graph;
  partition.nodes = claim.nodes.data();
  partition.inputs = claim.inputs.data();
  partition.outputs = claim.outputs.data();
  partition.input_count = static_cast<uint32_t>(claim.inputs.size());
  partition.output_count = static_cast<uint32_t>(claim.outputs.size());
  partition.claim = claim.handle;
  partition.name = StrOf(kName);
  deputy_executable* made = nullptr;
  *outcome = plugin_.Call("compile", [&] { return delegate_->compile(made_, &partition, &made); });
  if (outcome->ok() && made == nullptr)
    *outcome = {DEPUTY_INTERNAL, DEPUTY_NO_NODE, "compile succeeded without an executable"};
  return outcome->ok() ? std::make_unique<Executable>(plugin_, delegate_, made) : nullptr;
}

std::optional<Claim> Instance::ClaimAll(const deputy_graph& graph, Answer* refusal) {
  std::optional<Claim> whole;
  for (Claim& claim : Propose(graph)) {
    if (whole || claim.nodes.size() != graph.node_count()) {
      Release(claim);
      continue;
    }
    std::sort(claim.nodes.begin(), claim.nodes.end());
    whole = std::move(claim);
  }
  if (!whole) {
    for (const Answer& answer : Query(graph)) {
      if (answer.reason == DEPUTY_REASON_SUPPORTED) continue;
      *refusal = answer;
      return std::nullopt;
    }
    whole.emplace();
    for (deputy_node_id i = 0; i < graph.node_count(); ++i) whole->nodes.push_back(i);
  }
  if (whole->inputs.empty()) whole->inputs = graph.inputs();
  if (whole->outputs.empty()) whole->outputs = graph.outputs();
  // All nodes are claimed, so the border is that of the graph, in any order.
  if (std::is_permutation(whole->inputs.begin(), whole->inputs.end(), graph.inputs().begin(), graph.inputs().end()) &&
      std::is_permutation(whole->outputs.begin(), whole->outputs.end(), graph.outputs().begin(), graph.outputs().end()))
    return whole;
  plugin_.host().Fault("propose: a claim's inputs and outputs are not those of its nodes");
  Release(*whole);
  *refusal = {DEPUTY_REASON_OTHER, "its claim has the wrong border"};
  return std::nullopt;
}

}  // namespace deputy::conformance
