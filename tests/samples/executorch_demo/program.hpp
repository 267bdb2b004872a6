// The demo backend's programs: what preprocess makes of a partition, as text, and what init makes of the text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "deputy/sdk/sdk.hpp"

// One line of a program: "mul 6 0 1 2" multiplies 6 elements of slots 0 and 1 into slot 2; "const 2 3 0x1p+0 0x1p-1"
// fills slot 3; "input 6 0" and "output 6 2" say where the run's tensors go, in their order.
struct Instruction {
  std::string name;
  size_t count = 0;
  std::vector<size_t> slots;
  std::vector<float> values;
};

std::string Preprocess(const deputy::sdk::PartitionView& partition);

// What init makes: parsed instructions, and the nodes that they stand for (debug handles): the i-th one that computes
// is the i-th node of the partition.
class DelegateHandle final : public deputy::sdk::Executable {
 public:
  // The text may be damaged: kIncompatible then.
  static deputy::sdk::Result<std::unique_ptr<DelegateHandle>> Init(std::string processed,
                                                                   const deputy::sdk::PartitionView& partition,
                                                                   deputy::sdk::Host host, double limit);

  deputy::sdk::Result<std::unique_ptr<deputy::sdk::ExecutionContext>> CreateContext() override;
  deputy::sdk::Status Serialize(deputy::sdk::BlobWriter& out) const override;
  deputy::sdk::Status DescribeEvents(deputy::sdk::DebugMap& map) const override;

  const std::vector<Instruction>& instructions() const { return instructions_; }
  const std::vector<deputy_node_id>& debug_handles() const { return debug_handles_; }
  size_t slot_count() const { return slot_count_; }
  const deputy::sdk::Host& host() const { return host_; }
  double limit() const { return limit_; }

 private:
  std::string processed_;
  std::vector<Instruction> instructions_;
  std::vector<deputy_node_id> debug_handles_;
  size_t slot_count_ = 0;
  deputy::sdk::Host host_;
  double limit_ = 0;
};
