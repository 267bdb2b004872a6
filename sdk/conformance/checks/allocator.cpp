// Outputs whose extents only the run knows, for delegates with DEPUTY_DELEGATE_DYNAMIC_SHAPES: each is allocated once,
// with the right extents, and written whole.
#include <algorithm>
#include <set>

#include "probing/subject.hpp"
#include "probing/taken_cases.hpp"
#include "test.hpp"

namespace deputy::conformance {
namespace {

// A case whose variable inputs, and whose outputs, have no known extents.
class OpenCase final : public ShownModel {
 public:
  explicit OpenCase(const Case& tested) : tested_(tested) {
    std::vector<deputy_value_id> ids, made;
    for (size_t i = 0; i < tested.inputs.size(); ++i) {
      const Operand& operand = tested.inputs[i];
      const std::string name = "x" + std::to_string(i);
      if (!operand.present) {
        ids.push_back(DEPUTY_NO_VALUE);
        continue;
      }
      Know("input " + std::to_string(i), operand.value);
      if (operand.constant) {
        ids.push_back(graph.AddConstant(name, operand.value));
      } else {
        ids.push_back(graph.AddValue(name, operand.value.dtype, Dims(operand.value.rank(), -1)));
        graph.AddInput(ids.back());
      }
    }
    for (const Tensor& expected : reference::Compute(tested.node, tested.operands())) {
      Know("output " + std::to_string(made.size()), expected);
      made.push_back(graph.AddValue("y" + std::to_string(made.size()), expected.dtype, Dims(expected.rank(), -1)));
      graph.AddOutput(made.back());
    }
    graph.AddNode(tested.node.op_type, tested.node, ids, made);
  }

  Tolerance ToleranceIn(const Claim&, deputy_value_id id, deputy_dtype computes_in) const override {
    return ToleranceOf(tested_, ValueOf(id).dtype, computes_in);
  }

 private:
  const Case& tested_;
};

// The kit's side of one run.
class Allocations {
 public:
  Allocations(HostServices& host, const ShownModel& shown, const Claim& claim, bool refuses)
      : host_(host), shown_(shown), claim_(claim), refuses_(refuses), buffers_(claim.outputs.size()) {
    form_.struct_size = sizeof form_;
    form_.self = this;
    form_.allocate = Allocate;
  }

  const deputy_output_allocator* form() const { return &form_; }

  // What is wrong with the allocations and the values of a run that succeeded.
  std::string Fault(deputy_dtype computes_in) const {
    if (!fault_.empty()) return fault_;
    std::vector<std::vector<uint8_t>> results;
    for (size_t i = 0; i < buffers_.size(); ++i) {
      if (buffers_[i] == nullptr) return shown_.NameOf(claim_.outputs[i]) + " was not allocated";
      const uint8_t* data = buffers_[i]->data();
      results.emplace_back(data, data + (data == nullptr ? 0 : buffers_[i]->size()));
    }
    return FaultOfValues(shown_, claim_, results, computes_in);
  }

 private:
  deputy_status* Refused(deputy_code code, const std::string& text) {
    if (code == DEPUTY_INVALID_ARGUMENT && fault_.empty()) fault_ = "allocate: " + text;
    return host_.NewStatus(code, DEPUTY_NO_NODE, text);
  }

  static deputy_status* Allocate(void* self, uint32_t output, const int64_t* dims, uint32_t rank, void** data) {
    auto& all = *static_cast<Allocations*>(self);
    if (output >= all.buffers_.size() || data == nullptr)
      return all.Refused(DEPUTY_INVALID_ARGUMENT, "there is no such output");
    if (all.buffers_[output] != nullptr) return all.Refused(DEPUTY_INVALID_ARGUMENT, "an output was allocated twice");
    if (all.refuses_) return all.Refused(DEPUTY_OUT_OF_MEMORY, "no memory, for a test");
    const Tensor& expected = all.shown_.ValueOf(all.claim_.outputs[output]);
    const Dims given(dims, dims + rank);
    if (given != expected.dims)
      return all.Refused(DEPUTY_INVALID_ARGUMENT, "the extents " + TextOf(given) + " were given for " +
                                                      all.shown_.NameOf(all.claim_.outputs[output]) + ", right are " +
                                                      TextOf(expected.dims));
    const size_t bytes = static_cast<size_t>(expected.count()) * reference::BytesOf(expected.dtype);
    all.buffers_[output] =
        std::make_unique<GuardedBuffer>(all.shown_.NameOf(all.claim_.outputs[output]), bytes, Flush::kBegin, 64);
    all.buffers_[output]->Fill(kPoison);
    *data = all.buffers_[output]->data();
    return nullptr;
  }

