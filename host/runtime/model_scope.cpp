#include "runtime/model_scope.hpp"

namespace deputy::host {
namespace {

thread_local const std::shared_ptr<const ModelIdentity>* current_model = nullptr;

}  // namespace

Digest ModelIdentity::digest() const {
  const MutexLock lock(mutex_);
  if (!digest_) digest_ = make_();
  return *digest_;
}

ModelScope::ModelScope(const std::shared_ptr<const ModelIdentity>& model) : before_(current_model) {
  current_model = &model;
}

ModelScope::~ModelScope() { current_model = before_; }

std::shared_ptr<const ModelIdentity> ModelScope::Current() {
  return current_model == nullptr ? nullptr : *current_model;
}

}  // namespace deputy::host
