// A delegate that answers per node, through the C tables; and what both kinds share: opening, options, device,
// versions.
#include <gtest/gtest.h>

#include <stdexcept>

#include "deputy/sdk/sdk.hpp"
#include "unit/sdk/fake_host.hpp"

namespace deputy::sdk {
namespace {

class DoubleContext final : public ExecutionContext {
 public:
  Status Execute(const RunArgs& run) override {
    for (size_t i = 0; i < run.output(0).values<float>().size(); ++i)
      run.output(0).values<float>()[i] = 2 * run.input(0).values<float>()[i];
    return {};
  }
};

class DoubleExecutable final : public Executable {
 public:
  Result<std::unique_ptr<ExecutionContext>> CreateContext() override { return std::make_unique<DoubleContext>(); }
};

class PartitioningDelegate : public PartitionDelegate {
 public:
  static OptionSchema Options() { return OptionSchema().Int("threads", 1, 1, 8, "threads to use"); }

  Status Init() override {
    ++inits;
    if (fail_init) return Status(Code::kUnavailable, "no such device");
    return {};
  }
  Verdict Supports(const NodeView& node) override {
    if (node.Is("Throw")) throw std::runtime_error("thrown in Supports");
    if (node.Is("ThrowInt")) throw 7;
    if (!node.Is("Relu")) return Verdict::No(Reason::kOperatorUnknown, "only Relu");
    return Verdict::Yes();
  }
  Result<std::unique_ptr<Executable>> Compile(const PartitionView& partition) override {
    if (partition.nodes().size() > 1) return Status(Code::kNotSupported, "one node at most", partition.nodes()[1].id());
    return std::make_unique<DoubleExecutable>();
  }
  std::string OptionInForce(const std::string& name) const override {
    return name == "threads" ? "4" : PartitionDelegate::OptionInForce(name);
  }

  int inits = 0;
  bool fail_init = false;
};

class ClockedDelegate final : public PartitioningDelegate {
 public:
  Result<DeviceState> device_state() const override {
    DeviceState state;
    state.device_name = "clocked";
    state.level_granted = 2;
    state.busy_ns = 77;
    return state;
  }
};

template <class D>
struct Fixture {
  std::shared_ptr<D> object = std::make_shared<D>();
  InProcessPlugin plugin = MakeInProcessPlugin(object);
  const deputy_delegate* delegate = plugin.plugin->delegate_at(plugin.plugin, 0);
  fake::Host host;
};

struct PartitionDelegateTest : testing::Test, Fixture<PartitioningDelegate> {};
struct ClockedDelegateTest : testing::Test, Fixture<ClockedDelegate> {};

TEST_F(PartitionDelegateTest, AnswersForEveryOfferedNodeAndNoOther) {
  host.AddChain({"Relu", "Exp", "Relu"});
  host.nodes[2].offered = false;
  fake::Opened opened(host, delegate);
  ASSERT_EQ(opened.QuerySupport(), nullptr);
  ASSERT_EQ(host.answers.size(), 2u);
  EXPECT_EQ(host.answers[0].reason, deputy_reason{DEPUTY_REASON_SUPPORTED});
  EXPECT_EQ(host.answers[1].reason, deputy_reason{DEPUTY_REASON_OPERATOR_UNKNOWN});
  EXPECT_EQ(host.answers[1].detail, "only Relu");
}

TEST_F(PartitionDelegateTest, NodeOfTooNewADefinitionIsAnsweredByTheLayer) {
  host.AddChain({"Relu", "Relu"});
  const auto newest = static_cast<uint32_t>(NewestDefinition("", "Relu"));
  host.nodes[0].since = newest;
  host.nodes[1].since = newest + 1;
  fake::Opened opened(host, delegate);
  ASSERT_EQ(opened.QuerySupport(), nullptr);
  EXPECT_EQ(host.answers[0].reason, deputy_reason{DEPUTY_REASON_SUPPORTED});
  EXPECT_EQ(host.answers[1].reason, deputy_reason{DEPUTY_REASON_DEFINITION_TOO_NEW});
  EXPECT_EQ(host.answers[1].detail, "Relu-15 is newer than Relu-14, the newest that this delegate was built for");
}

TEST_F(PartitionDelegateTest, ExceptionBecomesAStatusWithItsText) {
  host.AddChain({"Throw"});
  fake::Opened opened(host, delegate);
  const fake::StatusPtr failure = opened.QuerySupport();
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->code, DEPUTY_INTERNAL);
  EXPECT_EQ(failure->message, "thrown in Supports");
}

TEST_F(PartitionDelegateTest, ThrownIntBecomesAStatus) {
  host.AddChain({"ThrowInt"});
  fake::Opened opened(host, delegate);
  const fake::StatusPtr failure = opened.QuerySupport();
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->message, "an unknown exception");
}

