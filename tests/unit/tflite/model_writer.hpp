// TensorFlow Lite models made in memory with the schema that the importer reads, and run through the public API: what a
// test says nothing about is small and valid.
#pragma once

#include <flatbuffers/flatbuffers.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deputy/context.hpp"
#include "deputy/model.hpp"
#include "tflite_generated.h"

namespace deputy::test {

inline void ExpectSays(const std::string& refusal, const std::string& text) {
  EXPECT_NE(refusal.find(text), std::string::npos) << "'" << refusal << "' does not say '" << text << "'";
}

namespace fb = ::deputy::tflite;
inline constexpr auto kFloat = fb::TensorType_FLOAT32;

struct Quantization {
  std::vector<float> scales;
  std::vector<int64_t> zero_points;
  int32_t axis = 0;
};

template <class T>
constexpr fb::TensorType TypeOf() {
  if constexpr (std::is_same_v<T, float>) return fb::TensorType_FLOAT32;
  if constexpr (std::is_same_v<T, int8_t>) return fb::TensorType_INT8;
  if constexpr (std::is_same_v<T, uint8_t>) return fb::TensorType_UINT8;
  if constexpr (std::is_same_v<T, int16_t>) return fb::TensorType_INT16;
  if constexpr (std::is_same_v<T, int32_t>) return fb::TensorType_INT32;
  if constexpr (std::is_same_v<T, int64_t>) return fb::TensorType_INT64;
}

class ModelWriter {
 public:
  flatbuffers::FlatBufferBuilder fbb;

  ModelWriter() { buffers_.push_back(fb::CreateBuffer(fbb)); }

  // What is added until EndSubgraph belongs to another subgraph, whose number this is.
  int32_t BeginSubgraph() {
    main_ = std::exchange(open_, {});
    return static_cast<int32_t>(called_.size()) + 1;
  }
  void EndSubgraph(const std::vector<int32_t>& outputs = {}) {
    called_.push_back(Written(outputs));
    open_ = std::exchange(main_, {});
  }

  int32_t Tensor(fb::TensorType type, const std::vector<int32_t>& dims, const Quantization& quantization = {},
                 uint32_t buffer = 0, const std::vector<int32_t>& signature = {},
                 flatbuffers::Offset<fb::SparsityParameters> sparsity = 0, bool variable = false) {
    flatbuffers::Offset<fb::QuantizationParameters> parameters = 0;
    if (!quantization.scales.empty()) {
      const auto scales = fbb.CreateVector(quantization.scales);
      const auto zero_points = fbb.CreateVector(quantization.zero_points);
      parameters = fb::CreateQuantizationParameters(fbb, scales, zero_points, 0, 0, quantization.axis);
    }
    const auto shape = fbb.CreateVector(dims);
    const auto name = fbb.CreateString("tensor" + std::to_string(open_.tensors.size()));
    flatbuffers::Offset<flatbuffers::Vector<int32_t>> open = 0;
    if (!signature.empty()) open = fbb.CreateVector(signature);
    open_.tensors.push_back(fb::CreateTensor(fbb, shape, type, buffer, name, parameters, variable,
                                             flatbuffers::Offset<fb::AnyTable>(sparsity.o), open));
    return static_cast<int32_t>(open_.tensors.size()) - 1;
  }
  // Zeros before the first run; its operator changes it.
  int32_t VariableTensor(fb::TensorType type, const std::vector<int32_t>& dims, const Quantization& quantization = {}) {
    return Tensor(type, dims, quantization, 0, {}, 0, true);
  }
  // A tensor that names a resource variable.
  int32_t Handle(const std::string& variable) {
    const int32_t made = Tensor(fb::TensorType_RESOURCE, {});
    const auto name = fbb.CreateString(variable);
    Add(fb::BuiltinOperator_VAR_HANDLE, {}, {made}, With(111, fb::CreateVarHandleOptions(fbb, 0, name)));
    return made;
  }
  int32_t Input(fb::TensorType type, const std::vector<int32_t>& dims, const Quantization& quantization = {},
                const std::vector<int32_t>& signature = {}) {
    open_.inputs.push_back(Tensor(type, dims, quantization, 0, signature));
    return open_.inputs.back();
  }
  template <class T>
  int32_t Constant(const std::vector<int32_t>& dims, const std::vector<T>& values,
                   const Quantization& quantization = {}) {
    return Tensor(TypeOf<T>(), dims, quantization,
                  Buffer({reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)}));
  }
  uint32_t Buffer(std::span<const uint8_t> bytes) {
    fbb.ForceVectorAlignment(bytes.size(), 1, 16);
    const auto data = fbb.CreateVector(bytes.data(), bytes.size());
    buffers_.push_back(fb::CreateBuffer(fbb, data));
    return static_cast<uint32_t>(buffers_.size()) - 1;
  }
  // A buffer behind the FlatBuffer, as in files beyond 2 GiB.
  uint32_t BufferAt(uint64_t offset, uint64_t size) {
    buffers_.push_back(fb::CreateBuffer(fbb, 0, offset, size));
    return static_cast<uint32_t>(buffers_.size()) - 1;
  }

