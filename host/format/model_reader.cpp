// .dpm to Graph. The file may be damaged or hostile: FlatBuffers' verifier checks that nothing points outside, and this
// checks the rest. Parts of a FlatBuffer may be shared, so that a small file unfolds to a huge graph or keeps a reader
// busy for minutes; all bytes that are read are counted, and may not exceed the size of the structure.
#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/printable.hpp"
#include "format/header.hpp"
#include "format/model_file.hpp"
#include "graph/graph.hpp"
#include "model_generated.h"
#include "primitive_generated.h"

namespace deputy::host {
namespace {

namespace fb = ::deputy::format;

constexpr size_t kMostRegionDepth = 32;
constexpr size_t kMostRank = 64;
constexpr flatbuffers::uoffset_t kTableDepth = 3 * kMostRegionDepth + 8;  // a region is three tables down
constexpr size_t kSmallestTable = 8;
constexpr size_t kMostSymbolBytes = size_t{256} << 20;  // every region carries the list of symbols
constexpr uint8_t kCheckedBools = 2;

template <class... Args>
Status Damaged(fmt::format_string<Args...> format, Args&&... args) {
  return Error(StatusCode::kModel, "the model file is damaged: {}", fmt::format(format, std::forward<Args>(args)...));
}

// FlatBuffers do not align a vector without elements.
template <class T>
bool IsAligned(const flatbuffers::Vector<T>* vector, size_t to) {
  return vector == nullptr || vector->size() == 0 || reinterpret_cast<uintptr_t>(vector->Data()) % to == 0;
}

bool IsKnown(DType dtype) { return BitsOf(dtype) != 0 || dtype == DType::kString || dtype == DType::kUndefined; }

struct Parts {
  std::span<const uint8_t> structure, weights;
};

Result<Parts> Split(std::span<const uint8_t> bytes) {
  format::Header header{};
  if (bytes.size() < sizeof(header)) return Damaged("{} bytes are less than the header", bytes.size());
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (std::memcmp(header.magic, format::kMagic, sizeof(header.magic)) != 0)
    return Damaged("the magic number is wrong; a transfer in text mode corrupts it");
  if (header.version != format::kVersion || (header.features & ~format::kKnownFeatures) != 0)
    return Error(StatusCode::kIncompatible, "requires format version {} (features {:#x}); this version reads {}",
                 header.version, header.features, format::kVersion)
        .Advise("convert the model again with this version, or use a newer one");
  if (header.file_size != bytes.size())
    return Damaged("the file has {} bytes, but its header says {}", bytes.size(), header.file_size);
  const auto within = [&](uint64_t offset, uint64_t size) {
    return offset <= bytes.size() && size <= bytes.size() - offset;
  };
  if (header.structure_offset != sizeof(header) || !within(header.structure_offset, header.structure_size) ||
      header.weights_offset % format::kPage != 0 || !within(header.weights_offset, header.weights_size))
    return Damaged("a section is out of bounds or not aligned");
  if (header.structure_size >= FLATBUFFERS_MAX_BUFFER_SIZE) return Damaged("the structure section is too large");
  const Parts parts{bytes.subspan(header.structure_offset, header.structure_size),
                    bytes.subspan(header.weights_offset, header.weights_size)};
  if (header.checksum != format::Checksum(header, parts.structure)) return Damaged("the checksum does not match");
  return parts;
}

class Reader {
 public:
  // `structure` is aligned and kept by `structure_keep`. `weights_keep` null: constants are copied.
  Reader(std::span<const uint8_t> structure, std::shared_ptr<const void> structure_keep,
         std::span<const uint8_t> weights, std::shared_ptr<const void> weights_keep)
      : structure_(structure),
        structure_keep_(std::move(structure_keep)),
        weights_(weights),
        weights_keep_(std::move(weights_keep)),
        budget_(structure.size()),
        weights_budget_(weights.size()) {}

