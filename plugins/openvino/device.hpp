// OpenVINO as the plugin uses it: one core for all delegates, the devices that it has here, and the words of its
// errors.
#pragma once

#include <exception>
#include <memory>
#include <openvino/openvino.hpp>
#include <string>
#include <vector>

#include "deputy/sdk/sdk.hpp"

namespace openvino {

namespace sdk = deputy::sdk;

// The one of all delegates and executables, which keep it; the last one that lets it go ends OpenVINO's threads.
// Throws ov::Exception. [any-thread]
std::shared_ptr<ov::Core> SharedCore();

struct Device {
  std::string name;  // OpenVINO's: "CPU", "GPU.0"
  sdk::DeviceDescription description;
};

// The CPU first. The libraries for GPUs and NPUs are loaded only where the kernel has such a device, because that takes
// tens of milliseconds and more. Throws ov::Exception.
std::vector<Device> FindDevices();

// "2026.4.1-22982-..."
std::string VersionOfOpenVino();

// Dynamic (no type) for types that tensors of runs cannot have.
ov::element::Type ElementTypeOf(sdk::DType dtype);

// One line, without the names of OpenVINO's sources.
std::string MessageOf(const std::exception& error);

}  // namespace openvino
