// The fields of deputy/bundle.hpp in reports and options (fields.hpp).
#pragma once

#include "deputy/bundle.hpp"

namespace deputy {

template <class V>
void Describe(V& v, BundlePlugin& b) {
  v("file", b.file);
  v("id", b.id);
  v("version", b.version);
  v("abi", b.abi);
  v("delegates", b.delegates);
  v("cpu_features", b.cpu_features);
  v("libraries", b.libraries);
  v("files", b.files);
}

template <class V>
void Describe(V& v, BundleFile& b) {
  v("path", b.path);
  v("bytes", b.bytes);
  v("sha256", b.sha256);
  v("text", b.text);
}

template <class V>
void Describe(V& v, BundleInfo& b) {
  v("name", b.name);
  v("version", b.version);
  v("deputy", b.deputy);
  v("architecture", b.architecture);
  v("signed_by", b.signed_by);
  v("expires", b.expires);
  v("configurations", b.configurations);
  v("models", b.models);
  v("plugins", b.plugins);
  v("files", b.files);
}

template <class V>
void Describe(V& v, BundleProblem& b) {
  v("rule", b.rule);
  v("message", b.message);
}

template <class V>
void Describe(V& v, BundleVerification& b) {
  v("info", b.info);
  v("signature_checked", b.signature_checked);
  v("problems", b.problems);
}

template <class V>
void Describe(V& v, BundleContents& b) {
  v("name", b.name);
  v("version", b.version);
  v("configurations", b.configurations);
  v("models", b.models);
  v("secret_key", b.secret_key);
  v("expires", b.expires);
}

template <class V>
void Describe(V& v, BundleInstallation& b) {
  v("key", b.key);
  v("root", b.root);
  v("allow_downgrade", b.allow_downgrade);
}

template <class V>
void Describe(V& v, InstalledBundle& b) {
  v("name", b.name);
  v("version", b.version);
  v("folder", b.folder);
  v("current", b.current);
}

}  // namespace deputy
