#include "import/onnx/model_reader.hpp"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/printable.hpp"
#include "graph/definition.hpp"
#include "graph/graph.hpp"
#include "import/onnx/adopted.hpp"
#include "import/onnx/attributes.hpp"
#include "import/onnx/order.hpp"
#include "import/onnx/text_labels.hpp"

namespace deputy::host::onnx_import {
namespace {

constexpr size_t kMostSymbolBytes = size_t{256} << 20;  // every region carries the list of symbols
constexpr size_t kMostRegionDepth = 32;

std::string Quoted(const char* subject, const std::string& name) {
  return std::string(subject) + " '" + Printable(name) + "'";
}

// Empty names at the end of a list have no meaning.
int SizeWithoutTrailingBlanks(const google::protobuf::RepeatedPtrField<std::string>& names) {
  int size = names.size();
  while (size > 0 && names[size - 1].empty()) --size;
  return size;
}

template <class T>
Result<Tensor> FromValues(DType dtype, Shape shape, const T* values, int count) {
  return Tensor::FromValues<T>(dtype, std::move(shape), std::span<const T>(values, static_cast<size_t>(count)));
}

// "17", and further domains behind it: "17, com.example 1".
std::string Listed(const OperatorSets& opsets) {
  std::string listed;
  for (const auto& [domain, version] : std::map<std::string, int32_t>(opsets.begin(), opsets.end()))
    listed += fmt::format("{}{}{}{}", listed.empty() ? "" : ", ", domain, domain.empty() ? "" : " ", version);
  return listed;
}

constexpr size_t kMostNotes = 100;
constexpr size_t kMostSteps = 1'000'000;
constexpr size_t kMostExpandedBytes = size_t{256} << 20;
constexpr size_t kLongestPart = 64, kLongestPrefix = 256;

}  // namespace

Result<Graph> ModelReader::Read() {
  DEPUTY_ASSIGN_OR_RETURN(const Frame frame, ModelFrame());
  DEPUTY_ASSIGN_OR_RETURN(functions_, Functions::Of(model_));
  Graph graph;
  if (!model_.producer_name().empty()) graph.metadata.emplace_back("producer_name", model_.producer_name());
  if (!model_.producer_version().empty()) graph.metadata.emplace_back("producer_version", model_.producer_version());
  graph.metadata.emplace_back("opset", Listed(frame.opsets));
  for (const pb::StringStringEntryProto& entry : model_.metadata_props())
    graph.metadata.emplace_back(entry.key(), entry.value());
  Scope scope(graph);
  DEPUTY_RETURN_IF_ERROR(ReadGraph(frame, scope, model_.graph(), /*region=*/false));
  DEPUTY_RETURN_IF_ERROR(NoteTextLabels(graph, notes_));
  for (std::string& note : notes_) graph.metadata.emplace_back(kNoteKey, std::move(note));
  DEPUTY_RETURN_IF_ERROR(AssignSymbols(graph));
  DEPUTY_RETURN_IF_ERROR(VerifyGraph(graph));
  graph.warnings = warnings_.Take();
  return graph;
}

Result<Frame> ModelReader::ModelFrame() {
  if (!model_.has_ir_version()) return Error(StatusCode::kModel, "is not an ONNX model: it has no IR version");
  if (model_.ir_version() < 1) return Error(StatusCode::kModel, "has the invalid IR version {}", model_.ir_version());
  if (model_.ir_version() > kNewestIrVersion)
    warnings_.Add(fmt::format("has IR version {}, known up to {}: all of its fields are known", model_.ir_version(),
                              kNewestIrVersion));
  if (!model_.has_graph()) return Error(StatusCode::kModel, "has no graph");
  Frame frame;
  DEPUTY_ASSIGN_OR_RETURN(frame.opsets, ReadOperatorSets(model_.opset_import()));
  if (model_.ir_version() < 3) frame.opsets.emplace("", 1);  // imports are part of the format since IR version 3
  return frame;
}

Status ModelReader::ReadGraph(const Frame& frame, Scope& scope, const pb::GraphProto& proto, bool region) {
  scope.graph().name = proto.name();
  DEPUTY_RETURN_IF_ERROR(ReadInputs(scope, proto, region));
  DEPUTY_RETURN_IF_ERROR(ReadInitializers(frame, scope, proto));
  DeclaredTypes declared;
  for (const pb::ValueInfoProto& value : proto.value_info()) declared.emplace(value.name(), &value.type());
  for (const pb::ValueInfoProto& value : proto.output()) declared.emplace(value.name(), &value.type());
  DEPUTY_RETURN_IF_ERROR(ReadNodes(frame, scope, proto.node(), declared));
  for (const pb::ValueInfoProto& value : proto.output()) {
    Result<ValueType> type = ReadType(value.type(), symbols_);
    if (!type.ok() && !region && replaced_.count(value.name()) == 0)
      return std::move(type).status().At(Quoted("output", value.name()));
    Result<ValueId> id = scope.Resolve(value.name());
    if (!id.ok() && id.status().code() == StatusCode::kModel)
      return Error(StatusCode::kModel, "output '{}' is not produced by any node", Printable(value.name()));
    if (!id.ok()) return std::move(id).status().At(Quoted("output", value.name()));
    scope.graph().outputs.push_back(*id);
    if (!region)
      scope.graph().stated_outputs.push_back(type.ok() && type->is_tensor() ? type->dtype : DType::kUndefined);
  }
  return {};
}

Status ModelReader::ReadInputs(Scope& scope, const pb::GraphProto& proto, bool region) {
  std::unordered_set<std::string_view> constants;
  if (!region) {
    for (const pb::TensorProto& tensor : proto.initializer()) constants.insert(tensor.name());
    for (const pb::SparseTensorProto& tensor : proto.sparse_initializer()) constants.insert(tensor.values().name());
    for (const pb::NodeProto& node : proto.node())
      if (IsConstant(node) && node.output_size() == 1) constants.insert(node.output(0));
  }
  for (const pb::ValueInfoProto& value : proto.input()) {
    // An input with an initializer, or with a Constant of its name, has a default; it is imported as a constant unless
    // the caller gives it.
    if (constants.count(value.name()) != 0) scope.graph().inputs_with_default.push_back(value.name());
    if (constants.count(value.name()) != 0 && !IsGiven(value.name())) continue;
    Result<ValueType> type = ReadType(value.type(), symbols_);
    if (!type.ok() && !region) return std::move(type).status().At(Quoted("input", value.name()));
    if (!region && type->dtype == DType::kUndefined)
      return Error(StatusCode::kModel, "has no element type").At(Quoted("input", value.name()));
    const ValueId id = scope.graph().AddValue(value.name(), type.ok() ? std::move(type).value() : ValueType());
    scope.graph().inputs.push_back(id);
    DEPUTY_RETURN_IF_ERROR(scope.Define(value.name(), id));
  }
  return {};
}

Status ModelReader::ReadInitializers(const Frame& frame, Scope& scope, const pb::GraphProto& proto) {
  const bool may_be_given = frame.function == nullptr && region_depth_ == 0;
  int index = 0;
  for (const pb::TensorProto& tensor : proto.initializer()) {
    Status status;
    if (!may_be_given || !IsGiven(tensor.name()))
      status = AddInitializer(frame, scope, tensor.name(), index, tensors_.Read(tensor));
    if (!status.ok()) return std::move(status).At(Quoted("initializer", tensor.name()));
    ++index;
  }
  for (const pb::SparseTensorProto& tensor : proto.sparse_initializer()) {
    const std::string& name = tensor.values().name();
    Status status;
    if (!may_be_given || !IsGiven(name))
      status = AddInitializer(frame, scope, name, index, tensors_.ReadSparse(tensor));
    if (!status.ok()) return std::move(status).At(Quoted("sparse initializer", name));
    ++index;
  }
  return {};
}

// Names of a graph's values are unique; which of two initializers counts is not defined. A repeated one that says the
// same does no harm.
Status ModelReader::AddInitializer(const Frame& frame, Scope& scope, const std::string& name, int index,
                                   Result<Tensor> tensor) {
  const Tensor* const before = scope.ConstantOf(name);
  if (before == nullptr || !tensor.ok()) return AddConstant(frame, scope, name, std::move(tensor));
  const bool same = before->dtype() == tensor->dtype() && before->shape() == tensor->shape() &&
                    (before->byte_size() == 0 || std::memcmp(before->data(), tensor->data(), before->byte_size()) == 0);
  if (!same)
    return Error(StatusCode::kModel,
                 "the graph has two initializers of this name with different elements, the second at "
                 "index {}",
                 index)
        .Advise("remove one of them: which one counts is not defined");
  warnings_.Add(fmt::format("initializer '{}' is given twice with the same elements, the second at index {}",
                            Printable(name), index));
  return {};
}

// A constant of an unsupported kind is an error only if it is used.
Status ModelReader::AddConstant(const Frame& frame, Scope& scope, const std::string& name, Result<Tensor> tensor) {
  if (!tensor.ok() && tensor.status().code() == StatusCode::kNotSupported)
    return scope.DefineUnusable(name, std::move(tensor).status().At(Quoted("constant", name)));
  if (!tensor.ok()) return std::move(tensor).status();
  if (frame.function != nullptr) expanded_bytes_ += tensor->byte_size();
  return scope.DefineConstant(name, frame.prefix + name, std::move(tensor).value());
}

Status ModelReader::ReadNodes(const Frame& frame, Scope& scope,
                              const google::protobuf::RepeatedPtrField<pb::NodeProto>& nodes,
                              const DeclaredTypes& declared) {
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<int> order, TopologicalOrder(nodes));
  scope.Reserve(order.size());
  for (const int i : order) {
    // From here, and into an object elsewhere: what reads a node would need too much of the stack 32 times.
    std::vector<Region> regions;
    Status status = ReadRegions(frame, scope, nodes[i], regions);
    if (status.ok()) status = ReadNode(frame, scope, nodes[i], i, std::move(regions), declared);
    if (!status.ok()) return std::move(status).At(Describe(nodes[i], i));
  }
  return {};
}

