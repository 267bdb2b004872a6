// The functions of deputy.memory of the plugin every_slot.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "deputy/abi/ext/draft/memory.h"
#include "note.hpp"
#include "objects.hpp"

namespace every {

// Memory of a device of 16 bytes, in one buffer.
inline constexpr uint64_t kBuffer = 41;
inline std::array<unsigned char, 16> device_bytes;

inline deputy_status* WishOf(deputy_context* context, uint32_t index, deputy_memory_wish* wish) {
  const deputy_host* host = context->executable->instance->host;
  Line line(host, "deputy_ext_memory.wish_of");
  line.Add("index", index).Add("memory", wish->memory).Add("layout", wish->layout);
  line.Add("alignment", wish->alignment).Add("bytes", wish->byte_size);
  if (index > 1) return Fail(host, DEPUTY_NOT_SUPPORTED, DEPUTY_NO_NODE, "host memory");
  wish->memory = DEPUTY_MEMORY_DEVICE;
  wish->layout_tag = 9;
  wish->alignment = 128;
  wish->byte_size += 7;
  return nullptr;
}

inline deputy_status* Allocate(deputy_instance* instance, const deputy_buffer_request* request, uint64_t* handle) {
  Line line(instance->host, "deputy_ext_memory.allocate");
  line.Add("uses", request->uses).Add("bytes", request->byte_size).Add("alignment", request->alignment);
  if (request->byte_size > device_bytes.size())
    return Fail(instance->host, DEPUTY_OUT_OF_MEMORY, DEPUTY_NO_NODE, "16 bytes are all");
  *handle = kBuffer;
  return nullptr;
}

// A name for the first byte of the file.
inline deputy_status* Import(deputy_instance* instance, const deputy_shared_buffer* buffer, uint64_t* handle) {
  Line line(instance->host, "deputy_ext_memory.import");
  line.Add("kind", buffer->kind).Add("offset", buffer->offset).Add("bytes", buffer->byte_size);
  line.Add("planes", buffer->plane_count);
  unsigned char byte = 0;
  if (pread(static_cast<int>(buffer->handle), &byte, 1, static_cast<off_t>(buffer->offset)) != 1)
    return Fail(instance->host, DEPUTY_NOT_SUPPORTED, DEPUTY_NO_NODE, "no byte can be read");
  *handle = uint64_t{1000} + byte;
  return nullptr;
}

inline void Release(deputy_instance* instance, uint64_t handle) {
  Line(instance->host, "deputy_ext_memory.release").Add("handle", handle);
}

inline deputy_status* Copy(deputy_instance* instance, const deputy_copy_args* args, deputy_async_run**) {
  Line line(instance->host, "deputy_ext_memory.copy");
  const auto at = [&](const char* name, const deputy_copy_side& side) -> unsigned char* {
    line.Add(name, side.handle).Add("offset", side.offset).Add("on_host", static_cast<int>(side.data != nullptr));
    if (side.data != nullptr) return static_cast<unsigned char*>(side.data);
    return side.handle == kBuffer && side.offset + args->byte_size <= 16 ? &device_bytes[side.offset] : nullptr;
  };
  const unsigned char* from = at("from", *args->from);
  unsigned char* to = at("to", *args->to);
  if (from == nullptr || to == nullptr)
    return Fail(instance->host, DEPUTY_INVALID_ARGUMENT, DEPUTY_NO_NODE, "no such bytes");
  std::copy(from, from + args->byte_size, to);
  return nullptr;
}

inline constexpr deputy_ext_memory kMemory{sizeof kMemory,
                                           1u << DEPUTY_MEMORY_HANDLE_MEMFD,
                                           0,
                                           0,
                                           WishOf,
                                           Allocate,
                                           Import,
                                           nullptr,
                                           Release,
                                           nullptr,
                                           nullptr,
                                           Copy};

}  // namespace every
