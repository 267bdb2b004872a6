#include "operators.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <unordered_map>

#include "constant.hpp"

namespace sim_npu {

using deputy::sdk::Capability;
using deputy::sdk::DType;
using deputy::sdk::GraphView;
using deputy::sdk::GroupSink;
using deputy::sdk::NodeView;
using deputy::sdk::Reason;
using deputy::sdk::Status;
using deputy::sdk::ValueView;
using deputy::sdk::Verdict;

namespace {

constexpr Operator kOperators[] = {
    {"Add", 7, 0, Data::kAnyShape, "", CheckBinary, MakeBinary},
    {"AveragePool", 1, 4, Data::kFirst, "windows up to 16x16, no dilations", CheckPool, MakePool},
    {"BatchNormalization", 7, 0, Data::kParameters, "inference", CheckBatchNormalization, MakeBatchNormalization},
    {"Clip", 1, 0, Data::kParameters, "", CheckActivation, MakeActivation},
    {"Concat", 1, 0, Data::kParameters, "", CheckConcat, MakeConcat},
    {"Conv", 1, 4, Data::kParameters, "kernels up to 11x11", CheckConv, MakeConv},
    {"Flatten", 1, 0, Data::kFirst, "", CheckCopy, MakeCopy},
    {"Gemm", 7, 2, Data::kParameters, "", CheckMatrix, MakeMatrix},
    {"GlobalAveragePool", 1, 4, Data::kFirst, "", CheckGlobalPool, MakeGlobalPool},
    {"GlobalMaxPool", 1, 4, Data::kFirst, "", CheckGlobalPool, MakeGlobalPool},
    {"Identity", 1, 0, Data::kFirst, "", CheckCopy, MakeCopy},
    {"LeakyRelu", 1, 0, Data::kFirst, "", CheckActivation, MakeActivation},
    {"MatMul", 1, 2, Data::kParameters, "", CheckMatrix, MakeMatrix},
    {"MaxPool", 1, 4, Data::kFirst, "windows up to 16x16, no dilations, the first output alone", CheckPool, MakePool},
    {"Mul", 7, 0, Data::kAnyShape, "", CheckBinary, MakeBinary},
    {"Relu", 1, 0, Data::kFirst, "", CheckActivation, MakeActivation},
    {"Reshape", 1, 0, Data::kFirst, "", CheckCopy, MakeCopy},
    {"Sigmoid", 1, 0, Data::kFirst, "", CheckActivation, MakeActivation},
    {"Softmax", 1, 0, Data::kFirst, "", CheckSoftmax, MakeSoftmax},
    {"Sub", 7, 0, Data::kAnyShape, "", CheckBinary, MakeBinary},
    {"Tanh", 1, 0, Data::kFirst, "", CheckActivation, MakeActivation},
};

// Of kOwnDomain.
constexpr Operator kGate = {"Gate", 1, 0, Data::kFirst, "", CheckGate, MakeGate};

constexpr size_t kRanks[] = {2, 4};  // matrices and images
constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat16};

// Tensors that the device's memory can hold: images and matrices of known extents, in a float format. Parameters and
// broadcast operands may have fewer dimensions.
Verdict CheckTensor(const ValueView& value, bool whole) {
  const std::string name = "'" + std::string(value.name()) + "'";
  if (std::find(std::begin(kDTypes), std::end(kDTypes), value.dtype()) == std::end(kDTypes))
    return Verdict::No(Reason::kDType,
                       name + " is " + NameOf(value.dtype()) + "; the device supports float32 and float16");
  if (!value.rank_known()) return Verdict::No(Reason::kShapeDynamic, "the rank of " + name + " is not known");
  if (whole ? std::find(std::begin(kRanks), std::end(kRanks), value.rank()) == std::end(kRanks) : value.rank() > 4)
    return Verdict::No(Reason::kRank,
                       name + " has rank " + std::to_string(value.rank()) + "; the device supports ranks 2 and 4");
  if (!value.shape_known()) return Verdict::No(Reason::kShapeDynamic, "the extents of " + name + " are not known");
  if (value.element_count() == 0) return Verdict::No(Reason::kShape, name + " has no elements");
  if (value.element_count() > kMostElements)
    return Verdict::No(Reason::kShape, name + " is larger than the memory of every device");
  return Verdict::Yes();
}

}  // namespace

