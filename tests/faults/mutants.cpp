// Builds and runs mutants of files: each is refused with an error that has a message, or runs within its limits.
//
//   mutants --count 10000 [--seed 1] [--extent SYMBOL=N]... [--save FOLDER] [--delegate NAME] FILE...
//
// Dynamic dimensions have an extent of 1, or that of their symbol.
// Models run on the CPU, or on a delegate of the installation's plugins, in process, and the CPU.
// A file is a model of any format, or a configuration (.yaml). The mutants of a file are the same for a seed
// everywhere. They run in a child process, so that one which ends it is named, saved and followed by the next.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "deputy/deputy.hpp"

namespace deputy {
namespace {

using Bytes = std::vector<char>;

// Shared with the child, which may end anywhere.
struct Progress {
  size_t next, refused, built, ran, failed, wrong;
};

// A mutant that takes longer is a hang: all limits of a run and of a load together are shorter.
constexpr unsigned kHangSeconds = 30;
constexpr const char* kLimits =
    "version: 1\ncache: {dir: 'off'}\nlog: {level: 'off'}\n"
    "limits: {timeout: 2s, memory: 512MB, loop_steps: 100000}\n";

// One to eight changes of bytes, words and ranges.
Bytes Mutated(const Bytes& file, const Bytes& other, std::mt19937_64& random) {
  Bytes mutant = file;
  const auto below = [&](size_t limit) { return limit == 0 ? 0 : static_cast<size_t>(random() % limit); };
  constexpr std::array<uint64_t, 10> kNumbers{0, 1, 127, 128, 255, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff, UINT64_MAX};
  for (size_t change = 0, changes = 1 + below(8); change < changes && !mutant.empty(); ++change) {
    const size_t at = below(mutant.size());
    const size_t length = std::min(1 + below(below(4) == 0 ? 256 : 8), mutant.size() - at);
    const auto place = mutant.begin() + static_cast<ptrdiff_t>(at);
    switch (below(8)) {
      case 0: *place = static_cast<char>(*place ^ 1 << below(8)); break;
      case 1: *place = static_cast<char>(random()); break;
      case 2: {
        const uint64_t number = kNumbers[below(kNumbers.size())];
        std::memcpy(&*place, &number, std::min(length, sizeof number));
        break;
      }
      case 3: mutant.erase(place, place + static_cast<ptrdiff_t>(length)); break;
      case 4: mutant.insert(place, length, static_cast<char>(random())); break;
      case 5: {
        const Bytes copy(place, place + static_cast<ptrdiff_t>(length));
        mutant.insert(mutant.begin() + static_cast<ptrdiff_t>(below(mutant.size())), copy.begin(), copy.end());
        break;
      }
      case 6: {
        const size_t from = below(other.size()), many = std::min({length, other.size() - from, mutant.size() - at});
        std::copy_n(other.begin() + static_cast<ptrdiff_t>(from), many, place);
        break;
      }
      case 7:
        if (below(20) == 0) mutant.resize(at);
        break;
    }
  }
  return mutant;
}

struct Options {
  size_t count = 0;
  uint64_t seed = 1;
  std::map<std::string, int64_t> extents;  // by symbol
  std::string save, delegate, model;
  std::vector<std::string> files;
};

Shape ConcreteShape(const TensorInfo& input, const Options& options) {
  Shape concrete = input.shape;
  for (size_t i = 0; i < concrete.size(); ++i) {
    if (concrete[i] >= 0) continue;
    const auto found = options.extents.find(input.dims[i]);
    concrete[i] = found == options.extents.end() ? 1 : found->second;
  }
  return concrete;
}

// kBuilt: the model was built, but has inputs that are no tensors or too large.
enum class Outcome { kRefused, kBuilt, kRan, kFailed, kWrong };

Outcome Refused(const Status& status) {
  if (!status.message().empty()) return Outcome::kRefused;
  std::fprintf(stderr, "an error without a message: %s\n", status.ToString().c_str());
  return Outcome::kWrong;
}

Outcome RunModel(const Model& model, const Options& options) {
  Result<Session> session = model.CreateSession();
  if (!session.ok()) return Refused(session.status());
  std::vector<Tensor> inputs, outputs;
  for (const TensorInfo& input : model.inputs()) {
    if (input.kind != ValueKind::kTensor) return Outcome::kBuilt;
    Result<Tensor> tensor = Tensor::Allocate(input.dtype, ConcreteShape(input, options));
    if (!tensor.ok() || tensor->byte_size() > size_t{64} << 20) return Outcome::kBuilt;
    if (tensor->byte_size() != 0) std::memset(tensor->mutable_data(), 0, tensor->byte_size());
    inputs.push_back(*std::move(tensor));
  }
  const Status status = session->Predict(inputs, &outputs);
  if (status.ok()) return Outcome::kRan;
  return Refused(status) == Outcome::kWrong ? Outcome::kWrong : Outcome::kFailed;
}

Outcome TryModel(const Bytes& mutant, const Context& context, const Options& options) {
  Model model;
  const Status built = model.Build(mutant.data(), mutant.size(), ModelType::kAuto, context);
  return built.ok() ? RunModel(model, options) : Refused(built);
}

Outcome TryConfiguration(const Bytes& mutant, const Options& options) {
  const Result<Context> context = Context::FromYamlText("mutant.yaml", std::string(mutant.begin(), mutant.end()));
  if (!context.ok()) return Refused(context.status());
  if (Context::FromYamlText("again.yaml", context->ShowConfig()).status().code() != StatusCode::kOk) {
    std::fprintf(stderr, "an accepted configuration is refused when it is shown and read again\n");
    return Outcome::kWrong;
  }
  Model built;
  const Status status = built.Build(options.model, *context);
  return status.ok() ? RunModel(built, options) : Refused(status);
}

Bytes ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "mutants: cannot read %s\n", path.c_str());
    std::exit(2);
  }
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Bytes MutantOf(const Bytes& file, const Bytes& other, uint64_t seed, size_t index) {
  std::mt19937_64 random(seed * 1000003 + index);
  return Mutated(file, other, random);
}

