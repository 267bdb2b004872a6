// Outputs whose extents only the run knows, for delegates with DEPUTY_DELEGATE_DYNAMIC_SHAPES: each is allocated once,
// with the right extents, and written whole.
#include <algorithm>
#include <functional>
#include <set>

#include "probing/subject.hpp"
#include "probing/taken_cases.hpp"
#include "test.hpp"

namespace deputy::conformance {
namespace {

// A case whose outputs have no known extents where `open` says so: all extents, or those that follow from the values of
// the inputs. The variable inputs have known extents in the latter case.
class OpenCase final : public ShownModel {
 public:
  // Of all variable inputs and outputs.
  explicit OpenCase(const Case& tested) : tested_(tested) {
    std::vector<Dims> open;
    for (const Tensor& expected : reference::Compute(tested.node, tested.operands()))
      open.emplace_back(expected.rank(), -1);
    Build(open, true);
  }
  // Of outputs alone: `outputs` has their extents, -1 for those that the run decides.
  OpenCase(const Case& tested, const std::vector<Dims>& outputs) : tested_(tested) { Build(outputs, false); }

  Tolerance ToleranceIn(const Claim&, deputy_value_id id, deputy_dtype computes_in) const override {
    return ToleranceOf(tested_, ValueOf(id).dtype, computes_in);
  }

