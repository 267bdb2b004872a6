// The plugin's file and its tables, before a delegate is opened.
#include <algorithm>
#include <set>

#include "definitions.hpp"
#include "plugin_file.hpp"
#include "test.hpp"
#include "text.hpp"

namespace deputy::conformance {
namespace {

std::string VersionText(uint32_t abi) { return std::to_string(abi >> 16) + "." + std::to_string(abi & 0xffff); }

// Whether hosts of this kit's version accept the plugin: before 1.0 only those of the same version, later those of the
// same major number that are new enough.
bool IsServed(uint32_t abi, uint32_t min_host) {
  constexpr uint32_t kMajor = DEPUTY_ABI_VERSION >> 16;
  if (abi >> 16 != kMajor) return false;
  return kMajor == 0 ? abi == DEPUTY_ABI_VERSION : min_host <= DEPUTY_ABI_VERSION;
}

void CheckNote(TestRun& run) {
  const PluginFile file = PluginFile::Read(run.settings().plugin);
  if (!file.fault.empty()) return run.Failed("", "the file " + file.fault);
  if (!file.has_note) return run.Failed("", "there is no manifest: the section .note.deputy is missing or damaged");
  if (!IsServed(file.note.abi_version, file.note.min_host_abi))
    run.Failed("", "the manifest is for ABI " + VersionText(file.note.abi_version) + ", this kit for " +
                       VersionText(DEPUTY_ABI_VERSION));
  if (file.note.min_host_abi > file.note.abi_version) run.Failed("", "min_host_abi is newer than abi_version");
  std::set<std::string> keys;
  for (const auto& [key, value] : file.lines) {
    if (!keys.insert(key).second && key != "env") run.Failed("", "the manifest says '" + key + "' twice");
    if (!IsUtf8(value)) run.Failed("", "the manifest's '" + key + "' is not UTF-8");
  }
  for (const char* key : {"id", "version", "delegates"})
    if (file.Line(key).empty()) run.Failed("", std::string("the manifest has no '") + key + "'");
}

void CheckExports(TestRun& run) {
  const PluginFile file = PluginFile::Read(run.settings().plugin);
  if (!file.fault.empty()) return run.Failed("", "the file " + file.fault);
  bool entry = false;
  std::string others, unique;
  for (const std::string& name : file.exports) {
    entry = entry || name == DEPUTY_ENTRY_SYMBOL;
    if (name != DEPUTY_ENTRY_SYMBOL) others += (others.empty() ? "" : ", ") + name;
  }
  for (const std::string& name : file.unique) unique += (unique.empty() ? "" : ", ") + name;
  if (!entry) run.Failed("", std::string(DEPUTY_ENTRY_SYMBOL) + " is not exported");
  if (!others.empty()) run.Failed("", "other symbols are exported: " + others.substr(0, 200));
  if (!unique.empty())
    run.Failed("", "plugins of one process share these symbols: " + unique.substr(0, 200) +
                       "; compile with -fvisibility=hidden or -fno-gnu-unique");
}

void CheckText(TestRun& run, const std::string& subject, const deputy_str& text, bool may_be_empty) {
  const std::string wrong = FaultOf(text, may_be_empty);
  if (!wrong.empty()) run.Failed("", subject + " " + wrong);
}

void CheckDelegate(TestRun& run, Plugin& plugin, const deputy_delegate* delegate, const PluginFile& file) {
  if (!DEPUTY_HAS(delegate, deputy_delegate, execute))
    return run.Failed(
        "", "a delegate's struct_size is " + std::to_string(delegate->struct_size) + ", less than that of ABI 0.2");
  const std::string id = TextOf(delegate->id);
  CheckText(run, "a delegate's id", delegate->id, false);
  CheckText(run, "the description of " + id, delegate->description, true);
  const std::vector<std::string> listed = file.List("delegates");
  if (std::find(listed.begin(), listed.end(), id) == listed.end())
    run.Failed("", "the delegate '" + id + "' is not in the manifest");
  constexpr uint32_t kKnown = DEPUTY_DELEGATE_SERIAL | DEPUTY_DELEGATE_DYNAMIC_SHAPES | DEPUTY_DELEGATE_SIMULATED |
                              DEPUTY_DELEGATE_LOADS_WHILE_RUNNING | DEPUTY_DELEGATE_STREAMS_CONSTANTS;
  if ((delegate->flags & ~kKnown) != 0) run.Failed("", "the delegate '" + id + "' has unknown flags");
  const std::pair<const char*, bool> slots[] = {{"open", delegate->open != nullptr},
                                                {"close", delegate->close != nullptr},
                                                {"query_support", delegate->query_support != nullptr},
                                                {"compile", delegate->compile != nullptr},
                                                {"executable_destroy", delegate->executable_destroy != nullptr},
                                                {"context_create", delegate->context_create != nullptr},
                                                {"context_destroy", delegate->context_destroy != nullptr},
                                                {"execute", delegate->execute != nullptr}};
  for (const auto& [name, filled] : slots)
    if (!filled) run.Failed("", "the slot " + std::string(name) + " of the delegate '" + id + "' is empty");
  bool has_onnx = false;
  for (uint64_t i = 0; delegate->opsets != nullptr && i < delegate->opset_count; ++i) {
    CheckText(run, "the domain of an opset of " + id, delegate->opsets[i].domain, true);
    has_onnx = has_onnx || delegate->opsets[i].domain.size == 0;
    const std::string domain = TextOf(delegate->opsets[i].domain);
    const auto newest = static_cast<uint32_t>(NewestDefinition(domain));
    if (newest != 0 && delegate->opsets[i].version > newest)
      run.Warn("the delegate '" + id + "' declares opset " + std::to_string(delegate->opsets[i].version) +
               (domain.empty() ? "" : " of " + domain) +
               "; the newest definition of any operator on the SDK's list is " + std::to_string(newest));
  }
  if (!has_onnx) run.Failed("", "the delegate '" + id + "' declares no opset of ONNX's own domain");
  if (plugin.Extension(delegate, "org.deputy.conformance.none/1") != nullptr)
    run.Failed("", "the delegate '" + id + "' returns an extension for an undefined id");
}

void CheckTables(TestRun& run) {
  const PluginFile file = PluginFile::Read(run.settings().plugin);
  const std::unique_ptr<Plugin> plugin = run.Load(false);
  if (plugin == nullptr) return;
  const deputy_plugin& table = plugin->table();
  if (!IsServed(table.abi_version, table.min_host_abi))
    run.Failed("", "the plugin's table is for ABI " + VersionText(table.abi_version));
  CheckText(run, "the plugin's id", table.id, false);
  CheckText(run, "the plugin's vendor", table.vendor, true);
  CheckText(run, "the plugin's version", table.version, true);
  if (TextOf(table.id) != file.Line("id"))
    run.Failed("", "the plugin's id is '" + TextOf(table.id) + "', in the manifest '" + file.Line("id") + "'");
  if (table.flags != 0) run.Failed("", "the plugin's flags are not 0");
  if (table.delegate_count == nullptr || table.delegate_at == nullptr)
    return run.Failed("", "the slots delegate_count or delegate_at are empty");
  const Outcome outcome = plugin->Init();
  if (!outcome.ok()) return run.Failed("", "init failed: " + outcome.ToString());
  uint32_t count = 0;
  plugin->CallVoid("delegate_count", [&] { count = table.delegate_count(&table); });
  const std::vector<const deputy_delegate*> delegates = plugin->Delegates();
  if (count != delegates.size())
    run.Failed("", "it says that it has " + std::to_string(count) + " delegates; there are " +
                       std::to_string(delegates.size()));
  if (count != file.List("delegates").size())
    run.Failed("", "the manifest lists " + std::to_string(file.List("delegates").size()) +
                       " delegates, the table has " + std::to_string(count));
  std::set<std::string> ids;
  for (const deputy_delegate* delegate : delegates) {
    CheckDelegate(run, *plugin, delegate, file);
    if (!ids.insert(TextOf(delegate->id)).second)
      run.Failed("", "two delegates are called '" + TextOf(delegate->id) + "'");
  }
  if (plugin->Delegates() != delegates) run.Failed("", "delegate_at gives another table the second time");
  plugin->Shutdown();
  run.NoFaults(*plugin, "");
}

}  // namespace

std::vector<Test> EntryTests() {
  return {{"entry.note", CheckNote}, {"entry.exports", CheckExports}, {"entry.tables", CheckTables}};
}

}  // namespace deputy::conformance
