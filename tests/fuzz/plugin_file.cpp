// The gate before a plugin file is loaded: the bytes of an ELF file with its note, or of the note's descriptor alone.
// Nothing is ever loaded.
#include <elf.h>

#include <algorithm>
#include <string>

#include "deputy/abi/base.h"
#include "deputy/abi/delegate.h"
#include "deputy/abi/note.h"
#include "fuzz/target.hpp"
#include "plugin/discovery/elf_image.hpp"
#include "plugin/discovery/manifest.hpp"

namespace deputy::fuzz {
namespace {

using host::Checked;
using host::Manifest;
using host::Rejection;

constexpr size_t kMostBytes = 16 * 1024;

// The same on every machine.
host::HostTraits Traits() { return {DEPUTY_ABI_VERSION, EM_X86_64, {"sse2", "avx2"}, ""}; }

bool IsElf(std::span<const uint8_t> input) { return input.size() >= sizeof(Elf64_Ehdr) && input[0] == ELFMAG0; }

// A part that is mapped by the program header number `index`; empty if it is not in the file.
std::span<uint8_t> SegmentOf(Bytes& input, size_t index, uint32_t& type) {
  const auto header = Load<Elf64_Ehdr>(input, 0);
  const uint64_t at = header.e_phoff + index * sizeof(Elf64_Phdr);
  if (header.e_phoff > input.size() || at + sizeof(Elf64_Phdr) > input.size()) return {};
  const auto segment = Load<Elf64_Phdr>(input, at);
  type = segment.p_type;
  if (segment.p_offset > input.size() || segment.p_filesz > input.size() - segment.p_offset) return {};
  return std::span(input).subspan(segment.p_offset, segment.p_filesz);
}

constexpr std::string_view kLines[] = {"id=a.b\n",
                                       "version=1\n",
                                       "delegates=a,b\n",
                                       "cpu=avx2,sse2\n",
                                       "env=A=b\n",
                                       "env==\n",
                                       "sanitizer=none\n",
                                       "files=x.so,y\n",
                                       "devices=/dev/*\n",
                                       "devices=../x\n",
                                       "id=\n",
                                       "=\n",
                                       "\n",
                                       "\xff\n",
                                       "delegates=,,a\n",
                                       "files=/etc/x\n",
                                       "cpu=\x01\n",
                                       "key=value\n",
                                       "devices=dri/card?\n"};

// Writes a line of a manifest over a part of its text.
void ChangeText(std::span<uint8_t> text, Random& random) {
  if (text.empty()) return;
  const std::string_view line = random.Of(kLines);
  const size_t at = random.Below(text.size());
  std::copy_n(line.begin(), std::min(line.size(), text.size() - at), text.begin() + static_cast<std::ptrdiff_t>(at));
}

void RequireManifest(const Checked<Manifest>& checked) {
  if (const Rejection* rejection = host::RejectionOf(checked)) {
    Require(!rejection->text.empty(), "a rejection has a text");
    Require(host::RejectReasonOf(host::NameOf(rejection->reason)) == rejection->reason,
            "a rejection has a known reason");
    return;
  }
  const auto& manifest = std::get<Manifest>(checked);
  Require(!manifest.id.empty(), "an accepted manifest has an id");
  for (const std::string& delegate : manifest.delegates)
    Require(!delegate.empty(), "a delegate has an id", manifest.id);
}

}  // namespace

void MutateInput(Bytes& input, Random& random) {
  if (!IsElf(input)) {
    if (input.size() < sizeof(deputy_note_head) || random.OneIn(8)) return ChangeBytes(input, random, kMostBytes);
    if (random.OneIn(4)) return ChangeAlignedNumber(std::span(input).first(sizeof(deputy_note_head)), 0, random);
    ChangeText(std::span(input).subspan(sizeof(deputy_note_head)), random);
    return;
  }
  const auto header = Load<Elf64_Ehdr>(input, 0);
  const size_t tables = std::min<uint64_t>(input.size(), sizeof header + 8 * sizeof(Elf64_Phdr));
  uint32_t type = PT_NULL;
  const std::span<uint8_t> segment = SegmentOf(input, random.Below(header.e_phnum), type);
  switch (random.Below(16)) {
    case 0: return ChangeBytes(input, random, kMostBytes);
    case 1: return ChangeAlignedNumber(std::span(input).first(sizeof header), EI_NIDENT, random);
    case 2:
    case 3:
    case 4: return ChangeAlignedNumber(std::span(input).first(tables), sizeof header, random);
    case 5: return ChangeAlignedNumber(input, tables, random);
    default:
      if (type == PT_NOTE && segment.size() > 64 && !random.OneIn(3)) return ChangeText(segment.subspan(40), random);
      return ChangeAlignedNumber(segment, 0, random);
  }
}

void CheckInput(std::span<const uint8_t> input) {
  if (input.empty() || input[0] != ELFMAG0) return RequireManifest(host::ParseManifest(input));
  const host::MemorySource source(input);
  RequireManifest(host::ReadManifest(source, Traits()));
  for (const uint16_t machine : {uint16_t{EM_X86_64}, uint16_t{EM_AARCH64}}) {
    const Checked<host::ElfImage> image = host::ElfImage::Parse(source, machine);
    if (const Rejection* rejection = host::RejectionOf(image)) {
      Require(!rejection->text.empty(), "a rejection has a text");
      continue;
    }
    for (const std::string& library : std::get<host::ElfImage>(image).NeededLibraries())
      Require(library.size() <= 255, "names of libraries are short");
    for (const std::string& library : std::get<host::ElfImage>(image).LoadedLibraries())
      Require(library.find('\0') == std::string::npos, "names of libraries are texts");
    for (const int64_t tag : {DT_RPATH, DT_RUNPATH})
      for (const std::string& folders : std::get<host::ElfImage>(image).Texts(tag))
        Require(folders.size() <= 65535, "lists of folders are short");
    static_cast<void>(std::get<host::ElfImage>(image).FindFunction(DEPUTY_ENTRY_SYMBOL));
  }
}

}  // namespace deputy::fuzz
