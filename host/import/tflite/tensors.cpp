#include "import/tflite/tensors.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/printable.hpp"

namespace deputy::host::tflite_import {
namespace {

constexpr int64_t kMostInts = 1 << 12;  // axes, pads, sizes: a few per axis, or per output

constexpr size_t Index(Layout layout) { return static_cast<size_t>(layout); }
constexpr Layout Other(Layout layout) { return layout == Layout::kFile ? Layout::kChannelsSecond : Layout::kFile; }
constexpr std::span<const int64_t> PermTo(Layout layout) {
  return layout == Layout::kFile ? kToFile : kToChannelsSecond;
}

// The position of an axis of the file's order.
size_t AxisIn(Layout layout, size_t axis, size_t rank) {
  if (layout == Layout::kFile || rank != 4) return axis;
  return static_cast<size_t>(std::find(kToChannelsSecond.begin(), kToChannelsSecond.end(), static_cast<int64_t>(axis)) -
                             kToChannelsSecond.begin());
}

std::string Quoted(size_t index, const std::string& name) {
  return fmt::format("tensor {} '{}'", index, Printable(name));
}

}  // namespace

Tensors::Tensors(ModelFile& file, Scope& scope, uint32_t index, std::string prefix)
    : file_(file),
      graph_(*file.model().subgraphs()->Get(index)),
      scope_(scope),
      emitter_(scope.emit),
      index_(index),
      prefix_(std::move(prefix)) {
  const size_t count = graph_.tensors() == nullptr ? 0 : graph_.tensors()->size();
  infos_.resize(count);
  forms_.resize(count);
}

Result<const TensorInfo*> Tensors::Info(TensorIndex tensor) {
  if (tensor < 0 || static_cast<size_t>(tensor) >= infos_.size())
    return Error(StatusCode::kModel, "tensor index {} is out of range; the subgraph has {} tensors", tensor,
                 infos_.size());
  const auto index = static_cast<flatbuffers::uoffset_t>(tensor);
  if (infos_[index]) return &*infos_[index];
  const fb::Tensor& table = *graph_.tensors()->Get(index);
  Result<TensorInfo> info = ReadTensorInfo(file_, table);
  if (!info.ok())
    return std::move(info).status().At(
        Quoted(index, table.name() == nullptr ? "" : table.name()->str().substr(0, 200)));
  if (!info->name.empty()) info->name = prefix_ + info->name;
  // Names may be missing or the same.
  if (info->name.empty() || !names_.insert(info->name).second) {
    info->name += (info->name.empty() ? prefix_ + "tensor:" : ":") + std::to_string(index);
    names_.insert(info->name);
  }
  return &infos_[index].emplace(std::move(info).value());
}

std::string Tensors::NameOf(TensorIndex tensor) const {
  const auto& info = infos_[static_cast<size_t>(tensor)];
  return Quoted(static_cast<size_t>(tensor), info ? info->name : "");
}

// A tensor without a producer at this point is a constant, or it is read too early.
Result<Tensors::Forms*> Tensors::FormsOf(TensorIndex tensor) {
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, Info(tensor));
  Forms& forms = forms_[static_cast<size_t>(tensor)];
  if (forms.made) return &forms;
  if (info->is_resource || info->is_variable)
    return Error(StatusCode::kNotSupported, "is a variable, which this operator does not support").At(NameOf(tensor));
  Result<Tensor> constant = ReadConstant(file_, *info);
  if (!constant.ok()) return std::move(constant).status().At(NameOf(tensor));
  if (constant->empty()) return Error(StatusCode::kModel, "is used before it is produced").At(NameOf(tensor));
  forms.stored[0] = emitter_.Constant(std::move(constant).value());
  emitter_.Name(forms.stored[0], info->name);
  forms.made = true;
  return &forms;
}

Result<Tensor> Tensors::Constant(TensorIndex tensor) {
  DEPUTY_ASSIGN_OR_RETURN(const Forms* forms, FormsOf(tensor));
  const ValueId id = forms->stored[0];
  return id == kNone ? Tensor() : emitter_.ConstantOf(id);
}

