// The delegates that are available: scans plugin folders, records for every file why it is used or not, loads a plugin
// when one of its delegates is opened, and adds plugins of the application.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "delegate/factory.hpp"
#include "plugin/discovery/description.hpp"
#include "plugin/discovery/loaded_plugin.hpp"
#include "plugin/discovery/manifest.hpp"
#include "plugin/discovery/needed_libraries.hpp"
#include "plugin/discovery/plugin_file.hpp"
#include "plugin/discovery/probe_records.hpp"
#include "plugin/discovery/rejection.hpp"

namespace deputy::host {

// What the lock of a plugin folder says about a file.
struct LockAnswer {
  std::filesystem::path lock;  // that decided, or that was refused; empty: there is none
  std::string problem;         // why it does not list the file with these bytes; empty: it does
};

struct ScanOptions {
  std::vector<std::filesystem::path> paths;  // folders, searched in order; not recursive
  std::filesystem::path worker;              // the program deputy-worker
  std::chrono::milliseconds probe_timeout{2000};
  std::shared_ptr<ProbeRecords> records;  // null: every file is probed
  // False: the manifest alone decides, and a plugin's first code runs when it is loaded. For trusted files only.
  bool probe = true;
  bool sandbox = true;                   // of the probe's process
  std::vector<std::string> environment;  // ProbeOptions
  // Delegates that are wanted. A plugin that has none of them by its manifest is not run. No value: all are wanted.
  std::optional<std::vector<std::string>> named;
  // Files and folders that users other than root and this one could change are refused, and those that they could
  // replace are not listed; else that is noted.
  bool refuse_untrusted = true;
  std::function<void(const std::filesystem::path&)> progress;  // before each file; may be empty
  // About a file with these bytes, found as `name` in a searched folder. Not set: no file is listed.
  std::function<LockAnswer(const std::filesystem::path& folder, const std::string& name, const ByteSource& bytes)>
      look_up_lock;
  bool require_listed = false;  // others are refused
};

// A file or folder that the scan checked, or a plugin of the application.
struct PluginEntry {
  std::filesystem::path path;  // as found; empty for a plugin of the application
  bool accepted = false;
  RejectReason reason{};       // where not accepted
  std::string text;            // why not, one sentence
  bool listed = false;         // in the lock of its folder, with these bytes, and not replaceable
  std::filesystem::path lock;  // that decided this; empty: there is none, or it was not asked
  std::string not_listed;      // why not, where it was asked
  std::string distrust;        // how others could change it, where that is allowed
  // How others could put another file in its place by what leads to it, or bring their code into its process by a
  // library that it needs. It may run in a worker process only.
  std::string replaceable;
  std::vector<std::string> notes;                // further information ("delegate 'x' comes from another plugin")
  std::optional<Manifest> manifest;              // where the file has a good one
  std::optional<PluginDescription> description;  // where it was probed or loaded

  // Whether all of its code is that which a lock lists.
  bool is_covered() const { return listed && !(manifest && !manifest->opens.empty()); }
};

// Opens delegates in this process. [load-time]
class PluginRegistry final : public DelegateFactory {
 public:
  // Checks every *.so in the folders, in order of name within each. Adds to the results of earlier scans; never fails
  // as a whole. The first file wins where two have the same inode or plugin id, or offer the same delegate.
  void Scan(const ScanOptions& options);

  // A plugin that lives in the application. Its delegates go before those of files. `keep` is held until the last
  // object of the plugin is gone.
  Status AddInProcess(const deputy_plugin* table, std::shared_ptr<void> keep);