TEST_F(PartitionDelegateTest, CompilesAndRuns) {
  host.AddChain({"Relu"});
  fake::Opened opened(host, delegate);
  deputy_executable* executable = nullptr;
  deputy_context* context = nullptr;
  ASSERT_EQ(opened.Compile({{0}, {0}, {1}, nullptr}, &executable), nullptr);
  ASSERT_EQ(fake::StatusPtr(delegate->context_create(executable, &deputy::plain::kPlainContext, &context)), nullptr);
  std::vector<std::vector<float>> outputs{{0, 0}};
  EXPECT_EQ(fake::Execute(delegate, context, {{3, 4}}, outputs), nullptr);
  EXPECT_EQ(outputs[0], (std::vector<float>{6, 8}));
  delegate->context_destroy(context);
  delegate->executable_destroy(executable);
}

TEST_F(PartitionDelegateTest, RefusalNamesTheNode) {
  host.AddChain({"Relu", "Relu"});
  fake::Opened opened(host, delegate);
  deputy_executable* executable = nullptr;
  const fake::StatusPtr failure = opened.Compile({{0, 1}, {0}, {2}, nullptr}, &executable);
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->code, DEPUTY_NOT_SUPPORTED);
  EXPECT_EQ(failure->node, 1u);
}

TEST_F(PartitionDelegateTest, ProposesNothing) {
  EXPECT_EQ(delegate->get_extension(delegate, DEPUTY_EXT_PROPOSE), nullptr);
}

TEST_F(PartitionDelegateTest, FailedInitOpensNothing) {
  object->fail_init = true;
  fake::Opened opened(host, delegate);
  EXPECT_FALSE(opened.ok());
  ASSERT_NE(opened.failure(), nullptr);
  EXPECT_EQ(opened.failure()->message, "no such device");
}

TEST_F(PartitionDelegateTest, UnknownOptionOpensNothing) {
  fake::Opened opened(host, delegate, {{"thread", "1"}});
  EXPECT_FALSE(opened.ok());
  EXPECT_EQ(opened.failure()->code, DEPUTY_INVALID_ARGUMENT);
  EXPECT_EQ(object->inits, 0);
}

TEST_F(PartitionDelegateTest, OptionsAreThereInInitAndReadBack) {
  fake::Opened opened(host, delegate, {{"threads", "7"}});
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(object->options().Int("threads"), 7);
  const auto* options = static_cast<const deputy_ext_options*>(delegate->get_extension(delegate, DEPUTY_EXT_OPTIONS));
  char buffer[8];
  uint64_t size = 0;
  ASSERT_EQ(fake::StatusPtr(options->get_option(opened.instance(), {"threads", 7}, buffer, sizeof buffer, &size)),
            nullptr);
  EXPECT_STREQ(buffer, "4");
  EXPECT_EQ(size, 1u);
}

TEST_F(PartitionDelegateTest, ReadBackIntoTooSmallABufferTellsTheSize) {
  fake::Opened opened(host, delegate);
  const auto* options = static_cast<const deputy_ext_options*>(delegate->get_extension(delegate, DEPUTY_EXT_OPTIONS));
  char buffer[1] = {'#'};
  uint64_t size = 0;
  const fake::StatusPtr failure(options->get_option(opened.instance(), {"threads", 7}, buffer, 1, &size));
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->code, DEPUTY_OUT_OF_MEMORY);
  EXPECT_EQ(size, 1u);
  EXPECT_EQ(buffer[0], '#');
}

TEST_F(PartitionDelegateTest, ReadBackOfAnUnknownOptionIsNotFound) {
  fake::Opened opened(host, delegate);
  const auto* options = static_cast<const deputy_ext_options*>(delegate->get_extension(delegate, DEPUTY_EXT_OPTIONS));
  char buffer[8];
  uint64_t size = 0;
  const fake::StatusPtr failure(options->get_option(opened.instance(), {"x", 1}, buffer, sizeof buffer, &size));
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->code, DEPUTY_NOT_FOUND);
}

