// Graphs, valid or not, through every call that a plugin gets about them: support query, groups, estimate and compile
// of each node and of all together, whatever was answered; and execute of what compiled. The host's own checks are not
// here: a plugin may neither crash nor return what it does not know, whatever it is shown.
#include "fuzz/plugin_run.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>

#include "deputy/abi/ext/estimate.h"
#include "deputy/abi/ext/propose.h"
#include "fuzz/shown_graph.hpp"
#include "fuzz/target.hpp"
#include "support/plain_calls.hpp"

extern "C" const deputy_plugin* deputy_plugin_query_v1(uint32_t host_abi, const void* reserved);

namespace deputy::fuzz {
namespace {

constexpr int64_t kMostElements = 4096, kMostElementsTogether = 1 << 14;  // of what is run

bool TakeStatus(deputy_status* status, const char* call) {
  if (status == nullptr) return true;
  const std::unique_ptr<deputy_status> taken(status);
  Require(!taken->message.empty(), "a failure has a message", call);
  Require(taken->code != DEPUTY_INTERNAL && taken->code != DEPUTY_UNKNOWN && taken->code != DEPUTY_OK,
          "a graph is no internal error", call + (": " + taken->message));
  return false;
}

struct Opened {
  const deputy_delegate* delegate = nullptr;
  deputy_instance* instance = nullptr;

