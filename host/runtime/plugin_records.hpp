// Descriptions and quarantined plugins, kept in the store: entries of the kinds `probe` and `quarantine`.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "config/config.hpp"
#include "plugin/discovery/probe_records.hpp"
#include "store/store.hpp"

namespace deputy::host {

// A file that is not run again until it, the host or the system with its drivers changes.
struct QuarantineRecord {
  Digest key{};
  std::filesystem::path file;  // as it was found
  std::string plugin, reason, text;
  std::chrono::system_clock::time_point since;
  bool in_force = true;  // false: made by another version of the host, or before the system changed
};

// [any-thread]
class PluginRecords final : public ProbeRecords {
 public:
  // `reuse`: descriptions of earlier probes serve; else each is made anew. `store` may be null: then nothing is kept.
  PluginRecords(std::shared_ptr<Store> store, bool sandbox, const std::vector<std::string>& environment, bool reuse);

  Known Find(const PluginFile& file) override;
  void Save(const PluginFile& file, const PluginDescription& description) override;
  Rejection Quarantine(const PluginFile& file, const std::filesystem::path& path, const std::string& plugin,
                       Rejection fault) override;

  // The quarantined files, by path.
  Result<std::vector<QuarantineRecord>> List();
  Status Clear(const Digest& key);

 private:
  struct Kept {
    Digest content{};
    std::optional<PluginDescription> description;
  };
  Digest ProbeKey(const PluginFile& file) const;
  Digest QuarantineKey(const Digest& content) const;
  // What is kept of the file; its content is read if need be. `describe`: with its description.
  Kept Look(const PluginFile& file, bool describe);

  const std::shared_ptr<Store> store_;
  const bool reuse_;
  const Digest system_;        // of the kernel and the drivers of accelerators
  const Digest surroundings_;  // of all else that a description may depend on
};

}  // namespace deputy::host
