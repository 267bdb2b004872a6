// Outputs that a run left as they were are found, and no result is taken for one.
#include "plugin/checks/unwritten.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

namespace deputy::host {
namespace {

// One run with one input and one output of bytes.
struct Bytes {
  std::vector<uint8_t> in, out;
  deputy_dtype dtype = DEPUTY_DTYPE_UINT8;
  bool by_element = false;
  int runs = 0;

  explicit Bytes(size_t size) : in(size, 1), out(size, 7) {}
  std::optional<Unwritten> Run(const std::function<void(uint8_t* out)>& execute) {
    deputy_tensor input = Tensor(in), output = Tensor(out);
    const deputy_tensor* inputs[] = {&input};
    deputy_tensor* outputs[] = {&output};
    return RunOnPattern({inputs, outputs}, by_element,
                        [&](const RunArgs&) {
                          ++runs;
                          execute(out.data());
                          return Status();
                        })
        .value();
  }
  deputy_tensor Tensor(std::vector<uint8_t>& bytes) const {
    deputy_tensor tensor{};
    tensor.struct_size = sizeof tensor;
    tensor.dtype = dtype;
    tensor.data = bytes.data();
    tensor.byte_size = bytes.size();
    return tensor;
  }
};

std::vector<uint8_t> Pattern(size_t size, bool inverted = false) {
  std::vector<uint8_t> bytes(size);
  FillPattern(bytes.data(), size, inverted);
  return bytes;
}

TEST(UnwrittenOutput, IsFoundWholeWhateverItsSize) {
  for (size_t size = 1; size < 40; ++size) {
    Bytes bytes(size);
    const std::optional<Unwritten> found = bytes.Run([](uint8_t*) {});
    ASSERT_TRUE(found) << size;
    EXPECT_EQ(Describe(*found, "y"), "its output 0 ('y') was not written") << size;
  }
}

TEST(UnwrittenOutput, AWrittenOneRunsOnce) {
  Bytes bytes(1000);
  bytes.dtype = DEPUTY_DTYPE_FLOAT32;
  EXPECT_FALSE(bytes.Run([](uint8_t* out) { std::memset(out, 0, 1000); }));
  EXPECT_EQ(bytes.runs, 1);
}

TEST(UnwrittenOutput, AResultThatLooksLikeThePatternIsNotAccused) {
  for (const size_t size : {1u, 3u, 4u, 8u, 17u}) {
    for (const bool inverted : {false, true}) {
      Bytes bytes(size);
      bytes.by_element = true;
      const std::vector<uint8_t> result = Pattern(size, inverted);
      EXPECT_FALSE(bytes.Run([&](uint8_t* out) { std::memcpy(out, result.data(), size); })) << size;
      EXPECT_EQ(bytes.out, result);
    }
  }
}

TEST(UnwrittenOutput, EveryByteThatCanBeThereIsAcceptedByElement) {
  Bytes bytes(256);
  bytes.by_element = true;
  EXPECT_FALSE(bytes.Run([](uint8_t* out) { std::iota(out, out + 256, uint8_t{0}); }));
}

TEST(UnwrittenOutput, ALastElementThatIsMissingIsFound) {
  Bytes bytes(20);
  bytes.dtype = DEPUTY_DTYPE_FLOAT32;
  const std::optional<Unwritten> found = bytes.Run([](uint8_t* out) { std::memset(out, 0, 16); });
  ASSERT_TRUE(found);
  EXPECT_EQ(Describe(*found, "y"),
            "its output 0 ('y') was not written in full: 4 of 20 bytes are unchanged, the first at offset 16");
}

TEST(UnwrittenOutput, AMissingByteIsFoundByElement) {
  for (const size_t missing : {0u, 7u, 8u, 12u, 20u}) {
    Bytes bytes(21);
    bytes.by_element = true;
    const std::optional<Unwritten> found = bytes.Run([&](uint8_t* out) {
      for (size_t i = 0; i < 21; ++i)
        if (i != missing) out[i] = 0;
    });
    ASSERT_TRUE(found) << missing;
    EXPECT_EQ(found->first, missing);
    EXPECT_EQ(found->bytes, 1u);
  }
}

TEST(UnwrittenOutput, UnitsOfAllSizesAreSeenWhereverTheyAre) {
  for (const size_t unit : {1u, 2u, 4u}) {
    const std::vector<uint8_t> pattern = Pattern(64);
    for (size_t at = 0; at < 64; at += unit) {
      std::vector<uint8_t> bytes(64);
      for (size_t i = 0; i < 64; ++i) bytes[i] = static_cast<uint8_t>(~pattern[i]);
      EXPECT_FALSE(HoldsPattern(bytes.data(), 64, unit));
      std::memcpy(bytes.data() + at, pattern.data() + at, unit);
      EXPECT_TRUE(HoldsPattern(bytes.data(), 64, unit)) << unit << " at " << at;
    }
  }
}

TEST(UnwrittenOutput, AFailureEndsTheCheck) {
  Bytes bytes(8);
  deputy_tensor output = bytes.Tensor(bytes.out);
  deputy_tensor* outputs[] = {&output};
  const auto result = RunOnPattern(
      {{}, outputs}, false, [](const RunArgs&) { return Status(StatusCode::kDeviceLost, "the device is gone"); });
  EXPECT_EQ(result.status().code(), StatusCode::kDeviceLost);
}

TEST(UnwrittenOutput, WhatSharesMemoryWithAnInputIsNotTouched) {
  Bytes bytes(16);
  deputy_tensor input = bytes.Tensor(bytes.in), output = bytes.Tensor(bytes.in);
  const deputy_tensor* inputs[] = {&input};
  deputy_tensor* outputs[] = {&output};
  const auto result = RunOnPattern({inputs, outputs}, false, [&](const RunArgs&) {
    EXPECT_EQ(bytes.in, std::vector<uint8_t>(16, 1));
    return Status();
  });
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(*result);
}

TEST(UnwrittenOutput, ADescriptionThatTheRunChangesIsNotFollowed) {
  Bytes bytes(16);
  std::vector<uint8_t> other = Pattern(64);
  deputy_tensor output = bytes.Tensor(bytes.out);
  deputy_tensor* outputs[] = {&output};
  const auto result = RunOnPattern({{}, outputs}, false, [&](const RunArgs&) {
    output.data = other.data();
    output.byte_size = other.size();
    return Status();
  });
  ASSERT_TRUE(result.ok());
  ASSERT_TRUE(*result);
  EXPECT_EQ((*result)->size, 16u);
  EXPECT_EQ(other, Pattern(64)) << "memory that the host did not bind was written to";
}

TEST(UnwrittenOutput, OutputsWithoutBytesOrLeftOutAreNoFault) {
  deputy_tensor empty{}, device{};
  device.memory = DEPUTY_MEMORY_DEVICE;
  device.byte_size = 4;
  deputy_tensor* outputs[] = {nullptr, &empty, &device};
  const auto result = RunOnPattern({{}, outputs}, true, [](const RunArgs&) { return Status(); });
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(*result);
}

}  // namespace
}  // namespace deputy::host
