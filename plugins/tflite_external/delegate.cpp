// The delegate tflite_external: a vendor's external delegate of TensorFlow Lite as a delegate of Deputy.
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "deputy/sdk/sdk.hpp"
#include "interpreter.hpp"
#include "library.hpp"

namespace tflite_external {
namespace {

using namespace deputy::sdk;

// The kernels of one partition, which all sessions share: the delegate has DEPUTY_DELEGATE_SERIAL.
class Program final : public Executable {
 public:
  Program(std::shared_ptr<ForeignDelegate> library, GuestGraph graph)
      : library_(std::move(library)), interpreter_(std::move(graph)) {}

  Status Build() { return interpreter_.Apply(library_->get()); }
  Result<std::unique_ptr<ExecutionContext>> CreateContext() override;

  Status Run(const RunArgs& args) {
    const GuestGraph& graph = interpreter_.graph();
    for (size_t i = 0; i < args.input_count(); ++i) {
      const TensorView from = args.input(i);
      const int32_t tensor = graph.inputs[i];
      void* bound = nullptr;
      if (from.dims().size() == 4)
        ToChannelsLast(from.data(), from.dims().data(), SizeOf(from.dtype()), interpreter_.OwnMemory(tensor));
      else if (reinterpret_cast<uintptr_t>(from.data()) % kAlignment == 0)
        bound = from.data();
      else
        std::memcpy(interpreter_.OwnMemory(tensor), from.data(), from.byte_size());
      interpreter_.Bind(tensor, bound);
    }
    for (size_t i = 0; i < args.output_count(); ++i) interpreter_.Bind(graph.outputs[i], BoundOutput(args.output(i)));
    DEPUTY_SDK_RETURN_IF_ERROR(interpreter_.Invoke());
    for (size_t i = 0; i < args.output_count(); ++i) {
      const TensorView to = args.output(i);
      if (BoundOutput(to) != nullptr) continue;
      const void* made = interpreter_.OwnMemory(graph.outputs[i]);
      if (to.dims().size() == 4)
        ToChannelsSecond(made, to.dims().data(), SizeOf(to.dtype()), to.data());
      else
        std::memcpy(to.data(), made, to.byte_size());
    }
    return {};
  }

 private:
  static void* BoundOutput(const TensorView& to) {
    const bool fits = to.dims().size() != 4 && reinterpret_cast<uintptr_t>(to.data()) % kAlignment == 0;
    return fits ? to.data() : nullptr;
  }

  std::shared_ptr<ForeignDelegate> library_;  // outlives the kernels
  Interpreter interpreter_;
};

class Context final : public ExecutionContext {
 public:
  explicit Context(Program& program) : program_(program) {}
  Status Execute(const RunArgs& args) override { return program_.Run(args); }

 private:
  Program& program_;  // outlives its contexts
};

Result<std::unique_ptr<ExecutionContext>> Program::CreateContext() { return std::make_unique<Context>(*this); }

class TfliteExternal final : public PartitionDelegate {
 public:
  static constexpr uint32_t kFlags = DEPUTY_DELEGATE_SERIAL;

  static OptionSchema Options() {
    return OptionSchema()
        .String("library", "libtflite_delegate.so",
                "the library with tflite_plugin_create_delegate: a path, or a name beside this plugin")
        .String("options", "", "options of the library's delegate, 'key=value;key=value', passed to it unchanged");
  }

  Status Init() override {
    DEPUTY_SDK_ASSIGN_OR_RETURN(const auto given, ReadOptions(options().Text("options")));
    DEPUTY_SDK_ASSIGN_OR_RETURN(std::unique_ptr<ForeignDelegate> opened,
                                ForeignDelegate::Open(options().Text("library"), given));
    library_ = std::move(opened);
    return {};
  }

