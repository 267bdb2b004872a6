// What the host adds to a call of a plugin's execute: the plugin does nothing, and its tensors are small.
#include <benchmark/benchmark.h>

#include <memory>
#include <string_view>

#include "chain_graph.hpp"
#include "plugin/discovery/registry.hpp"
#include "support/plain_calls.hpp"

namespace deputy::host::benchmarks {
namespace {

deputy_str Str(const char* text) { return {text, std::string_view(text).size()}; }

// Objects without state: one address serves as all of them.
struct IdlePlugin {
  deputy_plugin plugin{};
  deputy_delegate delegate{};

  IdlePlugin() {
    plugin.struct_size = sizeof plugin;
    plugin.abi_version = plugin.min_host_abi = DEPUTY_ABI_VERSION;
    plugin.id = Str("benchmark.idle");
    plugin.impl = this;
    plugin.delegate_count = [](const deputy_plugin*) -> uint32_t { return 1; };
    plugin.delegate_at = [](const deputy_plugin* self, uint32_t) -> const deputy_delegate* {
      return &static_cast<const IdlePlugin*>(self->impl)->delegate;
    };
    delegate.struct_size = sizeof delegate;
    delegate.id = Str("idle");
    delegate.impl = this;
    delegate.opsets = &deputy::plain::kAnyOpset;
    delegate.opset_count = 1;
    delegate.open = [](const deputy_delegate* self, const deputy_open_args*, deputy_instance** out) -> deputy_status* {
      *out = static_cast<deputy_instance*>(self->impl);
      return nullptr;
    };
    delegate.close = [](deputy_instance*) {};
    delegate.query_support = [](deputy_instance*, const deputy_graph*, const deputy_support_sink*) -> deputy_status* {
      return nullptr;
    };
    delegate.compile = [](deputy_instance* self, const deputy_compile_args*,
                          deputy_executable** out) -> deputy_status* {
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
    delegate.execute = [](deputy_context*, const deputy_run_args* args) -> deputy_status* {
      *static_cast<float*>(args->outputs[0]->data) = 0;
      return nullptr;
    };
  }
};

void CallOfAPlugin(benchmark::State& state) {
  IdlePlugin idle;
  PluginRegistry registry;
  const Graph graph = ChainGraph(1);
  GraphView view{&graph, {0}, {1}};
  PartitionSpec partition;
  partition.nodes = {0};
  partition.inputs = {graph.inputs.front()};
  partition.outputs = {graph.outputs.front()};
  if (!registry.AddInProcess(&idle.plugin, nullptr).ok()) return state.SkipWithError("the plugin is refused");
  const std::unique_ptr<Delegate> delegate = registry.Open({"idle", "idle", "", {}, nullptr}).value();
  const auto executable = delegate->Compile(view, partition).value();
  const std::unique_ptr<ExecutionContext> context = executable->CreateContext().value();
  float in = 1, out = 1;
  deputy_tensor input{}, output{};
  for (deputy_tensor* tensor : {&input, &output}) {
    tensor->struct_size = sizeof *tensor;
    tensor->dtype = DEPUTY_DTYPE_FLOAT32;
    tensor->byte_size = sizeof in;
  }
  input.data = &in;
  output.data = &out;
  const deputy_tensor* inputs[] = {&input};
  deputy_tensor* outputs[] = {&output};
  for (auto _ : state) {
    for (int64_t i = 0; i < state.range(0); ++i) {
      const Status status = context->Execute({inputs, outputs});
      if (!status.ok()) return state.SkipWithError(status.ToString().c_str());
    }
  }
  state.counters["per_call"] = benchmark::Counter(
      static_cast<double>(state.range(0)), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(CallOfAPlugin)->Arg(100);

}  // namespace
}  // namespace deputy::host::benchmarks
