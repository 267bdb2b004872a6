#include "runtime/read_model.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "base/printable.hpp"
#include "format/model_file.hpp"
#include "graph/graph.hpp"
#include "graph/upgrade/upgrade.hpp"
#include "runtime/importers.hpp"
#include "runtime/input_extents.hpp"

namespace deputy::host {
namespace {

constexpr size_t kLongestNote = 2000;

Result<Graph> Import(const Importer& importer, const ImportSource& source) {
  DEPUTY_ASSIGN_OR_RETURN(Graph graph, importer.Import(source));
  graph.input_extents = importer.computes_with_extents() ? InputExtents::kComputedWith : InputExtents::kChangeable;
  return graph;
}

Result<ReadGraph> Read(const ImportSource& source, ModelType type) {
  const bool is_dpm = IsModelFile(source.bytes);
  if (type == ModelType::kDeputy && !is_dpm) return Error(StatusCode::kModel, "is not a .dpm model");
  ReadGraph read;
  if (type == ModelType::kDeputy || (type == ModelType::kAuto && is_dpm)) {
    DEPUTY_ASSIGN_OR_RETURN(read.graph, ReadModel(source.bytes, source.keep));
    read.format = "dpm";
    return read;
  }
  DEPUTY_ASSIGN_OR_RETURN(const Importer* importer, FindImporter(source.bytes, source.path, type));
  DEPUTY_ASSIGN_OR_RETURN(read.graph, Import(*importer, source));
  read.format = importer->format_name();
  return read;
}

Status ChangeExtents(const ImportSource& source, ModelType type, const NamedShapes& shapes, ReadGraph& read) {
  DEPUTY_ASSIGN_OR_RETURN(read.changed_extents, ChangeInputExtents(read.graph, shapes));
  if (read.changed_extents.empty()) return {};
  if (read.graph.input_extents == InputExtents::kChangeable) return {};
  if (read.format == "dpm")
    return Error(StatusCode::kNotSupported, "the extents of this .dpm file's inputs cannot be changed: {}",
                 read.changed_extents)
        .Advise("its attributes may have been computed for them: give the model from which it was converted");
  DEPUTY_ASSIGN_OR_RETURN(const Importer* importer, FindImporter(source.bytes, source.path, type));
  ImportSource changed = source;
  for (const ValueId id : read.graph.caller_inputs()) {
    const Value& input = read.graph.values[id];
    if (!input.type.is_tensor() || !input.type.ranked) continue;
    std::vector<int64_t>& extents = changed.input_extents.emplace_back(input.name, input.type.dims).second;
    for (int64_t& extent : extents) extent = std::max(extent, kUnknownDim);
  }
  DEPUTY_ASSIGN_OR_RETURN(read.graph, Import(*importer, changed));
  return {};
}

}  // namespace

Result<ReadGraph> ReadAnyModel(const ImportSource& source, ModelType type, const std::string& name,
                               const NamedShapes& input_shapes) {
  Result<ReadGraph> read = Read(source, type);
  if (read.ok() && !input_shapes.empty()) {
    Status changed = ChangeExtents(source, type, input_shapes, *read);
    if (!changed.ok()) read = std::move(changed);
  }
  Status status = read.ok() ? UpgradeGraph(read->graph) : read.status();
  if (status.ok()) {
    for (const auto& [key, text] : read->graph.metadata)
      if (key == kNoteKey) Log(LogLevel::kWarning, "{}: {}", name, Printable(text, kLongestNote));
    return read;
  }
  // Importers put the name of the file into their errors, others do not.
  if (status.where().compare(0, name.size(), name) == 0) return status;
  return std::move(status).At(name);
}

}  // namespace deputy::host