  HostServices& host_;
  const ShownModel& shown_;
  const Claim& claim_;
  const bool refuses_;
  deputy_output_allocator form_{};
  std::vector<std::unique_ptr<GuardedBuffer>> buffers_;
  std::string fault_;
};

// One run; `shown` has the data, which may be of other shapes than those of an earlier run.
Outcome RunOpen(Context& context, const ShownModel& shown, const Claim& claim, const Allocations& allocations) {
  std::vector<std::unique_ptr<GuardedBuffer>> buffers;
  std::vector<deputy_tensor> inputs, outputs;
  static constexpr int64_t kNoDims = 0;
  const auto tensor_of = [&](const Tensor& value, const int64_t* dims) {
    deputy_tensor tensor{};
    tensor.struct_size = sizeof tensor;
    tensor.dtype = value.dtype;
    tensor.rank = static_cast<uint32_t>(value.rank());
    tensor.dims = value.rank() == 0 ? &kNoDims : dims;
    return tensor;
  };
  for (const deputy_value_id id : claim.inputs) {
    const Tensor& value = shown.ValueOf(id);
    const std::vector<uint8_t> bytes = reference::Encode(value);
    buffers.push_back(std::make_unique<GuardedBuffer>(shown.NameOf(id), bytes.size(), Flush::kEnd));
    buffers.back()->Assign(bytes);
    buffers.back()->Protect(true);
    inputs.push_back(tensor_of(value, value.dims.data()));
    inputs.back().data = buffers.back()->data();
    inputs.back().byte_size = bytes.size();
  }
  static const Dims kOpen(16, -1);
  for (const deputy_value_id id : claim.outputs) outputs.push_back(tensor_of(shown.ValueOf(id), kOpen.data()));
  RunSettings settings;
  settings.allocator = allocations.form();
  return context.Execute(inputs, outputs, settings);
}

void TryOpen(TestRun& run, Instance& instance, const Case& tested, const std::vector<Case>& others) {
  HostServices& host = instance.plugin().host();
  const OpenCase shown(tested);
  std::string why_not;
  const std::optional<Loaded> loaded = Load(instance, shown, &why_not);
  if (!why_not.empty()) run.Failed(tested.name(), "with open extents: " + why_not);
  if (!loaded) return;
  const auto wrong_with = [&](const Case& data) -> std::string {
    const OpenCase other(data);
    const Allocations allocations(host, other, loaded->claim, false);
    const Outcome outcome = RunOpen(*loaded->context, other, loaded->claim, allocations);
    const std::string wrong = allocations.Fault(run.settings().computes_in);
    return !outcome.ok() && wrong.rfind("allocate", 0) != 0 ? "execute fails: " + outcome.ToString() : wrong;
  };
  std::string wrong = wrong_with(tested);
  for (const Case& other : others)
    if (wrong.empty()) wrong = wrong_with(other);
  if (wrong.empty()) wrong = wrong_with(Turned(tested, 1));
  if (wrong.empty()) {
    const Allocations refused(host, shown, loaded->claim, true);
    if (RunOpen(*loaded->context, shown, loaded->claim, refused).ok())
      wrong = "execute succeeds, although allocate had no memory";
    if (wrong.empty()) wrong = wrong_with(tested);
  }
  if (wrong.empty())
    run.Passed(tested.name());
  else
    run.Failed(tested.name(), "with open extents of inputs and outputs: " + wrong);
}

void CheckAllocator(TestRun& run, const std::vector<Case>& cases) {
  constexpr size_t kPerOperator = 2;
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  if ((instance->delegate()->flags & DEPUTY_DELEGATE_DYNAMIC_SHAPES) == 0)
    return run.Skipped("the delegate takes known extents only");
  int64_t index = 0;
  size_t passed = 0;
  for (const auto& [op_type, all] : ByOperator(cases)) {
    size_t tried = 0;
    for (const Case* tested : all) {
      if (tried == kPerOperator) break;
      const bool is_plain = tested->label == "plain" || op_type == "NonZero" || op_type == "NonMaxSuppression";
      if (!is_plain) continue;
      const OpenCase shown(*tested);
      const std::vector<deputy_value_id>& outputs = shown.graph.outputs();
      // A scalar has no extent that a run could decide.
      const bool is_open = std::all_of(outputs.begin(), outputs.end(),
                                       [&](deputy_value_id id) { return shown.ValueOf(id).rank() != 0; });
      if (outputs.empty() || !is_open) continue;
      ++tried;
      if (index++ < run.first_case()) continue;
      run.BeginCase(index - 1, tested->name());
      const size_t failures = run.failures();
      TryOpen(run, *instance, *tested, OtherShapes(*tested));
      if (run.NoFaults(*plugin, tested->name()) && run.failures() == failures) ++passed;
    }
  }
  if (run.failures() == 0 && passed == 0) run.Skipped("it takes no case with open outputs");
}

}  // namespace

std::vector<Test> AllocatorTests(const std::vector<Case>& cases) {
  return {{"shapes.allocated", With(CheckAllocator, cases)}};
}

}  // namespace deputy::conformance
