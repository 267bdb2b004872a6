// One of the engines that compare.py lets take turns: loads a model through the public API and then answers commands on
// stdin, a line each, so that it stays warm while another engine runs. ort_engine.py speaks the same language.
//
//   run N          runs N times; answers with the nanoseconds of each
//   outputs DIR    writes the outputs of the last run as DIR/<index>.npy; answers "done"
//   nodes          answers with the number of nodes of each delegate, as JSON
//   memory         answers with the process's resident bytes: before the model was loaded, and the peak since
//
// The first line that it writes is "ready" and what loading cost, as JSON; "error" and a message if that failed.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "deputy/deputy.hpp"

namespace {

using deputy::Result;
using deputy::Status;

struct Options {
  std::string model, config;
  std::vector<std::pair<std::string, std::string>> inputs;  // name, file
};

uint64_t Nanoseconds() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

// A line of /proc/self/status, in bytes.
uint64_t StatusBytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind(key + ":", 0) == 0) return std::stoull(line.substr(key.size() + 1)) * 1024;
  return 0;
}

// From now on the peak is that of what follows.
void ForgetPeak() { std::ofstream("/proc/self/clear_refs") << "5"; }

class Engine {
 public:
  Status Load(const Options& options) {
    std::vector<std::pair<std::string, deputy::Tensor>> named;
    for (const auto& [name, file] : options.inputs) {
      DEPUTY_ASSIGN_OR_RETURN(deputy::Tensor tensor, deputy::ReadTensorFile(file));
      named.emplace_back(name, std::move(tensor));
    }
    const uint64_t start = Nanoseconds();
    DEPUTY_ASSIGN_OR_RETURN(deputy::Context context, deputy::Context::FromYaml(options.config));
    DEPUTY_RETURN_IF_ERROR(context.Load());
    open_ns_ = Nanoseconds() - start;

    resident_before_ = StatusBytes("VmRSS");
    ForgetPeak();
    const uint64_t opened = Nanoseconds();
    DEPUTY_RETURN_IF_ERROR(model_.Build(options.model, context));
    std::vector<deputy::Shape> shapes;
    for (const deputy::TensorInfo& info : model_.inputs()) {
      const auto given = std::find_if(named.begin(), named.end(), [&](const auto& n) { return n.first == info.name; });
      if (given == named.end()) return Status(deputy::StatusCode::kInvalidArgument, "no data for input " + info.name);
      inputs_.push_back(given->second);
      shapes.push_back(given->second.shape());
    }
    DEPUTY_ASSIGN_OR_RETURN(session_, model_.CreateSession());
    DEPUTY_RETURN_IF_ERROR(session_.Resize(shapes));
    load_ns_ = Nanoseconds() - opened;
    const uint64_t loaded = Nanoseconds();
    DEPUTY_RETURN_IF_ERROR(session_.Predict(inputs_, &outputs_));
    first_ns_ = Nanoseconds() - loaded;
    return {};
  }

  Result<std::string> Ready() const {
    DEPUTY_ASSIGN_OR_RETURN(const deputy::PlacementReport placement, session_.Placement());
    DEPUTY_ASSIGN_OR_RETURN(const std::string nodes, Nodes());
    std::ostringstream text;
    text << R"(ready {"version": ")" << DEPUTY_VERSION << R"(", "open_ns": )" << open_ns_ << R"(, "load_ns": )"
         << load_ns_ << R"(, "first_ns": )" << first_ns_ << R"(, "nodes": )" << nodes << R"(, "multiply_adds": )"
         << placement.multiply_adds << "}";
    return text.str();
  }

  Result<std::string> Answer(const std::string& line) {
    std::istringstream words(line);
    std::string command, argument;
    words >> command >> argument;
    if (command == "run") return Run(std::stoul(argument));
    if (command == "outputs") return WriteOutputs(argument);
    if (command == "nodes") return Nodes();
    if (command == "memory")
      return R"({"before": )" + std::to_string(resident_before_) + R"(, "peak": )" +
             std::to_string(StatusBytes("VmHWM")) + "}";
    return Status(deputy::StatusCode::kInvalidArgument, "unknown command: " + line);
  }

 private:
  // Of each delegate: after measurements other ones than before.
  Result<std::string> Nodes() const {
    DEPUTY_ASSIGN_OR_RETURN(const deputy::PlacementReport placement, session_.Placement());
    std::string text;
    for (const deputy::DelegateReport& delegate : placement.delegates)
      text += (text.empty() ? "{\"" : ", \"") + delegate.name + "\": " + std::to_string(delegate.nodes);
    return text + "}";
  }

  Result<std::string> Run(size_t count) {
    std::vector<uint64_t> times(count);
    for (uint64_t& time : times) {
      const uint64_t start = Nanoseconds();
      DEPUTY_RETURN_IF_ERROR(session_.Predict(inputs_, &outputs_));
      time = Nanoseconds() - start;
    }
    std::string text;
    for (const uint64_t time : times) text += (text.empty() ? "" : " ") + std::to_string(time);
    return text;
  }

  Result<std::string> WriteOutputs(const std::string& folder) {
    for (size_t i = 0; i < outputs_.size(); ++i)
      DEPUTY_RETURN_IF_ERROR(deputy::WriteTensorFile(folder + "/" + std::to_string(i) + ".npy", outputs_[i]));
    return std::string("done");
  }

  deputy::Model model_;
  deputy::Session session_;
  std::vector<deputy::Tensor> inputs_, outputs_;
  uint64_t open_ns_ = 0, load_ns_ = 0, first_ns_ = 0, resident_before_ = 0;
};

int Fail(const Status& status) {
  std::cout << "error " << status.ToString() << std::endl;
  return 1;
}

Result<Options> Parse(int argc, char** argv) {
  if (argc < 3)
    return Status(deputy::StatusCode::kInvalidArgument, "usage: deputy_engine MODEL CONFIG [NAME=FILE.npy...]");
  Options options{argv[1], argv[2], {}};
  for (int i = 3; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    if (equals == std::string::npos)
      return Status(deputy::StatusCode::kInvalidArgument, "an input is NAME=FILE.npy, not " + argument);
    options.inputs.emplace_back(argument.substr(0, equals), argument.substr(equals + 1));
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Result<Options> options = Parse(argc, argv);
  if (!options.ok()) return Fail(options.status());
  Engine engine;
  const Status loaded = engine.Load(*options);
  if (!loaded.ok()) return Fail(loaded);
  const Result<std::string> ready = engine.Ready();
  if (!ready.ok()) return Fail(ready.status());
  std::cout << *ready << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const Result<std::string> answer = engine.Answer(line);
    if (!answer.ok()) return Fail(answer.status());
    std::cout << *answer << std::endl;
  }
  return 0;
}
