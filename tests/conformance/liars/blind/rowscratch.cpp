// The bug: the row of double precision in which LayerNormalization and Softmax work is chosen by the number of the
// host's worker, but belongs to the executable and not to the context; two sessions that run at the same time overwrite
// it.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#ifndef DEPUTY_PLUGIN_ID  // deputy_add_delegate() defines them and makes the note
#define DEPUTY_PLUGIN_ID "com.example.rowscratch"
#define DEPUTY_PLUGIN_VENDOR "Example"
#define DEPUTY_PLUGIN_VERSION "1.0"
#include "deputy/abi/note.h"
DEPUTY_NOTE("id=com.example.rowscratch\nversion=1.0\ndelegates=rowscratch\n");
#endif
#include "deputy/sdk/sdk.hpp"

namespace {

using namespace deputy::sdk;

enum class Place : uint32_t { kInput, kOutput, kConstant, kInner };
struct Slot {
  Place place = Place::kInner;
  size_t index = 0;  // of the input, the output or the inner buffer
  const float* constant = nullptr;
  size_t count = 0;  // elements
};
struct Step {
  bool softmax = false, has_bias = false;
  size_t x = 0, scale = 0, bias = 0, out = 0;  // slots
  size_t width = 1;
  float epsilon = 0;
};
struct Program {
  std::vector<Slot> slots;
  std::vector<Step> steps;
  size_t inner_count = 0;
  size_t widest = 1;
  std::unique_ptr<double[]> rows;  // one for each worker of the host

  // The slots of a partition's values, in the order of their first use.
  template <class AddStep>
  void Build(const PartitionView& partition, AddStep add_step) {
    std::map<deputy_value_id, size_t> known;
    const auto add = [&](const ValueView& value, Place place, size_t index) {
      Slot slot;
      slot.place = place;
      slot.index = index;
      slot.count = static_cast<size_t>(value.element_count());
      if (place == Place::kConstant) slot.constant = static_cast<const float*>(value.constant());
      slots.push_back(slot);
      return known[value.id()] = slots.size() - 1;
    };
    for (size_t i = 0; i < partition.inputs().size(); ++i) add(partition.inputs()[i], Place::kInput, i);
    for (size_t i = 0; i < partition.outputs().size(); ++i) add(partition.outputs()[i], Place::kOutput, i);
    const auto slot_of = [&](const ValueView& value) {
      const auto found = known.find(value.id());
      if (found != known.end()) return found->second;
      return value.is_constant() ? add(value, Place::kConstant, 0) : add(value, Place::kInner, inner_count++);
    };
    for (const NodeView& node : partition.nodes()) add_step(node, slot_of);
  }

  // False when a node is to compute in another type than float32.
  static bool CanCompute(const PartitionView& partition) {
    return std::all_of(partition.nodes().begin(), partition.nodes().end(), [&](const NodeView& node) {
      const DType compute = partition.PrecisionOf(node.id());
      return compute == DType::kUndefined || compute == DType::kFloat32;
    });
  }
};

class RowContext final : public ExecutionContext {
 public:
  RowContext(std::shared_ptr<const Program> program, Host host)
      : program_(std::move(program)), host_(host), inner_(program_->inner_count) {
    for (const Slot& slot : program_->slots)
      if (slot.place == Place::kInner) inner_[slot.index].resize(slot.count);
  }

  Status Execute(const RunArgs& run) override {
    for (const Step& step : program_->steps) {
      const float* const x = Elements(run, step.x);
      const float* const scale = step.softmax ? nullptr : Elements(run, step.scale);
      const float* const bias = step.has_bias ? Elements(run, step.bias) : nullptr;
      float* const y = Elements(run, step.out);
      if (step.width == 0) continue;
      const auto rows = static_cast<int64_t>(program_->slots[step.out].count / step.width);
      host_.ParallelFor(rows, 4, [&, width = step.width](int64_t begin, int64_t end, uint32_t worker) {
        double* const row = program_->rows.get() + worker * program_->widest;
        for (auto at = static_cast<size_t>(begin) * width; at < static_cast<size_t>(end) * width; at += width) {
          std::copy_n(x + at, width, row);
          if (step.softmax) {
            Softmax(row, width);
          } else {
            Normalize(row, width, step.epsilon);
            for (size_t i = 0; i < width; ++i) row[i] = row[i] * scale[i] + (bias == nullptr ? 0.0f : bias[i]);
          }
          for (size_t i = 0; i < width; ++i) y[at + i] = static_cast<float>(row[i]);
        }
      });
    }
    return {};
  }

