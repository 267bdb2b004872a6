// The plugin `every_slot` opened over its tables, with one compiled partition and a context: for tests of what happens
// around calls.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "plugin/proxy/graph_handle.hpp"
#include "plugin/proxy/host_services.hpp"
#include "support/plain_calls.hpp"
#include "support/test_graph.hpp"
#include "unit/isolation/support.hpp"

namespace deputy::host::testing {

// What the plugin does in a run, by its power level, and in a compilation, by its priority.
enum Way : uint32_t { kNormal = 0, kDies = 1, kFails = 2, kWaits = 3, kThrows = 4 };

struct Failed {
  deputy_code code = DEPUTY_OK;
  std::string message;
};

// Bytes of the constant that the partition reads, which lies in no file.
inline constexpr size_t kWeights = 5 * 4096;

inline Graph WithWeights() {
  Graph graph = TestGraph({{"first", "Relu"}, {"second", "Sigmoid"}}).graph;
  const int64_t count = kWeights / sizeof(float);
  graph.nodes[0].inputs.push_back(graph.AddConstant("weights", *Tensor::Allocate(DType::kFloat32, {count})));
  return graph;
}

class Plugged {
 public:
  explicit Plugged(const deputy_plugin* plugin)
      : plugin_(*plugin), services_("plugged", nullptr), graph_(WithWeights()), handle_(OfferAll(graph_)) {
    SetLogLevel(LogLevel::kOff);
    EXPECT_EQ(Take(plugin_.init(&plugin_, host())).message, "");
    delegate = plugin_.delegate_at(&plugin_, 0);
  }
  ~Plugged() {
    plugin_.shutdown(&plugin_);
    SetLogLevel(LogLevel::kInfo);
  }
  Plugged(const Plugged&) = delete;
  Plugged& operator=(const Plugged&) = delete;

  const deputy_host* host() const { return services_.table(); }
  Failed Take(deputy_status* status) const {
    Failed failed{host()->status_code(host()->self, status), ""};
    failed.message = host()->status_message(host()->self, status).data;
    host()->status_release(host()->self, status);
    return failed;
  }

  Failed Open(deputy_instance*& instance) const {
    deputy_open_args args{};
    args.struct_size = sizeof args;
    args.host = host();
    args.name = {"plugged", 7};
    args.domain = 1;
    return Take(delegate->open(delegate, &args, &instance));
  }
  Failed Compile(deputy_instance* instance, deputy_executable*& executable, int32_t priority = 0) const {
    static constexpr deputy_node_id kNode = 0;
    static constexpr deputy_value_id kInput = 0, kOutput = 1;
    const deputy_partition partition{sizeof partition, 1, &handle_, &kNode,  &kInput,
                                     &kOutput,         1, 1,        nullptr, {"plugged.0", 9}};
    const deputy_control control{
        sizeof control, 0, const_cast<Plugged*>(this), [](void*) { return 0u; },
        [](void* self, uint32_t, deputy_str) { static_cast<const Plugged*>(self)->during_compile(); }};
    deputy_compile_args args{};
    args.struct_size = sizeof args;
    args.partition = &partition;
    args.control = &control;
    args.priority = priority;
    return Take(delegate->compile(instance, &args, &executable));
  }
  Failed CreateContext(deputy_executable* executable, deputy_context*& context) const {
    const deputy_context_args args{sizeof args, 0, 0, 0};
    return Take(delegate->context_create(executable, &args, &context));
  }
  // Doubles `values`, which are read at `from` if that is given.
  Failed Run(deputy_context* context, std::vector<float>& values, uint32_t way = kNormal, uint64_t run = 1,
             const float* from = nullptr) const {
    std::vector<float> out(values.size(), -1);
    plain::PlainRun call(from != nullptr ? from : values.data(), out.data(), values.size());
    call.args.run = run;
    call.args.power_level = way;
    Failed failed = Take(delegate->execute(context, &call.args));
    if (failed.code == DEPUTY_OK) values = out;
    return failed;
  }

  const deputy_delegate* delegate = nullptr;
  std::function<void()> during_compile = [] {};

 private:
  const deputy_plugin& plugin_;
  HostServices services_;
  const Graph graph_;
  const deputy_graph handle_;
};

}  // namespace deputy::host::testing