Result<std::vector<int64_t>> Tensors::Ints(TensorIndex tensor, const char* subject) {
  DEPUTY_ASSIGN_OR_RETURN(const Tensor constant, Constant(tensor));
  if (constant.empty()) return Error(StatusCode::kNotSupported, "{} must be a constant", subject).At(NameOf(tensor));
  if (constant.element_count() > kMostInts)
    return Error(StatusCode::kModel, "{} has {} elements, expected at most {}", subject, constant.element_count(),
                 kMostInts)
        .At(NameOf(tensor));
  const auto widened = [](auto values) { return std::vector<int64_t>(values.begin(), values.end()); };
  switch (constant.dtype()) {
    case DType::kInt64: return widened(constant.values<int64_t>());
    case DType::kInt32: return widened(constant.values<int32_t>());
    case DType::kInt16: return widened(constant.values<int16_t>());
    case DType::kInt8: return widened(constant.values<int8_t>());
    case DType::kUint8: return widened(constant.values<uint8_t>());
    default: break;
  }
  return Error(StatusCode::kModel, "{} has dtype {}, expected an integer type", subject,
               deputy::NameOf(constant.dtype()))
      .At(NameOf(tensor));
}

Result<int64_t> Tensors::Int(TensorIndex tensor, const char* subject) {
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<int64_t> ints, Ints(tensor, subject));
  if (ints.size() != 1)
    return Error(StatusCode::kModel, "{} has {} elements, expected 1", subject, ints.size()).At(NameOf(tensor));
  return ints[0];
}

Result<ValueId> Tensors::Int64s(TensorIndex tensor) {
  DEPUTY_ASSIGN_OR_RETURN(const Tensor constant, Constant(tensor));
  if (constant.empty() || constant.dtype() == DType::kInt64) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId id, Stored(tensor));
    return emitter_.Cast(id, DType::kInt64);
  }
  if (constant.dtype() != DType::kInt32)
    return Error(StatusCode::kModel, "has dtype {}, expected int32 or int64", deputy::NameOf(constant.dtype()))
        .At(NameOf(tensor));
  DEPUTY_RETURN_IF_ERROR(file_.SpendCopy(constant.byte_size() * 2));
  DEPUTY_ASSIGN_OR_RETURN(Tensor wide, Tensor::Allocate(DType::kInt64, constant.shape()));
  const std::span<const int32_t> narrow = constant.values<int32_t>();
  std::copy(narrow.begin(), narrow.end(), wide.mutable_values<int64_t>().begin());
  return emitter_.Constant(std::move(wide));
}

Result<ValueId> Tensors::Stored(TensorIndex tensor, Layout layout) {
  DEPUTY_ASSIGN_OR_RETURN(Forms* const forms, FormsOf(tensor));
  ValueId& wanted = forms->stored[Index(layout)];
  if (wanted != kNone) return wanted;
  const ValueId other = forms->stored[Index(Other(layout))];
  DEPUTY_ASSIGN_OR_RETURN(const size_t rank, Rank(tensor));
  if (rank != 4)
    return Error(StatusCode::kModel, "has rank {}, but its operator requires rank 4", rank).At(NameOf(tensor));
  if (!emitter_.ConstantOf(other).empty()) {
    const std::vector<int64_t> perm(kToChannelsSecond.begin(), kToChannelsSecond.end());
    DEPUTY_ASSIGN_OR_RETURN(wanted, PermutedConstant(tensor, perm, 4));
    return wanted;
  }
  DEPUTY_ASSIGN_OR_RETURN(wanted, emitter_.Transposed(other, PermTo(layout)));
  const std::string& name = infos_[static_cast<size_t>(tensor)]->name;
  emitter_.Name(wanted, layout == Layout::kFile ? name : name + "/nchw");
  return wanted;
}

