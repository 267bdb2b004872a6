// deputy::ReadTensorFile, ReadValueFile and WriteTensorFile: picks the reader by the file's name.
#include "deputy/tensor_file.hpp"

#include <filesystem>

#include "base/file.hpp"
#include "format/tensor_file.hpp"
#include "runtime/importers.hpp"

namespace deputy {
namespace {

// The importer's error, as those of the other formats: the file of a tensor is an argument, not a model.
Status DamagedFile(Status status, const std::string& path) {
  if (status.code() == StatusCode::kModel) status = std::move(status).WithCode(StatusCode::kInvalidArgument);
  return std::move(status).At(path);
}

}  // namespace

Result<Tensor> ReadTensorFile(const std::string& path, DType dtype, const Shape& shape) {
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension == ".npy") return host::ReadNpyFile(path);
  if (extension != ".pb") return host::ReadRawFile(path, dtype, shape);
  DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<const host::MappedFile> file, host::MappedFile::Open(path));
  DEPUTY_ASSIGN_OR_RETURN(const host::Importer* importer, host::OpenImporter("onnx"));
  Result<Tensor> tensor = importer->ReadTensor(file->bytes());
  if (!tensor.ok()) return DamagedFile(std::move(tensor).status(), path);
  return tensor;
}

Result<ModelValue> ReadValueFile(const std::string& path, ValueKind kind, DType dtype) {
  if (kind == ValueKind::kTensor) {
    DEPUTY_ASSIGN_OR_RETURN(Tensor tensor, ReadTensorFile(path));
    return ModelValue(std::move(tensor));
  }
  DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<const host::MappedFile> file, host::MappedFile::Open(path));
  DEPUTY_ASSIGN_OR_RETURN(const host::Importer* importer, host::OpenImporter("onnx"));
  Result<ModelValue> value = importer->ReadValue(file->bytes(), kind, dtype);
  if (!value.ok()) return DamagedFile(std::move(value).status(), path);
  return value;
}

Status WriteTensorFile(const std::string& path, const Tensor& tensor) { return host::WriteNpyFile(tensor, path); }

}  // namespace deputy