// From `progress.next` on, until all have run or one has ended the process.
[[noreturn]] void RunChild(const Options& options, const std::string& path, const Bytes& file, const Bytes& other,
                           Progress& progress) {
  SetLogSink([](LogLevel, std::string_view, std::string_view) {});
  const std::string delegates =
      options.delegate.empty() ? "[]" : "[{name: " + options.delegate + ", isolation: none, required: true}]";
  const Context context = *Context::FromYamlText("limits.yaml", kLimits + ("delegates: " + delegates + "\n"));
  const bool is_yaml = std::filesystem::path(path).extension() == ".yaml";
  for (; progress.next < options.count; ++progress.next) {
    alarm(kHangSeconds);
    const Bytes mutant = MutantOf(file, other, options.seed, progress.next);
    const Outcome outcome = is_yaml ? TryConfiguration(mutant, options) : TryModel(mutant, context, options);
    size_t* const counts[] = {&progress.refused, &progress.built, &progress.ran, &progress.failed, &progress.wrong};
    ++*counts[static_cast<size_t>(outcome)];
    if (outcome == Outcome::kWrong) std::fprintf(stderr, "%s: mutant %zu is wrong\n", path.c_str(), progress.next);
  }
  _exit(0);
}

void Save(const Options& options, const std::string& path, size_t index, const Bytes& mutant) {
  if (options.save.empty()) return;
  const std::filesystem::path origin(path);
  std::filesystem::create_directories(options.save);
  std::ofstream file(
      options.save + "/" + origin.stem().string() + "-" + std::to_string(index) + origin.extension().string(),
      std::ios::binary);
  file.write(mutant.data(), static_cast<std::streamsize>(mutant.size()));
}

// Whether no mutant of the file ended the process or was wrong.
bool RunFile(const Options& options, const std::string& path, const Bytes& other) {
  const Bytes file = ReadFile(path);
  auto* progress = static_cast<Progress*>(
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (progress == MAP_FAILED) std::abort();
  *progress = {};
  size_t ends = 0;
  while (progress->next < options.count) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) RunChild(options, path, file, other, *progress);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) std::abort();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    ++ends;
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    std::printf("%s: mutant %zu of seed %llu %s (%s)\n", path.c_str(), progress->next,
                static_cast<unsigned long long>(options.seed), signal == SIGALRM ? "hangs" : "ends the process",
                signal != 0 ? strsignal(signal) : "exit");
    Save(options, path, progress->next, MutantOf(file, other, options.seed, progress->next));
    ++progress->next;
  }
  std::printf(
      "%s: %zu mutants: %zu refused, %zu only built, %zu ran, %zu failed while they ran, %zu wrong, %zu ended "
      "the process\n",
      path.c_str(), options.count, progress->refused, progress->built, progress->ran, progress->failed, progress->wrong,
      ends);
  const bool good = ends == 0 && progress->wrong == 0 && progress->refused != 0 && progress->ran != 0;
  munmap(progress, sizeof(Progress));
  return good;
}

// Whether the text is SYMBOL=N, an extent to give.
bool ReadExtent(const std::string& text, Options& options) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos) return false;
  char* end = nullptr;
  const int64_t extent = std::strtoll(text.c_str() + equals + 1, &end, 10);
  options.extents[text.substr(0, equals)] = extent;
  return *end == '\0' && extent > 0;
}

int Main(int count, char** arguments) {
  Options options;
  options.model = DEPUTY_TEST_DIGITS;
  bool usable = true;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--count" && i + 1 < count)
      options.count = std::strtoull(arguments[++i], nullptr, 10);
    else if (argument == "--seed" && i + 1 < count)
      options.seed = std::strtoull(arguments[++i], nullptr, 10);
    else if (argument == "--extent" && i + 1 < count)
      usable &= ReadExtent(arguments[++i], options);
    else if (argument == "--save" && i + 1 < count)
      options.save = arguments[++i];
    else if (argument == "--delegate" && i + 1 < count)
      options.delegate = arguments[++i];
    else
      options.files.push_back(argument);
  }
  if (!usable || options.count == 0 || options.files.empty()) {
    std::fprintf(stderr,
                 "usage: mutants --count N [--seed S] [--extent SYMBOL=N]... [--save FOLDER] [--delegate NAME] "
                 "FILE...\n");
    return 2;
  }
  // For what configurations cache.
  std::string cache = (std::filesystem::temp_directory_path() / "mutants-XXXXXX").string();
  if (mkdtemp(cache.data()) == nullptr) std::abort();
  setenv("XDG_CACHE_HOME", cache.c_str(), 1);
  bool good = true;
  const Bytes other = ReadFile(options.files.back());
  for (const std::string& file : options.files) good &= RunFile(options, file, other);
  std::filesystem::remove_all(cache);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace deputy

int main(int count, char** arguments) { return deputy::Main(count, arguments); }
