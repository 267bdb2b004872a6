#include "runtime/dump.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <system_error>
#include <utility>

#include "base/file_writer.hpp"
#include "base/printable.hpp"
#include "base/trust.hpp"
#include "config/config.hpp"
#include "format/tensor_file.hpp"
#include "runtime/model_state.hpp"
#include "tensor/held_value.hpp"

namespace deputy::host {
namespace {

constexpr std::string_view kDefaultFolder = "deputy-dump";

// A name of a model or a value as a part of a file's name.
std::string FileStem(std::string_view name) {
  constexpr size_t kLongest = 100;
  std::string stem;
  for (const char c : name.substr(0, kLongest)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                       c == '-' || (c == '.' && !stem.empty());
    stem += plain ? c : '_';
  }
  return stem;
}

Status MakeFolder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return {};
  return Error(StatusCode::kUnavailable, "the folder cannot be created: {}", error.message())
      .At("debug.dump")
      .At(folder.string());
}

// A folder or link of another user could lead the files of the dump to where they replace others.
Status MakeOwnFolder(const std::filesystem::path& folder) {
  DEPUTY_RETURN_IF_ERROR(MakeFolder(folder));
  struct stat about {};
  if (lstat(folder.c_str(), &about) != 0)
    return Error(StatusCode::kUnavailable, "the folder cannot be read: {}", std::generic_category().message(errno))
        .At("debug.dump")
        .At(folder.string());
  if (IsTrustedOwner(about.st_uid)) return {};
  return Error(StatusCode::kUnavailable, "the folder {}", OwnerText(about.st_uid))
      .At("debug.dump")
      .At(folder.string())
      .Advise("choose another folder with 'debug: {dump_dir}'");
}

Status WriteText(const std::filesystem::path& path, const std::string& text) {
  const std::span<const uint8_t> piece(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  return WriteFileAtomically(path, {&piece, 1}).At("debug.dump");
}

}  // namespace

std::optional<DumpSettings> DumpSettingsOf(const Config& config) {
  const DebugConfig& debug = config.debug;
  if (debug.dump.empty()) return std::nullopt;
  const auto has = [&](std::string_view word) {
    return std::any_of(debug.dump.begin(), debug.dump.end(), [&](const auto& item) { return *item == word; });
  };
  DumpSettings settings{has("graph"), has("placement"), has("plan"), has("tensors"), *debug.dump_dir};
  if (*debug.dump_dir == "auto") settings.folder = kDefaultFolder;
  return settings;
}

Result<std::shared_ptr<PlanDump>> PlanDump::Write(const DumpSettings& settings, const std::string& model, size_t number,
                                                  const Plan& plan, const Engine& engine) {
  auto dump = std::make_shared<PlanDump>();
  const std::string name = FileStem(std::filesystem::path(model).filename().string());
  const std::filesystem::path of_model = settings.folder / (name.empty() ? "model" : name);
  dump->folder_ = of_model / fmt::format("plan_{}", number);
  dump->tensors_due_ = settings.tensors;
  if (settings.folder == kDefaultFolder) DEPUTY_RETURN_IF_ERROR(MakeOwnFolder(settings.folder));
  for (const std::filesystem::path& folder : {of_model, dump->folder_}) DEPUTY_RETURN_IF_ERROR(MakeOwnFolder(folder));
  if (settings.graph) DEPUTY_RETURN_IF_ERROR(WriteText(dump->folder_ / "graph.txt", GraphText(*plan.graph)));
  if (settings.placement)
    DEPUTY_RETURN_IF_ERROR(WriteText(dump->folder_ / "placement.json", PlacementJson(MakeReport(plan, engine))));
  if (settings.plan) DEPUTY_RETURN_IF_ERROR(WriteText(dump->folder_ / "plan.txt", PlanText(plan)));
  return dump;
}

Status TensorDump::WriteInputs(const Execution& execution) {
  DEPUTY_RETURN_IF_ERROR(MakeOwnFolder(folder_));
  for (const ValueId id : execution.plan().graph->inputs)
    DEPUTY_RETURN_IF_ERROR(WriteValue(execution, id, "input_", R"("step": null, "delegate": null)"));
  return {};
}

Status TensorDump::Ended(const Execution& execution, size_t index) {
  const Plan& plan = execution.plan();
  const Step& step = plan.steps[index];
  const std::string maker =
      fmt::format(R"("step": {}, "delegate": {})", index, JsonQuoted(plan.delegate_names[DelegateOf(plan, step)]));
  for (const ValueId id : step.outputs)
    if (id != kNone) DEPUTY_RETURN_IF_ERROR(WriteValue(execution, id, fmt::format("{:04}_", index), maker));
  return {};
}

Status TensorDump::WriteValue(const Execution& execution, ValueId id, const std::string& prefix,
                              const std::string& maker) {
  const Value& value = execution.plan().graph->values[id];
  const deputy_tensor& view = execution.tensor(id);
  std::string file, type = R"("dtype": null, "shape": null)", reason = "is not a tensor";
  if (HeldValue(view) == nullptr) {
    Shape shape(view.dims, view.dims + view.rank);
    const auto dtype = static_cast<DType>(view.dtype);
    type = fmt::format(R"("dtype": "{}", "shape": [{}])", NameOf(dtype), fmt::join(shape, ", "));
    Result<Tensor> tensor = Tensor::Wrap(dtype, std::move(shape), view.data, view.byte_size);
    file = prefix + FileStem(value.name) + ".npy";
    while (std::find(files_.begin(), files_.end(), file) != files_.end()) file.insert(file.size() - 4, "_");
    const Status status = tensor.ok() ? WriteNpyFile(*tensor, folder_ / file) : tensor.status();
    if (!status.ok() && status.code() != StatusCode::kNotSupported) return Status(status).At("debug.dump");
    reason = status.message();
    if (status.ok()) files_.push_back(file);
    if (!status.ok()) file.clear();
  }
  entries_.push_back(fmt::format(R"({{"name": {}, {}, {}, "file": {}, "reason": {}}})", JsonQuoted(value.name), maker,
                                 type, file.empty() ? "null" : JsonQuoted(file), JsonQuoted(reason)));
  return {};
}

Status TensorDump::WriteList() const {
  return WriteText(folder_ / "tensors.json",
                   fmt::format("{{\"tensors\": [\n  {}\n]}}\n", fmt::join(entries_, ",\n  ")));
}

}  // namespace deputy::host
