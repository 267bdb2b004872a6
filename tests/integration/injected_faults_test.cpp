// The in-tree plugins, each with failures injected between them and the host: at the k-th compile, at the first and the
// thousandth run, when a context is made and when it takes another shape. The answer is that of the CPU every time.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <map>
#include <ostream>
#include <thread>

#include "deputy/abi/ext/resize.h"
#include "deputy/deputy.hpp"
#include "deputy/sdk/in_process.hpp"
#include "support/digits.hpp"
#include "support/plain_calls.hpp"

namespace deputy {
namespace {

enum class Stage { kCompile, kContext, kResize, kRun };

// A plugin whose delegate is the real one but for the calls that the test makes fail. One lives at a time, since the
// functions of the ABI have no place for what belongs to a test.
class InjectedPlugin {
 public:
  // `code` of the failure of this call (numbered from 1, per stage, over all threads), or DEPUTY_OK: it is the real
  // one.
  using Fault = std::function<deputy_code(Stage stage, int call)>;

  InjectedPlugin(const std::string& name, Fault fault) : name_(name), fault_(std::move(fault)) {
    live = this;
    void* const library = dlopen((std::string(DEPUTY_TEST_PLUGINS "/") + name + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    const auto query = reinterpret_cast<deputy_plugin_query_fn>(dlsym(library, DEPUTY_ENTRY_SYMBOL));
    real_plugin_ = query(DEPUTY_ABI_VERSION, nullptr);
    real_ = real_plugin_->delegate_at(real_plugin_, 0);
    plugin_ = *real_plugin_;
    plugin_.init = [](const deputy_plugin*, const deputy_host* host) {
      return live->real_plugin_->init(live->real_plugin_, host);
    };
    plugin_.shutdown = [](const deputy_plugin*) { live->real_plugin_->shutdown(live->real_plugin_); };
    plugin_.delegate_count = [](const deputy_plugin*) { return uint32_t{1}; };
    plugin_.delegate_at = [](const deputy_plugin*, uint32_t) -> const deputy_delegate* { return &live->delegate_; };
    delegate_ = *real_;
    delegate_.probe = [](const deputy_delegate*, const deputy_host* host) {
      return live->real_->probe(live->real_, host);
    };
    delegate_.get_extension = GetExtension;
    delegate_.open = [](const deputy_delegate*, const deputy_open_args* args, deputy_instance** out) {
      live->host_ = args->host;
      return live->real_->open(live->real_, args, out);
    };
    delegate_.compile = [](deputy_instance* instance, const deputy_compile_args* args, deputy_executable** out) {
      deputy_status* const failure = live->Fail(Stage::kCompile);
      return failure != nullptr ? failure : live->real_->compile(instance, args, out);
    };
    delegate_.context_create = [](deputy_executable* executable, const deputy_context_args* args,
                                  deputy_context** out) {
      deputy_status* const failure = live->Fail(Stage::kContext);
      return failure != nullptr ? failure : live->real_->context_create(executable, args, out);
    };
    delegate_.execute = [](deputy_context* context, const deputy_run_args* args) {
      deputy_status* const failure = live->Fail(Stage::kRun);
      return failure != nullptr ? failure : live->real_->execute(context, args);
    };
    if (const auto* async = static_cast<const deputy_ext_async*>(real_->get_extension(real_, DEPUTY_EXT_ASYNC));
        async != nullptr) {
      real_async_ = async;
      async_ = *async;
    }
    async_.submit = [](deputy_context* context, const deputy_async_args* args, deputy_async_run** out) {
      deputy_status* const failure = live->Fail(Stage::kRun);
      return failure != nullptr ? failure : live->real_async_->submit(context, args, out);
    };
    resize_.resize = [](deputy_context* context, const deputy_resize_args* args, deputy_resize_outcome* outcome) {
      deputy_status* const failure = live->Fail(Stage::kResize);
      if (failure != nullptr) return failure;
      const auto* real =
          static_cast<const deputy_ext_resize*>(live->real_->get_extension(live->real_, DEPUTY_EXT_RESIZE));
      return real->resize(context, args, outcome);
    };
  }
  InjectedPlugin(const InjectedPlugin&) = delete;
  InjectedPlugin& operator=(const InjectedPlugin&) = delete;

  bool loaded() const { return real_ != nullptr; }
  const std::string& name() const { return name_; }
  const deputy_plugin* plugin() const { return &plugin_; }
  int calls(Stage stage) const { return calls_[static_cast<size_t>(stage)]; }

 private:
  static const void* GetExtension(const deputy_delegate*, const char* id) {
    const void* const real = live->real_->get_extension(live->real_, id);
    if (real != nullptr && std::string(id) == DEPUTY_EXT_ASYNC) return &live->async_;
    return real != nullptr && std::string(id) == DEPUTY_EXT_RESIZE ? &live->resize_ : real;
  }
  deputy_status* Fail(Stage stage) {
    const deputy_code code = fault_(stage, ++calls_[static_cast<size_t>(stage)]);
    if (code == DEPUTY_OK) return nullptr;
    return host_->status_new(host_->self, code, DEPUTY_NO_NODE, "injected", 8);
  }

  static InjectedPlugin* live;

  const std::string name_;
  const Fault fault_;
  const deputy_plugin* real_plugin_ = nullptr;
  const deputy_delegate* real_ = nullptr;
  const deputy_host* host_ = nullptr;
  deputy_plugin plugin_{};
  deputy_delegate delegate_{};
  const deputy_ext_async* real_async_ = nullptr;
  deputy_ext_async async_{};
  deputy_ext_resize resize_{sizeof(deputy_ext_resize), 0, nullptr};
  std::atomic<int> calls_[4] = {};
};
InjectedPlugin* InjectedPlugin::live = nullptr;

// For Context::AddDelegate.
sdk::InProcessPlugin MakeInProcessPlugin(std::shared_ptr<InjectedPlugin> injected, const std::string&) {
  const deputy_plugin* const plugin = injected->plugin();
  std::string name = injected->name();
  return {std::move(injected), plugin, std::move(name)};
}

std::vector<float> Answer(Session& session, int64_t count) { return Answer(session, Pictures(count)); }

struct Plugin {
  const char* name;
  int partitions;  // oneDNN leaves the smallest to the CPU
  int resizes;     // of a session at four shapes in turn; oneDNN compiles for each
};
std::ostream& operator<<(std::ostream& out, const Plugin& plugin) { return out << plugin.name; }

// The digits network with Relu on the CPU, so that there are several partitions of the plugin.
class InjectedFaultsTest : public testing::TestWithParam<Plugin> {
 protected:
  InjectedFaultsTest() {
    SetLogSink([](LogLevel, std::string_view, std::string_view) {});
    Model model;
    EXPECT_TRUE(model.Build(DEPUTY_TEST_DIGITS, Read("delegates: []\n")).ok());
    Session session = *model.CreateSession();
    for (const int64_t count : {2, 3}) expected_[count] = Answer(session, count);
  }
  ~InjectedFaultsTest() override { SetLogSink(nullptr); }

  static Context Read(const std::string& text) {
    return *Context::FromYamlText("t.yaml",
                                  "version: 1\nplugins: {paths: [/nonexistent]}\ncache: {dir: \"off\"}\n" + text);
  }
  void Build(InjectedPlugin::Fault fault) {
    model_ = Model();
    context_ = Context();
    injected_ = std::make_shared<InjectedPlugin>(GetParam().name, std::move(fault));
    ASSERT_TRUE(injected_->loaded());
    context_ = Read("delegates: []\nplacement: {rules: [{ops: [Relu], to: cpu}]}\n");
    context_.AddDelegate(injected_);
    const Status status = model_.Build(DEPUTY_TEST_DIGITS, context_);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  // Close, since the plugin rounds otherwise, sim_npu to 11 bits.
  void ExpectAnswer(Session& session, int64_t count) {
    const std::vector<float> got = Answer(session, count), &want = expected_[count];
    ASSERT_EQ(got.size(), want.size());
    float largest = 0;
    for (const float value : want) largest = std::max(largest, std::fabs(value));
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 2e-2f * largest) << "element " << i;
  }
  static size_t NodesOfPlugin(const Result<PlacementReport>& report) { return report->delegates[0].nodes; }

  const int partitions_ = GetParam().partitions;
  std::map<int64_t, std::vector<float>> expected_;
  std::shared_ptr<InjectedPlugin> injected_;
  Context context_;
  Model model_;
};

TEST_P(InjectedFaultsTest, WithoutFaultsThePluginHasItsPartitions) {
  Build([](Stage, int) { return DEPUTY_OK; });
  Session session = *model_.CreateSession();
  ExpectAnswer(session, 2);
  EXPECT_EQ(injected_->calls(Stage::kRun), partitions_);
  EXPECT_FALSE(context_.Health().degraded);
}

TEST_P(InjectedFaultsTest, AnyCompileMayFail) {
  for (int k = 1; k <= partitions_; ++k)
    for (const deputy_code code : {DEPUTY_NOT_SUPPORTED, DEPUTY_INTERNAL, DEPUTY_OUT_OF_MEMORY}) {
      SCOPED_TRACE("compile " + std::to_string(k) + ", code " + std::to_string(code));
      Build([k, code](Stage stage, int call) { return stage == Stage::kCompile && call == k ? code : DEPUTY_OK; });
      Session session = *model_.CreateSession();
      ExpectAnswer(session, 2);
      EXPECT_EQ(injected_->calls(Stage::kRun), partitions_ - 1);
    }
}

TEST_P(InjectedFaultsTest, AnyRunMayFail) {
  for (const int k : {1, partitions_, 1000})
    for (const deputy_code code : {DEPUTY_INTERNAL, DEPUTY_DEADLINE_EXCEEDED, DEPUTY_DEVICE_LOST}) {
      SCOPED_TRACE("run " + std::to_string(k) + ", code " + std::to_string(code));
      Build([k, code](Stage stage, int call) { return stage == Stage::kRun && call == k ? code : DEPUTY_OK; });
      Session session = *model_.CreateSession();
      const bool again = code == DEPUTY_DEVICE_LOST;
      const size_t nodes = NodesOfPlugin(model_.Placement({{2, 1, 28, 28}}));
      for (int run = 0; run <= k / partitions_ + 1; ++run) ExpectAnswer(session, 2);
      EXPECT_EQ(context_.Health().incidents.size(), 1u);
      EXPECT_EQ(context_.Health().delegates[0].demoted_partitions, again ? 0u : 1u);
      EXPECT_EQ(NodesOfPlugin(session.Placement()) < nodes, !again);
      const int runs = injected_->calls(Stage::kRun);
      Session next = *model_.CreateSession();
      ExpectAnswer(next, 2);
      EXPECT_EQ(injected_->calls(Stage::kRun) - runs, again ? partitions_ : partitions_ - 1) << "of the next session";
    }
}

TEST_P(InjectedFaultsTest, AnyContextMayFail) {
  for (int k = 1; k <= partitions_; ++k) {
    SCOPED_TRACE("context " + std::to_string(k));
    Build([k](Stage stage, int call) {
      return stage == Stage::kContext && call == k ? DEPUTY_OUT_OF_MEMORY : DEPUTY_OK;
    });
    Session session = *model_.CreateSession();
    ExpectAnswer(session, 2);
    EXPECT_EQ(injected_->calls(Stage::kRun), partitions_ - 1);
  }
}

TEST_P(InjectedFaultsTest, AnyResizeMayFail) {
  for (int k = 0; k <= GetParam().resizes; ++k) {  // 0: none fails
    SCOPED_TRACE("resize " + std::to_string(k));
    Build([k](Stage stage, int call) { return stage == Stage::kResize && call == k ? DEPUTY_INTERNAL : DEPUTY_OK; });
    Session session = *model_.CreateSession();
    for (const int64_t count : {2, 3, 2, 3}) ExpectAnswer(session, count);
    EXPECT_GE(injected_->calls(Stage::kResize), k == 0 ? GetParam().resizes : k);
  }
}

TEST_P(InjectedFaultsTest, TwoSessionsAtOnceAnswerThroughAllFaults) {
  Build([](Stage stage, int call) {
    if (stage != Stage::kRun) return DEPUTY_OK;
    return call % 11 == 0 ? DEPUTY_DEVICE_LOST : call == 40 ? DEPUTY_INTERNAL : DEPUTY_OK;
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([this] {
      Session session = *model_.CreateSession();
      for (int run = 0; run < 60; ++run) ExpectAnswer(session, run % 6 == 5 ? 3 : 2);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(context_.Health().incidents.empty());
}

INSTANTIATE_TEST_SUITE_P(Plugins, InjectedFaultsTest, testing::Values(Plugin{"sim_npu", 3, 3}, Plugin{"onednn", 2, 0}),
                         [](const testing::TestParamInfo<Plugin>& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace deputy
