// Events of a profiled run, from the timers that OpenVINO has for each operation that it executed.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "conversion.hpp"

namespace openvino {

class ProfiledModel {
 public:
  // `names` are those of the partition's nodes.
  ProfiledModel(ov::CompiledModel model, const std::vector<std::string>& names);

  ov::CompiledModel model;  // not const: a request is made of a copy
  // By the number of an event: positions of the nodes from which OpenVINO made this operation.
  const std::vector<std::vector<size_t>>& nodes() const { return nodes_; }

  // Of the last run of the request, between two times of the host's clock. Throws ov::Exception.
  void Report(const ov::InferRequest& request, uint64_t begin_ns, uint64_t end_ns, const sdk::Profiler& profiler) const;

 private:
  std::vector<std::vector<size_t>> nodes_;
  std::unordered_map<std::string, uint32_t> events_;  // by OpenVINO's name of the operation
};

}  // namespace openvino
