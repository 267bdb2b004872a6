// The reader of .dpm files. Mutants have a right checksum and right sizes in most cases, so that the structure behind
// them is reached.
#include <algorithm>

#include "format/header.hpp"
#include "fuzz/graph_promises.hpp"

namespace deputy::fuzz {
namespace {

using host::format::Header;

constexpr size_t kMostBytes = 32 * 1024;

// Of the part of the structure that is in the file.
void MakeConsistent(Bytes& input, Random& random) {
  auto header = Load<Header>(input, 0);
  if (!random.OneIn(8)) header.file_size = input.size();
  if (header.weights_offset <= input.size() && !random.OneIn(8))
    header.weights_size = input.size() - header.weights_offset;
  if (header.structure_offset <= input.size() && header.structure_size <= input.size() - header.structure_offset)
    header.checksum = Checksum(header, std::span(input).subspan(header.structure_offset, header.structure_size));
  Store(input, 0, header);
}

}  // namespace

void MutateInput(Bytes& input, Random& random) {
  if (input.size() < sizeof(Header)) return ChangeBytes(input, random, kMostBytes);
  const auto header = Load<Header>(input, 0);
  const size_t end = std::min<uint64_t>(input.size(), sizeof(Header) + header.structure_size);
  switch (random.Below(16)) {
    case 0: ChangeBytes(input, random, kMostBytes); break;
    case 1: ChangeAlignedNumber(std::span(input).first(sizeof(Header)), sizeof(header.magic), random); break;
    default: ChangeAlignedNumber(std::span(input).first(end), sizeof(Header), random); break;
  }
  if (input.size() >= sizeof(Header) && !random.OneIn(16)) MakeConsistent(input, random);
}

void CheckInput(std::span<const uint8_t> input) {
  const Result<host::Graph> graph = host::ReadModel(input, nullptr);
  if (!graph.ok()) return RequireError(graph.status());
  RequireVerified(*graph, "a graph that was read verifies");
  RequireSaves(*graph);
}

}  // namespace deputy::fuzz
