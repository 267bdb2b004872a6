// Whatever a vendor's function throws, the host gets a status: one test for each function of the tables that returns
// one. (claim_release returns none: refusals_test.cpp.)
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "deputy/sdk/sdk.hpp"
#include "unit/sdk/fake_host.hpp"

namespace deputy::sdk {
namespace {

// The function that throws.
std::string throws_in;

void MayThrow(const char* function) {
  if (throws_in == function) throw std::runtime_error(std::string("thrown in ") + function);
}

class ThrowingContext final : public ExecutionContext {
 public:
  Status Execute(const RunArgs&) override {
    MayThrow("Execute");
    return {};
  }
  Result<ResizeOutcome> Resize(const ResizeArgs&) override {
    MayThrow("Resize");
    return ResizeOutcome::kDone;
  }
  Status CollectEvents(const Profiler&) override {
    MayThrow("CollectEvents");
    return {};
  }
  MemoryWish WishOf(size_t) override {
    MayThrow("WishOf");
    return {true, 0, 64};
  }
  Status Submit(SubmittedRun& run) override {
    MayThrow("Submit");
    run.End({});
    return {};
  }
  void Cancel() override { MayThrow("Cancel"); }
};

class ThrowingExecutable final : public Executable {
 public:
  Result<std::unique_ptr<ExecutionContext>> CreateContext() override {
    MayThrow("CreateContext");
    return std::make_unique<ThrowingContext>();
  }
  Status Serialize(BlobWriter&) const override {
    MayThrow("Serialize");
    return {};
  }
  Status DescribeEvents(DebugMap&) const override {
    MayThrow("DescribeEvents");
    return {};
  }
};

class ThrowingDelegate final : public PartitionDelegate {
 public:
  static constexpr uint32_t kExtensions =
      kBlobs | kResizes | kProfiles | kDeviceClock | kMemory | kImports | kAsync | kQueues;
  static OptionSchema Options() { return OptionSchema().Int("threads", 1, 1, 8, "threads to use"); }
  static Status Probe(const Host&) {
    MayThrow("Probe");
    return {};
  }
  static Status CheckBlob(const Host&, std::string_view) {
    MayThrow("CheckBlob");
    return {};
  }
  static Result<std::vector<DeviceDescription>> Devices(const Host&) {
    MayThrow("Devices");
    return std::vector<DeviceDescription>{{"0", "thrower 0"}};
  }
  static OwnOperators Operators() {
    OwnOperator thrower("com.example", "Thrower", 1);
    thrower.Infers([](const NodeView&, OutputTypes&) -> Status {
      MayThrow("Infers");
      return {};
    });
    thrower.Computes([](const deputy::sdk::Host&, const NodeView&, const RunArgs&) -> Status {
      MayThrow("Computes");
      return {};
    });
    return {thrower};
  }

