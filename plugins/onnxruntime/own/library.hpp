// The library of an EP: opened once in a process and never closed, because EPs leave threads and thread-local objects
// behind.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/types.hpp"
#include "deputy/sdk/status.hpp"
#include "own/logger.hpp"

namespace ort::own {

namespace sdk = deputy::sdk;

class Library {
 public:
  // kNotFound: it cannot be opened; kIncompatible: it is no library of an EP, or of another version. All that open it
  // at the same time share its factories, which are made with the name that the first of them gives. [any-thread]
  static sdk::Result<std::shared_ptr<Library>> Open(const std::string& path, const std::string& registered_name);

  Library(ReleaseEpFactory release, const Logger* logger) : release_(release), logger_(logger) {}
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  const std::vector<EpFactory*>& factories() const { return factories_; }
  // Of what the library says outside of sessions; lives as long as the process.
  const Logger& logger() const { return *logger_; }

 private:
  sdk::Status MakeFactories(CreateEpFactories create, const std::string& registered_name);

  ReleaseEpFactory release_;
  const Logger* logger_;
  std::vector<EpFactory*> factories_;
};

}  // namespace ort::own
