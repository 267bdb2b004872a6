// What a worker process adds to a run: the same model and plugin in this process and isolated, in turns. The counters
// are medians of one Predict.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "deputy/deputy.hpp"

namespace deputy::benchmarks {
namespace {

// Protobuf, as far as an ONNX model of one node needs it.
std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value > 127; value >>= 7) bytes += static_cast<char>(value | 128);
  return bytes + static_cast<char>(value);
}
std::string Number(uint32_t field, uint64_t value) { return Varint(field << 3) + Varint(value); }
std::string Field(uint32_t field, std::string_view bytes) {
  return Varint(field << 3 | 2) + Varint(bytes.size()) + std::string(bytes);
}

std::string FloatValue(std::string_view name, uint64_t elements) {
  const std::string shape = Field(1, Number(1, elements));
  return Field(1, name) + Field(2, Field(1, Number(1, 1) + Field(2, shape)));
}

// y = op(x).
std::string OneNode(std::string_view op, uint64_t inputs, uint64_t outputs) {
  const std::string node = Field(1, "x") + Field(2, "y") + Field(4, op);
  const std::string graph =
      Field(1, node) + Field(2, "g") + Field(11, FloatValue("x", inputs)) + Field(12, FloatValue("y", outputs));
  return Number(1, 8) + Field(7, graph) + Field(8, Number(2, 13));
}

struct Run {
  Context context;
  Model model;
  Session session;
  std::vector<Tensor> inputs, outputs;
  std::vector<double> microseconds;

  // `shared`: the input is in memory that the worker reads.
  Status Prepare(const std::filesystem::path& file, const std::string& entry, uint64_t elements, bool shared) {
    const std::string text =
        "version: 1\ncache: {dir: 'off'}\nlog: {level: error}\ncpu: {threads: 1}\n"
        "placement: {policy: priority}\nplugins: {trust: any, paths: ['" BENCHMARK_PLUGINS
        "', $deputy/plugins]}\ndelegates: [" +
        entry + "]\n";
    Result<Context> made = Context::FromYamlText("benchmark", text);
    if (!made.ok()) return made.status();
    context = *std::move(made);
    if (Status status = model.Build(file.string(), context); !status.ok()) return status;
    Result<Session> begun = model.CreateSession();
    if (!begun.ok()) return begun.status();
    session = *std::move(begun);
    const Shape shape = {static_cast<int64_t>(elements)};
    Result<Tensor> input =
        shared ? model.AllocateTensor(DType::kFloat32, shape) : Tensor::Allocate(DType::kFloat32, shape);
    if (!input.ok()) return input.status();
    inputs = {*std::move(input)};
    return session.Predict(inputs, &outputs);
  }
  Status Time() {
    const auto begin = std::chrono::steady_clock::now();
    const Status status = session.Predict(inputs, &outputs);
    microseconds.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
    return status;
  }
  double Median() {
    std::sort(microseconds.begin(), microseconds.end());
    return microseconds[microseconds.size() / 2];
  }
};

struct Case {
  const char* op;
  std::string delegate;
  bool whole = false;  // the delegate writes as much as it reads, else one element
  bool shared = true, spins = true;
  bool pauses = false;  // before each run, so that the worker sleeps when it begins
};

void Isolated(benchmark::State& state, const Case& measured) {
  const auto elements = static_cast<uint64_t>(std::max<int64_t>(1, state.range(0) / 4));
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("isolation_benchmark_" + std::to_string(getpid()) + ".onnx");
  std::ofstream(file, std::ios::binary) << OneNode(measured.op, elements, measured.whole ? elements : 1);
  Run inside, isolated;
  const std::string entry = "{" + measured.delegate + ", isolation: ", sleeps = measured.spins ? "" : ", spin: 0us";
  Status status = inside.Prepare(file, entry + "none}", elements, measured.shared);
  if (status.ok()) status = isolated.Prepare(file, entry + "process" + sleeps + "}", elements, measured.shared);
  std::filesystem::remove(file);
  if (!status.ok()) return state.SkipWithError(status.ToString().c_str());
  for (auto _ : state) {
    for (Run* run : {&inside, &isolated}) {
      if (measured.pauses) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (status = run->Time(); !status.ok()) return state.SkipWithError(status.ToString().c_str());
    }
  }
  state.counters["in_process_us"] = inside.Median();
  state.counters["isolated_us"] = isolated.Median();
  state.counters["added_us"] = isolated.Median() - inside.Median();
}

void Sizes(benchmark::internal::Benchmark* benchmark) {
  // The first is that of a test.
  for (const int64_t bytes : {100, 1 << 10, 64 << 10, 1 << 20, 16 << 20}) benchmark->Arg(bytes);
  benchmark->Unit(benchmark::kMicrosecond);
}

const std::string kReads = "name: first_element", kCopies = "name: 'null', options: {claim_identity: true}";

void IsolatedInput(benchmark::State& state) { Isolated(state, {"ReduceMax", kReads}); }
void IsolatedInputOfItsOwn(benchmark::State& state) { Isolated(state, {"ReduceMax", kReads, false, false}); }
void IsolatedInputSleeping(benchmark::State& state) { Isolated(state, {"ReduceMax", kReads, false, true, false}); }
void IsolatedInputAfterPause(benchmark::State& state) {
  Isolated(state, {"ReduceMax", kReads, false, true, true, true});
}
// From submit to the end of a run of a queue. One delegate at a time: a device may poll all the time.
void Queued(benchmark::State& state, const std::string& name, const std::string& isolation) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("isolation_benchmark_" + std::to_string(getpid()) + ".onnx");
  std::ofstream(file, std::ios::binary) << OneNode("ReduceMax", 25, 1);
  Run run;
  Status status = run.Prepare(file, "{name: " + name + ", isolation: " + isolation + "}", 25, true);
  std::filesystem::remove(file);
  for (auto _ : state) {
    if (status.ok()) status = run.Time();
    if (!status.ok()) return state.SkipWithError(status.ToString().c_str());
  }
  state.counters["run_us"] = run.Median();
}
void QueuedInProcess(benchmark::State& state) { Queued(state, "queued_element", "none"); }
void SubmittedInProcess(benchmark::State& state) { Queued(state, "instant_element", "none"); }
void SubmittedIsolated(benchmark::State& state) { Queued(state, "instant_element", "process"); }
void IsolatedOutput(benchmark::State& state) { Isolated(state, {"Identity", kCopies, true}); }
BENCHMARK(IsolatedInput)->Apply(Sizes);
BENCHMARK(IsolatedInputOfItsOwn)->Apply(Sizes);
BENCHMARK(IsolatedInputSleeping)->Apply(Sizes);
BENCHMARK(IsolatedInputAfterPause)->Apply(Sizes);
BENCHMARK(QueuedInProcess)->Arg(100)->Unit(benchmark::kMicrosecond);
BENCHMARK(SubmittedInProcess)->Arg(100)->Unit(benchmark::kMicrosecond);
BENCHMARK(SubmittedIsolated)->Arg(100)->Unit(benchmark::kMicrosecond);
BENCHMARK(IsolatedOutput)->Apply(Sizes);

}  // namespace
}  // namespace deputy::benchmarks
