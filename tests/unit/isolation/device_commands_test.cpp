// The commands (ioctl) that a plugin in a sandbox may give, by the devices that it has.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "plugin/discovery/device_names.hpp"
#include "worker/system_call_filter.hpp"

namespace deputy::host::testing {
namespace {

// As drivers make them: the direction of the argument, a letter, a number, the size of the argument.
constexpr unsigned long Command(unsigned direction, unsigned letter, unsigned number, unsigned size) {
  return direction << 30 | size << 16 | letter << 8 | number;
}

// For each command whether the filter of a process with these devices lets it pass. Empty where there is no filter.
std::vector<bool> Passing(const std::vector<std::string>& devices, const std::vector<unsigned long>& commands) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    const int file = open("/dev/null", O_RDWR);
    SystemCallRights rights;
    rights.devices = !devices.empty();
    rights.commands = CommandsOf(devices);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !RestrictSystemCalls(rights).empty()) _exit(1);
    char argument[4096] = {};
    for (const unsigned long command : commands) {
      const bool refused = ioctl(file, command, argument) != 0 && errno == EPERM;
      if (write(ends[1], refused ? "n" : "y", 1) != 1) _exit(1);
    }
    _exit(0);
  }
  close(ends[1]);
  std::vector<bool> passing;
  for (char answer = 0; read(ends[0], &answer, 1) == 1;) passing.push_back(answer == 'y');
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return passing;
}

struct Row {
  const char* device;
  unsigned long command;
  bool passes;
};

TEST(DeviceCommands, R200_AreThoseOfTheDriversOfItsDevices) {
  const Row rows[] = {
      {"nvidia0", Command(3, 'F', 0x2a, 32), true},
      {"nvidia0", 0x30000001, true},  // nvidia-uvm
      {"nvidia0", 3, true},
      {"nvidia0", 37, true},
      {"nvidia0", 255, true},
      {"nvidia0", Command(3, 0, 37, 8), false},
      {"nvidia0", 0x30000003, false},
      {"nvidia0", Command(3, 'd', 0, 64), false},
      {"dri/renderD128", Command(3, 'd', 0, 64), true},
      {"dri/renderD128", Command(1, 'b', 0, 8), true},  // buffers and fences, of any driver
      {"dri/renderD128", Command(3, '>', 3, 48), true},
      {"dri/renderD128", Command(3, 'F', 0x2a, 32), false},
      {"dri/renderD128", 37, false},
      {"accel/accel0", Command(3, 'd', 0x42, 16), true},
      {"kfd", Command(3, 'K', 1, 8), true},
      {"kfd", Command(3, 'H', 0, 24), false},
      {"dma_heap/system", Command(3, 'H', 0, 24), true},
      {"mali0", Command(3, 0x80, 0, 4), true},
      {"hailo0", Command(2, 'v', 1, 24), true},
      {"hailo0", Command(2, 'v', 1, 8), false},
      {"rknpu", Command(3, 'r', 1, 104), true},
      {"rknpu", Command(1, 'r', 0x11, 4), false},
      {"apex_0", Command(0, 0xdc, 0, 0), true},
      {"tenstorrent/0", Command(0, 0xfa, 0, 0), true},
      {"kfd", FIONREAD, true},
      {"", FIONREAD, true},
      {"", Command(3, 'd', 0, 64), false},
  };
  for (const Row& row : rows) {
    std::vector<std::string> devices;
    if (*row.device != 0) devices = {row.device};
    const std::vector<bool> passing = Passing(devices, {row.command});
    ASSERT_EQ(passing.size(), 1u);
    EXPECT_EQ(passing[0], row.passes) << row.device << std::hex << " 0x" << row.command;
  }
}

TEST(DeviceCommands, R200_NeverChangeFilesSocketsOrTerminals) {
  const std::vector<unsigned long> commands = {FS_IOC_SETFLAGS,
                                               FS_IOC_GETVERSION,
                                               FS_IOC_SETVERSION,
                                               FS_IOC32_SETFLAGS,
                                               FS_IOC32_SETVERSION,
                                               FS_IOC_FSSETXATTR,
                                               FIBMAP,
                                               FIGETBSZ,
                                               FIFREEZE,
                                               FITHAW,
                                               FITRIM,
                                               FICLONE,
                                               FICLONERANGE,
                                               FIDEDUPERANGE,
                                               FS_IOC_SETFSLABEL,
                                               Command(1, 'f', 133, 128),  // enable_verity
                                               Command(2, 'f', 19, 12),
                                               Command(3, 'f', 23, 80),  // encryption: set_policy, add_key
                                               Command(1, 0x94, 1, 4096),
                                               Command(1, 'X', 37, 48),   // snapshots, reserved space
                                               Command(1, 'r', 0x11, 4),  // attributes on FAT
                                               0x125d,
                                               0x1277,  // of block devices: read-only, discard
                                               0x5412,
                                               0x541c,
                                               0x5402,
                                               0x5423,
                                               0x540e,  // terminals: put into the input, and more
                                               0x5452,
                                               0x8901,
                                               0x8902,
                                               0x8904,  // signals on input, and their receiver
                                               0x8912,
                                               0x8927,
                                               0x8933,
                                               0x8914,
                                               0x8b01,  // interfaces of the network
                                               0xab00,
                                               0xae01};  // of block devices over the network, virtual machines
  std::vector<std::vector<std::string>> sets = {{}};
  for (const char* device : {"accel/accel0", "dri/card0", "kfd",     "nvidia0",  "nvhost-gpu",    "nvmap",
                             "dxg",          "mali0",     "ethosu0", "kgsl-3d0", "adsprpc-smd",   "fastrpc-cdsp",
                             "pvr_sync",     "galcore",   "rknpu",   "apusys",   "apex_0",        "davinci0",
                             "devmm_svm0",   "hisi_hdc",  "hailo0",  "neuron0",  "tenstorrent/0", "dma_heap/system"}) {
    ASSERT_TRUE(IsAccelerator(device)) << device;
    EXPECT_FALSE(CommandsOf({device}).empty()) << device;
    sets.push_back({device});
  }
  for (const std::vector<std::string>& devices : sets) {
    const std::vector<bool> passing = Passing(devices, commands);
    ASSERT_EQ(passing.size(), commands.size());
    for (size_t i = 0; i < commands.size(); ++i)
      EXPECT_FALSE(passing[i]) << (devices.empty() ? "none" : devices[0]) << std::hex << " 0x" << commands[i];
  }
}

TEST(DeviceCommands, R200_OnlyDevicesThatAreThereCount) {
  EXPECT_EQ(CharacterDevices("/dev", "nul?"), std::vector<std::string>{"null"});
  EXPECT_TRUE(CharacterDevices("/dev", "nothing-like-it*").empty());
  EXPECT_TRUE(CharacterDevices("/dev", "stdin").empty());  // a link
  EXPECT_TRUE(CharacterDevices("/etc", "passwd").empty());
  EXPECT_TRUE(CharacterDevices("/dev", "pts").empty());  // a folder
  EXPECT_TRUE(AcceleratorsHere({"null", "zero", "nvidia-that-no-machine-has*"}).empty());
  EXPECT_EQ(CommandsOf({}), "");
}

}  // namespace
}  // namespace deputy::host::testing
