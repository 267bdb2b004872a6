#include "interpreter.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

namespace tflite_external {
namespace {

using namespace deputy::sdk;

constexpr size_t kMostTensors = 1 << 20;
constexpr size_t kMostBytes = size_t{1} << 40;

std::vector<int32_t> Copied(const abi::IntArray* list) {
  const abi::ListView<int32_t> values = abi::Values(list);
  return {values.begin(), values.end()};
}

bool BytesOf(const abi::Tensor& tensor, const abi::IntArray* dims, size_t* bytes) {
  size_t size = abi::SizeOf(tensor.type);
  if (size == 0) return false;
  for (const int32_t extent : abi::Values(dims)) {
    if (extent < 0 || (extent != 0 && size > kMostBytes / static_cast<size_t>(extent))) return false;
    size *= static_cast<size_t>(extent);
  }
  *bytes = size;
  return true;
}

}  // namespace

void FreeList::operator()(abi::IntArray* list) const { std::free(list); }

List MakeList(const std::vector<int32_t>& values) {
  auto* made = static_cast<int32_t*>(std::malloc(sizeof(int32_t) * (values.size() + 1)));
  if (made == nullptr) throw std::bad_alloc();
  made[0] = static_cast<int32_t>(values.size());
  std::copy(values.begin(), values.end(), made + 1);
  return List(reinterpret_cast<abi::IntArray*>(made));
}

void Interpreter::Memory::Resize(size_t bytes) {
  bytes_.assign(bytes + kAlignment, 0);
  const auto address = reinterpret_cast<uintptr_t>(bytes_.data());
  data_ = bytes_.data() + (kAlignment - address % kAlignment) % kAlignment;
}

// The functions are called by foreign code: none of them throws.
class Interpreter::Calls {
 public:
  static void SetAll(Interpreter* self) {
    abi::Context& context = self->context_;
    context.impl = self;
    context.GetExecutionPlan = GetExecutionPlan;
    context.ResizeTensor = ResizeTensor;
    context.ReportError = ReportError;
    context.AddTensors = AddTensors;
    context.GetNodeAndRegistration = GetNodeAndRegistration;
    context.ReplaceNodeSubsetsWithDelegateKernels = ReplaceNodeSubsets;
    context.recommended_num_threads = 1;
    context.GetExternalContext = [](abi::Context* c, int) -> void* {
      return Missing(c, "GetExternalContext"), nullptr;
    };
    context.SetExternalContext = [](abi::Context* c, int, void*) { Missing(c, "SetExternalContext"); };
    context.AllocatePersistentBuffer = [](abi::Context* c, size_t) -> void* {
      return Missing(c, "AllocatePersistentBuffer"), nullptr;
    };
    context.AllocateBufferForEval = [](abi::Context* c, size_t, void**) { return Missing(c, "AllocateBufferForEval"); };
    context.RequestScratchBufferInArena = [](abi::Context* c, size_t, int*) {
      return Missing(c, "RequestScratchBufferInArena");
    };
    context.GetScratchBuffer = [](abi::Context* c, int) -> void* { return Missing(c, "GetScratchBuffer"), nullptr; };
    context.ResizeTensorExplicit = ResizeTensorExplicit;
    context.PreviewDelegatePartitioning = PreviewPartitioning;
    context.GetTensor = GetTensor;
    context.GetEvalTensor = GetEvalTensor;
    context.GetModelMetadata = [](const abi::Context* c, const char*, const char**, size_t*) {
      return Missing(c, "GetModelMetadata");
    };
    context.AcquireSubgraphContext = [](abi::Context* c, int, abi::Context**) {
      return Missing(c, "AcquireSubgraphContext");
    };
    context.ReleaseSubgraphContext = [](abi::Context* c, int) { return Missing(c, "ReleaseSubgraphContext"); };
  }

 private:
  static Interpreter& Of(const abi::Context* context) { return *static_cast<Interpreter*>(context->impl); }

  template <class F>
  static abi::Outcome Guarded(const F& f) noexcept {
    try {
      return f();
    } catch (...) {
      return abi::kError;
    }
  }

