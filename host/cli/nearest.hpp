// "Did you mean": the candidate nearest to a mistyped command, flag, input or node. The program uses only public
// headers, so it has its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace deputy::cli {

// "; did you mean 'image'?", or nothing if no candidate is within a third of the word's length of edits.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace deputy::cli
