// The entries of the cache of a configuration (`cache: {dir: ...}`): compiled partitions and decisions that took time
// to make. Removing any of them costs time only.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace deputy {

// What is known about an entry.
enum class CacheEntryState {
  kUnchecked,  // only its header was read
  kIntact,
  kDamaged,       // or not trusted; it is made again when it is needed
  kOtherVersion,  // written by another version of Deputy, and left to it
  kUnreadable,    // the system refused to read it
};

// One entry of the cache: a file.
struct CacheEntry {
  std::string kind;  // one of CacheEntryKinds
  std::string key;   // 64 hexadecimal digits
  std::string file;
  uint64_t bytes = 0;  // of the file
  std::chrono::system_clock::time_point last_use;
  std::string text;  // what the entry declares, such as the compatibility of a blob; empty where it cannot be read
  CacheEntryState state = CacheEntryState::kUnchecked;
  std::string problem;  // empty if there is none
  // What it was made from and by, where the entry tells: of blobs. The model is the first for which it was compiled.
  std::string model = {}, plugin = {}, plugin_version = {}, plugin_file = {}, delegate = {}, device = {};
  // Why it is of no use to the plugin that is there now: "the plugin file is absent"; empty if it is not known to be.
  std::string stale = {};
};

// The cache of a configuration at one moment.
struct CacheListing {
  std::string folder;               // empty: the cache is off
  uint64_t max_bytes = 0;           // of all entries together
  std::vector<CacheEntry> entries;  // by kind and key
  // It is off by `cache: {dir: off}`; else, without a folder, because neither XDG_CACHE_HOME nor HOME names one.
  bool off_by_setting = false;
};

// "blob", "verdict" and so on: the kinds of entries. [any-thread]
std::vector<std::string> CacheEntryKinds();

// Which entries to remove: those that fulfil both.
struct CacheFilter {
  std::vector<std::string> kinds;  // empty: all
  std::chrono::seconds unused_for{0};
};

}  // namespace deputy

#ifndef DEPUTY_BUILDS_LIBRARY
#include "deputy/detail/cache.hpp"  // IWYU pragma: export
#endif
