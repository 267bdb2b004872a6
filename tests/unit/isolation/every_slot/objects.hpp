// What the handles of the plugin every_slot point to.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>

#include "deputy/abi/ext/blob.h"
#include "deputy/abi/ext/profiling.h"
#include "note.hpp"

struct deputy_instance {
  const deputy_host* host;
  std::map<std::string, std::string> options;
  std::array<int, 2> claims;  // their addresses are handles
};
struct deputy_executable {
  deputy_instance* instance;
  every::Seen seen;
  deputy_blob blob;
};
struct deputy_context {
  deputy_executable* executable;
  std::atomic<uint64_t> cancelled{0};
  const deputy_profile_sink* sink = nullptr;
};
