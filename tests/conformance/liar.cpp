// A delegate that claims one operator, or all, and computes them with the conformance kit's own oracle, except in one
// respect: an attribute, an element type, a rank or a form of a partition with which it is wrong. Without a lie it is
// right everywhere. Options choose.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "deputy/sdk/sdk.hpp"
#include "reference/node.hpp"

namespace {

using namespace deputy::sdk;
namespace reference = deputy::conformance::reference;

// What the lie is about. `kind` attribute: wrong where `name` has a value other than `usual`.
struct Lie {
  std::string kind, name, usual, how;

  static std::string TextOf(const reference::Attribute& attribute) {
    if (attribute.type == DEPUTY_ATTRIBUTE_INT) return std::to_string(attribute.i);
    if (attribute.type == DEPUTY_ATTRIBUTE_STRING) return attribute.s;
    if (attribute.type == DEPUTY_ATTRIBUTE_FLOAT) return std::to_string(attribute.f);
    if (attribute.type == DEPUTY_ATTRIBUTE_TENSOR) return "tensor";
    std::string text;
    for (const std::string& value : attribute.strings) text += (text.empty() ? "" : ",") + value;
    for (const float value : attribute.floats) text += (text.empty() ? "" : ",") + std::to_string(value);
    for (const int64_t value : attribute.ints) text += (text.empty() ? "" : ",") + std::to_string(value);
    return text;
  }

  bool HoldsFor(const reference::Node& node, const reference::Inputs& inputs) const {
    if (kind == "attribute") {
      const auto found = node.attributes.find(name);
      return found != node.attributes.end() && TextOf(found->second) != usual;
    }
    const reference::Tensor* first = reference::At(inputs, 0);
    if (first == nullptr) return false;
    return kind == "dtype" ? name == reference::NameOf(first->dtype)
                           : kind == "rank" && std::to_string(first->rank()) == name;
  }
};

size_t CountOf(const std::vector<reference::Tensor>& outputs) {
  size_t count = 0;
  for (const reference::Tensor& output : outputs) count += static_cast<size_t>(output.count());
  return count;
}

std::vector<reference::Tensor> Lied(const Lie& lie, reference::Node node, const reference::Inputs& inputs) {
  std::vector<reference::Tensor> truth = reference::Compute(node, inputs);
  if (!lie.HoldsFor(node, inputs)) return truth;
  if (lie.how == "ignored" && lie.kind == "attribute") {
    node.attributes.erase(lie.name);
    const std::vector<reference::Tensor> made = reference::Compute(node, inputs);
    bool same_shapes = made.size() == truth.size();
    for (size_t i = 0; same_shapes && i < made.size(); ++i)
      same_shapes = made[i].dims == truth[i].dims && made[i].dtype == truth[i].dtype;
    bool same_values = same_shapes;
    for (size_t i = 0; same_values && i < made.size(); ++i)
      same_values = made[i].real == truth[i].real && made[i].whole == truth[i].whole;
    if (same_shapes && !same_values) return made;
  }
  // One element is off: the last one of the first output that has any.
  for (reference::Tensor& output : truth) {
    const int64_t last = output.count() - 1;
    if (last < 0 || CountOf(truth) == 0) continue;
    if (reference::IsReal(output.dtype))
      output.Put(last, output.Get(last) + std::fabs(output.Get(last)) / 16 + 0.0625);
    else if (output.dtype == DEPUTY_DTYPE_BOOL)
      output.Put(last, static_cast<int64_t>(output.Get(last) == 0));
    else
      output.Put(last, static_cast<int64_t>(output.Get(last)) + 3);
    break;
  }
  return truth;
}

reference::Node NodeOf(const NodeView& view) {
  reference::Node node;
  node.op_type = std::string(view.op_type());
  node.since_version = view.since_version();
  node.output_count = view.output_count();
  const auto* attributes = view.primitive()->attributes();
  for (size_t i = 0; attributes != nullptr && i < attributes->size(); ++i) {
    const deputy::schema::Attribute* one = attributes->Get(static_cast<flatbuffers::uoffset_t>(i));
    reference::Attribute made;
    made.type = static_cast<deputy_attribute_type>(one->type());
    made.i = one->i();
    made.f = one->f();
    if (one->s() != nullptr) made.s = one->s()->str();
    if (one->ints() != nullptr) made.ints.assign(one->ints()->begin(), one->ints()->end());
    if (one->floats() != nullptr) made.floats.assign(one->floats()->begin(), one->floats()->end());
    for (size_t j = 0; one->strings() != nullptr && j < one->strings()->size(); ++j)
      made.strings.push_back(one->strings()->Get(static_cast<flatbuffers::uoffset_t>(j))->value()->str());
    if (const deputy::schema::TensorData* tensor = one->tensor(); tensor != nullptr) {
      const reference::Dims dims(tensor->dims()->begin(), tensor->dims()->end());
      made.tensor = reference::Decode(static_cast<deputy_dtype>(tensor->dtype()), dims, tensor->data()->data());
    }
    node.attributes[one->name()->str()] = std::move(made);
  }
  return node;
}

// A node of the partition, with the numbers of its values.
struct Step {
  reference::Node node;
  std::vector<deputy_value_id> inputs, outputs;
};

using Values = std::map<deputy_value_id, reference::Tensor>;

struct Program {
  Lie lie;
  std::vector<Step> steps;
  Values constants;
  std::vector<deputy_value_id> inputs, outputs;

  bool LiesAbout(const char* name) const { return lie.kind == "partition" && lie.name == name; }

  bool ReadsInside(deputy_value_id id) const {
    for (const Step& step : steps)
      if (std::count(step.inputs.begin(), step.inputs.end(), id) != 0) return true;
    return false;
  }
};

class LiarContext final : public ExecutionContext {
 public:
  explicit LiarContext(std::shared_ptr<const Program> program) : program_(std::move(program)) {}

