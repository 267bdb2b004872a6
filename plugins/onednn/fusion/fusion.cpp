#include "fusion/fusion.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "lowering/faults.hpp"

namespace onednn {
namespace {

bool AbsorbTranspose(Program& program, size_t index) {
  const Operation& operation = program.operations()[index];
  const Transpose* transpose = operation.As<Transpose>();
  size_t before = 0;
  if (transpose == nullptr) return false;
  const Matmul* matmul = MadeOnlyHere<Matmul>(program, operation.inputs[0], &before);
  // Only if rows stay rows.
  if (matmul == nullptr || !matmul->output_order.empty() || !MayLieTransposed(program.operations()[before]) ||
      transpose->order.back() + 1 != static_cast<int64_t>(transpose->order.size()))
    return false;
  Operation joined = program.operations()[before];
  std::get<Matmul>(joined.parameters).output_order = transpose->order;
  joined.output = operation.output;
  program.Drop(before);
  program.Replace(index, std::move(joined));
  return true;
}

bool AbsorbPad(Program& program, size_t index) {
  const Operation& operation = program.operations()[index];
  const Convolution* convolution = operation.As<Convolution>();
  if (convolution == nullptr || convolution->transposed) return false;
  size_t before = 0;
  const Pad* pad = MadeOnlyHere<Pad>(program, operation.inputs[0], &before);
  if (pad == nullptr || pad->value != 0) return false;
  const Value x = program.operations()[before].inputs[0];
  const memory::dims inner = program.dims(x), outer = program.dims(operation.inputs[0]);
  if (inner[0] != outer[0] || inner[1] != outer[1]) return false;
  Operation joined = operation;
  Window& window = std::get<Convolution>(joined.parameters).window;
  for (size_t i = 2; i < inner.size(); ++i) {
    window.pads_before[i - 2] += pad->before[i];
    window.pads_after[i - 2] += outer[i] - inner[i] - pad->before[i];
  }
  joined.inputs[0] = x;
  program.Drop(before);
  program.Replace(index, std::move(joined));
  return true;
}

}  // namespace

void AbsorbMovement(Program& program) {
  for (size_t i = 0; i < program.operations().size(); ++i) AbsorbTranspose(program, i) || AbsorbPad(program, i);
  program.Sweep();
}

size_t Fuse(Program& program) {
  program.Sweep();
  const size_t before = program.operations().size();
  FindFunctions(program);
  const size_t saved = before - program.operations().size();
  FoldIntoWeights(program);
  AttachPostOps(program);
  UseIntegers(program);
  AbsorbMovement(program);
  return saved;
}

Origins::Origins(const Program& program) : makers_(program.value_count()) {
  for (const Operation& operation : program.operations()) {
    const std::vector<Value> reads = ReadBy(operation);
    reads_of_[operation.node].insert(reads.begin(), reads.end());
    makers_[operation.output] = {operation.node, reads};
  }
}

std::vector<deputy_node_id> Origins::NodesOf(const Operation& operation, const Program& program) const {
  std::set<deputy_node_id> nodes;
  std::set<Value> seen;
  std::vector<Value> open = {operation.output};
  while (!open.empty()) {
    const Value value = open.back();
    open.pop_back();
    // The nodes of constants that fusion made are visited anyway.
    if (value >= makers_.size() || !makers_[value].node || !seen.insert(value).second) continue;
    nodes.insert(*makers_[value].node);
    for (const Value read : makers_[value].reads)
      if (program.ProducerOf(read) == kNoValue) open.push_back(read);
  }
  return {nodes.begin(), nodes.end()};
}

bool Origins::Reads(deputy_node_id node, Value value) const {
  const auto found = reads_of_.find(node);
  return found != reads_of_.end() && found->second.count(value) != 0;
}

}  // namespace onednn