  template <class Table>
  const Table* Extension(const char* id) const {
    return delegate->get_extension == nullptr ? nullptr
                                              : static_cast<const Table*>(delegate->get_extension(delegate, id));
  }
};

// Opened once and never closed: the plugin's state lives as long as in a host that sees many models.
const std::vector<Opened>& Instances() {
  static const auto* const instances = new std::vector<Opened>([] {
    const deputy_plugin* plugin = deputy_plugin_query_v1(DEPUTY_ABI_VERSION, nullptr);
    Require(plugin != nullptr && plugin->delegate_count(plugin) == 1, "the plugin has one delegate");
    if (plugin->init != nullptr) Require(TakeStatus(plugin->init(plugin, ShowingHost()), "init"), "the plugin begins");
    std::vector<Opened> opened;
    for (const PluginOptions& options : OptionsOfThePlugin()) {
      std::vector<deputy_kv> pairs;
      for (const auto& [key, value] : options)
        pairs.push_back({{key.c_str(), key.size()}, {value.c_str(), value.size()}});
      Opened one{plugin->delegate_at(plugin, 0), nullptr};
      const deputy_open_args args{sizeof args, 0, ShowingHost(), {"plugin", 6}, {"", 0}, pairs.data(), pairs.size(), 1};
      Require(TakeStatus(one.delegate->open(one.delegate, &args, &one.instance), "open"), "the delegate opens");
      opened.push_back(one);
    }
    return opened;
  }());
  return *instances;
}

std::vector<deputy_node_id> SupportedBy(const Opened& opened, const ShownGraph& graph) {
  struct Answers {
    const ShownGraph& graph;
    std::vector<deputy_node_id> supported;
  } answers{graph, {}};
  const deputy_support_sink sink{sizeof sink, 0, &answers,
                                 [](void* self, deputy_node_id node, deputy_reason reason, deputy_str) {
                                   auto& all = *static_cast<Answers*>(self);
                                   Require(node < all.graph.nodes().size(), "an answer is about a node of the graph");
                                   Require(reason <= DEPUTY_REASON_OTHER, "the reason is known");
                                   if (reason == DEPUTY_REASON_SUPPORTED) all.supported.push_back(node);
                                 }};
  TakeStatus(opened.delegate->query_support(opened.instance, graph.handle(), &sink), "query_support");
  std::sort(answers.supported.begin(), answers.supported.end());
  return answers.supported;
}

void AskGroups(const Opened& opened, const ShownGraph& graph) {
  const auto* table = opened.Extension<deputy_ext_propose>(DEPUTY_EXT_PROPOSE);
  if (table == nullptr || table->groups == nullptr) return;
  size_t nodes = graph.nodes().size();
  const deputy_group_sink sink{sizeof sink, 0, &nodes, [](void* self, const deputy_group* group) -> deputy_status* {
                                 for (uint32_t i = 0; i < group->node_count; ++i)
                                   Require(group->nodes[i] < *static_cast<size_t*>(self), "a group names nodes");
                                 return nullptr;
                               }};
  TakeStatus(table->groups(opened.instance, graph.handle(), &sink), "groups");
}

// A tensor of exactly its elements, on the heap; nothing where it is too large to be run, or has no known size.
struct RunTensor {
  deputy_tensor tensor{};
  std::unique_ptr<unsigned char[]> bytes;
};

bool MakeTensors(const ShownGraph& graph, const std::vector<deputy_value_id>& values, std::deque<RunTensor>& tensors,
                 std::vector<const deputy_tensor*>& pointers, int64_t& together) {
  for (const deputy_value_id id : values) {
    const deputy_value_info& info = graph.values()[id];
    if ((info.flags & DEPUTY_VALUE_SHAPE_KNOWN) == 0 || info.dtype == DEPUTY_DTYPE_STRING) return false;
    int64_t count = 1;
    for (uint32_t i = 0; i < info.rank; ++i) {
      if (info.dims[i] != 0 && count > kMostElements / info.dims[i]) return false;
      count *= info.dims[i];
    }
    together += count;
    RunTensor& made = tensors.emplace_back();
    made.tensor.struct_size = sizeof made.tensor;
    made.tensor.dtype = info.dtype;
    made.tensor.rank = info.rank;
    made.tensor.dims = info.dims;
    made.tensor.byte_size = static_cast<uint64_t>(count) * BytesPerElement(info.dtype);
    made.bytes = std::make_unique<unsigned char[]>(made.tensor.byte_size);
    for (uint64_t i = 0; i < made.tensor.byte_size; ++i) made.bytes[i] = static_cast<unsigned char>(i * 37 % 61);
    made.tensor.data = made.bytes.get();
    pointers.push_back(&made.tensor);
  }
  return together <= kMostElementsTogether;
}

// Every value between is as small, so that the run ends soon.
bool IsSmall(const ShownGraph& graph) {
  return std::all_of(graph.values().begin(), graph.values().end(), [](const deputy_value_info& info) {
    int64_t count = 1;
    for (uint32_t i = 0; i < info.rank; ++i) {
      if (info.dims[i] > 0 && count > kMostElements / info.dims[i]) return false;
      count *= std::max<int64_t>(1, info.dims[i]);
    }
    return true;
  });
}

void Run(const Opened& opened, deputy_executable* executable, const ShownGraph& graph,
         const ShownGraph::Border& border) {
  std::deque<RunTensor> tensors;
  std::vector<const deputy_tensor*> inputs, outputs;
  int64_t together = 0;
  if (!IsSmall(graph) || !MakeTensors(graph, border.inputs, tensors, inputs, together) ||
      !MakeTensors(graph, border.outputs, tensors, outputs, together))
    return;
  deputy_context* context = nullptr;
  if (!TakeStatus(opened.delegate->context_create(executable, &plain::kPlainContext, &context), "context_create"))
    return;
  deputy_run_args args{};
  args.struct_size = sizeof args;
  args.input_count = static_cast<uint32_t>(inputs.size());
  args.output_count = static_cast<uint32_t>(outputs.size());
  args.inputs = inputs.data();
  args.outputs = outputs.data();
  for (args.run = 1; args.run <= 2; ++args.run)
    if (!TakeStatus(opened.delegate->execute(context, &args), "execute")) break;
  opened.delegate->context_destroy(context);
}

void TryPartition(const Opened& opened, const ShownGraph& graph, const std::vector<deputy_node_id>& nodes) {
  const ShownGraph::Border border = graph.BorderOf(nodes);
  deputy_partition partition{};
  partition.struct_size = sizeof partition;
  partition.node_count = static_cast<uint32_t>(nodes.size());
  partition.graph = graph.handle();
  partition.nodes = nodes.data();
  partition.inputs = border.inputs.data();
  partition.outputs = border.outputs.data();
  partition.input_count = static_cast<uint32_t>(border.inputs.size());
  partition.output_count = static_cast<uint32_t>(border.outputs.size());
  partition.name = {"plugin/0", 8};
  if (const auto* table = opened.Extension<deputy_ext_estimate>(DEPUTY_EXT_ESTIMATE)) {
    const deputy_estimate_sink sink{sizeof sink, 0, nullptr, [](void*, const deputy_estimate*) {}};
    TakeStatus(table->estimate(opened.instance, &partition, &sink), "estimate");
  }
  const plain::PlainCompile call(&partition);
  deputy_executable* executable = nullptr;
  if (!TakeStatus(opened.delegate->compile(opened.instance, call.args(), &executable), "compile")) return;
  Require(executable != nullptr, "compile gives an executable");
  Run(opened, executable, graph, border);
  opened.delegate->executable_destroy(executable);
}

}  // namespace

void MutateInput(Bytes& input, Random& random) {
  if (random.OneIn(16)) return ChangeBytes(input, random, 8 * 1024);
  PluginGraph graph = ReadPluginGraph(input);
  ChangePluginGraph(graph, random);
  input = WritePluginGraph(graph);
}

void CheckInput(std::span<const uint8_t> input) {
  const PluginGraph read = ReadPluginGraph(input);
  const ShownGraph graph(read);
  std::vector<deputy_node_id> all;
  for (const deputy_node_info& node : graph.nodes()) all.push_back(node.id);
  if (all.empty()) return;
  for (const Opened& opened : Instances()) {
    const std::vector<deputy_node_id> supported = SupportedBy(opened, graph);
    AskGroups(opened, graph);
    for (const deputy_node_id node : all) TryPartition(opened, graph, {node});
    if (supported.size() > 1 && graph.IsClosed(supported)) TryPartition(opened, graph, supported);
    if (all.size() > 1 && all.size() != supported.size()) TryPartition(opened, graph, all);
  }
}

}  // namespace deputy::fuzz