Result<ValueId> Tensors::Real(TensorIndex tensor, Layout layout) {
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, Info(tensor));
  if (!info->is_quantized()) return Stored(tensor, layout);
  DEPUTY_ASSIGN_OR_RETURN(Forms* const forms, FormsOf(tensor));
  ValueId& wanted = forms->real[Index(layout)];
  if (wanted != kNone) return wanted;
  DEPUTY_ASSIGN_OR_RETURN(const ValueId stored, Stored(tensor, layout));
  const size_t axis = AxisIn(layout, info->quantization.axis, emitter_.RankOf(stored));
  DEPUTY_ASSIGN_OR_RETURN(wanted, Dequantized(stored, info->quantization, info->dtype, axis));
  return wanted;
}

Result<ValueId> Tensors::InOrder(TensorIndex tensor, bool stored) {
  DEPUTY_ASSIGN_OR_RETURN(const Forms* forms, FormsOf(tensor));
  Layout layout = Layout::kFile;
  const ValueId second = forms->stored[1];
  if (forms->stored[0] == kNone && second != kNone) {
    const std::vector<int64_t>& dims = emitter_.DimsOf(second);
    if (dims[1] == 1 || (dims[2] == 1 && dims[3] == 1)) layout = Layout::kChannelsSecond;
  }
  return stored ? Stored(tensor, layout) : Real(tensor, layout);
}

Result<ValueId> Tensors::PermutedConstant(TensorIndex tensor, const std::vector<int64_t>& perm, size_t rank) {
  if (std::is_sorted(perm.begin(), perm.end())) return Stored(tensor);
  const auto [found, added] = permuted_.try_emplace({tensor, perm}, kNone);
  if (!added) return found->second;
  DEPUTY_ASSIGN_OR_RETURN(Tensor constant, Constant(tensor));
  if (constant.shape().size() < rank) {
    Shape lifted = constant.shape();
    lifted.insert(lifted.begin(), rank - lifted.size(), 1);
    DEPUTY_ASSIGN_OR_RETURN(constant, Reshaped(constant, std::move(lifted)));
  }
  DEPUTY_RETURN_IF_ERROR(file_.SpendCopy(constant.byte_size()));
  DEPUTY_ASSIGN_OR_RETURN(constant, Permuted(constant, perm));
  const std::string& name = infos_[static_cast<size_t>(tensor)]->name;
  found->second = emitter_.Constant(std::move(constant));
  emitter_.Name(found->second, name + "/transposed");
  return found->second;
}

Result<ValueId> Tensors::Weights(TensorIndex tensor, std::span<const int64_t> perm) {
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, Info(tensor));
  DEPUTY_ASSIGN_OR_RETURN(const size_t rank, Rank(tensor));
  if (rank != perm.size())
    return Error(StatusCode::kModel, "has rank {}, expected {} for these weights", rank, perm.size())
        .At(NameOf(tensor));
  DEPUTY_ASSIGN_OR_RETURN(const Tensor constant, Constant(tensor));
  if (constant.empty()) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId real, Real(tensor));
    return emitter_.Transposed(real, perm);
  }
  DEPUTY_ASSIGN_OR_RETURN(const ValueId stored, PermutedConstant(tensor, {perm.begin(), perm.end()}, rank));
  if (!info->is_quantized()) return stored;
  const auto at = std::find(perm.begin(), perm.end(), static_cast<int64_t>(info->quantization.axis));
  return Dequantized(stored, info->quantization, info->dtype, static_cast<size_t>(at - perm.begin()));
}

Result<ValueId> Tensors::Broadcast(TensorIndex tensor, bool stored, Layout layout) {
  if (layout == Layout::kFile) return stored ? Stored(tensor, layout) : Real(tensor, layout);
  DEPUTY_ASSIGN_OR_RETURN(const size_t rank, Rank(tensor));
  if (rank == 4) return stored ? Stored(tensor, layout) : Real(tensor, layout);
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, Info(tensor));
  DEPUTY_ASSIGN_OR_RETURN(const Tensor constant, Constant(tensor));
  const std::vector<int64_t> perm(kToChannelsSecond.begin(), kToChannelsSecond.end());
  if (!constant.empty() && constant.element_count() != 1 && !info->quantization.per_axis()) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId id, PermutedConstant(tensor, perm, 4));
    if (stored || !info->is_quantized()) return id;
    return Dequantized(id, info->quantization, info->dtype, 0);
  }
  Result<ValueId> id = stored ? Stored(tensor) : Real(tensor);
  if (!id.ok() || rank == 0 || (!constant.empty() && constant.element_count() == 1)) return id;
  std::vector<int64_t> axes;
  for (size_t i = 0; i < 4 - rank; ++i) axes.push_back(static_cast<int64_t>(i));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId list, emitter_.Ints(axes));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId lifted, emitter_.Emit(OpKind::kUnsqueeze, {*id, list}));
  return emitter_.Transposed(lifted, perm);
}