Status ModelReader::ReadRegions(const Frame& frame, Scope& scope, const pb::NodeProto& proto,
                                std::vector<Region>& regions) {
  for (const pb::AttributeProto& attribute : proto.attribute()) {
    const Result<const pb::AttributeProto*> value = frame.Resolve(attribute);
    if (!value.ok()) return value.status();
    if (*value == nullptr || TypeOf(**value) != pb::AttributeProto::GRAPH || Callee(proto) != nullptr) continue;
    Status status = ReadRegion(frame, scope, attribute.name(), (*value)->g(), regions.emplace_back());
    if (!status.ok()) return status;
  }
  return {};
}

const pb::FunctionProto* ModelReader::Callee(const pb::NodeProto& proto) const {
  const std::string domain = NormalDomain(proto.domain()), overload = OverloadOf(proto);
  if (overload.empty() && FindOperator(domain, proto.op_type()) != OpKind::kOther) return nullptr;
  return functions_.Find(domain, proto.op_type(), overload);
}

Status ModelReader::ReadNode(const Frame& frame, Scope& scope, const pb::NodeProto& proto, int index,
                             std::vector<Region> regions, const DeclaredTypes& declared) {
  DEPUTY_RETURN_IF_ERROR(Spend(frame, proto));
  const std::string domain = NormalDomain(proto.domain());
  const OpKind op = FindOperator(domain, proto.op_type());
  if (const pb::FunctionProto* function = Callee(proto)) return Expand(frame, scope, proto, *function);
  if (const std::string overload = OverloadOf(proto); !overload.empty())
    return Error(StatusCode::kModel, "calls the function '{}' of the overload '{}', which the model does not define",
                 Printable(proto.op_type()), Printable(overload));
  if (const std::vector<std::string> overloads = functions_.OverloadsOf(domain, proto.op_type()); !overloads.empty()) {
    if (op == OpKind::kOther)
      return Error(StatusCode::kModel,
                   "calls the function '{}' without an overload, but the model defines only its overload '{}'",
                   Printable(proto.op_type()), Printable(overloads.front()));
    if (overloads.front().empty()) warnings_.IgnoredFunction(Describe(proto, index), *InfoOf(op));
  }
  if (op == OpKind::kConstant) return ReadConstant(frame, scope, proto, index);
  DEPUTY_ASSIGN_OR_RETURN(Node node, MakeNode(frame, scope, proto, index));
  node.regions = std::move(regions);
  for (int i = 0; i < SizeWithoutTrailingBlanks(proto.output()); ++i) {
    const std::string& name = proto.output(i);
    node.outputs.push_back(kNone);
    if (name.empty()) continue;
    ValueType type;
    const auto stated = declared.find(name);
    if (op == OpKind::kOther && stated != declared.end()) {
      Result<ValueType> read = ReadType(*stated->second, symbols_);
      if (!read.ok() && read.status().code() != StatusCode::kNotSupported)
        return std::move(read).status().At(Quoted("value", name));
      if (read.ok()) type = std::move(read).value();
    }
    node.outputs.back() = scope.graph().AddValue(frame.prefix + name, std::move(type));
    DEPUTY_RETURN_IF_ERROR(scope.Define(name, node.outputs.back()));
  }
  if (IsZipMap(proto) && proto.output_size() > 0) replaced_.insert(proto.output(0));
  if (notes_.size() < kMostNotes)
    if (std::optional<std::string> note = NoteOn(proto)) notes_.push_back(*std::move(note));
  DEPUTY_ASSIGN_OR_RETURN(const int32_t opset, frame.OpsetOf(domain));
  if (IsFormerMeanVariance(domain, proto.op_type(), opset))
    return AddMeanVariance(scope.graph(), std::move(node), proto);
  if (IsZipMap(proto)) {
    const Result<int32_t> own = frame.OpsetOf("");
    return AddZipMap(scope.graph(), std::move(node), own.ok() ? *own : 0);
  }
  scope.graph().nodes.push_back(std::move(node));
  return {};
}

