// Builds and runs mutants of files, and files as they are: each is refused with an error that has a message, or runs
// within its limits.
//
//   mutants --count 10000 [--seed 1] [OPTIONS] FILE...   mutants of each file
//   mutants --files-from LIST [OPTIONS]                  the files that LIST names, one a line, as they are
//
//   --extent SYMBOL=N          of a dynamic dimension; 1 without
//   --delegate NAME            goes first, in process; the CPU gets the rest. Without: the CPU alone
//   --options YAML             of the delegate: '{accept: everything}'
//   --through STEP,...         of run (default), partition, verify, convert, compare (model_trial.hpp)
//   --save FOLDER              takes what ended the process, hung or was wrong
//   --show-different 1         names what is not as on the CPU
//
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
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "deputy/deputy.hpp"
#include "faults/model_trial.hpp"

namespace deputy::faults {
namespace {

// Shared with the child, which may end anywhere.
struct Progress {
  size_t next;
  Counts counts;
};

// A mutant that takes longer is a hang: all limits of a run and of a load together are shorter.
constexpr unsigned kHangSeconds = 60;
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
  std::string save, delegate, delegate_options = "{}", model, list, folder;
  Through through;
  bool show_different = false;
  std::vector<std::string> files;
};

Outcome TryConfiguration(const Bytes& mutant, const ModelTrial& trial, const Options& options) {
  const Result<Context> context = Context::FromYamlText("mutant.yaml", std::string(mutant.begin(), mutant.end()));
  if (!context.ok()) return Refused(context.status());
  if (Context::FromYamlText("again.yaml", context->ShowConfig()).status().code() != StatusCode::kOk) {
    std::fprintf(stderr, "an accepted configuration is refused when it is shown and read again\n");
    return Outcome::kWrong;
  }
  Model built;
  const Status status = built.Build(options.model, *context);
  return status.ok() ? trial.TryBuilt(built) : Refused(status);
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

// What is tried, one after the other: mutants of one file, or files as they are.
struct Work {
  size_t count = 0;
  std::function<std::string(size_t)> name;
  std::function<Bytes(size_t)> content;
  bool is_yaml = false;
};

Work MutantsOf(const Options& options, const std::string& path, const Bytes& other) {
  return {
      options.count,
      [&options, path](size_t index) {
        return path + ": mutant " + std::to_string(index) + " of seed " + std::to_string(options.seed);
      },
      [&options, file = ReadFile(path), &other](size_t index) { return MutantOf(file, other, options.seed, index); },
      std::filesystem::path(path).extension() == ".yaml"};
}

void Save(const Options& options, size_t index, const Bytes& content) {
  if (options.save.empty()) return;
  const std::filesystem::path origin(options.files.size() == 1 ? options.files[0] : "model.bin");
  std::filesystem::create_directories(options.save);
  const std::string name = origin.stem().string() + "-" + std::to_string(index) + origin.extension().string();
  std::ofstream file(options.save + "/" + name, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
}

// From `progress.next` on, until all have run or one has ended the process.
[[noreturn]] void RunChild(const Options& options, const Work& work, Progress& progress) {
  SetLogSink([](LogLevel, std::string_view, std::string_view) {});
  const std::string delegates =
      options.delegate.empty() ? "[]"
                               : "[{name: '" + options.delegate +
                                     "', isolation: none, required: true, options: " + options.delegate_options + "}]";
  const Result<Context> context = Context::FromYamlText("limits.yaml", kLimits + ("delegates: " + delegates + "\n"));
  const Result<Context> cpu = Context::FromYamlText("cpu.yaml", kLimits + std::string("delegates: []\n"));
  if (!context.ok() || !cpu.ok()) {
    std::fprintf(stderr, "mutants: %s\n", (context.ok() ? cpu : context).status().ToString().c_str());
    _exit(3);
  }
  ModelTrial trial(*context, *cpu, options.through, options.extents, options.folder);
  for (; progress.next < work.count; ++progress.next) {
    alarm(kHangSeconds);
    const Bytes content = work.content(progress.next);
    Counts& counts = progress.counts;
    const size_t different = counts.different;
    const Outcome outcome = work.is_yaml ? TryConfiguration(content, trial, options) : trial.Try(content, counts);
    if (options.show_different && counts.different != different)
      std::fprintf(stderr, "%s is different\n", work.name(progress.next).c_str());
    size_t* const all[] = {&counts.refused, &counts.built, &counts.ran, &counts.failed, &counts.wrong};
    ++*all[static_cast<size_t>(outcome)];
    if (outcome != Outcome::kWrong) continue;
    std::fprintf(stderr, "%s is wrong\n", work.name(progress.next).c_str());
    Save(options, progress.next, content);
  }
  _exit(0);
}

void Print(const std::string& name, size_t count, const Counts& counts, const Through& through, size_t ends) {
  std::printf(
      "%s: %zu: %zu refused, %zu only built, %zu ran, %zu failed while they ran, %zu wrong, %zu ended the process\n",
      name.c_str(), count, counts.refused, counts.built, counts.ran, counts.failed, counts.wrong, ends);
  if (through.partition) std::printf("  %zu with nodes on the delegate\n", counts.placed);
  if (through.verify) std::printf("  %zu partitions verified, %zu not\n", counts.verified, counts.unverified);
  if (through.convert) std::printf("  %zu converted and read again\n", counts.converted);
  if (through.compare) std::printf("  %zu as on the CPU, %zu different\n", counts.compared, counts.different);
}

// Whether nothing ended the process or was wrong.
bool RunAll(const Options& options, const std::string& name, const Work& work) {
  auto* progress = static_cast<Progress*>(
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (progress == MAP_FAILED) std::abort();
  *progress = {};
  size_t ends = 0;
  while (progress->next < work.count) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) RunChild(options, work, *progress);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) std::abort();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 3) std::exit(2);
    ++ends;
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    std::printf("%s %s (%s)\n", work.name(progress->next).c_str(), signal == SIGALRM ? "hangs" : "ends the process",
                signal != 0 ? strsignal(signal) : "exit");
    Save(options, progress->next, work.content(progress->next));
    ++progress->next;
  }
  Print(name, work.count, progress->counts, options.through, ends);
  const Counts& counts = progress->counts;
  const bool good = ends == 0 && counts.wrong == 0 && counts.refused != 0 && counts.ran != 0;
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

// Whether each word is a step.
bool ReadThrough(const std::string& text, Through& through) {
  through = {};
  through.run = false;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const std::map<std::string, bool*> steps = {{"run", &through.run},
                                                {"partition", &through.partition},
                                                {"verify", &through.verify},
                                                {"convert", &through.convert},
                                                {"compare", &through.compare}};
    const auto found = steps.find(word);
    if (found == steps.end()) return false;
    *found->second = true;
  }
  return true;
}

