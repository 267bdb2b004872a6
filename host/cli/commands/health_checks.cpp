#include "cli/commands/health_checks.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <string_view>
#include <system_error>

#include "cli/report/placement_text.hpp"
#include "cli/terminal/quantity.hpp"
#include "cli/terminal/terminal.hpp"
#include "deputy/version.hpp"

namespace deputy::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostFiles = 20;     // rejected files that are listed one by one
constexpr rlim_t kFewestFiles = 256;  // that a process should be allowed to open

void AddOk(HealthChecks& checks, std::string subject, std::string detail) {
  checks.push_back({std::move(subject), Health::kOk, std::move(detail), ""});
}

void AddWarning(HealthChecks& checks, std::string subject, std::string detail, std::string advice) {
  checks.push_back({std::move(subject), Health::kWarning, std::move(detail), std::move(advice)});
}

void AddFailure(HealthChecks& checks, std::string subject, std::string detail, std::string advice) {
  checks.push_back({std::move(subject), Health::kFailed, std::move(detail), std::move(advice)});
}

std::vector<fs::path> FilesIn(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    files.push_back(it->path());
  std::sort(files.begin(), files.end());
  return files;
}

unsigned NumberIn(const std::string& text) {
  unsigned number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string LimitText(rlim_t limit) { return limit == RLIM_INFINITY ? "unlimited" : BytesText(limit); }

bool IsBelow(const DeviceReport& device) {
  if (device.frequency_requested_hz != 0) return device.frequency_granted_hz < device.frequency_requested_hz;
  return device.level_granted != 0 && device.level_granted < device.level_requested;
}

void CheckDevice(const DeviceUse& use, HealthChecks& checks) {
  const std::string subject = "delegate " + use.entry;
  std::vector<std::string> parts = {use.delegate};
  if (use.device) {
    parts.push_back(fmt::format("device {} ({})", use.device->number, use.device->name));
    if (use.device->memory_bytes != 0) parts.push_back(BytesText(use.device->memory_bytes));
    if (!use.device->driver.empty()) parts.push_back("driver " + use.device->driver);
  }
  if (use.control) parts.push_back(ClockSentence(*use.control));
  parts.erase(std::remove(parts.begin(), parts.end(), ""), parts.end());
  if (use.control && IsBelow(*use.control)) {
    AddWarning(checks, subject, Joined(parts), "the device granted less than was requested: check its power and heat");
  } else {
    AddOk(checks, subject, Joined(parts));
  }
}

void CheckThreads(const DelegateListing& opened, HealthChecks& checks) {
  const unsigned cpus = DescribeInstallation().cpus;
  std::vector<std::string> parts = {fmt::format("{} for {}", Plural(opened.threads, "thread"), Plural(cpus, "CPU"))};
  bool too_many = opened.threads > cpus;
  for (const DelegateReport& delegate : opened.delegates)
    for (const auto& [name, value] : delegate.options) {
      if (name != "threads" || NumberIn(value) == 0) continue;  // 0: as many as the host has
      parts.push_back(fmt::format("{}: {}", delegate.name, value));
      too_many = too_many || NumberIn(value) > cpus;
    }
  if (too_many) {
    AddWarning(checks, "threads", Joined(parts),
               "more threads than CPUs wait for each other: lower 'cpu: {threads}' and "
               "the option 'threads'");
  } else {
    AddOk(checks, "threads", Joined(parts));
  }
}

void CheckDeviceFiles(HealthChecks& checks) {
  std::vector<std::string> open, closed;
  for (const char* folder : {"/dev/accel", "/dev/dri", "/dev"})
    for (const fs::path& file : FilesIn(folder)) {
      const std::string name = file.filename().string();
      const auto begins = [&](std::string_view start) { return name.compare(0, start.size(), start) == 0; };
      if (!begins("accel") && !begins("renderD") && !begins("apex_") && name != "kfd") continue;
      if (name == "accel") continue;  // the folder
      (access(file.c_str(), R_OK | W_OK) == 0 ? open : closed).push_back(file.string());
    }
  if (!closed.empty())
    AddWarning(checks, "device files", Joined(closed) + ": no permission",
               "add the user to the group of the file, such as 'render'");
  else if (!open.empty())
    AddOk(checks, "device files", Joined(open));
}

// Whether memory that was written may be made executable, as libraries that compile at run time need it. The systemd
// setting MemoryDenyWriteExecute=, for example, refuses it.
bool MayExecuteWrittenMemory() {
  const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const page = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return true;  // for lack of memory, which is no refusal
  const bool may = mprotect(page, size, PROT_READ | PROT_EXEC) == 0;
  munmap(page, size);
  return may;
}

// The folder, or the nearest one above it that exists.
fs::path ExistingFolder(fs::path folder) {
  std::error_code error;
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  return folder;
}

// The locks that decided, or that are refused.
void CheckLocks(const PluginListing& plugins, HealthChecks& checks) {
  struct Found {
    size_t listed = 0, others = 0;
    std::string problem;  // of the first of the others
  };
  std::map<std::string, Found> locks;
  for (const PluginReport& plugin : plugins.plugins) {
    if (plugin.lock.empty()) continue;
    Found& found = locks[plugin.lock];
    if (plugin.listed) {
      ++found.listed;
    } else if (++found.others == 1) {
      found.problem = fs::path(plugin.file).filename().string() + ": " + plugin.not_listed;
    }
  }
  for (const auto& [lock, found] : locks) {
    if (found.others == 0) {
      AddOk(checks, "lock " + lock, "lists " + Plural(found.listed, "plugin") + " in use");
      continue;
    }
    const std::string more = found.others == 1 ? "" : fmt::format("; and {} more", found.others - 1);
    AddWarning(checks, "lock " + lock, found.problem + more,
               "what it does not list runs in worker processes; deputy plugins --why shows each");
  }
}

}  // namespace