TEST_F(PartitionDelegateTest, ObjectOfTheApplicationIsInitialisedOnceForAllInstances) {
  fake::Opened first(host, delegate), second(host, delegate);
  EXPECT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(object->inits, 1);
}

TEST_F(PartitionDelegateTest, WithoutAClockThereIsNoDeviceControl) {
  EXPECT_EQ(delegate->get_extension(delegate, DEPUTY_EXT_DEVICE_CONTROL), nullptr);
}

TEST_F(ClockedDelegateTest, DeviceStateFillsWhatTheCallerHasRoomFor) {
  fake::Opened opened(host, delegate);
  const auto* control =
      static_cast<const deputy_ext_device_control*>(delegate->get_extension(delegate, DEPUTY_EXT_DEVICE_CONTROL));
  ASSERT_NE(control, nullptr);
  deputy_device_state state{};
  state.runs = 12345;
  state.struct_size = offsetof(deputy_device_state, runs);
  ASSERT_EQ(fake::StatusPtr(control->device_state(opened.instance(), &state)), nullptr);
  EXPECT_EQ(state.busy_ns, 77u);
  EXPECT_EQ(state.level_granted, 2u);
  EXPECT_EQ(state.runs, 12345u);
  EXPECT_EQ(state.struct_size, offsetof(deputy_device_state, runs));
}

TEST(HostOfTheLayer, ParallelForRethrowsOnTheCallingThread) {
  fake::Host host;
  const Host layer(host.table());
  EXPECT_THROW(layer.ParallelFor(4, 1,
                                 [](int64_t begin, int64_t) {
                                   if (begin == 2) throw std::runtime_error("in a job");
                                 }),
               std::runtime_error);
}

TEST(HostOfTheLayer, ParallelForCoversTheRangeOnce) {
  fake::Host host;
  std::vector<int> visits(10);
  Host(host.table()).ParallelFor(10, 3, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
  });
  EXPECT_EQ(visits, std::vector<int>(10, 1));
}

// The entry of a plugin with two delegates.
std::unique_ptr<detail::Plugin> TwoDelegates() {
  return detail::MakePlugin(DEPUTY_DELEGATE(PartitioningDelegate, "one", "the first"),
                            DEPUTY_DELEGATE(ClockedDelegate, "two", "the second"));
}

TEST(ExportedPlugin, ShowsItsDelegates) {
  const deputy_plugin* plugin = detail::Query(DEPUTY_ABI_VERSION, TwoDelegates);
  ASSERT_NE(plugin, nullptr);
  ASSERT_EQ(plugin->delegate_count(plugin), 2u);
  EXPECT_EQ(ToView(plugin->delegate_at(plugin, 1)->id), "two");
  EXPECT_EQ(plugin->delegate_at(plugin, 2), nullptr);
}

TEST(ExportedPlugin, RefusesAHostOfAnotherAbi) {
  EXPECT_EQ(detail::Query(DEPUTY_ABI_VERSION + 1, TwoDelegates), nullptr);
  EXPECT_EQ(detail::Query((DEPUTY_ABI_MAJOR + 1) << 16, TwoDelegates), nullptr);
}

TEST(ExportedPlugin, RefusesAHostWhoseTableIsTooShort) {
  const deputy_plugin* plugin = detail::Query(DEPUTY_ABI_VERSION, TwoDelegates);
  fake::Host host;
  deputy_host shorter = *host.table();
  shorter.struct_size = offsetof(deputy_host, clock_ns);
  const fake::StatusPtr failure(plugin->init(plugin, &shorter));
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->code, DEPUTY_FAILED_PRECONDITION);
}

TEST(ExportedPlugin, OpensOneObjectPerInstance) {
  const deputy_plugin* plugin = detail::Query(DEPUTY_ABI_VERSION, TwoDelegates);
  fake::Host host;
  fake::Opened first(host, plugin->delegate_at(plugin, 0), {{"threads", "2"}});
  fake::Opened second(host, plugin->delegate_at(plugin, 0), {{"threads", "3"}});
  EXPECT_TRUE(first.ok() && second.ok());
  EXPECT_NE(first.instance(), second.instance());
}

}  // namespace
}  // namespace deputy::sdk
