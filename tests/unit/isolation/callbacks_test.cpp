// A plugin that calls every function of the host in every function of its own, through the whole of the host's checks,
// in this process and in a worker process.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>

#include "base/cancellation.hpp"
#include "base/log.hpp"
#include "graph/inference.hpp"
#include "partition/helpers.hpp"
#include "plugin/discovery/registry.hpp"
#include "support/process_state.hpp"
#include "support/test_graph.hpp"
#include "support/waiting.hpp"
#include "unit/isolation/support.hpp"

namespace deputy::host::testing {
namespace {

bool StartsWith(const std::string& text, std::string_view with) { return text.compare(0, with.size(), with) == 0; }
bool IsOfHelpers(const std::string& slot) { return StartsWith(slot, "deputy_ext_partition_helpers."); }
bool IsOfHost(const std::string& slot) { return StartsWith(slot, "deputy_host.") || IsOfHelpers(slot); }

// Of the tables of a plugin, not of what the host lends it for one call. No extension of a plugin exists that the host
// could ask for.
bool IsOfPlugin(const std::string& slot) {
  if (IsOfHost(slot) || slot == "deputy_plugin.get_extension") return false;
  return StartsWith(slot, "deputy_plugin.") || StartsWith(slot, "deputy_delegate.") || StartsWith(slot, "deputy_ext_");
}

// Functions that have no instance of the delegate, to whose table of the host alone the helpers belong.
bool HasNoInstance(const std::string& slot) {
  for (const char* end : {"_count", "_at", ".get_extension", ".probe", ".check", ".enumerate"})
    if (slot.size() > std::strlen(end) && slot.substr(slot.size() - std::strlen(end)) == end) return true;
  return StartsWith(slot, "deputy_plugin.");
}

// What the plugin says in the log: for each of its functions, how each function of the host answered.
class Report {
 public:
  Report() {
    SetLogLevel(LogLevel::kDebug);
    SetLogSink([this](LogLevel, std::string_view, std::string_view message) { Take(std::string(message)); });
  }
  ~Report() {
    SetLogSink(nullptr);
    SetLogLevel(LogLevel::kInfo);
  }
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  std::set<std::string> Of(const std::string& how, const std::string& slot) { return said_[how][slot]; }
  const std::map<std::string, std::set<std::string>>& wrong() { return said_["wrong"]; }

 private:
  void Take(const std::string& line) {
    std::istringstream words(line);
    std::string how, in, slot;
    words >> how >> in >> slot;
    if (in != "in" || slot.empty() || slot.back() != ':') return;
    slot.pop_back();
    const std::lock_guard lock(mutex_);
    for (std::string function; words >> function;) said_[how][slot].insert(function);
  }

  std::mutex mutex_;
  std::map<std::string, std::map<std::string, std::set<std::string>>> said_;
};

// Two nodes of the delegate, each with a constant, and one of its own operator.
Graph TwoNodesAndAnOwn() {
  Graph graph;
  const ValueType type{DType::kFloat32, true, {4}};
  const float four[] = {1, 2, 3, 4};
  std::vector<ValueId> values;
  for (const char* name : {"x", "first", "second", "own"}) values.push_back(graph.AddValue(name, type));
  const ValueId constant = graph.AddConstant("constant", *Tensor::FromValues<float>(DType::kFloat32, {4}, four));
  graph.nodes.push_back(MakeNode(PrimitiveBuilder("", "Relu", 14), {values[0], constant}, {values[1]}, "first"));
  graph.nodes.push_back(MakeNode(PrimitiveBuilder("", "Relu", 14), {values[1], constant}, {values[2]}, "second"));
  graph.nodes.push_back(MakeNode(PrimitiveBuilder("com.x", "Own", 1), {values[2], constant}, {values[3]}, "own"));
  graph.inputs = {values[0]};
  graph.outputs = {values[3]};
  return graph;
}

// One input and one output of four elements.
struct Tensors {
  alignas(64) float in[4] = {1, -2, 3, -4};
  alignas(64) float out[4] = {};
  const int64_t four = 4;
  deputy_tensor input{}, output{};
  const deputy_tensor* inputs[1] = {&input};
  deputy_tensor* outputs[1] = {&output};

