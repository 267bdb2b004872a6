// The model for which this thread works, for what is kept about models: one file counts once, in all shapes and
// parts in which a plugin sees it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/digest.hpp"
#include "base/mutex.hpp"

namespace deputy::host {

class ModelIdentity {
 public:
  // `make`: the digest of the model's content, when it is first needed.
  ModelIdentity(std::string name, std::function<Digest()> make) : name_(std::move(name)), make_(std::move(make)) {}

  const std::string& name() const { return name_; }
  // The first call reads the whole model. [any-thread]
  Digest digest() const;

 private:
  const std::string name_;
  const std::function<Digest()> make_;
  mutable Mutex mutex_;
  mutable std::optional<Digest> digest_ DEPUTY_GUARDED_BY(mutex_);
};

class ModelScope {
 public:
  // `model` may be null, and outlives the scope.
  explicit ModelScope(const std::shared_ptr<const ModelIdentity>& model);
  ~ModelScope();
  ModelScope(const ModelScope&) = delete;
  ModelScope& operator=(const ModelScope&) = delete;

  // Of this thread's innermost scope; null without one.
  static std::shared_ptr<const ModelIdentity> Current();

 private:
  const std::shared_ptr<const ModelIdentity>* const before_;
};

}  // namespace deputy::host
