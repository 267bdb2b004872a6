#include "import/onnx/warnings.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/printable.hpp"

namespace deputy::host::onnx_import {
namespace {

constexpr size_t kMostTexts = 20;

}  // namespace

void Warnings::Once(const std::string& kind, std::string text) {
  const auto [found, added] = kinds_.emplace(kind, Repeated{texts_.size()});
  if (added)
    texts_.push_back(std::move(text));
  else
    ++found->second.more;
}

void Warnings::UnknownAttribute(const std::string& node, const OperatorInfo& info, int32_t since,
                                const std::string& name) {
  Once(fmt::format("{}\n{}\n{}\n{}", info.domain, info.name, since, name),
       fmt::format("{}: {}-{} has no attribute '{}': it has no effect", node, info.name, since, Printable(name)));
}

void Warnings::IgnoredFunction(const std::string& node, const OperatorInfo& info) {
  Once(fmt::format("function\n{}\n{}", info.domain, info.name),
       fmt::format("{}: is computed as the operator {}; the function of this name in the model has no effect", node,
                   info.name));
}

void Warnings::NewerOpset(std::string_view domain, int64_t opset) {
  Once(
      "opset\n" + std::string(domain),
      fmt::format("imports opset {} of {}, whose definitions are known up to {}: its operators are computed as defined "
                  "there",
                  opset, domain.empty() ? "ONNX" : Printable(domain), NewestOpset(domain)));
}

std::vector<std::string> Warnings::Take() {
  for (const auto& [kind, repeated] : kinds_)
    if (repeated.more != 0 && !kind.starts_with("opset\n"))
      texts_[repeated.text] += fmt::format(" (and {} more such nodes)", repeated.more);
  if (texts_.size() > kMostTexts) {
    const size_t rest = texts_.size() - kMostTexts;
    texts_.resize(kMostTexts);
    texts_.push_back(fmt::format("{} more warnings of this kind", rest));
  }
  return std::move(texts_);
}

}  // namespace deputy::host::onnx_import
