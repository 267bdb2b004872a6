// From files, --set and the application's settings to one Config. Knows the places of files and the order of layers;
// the schema checks their contents.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/judged_file.hpp"
#include "config/config.hpp"
#include "config/merge.hpp"
#include "config/reader.hpp"
#include "config/schema.hpp"

namespace deputy::host {

// The built-in default as YAML: the lowest layer, with the origin "default".
std::string_view DefaultConfigText();

// Add the sources, in any order between the kinds; then call Finish. Files override the built-in default in the order
// added, --set overrides files, the application overrides both. Nothing fails before Finish, which reports all problems
// at once. Files are read when they are added. One thread at a time.
class ConfigLoader {
 public:
  // A file that users other than root and this one could change or replace (judged_file.hpp) is an unreadable source.
  // `judgement` says how strictly.
  void AddFile(const std::filesystem::path& path, Judgement judgement = {});
  // A folder of drop-ins, and how strictly they are judged.
  struct DropInFolder {
    std::filesystem::path path;  // empty: none
    Judgement judgement;
  };
  // The file, then conf.d/*.yaml beside it in the order of their names, so that a package adds a delegate by adding a
  // file. The folder may be absent; beside several files it is read once, behind the first. The drop-ins of `packages`
  // are read among them, in the order of the names of both; one beside the file replaces one of the same name there.
  void AddFileWithDropIns(const std::filesystem::path& path, Judgement judgement = {},
                          const DropInFolder& packages = {});
  // The same where file and folders may be absent.
  void AddInstalled(const std::filesystem::path& path, const DropInFolder& packages = {});
  // YAML in memory; `name` is its file name in messages. Relative paths in it are relative to `base`; the working
  // directory if empty.
  void AddText(std::string name, std::string_view text, const std::filesystem::path& base = {});
  // "delegates.npu0.options.frequency=low", as behind --set; see setting_path.hpp for the grammar. A problem in a
  // program with more rights than its caller.
  void AddSetting(std::string_view setting);
  // The same from the application; overrides all other layers.
  void AddApiSetting(std::string_view path, std::string_view value);
  // Asked about names of entries that no layer has.
  void SetElsewhere(Elsewhere elsewhere) { elsewhere_ = std::move(elsewhere); }
  // A source that cannot be read.
  void AddUnreadable(std::string source, std::string message);

  // kConfig with one line per problem, "file:line:column: message"; kResourceExhausted when out of memory.
  Result<Config> Finish();

  // After Finish. Problems in the order of files and lines; warnings (a file of conf.d that is not read) do not prevent
  // a Config.
  const std::vector<Problem>& problems() const { return problems_; }
  const std::vector<Problem>& warnings() const { return warnings_; }
  // Where the entries of drop-ins stand that do not say it.
  const std::vector<Problem>& notes() const { return notes_; }
  // After a Finish that failed: the values without problems, so that further checks can report theirs at the same time.
  const Config& readable() const { return readable_; }
  // Whether every file was YAML of this version, so that all names of delegates are known.
  bool all_readable() const { return all_readable_; }
  // Problems beyond those listed.
  size_t unlisted() const { return unshown_; }
  // Every file read, in order.
  const std::vector<std::filesystem::path>& files() const { return files_; }
  // The files and the folders of drop-ins that were looked for, absent ones included. Shipped files are not among them.
  const std::vector<std::filesystem::path>& places() const { return places_; }

 private:
  struct Layer {
    std::string source;
    std::optional<YamlNode> root;  // empty if it could not be read; `problems` says why
    Problems problems;
    bool is_drop_in = false;
  };
  struct PendingSetting {
    std::string source, path, value;
  };

  template <class Work>
  void Guarded(Work work);
  void AddYaml(std::string source, std::string_view text, const std::filesystem::path& base);
  void AddDropIns(const std::vector<DropInFolder>& folders);
  std::vector<std::filesystem::path> DropInsOf(const DropInFolder& folder);
  Result<Config> Merge();
  // Each of these moves the problems of its layer to problems_.
  void MergeFiles(YamlNode& merged);
  void MergeSettings(YamlNode& merged, const std::vector<PendingSetting>& settings);
  void Keep(const Problems& found);
  // Notes for the entries of a drop-in; `before` and `after` are the names without and with it.
  void NotePlaces(const YamlNode& layer, const std::vector<std::string>& before, const std::vector<std::string>& after);
  Status Report() const;

  std::vector<Layer> layers_;
  std::vector<std::filesystem::path> drop_in_folders_;  // that were read
  Elsewhere elsewhere_;
  std::vector<PendingSetting> settings_, api_settings_;
  BaseFolders bases_;
  Config readable_;
  std::vector<std::filesystem::path> files_, places_;
  std::vector<Problem> problems_, warnings_, early_warnings_, notes_;
  size_t unshown_ = 0;
  bool all_readable_ = true;
  bool out_of_memory_ = false;
};

}  // namespace deputy::host
