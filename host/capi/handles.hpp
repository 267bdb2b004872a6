// What is behind the handles of the C API.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "deputy.h"
#include "deputy/buffer.hpp"
#include "deputy/context.hpp"
#include "deputy/model.hpp"

struct DeputyContext {
  deputy::Context context;
};

struct DeputyModel {
  deputy::Model model;
  // Of the model's inputs and outputs, in this order.
  std::vector<DeputyValueInfo> infos;
  std::vector<std::vector<const char*>> dims;
};

struct DeputyBuffer {
  deputy::Buffer buffer;
};

namespace deputy::host::capi {

// One request at a time; used again.
struct RequestRecord {
  DeputySession* session = nullptr;
  DeputyRequestDone done = nullptr;
  void* user = nullptr;
  std::vector<Tensor> inputs, outputs;
  std::vector<DeputyTensor> given;  // outputs of the caller
  std::vector<DeputyTensor> results;
};

// Tensors of runs, used again.
struct RunTensors {
  std::vector<Tensor> inputs, outputs;
};

}  // namespace deputy::host::capi

struct DeputySession {
  std::mutex mutex;  // of `idle` and `records`
  std::vector<std::unique_ptr<deputy::host::capi::RequestRecord>> records;
  std::vector<deputy::host::capi::RequestRecord*> idle;
  std::atomic<bool> is_busy{false};  // `tensors` is in use
  deputy::host::capi::RunTensors tensors;
  size_t input_count = 0, output_count = 0;
  deputy::Session session;  // last: it waits for its requests
};