Result<bool> Tensors::Has(TensorIndex tensor, Layout layout) {
  DEPUTY_ASSIGN_OR_RETURN(const Forms* forms, FormsOf(tensor));
  return forms->stored[Index(layout)] != kNone;
}

Result<std::optional<size_t>> Tensors::KnownRank(TensorIndex tensor) {
  DEPUTY_ASSIGN_OR_RETURN(const Forms* forms, FormsOf(tensor));
  const ValueType& type = emitter_.TypeOf(forms->stored[0] != kNone ? forms->stored[0] : forms->stored[1]);
  return type.ranked ? std::optional(type.dims.size()) : std::nullopt;
}

Result<size_t> Tensors::Rank(TensorIndex tensor) {
  DEPUTY_ASSIGN_OR_RETURN(const std::optional<size_t> rank, KnownRank(tensor));
  if (rank) return *rank;
  return Error(StatusCode::kNotSupported,
               "has no shape in the file, and its operator does not determine its rank, "
               "which the operator that reads it requires")
      .At(NameOf(tensor));
}

Status Tensors::Check(TensorIndex tensor, ValueId id) const {
  const TensorInfo& info = *infos_[static_cast<size_t>(tensor)];
  ValueType& type = emitter_.graph().values[id].type;
  if (type.dtype != info.dtype)
    return Error(StatusCode::kModel, "is declared as {}, but its operator produces {}", deputy::NameOf(info.dtype),
                 deputy::NameOf(type.dtype))
        .At(NameOf(tensor));
  if (!type.ranked && !info.dims.empty())
    type = {type.dtype, true, std::vector<int64_t>(info.dims.size(), kUnknownDim)};
  return {};
}

Status Tensors::SetStored(TensorIndex tensor, ValueId id, Layout layout) {
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, Info(tensor));
  Forms& forms = forms_[static_cast<size_t>(tensor)];
  if (forms.made) return Error(StatusCode::kModel, "is produced more than once").At(NameOf(tensor));
  DEPUTY_RETURN_IF_ERROR(Check(tensor, id));
  forms.made = true;
  forms.stored[Index(layout)] = id;
  emitter_.Name(id, layout == Layout::kFile ? info->name : info->name + "/nchw");
  return {};
}

Status Tensors::SetReal(TensorIndex tensor, ValueId id, Layout layout) {
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, Info(tensor));
  if (!info->is_quantized()) return SetStored(tensor, id, layout);
  const size_t axis = AxisIn(layout, info->quantization.axis, emitter_.RankOf(id));
  Result<ValueId> stored = Quantized(id, *info, axis);
  if (!stored.ok()) return std::move(stored).status().At(NameOf(tensor));
  return SetStored(tensor, *stored, layout);
}

Status Tensors::SetInput(TensorIndex tensor, ValueId id) {
  Forms& forms = forms_[static_cast<size_t>(tensor)];
  if (forms.made) return Error(StatusCode::kModel, "is listed as an input more than once").At(NameOf(tensor));
  forms.made = true;
  forms.stored[0] = id;
  emitter_.Name(id, infos_[static_cast<size_t>(tensor)]->name);
  return {};
}

