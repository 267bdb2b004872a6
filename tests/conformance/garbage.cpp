#include "garbage.hpp"

#include <onnx/onnx.pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "onnx_model.hpp"

namespace deputy::conformance {
namespace {

using reference::Attribute;
using reference::Dims;
using reference::Tensor;

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min(), kLargest = std::numeric_limits<int64_t>::max();
// Numbers that stand where an extent, an axis, an index or a count is wanted.
constexpr std::array kWholes = {int64_t{0},      int64_t{-1}, int64_t{1}, int64_t{2},       int64_t{-2},
                                int64_t{9},      kLowest,     kLargest,   int64_t{1} << 31, -(int64_t{1} << 31) - 1,
                                int64_t{1} << 40};
constexpr float kInfinity = std::numeric_limits<float>::infinity();
const std::array kFloats = {0.0f, -1.0f, std::nanf(""), kInfinity, -kInfinity, 1e30f, -1e30f, 1e-45f};
constexpr std::array kTypes = {DEPUTY_DTYPE_FLOAT32, DEPUTY_DTYPE_FLOAT64, DEPUTY_DTYPE_FLOAT16, DEPUTY_DTYPE_BFLOAT16,
                               DEPUTY_DTYPE_INT8,    DEPUTY_DTYPE_INT32,   DEPUTY_DTYPE_INT64,   DEPUTY_DTYPE_UINT8,
                               DEPUTY_DTYPE_UINT64,  DEPUTY_DTYPE_BOOL};

// The elements again and again, as far as they are wanted.
Tensor WithDims(const Tensor& from, Dims dims) {
  Tensor made(from.dtype, std::move(dims));
  if (from.count() == 0) return made;
  for (int64_t i = 0; i < made.count(); ++i) made.Copy(i, from, i % from.count());
  return made;
}

Tensor WithType(const Tensor& from, deputy_dtype dtype) {
  Tensor made(dtype, from.dims);
  for (int64_t i = 0; i < made.count(); ++i) {
    const double value = reference::IsReal(from.dtype) ? from.real[static_cast<size_t>(i)]
                                                       : static_cast<double>(from.whole[static_cast<size_t>(i)]);
    if (reference::IsReal(dtype))
      made.Put(i, value);
    else
      made.Put(i, static_cast<int64_t>(value));
  }
  return made;
}

class Mutator {
 public:
  Mutator(const Case& original, const std::vector<Case>& siblings, uint64_t seed)
      : original_(original), siblings_(siblings), random_(seed) {
    for (const char letter : original.name()) random_.seed(random_() ^ static_cast<uint64_t>(letter));
  }

  std::vector<Mutant> Run() {
    std::map<std::string, Attribute> attributes;
    for (const Case& sibling : siblings_)
      for (const auto& [name, value] : sibling.node.attributes) attributes.emplace(name, value);
    for (const auto& [name, value] : original_.node.attributes) {
      attributes[name] = value;
      Case& made = Add(name + " is left out");
      made.node.attributes.erase(name);
    }
    for (const auto& [name, value] : attributes) ChangeAttribute(name, value);
    for (size_t i = 0; i < original_.inputs.size(); ++i)
      if (original_.inputs[i].present) ChangeInput(i);
    ChangeOutputs();
    for (const int32_t version : {-1, 0, 1, 5, 9, 12, 24, 1000})
      Add("version " + std::to_string(version)).node.since_version = version;
    return std::move(mutants_);
  }

 private:
  Case& Add(const std::string& what) {
    mutants_.push_back({original_.name() + ", " + what, original_});
    return mutants_.back().made;
  }
  size_t Draw(size_t below) { return static_cast<size_t>(random_() % below); }

  void SetAttribute(const std::string& name, Attribute value) {
    Add(name + "=" + TextOf(value)).node.attributes[name] = std::move(value);
  }

  void ChangeAttribute(const std::string& name, const Attribute& value) {
    const std::array kinds = {Attribute::Int(1),
                              Attribute::Float(1),
                              Attribute::String("1"),
                              Attribute::Ints({1, 1}),
                              Attribute::Floats({1}),
                              Attribute::Strings({"1"}),
                              Attribute::OfTensor(WholeScalar(1))};
    for (const Attribute& kind : kinds)
      if (kind.type != value.type) SetAttribute(name, kind);
    switch (value.type) {
      case DEPUTY_ATTRIBUTE_INT:
        for (const int64_t whole : kWholes) SetAttribute(name, Attribute::Int(whole));
        return;
      case DEPUTY_ATTRIBUTE_FLOAT:
        for (const float real : kFloats) SetAttribute(name, Attribute::Float(real));
        return;
      case DEPUTY_ATTRIBUTE_STRING:
        for (const char* word : {"", "unknown", "\x1b[31m%n%s", "sum;i,j->k", "...,...->..."})
          SetAttribute(name, Attribute::String(word));
        SetAttribute(name, Attribute::String(std::string(5000, 'A')));
        return;
      case DEPUTY_ATTRIBUTE_INTS: return ChangeInts(name, value.ints);
      case DEPUTY_ATTRIBUTE_FLOATS: return ChangeFloats(name, value.floats);
      case DEPUTY_ATTRIBUTE_STRINGS: return ChangeStrings(name, value.strings);
      case DEPUTY_ATTRIBUTE_TENSOR: return ChangeTensor(name, value.tensor);
      default: return;
    }
  }