  Status Init() override {
    MayThrow("Init");
    return {};
  }
  Result<uint64_t> AllocateBuffer(const BufferRequest&) override {
    MayThrow("AllocateBuffer");
    return uint64_t{1};
  }
  Result<uint64_t> ImportBuffer(const SharedMemory&) override {
    MayThrow("ImportBuffer");
    return uint64_t{2};
  }
  void ReleaseBuffer(uint64_t) override { MayThrow("ReleaseBuffer"); }
  Status CopyBytes(const CopySide&, const CopySide&, uint64_t) override {
    MayThrow("CopyBytes");
    return {};
  }
  QueueLimits queue_limits() const override {
    MayThrow("queue_limits");
    return {};
  }
  QueueChoice Choose(Span<const deputy_ready_run* const>) override {
    MayThrow("Choose");
    return {};
  }
  void Look(const GraphView&) override { MayThrow("Look"); }
  Verdict Supports(const NodeView&) override {
    MayThrow("Supports");
    return Verdict::Yes();
  }
  Status Groups(const GraphView&, const GroupSink&) override {
    MayThrow("Groups");
    return {};
  }
  Result<PartitionEstimate> Estimate(const PartitionView&) override {
    MayThrow("Estimate");
    return PartitionEstimate();
  }
  Concurrency concurrency() const override {
    MayThrow("concurrency");
    return {};
  }
  Result<std::unique_ptr<Executable>> Compile(const PartitionView&) override {
    MayThrow("Compile");
    return std::make_unique<ThrowingExecutable>();
  }
  Result<std::unique_ptr<Executable>> Restore(const PartitionView&, Blob) override {
    MayThrow("Restore");
    return std::make_unique<ThrowingExecutable>();
  }
  Result<DeviceState> device_state() const override {
    MayThrow("device_state");
    return DeviceState{};
  }
  std::string OptionInForce(const std::string& name) const override {
    MayThrow("OptionInForce");
    return PartitionDelegate::OptionInForce(name);
  }
  std::string BlobCompatibility() const override {
    MayThrow("BlobCompatibility");
    return "format 1";
  }
  Result<ClockPair> CorrelateClocks() const override {
    MayThrow("CorrelateClocks");
    return ClockPair{};
  }
};

class ThrowingBuilder final : public Delegate {
 public:
  Status Init() override { return {}; }
  Status Build(DelegateModel*) override {
    MayThrow("Build");
    return {};
  }
};

deputy_str Text(const char* text) { return {text, std::string_view(text).size()}; }

int released = 0;

// Calls every function of the tables in the order of life, as far as it gets, and hands out the first failure.
fake::StatusPtr LiveThrough(fake::Host& host, const deputy_delegate* table) {
  const auto extension = [&](const char* id) { return table->get_extension(table, id); };
  const auto* options = static_cast<const deputy_ext_options*>(extension(DEPUTY_EXT_OPTIONS));
  const auto* control = static_cast<const deputy_ext_device_control*>(extension(DEPUTY_EXT_DEVICE_CONTROL));
  const auto* blobs = static_cast<const deputy_ext_blob*>(extension(DEPUTY_EXT_BLOB));
  const auto* resize = static_cast<const deputy_ext_resize*>(extension(DEPUTY_EXT_RESIZE));
  const auto* profiling = static_cast<const deputy_ext_profiling*>(extension(DEPUTY_EXT_PROFILING));
  const auto* operators = static_cast<const deputy_ext_operators*>(extension(DEPUTY_EXT_OPERATORS));
  const auto* memory = static_cast<const deputy_ext_memory*>(extension(DEPUTY_EXT_MEMORY));
  const auto* async = static_cast<const deputy_ext_async*>(extension(DEPUTY_EXT_ASYNC));
  const auto* queues = static_cast<const deputy_ext_scheduling*>(extension(DEPUTY_EXT_SCHEDULING));
  const auto* devices = static_cast<const deputy_ext_devices*>(extension(DEPUTY_EXT_DEVICES));
  const auto* propose = static_cast<const deputy_ext_propose*>(extension(DEPUTY_EXT_PROPOSE));
  const auto* estimate = static_cast<const deputy_ext_estimate*>(extension(DEPUTY_EXT_ESTIMATE));
  const auto* concurrency = static_cast<const deputy_ext_concurrency*>(extension(DEPUTY_EXT_CONCURRENCY));

  fake::StatusPtr failure(table->probe(table, host.table()));
  const auto call = [&](const std::function<deputy_status*()>& function) {
    if (failure == nullptr) failure.reset(function());
  };
  deputy_type_sink types{
      sizeof types, 0, nullptr,
      [](void*, uint32_t, deputy_dtype, const int64_t*, uint32_t) -> deputy_status* { return nullptr; }};
  deputy_run_args run{};
  run.struct_size = sizeof run;
  deputy_device_sink found{sizeof found, 0, nullptr,
                           [](void*, const deputy_device_info*) -> deputy_status* { return nullptr; }};
  deputy_group_sink groups{sizeof groups, 0, nullptr,
                           [](void*, const deputy_group*) -> deputy_status* { return nullptr; }};
  deputy_estimate_sink answers{sizeof answers, 0, nullptr, [](void*, const deputy_estimate*) {}};
  uint32_t overlaps = 0;
  call([&] { return devices->enumerate(table, host.table(), &found); });
  call([&] { return blobs->check(table, host.table(), Text("format 1")); });
  call([&] { return operators->infer(table, host.table(), host.graph(), 0, &types); });
  call([&] { return operators->compute(table, host.table(), host.graph(), 0, &run); });
  if (failure != nullptr) return failure;

  fake::Opened opened(host, table);
  if (!opened.ok()) return fake::StatusPtr(new deputy_status(*opened.failure()));
  char buffer[64];
  uint64_t size = 0, host_ns = 0, device_ns = 0;
  deputy_device_state state{};
  state.struct_size = sizeof state;
  call([&] { return options->get_option(opened.instance(), Text("threads"), buffer, sizeof buffer, &size); });
  call([&] { return control->device_state(opened.instance(), &state); });
  call([&] { return blobs->compatibility(opened.instance(), buffer, sizeof buffer, &size); });
  call([&] { return profiling->correlate(opened.instance(), &device_ns, &host_ns); });
  call([&] { return concurrency->concurrency(opened.instance(), &overlaps); });
  const deputy_buffer_request request{sizeof request, 0, 4, 64};
  const deputy_copy_side side{sizeof side, 0, nullptr, 1, 0};
  deputy_copy_args copy{};
  copy.struct_size = sizeof copy;
  copy.from = copy.to = &side;
  uint64_t handle = 0;
  deputy_async_run* under_way = nullptr;
  call([&] { return memory->allocate(opened.instance(), &request, &handle); });
  const deputy_shared_buffer shared{sizeof shared, DEPUTY_MEMORY_HANDLE_MEMFD, -1, 0, 1, {}, nullptr, 0, 0, 0};
  call([&] { return memory->import(opened.instance(), &shared, &handle); });
  call([&] { return memory->copy(opened.instance(), &copy, &under_way); });
  deputy_queue_limits limits{};
  limits.struct_size = sizeof limits;
  uint32_t chosen = 0, queue = 0;
  call([&] { return queues->limits(opened.instance(), &limits); });
  call([&] { return queues->choose(opened.instance(), nullptr, 0, &chosen, &queue); });
  call([&] { return opened.QuerySupport().release(); });
  call([&] { return propose->groups(opened.instance(), host.graph(), &groups); });
  deputy_executable *executable = nullptr, *restored = nullptr;
  deputy_context* context = nullptr;
  call([&] { return opened.Compile({{0}, {0}, {1}, nullptr}, &executable).release(); });
  const deputy_node_id node = 0;
  const deputy_value_id in = 0, out = 1;
  deputy_partition partition{sizeof partition, 1, host.graph(), &node, &in, &out, 1, 1, nullptr, Text("part")};
  call([&] { return estimate->estimate(opened.instance(), &partition, &answers); });
  deputy_blob blob{sizeof blob, 0, "bytes", 5, nullptr, [](void*) { ++released; }};
  const deputy::plain::PlainCompile plain(&partition);
  call([&] { return blobs->restore(opened.instance(), plain.args(), &blob, &restored); });
  deputy_blob_sink bytes{sizeof bytes, 0, nullptr,
                         [](void*, const void*, uint64_t) -> deputy_status* { return nullptr; }};
  deputy_debug_map_sink map{sizeof map, 0, nullptr,
                            [](void*, uint32_t, const deputy_node_id*, uint64_t) -> deputy_status* { return nullptr; }};
  deputy_profile_sink events{sizeof events, 0, nullptr, [](void*, const deputy_profile_event*) {}};
  deputy_resize_args shapes{};
  shapes.struct_size = sizeof shapes;
  deputy_resize_outcome outcome = DEPUTY_RESIZE_DONE;
  call([&] { return blobs->serialize(executable, &bytes); });
  call([&] { return profiling->debug_map(executable, &map); });
  call([&] { return table->context_create(executable, &deputy::plain::kPlainContext, &context); });
  deputy_memory_wish wish{};
  wish.struct_size = sizeof wish;
  call([&] { return memory->wish_of(context, 0, &wish); });
  call([&] { return resize->resize(context, &shapes, &outcome); });
  call([&] { return profiling->set_profiling(context, &events); });
  call([&] { return table->execute(context, &run); });
  call([&] { return profiling->collect(context, &events); });
  deputy_async_args submitted{};
  submitted.struct_size = sizeof submitted;
  submitted.run = &run;
  deputy_async_run* made = nullptr;
  call([&] { return async->submit(context, &submitted, &made); });
  call([&] { return async->cancel(made); });
  if (made != nullptr) async->run_destroy(made);
  if (context != nullptr) table->context_destroy(context);
  if (restored != nullptr) table->executable_destroy(restored);
  if (executable != nullptr) table->executable_destroy(executable);
  return failure;
}

class ThrownIn : public testing::TestWithParam<const char*> {
 protected:
  ThrownIn() {
    throws_in = GetParam();
    released = 0;
    host_.AddChain({"Thrower"});
    host_.nodes[0].domain = "com.example";
  }
  ~ThrownIn() override { throws_in.clear(); }

