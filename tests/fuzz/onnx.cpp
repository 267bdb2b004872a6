// The ONNX importer: the wire format, the model, and all that a load does with the graph before delegates see it.
#include "fuzz/graph_promises.hpp"
#include "fuzz/onnx_message.hpp"
#include "graph/passes/passes.hpp"
#include "import/importer.hpp"

extern "C" const deputy::host::Importer* deputy_importer_v1(const char* build);

namespace deputy::fuzz {
namespace {

constexpr size_t kMostBytes = 32 * 1024;

// What the importer writes, it reads.
void RequireExports(const host::Importer& importer, const host::Graph& graph) {
  const Result<std::string> bytes = importer.Export(graph);
  if (!bytes.ok()) return RequireError(bytes.status());
  const Bytes copy = BytesOf(*bytes);
  const Result<host::Graph> read = importer.Import({copy, nullptr, {}});
  Require(read.ok(), "an exported graph can be imported", read.status().ToString());
  Require(read->nodes.size() == graph.nodes.size(), "an exported graph has all nodes");
}

}  // namespace

void MutateInput(Bytes& input, Random& random) {
  MutateMessage(input, host::onnx_import::Message::kModel, random, kMostBytes);
}

void CheckInput(std::span<const uint8_t> input) {
  const host::Importer& importer = *deputy_importer_v1(host::kImporterBuild);
  Result<host::Graph> graph = importer.Import({input, nullptr, {}});
  if (!graph.ok()) return RequireError(graph.status());
  RequireVerified(*graph, "an imported graph verifies");
  RequireSaves(*graph);
  RequireExports(importer, *graph);
  if (const Status typed = RunPasses(*graph, {}); !typed.ok()) return RequireError(typed);
  RequireVerified(*graph, "a graph verifies after the passes");
  RequireSaves(*graph);
}

}  // namespace deputy::fuzz
