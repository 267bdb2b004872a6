// The parts of an ELF file that decide whether it may be loaded. dlopen trusts these headers, and most kinds of damage
// end the process (SIGBUS on a truncated file, SIGSEGV on a flipped bit), so they are checked here first, without
// running or mapping anything.
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/discovery/plugin_file.hpp"
#include "plugin/discovery/rejection.hpp"

namespace deputy::host {

struct ElfNote {
  std::string owner;  // without its NUL
  uint32_t type = 0;
  std::vector<uint8_t> descriptor;
};

// Appends the notes of a note segment; its fault, or null.
const char* ReadNotes(std::span<const uint8_t> segment, uint64_t alignment, std::vector<ElfNote>& notes);

class ElfImage {
 public:
  // `machine`: the EM_ number required. `source` must outlive the image.
  static Checked<ElfImage> Parse(const ByteSource& source, uint16_t machine);

  const std::vector<ElfNote>& notes() const { return notes_; }
  bool executable_stack() const { return executable_stack_; }
  bool text_relocations() const { return text_relocations_; }
  // Names of the libraries that the dynamic linker loads with this one, in order (DT_NEEDED).
  std::vector<std::string> NeededLibraries() const;
  // Of the linker; empty without one.
  std::vector<uint8_t> BuildId() const;
  // The same, and those that it is a filter of, which are loaded with it as well (DT_FILTER, DT_AUXILIARY).
  std::vector<std::string> LoadedLibraries() const;
  // The texts of a dynamic tag, such as DT_RUNPATH, that are not empty.
  std::vector<std::string> Texts(int64_t tag) const;

  // Looks the symbol up as the dynamic linker does: empty if there is none, else whether it is a function in code.
  std::optional<bool> FindFunction(std::string_view name) const;

 private:
  ElfImage() = default;

  std::optional<Rejection> ReadHeaders(const ByteSource& source, uint16_t machine);
  std::optional<Rejection> CheckSegments();
  std::optional<Rejection> ReadDynamic();
  std::optional<Rejection> CheckDynamicTables() const;
  std::optional<Rejection> ReadNoteSegments();
  bool ReadAt(uint64_t address, void* out, size_t count) const;
  bool Backed(uint64_t address, uint64_t count) const;
  std::optional<uint64_t> Dynamic(int64_t tag) const;
  std::optional<uint32_t> LookUpGnu(std::string_view name, uint64_t table) const;
  std::optional<uint32_t> LookUpSysv(std::string_view name, uint64_t table) const;
  bool SymbolIs(uint32_t index, std::string_view name, Elf64_Sym& symbol) const;

  const ByteSource* source_ = nullptr;
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Dyn> dynamic_;
  std::vector<ElfNote> notes_;
  bool executable_stack_ = false, text_relocations_ = false;
};

// The EM_ number of the machine that this code was compiled for, and a machine's usual name ("aarch64").
uint16_t ThisMachine();
std::string MachineName(uint16_t machine);

}  // namespace deputy::host
