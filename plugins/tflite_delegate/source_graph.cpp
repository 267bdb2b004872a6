#include "source_graph.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "model_writer.hpp"

namespace deputy::tflite_delegate {
namespace {

bool IsConstant(const tflite_abi::Tensor& tensor) {
  return tensor.allocation_type == tflite_abi::kMmapRo && tensor.data != nullptr;
}

std::vector<int32_t> Copied(const tflite_abi::IntArray* array) {
  const tflite_abi::ListView<int32_t> values = tflite_abi::Values(array);
  return {values.begin(), values.end()};
}

class Reader {
 public:
  explicit Reader(tflite_abi::Context* context) : context_(context) {}

  Result<SourceGraph> Run() {
    tflite_abi::IntArray* plan = nullptr;
    if (context_->GetExecutionPlan(context_, &plan) != tflite_abi::kOk || plan == nullptr)
      return Status(StatusCode::kUnavailable, "the interpreter does not give its execution plan");
    const std::vector<int32_t> order = Copied(plan);  // the array is valid until the next call only
    graph_.plan_size = order.size();
    for (const int32_t index : order) DEPUTY_RETURN_IF_ERROR(ReadNode(index));
    LeaveWhatMakesShapes();
    return std::move(graph_);
  }

 private:
  Status ReadNode(int index) {
    tflite_abi::Node* node = nullptr;
    tflite_abi::Registration* registration = nullptr;
    if (context_->GetNodeAndRegistration(context_, index, &node, &registration) != tflite_abi::kOk || node == nullptr ||
        registration == nullptr)
      return Status(StatusCode::kUnavailable, "the interpreter does not give node " + std::to_string(index));
    SourceNode made;
    made.index = index;
    made.form = FormOf(registration->builtin_code);
    made.version = registration->version;
    made.inputs = Copied(node->inputs);
    made.outputs = Copied(node->outputs);
    made.intermediates = Copied(node->intermediates);
    made.params = node->builtin_data;
    if (registration->builtin_code == kCustomOperator) {
      made.custom_name = registration->custom_name == nullptr ? "" : registration->custom_name;
      made.custom_options = node->custom_initial_data;
      made.custom_size = static_cast<size_t>(std::max(node->custom_initial_data_size, 0));
    }
    const std::string reason = ReasonToLeave(made, registration->builtin_code);
    all_.push_back({index, registration->builtin_code, made.inputs, made.outputs});
    if (!reason.empty()) {
      graph_.left.push_back({index, NameOf(made, registration->builtin_code), reason});
      return {};
    }
    for (const auto* list : {&made.inputs, &made.outputs, &made.intermediates})
      for (const int32_t tensor : *list)
        if (tensor >= 0 && graph_.tensors.count(tensor) == 0) graph_.tensors.emplace(tensor, ReadTensor(tensor));
    graph_.nodes.push_back(std::move(made));
    return {};
  }

  static std::string NameOf(const SourceNode& node, int32_t number) {
    if (!node.custom_name.empty()) return node.custom_name;
    if (const LeftOperator* kept = LeftOperatorOf(number)) return kept->name;
    return node.form != nullptr ? node.form->name : "operator " + std::to_string(number);
  }

  std::string ReasonToLeave(const SourceNode& node, int32_t number) const {
    if (const LeftOperator* kept = LeftOperatorOf(number)) return kept->reason;
    if (node.form == nullptr) return "the operator is not supported";
    for (const auto* list : {&node.inputs, &node.outputs, &node.intermediates})
      for (const int32_t tensor : *list) {
        const std::string reason = ReasonToLeave(tensor, list == &node.inputs);
        if (!reason.empty()) return reason;
      }
    for (size_t i = 0; i < node.inputs.size() && i < 32; ++i)
      if ((node.form->shaping >> i & 1) != 0 && node.inputs[i] >= 0 && !IsConstant(At(node.inputs[i])))
        return "the shape of its result depends on the values of input " + std::to_string(i);
    return "";
  }

  std::string ReasonToLeave(int32_t index, bool is_input) const {
    if (index == -1 && is_input) return "";
    if (index < 0 || static_cast<size_t>(index) >= context_->tensors_size)
      return "has the tensor index " + std::to_string(index) + ", which is out of range";
    const tflite_abi::Tensor& tensor = At(index);
    const std::string subject = "tensor '" + std::string(tensor.name == nullptr ? "" : tensor.name) + "' ";
    if (!FileTypeOf(tensor.type)) return subject + "has an element type that is not supported";
    if (tensor.type == tflite_abi::kInt4 && !IsConstant(tensor))
      return subject + "has elements of 4 bits and is no constant";
    if (tensor.is_variable) return subject + "is a variable, whose state the interpreter keeps";
    if (tensor.sparsity != nullptr) return subject + "is sparse";
    if (tensor.quantization.type != tflite_abi::kNotQuantized && tensor.quantization.type != tflite_abi::kAffine)
      return subject + "has quantization of type " + std::to_string(tensor.quantization.type);
    return "";
  }

  SourceTensor ReadTensor(int32_t index) const {
    const tflite_abi::Tensor& tensor = At(index);
    SourceTensor made;
    made.name = tensor.name == nullptr ? "" : tensor.name;
    made.type = tensor.type;
    made.shape = Copied(tensor.dims);
    if (tensor.quantization.type == tflite_abi::kAffine && tensor.quantization.params != nullptr) {
      const auto& affine = *static_cast<const tflite_abi::AffineQuantization*>(tensor.quantization.params);
      const tflite_abi::ListView<float> scales = tflite_abi::Values(affine.scale);
      made.scales.assign(scales.begin(), scales.end());
      made.zero_points = Copied(affine.zero_point);
      made.axis = affine.quantized_dimension;
    }
    if (IsConstant(tensor)) {
      made.constant = tensor.data;
      made.bytes = tensor.bytes;
    }
    return made;
  }

  // What a shape is computed with is known to the interpreter before a run, unless a delegate computes it.
  void LeaveWhatMakesShapes() {
    std::set<int32_t> shaping;
    for (auto node = all_.rbegin(); node != all_.rend(); ++node) {
      const bool makes_shape = std::any_of(node->outputs.begin(), node->outputs.end(),
                                           [&](int32_t output) { return shaping.count(output) != 0; });
      if (makes_shape) graph_.Leave(node->index, "computes the shape of another node's result");
      if (node->number == kShapeOperator || node->number == kRankOperator) continue;
      const OperatorForm* form = FormOf(node->number);
      for (size_t i = 0; i < node->inputs.size() && i < 32; ++i)
        if (makes_shape || (form != nullptr && (form->shaping >> i & 1) != 0)) shaping.insert(node->inputs[i]);
    }
  }

  const tflite_abi::Tensor& At(int32_t index) const { return context_->tensors[index]; }

  struct PlanNode {
    int index;
    int32_t number;
    std::vector<int32_t> inputs, outputs;
  };

  tflite_abi::Context* context_;
  SourceGraph graph_;
  std::vector<PlanNode> all_;
};

}  // namespace

void SourceGraph::Leave(int index, const std::string& reason) {
  const auto found =
      std::find_if(nodes.begin(), nodes.end(), [&](const SourceNode& node) { return node.index == index; });
  if (found == nodes.end()) return;
  left.push_back({index, found->custom_name.empty() ? found->form->name : found->custom_name, reason});
  nodes.erase(found);
}

Result<SourceGraph> ReadGraph(tflite_abi::Context* context) { return Reader(context).Run(); }

}  // namespace deputy::tflite_delegate
