#include "plugin/checks/guarded_run.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/aligned.hpp"
#include "plugin/checks/process_end.hpp"
#include "plugin/checks/unwritten.hpp"

namespace deputy::host {
namespace {

constexpr uint8_t kMargin = 0xA5;  // the bytes between a tensor and its guard pages

}  // namespace

Result<std::unique_ptr<GuardedBytes>> GuardedBytes::Make(const std::string& name, const void* input, size_t bytes) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t room = AlignUp(bytes), inner = (room + page - 1) / page * page;
  std::unique_ptr<GuardedBytes> made(new GuardedBytes());
  void* mapped = mmap(nullptr, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return Error(StatusCode::kResourceExhausted, "no guarded memory for {} bytes", bytes);
  made->mapping_ = static_cast<uint8_t*>(mapped);
  made->inner_ = inner;
  uint8_t* first = made->mapping_ + page;
  made->data_ = first + (inner - room);
  made->bytes_ = bytes;
  if (mprotect(first, inner, PROT_READ | PROT_WRITE) != 0)
    return Error(StatusCode::kResourceExhausted, "no guarded memory for {} bytes", bytes);
  std::memset(first, kMargin, inner);
  if (input != nullptr) {
    std::memcpy(made->data_, input, bytes);
    mprotect(first, inner, PROT_READ);
  }
  made->in_front_ = name + ": the memory in front of it was touched";
  made->behind_ = name + ": the memory behind it was touched";
  made->inside_ = name + ": it was written to";
  WatchRegion(made->mapping_, page, made->in_front_.c_str());
  WatchRegion(first + inner, page, made->behind_.c_str());
  if (input != nullptr) WatchRegion(first, inner, made->inside_.c_str());
  return made;
}

GuardedBytes::~GuardedBytes() {
  if (mapping_ == nullptr) return;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (const uint8_t* begin : {mapping_, mapping_ + page, mapping_ + page + inner_}) UnwatchRegion(begin);
  munmap(mapping_, inner_ + 2 * page);
}

bool GuardedBytes::IsIntact() const {
  const uint8_t* first = mapping_ + sysconf(_SC_PAGESIZE);
  const auto untouched = [](uint8_t byte) { return byte == kMargin; };
  return std::all_of<const uint8_t*>(first, data_, untouched) &&
         std::all_of<const uint8_t*>(data_ + bytes_, first + inner_, untouched);
}

Result<std::unique_ptr<GuardedRun>> GuardedRun::Make(const RunArgs& args, const std::string& place) {
  std::unique_ptr<GuardedRun> run(new GuardedRun(args, place));
  for (size_t i = 0; i < args.inputs.size(); ++i)
    DEPUTY_RETURN_IF_ERROR(run->Add(args.inputs[i], true, fmt::format("{}: input {}", place, i)));
  for (size_t i = 0; i < args.outputs.size(); ++i)
    DEPUTY_RETURN_IF_ERROR(run->Add(args.outputs[i], false, fmt::format("{}: output {}", place, i)));
  return run;
}

Status GuardedRun::Allocate(deputy_tensor* tensor, std::span<const int64_t> dims) {
  const auto found = std::find(outputs_.begin(), outputs_.end(), tensor);
  if (found == outputs_.end()) return Error(StatusCode::kInternal, "it is not an output of the run");
  const auto output = static_cast<size_t>(found - outputs_.begin());
  deputy_tensor* const target = args_.outputs[output];
  DEPUTY_RETURN_IF_ERROR(args_.allocator->Allocate(target, dims));
  tensor->rank = target->rank;
  tensor->dims = target->dims;
  tensor->byte_size = target->byte_size;
  tensor->data = nullptr;
  if (target->byte_size != 0) {
    DEPUTY_ASSIGN_OR_RETURN(memory_.emplace_back(), GuardedBytes::Make(fmt::format("{}: output {}", place_, output),
                                                                       nullptr, target->byte_size));
    tensor->data = memory_.back()->data();
  }
  for (size_t i = 0; i < tensors_.size(); ++i)
    if (&tensors_[i] == tensor) given_[i] = *tensor;
  return {};
}

Status GuardedRun::Add(const deputy_tensor* tensor, bool is_input, const std::string& name) {
  deputy_tensor* copy = tensor == nullptr ? nullptr : &tensors_.emplace_back(*tensor);
  if (copy != nullptr && IsReadable(*tensor)) {
    DEPUTY_ASSIGN_OR_RETURN(memory_.emplace_back(),
                            GuardedBytes::Make(name, is_input ? tensor->data : nullptr, tensor->byte_size));
    copy->data = memory_.back()->data();
  }
  if (copy != nullptr) given_.push_back(*copy);
  if (is_input)
    inputs_.push_back(copy);
  else
    outputs_.push_back(copy);
  return {};
}

std::string GuardedRun::Changed() const {
  for (size_t i = 0; i < tensors_.size(); ++i)
    if (std::memcmp(&tensors_[i], &given_[i], sizeof(deputy_tensor)) != 0)
      return "it changed the description of a tensor that it was given";
  for (const auto& memory : memory_)
    if (!memory->IsIntact()) return "it wrote behind or in front of a tensor";
  return {};
}

void GuardedRun::Finish() const {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    deputy_tensor* target = args_.outputs[i];
    if (target != nullptr && IsReadable(*target)) std::memcpy(target->data, outputs_[i]->data, target->byte_size);
  }
}

}  // namespace deputy::host
