#include "plugin/discovery/elf_image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace deputy::host {
namespace {

// Far above what linkers write; keeps the work on a hostile file small.
constexpr size_t kMaxSegments = 256;
constexpr size_t kMaxDynamicEntries = 4096;
constexpr uint64_t kMaxNoteBytes = 1u << 20;
constexpr uint64_t kMaxImage = uint64_t{1} << 40;
constexpr uint32_t kMaxChain = 1u << 16;

Rejection Truncated(std::string text) { return {RejectReason::kTruncated, "is truncated: " + std::move(text)}; }
Rejection Damaged(std::string text) { return {RejectReason::kDamaged, "is damaged: " + std::move(text)}; }

bool Inside(uint64_t offset, uint64_t count, uint64_t size) { return count <= size && offset <= size - count; }

uint64_t PadTo(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

}  // namespace

uint16_t ThisMachine() {
#if defined(__x86_64__)
  return EM_X86_64;
#elif defined(__aarch64__)
  return EM_AARCH64;
#elif defined(__riscv)
  return EM_RISCV;
#else
#error "the ELF number of this machine is not known here"
#endif
}

std::string MachineName(uint16_t machine) {
  switch (machine) {
    case EM_386: return "i386";
    case EM_X86_64: return "x86-64";
    case EM_ARM: return "arm";
    case EM_AARCH64: return "aarch64";
    case EM_RISCV: return "riscv";
    case EM_PPC64: return "ppc64";
    case EM_S390: return "s390";
    case EM_MIPS: return "mips";
    case EM_LOONGARCH: return "loongarch";
    default: return fmt::format("machine {}", machine);
  }
}

const char* ReadNotes(std::span<const uint8_t> segment, uint64_t alignment, std::vector<ElfNote>& notes) {
  if (alignment != 8) alignment = 4;
  uint64_t at = 0;
  while (Inside(at, sizeof(Elf64_Nhdr), segment.size())) {
    Elf64_Nhdr head;
    std::memcpy(&head, segment.data() + at, sizeof head);
    const uint64_t name_at = at + sizeof head;
    if (!Inside(name_at, head.n_namesz, segment.size())) return "the name of a note is out of bounds";
    const uint64_t descriptor_at = PadTo(name_at + head.n_namesz, alignment);
    if (!Inside(descriptor_at, head.n_descsz, segment.size())) return "the content of a note is out of bounds";
    ElfNote& note = notes.emplace_back();
    note.owner.assign(reinterpret_cast<const char*>(segment.data() + name_at), head.n_namesz);
    if (!note.owner.empty() && note.owner.back() == '\0') note.owner.pop_back();
    note.type = head.n_type;
    const uint8_t* descriptor = segment.data() + descriptor_at;
    note.descriptor.assign(descriptor, descriptor + head.n_descsz);
    at = PadTo(descriptor_at + head.n_descsz, alignment);
  }
  return nullptr;
}

Checked<ElfImage> ElfImage::Parse(const ByteSource& source, uint16_t machine) {
  ElfImage image;
  if (auto rejection = image.ReadHeaders(source, machine)) return *std::move(rejection);
  if (auto rejection = image.CheckSegments()) return *std::move(rejection);
  if (auto rejection = image.ReadDynamic()) return *std::move(rejection);
  if (auto rejection = image.CheckDynamicTables()) return *std::move(rejection);
  if (auto rejection = image.ReadNoteSegments()) return *std::move(rejection);
  return image;
}

std::optional<Rejection> ElfImage::ReadHeaders(const ByteSource& source, uint16_t machine) {
  source_ = &source;
  const uint64_t size = source.size();
  if (size == 0) return Rejection{RejectReason::kNotElf, "is empty"};
  unsigned char magic[SELFMAG];
  if (!source.Read(0, magic, sizeof magic) || std::memcmp(magic, ELFMAG, SELFMAG) != 0)
    return Rejection{RejectReason::kNotElf, "is not an ELF file"};
  Elf64_Ehdr header;
  if (!source.Read(0, &header, sizeof header))
    return Truncated(fmt::format("{} bytes are too few for an ELF header", size));
  const std::string here = MachineName(machine);
  const auto wrong = [&](const std::string& target) {
    return Rejection{RejectReason::kWrongArchitecture,
                     fmt::format("is built for {}, but this machine is {}", target, here)};
  };
  if (header.e_ident[EI_DATA] == ELFDATA2MSB) return wrong("a big-endian machine");
  if (header.e_ident[EI_CLASS] == ELFCLASS32) return wrong(MachineName(header.e_machine) + " (32 bits)");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_ident[EI_VERSION] != EV_CURRENT || header.e_version != EV_CURRENT)
    return Damaged("its ELF header has an unknown class, byte order or version");
  if (header.e_machine != machine) return wrong(MachineName(header.e_machine));
  if (header.e_ident[EI_OSABI] != ELFOSABI_SYSV && header.e_ident[EI_OSABI] != ELFOSABI_GNU)
    return wrong(fmt::format("another system (OS ABI {})", header.e_ident[EI_OSABI]));
  if (header.e_type != ET_DYN)
    return Rejection{
        RejectReason::kNotSharedLibrary,
        fmt::format("is {}, not a shared library", header.e_type == ET_EXEC  ? "an executable"
                                                   : header.e_type == ET_REL ? "an object file"
                                                                             : "another kind of ELF file")};
  if (header.e_ehsize != sizeof header || header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 ||
      header.e_phnum > kMaxSegments || header.e_phoff % alignof(Elf64_Phdr) != 0)
    return Damaged("its ELF header describes invalid program headers");
  if (!Inside(header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr), size))
    return Truncated("the program headers are beyond the end of the file");
  if (header.e_shoff != 0 && !Inside(header.e_shoff, uint64_t{header.e_shnum} * header.e_shentsize, size))
    return Truncated("the section headers are beyond the end of the file");
  segments_.resize(header.e_phnum);
  if (!source.Read(header.e_phoff, segments_.data(), segments_.size() * sizeof(Elf64_Phdr)))
    return Truncated("the program headers cannot be read");
  return std::nullopt;
}

