// A vendor's own operators, which a delegate's static Operators() declares. A model may use them; the host infers the
// types of their outputs with them, and runs their kernels for nodes that no delegate supports.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "deputy/abi/ext/operators.h"
#include "deputy/sdk/graph.hpp"
#include "deputy/sdk/tensor_view.hpp"

namespace deputy::sdk {

// Types of a node's outputs. Only inside the host's call.
class OutputTypes {
 public:
  OutputTypes(const GraphView& graph, const deputy_type_sink* sink) : graph_(graph), sink_(sink) {}
  OutputTypes(const OutputTypes&) = delete;
  OutputTypes& operator=(const OutputTypes&) = delete;

  // Extents of -1 are not known. After the first failure nothing more is set; the layer returns the failure to the
  // host.
  void Set(uint32_t output, DType dtype, Span<const int64_t> dims) {
    static constexpr int64_t kScalar[] = {0};
    const int64_t* extents = dims.empty() ? kScalar : dims.data();
    graph_.Ask([&] {
      return sink_->set_output(sink_->self, output, static_cast<deputy_dtype>(dtype), extents,
                               static_cast<uint32_t>(dims.size()));
    });
  }
  // For a type of unknown rank.
  void SetUnranked(uint32_t output, DType dtype) {
    graph_.Ask([&] { return sink_->set_output(sink_->self, output, static_cast<deputy_dtype>(dtype), nullptr, 0); });
  }

 private:
  const GraphView& graph_;
  const deputy_type_sink* sink_;
};

// One definition. Built up in one expression:
//   OwnOperator("com.example", "Swish", 1).Inputs(1, 1).Infers(SwishTypes).Attribute(
//       "beta", DEPUTY_ATTRIBUTE_FLOAT, "factor; 1 when absent")
class OwnOperator {
 public:
  using InferFunction = Status (*)(const NodeView& node, OutputTypes& types);
  using ComputeFunction = Status (*)(const Host& host, const NodeView& node, const RunArgs& args);

  static constexpr uint32_t kAny = 0xffffffffu;

  OwnOperator(std::string domain, std::string op_type, uint32_t since_version)
      : domain_(std::move(domain)), op_type_(std::move(op_type)), since_version_(since_version) {}

  OwnOperator& Help(std::string help) { return help_ = std::move(help), *this; }
  OwnOperator& Inputs(uint32_t least, uint32_t most) { return min_inputs_ = least, max_inputs_ = most, *this; }
  OwnOperator& Outputs(uint32_t least, uint32_t most) { return min_outputs_ = least, max_outputs_ = most, *this; }
  // An attribute; `help` names the default of one that is not required.
  OwnOperator& Attribute(std::string name, deputy_attribute_type type, std::string help, bool required = false) {
    attributes_.push_back({std::move(name), std::move(help), type, required});
    return *this;
  }
  // Types of the outputs. Attributes and numbers of inputs and outputs have been checked.
  OwnOperator& Infers(InferFunction function) { return infer_ = function, *this; }
  // Runs the node on the CPU if no delegate supports it. [any-thread]
  OwnOperator& Computes(ComputeFunction function) { return compute_ = function, *this; }

  const std::string& domain() const { return domain_; }
  const std::string& op_type() const { return op_type_; }
  uint32_t since_version() const { return since_version_; }
  InferFunction infer() const { return infer_; }
  ComputeFunction compute() const { return compute_; }

  // For the layer: the ABI's form, valid as long as this object stays where it is.
  deputy_operator_info Info() {
    forms_.clear();
    for (const Declared& attribute : attributes_)
      forms_.push_back({ToStr(attribute.name), ToStr(attribute.help), attribute.type, attribute.required ? 1u : 0u});
    return {sizeof(deputy_operator_info),
            since_version_,
            ToStr(domain_),
            ToStr(op_type_),
            ToStr(help_),
            min_inputs_,
            max_inputs_,
            min_outputs_,
            max_outputs_,
            forms_.data(),
            forms_.size(),
            compute_ == nullptr ? 0u : uint32_t{DEPUTY_OPERATOR_HAS_KERNEL},
            0};
  }

 private:
  struct Declared {
    std::string name, help;
    deputy_attribute_type type;
    bool required;
  };

  std::string domain_, op_type_, help_;
  uint32_t since_version_;
  uint32_t min_inputs_ = 1, max_inputs_ = 1, min_outputs_ = 1, max_outputs_ = 1;
  std::vector<Declared> attributes_;
  std::vector<deputy_operator_attribute> forms_;
  InferFunction infer_ = nullptr;
  ComputeFunction compute_ = nullptr;
};

using OwnOperators = std::deque<OwnOperator>;

}  // namespace deputy::sdk
