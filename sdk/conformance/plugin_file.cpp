#include "plugin_file.hpp"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>

namespace deputy::conformance {
namespace {

// Reads structs at offsets that the file names; bytes outside of the file are zero.
class Image {
 public:
  explicit Image(std::vector<char> bytes) : bytes_(std::move(bytes)) {}

  template <class T>
  T At(uint64_t offset) const {
    T value{};
    if (Holds(offset, sizeof(T))) std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }
  bool Holds(uint64_t offset, uint64_t size) const { return offset <= bytes_.size() && size <= bytes_.size() - offset; }
  std::string Text(uint64_t offset, uint64_t size) const {
    return Holds(offset, size) ? std::string(bytes_.data() + offset, size) : std::string();
  }
  std::string Name(uint64_t offset) const {
    std::string name;
    while (offset < bytes_.size() && bytes_[offset] != 0) name += bytes_[offset++];
    return name;
  }

 private:
  std::vector<char> bytes_;
};

void ReadNote(const Image& image, const Elf64_Shdr& section, PluginFile& file) {
  const auto header = image.At<Elf64_Nhdr>(section.sh_offset);
  if (header.n_type != DEPUTY_NOTE_TYPE || header.n_namesz != sizeof DEPUTY_NOTE_OWNER) return;
  const uint64_t begin = section.sh_offset + sizeof header + (header.n_namesz + 3u) / 4 * 4;
  file.note = image.At<deputy_note_head>(begin);
  file.has_note = file.note.magic == DEPUTY_NOTE_MAGIC;
  const std::string text = image.Text(begin + file.note.head_size, file.note.text_size);
  for (size_t from = 0; from < text.size();) {
    const size_t end = std::min(text.find('\n', from), text.size());
    const std::string line = text.substr(from, end - from);
    const size_t sign = line.find('=');
    if (sign != std::string::npos) file.lines.emplace_back(line.substr(0, sign), line.substr(sign + 1));
    from = end + 1;
  }
}

void ReadExports(const Image& image, const Elf64_Shdr& symbols, const Elf64_Shdr& names, PluginFile& file) {
  for (uint64_t at = sizeof(Elf64_Sym); at < symbols.sh_size; at += sizeof(Elf64_Sym)) {
    if (!image.Holds(symbols.sh_offset + at, sizeof(Elf64_Sym))) return;
    const auto symbol = image.At<Elf64_Sym>(symbols.sh_offset + at);
    const auto visibility = symbol.st_other & 3;
    const auto binding = ELF64_ST_BIND(symbol.st_info);
    if (symbol.st_shndx == SHN_UNDEF || binding == STB_LOCAL || visibility != STV_DEFAULT) continue;
    file.exports.push_back(image.Name(names.sh_offset + symbol.st_name));
    if (binding == STB_GNU_UNIQUE) file.unique.push_back(file.exports.back());
  }
}

}  // namespace

std::string PluginFile::Line(const std::string& key) const {
  for (const auto& [name, value] : lines)
    if (name == key) return value;
  return "";
}

std::vector<std::string> PluginFile::List(const std::string& key) const {
  std::vector<std::string> parts;
  const std::string value = Line(key);
  for (size_t from = 0; from < value.size();) {
    const size_t end = std::min(value.find(',', from), value.size());
    if (end > from) parts.push_back(value.substr(from, end - from));
    from = end + 1;
  }
  return parts;
}

PluginFile PluginFile::Read(const std::string& path) {
  PluginFile file;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    file.fault = "cannot be read";
    return file;
  }
  const Image image(std::vector<char>(std::istreambuf_iterator<char>(stream), {}));
  const auto header = image.At<Elf64_Ehdr>(0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) {
    file.fault = "is no 64-bit ELF file";
    return file;
  }
  const auto section = [&](uint64_t i) { return image.At<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)); };
  const Elf64_Shdr names = section(header.e_shstrndx);
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr one = section(i);
    if (image.Name(names.sh_offset + one.sh_name) == DEPUTY_NOTE_SECTION) ReadNote(image, one, file);
    if (one.sh_type == SHT_DYNSYM) ReadExports(image, one, section(one.sh_link), file);
  }
  return file;
}

}  // namespace deputy::conformance