  Tensors() {
    for (deputy_tensor* tensor : {&input, &output}) {
      tensor->struct_size = sizeof *tensor;
      tensor->dtype = DEPUTY_DTYPE_FLOAT32;
      tensor->rank = 1;
      tensor->dims = &four;
      tensor->byte_size = sizeof in;
    }
    input.data = in;
    output.data = out;
  }
  RunArgs args() const { return {inputs, outputs}; }
};

// Ends a run by the function `cancel` of its delegate.
void CancelRun(ExecutionContext& context, Tensors& tensors) {
  std::atomic<uint64_t> when{0};
  CancelHook hook;
  const CancellationToken token{0, &when, &hook};
  RunArgs args = tensors.args();
  args.cancellation = &token;
  args.hints.power_level = 3;  // it waits for its end
  const Canceller canceller([&, run = gettid()] {
    if (!IsAsleep(run)) return;  // the plugin does not wait yet
    when = 1;
    hook.Call();
  });
  EXPECT_EQ(context.Execute(args).code(), StatusCode::kCancelled);
}

void UseContext(ExecutionContext& context) {
  Tensors tensors;
  EXPECT_TRUE(context.SetProfiling(true).ok());
  for (int run = 0; run < 2; ++run) {
    const Status status = context.Execute(tensors.args());
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  EXPECT_EQ(tensors.out[2], 3);
  EXPECT_EQ(tensors.out[3], 0);
  std::vector<ProfileEvent> events;
  context.TakeEvents(events);
  EXPECT_FALSE(events.empty());
  EXPECT_TRUE(context.SetProfiling(false).ok());
  CancelRun(context, tensors);
  deputy_tensor without_data = tensors.input;
  without_data.data = nullptr;
  const deputy_tensor* const shape[] = {&without_data};
  EXPECT_TRUE(context.Resize(shape, shape).ok());
}

void UseOwnOperator(Delegate& delegate, Graph& graph) {
  InferenceOptions options;
  options.foreign = [&](InferenceContext& context) { return delegate.own_operators()->InferOwn(context); };
  const Status inferred = InferGraph(graph, options);
  EXPECT_TRUE(inferred.ok()) << inferred.ToString();
  const std::shared_ptr<Delegate> kernels = delegate.own_operators()->custom_kernels();
  ASSERT_NE(kernels, nullptr);
  const auto kernel = kernels->Compile(OfferAll(graph), {{2}, {2}, {3}, nullptr, "own"});
  ASSERT_TRUE(kernel.ok()) << kernel.status().ToString();
  Tensors tensors;
  const Status run = (*(*kernel)->CreateContext())->Execute(tensors.args());
  EXPECT_TRUE(run.ok()) << run.ToString();
  EXPECT_EQ(tensors.out[3], -4);
}

void UseDelegate(Delegate& delegate, Graph& graph) {
  EXPECT_TRUE(delegate.SetOption("depth", "2").ok());
  EXPECT_EQ(delegate.options().size(), 1u);
  EXPECT_TRUE(StateOf(delegate).has_value());
  UseOwnOperator(delegate, graph);
  const GraphView view = OfferAll(graph);
  std::vector<Verdict> verdicts;
  EXPECT_TRUE(delegate.QuerySupport(view, verdicts).ok());
  EXPECT_TRUE(verdicts[0].supported());
  std::vector<PartitionSpec> claims;
  if (delegate.grouper() != nullptr) {
    EXPECT_TRUE(delegate.grouper()->Groups(view).ok());
  } else {
    auto proposed = delegate.proposer()->Propose(view);
    ASSERT_TRUE(proposed.ok()) << proposed.status().ToString();
    claims = std::move(proposed).value();
  }
  const PartitionSpec partition{{0}, {0}, {1}, claims.empty() ? nullptr : claims.front().claim, "first"};
  EXPECT_TRUE(delegate.estimator()->EstimatePartition(view, partition).ok());
  const auto executable = delegate.Compile(view, partition);
  ASSERT_TRUE(executable.ok()) << executable.status().ToString();
  for (size_t i = 1; i < claims.size(); ++i) delegate.proposer()->ReleaseClaim(claims[i].claim);
  const auto context = (*executable)->CreateContext();
  ASSERT_TRUE(context.ok()) << context.status().ToString();
  UseContext(**context);
  const auto maker = delegate.blobs()->blob_maker();
  ASSERT_TRUE(maker.ok()) << maker.status().ToString();
  EXPECT_TRUE(delegate.blobs()->CheckBlob("able format 1").ok());
  const auto bytes = (*executable)->Serialize(1 << 20);
  ASSERT_TRUE(bytes.ok()) << bytes.status().ToString();
  const auto kept = std::make_shared<std::vector<uint8_t>>(*bytes);
  const auto restored = delegate.blobs()->Restore(view, {{0}, {0}, {1}, nullptr, "first"}, Blob{*kept, kept});
  EXPECT_TRUE(restored.ok()) << restored.status().ToString();
}

// From init to shutdown.
void UseAll(const deputy_plugin* table, std::shared_ptr<void> keep) {
  ThreadPool pool(3);
  PluginRegistry registry;
  const Status added = registry.AddInProcess(table, std::move(keep));
  ASSERT_TRUE(added.ok()) << added.ToString();
  Graph graph = TwoNodesAndAnOwn();
  for (const std::string& id : registry.delegate_ids()) {
    SCOPED_TRACE(id);
    OpenRequest request;
    request.delegate = request.name = id;
    request.pool = &pool;
    request.helpers = &DefaultPartitionHelpers();
    const auto delegate = registry.Open(request);
    ASSERT_TRUE(delegate.ok()) << delegate.status().ToString();
    UseDelegate(**delegate, graph);
  }
}

class CallBack : public ::testing::TestWithParam<bool> {};

TEST_P(CallBack, R121_EachFunctionOfTheHostIsAnsweredInEachFunctionOfAPlugin) {
  alarm(60);  // a deadlock ends the process
  Report report;
  if (GetParam()) {
    std::shared_ptr<RemotePlugin> remote = Remote(CALLS_BACK_PLUGIN);
    ASSERT_NE(remote, nullptr);
    const deputy_plugin* const table = remote->table();
    UseAll(table, std::move(remote));
  } else {
    UseAll(InProcess(CALLS_BACK_PLUGIN), nullptr);
  }
  alarm(0);
  for (const auto& [slot, functions] : report.wrong())
    for (const std::string& function : functions) ADD_FAILURE() << function << " in " << slot << " is answered wrongly";
  size_t pairs = 0;
  for (const std::string slot : kSlots) {
    if (!IsOfPlugin(slot)) continue;
    const std::set<std::string> right = report.Of("right", slot), absent = report.Of("absent", slot);
    for (const std::string function : kSlots) {
      if (!IsOfHost(function)) continue;
      ++pairs;
      const bool may_lack = IsOfHelpers(function) && HasNoInstance(slot) && absent.count(function) != 0;
      EXPECT_TRUE(right.count(function) != 0 || may_lack) << function << " is not called in " << slot;
    }
  }
  EXPECT_GT(pairs, 900u);
}

INSTANTIATE_TEST_SUITE_P(Modes, CallBack, ::testing::Bool(),
                         [](const auto& mode) { return mode.param ? "InAWorkerProcess" : "InProcess"; });

}  // namespace
}  // namespace deputy::host::testing