std::optional<Rejection> ElfImage::CheckSegments() {
  const Elf64_Phdr* last = nullptr;
  bool stack_seen = false;
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type == PT_GNU_STACK) {
      stack_seen = true;
      executable_stack_ = executable_stack_ || (segment.p_flags & PF_X) != 0;
      continue;
    }
    if (segment.p_type == PT_NULL) continue;
    if (!Inside(segment.p_offset, segment.p_filesz, source_->size()))
      return Truncated(fmt::format("a segment ends at byte {}, the file at {}", segment.p_offset + segment.p_filesz,
                                   source_->size()));
    if (segment.p_type == PT_INTERP)
      return Rejection{RejectReason::kNotSharedLibrary, "is an executable, not a shared library"};
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_filesz > segment.p_memsz || segment.p_memsz > kMaxImage || segment.p_vaddr > kMaxImage)
      return Damaged("a segment has invalid sizes");
    if (segment.p_align > 1 && ((segment.p_align & (segment.p_align - 1)) != 0 || segment.p_align > kMaxImage ||
                                (segment.p_vaddr - segment.p_offset) % segment.p_align != 0))
      return Damaged("a segment has an invalid alignment");
    if (last != nullptr && segment.p_vaddr < last->p_vaddr + last->p_memsz)
      return Damaged("its segments overlap or are out of order");
    last = &segment;
  }
  if (last == nullptr) return Damaged("it has no loadable segment");
  // Without the header the dynamic linker assumes the worst and makes every stack executable.
  executable_stack_ = executable_stack_ || !stack_seen;
  return std::nullopt;
}

bool ElfImage::Backed(uint64_t address, uint64_t count) const {
  return std::any_of(segments_.begin(), segments_.end(), [&](const Elf64_Phdr& segment) {
    return segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
           Inside(address - segment.p_vaddr, count, segment.p_filesz);
  });
}

bool ElfImage::ReadAt(uint64_t address, void* out, size_t count) const {
  for (const Elf64_Phdr& segment : segments_)
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        Inside(address - segment.p_vaddr, count, segment.p_filesz))
      return source_->Read(segment.p_offset + (address - segment.p_vaddr), out, count);
  return false;
}

std::optional<Rejection> ElfImage::ReadDynamic() {
  const Elf64_Phdr* found = nullptr;
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_DYNAMIC) continue;
    if (found != nullptr) return Damaged("it has two dynamic segments");
    found = &segment;
  }
  if (found == nullptr) return Rejection{RejectReason::kNotSharedLibrary, "is an ELF file without dynamic linking"};
  const uint64_t count = found->p_filesz / sizeof(Elf64_Dyn);
  if (count == 0 || count > kMaxDynamicEntries || found->p_filesz > found->p_memsz)
    return Damaged("its dynamic segment has an invalid size");
  dynamic_.resize(count);
  if (found->p_vaddr % alignof(Elf64_Dyn) != 0 || !ReadAt(found->p_vaddr, dynamic_.data(), count * sizeof(Elf64_Dyn)))
    return Damaged("its dynamic segment is not part of a loaded segment");
  const auto end =
      std::find_if(dynamic_.begin(), dynamic_.end(), [](const Elf64_Dyn& d) { return d.d_tag == DT_NULL; });
  if (end == dynamic_.end()) return Damaged("its dynamic segment is not terminated");
  dynamic_.erase(end, dynamic_.end());
  text_relocations_ = Dynamic(DT_TEXTREL).has_value() || (Dynamic(DT_FLAGS).value_or(0) & DF_TEXTREL) != 0;
  if ((Dynamic(DT_FLAGS_1).value_or(0) & DF_1_PIE) != 0)
    return Rejection{RejectReason::kNotSharedLibrary, "is an executable, not a shared library"};
  return std::nullopt;
}

