#include "instance.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <set>

#include "guarded_buffer.hpp"
#include "text.hpp"

namespace deputy::conformance {

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

deputy_partition PartitionOf(const deputy_graph& graph, const Claim& claim) {
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
  return partition;
}

CompileCall::CompileCall(HostServices& host, const deputy_partition& partition, const CompileSettings& settings)
    : control_{sizeof control_, 0, &host, settings.cancelled ? [](void*) { return 1u; } : [](void*) { return 0u; },
               CheckProgress} {
  args_.struct_size = sizeof args_;
  args_.flags = settings.flags;
  args_.partition = &partition;
  args_.priority = settings.priority;
  args_.deadline_ns = settings.deadline_ns;
  precision_ = settings.of_nodes;
  if (settings.precision != DEPUTY_DTYPE_UNDEFINED)
    for (uint32_t i = 0; i < partition.node_count; ++i) precision_.push_back({partition.nodes[i], settings.precision});
  args_.precision = precision_.empty() ? nullptr : precision_.data();
  args_.precision_count = precision_.size();
  args_.control = &control_;
}

void CompileCall::CheckProgress(void* self, uint32_t permille, deputy_str step) {
  HostServices& host = HostServices::Of(self);
  if (permille > 1000) host.Fault("compile: its progress is " + std::to_string(permille) + " of 1000");
  const std::string wrong = FaultOf(step, true);
  if (!wrong.empty()) host.Fault("compile: a step of its progress " + wrong);
}

Instance::Instance(Plugin& plugin, const deputy_delegate* delegate, deputy_instance* made, uint64_t domain)
    : plugin_(plugin),
      delegate_(delegate),
      made_(made),
      domain_(domain),
      propose_(static_cast<const deputy_ext_propose*>(
          plugin.Extension(delegate, DEPUTY_EXT_PROPOSE, DEPUTY_END_OF(deputy_ext_propose, claim_release)))) {
  if (propose_ == nullptr || (propose_->propose == nullptr) == (propose_->claim_release == nullptr)) return;
  plugin.host().Fault("the table of " DEPUTY_EXT_PROPOSE " has one of propose and claim_release without the other");
  propose_ = nullptr;
}

bool Instance::proposes() const { return propose_ != nullptr && propose_->propose != nullptr; }
bool Instance::names_groups() const {
  return propose_ != nullptr && !proposes() && DEPUTY_HAS_FN(propose_, deputy_ext_propose, groups);
}

std::vector<std::string> DevicesOf(Plugin& plugin, const deputy_delegate* delegate) {
  std::vector<std::string> ids;
  const auto* devices = static_cast<const deputy_ext_devices*>(
      plugin.Extension(delegate, DEPUTY_EXT_DEVICES, DEPUTY_END_OF(deputy_ext_devices, enumerate)));
  if (devices == nullptr) return ids;
  deputy_device_sink sink{};
  sink.struct_size = sizeof sink;
  sink.self = &ids;
  sink.add = [](void* self, const deputy_device_info* device) -> deputy_status* {
    static_cast<std::vector<std::string>*>(self)->push_back(TextOf(device->id));
    return nullptr;
  };
  (void)plugin.Call("enumerate", [&] { return devices->enumerate(delegate, plugin.host().table(), &sink); });
  return ids;
}

std::unique_ptr<Instance> Instance::Open(Plugin& plugin, const deputy_delegate* delegate, const OptionList& options,
                                         Outcome* outcome, const std::string& name, uint32_t flags,
                                         const std::string& device) {
  std::deque<GuardedText> texts;
  const auto guarded = [&](const char* what, const std::string& text) { return texts.emplace_back(what, text).str(); };
  std::vector<deputy_kv> values;
  for (const auto& [key, value] : options)
    values.push_back({guarded("the name of an option", key), guarded("the value of an option", value)});
  deputy_open_args args{};
  args.struct_size = sizeof args;
  args.host = plugin.host().table();
  static std::atomic<uint64_t> opened{0};
  std::string id = device;
  if (id.empty() && (flags & DEPUTY_OPEN_COMPILE_ONLY) == 0)
    if (const std::vector<std::string> devices = DevicesOf(plugin, delegate); !devices.empty()) id = devices.front();
  args.name = guarded("the name of the instance", name);
  args.device = guarded("the id of the device", id);
  args.domain = ++opened;
  args.options = values.data();
  args.option_count = values.size();
  args.flags = flags;
  deputy_instance* made = nullptr;
  *outcome = plugin.Call("open", [&] { return delegate->open(delegate, &args, &made); });
  if (outcome->ok() && made == nullptr)
    *outcome = {DEPUTY_INTERNAL, DEPUTY_NO_NODE, "open succeeded without an instance"};
  if (!outcome->ok()) return nullptr;
  return std::unique_ptr<Instance>(new Instance(plugin, delegate, made, args.domain));
}

Instance::~Instance() {
  plugin_.CallVoid("close", [&] { delegate_->close(made_); });
}

namespace {

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

struct GroupList {
  HostServices& host;
  const deputy_graph& graph;
  std::vector<std::vector<deputy_node_id>> groups;
  std::set<deputy_node_id> taken;