void CheckInstallation(const InstallationReport& installation, HealthChecks& checks) {
  const std::string library = fmt::format("version {}, plugin ABI {}, in {}", installation.version,
                                          installation.plugin_abi, installation.folder);
  if (installation.version == DEPUTY_VERSION)
    AddOk(checks, "library", library);
  else
    AddFailure(checks, "library", library, "the program is of version " DEPUTY_VERSION ": install both together");
  if (!installation.distrust.empty())
    AddWarning(checks, "library", "others could replace it: " + installation.distrust,
               "let only root and you write to it: a user that can replace it can run code as you");
  if (access(installation.worker.c_str(), X_OK) == 0)
    AddOk(checks, "helper program", installation.worker);
  else
    AddFailure(checks, "helper program", fmt::format("{}: {}", installation.worker, std::strerror(errno)),
               "no plugin can be checked without it: install Deputy again");
  if (installation.sandbox == "none")
    AddWarning(checks, "sandbox", "none", "the kernel has neither Landlock nor filters of system calls");
  else
    AddOk(checks, "sandbox", installation.sandbox);
  std::vector<std::string> importers;
  for (const fs::path& file : FilesIn(fs::path(installation.folder) / "importers"))
    if (file.extension() == ".so") importers.push_back(file.filename().string());
  if (importers.empty())
    AddWarning(checks, "importers", "none", "only .dpm files can be read");
  else
    AddOk(checks, "importers", Joined(importers));
}

void CheckPlugins(const PluginListing& plugins, HealthChecks& checks) {
  size_t rejected = 0;
  for (const std::string& folder : plugins.folders) {
    const auto refused = std::find_if(plugins.plugins.begin(), plugins.plugins.end(), [&](const PluginReport& plugin) {
      return plugin.file == folder && !plugin.accepted;
    });
    if (refused != plugins.plugins.end()) {
      const bool untrusted = refused->rule == "untrusted";
      (untrusted ? AddFailure : AddWarning)(checks, "plugin folder " + folder, refused->reason,
                                            untrusted ? "let only root and you write to it" : "");
      continue;
    }
    const auto here = std::count_if(plugins.plugins.begin(), plugins.plugins.end(), [&](const PluginReport& plugin) {
      return plugin.accepted && fs::path(plugin.file).parent_path() == fs::path(folder);
    });
    AddOk(checks, "plugin folder " + folder, Plural(static_cast<uint64_t>(here), "plugin"));
  }
  for (const PluginReport& plugin : plugins.plugins) {
    const std::string file = fs::path(plugin.file).filename().string();
    if (plugin.accepted) {
      std::vector<std::string> ids;
      for (const PluginDelegateReport& delegate : plugin.delegates) ids.push_back(delegate.id);
      if (plugin.reason.empty())
        AddOk(checks, "plugin " + file, fmt::format("{} {}: {}", plugin.id, plugin.version, Joined(ids)));
      else
        AddWarning(checks, "plugin " + file, plugin.reason, "");
      continue;
    }
    const bool is_folder =
        std::find(plugins.folders.begin(), plugins.folders.end(), plugin.file) != plugins.folders.end();
    if (is_folder || ++rejected > kMostFiles) continue;
    AddWarning(checks, "plugin " + file, fmt::format("rejected ({}): {}", plugin.rule, plugin.reason),
               "deputy plugins " + file);
  }
  if (rejected > kMostFiles)
    AddWarning(checks, "plugins", fmt::format("{} more files are rejected", rejected - kMostFiles),
               "deputy plugins --why lists them");
  CheckLocks(plugins, checks);
}

