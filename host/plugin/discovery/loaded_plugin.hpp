// A plugin that runs in this process, from a file or from the application, or whose tables another process serves: its
// checked tables, initialised once for all configurations that use it, shut down with the last of them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "deputy/abi/delegate.h"
#include "plugin/discovery/library.hpp"
#include "plugin/discovery/manifest.hpp"
#include "plugin/discovery/plugin_file.hpp"
#include "plugin/discovery/rejection.hpp"
#include "plugin/proxy/concurrency_limiter.hpp"

namespace deputy::host {

class HostServices;
class SubmittedRuns;
class PluginLife;

class LoadedPlugin {
 public:
  // The file that passed the first gate: loading refuses a different one.
  struct Expected {
    std::filesystem::path path;  // absolute, symbolic links resolved
    FileIdentity identity;
    Manifest manifest;
    std::vector<PluginPart> parts = {};  // files of its note, and the libraries that it was seen to map
    std::string parts_text = {};         // names their content; empty: there are none
  };
  // [load-time]
  static Checked<std::shared_ptr<LoadedPlugin>> Load(const Expected& expected);
  // `keep` is held until after shutdown; the table must be valid as long. [load-time]
  static Checked<std::shared_ptr<LoadedPlugin>> Adopt(const deputy_plugin* table, std::shared_ptr<void> keep);
  // A plugin in a process of its own, whose table is this one: initialised for this object alone. [load-time]
  static Checked<std::shared_ptr<LoadedPlugin>> AdoptServed(const Expected& expected, const deputy_plugin* table,
                                                            std::shared_ptr<void> keep);
  ~LoadedPlugin();
  LoadedPlugin(const LoadedPlugin&) = delete;
  LoadedPlugin& operator=(const LoadedPlugin&) = delete;

  const deputy_plugin& table() const { return *table_; }
  const deputy_host* host() const;
  // "plugin com.example.npu (libnpu.so)": begins every report about it.
  const std::string& label() const { return label_; }
  // Of the plugin's file, in hexadecimal, with the name of the content of its parts; empty without a build id, as for
  // the application's own plugin.
  std::string BuildIdText() const;
  // Its code is in another process.
  bool is_served() const { return own_life_ != nullptr; }

  // Null if there is no such delegate.
  const deputy_delegate* FindDelegate(std::string_view id) const;
  // Every execute of a delegate that limits them goes through it; the same for all users in the process.
  ConcurrencyLimiter& LimiterOf(const deputy_delegate& delegate) const;
  // Receives the ends of the runs that are submitted to this delegate.
  SubmittedRuns& RunsOf(const deputy_delegate& delegate) const;
  // Keeps the services of a checked delegate for ever: its threads may use them after it is closed.
  void Keep(std::unique_ptr<HostServices> services) const;

 private:
  LoadedPlugin();
  static Checked<std::shared_ptr<LoadedPlugin>> Finish(std::shared_ptr<LoadedPlugin> plugin, const std::string& origin,
                                                       PluginLife* life);

  std::unique_ptr<PluginLife, void (*)(PluginLife*)> own_life_;  // of a served plugin; ends after its process
  std::shared_ptr<void> keep_;
  std::unique_ptr<Library> library_;
  std::vector<uint8_t> build_id_;
  std::string parts_text_;
  const deputy_plugin* table_ = nullptr;
  std::vector<const deputy_delegate*> delegates_;
  PluginLife* life_ = nullptr;
  std::string label_;
};

}  // namespace deputy::host
