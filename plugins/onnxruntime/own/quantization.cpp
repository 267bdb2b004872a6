#include "own/quantization.hpp"

#include <utility>

namespace ort::own {

void SplitDequantization(Model& model) {
  std::vector<ModelNode> nodes = model.TakeNodes(), made;
  std::vector<size_t> maker(model.values().size(), kNone);  // among `nodes`, for dequantized values alone
  std::vector<bool> is_used(model.values().size(), false);  // the value has the reader that keeps it
  for (size_t number = 0; number < nodes.size(); ++number)
    if (nodes[number].type == "DequantizeLinear" && nodes[number].outputs.size() == 1 &&
        nodes[number].outputs[0] != kNone) {
      maker[nodes[number].outputs[0]] = number;
      is_used[nodes[number].outputs[0]] = model.values()[nodes[number].outputs[0]].is_read_outside;
    }
  for (ModelNode& node : nodes) {
    for (size_t& input : node.inputs) {
      if (input == kNone || input >= maker.size() || maker[input] == kNone) continue;
      if (!is_used[input]) {
        is_used[input] = true;
        continue;
      }
      ModelNode copy = nodes[maker[input]];
      copy.name = model.NewNodeName(copy.name + "_copy");
      const std::string name = model.values()[input].name + "_copy";
      const TensorTypeAndShapeInfo& tensor = model.values()[input].type.tensor;
      input = model.NewValue(name, tensor.type, std::vector<int64_t>(tensor.dims));
      copy.outputs = {input};
      made.push_back(std::move(copy));
    }
    made.push_back(node);
  }
  model.SetNodes(std::move(made));
}

}  // namespace ort::own