// A node without its outputs and its regions.
Result<Node> ModelReader::MakeNode(const Frame& frame, Scope& scope, const pb::NodeProto& proto, int index) {
  if (proto.op_type().empty()) return Error(StatusCode::kModel, "has no op_type");
  std::string domain = NormalDomain(proto.domain()), type = proto.op_type();
  DEPUTY_ASSIGN_OR_RETURN(int32_t opset, frame.OpsetOf(domain));
  const std::optional<Adopted> adopted = AdoptedAs(domain, type, opset);
  const OpKind op = adopted ? adopted->kind : FindOperator(domain, type);
  int32_t since = adopted ? opset = adopted->since : opset;
  if (adopted) {
    domain = InfoOf(op)->domain;
    type = InfoOf(op)->name;
  } else if (const OperatorInfo* info = InfoOf(op)) {
    const OperatorDefinition* definition = info->DefinitionAt(opset);
    if (definition == nullptr)
      return Error(StatusCode::kModel, "opset {} has no {}, which was added in opset {}", opset, info->name,
                   info->definitions.front().since_version);
    since = definition->since_version;
    DEPUTY_RETURN_IF_ERROR(CheckKnown(proto, index, *info, opset, since));
  }
  Node node;
  if (!proto.name().empty()) {
    node.name = frame.prefix + proto.name();
  } else if (frame.function != nullptr) {  // its number in the graph would not tell where it is
    node.name = frame.prefix + std::string(kUnnamedNode) + std::to_string(index);
  }
  node.source = SourceOf(frame, proto);
  PrimitiveBuilder builder(domain, type, since);
  std::unordered_set<std::string_view> names;
  for (const pb::AttributeProto& attribute : proto.attribute()) {
    if (attribute.name().empty()) return Error(StatusCode::kModel, "has an attribute without a name");
    if (!names.insert(attribute.name()).second)
      return Error(StatusCode::kModel, "attribute '{}' is given twice", Printable(attribute.name()));
    DEPUTY_ASSIGN_OR_RETURN(const pb::AttributeProto* const value, frame.Resolve(attribute));
    if (value == nullptr || (op != OpKind::kOther && IsOfOtherDefinitions(*InfoOf(op), opset, attribute.name())))
      continue;
    if (TypeOf(*value) != pb::AttributeProto::GRAPH && (!adopted || adopted->keeps_attributes))
      DEPUTY_RETURN_IF_ERROR(AddAttribute(builder, op, opset, attribute.name(), *value, tensors_));
  }
  node.primitive = proto.attribute().empty() && op != OpKind::kOther ? Plain(op, since) : builder.Finish();
  if (node.primitive.table() == nullptr)
    return Error(StatusCode::kResourceExhausted, "has attributes that are too large");
  // Checked here as well, where the error names the call: it may be the call that lacks the attribute.
  if (frame.function != nullptr) DEPUTY_RETURN_IF_ERROR(CheckRequiredAttributes(node.primitive));
  for (int i = 0; i < SizeWithoutTrailingBlanks(proto.input()); ++i) {
    node.inputs.push_back(kNone);
    if (proto.input(i).empty()) continue;
    DEPUTY_ASSIGN_OR_RETURN(node.inputs.back(), scope.Resolve(proto.input(i)));
  }
  // A trip count alone is a Loop whose empty condition may be omitted.
  if (op == OpKind::kLoop && node.inputs.size() == 1 && proto.input_size() > 1) node.inputs.push_back(kNone);
  return node;
}

