// The fields of deputy/plugins.hpp in reports and options (fields.hpp).
#pragma once

#include "deputy/plugins.hpp"

namespace deputy {

template <class V>
void Describe(V& v, OptionReport& o) {
  v("name", o.name);
  v("type", o.type);
  v("unit", o.unit);
  v("default_value", o.default_value);
  v("choices", o.choices);
  v("help", o.help);
  v("int_minimum", o.int_minimum);
  v("int_maximum", o.int_maximum);
  v("minimum", o.minimum);
  v("maximum", o.maximum);
  v("settable", o.settable);
}

template <class V>
void Describe(V& v, CapabilityReport& c) {
  v("op_type", c.op_type);
  v("domain", c.domain);
  v("note", c.note);
  v("min_version", c.min_version);
  v("max_version", c.max_version);
  v("min_rank", c.min_rank);
  v("max_rank", c.max_rank);
  v("any_rank", c.any_rank);
  v("dtypes", c.dtypes);
  v("layouts", c.layouts);
}

template <class V>
void Describe(V& v, DeviceListing& d) {
  v("number", d.number);
  v("id", d.id);
  v("name", d.name);
  v("kind", d.kind);
  v("driver", d.driver);
  v("memory_bytes", d.memory_bytes);
  v("frequency_hz", d.frequency_hz);
}

template <class V>
void Describe(V& v, PluginDelegateReport& p) {
  v("id", p.id);
  v("description", p.description);
  v("available", p.available);
  v("unavailable", p.unavailable);
  v("options", p.options);
  v("extensions", p.extensions);
  v("capabilities", p.capabilities);
  v("enumerates", p.enumerates);
  v("devices", p.devices);
  v("used_by", p.used_by);
}

template <class V>
void Describe(V& v, PluginQuery& q) {
  v("probe", q.probe);
  v("probe_all", q.probe_all);
}

template <class V>
void Describe(V& v, OpenedLibrary& o) {
  v("name", o.name);
  v("path", o.path);
}

template <class V>
void Describe(V& v, PluginReport& p) {
  v("file", p.file);
  v("accepted", p.accepted);
  v("probed", p.probed);
  v("rule", p.rule);
  v("reason", p.reason);
  v("id", p.id);
  v("vendor", p.vendor);
  v("version", p.version);
  v("abi", p.abi);
  v("files", p.files);
  v("libraries", p.libraries);
  v("opens", p.opens);
  v("cpu_features", p.cpu_features);
  v("environment", p.environment);
  v("devices", p.devices);
  v("sandbox", p.sandbox);
  v("refused_calls", p.refused_calls);
  v("listed", p.listed);
  v("delegates", p.delegates);
  v("lock", p.lock);
  v("not_listed", p.not_listed);
}

template <class V>
void Describe(V& v, PluginListing& p) {
  v("folders", p.folders);
  v("plugins", p.plugins);
  v("notes", p.notes);
}

}  // namespace deputy
