// The operators of a delegate's own, as its plugin declares them: copied, checked, looked up for nodes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "deputy/abi/ext/operators.h"
#include "graph/inference.hpp"
#include "plugin/proxy/opened_delegate.hpp"

namespace deputy::host {

struct OwnAttribute {
  std::string name;
  deputy_attribute_type type = DEPUTY_ATTRIBUTE_NONE;
  bool required = false;
};

struct OwnOperator {
  std::string domain, op_type;
  uint32_t since_version = 0;
  uint32_t min_inputs = 0, max_inputs = 0, min_outputs = 0, max_outputs = 0;
  std::vector<OwnAttribute> attributes;
  bool has_kernel = false;
};

// A graph of one node with copies of its values, to be shown to a plugin. Not movable: the view points into it.
class LoneNode {
 public:
  explicit LoneNode(const InferenceContext& context);
  LoneNode(const Graph& graph, const Node& node);
  LoneNode(const LoneNode&) = delete;
  LoneNode& operator=(const LoneNode&) = delete;

  const deputy_graph* shown() const { return shown_.get(); }

 private:
  template <class ValueOf>
  void Take(const Node& node, ValueOf&& value_of);

  Graph graph_;
  std::unique_ptr<const deputy_graph> shown_;
};

class OwnOperatorTable {
 public:
  // Invalid definitions are left out, with a line in the log.
  explicit OwnOperatorTable(std::shared_ptr<const OpenedDelegate> opened);

  const OpenedDelegate& opened() const { return *opened_; }
  const deputy_ext_operators& functions() const { return *functions_; }
  bool empty() const { return operators_.empty(); }
  bool has_kernels() const;
  // The newest definition that is not newer than the node; null when the operator is none of these.
  const OwnOperator* Find(const Primitive& primitive) const;

  // OwnOperators::InferOwn.
  Status Infer(InferenceContext& context) const;

 private:
  // The fault of the definition; empty when it is valid.
  std::string Add(const deputy_operator_info* info);

  std::shared_ptr<const OpenedDelegate> opened_;
  const deputy_ext_operators* functions_;  // null without own operators
  std::vector<OwnOperator> operators_;
};

}  // namespace deputy::host