  Result<Graph> Run() {
    flatbuffers::Verifier verifier(structure_.data(), structure_.size(), kTableDepth,
                                   static_cast<flatbuffers::uoffset_t>(structure_.size() / kSmallestTable));
    if (structure_.size() < kSmallestTable || !verifier.VerifyBuffer<fb::Model>(nullptr))
      return Damaged("the structure section is not a valid FlatBuffer");
    const fb::Model& model = *fb::GetModel(structure_.data());
    segments_ = model.segments();
    if (segments_ != nullptr && segments_->size() != 0 && reinterpret_cast<uintptr_t>(segments_->Data()) % 8 != 0)
      return Damaged("the list of constants is not aligned");
    if (segments_ != nullptr) {
      used_.resize(segments_->size());
      copies_.resize(segments_->size());
    }
    if (model.symbols() != nullptr)
      for (const fb::Symbol* symbol : *model.symbols()) {
        DEPUTY_ASSIGN_OR_RETURN(std::string name, Text(symbol->name()));
        symbol_bytes_ += sizeof(name) + name.size();
        symbols_.push_back(std::move(name));
      }
    Graph graph;
    DEPUTY_RETURN_IF_ERROR(ReadGraph(model.graph(), graph, 0));
    if (model.metadata() != nullptr)
      for (const fb::Property* property : *model.metadata()) {
        DEPUTY_ASSIGN_OR_RETURN(std::string key, Text(property->key()));
        DEPUTY_ASSIGN_OR_RETURN(std::string value, Text(property->value()));
        graph.metadata.emplace_back(std::move(key), std::move(value));
      }
    if (model.input_extents() > static_cast<uint8_t>(InputExtents::kComputedWith))
      return Damaged("unknown kind {} of input extents", model.input_extents());
    graph.input_extents = static_cast<InputExtents>(model.input_extents());
    if (model.states() != nullptr) DEPUTY_RETURN_IF_ERROR(ReadStates(*model.states(), graph));
    DEPUTY_RETURN_IF_ERROR(VerifyGraph(graph));
    return graph;
  }

 private:
  Status Spend(size_t bytes) {
    if (bytes > budget_) return Damaged("its objects overlap: they have more bytes than the structure section");
    budget_ -= bytes;
    return {};
  }

  Result<std::string> Text(const flatbuffers::String* text) {
    if (text == nullptr) return std::string();
    DEPUTY_RETURN_IF_ERROR(Spend(text->size()));
    return text->str();
  }

  template <class T>
  Result<std::vector<T>> List(const flatbuffers::Vector<T>* list) {
    if (list == nullptr) return std::vector<T>();
    if (!IsAligned(list, sizeof(T))) return Damaged("a list is not aligned");
    DEPUTY_RETURN_IF_ERROR(Spend(list->size() * sizeof(T)));
    return std::vector<T>(list->data(), list->data() + list->size());
  }

  Status ReadGraph(const fb::Graph* table, Graph& graph, size_t depth) {
    if (table == nullptr) return Damaged("a graph is missing");
    if (depth > kMostRegionDepth) return Damaged("regions are nested deeper than {}", kMostRegionDepth);
    symbol_copies_ += symbol_bytes_;
    if (symbol_copies_ > kMostSymbolBytes) return Damaged("too many symbolic extents for the number of regions");
    graph.symbols = symbols_;
    DEPUTY_ASSIGN_OR_RETURN(graph.name, Text(table->name()));
    DEPUTY_ASSIGN_OR_RETURN(graph.inputs, List(table->inputs()));
    DEPUTY_ASSIGN_OR_RETURN(graph.outputs, List(table->outputs()));
    DEPUTY_ASSIGN_OR_RETURN(graph.captured, List(table->captured()));
    if (table->values() != nullptr)
      for (const fb::Value* value : *table->values()) {
        Status status = ReadValue(*value, graph);
        if (!status.ok()) return std::move(status).At(fmt::format("value {}", graph.values.size()));
      }
    if (table->nodes() != nullptr)
      for (const fb::Node* node : *table->nodes()) {
        Status status = ReadNode(*node, graph, depth);
        if (!status.ok()) return std::move(status).At(fmt::format("node {}", graph.nodes.size()));
      }
    return {};
  }

  Status ReadValue(const fb::Value& table, Graph& graph) {
    DEPUTY_RETURN_IF_ERROR(Spend(kSmallestTable));
    Value value;
    DEPUTY_ASSIGN_OR_RETURN(value.name, Text(table.name()));
    value.type.dtype = static_cast<DType>(table.dtype());
    if (!IsKnown(value.type.dtype)) return Damaged("unknown dtype {}", table.dtype());
    value.type.ranked = table.ranked();
    value.type.kind = static_cast<ValueKind>(table.kind());
    if (table.kind() > static_cast<uint8_t>(ValueKind::kOptionalSequence) ||
        (!value.type.is_tensor() && table.segment() != kNone))
      return Damaged("kind {} is not valid for this value", table.kind());
    if (table.dims() != nullptr && (table.dims()->size() > kMostRank || !table.ranked()))
      return Damaged("a shape of {} extents is not valid for this value", table.dims()->size());
    DEPUTY_ASSIGN_OR_RETURN(value.type.dims, List(table.dims()));
    if (table.segment() != kNone) {
      DEPUTY_ASSIGN_OR_RETURN(value.constant, Constant(table.segment(), value.type));
    }
    graph.values.push_back(std::move(value));
    return {};
  }

