#include "trial.hpp"

#include <deque>
#include <set>

#include "parts.hpp"

namespace ort {
namespace {

// Tensors with memory of their own.
class Tensors {
 public:
  sdk::Status Make(const std::vector<sdk::ValueView>& values) {
    for (const sdk::ValueView& value : values) {
      if (!value.shape_known()) return sdk::Status(sdk::Code::kNotSupported, "extents are not known");
      const sdk::DType dtype = value.dtype();
      const auto count = static_cast<size_t>(value.element_count());
      const size_t size = sdk::SizeOf(dtype) == 0 ? (count + 1) / 2 : count * sdk::SizeOf(dtype);
      Tensor& tensor = tensors_.emplace_back();
      tensor.dims.assign(value.dims().begin(), value.dims().end());
      tensor.memory.resize(size / sizeof(Line) + 1);
      tensor.form.struct_size = sizeof tensor.form;
      tensor.form.dtype = static_cast<deputy_dtype>(dtype);
      tensor.form.rank = static_cast<uint32_t>(tensor.dims.size());
      tensor.form.dims = tensor.dims.data();
      tensor.form.data = size == 0 ? nullptr : tensor.memory.data();
      tensor.form.byte_size = size;
      pointers_.push_back(&tensor.form);
    }
    return {};
  }
  const deputy_tensor* const* pointers() const { return pointers_.data(); }
  uint32_t size() const { return static_cast<uint32_t>(pointers_.size()); }

 private:
  struct alignas(64) Line {  // as the host's buffers
    unsigned char bytes[64] = {};
  };
  struct Tensor {
    std::vector<int64_t> dims;
    std::vector<Line> memory;
    deputy_tensor form{};
  };
  std::deque<Tensor> tensors_;
  std::vector<const deputy_tensor*> pointers_;
};

class Search {
 public:
  Search(Provider& provider, const sdk::PartitionView& partition, const sdk::Host& host, bool runs, FailedNodes& failed)
      : provider_(provider), partition_(partition), host_(host), runs_(runs), failed_(failed) {}

  // Keeps the nodes that fail among those from `begin` to `end`, of which all together fail with `why`.
  void Halve(size_t begin, size_t end, const sdk::Status& why) {
    if (end - begin == 1) {
      failed_.Keep(partition_.nodes()[begin], why.message());
      if (!first_) first_ = partition_.nodes()[begin].id();
      return;
    }
    const size_t middle = begin + (end - begin) / 2;
    for (const auto& [from, to] : {std::pair{begin, middle}, std::pair{middle, end}}) {
      if (partition_.cancelled()) return;
      if (const sdk::Status status = Try(from, to); !status.ok()) Halve(from, to, status);
    }
  }

  std::optional<deputy_node_id> first() const { return first_; }

 private:
  sdk::Status Try(size_t begin, size_t end) {
    const std::vector<sdk::NodeView> nodes(partition_.nodes().begin() + static_cast<ptrdiff_t>(begin),
                                           partition_.nodes().begin() + static_cast<ptrdiff_t>(end));
    // Nodes that are known to fail need no further proof.
    if (nodes.size() == 1)
      if (std::string reason = failed_.ReasonFor(nodes.front()); !reason.empty())
        return sdk::Status(sdk::Code::kNotSupported, std::move(reason));
    std::set<deputy_value_id> wanted;
    for (const sdk::ValueView& value : partition_.outputs()) wanted.insert(value.id());
    for (size_t i = 0; i < partition_.nodes().size(); ++i) {
      if (i >= begin && i < end) continue;
      const sdk::NodeView& node = partition_.nodes()[i];
      for (size_t k = 0; k < node.input_count(); ++k)
        if (const sdk::ValueView value = node.input(k); value.exists()) wanted.insert(value.id());
    }
    const Part part = Part::Of(partition_.graph(), nodes, wanted);
    const sdk::PartitionView view = part.View();
    DEPUTY_SDK_ASSIGN_OR_RETURN(const auto executable, provider_.Compile(view));
    return runs_ ? RunOnce(*executable, view, host_) : sdk::Status();
  }

