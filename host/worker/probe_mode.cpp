#include "worker/probe_mode.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/worker_process.hpp"
#include "plugin/discovery/description.hpp"
#include "plugin/discovery/library.hpp"
#include "plugin/discovery/loaded_plugin.hpp"
#include "plugin/discovery/manifest.hpp"
#include "plugin/discovery/plugin_file.hpp"
#include "plugin/discovery/plugin_parts.hpp"
#include "plugin/discovery/probe_wire.hpp"
#include "plugin/discovery/table_check.hpp"
#include "worker/refused_files.hpp"
#include "worker/sandbox.hpp"
#include "worker/trial.hpp"

namespace deputy::host {
namespace {

bool Send(const std::vector<uint8_t>& frame) {
  size_t done = 0;
  while (done < frame.size()) {
    const ssize_t put = write(kWorkerReplyFd, frame.data() + done, frame.size() - done);
    if (put < 0 && errno != EINTR) return false;
    if (put > 0) done += static_cast<size_t>(put);
  }
  return true;
}

// Announces each step before it is taken, so that the host can tell in which of them the process ended.
Checked<PluginDescription> Ask(const std::filesystem::path& path, bool sandbox, uint64_t nonce) {
  DEPUTY_ASSIGN_OR_REJECT(const std::unique_ptr<PluginFile> file, PluginFile::Open(path));
  DEPUTY_ASSIGN_OR_REJECT(const Manifest manifest, ReadManifest(*file, ThisHost()));
  ApplyEnvironment(manifest);
  if (sandbox)
    if (auto rejection = EnterSandbox(path, manifest.devices)) return *std::move(rejection);

  const std::vector<std::string> before = MappedLibraries();
  std::vector<PluginPart> at_load;
  // Before each step that may end the process: what the plugin maps counts as a part of it.
  const auto send_mapped = [&] {
    std::vector<PluginPart> mapped = MappedSince(before, path);
    for (PluginPart& part : mapped) part.at_load = std::find(at_load.begin(), at_load.end(), part) != at_load.end();
    Send(EncodeMapped(nonce, mapped));
  };
  const auto announce = [&](ProbeStage stage) {
    if (stage == ProbeStage::kQuery) at_load = MappedSince(before, path);
    send_mapped();
    Send(EncodeStage(nonce, stage));
  };
  announce(ProbeStage::kLoad);
  DEPUTY_ASSIGN_OR_REJECT(const std::unique_ptr<Library> library,
                          Library::Open(path, PluginLabel(manifest.id, path.filename().string())));

  announce(ProbeStage::kQuery);
  DEPUTY_ASSIGN_OR_REJECT(const deputy_plugin* const table, QueryTable(library->entry()));

  announce(ProbeStage::kInit);
  // Kept for ever, as the plugin's threads may still use it while this process ends.
  DEPUTY_ASSIGN_OR_REJECT(std::shared_ptr<LoadedPlugin> loaded, LoadedPlugin::Adopt(table, nullptr));
  const auto& plugin = *new std::shared_ptr<LoadedPlugin>(std::move(loaded));

  announce(ProbeStage::kDescribe);
  DEPUTY_ASSIGN_OR_REJECT(PluginDescription description, Describe(*table, plugin->host()));
  SetLogLevel(LogLevel::kOff);  // what delegates answer to a trial is not reported
  TryDelegates(plugin, description, announce);
  send_mapped();
  for (DelegateDescription& delegate : description.delegates)
    if (!delegate.available) delegate.unavailable += RefusedFilesText();
  return description;
}

}  // namespace

bool RunProbe(const std::filesystem::path& plugin, bool sandbox, uint64_t nonce) {
  Checked<PluginDescription> answer = Ask(plugin, sandbox, nonce);
  if (auto* rejection = std::get_if<Rejection>(&answer)) rejection->text += RefusedFilesText();
  return Send(EncodeReply(nonce, answer));
}

}  // namespace deputy::host