  // All that was checked, in order. Entries of refused folders, files and duplicates included. Valid until the next
  // change.
  std::vector<const PluginEntry*> entries() const;
  // Ids of all delegates, in order of discovery.
  std::vector<std::string> delegate_ids() const;
  // The entry that provides a delegate; null if there is none.
  const PluginEntry* ProviderOf(std::string_view delegate) const;
  // "libnpu.so has it, but is truncated": of a refused file whose manifest lists the delegate; empty if there is none.
  std::string RefusalOf(std::string_view delegate) const;
  // Whether that file was refused because the plugin failed when it was run.
  bool HasFailed(std::string_view delegate) const;
  // Description with option schema; loads the plugin if it was not probed.
  Result<DelegateDescription> Describe(std::string_view delegate);

  // The file that provides a delegate, to load it in another process.
  Result<LoadedPlugin::Expected> FileOf(std::string_view delegate);
  // Why the plugin of a delegate cannot be loaded into this process beside what is there: it would get the libraries of
  // others. Empty: it can.
  std::string ClashOf(std::string_view delegate);
  // The plugin in this process. The first call runs its constructors and init.
  Result<std::shared_ptr<LoadedPlugin>> Load(std::string_view delegate);
  // Loads the plugin and opens its delegate.
  Result<std::unique_ptr<Delegate>> Open(const OpenRequest& request) override;

 private:
  struct Candidate {
    PluginEntry entry;
    std::filesystem::path resolved;
    FileIdentity identity;
    std::vector<PluginPart> parts;  // of its note, and mapped in the probe
    std::optional<Digest> content;  // of the file and the parts of its note; none where nothing is kept
    bool unwanted = false;          // so it was not probed, and is not loaded
    std::shared_ptr<LoadedPlugin> loaded;
  };
  struct Offer {
    std::string delegate;
    Candidate* candidate;
  };

  // How others could change a folder (add files to it), or what leads to it; empty: they cannot.
  struct FolderTrust {
    std::string own, above;
  };
  using KnownFolders = std::map<std::filesystem::path, FolderTrust>;  // by resolved path
  // A folder that is searched.
  struct Searched {
    int fd;
    const std::filesystem::path& resolved;
  };

  void ScanFolder(const std::filesystem::path& folder, const ScanOptions& options, const HostTraits& host,
                  KnownFolders& known);
  std::optional<Rejection> Examine(Candidate& candidate, const Searched& searched, const ScanOptions& options,
                                   const HostTraits& host, KnownFolders& known);
  // Opens the file; of a link, the one that it leads to.
  static Checked<std::unique_ptr<PluginFile>> OpenFile(Candidate& candidate, const Searched& searched);
  // How others could change or replace the file and those that belong to it; a rejection where that decides.
  static std::optional<Rejection> JudgeTrust(Candidate& candidate, const PluginFile& file, const ScanOptions& options,
                                             KnownFolders& known);
  // The same for the libraries that are loaded with it.
  void JudgeLibraries(Candidate& candidate, const PluginFile& file, const ScanOptions& options);
  // `is_new`: no record had it.
  static Checked<PluginDescription> DescriptionOf(Candidate& candidate, PluginFile& file, const ScanOptions& options,
                                                  bool& is_new);
  static LoadedPlugin::Expected ExpectedOf(const Candidate& candidate);
  // Whether the lock lists the file and those that belong to it.
  static void LookUpLock(Candidate& candidate, const PluginFile& file, const ScanOptions& options);
  std::optional<Rejection> CheckDuplicates(const Candidate& candidate) const;
  void Reject(const std::filesystem::path& path, Rejection rejection);
  std::vector<Offer> OffersOf(Candidate& candidate) const;
  Result<Candidate*> Find(std::string_view delegate);

  std::optional<LibraryFolders> library_folders_;  // of this process, where they were asked for
  // Never moved, so that offers can point at them.
  const PluginEntry* RefusedProviderOf(std::string_view delegate) const;

  std::vector<std::unique_ptr<Candidate>> candidates_;
  std::vector<Offer> offers_;
  std::map<std::pair<uint64_t, uint64_t>, const Candidate*> by_inode_;  // the first of each device and inode
  std::map<std::string, const Candidate*> by_id_;                       // accepted plugins in files
};

}  // namespace deputy::host