  static abi::Outcome Missing(const abi::Context* context, const char* name) noexcept {
    return Guarded([&] {
      Of(context).said_ += std::string(name) + " is not available here. ";
      return abi::kError;
    });
  }

  static void ReportError(abi::Context* context, const char* format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    Guarded([&] {
      Of(context).said_ += std::string(text) + " ";
      return abi::kOk;
    });
  }

  static abi::Outcome GetExecutionPlan(abi::Context* context, abi::IntArray** plan) {
    return Guarded([&] {
      Interpreter& self = Of(context);
      self.plan_list_ = MakeList(self.plan_);
      *plan = self.plan_list_.get();
      return abi::kOk;
    });
  }

  static abi::Outcome ResizeTensor(abi::Context* context, abi::Tensor* tensor, abi::IntArray* dims) {
    List owned(dims);
    return Guarded([&] {
      Interpreter& self = Of(context);
      const std::ptrdiff_t index = tensor - self.tensors_.data();
      size_t bytes = 0;
      if (index < 0 || static_cast<size_t>(index) >= self.tensors_.size() || tensor->allocation_type == abi::kMmapRo ||
          owned == nullptr || !BytesOf(*tensor, owned.get(), &bytes)) {
        self.said_ += "ResizeTensor was called for a constant, an unknown tensor or an impossible shape. ";
        return abi::kError;
      }
      if (self.has_memory_ && Copied(owned.get()) != Copied(tensor->dims)) {
        self.said_ += "ResizeTensor was called for another shape in a run, when tensors have their memory. ";
        return abi::kError;
      }
      self.SetDims(tensor, std::move(owned));
      return abi::kOk;
    });
  }
  static abi::Outcome ResizeTensorExplicit(abi::Context* context, abi::Tensor* tensor, int rank, const int* dims) {
    return Guarded([&] {
      return ResizeTensor(context, tensor, MakeList(std::vector<int32_t>(dims, dims + std::max(rank, 0))).release());
    });
  }

  static abi::Outcome AddTensors(abi::Context* context, int count, int* first) {
    return Guarded([&] {
      Interpreter& self = Of(context);
      if (self.has_memory_) return Missing(context, "AddTensors in a run");
      if (count < 0 || self.tensors_.size() + static_cast<size_t>(count) > kMostTensors) return abi::kError;
      if (first != nullptr) *first = static_cast<int>(self.tensors_.size());
      for (int i = 0; i < count; ++i) {
        GuestTensor made;
        made.name = "temporary";
        made.dims = {0};
        self.AddTensor(made);
      }
      return abi::kOk;
    });
  }

  static abi::Outcome GetNodeAndRegistration(abi::Context* context, int index, abi::Node** node,
                                             abi::Registration** registration) {
    Interpreter& self = Of(context);
    const auto place = static_cast<size_t>(index);
    if (index < 0 || place >= self.nodes_.size() + self.kernels_.size()) return abi::kError;
    const bool is_kernel = place >= self.nodes_.size();
    Kernel* kernel = is_kernel ? &self.kernels_[place - self.nodes_.size()] : nullptr;
    *node = is_kernel ? &kernel->node : &self.nodes_[place];
    *registration = is_kernel ? &kernel->registration : &self.registrations_[place];
    return abi::kOk;
  }

  static abi::Outcome ReplaceNodeSubsets(abi::Context* context, abi::Registration registration,
                                         const abi::IntArray* nodes, abi::Delegate* delegate) {
    return Guarded([&] { return Of(context).Replace(registration, nodes, delegate); });
  }
  static abi::Outcome PreviewPartitioning(abi::Context* context, const abi::IntArray* nodes,
                                          abi::DelegateParams** params, int* count) {
    return Guarded([&] { return Of(context).Preview(nodes, params, count); });
  }