// A later definition may have more inputs, which would be lost, and more attributes (AddAttribute refuses those).
Status ModelReader::CheckKnown(const pb::NodeProto& proto, int index, const OperatorInfo& info, int32_t opset,
                               int32_t since) {
  const bool newer = opset > NewestOpset(info.domain);
  if (newer) {
    warnings_.NewerOpset(info.domain, opset);
    const auto inputs = static_cast<uint32_t>(SizeWithoutTrailingBlanks(proto.input()));
    const auto outputs = static_cast<uint32_t>(SizeWithoutTrailingBlanks(proto.output()));
    const OperandCounts counts = info.CountsAt(opset);
    if (inputs > counts.max_inputs || outputs > counts.max_outputs)
      return Error(
          StatusCode::kNotSupported,
          "has {} inputs and {} outputs, more than {}-{} has: opset {} is newer than {}, up to which definitions "
          "are known",
          inputs, outputs, info.name, since, opset, NewestOpset(info.domain));
    return {};
  }
  for (const pb::AttributeProto& attribute : proto.attribute())
    if (TypeOf(attribute) != pb::AttributeProto::GRAPH && IsUnknownAttribute(info, opset, attribute.name()))
      warnings_.UnknownAttribute(Describe(proto, index), info, since, attribute.name());
  return {};
}

