// A target without libFuzzer, in every build: runs the check over the files of folders, then over mutants of them.
//
//   replay [--mutants N] [--seed S] [--most-seconds T] FOLDER-OR-FILE...
//
// A folder without files is an error, except one that ends in regressions/<target>, which may be empty or missing. A
// finding ends the process, and the input is left in the file `finding` of the working directory.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "fuzz/target.hpp"

namespace deputy::fuzz {
namespace {

constexpr char kFindingName[] = "finding";
constexpr size_t kMostBytes = 64 * 1024;

// The input that is checked, for the handler of the signals by which findings end the process.
const Bytes* checked = nullptr;

void WriteFinding(int signal) {
  const int file = open(kFindingName, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file >= 0 && checked != nullptr && write(file, checked->data(), checked->size()) >= 0) close(file);
  raise(signal);  // handled once: SA_RESETHAND
}

void WriteFindings() {
  static std::array<uint8_t, 64 * 1024> stack;  // of its own, for findings that have used up the other one
  const stack_t other = {stack.data(), 0, stack.size()};
  sigaltstack(&other, nullptr);
  struct sigaction action {};
  action.sa_handler = WriteFinding;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER | SA_ONSTACK);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
}

void Check(const Bytes& input) {
  checked = &input;
  CheckInput(input);
  checked = nullptr;
}

std::vector<Bytes> ReadInputs(const std::vector<std::string>& places) {
  std::vector<std::filesystem::path> files;
  for (const std::string& place : places) {
    const bool may_be_empty = std::filesystem::path(place).parent_path().filename() == "regressions";
    if (may_be_empty && !std::filesystem::exists(place)) continue;
    if (!std::filesystem::is_directory(place)) {
      files.emplace_back(place);
      continue;
    }
    const size_t before = files.size();
    for (const auto& entry : std::filesystem::directory_iterator(place)) files.push_back(entry.path());
    if (files.size() == before && !may_be_empty) throw std::runtime_error(place + " has no files");
  }
  std::sort(files.begin(), files.end());
  std::vector<Bytes> inputs;
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw std::runtime_error(file.string() + " cannot be read");
    inputs.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  if (inputs.empty()) throw std::runtime_error("there are no inputs");
  return inputs;
}

// The mutants grow from each other, as a corpus does.
size_t RunMutants(std::vector<Bytes> inputs, size_t mutants, uint64_t seed, std::chrono::seconds most) {
  const auto end = std::chrono::steady_clock::now() + most;
  Random random(seed);
  size_t run = 0;
  for (; run < mutants && std::chrono::steady_clock::now() < end; ++run) {
    Bytes input = random.Of(inputs);
    for (size_t changes = 1 + random.Below(4); changes > 0; --changes) MutateInput(input, random);
    if (input.size() > kMostBytes) input.resize(kMostBytes);
    Check(input);
    if (random.OneIn(16)) random.Of(inputs) = std::move(input);
  }
  return run;
}

int Main(const std::vector<std::string>& arguments) {
  std::map<std::string, uint64_t> options = {{"--mutants", 0}, {"--seed", 1}, {"--most-seconds", 60}};
  std::vector<std::string> places;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto option = options.find(arguments[i]);
    if (option == options.end())
      places.push_back(arguments[i]);
    else if (++i < arguments.size())
      option->second = std::stoull(arguments[i]);
    else
      throw std::runtime_error(option->first + " needs a number");
  }
  const std::vector<Bytes> inputs = ReadInputs(places);
  for (const Bytes& input : inputs) {
    Check(input);
  }
  const size_t mutants =
      RunMutants(inputs, options["--mutants"], options["--seed"], std::chrono::seconds(options["--most-seconds"]));
  std::printf("%zu files, %zu mutants from seed %llu\n", inputs.size(), mutants,
              static_cast<unsigned long long>(options["--seed"]));
  return 0;
}

}  // namespace

void Fail(std::string_view promise, std::string_view detail) {
  std::fprintf(stderr, "broken promise: %.*s\n%.*s\nThe input is in %s.\n", static_cast<int>(promise.size()),
               promise.data(), static_cast<int>(detail.size()), detail.data(),
               (std::filesystem::current_path() / kFindingName).c_str());
  std::abort();
}

}  // namespace deputy::fuzz

int main(int argc, char** argv) {
  try {
    deputy::fuzz::WriteFindings();
    return deputy::fuzz::Main({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
