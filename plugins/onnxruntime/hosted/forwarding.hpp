// Stands between ONNX Runtime and the library of an execution provider (EP), so that the EP can be asked which nodes it
// takes without compiling: ONNX Runtime loads forwarder.c, which calls the EP's library with copies of ONNX Runtime's
// tables. All else passes through.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime.hpp"

namespace ort::forwarding {

// Opens the EP's library; the file to register with ONNX Runtime in its place, as `name`.
sdk::Result<std::string> Prepare(const Runtime& runtime, const std::string& library, const std::string& name);
// The EPs of a library that was registered.
std::vector<std::string> ProvidersOf(const std::string& library);

}  // namespace ort::forwarding

namespace ort {

// While it lives, a session that is created in this thread asks its EP about the nodes of the model: all together, and
// then each node that was not taken alone.
class Question {
 public:
  enum class Aim {
    kAnswers,  // creating the session ends with a failure when all answers are known
    kWhole     // it goes on if the EP takes all nodes together; else it ends there
  };

  // `nodes`: names of the model's nodes.
  Question(const Runtime& runtime, const std::vector<std::string>& nodes, Aim aim, LogScope& log);
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;
  ~Question();

  // Whether the EP was asked: else the session failed before.
  bool was_asked() const { return was_asked_; }
  const std::vector<Answer>& answers() const { return answers_; }

  // For the forwarding functions.
  void Watch(Ep* ep);
  Status* Capability(Ep* ep, const Graph* graph, EpGraphSupportInfo* info);
  bool is_listening() const { return is_listening_; }
  void Add(const Node* const* nodes, size_t count);

 private:
  Status* AskEach(Ep* ep, const Graph* graph, EpGraphSupportInfo* info, const std::vector<const Node*>& nodes);

  const Runtime& runtime_;
  const Aim aim_;
  LogScope& log_;
  Question* const outer_;
  std::map<std::string, size_t> index_of_;
  std::vector<Answer> answers_;
  Status* (*capability_)(Ep*, const Graph*, EpGraphSupportInfo*) = nullptr;
  std::vector<const Node*> taken_;
  bool was_asked_ = false, takes_whole_ = false, is_listening_ = false;
};

}  // namespace ort
