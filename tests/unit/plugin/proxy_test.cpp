// The checked proxy against a plugin that lives in the test and misbehaves on command.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <thread>

#include "plugin/checks/handles.hpp"
#include "plugin/discovery/registry.hpp"
#include "plugin/discovery/table_check.hpp"
#include "support/plain_calls.hpp"
#include "support/waiting.hpp"
#include "unit/plugin/support.hpp"

namespace deputy::host {
namespace {

using testing::LogKeeper;
using testing::ReluSigmoid;

deputy_str StrOf(const char* text) { return {text, std::string_view(text).size()}; }

// A plugin as an object: counts what is made and destroyed, and does what the test says.
struct Actor {
  deputy_plugin plugin{};
  deputy_delegate delegate{};
  deputy_ext_propose propose{};
  deputy_ext_device_control control{};
  const deputy_host* host = nullptr;
  bool offers_propose = false, offers_control = false;
  int inits = 0, shutdowns = 0, opened = 0, closed = 0, compiled = 0, executables_destroyed = 0, contexts = 0,
      contexts_destroyed = 0, released = 0, compiled_claims = 0;
  std::function<deputy_status*(deputy_executable**)> compile;
  std::function<deputy_status*(deputy_context**)> context_create;
  std::function<deputy_status*(const deputy_run_args&)> execute = [](const deputy_run_args&) { return nullptr; };
  std::function<deputy_status*(const deputy_graph*, const deputy_support_sink*)> support =
      [](const deputy_graph*, const deputy_support_sink*) { return nullptr; };
  std::function<deputy_status*(const deputy_graph*, const deputy_claim_sink*)> claims;
  deputy_device_state state{};

  deputy_status* Fail(deputy_code code, const char* text, deputy_node_id node = DEPUTY_NO_NODE) const {
    return host->status_new(host->self, code, node, text, std::string_view(text).size());
  }

