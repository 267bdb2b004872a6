#include "device_buffers.hpp"

#include <algorithm>
#include <utility>

namespace deputy::conformance {

DeviceBuffers::DeviceBuffers(Instance& instance)
    : instance_(instance),
      table_(static_cast<const deputy_ext_memory*>(instance.plugin().Extension(
          instance.delegate(), DEPUTY_EXT_MEMORY, DEPUTY_END_OF(deputy_ext_memory, copy)))) {
  if (table_ == nullptr) return;
  if (table_->wish_of != nullptr && table_->allocate != nullptr && table_->release != nullptr &&
      table_->copy != nullptr)
    return;
  instance_.plugin().host().Fault(std::string("the table of ") + DEPUTY_EXT_MEMORY + " has empty slots");
  table_ = nullptr;
}

DeviceBuffers::~DeviceBuffers() {
  while (!handles_.empty()) Release(handles_.back());
}

Outcome DeviceBuffers::Allocate(uint64_t bytes, uint64_t alignment, uint64_t* handle) {
  deputy_buffer_request request{};
  request.struct_size = sizeof request;
  request.uses = DEPUTY_BUFFER_CPU_READS | DEPUTY_BUFFER_CPU_WRITES;
  request.byte_size = bytes;
  request.alignment = alignment;
  *handle = 0;
  Outcome outcome =
      instance_.plugin().Call("allocate", [&] { return table_->allocate(instance_.handle(), &request, handle); });
  return Made("allocate", std::move(outcome), *handle);
}

Outcome DeviceBuffers::Import(deputy_memory_handle_kind kind, int file, uint64_t offset, uint64_t bytes,
                              uint64_t* handle) {
  deputy_shared_buffer buffer{};
  buffer.struct_size = sizeof buffer;
  buffer.kind = kind;
  buffer.handle = file;
  buffer.offset = offset;
  buffer.byte_size = bytes;
  *handle = 0;
  Outcome outcome =
      instance_.plugin().Call("import", [&] { return table_->import(instance_.handle(), &buffer, handle); });
  return Made("import", std::move(outcome), *handle);
}

Outcome DeviceBuffers::Made(const char* function, Outcome outcome, uint64_t handle) {
  if (!outcome.ok()) return outcome;
  HostServices& host = instance_.plugin().host();
  if (handle == 0) host.Fault(std::string(function) + ": it succeeded with the handle 0");
  if (std::find(handles_.begin(), handles_.end(), handle) != handles_.end())
    host.Fault(std::string(function) + ": it gave the name of a buffer that is not released");
  handles_.push_back(handle);
  return outcome;
}

void DeviceBuffers::Release(uint64_t handle) {
  std::erase(handles_, handle);
  instance_.plugin().CallVoid("release", [&] { table_->release(instance_.handle(), handle); });
}

Outcome DeviceBuffers::Write(uint64_t handle, uint64_t offset, const std::vector<uint8_t>& bytes) {
  return Copy({sizeof(deputy_copy_side), 0, const_cast<uint8_t*>(bytes.data()), 0, 0},
              {sizeof(deputy_copy_side), 0, nullptr, handle, offset}, bytes.size());
}

Outcome DeviceBuffers::Read(uint64_t handle, uint64_t offset, std::vector<uint8_t>* bytes) {
  return Copy({sizeof(deputy_copy_side), 0, nullptr, handle, offset},
              {sizeof(deputy_copy_side), 0, bytes->data(), 0, 0}, bytes->size());
}

Outcome DeviceBuffers::Move(uint64_t from, uint64_t from_offset, uint64_t to, uint64_t to_offset, uint64_t bytes) {
  return Copy({sizeof(deputy_copy_side), 0, nullptr, from, from_offset},
              {sizeof(deputy_copy_side), 0, nullptr, to, to_offset}, bytes);
}

Outcome DeviceBuffers::Copy(const deputy_copy_side& from, const deputy_copy_side& to, uint64_t bytes) {
  deputy_copy_args args{};
  args.struct_size = sizeof args;
  args.from = &from;
  args.to = &to;
  args.byte_size = bytes;
  deputy_async_run* run = nullptr;
  const Outcome outcome =
      instance_.plugin().Call("copy", [&] { return table_->copy(instance_.handle(), &args, &run); });
  if (run != nullptr) instance_.plugin().host().Fault("copy: it left a run for a copy without a sink");
  return outcome;
}

std::optional<deputy_memory_wish> DeviceBuffers::WishOf(Context& context, uint32_t index, uint64_t bytes) {
  constexpr uint64_t kAlignment = 64;
  deputy_memory_wish wish{};
  wish.struct_size = sizeof wish;
  wish.alignment = kAlignment;
  wish.byte_size = bytes;
  const Outcome outcome =
      instance_.plugin().Call("wish_of", [&] { return table_->wish_of(context.handle(), index, &wish); });
  if (outcome.code == DEPUTY_NOT_SUPPORTED) return std::nullopt;
  const auto fault = [&](const std::string& text) {
    instance_.plugin().host().Fault("wish_of: for tensor " + std::to_string(index) + " " + text);
    return std::nullopt;
  };
  if (!outcome.ok()) return fault("it fails: " + outcome.ToString());
  if (wish.memory > DEPUTY_MEMORY_DEVICE) return fault("it names memory of kind " + std::to_string(wish.memory));
  if (wish.layout > DEPUTY_LAYOUT_OPAQUE) return fault("it names layout " + std::to_string(wish.layout));
  if (wish.alignment == 0 || (wish.alignment & (wish.alignment - 1)) != 0)
    return fault("the alignment is " + std::to_string(wish.alignment) + ", no power of two");
  if (wish.byte_size < bytes)
    return fault("it wants " + std::to_string(wish.byte_size) + " bytes for " + std::to_string(bytes));
  if (wish.memory != DEPUTY_MEMORY_DEVICE || wish.layout != DEPUTY_LAYOUT_DENSE) return std::nullopt;
  return wish;
}

}  // namespace deputy::conformance