// Condense has left nothing in doc_string but the line.
std::shared_ptr<const std::string> ModelReader::SourceOf(const Frame& frame, const pb::NodeProto& proto) {
  if (proto.doc_string().empty()) return frame.source;
  std::shared_ptr<const std::string>& known = sources_[proto.doc_string()];
  if (known == nullptr) known = std::make_shared<const std::string>(proto.doc_string());
  return known;
}

const Primitive& ModelReader::Plain(OpKind op, int32_t since) {
  Primitive& plain = plain_[{op, since}];
  if (plain.table() == nullptr) plain = PrimitiveBuilder(InfoOf(op)->domain, InfoOf(op)->name, since).Finish();
  return plain;
}

Status ModelReader::ReadRegion(const Frame& frame, Scope& scope, const std::string& name, const pb::GraphProto& proto,
                               Region& region) {
  if (region_depth_ >= kMostRegionDepth)
    return Error(StatusCode::kResourceExhausted, "graphs are nested deeper than {}", kMostRegionDepth);
  region.name = name;
  region.body = std::make_shared<Graph>();
  const auto inner = std::make_unique<Scope>(*region.body, &scope, &region);
  ++region_depth_;
  Status status = ReadGraph(frame, *inner, proto, /*region=*/true);
  --region_depth_;
  if (status.ok()) return status;
  return std::move(status).At(Quoted("region", name));
}

