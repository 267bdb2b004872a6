// Descriptions, quarantined plugins and their faults with parts of models, kept in the store: entries of the kinds
// `probe`, `quarantine` and `faults`.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.hpp"
#include "config/config.hpp"
#include "plugin/discovery/probe_records.hpp"
#include "runtime/plugin_faults.hpp"
#include "store/store.hpp"

namespace deputy::host {

// A file that is not run again until it, the host or the system with its drivers changes.
struct QuarantineRecord {
  Digest key{};
  std::filesystem::path file;  // as it was found
  std::string plugin, reason, text;
  std::chrono::system_clock::time_point since;
  bool in_force = true;  // false: by another version of the host, or before the system or the files changed
  // Of a part of a model that is kept away from the file; the plugin itself goes on otherwise.
  std::optional<FaultRecord> part = std::nullopt;
  FaultLimits limits = {};  // processes with larger ones run it
};

// [any-thread]
class PluginRecords final : public ProbeRecords {
 public:
  // `reuse`: descriptions of earlier probes serve; else each is made anew. `store` may be null: then nothing is kept.
  // `probe_timeout`: of the probes that are recorded here.
  PluginRecords(std::shared_ptr<Store> store, bool sandbox, const std::vector<std::string>& environment, bool reuse,
                std::chrono::milliseconds probe_timeout = std::chrono::seconds(2));

  Known Find(const PluginFile& file) override;
  void Save(const PluginFile& file, const PluginDescription& description) override;
  Rejection Quarantine(const PluginFile& file, const std::filesystem::path& path, const std::string& plugin,
                       Rejection fault) override;

  // What has ended the worker process of the file, in this version of the host and this system, as far as it counts
  // with these limits.
  std::vector<FaultRecord> Faults(const PluginFile& file, const FaultLimits& limits);
  // Adds a fault, and returns the same; nothing where it cannot be kept. Of two processes that add at once one may be
  // lost.
  std::optional<std::vector<FaultRecord>> AddFault(const PluginFile& file, const std::filesystem::path& path,
                                                   const std::string& plugin, const FaultRecord& fault,
                                                   const FaultLimits& limits);
  // The quarantine of the file in worker processes with these limits, for faults there.
  std::optional<Rejection> FindInUse(const PluginFile& file, const FaultLimits& limits);
  void QuarantineInUse(const PluginFile& file, const std::filesystem::path& path, const std::string& plugin,
                       const std::string& faults, const FaultLimits& limits);

  // The quarantined files, and the parts that are kept away from files, by path.
  Result<std::vector<QuarantineRecord>> List();
  // Of a record of the list.
  Status Clear(const QuarantineRecord& record);
  // Also faults that keep nothing away yet.
  Status ClearAll();

 private:
  struct Kept {
    Digest content{};
    std::optional<PluginDescription> description;
  };
  Digest ProbeKey(const PluginFile& file) const;
  Digest QuarantineKey(const Digest& content) const;
  Digest FaultsKey(const Digest& content) const;
  // The file of an entry of faults.
  struct FaultyFile {
    std::string file, plugin;
    Digest content{};
    std::vector<PluginPart> parts = {};  // that it has mapped
  };
  // Of an entry; empty where there is none.
  std::pair<FaultyFile, std::vector<FaultRecord>> ReadFaults(const Digest& key);
  std::string WriteFaults(const Digest& key, const FaultyFile& file, const std::vector<FaultRecord>& records);
  // Entries of the quarantine: one for all faults under other limits of a file.
  std::vector<std::map<std::string, std::string, std::less<>>> ReadQuarantine(const Digest& key);
  std::optional<Rejection> FindQuarantine(const Digest& content, const FaultLimits& limits);
  Rejection AddQuarantine(const PluginFile& file, const std::filesystem::path& path, const std::string& plugin,
                          Rejection fault, const FaultLimits& limits);
  // What is kept of the file; its content is read if need be. `describe`: with its description.
  Kept Look(const PluginFile& file, bool describe);

  const std::shared_ptr<Store> store_;
  const bool reuse_;
  const bool sandbox_;
  const std::chrono::milliseconds probe_timeout_;
  const Digest system_;        // of the kernel and the drivers of accelerators
  const Digest surroundings_;  // of all else that a description may depend on
};

}  // namespace deputy::host
