#include "own/kernel.hpp"

#include <algorithm>

#include "own/status.hpp"
#include "own/tables.hpp"

namespace ort::own {
namespace {

const char* NodeComputeContext_NodeName(const NodeComputeContext* context) { return context->name.c_str(); }

Status* KernelContext_GetInputCount(const KernelContext* context, size_t* out) {
  *out = context->inputs.size();
  return nullptr;
}
Status* KernelContext_GetOutputCount(const KernelContext* context, size_t* out) {
  *out = context->outputs.size();
  return nullptr;
}
Status* KernelContext_GetInput(const KernelContext* context, size_t index, const Value** out) {
  *out = nullptr;
  if (index >= context->inputs.size())
    return Guarded([&] { return Fail("there is no input " + std::to_string(index)); });
  *out = context->inputs[index];
  return nullptr;
}

std::string TextOf(const int64_t* dims, size_t rank) {
  std::string text = "[";
  for (size_t i = 0; i < rank; ++i) text += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
  return text + "]";
}

Status* KernelContext_GetOutput(KernelContext* context, size_t index, const int64_t* dims, size_t rank, Value** out) {
  return Guarded([&]() -> Status* {
    *out = nullptr;
    if (index >= context->outputs.size()) return Fail("there is no output " + std::to_string(index));
    Value& output = *context->outputs[index];
    const std::vector<int64_t>& expected = output.type.tensor.dims;
    if (rank != expected.size() || !std::equal(expected.begin(), expected.end(), dims)) {
      context->failure = "output " + std::to_string(index) + " has extents " +
                         TextOf(expected.data(), expected.size()) + ", not " + TextOf(dims, rank);
      return Fail(context->failure);
    }
    context->is_given[index] = 1;
    *out = &output;
    return nullptr;
  });
}
Status* KernelContext_GetPreallocatedOutput(const KernelContext* context, size_t index, Value** out) {
  *out = nullptr;
  if (index >= context->outputs.size())
    return Guarded([&] { return Fail("there is no output " + std::to_string(index)); });
  const_cast<KernelContext*>(context)->is_given[index] = 1;
  *out = context->outputs[index];
  return nullptr;
}
Status* GetNoStream(const KernelContext*, void** out) {
  *out = nullptr;
  return nullptr;
}
Status* KernelContext_GetLogger(const KernelContext* context, const Logger** out) {
  *out = context->logger;
  return nullptr;
}
Status* KernelContext_GetAllocator(const KernelContext*, const MemoryInfo* memory, Allocator** out) {
  if (memory != nullptr && memory->device.type != kCpuMemory)
    return Guarded([] { return Fail(kNotImplemented, "there is only an allocator of the host's memory"); });
  *out = &HostAllocator();
  return nullptr;
}
Status* KernelContext_GetScratchBuffer(const KernelContext* context, const MemoryInfo*, size_t size, void** out) {
  return Guarded([&]() -> Status* {
    *out = nullptr;
    if (size == 0) return nullptr;
    Memory memory = Allocate(size);
    if (memory == nullptr) return Fail(kFail, "out of memory");
    *out = memory.get();
    const_cast<KernelContext*>(context)->scratch.push_back(std::move(memory));
    return nullptr;
  });
}
Status* KernelContext_ParallelFor(const KernelContext* context, void (*job)(void*, size_t), size_t total,
                                  size_t batches, void* data) {
  return Guarded([&]() -> Status* {
    const size_t grain = batches == 0 ? 1 : (total + batches - 1) / batches;
    context->host.ParallelFor(static_cast<int64_t>(total), static_cast<int64_t>(std::max<size_t>(grain, 1)),
                              [&](int64_t begin, int64_t end) {
                                for (int64_t i = begin; i < end; ++i) job(data, static_cast<size_t>(i));
                              });
    return nullptr;
  });
}

}  // namespace

void SetKernelFunctions(Tables& tables) {
  tables.Set(EpSlot::NodeComputeContext_NodeName, NodeComputeContext_NodeName);
  tables.Set(Slot::KernelContext_GetInputCount, KernelContext_GetInputCount);
  tables.Set(Slot::KernelContext_GetOutputCount, KernelContext_GetOutputCount);
  tables.Set(Slot::KernelContext_GetInput, KernelContext_GetInput);
  tables.Set(Slot::KernelContext_GetOutput, KernelContext_GetOutput);
  tables.Set(Slot::KernelContext_GetPreallocatedOutput, KernelContext_GetPreallocatedOutput);
  tables.Set(Slot::KernelContext_GetGPUComputeStream, GetNoStream);
  tables.Set(Slot::KernelContext_GetSyncStream, GetNoStream);
  tables.Set(Slot::KernelContext_GetLogger, KernelContext_GetLogger);
  tables.Set(Slot::KernelContext_GetAllocator, KernelContext_GetAllocator);
  tables.Set(Slot::KernelContext_GetScratchBuffer, KernelContext_GetScratchBuffer);
  tables.Set(Slot::KernelContext_ParallelFor, KernelContext_ParallelFor);
}

}  // namespace ort::own