Status ModelReader::ReadConstant(const Frame& frame, Scope& scope, const pb::NodeProto& proto, int index) {
  DEPUTY_RETURN_IF_ERROR(frame.OpsetOf("").ok() ? Status() : frame.OpsetOf("").status());
  if (proto.output_size() != 1 || proto.output(0).empty() || proto.input_size() != 0)
    return Error(StatusCode::kModel, "must have no inputs and one output");
  if (proto.attribute_size() != 1)
    return Error(StatusCode::kModel, "must have one value attribute, got {}", proto.attribute_size());
  DEPUTY_ASSIGN_OR_RETURN(const pb::AttributeProto* const value, frame.Resolve(proto.attribute(0)));
  if (value == nullptr) return Error(StatusCode::kModel, "has no value");
  if (frame.function == nullptr && region_depth_ == 0 && IsGiven(proto.output(0))) return {};
  if (scope.ConstantOf(proto.output(0)) != nullptr)
    warnings_.Add(fmt::format("{}: constant '{}' is given more than once; the last one counts", Describe(proto, index),
                              Printable(proto.output(0))));
  return AddConstant(frame, scope, proto.output(0), ConstantOf(*value, proto.attribute(0).name()));
}

Result<Tensor> ModelReader::ConstantOf(const pb::AttributeProto& attribute, const std::string& name) {
  const auto wrong_kind = [&] {
    return Error(StatusCode::kModel, "attribute '{}' has the unexpected type {}", Printable(name),
                 pb::AttributeProto::AttributeType_Name(TypeOf(attribute)));
  };
  const pb::AttributeProto::AttributeType type = TypeOf(attribute);
  if (name == "value") return type == pb::AttributeProto::TENSOR ? tensors_.Read(attribute.t()) : wrong_kind();
  if (name == "value_float" && type == pb::AttributeProto::FLOAT) {
    const float value = attribute.f();
    return FromValues(DType::kFloat32, {}, &value, 1);
  }
  if (name == "value_int" && type == pb::AttributeProto::INT) {
    const int64_t value = attribute.i();
    return FromValues(DType::kInt64, {}, &value, 1);
  }
  if (name == "value_floats" && type == pb::AttributeProto::FLOATS)
    return FromValues(DType::kFloat32, {attribute.floats_size()}, attribute.floats().data(), attribute.floats_size());
  if (name == "value_ints" && type == pb::AttributeProto::INTS)
    return FromValues(DType::kInt64, {attribute.ints_size()}, attribute.ints().data(), attribute.ints_size());
  if (name == "value_string" || name == "value_strings")
    return Error(StatusCode::kNotSupported, "constants of strings are not supported");
  if (name == "sparse_value")
    return type == pb::AttributeProto::SPARSE_TENSOR ? tensors_.ReadSparse(attribute.sparse_tensor()) : wrong_kind();
  return wrong_kind();
}

Status ModelReader::AssignSymbols(Graph& graph) {
  graph.symbols = symbols_.names();
  symbol_copies_ += symbols_.byte_size();
  if (symbol_copies_ > kMostSymbolBytes)
    return Error(StatusCode::kResourceExhausted, "has too many symbolic extents for its regions");
  for (Node& node : graph.nodes)
    for (Region& region : node.regions) DEPUTY_RETURN_IF_ERROR(AssignSymbols(*region.body));
  return {};
}

