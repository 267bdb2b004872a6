// Runs a model on an isolated delegate while its worker process is killed again and again: every answer agrees with the
// CPU's, and memory, descriptors and threads of this process do not grow.
//
//   soak MODEL --delegate NAME [--runs 100000] [--kill-every 50] [--plugins FOLDER]
//
// --kill-every is in milliseconds of runs. A delegate that fails often is not used for a while, or not for some
// partitions any more; a new context is made then, which uses it again.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "deputy/deputy.hpp"
#include "support/process_state.hpp"
#include "support/worker_killer.hpp"

namespace deputy {
namespace {

using Answer = std::vector<std::vector<float>>;

struct Options {
  std::string model, delegate, plugins;
  size_t runs = 100000;
  std::chrono::milliseconds kill_every{50};
};

[[noreturn]] void Fail(const std::string& what) {
  std::printf("soak: %s\n", what.c_str());
  std::exit(1);
}

void Check(const Status& status, const char* what) {
  if (!status.ok()) Fail(std::string(what) + ": " + status.ToString());
}

// A model in a context of its own.
struct Opened {
  Context context;
  Model model;
  Session session;
};

Opened Open(const Options& options, const std::string& delegates) {
  const std::string paths = options.plugins.empty() ? "" : "plugins: {paths: [" + options.plugins + "]}\n";
  Result<Context> context = Context::FromYamlText(
      "soak.yaml", "version: 1\n" + paths +
                       "cache: {dir: 'off'}\nlog: {level: 'off'}\nplacement: {policy: priority}\n" + "delegates: [" +
                       delegates + "]\n");
  Check(context.status(), "configuration");
  Opened opened{*std::move(context), Model(), Session()};
  Check(opened.model.Build(options.model, opened.context), "build");
  Result<Session> session = opened.model.CreateSession();
  Check(session.status(), "session");
  opened.session = *std::move(session);
  return opened;
}

std::vector<Tensor> InputsOf(const Model& model, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> values(-1, 1);
  std::vector<Tensor> inputs;
  for (const TensorInfo& input : model.inputs()) {
    Shape shape = input.shape;
    for (int64_t& extent : shape) extent = std::max<int64_t>(extent, 1);
    if (input.dtype != DType::kFloat32) Fail("the model has an input that is not of float32");
    inputs.push_back(*Tensor::Allocate(input.dtype, shape));
    for (float& value : inputs.back().mutable_values<float>()) value = values(random);
  }
  return inputs;
}

// Outputs of float32; others are not compared.
Answer AnswerOf(Session& session, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
  Check(session.Predict(inputs, &outputs), "run");
  Answer answer;
  for (const Tensor& output : outputs)
    if (output.dtype() == DType::kFloat32)
      answer.emplace_back(output.values<float>().begin(), output.values<float>().end());
  return answer;
}

// Within 1e-4 of the largest value of the output: the delegate and the CPU round differently.
bool Agree(const Answer& wanted, const Answer& answer) {
  if (wanted.size() != answer.size()) return false;
  for (size_t output = 0; output < wanted.size(); ++output) {
    if (wanted[output].size() != answer[output].size()) return false;
    float scale = 0;
    for (const float value : wanted[output]) scale = std::max(scale, std::fabs(value));
    for (size_t i = 0; i < wanted[output].size(); ++i)
      if (!(std::fabs(wanted[output][i] - answer[output][i]) <= 1e-4f * scale)) return false;
  }
  return true;
}

bool IsWorn(const Context& context) {
  const HealthReport health = context.Health();
  return std::any_of(health.delegates.begin(), health.delegates.end(), [](const DelegateHealthReport& delegate) {
    return !delegate.available || delegate.demoted_partitions != 0;
  });
}

Options Parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    const bool has_value = i + 1 < count;
    if (argument == "--delegate" && has_value)
      options.delegate = arguments[++i];
    else if (argument == "--plugins" && has_value)
      options.plugins = arguments[++i];
    else if (argument == "--runs" && has_value)
      options.runs = std::strtoull(arguments[++i], nullptr, 10);
    else if (argument == "--kill-every" && has_value)
      options.kill_every = std::chrono::milliseconds(std::strtoll(arguments[++i], nullptr, 10));
    else
      options.model = argument;
  }
  if (options.model.empty() || options.delegate.empty() || options.runs == 0 || options.kill_every.count() <= 0) {
    std::fprintf(stderr, "usage: soak MODEL --delegate NAME [--runs N] [--kill-every MS] [--plugins FOLDER]\n");
    std::exit(2);
  }
  return options;
}

void Print(size_t run, const ProcessState& state, size_t killed) {
  std::printf("run %zu: %zu kills, %llu kB resident, %zu descriptors, %zu threads\n", run, killed,
              static_cast<unsigned long long>(state.resident_kilobytes), state.descriptors, state.threads);
  std::fflush(stdout);
}

int Main(int count, char** arguments) {
  const Options options = Parse(count, arguments);
  SetLogSink([](LogLevel, std::string_view, std::string_view) {});
  constexpr size_t kInputs = 4, kRunsWhenWorn = 20;
  std::vector<std::vector<Tensor>> inputs;
  std::vector<Answer> wanted;
  std::vector<Tensor> outputs;
  {
    Opened alone = Open(options, "");
    for (uint32_t i = 0; i < kInputs; ++i) {
      inputs.push_back(InputsOf(alone.model, i));
      wanted.push_back(AnswerOf(alone.session, inputs.back(), outputs));
    }
  }
  const std::string entry = "{name: " + options.delegate + ", isolation: process}";
  WorkerKiller killer(options.kill_every);
  std::optional<Opened> opened;
  std::optional<ProcessState> first;
  ProcessState last;
  size_t contexts = 0, failures = 0, worn = 0;
  const size_t warm = options.runs / 10;
  for (size_t run = 0; run < options.runs; ++run) {
    if (!opened || (worn != 0 && run - worn >= kRunsWhenWorn)) {
      if (opened)
        for (const DelegateHealthReport& delegate : opened->context.Health().delegates) failures += delegate.failures;
      // A worker that is killed while it loads a model leaves nothing to be run on the delegate.
      killer.Pause(true);
      opened.reset();
      opened.emplace(Open(options, entry));
      killer.Pause(false);
      ++contexts;
      worn = 0;
    }
    const size_t which = run % kInputs;
    if (!Agree(wanted[which], AnswerOf(opened->session, inputs[which], outputs)))
      Fail("run " + std::to_string(run) + " has a wrong answer");
    if (worn == 0 && IsWorn(opened->context)) worn = run;
    // Between contexts only the library and the program hold anything.
    if ((run + 1) % warm == 0) {
      for (const DelegateHealthReport& delegate : opened->context.Health().delegates) failures += delegate.failures;
      opened.reset();
      killer.Pause(true);
      last = StateOfThisProcess();
      killer.Pause(false);
      if (!first) first = last;
      Print(run + 1, last, killer.killed());
    }
  }
  std::printf("%zu runs in %zu contexts, %zu workers killed, %zu failures answered by the CPU, no wrong answer\n",
              options.runs, contexts, killer.killed(), failures);
  if (killer.killed() == 0 || failures == 0) Fail("no worker was killed in a run");
  if (last.descriptors > first->descriptors || last.threads > first->threads) Fail("descriptors or threads have grown");
  constexpr uint64_t kSlackKilobytes = 8192;
  if (last.resident_kilobytes > first->resident_kilobytes + kSlackKilobytes) Fail("resident memory has grown");
  return 0;
}

}  // namespace
}  // namespace deputy

int main(int count, char** arguments) { return deputy::Main(count, arguments); }
