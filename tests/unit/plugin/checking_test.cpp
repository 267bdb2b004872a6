// A delegate that is checked: what the host lent it, and for how long; where it reads and writes.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <thread>
#include <utility>

#include "base/aligned.hpp"
#include "plugin/checks/handles.hpp"
#include "plugin/discovery/registry.hpp"
#include "support/plain_calls.hpp"
#include "unit/plugin/support.hpp"

namespace deputy::host {
namespace {

using testing::LogKeeper;
using testing::ReluSigmoid;

deputy_str Str(const char* text) { return {text, std::string_view(text).size()}; }

// A plugin that keeps what it was lent, and does in execute what the test says.
struct Keeper {
  deputy_plugin plugin{};
  deputy_delegate delegate{};
  const deputy_host* host = nullptr;
  const deputy_graph* shown = nullptr;
  std::function<deputy_status*(const deputy_run_args&)> execute = [](const deputy_run_args&) { return nullptr; };

  Keeper();
  deputy_status* Failure(const char* text) const {
    return host->status_new(host->self, DEPUTY_INTERNAL, DEPUTY_NO_NODE, text, std::string_view(text).size());
  }
};

Keeper& Of(const void* object) { return *static_cast<Keeper*>(const_cast<void*>(object)); }

Keeper::Keeper() {
  plugin.struct_size = sizeof plugin;
  plugin.abi_version = plugin.min_host_abi = DEPUTY_ABI_VERSION;
  plugin.id = Str("test.keeper");
  plugin.impl = this;
  plugin.init = [](const deputy_plugin*, const deputy_host*) -> deputy_status* { return nullptr; };
  plugin.delegate_count = [](const deputy_plugin*) -> uint32_t { return 1; };
  plugin.delegate_at = [](const deputy_plugin* self, uint32_t) -> const deputy_delegate* {
    return &Of(self->impl).delegate;
  };
  delegate.struct_size = sizeof delegate;
  delegate.id = Str("keeper");
  delegate.impl = this;
  delegate.opsets = &deputy::plain::kAnyOpset;
  delegate.opset_count = 1;
  delegate.open = [](const deputy_delegate* self, const deputy_open_args* args,
                     deputy_instance** out) -> deputy_status* {
    Of(self->impl).host = args->host;
    *out = static_cast<deputy_instance*>(self->impl);
    return nullptr;
  };
  delegate.close = [](deputy_instance*) {};
  delegate.query_support = [](deputy_instance* self, const deputy_graph* graph,
                              const deputy_support_sink*) -> deputy_status* {
    Of(self).shown = graph;
    return nullptr;
  };
  delegate.compile = [](deputy_instance* self, const deputy_compile_args*, deputy_executable** out) -> deputy_status* {
    *out = reinterpret_cast<deputy_executable*>(self);
    return nullptr;
  };
  delegate.executable_destroy = [](deputy_executable*) {};
  delegate.context_create = [](deputy_executable* self, const deputy_context_args*,
                               deputy_context** out) -> deputy_status* {
    *out = reinterpret_cast<deputy_context*>(self);
    return nullptr;
  };
  delegate.context_destroy = [](deputy_context*) {};
  delegate.execute = [](deputy_context* self, const deputy_run_args* args) { return Of(self).execute(*args); };
}

deputy_status* WriteZeros(const deputy_run_args& args) {
  std::memset(args.outputs[0]->data, 0, args.outputs[0]->byte_size);
  return nullptr;
}

class Checking : public ::testing::Test {
 protected:
  explicit Checking(bool check = true) {
    EXPECT_TRUE(registry_.AddInProcess(&keeper_.plugin, nullptr).ok());
    OpenRequest request{"keeper", "stage", "", {}, nullptr};
    request.check = check;
    delegate_ = std::move(registry_.Open(request)).value();
    PartitionSpec partition;
    partition.nodes = {0};
    partition.inputs = {0};
    partition.outputs = {1};
    context_ = std::move(delegate_->Compile(view_, partition).value()->CreateContext()).value();
    for (deputy_tensor* tensor : {&input_, &output_}) {
      tensor->struct_size = sizeof *tensor;
      tensor->dtype = DEPUTY_DTYPE_FLOAT32;
      tensor->rank = 1;
      tensor->dims = &extent_;
      tensor->byte_size = sizeof in_;
    }
    input_.data = in_;
    output_.data = out_;
  }
  Status Run() {
    const deputy_tensor* inputs[] = {&input_};
    deputy_tensor* outputs[] = {&output_};
    return context_->Execute({inputs, outputs});
  }

