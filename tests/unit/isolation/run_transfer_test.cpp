// When a run may refer to the arguments of the last one.
#include "isolation/run_transfer.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

namespace deputy::host::testing {
namespace {

struct Arguments {
  int64_t dims[2] = {2, 3};
  float data[12] = {};
  deputy_tensor tensors[2] = {};
  const deputy_tensor* inputs[2] = {&tensors[0], nullptr};
  const deputy_tensor* outputs[1] = {&tensors[1]};
  deputy_output_allocator allocator{};
  deputy_run_args args{};

  Arguments() {
    for (deputy_tensor& tensor : tensors) {
      tensor.struct_size = sizeof tensor;
      tensor.dtype = DEPUTY_DTYPE_FLOAT32;
      tensor.rank = 2;
      tensor.dims = dims;
      tensor.data = data;
      tensor.byte_size = 24;
    }
    args.struct_size = sizeof args;
    args.input_count = 2;
    args.output_count = 1;
    args.inputs = inputs;
    args.outputs = outputs;
    args.run = 1;
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
};

TEST(KnownRun, MatchesRunsThatDifferInWhatEachOneIsTold) {
  KnownRun known;
  const Arguments first;
  EXPECT_FALSE(known.Matches(first.args));
  known.Remember(first.args);
  Arguments next;
  next.tensors[0].data = next.data + 6;
  next.args.run = 2;
  next.args.deadline_ns = 99;
  next.args.power_level = 3;
  next.args.precision = DEPUTY_DTYPE_FLOAT16;
  EXPECT_TRUE(known.Matches(next.args));
}

TEST(KnownRun, MatchesNoOtherShapesTypesOrCounts) {
  KnownRun known;
  const Arguments first;
  known.Remember(first.args);
  int64_t other_dims[2] = {3, 2};
  const deputy_quantization quantization{};
  const std::pair<const char*, std::function<void(Arguments&)>> changes[] = {
      {"dims", [&](Arguments& a) { a.tensors[1].dims = other_dims; }},
      {"rank", [](Arguments& a) { a.tensors[0].rank = 1; }},
      {"dtype", [](Arguments& a) { a.tensors[0].dtype = DEPUTY_DTYPE_INT32; }},
      {"size", [](Arguments& a) { a.tensors[1].byte_size = 20; }},
      {"layout", [](Arguments& a) { a.tensors[0].layout = DEPUTY_LAYOUT_STRIDED; }},
      {"strides", [](Arguments& a) { a.tensors[0].strides = a.dims; }},
      {"quantization", [&](Arguments& a) { a.tensors[0].quantization = &quantization; }},
      {"memory", [](Arguments& a) { a.tensors[0].memory = DEPUTY_MEMORY_DEVICE; }},
      {"present", [](Arguments& a) { a.inputs[1] = &a.tensors[0]; }},
      {"absent", [](Arguments& a) { a.outputs[0] = nullptr; }},
      {"inputs", [](Arguments& a) { a.args.input_count = 1; }},
      {"outputs", [](Arguments& a) { a.args.output_count = 0; }},
      {"allocator", [](Arguments& a) { a.args.allocator = &a.allocator; }},
      {"scratch", [](Arguments& a) { a.args.scratch_size = 64; }},
      {"flags", [](Arguments& a) { a.args.flags = 1; }},
  };
  for (const auto& [name, change] : changes) {
    Arguments next;
    change(next);
    EXPECT_FALSE(known.Matches(next.args)) << name;
  }
  EXPECT_TRUE(known.Matches(Arguments().args));
}

TEST(KnownRun, TensorsWithMoreThanASizeAreSentEachTime) {
  const deputy_quantization quantization{};
  for (const bool strided : {true, false}) {
    Arguments run;
    if (strided) run.tensors[0].strides = run.dims;
    if (!strided) run.tensors[0].quantization = &quantization;
    KnownRun known;
    known.Remember(run.args);
    EXPECT_FALSE(known.Matches(run.args));
  }
}

}  // namespace
}  // namespace deputy::host::testing
