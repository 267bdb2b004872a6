#include "worker/probe_mode.hpp"

#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "plugin/description.hpp"
#include "plugin/elf_gate.hpp"
#include "plugin/host_services.hpp"
#include "plugin/library.hpp"
#include "plugin/plugin_file.hpp"
#include "plugin/probe_wire.hpp"
#include "plugin/table_check.hpp"
#include "plugin/worker_process.hpp"

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
Checked<PluginDescription> Ask(const std::filesystem::path& path, uint64_t nonce) {
  const Checked<std::unique_ptr<PluginFile>> file = PluginFile::Open(path);
  if (const Rejection* rejection = RejectionOf(file)) return *rejection;
  const Checked<Manifest> manifest = ReadManifest(*std::get<0>(file), ThisHost());
  if (const Rejection* rejection = RejectionOf(manifest)) return *rejection;
  ApplyEnvironment(std::get<Manifest>(manifest));

  Send(EncodeStage(nonce, ProbeStage::kLoad));
  const Checked<std::unique_ptr<Library>> library =
      Library::Open(path, PluginLabel(std::get<Manifest>(manifest).id, path.filename().string()));
  if (const Rejection* rejection = RejectionOf(library)) return *rejection;

  Send(EncodeStage(nonce, ProbeStage::kQuery));
  const Checked<const deputy_plugin*> table = QueryTable(std::get<0>(library)->entry());
  if (const Rejection* rejection = RejectionOf(table)) return *rejection;

  Send(EncodeStage(nonce, ProbeStage::kInit));
  // Kept for ever, as the plugin's threads may still use it while this process ends.
  const auto* services = new HostServices(std::get<Manifest>(manifest).id, nullptr);
  if (auto rejection = Init(*std::get<0>(table), services->table())) return *std::move(rejection);

  Send(EncodeStage(nonce, ProbeStage::kDescribe));
  return Describe(*std::get<0>(table), services->table());
}

}  // namespace

bool RunProbe(const std::filesystem::path& plugin, uint64_t nonce) {
  return Send(EncodeReply(nonce, Ask(plugin, nonce)));
}

}  // namespace deputy::host
