// Compiled on a machine without the device, run where it is: the simulated NPU's own library, opened both ways.
#include <gtest/gtest.h>

#include <algorithm>

#include "unit/plugin/support.hpp"

#ifdef IN_TREE_PLUGINS
namespace deputy::host {
namespace {

using testing::PatientScan;

constexpr const char* kAbsent = "sim-7";  // the simulated machine has devices sim-0 and sim-1
constexpr size_t kLimit = size_t{1} << 20;

// x [2,3] -> MatMul with weights [3,2] -> Relu -> y [2,2], in numbers that fp16 holds exactly.
class CompileOnly : public ::testing::Test {
 protected:
  CompileOnly() {
    const ValueId x = graph_.AddValue("x", {DType::kFloat32, true, {2, 3}});
    Tensor weights = *Tensor::Allocate(DType::kFloat32, {3, 2});
    const float elements[] = {1, -2, 3, 4, -5, 6};
    std::copy(std::begin(elements), std::end(elements), static_cast<float*>(weights.mutable_data()));
    const ValueId w = graph_.AddConstant("w", std::move(weights));
    const ValueId product = graph_.AddValue("product", {DType::kFloat32, true, {2, 2}});
    const ValueId y = graph_.AddValue("y", {DType::kFloat32, true, {2, 2}});
    graph_.nodes.push_back({"product", PrimitiveBuilder("", "MatMul", 13).Finish(), {x, w}, {product}, {}});
    graph_.nodes.push_back({"relu", PrimitiveBuilder("", "Relu", 14).Finish(), {product}, {y}, {}});
    graph_.inputs = {x};
    graph_.outputs = {y};
    view_ = OfferAll(graph_);
    whole_ = {{0, 1}, {x}, {y}, nullptr, "npu.0"};
  }

  // As another process would: from a scan on.
  static Result<std::unique_ptr<Delegate>> Open(bool compile_only, const char* device = "sim-0") {
    PluginRegistry registry;
    registry.Scan(PatientScan(IN_TREE_PLUGINS));
    OpenRequest request{"sim_npu", "npu", device, {}, nullptr};
    request.compile_only = compile_only;
    return registry.Open(request);
  }

  // The partition, compiled by an instance that is closed again.
  std::vector<uint8_t> BytesOf(bool compile_only) const {
    const auto delegate = Open(compile_only);
    EXPECT_TRUE(delegate.ok()) << delegate.status().ToString();
    const auto executable = (*delegate)->Compile(view_, whole_);
    EXPECT_TRUE(executable.ok()) << executable.status().ToString();
    const Result<std::vector<uint8_t>> bytes = (*executable)->Serialize(kLimit);
    EXPECT_TRUE(bytes.ok()) << bytes.status().ToString();
    return *bytes;
  }

  Result<std::shared_ptr<const Executable>> Restore(Delegate& delegate, const std::vector<uint8_t>& bytes) const {
    Result<Tensor> kept = Tensor::Allocate(DType::kUint8, {static_cast<int64_t>(bytes.size())});  // aligned
    auto owner = std::make_shared<Tensor>(std::move(kept).value());
    auto* data = static_cast<uint8_t*>(owner->mutable_data());
    std::copy(bytes.begin(), bytes.end(), data);
    return delegate.blobs()->Restore(view_, whole_, Blob{{data, bytes.size()}, owner});
  }

  static std::vector<float> Run(const Executable& executable) {
    const auto context = executable.CreateContext();
    EXPECT_TRUE(context.ok()) << context.status().ToString();
    float x[] = {1, 2, 3, -1, 0.5f, 0}, y[4] = {};
    const int64_t in_dims[] = {2, 3}, out_dims[] = {2, 2};
    deputy_tensor in{}, out{};
    for (deputy_tensor* tensor : {&in, &out}) {
      tensor->struct_size = sizeof *tensor;
      tensor->dtype = DEPUTY_DTYPE_FLOAT32;
      tensor->rank = 2;
    }
    in.dims = in_dims, in.data = x, in.byte_size = sizeof x;
    out.dims = out_dims, out.data = y, out.byte_size = sizeof y;
    const deputy_tensor* inputs[] = {&in};
    deputy_tensor* outputs[] = {&out};
    const Status run = (*context)->Execute({inputs, outputs});
    EXPECT_TRUE(run.ok()) << run.ToString();
    return {std::begin(y), std::end(y)};
  }

  Graph graph_;
  GraphView view_;
  PartitionSpec whole_;
};

// Seed row 32.
TEST_F(CompileOnly, WhatIsCompiledWithoutTheDeviceRunsWhereItIs) {
  const std::vector<uint8_t> bytes = BytesOf(/*compile_only=*/true);
  const auto delegate = Open(/*compile_only=*/false);
  ASSERT_TRUE(delegate.ok()) << delegate.status().ToString();
  const auto restored = Restore(**delegate, bytes);
  ASSERT_TRUE(restored.ok()) << restored.status().ToString();
  const auto compiled = (*delegate)->Compile(view_, whole_);
  ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
  const std::vector<float> got = Run(**restored);
  EXPECT_EQ(got, (std::vector<float>{0, 24, 0.5f, 4}));
  EXPECT_EQ(got, Run(**compiled));
}

TEST_F(CompileOnly, TheBytesAreThoseThatTheDeviceWouldGive) {
  EXPECT_EQ(BytesOf(/*compile_only=*/true), BytesOf(/*compile_only=*/false));
}

TEST_F(CompileOnly, TheBlobIsOneThatTheDeviceTakes) {
  const auto without = Open(/*compile_only=*/true), with = Open(/*compile_only=*/false);
  ASSERT_TRUE(without.ok() && with.ok());
  const auto maker = (*without)->blobs()->blob_maker();
  ASSERT_TRUE(maker.ok()) << maker.status().ToString();
  EXPECT_TRUE((*with)->blobs()->CheckBlob(maker->compatibility).ok());
}

TEST_F(CompileOnly, NeedsNoDevice) {
  EXPECT_EQ(Open(/*compile_only=*/false, kAbsent).status().code(), StatusCode::kNotFound);
  const auto opened = Open(/*compile_only=*/true, kAbsent);
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  EXPECT_TRUE((*opened)->Compile(view_, whole_).ok());
}

TEST_F(CompileOnly, NothingRunsThere) {
  const auto delegate = Open(/*compile_only=*/true);
  ASSERT_TRUE(delegate.ok()) << delegate.status().ToString();
  const auto compiled = (*delegate)->Compile(view_, whole_);
  ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
  const Status refused = (*compiled)->CreateContext().status();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(refused.message().find("compile only"), std::string::npos) << refused.ToString();
  const auto restored = Restore(**delegate, BytesOf(/*compile_only=*/true));
  ASSERT_TRUE(restored.ok()) << restored.status().ToString();
  EXPECT_EQ((*restored)->CreateContext().status().code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace deputy::host
#endif
