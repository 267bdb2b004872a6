#include "plugin/discovery/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "deputy/abi/delegate.h"
#include "deputy/abi/note.h"
#include "plugin/checks/text.hpp"
#include "plugin/discovery/device_names.hpp"
#include "plugin/discovery/elf_image.hpp"

namespace deputy::host {
namespace {

constexpr size_t kMaxText = 64 * 1024;
constexpr size_t kMaxListed = 256;

Rejection BadManifest(std::string text) { return {RejectReason::kBadNote, "has a bad manifest: " + std::move(text)}; }

std::vector<std::string> SplitList(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    items.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return items;
}

bool IsVariableName(std::string_view name) {
  return !name.empty() && (name[0] < '0' || name[0] > '9') && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// These configure the dynamic linker, the C library or the host itself: no plugin may set them for the whole process.
bool IsReserved(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {"LD_", "GLIBC_", "MALLOC_", "DEPUTY_"};
  return name == "PATH" || name == "HOME" || std::any_of(std::begin(kPrefixes), std::end(kPrefixes), [&](auto prefix) {
           return name.substr(0, prefix.size()) == prefix;
         });
}

std::optional<Rejection> AddEnvironment(std::string_view wish, Manifest& manifest) {
  const size_t equals = std::min(wish.find('='), wish.size());
  const std::string_view name = wish.substr(0, equals);
  if (equals == wish.size() || !IsVariableName(name))
    return BadManifest(fmt::format("'{}' is not an environment variable", CleanText(wish, 80)));
  if (IsReserved(name)) return BadManifest(fmt::format("it may not set the environment variable {}", name));
  manifest.environment.emplace_back(name, wish.substr(equals + 1));
  return std::nullopt;
}

// A file's name, without folders.
bool IsLibraryName(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name.find_first_of("/\n") == std::string_view::npos;
}

std::optional<Rejection> AddLine(std::string_view key, std::string_view value, Manifest& manifest) {
  if (key == "id") {
    if (!IsPluginName(value)) return BadManifest(fmt::format("'{}' is not a valid id", CleanText(value, 80)));
    manifest.id = value;
  } else if (key == "version") {
    manifest.version = value;
  } else if (key == "delegates") {
    manifest.delegates = SplitList(value);
    for (const std::string& delegate : manifest.delegates)
      if (!IsPluginName(delegate))
        return BadManifest(fmt::format("'{}' is not a valid id of a delegate", CleanText(delegate, 80)));
  } else if (key == "cpu") {
    manifest.cpu_features = SplitList(value);
  } else if (key == "env") {
    return AddEnvironment(value, manifest);
  } else if (key == "sanitizer") {
    if (value != "address" && value != "thread")
      return BadManifest(fmt::format("unknown sanitizer '{}'", CleanText(value, 80)));
    manifest.sanitizer = value;
  } else if (key == "files") {
    manifest.files = SplitList(value);
  } else if (key == "computes") {
    manifest.computes = value == "float32" ? DType::kFloat32 : value == "float16" ? DType::kFloat16 : DType::kBFloat16;
    if (value != NameOf(manifest.computes))
      return BadManifest(
          fmt::format("it computes in '{}': neither float32, float16 nor bfloat16", CleanText(value, 80)));
  } else if (key == "opens") {
    manifest.opens = SplitList(value);
    for (const std::string& library : manifest.opens)
      if (!IsLibraryName(library))
        return BadManifest(fmt::format("'{}' is not a valid name of a library", CleanText(library, 80)));
  } else if (key == "devices") {
    manifest.devices = SplitList(value);
    for (const std::string& device : manifest.devices)
      if (!IsDeviceName(device))
        return BadManifest(fmt::format("'{}' is not a name of a device below /dev", CleanText(device, 80)));
  }
  return std::nullopt;
}

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

std::string AbiText(uint32_t version) { return fmt::format("{}.{}", version >> 16, version & 0xffffu); }

Checked<Manifest> ParseManifest(std::span<const uint8_t> descriptor) {
  deputy_note_head head;
  if (descriptor.size() < sizeof head)
    return BadManifest(fmt::format("{} bytes are too few for its header", descriptor.size()));
  std::memcpy(&head, descriptor.data(), sizeof head);
  if (head.magic != DEPUTY_NOTE_MAGIC) return BadManifest("its magic number is wrong");
  if (head.head_size < sizeof head || head.head_size > descriptor.size() ||
      head.text_size > descriptor.size() - head.head_size)
    return BadManifest("its text is out of the bounds of the note");
  if (head.text_size > kMaxText)
    return BadManifest(fmt::format("its text has {} bytes, the maximum is {}", head.text_size, kMaxText));
  std::string_view text(reinterpret_cast<const char*>(descriptor.data() + head.head_size), head.text_size);
  while (!text.empty() && text.back() == '\0') text.remove_suffix(1);  // a C string's end is often counted in
  if (!IsUtf8(text)) return Rejection{RejectReason::kBadUtf8, "has a manifest that is not UTF-8"};
  if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return (c < 0x20 && c != '\n') || c == 0x7f; }))
    return BadManifest("its text contains control characters");

