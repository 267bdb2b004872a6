// One operator of the file during its conversion to nodes: its operands, its options, and functions common to
// operators.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "import/tflite/emitter.hpp"
#include "import/tflite/model_file.hpp"
#include "import/tflite/subgraphs.hpp"
#include "import/tflite/tensors.hpp"

namespace deputy::host::tflite_import {

class Operation {
 public:
  Operation(Subgraphs& all_subgraphs, const fb::Operator& table, std::vector<TensorIndex> inputs,
            std::vector<TensorIndex> outputs, Scope& its_scope, Tensors& all_tensors)
      : emit(its_scope.emit),
        scope(its_scope),
        tensors(all_tensors),
        subgraphs(all_subgraphs),
        file_(all_subgraphs.file),
        table_(table),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)) {}

  Emitter& emit;
  Scope& scope;
  Tensors& tensors;
  Subgraphs& subgraphs;

  size_t input_count() const { return inputs_.size(); }
  size_t output_count() const { return outputs_.size(); }
  bool has_input(size_t i) const { return i < inputs_.size() && inputs_[i] >= 0; }
  TensorIndex input(size_t i) const { return inputs_[i]; }
  TensorIndex output(size_t i = 0) const { return outputs_[i]; }
  std::span<const TensorIndex> inputs() const { return inputs_; }
  std::span<const TensorIndex> outputs() const { return outputs_; }

  // The options, with their defaults if the file has none.
  template <class T>
  Result<const T*> Options() const {
    // A table without fields, after its empty list of fields.
    alignas(8) static constexpr uint16_t kNothing[] = {4, 4, 4, 0};
    if (table_.builtin_options() == nullptr) return static_cast<const T*>(static_cast<const void*>(kNothing + 2));
    const T* options = file_.Verified<T>(table_.builtin_options());
    if (options == nullptr) return Error(StatusCode::kModel, "has corrupt builtin_options");
    return options;
  }
  Result<std::vector<int64_t>> Ints(const flatbuffers::Vector<int32_t>* list) const { return file_.Ints(list); }
  Result<std::string> Text(const flatbuffers::String* text) const { return file_.Text(text); }

  // A tensor beside inputs and outputs that gives the quantization of an intermediate result.
  Result<TensorIndex> Intermediate(size_t i) const;

  // An axis counted from the front; fails when it is out of range.
  Result<size_t> Axis(int64_t axis, size_t rank) const;
  // Whether the operator may compute on elements as they are stored: the quantization of both is the same, or neither
  // has one.
  Result<bool> Alike(TensorIndex a, TensorIndex b) const;
  // The layout in which operands of an element-wise operator need the fewest Transposes.
  Result<Layout> CommonLayout(std::span<const TensorIndex> operands) const;
  // An operand as it is stored, or as real numbers.
  Result<ValueId> Operand(size_t i, bool stored, Layout layout = Layout::kFile) const;
  Status Set(ValueId id, bool stored, Layout layout = Layout::kFile, size_t i = 0) const;

  // The activation after an operator; omitted if the range of a quantized output implies it.
  Result<ValueId> Activated(ValueId id, fb::Activation activation) const;
  // Emits the nodes for all inputs, element by element, with broadcasting.
  using Make = std::function<Result<ValueId>(std::span<const ValueId>)>;
  Status Elementwise(bool stored, const Make& make) const;
  // On stored elements if the quantization of all operands is the same, otherwise on real numbers.
  Status ElementwiseWhereAlike(const Make& make) const;
  // The layout for an operator on one operand that removes these axes of the file's order from its result, which is in
  // the file's order.
  Result<Layout> LayoutWithout(TensorIndex operand, std::span<const size_t> removed) const;

 private:
  ModelFile& file_;
  const fb::Operator& table_;
  std::vector<TensorIndex> inputs_, outputs_;
};

// Axes of the file's order as indexes in `layout`.
std::vector<int64_t> AxesIn(Layout layout, std::span<const size_t> axes);
int64_t AxisIn(Layout layout, size_t axis);

// Indexes of inputs.
struct BiasPlaces {
  size_t input, weights, bias;
};

// The bias of a convolution or product in real numbers; kNone if there is none. Integers are sums of products: their
// scale is the input's times the weights', regardless of the scale in the file.
Result<ValueId> ImportBias(const Operation& op, BiasPlaces places, int64_t channels);

}  // namespace deputy::host::tflite_import