  void ChangeInts(const std::string& name, const std::vector<int64_t>& list) {
    SetAttribute(name, Attribute::Ints({}));
    std::vector<int64_t> longer = list, shorter = list;
    longer.push_back(1);
    SetAttribute(name, Attribute::Ints(longer));
    SetAttribute(name, Attribute::Ints(std::vector<int64_t>(33, 1)));
    if (list.empty()) return;
    shorter.pop_back();
    SetAttribute(name, Attribute::Ints(shorter));
    for (const int64_t whole : kWholes) {
      std::vector<int64_t> one = list;
      one[Draw(one.size())] = whole;
      SetAttribute(name, Attribute::Ints(one));
      SetAttribute(name, Attribute::Ints(std::vector<int64_t>(list.size(), whole)));
    }
  }

  void ChangeFloats(const std::string& name, const std::vector<float>& list) {
    SetAttribute(name, Attribute::Floats({}));
    std::vector<float> longer = list, shorter = list;
    longer.push_back(1);
    SetAttribute(name, Attribute::Floats(longer));
    if (list.empty()) return;
    shorter.pop_back();
    SetAttribute(name, Attribute::Floats(shorter));
    for (const float real : kFloats) {
      std::vector<float> one = list;
      one[Draw(one.size())] = real;
      SetAttribute(name, Attribute::Floats(one));
    }
  }

  void ChangeStrings(const std::string& name, const std::vector<std::string>& list) {
    SetAttribute(name, Attribute::Strings({}));
    std::vector<std::string> longer = list, shorter = list, strange = list;
    longer.push_back("Tanh");
    SetAttribute(name, Attribute::Strings(longer));
    if (list.empty()) return;
    shorter.pop_back();
    SetAttribute(name, Attribute::Strings(shorter));
    strange[Draw(strange.size())] = "\x1b[31m%n";
    SetAttribute(name, Attribute::Strings(strange));
  }

  void ChangeTensor(const std::string& name, const Tensor& tensor) {
    for (const deputy_dtype dtype : kTypes) SetAttribute(name, Attribute::OfTensor(WithType(tensor, dtype)));
    for (const Dims& dims : {Dims{}, Dims{0}, Dims{2}, Dims{1, 1, 1, 1, 1, 1, 1, 1, 1}})
      SetAttribute(name, Attribute::OfTensor(WithDims(tensor, dims)));
  }

  void ChangeInput(size_t i) {
    const Tensor& value = original_.inputs[i].value;
    const std::string name = "input " + std::to_string(i);
    Add(name + " is left out").inputs[i].present = false;
    Case& fewer = Add(name + " and those behind it are left out");
    fewer.inputs.resize(i);
    ChangeExtents(i, name);
    for (const deputy_dtype dtype : kTypes)
      if (dtype != value.dtype) Add(name + " is " + reference::NameOf(dtype)).inputs[i].value = WithType(value, dtype);
    if (value.count() == 0) return;
    if (reference::IsReal(value.dtype))
      ChangeReals(i, name);
    else
      ChangeWholes(i, name);
  }

  void SetDims(size_t i, const std::string& name, const Dims& dims) {
    Add(name + " is " + TextOf(dims)).inputs[i].value = WithDims(original_.inputs[i].value, dims);
  }

  void ChangeExtents(size_t i, const std::string& name) {
    const Dims& dims = original_.inputs[i].value.dims;
    for (size_t axis = 0; axis < dims.size(); ++axis)
      for (const int64_t extent : {int64_t{0}, int64_t{1}, dims[axis] - 1, dims[axis] + 1, 2 * dims[axis]}) {
        Dims changed = dims;
        changed[axis] = extent;
        if (extent >= 0 && extent != dims[axis]) SetDims(i, name, changed);
      }
    Dims longer = dims, stretched = dims, deep(9, 1), deeper(70, 1);
    longer.insert(longer.begin(), 1);
    SetDims(i, name, longer);
    stretched.push_back(2);
    SetDims(i, name, stretched);
    std::copy(dims.begin(), dims.end(), deep.end() - static_cast<ptrdiff_t>(dims.size()));
    SetDims(i, name, deep);
    std::copy(dims.begin(), dims.end(), deeper.end() - static_cast<ptrdiff_t>(dims.size()));
    SetDims(i, name, deeper);
    SetDims(i, name, {0});
    if (dims.empty()) return;
    SetDims(i, name, {});
    SetDims(i, name, Dims(dims.begin() + 1, dims.end()));
    SetDims(i, name, Dims(dims.begin(), dims.end() - 1));
  }

