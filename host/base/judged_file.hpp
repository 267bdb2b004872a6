// Files judged with their whole path: another user with the right to write to a folder of the path can put another
// file, or another folder, in the place of what it names.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "base/file.hpp"
#include "base/status.hpp"

namespace deputy::host {

// A file or folder, opened at the end of its path, with what others than root and this user (trust.hpp) could change of
// it. Each reason names file or folder, owner, mode and the remedy; empty: others cannot.
struct JudgedFile {
  Descriptor file;  // for reading, of a regular file; for openat, of a folder; none of anything else
  struct stat about {};
  std::filesystem::path resolved;  // without symbolic links
  std::string own;     // of the file or folder itself; a sticky folder that others may add to is no exception
  std::string folder;  // of the folder that it is in, likewise
  // Of what leads there: others could put something else in its place. In a sticky folder they cannot replace what
  // belongs to root or to this user.
  std::string above;

  // The first of them that is not empty; `folder` only with `strict`, where files beside it matter too.
  const std::string& distrust(bool strict) const;
};

// Goes along the path from `/` and opens each part in the one before it without following links, so that what was
// judged is what is opened. `also`: a user that counts as root here. kNotFound or kUnavailable where a part of it
// cannot be opened. [any-thread]
Result<JudgedFile> OpenJudged(const std::filesystem::path& path, uid_t also = 0);

// The same of a path that need not exist: the longest part of it that can be opened, which decides on what may be made
// below. A link that leads nowhere is followed. [any-thread]
Result<JudgedFile> OpenJudgedPart(const std::filesystem::path& path);

// kFailedPrecondition, "is not trusted: " and the reason, for a file or folder that others could change, replace or add
// to, or whose folder they could add to. OK for one that cannot be opened. [any-thread]
Status CheckTrusted(const std::filesystem::path& path);
// The same for folders that are about to be made: for the part of the path that exists. A sticky folder is good.
Status CheckTrustedToMake(const std::filesystem::path& path);

// How strictly ReadTrustedFile judges.
struct Judgement {
  bool strict = false;  // others may not add files beside it, either
  uid_t also = 0;
  bool all = false;  // nothing is refused
};

// The text of a regular file that others can neither change nor replace; else kFailedPrecondition, "is not trusted: "
// and the reason. Other errors as those of ReadTextFile; kAborted if it was changed meanwhile. [any-thread]
Result<std::string> ReadTrustedFile(const std::filesystem::path& path, size_t limit, Judgement judgement = {});

// The library or program that this code is in. A user that can change it has the rights of its processes already.
struct Installation {
  uid_t owner = 0;       // of its file; counts as root for other files of the installation
  std::string distrust;  // how others could change or replace it; then its files are not judged
};
// [any-thread]
const Installation& ThisInstallation();

// For files of the installation. [any-thread]
Judgement OfInstallation();
// kFailedPrecondition with the reason for a file of the installation that others could change or replace, while they
// could not do so with the library. OK for a missing one. [any-thread]
Status CheckInstalledFile(const std::filesystem::path& path);

}  // namespace deputy::host