std::optional<uint64_t> ElfImage::Dynamic(int64_t tag) const {
  for (const Elf64_Dyn& entry : dynamic_)
    if (entry.d_tag == tag) return entry.d_un.d_val;
  return std::nullopt;
}

std::vector<std::string> ElfImage::Texts(int64_t tag) const {
  constexpr uint64_t kUsual = 256, kLongest = 65535;  // of a list of folders
  constexpr size_t kMostBytes = size_t{1} << 22;
  const uint64_t strings = Dynamic(DT_STRTAB).value_or(0), size = Dynamic(DT_STRSZ).value_or(0);
  std::vector<std::string> texts;
  size_t bytes = 0;
  for (const Elf64_Dyn& entry : dynamic_) {
    if (entry.d_tag != tag || entry.d_un.d_val >= size || bytes > kMostBytes) continue;
    std::string text;
    for (const uint64_t most : {kUsual, kLongest}) {
      text.assign(std::min(most, size - entry.d_un.d_val), '\0');
      if (!ReadAt(strings + entry.d_un.d_val, text.data(), text.size())) text.clear();
      const size_t end = text.find('\0');
      text.resize(std::min(end, text.size()));
      if (end != std::string::npos) break;
    }
    bytes += text.size();
    if (!text.empty()) texts.push_back(std::move(text));
  }
  return texts;
}

std::vector<std::string> ElfImage::NeededLibraries() const {
  constexpr size_t kLongestName = 255;
  std::vector<std::string> names = Texts(DT_NEEDED);
  for (std::string& name : names) name.resize(std::min(name.size(), kLongestName));
  return names;
}

std::vector<uint8_t> ElfImage::BuildId() const {
  for (const ElfNote& note : notes())
    if (note.owner == "GNU" && note.type == NT_GNU_BUILD_ID) return note.descriptor;
  return {};
}

std::vector<std::string> ElfImage::LoadedLibraries() const {
  std::vector<std::string> names = Texts(DT_NEEDED);
  for (const int64_t tag : {DT_FILTER, DT_AUXILIARY})
    for (std::string& name : Texts(tag)) names.push_back(std::move(name));
  return names;
}

std::optional<Rejection> ElfImage::CheckDynamicTables() const {
  const std::optional<uint64_t> strings = Dynamic(DT_STRTAB), string_size = Dynamic(DT_STRSZ);
  const std::optional<uint64_t> symbols = Dynamic(DT_SYMTAB);
  if (!strings || !string_size || !symbols) return Damaged("its dynamic segment has no symbol table");
  if (*string_size == 0 || !Backed(*strings, *string_size)) return Damaged("its dynamic string table is out of bounds");
  char last = 1;
  if (!ReadAt(*strings + *string_size - 1, &last, 1) || last != '\0')
    return Damaged("its dynamic string table is not terminated");
  if (Dynamic(DT_SYMENT).value_or(sizeof(Elf64_Sym)) != sizeof(Elf64_Sym) || !Backed(*symbols, sizeof(Elf64_Sym)))
    return Damaged("its dynamic symbol table is out of bounds");
  for (const Elf64_Dyn& entry : dynamic_)
    if ((entry.d_tag == DT_NEEDED || entry.d_tag == DT_SONAME || entry.d_tag == DT_RUNPATH || entry.d_tag == DT_RPATH ||
         entry.d_tag == DT_FILTER || entry.d_tag == DT_AUXILIARY) &&
        entry.d_un.d_val >= *string_size)
      return Damaged("a name in its dynamic segment is outside of the string table");
  constexpr std::pair<int64_t, int64_t> kTables[] = {{DT_RELA, DT_RELASZ},
                                                     {DT_JMPREL, DT_PLTRELSZ},
                                                     {DT_INIT_ARRAY, DT_INIT_ARRAYSZ},
                                                     {DT_FINI_ARRAY, DT_FINI_ARRAYSZ}};
  for (const auto& [address_tag, size_tag] : kTables) {
    const std::optional<uint64_t> address = Dynamic(address_tag);
    if (address && !Backed(*address, Dynamic(size_tag).value_or(0)))
      return Damaged("a table of its dynamic segment is out of bounds");
  }
  return std::nullopt;
}

