// Buffers of the C API.
#include <algorithm>
#include <cstring>
#include <string>

#include "capi/error.hpp"
#include "capi/handles.hpp"
#include "capi/tensors.hpp"

using deputy::Buffer;
using deputy::DType;
using deputy::Result;
using deputy::Status;
using namespace deputy::host::capi;

namespace {

template <class F>
DeputyError* MakeBuffer(DeputyBuffer** buffer, const F& make) {
  if (buffer == nullptr) return MissingArgument("buffer");
  return Guard([&]() -> Status {
    DEPUTY_ASSIGN_OR_RETURN(Buffer made, make());
    *buffer = new DeputyBuffer{std::move(made)};
    return {};
  });
}

}  // namespace

DeputyError* DeputySessionInputBuffer(DeputySession* session, const char* name, DeputyBuffer** buffer) {
  if (session == nullptr) return MissingArgument("session");
  return MakeBuffer(buffer, [&] { return session->session.InputBuffer(TextOf(name)); });
}

DeputyError* DeputySessionOutputBuffer(DeputySession* session, const char* name, DeputyBuffer** buffer) {
  if (session == nullptr) return MissingArgument("session");
  return MakeBuffer(buffer, [&] { return session->session.OutputBuffer(TextOf(name)); });
}

DeputyError* DeputySessionBindInput(DeputySession* session, const char* name, const DeputyBuffer* buffer) {
  if (session == nullptr) return MissingArgument("session");
  return Guard([&] { return session->session.BindInput(TextOf(name), buffer == nullptr ? Buffer() : buffer->buffer); });
}

DeputyError* DeputySessionBindOutput(DeputySession* session, const char* name, const DeputyBuffer* buffer) {
  if (session == nullptr) return MissingArgument("session");
  return Guard(
      [&] { return session->session.BindOutput(TextOf(name), buffer == nullptr ? Buffer() : buffer->buffer); });
}

DeputyError* DeputyBufferImport(int descriptor, uint64_t offset, DeputyDType dtype, const int64_t* shape, uint32_t rank,
                                DeputyBuffer** buffer) {
  if (shape == nullptr && rank != 0) return MissingArgument("shape");
  return MakeBuffer(buffer, [&] {
    return Buffer::Import({descriptor, offset}, static_cast<DType>(dtype), ShapeOf(shape, rank));
  });
}

DeputyError* DeputyBufferMakeShared(DeputyDType dtype, const int64_t* shape, uint32_t rank, DeputyBuffer** buffer) {
  if (shape == nullptr && rank != 0) return MissingArgument("shape");
  return MakeBuffer(buffer, [&] { return Buffer::MakeShared(static_cast<DType>(dtype), ShapeOf(shape, rank)); });
}

void DeputyBufferDescribe(const DeputyBuffer* buffer, DeputyBufferInfo* info) {
  if (buffer == nullptr || info == nullptr) return;
  const Buffer& described = buffer->buffer;
  const size_t size = std::min(info->struct_size, sizeof(DeputyBufferInfo));
  const DeputyBufferInfo made{size,
                              static_cast<DeputyDType>(described.dtype()),
                              static_cast<uint32_t>(described.shape().size()),
                              described.shape().data(),
                              described.byte_size(),
                              described.is_on_device() ? 1 : 0,
                              described.shared().descriptor,
                              described.shared().offset};
  std::memcpy(info, &made, size);
}

DeputyError* DeputyBufferWrite(DeputyBuffer* buffer, const DeputyTensor* values) {
  if (buffer == nullptr) return MissingArgument("buffer");
  if (values == nullptr) return MissingArgument("values");
  return Guard([&]() -> Status {
    deputy::Tensor tensor;
    DEPUTY_RETURN_IF_ERROR(Take(*values, tensor));
    return buffer->buffer.Write(tensor);
  });
}

DeputyError* DeputyBufferRead(const DeputyBuffer* buffer, DeputyTensor* values) {
  if (buffer == nullptr) return MissingArgument("buffer");
  if (values == nullptr) return MissingArgument("values");
  return Guard([&]() -> Status {
    DEPUTY_ASSIGN_OR_RETURN(const deputy::Tensor tensor, buffer->buffer.Read());
    *values = Owned(tensor);
    return {};
  });
}

void DeputyBufferFree(DeputyBuffer* buffer) { delete buffer; }
