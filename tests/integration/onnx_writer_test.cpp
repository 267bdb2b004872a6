// Partitions that a delegate writes as ONNX models (deputy/sdk/onnx_writer.hpp) and runs as such, in a Deputy of their
// own: the answers are those of the CPU.
#include "deputy/sdk/onnx_writer.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "deputy/deputy.hpp"
#include "deputy/sdk/in_process.hpp"
#include "deputy/sdk/partition_delegate.hpp"

namespace deputy {
namespace {

Context CpuOnly() {
  return *Context::FromYamlText(
      "cpu.yaml",
      "version: 1\nplugins: {paths: [/nonexistent]}\ncache: {dir: \"off\"}\nlog: {level: error}\n"
      "delegates: []\n");
}

class InnerContext final : public sdk::ExecutionContext {
 public:
  explicit InnerContext(Session session) : session_(std::move(session)) {}

  sdk::Status Execute(const sdk::RunArgs& args) override {
    std::vector<Tensor> inputs, outputs;
    for (size_t i = 0; i < args.input_count(); ++i) {
      const sdk::TensorView from = args.input(i);
      Result<Tensor> input =
          Tensor::Allocate(static_cast<DType>(from.dtype()), Shape(from.dims().begin(), from.dims().end()));
      if (!input.ok()) return {sdk::Code::kInternal, input.status().ToString()};
      if (from.byte_size() != 0) std::memcpy(input->mutable_data(), from.data(), from.byte_size());
      inputs.push_back(*std::move(input));
    }
    if (const Status status = session_.Predict(inputs, &outputs); !status.ok())
      return {sdk::Code::kInternal, status.ToString()};
    for (size_t i = 0; i < args.output_count(); ++i) {
      void* to = args.output(i).data();
      if (!args.output(i).shape_known()) {
        DEPUTY_SDK_ASSIGN_OR_RETURN(to, args.Allocate(i, {outputs[i].shape().data(), outputs[i].shape().size()}));
      }
      if (outputs[i].byte_size() != 0) std::memcpy(to, outputs[i].data(), outputs[i].byte_size());
    }
    return {};
  }

 private:
  Session session_;
};

class InnerExecutable final : public sdk::Executable {
 public:
  explicit InnerExecutable(Model model) : model_(std::move(model)) {}

  sdk::Result<std::unique_ptr<sdk::ExecutionContext>> CreateContext() override {
    Result<Session> session = model_.CreateSession();
    if (!session.ok()) return sdk::Status(sdk::Code::kInternal, session.status().ToString());
    return std::unique_ptr<sdk::ExecutionContext>(std::make_unique<InnerContext>(*std::move(session)));
  }

 private:
  Model model_;
};

// Takes all nodes but those with graphs, and every third where it `skips`, so that values cross partitions.
class OnnxDelegate final : public sdk::PartitionDelegate {
 public:
  static constexpr uint32_t kFlags = DEPUTY_DELEGATE_DYNAMIC_SHAPES;

  explicit OnnxDelegate(bool skips) : skips_(skips), context_(CpuOnly()) {}

  sdk::Verdict Supports(const sdk::NodeView& node) override {
    if (node.has_regions()) return sdk::Verdict::No(sdk::Reason::kOther, "nodes with graphs");
    if (skips_ && node.id() % 3 == 2) return sdk::Verdict::No(sdk::Reason::kOther, "every third node");
    return sdk::Verdict::Yes();
  }
  sdk::Result<std::unique_ptr<sdk::Executable>> Compile(const sdk::PartitionView& partition) override {
    DEPUTY_SDK_ASSIGN_OR_RETURN(const sdk::OnnxModel written, sdk::WriteOnnx(partition));
    Model model;
    const Status status = model.Build(written.bytes.data(), written.bytes.size(), ModelType::kOnnx, context_);
    if (!status.ok()) return sdk::Status(sdk::Code::kInternal, status.ToString());
    EXPECT_EQ(model.inputs().size(), partition.inputs().size());
    for (size_t i = 0; i < written.inputs.size(); ++i) EXPECT_EQ(model.inputs()[i].name, written.inputs[i]);
    for (size_t i = 0; i < written.outputs.size(); ++i) EXPECT_EQ(model.outputs()[i].name, written.outputs[i]);
    nodes += partition.nodes().size();
    return std::unique_ptr<sdk::Executable>(std::make_unique<InnerExecutable>(std::move(model)));
  }

