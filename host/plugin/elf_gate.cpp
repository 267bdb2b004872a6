#include "plugin/elf_gate.hpp"

#include <fmt/format.h>

#include <fstream>
#include <optional>
#include <sstream>

#include "deputy/abi/delegate.h"
#include "deputy/abi/note.h"
#include "plugin/elf_image.hpp"
#include "plugin/text.hpp"

namespace deputy::host {
namespace {

std::set<std::string, std::less<>> CpuFeatures() {
  std::set<std::string, std::less<>> features;
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    // "flags\t\t: fpu vme ..." on x86, "Features\t: fp asimd ..." on arm.
    if (line.rfind("flags", 0) != 0 && line.rfind("Features", 0) != 0) continue;
    std::istringstream words(line.substr(std::min(line.find(':'), line.size() - 1) + 1));
    for (std::string word; words >> word;) features.insert(word);
    break;
  }
  return features;
}

std::optional<Rejection> CheckAgainst(const Manifest& manifest, const HostTraits& host) {
  if (!AbiFits(manifest.abi_version, manifest.min_host_abi, host.abi_version)) {
    std::string text = fmt::format("is built for plugin ABI {}", AbiText(manifest.abi_version));
    if (manifest.min_host_abi > host.abi_version) text += fmt::format(" and needs {}", AbiText(manifest.min_host_abi));
    return Rejection{RejectReason::kAbiMismatch, fmt::format("{}, this host has {}", text, AbiText(host.abi_version))};
  }
  for (const std::string& feature : manifest.cpu_features)
    if (host.features.count(feature) == 0)
      return Rejection{RejectReason::kNeedsCpuFeature, fmt::format("needs CPU feature '{}'", CleanText(feature, 80))};
  if (!manifest.sanitizer.empty() && manifest.sanitizer != host.sanitizer)
    return Rejection{RejectReason::kSanitizerMismatch,
                     fmt::format("is built with the {} sanitizer, this host {}", manifest.sanitizer,
                                 host.sanitizer.empty() ? "is not" : "with the " + host.sanitizer + " sanitizer")};
  return std::nullopt;
}

}  // namespace

HostTraits ThisHost() {
  HostTraits host;
  host.abi_version = DEPUTY_ABI_VERSION;
  host.machine = ThisMachine();
  host.features = CpuFeatures();
#if defined(__SANITIZE_ADDRESS__)
  host.sanitizer = "address";
#elif defined(__SANITIZE_THREAD__)
  host.sanitizer = "thread";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
  host.sanitizer = "address";
#elif __has_feature(thread_sanitizer)
  host.sanitizer = "thread";
#endif
#endif
  return host;
}

bool AbiFits(uint32_t abi, uint32_t min_host, uint32_t host) {
  if (abi >> 16 != host >> 16) return false;
  if (host >> 16 == 0) return abi == host && min_host <= host;
  return min_host <= host;
}

Checked<Manifest> ReadManifest(const ByteSource& file, const HostTraits& host) {
  Checked<ElfImage> parsed = ElfImage::Parse(file, host.machine);
  if (const Rejection* rejection = RejectionOf(parsed)) return *rejection;
  const ElfImage& image = std::get<ElfImage>(parsed);

  const ElfNote* found = nullptr;
  const ElfNote* build_id = nullptr;
  for (const ElfNote& note : image.notes()) {
    if (note.owner == "GNU" && note.type == NT_GNU_BUILD_ID) build_id = &note;
    if (note.owner != DEPUTY_NOTE_OWNER || note.type != DEPUTY_NOTE_TYPE) continue;
    if (found != nullptr) return Rejection{RejectReason::kBadNote, "has two manifests"};
    found = &note;
  }
  const std::optional<bool> entry = image.FindFunction(DEPUTY_ENTRY_SYMBOL);
  if (found == nullptr && !entry) return Rejection{RejectReason::kNotAPlugin, "is not a delegate plugin"};
  if (found == nullptr)
    return Rejection{RejectReason::kNoNote,
                     "has no manifest (ELF note " DEPUTY_NOTE_SECTION "); build it with deputy_add_delegate()"};
  if (!entry) return Rejection{RejectReason::kNoEntrySymbol, "does not export " DEPUTY_ENTRY_SYMBOL};
  if (!*entry)
    return Rejection{RejectReason::kNoEntrySymbol, "exports " DEPUTY_ENTRY_SYMBOL " as data, not as a function"};

  Checked<Manifest> manifest = ParseManifest(found->descriptor);
  if (RejectionOf(manifest) != nullptr) return manifest;
  if (auto rejection = CheckAgainst(std::get<Manifest>(manifest), host)) return *std::move(rejection);
  if (image.executable_stack())
    return Rejection{RejectReason::kExecutableStack, "requests an executable stack; link it with -z noexecstack"};
  if (image.text_relocations())
    return Rejection{RejectReason::kTextRelocations, "has relocations in its code; compile it with -fPIC"};
  if (build_id != nullptr) std::get<Manifest>(manifest).build_id = build_id->descriptor;
  return manifest;
}

}  // namespace deputy::host
