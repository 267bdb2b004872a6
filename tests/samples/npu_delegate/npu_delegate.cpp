// NPUDelegate: opens the device at the clock that the configuration asks for, and replaces runs of kernels that the
// table knows by sub-graphs.
#include <string>
#include <utility>

#include "npu_graph.hpp"

namespace {

using deputy::sdk::DelegateModel;
using deputy::sdk::DeviceState;
using deputy::sdk::Kernel;
using deputy::sdk::KernelIter;
using deputy::sdk::OptionSchema;
using deputy::sdk::Status;

class NPUDelegate final : public deputy::sdk::Delegate {
 public:
  static OptionSchema Options() { return OptionSchema().Frequency("frequency", 3, "clock of the NPU"); }

  Status Init() override {
    level_ = options().Frequency("frequency").level;
    device_ = std::make_shared<toy_npu::Device>(static_cast<int>(level_));
    op_func_lists_ = NPUOpTable();
    return deputy::sdk::kSuccess;
  }

  Status Build(DelegateModel* model) override {
    NPUOps npu_ops;
    std::vector<Kernel*> run;  // the kernels in front of `iter` that became npu_ops
    for (KernelIter iter = model->BeginKernelIterator(); iter != model->EndKernelIterator(); ++iter) {
      if (auto npu_op = GetOP(*iter, model->GetPrimitive(*iter))) {
        npu_ops.push_back(std::move(npu_op));
        run.push_back(*iter);
      } else if (!run.empty()) {
        iter = ReplaceRun(model, iter, &run, &npu_ops);
      }
    }
    if (!run.empty()) ReplaceRun(model, model->EndKernelIterator(), &run, &npu_ops);
    return deputy::sdk::kSuccess;
  }

  deputy::sdk::Result<DeviceState> device_state() const override {
    DeviceState state;
    state.device_name = "toy NPU";
    state.level_requested = state.level_granted = level_;
    state.frequency_granted_hz = device_->hertz();
    state.busy_ns = device_->busy_ns();
    state.runs = device_->runs();
    return state;
  }

 private:
  // NULL: the NPU does not have the kernel, or another delegate has it.
  std::unique_ptr<NPUOp> GetOP(Kernel* kernel, const deputy::schema::Primitive* primitive) const {
    const auto found = op_func_lists_.find(kernel->type());
    return primitive == nullptr || found == op_func_lists_.end() ? nullptr : found->second(*kernel);
  }

  KernelIter ReplaceRun(DelegateModel* model, KernelIter end, std::vector<Kernel*>* run, NPUOps* npu_ops) {
    auto inputs = deputy::sdk::GraphInTensors(*run);
    auto outputs = deputy::sdk::GraphOutTensors(*run, *model);
    std::vector<ValueId> read_outside;
    for (const deputy::sdk::Tensor& output : outputs) read_outside.push_back(output.Id());
    NPUPassManager passes;
    passes.Run(npu_ops, read_outside);
    auto* graph = new NPUGraph(std::move(*npu_ops), device_, std::move(inputs), std::move(outputs));
    graph->set_name("NPUGraph" + std::to_string(graphs_++));
    host().Info(graph->name() + ": " + std::to_string(run->size()) + " kernels, " + std::to_string(passes.inserted()) +
                " transposes put in, " + std::to_string(passes.left()) + " left");
    const KernelIter from = end - static_cast<std::ptrdiff_t>(run->size());
    run->clear();
    npu_ops->clear();
    return model->Replace(from, end, graph);
  }

  uint32_t level_ = 0;
  std::shared_ptr<toy_npu::Device> device_;
  std::map<std::string, NPUGetOp> op_func_lists_;
  int graphs_ = 0;
};

}  // namespace

DEPUTY_EXPORT_DELEGATE(NPUDelegate, "toy_npu", "a made-up NPU in MindSpore Lite's shape")
