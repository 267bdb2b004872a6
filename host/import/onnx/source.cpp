#include "import/onnx/source.hpp"

#include <algorithm>
#include <optional>

namespace deputy::host::onnx_import {
namespace {

constexpr std::string_view kTraceKey = "pkg.torch.onnx.stack_trace";

struct TraceLine {
  std::string_view file, line, function;
};

bool HasPart(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::string_view DigitsAt(std::string_view text, size_t begin) {
  size_t end = begin;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return text.substr(begin, end - begin);
}

// `File "model.py", line 42, in forward`, as Python prints it and torch.onnx.export(dynamo=True) keeps it.
std::optional<TraceLine> PythonLine(std::string_view line) {
  constexpr std::string_view kBegin = "File \"", kLine = "\", line ", kIn = ", in ";
  const size_t begin = line.find(kBegin);
  if (begin == std::string_view::npos) return std::nullopt;
  const size_t middle = line.find(kLine, begin + kBegin.size());
  if (middle == std::string_view::npos) return std::nullopt;
  TraceLine frame;
  frame.file = line.substr(begin + kBegin.size(), middle - begin - kBegin.size());
  frame.line = DigitsAt(line, middle + kLine.size());
  const size_t in = line.find(kIn, middle);
  if (in != std::string_view::npos) frame.function = line.substr(in + kIn.size());
  return frame;
}

// "model.py(42): forward" and "model.py:42:8", as the exporter of TorchScript writes them.
std::optional<TraceLine> ScriptLine(std::string_view line) {
  constexpr std::string_view kExtension = ".py";
  const size_t end = line.find(kExtension);
  if (end == std::string_view::npos) return std::nullopt;
  const size_t mark = end + kExtension.size();
  if (mark >= line.size() || (line[mark] != '(' && line[mark] != ':')) return std::nullopt;
  TraceLine frame;
  const size_t begin = line.find_first_not_of(" \t#");
  frame.file = line.substr(begin, mark - begin);
  frame.line = DigitsAt(line, mark + 1);
  const size_t in = line.find("): ", mark);
  if (in != std::string_view::npos) frame.function = line.substr(in + 3);
  return frame;
}

// The lower, the more it is the user's own code that describes the model.
int RankOf(const TraceLine& frame) {
  if (HasPart(frame.file, "/torch/")) return 3;
  if (frame.function == "<module>") return 2;  // a script calls the exporter
  return HasPart(frame.file, "/site-packages/") || HasPart(frame.file, "/dist-packages/") ? 1 : 0;
}

std::string SourceText(const TraceLine& frame) {
  const size_t room = kLongestSource - frame.line.size() - 1;
  std::string_view file = frame.file;
  if (file.size() <= room) return std::string(file) + ":" + std::string(frame.line);
  file.remove_prefix(file.size() - room + 3);
  const size_t slash = file.find('/');
  if (slash != std::string_view::npos) file.remove_prefix(slash);
  return "..." + std::string(file) + ":" + std::string(frame.line);
}

}  // namespace

std::string SourceOf(std::string_view trace) {
  constexpr size_t kMostDigits = 9;
  std::optional<TraceLine> best;
  int best_rank = 0;
  while (!trace.empty()) {
    const size_t end = std::min(trace.find('\n'), trace.size());
    const std::string_view line = trace.substr(0, end);
    trace.remove_prefix(std::min(end + 1, trace.size()));
    std::optional<TraceLine> frame = PythonLine(line);
    // Python lists the innermost frame last, the exporter of TorchScript lists it first.
    const bool innermost_last = frame.has_value();
    if (!frame) frame = ScriptLine(line);
    if (!frame || frame->file.empty() || frame->line.empty() || frame->line.size() > kMostDigits) continue;
    const int rank = RankOf(*frame);
    if (best && (rank > best_rank || (rank == best_rank && !innermost_last))) continue;
    best = frame;
    best_rank = rank;
  }
  return best ? SourceText(*best) : std::string();
}

std::string_view StackTraceOf(std::string_view property) {
  // The key, of a length that fits one byte, and the value, in this order or the other.
  std::string_view key, value;
  while (property.size() >= 2) {
    const auto tag = static_cast<unsigned char>(property[0]);
    property.remove_prefix(1);
    size_t length = 0;
    for (int shift = 0; !property.empty() && shift <= 28; shift += 7) {
      const auto byte = static_cast<unsigned char>(property[0]);
      property.remove_prefix(1);
      length |= static_cast<size_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    if (length > property.size()) return {};
    if (tag == 0x0a) key = property.substr(0, length);
    if (tag == 0x12) value = property.substr(0, length);
    if (tag != 0x0a && tag != 0x12) return {};
    property.remove_prefix(length);
  }
  return key == kTraceKey ? value : std::string_view();
}

}  // namespace deputy::host::onnx_import