  InProcessPlugin plugin_ = MakeInProcessPlugin(std::make_shared<ThrowingDelegate>());
  fake::Host host_;
};

TEST_P(ThrownIn, BecomesAStatus) {
  const fake::StatusPtr failure = LiveThrough(host_, plugin_.plugin->delegate_at(plugin_.plugin, 0));
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->code, DEPUTY_INTERNAL);
  EXPECT_EQ(failure->message, std::string("thrown in ") + GetParam());
}

INSTANTIATE_TEST_SUITE_P(Function, ThrownIn,
                         testing::Values("Probe", "CheckBlob", "Infers", "Computes", "Init", "OptionInForce", "Devices",
                                         "device_state", "BlobCompatibility", "CorrelateClocks", "concurrency", "Look",
                                         "Supports", "Groups", "Estimate", "Compile", "Restore", "Serialize",
                                         "DescribeEvents", "CreateContext", "Resize", "Execute", "CollectEvents",
                                         "AllocateBuffer", "ImportBuffer", "CopyBytes", "WishOf", "Submit", "Cancel",
                                         "queue_limits", "Choose"),
                         [](const testing::TestParamInfo<const char*>& one) { return std::string(one.param); });

class ReleaseThrows : public ThrownIn {};

TEST_P(ReleaseThrows, IsLoggedAndEndsThere) {
  const deputy_delegate* const table = plugin_.plugin->delegate_at(plugin_.plugin, 0);
  fake::Opened opened(host_, table);
  static_cast<const deputy_ext_memory*>(table->get_extension(table, DEPUTY_EXT_MEMORY))->release(opened.instance(), 1);
  ASSERT_EQ(host_.log.size(), 1u);
  EXPECT_NE(host_.log[0].find("an exception escaped while a buffer was released"), std::string::npos) << host_.log[0];
}
INSTANTIATE_TEST_SUITE_P(AtAll, ReleaseThrows, testing::Values("ReleaseBuffer"));

class BuildThrows : public ThrownIn {};

TEST_P(BuildThrows, BecomesAStatusOfPropose) {
  const InProcessPlugin plugin = MakeInProcessPlugin(std::make_shared<ThrowingBuilder>());
  fake::Opened opened(host_, plugin.plugin->delegate_at(plugin.plugin, 0));
  const fake::StatusPtr failure = opened.Propose();
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->message, "thrown in Build");
}
INSTANTIATE_TEST_SUITE_P(AtAll, BuildThrows, testing::Values("Build"));

class NothingThrown : public ThrownIn {};

TEST_P(NothingThrown, GetsToTheEnd) {
  EXPECT_EQ(LiveThrough(host_, plugin_.plugin->delegate_at(plugin_.plugin, 0)), nullptr);
  EXPECT_EQ(released, 1);
}
INSTANTIATE_TEST_SUITE_P(AtAll, NothingThrown, testing::Values("nowhere"));

class RestoreThrows : public ThrownIn {};

TEST_P(RestoreThrows, ReleasesItsBlobOnce) {
  LiveThrough(host_, plugin_.plugin->delegate_at(plugin_.plugin, 0));
  EXPECT_EQ(released, 1);
}
INSTANTIATE_TEST_SUITE_P(AtAll, RestoreThrows, testing::Values("Restore"));

}  // namespace
}  // namespace deputy::sdk