  void ChangeReals(size_t i, const std::string& name) {
    const size_t count = static_cast<size_t>(original_.inputs[i].value.count());
    for (const float real : kFloats) {
      const size_t at = Draw(count);
      Add(name + "[" + std::to_string(at) + "]=" + std::to_string(real))
          .inputs[i]
          .value.Put(static_cast<int64_t>(at), double{real});
      Tensor& all = Add(name + " all " + std::to_string(real)).inputs[i].value;
      for (size_t e = 0; e < count; ++e) all.Put(static_cast<int64_t>(e), double{real});
    }
  }

  // Bounds of indices are the extents of any of the inputs.
  void ChangeWholes(size_t i, const std::string& name) {
    const Tensor& value = original_.inputs[i].value;
    const size_t count = static_cast<size_t>(value.count());
    std::vector<int64_t> wholes(kWholes.begin(), kWholes.end());
    for (const Operand& other : original_.inputs)
      for (const int64_t extent : other.value.dims)
        if (other.present) wholes.insert(wholes.end(), {extent, extent + 1, -extent, -extent - 1});
    std::sort(wholes.begin(), wholes.end());
    wholes.erase(std::unique(wholes.begin(), wholes.end()), wholes.end());
    for (const int64_t whole : wholes) {
      const size_t at = Draw(count);
      Add(name + "[" + std::to_string(at) + "]=" + std::to_string(whole))
          .inputs[i]
          .value.Put(static_cast<int64_t>(at), whole);
      if (count == 1) continue;
      Tensor& all = Add(name + " all " + std::to_string(whole)).inputs[i].value;
      for (size_t e = 0; e < count; ++e) all.Put(static_cast<int64_t>(e), whole);
    }
    for (const int64_t step : {1, -1}) {
      Tensor& all = Add(name + " all by " + std::to_string(step)).inputs[i].value;
      for (size_t e = 0; e < count; ++e) all.Put(static_cast<int64_t>(e), value.whole[e] + step);
    }
  }

  void ChangeOutputs() {
    Add("one output more").node.output_count = original_.node.output_count + 1;
    Add("nine outputs").node.output_count = 9;
    if (original_.node.output_count > 1) Add("one output less").node.output_count = original_.node.output_count - 1;
    Add("no output").node.output_count = 0;
    Case& more = Add("one input more");
    more.inputs.push_back({RealScalar(1), true, false});
    Case& many = Add("forty inputs more");
    if (!many.inputs.empty()) many.inputs.insert(many.inputs.end(), 40, Operand(many.inputs.front()));
  }

  const Case& original_;
  const std::vector<Case>& siblings_;
  std::mt19937_64 random_;
  std::vector<Mutant> mutants_;
};

}  // namespace

std::vector<Mutant> MutantsOf(const Case& original, const std::vector<Case>& siblings, uint64_t seed) {
  return Mutator(original, siblings, seed).Run();
}

const char* NameOf(Form form) {
  switch (form) {
    case Form::kAsItIs: return "as it is";
    case Form::kAtRunTime: return "at run time";
    case Form::kConstant: return "constant";
  }
  return "";
}

std::vector<uint8_t> GarbageModel(const Case& made, Form form, const std::vector<Tensor>& declared) {
  Case shown = made;
  if (form != Form::kAsItIs)
    for (Operand& input : shown.inputs) input.constant = form == Form::kConstant;
  std::vector<Tensor> outputs = declared;
  outputs.resize(made.node.output_count, Tensor(DEPUTY_DTYPE_FLOAT32, {}));
  const std::vector<uint8_t> bytes = OnnxModel(shown, outputs);
  if (form != Form::kAtRunTime) return bytes;
  ::onnx::ModelProto model;
  model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  for (auto& input : *model.mutable_graph()->mutable_input())
    input.mutable_type()->mutable_tensor_type()->clear_shape();
  for (auto& output : *model.mutable_graph()->mutable_output())
    output.mutable_type()->mutable_tensor_type()->clear_shape();
  const std::string text = model.SerializeAsString();
  return {text.begin(), text.end()};
}

}  // namespace deputy::conformance
