// The tensors of a model in the forms in which nodes need them: channels last as in the file or channels second as in
// ONNX; elements as they are stored or as real numbers. A form is made at its first use and kept, so that a chain of
// convolutions has Transposes at its ends only.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "import/tflite/model_file.hpp"
#include "import/tflite/scope.hpp"
#include "import/tflite/tensor_info.hpp"

namespace deputy::host::tflite_import {

using TensorIndex = int32_t;  // -1: an omitted input

// Of tensors of rank 4; all others are in the file's order.
enum class Layout : uint8_t { kFile, kChannelsSecond };

inline constexpr std::array<int64_t, 4> kToChannelsSecond{0, 3, 1, 2}, kToFile{0, 2, 3, 1};

// [one-thread]
class Tensors {
 public:
  // `index` of the subgraph in the file; names of tensors get the prefix.
  Tensors(ModelFile& file, Scope& scope, uint32_t index, std::string prefix);

  // The description in the file; fails for an index that is out of range and for tensors that Deputy does not have.
  Result<const TensorInfo*> Info(TensorIndex tensor);
  // The elements of a constant; empty if the tensor is not constant.
  Result<Tensor> Constant(TensorIndex tensor);
  // The elements of a constant of integers; kNotSupported, with its description `subject`, for a computed one.
  Result<std::vector<int64_t>> Ints(TensorIndex tensor, const char* subject);
  // The only element of a constant of integers.
  Result<int64_t> Int(TensorIndex tensor, const char* subject);
  // The same as a value of int64, which may be computed.
  Result<ValueId> Int64s(TensorIndex tensor);

  Result<ValueId> Stored(TensorIndex tensor, Layout layout = Layout::kFile);
  Result<ValueId> Real(TensorIndex tensor, Layout layout = Layout::kFile);
  // Stored or real elements in an order that is the file's when read from front to back, in any shape.
  Result<ValueId> InOrder(TensorIndex tensor, bool stored);
  // A constant or a value of weights with its axes in another order, dequantized.
  Result<ValueId> Weights(TensorIndex tensor, std::span<const int64_t> perm);
  // An operand that is broadcast to rank 4 in channels-second order.
  Result<ValueId> Broadcast(TensorIndex tensor, bool stored, Layout layout);

  // Whether a tensor is available without a Transpose.
  Result<bool> Has(TensorIndex tensor, Layout layout);
  // None: the file has no shape for a result whose rank depends on the run.
  Result<std::optional<size_t>> KnownRank(TensorIndex tensor);
  // kNotSupported where it is not known.
  Result<size_t> Rank(TensorIndex tensor);

  // The result of an operator. Real numbers are quantized if the tensor is.
  Status SetStored(TensorIndex tensor, ValueId id, Layout layout = Layout::kFile);
  Status SetReal(TensorIndex tensor, ValueId id, Layout layout = Layout::kFile);
  // An input of the model, or an argument of the subgraph.
  Status SetInput(TensorIndex tensor, ValueId id);

  // The variable that a tensor names or is.
  Result<VariableId> VariableOf(TensorIndex tensor);
  Status SetVariable(TensorIndex tensor, VariableId variable);

  Result<ValueId> Dequantized(ValueId id, const Quantization& quantization, DType dtype, size_t axis) {
    return Dequantized(emitter_, id, quantization, dtype, axis);
  }
  Result<ValueId> Quantized(ValueId id, const TensorInfo& info, size_t axis) {
    return Quantized(emitter_, id, info, axis);
  }
  // In another graph.
  Result<ValueId> Dequantized(Emitter& emit, ValueId id, const Quantization& quantization, DType dtype, size_t axis);
  Result<ValueId> Quantized(Emitter& emit, ValueId id, const TensorInfo& info, size_t axis);

 private:
  struct Forms {
    std::array<ValueId, 2> stored{kNone, kNone}, real{kNone, kNone};
    bool made = false;
  };

  Result<Forms*> FormsOf(TensorIndex tensor);
  Status Check(TensorIndex tensor, ValueId id) const;
  std::string NameOf(TensorIndex tensor) const;
  Result<std::vector<ValueId>> ScaleInputs(Emitter& emit, const Quantization& quantization, DType dtype);
  Result<ValueId> PermutedConstant(TensorIndex tensor, const std::vector<int64_t>& perm, size_t rank);

  Result<VariableId> OwnVariable(TensorIndex tensor, const TensorInfo& info);

  ModelFile& file_;
  const fb::SubGraph& graph_;
  Scope& scope_;
  Emitter& emitter_;
  const uint32_t index_;
  const std::string prefix_;
  std::vector<std::optional<TensorInfo>> infos_;
  std::vector<Forms> forms_;
  std::unordered_set<std::string> names_;
  std::map<std::pair<TensorIndex, std::vector<int64_t>>, ValueId> permuted_;
  std::map<TensorIndex, VariableId> variables_;
};

}  // namespace deputy::host::tflite_import