void CheckQuarantine(const std::vector<QuarantinedPlugin>& quarantined, HealthChecks& checks) {
  for (const QuarantinedPlugin& entry : quarantined) {
    if (!entry.in_force || entry.part.empty()) continue;  // a whole plugin is rejected
    const std::string file = fs::path(entry.file).filename().string();
    AddWarning(checks, "quarantine",
               fmt::format("{} of {} is kept away from {}, which {}", entry.part, entry.model, file, entry.reason),
               fmt::format("deputy quarantine clear {} lets it be run again", entry.key.substr(0, 12)));
  }
}

void CheckRuntimes(const PluginListing& plugins, HealthChecks& checks) {
  for (const PluginReport& plugin : plugins.plugins)
    for (const OpenedLibrary& library : plugin.opens)
      AddOk(checks, "runtime " + library.name,
            library.path.empty() ? "not in LD_LIBRARY_PATH or the system's folders, where " + plugin.id +
                                       " looks for it unless an option has its path"
                                 : library.path);
}

void CheckEnvironment(const PluginListing& plugins, const std::string& ignored, HealthChecks& checks) {
  const size_t before = checks.size();
  const InstallationReport installation = DescribeInstallation();
  for (const std::string& warning : installation.environment_warnings) AddWarning(checks, "environment", warning, "");
  if (!ignored.empty()) AddWarning(checks, "environment", ignored, "leave one of the two out");
  const auto value_of = [](const char* name) {
    return std::string(std::getenv(name) == nullptr ? "" : std::getenv(name));
  };
  const auto warn = [&](const std::string& setting, const char* detail, const char* advice) {
    AddWarning(checks, "environment", fmt::format("{}: {}", setting, detail), advice);
  };
  for (const PluginReport& plugin : plugins.plugins)
    for (const std::string& wish : plugin.environment) {
      const std::string name = wish.substr(0, wish.find('=')), value = value_of(name.c_str());
      if (plugin.accepted && !value.empty() && name + "=" + value != wish)
        warn(name + "=" + value, ("the plugin " + plugin.id + " wants " + wish).c_str(), "leave the variable unset");
    }
  // The first one that is loaded into a process sets the variable for all.
  std::map<std::string, std::pair<std::string, std::string>> wanted;  // by name: the wish, and the plugin
  for (const PluginReport& plugin : plugins.plugins)
    for (const std::string& wish : plugin.environment) {
      const bool is_used =
          plugin.accepted && std::any_of(plugin.delegates.begin(), plugin.delegates.end(),
                                         [](const auto& delegate) { return !delegate.used_by.empty(); });
      if (!is_used) continue;
      const auto [first, is_new] = wanted.try_emplace(wish.substr(0, wish.find('=')), wish, plugin.id);
      if (!is_new && first->second.first != wish)
        AddWarning(checks, "environment",
                   fmt::format("the plugin {} wants {}, and {} wants {}: in one process both get one value",
                               first->second.second, first->second.first, plugin.id, wish),
                   "set the variable yourself, or 'isolation: process' for one of them");
    }
  const std::string threads = value_of("OMP_NUM_THREADS");
  if (NumberIn(threads) > installation.cpus)
    warn("OMP_NUM_THREADS=" + threads, "more threads than CPUs", "leave the variable unset");
  for (const char* name : {"OMP_WAIT_POLICY", "KMP_BLOCKTIME"}) {
    const std::string value = value_of(name);
    if (value == "active" || value == "ACTIVE" || value == "infinite")
      warn(std::string(name) + "=" + value, "idle threads of OpenMP keep the CPUs busy", "leave the variable unset");
  }
  if (value_of("DEPUTY_CHECK") == "1")
    warn("DEPUTY_CHECK=1", "every call of a plugin is checked, which is slow", "for debugging only");
  if (const std::string preload = value_of("LD_PRELOAD"); !preload.empty())
    warn("LD_PRELOAD=" + preload, "loads other code into the program", "leave it unset if something fails");
  if (checks.size() == before) AddOk(checks, "environment", "no conflicting variables");
}

