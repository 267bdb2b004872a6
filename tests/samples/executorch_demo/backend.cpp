// ExecuTorch's demo backend as a delegate: tags say what is delegated, preprocess makes a program of each partition,
// init loads it, and the same text is what the host keeps between starts.
#include <string>
#include <utility>

#include "program.hpp"

namespace {

namespace sdk = deputy::sdk;

class DemoBackend final : public sdk::PartitionDelegate {
 public:
  static constexpr uint32_t kExtensions = sdk::kBlobs | sdk::kCompileOnly | sdk::kProfiles;

  static sdk::OptionSchema Options() {
    return sdk::OptionSchema().Float("limit", 1000, 0, 1e6, "largest angle of which the device knows the sine");
  }

  static sdk::Status Probe(const sdk::Host&) { return {}; }  // is_available

  sdk::Verdict Supports(const sdk::NodeView& node) override {
    if (TagOf(node).empty()) return sdk::Verdict::No(sdk::Reason::kOperatorUnknown);
    const sdk::ValueView y = node.output(0);
    for (size_t i = 0; i < node.input_count(); ++i) {
      const sdk::ValueView x = node.input(i);
      if (x.dtype() != sdk::DType::kFloat32) return sdk::Verdict::No(sdk::Reason::kDType, "float32 only");
      if (x.dims().ToVector() != y.dims().ToVector()) return sdk::Verdict::No(sdk::Reason::kShape, "no broadcasting");
    }
    return sdk::Verdict::Yes();
  }

  // A product that only a sum reads has the tag of that sum: the device has one instruction for both.
  sdk::Status Groups(const sdk::GraphView& graph, const sdk::GroupSink& sink) override {
    for (size_t i = 0; i < graph.node_count(); ++i) {
      const sdk::NodeView add = graph.NodeAt(i);
      if (TagOf(add) != "add") continue;
      for (size_t m = 0; m < i; ++m) {
        const sdk::NodeView mul = graph.NodeAt(m);
        if (TagOf(mul) == "mul" && mul.output(0).id() == add.input(0).id() && ReadersOf(graph, mul.output(0)) == 1)
          sink.Add({mul.id(), add.id()});
      }
    }
    return {};
  }

  sdk::Result<std::unique_ptr<sdk::Executable>> Compile(const sdk::PartitionView& partition) override {
    return Init(Preprocess(partition), partition);
  }

  std::string BlobCompatibility() const override { return "demo backend, programs of format 1"; }

  sdk::Result<std::unique_ptr<sdk::Executable>> Restore(const sdk::PartitionView& partition, sdk::Blob blob) override {
    return Init(std::string(static_cast<const char*>(blob.data()), blob.size()), partition);
  }

 private:
  // Empty: not delegated.
  static std::string TagOf(const sdk::NodeView& node) {
    return node.Is("Add") ? "add" : node.Is("Mul") ? "mul" : node.Is("Sin") ? "sin" : "";
  }

  static size_t ReadersOf(const sdk::GraphView& graph, const sdk::ValueView& value) {
    size_t readers = value.is_graph_output() ? 2 : 0;
    for (size_t i = 0; i < graph.node_count(); ++i)
      for (size_t k = 0; k < graph.NodeAt(i).input_count(); ++k)
        readers += graph.NodeAt(i).input(k).id() == value.id() ? 1 : 0;
    return readers;
  }

  sdk::Result<std::unique_ptr<sdk::Executable>> Init(std::string processed, const sdk::PartitionView& partition) {
    DEPUTY_SDK_ASSIGN_OR_RETURN(
        auto handle, DelegateHandle::Init(std::move(processed), partition, host(), options().Float("limit")));
    return handle;
  }
};

}  // namespace

DEPUTY_EXPORT_DELEGATE(DemoBackend, "demo_backend", "ExecuTorch's demo backend: add, mul and sin from a blob")
