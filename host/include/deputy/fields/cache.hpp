// The fields of deputy/cache.hpp in reports and options (fields.hpp).
#pragma once

#include <array>
#include <string_view>

#include "deputy/cache.hpp"
#include "deputy/fields/names.hpp"

namespace deputy::fields {

// Of states.
template <>
struct Names<CacheEntryState> {
  static constexpr std::array<std::string_view, 5> kTexts = {"unchecked", "intact", "damaged", "other_version",
                                                             "unreadable"};
};

}  // namespace deputy::fields

namespace deputy {

template <class V>
void Describe(V& v, CacheEntry& c) {
  v("kind", c.kind);
  v("key", c.key);
  v("file", c.file);
  v("bytes", c.bytes);
  v("last_use_ns", c.last_use);
  v("text", c.text);
  v("state", c.state);
  v("problem", c.problem);
  v("model", c.model);
  v("plugin", c.plugin);
  v("plugin_version", c.plugin_version);
  v("plugin_file", c.plugin_file);
  v("delegate", c.delegate);
  v("device", c.device);
  v("stale", c.stale);
}

template <class V>
void Describe(V& v, CacheListing& c) {
  v("folder", c.folder);
  v("max_bytes", c.max_bytes);
  v("entries", c.entries);
  v("off_by_setting", c.off_by_setting);
}

template <class V>
void Describe(V& v, CacheFilter& c) {
  v("kinds", c.kinds);
  v("unused_for_s", c.unused_for);
}

}  // namespace deputy