  Status Execute(const RunArgs& run) override {
    Values values = program_->constants;
    for (size_t i = 0; i < run.input_count(); ++i) {
      const TensorView tensor = run.input(i);
      const reference::Dims dims(tensor.dims().begin(), tensor.dims().end());
      const size_t at = program_->LiesAbout("order") ? run.input_count() - 1 - i : i;
      values[program_->inputs[at]] = reference::Decode(static_cast<deputy_dtype>(tensor.dtype()), dims,
                                                       static_cast<const uint8_t*>(tensor.data()));
    }
    for (const Step& step : program_->steps) Compute(step, values);
    for (size_t i = 0; i < run.output_count(); ++i) {
      const std::vector<uint8_t> bytes = reference::Encode(values.at(OutputAt(i)));
      if (bytes.size() != run.output(i).byte_size()) return Status(Code::kInternal, "the output has another size");
      if (!bytes.empty()) std::memcpy(run.output(i).data(), bytes.data(), bytes.size());
    }
    return {};
  }

 private:
  void Compute(const Step& step, Values& values) const {
    reference::Inputs inputs;
    for (const deputy_value_id id : step.inputs) inputs.push_back(id == DEPUTY_NO_VALUE ? nullptr : &values.at(id));
    reference::Tensor zeros;
    const bool same = inputs.size() == 2 && step.inputs[0] == step.inputs[1] && inputs[0] != nullptr;
    if (same && program_->LiesAbout("same-input")) {
      zeros = reference::Tensor(inputs[0]->dtype, inputs[0]->dims);
      inputs[1] = &zeros;
    }
    const std::vector<reference::Tensor> made = Lied(program_->lie, step.node, inputs);
    for (size_t i = 0; i < step.outputs.size(); ++i)
      if (step.outputs[i] != DEPUTY_NO_VALUE) values[step.outputs[i]] = made[i];
    // Who computes in place destroys what others may still read.
    if (program_->LiesAbout("in-place") && step.inputs.size() == 1) values[step.inputs[0]] = made[0];
  }

  deputy_value_id OutputAt(size_t i) const {
    const std::vector<deputy_value_id>& outputs = program_->outputs;
    if (program_->LiesAbout("inner-output") && program_->ReadsInside(outputs[i]))
      return program_->steps.back().outputs[0];
    if (!program_->LiesAbout("output-order")) return outputs[i];
    std::vector<deputy_value_id> in_order;
    for (const Step& step : program_->steps)
      for (const deputy_value_id id : step.outputs)
        if (std::count(outputs.begin(), outputs.end(), id) != 0) in_order.push_back(id);
    return in_order[i];
  }

  std::shared_ptr<const Program> program_;
};

class LiarExecutable final : public Executable {
 public:
  explicit LiarExecutable(std::shared_ptr<const Program> program) : program_(std::move(program)) {}
  Result<std::unique_ptr<ExecutionContext>> CreateContext() override { return std::make_unique<LiarContext>(program_); }

 private:
  std::shared_ptr<const Program> program_;
};

class Liar final : public PartitionDelegate {
 public:
  static OptionSchema Options() {
    return OptionSchema()
        .String("operator", "", "the operator that is claimed; all that the oracle knows when empty")
        .String("kind", "", "what the lie is about: attribute, dtype, rank, partition")
        .String("name", "",
                "which attribute, element type or rank; of a partition order, output-order, inner-output, same-input, "
                "in-place")
        .String("usual", "", "the value of the attribute for which it is right")
        .String("how", "off", "ignored: the attribute is not looked at; off: one element is wrong");
  }

  Verdict Supports(const NodeView& node) override {
    const std::string wanted(options().String("operator"));
    if (!node.domain().empty() || !reference::Knows(std::string(node.op_type())))
      return Verdict::No(Reason::kOperatorUnknown);
    if (!wanted.empty() && node.op_type() != wanted) return Verdict::No(Reason::kOperatorUnknown);
    for (size_t i = 0; i < node.output_count(); ++i)
      if (!node.output(i).shape_known()) return Verdict::No(Reason::kShapeDynamic);
    return Verdict::Yes();
  }

  Result<std::unique_ptr<Executable>> Compile(const PartitionView& partition) override {
    auto program = std::make_shared<Program>();
    program->lie = {std::string(options().String("kind")), std::string(options().String("name")),
                    std::string(options().String("usual")), std::string(options().String("how"))};
    for (const ValueView& value : partition.inputs()) program->inputs.push_back(value.id());
    for (const ValueView& value : partition.outputs()) program->outputs.push_back(value.id());
    for (const NodeView& node : partition.nodes()) {
      Step step{NodeOf(node), {}, {}};
      for (size_t i = 0; i < node.input_count(); ++i) {
        const ValueView value = node.input(i);
        step.inputs.push_back(value.exists() ? value.id() : DEPUTY_NO_VALUE);
        if (!value.exists() || !value.is_constant()) continue;
        const reference::Dims dims(value.dims().begin(), value.dims().end());
        program->constants[value.id()] = reference::Decode(static_cast<deputy_dtype>(value.dtype()), dims,
                                                           static_cast<const uint8_t*>(value.constant()));
      }
      for (size_t i = 0; i < node.output_count(); ++i)
        step.outputs.push_back(node.output(i).exists() ? node.output(i).id() : DEPUTY_NO_VALUE);
      program->steps.push_back(std::move(step));
    }
    return std::unique_ptr<Executable>(std::make_unique<LiarExecutable>(std::move(program)));
  }
};

}  // namespace

DEPUTY_EXPORT_DELEGATE(Liar, "liar", "right in everything but one thing")
