#include "plugin/discovery/library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <boost/dll/shared_library.hpp>
#include <boost/dll/shared_library_load_mode.hpp>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

#include "plugin/checks/plugin_code.hpp"
#include "plugin/checks/process_end.hpp"
#include "plugin/checks/process_keeper.hpp"
#include "plugin/checks/text.hpp"
#include "plugin/discovery/elf_image.hpp"

namespace deputy::host {
namespace {

struct BuildIdSearch {
  uint64_t address;
  std::vector<uint8_t> build_id;
};

int VisitLoadedObject(dl_phdr_info* object, size_t, void* data) {
  auto& search = *static_cast<BuildIdSearch*>(data);
  bool found = false;
  std::vector<ElfNote> notes;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const uint64_t begin = object->dlpi_addr + segment.p_vaddr;
    found = found || (segment.p_type == PT_LOAD && search.address - begin < segment.p_memsz);
  }
  for (int i = 0; found && i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* begin = reinterpret_cast<const uint8_t*>(object->dlpi_addr + segment.p_vaddr);
    ReadNotes({begin, segment.p_filesz}, segment.p_align, notes);
  }
  for (const ElfNote& note : notes)
    if (note.owner == "GNU" && note.type == NT_GNU_BUILD_ID) search.build_id = note.descriptor;
  return found ? 1 : 0;
}

Rejection LoadFailed(const std::filesystem::path& path) {
  // Boost reports "bad file descriptor" for every failure. The linker's message begins with the path, which the report
  // names anyway.
  const char* message = dlerror();
  std::string text = message == nullptr ? "no reason given" : CleanText(message);
  const std::string prefix = path.string() + ": ";
  if (text.rfind(prefix, 0) == 0) text.erase(0, prefix.size());
  return {RejectReason::kLoadFailed, "cannot be loaded: " + text};
}

}  // namespace

struct Library::Handle {
  boost::dll::shared_library library;
};

void ApplyEnvironment(const Manifest& manifest) {
  constexpr int kKeepExisting = 0;
  for (const auto& [name, value] : manifest.environment) setenv(name.c_str(), value.c_str(), kKeepExisting);
}

Library::Library(std::unique_ptr<Handle> handle, deputy_plugin_query_fn query)
    : handle_(std::move(handle)), entry_(query) {}

Library::~Library() = default;

Checked<std::unique_ptr<Library>> Library::Open(const std::filesystem::path& path, const std::string& label) {
  namespace dll = boost::dll;
  const ProcessKeeper keeper({label, "load", {}});
  // <dlfcn.h> declares that dlopen throws nothing, and the compiler would leave out what catches the exceptions of
  // static constructors: it must not know the function. After such an exception the dynamic linker keeps its lock, so
  // that dlopen of another thread waits for ever; a probe's process ends then.
  void* (*volatile open)(const char*, int) = ::dlopen;
  void* opened = nullptr;
  if (!Returned({label, "load"}, [&] { opened = open(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); }))
    return Rejection{RejectReason::kThrew, "one of its static constructors threw an exception"};
  if (opened == nullptr) return LoadFailed(path);
  // Boost has no name for NOLOAD, but hands the bits of its modes to dlopen as they are.
  const auto mode =
      dll::load_mode::rtld_now | dll::load_mode::rtld_local | static_cast<dll::load_mode::type>(RTLD_NOLOAD);
  auto handle = std::make_unique<Handle>();
  std::error_code error;
  handle->library.load(path, mode, error);
  if (error || !handle->library.is_loaded()) return LoadFailed(path);
  dlclose(opened);  // the handle has its own reference
  if (!handle->library.has(DEPUTY_ENTRY_SYMBOL))
    return Rejection{RejectReason::kNoEntrySymbol, "does not export " DEPUTY_ENTRY_SYMBOL};
  auto* query = &handle->library.get<const deputy_plugin*(uint32_t, const void*)>(DEPUTY_ENTRY_SYMBOL);
  AddPluginCode(reinterpret_cast<const void*>(query), label);
  RenewExitHook();
  return std::unique_ptr<Library>(new Library(std::move(handle), query));
}

std::vector<uint8_t> Library::BuildId() const {
  BuildIdSearch search{reinterpret_cast<uint64_t>(reinterpret_cast<const void*>(entry_)), {}};
  dl_iterate_phdr(VisitLoadedObject, &search);
  return std::move(search.build_id);
}

}  // namespace deputy::host