  std::atomic<size_t> nodes{0};

 private:
  const bool skips_;
  const Context context_;
};

// Of the model's extents, 2 where they are unknown: small numbers of both signs.
std::vector<Tensor> InputsOf(const Model& model) {
  std::vector<Tensor> inputs;
  for (const TensorInfo& info : model.inputs()) {
    Shape shape = info.shape;
    for (int64_t& extent : shape) extent = extent < 0 ? 2 : extent;
    inputs.push_back(*Tensor::Allocate(info.dtype, shape));
    auto* bytes = static_cast<unsigned char*>(inputs.back().mutable_data());
    if (info.dtype == DType::kFloat32) {
      for (size_t i = 0; i < inputs.back().byte_size() / sizeof(float); ++i) {
        const float value = static_cast<float>((i * 7 + inputs.size()) % 23) / 11.0F - 1;
        std::memcpy(bytes + i * sizeof value, &value, sizeof value);
      }
    } else {
      std::memset(bytes, 0, inputs.back().byte_size());
    }
  }
  return inputs;
}

class OnnxWriter : public testing::TestWithParam<std::string> {};

TEST_P(OnnxWriter, PartitionsAreModelsWithTheSameResults) {
  Model alone;
  const Context cpu = CpuOnly();
  const Status built = alone.Build(GetParam(), cpu);
  ASSERT_TRUE(built.ok()) << built.ToString();
  const std::vector<Tensor> inputs = InputsOf(alone);
  std::vector<Tensor> expected;
  Session session = *alone.CreateSession();
  ASSERT_TRUE(session.Predict(inputs, &expected).ok());
  for (const bool skips : {false, true}) {
    SCOPED_TRACE(skips);
    Context context = *Context::FromYamlText(
        "onnx.yaml",
        "version: 1\nplugins: {paths: [/nonexistent]}\ncache: {dir: \"off\"}\nlog: {level: error}\n"
        "placement: {policy: priority}\ndelegates: []\n");
    const auto delegate = std::make_shared<OnnxDelegate>(skips);
    context.AddDelegate(delegate);
    Model model;
    ASSERT_TRUE(model.Build(GetParam(), context).ok());
    Session delegated = *model.CreateSession();
    std::vector<Tensor> outputs;
    const Status status = delegated.Predict(inputs, &outputs);
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_FALSE(model.Health().degraded);
    ASSERT_EQ(outputs.size(), expected.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      ASSERT_EQ(outputs[i].shape(), expected[i].shape());
      if (outputs[i].dtype() != DType::kFloat32) {
        EXPECT_EQ(std::memcmp(outputs[i].data(), expected[i].data(), outputs[i].byte_size()), 0);
        continue;
      }
      for (size_t k = 0; k < outputs[i].values<float>().size(); ++k)
        ASSERT_NEAR(outputs[i].values<float>()[k], expected[i].values<float>()[k], 1e-5F) << i << " " << k;
    }
  }
}

std::vector<std::string> Models() {
  std::vector<std::string> files{DEPUTY_TEST_DIGITS};
  for (const auto& file : std::filesystem::directory_iterator(DEPUTY_TEST_MODELS)) {
    // The first takes inputs of its own, the second a long time.
    const std::string name = file.path().stem();
    if (file.path().extension() == ".onnx" && name != "values" && name != "long_pool")
      files.push_back(file.path().string());
  }
  return files;
}
INSTANTIATE_TEST_SUITE_P(Models, OnnxWriter, testing::ValuesIn(Models()),
                         [](const auto& given) { return std::filesystem::path(given.param).stem().string(); });

}  // namespace
}  // namespace deputy