void CheckDelegates(const Context& context, const PluginListing& plugins, HealthChecks& checks) {
  const Result<DelegateListing> opened = context.ListDelegates();
  if (!opened.ok())
    return AddFailure(checks, "delegates", opened.status().ToString(),
                      opened.status().code() == StatusCode::kConfig ? "deputy config check shows every problem"
                                                                    : "deputy plugins --why shows every file");
  const std::vector<DeviceUse> uses = ListDevices(context, *opened, plugins);
  for (const DeviceUse& use : uses) {
    if (use.entry.empty() || (use.entry == "cpu" && use.plugin.empty())) continue;
    if (use.available)
      CheckDevice(use, checks);
    else
      AddWarning(checks, "delegate " + use.entry, use.reason, "deputy plugins --why shows every file");
  }
  if (opened->delegates.size() + opened->absent.size() == 1)
    AddOk(checks, "delegates", "none are configured: the CPU runs every node");
  CheckThreads(*opened, checks);
}

void CheckMachine(const InstallationReport& installation, HealthChecks& checks) {
#if defined(__x86_64__)
  if (installation.kernels == "baseline" && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    AddFailure(checks, "CPU kernels", "baseline: the installation has no library of them for this CPU, which has AVX2",
               "repair the installation: lib/deputy/libdeputy_linalg_v3.so and _v4.so");
  else if (installation.kernels == "baseline")
    AddWarning(checks, "CPU kernels", "baseline: the CPU has no AVX2, FMA and F16C",
               "products take several times as long");
  else
    AddOk(checks, "CPU kernels", "x86-64-" + installation.kernels);
#else
  AddOk(checks, "CPU kernels", installation.kernels);
#endif
  rlimit files{}, space{}, locked{};
  getrlimit(RLIMIT_NOFILE, &files);
  getrlimit(RLIMIT_AS, &space);
  getrlimit(RLIMIT_MEMLOCK, &locked);
  const std::string limits = fmt::format("{} open files, address space {}, locked memory {}",
                                         files.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(files.rlim_cur),
                                         LimitText(space.rlim_cur), LimitText(locked.rlim_cur));
  if (files.rlim_cur < kFewestFiles)
    AddWarning(checks, "limits", limits, "raise the number of open files: ulimit -n");
  else if (space.rlim_cur != RLIM_INFINITY)
    AddWarning(checks, "limits", limits, "models are mapped into the address space: ulimit -v unlimited");
  else
    AddOk(checks, "limits", limits);
  if (!MayExecuteWrittenMemory())
    AddWarning(checks, "executable memory", "the process may not make memory executable that it has written",
               "libraries that compile at run time, such as oneDNN, fail, and the next delegate takes over: allow it "
               "(systemd: MemoryDenyWriteExecute=no), or use --config cpu-only");
  CheckDeviceFiles(checks);
}

void CheckCache(const Context& context, HealthChecks& checks) {
  const Result<CacheListing> listing = context.ListCache(true);
  if (!listing.ok())
    return AddFailure(checks, "cache", listing.status().ToString(), "every start compiles again until it can be used");
  if (listing->off_by_setting) return AddOk(checks, "cache", "off, by 'cache: {dir: off}': every start compiles again");
  if (listing->folder.empty())
    return AddWarning(checks, "cache", "off: neither XDG_CACHE_HOME nor HOME names a folder",
                      "every start compiles again; set one of them, or 'cache: {dir}'");
  size_t bad = 0;
  for (const CacheEntry& entry : listing->entries)
    bad += entry.state == CacheEntryState::kDamaged || entry.state == CacheEntryState::kUnreadable ? 1 : 0;
  const std::string detail =
      fmt::format("{}: {} of {}, {} of {} entries intact", listing->folder, BytesText(TotalBytes(*listing)),
                  BytesText(listing->max_bytes), listing->entries.size() - bad, listing->entries.size());
  if (access(ExistingFolder(listing->folder).c_str(), W_OK) != 0)
    AddWarning(checks, "cache", detail + "; it cannot be written", "set 'cache: {dir}' to a folder of your own");
  else if (bad != 0)
    AddWarning(checks, "cache", detail, "deputy cache verify names them; they are made again when they are needed");
  else
    AddOk(checks, "cache", detail);
  size_t wrong = 0;
  for (const CacheEntry& entry : listing->entries) {
    if (entry.kind != "verdict" || entry.text.empty() || entry.text == "right") continue;
    ++wrong;
    AddWarning(checks, "wrong result", entry.text,
               "its nodes are run by others; after an update of the plugin: deputy cache purge --kind verdict");
  }
  if (wrong == 0) AddOk(checks, "wrong results", "none are recorded");
}

}  // namespace deputy::cli
