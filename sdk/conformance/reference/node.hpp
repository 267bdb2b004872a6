// The arguments of an oracle kernel: one node with its attributes, and its inputs. An absent attribute has the default
// that the kernel names, which is ONNX's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "deputy/abi/graph.h"
#include "reference/tensor.hpp"

namespace deputy::conformance::reference {

struct Attribute {
  deputy_attribute_type type = DEPUTY_ATTRIBUTE_NONE;
  int64_t i = 0;
  float f = 0;
  std::string s;
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<std::string> strings;
  Tensor tensor;

  static Attribute Int(int64_t value);
  static Attribute Float(float value);
  static Attribute String(std::string value);
  static Attribute Ints(std::vector<int64_t> values);
  static Attribute Floats(std::vector<float> values);
  static Attribute Strings(std::vector<std::string> values);
  static Attribute OfTensor(Tensor value);
};

using Attributes = std::map<std::string, Attribute>;

struct Node {
  std::string op_type, domain;
  int32_t since_version = 1;
  Attributes attributes;
  size_t output_count = 1;  // number of requested outputs

  // The operator as the SDK's list names it: "Attention", and "Microsoft_Attention" of com.microsoft's.
  std::string name() const;
  bool Has(const std::string& name) const { return attributes.count(name) != 0; }
  int64_t Int(const std::string& name, int64_t otherwise) const;
  double Float(const std::string& name, float otherwise) const;
  std::string String(const std::string& name, std::string otherwise) const;
  std::vector<int64_t> Ints(const std::string& name, std::vector<int64_t> otherwise) const;
  std::vector<float> Floats(const std::string& name, std::vector<float> otherwise) const;
  std::vector<std::string> Strings(const std::string& name, std::vector<std::string> otherwise) const;
};

// One per input of the node; NULL where it is omitted. Inputs behind the last one are omitted as well.
using Inputs = std::vector<const Tensor*>;

inline const Tensor* At(const Inputs& inputs, size_t i) { return i < inputs.size() ? inputs[i] : nullptr; }
// The elements of a list of integers.
std::vector<int64_t> ListOf(const Tensor& tensor);

// A sliding window over the spatial dimensions, for convolutions and pools, as ONNX defines it.
struct Window {
  Dims kernel, strides, dilations, before, after, out;

  // A pool's window that is too large by less than a stride reads the existing elements; a convolution has no such
  // window.
  enum class Overhang { kNone, kLessThanAStride };
  // Input positions [N, C, D1, D2, ...]; `kernel` are the spatial extents of one window.
  static Window Of(const Node& node, const Dims& input, const Dims& kernel, Overhang overhang);
  size_t rank() const { return kernel.size(); }
  // The position that tap `tap` of the window at `at` reads along dimension `axis`; may be outside.
  int64_t Position(size_t axis, int64_t at, int64_t tap) const {
    return at * strides[axis] + tap * dilations[axis] - before[axis];
  }
};

using Kernel = std::vector<Tensor> (*)(const Node& node, const Inputs& inputs);
struct KernelRow {
  const char* name;  // of the operator in the SDK's list
  Kernel kernel;
};
using KernelRows = std::vector<KernelRow>;

// The outputs of a node, computed in the simplest way; empty for an operator that the oracle does not know, and in
// training.
std::vector<Tensor> Compute(const Node& node, const Inputs& inputs);
bool Knows(const std::string& name);

// The operators of the SDK's list that the oracle deliberately does not know, each with the reason.
struct Absence {
  const char *op_type, *reason;
};
const std::vector<Absence>& Absences();

// The families, one file each.
// clang-format off
#define DEPUTY_KERNEL_FAMILIES(X) \
  X(Elementwise) X(Binary) X(Convolution) X(Pooling) X(Matrix) X(Normalization) X(Movement) X(Indexing) X(Reduction) \
  X(Resize) X(Quantization) X(Recurrent) X(Attention) X(Sampling) X(Detection) X(Signal) X(Selection) X(Generation) \
  X(Microsoft) X(MicrosoftAttention) X(MicrosoftQuantized)
// clang-format on
#define DEPUTY_DECLARE(family) KernelRows family##Kernels();
DEPUTY_KERNEL_FAMILIES(DEPUTY_DECLARE)
#undef DEPUTY_DECLARE

}  // namespace deputy::conformance::reference