  struct Options {
    uint8_t type = 0;
    flatbuffers::uoffset_t table = 0;
  };
  template <class T>
  static Options With(uint8_t type, flatbuffers::Offset<T> table) {
    return {type, table.o};
  }
  void Add(fb::BuiltinOperator code, const std::vector<int32_t>& inputs, const std::vector<int32_t>& outputs,
           Options options = {0, 0}, int32_t version = 1) {
    const auto custom = code == fb::BuiltinOperator_CUSTOM ? fbb.CreateString("Frobnicate")
                                                           : flatbuffers::Offset<flatbuffers::String>(0);
    codes_.push_back(fb::CreateOperatorCode(fbb, static_cast<int8_t>(code < 127 ? code : 127), custom, version, code));
    const auto reads = fbb.CreateVector(inputs), makes = fbb.CreateVector(outputs);
    open_.operators.push_back(fb::CreateOperator(fbb, static_cast<uint32_t>(codes_.size()) - 1, reads, makes,
                                                 options.type, flatbuffers::Offset<fb::AnyTable>(options.table)));
  }

  std::string Finish(const std::vector<int32_t>& outputs, uint32_t version = 3) {
    called_.insert(called_.begin(), Written(outputs));
    const auto codes = fbb.CreateVector(codes_);
    const auto graphs = fbb.CreateVector(called_);
    const auto description = fbb.CreateString("a test");
    const auto buffers = fbb.CreateVector(buffers_);
    fb::FinishModelBuffer(fbb, fb::CreateModel(fbb, version, codes, graphs, description, buffers));
    return {reinterpret_cast<const char*>(fbb.GetBufferPointer()), fbb.GetSize()};
  }

 private:
  struct Subgraph {
    std::vector<flatbuffers::Offset<fb::Tensor>> tensors;
    std::vector<flatbuffers::Offset<fb::Operator>> operators;
    std::vector<int32_t> inputs;
  };

  flatbuffers::Offset<fb::SubGraph> Written(const std::vector<int32_t>& outputs) {
    const auto tensors = fbb.CreateVector(open_.tensors);
    const auto reads = fbb.CreateVector(open_.inputs), makes = fbb.CreateVector(outputs);
    const auto operators = fbb.CreateVector(open_.operators);
    return fb::CreateSubGraph(fbb, tensors, reads, makes, operators, fbb.CreateString("main"));
  }

  std::vector<flatbuffers::Offset<fb::Buffer>> buffers_;
  std::vector<flatbuffers::Offset<fb::OperatorCode>> codes_;
  std::vector<flatbuffers::Offset<fb::SubGraph>> called_;  // by the first subgraph
  Subgraph open_, main_;
};

inline Status Build(const std::string& bytes, Model& model) {
  SetLogSink([](LogLevel, std::string_view, std::string_view) {});
  return model.Build(bytes.data(), bytes.size(), ModelType::kAuto, Context());
}

// The error of a model that cannot be built; empty when it can.
inline std::string Refusal(const std::string& bytes) {
  Model model;
  const Status status = Build(bytes, model);
  return status.ok() ? "" : status.ToString();
}

// Whatever byte is wrong, the model is refused with a message, or built.
inline void ExpectNoByteDoesHarm(const std::string& whole) {
  std::mt19937 engine(5);
  size_t refused = 0;
  for (size_t i = 8; i < whole.size(); ++i)
    for (int round = 0; round < 4; ++round) {
      std::string bytes = whole;
      const int value = round == 0 ? 0xff : round == 1 ? 0x80 : static_cast<int>(engine() & 0xff);
      bytes[i] = static_cast<char>(value);
      Model model;
      const Status status = Build(bytes, model);
      EXPECT_TRUE(status.ok() || !status.message().empty()) << "byte " << i << " is " << value;
      refused += !status.ok();
    }
  EXPECT_GT(refused, whole.size() / 8);
}

template <class T>
Tensor TensorOf(Shape shape, const std::vector<T>& values) {
  constexpr DType kDType = std::is_same_v<T, float>     ? DType::kFloat32
                           : std::is_same_v<T, int8_t>  ? DType::kInt8
                           : std::is_same_v<T, uint8_t> ? DType::kUint8
                           : std::is_same_v<T, int32_t> ? DType::kInt32
                                                        : DType::kInt64;
  return Tensor::FromValues<T>(kDType, std::move(shape), std::span<const T>(values)).value();
}

template <class T>
std::vector<T> ValuesOf(const Tensor& tensor) {
  const std::span<const T> values = tensor.values<T>();
  return {values.begin(), values.end()};
}

// The outputs of a model; none, and a failure, when it cannot be built or run.
inline std::vector<Tensor> Predict(const std::string& bytes, const std::vector<Tensor>& inputs) {
  Model model;
  std::vector<Tensor> outputs;
  Status status = Build(bytes, model);
  if (status.ok()) {
    Result<Session> session = model.CreateSession();
    status = session.ok() ? session->Predict(inputs, &outputs) : session.status();
  }
  EXPECT_TRUE(status.ok()) << status.ToString();
  return status.ok() ? outputs : std::vector<Tensor>(8);
}

}  // namespace deputy::test
