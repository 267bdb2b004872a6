#include "probing/taken_models.hpp"

#include <cmath>
#include <optional>
#include <set>

#include "case_run.hpp"
#include "cases/model_builder.hpp"
#include "probing/forms.hpp"
#include "probing/taken_cases.hpp"
#include "probing/taken_pieces.hpp"

namespace deputy::conformance {
namespace {

constexpr double kLargest = 1000;

// A small error of the input is a small error of the output, regardless of the values.
bool IsContinuous(const std::string& op_type) {
  static const auto* const types = new std::set<std::string>{"Abs",
                                                             "Add",
                                                             "AveragePool",
                                                             "BatchNormalization",
                                                             "Celu",
                                                             "Clip",
                                                             "Concat",
                                                             "Conv",
                                                             "ConvTranspose",
                                                             "Cos",
                                                             "Dropout",
                                                             "Elu",
                                                             "Erf",
                                                             "Expand",
                                                             "DepthToSpace",
                                                             "Flatten",
                                                             "Gather",
                                                             "Gelu",
                                                             "Gemm",
                                                             "GlobalAveragePool",
                                                             "HardSwish",
                                                             "HardSigmoid",
                                                             "Identity",
                                                             "GlobalMaxPool",
                                                             "InstanceNormalization",
                                                             "LRN",
                                                             "LeakyRelu",
                                                             "LayerNormalization",
                                                             "LogSoftmax",
                                                             "MatMul",
                                                             "Max",
                                                             "MaxPool",
                                                             "Min",
                                                             "Mish",
                                                             "Mul",
                                                             "Neg",
                                                             "PRelu",
                                                             "Pad",
                                                             "ReduceMax",
                                                             "ReduceMean",
                                                             "ReduceMin",
                                                             "ReduceSum",
                                                             "Relu",
                                                             "Reshape",
                                                             "Resize",
                                                             "Selu",
                                                             "Sigmoid",
                                                             "Sin",
                                                             "Slice",
                                                             "Softmax",
                                                             "Softplus",
                                                             "Softsign",
                                                             "SpaceToDepth",
                                                             "Squeeze",
                                                             "Sub",
                                                             "Sum",
                                                             "Swish",
                                                             "Tanh",
                                                             "Tile",
                                                             "Transpose",
                                                             "Unsqueeze",
                                                             "Upsample"};
  return types->count(op_type) != 0;
}

bool IsFloat(const Tensor& tensor) { return reference::IsReal(tensor.dtype) && tensor.count() != 0; }

bool IsModest(const Tensor& tensor) {
  for (const double value : tensor.real)
    if (!(std::fabs(value) <= kLargest)) return false;
  return IsFloat(tensor);
}

// One float input that is no constant, and one float output.
bool IsLink(const Case& tested) {
  if (!FormOf(tested) || !IsFloat(tested.inputs[0].value) || tested.node.output_count > 1) return false;
  const std::vector<Tensor> outputs = reference::Compute(tested.node, tested.operands());
  return outputs.size() == 1 && IsModest(outputs[0]);
}

bool IsTakenWhole(Instance& instance, const ModelCase& model) {
  const ModelGraph shown(model);
  Answer refusal;
  std::optional<Claim> claim = instance.ClaimAll(shown.graph, &refusal);
  if (claim) instance.Release(*claim);
  return claim.has_value();
}

// The second node of a row; nothing where it does not fit to the value in front of it.
std::optional<Case> Fitting(const Case& second, const Tensor& value, uint64_t seed) {
  if (!IsContinuous(second.node.name())) return std::nullopt;
  const Tensor& own = second.inputs[0].value;
  if (own.dtype == value.dtype && own.dims == value.dims) return second;
  return CaseIn(second.node.name(), {value.dtype, value.dims}, seed);
}

std::optional<ModelCase> InARow(const Case& first, const Case& second, uint64_t seed) {
  ModelBuilder m(first.name() + ", " + second.node.name(), seed);
  const size_t inner = m.Append(first, m.In(first.inputs[0].value));
  const std::optional<Case> behind = Fitting(second, m.ValueOf(inner), seed);
  if (!behind) return std::nullopt;
  const size_t last = m.Append(*behind, inner);
  if (!IsModest(m.ValueOf(last))) return std::nullopt;
  m.Out(last);
  return m.Done();
}

std::optional<ModelCase> OfOneInput(const Case& first, const Case& second, uint64_t seed) {
  const Tensor &x = first.inputs[0].value, &own = second.inputs[0].value;
  if (x.dims != own.dims || x.dtype != own.dtype) return std::nullopt;
  ModelBuilder m(first.name() + " and " + second.name() + " of one input", seed);
  const size_t in = m.In(x);
  m.Out(m.Append(first, in));
  m.Out(m.Append(second, in));
  return m.Done();
}

// Of each operator a few cases that are taken; of all only some, where there are many.
std::vector<Case> TakenLinks(Instance& instance, const std::vector<Case>& cases, uint64_t seed) {
  constexpr size_t kOfOne = 3, kMost = 36;
  std::vector<Case> links;
  for (const auto& [op_type, all] : ByOperator(cases)) {
    TakenCases search(instance, all, seed);
    for (Case& taken : search.First(kOfOne))
      if (IsLink(taken)) links.push_back(std::move(taken));
  }
  RandomSource random(seed + 5);
  while (links.size() > kMost) links.erase(links.begin() + random.Between(0, static_cast<int64_t>(links.size()) - 1));
  return links;
}

}  // namespace

std::vector<ModelCase> TakenRows(Instance& instance, const std::vector<Case>& cases, uint64_t seed, size_t most) {
  std::vector<ModelCase> rows;
  const std::vector<Case> links = TakenLinks(instance, cases, seed);
  std::set<std::string> labels;
  for (const auto& make : {InARow, OfOneInput}) {
    // In an order in which each operator comes first early.
    for (size_t distance = 0; distance < links.size(); ++distance)
      for (size_t i = 0; i < links.size() && rows.size() < most; ++i) {
        std::optional<ModelCase> row = make(links[i], links[(i + distance) % links.size()], seed);
        if (row && labels.insert(row->label).second && IsTakenWhole(instance, *row)) rows.push_back(std::move(*row));
      }
    if (!rows.empty()) break;
  }
  return rows;
}

std::vector<ModelCase> TakenModels(Instance& instance, const std::vector<Case>& cases,
                                   const std::vector<ModelCase>& fixed, uint64_t seed, size_t enough) {
  std::vector<ModelCase> taken;
  for (const ModelCase& model : fixed)
    if (IsTakenWhole(instance, model)) taken.push_back(model);
  if (taken.size() >= enough) return taken;
  for (const Accepted& accepted : AcceptedBy(instance, seed)) {
    RandomSource random(seed + 3);
    for (size_t tries = 0; tries < 8 * enough && taken.size() < enough; ++tries) {
      const auto row = RowOf({random.Pick(accepted.pieces), random.Pick(accepted.pieces)}, accepted.ground, seed);
      if (row && IsTakenWhole(instance, *row)) taken.push_back(*row);
    }
  }
  if (taken.size() >= enough) return taken;
  for (ModelCase& row : TakenRows(instance, cases, seed, enough - taken.size())) taken.push_back(std::move(row));
  return taken;
}

}  // namespace deputy::conformance
