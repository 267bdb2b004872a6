// A new vendor project from the templates of the SDK. A template is a complete project called my_npu, which is copied
// under another name.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "deputy/status.hpp"

namespace deputy::cli {

enum class PluginLanguage { kC, kCxx };

// The reason why a project, its delegate and its CMake target cannot have this name; empty if they can.
std::string PluginNameProblem(const std::string& name);

// "my_npu" -> "MyNpu", the class name.
std::string ClassNameOf(const std::string& name);

// Creates `target` with the project in it; returns the number of files. Never overwrites: fails without changes if the
// target exists. `templates` is <prefix>/share/deputy/template.
Result<size_t> MakePluginProject(const std::filesystem::path& templates, PluginLanguage language,
                                 const std::string& name, const std::filesystem::path& target);

}  // namespace deputy::cli