  Actor();
};

// Every opaque object of the plugin is the actor itself.
Actor& ActorOf(const void* object) { return *static_cast<Actor*>(const_cast<void*>(object)); }
template <class T>
T* As(Actor& actor) {
  return reinterpret_cast<T*>(&actor);
}

Actor::Actor() {
  plugin.struct_size = sizeof plugin;
  plugin.abi_version = plugin.min_host_abi = DEPUTY_ABI_VERSION;
  plugin.id = StrOf("test.actor");
  plugin.impl = this;
  plugin.init = [](const deputy_plugin* self, const deputy_host*) -> deputy_status* {
    ++ActorOf(self->impl).inits;
    return nullptr;
  };
  plugin.shutdown = [](const deputy_plugin* self) { ++ActorOf(self->impl).shutdowns; };
  plugin.delegate_count = [](const deputy_plugin*) -> uint32_t { return 1; };
  plugin.delegate_at = [](const deputy_plugin* self, uint32_t) -> const deputy_delegate* {
    return &ActorOf(self->impl).delegate;
  };
  delegate.struct_size = sizeof delegate;
  delegate.id = StrOf("actor");
  delegate.impl = this;
  delegate.opsets = &deputy::plain::kAnyOpset;
  delegate.opset_count = 1;
  delegate.get_extension = [](const deputy_delegate* self, const char* id) -> const void* {
    Actor& actor = ActorOf(self->impl);
    if (actor.offers_propose && std::string_view(id) == DEPUTY_EXT_PROPOSE) return &actor.propose;
    if (actor.offers_control && std::string_view(id) == DEPUTY_EXT_DEVICE_CONTROL) return &actor.control;
    return nullptr;
  };
  delegate.open = [](const deputy_delegate* self, const deputy_open_args* args,
                     deputy_instance** out) -> deputy_status* {
    Actor& actor = ActorOf(self->impl);
    actor.host = args->host;
    ++actor.opened;
    *out = As<deputy_instance>(actor);
    return nullptr;
  };
  delegate.close = [](deputy_instance* self) { ++ActorOf(self).closed; };
  delegate.query_support = [](deputy_instance* self, const deputy_graph* graph, const deputy_support_sink* sink) {
    return ActorOf(self).support(graph, sink);
  };
  delegate.compile = [](deputy_instance* self, const deputy_compile_args* args,
                        deputy_executable** out) -> deputy_status* {
    Actor& actor = ActorOf(self);
    if (args->partition->claim != nullptr) ++actor.compiled_claims;
    if (actor.compile) return actor.compile(out);
    ++actor.compiled;
    *out = As<deputy_executable>(actor);
    return nullptr;
  };
  delegate.executable_destroy = [](deputy_executable* self) { ++ActorOf(self).executables_destroyed; };
  delegate.context_create = [](deputy_executable* self, const deputy_context_args*,
                               deputy_context** out) -> deputy_status* {
    Actor& actor = ActorOf(self);
    if (actor.context_create) return actor.context_create(out);
    ++actor.contexts;
    *out = As<deputy_context>(actor);
    return nullptr;
  };
  delegate.context_destroy = [](deputy_context* self) { ++ActorOf(self).contexts_destroyed; };
  delegate.execute = [](deputy_context* self, const deputy_run_args* args) { return ActorOf(self).execute(*args); };
  propose.struct_size = sizeof propose;
  propose.propose = [](deputy_instance* self, const deputy_graph* graph, const deputy_claim_sink* sink) {
    return ActorOf(self).claims(graph, sink);
  };
  propose.claim_release = [](deputy_instance* self, void*) { ++ActorOf(self).released; };
  control.struct_size = sizeof control;
  control.device_state = [](deputy_instance* self, deputy_device_state* out) -> deputy_status* {
    *out = ActorOf(self).state;
    return nullptr;
  };
}

class Proxy : public ::testing::Test {
 protected:
  // Opens the actor as entry "stage".
  Delegate& Open() {
    EXPECT_TRUE(registry_.AddInProcess(&actor_.plugin, nullptr).ok());
    Result<std::unique_ptr<Delegate>> opened = registry_.Open({"actor", "stage", "", {}, nullptr});
    EXPECT_TRUE(opened.ok()) << opened.status().ToString();
    delegate_ = std::move(opened).value();
    return *delegate_;
  }
  Result<std::shared_ptr<const Executable>> Compile(void* claim = nullptr) {
    PartitionSpec partition;
    partition.nodes = {0};
    partition.inputs = {0};
    partition.outputs = {1};
    partition.claim = claim;
    return delegate_->Compile(view_, partition);
  }
  std::unique_ptr<ExecutionContext> Context() { return std::move(Compile().value()->CreateContext()).value(); }
  Status Run(ExecutionContext& context, const CancellationToken* token = nullptr) {
    const deputy_tensor* inputs[] = {nullptr};
    deputy_tensor* outputs[] = {nullptr};
    RunArgs args{inputs, outputs};
    args.cancellation = token;
    return context.Execute(args);
  }
  // Proposes one claim of `nodes` and returns what the sink said about it.
  std::string Claim(std::vector<deputy_node_id> nodes) {
    std::string said = "taken";
    actor_.claims = [&, nodes](const deputy_graph*, const deputy_claim_sink* sink) -> deputy_status* {
      deputy_claim claim{};
      claim.struct_size = sizeof claim;
      claim.nodes = nodes.data();
      claim.node_count = static_cast<uint32_t>(nodes.size());
      claim.handle = &actor_;
      if (const StatusHandle refused{sink->add(sink->self, &claim)}) said = refused->message;
      return nullptr;
    };
    EXPECT_TRUE(delegate_->proposer()->Propose(view_).ok());
    return said;
  }

