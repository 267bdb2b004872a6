// What the tests of host/plugin share: fixture plugins in folders of their own, a small graph, a log that is kept.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "delegate/delegate.hpp"
#include "plugin/discovery/manifest.hpp"
#include "plugin/discovery/registry.hpp"
#include "support/temp_folder.hpp"
#include "support/test_graph.hpp"

namespace deputy::host::testing {

inline std::filesystem::path FixturePath(const std::string& name) {
  return std::filesystem::path(FIXTURE_PLUGINS) / (name + ".so");
}

inline std::vector<uint8_t> ReadBytes(const std::filesystem::path& path) { return ReadAll<std::vector<uint8_t>>(path); }

// For copies of fixtures.
class TempFolder : public host::TempFolder {
 public:
  // Copies the fixture; returns where to.
  std::filesystem::path Add(const std::string& fixture, const std::string& as = "") const {
    const std::filesystem::path target = path() / ((as.empty() ? fixture : as) + ".so");
    std::filesystem::copy_file(FixturePath(fixture), target, std::filesystem::copy_options::overwrite_existing);
    return target;
  }
};

// Long for whatever comes back, so that a slow machine does not fail a test.
inline ScanOptions PatientScan(const std::filesystem::path& folder) {
  ScanOptions options;
  options.paths = {folder};
  options.worker = DEPUTY_WORKER;
  options.probe_timeout = std::chrono::seconds(60);
  return options;
}

inline const PluginEntry& EntryOf(const PluginRegistry& registry, const std::string& file) {
  for (const PluginEntry* entry : registry.entries())
    if (entry->path.filename() == file) return *entry;
  static const PluginEntry none;
  ADD_FAILURE() << "no entry for " << file;
  return none;
}

inline Checked<Manifest> Gate(const std::vector<uint8_t>& bytes) {
  return ReadManifest(MemorySource(bytes), ThisHost());
}

// Everything that is logged while it lives.
class LogKeeper {
 public:
  LogKeeper() {
    SetLogLevel(LogLevel::kDebug);
    SetLogSink([this](LogLevel, std::string_view source, std::string_view message) {
      const std::lock_guard lock(mutex_);
      text_ += std::string(source) + ": " + std::string(message) + "\n";
    });
  }
  ~LogKeeper() {
    SetLogSink(nullptr);
    SetLogLevel(LogLevel::kInfo);
  }
  LogKeeper(const LogKeeper&) = delete;
  LogKeeper& operator=(const LogKeeper&) = delete;

  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

// x -> Relu 'first' -> Sigmoid 'second', all float32 [4].
inline Graph ReluSigmoid() { return TestGraph({{"first", "Relu"}, {"second", "Sigmoid"}}).graph; }

}  // namespace deputy::host::testing