 private:
  static void Softmax(double* row, size_t width) {
    const double largest = *std::max_element(row, row + width);
    double sum = 0;
    for (size_t i = 0; i < width; ++i) sum += row[i] = std::exp(row[i] - largest);
    for (size_t i = 0; i < width; ++i) row[i] /= sum;
  }
  static void Normalize(double* row, size_t width, float epsilon) {
    double mean = 0, variance = 0;
    for (size_t i = 0; i < width; ++i) mean += row[i];
    mean /= static_cast<double>(width);
    for (size_t i = 0; i < width; ++i) variance += (row[i] - mean) * (row[i] - mean);
    const double factor = 1 / std::sqrt(variance / static_cast<double>(width) + epsilon);
    for (size_t i = 0; i < width; ++i) row[i] = (row[i] - mean) * factor;
  }

  float* Elements(const RunArgs& run, size_t at) {
    const Slot& slot = program_->slots[at];
    if (slot.place == Place::kInput) return run.input(slot.index).values<float>().data();
    if (slot.place == Place::kOutput) return run.output(slot.index).values<float>().data();
    if (slot.place == Place::kConstant) return const_cast<float*>(slot.constant);  // only ever read
    return inner_[slot.index].data();
  }

  std::shared_ptr<const Program> program_;
  Host host_;
  std::vector<std::vector<float>> inner_;
};

class RowExecutable final : public Executable {
 public:
  RowExecutable(Program program, Host host)
      : program_(std::make_shared<const Program>(std::move(program))), host_(host) {}
  Result<std::unique_ptr<ExecutionContext>> CreateContext() override {
    return std::unique_ptr<ExecutionContext>(std::make_unique<RowContext>(program_, host_));
  }

 private:
  std::shared_ptr<const Program> program_;
  Host host_;
};

class RowScratch final : public PartitionDelegate {
 public:
  Verdict Supports(const NodeView& node) override {
    const bool softmax = node.Is("Softmax");
    if (!softmax && !node.Is("LayerNormalization")) return Verdict::No(Reason::kOperatorUnknown);
    if (node.since_version() < (softmax ? 13 : 17)) return Verdict::No(Reason::kOther, "an older definition");
    for (size_t i = 0; i < node.input_count(); ++i) {
      const ValueView value = node.input(i);
      if (!value.exists()) continue;
      if (value.dtype() != DType::kFloat32) return Verdict::No(Reason::kDType, "float32 only");
      if (!value.shape_known()) return Verdict::No(Reason::kShapeDynamic, "extents must be known");
    }
    const std::vector<int64_t> dims = node.input(0).dims().ToVector();
    if (dims.empty()) return Verdict::No(Reason::kRank, "no scalars");
    if (softmax) {
      const int64_t axis = op::Softmax(node.primitive()).axis();
      return axis == -1 || axis + 1 == static_cast<int64_t>(dims.size())
                 ? Verdict::Yes()
                 : Verdict::No(Reason::kAttribute, "along the last dimension only");
    }
    if (node.output(1).exists() || node.output(2).exists())
      return Verdict::No(Reason::kOther, "without mean and deviation");
    const std::vector<int64_t> normalized(dims.begin() + static_cast<std::ptrdiff_t>(Axis(node, dims)), dims.end());
    for (size_t i = 1; i < 3; ++i)
      if (node.input(i).exists() && node.input(i).dims().ToVector() != normalized)
        return Verdict::No(Reason::kShape, "scale and bias of the normalized shape only");
    return Verdict::Yes();
  }

  Result<std::unique_ptr<Executable>> Compile(const PartitionView& partition) override {
    Program program;
    if (!Program::CanCompute(partition)) return Status(Code::kNotSupported, "computes in float32 only");
    program.Build(partition, [&](const NodeView& node, const auto& slot_of) {
      Step step;
      const std::vector<int64_t> dims = node.input(0).dims().ToVector();
      step.softmax = node.Is("Softmax");
      step.x = slot_of(node.input(0));
      if (!step.softmax) step.scale = slot_of(node.input(1));
      step.has_bias = !step.softmax && node.input(2).exists();
      if (step.has_bias) step.bias = slot_of(node.input(2));
      step.out = slot_of(node.output(0));
      for (size_t i = step.softmax ? dims.size() - 1 : Axis(node, dims); i < dims.size(); ++i)
        step.width *= static_cast<size_t>(dims[i]);
      if (!step.softmax) step.epsilon = op::LayerNormalization(node.primitive()).epsilon();
      program.widest = std::max(program.widest, step.width);
      program.steps.push_back(step);
    });
    program.rows = std::make_unique<double[]>(program.widest * host().thread_count());
    return std::unique_ptr<Executable>(std::make_unique<RowExecutable>(std::move(program), host()));
  }

 private:
  static size_t Axis(const NodeView& node, const std::vector<int64_t>& dims) {
    const int64_t axis = op::LayerNormalization(node.primitive()).axis();
    return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis);
  }
};

}  // namespace

DEPUTY_EXPORT_DELEGATE(RowScratch, "rowscratch", "LayerNormalization and Softmax in float32")
