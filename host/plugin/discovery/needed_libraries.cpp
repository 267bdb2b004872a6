#include "plugin/discovery/needed_libraries.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/auxv.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/judged_file.hpp"
#include "plugin/discovery/elf_image.hpp"

namespace deputy::host {
namespace {

namespace fs = std::filesystem;

// Far more than plugins have; bound the work on a hostile file.
constexpr size_t kMostObjects = 1024, kMostFiles = 32768, kMostFolders = 256;
constexpr int kMostLevels = 4;  // of subfolders for kinds of processors

// Names of subfolders that versions of the dynamic linker search before the folder itself, nested in any order.
constexpr std::array<const char*, 7> kProcessorFolders = {"tls",      "x86_64",  "haswell", "xeon_phi",
                                                          "avx512_1", "aarch64", "atomics"};
constexpr const char* kCapabilityFolder = "glibc-hwcaps";

struct Variable {
  std::string_view name;
  std::vector<std::string> values;  // which of several holds is known to the dynamic linker alone
};

// The variables of the dynamic linker in a path.
std::vector<Variable> VariablesOf(const fs::path& origin) {
  const auto* platform = reinterpret_cast<const char*>(getauxval(AT_PLATFORM));
  return {{"ORIGIN", {origin.string()}},
          {"LIB", {"lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "lib/riscv64-linux-gnu"}},
          {"PLATFORM", {platform == nullptr ? "" : platform, "haswell", "xeon_phi"}}};
}

// The text with the values of its variables; nothing where there are too many combinations.
std::optional<std::vector<std::string>> Expand(std::string_view text, const std::vector<Variable>& variables) {
  std::vector<std::string> expanded = {""};
  while (!text.empty()) {
    const Variable* found = nullptr;
    size_t length = 1;
    for (const Variable& variable : variables)
      for (const std::string& spelling : {fmt::format("${{{}}}", variable.name), fmt::format("${}", variable.name)})
        if (found == nullptr && text.starts_with(spelling)) {
          found = &variable;
          length = spelling.size();
        }
    const std::vector<std::string> literal = {std::string(text.substr(0, length))};
    std::vector<std::string> longer;
    for (const std::string& begin : expanded)
      for (const std::string& value : found == nullptr ? literal : found->values) longer.push_back(begin + value);
    if (longer.size() > kMostFolders) return std::nullopt;
    expanded = std::move(longer);
    text.remove_prefix(length);
  }
  return expanded;
}

// The folder, and those below it that are searched on some processor.
void AddWithSubfolders(const fs::path& folder, int level, std::vector<fs::path>& folders) {
  folders.push_back(folder);
  std::error_code ignored;
  if (level == kMostLevels || folders.size() >= kMostFolders) return;
  for (const char* name : kProcessorFolders)
    if (fs::is_directory(folder / name, ignored)) AddWithSubfolders(folder / name, level + 1, folders);
  if (!fs::is_directory(folder / kCapabilityFolder, ignored)) return;
  folders.push_back(folder / kCapabilityFolder);
  for (const fs::path& below : PathsIn(folder / kCapabilityFolder, ignored))
    if (fs::is_directory(below, ignored)) folders.push_back(below);
}

// How others could add files to a folder. Of one that does not exist: to the last one on the way to it that does, in
// which they could make it.
std::string DistrustOfFolder(const fs::path& folder) {
  const Result<JudgedFile> judged = OpenJudgedPart(folder);
  return judged.ok() ? judged->distrust(/*strict=*/true) : judged.status().ToString();
}

class Walk {
 public:
  explicit Walk(const LibraryFolders& folders) : own_(folders.own) {
    for (const fs::path& folder : folders.environment) AddFolder(folder, inherited_);
  }

  std::string Run(const fs::path& path, const ByteSource& file) {
    Take(path, file, /*judged=*/true);
    while (problem_.empty() && !waiting_.empty()) {
      const Object next = std::move(waiting_.front());
      waiting_.pop_front();
      Resolve(next);
    }
    return std::move(problem_);
  }

 private:
  struct Object {
    fs::path origin;  // the folder of its file
    std::vector<std::string> needed, rpath, runpath;
  };

  // A list of folders separated by colons, where an empty one is the working folder.
  std::vector<fs::path> FoldersOf(const std::vector<std::string>& lists, const fs::path& origin) {
    std::vector<fs::path> folders;
    const std::vector<Variable> variables = VariablesOf(origin);
    for (const std::string& list : lists)
      for (size_t from = 0; from <= list.size() && problem_.empty();) {
        const size_t end = std::min(list.find(':', from), list.size());
        const auto expanded = Expand(std::string_view(list).substr(from, end - from), variables);
        if (!expanded || folders.size() > kMostFolders) {
          TooMany();
          break;
        }
        for (const std::string& folder : *expanded) AddFolder(folder.empty() ? "." : folder, folders);
        from = end + 1;
      }
    return folders;
  }

  // Judges it and its subfolders.
  void AddFolder(const fs::path& folder, std::vector<fs::path>& folders) {
    std::vector<fs::path> all;
    AddWithSubfolders(folder, 0, all);
    if (all.size() >= kMostFolders) return TooMany();
    for (fs::path& one : all) {
      if (IsOwn(one)) continue;
      if (judged_.insert(one).second && problem_.empty())
        if (const std::string why = DistrustOfFolder(one); !why.empty())
          problem_ = fmt::format("its library folder {}: {}", one.string(), why);
      folders.push_back(std::move(one));
    }
  }

  bool IsOwn(const fs::path& folder) const { return std::find(own_.begin(), own_.end(), folder) != own_.end(); }

  void Resolve(const Object& object) {
    std::vector<fs::path> folders;
    if (object.runpath.empty()) {
      // Those of a library hold for all that it needs, too.
      const std::vector<fs::path> more = FoldersOf(object.rpath, object.origin);
      inherited_.insert(inherited_.end(), more.begin(), more.end());
    } else {
      folders = FoldersOf(object.runpath, object.origin);
    }
    folders.insert(folders.end(), inherited_.begin(), inherited_.end());
    for (const std::string& name : object.needed) {
      if (!problem_.empty()) return;
      if (name.find('/') != std::string::npos) {
        const auto expanded = Expand(name, VariablesOf(object.origin));
        if (!expanded) return TooMany();
        for (const std::string& path : *expanded) Open(path, name);
        continue;
      }
      // All that are there: which one is taken depends on the processor and on what is loaded already.
      for (const fs::path& folder : folders) Open(folder / name, name);
      // Through one of the system or the program only inherited folders and the environment matter.
      if (!inherited_.empty())
        for (const fs::path& folder : own_) OpenOwn(folder / name);
    }
  }

  void Open(const fs::path& path, const std::string& name) {
    if (!problem_.empty() || !IsNew(path)) return;
    Result<JudgedFile> judged = OpenJudged(path);
    if (!judged.ok() && judged.status().code() == StatusCode::kNotFound) return;
    const std::string why = judged.ok() ? judged->distrust(/*strict=*/true) : judged.status().ToString();
    if (!why.empty()) return Distrust(name, why);
    if (!S_ISREG(judged->about.st_mode)) return;
    const auto file = PluginFile::Of(std::move(judged->file));
    if (const Rejection* rejection = RejectionOf(file)) return Distrust(name, path.string() + ": " + rejection->text);
    Take(path, *std::get<std::unique_ptr<PluginFile>>(file), /*judged=*/true, name);
  }

  void OpenOwn(const fs::path& path) {
    if (!problem_.empty() || !IsNew(path)) return;
    const auto file = PluginFile::Open(path);
    if (RejectionOf(file) == nullptr) Take(path, *std::get<std::unique_ptr<PluginFile>>(file), /*judged=*/false);
  }

  // A judged file that cannot be understood could need anything; for another machine, the dynamic linker passes it by.
  void Take(const fs::path& path, const ByteSource& file, bool judged, const std::string& name = "") {
    if (++objects_ > kMostObjects) return TooMany();
    const Checked<ElfImage> image = ElfImage::Parse(file, ThisMachine());
    const Rejection* rejection = RejectionOf(image);
    if (rejection == nullptr) {
      const auto& elf = std::get<ElfImage>(image);
      waiting_.push_back({path.parent_path(), elf.LoadedLibraries(), elf.Texts(DT_RPATH), elf.Texts(DT_RUNPATH)});
    } else if (judged && !name.empty() && rejection->reason != RejectReason::kWrongArchitecture) {
      Distrust(name, fmt::format("{} {}, so that it is not known what it loads", path.string(), rejection->text));
    }
  }

  // Whether there may be a file that was not seen yet.
  bool IsNew(const fs::path& path) {
    if (!seen_.insert(path).second) return false;
    if (seen_.size() > kMostFiles) TooMany();
    std::error_code error;
    return fs::symlink_status(path, error).type() != fs::file_type::not_found;
  }

  void TooMany() {
    if (problem_.empty()) problem_ = "it names too many libraries, or folders of them, to be checked";
  }

  void Distrust(const std::string& name, const std::string& why) {
    if (problem_.empty()) problem_ = fmt::format("its library {}: {}", name, why);
  }

  const std::vector<fs::path>& own_;
  std::vector<fs::path> inherited_;  // LD_LIBRARY_PATH, DT_RPATH of what was met
  std::deque<Object> waiting_;
  std::set<fs::path> judged_, seen_;
  size_t objects_ = 0;
  std::string problem_;
};

// What the dynamic linker took from the environment when the process began; later changes have no effect.
std::string InitialLibraryPath() {
  constexpr std::string_view kName = "LD_LIBRARY_PATH=";
  if (getauxval(AT_SECURE) != 0) return {};
  std::ifstream file("/proc/self/environ", std::ios::binary);
  std::string variable;
  bool is_readable = false;
  while (std::getline(file, variable, '\0')) {
    is_readable = true;
    if (variable.starts_with(kName)) return variable.substr(kName.size());
  }
  const char* now = is_readable ? nullptr : secure_getenv("LD_LIBRARY_PATH");
  return now == nullptr ? "" : now;
}

// Folders in which what a loaded object needs is looked for, those of the environment among them.
void AddSearchList(void* handle, std::vector<fs::path>& folders) {
  Dl_serinfo size{};
  if (handle == nullptr || dlinfo(handle, RTLD_DI_SERINFOSIZE, &size) != 0) return;
  const std::unique_ptr<void, void (*)(void*)> memory(std::calloc(1, size.dls_size), std::free);
  if (memory == nullptr) throw std::bad_alloc();
  auto* info = static_cast<Dl_serinfo*>(memory.get());
  if (dlinfo(handle, RTLD_DI_SERINFOSIZE, info) != 0 || dlinfo(handle, RTLD_DI_SERINFO, info) != 0) return;
  for (unsigned i = 0; i < info->dls_cnt; ++i) folders.emplace_back(info->dls_serpath[i].dls_name);
}

}  // namespace

LibraryFolders FoldersOfThisProcess() {
  LibraryFolders folders;
  std::error_code ignored;
  const std::vector<Variable> variables = VariablesOf(fs::read_symlink("/proc/self/exe", ignored).parent_path());
  const std::string list = InitialLibraryPath();
  for (size_t from = 0; !list.empty() && from <= list.size();) {
    const size_t end = std::min(list.find_first_of(":;", from), list.size());
    for (const std::string& folder :
         Expand(std::string_view(list).substr(from, end - from), variables).value_or(std::vector<std::string>()))
      folders.environment.emplace_back(folder.empty() ? "." : folder);
    from = end + 1;
  }
  AddSearchList(dlopen(nullptr, RTLD_LAZY), folders.own);
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&FoldersOfThisProcess), &info) != 0 && info.dli_fname != nullptr) {
    void* const library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    AddSearchList(library, folders.own);
    if (library != nullptr) dlclose(library);
  }
  std::erase_if(folders.own, [&](const fs::path& folder) {
    const std::vector<fs::path>& others = folders.environment;
    return std::any_of(others.begin(), others.end(), [&](const fs::path& other) {
      return other.lexically_normal() / "" == folder.lexically_normal() / "";
    });
  });
  std::sort(folders.own.begin(), folders.own.end());
  folders.own.erase(std::unique(folders.own.begin(), folders.own.end()), folders.own.end());
  return folders;
}

fs::path PathOfLibrary(const std::string& name, const LibraryFolders& folders) {
  std::error_code ignored;
  for (const auto* list : {&folders.environment, &folders.own})
    for (const fs::path& folder : *list)
      if (fs::exists(folder / name, ignored)) return folder / name;
  return {};
}

std::string DistrustOfLibraries(const fs::path& path, const ByteSource& file, const LibraryFolders& folders) {
  return Walk(folders).Run(path, file);
}

}  // namespace deputy::host