std::optional<Rejection> ElfImage::ReadNoteSegments() {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_NOTE || segment.p_filesz == 0) continue;
    if (segment.p_filesz > kMaxNoteBytes) return Damaged("a note segment is larger than 1 MiB");
    if (!Backed(segment.p_vaddr, segment.p_filesz)) return Damaged("a note is not part of a loaded segment");
    std::vector<uint8_t> bytes(segment.p_filesz);
    if (!source_->Read(segment.p_offset, bytes.data(), bytes.size())) return Truncated("a note cannot be read");
    if (const char* fault = ReadNotes(bytes, segment.p_align, notes_)) return Damaged(fault);
  }
  return std::nullopt;
}

bool ElfImage::SymbolIs(uint32_t index, std::string_view name, Elf64_Sym& symbol) const {
  const uint64_t at = *Dynamic(DT_SYMTAB) + uint64_t{index} * sizeof(Elf64_Sym);
  if (!ReadAt(at, &symbol, sizeof symbol)) return false;
  if (!Inside(symbol.st_name, name.size() + 1, *Dynamic(DT_STRSZ))) return false;
  std::string text(name.size() + 1, '\1');
  return ReadAt(*Dynamic(DT_STRTAB) + symbol.st_name, text.data(), text.size()) && text.back() == '\0' &&
         std::string_view(text).substr(0, name.size()) == name;
}

std::optional<uint32_t> ElfImage::LookUpGnu(std::string_view name, uint64_t table) const {
  struct {
    uint32_t buckets, first, bloom_words, bloom_shift;
  } head;
  if (!ReadAt(table, &head, sizeof head) || head.buckets == 0) return std::nullopt;
  uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  const uint64_t buckets_at = table + sizeof head + uint64_t{head.bloom_words} * 8;
  const uint64_t chains_at = buckets_at + uint64_t{head.buckets} * 4;
  uint32_t index = 0;
  if (!ReadAt(buckets_at + uint64_t{hash % head.buckets} * 4, &index, 4) || index < head.first) return std::nullopt;
  for (uint32_t steps = 0; steps < kMaxChain; ++steps, ++index) {
    uint32_t link = 0;
    if (!ReadAt(chains_at + (uint64_t{index} - head.first) * 4, &link, 4)) return std::nullopt;
    Elf64_Sym symbol;
    if ((link | 1) == (hash | 1) && SymbolIs(index, name, symbol)) return index;
    if ((link & 1) != 0) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<uint32_t> ElfImage::LookUpSysv(std::string_view name, uint64_t table) const {
  uint32_t head[2];  // buckets, chains
  if (!ReadAt(table, head, sizeof head) || head[0] == 0) return std::nullopt;
  uint32_t hash = 0;
  for (const char c : name) {
    hash = (hash << 4) + static_cast<unsigned char>(c);
    hash = (hash ^ ((hash & 0xf0000000u) >> 24)) & 0x0fffffffu;
  }
  const uint64_t chains_at = table + 8 + uint64_t{head[0]} * 4;
  uint32_t index = 0;
  if (!ReadAt(table + 8 + uint64_t{hash % head[0]} * 4, &index, 4)) return std::nullopt;
  for (uint32_t steps = 0; index != STN_UNDEF && index < head[1] && steps < kMaxChain; ++steps) {
    Elf64_Sym symbol;
    if (SymbolIs(index, name, symbol)) return index;
    if (!ReadAt(chains_at + uint64_t{index} * 4, &index, 4)) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<bool> ElfImage::FindFunction(std::string_view name) const {
  std::optional<uint32_t> index;
  if (const std::optional<uint64_t> table = Dynamic(DT_GNU_HASH)) {
    index = LookUpGnu(name, *table);
  } else if (const std::optional<uint64_t> old_table = Dynamic(DT_HASH)) {
    index = LookUpSysv(name, *old_table);
  }
  Elf64_Sym symbol;
  if (!index || !SymbolIs(*index, name, symbol) || symbol.st_shndx == SHN_UNDEF) return std::nullopt;
  const bool in_code = std::any_of(segments_.begin(), segments_.end(), [&](const Elf64_Phdr& segment) {
    return segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 && symbol.st_value >= segment.p_vaddr &&
           Inside(symbol.st_value - segment.p_vaddr, 1, segment.p_filesz);
  });
  return ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && in_code;
}

}  // namespace deputy::host