  Status ReadStates(const flatbuffers::Vector<flatbuffers::Offset<fb::State>>& states, Graph& graph) {
    if (states.size() > graph.inputs.size())
      return Damaged("{} states exceed the {} inputs", states.size(), graph.inputs.size());
    const size_t first = graph.inputs.size() - states.size();
    for (flatbuffers::uoffset_t i = 0; i < states.size(); ++i) {
      DEPUTY_RETURN_IF_ERROR(Spend(kSmallestTable));
      const ValueId input = graph.inputs[first + i];
      if (input >= graph.values.size()) return Damaged("input value index {} is out of range", input);
      DEPUTY_ASSIGN_OR_RETURN(Tensor initial, Constant(states.Get(i)->segment(), graph.values[input].type));
      graph.initial_states.push_back(std::move(initial));
    }
    return {};
  }

  Result<Tensor> Constant(uint32_t segment, const ValueType& type) {
    if (segments_ == nullptr || segment >= segments_->size()) return Damaged("constant {} does not exist", segment);
    const fb::Segment& place = *segments_->Get(segment);
    if (place.size() > weights_.size() || place.offset() > weights_.size() - place.size() ||
        place.offset() % format::kSegmentAlignment != 0)
      return Damaged("constant {} is out of bounds of the file or not aligned", segment);
    const std::span<const uint8_t> bytes = weights_.subspan(place.offset(), place.size());
    Result<size_t> needed =
        type.ranked ? ByteSize(type.dtype, type.dims) : Damaged("constant {} has no shape", segment);
    if (!needed.ok()) return std::move(needed).status().WithCode(StatusCode::kModel);
    if (*needed != bytes.size())
      return Damaged("constant {} has {} bytes, but its type requires {}", segment, bytes.size(), *needed);
    if (!used_[segment]) {
      if (bytes.size() > weights_budget_) return Damaged("constants overlap");
      weights_budget_ -= bytes.size();
      used_[segment] = 1;
    }
    if (type.dtype == DType::kBool) DEPUTY_RETURN_IF_ERROR(CheckBools(segment, bytes));
    const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % std::max<size_t>(1, SizeOf(type.dtype)) == 0;
    if (weights_keep_ != nullptr && aligned)
      return Tensor::Wrap(type.dtype, type.dims, const_cast<uint8_t*>(bytes.data()), bytes.size(), weights_keep_);
    Tensor& copy = copies_[segment];
    if (copy.empty()) {
      DEPUTY_ASSIGN_OR_RETURN(copy, Tensor::Allocate(type.dtype, type.dims));
      if (!bytes.empty()) std::memcpy(copy.mutable_data(), bytes.data(), bytes.size());
    }
    return Tensor::Wrap(type.dtype, type.dims, copy.mutable_data(), copy.byte_size(), copy.owner());
  }

  // Any number of values may share a constant; one check is enough.
  Status CheckBools(uint32_t segment, std::span<const uint8_t> bytes) {
    if (used_[segment] == kCheckedBools) return {};
    if (std::any_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte > 1; }))
      return Damaged("constant {} has a bool that is neither 0 nor 1", segment);
    used_[segment] = kCheckedBools;
    return {};
  }