  Provider& provider_;
  const sdk::PartitionView& partition_;
  const sdk::Host& host_;
  const bool runs_;
  FailedNodes& failed_;
  std::optional<deputy_node_id> first_;
};

}  // namespace

sdk::Status RunOnce(sdk::Executable& executable, const sdk::PartitionView& partition, const sdk::Host& host) {
  Tensors inputs, outputs;
  DEPUTY_SDK_RETURN_IF_ERROR(inputs.Make(partition.inputs()));
  DEPUTY_SDK_RETURN_IF_ERROR(outputs.Make(partition.outputs()));
  DEPUTY_SDK_ASSIGN_OR_RETURN(const auto context, executable.CreateContext());
  deputy_run_args args{};
  args.struct_size = sizeof args;
  args.run = 1;
  args.inputs = inputs.pointers();
  args.input_count = inputs.size();
  args.outputs = outputs.pointers();
  args.output_count = outputs.size();
  return context->Execute(sdk::RunArgs(args, host));
}

std::string FailedNodes::SignatureOf(const sdk::NodeView& node) {
  std::string text(node.domain());
  text += ":" + std::string(node.op_type()) + ":" + std::to_string(node.since_version());
  const auto add = [&text](const sdk::ValueView& value) {
    text += value.exists() ? "|" + std::to_string(static_cast<int>(value.dtype())) + (value.is_constant() ? "c" : "")
                           : "|-";
    for (const int64_t extent : value.dims()) text += "," + std::to_string(extent);
  };
  for (size_t i = 0; i < node.input_count(); ++i) add(node.input(i));
  text += ">";
  for (size_t i = 0; i < node.output_count(); ++i) add(node.output(i));
  text += "@";
  if (const auto* primitive = node.primitive(); primitive != nullptr && primitive->attributes() != nullptr)
    for (const deputy::schema::Attribute* attribute : *primitive->attributes()) {
      const auto raw = [&text](const void* data, size_t size) {
        text += std::to_string(size) + ":";
        text.append(static_cast<const char*>(data), size);
      };
      if (attribute->name() != nullptr) text += attribute->name()->str() + "=";
      text += std::to_string(attribute->i()) + "/" + std::to_string(attribute->f()) + "/";
      if (attribute->s() != nullptr) raw(attribute->s()->data(), attribute->s()->size());
      if (const auto* ints = attribute->ints()) raw(ints->Data(), ints->size() * sizeof(int64_t));
      if (const auto* floats = attribute->floats()) raw(floats->Data(), floats->size() * sizeof(float));
      if (attribute->strings() != nullptr)
        for (const auto* each : *attribute->strings())
          if (each->value() != nullptr) raw(each->value()->data(), each->value()->size());
      if (attribute->tensor() != nullptr && attribute->tensor()->data() != nullptr)
        raw(attribute->tensor()->data()->data(), attribute->tensor()->data()->size());
    }
  return text;
}

std::string FailedNodes::ReasonFor(const sdk::NodeView& node) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (reasons_.empty()) return {};
  const auto found = reasons_.find(SignatureOf(node));
  return found == reasons_.end() ? std::string() : found->second;
}

void FailedNodes::Keep(const sdk::NodeView& node, std::string reason) {
  const std::lock_guard<std::mutex> lock(mutex_);
  reasons_.emplace(SignatureOf(node), reason.empty() ? "it failed in a trial run" : std::move(reason));
}

sdk::Result<std::unique_ptr<sdk::Executable>> CompileAndTry(Provider& provider, const sdk::PartitionView& partition,
                                                            const sdk::Host& host, bool runs, FailedNodes& failed) {
  sdk::Result<std::unique_ptr<sdk::Executable>> compiled = provider.Compile(partition);
  sdk::Status status = compiled.status();
  if (compiled.ok() && runs) status = RunOnce(**compiled, partition, host);
  if (status.ok()) return compiled;
  if (partition.cancelled()) return sdk::Status(sdk::Code::kCancelled, "cancelled");
  Search search(provider, partition, host, runs, failed);
  search.Halve(0, partition.nodes().size(), status);
  if (partition.cancelled()) return sdk::Status(sdk::Code::kCancelled, "cancelled");
  if (!search.first())
    return sdk::Status(sdk::Code::kNotSupported, status.message() + "; each part of the partition runs alone");
  std::string reason;
  for (const sdk::NodeView& node : partition.nodes())
    if (node.id() == *search.first()) reason = failed.ReasonFor(node);
  return sdk::Status(sdk::Code::kNotSupported, reason, *search.first());
}

}  // namespace ort
