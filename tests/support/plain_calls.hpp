// Arguments of calls of the plugin ABI without anything special, for tests that call a plugin's tables themselves.
#pragma once

#include <cstddef>
#include <cstdint>

#include "deputy/abi/delegate.h"

namespace deputy::plain {

inline constexpr deputy_context_args kPlainContext{sizeof(deputy_context_args), 0, 0, 0};

// An opset that every table needs: of ONNX's own operators, all versions.
inline constexpr deputy_opset kAnyOpset{{"", 0}, UINT32_MAX, 0};

// Compiles this partition, and is never cancelled.
class PlainCompile {
 public:
  explicit PlainCompile(const deputy_partition* partition) {
    args_.struct_size = sizeof args_;
    args_.partition = partition;
    args_.control = &control_;
  }
  PlainCompile(const PlainCompile&) = delete;
  PlainCompile& operator=(const PlainCompile&) = delete;

  const deputy_compile_args* args() const { return &args_; }

 private:
  deputy_control control_{sizeof(deputy_control), 0, nullptr, [](void*) { return 0u; },
                          [](void*, uint32_t, deputy_str) {}};
  deputy_compile_args args_{};
};

// One run that reads a list of floats and writes one of the same length.
class PlainRun {
 public:
  PlainRun(const float* in, float* out, size_t count) : count_(static_cast<int64_t>(count)) {
    for (deputy_tensor* tensor : {&input_, &output_}) {
      tensor->struct_size = sizeof *tensor;
      tensor->dtype = DEPUTY_DTYPE_FLOAT32;
      tensor->rank = 1;
      tensor->dims = &count_;
      tensor->byte_size = count * sizeof(float);
    }
    input_.data = const_cast<float*>(in);
    output_.data = out;
    args.struct_size = sizeof args;
    args.input_count = args.output_count = 1;
    args.inputs = inputs;
    args.outputs = const_cast<const deputy_tensor* const*>(outputs);
    args.run = 1;
  }
  PlainRun(const PlainRun&) = delete;
  PlainRun& operator=(const PlainRun&) = delete;

 private:
  const int64_t count_;
  deputy_tensor input_{}, output_{};

 public:
  const deputy_tensor* const inputs[1] = {&input_};
  deputy_tensor* const outputs[1] = {&output_};
  deputy_run_args args{};
};

}  // namespace deputy::plain