  LogKeeper log_;
  Actor actor_;
  PluginRegistry registry_;
  const Graph graph_ = ReluSigmoid();
  GraphView view_ = OfferAll(graph_);
  std::unique_ptr<Delegate> delegate_;
};

// Seed rows 45, 47.
TEST_F(Proxy, EveryObjectIsDestroyedOnceAndInOrder) {
  Open();
  std::unique_ptr<ExecutionContext> context = Context();
  delegate_.reset();
  EXPECT_EQ(actor_.closed, 0) << "the context still needs the instance";
  context.reset();
  EXPECT_EQ(actor_.contexts_destroyed, 1);
  EXPECT_EQ(actor_.executables_destroyed, 1);
  EXPECT_EQ(actor_.closed, 1);
  EXPECT_EQ(actor_.shutdowns, 0) << "the registry still holds the plugin";
  registry_ = PluginRegistry();
  EXPECT_EQ(actor_.shutdowns, 1);
}

// Seed row 8.
TEST_F(Proxy, InitRunsOnceForTwoRegistries) {
  PluginRegistry other;
  ASSERT_TRUE(registry_.AddInProcess(&actor_.plugin, nullptr).ok());
  ASSERT_TRUE(other.AddInProcess(&actor_.plugin, nullptr).ok());
  EXPECT_EQ(actor_.inits, 1);
  registry_ = PluginRegistry();
  EXPECT_EQ(actor_.shutdowns, 0);
  other = PluginRegistry();
  EXPECT_EQ(actor_.shutdowns, 1);
}

TEST_F(Proxy, PluginOfTheApplicationIsKeptUntilItsLastObjectIsGone) {
  auto keep = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = keep;
  ASSERT_TRUE(registry_.AddInProcess(&actor_.plugin, std::move(keep)).ok());
  delegate_ = std::move(registry_.Open({"actor", "stage", "", {}, nullptr})).value();
  registry_ = PluginRegistry();
  EXPECT_FALSE(watch.expired());
  delegate_.reset();
  EXPECT_TRUE(watch.expired());
}

TEST_F(Proxy, R76_NullTableOfTheApplicationIsRefused) {
  EXPECT_EQ(registry_.AddInProcess(nullptr, nullptr).code(), StatusCode::kInvalidArgument);
}

TEST_F(Proxy, R76_MissingSlotOfTheApplicationIsRefused) {
  actor_.delegate.compile = nullptr;
  EXPECT_NE(registry_.AddInProcess(&actor_.plugin, nullptr).message().find("no 'compile'"), std::string::npos);
}

TEST_F(Proxy, FailedCompileIsNotFollowedByADestroy) {
  Open();
  actor_.compile = [&](deputy_executable** out) {
    *out = As<deputy_executable>(actor_);
    return actor_.Fail(DEPUTY_NOT_SUPPORTED, "no");
  };
  EXPECT_EQ(Compile().status().code(), StatusCode::kNotSupported);
  EXPECT_EQ(actor_.executables_destroyed, 0);
}

TEST_F(Proxy, R76_CompileThatSucceedsWithoutAnExecutableIsAFault) {
  Open();
  actor_.compile = [](deputy_executable**) { return nullptr; };
  EXPECT_EQ(Compile().status().ToString(),
            "plugin test.actor (in process): compile: it succeeded without an executable");
}

TEST_F(Proxy, R76_ContextThatIsNullIsAFault) {
  Open();
  actor_.context_create = [](deputy_context**) { return nullptr; };
  EXPECT_EQ(Compile().value()->CreateContext().status().code(), StatusCode::kPlugin);
  EXPECT_EQ(actor_.contexts_destroyed, 0);
}

TEST_F(Proxy, R111_UnknownStatusCodeIsAFaultWithItsText) {
  Open();
  actor_.execute = [&](const deputy_run_args&) { return actor_.Fail(9999, "odd"); };
  const auto context = Context();
  EXPECT_EQ(Run(*context).ToString(),
            "plugin test.actor (in process): execute: returned a status with the invalid code 9999: odd");
}

TEST_F(Proxy, ACodeOfTheVendorsOwnIsAnInternalFailureWithItsNumber) {
  Open();
  actor_.execute = [&](const deputy_run_args&) { return actor_.Fail(DEPUTY_VENDOR_FIRST + 7, "tile fault"); };
  const Status status = Run(*Context());
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_EQ(status.ToString(), "plugin test.actor (in process): execute: tile fault (the vendor's code 65543)");
}

TEST_F(Proxy, UnknownFlagsOfATableAreRefused) {
  actor_.delegate.flags = DEPUTY_DELEGATE_SIMULATED | 0x8000u;
  EXPECT_NE(registry_.AddInProcess(&actor_.plugin, nullptr)
                .message()
                .find("the flags of its 'actor' table have bits that this host does not know: 0x8000"),
            std::string::npos);
  actor_.delegate.flags = 0;
  actor_.plugin.flags = 1;
  EXPECT_NE(registry_.AddInProcess(&actor_.plugin, nullptr).message().find("the flags of its plugin table"),
            std::string::npos);
}

TEST_F(Proxy, ATableWithoutAnOpsetOfOnnxIsRefused) {
  actor_.delegate.opset_count = 0;
  EXPECT_NE(registry_.AddInProcess(&actor_.plugin, nullptr).message().find("declares no opset of ONNX's own domain"),
            std::string::npos);
}

TEST_F(Proxy, ItsNewestDefinitionsAreThoseOfItsOpsets) {
  static constexpr deputy_opset kOpsets[] = {{{"", 0}, 14, 0}, {{"com.example", 11}, 3, 0}};
  actor_.delegate.opsets = kOpsets;
  actor_.delegate.opset_count = 2;
  const Delegate& delegate = Open();
  EXPECT_EQ(delegate.newest_definition(""), 14u);
  EXPECT_EQ(delegate.newest_definition("com.example"), 3u);
  EXPECT_EQ(delegate.newest_definition("com.microsoft"), UINT32_MAX);
}

TEST_F(Proxy, R111_OkWithAnErrorTextIsAFault) {
  Open();
  actor_.execute = [&](const deputy_run_args&) { return actor_.Fail(DEPUTY_OK, "fine"); };
  EXPECT_EQ(Run(*Context()).code(), StatusCode::kPlugin);
}

TEST_F(Proxy, R113_DeviceLostKeepsItsCode) {
  Open();
  actor_.execute = [&](const deputy_run_args&) { return actor_.Fail(DEPUTY_DEVICE_LOST, "gone", 1); };
  const Status status = Run(*Context());
  EXPECT_EQ(status.code(), StatusCode::kDeviceLost);
  EXPECT_EQ(status.where(), "plugin test.actor (in process): execute: node 'second' (Sigmoid)");
}

TEST_F(Proxy, R95_ExceptionFromExecuteIsAFault) {
  Open();
  actor_.execute = [](const deputy_run_args&) -> deputy_status* { throw std::runtime_error("no"); };
  EXPECT_EQ(Run(*Context()).code(), StatusCode::kPlugin);
}

TEST_F(Proxy, R95_ExceptionFromCloseIsLogged) {
  Open();
  actor_.delegate.close = [](deputy_instance*) { throw 1; };
  delegate_.reset();
  EXPECT_NE(log_.text().find("close broke its contract"), std::string::npos) << log_.text();
}

TEST_F(Proxy, FailedSupportQueryLeavesNoAnswers) {
  Open();
  actor_.support = [&](const deputy_graph*, const deputy_support_sink* sink) {
    sink->answer(sink->self, 0, DEPUTY_REASON_SUPPORTED, StrOf(""));
    return actor_.Fail(DEPUTY_INTERNAL, "lost the thread");
  };
  std::vector<Verdict> verdicts;
  EXPECT_EQ(delegate_->QuerySupport(view_, verdicts).code(), StatusCode::kInternal);
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(verdicts[0].reason, Reason::kNotAnswered);
}

TEST_F(Proxy, UnknownReasonBecomesOther) {
  Open();
  actor_.support = [](const deputy_graph*, const deputy_support_sink* sink) -> deputy_status* {
    sink->answer(sink->self, 0, 4711, StrOf("whatever"));
    return nullptr;
  };
  std::vector<Verdict> verdicts;
  EXPECT_TRUE(delegate_->QuerySupport(view_, verdicts).ok());
  EXPECT_EQ(verdicts[0].reason, Reason::kOther);
  EXPECT_NE(log_.text().find("unknown reason 4711"), std::string::npos);
}

class Claims : public Proxy {
 protected:
  void SetUp() override {
    actor_.offers_propose = true;
    Open();
  }
};

// Seed row 22.
TEST_F(Claims, AdoptedClaimIsConsumedByCompile) {
  EXPECT_NE(delegate_->proposer(), nullptr);
  EXPECT_EQ(Claim({1, 0}), "taken");
  ASSERT_TRUE(Compile(&actor_).ok());
  EXPECT_EQ(actor_.compiled_claims, 1);
  delegate_->proposer()->ReleaseClaim(&actor_);
  EXPECT_EQ(actor_.released, 0) << "it was consumed";
}

TEST_F(Claims, RefusedClaimIsReleasedOnce) {
  EXPECT_EQ(Claim({0}), "taken");
  delegate_->proposer()->ReleaseClaim(&actor_);
  delegate_->proposer()->ReleaseClaim(&actor_);
  EXPECT_EQ(actor_.released, 1);
}

TEST_F(Claims, ClaimConsumedByAFailedCompileIsNotReleased) {
  EXPECT_EQ(Claim({0}), "taken");
  actor_.compile = [&](deputy_executable**) { return actor_.Fail(DEPUTY_NOT_SUPPORTED, "no"); };
  EXPECT_FALSE(Compile(&actor_).ok());
  delegate_.reset();
  EXPECT_EQ(actor_.released, 0);
}

TEST_F(Claims, ClaimThatNobodyTookIsReleasedWhenTheDelegateCloses) {
  EXPECT_EQ(Claim({0}), "taken");
  delegate_.reset();
  EXPECT_EQ(actor_.released, 1);
  EXPECT_EQ(actor_.closed, 1);
}

TEST_F(Claims, ClaimsOfAFailedProposeAreReleased) {
  actor_.claims = [&](const deputy_graph*, const deputy_claim_sink* sink) {
    const deputy_node_id node = 0;
    deputy_claim claim{};
    claim.struct_size = sizeof claim;
    claim.nodes = &node;
    claim.node_count = 1;
    claim.handle = &actor_;
    EXPECT_EQ(sink->add(sink->self, &claim), nullptr);
    return actor_.Fail(DEPUTY_INTERNAL, "changed my mind");
  };
  EXPECT_FALSE(delegate_->proposer()->Propose(view_).ok());
  EXPECT_EQ(actor_.released, 1);
}

TEST_F(Claims, R99_RefusedClaimIsReportedToThePluginAndInTheLog) {
  view_.offered[1] = 0;
  EXPECT_EQ(Claim({0, 1}), "a claim names node 'second' (Sigmoid), which was not offered");
  EXPECT_NE(log_.text().find("propose broke its contract"), std::string::npos);
}

TEST_F(Proxy, DeviceStateIsReadBack) {
  actor_.offers_control = true;
  actor_.state.struct_size = sizeof actor_.state;
  actor_.state.level_granted = 2;
  actor_.state.frequency_granted_hz = 600000000;
  actor_.state.device_name = StrOf("simulated");
  const Result<DeviceState> state = Open().device_control()->device_state();
  ASSERT_TRUE(state.ok()) << state.status().ToString();
  EXPECT_EQ(state->level_granted, 2u);
  EXPECT_EQ(state->frequency_granted_hz, 600000000u);
  EXPECT_EQ(state->device_name, "simulated");
}

TEST_F(Proxy, R90_DeviceNameThatIsNotUtf8IsAFault) {
  actor_.offers_control = true;
  actor_.state.device_name = StrOf("\xff");
  EXPECT_EQ(Open().device_control()->device_state().status().code(), StatusCode::kPlugin);
}

TEST_F(Proxy, DelegateWithoutDeviceControlSaysSo) { EXPECT_EQ(Open().device_control(), nullptr); }

TEST_F(Proxy, R118_SerialDelegateIsNeverEnteredTwice) {
  actor_.delegate.flags = DEPUTY_DELEGATE_SERIAL;
  Open();
  std::atomic<int> inside{0}, overlaps{0};
  actor_.execute = [&](const deputy_run_args&) -> deputy_status* {
    if (inside.fetch_add(1) != 0) ++overlaps;
    for (int i = 0; i < 100; ++i) std::this_thread::yield();
    inside.fetch_sub(1);
    return nullptr;
  };
  std::vector<std::unique_ptr<ExecutionContext>> contexts;
  for (int i = 0; i < 4; ++i) contexts.push_back(Context());
  std::vector<std::thread> threads;
  for (const auto& context : contexts)
    threads.emplace_back([&, own = context.get()] {
      for (int run = 0; run < 50; ++run) EXPECT_TRUE(Run(*own).ok());
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(overlaps.load(), 0);
}

// The delegate has no cancel.
TEST_F(Proxy, ARunThatWaitsForItsTurnEndsWhenItIsCancelledOrLate) {
  actor_.delegate.flags = DEPUTY_DELEGATE_SERIAL;
  Open();
  std::atomic<int> inside{0};
  std::atomic<bool> leaves{false};
  actor_.execute = [&](const deputy_run_args&) -> deputy_status* {
    ++inside;
    while (!leaves) std::this_thread::yield();
    return nullptr;
  };
  const std::unique_ptr<ExecutionContext> first = Context(), second = Context();
  std::thread busy([&] { EXPECT_TRUE(Run(*first).ok()); });
  EXPECT_TRUE(Eventually([&] { return inside == 1; }));
  CancellationToken late;
  late.deadline_ns = NowNs() + 1'000'000;
  EXPECT_EQ(Run(*second, &late).code(), StatusCode::kDeadlineExceeded);

  std::atomic<uint64_t> cancelled_ns{0};
  CancelHook hook;
  CancellationToken token;
  token.cancelled_ns = &cancelled_ns;
  token.hook = &hook;
  std::thread canceller([&] {
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();  // so that the run waits
    cancelled_ns = NowNs();
    hook.Call();
  });
  EXPECT_EQ(Run(*second, &token).code(), StatusCode::kCancelled);
  canceller.join();
  EXPECT_EQ(inside, 1);
  leaves = true;
  busy.join();
  EXPECT_TRUE(Run(*second).ok());
  EXPECT_EQ(inside, 2);
}

// Seed row 1.
TEST_F(Proxy, TwoEntriesOfOneDelegateAreTwoInstances) {
  Open();
  const auto second = registry_.Open({"actor", "encore", "second", {}, nullptr});
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(actor_.opened, 2);
  EXPECT_EQ((*second)->name(), "encore");
}

}  // namespace
}  // namespace deputy::host
