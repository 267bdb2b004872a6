// Models of the C API.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "capi/error.hpp"
#include "capi/field_writer.hpp"
#include "capi/handles.hpp"
#include "capi/options.hpp"
#include "capi/tensors.hpp"

namespace deputy::host::capi {
namespace {

void AddInfos(const std::vector<TensorInfo>& values, DeputyModel& model) {
  for (const TensorInfo& value : values) {
    std::vector<const char*>& dims = model.dims.emplace_back();
    for (const std::string& dim : value.dims) dims.push_back(dim.c_str());
    model.infos.push_back({sizeof(DeputyValueInfo), value.name.c_str(), static_cast<DeputyDType>(value.dtype),
                           value.ranked ? 1 : 0, static_cast<uint32_t>(value.shape.size()),
                           static_cast<int32_t>(value.kind), value.shape.data(), dims.data()});
  }
}

template <class F>
DeputyError* MakeModel(const DeputyContext* context, const char* options, DeputyModel** model, const F& build) {
  if (context == nullptr) return MissingArgument("context");
  if (model == nullptr) return MissingArgument("model");
  return Guard([&]() -> Status {
    BuildOptions given;
    DEPUTY_RETURN_IF_ERROR(ReadOptions(options, given));
    auto made = std::make_unique<DeputyModel>();
    DEPUTY_RETURN_IF_ERROR(build(made->model, given));
    AddInfos(made->model.inputs(), *made);
    AddInfos(made->model.outputs(), *made);
    *model = made.release();
    return {};
  });
}

}  // namespace
}  // namespace deputy::host::capi

using deputy::Result;
using deputy::Shape;
using deputy::Status;
using deputy::StatusCode;
using namespace deputy::host::capi;

DeputyError* DeputyModelFromFile(const char* path, const DeputyContext* context, const char* options,
                                 DeputyModel** model) {
  if (path == nullptr) return MissingArgument("path");
  return MakeModel(context, options, model, [&](deputy::Model& made, const deputy::BuildOptions& given) {
    return made.Build(path, context->context, given);
  });
}

DeputyError* DeputyModelFromMemory(const void* data, size_t size, DeputyFormat format, const DeputyContext* context,
                                   const char* options, DeputyModel** model) {
  if (format < kDeputyAuto || format > kDeputyTflite)
    return Guard([&] { return deputy::host::Error(StatusCode::kInvalidArgument, "there is no format {}", format); });
  return MakeModel(context, options, model, [&](deputy::Model& made, const deputy::BuildOptions& given) {
    return made.Build(data, size, static_cast<deputy::ModelType>(format), context->context, given);
  });
}

void DeputyModelFree(DeputyModel* model) { delete model; }

size_t DeputyModelInputCount(const DeputyModel* model) { return model == nullptr ? 0 : model->model.inputs().size(); }
size_t DeputyModelOutputCount(const DeputyModel* model) { return model == nullptr ? 0 : model->model.outputs().size(); }
const DeputyValueInfo* DeputyModelInput(const DeputyModel* model, size_t index) {
  return index < DeputyModelInputCount(model) ? &model->infos[index] : nullptr;
}
const DeputyValueInfo* DeputyModelOutput(const DeputyModel* model, size_t index) {
  return index < DeputyModelOutputCount(model) ? &model->infos[DeputyModelInputCount(model) + index] : nullptr;
}

DeputyError* DeputyModelTraits(const DeputyModel* model, DeputyReport** report) {
  return ReportOf(model, "model", report, [&]() -> Result<deputy::fields::ModelProperties> {
    return deputy::fields::ModelProperties{model->model.inputs_with_default(), model->model.metadata(),
                                           model->model.has_states()};
  });
}

DeputyError* DeputyModelAllocate(const DeputyModel* model, DeputyDType dtype, const int64_t* shape, uint32_t rank,
                                 DeputyTensor* tensor) {
  if (model == nullptr) return MissingArgument("model");
  if (tensor == nullptr) return MissingArgument("tensor");
  if (shape == nullptr && rank != 0) return MissingArgument("shape");
  return Guard([&]() -> Status {
    DEPUTY_ASSIGN_OR_RETURN(const deputy::Tensor made,
                            model->model.AllocateTensor(static_cast<deputy::DType>(dtype), ShapeOf(shape, rank)));
    *tensor = Owned(made);
    return {};
  });
}

DeputyError* DeputyModelPlacement(const DeputyModel* model, const DeputyShape* shapes, size_t count, int graph,
                                  DeputyReport** report) {
  if (model == nullptr) return MissingArgument("model");
  if (shapes == nullptr && graph == 0) return Report(report, [&] { return model->model.Placement(); });
  const auto given = [&] {
    std::vector<Shape> made;
    for (size_t i = 0; shapes != nullptr && i < count; ++i) made.push_back(ShapeOf(shapes[i].extents, shapes[i].rank));
    return made;
  };
  if (graph != 0) return Report(report, [&] { return model->model.PlacementWithGraph(given()); });
  return Report(report, [&] { return model->model.Placement(given()); });
}

DeputyError* DeputyModelVerify(const DeputyModel* model, const DeputyTensor* inputs, size_t count, const char* options,
                               DeputyReport** report) {
  return ReportOf(model, "model", report, [&]() -> Result<std::vector<deputy::PartitionVerification>> {
    deputy::VerifyOptions given;
    DEPUTY_RETURN_IF_ERROR(ReadOptions(options, given));
    std::vector<deputy::Tensor> tensors;
    DEPUTY_RETURN_IF_ERROR(Take({inputs, inputs == nullptr ? 0 : count}, tensors));
    return model->model.Verify(tensors, given);
  });
}

DeputyError* DeputyModelMeasuredPlacements(const DeputyModel* model, DeputyReport** text) {
  return ReportOf(model, "model", text, [&] { return model->model.MeasuredPlacements(); });
}

DeputyError* DeputyModelHealth(const DeputyModel* model, DeputyReport** report) {
  return ReportOf(model, "model", report, [&]() -> Result<deputy::HealthReport> { return model->model.Health(); });
}

DeputyError* DeputyModelSave(const DeputyModel* model, const char* path) {
  if (model == nullptr) return MissingArgument("model");
  if (path == nullptr) return MissingArgument("path");
  return Guard([&] { return model->model.Save(path); });
}

DeputyError* DeputyModelCreateSession(const DeputyModel* model, DeputySession** session) {
  if (model == nullptr) return MissingArgument("model");
  if (session == nullptr) return MissingArgument("session");
  return Guard([&]() -> Status {
    auto made = std::make_unique<DeputySession>();
    DEPUTY_ASSIGN_OR_RETURN(made->session, model->model.CreateSession());
    made->input_count = model->model.inputs().size();
    made->output_count = model->model.outputs().size();
    *session = made.release();
    return {};
  });
}
