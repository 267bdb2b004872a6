// A shared library with an external delegate of TensorFlow Lite, and the delegate that it makes.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../tflite_abi/tflite_abi.hpp"
#include "deputy/sdk/sdk.hpp"

namespace tflite_external {

// [one-thread]
class ForeignDelegate {
 public:
  // The library is found beside this plugin where its name has no '/' and a file is there, otherwise by dlopen; it is
  // never closed. Options are passed unchanged.
  static deputy::sdk::Result<std::unique_ptr<ForeignDelegate>> Open(
      const std::string& library, const std::vector<std::pair<std::string, std::string>>& options);
  ~ForeignDelegate();
  ForeignDelegate(const ForeignDelegate&) = delete;
  ForeignDelegate& operator=(const ForeignDelegate&) = delete;

  deputy::tflite_abi::Delegate* get() const { return delegate_; }

 private:
  using Destroy = void (*)(deputy::tflite_abi::Delegate*);
  ForeignDelegate(deputy::tflite_abi::Delegate* delegate, Destroy destroy) : delegate_(delegate), destroy_(destroy) {}

  deputy::tflite_abi::Delegate* delegate_;
  Destroy destroy_;
};

// "key=value" with ';' between them; kInvalidArgument for one without '='.
deputy::sdk::Result<std::vector<std::pair<std::string, std::string>>> ReadOptions(const std::string& text);

}  // namespace tflite_external
