// A partition that OpenVINO has compiled, and the requests that run it in the host's buffers.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "conversion.hpp"
#include "profile.hpp"

namespace openvino {

// What a partition is compiled with.
struct Target {
  std::shared_ptr<ov::Core> core;  // outlives what it has made
  std::string device;
  ov::AnyMap properties;
  sdk::Host host;
  bool waits_for_others = false;  // runs go to OpenVINO's streams, and their ends come from its threads
};

class Program final : public sdk::Executable {
 public:
  // Compiles, and runs the model once on zeros where all extents are known. NOT_SUPPORTED with OpenVINO's reason.
  static sdk::Result<std::unique_ptr<Program>> Compile(const sdk::PartitionView& partition, Conversion conversion,
                                                       Target target);
  // INCOMPATIBLE for bytes that are damaged or of another partition.
  static sdk::Result<std::unique_ptr<Program>> Restore(const sdk::PartitionView& partition, sdk::Blob blob,
                                                       Target target);

  sdk::Result<std::unique_ptr<sdk::ExecutionContext>> CreateContext() override;
  sdk::Status Serialize(sdk::BlobWriter& blob) const override;
  sdk::Status DescribeEvents(sdk::DebugMap& map) const override;

  const Target& target() const { return target_; }
  const ov::CompiledModel& model() const { return model_; }
  // The same model with OpenVINO's own timers, made where it is first needed. Throws ov::Exception.
  const ProfiledModel& Profiled() const;

  struct Port {
    ov::element::Type type;
    ov::PartialShape shape;
  };
  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }

 private:
  Program(const sdk::PartitionView& partition, Target target, std::vector<std::string> names);
  // Throws ov::Exception.
  sdk::Status Adopt(ov::CompiledModel model, const sdk::PartitionView& partition);
  void RunOnZeros();
  std::string Export() const;

  Target target_;
  std::shared_ptr<sdk::Blob> blob_;  // before the model, which may use its bytes in place and ends first
  ov::CompiledModel model_;
  std::vector<Port> inputs_, outputs_;
  std::vector<deputy_node_id> nodes_;
  std::vector<std::string> names_;  // of the nodes, as OpenVINO knows them
  mutable std::mutex profiling_;
  mutable std::unique_ptr<ProfiledModel> profiled_;
};

}  // namespace openvino
