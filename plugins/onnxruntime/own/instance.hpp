// An EP that a factory has made for one of its devices, as a session of ONNX Runtime has it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "deputy/sdk/status.hpp"
#include "own/device.hpp"
#include "own/graph.hpp"
#include "own/library.hpp"
#include "own/options.hpp"

namespace ort::own {

class Instance {
 public:
  // kNotSupported: the EP refuses, or computes by kernels in a registry. `logger` lives as long as the instance.
  static sdk::Result<std::shared_ptr<Instance>> Make(std::shared_ptr<Library> library, const EpDevice& device,
                                                     const SessionOptions& options, const Logger& logger);
  Instance(std::shared_ptr<Library> library, EpFactory* factory, Ep* ep)
      : library_(std::move(library)), factory_(factory), ep_(ep) {}
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  ~Instance();

  Ep* ep() const { return ep_; }

  // Whether the EP wants to be asked a second time, about a model with the channels last (layout.hpp).
  bool prefers_channels_last() const { return prefers_channels_last_; }
  // Rewrites those nodes for which `is_taken` and the EP agree.
  sdk::Status RewriteLayout(Model& model, const std::function<bool(const ModelNode&)>& is_taken) const;
  // Which of the graph's nodes it takes.
  sdk::Result<EpGraphSupportInfo> Capability(const Graph& graph) const;
  // The graph as the fused node. Never NULL.
  sdk::Result<NodeComputeInfo*> Compile(const Graph& graph, const Node& fused) const;
  void Release(NodeComputeInfo* info) const;

 private:
  sdk::Status Check();

  std::shared_ptr<Library> library_;
  EpFactory* factory_;
  Ep* ep_;
  bool prefers_channels_last_ = false;
};

}  // namespace ort::own
