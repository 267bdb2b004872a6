// Calls of the tables' functions by their slots, and partitions over the host of the layer's tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "deputy/sdk/graph.hpp"
#include "plugins/onnxruntime/own/model.hpp"
#include "plugins/onnxruntime/own/tables.hpp"
#include "unit/sdk/fake_host.hpp"

namespace ort::own {

template <class Result = Status*, class... Arguments>
Result Call(Slot slot, Arguments... arguments) {
  const Function function = Tables::Get().api_slots()[static_cast<size_t>(slot)];
  return reinterpret_cast<Result (*)(Arguments...)>(function)(arguments...);
}
template <class Result = Status*, class... Arguments>
Result Call(EpSlot slot, Arguments... arguments) {
  const Function function = Tables::Get().ep_api_slots()[static_cast<size_t>(slot)];
  return reinterpret_cast<Result (*)(Arguments...)>(function)(arguments...);
}

// Takes a failure's code and message, and releases the status.
struct Failure {
  explicit Failure(Status* status) {
    if (status == nullptr) return;
    code = Call<ErrorCode>(Slot::GetErrorCode, static_cast<const Status*>(status));
    message = Call<const char*>(Slot::GetErrorMessage, static_cast<const Status*>(status));
    Call<void>(Slot::ReleaseStatus, status);
  }
  ErrorCode code = kOk;
  std::string message;
};

// The result of a getter of one output, which must not fail.
template <class T, class... Arguments>
T Get(Slot slot, Arguments... arguments) {
  T result{};
  EXPECT_EQ(Failure(Call(slot, arguments..., &result)).message, "");
  return result;
}

// The graph of a host, all of it or some nodes, as a partition.
class Part {
 public:
  explicit Part(fake::Host& host) : Part(host, AllOf(host), host.inputs, host.outputs) {}
  Part(fake::Host& host, std::vector<deputy_node_id> nodes, std::vector<deputy_value_id> inputs,
       std::vector<deputy_value_id> outputs)
      : nodes_(std::move(nodes)),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        graph_(deputy::sdk::Host(host.table()), host.graph()) {
    partition_.struct_size = sizeof partition_;
    partition_.node_count = static_cast<uint32_t>(nodes_.size());
    partition_.nodes = nodes_.data();
    partition_.input_count = static_cast<uint32_t>(inputs_.size());
    partition_.inputs = inputs_.data();
    partition_.output_count = static_cast<uint32_t>(outputs_.size());
    partition_.outputs = outputs_.data();
    view_ = std::make_unique<deputy::sdk::PartitionView>(graph_, partition_);
  }

  const deputy::sdk::PartitionView& view() const { return *view_; }
  std::shared_ptr<Model> MakeModel() const { return std::make_shared<Model>(*view_); }

 private:
  static std::vector<deputy_node_id> AllOf(const fake::Host& host) {
    std::vector<deputy_node_id> nodes;
    for (size_t i = 0; i < host.nodes.size(); ++i) nodes.push_back(static_cast<deputy_node_id>(i));
    return nodes;
  }

  std::vector<deputy_node_id> nodes_;
  std::vector<deputy_value_id> inputs_, outputs_;
  deputy::sdk::GraphView graph_;
  deputy_partition partition_{};
  std::unique_ptr<deputy::sdk::PartitionView> view_;
};

inline std::vector<size_t> AllOf(const Model& model) {
  std::vector<size_t> nodes;
  for (size_t i = 0; i < model.nodes().size(); ++i) nodes.push_back(i);
  return nodes;
}

}  // namespace ort::own
