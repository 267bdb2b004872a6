#include "import/onnx/scope.hpp"

#include "base/printable.hpp"

namespace deputy::host::onnx_import {

Status Scope::Define(const std::string& name, ValueId id) {
  if (name.empty()) return Error(StatusCode::kModel, "a value has no name");
  if (unusable_.count(name) != 0 || !values_.emplace(name, id).second)
    return Error(StatusCode::kModel, "value '{}' is made twice", Printable(name));
  return {};
}

Status Scope::DefineUnusable(const std::string& name, Status reason) {
  if (HasOwn(name)) return Error(StatusCode::kModel, "value '{}' is made twice", Printable(name));
  unusable_.emplace(name, std::move(reason));
  return {};
}

Result<ValueId> Scope::Resolve(const std::string& name) {
  const auto known = values_.find(name);
  if (known != values_.end()) return known->second;
  const auto unusable = unusable_.find(name);
  if (unusable != unusable_.end()) return unusable->second;
  if (outer_ == nullptr) return Error(StatusCode::kModel, "reads '{}', which nothing makes", Printable(name));
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
