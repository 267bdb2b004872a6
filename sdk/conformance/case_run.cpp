#include "case_run.hpp"

#include <algorithm>

namespace deputy::conformance {

using reference::Tensor;
using Bytes = std::vector<uint8_t>;

CaseGraph::CaseGraph(const Case& tested) {
  std::vector<deputy_value_id> ids;
  for (size_t i = 0; i < tested.inputs.size(); ++i) {
    const Operand& operand = tested.inputs[i];
    const std::string name = "x" + std::to_string(i);
    if (!operand.present) {
      ids.push_back(DEPUTY_NO_VALUE);
    } else if (operand.constant) {
      ids.push_back(graph.AddConstant(name, operand.value));
    } else {
      ids.push_back(graph.AddValue(name, operand.value.dtype, operand.value.dims));
      graph.AddInput(ids.back());
      inputs.push_back(operand.value);
      input_names.push_back("input " + std::to_string(i));
    }
  }
  expected = reference::Compute(tested.node, tested.operands());
  std::vector<deputy_value_id> made;
  for (size_t i = 0; i < expected.size(); ++i) {
    made.push_back(graph.AddValue("y" + std::to_string(i), expected[i].dtype, expected[i].dims));
    graph.AddOutput(made.back());
    output_names.push_back("output " + std::to_string(i));
  }
  graph.AddNode(tested.node.op_type, tested.node, ids, made);
}

namespace {

size_t PositionOf(const std::vector<deputy_value_id>& ids, deputy_value_id id) {
  return static_cast<size_t>(std::find(ids.begin(), ids.end(), id) - ids.begin());
}

}  // namespace

const Tensor& CaseGraph::InputOf(deputy_value_id id) const { return inputs[PositionOf(graph.inputs(), id)]; }
const Tensor& CaseGraph::OutputOf(deputy_value_id id) const { return expected[PositionOf(graph.outputs(), id)]; }

Binding::Binding(const CaseGraph& shown, const Claim& claim, Flush flush, uint8_t poison) {
  for (const deputy_value_id id : claim.inputs) {
    const size_t at = PositionOf(shown.graph.inputs(), id);
    inputs_.push_back(Bound(shown.input_names[at], shown.inputs[at], flush));
    input_buffers_.back()->Assign(reference::Encode(shown.inputs[at]));
    input_buffers_.back()->Protect(true);
  }
  for (const deputy_value_id id : claim.outputs) {
    const size_t at = PositionOf(shown.graph.outputs(), id);
    deputy_tensor tensor = Bound(shown.output_names[at], shown.expected[at], flush);
    output_buffers_.push_back(std::move(input_buffers_.back()));
    input_buffers_.pop_back();
    output_buffers_.back()->Fill(poison);
    outputs_.push_back(tensor);
  }
}

deputy_tensor Binding::Bound(const std::string& name, const Tensor& tensor, Flush flush) {
  const size_t bytes = static_cast<size_t>(tensor.count()) * reference::BytesOf(tensor.dtype);
  input_buffers_.push_back(std::make_unique<GuardedBuffer>(name, bytes, flush));
  static constexpr int64_t kNoDims = 0;
  deputy_tensor bound{};
  bound.struct_size = sizeof bound;
  bound.dtype = tensor.dtype;
  bound.rank = static_cast<uint32_t>(tensor.rank());
  bound.layout = DEPUTY_LAYOUT_DENSE;
  bound.dims = tensor.dims.empty() ? &kNoDims : tensor.dims.data();
  bound.memory = DEPUTY_MEMORY_HOST;
  bound.data = input_buffers_.back()->data();
  bound.byte_size = bytes;
  return bound;
}

void Binding::Close() {
  for (const auto& buffer : output_buffers_) buffer->Protect(true, " after execute had returned");
}

std::vector<Bytes> Binding::Results() const {
  std::vector<Bytes> results;
  for (const auto& buffer : output_buffers_)
    results.emplace_back(buffer->data(), buffer->data() + (buffer->data() == nullptr ? 0 : buffer->size()));
  return results;
}

std::string FaultOfResults(const CaseGraph& shown, const Claim& claim, const std::vector<Bytes>& first,
                           const std::vector<Bytes>& second) {
  for (size_t i = 0; i < first.size(); ++i) {
    const size_t at = PositionOf(shown.graph.outputs(), claim.outputs[i]);
    const size_t size = reference::BytesOf(shown.expected[at].dtype);
    size_t untouched = 0, different = 0, where = 0;
    for (size_t element = 0; element * size < first[i].size(); ++element) {
      const auto begin = first[i].begin() + static_cast<ptrdiff_t>(element * size);
      const auto other = second[i].begin() + static_cast<ptrdiff_t>(element * size);
      const auto length = static_cast<ptrdiff_t>(size);
      if (std::equal(begin, begin + length, other)) continue;
      const bool poisoned = std::all_of(begin, begin + length, [](uint8_t byte) { return byte == kPoison; }) &&
                            std::all_of(other, other + length, [](uint8_t byte) { return byte == kOtherPoison; });
      if (untouched + different == 0) where = element;
      ++(poisoned ? untouched : different);
    }
    const std::string index = TextOf(reference::IndexOf(shown.expected[at].dims, static_cast<int64_t>(where)));
    if (untouched != 0)
      return shown.output_names[at] + ": " + std::to_string(untouched) + " elements were not written, the first at " +
             index;
    if (different != 0)
      return shown.output_names[at] + ": a second run on the same inputs differs in " + std::to_string(different) +
             " elements, the first at " + index;
  }
  return "";
}

std::string FaultOfValues(const Case& tested, const CaseGraph& shown, const Claim& claim,
                          const std::vector<Bytes>& results, deputy_dtype computes_in) {
  for (size_t i = 0; i < results.size(); ++i) {
    const size_t at = PositionOf(shown.graph.outputs(), claim.outputs[i]);
    const Tensor& expected = shown.expected[at];
    const Tensor got = reference::Decode(expected.dtype, expected.dims, results[i].data());
    const std::string wrong = Difference(got, expected, ToleranceOf(tested, expected.dtype, computes_in));
    if (!wrong.empty()) return (results.size() > 1 ? shown.output_names[at] + ": " : "") + wrong;
  }
  return "";
}

std::string FaultOfRuns(const Case& tested, const CaseGraph& shown, const Claim& claim, Context& context,
                        deputy_dtype computes_in) {
  std::vector<Bytes> results[2];
  for (const int i : {0, 1}) {
    Binding binding(shown, claim, i == 0 ? Flush::kEnd : Flush::kBegin, i == 0 ? kPoison : kOtherPoison);
    const Outcome outcome = binding.Run(context);
    if (!outcome.ok()) return "execute fails: " + outcome.ToString();
    results[i] = binding.Results();
  }
  const std::string fault = FaultOfResults(shown, claim, results[0], results[1]);
  return fault.empty() ? FaultOfValues(tested, shown, claim, results[0], computes_in) : fault;
}

std::optional<Compiled> CompileCase(Instance& instance, const Case& tested, std::string* why_not) {
  Compiled compiled;
  compiled.tested = &tested;
  compiled.shown = std::make_unique<CaseGraph>(tested);
  Answer refusal;
  std::optional<Claim> claim = instance.ClaimAll(compiled.shown->graph, &refusal);
  if (!claim) {
    *why_not = std::string(ReasonName(refusal.reason)) + (refusal.detail.empty() ? "" : ", " + refusal.detail);
    return std::nullopt;
  }
  compiled.claim = *claim;
  Outcome outcome;
  compiled.executable = instance.Compile(compiled.shown->graph, *claim, &outcome);
  if (compiled.executable == nullptr) {
    *why_not = "compile refused: " + outcome.ToString();
    return std::nullopt;
  }
  compiled.context = compiled.executable->CreateContext(why_not);
  if (compiled.context == nullptr) return std::nullopt;
  return compiled;
}

std::optional<Compiled> CompileAnyCase(Instance& instance, const std::vector<Case>& cases) {
  std::string ignored;
  for (const char* liked : {"MatMul", "Conv", "Add", "Relu", "Identity", ""})
    for (const Case& tested : cases) {
      if (tested.node.op_type != liked && *liked != 0) continue;
      if (tested.label != "plain" && *liked != 0) continue;
      if (std::optional<Compiled> compiled = CompileCase(instance, tested, &ignored)) return compiled;
    }
  return std::nullopt;
}

}  // namespace deputy::conformance