  Manifest manifest;
  manifest.abi_version = head.abi_version;
  manifest.min_host_abi = head.min_host_abi;
  std::set<std::string_view> seen;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) return BadManifest(fmt::format("'{}' is not key=value", CleanText(line, 80)));
    const std::string_view key = line.substr(0, equals);
    if (!seen.insert(key).second && key != "env")
      return BadManifest(fmt::format("'{}' occurs twice", CleanText(key, 80)));
    if (auto rejection = AddLine(key, line.substr(equals + 1), manifest)) return *std::move(rejection);
  }
  if (manifest.id.empty()) return BadManifest("it has no id");
  if (std::max({manifest.delegates.size(), manifest.cpu_features.size(), manifest.environment.size(),
                manifest.files.size(), manifest.devices.size()}) > kMaxListed)
    return BadManifest("one of its lists is too long");
  return manifest;
}

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

namespace {

// Of the runtime library that the file needs; empty for none, and for that of undefined behaviour, which runs anywhere.
std::string SanitizerOf(const std::vector<std::string>& libraries) {
  constexpr std::pair<std::string_view, std::string_view> kRuntimes[] = {
      {"asan", "address"}, {"tsan", "thread"}, {"lsan", "leak"}, {"msan", "memory"}, {"hwasan", "hwaddress"}};
  for (const std::string& library : libraries)
    for (const auto& [name, kind] : kRuntimes)
      if (library.rfind(fmt::format("lib{}.so", name), 0) == 0 ||
          library.rfind(fmt::format("libclang_rt.{}", name), 0) == 0)
        return std::string(kind);
  return {};
}

Checked<Manifest> ReadManifestOf(const ByteSource& file, const HostTraits& host) {
  DEPUTY_ASSIGN_OR_REJECT(const ElfImage image, ElfImage::Parse(file, host.machine));
  const ElfNote* found = nullptr;
  for (const ElfNote& note : image.notes()) {
    if (note.owner != DEPUTY_NOTE_OWNER || note.type != DEPUTY_NOTE_TYPE) continue;
    if (found != nullptr) return Rejection{RejectReason::kBadNote, "has two manifests"};
    found = &note;
  }
  const std::optional<bool> entry = image.FindFunction(DEPUTY_ENTRY_SYMBOL);
  if (found == nullptr && !entry) return Rejection{RejectReason::kNotAPlugin, "is not a delegate plugin"};
  // Before all else: what the runtime of a sanitizer does without its program is no fault of the plugin.
  std::vector<std::string> libraries = image.NeededLibraries();
  if (const std::string runtime = SanitizerOf(libraries); !runtime.empty() && runtime != host.sanitizer)
    return Rejection{RejectReason::kSanitizerMismatch,
                     fmt::format("is built with the {} sanitizer, this host {}", runtime,
                                 host.sanitizer.empty() ? "is not" : "with the " + host.sanitizer + " sanitizer")};
  if (found == nullptr)
    return Rejection{RejectReason::kNoNote,
                     "has no manifest (ELF note " DEPUTY_NOTE_SECTION
                     "); build it with deputy_add_delegate(), or add DEPUTY_NOTE of deputy/abi/note.h to a source"};
  if (!entry) return Rejection{RejectReason::kNoEntrySymbol, "does not export " DEPUTY_ENTRY_SYMBOL};
  if (!*entry)
    return Rejection{RejectReason::kNoEntrySymbol, "exports " DEPUTY_ENTRY_SYMBOL " as data, not as a function"};

  DEPUTY_ASSIGN_OR_REJECT(Manifest manifest, ParseManifest(found->descriptor));
  if (auto rejection = CheckAgainst(manifest, host)) return *std::move(rejection);
  if (image.executable_stack())
    return Rejection{RejectReason::kExecutableStack, "requests an executable stack; link it with -z noexecstack"};
  if (image.text_relocations())
    return Rejection{RejectReason::kTextRelocations, "has relocations in its code; compile it with -fPIC"};
  manifest.build_id = image.BuildId();
  manifest.libraries = std::move(libraries);
  return manifest;
}

}  // namespace

Checked<Manifest> ReadManifest(const ByteSource& file, const HostTraits& host) {
  Checked<Manifest> manifest = ReadManifestOf(file, host);
  // What could not be read is not what the file has.
  if (RejectionOf(manifest) != nullptr && file.read_error() != 0) return RejectionOfErrno(file.read_error());
  return manifest;
}

}  // namespace deputy::host
