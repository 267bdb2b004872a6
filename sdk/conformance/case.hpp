// A conformance case: one node with its inputs. Its label names its differences from the plainest use of its operator,
// so that the label of a failing case names the failure.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "reference/node.hpp"

namespace deputy::conformance {

using reference::Attribute;
using reference::Dims;
using reference::Tensor;

constexpr deputy_dtype kF32 = DEPUTY_DTYPE_FLOAT32, kF64 = DEPUTY_DTYPE_FLOAT64, kF16 = DEPUTY_DTYPE_FLOAT16,
                       kBF16 = DEPUTY_DTYPE_BFLOAT16, kI64 = DEPUTY_DTYPE_INT64, kI32 = DEPUTY_DTYPE_INT32,
                       kI16 = DEPUTY_DTYPE_INT16, kI8 = DEPUTY_DTYPE_INT8, kU64 = DEPUTY_DTYPE_UINT64,
                       kU32 = DEPUTY_DTYPE_UINT32, kU16 = DEPUTY_DTYPE_UINT16, kU8 = DEPUTY_DTYPE_UINT8,
                       kBool = DEPUTY_DTYPE_BOOL;

struct Operand {
  Tensor value;
  bool present = true;
  bool constant = false;  // known when the node is compiled
};

struct Case {
  std::string label;  // "dilations=[2,1]"; "plain"
  reference::Node node;
  std::vector<Operand> inputs;

  reference::Inputs operands() const;
  // "Conv: dilations=[2,1]"
  std::string name() const { return node.name() + ": " + label; }
};

// Are the floats of an input positions, so that other ones may point to elements that do not exist?
bool ArePositions(const reference::Node& node, size_t input);

// The same case with other values in the inputs that are not constant: data of another run must not be in this one.
Case Turned(const Case& tested, size_t turn);

// The same node with the same constants, and inputs of other extents, which the labels name. None for operators whose
// inputs cannot change alone.
std::vector<Case> OtherShapes(const Case& tested);

// Builds the cases of one operator. Values are drawn from a generator that is seeded by the operator's name and `seed`,
// so that a case does not depend on other cases.
class CaseBuilder {
 public:
  CaseBuilder(std::vector<Case>& cases, std::string name, uint64_t seed);

  // Begins the next case, which keeps the settings of Always.
  CaseBuilder& Begin();
  CaseBuilder& In(Tensor value);
  CaseBuilder& Const(Tensor value);
  CaseBuilder& None();
  // An attribute that the label names, and one that it does not.
  CaseBuilder& With(const std::string& name, Attribute value);
  CaseBuilder& Quietly(const std::string& name, Attribute value);
  CaseBuilder& Note(const std::string& text);
  CaseBuilder& Outputs(size_t count);
  // The node's definition; by default the oldest one with the semantics of the newest.
  CaseBuilder& Since(int32_t version);
  // The case is complete. An element type other than float32 is named by itself.
  void Add();

  // Multiples of 1/32 in [low, high], which every float type holds exactly; whole numbers in the integer types.
  Tensor Random(deputy_dtype dtype, Dims dims, double low = -2, double high = 2);
  Tensor Random(Dims dims) { return Random(DEPUTY_DTYPE_FLOAT32, std::move(dims)); }
  // No two elements are equal.
  Tensor Distinct(deputy_dtype dtype, Dims dims);

  const std::string& op_type() const { return name_; }  // as the list names it

 private:
  std::vector<Case>& cases_;
  std::string name_;  // of the operator in the SDK's list
  std::mt19937_64 random_;
  Case made_;
  int32_t since_ = 0;
};

Tensor Whole(std::vector<int64_t> values);  // a list of int64
Tensor WholeScalar(int64_t value);
Tensor Real(std::vector<double> values);  // a list of float32
Tensor RealScalar(double value, deputy_dtype dtype = DEPUTY_DTYPE_FLOAT32);

inline Attribute Int(int64_t value) { return Attribute::Int(value); }
inline Attribute Float(float value) { return Attribute::Float(value); }
inline Attribute Ints(std::vector<int64_t> values) { return Attribute::Ints(std::move(values)); }
inline Attribute Text(std::string value) { return Attribute::String(std::move(value)); }

// "[2,1]", "0.5", "SAME_UPPER"
std::string TextOf(const Attribute& attribute);
std::string TextOf(const Dims& dims);

// All cases, by operator in alphabetical order.
std::vector<Case> AllCases(uint64_t seed);

}  // namespace deputy::conformance
