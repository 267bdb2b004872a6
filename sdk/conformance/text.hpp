// Text at the plugin boundary: conversion and checks.
#pragma once

#include <string>
#include <string_view>

#include "deputy/abi/base.h"

namespace deputy::conformance {

bool IsUtf8(std::string_view text);
// Empty where there is none. The text must not exceed the longest name.
std::string TextOf(const deputy_str& text);
// The fault of a text: "", "is empty", "is not UTF-8", "has no NUL behind it".
std::string FaultOf(const deputy_str& text, bool may_be_empty);
inline deputy_str StrOf(std::string_view text) { return {text.data() == nullptr ? "" : text.data(), text.size()}; }

// "1 operator", "2 operators".
std::string Counted(size_t count, const std::string& noun);

// Glob with * and ?.
bool Matches(std::string_view pattern, std::string_view text);
// Any of several globs, separated by commas.
bool MatchesAny(std::string_view patterns, std::string_view text);

}  // namespace deputy::conformance