  // The whole graph is offered, then what was left, until nothing more is taken.
  void Look(const GraphView& graph) override {
    verdicts_.clear();
    GuestGraph guest;
    std::vector<NodeView> offered;
    std::set<deputy_value_id> used;  // outside of the guest's graph
    for (const ValueView& output : graph.Outputs()) used.insert(output.id());
    for (size_t i = 0; i < graph.node_count(); ++i) {
      const NodeView node = graph.NodeAt(i);
      Verdict verdict = Verdict::No(Reason::kOther, "was not offered");
      if (node.offered() && !node.has_regions()) verdict = AddNode(node, &guest);
      if (verdict.supported()) {
        verdict = Verdict::No(Reason::kOther, "the library's delegate does not take it");
        offered.push_back(node);
      } else {
        AddInputs(node, &used);
      }
      verdicts_[node.id()] = std::move(verdict);
    }
    while (!offered.empty()) {
      const Result<std::set<deputy_node_id>> taken = Offer(std::move(guest), used);
      std::vector<NodeView> left;
      for (const NodeView& node : offered) {
        if (!taken.ok()) verdicts_[node.id()] = Verdict::No(Reason::kOther, taken.status().message());
        if (!taken.ok() || taken->count(node.id()) == 0) {
          left.push_back(node);
          continue;
        }
        verdicts_[node.id()] = Verdict::Yes();
        AddInputs(node, &used);
      }
      if (left.size() == offered.size()) return;
      offered = std::move(left);
      guest = GuestGraph();
      for (const NodeView& node : offered) AddNode(node, &guest);
    }
  }

  Verdict Supports(const NodeView& node) override {
    const auto found = verdicts_.find(node.id());
    return found != verdicts_.end() ? found->second : Verdict::No(Reason::kOther, "was not offered");
  }

  Result<std::unique_ptr<Executable>> Compile(const PartitionView& partition) override {
    GuestGraph graph;
    for (const NodeView& node : partition.nodes())
      if (const Verdict verdict = AddNode(node, &graph); !verdict.supported())
        return Status(Code::kNotSupported, verdict.Text(), node.id());
    DEPUTY_SDK_RETURN_IF_ERROR(Connect(partition.inputs(), &graph, &graph.inputs));
    DEPUTY_SDK_RETURN_IF_ERROR(Connect(partition.outputs(), &graph, &graph.outputs));
    FuseQuantization(&graph);
    auto program = std::make_unique<Program>(library_, std::move(graph));
    DEPUTY_SDK_RETURN_IF_ERROR(program->Build());
    return program;
  }

 private:
  static Status Connect(const std::vector<ValueView>& values, GuestGraph* graph, std::vector<int32_t>* tensors) {
    for (const ValueView& value : values) {
      const auto found = graph->tensor_of.find(value.id());
      if (found == graph->tensor_of.end())
        return Status(Code::kNotSupported, "'" + std::string(value.name()) + "' is no tensor of the guest");
      tensors->push_back(found->second);
    }
    return {};
  }

  static void AddInputs(const NodeView& node, std::set<deputy_value_id>* values) {
    for (size_t i = 0; i < node.input_count(); ++i)
      if (const ValueView value = node.input(i); value.exists()) values->insert(value.id());
  }

  // The nodes that the delegate takes. `used`: values that are needed outside of the graph.
  Result<std::set<deputy_node_id>> Offer(GuestGraph graph, const std::set<deputy_value_id>& used) {
    std::vector<bool> is_read(graph.tensors.size(), false), is_made = is_read, is_used = is_read;
    for (const auto& [value, tensor] : graph.tensor_of) is_used[static_cast<size_t>(tensor)] = used.count(value) != 0;
    for (const GuestNode& node : graph.nodes) {
      for (const int32_t input : node.inputs) is_read[static_cast<size_t>(input)] = true;
      for (const int32_t output : node.outputs) is_made[static_cast<size_t>(output)] = true;
    }
    for (size_t i = 0; i < graph.tensors.size(); ++i) {
      if (is_read[i] && !is_made[i] && graph.tensors[i].constant == nullptr)
        graph.inputs.push_back(static_cast<int32_t>(i));
      if (is_made[i] && (!is_read[i] || is_used[i])) graph.outputs.push_back(static_cast<int32_t>(i));
    }
    FuseQuantization(&graph);
    Interpreter interpreter(std::move(graph));
    DEPUTY_SDK_ASSIGN_OR_RETURN(const std::vector<bool> taken, interpreter.Survey(library_->get()));
    std::set<deputy_node_id> ids;
    for (size_t i = 0; i < taken.size(); ++i)
      if (taken[i]) ids.insert(interpreter.graph().nodes[i].ids.begin(), interpreter.graph().nodes[i].ids.end());
    return ids;
  }

  std::shared_ptr<ForeignDelegate> library_;
  std::map<deputy_node_id, Verdict> verdicts_;
};

}  // namespace
}  // namespace tflite_external

DEPUTY_EXPORT_DELEGATE(tflite_external::TfliteExternal, "tflite_external",
                       "a vendor's external delegate of TensorFlow Lite, of the library in its options")
