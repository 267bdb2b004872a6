#include "plugin/checks/plugin_code.hpp"

#include <execinfo.h>
#include <fmt/format.h>
#include <link.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

namespace deputy::host {
namespace {

struct Code {
  std::atomic<uintptr_t> begin{0};  // 0: free
  uintptr_t end = 0;
  const std::string* label = nullptr;
};

// Read by signal handlers, so its size is fixed. Code beyond it has no name.
std::array<Code, 1024> code_table;

constexpr int kMostFrames = 64;

struct Search {
  uintptr_t address = 0, begin = 0, end = 0;
};

int VisitObject(dl_phdr_info* object, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || search.address < begin || search.address - begin >= segment.p_memsz) continue;
    search.begin = begin;
    search.end = begin + segment.p_memsz;
    return 1;
  }
  return 0;
}

}  // namespace

std::string PluginLabel(std::string_view id, std::string_view origin) {
  return fmt::format("plugin {} ({})", id, origin);
}

void AddPluginCode(const void* code, std::string_view label) {
  Search search{reinterpret_cast<uintptr_t>(code), 0, 0};
  dl_iterate_phdr(VisitObject, &search);
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (search.begin == 0 || !PluginAt(code).empty()) return;
  std::array<void*, kMostFrames> frames{};
  backtrace(frames.data(), kMostFrames);  // loads the unwinder
  for (Code& entry : code_table) {
    if (entry.begin.load(std::memory_order_relaxed) != 0) continue;
    entry.end = search.end;
    entry.label = new std::string(label);
    entry.begin.store(search.begin, std::memory_order_release);
    return;
  }
}

std::string_view PluginAt(const void* code) noexcept {
  const auto address = reinterpret_cast<uintptr_t>(code);
  for (const Code& entry : code_table) {
    const uintptr_t begin = entry.begin.load(std::memory_order_acquire);
    if (begin == 0) break;
    if (address >= begin && address < entry.end) return *entry.label;
  }
  return {};
}

std::string_view PluginOnStack() noexcept {
  if (code_table.front().begin.load(std::memory_order_acquire) == 0) return {};  // the unwinder may not be loaded
  std::array<void*, kMostFrames> frames{};
  const int count = backtrace(frames.data(), kMostFrames);
  for (int i = 0; i < count; ++i)
    if (const std::string_view label = PluginAt(frames[static_cast<size_t>(i)]); !label.empty()) return label;
  return {};
}

}  // namespace deputy::host