Status ModelReader::Spend(const Frame& frame, const pb::NodeProto& proto) {
  if (++steps_ > kMostSteps)
    return Error(StatusCode::kResourceExhausted, "the model has more than {} nodes with its functions expanded",
                 kMostSteps);
  if (frame.function == nullptr) return {};
  // Names, attributes and the prefix in front of each name.
  expanded_bytes_ += proto.ByteSizeLong() + frame.prefix.size() * static_cast<size_t>(1 + proto.output_size());
  if (expanded_bytes_ > kMostExpandedBytes)
    return Error(StatusCode::kResourceExhausted, "the model has more than {} MiB with its functions expanded",
                 kMostExpandedBytes >> 20);
  return {};
}

// Names in the body become "call/name"; nameless and equal calls get a number.
std::string ModelReader::PrefixOfCall(const Frame& caller, const pb::NodeProto& call) {
  std::string prefix = caller.prefix.size() > kLongestPrefix ? std::string("...") : caller.prefix;
  prefix += (call.name().empty() ? call.op_type() : call.name()).substr(0, kLongestPart);
  std::string unique = prefix;
  // For many calls of one name, counting from 2 each time would take quadratic time.
  if (!prefixes_.insert(unique).second) {
    size_t& last = last_numbers_.try_emplace(prefix, 1).first->second;
    do {
      unique = prefix + "_" + std::to_string(++last);
    } while (!prefixes_.insert(unique).second);
  }
  return unique + "/";
}

Status ModelReader::Expand(const Frame& caller, Scope& scope, const pb::NodeProto& call,
                           const pb::FunctionProto& function) {
  DEPUTY_ASSIGN_OR_RETURN(Frame frame, FrameOfCall(caller, call, function));
  frame.prefix = PrefixOfCall(caller, call);
  frame.source = SourceOf(caller, call);
  if (call.input_size() > function.input_size() || call.output_size() > function.output_size())
    return Error(StatusCode::kModel, "has {} inputs and {} outputs, but the function has {} and {}", call.input_size(),
                 call.output_size(), function.input_size(), function.output_size());
  Scope inner(scope.graph());
  for (int i = 0; i < function.input_size(); ++i) {
    ValueId id = kNone;
    if (i < call.input_size() && !call.input(i).empty()) {
      DEPUTY_ASSIGN_OR_RETURN(id, scope.Resolve(call.input(i)));
    }
    Status status = inner.Define(function.input(i), id);
    if (!status.ok()) return std::move(status).At(Describe(function));
  }
  const size_t first_own = scope.graph().values.size();
  Status status = ReadNodes(frame, inner, function.node(), {});
  if (!status.ok()) return std::move(status).At(Describe(function));
  return BindOutputs(caller, scope, inner, first_own, call, function);
}

Status ModelReader::BindOutputs(const Frame& caller, Scope& scope, Scope& inner, size_t first_own,
                                const pb::NodeProto& call, const pb::FunctionProto& function) {
  Graph& graph = scope.graph();
  std::unordered_set<ValueId> bound;
  for (int i = 0; i < call.output_size(); ++i) {
    const std::string& name = call.output(i);
    if (name.empty()) continue;
    Result<ValueId> resolved = inner.Resolve(function.output(i));
    if (!resolved.ok() && resolved.status().code() == StatusCode::kModel)
      resolved = Error(StatusCode::kModel, "output '{}' is not produced by any node", Printable(function.output(i)));
    if (!resolved.ok()) return std::move(resolved).status().At(Describe(function));
    ValueId id = *resolved;
    if (id == kNone) return Error(StatusCode::kModel, "output '{}' is an input that the call omits", Printable(name));
    if (id < first_own || !bound.insert(id).second) {
      // The function returns one of its inputs, or one value twice; a value has one name.
      Node identity;
      identity.name = caller.prefix + name;
      identity.primitive = PrimitiveBuilder("", "Identity", 1).Finish();
      identity.inputs = {id};
      id = graph.AddValue(caller.prefix + name);
      identity.outputs = {id};
      graph.nodes.push_back(std::move(identity));
    } else {
      graph.values[id].name = caller.prefix + name;
    }
    DEPUTY_RETURN_IF_ERROR(scope.Define(name, id));
  }
  return {};
}

}  // namespace deputy::host::onnx_import
