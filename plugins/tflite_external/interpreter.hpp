// As much of TensorFlow Lite's interpreter as delegates ask: a graph behind a TfLiteContext, its partitioning, kernels
// that replace nodes, and their runs. Functions that are not emulated report their name and fail.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "../tflite_abi/tflite_abi.hpp"
#include "deputy/sdk/sdk.hpp"
#include "guest_graph.hpp"

namespace tflite_external {

namespace abi = deputy::tflite_abi;

// Of the memory of tensors, on which delegates rely.
inline constexpr size_t kAlignment = 64;

// A list that is allocated by malloc, which a delegate may free.
struct FreeList {
  void operator()(abi::IntArray* list) const;
};
using List = std::unique_ptr<abi::IntArray, FreeList>;
List MakeList(const std::vector<int32_t>& values);

// [one-thread] Its address must not change: the context has it.
class Interpreter {
 public:
  explicit Interpreter(GuestGraph graph);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  // Which of the nodes the delegate takes, by their place in the graph; kernels are not made.
  deputy::sdk::Result<std::vector<bool>> Survey(abi::Delegate* delegate);
  // Replaces all nodes by kernels of the delegate, and prepares these. kNotSupported, with the node, where one is left.
  deputy::sdk::Status Apply(abi::Delegate* delegate);
  // With the memory of inputs and outputs given by Bind, and all else in memory of its own.
  deputy::sdk::Status Invoke();

  const GuestGraph& graph() const { return graph_; }
  // Another memory for a tensor, until the next Bind of it; null: its own.
  void Bind(int32_t tensor, void* data);
  void* OwnMemory(int32_t tensor) { return memory_[static_cast<size_t>(tensor)].data(); }

 private:
  class Calls;  // the functions of the context
  struct Kernel {
    abi::Registration registration;
    abi::Node node;
  };
  struct Subset {
    bool taken = false;
    std::vector<int32_t> nodes, inputs, outputs;
  };
  // 64-byte aligned.
  class Memory {
   public:
    void Resize(size_t bytes);
    void* data() const { return data_; }

   private:
    std::vector<char> bytes_;
    void* data_ = nullptr;
  };

  void AddTensor(const GuestTensor& source);
  void SetDims(abi::Tensor* tensor, List dims);
  abi::Outcome Replace(const abi::Registration& registration, const abi::IntArray* nodes, abi::Delegate* delegate);
  abi::Outcome Preview(const abi::IntArray* nodes, abi::DelegateParams** params, int* count);
  bool MarkTaken(const abi::IntArray* nodes, std::vector<bool>* taken);
  std::vector<Subset> Partition(const std::vector<bool>& taken) const;
  abi::DelegateParams* ParamsOf(const Subset& subset, abi::Delegate* delegate);
  abi::IntArray* Keep(const std::vector<int32_t>& values);
  deputy::sdk::Status Allocate();
  deputy::sdk::Status Failure(deputy::sdk::Code code, const std::string& what);

  GuestGraph graph_;
  abi::Context context_{};
  std::vector<abi::Tensor> tensors_;
  std::vector<List> dims_;  // of the tensors
  std::vector<Memory> memory_;
  std::deque<std::string> names_;
  std::deque<List> lists_;
  struct Affine {
    abi::AffineQuantization params;
    std::vector<float> scales;  // with the size in front, as a FloatArray
  };
  std::deque<Affine> quantization_;
  std::deque<abi::EvalTensor> eval_tensors_;
  std::deque<abi::DelegateParams> params_;
  std::vector<abi::DelegateParams> previews_;
  std::deque<abi::Node> nodes_;
  std::deque<abi::Registration> registrations_;
  std::deque<Kernel> kernels_;
  std::vector<int32_t> plan_;  // nodes, and kernels behind them by number
  List plan_list_;
  bool surveys_ = false, in_prepare_ = false, has_memory_ = false;
  std::vector<bool> taken_;
  std::string said_;  // by ReportError, since the last call
};

}  // namespace tflite_external
