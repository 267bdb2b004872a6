// Constants of the model on their way into the device.
#pragma once

#include <cstdint>
#include <vector>

#include "deputy/sdk/sdk.hpp"

namespace sim_npu {

// The elements of a float32 or float16 constant.
std::vector<float> ReadConstant(const deputy::sdk::ValueView& value);
// The same as the device holds them: rounded to halves.
std::vector<float> ReadRounded(const deputy::sdk::ValueView& value);
// Is `value` a constant of numbers that a half can hold? The verdict of a node that needs it so.
deputy::sdk::Verdict CheckConstant(const deputy::sdk::ValueView& value, const char* what);

}  // namespace sim_npu
