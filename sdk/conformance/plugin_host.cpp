#include "plugin_host.hpp"

#include <unistd.h>

#include "plugin_file.hpp"

namespace deputy::conformance {

namespace fs = std::filesystem;

PluginFolder::PluginFolder(const std::string& plugin) {
  std::string name = (fs::temp_directory_path() / "deputy-conformance-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) return;
  path_ = name;
  std::error_code failed;
  const fs::path copy = path_ / fs::path(plugin).filename();
  fs::copy_file(plugin, copy, failed);
  // The copy belongs to this program; permissions of the original are not the plugin's fault.
  fs::permissions(copy, fs::perms::group_write | fs::perms::others_write, fs::perm_options::remove, failed);
  for (const std::string& file : PluginFile::Read(plugin).List("files"))
    fs::copy_file(fs::path(plugin).parent_path() / file, path_ / file, failed);
}

PluginFolder::~PluginFolder() {
  std::error_code failed;
  if (!path_.empty()) fs::remove_all(path_, failed);
}

namespace {

std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') out += '\\';
    out += letter;
  }
  return out + "\"";
}

}  // namespace

Result<::deputy::Context> ContextFor(const PluginFolder& folder, const std::string& id, const OptionList& options) {
  std::string text = "version: 1\nplugins:\n  paths: [" + Quoted(folder.path().string()) + "]\nlog: {level: off}\n";
  if (!id.empty()) {
    text += "delegates:\n  - name: under_test\n    delegate: " + Quoted(id) + "\n    required: true\n    options: {";
    for (size_t i = 0; i < options.size(); ++i)
      text += (i == 0 ? "" : ", ") + options[i].first + ": " + options[i].second;
    text += "}\n";
  }
  return ::deputy::Context::FromYamlText("conformance", text);
}

}  // namespace deputy::conformance
