// The host is given models with one thing wrong, thousands of them, through the public API. It answers each with an
// error that names the node, or with a result where the change happens to be no fault; it never ends the process,
// writes elsewhere (the sanitizer builds look for that), or takes for ever. Each operator has a process of its own, so
// that one that falls says where and the others go on. DEPUTY_GARBAGE=all runs every mutant instead of a share.
#include "garbage.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>

#include "deputy/deputy.hpp"

#if defined(__SANITIZE_ADDRESS__)
// What is too large for the machine is no memory, as it is without the sanitizer.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "allocator_may_return_null=1:max_allocation_size_mb=1024";
}
#endif

namespace deputy::conformance {
namespace {

using reference::Tensor;

// What one process has done; in memory that outlives it.
struct Progress {
  char doing[1000];
  uint64_t mutants, models, errors, results;
};

struct Answer {
  Status status;
  std::vector<::deputy::Tensor> outputs;
};

Answer Ask(::deputy::Context& context, const std::vector<uint8_t>& bytes, const Case& made, Form form) {
  Model model;
  if (Status status = model.Build(bytes.data(), bytes.size(), ModelType::kOnnx, context); !status.ok())
    return {std::move(status), {}};
  Result<Session> session = model.CreateSession();
  if (!session.ok()) return {session.status(), {}};
  Answer answer;
  std::vector<::deputy::Tensor> inputs;
  std::vector<std::vector<uint8_t>> kept;
  for (const Operand& input : made.inputs) {
    if (!input.present || form == Form::kConstant || (form == Form::kAsItIs && input.constant)) continue;
    kept.push_back(reference::Encode(input.value));
    Result<::deputy::Tensor> wrapped = ::deputy::Tensor::Wrap(static_cast<DType>(input.value.dtype), input.value.dims,
                                                              kept.back().data(), kept.back().size());
    if (!wrapped.ok()) return {wrapped.status(), {}};
    inputs.push_back(wrapped.value());
  }
  answer.status = session.value().Predict(inputs, &answer.outputs);
  return answer;
}

// What is wrong with the answer itself; empty for nothing.
std::string FaultOf(const Answer& answer, const Case& made) {
  if (answer.status.ok()) {
    uint64_t sum = 0;  // each byte is there
    for (const ::deputy::Tensor& output : answer.outputs)
      for (size_t i = 0; i < output.byte_size(); ++i) sum += static_cast<const uint8_t*>(output.data())[i];
    volatile uint64_t read = sum;
    (void)read;
    return "";
  }
  const std::string text = answer.status.ToString();
  const bool placed = text.find(made.node.op_type) != std::string::npos ||
                      text.find("operator set") != std::string::npos || text.find("value 'x") != std::string::npos ||
                      text.find("initializer 'x") != std::string::npos || text.find("output 'y") != std::string::npos;
  if (!placed) return "does not name the node: " + text;
  if (text.size() > 2000) return "is " + std::to_string(text.size()) + " bytes long: " + text.substr(0, 200);
  for (const char letter : text)
    if ((static_cast<unsigned char>(letter) < 0x20 && letter != '\n') || letter == 0x7f)
      return "holds control characters: " + text;
  if (answer.status.code() == StatusCode::kInternal || answer.status.code() == StatusCode::kUnknown)
    return std::string("blames the host: ") + text;
  return "";
}

std::string Told(const Answer& answer) {
  if (!answer.status.ok()) return answer.status.ToString();
  std::string text = "a result";
  for (const ::deputy::Tensor& output : answer.outputs)
    text += std::string(" ") + NameOf(output.dtype()) +
            TextOf(reference::Dims(output.shape().begin(), output.shape().end()));
  return text;
}

bool SameTypes(const Answer& a, const Answer& b) {
  if (a.outputs.size() != b.outputs.size()) return false;
  for (size_t i = 0; i < a.outputs.size(); ++i)
    if (a.outputs[i].dtype() != b.outputs[i].dtype() || a.outputs[i].shape() != b.outputs[i].shape()) return false;
  return true;
}

// All cases of one operator. Writes what is wrong to `report`.
void Sweep(const std::vector<Case>& cases, Progress& progress, FILE* report) {
  const char* wanted = std::getenv("DEPUTY_GARBAGE");
  const bool all = wanted != nullptr && std::string(wanted) == "all";
  const bool compare = std::getenv("DEPUTY_GARBAGE_COMPARE") != nullptr;
  constexpr size_t kShare = 100;  // mutants of each operator
  Result<::deputy::Context> context = ::deputy::Context::FromYamlText(
      "garbage", "version: 1\nlog: {level: off}\ncpu: {threads: 2}\ncache: {dir: off}\nlimits: {memory: 2GB}\n");
  if (!context.ok()) {
    std::fprintf(report, "%s\n", context.status().ToString().c_str());
    return;
  }
  struct Job {
    Mutant mutant;
    size_t origin;
  };
  std::vector<Job> jobs;
  for (size_t i = 0; i < cases.size(); ++i)
    for (Mutant& mutant : MutantsOf(cases[i], cases, 1)) jobs.push_back({std::move(mutant), i});
  std::mt19937_64 random(1);
  if (!all && jobs.size() > kShare) {
    std::shuffle(jobs.begin(), jobs.end(), random);
    jobs.resize(kShare);
  }
  std::vector<std::vector<Tensor>> declared;
  for (const Case& one : cases) declared.push_back(reference::Compute(one.node, one.operands()));
  for (const Job& job : jobs) {
    ++progress.mutants;
    std::vector<Answer> answers;
    for (const Form form : {Form::kAsItIs, Form::kAtRunTime, Form::kConstant}) {
      std::snprintf(progress.doing, sizeof progress.doing, "%s (%s)", job.mutant.label.c_str(), NameOf(form));
      const itimerval most{{0, 0}, {60, 0}};  // of computing, so that a busy machine changes nothing
      setitimer(ITIMER_PROF, &most, nullptr);
      const std::vector<uint8_t> bytes = GarbageModel(job.mutant.made, form, declared[job.origin]);
      const Answer answer = Ask(context.value(), bytes, job.mutant.made, form);
      ++progress.models;
      ++(answer.status.ok() ? progress.results : progress.errors);
      if (const std::string fault = FaultOf(answer, job.mutant.made); !fault.empty())
        std::fprintf(report, "%s: %s\n", progress.doing, fault.c_str());
      answers.push_back(answer);
    }
    if (compare && (answers[1].status.ok() != answers[2].status.ok() || !SameTypes(answers[1], answers[2])))
      std::fprintf(report, "%s differs: %s | %s\n", job.mutant.label.c_str(), Told(answers[1]).c_str(),
                   Told(answers[2]).c_str());
  }
}

// Sweeps in a process of its own; says what it wrote and how it ended.
void SweepApart(const std::string& op_type, const std::vector<Case>& cases, Progress& progress) {
  progress = {};
  FILE* report = std::tmpfile();
  ASSERT_NE(report, nullptr);
  std::cout.flush();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
#if !defined(__SANITIZE_ADDRESS__)
    const rlimit memory{rlim_t{4} << 30, rlim_t{4} << 30};
    setrlimit(RLIMIT_AS, &memory);
#endif
    Sweep(cases, progress, report);
    std::fflush(report);
    _exit(0);
  }
  int how = 0;
  ASSERT_EQ(waitpid(child, &how, 0), child);
  if (WIFSIGNALED(how) && WTERMSIG(how) == SIGPROF)
    ADD_FAILURE() << op_type << " takes for ever: " << progress.doing;
  else if (how != 0)
    ADD_FAILURE() << op_type << " ends the process (" << how << "): " << progress.doing;
  std::rewind(report);
  char line[4000];
  while (std::fgets(line, sizeof line, report) != nullptr) ADD_FAILURE() << line;
  std::fclose(report);
}

TEST(Garbage, IsAnsweredWithAnErrorOrAResult) {
  auto* progress = static_cast<Progress*>(
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(progress, MAP_FAILED);
  std::map<std::string, std::vector<Case>> cases;
  for (Case& one : AllCases(0)) cases[one.node.op_type].push_back(std::move(one));
  const char* only = std::getenv("DEPUTY_GARBAGE_OPERATOR");
  uint64_t mutants = 0, models = 0, errors = 0, results = 0;
  for (const auto& [op_type, of_it] : cases) {
    if (only != nullptr && op_type != only) continue;
    SweepApart(op_type, of_it, *progress);
    mutants += progress->mutants;
    models += progress->models;
    errors += progress->errors;
    results += progress->results;
  }
  munmap(progress, sizeof *progress);
  std::cout << mutants << " mutants of " << cases.size() << " operators, " << models << " models: " << errors
            << " errors, " << results << " results\n";
}

}  // namespace
}  // namespace deputy::conformance