  Status ReadNode(const fb::Node& table, Graph& graph, size_t depth) {
    DEPUTY_RETURN_IF_ERROR(Spend(kSmallestTable));
    Node node;
    DEPUTY_ASSIGN_OR_RETURN(node.name, Text(table.name()));
    DEPUTY_ASSIGN_OR_RETURN(node.primitive, ReadPrimitive(table.primitive()));
    if (const OperatorInfo* info = InfoOf(node.kind());
        info != nullptr && node.primitive.since_version() > info->newest())
      return Error(StatusCode::kIncompatible, "node '{}' is {}-{}, known up to {}-{}", Printable(node.name), info->name,
                   node.primitive.since_version(), info->name, info->newest())
          .Advise("the file was made by a newer version, which knows that definition");
    DEPUTY_ASSIGN_OR_RETURN(node.inputs, List(table.inputs()));
    DEPUTY_ASSIGN_OR_RETURN(node.outputs, List(table.outputs()));
    DEPUTY_ASSIGN_OR_RETURN(node.source, Source(table.source()));
    if (table.regions() != nullptr)
      for (const fb::Region* region : *table.regions()) {
        DEPUTY_RETURN_IF_ERROR(Spend(kSmallestTable));
        Region& made = node.regions.emplace_back();
        DEPUTY_ASSIGN_OR_RETURN(made.name, Text(region->name()));
        DEPUTY_ASSIGN_OR_RETURN(made.captures, List(region->captures()));
        made.body = std::make_shared<Graph>();
        Status status = ReadGraph(region->body(), *made.body, depth + 1);
        if (!status.ok()) return std::move(status).At("region '" + made.name + "'");
      }
    graph.nodes.push_back(std::move(node));
    return {};
  }

  // Nodes share these texts in the file and here.
  Result<std::shared_ptr<const std::string>> Source(const flatbuffers::String* text) {
    if (text == nullptr) return std::shared_ptr<const std::string>();
    std::shared_ptr<const std::string>& known = sources_[text];
    if (known == nullptr) {
      DEPUTY_ASSIGN_OR_RETURN(std::string read, Text(text));
      known = std::make_shared<const std::string>(std::move(read));
    }
    return known;
  }

  Result<Primitive> ReadPrimitive(const flatbuffers::Vector<uint8_t>* bytes) {
    if (bytes == nullptr || !IsAligned(bytes, 8)) return Damaged("the primitive is missing or not aligned");
    DEPUTY_RETURN_IF_ERROR(Spend(bytes->size()));
    // Primitive::FromBytes also verifies, but with a limit that suits one primitive, not ten thousand.
    flatbuffers::Verifier verifier(bytes->Data(), bytes->size(), /*max_depth=*/8,
                                   static_cast<flatbuffers::uoffset_t>(bytes->size() / kSmallestTable));
    if (bytes->size() < kSmallestTable || !verifier.VerifyBuffer<schema::Primitive>(nullptr))
      return Damaged("the primitive is not a valid FlatBuffer");
    return Primitive::FromBytes({bytes->Data(), bytes->size()}, structure_keep_);
  }

  const std::span<const uint8_t> structure_;
  const std::shared_ptr<const void> structure_keep_;
  const std::span<const uint8_t> weights_;
  const std::shared_ptr<const void> weights_keep_;
  size_t budget_;          // bytes of the structure that may still be read
  size_t weights_budget_;  // the same for the constants
  size_t symbol_bytes_ = 0, symbol_copies_ = 0;
  const flatbuffers::Vector<const fb::Segment*>* segments_ = nullptr;
  std::vector<std::string> symbols_;
  std::unordered_map<const flatbuffers::String*, std::shared_ptr<const std::string>> sources_;
  std::vector<uint8_t> used_;   // per segment
  std::vector<Tensor> copies_;  // per segment, where it cannot be used in place
};

}  // namespace

bool IsModelFile(std::span<const uint8_t> head) {
  return head.size() >= 4 && std::memcmp(head.data(), format::kMagic, 4) == 0;
}

Result<Graph> ReadModel(std::span<const uint8_t> bytes, std::shared_ptr<const void> keep) {
  DEPUTY_ASSIGN_OR_RETURN(const Parts parts, Split(bytes));
  std::span<const uint8_t> structure = parts.structure;
  std::shared_ptr<const void> structure_keep = keep;
  if (keep == nullptr || reinterpret_cast<uintptr_t>(structure.data()) % 8 != 0) {
    const std::shared_ptr<uint64_t[]> copy(new uint64_t[structure.size() / 8 + 1]);
    std::memcpy(copy.get(), structure.data(), structure.size());
    structure = {reinterpret_cast<const uint8_t*>(copy.get()), structure.size()};
    structure_keep = std::shared_ptr<const void>(copy, copy.get());
  }
  Result<Graph> graph = Reader(structure, std::move(structure_keep), parts.weights, std::move(keep)).Run();
  if (graph.ok()) return graph;
  return Printable(graph.status());
}

}  // namespace deputy::host
