// A model of several nodes on an opened delegate.
#pragma once

#include <string>

#include "cases/models.hpp"
#include "shown_model.hpp"

namespace deputy::conformance {

class ModelGraph final : public ShownModel {
 public:
  // `model` must outlive it.
  explicit ModelGraph(const ModelCase& model);
  Tolerance ToleranceIn(const Claim& claim, deputy_value_id id, deputy_dtype computes_in) const override;

 private:
  const ModelCase& model_;
};

}  // namespace deputy::conformance
