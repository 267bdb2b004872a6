// The importer of TensorFlow Lite models. FlatBuffers are tables of numbers and offsets at multiples of 4: one of them
// is changed at a time, so that the rest stays whole.
#include <algorithm>

#include "fuzz/graph_promises.hpp"
#include "graph/passes/passes.hpp"
#include "import/importer.hpp"

extern "C" const deputy::host::Importer* deputy_importer_v1(const char* build);

namespace deputy::fuzz {
namespace {

constexpr size_t kMostBytes = 32 * 1024;

// Exchanges two numbers or lists of numbers, such as the indices of tensors.
void ExchangeNumbers(Bytes& input, Random& random) {
  const size_t count = 4 * (1 + random.Below(4));
  if (input.size() < 2 * count + 8) return;
  const size_t a = 4 * random.Below((input.size() - count) / 4), b = 4 * random.Below((input.size() - count) / 4);
  std::swap_ranges(input.begin() + static_cast<std::ptrdiff_t>(a),
                   input.begin() + static_cast<std::ptrdiff_t>(a + (a < b ? std::min(count, b - a) : count)),
                   input.begin() + static_cast<std::ptrdiff_t>(b));
}

// Appends a copy of a part and lets an offset lead there: a list or a table that may then differ from the first.
void CopyToEnd(Bytes& input, Random& random) {
  if (input.size() < 64 || input.size() > kMostBytes - 256) return;
  input.resize((input.size() + 3) / 4 * 4);
  const size_t from = 4 * random.Below(input.size() / 4);
  const size_t length = std::min<size_t>(input.size() - from, 64);
  const size_t to = input.size(), offset_at = 4 * random.Below(from / 4 + 1);
  const Bytes part(input.begin() + static_cast<std::ptrdiff_t>(from),
                   input.begin() + static_cast<std::ptrdiff_t>(from + length));
  input.insert(input.end(), part.begin(), part.end());
  Store(input, offset_at, static_cast<uint32_t>(to - offset_at));
}

}  // namespace

void MutateInput(Bytes& input, Random& random) {
  switch (random.Below(16)) {
    case 0: return ChangeBytes(input, random, kMostBytes);
    case 1: return ExchangeNumbers(input, random);
    case 2: return CopyToEnd(input, random);
    default: return ChangeAlignedNumber(input, 8, random);  // behind the root's offset and the format's name
  }
}

void CheckInput(std::span<const uint8_t> input) {
  const host::Importer& importer = *deputy_importer_v1(host::kImporterBuild);
  Result<host::Graph> graph = importer.Import({input, nullptr, {}});
  if (!graph.ok()) return RequireError(graph.status());
  RequireVerified(*graph, "an imported graph verifies");
  RequireSaves(*graph);
  if (const Status typed = RunPasses(*graph, {}); !typed.ok()) return RequireError(typed);
  RequireVerified(*graph, "a graph verifies after the passes");
  RequireSaves(*graph);
}

}  // namespace deputy::fuzz
