// The fields of deputy/config.hpp in reports and options (fields.hpp).
#pragma once

#include <string>
#include <vector>

#include "deputy/config.hpp"

namespace deputy {

template <class V>
void Describe(V& v, ConfigProblem& p) {
  v("error", p.error);
  v("file", p.file);
  v("line", p.line);
  v("column", p.column);
  v("message", p.message);
  v("place", p.place);
  v("code", p.code);
}

template <class V>
void Describe(V& v, ConfigCheck& c) {
  v("files", c.files);
  v("problems", c.problems);
  v("unlisted", c.unlisted);
}

template <class V>
void Describe(V& v, ConfigKey& k) {
  v("path", k.path);
  v("type", k.type);
  v("default_value", k.default_value);
  v("meaning", k.meaning);
  v("example", k.example);
  v("available", k.available);
}

template <class V>
void Describe(V& v, ConfigText& t) {
  v("name", t.name);
  v("text", t.text);
}

template <class V>
void Describe(V& v, ConfigValue& c) {
  v("path", c.path);
  v("value", c.value);
}

}  // namespace deputy

namespace deputy::fields {

// The report of DeputyShippedConfigs has a list of these.
struct ShippedConfig {
  std::string name, file;
};

template <class V>
void Describe(V& v, ShippedConfig& s) {
  v("name", s.name);
  v("file", s.file);
}

// The options of DeputyConfigValues.
struct ConfigTexts {
  std::vector<ConfigText> layers;
};

template <class V>
void Describe(V& v, ConfigTexts& c) {
  v("layers", c.layers);
}

// The options of DeputyCheckConfig.
struct ConfigCheckRequest {
  ConfigSources sources;
  ConfigCheckOptions options;
};

template <class V>
void Describe(V& v, ConfigCheckRequest& c) {
  v("files", c.sources.files);
  v("settings", c.sources.settings);
  v("offline", c.options.offline);
  v("model", c.options.model);
}

}  // namespace deputy::fields
