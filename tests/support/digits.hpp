// What tests of the API on the digits model share: pictures, answers, and the log.
#pragma once

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "deputy/deputy.hpp"

namespace deputy {

// Takes the messages of the log, from a level on, while it lives.
class LogLines {
 public:
  explicit LogLines(LogLevel least = LogLevel::kInfo) {
    SetLogSink([this, least](LogLevel level, std::string_view, std::string_view message) {
      const std::lock_guard lock(mutex_);
      if (level >= least) lines_.emplace_back(message);
    });
  }
  ~LogLines() { SetLogSink(nullptr); }
  LogLines(const LogLines&) = delete;
  LogLines& operator=(const LogLines&) = delete;

  std::string text() const {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const std::string& line : lines_) text += line + "\n";
    return text;
  }
  std::string last() const {
    const std::lock_guard lock(mutex_);
    return lines_.empty() ? "" : lines_.back();
  }
  // Lines with this part.
  size_t Count(std::string_view part) const {
    const std::lock_guard lock(mutex_);
    size_t count = 0;
    for (const std::string& line : lines_) count += line.find(part) != std::string::npos ? 1 : 0;
    return count;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

// In [0, 1), the same for a seed in every run.
inline Tensor Pictures(int64_t count, uint32_t seed = 1) {
  Tensor tensor = *Tensor::Allocate(DType::kFloat32, {count, 1, 28, 28});
  for (float& value : tensor.mutable_values<float>()) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 8) / static_cast<float>(1u << 24);
  }
  return tensor;
}

inline std::vector<float> Values(const Tensor& tensor) {
  const std::span<const float> values = tensor.values<float>();
  return {values.begin(), values.end()};
}

// The first output for the input; empty after a failure.
inline std::vector<float> Answer(Session& session, const Tensor& input) {
  std::vector<Tensor> outputs;
  const Status status = session.Predict({input}, &outputs);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return status.ok() ? Values(outputs[0]) : std::vector<float>();
}

}  // namespace deputy