  static abi::Tensor* GetTensor(const abi::Context* context, int index) {
    Interpreter& self = Of(context);
    return index < 0 || static_cast<size_t>(index) >= self.tensors_.size() ? nullptr
                                                                           : &self.tensors_[static_cast<size_t>(index)];
  }
  static abi::EvalTensor* GetEvalTensor(const abi::Context* context, int index) {
    abi::EvalTensor* made = nullptr;
    Guarded([&] {
      Interpreter& self = Of(context);
      const abi::Tensor* tensor = GetTensor(context, index);
      if (tensor == nullptr) return abi::kError;
      self.eval_tensors_.resize(std::max(self.eval_tensors_.size(), self.tensors_.size()));
      made = &self.eval_tensors_[static_cast<size_t>(index)];
      *made = {tensor->data, tensor->dims, tensor->type};
      return abi::kOk;
    });
    return made;
  }
};

Interpreter::Interpreter(GuestGraph graph) : graph_(std::move(graph)) {
  Calls::SetAll(this);
  for (const GuestTensor& tensor : graph_.tensors) AddTensor(tensor);
  for (const GuestNode& source : graph_.nodes) {
    abi::Node& node = nodes_.emplace_back();
    node.inputs = Keep(source.inputs);
    node.outputs = Keep(source.outputs);
    node.intermediates = Keep({});
    node.temporaries = Keep({});
    node.builtin_data = source.params.get();
    abi::Registration& registration = registrations_.emplace_back();
    registration.builtin_code = source.number;
    registration.version = 1;
    plan_.push_back(static_cast<int32_t>(nodes_.size() - 1));
  }
}

Interpreter::~Interpreter() {
  for (Kernel& kernel : kernels_)
    if (kernel.registration.free != nullptr && kernel.node.user_data != abi::kInitFailed)
      kernel.registration.free(&context_, kernel.node.user_data);
}

abi::IntArray* Interpreter::Keep(const std::vector<int32_t>& values) {
  return lists_.emplace_back(MakeList(values)).get();
}

void Interpreter::AddTensor(const GuestTensor& source) {
  abi::Tensor tensor{};
  tensor.type = source.type;
  tensor.name = names_.emplace_back(source.name).c_str();
  tensor.buffer_handle = -1;
  tensor.allocation_type = abi::kArenaRw;
  if (source.constant != nullptr) tensor.data = const_cast<char*>(source.constant->data());
  if (!source.scales.empty()) {
    Affine& affine = quantization_.emplace_back();
    affine.scales.resize(source.scales.size() + 1);
    const auto count = static_cast<int32_t>(source.scales.size());
    std::memcpy(affine.scales.data(), &count, sizeof count);
    std::copy(source.scales.begin(), source.scales.end(), affine.scales.begin() + 1);
    affine.params.scale = reinterpret_cast<abi::FloatArray*>(affine.scales.data());
    affine.params.zero_point = Keep(source.zero_points);
    affine.params.quantized_dimension = source.axis;
    tensor.quantization = {abi::kAffine, &affine.params};
    if (source.scales.size() == 1) {
      tensor.legacy_scale = source.scales[0];
      tensor.legacy_zero_point = source.zero_points[0];
    }
  }
  if (tensor.data != nullptr) tensor.allocation_type = abi::kMmapRo;
  tensors_.push_back(tensor);
  dims_.emplace_back();
  memory_.emplace_back();
  context_.tensors = tensors_.data();
  context_.tensors_size = tensors_.size();
  SetDims(&tensors_.back(), MakeList(source.dims));
}

void Interpreter::SetDims(abi::Tensor* tensor, List dims) {
  const auto index = static_cast<size_t>(tensor - tensors_.data());
  if (!BytesOf(*tensor, dims.get(), &tensor->bytes)) throw std::bad_alloc();
  dims_[index] = std::move(dims);
  tensor->dims = dims_[index].get();
}

bool Interpreter::MarkTaken(const abi::IntArray* nodes, std::vector<bool>* taken) {
  taken->assign(nodes_.size(), false);
  for (const int32_t index : abi::Values(nodes)) {
    if (index < 0 || static_cast<size_t>(index) >= nodes_.size()) {
      said_ += "node " + std::to_string(index) + " does not exist. ";
      return false;
    }
    (*taken)[static_cast<size_t>(index)] = true;
  }
  return true;
}

// In rounds: each is as many nodes as possible of one kind, taken or not, whose inputs earlier rounds have made.
std::vector<Interpreter::Subset> Interpreter::Partition(const std::vector<bool>& taken) const {
  std::vector<bool> done(nodes_.size(), false), made(tensors_.size(), false);
  for (size_t i = 0; i < tensors_.size(); ++i) made[i] = tensors_[i].allocation_type == abi::kMmapRo;
  for (const int32_t input : graph_.inputs) made[static_cast<size_t>(input)] = true;
  const auto is_ready = [&](size_t node) {
    const abi::ListView<int32_t> inputs = abi::Values(nodes_[node].inputs);
    return std::all_of(inputs.begin(), inputs.end(), [&](int32_t i) { return i < 0 || made[static_cast<size_t>(i)]; });
  };
  std::vector<Subset> subsets;
  for (;;) {
    Subset subset;
    for (size_t node = 0; node < nodes_.size(); ++node) {
      if (done[node] || !is_ready(node) || (!subset.nodes.empty() && taken[node] != subset.taken)) continue;
      subset.taken = taken[node];
      subset.nodes.push_back(static_cast<int32_t>(node));
      done[node] = true;
      for (const int32_t output : abi::Values(nodes_[node].outputs)) made[static_cast<size_t>(output)] = true;
    }
    if (subset.nodes.empty()) break;
    subsets.push_back(std::move(subset));
  }
  for (Subset& subset : subsets) {
    const std::set<int32_t> inside(subset.nodes.begin(), subset.nodes.end());
    std::set<int32_t> written, read, used(graph_.outputs.begin(), graph_.outputs.end());
    for (size_t node = 0; node < nodes_.size(); ++node) {
      const bool is_inside = inside.count(static_cast<int32_t>(node)) != 0;
      for (const int32_t input : abi::Values(nodes_[node].inputs)) (is_inside ? read : used).insert(input);
      for (const int32_t output : abi::Values(nodes_[node].outputs))
        if (is_inside) written.insert(output);
    }
    std::set_difference(read.begin(), read.end(), written.begin(), written.end(), std::back_inserter(subset.inputs));
    std::set_intersection(written.begin(), written.end(), used.begin(), used.end(), std::back_inserter(subset.outputs));
  }
  return subsets;
}

abi::DelegateParams* Interpreter::ParamsOf(const Subset& subset, abi::Delegate* delegate) {
  params_.push_back({delegate, Keep(subset.nodes), Keep(subset.inputs), Keep(subset.outputs)});
  return &params_.back();
}

abi::Outcome Interpreter::Preview(const abi::IntArray* nodes, abi::DelegateParams** params, int* count) {
  std::vector<bool> taken;
  if (!MarkTaken(nodes, &taken)) return abi::kError;
  previews_.clear();
  for (const Subset& subset : Partition(taken))
    if (subset.taken) previews_.push_back(*ParamsOf(subset, nullptr));
  *params = previews_.data();
  *count = static_cast<int>(previews_.size());
  return abi::kOk;
}

abi::Outcome Interpreter::Replace(const abi::Registration& registration, const abi::IntArray* nodes,
                                  abi::Delegate* delegate) {
  if (!in_prepare_) {
    said_ += "ReplaceNodeSubsetsWithDelegateKernels was called outside of Prepare. ";
    return abi::kError;
  }
  std::vector<bool> taken;
  if (!MarkTaken(nodes, &taken)) return abi::kError;
  for (size_t i = 0; i < taken.size(); ++i) taken_[i] = taken_[i] || taken[i];
  if (surveys_) return abi::kOk;
  if (!kernels_.empty()) {
    said_ += "ReplaceNodeSubsetsWithDelegateKernels was called twice. ";
    return abi::kError;
  }
  plan_.clear();
  for (const Subset& subset : Partition(taken)) {
    if (!subset.taken) {
      plan_.insert(plan_.end(), subset.nodes.begin(), subset.nodes.end());
      continue;
    }
    abi::DelegateParams* params = ParamsOf(subset, delegate);
    plan_.push_back(static_cast<int32_t>(nodes_.size() + kernels_.size()));
    Kernel& kernel = kernels_.emplace_back();
    kernel.registration = registration;
    kernel.node = {};
    kernel.node.inputs = params->input_tensors;
    kernel.node.outputs = params->output_tensors;
    kernel.node.intermediates = Keep({});
    kernel.node.temporaries = Keep({});
    kernel.node.builtin_data = params;
    kernel.node.delegate = delegate;
    if (registration.init != nullptr)
      kernel.node.user_data = registration.init(&context_, reinterpret_cast<const char*>(params), sizeof *params);
    if (kernel.node.user_data == abi::kInitFailed) return abi::kError;
  }
  return abi::kOk;
}

Status Interpreter::Failure(Code code, const std::string& what) {
  std::string text = what;
  if (!said_.empty()) text += ": " + said_;
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.pop_back();
  said_.clear();
  return Status(code, text);
}

Result<std::vector<bool>> Interpreter::Survey(abi::Delegate* delegate) {
  surveys_ = in_prepare_ = true;
  taken_.assign(nodes_.size(), false);
  said_.clear();
  const abi::Outcome outcome = delegate->Prepare(&context_, delegate);
  surveys_ = in_prepare_ = false;
  if (outcome != abi::kOk) return Failure(Code::kNotSupported, "the library's delegate cannot be applied");
  return taken_;
}

Status Interpreter::Apply(abi::Delegate* delegate) {
  said_.clear();
  in_prepare_ = true;
  taken_.assign(nodes_.size(), false);
  const abi::Outcome outcome = delegate->Prepare(&context_, delegate);
  in_prepare_ = false;
  if (outcome != abi::kOk) return Failure(Code::kNotSupported, "the library's delegate cannot be applied");
  for (const int32_t index : plan_)
    if (static_cast<size_t>(index) < nodes_.size()) {
      const GuestNode& left = graph_.nodes[static_cast<size_t>(index)];
      return Status(Code::kNotSupported, "the library's delegate does not take '" + left.name + "' in this partition",
                    left.ids[0]);
    }
  for (Kernel& kernel : kernels_) {
    if (kernel.registration.invoke == nullptr) return Failure(Code::kInternal, "the library's kernel has no invoke");
    if (kernel.registration.prepare != nullptr && kernel.registration.prepare(&context_, &kernel.node) != abi::kOk)
      return Failure(Code::kNotSupported, "the library's kernel cannot be prepared");
  }
  for (size_t i = 0; i < graph_.tensors.size(); ++i)
    if (Copied(tensors_[i].dims) != graph_.tensors[i].dims || tensors_[i].type != graph_.tensors[i].type)
      return Failure(Code::kNotSupported,
                     "the library's kernel gives '" + graph_.tensors[i].name + "' another shape or element type");
  return Allocate();
}

// For what kernels read, write and use. Tensors between the nodes inside of one have no memory.
Status Interpreter::Allocate() {
  std::set<int32_t> used(graph_.inputs.begin(), graph_.inputs.end());
  used.insert(graph_.outputs.begin(), graph_.outputs.end());
  for (const Kernel& kernel : kernels_)
    for (const abi::IntArray* list : {kernel.node.inputs, kernel.node.outputs, kernel.node.temporaries})
      for (const int32_t tensor : abi::Values(list)) used.insert(tensor);
  for (size_t i = 0; i < tensors_.size(); ++i) {
    abi::Tensor& tensor = tensors_[i];
    const bool is_added = i >= graph_.tensors.size();
    if (tensor.allocation_type == abi::kMmapRo || (!is_added && used.count(static_cast<int32_t>(i)) == 0)) continue;
    // Its type may have been set after its shape.
    if (!BytesOf(tensor, tensor.dims, &tensor.bytes))
      return Failure(Code::kNotSupported, "the library's kernel adds a tensor of a type without a size");
    memory_[i].Resize(tensor.bytes);
    tensor.data = memory_[i].data();
  }
  has_memory_ = true;
  return {};
}

Status Interpreter::Invoke() {
  said_.clear();
  for (Kernel& kernel : kernels_)
    if (kernel.registration.invoke(&context_, &kernel.node) != abi::kOk)
      return Failure(Code::kUnknown, "the library's kernel failed");
  return {};
}

void Interpreter::Bind(int32_t tensor, void* data) {
  tensors_[static_cast<size_t>(tensor)].data = data != nullptr ? data : OwnMemory(tensor);
}

}  // namespace tflite_external