// Every subgraph has its own variable tensors, which are zero at first.
Result<VariableId> Tensors::OwnVariable(TensorIndex tensor, const TensorInfo& info) {
  const VariableId id = scope_.variables().OfTensor(index_, tensor, info.name);
  Variable& variable = scope_.variables()[id];
  if (!variable.initial.empty()) return id;
  const Result<size_t> bytes = ByteSize(info.dtype, info.dims);
  if (!bytes.ok())
    return Error(StatusCode::kNotSupported, "is a variable without a static size, which is not supported")
        .At(NameOf(tensor));
  DEPUTY_RETURN_IF_ERROR(file_.SpendCopy(*bytes));
  DEPUTY_ASSIGN_OR_RETURN(variable.initial, Tensor::Allocate(info.dtype, info.dims));
  const bool offset = info.dtype == DType::kInt8 && info.is_quantized();
  const int zero = offset ? static_cast<int>(info.quantization.zero_points[0]) : 0;
  if (*bytes != 0) std::memset(variable.initial.mutable_data(), zero, *bytes);
  return id;
}

Result<VariableId> Tensors::VariableOf(TensorIndex tensor) {
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, Info(tensor));
  if (info->is_variable && !info->is_resource) return OwnVariable(tensor, *info);
  const auto found = variables_.find(tensor);
  if (found == variables_.end())
    return Error(StatusCode::kModel, "is not a variable, but one is required").At(NameOf(tensor));
  return found->second;
}

Status Tensors::SetVariable(TensorIndex tensor, VariableId variable) {
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, Info(tensor));
  if (!info->is_resource || !variables_.emplace(tensor, variable).second)
    return Error(StatusCode::kModel, "cannot refer to a variable here").At(NameOf(tensor));
  return {};
}

Result<ValueId> Tensors::Dequantized(Emitter& emit, ValueId id, const Quantization& quantization, DType dtype,
                                     size_t axis) {
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<ValueId> inputs, ScaleInputs(emit, quantization, dtype));
  std::vector<ValueId> all{id};
  all.insert(all.end(), inputs.begin(), inputs.end());
  if (!quantization.per_axis()) return emit.Emit(OpKind::kDequantizeLinear, std::move(all));
  return emit.Emit(OpKind::kDequantizeLinear, std::move(all), {{"axis", static_cast<int64_t>(axis)}});
}

Result<ValueId> Tensors::Quantized(Emitter& emit, ValueId id, const TensorInfo& info, size_t axis) {
  for (const float scale : info.quantization.scales)
    if (scale == 0) return Error(StatusCode::kModel, "has a quantization scale of 0");
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<ValueId> inputs, ScaleInputs(emit, info.quantization, info.dtype));
  std::vector<ValueId> all{id};
  all.insert(all.end(), inputs.begin(), inputs.end());
  if (!info.quantization.per_axis()) return emit.Emit(OpKind::kQuantizeLinear, std::move(all));
  return emit.Emit(OpKind::kQuantizeLinear, std::move(all), {{"axis", static_cast<int64_t>(axis)}});
}

// Scale and zero point: of rank 0 if one pair serves all elements.
Result<std::vector<ValueId>> Tensors::ScaleInputs(Emitter& emit, const Quantization& quantization, DType dtype) {
  const auto count = static_cast<int64_t>(quantization.scales.size());
  const Shape shape = quantization.per_axis() ? Shape{count} : Shape{};
  DEPUTY_RETURN_IF_ERROR(file_.SpendCopy(quantization.scales.size() * 8));
  DEPUTY_ASSIGN_OR_RETURN(
      Tensor scales, Tensor::FromValues<float>(DType::kFloat32, shape, std::span<const float>(quantization.scales)));
  std::vector<ValueId> inputs{emit.Constant(std::move(scales))};
  if (dtype == DType::kInt32) return inputs;
  DEPUTY_ASSIGN_OR_RETURN(Tensor zero_points, Tensor::Allocate(dtype, shape));
  for (size_t i = 0; i < quantization.zero_points.size(); ++i) switch (dtype) {
      case DType::kInt8:
        zero_points.mutable_values<int8_t>()[i] = static_cast<int8_t>(quantization.zero_points[i]);
        break;
      case DType::kUint8:
        zero_points.mutable_values<uint8_t>()[i] = static_cast<uint8_t>(quantization.zero_points[i]);
        break;
      default: zero_points.mutable_values<int16_t>()[i] = static_cast<int16_t>(quantization.zero_points[i]); break;
    }
  inputs.push_back(emit.Constant(std::move(zero_points)));
  return inputs;
}

}  // namespace deputy::host::tflite_import
