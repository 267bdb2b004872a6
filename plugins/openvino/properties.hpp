// The options of the delegate: those of its own, and one for each property of OpenVINO's CPU device that can be written
// and has an effect here, made from what the installed OpenVINO lists in SUPPORTED_PROPERTIES.
#pragma once

#include <map>
#include <string>

#include "device.hpp"

namespace openvino {

sdk::OptionSchema MakeOptions();

// What models are compiled with. INVALID_ARGUMENT for an option that the device does not have.
sdk::Result<ov::AnyMap> PropertiesOf(const sdk::OptionValues& options, const std::string& device, uint32_t threads);

// The options' values as a compiled model says that they are.
std::map<std::string, std::string> ReadBack(const ov::CompiledModel& model, const sdk::OptionValues& options);

// The name of OpenVINO for the element type of the hint; empty for types that no hint has.
std::string HintOf(sdk::DType dtype);

}  // namespace openvino
