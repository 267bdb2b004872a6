#include "plugin/proxy/open_outputs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "plugin/checks/handles.hpp"

namespace deputy::host {

OpenOutputs::OpenOutputs(const Graph& graph, std::span<const ValueId> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ValueType& type = graph.values[outputs[i]].type;
    if (type.is_tensor() && !type.is_static()) Add(i, static_cast<deputy_dtype>(type.dtype), type.dims);
  }
}

void OpenOutputs::Resize(std::span<const deputy_tensor* const> outputs) {
  open_.clear();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == nullptr) continue;
    const std::span<const int64_t> dims(outputs[i]->dims, outputs[i]->rank);
    if (!IsStatic(dims)) Add(i, outputs[i]->dtype, dims);
  }
}

void OpenOutputs::Add(size_t output, deputy_dtype dtype, std::span<const int64_t> dims) {
  Open& open = open_.emplace_back();
  open.output = output;
  // Symbols are the host's own.
  for (const int64_t dim : dims) open.dims.push_back(dim < 0 ? kUnknownDim : dim);
  open.shown.struct_size = sizeof open.shown;
  open.shown.dtype = dtype;
  open.shown.rank = static_cast<uint32_t>(open.dims.size());
  open.shown.dims = open.dims.data();
}

void OpenOutputs::Forget(const RunArgs& args) const {
  for (const Open& open : open_) {
    if (args.outputs[open.output] == nullptr) continue;
    args.outputs[open.output]->data = nullptr;
    args.outputs[open.output]->byte_size = 0;
  }
}

void OpenOutputs::Begin(const RunArgs& args, deputy_run_args& form) {
  shown_.assign(args.outputs.begin(), args.outputs.end());
  for (Open& open : open_) {
    open.allocated = false;
    shown_[open.output] = &open.shown;
  }
  args_ = &args;
  fault_.clear();
  form.outputs = shown_.data();
  form.allocator = &table_;
}

std::string OpenOutputs::Fault() const {
  if (!fault_.empty()) return fault_;
  for (const Open& open : open_)
    if (!open.allocated) return fmt::format("it gave no extents to output {}", open.output);
  return {};
}

std::string OpenOutputs::Take(uint32_t output, const int64_t* dims, uint32_t rank, void** data, Status& status) {
  const auto open = std::find_if(open_.begin(), open_.end(), [&](const Open& one) { return one.output == output; });
  if (open == open_.end()) return fmt::format("it allocates output {}, whose extents are known", output);
  if (open->allocated) return fmt::format("it allocates output {} twice", output);
  if (data == nullptr || (dims == nullptr && rank != 0)) return fmt::format("it allocates output {} with NULL", output);
  // Before the extents are read: the rank is the plugin's number.
  if (rank != open->dims.size())
    return fmt::format("it gives output {} the rank {}, which does not fit {}", output, rank,
                       ShapeToString(open->dims));
  const std::span<const int64_t> given(dims, rank);
  const auto fits = [](int64_t known, int64_t now) { return known < 0 ? now >= 0 : now == known; };
  if (!std::equal(open->dims.begin(), open->dims.end(), given.begin(), given.end(), fits))
    return fmt::format("it gives output {} the shape {}, which does not fit {}", output, ShapeToString(given),
                       ShapeToString(open->dims));
  deputy_tensor* const target = args_->outputs[output];
  status = args_->allocator->Allocate(target, given);
  if (!status.ok()) return {};
  open->allocated = true;
  *data = target->byte_size == 0 ? nullptr : target->data;
  return {};
}

deputy_status* OpenOutputs::Allocate(void* self, uint32_t output, const int64_t* dims, uint32_t rank, void** data) {
  auto& outputs = *static_cast<OpenOutputs*>(self);
  Status status;
  if (deputy_status* refused = AnswerOfSink([&] { return outputs.Take(output, dims, rank, data, status); },
                                            [&](const std::string& wrong) {
                                              if (outputs.fault_.empty()) outputs.fault_ = wrong;
                                            }))
    return refused;
  if (status.ok()) return nullptr;
  return NewStatus(static_cast<deputy_code>(status.code()), DEPUTY_NO_NODE, status.message());
}

}  // namespace deputy::host
