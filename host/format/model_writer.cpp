// Graph to .dpm: the structure as a FlatBuffer, followed by constants as aligned segments.
#include <flatbuffers/flatbuffers.h>

#include <array>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/file_writer.hpp"
#include "format/header.hpp"
#include "format/model_file.hpp"
#include "model_generated.h"

namespace deputy::host {
namespace {

namespace fb = ::deputy::format;

constexpr size_t kMostStructureBytes = size_t{1} << 30;  // FlatBuffers end at 2 GiB

constexpr uint64_t RoundUp(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

// The constants of a model, each content once.
class Segments {
 public:
  uint32_t Add(const Tensor& tensor) {
    const std::string_view content(static_cast<const char*>(tensor.data()), tensor.byte_size());
    const auto [found, added] = index_.emplace(content, static_cast<uint32_t>(places_.size()));
    if (!added) return found->second;
    places_.emplace_back(end_, content.size());
    contents_.push_back(content);
    end_ = RoundUp(end_ + content.size(), format::kSegmentAlignment);
    return found->second;
  }

  const std::vector<fb::Segment>& places() const { return places_; }
  uint64_t size() const { return places_.empty() ? 0 : places_.back().offset() + places_.back().size(); }

  // Bytes of the contents and of the gaps between them.
  void AppendTo(std::vector<std::span<const uint8_t>>& pieces) const {
    static constexpr std::array<uint8_t, format::kSegmentAlignment> kGap{};
    uint64_t at = 0;
    for (size_t i = 0; i < places_.size(); ++i) {
      if (places_[i].offset() != at) pieces.emplace_back(kGap.data(), places_[i].offset() - at);
      pieces.emplace_back(reinterpret_cast<const uint8_t*>(contents_[i].data()), contents_[i].size());
      at = places_[i].offset() + places_[i].size();
    }
  }

 private:
  std::unordered_map<std::string_view, uint32_t> index_;
  std::vector<fb::Segment> places_;
  std::vector<std::string_view> contents_;
  uint64_t end_ = 0;
};

// Bytes of names and primitives, which are most of the structure.
size_t StructureBytes(const Graph& graph) {
  size_t bytes = graph.name.size();
  for (const auto& [key, value] : graph.metadata) bytes += key.size() + value.size();
  for (const Value& value : graph.values) bytes += value.name.size() + value.type.dims.size() * 8 + 64;
  for (const Node& node : graph.nodes) {
    if (node.source != nullptr) bytes += node.source->size();
    bytes += node.name.size() + node.primitive.bytes().size() + (node.inputs.size() + node.outputs.size()) * 4 + 64;
    for (const Region& region : node.regions) bytes += StructureBytes(*region.body) + region.captures.size() * 4 + 64;
  }
  return bytes;
}

class Writer {
 public:
  flatbuffers::FlatBufferBuilder& Write(const Graph& graph) {
    const auto top = WriteGraph(graph);
    std::vector<flatbuffers::Offset<fb::Symbol>> symbols;
    for (const std::string& name : graph.symbols) symbols.push_back(fb::CreateSymbol(builder_, Text(name)));
    std::vector<flatbuffers::Offset<fb::Property>> metadata;
    for (const auto& [key, value] : graph.metadata) {
      const auto key_text = Text(key);
      metadata.push_back(fb::CreateProperty(builder_, key_text, Text(value)));
    }
    std::vector<flatbuffers::Offset<fb::State>> states;
    for (const Tensor& initial : graph.initial_states)
      states.push_back(fb::CreateState(builder_, segments_.Add(initial)));
    const auto symbol_list = List(symbols);
    const auto state_list = List(states);
    const auto metadata_list = List(metadata);
    const auto segment_list = builder_.CreateVectorOfStructs(segments_.places());
    fb::FinishModelBuffer(builder_, fb::CreateModel(builder_, top, symbol_list, metadata_list, segment_list, state_list,
                                                    static_cast<uint8_t>(graph.input_extents)));
    return builder_;
  }

  const Segments& segments() const { return segments_; }
  bool only_tensors() const { return only_tensors_; }

 private:
  flatbuffers::Offset<flatbuffers::String> Text(const std::string& text) {
    return text.empty() ? flatbuffers::Offset<flatbuffers::String>() : builder_.CreateString(text);
  }

  template <class T>
  flatbuffers::Offset<flatbuffers::Vector<T>> List(const std::vector<T>& list) {
    return list.empty() ? flatbuffers::Offset<flatbuffers::Vector<T>>() : builder_.CreateVector(list);
  }

  flatbuffers::Offset<fb::Value> WriteValue(const Value& value) {
    only_tensors_ = only_tensors_ && value.type.is_tensor();
    const uint32_t segment = value.is_constant() ? segments_.Add(value.constant) : kNone;
    const auto name = Text(value.name);
    const auto dims = List(value.type.dims);
    return fb::CreateValue(builder_, name, static_cast<int32_t>(value.type.dtype), value.type.ranked, dims, segment,
                           static_cast<uint8_t>(value.type.kind));
  }

  flatbuffers::Offset<fb::Node> WriteNode(const Node& node) {
    std::vector<flatbuffers::Offset<fb::Region>> regions;
    for (const Region& region : node.regions) {
      const auto body = WriteGraph(*region.body);
      const auto name = Text(region.name);
      const auto captures = List(region.captures);
      regions.push_back(fb::CreateRegion(builder_, name, body, captures));
    }
    const auto name = Text(node.name);
    const std::span<const uint8_t> bytes = node.primitive.bytes();
    builder_.ForceVectorAlignment(bytes.size(), 1, 8);
    const auto primitive = builder_.CreateVector(bytes.data(), bytes.size());
    const auto inputs = List(node.inputs);
    const auto outputs = List(node.outputs);
    // Nodes of one line share the text.
    const auto source =
        node.source == nullptr ? flatbuffers::Offset<flatbuffers::String>() : builder_.CreateSharedString(*node.source);
    return fb::CreateNode(builder_, name, primitive, inputs, outputs, List(regions), source);
  }

  flatbuffers::Offset<fb::Graph> WriteGraph(const Graph& graph) {
    std::vector<flatbuffers::Offset<fb::Node>> nodes;
    for (const Node& node : graph.nodes) nodes.push_back(WriteNode(node));
    std::vector<flatbuffers::Offset<fb::Value>> values;
    for (const Value& value : graph.values) values.push_back(WriteValue(value));
    const auto name = Text(graph.name);
    const auto node_list = List(nodes);
    const auto value_list = List(values);
    const auto inputs = List(graph.inputs);
    const auto outputs = List(graph.outputs);
    return fb::CreateGraph(builder_, name, node_list, value_list, inputs, outputs, List(graph.captured));
  }

  flatbuffers::FlatBufferBuilder builder_{64 << 10};
  Segments segments_;
  bool only_tensors_ = true;
};

}  // namespace

Status WriteModelFile(const Graph& graph, const std::filesystem::path& path) {
  if (StructureBytes(graph) > kMostStructureBytes)
    return Error(StatusCode::kResourceExhausted, "the graph is too large for a .dpm file, even without its constants");
  Writer writer;
  const flatbuffers::FlatBufferBuilder& builder = writer.Write(graph);
  const std::span<const uint8_t> structure(builder.GetBufferPointer(), builder.GetSize());

  format::Header header{};
  std::memcpy(header.magic, format::kMagic, sizeof(header.magic));
  header.version = format::kVersion;
  header.features =
      (writer.only_tensors() ? 0 : format::kValuesOfMoreKinds) | (graph.initial_states.empty() ? 0 : format::kStates);
  header.structure_offset = sizeof(header);
  header.structure_size = structure.size();
  header.weights_offset = RoundUp(sizeof(header) + structure.size(), format::kPage);
  header.weights_size = writer.segments().size();
  header.file_size = header.weights_offset + header.weights_size;
  header.checksum = format::Checksum(header, structure);

  const std::vector<uint8_t> gap(header.weights_offset - sizeof(header) - structure.size());
  std::vector<std::span<const uint8_t>> pieces;
  pieces.emplace_back(reinterpret_cast<const uint8_t*>(&header), sizeof(header));
  pieces.push_back(structure);
  pieces.emplace_back(gap);
  writer.segments().AppendTo(pieces);
  return WriteFileAtomically(path, pieces);
}

}  // namespace deputy::host
