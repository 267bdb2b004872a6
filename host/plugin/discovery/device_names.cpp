#include "plugin/discovery/device_names.hpp"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace deputy::host {
namespace {

struct Driver {
  std::string_view names;     // their beginning
  std::string_view commands;  // CommandsOf()
};

// Names: the kernel's "Documentation/admin-guide/devices.txt" and "Documentation/accel", and the documents of the
// vendors' drivers. Commands: the headers of these drivers. None may be one by which a file, a socket or a terminal is
// changed ('f', 'X', 0x94, 0x89, 'T'): the descriptors of a process are not all of devices.
using namespace std::string_view_literals;
constexpr Driver kAccelerators[] = {
    {"accel/", "d"},           // compute accelerators of the kernel's subsystem: Habana, Intel NPU, Qualcomm AIC100,
                               // AMD XDNA
    {"dri/", "d"},             // GPUs of the kernel's subsystem
    {"kfd", "K"},              // AMD GPUs for computing
    {"nvidia", "Fm\0"sv},      // NVIDIA GPUs, with nvidia-modeset and nvidia-uvm
    {"nvhost-", "HAGDPSN"},    // NVIDIA Tegra, with nvmap; its groups of channels have the letter of terminals
    {"nvmap", "N"},            //
    {"dxg", "G"},              // GPUs of the host of a virtual machine
    {"mali", "\x80\x82"},      // Arm Mali and Immortalis
    {"ethosu", "\x01"},        // Arm Ethos-U
    {"kgsl-", "\x09"},         // Qualcomm Adreno
    {"adsprpc-", "R"},         // Qualcomm Hexagon, with fastrpc-
    {"fastrpc-", "R"},         //
    {"pvr", "dW"},             // Imagination PowerVR
    {"galcore", "u"},          // VeriSilicon
    {"rknpu", "r"},            // Rockchip
    {"apusys", "A"},           // MediaTek
    {"apex_", "\xdc\x7f"},     // Coral
    {"davinci", "ZMH"},        // Huawei Ascend, with the two below
    {"devmm_svm", "ZM"},       //
    {"hisi_hdc", "H"},         //
    {"hailo", "gvnps"},        // Hailo
    {"neuron", "N"},           // AWS Inferentia and Trainium
    {"tenstorrent/", "\xfa"},  //
    {"dma_heap/", "H"},        // buffers that drivers share
};
// Of descriptors that drivers give: buffers (dma-buf) and fences (sync_file).
constexpr std::string_view kOfShared = "b>";

const Driver* DriverOf(std::string_view name) {
  const auto found = std::find_if(std::begin(kAccelerators), std::end(kAccelerators), [name](const Driver& driver) {
    return name.substr(0, driver.names.size()) == driver.names;
  });
  return found == std::end(kAccelerators) ? nullptr : &*found;
}

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

bool IsAccelerator(std::string_view name) { return DriverOf(name) != nullptr; }

std::vector<std::string> CharacterDevices(const std::string& folder, const std::string& pattern) {
  std::vector<std::string> devices;
  glob_t found{};
  if (glob((folder + "/" + pattern).c_str(), GLOB_NOSORT, nullptr, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc; ++i) {
      struct stat about {};
      if (lstat(found.gl_pathv[i], &about) == 0 && S_ISCHR(about.st_mode))
        devices.emplace_back(found.gl_pathv[i] + folder.size() + 1);
    }
  globfree(&found);
  return devices;
}

std::vector<std::string> AcceleratorsHere(const std::vector<std::string>& names) {
  std::set<std::string> here;
  for (const std::string& name : names)
    if (IsAccelerator(name))
      for (std::string& device : CharacterDevices("/dev", name)) here.insert(std::move(device));
  return {here.begin(), here.end()};
}

std::string CommandsOf(const std::vector<std::string>& devices) {
  std::set<char> commands;
  for (const std::string& device : devices)
    if (const Driver* driver = DriverOf(device)) commands.insert(driver->commands.begin(), driver->commands.end());
  if (!commands.empty()) commands.insert(kOfShared.begin(), kOfShared.end());
  return {commands.begin(), commands.end()};
}

}  // namespace deputy::host
