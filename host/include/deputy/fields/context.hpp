// The fields of deputy/context.hpp in reports and options (fields.hpp).
#pragma once

#include <vector>

#include "deputy/context.hpp"

namespace deputy {

template <class V>
void Describe(V& v, DeviceInfo& d) {
  v("name", d.name);
  v("delegate", d.delegate);
  v("device", d.device);
  v("device_name", d.device_name);
  v("required", d.required);
  v("options", d.options);
}

}  // namespace deputy

namespace deputy::fields {

// The options of DeputyContextSetDelegates, and the report of DeputyContextDelegatesInCode.
struct DelegatesInCode {
  std::vector<DeviceInfo> delegates;
};

template <class V>
void Describe(V& v, DelegatesInCode& d) {
  v("delegates", d.delegates);
}

}  // namespace deputy::fields