  static constexpr int64_t kElements = 5;
  LogKeeper log_;
  Keeper keeper_;
  PluginRegistry registry_;
  const Graph graph_ = ReluSigmoid();
  GraphView view_ = OfferAll(graph_);
  std::unique_ptr<Delegate> delegate_;
  std::unique_ptr<ExecutionContext> context_;
  const int64_t extent_ = kElements;
  float in_[kElements] = {1, 2, 3, 4, 5}, out_[kElements] = {};
  deputy_tensor input_{}, output_{};
};

TEST_F(Checking, AHonestRunReadsItsInputsAndItsResultsArrive) {
  keeper_.execute = [](const deputy_run_args& args) -> deputy_status* {
    for (int64_t i = 0; i < kElements; ++i)
      static_cast<float*>(args.outputs[0]->data)[i] = 2 * static_cast<const float*>(args.inputs[0]->data)[i];
    return nullptr;
  };
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(std::vector<float>(out_, out_ + kElements), (std::vector<float>{2, 4, 6, 8, 10}));
}

TEST_F(Checking, AWriteInputsPagesRefuseEndsWithItsName) {
  keeper_.execute = [](const deputy_run_args& args) -> deputy_status* {
    static_cast<float*>(args.inputs[0]->data)[0] = 7;
    return nullptr;
  };
  EXPECT_DEATH((void)Run(), "deputy: check: plugin test.keeper .*: execute: input 0: it was written to");
}

TEST_F(Checking, AnAccessBehindThePagesEndsWithItsName) {
  keeper_.execute = [](const deputy_run_args& args) -> deputy_status* {
    static_cast<volatile char*>(args.outputs[0]->data)[AlignUp(sizeof(float) * kElements)] = 1;
    return nullptr;
  };
  EXPECT_DEATH((void)Run(), "execute: output 0: the memory behind it was touched");
}

TEST_F(Checking, AWriteJustBehindOrInFrontOfATensorIsAFault) {
  for (const int64_t at : {kElements, int64_t{-1}}) {
    keeper_.execute = [at](const deputy_run_args& args) {
      static_cast<float*>(args.outputs[0]->data)[at] = 1;
      return WriteZeros(args);
    };
    EXPECT_NE(Run().ToString().find("it wrote behind or in front of a tensor"), std::string::npos) << at;
  }
}

TEST_F(Checking, AChangedDescriptionOfATensorIsAFault) {
  const std::pair<const char*, void (*)(deputy_tensor&)> changes[] = {
      {"smaller", [](deputy_tensor& tensor) { tensor.byte_size = 4; }},
      {"larger", [](deputy_tensor& tensor) { tensor.byte_size = size_t{1} << 20; }},
      {"no memory", [](deputy_tensor& tensor) { tensor.data = nullptr; }},
  };
  for (const auto& [name, change] : changes) {
    for (const bool writes : {false, true}) {  // otherwise the output is taken for one that is not written
      keeper_.execute = [change = change, writes](const deputy_run_args& args) -> deputy_status* {
        auto& output = *const_cast<deputy_tensor*>(args.outputs[0]);
        if (writes) std::memset(output.data, 0, sizeof(float) * kElements);
        change(output);
        return nullptr;
      };
      EXPECT_NE(Run().ToString().find("it changed the description of a tensor"), std::string::npos) << name;
    }
  }
}

TEST_F(Checking, AGraphIsLentForOneCall) {
  std::vector<Verdict> verdicts;
  ASSERT_TRUE(delegate_->QuerySupport(view_, verdicts).ok());
  EXPECT_EQ(keeper_.host->graph_node_count(keeper_.host->self, keeper_.shown), 0u);
  EXPECT_NE(log_.text().find("graph_node_count: it uses a graph that is not, or no longer, lent to it"),
            std::string::npos);
}

TEST_F(Checking, AStatusReturnedTwiceIsAFault) {
  deputy_status* kept = keeper_.Failure("broken");
  keeper_.execute = [kept](const deputy_run_args&) { return kept; };
  EXPECT_NE(Run().ToString().find("broken"), std::string::npos);
  EXPECT_NE(Run().ToString().find("it returned a status a second time"), std::string::npos);
}

TEST_F(Checking, StatusesThatNeverCameBackAreCounted) {
  (void)keeper_.Failure("forgotten");
  context_ = nullptr;
  delegate_ = nullptr;
  EXPECT_NE(log_.text().find("1 of the statuses that it got were never handed back"), std::string::npos);
}

TEST_F(Checking, ACallAfterCloseIsHeardOf) {
  context_ = nullptr;
  delegate_ = nullptr;
  int64_t done = 0;
  keeper_.host->parallel_for(
      keeper_.host->self, 3, 1,
      [](void* job, int64_t begin, int64_t end, uint32_t) { *static_cast<int64_t*>(job) += end - begin; }, &done);
  EXPECT_EQ(done, 3);
  EXPECT_NE(log_.text().find("parallel_for: it is called after the instance was closed"), std::string::npos);
}

TEST_F(Checking, TwoThreadsInOneContextAreRefused) {
  Status second;
  keeper_.execute = [&](const deputy_run_args& args) -> deputy_status* {
    std::thread([&] { second = Run(); }).join();
    return WriteZeros(args);
  };
  EXPECT_TRUE(Run().ok());
  EXPECT_EQ(second.code(), StatusCode::kFailedPrecondition);
}

TEST_F(Checking, EveryRunThatLeavesAnOutputAsItWasIsAFault) {
  keeper_.execute = WriteZeros;
  ASSERT_TRUE(Run().ok());
  keeper_.execute = [](const deputy_run_args&) -> deputy_status* { return nullptr; };
  const Status status = Run();
  EXPECT_EQ(status.code(), StatusCode::kPlugin);
  EXPECT_NE(status.ToString().find("execute: its output 0 ('first') was not written"), std::string::npos)
      << status.ToString();
  EXPECT_NE(log_.text().find("broke its contract: its output 0 ('first') was not written"), std::string::npos);
}

// Not checked, but for the first run.
class Unchecked : public Checking {
 protected:
  Unchecked() : Checking(false) {}
};

TEST_F(Unchecked, AFirstRunThatWritesNothingIsAnError) {
  for (int round = 0; round < 2; ++round) {
    const Status status = Run();
    EXPECT_EQ(status.code(), StatusCode::kPlugin);
    EXPECT_NE(status.ToString().find("test.keeper (in process): execute: its output 0 ('first') was not written"),
              std::string::npos)
        << status.ToString();
  }
}

TEST_F(Unchecked, AFirstRunThatLeavesTheLastElementIsAnError) {
  keeper_.execute = [](const deputy_run_args& args) -> deputy_status* {
    std::memset(args.outputs[0]->data, 0, args.outputs[0]->byte_size - sizeof(float));
    return nullptr;
  };
  EXPECT_NE(Run().ToString().find("was not written in full: 4 of 20 bytes are unchanged, the first at offset 16"),
            std::string::npos);
}

TEST_F(Unchecked, LaterRunsWriteWhereTheyAreTold) {
  int runs = 0;
  keeper_.execute = [&](const deputy_run_args& args) -> deputy_status* {
    ++runs;
    return WriteZeros(args);
  };
  ASSERT_TRUE(Run().ok());
  out_[0] = 5;
  keeper_.execute = [&](const deputy_run_args& args) -> deputy_status* {
    EXPECT_EQ(static_cast<float*>(args.outputs[0]->data)[0], 5) << "only first runs are prepared";
    return nullptr;
  };
  EXPECT_TRUE(Run().ok());
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace deputy::host
