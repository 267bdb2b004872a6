#include "runtime/read_model.hpp"

#include <utility>

#include "format/model_file.hpp"
#include "graph/graph.hpp"
#include "graph/upgrade/upgrade.hpp"
#include "runtime/importers.hpp"

namespace deputy::host {
namespace {

Result<ReadGraph> Read(const ImportSource& source, ModelType type) {
  const bool is_dpm = IsModelFile(source.bytes);
  if (type == ModelType::kDeputy && !is_dpm) return Error(StatusCode::kModel, "is not a .dpm model");
  ReadGraph read;
  if (type == ModelType::kDeputy || (type == ModelType::kAuto && is_dpm)) {
    DEPUTY_ASSIGN_OR_RETURN(read.graph, ReadModel(source.bytes, source.keep));
    read.format = "dpm";
    return read;
  }
  DEPUTY_ASSIGN_OR_RETURN(const Importer* importer, FindImporter(source.bytes, source.path));
  DEPUTY_ASSIGN_OR_RETURN(read.graph, importer->Import(source));
  read.format = importer->format_name();
  return read;
}

}  // namespace

Result<ReadGraph> ReadAnyModel(const ImportSource& source, ModelType type, const std::string& name) {
  Result<ReadGraph> read = Read(source, type);
  Status status = read.ok() ? UpgradeGraph(read->graph) : read.status();
  if (status.ok()) return read;
  // Importers put the name of the file into their errors, others do not.
  if (status.where().compare(0, name.size(), name) == 0) return status;
  return std::move(status).At(name);
}

}  // namespace deputy::host
