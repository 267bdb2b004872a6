#include "plugin/discovery/device_names.hpp"

#include <algorithm>

namespace deputy::host {
namespace {

// Beginnings of names, each of one driver: the kernel's "Documentation/admin-guide/devices.txt" and
// "Documentation/accel", and the documents of the vendors' drivers.
constexpr std::string_view kAccelerators[] = {
    "accel/",     // compute accelerators of the kernel's subsystem: Habana, Intel NPU, Qualcomm AIC100, AMD XDNA
    "dri/",       // GPUs of the kernel's subsystem
    "kfd",        // AMD GPUs for computing
    "nvidia",     // NVIDIA GPUs
    "nvhost-",    // NVIDIA Tegra, with nvmap
    "nvmap",      //
    "dxg",        // GPUs of the host of a virtual machine
    "mali",       // Arm Mali and Immortalis
    "ethosu",     // Arm Ethos-U
    "kgsl-",      // Qualcomm Adreno
    "adsprpc-",   // Qualcomm Hexagon, with fastrpc-
    "fastrpc-",   //
    "pvr",        // Imagination PowerVR
    "galcore",    // VeriSilicon
    "rknpu",      // Rockchip
    "apusys",     // MediaTek
    "apex_",      // Coral
    "davinci",    // Huawei Ascend, with the two below
    "devmm_svm",  //
    "hisi_hdc",   //
    "hailo",      // Hailo
    "neuron",     // AWS Inferentia and Trainium
    "tenstorrent/",
    "dma_heap/",  // buffers that drivers share
};

}  // namespace

bool IsDeviceName(std::string_view name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/*?";
  if (name.empty() || name.front() == '/' || name.back() == '/' ||
      name.find_first_not_of(kAllowed) != std::string_view::npos)
    return false;
  while (!name.empty()) {
    const size_t slash = std::min(name.find('/'), name.size());
    const std::string_view part = name.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    name.remove_prefix(std::min(slash + 1, name.size()));
  }
  return true;
}

bool IsAccelerator(std::string_view name) {
  return std::any_of(std::begin(kAccelerators), std::end(kAccelerators),
                     [name](std::string_view driver) { return name.substr(0, driver.size()) == driver; });
}

bool HasAccelerator(const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), IsAccelerator);
}

}  // namespace deputy::host
