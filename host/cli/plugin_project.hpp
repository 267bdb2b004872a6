// A vendor's new project, made from the templates of the SDK. A template is a project that works as it stands, called
// my_npu; making one's own is copying it under another name.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "deputy/status.hpp"

namespace deputy::cli {

enum class PluginLanguage { kC, kCxx };

// Why a project, its delegate and its target in CMake cannot be called so; empty when they can.
std::string PluginNameProblem(const std::string& name);

// "my_npu" -> "MyNpu", as classes are called.
std::string ClassNameOf(const std::string& name);

// Makes `target` with the project in it; returns the number of files. Fails, without a trace, where something is in the
// way: nothing is ever overwritten. `templates` is <prefix>/share/deputy/template.
Result<size_t> MakePluginProject(const std::filesystem::path& templates, PluginLanguage language,
                                 const std::string& name, const std::filesystem::path& target);

}  // namespace deputy::cli
