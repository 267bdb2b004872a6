// An EP that a factory has made for one of its devices, as a session of ONNX Runtime has it.
#pragma once

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

  // Rewrites the model as ONNX Runtime does for EPs: see quantization.hpp, and layout.hpp for those that prefer the
  // channels last.
  sdk::Status Prepare(Model& model) const;
  // Which of the graph's nodes it takes.
  sdk::Result<EpGraphSupportInfo> Capability(const Graph& graph) const;
  // The graph as the fused node. Never NULL.
  sdk::Result<NodeComputeInfo*> Compile(const Graph& graph, const Node& fused) const;
  void Release(NodeComputeInfo* info) const;

 private:
  sdk::Status Check() const;

  std::shared_ptr<Library> library_;
  EpFactory* factory_;
  Ep* ep_;
};

}  // namespace ort::own