const Operator* FindOperator(const NodeView& node) {
  if (node.domain() == kOwnDomain && node.op_type() == kGate.type) return &kGate;
  if (!node.domain().empty()) return nullptr;
  for (const Operator& entry : kOperators)
    if (entry.type == node.op_type()) return &entry;
  return nullptr;
}

bool IsCopy(const NodeView& node) {
  const Operator* entry = FindOperator(node);
  return entry != nullptr && entry->make == MakeCopy;
}

std::vector<Capability> ListCapabilities() {
  std::vector<Capability> rows;
  const auto add = [&rows](std::string_view domain, const Operator& entry, uint32_t newest) {
    for (const size_t rank : kRanks) {
      if (entry.rank != 0 && entry.rank != rank) continue;
      Capability row;
      row.domain = std::string(domain);
      row.op_type = std::string(entry.type);
      row.dtypes.assign(std::begin(kDTypes), std::end(kDTypes));
      row.min_version = static_cast<uint32_t>(entry.since);
      row.max_version = newest;
      row.min_rank = row.max_rank = static_cast<uint32_t>(rank);
      row.note = entry.note;
      rows.push_back(std::move(row));
    }
  };
  for (const Operator& entry : kOperators)
    add("", entry, static_cast<uint32_t>(deputy::sdk::NewestDefinition("", entry.type)));
  add(kOwnDomain, kGate, 1);
  return rows;
}

Verdict Check(const NodeView& node) {
  const Operator* entry = FindOperator(node);
  if (entry == nullptr) return Verdict::No(Reason::kOperatorUnknown);
  for (size_t i = 1; i < node.output_count(); ++i)
    if (node.output(i).exists()) return Verdict::No(Reason::kOther, "only the first output can be computed");
  if (const Verdict made = CheckTensor(node.output(0), true); !made.supported()) return made;
  bool activation = false;
  const size_t data = entry->data == Data::kFirst ? 1 : node.input_count();
  for (size_t i = 0; i < data; ++i) {
    const ValueView input = node.input(i);
    if (!input.exists()) continue;
    // The operand of a copy may have another rank.
    const bool whole = i == 0 && entry->data != Data::kAnyShape && entry->check != CheckCopy;
    if (const Verdict read = CheckTensor(input, whole); !read.supported()) return read;
    activation = activation || !input.is_constant();
  }
  if (!activation) return Verdict::No(Reason::kOther, "all inputs are constant");
  if (node.since_version() < entry->since)
    return Verdict::No(Reason::kAttribute, "needs definition " + std::to_string(entry->since) + " or newer");
  if (entry->rank != 0 && node.input(0).rank() != entry->rank)
    return Verdict::No(Reason::kRank, entry->rank == 4 ? "only images (rank 4)" : "only matrices (rank 2)");
  if (Verdict fits = deputy::sdk::CheckOperator(node); !fits.supported()) return fits;
  return entry->check(node);
}

Status NameGroups(const GraphView& graph, const GroupSink& sink) {
  std::vector<NodeView> nodes;
  std::unordered_map<deputy_value_id, std::vector<size_t>> readers;  // by value, in nodes
  for (size_t i = 0, count = graph.node_count(); i < count; ++i) {
    nodes.push_back(graph.NodeAt(i));
    for (size_t k = 0; k < nodes[i].input_count(); ++k)
      if (nodes[i].input(k).exists()) readers[nodes[i].input(k).id()].push_back(i);
  }
  std::map<size_t, std::vector<deputy_node_id>> copies_for;  // by reader
  std::vector<size_t> goes_with(nodes.size());
  // From the back: the reader at the end of a chain of copies is known before the chain begins.
  for (size_t i = nodes.size(); i-- > 0;) {
    goes_with[i] = i;
    if (!IsCopy(nodes[i]) || !nodes[i].offered() || !Check(nodes[i]).supported()) continue;
    const auto found = readers.find(nodes[i].output(0).id());
    if (found == readers.end() || found->second.size() != 1 || nodes[i].output(0).is_graph_output()) continue;
    goes_with[i] = goes_with[found->second.front()];
    copies_for[goes_with[i]].push_back(nodes[i].id());
  }
  for (auto& [reader, group] : copies_for) {
    group.push_back(nodes[reader].id());
    if (!sink.Add(group)) break;
  }
  return {};
}

}  // namespace sim_npu