  std::string Wrong(const deputy_group& group) const {
    if (group.nodes == nullptr || group.node_count < 2) return "a group has less than two nodes";
    std::set<deputy_node_id> own;
    for (uint32_t i = 0; i < group.node_count; ++i) {
      const deputy_node_id node = group.nodes[i];
      if (node >= graph.node_count()) return "a group has a node that does not exist";
      if (!own.insert(node).second) return "a group has a node twice";
      if (taken.count(node) != 0) return "two groups have one node";
    }
    return "";
  }

  static deputy_status* Add(void* self, const deputy_group* group) {
    auto& all = *static_cast<GroupList*>(self);
    const std::string wrong = all.Wrong(*group);
    if (!wrong.empty()) {
      all.host.Fault("groups: " + wrong);
      return all.host.NewStatus(DEPUTY_INVALID_ARGUMENT, DEPUTY_NO_NODE, wrong);
    }
    all.groups.emplace_back(group->nodes, group->nodes + group->node_count);
    all.taken.insert(group->nodes, group->nodes + group->node_count);
    return nullptr;
  }
};

}  // namespace

std::vector<std::vector<deputy_node_id>> Instance::Groups(const deputy_graph& graph) {
  if (!names_groups()) return {};
  const ShownGraph shown(plugin_.host(), graph);
  GroupList list{plugin_.host(), graph, {}, {}};
  deputy_group_sink sink{};
  sink.struct_size = sizeof sink;
  sink.self = &list;
  sink.add = GroupList::Add;
  const Outcome outcome = plugin_.Call("groups", [&] { return propose_->groups(made_, &graph, &sink); });
  if (!outcome.ok()) plugin_.host().Fault("groups failed: " + outcome.ToString());
  return list.groups;
}

std::vector<Answer> Instance::Query(const deputy_graph& graph) {
  const ShownGraph shown(plugin_.host(), graph);
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
  // For a delegate that only names groups the host forms the partitions.
  if (!proposes()) return {};
  const ShownGraph shown(plugin_.host(), graph);
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

std::unique_ptr<Executable> Instance::Compile(const deputy_graph& graph, Claim claim, Outcome* outcome,
                                              const CompileSettings& settings) {
  const ShownGraph shown(plugin_.host(), graph);
  const deputy_partition partition = PartitionOf(graph, claim);
  deputy_executable* made = nullptr;
  const CompileCall compile(plugin_.host(), partition, settings);
  *outcome = plugin_.Call("compile", [&] { return delegate_->compile(made_, compile.args(), &made); });
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
  if (!whole && proposes()) {
    *refusal = {DEPUTY_REASON_OTHER, "it claims not all nodes together"};
    return std::nullopt;
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
  // All nodes are claimed, so that the inputs and outputs are those of the graph, in any order.
  if (std::is_permutation(whole->inputs.begin(), whole->inputs.end(), graph.inputs().begin(), graph.inputs().end()) &&
      std::is_permutation(whole->outputs.begin(), whole->outputs.end(), graph.outputs().begin(), graph.outputs().end()))
    return whole;
  plugin_.host().Fault("propose: a claim's inputs and outputs are not those of its nodes");
  Release(*whole);
  *refusal = {DEPUTY_REASON_OTHER, "its claim has the wrong inputs or outputs"};
  return std::nullopt;
}

}  // namespace deputy::conformance
