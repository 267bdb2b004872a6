#include "device.hpp"

#include <glob.h>

#include <algorithm>
#include <cctype>
#include <mutex>
#include <sstream>

namespace openvino {
namespace {

bool ExistsAny(const char* pattern) {
  glob_t found{};
  const bool any = glob(pattern, GLOB_NOSORT, nullptr, &found) == 0 && found.gl_pathc > 0;
  globfree(&found);
  return any;
}

// Empty where the device lacks the property.
std::string TextOf(const std::string& device, const char* property) {
  try {
    return SharedCore()->get_property(device, property).as<std::string>();
  } catch (const std::exception&) {
    return {};
  }
}

// The address on the bus tells cards apart; the number in OpenVINO's name changes when cards come and go.
std::string IdOf(const std::string& device) {
  const std::string kind = device.substr(0, device.find('.'));
  if (kind == "CPU") return kind;
  for (const char* property : {"DEVICE_PCI_INFO", "DEVICE_UUID"}) {
    const std::string text = TextOf(device, property);
    if (!text.empty()) return kind + "-" + text;
  }
  return device;
}

Device Describe(const std::string& name) {
  Device device;
  device.name = name;
  device.description.id = IdOf(name);
  device.description.name = TextOf(name, "FULL_DEVICE_NAME");
  if (device.description.name.empty()) device.description.name = name;
  device.description.kind = name.compare(0, 3, "CPU") == 0   ? sdk::DeviceKind::kCpu
                            : name.compare(0, 3, "GPU") == 0 ? sdk::DeviceKind::kGpu
                            : name.compare(0, 3, "NPU") == 0 ? sdk::DeviceKind::kNpu
                                                             : sdk::DeviceKind::kOther;
  device.description.driver = "OpenVINO " + VersionOfOpenVino();
  return device;
}

}  // namespace

std::shared_ptr<ov::Core> SharedCore() {
  static std::mutex mutex;
  static std::weak_ptr<ov::Core> shared;
  const std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<ov::Core> core = shared.lock();
  if (core == nullptr) {
    core = std::make_shared<ov::Core>();
    core->set_property(ov::force_tbb_terminate(true));
    shared = core;
  }
  return core;
}

std::vector<Device> FindDevices() {
  const std::shared_ptr<ov::Core> kept = SharedCore();
  std::vector<Device> devices = {Describe("CPU")};
  for (const auto& [kind, files] : {std::pair("GPU", "/dev/dri/renderD*"), std::pair("NPU", "/dev/accel/accel*")}) {
    if (!ExistsAny(files)) continue;
    try {
      const ov::Any found = SharedCore()->get_property(kind, ov::available_devices.name());
      for (const std::string& number : found.as<std::vector<std::string>>())
        devices.push_back(Describe(number.empty() ? std::string(kind) : std::string(kind) + "." + number));
    } catch (const std::exception&) {
      // The file belongs to something else, or OpenVINO's library for such devices is not installed.
    }
  }
  return devices;
}

std::string VersionOfOpenVino() { return ov::get_openvino_version().buildNumber; }

namespace {

struct TypePair {
  sdk::DType dtype;
  ov::element::Type_t type;
};
constexpr TypePair kTypes[] = {
    {sdk::DType::kFloat32, ov::element::Type_t::f32},   {sdk::DType::kFloat16, ov::element::Type_t::f16},
    {sdk::DType::kBFloat16, ov::element::Type_t::bf16}, {sdk::DType::kFloat64, ov::element::Type_t::f64},
    {sdk::DType::kBool, ov::element::Type_t::boolean},  {sdk::DType::kInt8, ov::element::Type_t::i8},
    {sdk::DType::kUint8, ov::element::Type_t::u8},      {sdk::DType::kInt16, ov::element::Type_t::i16},
    {sdk::DType::kUint16, ov::element::Type_t::u16},    {sdk::DType::kInt32, ov::element::Type_t::i32},
    {sdk::DType::kUint32, ov::element::Type_t::u32},    {sdk::DType::kInt64, ov::element::Type_t::i64},
    {sdk::DType::kUint64, ov::element::Type_t::u64}};

}  // namespace

ov::element::Type ElementTypeOf(sdk::DType dtype) {
  for (const TypePair& pair : kTypes)
    if (dtype == pair.dtype) return pair.type;
  return ov::element::dynamic;
}

std::string MessageOf(const std::exception& error) {
  constexpr size_t kMost = 300;
  std::istringstream lines(error.what());
  std::string text, line;
  while (std::getline(lines, line)) {
    if (line.compare(0, 15, "Exception from ") == 0) continue;
    const size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos) continue;
    if (!text.empty()) text += "; ";
    text.append(line, begin, line.find_last_not_of(" \t\r") + 1 - begin);
  }
  text.erase(std::remove_if(text.begin(), text.end(), [](unsigned char c) { return std::iscntrl(c) != 0; }),
             text.end());
  if (text.size() > kMost) {
    size_t end = kMost;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // not inside of a character
    text = text.substr(0, end) + "...";
  }
  return text.empty() ? "OpenVINO gave no reason" : "OpenVINO: " + text;
}

}  // namespace openvino