 private:
  void Build(const std::vector<Dims>& outputs, bool open_inputs) {
    std::vector<deputy_value_id> ids, made;
    for (size_t i = 0; i < tested_.inputs.size(); ++i) {
      const Operand& operand = tested_.inputs[i];
      const std::string name = "x" + std::to_string(i);
      if (!operand.present) {
        ids.push_back(DEPUTY_NO_VALUE);
        continue;
      }
      Know("input " + std::to_string(i), operand.value);
      if (operand.constant) {
        ids.push_back(graph.AddConstant(name, operand.value));
      } else {
        ids.push_back(graph.AddValue(name, operand.value.dtype,
                                     open_inputs ? Dims(operand.value.rank(), -1) : operand.value.dims));
        graph.AddInput(ids.back());
      }
    }
    for (const Tensor& expected : reference::Compute(tested_.node, tested_.operands())) {
      Know("output " + std::to_string(made.size()), expected);
      made.push_back(graph.AddValue("y" + std::to_string(made.size()), expected.dtype, outputs.at(made.size())));
      graph.AddOutput(made.back());
    }
    graph.AddNode(tested_.node.op_type, tested_.node, ids, made);
  }

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
Outcome RunOpen(Context& context, const ShownModel& compiled, const ShownModel& shown, const Claim& claim,
                const Allocations& allocations) {
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
  for (const deputy_value_id id : claim.outputs) {
    deputy_value_info info{};
    info.struct_size = sizeof info;
    (void)compiled.graph.ValueInfo(id, &info);
    outputs.push_back(tensor_of(shown.ValueOf(id), info.dims));
  }
  RunSettings settings;
  settings.allocator = allocations.form();
  return context.Execute(inputs, outputs, settings);
}

// How a case is shown with some data: the same extents are open for all data.
using Show = std::function<std::unique_ptr<OpenCase>(const Case& data)>;

// "" or the first fault of runs on the data of the case and of `others`. Nothing where the case is not taken.
std::optional<std::string> FaultOfOpen(Instance& instance, const Case& tested, const std::vector<Case>& others,
                                       const Show& show, deputy_dtype computes_in) {
  HostServices& host = instance.plugin().host();
  const std::unique_ptr<OpenCase> shown = show(tested);
  std::string why_not;
  const std::optional<Loaded> loaded = Load(instance, *shown, &why_not);
  if (!why_not.empty()) return why_not;
  if (!loaded) return std::nullopt;
  const auto wrong_with = [&](const Case& data) -> std::string {
    const std::unique_ptr<OpenCase> other = show(data);
    const Allocations allocations(host, *other, loaded->claim, false);
    const Outcome outcome = RunOpen(*loaded->context, *shown, *other, loaded->claim, allocations);
    const std::string wrong = allocations.Fault(computes_in);
    if (!outcome.ok() && wrong.rfind("allocate", 0) != 0) return "execute fails: " + outcome.ToString();
    return wrong.empty() || data.label == tested.label ? wrong : data.label + ": " + wrong;
  };
  std::string wrong = wrong_with(tested);
  for (const Case& other : others)
    if (wrong.empty()) wrong = wrong_with(other);
  if (wrong.empty()) wrong = wrong_with(Turned(tested, 1));
  if (!wrong.empty()) return wrong;
  const Allocations refused(host, *shown, loaded->claim, true);
  if (RunOpen(*loaded->context, *shown, *shown, loaded->claim, refused).ok())
    return "execute succeeds, although allocate had no memory";
  return wrong_with(tested);
}

void TryOpen(TestRun& run, Instance& instance, const Case& tested) {
  const auto show = [](const Case& data) { return std::make_unique<OpenCase>(data); };
  const auto wrong = FaultOfOpen(instance, tested, OtherShapes(tested), show, run.settings().computes_in);
  if (!wrong) return;
  if (wrong->empty())
    run.Passed(tested.name());
  else
    run.Failed(tested.name(), "with open extents of inputs and outputs: " + *wrong);
}

// The same case where every variable input of floats or flags is zero: nothing is found, kept or selected.
Case Zeroed(const Case& tested) {
  Case zeroed = tested;
  zeroed.label = "values=zero";
  for (Operand& input : zeroed.inputs) {
    const deputy_dtype dtype = input.value.dtype;
    if (!input.present || input.constant || (!reference::IsReal(dtype) && dtype != kBool)) continue;
    input.value = Tensor(dtype, input.value.dims);
  }
  return zeroed;
}

// The extents of outputs, -1 where they follow from the values of the inputs. Nothing unless each output has such an
// extent: the memory of the others would be given.
std::optional<std::vector<Dims>> ExtentsByValues(const Case& tested, const Case& other) {
  const std::vector<Tensor> made = reference::Compute(tested.node, tested.operands());
  const std::vector<Tensor> others = reference::Compute(other.node, other.operands());
  if (made.empty() || made.size() != others.size()) return std::nullopt;
  std::vector<Dims> all;
  for (size_t i = 0; i < made.size(); ++i) {
    if (made[i].dims == others[i].dims || made[i].rank() != others[i].rank()) return std::nullopt;
    all.push_back(made[i].dims);
    for (size_t axis = 0; axis < all[i].size(); ++axis)
      if (made[i].dims[axis] != others[i].dims[axis]) all[i][axis] = -1;
  }
  return all;
}

// Known inputs, and outputs whose extents follow from their values; false where there are none such.
bool TryByValues(TestRun& run, Instance& instance, const Case& tested) {
  const Case zeroed = Zeroed(tested);
  const std::optional<std::vector<Dims>> extents = ExtentsByValues(tested, zeroed);
  if (!extents) return false;
  const auto show = [&](const Case& data) { return std::make_unique<OpenCase>(data, *extents); };
  const auto wrong = FaultOfOpen(instance, tested, {zeroed}, show, run.settings().computes_in);
  if (!wrong) return false;
  if (wrong->empty())
    run.Passed(tested.name());
  else
    run.Failed(tested.name(), "with extents of outputs that follow from values: " + *wrong);
  return true;
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
      TryOpen(run, *instance, *tested);
      if (run.NoFaults(*plugin, tested->name()) && run.failures() == failures) ++passed;
    }
  }
  if (run.failures() == 0 && passed == 0) run.Skipped("it takes no case with open outputs");
}

void CheckValueExtents(TestRun& run, const std::vector<Case>& cases) {
  constexpr size_t kPerOperator = 4;
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  if ((instance->delegate()->flags & DEPUTY_DELEGATE_DYNAMIC_SHAPES) == 0)
    return run.Skipped("the delegate takes known extents only");
  static const auto* const types =
      new std::set<std::string>{"NonZero", "Compress", "NonMaxSuppression", "Unique", "Range"};
  int64_t index = 0;
  size_t taken = 0;
  for (const auto& [op_type, all] : ByOperator(cases)) {
    if (types->count(op_type) == 0) continue;
    size_t tried = 0;
    for (const Case* tested : all) {
      if (tried == kPerOperator) break;
      if (index++ < run.first_case()) continue;
      run.BeginCase(index - 1, tested->name());
      if (TryByValues(run, *instance, *tested)) ++tried;
      run.NoFaults(*plugin, tested->name());
    }
    taken += tried;
  }
  if (run.failures() == 0 && taken == 0) run.Skipped("it takes no case whose extents follow from values");
}

}  // namespace

std::vector<Test> AllocatorTests(const std::vector<Case>& cases) {
  return {{"shapes.allocated", With(CheckAllocator, cases)}, {"shapes.by_values", With(CheckValueExtents, cases)}};
}

}  // namespace deputy::conformance
