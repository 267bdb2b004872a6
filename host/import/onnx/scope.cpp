#include "import/onnx/scope.hpp"

#include "base/printable.hpp"
#include "tensor/shape.hpp"

namespace deputy::host::onnx_import {

Status Scope::Define(const std::string& name, ValueId id) {
  if (name.empty()) return Error(StatusCode::kModel, "a value has no name");
  if (unusable_.count(name) != 0 || !values_.emplace(name, id).second)
    return Error(StatusCode::kModel, "value '{}' is made twice", Printable(name));
  return {};
}

Status Scope::DefineConstant(const std::string& name, std::string value_name, Tensor tensor) {
  const auto known = values_.find(name);
  if (known == values_.end() || constants_.count(known->second) == 0) {
    const ValueId id = graph_.AddConstant(std::move(value_name), std::move(tensor));
    constants_.insert(id);
    return Define(name, id);
  }
  Tensor& before = graph_.values[known->second].constant;
  if (before.dtype() != tensor.dtype() || before.shape() != tensor.shape())
    return Error(StatusCode::kModel, "constant '{}' is given twice, as {} {} and as {} {}", Printable(name),
                 NameOf(before.dtype()), ShapeToString(before.shape()), NameOf(tensor.dtype()),
                 ShapeToString(tensor.shape()));
  before = std::move(tensor);
  return {};
}

Status Scope::DefineUnusable(const std::string& name, Status reason) {
  if (values_.count(name) != 0) return Error(StatusCode::kModel, "value '{}' is made twice", Printable(name));
  unusable_.insert_or_assign(name, std::move(reason));
  return {};
}

Result<ValueId> Scope::Resolve(const std::string& name) {
  const auto known = values_.find(name);
  if (known != values_.end()) return known->second;
  const auto unusable = unusable_.find(name);
  if (unusable != unusable_.end()) return unusable->second;
  if (outer_ == nullptr) return Error(StatusCode::kModel, "reads '{}', which no node produces", Printable(name));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId outside, outer_->Resolve(name));
  ValueId inside = kNone;
  if (outside != kNone) {
    inside = graph_.AddValue(name, outer_->graph_.values[outside].type);
    graph_.captured.push_back(inside);
    region_->captures.push_back(outside);
  }
  values_.emplace(name, inside);
  return inside;
}

}  // namespace deputy::host::onnx_import
