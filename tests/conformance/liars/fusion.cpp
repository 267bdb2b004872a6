// Passes over several nodes, as graph compilers have them, that are not allowed where they are applied. Single nodes
// are always right.
#include <algorithm>

#include "liars.hpp"

namespace liars {
namespace {

using reference::Attribute;

bool Is(const Program& program, size_t step, const char* op_type) {
  return step < program.steps.size() && program.steps[step].node.op_type == op_type;
}

// The step that makes the first operand of an Add from an inner value.
bool IsMadeBy(const Program& program, deputy_value_id id, const char* op_type) {
  return Is(program, program.Maker(id), op_type);
}

// Conv, Add, Relu: the activation is applied to the result of Conv, and then the other summand is added.
void ActivationBeforeSum(Program& program) {
  for (size_t relu = 0; relu < program.steps.size(); ++relu) {
    if (!Is(program, relu, "Relu")) continue;
    const deputy_value_id sum = program.steps[relu].inputs[0];
    const size_t add = program.Maker(sum);
    if (!Is(program, add, "Add") || !program.IsPrivate(sum)) continue;
    Step& summing = program.steps[add];
    const size_t from_conv = IsMadeBy(program, summing.inputs[0], "Conv") ? 0 : 1;
    const deputy_value_id conv = summing.inputs[from_conv];
    if (!IsMadeBy(program, conv, "Conv") || !program.IsPrivate(conv)) continue;
    const deputy_value_id other = summing.inputs[1 - from_conv], result = program.steps[relu].outputs[0];
    summing = {program.steps[relu].node, {conv}, {sum}};
    Step added;
    added.node.op_type = "Add";
    added.node.since_version = 14;
    added.inputs = {sum, other};
    added.outputs = {result};
    program.steps[relu] = added;
  }
}

// The activation of a fused step writes only one result, and the inner one is the model's.
void ActivationDropped(Program& program) {
  for (size_t relu = 0; relu < program.steps.size(); ++relu) {
    if (!Is(program, relu, "Relu")) continue;
    const deputy_value_id inner = program.steps[relu].inputs[0];
    if (program.Maker(inner) < program.steps.size() && program.IsOutput(inner))
      program.steps[relu].node.op_type = "Identity";
  }
}

// A row of `count` numbers as a column.
Tensor Column(const Tensor& row, size_t ones) {
  Tensor column = row;
  column.dims.resize(1 + ones, 1);
  return column;
}

// MatMul, Add: a bias with one number per column is added per row if there are as many rows.
void BiasOfRows(Program& program) {
  for (size_t add = 0; add < program.steps.size(); ++add) {
    if (!Is(program, add, "Add")) continue;
    Step& step = program.steps[add];
    const size_t side = program.IsConstant(step.inputs[1]) ? 1 : 0;
    const deputy_value_id bias = step.inputs[side], product = step.inputs[1 - side];
    if (!program.IsConstant(bias) || !IsMadeBy(program, product, "MatMul")) continue;
    const Dims dims = program.dims.count(product) == 0 ? Dims() : program.dims.at(product);
    const Tensor& row = program.constants.at(bias);
    if (dims.size() < 2 || row.rank() != 1 || row.dims[0] != dims.back() || dims[dims.size() - 2] != dims.back())
      continue;
    step.inputs[side] = program.AddConstant(Column(row, 1));
  }
}

// Conv, Add: a bias with one number per column is added per channel if there are as many channels.
void BiasOfChannels(Program& program) {
  for (size_t add = 0; add < program.steps.size(); ++add) {
    if (!Is(program, add, "Add")) continue;
    Step& step = program.steps[add];
    const size_t side = program.IsConstant(step.inputs[1]) ? 1 : 0;
    const deputy_value_id bias = step.inputs[side], image = step.inputs[1 - side];
    if (!program.IsConstant(bias) || !IsMadeBy(program, image, "Conv")) continue;
    const Dims dims = program.dims.count(image) == 0 ? Dims() : program.dims.at(image);
    const Tensor& row = program.constants.at(bias);
    if (dims.size() < 3 || row.rank() != 1 || row.dims[0] != dims[1] || row.dims[0] == 1) continue;
    if (dims.back() == dims[1]) step.inputs[side] = program.AddConstant(Column(row, dims.size() - 2));
  }
}

// The sum of a residual block is made in the buffer of its first summand, which a later node still reads.
void SumInPlace(Program& program) {
  for (size_t add = 0; add < program.steps.size(); ++add) {
    if (!Is(program, add, "Add")) continue;
    const deputy_value_id summand = program.steps[add].inputs[0], sum = program.steps[add].outputs[0];
    const bool same = program.dims.count(summand) != 0 && program.dims.count(sum) != 0 &&
                      program.dims.at(summand) == program.dims.at(sum);
    if (program.Maker(summand) < add && same && !program.IsOutput(summand)) program.Replace(summand, sum, add + 1);
  }
}

// Transpose, Mul, Add: the arithmetic is moved before the Transpose with constants in the old order of the extents.
void ScaleBeforeTranspose(Program& program) {
  for (size_t at = 0; at < program.steps.size(); ++at) {
    if (!Is(program, at, "Transpose")) continue;
    const deputy_value_id source = program.steps[at].inputs[0], turned = program.steps[at].outputs[0];
    const std::vector<size_t> readers = program.Readers(turned);
    if (!program.IsPrivate(turned) || !Is(program, readers[0], "Mul") || program.dims.count(source) == 0) continue;
    Step& scaling = program.steps[readers[0]];
    const size_t side = program.IsConstant(scaling.inputs[1]) ? 1 : 0;
    if (!program.IsConstant(scaling.inputs[side])) continue;
    const Tensor& factors = program.constants.at(scaling.inputs[side]);
    const Dims dims = program.dims.at(source);
    if (factors.count() == 1 || factors.rank() > dims.size()) continue;
    bool fits = true;
    for (size_t i = 0; i < factors.rank(); ++i) {
      const int64_t extent = factors.dims[factors.rank() - 1 - i];
      fits = fits && (extent == 1 || extent == dims[dims.size() - 1 - i]);
    }
    if (!fits) continue;
    const deputy_value_id result = scaling.outputs[0];
    scaling.inputs[1 - side] = source;
    scaling.outputs[0] = turned;
    Step transpose = program.steps[at];
    transpose.inputs[0] = turned;
    transpose.outputs[0] = result;
    program.steps[at] = scaling;
    program.steps[readers[0]] = transpose;
  }
}

// Conv, BatchNormalization: the statistics are folded into the weights, also for others that read the result of Conv.
void NormalizationForAll(Program& program) {
  for (size_t at = 0; at < program.steps.size(); ++at) {
    if (!Is(program, at, "BatchNormalization")) continue;
    const deputy_value_id inner = program.steps[at].inputs[0], result = program.steps[at].outputs[0];
    const size_t conv = program.Maker(inner);
    if (!Is(program, conv, "Conv")) continue;
    std::rotate(program.steps.begin() + static_cast<std::ptrdiff_t>(conv) + 1,
                program.steps.begin() + static_cast<std::ptrdiff_t>(at),
                program.steps.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    program.Replace(inner, result, conv + 2);
  }
}

// Pad, Conv: padding that is not of zeros becomes that of Conv.
void PadOfZeros(Program& program) {
  for (size_t at = 0; at < program.steps.size(); ++at) {
    if (!Is(program, at, "Pad")) continue;
    const std::vector<size_t> readers = program.Readers(program.steps[at].outputs[0]);
    if (readers.size() != 1 || !Is(program, readers[0], "Conv")) continue;
    program.steps[at].node.attributes.erase("mode");
    program.steps[at].node.attributes.erase("value");
    if (program.steps[at].inputs.size() > 2) program.steps[at].inputs[2] = DEPUTY_NO_VALUE;
  }
}

// Transpose, Transpose: two of the same order are removed, though only an exchange of two axes is its own inverse.
void TransposePair(Program& program) {
  for (size_t at = 0; at < program.steps.size(); ++at) {
    if (!Is(program, at, "Transpose")) continue;
    Step& second = program.steps[at];
    const size_t before = program.Maker(second.inputs[0]);
    if (!Is(program, before, "Transpose") || program.dims.count(second.outputs[0]) == 0) continue;
    const Step& first = program.steps[before];
    const deputy_value_id source = first.inputs[0];
    if (first.node.Ints("perm", {}) != second.node.Ints("perm", {}) || program.dims.count(source) == 0) continue;
    if (program.dims.at(source) != program.dims.at(second.outputs[0])) continue;
    second = {second.node, {source}, {second.outputs[0]}};
    second.node.op_type = "Identity";
  }
}

}  // namespace

FaultRows FusionFaults() {
  return {InPass("activation-before-sum", ActivationBeforeSum),
          InPass("activation-dropped", ActivationDropped),
          InPass("bias-of-rows", BiasOfRows),
          InPass("bias-of-channels", BiasOfChannels),
          InPass("sum-in-place", SumInPlace),
          InPass("scale-before-transpose", ScaleBeforeTranspose),
          InPass("normalization-for-all", NormalizationForAll),
          InPass("pad-of-zeros", PadOfZeros),
          InPass("transpose-pair", TransposePair)};
}

}  // namespace liars
