// An operator of the application's own, and inputs by their names: own_operator MODEL
#include <cmath>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "deputy/deputy.hpp"
#include "deputy/sdk/sdk.hpp"

namespace sdk = deputy::sdk;

namespace {

// The output has the type of the first input.
sdk::Status HypotTypes(const sdk::NodeView& node, sdk::OutputTypes& types) {
  types.Set(0, node.input(0).dtype(), node.input(0).dims());
  return {};
}

sdk::Status ComputeHypot(const sdk::Host&, const sdk::NodeView&, const sdk::RunArgs& args) {
  const auto* a = static_cast<const float*>(args.input(0).data());
  const auto* b = static_cast<const float*>(args.input(1).data());
  auto* out = static_cast<float*>(args.output(0).data());
  for (int64_t i = 0; i < args.output(0).element_count(); ++i) out[i] = std::hypot(a[i], b[i]);
  return {};
}

// A delegate that supports no node: its kernels run those of its own operators.
class OwnKernels final : public sdk::PartitionDelegate {
 public:
  static sdk::OwnOperators Operators() {
    sdk::OwnOperator hypot("com.example", "Hypot", 1);
    hypot.Inputs(2, 2).Infers(HypotTypes).Computes(ComputeHypot);
    return {hypot};
  }
  sdk::Verdict Supports(const sdk::NodeView&) override { return sdk::Verdict::No(sdk::Reason::kOperatorUnknown, ""); }
  sdk::Result<std::unique_ptr<sdk::Executable>> Compile(const sdk::PartitionView&) override {
    return sdk::Status(sdk::Code::kNotSupported, "supports no node");
  }
};

// The tensors in the order of the model's inputs.
deputy::Result<std::vector<deputy::Tensor>> InOrder(const deputy::Model& model,
                                                    const std::map<std::string, deputy::Tensor>& by_name) {
  std::vector<deputy::Tensor> inputs;
  for (const deputy::TensorInfo& info : model.inputs()) {
    const auto found = by_name.find(info.name);
    if (found == by_name.end())
      return deputy::Status(deputy::StatusCode::kNotFound, "no tensor for the input '" + info.name + "'");
    inputs.push_back(found->second);
  }
  return inputs;
}

deputy::Status Run(const std::string& model_file) {
  deputy::Context context;
  context.AddDelegate(std::make_shared<OwnKernels>());
  deputy::Model model;
  DEPUTY_RETURN_IF_ERROR(model.Build(model_file, context));

  std::vector<float> legs = {3, 5, 8}, others = {4, 12, 15};
  const auto wrap = [](std::vector<float>& values) {
    return deputy::Tensor::Wrap(deputy::DType::kFloat32, {3}, values.data(), values.size() * sizeof(float));
  };
  DEPUTY_ASSIGN_OR_RETURN(const deputy::Tensor b, wrap(others));
  DEPUTY_ASSIGN_OR_RETURN(const deputy::Tensor a, wrap(legs));
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<deputy::Tensor> inputs, InOrder(model, {{"b", b}, {"a", a}}));
  DEPUTY_ASSIGN_OR_RETURN(deputy::Session session, model.CreateSession());
  std::vector<deputy::Tensor> outputs;
  DEPUTY_RETURN_IF_ERROR(session.Predict(inputs, &outputs));
  for (const float value : outputs[0].values<float>()) std::cout << value << '\n';
  return InOrder(model, {{"a", a}}).status();  // refused
}

}  // namespace

int main(int argc, char** argv) {
  const deputy::Status status = Run(argc > 1 ? argv[1] : "");
  std::cout << status.ToString() << '\n';
  return status.code() == deputy::StatusCode::kNotFound ? 0 : 1;
}
