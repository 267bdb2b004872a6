// MindSpore Lite's Kernel: a node of the model in the list that Build reads, a vendor's sub-graph when passed to
// Replace.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "deputy/sdk/status.hpp"
#include "deputy/sdk/tensor.hpp"

namespace deputy::sdk {

// Its calls never overlap, neither with each other nor with those of another kernel of the same delegate, regardless of
// the number of sessions: a kernel may keep any state in its members.
class Kernel {
 public:
  Kernel() = default;
  // `inputs` and `outputs` of a sub-graph: the values that it reads from outside and those that are read outside, as
  // GraphInTensors and GraphOutTensors return them. Execute gets data for exactly these.
  Kernel(std::vector<Tensor> inputs, std::vector<Tensor> outputs, const schema::Primitive* primitive = nullptr)
      : inputs_(std::move(inputs)), outputs_(std::move(outputs)), primitive_(primitive) {}
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  virtual ~Kernel() = default;

  // Once, when the host has adopted the partition. kLiteNotSupport: its nodes go to the next delegate.
  virtual Status Prepare() = 0;
  // Reads inputs() and writes every element of outputs().
  virtual Status Execute() = 0;
  // The shapes of inputs() and outputs() are not those of the call before (or of Prepare). Called before Execute.
  virtual Status ReSize() = 0;

  // The operator's type ("Conv"); empty for a sub-graph.
  const std::string& type() const { return type_; }
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  const std::vector<Tensor>& inputs() const { return inputs_; }
  const std::vector<Tensor>& outputs() const { return outputs_; }
  void set_inputs(std::vector<Tensor> inputs) { inputs_ = std::move(inputs); }
  void set_outputs(std::vector<Tensor> outputs) { outputs_ = std::move(outputs); }
  const schema::Primitive* primitive() const { return static_cast<const schema::Primitive*>(primitive_); }

 protected:
  std::vector<Tensor> inputs_, outputs_;
  std::string type_, name_;

 private:
  const void* primitive_ = nullptr;  // untyped for the same reason as in op::View
};

}  // namespace deputy::sdk