bool ReadArguments(const std::vector<std::string>& arguments, Options& options) {
  bool usable = true;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument.rfind("--", 0) != 0) {
      options.files.push_back(argument);
      continue;
    }
    if (++i == arguments.size()) return false;
    const std::string& value = arguments[i];
    if (argument == "--count")
      options.count = std::strtoull(value.c_str(), nullptr, 10);
    else if (argument == "--seed")
      options.seed = std::strtoull(value.c_str(), nullptr, 10);
    else if (argument == "--extent")
      usable = ReadExtent(value, options) && usable;
    else if (argument == "--through")
      usable = ReadThrough(value, options.through) && usable;
    else if (argument == "--save")
      options.save = value;
    else if (argument == "--delegate")
      options.delegate = value;
    else if (argument == "--options")
      options.delegate_options = value;
    else if (argument == "--show-different")
      options.show_different = value == "1";
    else if (argument == "--files-from")
      options.list = value;
    else
      return false;
  }
  return usable && (options.list.empty() ? options.count != 0 && !options.files.empty() : options.files.empty());
}

bool RunList(const Options& options) {
  std::vector<std::string> files;
  std::ifstream list(options.list);
  for (std::string line; std::getline(list, line);)
    if (!line.empty()) files.push_back(line);
  return RunAll(
      options, options.list,
      {files.size(), [&](size_t index) { return files[index]; }, [&](size_t index) { return ReadFile(files[index]); }});
}

int Main(int count, char** arguments) {
  Options options;
  options.model = DEPUTY_TEST_DIGITS;
  if (!ReadArguments({arguments + 1, arguments + count}, options)) {
    std::fprintf(stderr,
                 "usage: mutants (--count N [--seed S] FILE... | --files-from LIST) [--extent SYMBOL=N]... "
                 "[--delegate NAME] [--options YAML] [--through STEP,...] [--save FOLDER] [--show-different 1]\n");
    return 2;
  }
  // For what configurations cache, and models that are converted.
  options.folder = (std::filesystem::temp_directory_path() / "mutants-XXXXXX").string();
  if (mkdtemp(options.folder.data()) == nullptr) std::abort();
  setenv("XDG_CACHE_HOME", options.folder.c_str(), 1);
  bool good = true;
  if (!options.list.empty()) {
    good = RunList(options);
  } else {
    const Bytes other = ReadFile(options.files.back());
    for (const std::string& file : options.files) good &= RunAll(options, file, MutantsOf(options, file, other));
  }
  std::filesystem::remove_all(options.folder);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace deputy::faults

int main(int count, char** arguments) { return deputy::faults::Main(count, arguments); }
