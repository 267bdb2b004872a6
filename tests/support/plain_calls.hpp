// Arguments of calls of the plugin ABI without anything special, for tests that call a plugin's tables themselves.
#pragma once

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

}  // namespace deputy::plain
