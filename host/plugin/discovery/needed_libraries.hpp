// The libraries that the dynamic linker loads with a plugin, found without loading anything: their code runs in the
// process as the plugin's does, whether a lock lists the plugin or not.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "plugin/discovery/plugin_file.hpp"

namespace deputy::host {

// Where the dynamic linker of this process looks, beyond what a plugin and its libraries name.
struct LibraryFolders {
  std::vector<std::filesystem::path> environment;  // LD_LIBRARY_PATH, as it was when the process began
  // Of the program, of this library and of the system: not judged, since the code of the process is from there.
  std::vector<std::filesystem::path> own;
};
LibraryFolders FoldersOfThisProcess();

// The first file of this name in LD_LIBRARY_PATH, else in the process's own folders; empty: none. The dynamic linker
// also looks in its cache and in what the caller of dlopen names (DT_RPATH, DT_RUNPATH). [any-thread]
std::filesystem::path PathOfLibrary(const std::string& name, const LibraryFolders& folders);

// How users other than root and this one (judged_file.hpp) could bring code of theirs into a process that loads the
// plugin: by a library that it needs, directly or through others; by a folder in which one is looked for (DT_RPATH,
// DT_RUNPATH, LD_LIBRARY_PATH), which could get one later. "its library libx.so: ", "its library folder /x: " and the
// reason with owner, mode and remedy; empty: they cannot. Folders of the system are not judged. `path` has no symbolic
// links; `file` is open there. One that is no plugin gives nothing. [any-thread]
std::string DistrustOfLibraries(const std::filesystem::path& path, const ByteSource& file,
                                const LibraryFolders& folders);

}  // namespace deputy::host
