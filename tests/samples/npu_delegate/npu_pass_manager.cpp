// The passes over a sub-graph's operators. Sub-graphs are short: plain searches will do.
#include "npu_pass_manager.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace {

// The operator that makes the value; NULL: it enters from outside.
NPUOp* MakerOf(const NPUOps& ops, ValueId value) {
  for (const auto& op : ops)
    if (op->output == value) return op.get();
  return nullptr;
}

}  // namespace

void NPUPassManager::Run(NPUOps* ops, const std::vector<ValueId>& outputs) {
  InsertTransposes(ops);
  while (CancelPairs(ops) || MovePastElementwise(ops)) DropUnread(ops, outputs);
  DropUnread(ops, outputs);
  for (const auto& op : *ops) left_ += op->transposes() != 0 ? 1 : 0;
}

// x -> Conv -> y becomes x -> to last -> Conv -> to first -> y.
void NPUPassManager::InsertTransposes(NPUOps* ops) {
  NPUOps around;
  for (auto& op : *ops) {
    if (!op->channels_last()) {
      around.push_back(std::move(op));
      continue;
    }
    const ValueId x = op->inputs[0], y = op->output, x_last = next_++, y_last = next_++;
    around.push_back(std::make_unique<TransposeNPUOp>(1, x, x_last, op->input_dims()));
    op->inputs[0] = x_last;
    op->output = y_last;
    const std::vector<int64_t> dims = op->dims();
    around.push_back(std::move(op));
    around.push_back(std::make_unique<TransposeNPUOp>(-1, y_last, y, dims));
    inserted_ += 2;
  }
  *ops = std::move(around);
}

// ... -> to first -> Relu -> y becomes ... -> Relu -> to first -> y, when all that the operator reads is transposed.
bool NPUPassManager::MovePastElementwise(NPUOps* ops) {
  for (auto op = ops->begin(); op != ops->end(); ++op) {
    if (!(*op)->elementwise()) continue;
    std::vector<ValueId> sources;
    for (const ValueId input : (*op)->inputs) {
      const NPUOp* maker = MakerOf(*ops, input);
      if (maker != nullptr && maker->transposes() < 0) sources.push_back(maker->inputs[0]);
    }
    if (sources.size() != (*op)->inputs.size()) continue;
    const ValueId y = (*op)->output, y_last = next_++;
    (*op)->inputs = sources;
    (*op)->output = y_last;
    const std::vector<int64_t> dims = (*op)->dims();
    ops->insert(op + 1, std::make_unique<TransposeNPUOp>(-1, y_last, y, dims));
    return true;
  }
  return false;
}

// x -> to first -> to last: whoever reads the end reads x.
bool NPUPassManager::CancelPairs(NPUOps* ops) {
  bool changed = false;
  for (const auto& op : *ops)
    for (ValueId& input : op->inputs) {
      const NPUOp* second = MakerOf(*ops, input);
      if (second == nullptr || second->transposes() == 0) continue;
      const NPUOp* first = MakerOf(*ops, second->inputs[0]);
      if (first == nullptr || first->transposes() + second->transposes() != 0) continue;
      input = first->inputs[0];
      changed = true;
    }
  return changed;
}

void NPUPassManager::DropUnread(NPUOps* ops, const std::vector<ValueId>& outputs) {
  std::set<ValueId> read(outputs.begin(), outputs.end());
  NPUOps kept;
  for (auto op = ops->rbegin(); op != ops->rend(); ++op) {
    if (read.count((*op)->output) == 0) continue;
    read.insert((*op)->inputs.begin(), (*op)->inputs.end());
    kept.push_back(std::move(*op));
  }
  std::reverse(kept.begin(), kept.end());
  *ops = std::move(kept);
}
