// Contexts of the C API.
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "capi/error.hpp"
#include "capi/field_writer.hpp"
#include "capi/handles.hpp"
#include "capi/keeper.hpp"
#include "capi/options.hpp"
#include "runtime/context_state.hpp"

namespace deputy::host::capi {
namespace {

struct ForeignDelegate {
  ForeignDelegate(const deputy_plugin* made, std::string name, Keeper kept)
      : plugin(made), id(std::move(name)), keeper(std::move(kept)) {}
  const deputy_plugin* plugin;
  std::string id;
  Keeper keeper;
};

struct ForeignPlugin {
  const deputy_plugin* plugin = nullptr;
  std::shared_ptr<void> keep;
  std::string delegate_id;
};

// Found by Context::AddDelegate. The plugin was made for its name already.
ForeignPlugin MakeInProcessPlugin(std::shared_ptr<ForeignDelegate> delegate, const std::string&) {
  const deputy_plugin* const plugin = delegate->plugin;
  std::string id = delegate->id;
  return {plugin, std::move(delegate), std::move(id)};
}

Result<std::vector<std::string>> TextsOf(const char* const* texts, size_t count) {
  std::vector<std::string> made;
  for (size_t i = 0; i < count; ++i) {
    if (texts == nullptr || texts[i] == nullptr) return Error(StatusCode::kInvalidArgument, "text {} is null", i);
    made.emplace_back(texts[i]);
  }
  return made;
}

template <class F>
DeputyError* MakeContext(const char* const* settings, size_t count, DeputyContext** context, const F& make) {
  if (context == nullptr) return MissingArgument("context");
  return Guard([&]() -> Status {
    DEPUTY_ASSIGN_OR_RETURN(const std::vector<std::string> texts, TextsOf(settings, count));
    DEPUTY_ASSIGN_OR_RETURN(Context made, make(texts));
    *context = new DeputyContext{std::move(made)};
    return {};
  });
}

std::optional<std::string> OptionalText(const char* text) {
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

}  // namespace
}  // namespace deputy::host::capi

using deputy::Context;
using deputy::Result;
using deputy::Status;
using namespace deputy::host::capi;

DeputyError* DeputyContextFromLayers(const char* const* files, size_t file_count, const char* const* settings,
                                     size_t setting_count, DeputyContext** context) {
  return MakeContext(settings, setting_count, context, [&](const auto& texts) -> Result<Context> {
    DEPUTY_ASSIGN_OR_RETURN(const std::vector<std::string> names, TextsOf(files, file_count));
    return Context::FromLayers({names, texts});
  });
}

DeputyError* DeputyContextFromYaml(const char* path, const char* const* settings, size_t setting_count,
                                   DeputyContext** context) {
  return MakeContext(settings, setting_count, context,
                     [&](const auto& texts) { return Context::FromYaml(TextOf(path), texts); });
}

DeputyError* DeputyContextFromYamlText(const char* name, const char* text, const char* const* settings,
                                       size_t setting_count, DeputyContext** context) {
  return MakeContext(settings, setting_count, context,
                     [&](const auto& texts) { return Context::FromYamlText(TextOf(name), TextOf(text), texts); });
}

DeputyError* DeputyContextFromBundle(const char* bundle, const char* const* settings, size_t setting_count,
                                     DeputyContext** context) {
  return MakeContext(settings, setting_count, context,
                     [&](const auto& texts) { return Context::FromBundle(TextOf(bundle), texts); });
}

DeputyError* DeputyContextCopy(const DeputyContext* context, DeputyContext** copy) {
  if (context == nullptr) return MissingArgument("context");
  return MakeContext(nullptr, 0, copy, [&](const auto&) -> Result<Context> { return context->context; });
}

void DeputyContextFree(DeputyContext* context) { delete context; }

DeputyError* DeputyContextSetDelegates(DeputyContext* context, const char* options) {
  if (context == nullptr) return MissingArgument("context");
  return Guard([&]() -> Status {
    deputy::fields::DelegatesInCode given;
    DEPUTY_RETURN_IF_ERROR(ReadOptions(options, given));
    context->context.MutableDeviceInfo() = std::move(given.delegates);
    return {};
  });
}

DeputyError* DeputyContextDelegatesInCode(const DeputyContext* context, DeputyReport** report) {
  return ReportOf(context, "context", report, [&]() -> Result<deputy::fields::DelegatesInCode> {
    return deputy::fields::DelegatesInCode{Context::State::Of(context->context).Current()->device_infos};
  });
}

DeputyError* DeputyContextAddInProcess(DeputyContext* context, const deputy_plugin* plugin, const char* delegate_id,
                                       const char* before, int alone, void* keep, void (*release)(void* keep)) {
  Keeper keeper(keep, release);
  if (context == nullptr) return MissingArgument("context");
  return Guard([&]() -> Status {
    std::shared_ptr<ForeignDelegate> delegate;
    if (plugin != nullptr) delegate = std::make_shared<ForeignDelegate>(plugin, TextOf(delegate_id), std::move(keeper));
    if (alone != 0)
      context->context.SetDelegate(std::move(delegate));
    else
      context->context.AddDelegate(std::move(delegate), TextOf(before));
    return {};
  });
}

DeputyError* DeputyContextNextInProcess(const DeputyContext* context, DeputyReport** name) {
  return ReportOf(context, "context", name,
                  [&]() -> Result<std::string> { return context->context.NextInProcessName(); });
}

DeputyError* DeputyContextSetOption(DeputyContext* context, const char* delegate, const char* option,
                                    const char* value) {
  if (context == nullptr) return MissingArgument("context");
  return Guard([&] { return context->context.SetOption(TextOf(delegate), TextOf(option), TextOf(value)); });
}

DeputyError* DeputyContextReload(DeputyContext* context, const DeputyContext* next) {
  if (context == nullptr) return MissingArgument("context");
  return Guard([&] { return next == nullptr ? context->context.Reload() : context->context.Reload(next->context); });
}

DeputyError* DeputyContextWatchFiles(DeputyContext* context, void (*reloaded)(void* user, const DeputyError* error),
                                     void* user, void (*release)(void* user)) {
  Keeper keeping(user, release);
  if (context == nullptr) return MissingArgument("context");
  return Guard([&] {
    const auto keeper = std::make_shared<const Keeper>(std::move(keeping));
    return context->context.WatchFiles([reloaded, keeper](const Status& status) {
      if (reloaded == nullptr) return;
      const std::unique_ptr<DeputyError, decltype(&DeputyErrorFree)> error(ErrorOf(status), &DeputyErrorFree);
      reloaded(keeper->keep, error.get());
    });
  });
}

DeputyError* DeputyContextSetProgress(DeputyContext* context, DeputyProgressSink sink, void* user,
                                      void (*release)(void* user)) {
  Keeper keeping(user, release);
  if (context == nullptr) return MissingArgument("context");
  return Guard([&]() -> Status {
    if (sink == nullptr) {
      context->context.SetProgress(nullptr);
      return {};
    }
    const auto keeper = std::make_shared<const Keeper>(std::move(keeping));
    context->context.SetProgress([sink, keeper](const deputy::Progress& progress) {
      const auto stage = static_cast<size_t>(progress.stage);
      const std::string delegate(progress.delegate), subject(progress.subject), step(progress.step);
      const DeputyProgress given{sizeof(DeputyProgress),
                                 deputy::fields::Names<deputy::ProgressStage>::kTexts[stage].data(),
                                 delegate.c_str(),
                                 subject.c_str(),
                                 progress.number,
                                 progress.count,
                                 progress.nodes,
                                 progress.permille,
                                 step.c_str()};
      sink(keeper->keep, &given);
    });
    return {};
  });
}

DeputyError* DeputyContextCheck(const DeputyContext* context) {
  if (context == nullptr) return MissingArgument("context");
  return Guard([&] { return context->context.Check(); });
}

DeputyError* DeputyContextLoad(DeputyContext* context) {
  if (context == nullptr) return MissingArgument("context");
  return Guard([&] { return context->context.Load(); });
}

DeputyError* DeputyContextConfiguredDelegates(const DeputyContext* context, DeputyReport** report) {
  return ReportOf(context, "context", report,
                  [&]() -> Result<std::vector<deputy::DeviceInfo>> { return context->context.ConfiguredDelegates(); });
}

DeputyError* DeputyContextDelegates(const DeputyContext* context, DeputyReport** report) {
  return ReportOf(context, "context", report, [&] { return context->context.ListDelegates(); });
}

DeputyError* DeputyContextPlugins(const DeputyContext* context, const char* options, DeputyReport** report) {
  return ReportOf(context, "context", report, [&]() -> Result<deputy::PluginListing> {
    deputy::PluginQuery query;
    DEPUTY_RETURN_IF_ERROR(ReadOptions(options, query));
    return context->context.ListPlugins(query);
  });
}

DeputyError* DeputyContextHealth(const DeputyContext* context, DeputyReport** report) {
  return ReportOf(context, "context", report,
                  [&]() -> Result<deputy::HealthReport> { return context->context.Health(); });
}

DeputyError* DeputyContextConfig(const DeputyContext* context, int plugin_defaults, DeputyReport** text) {
  return ReportOf(context, "context", text,
                  [&]() -> Result<std::string> { return context->context.ShowConfig(plugin_defaults != 0); });
}

int DeputyContextMeasuresPlacements(const DeputyContext* context) {
  return context != nullptr && context->context.MeasuresPlacements() ? 1 : 0;
}
int DeputyContextHasFallback(const DeputyContext* context) {
  return context != nullptr && context->context.HasFallback() ? 1 : 0;
}

DeputyError* DeputyContextCache(const DeputyContext* context, int check, DeputyReport** report) {
  return ReportOf(context, "context", report, [&] { return context->context.ListCache(check != 0); });
}

DeputyError* DeputyContextPurgeCache(const DeputyContext* context, const char* options, DeputyReport** report) {
  return ReportOf(context, "context", report, [&]() -> Result<deputy::CacheListing> {
    deputy::CacheFilter filter;
    DEPUTY_RETURN_IF_ERROR(ReadOptions(options, filter));
    return context->context.PurgeCache(filter);
  });
}

DeputyError* DeputyContextQuarantine(const DeputyContext* context, const char* name, DeputyReport** report) {
  return ReportOf(context, "context", report, [&] { return context->context.ListQuarantine(OptionalText(name)); });
}

DeputyError* DeputyContextClearQuarantine(const DeputyContext* context, const char* name, DeputyReport** report) {
  return ReportOf(context, "context", report, [&] { return context->context.ClearQuarantine(OptionalText(name)); });
}

DeputyError* DeputySetLogSink(DeputyLogSink sink, void* user, void (*release)(void* user)) {
  Keeper keeping(user, release);
  return Guard([&]() -> Status {
    if (sink == nullptr) {
      deputy::SetLogSink(nullptr);
      return {};
    }
    const auto keeper = std::make_shared<const Keeper>(std::move(keeping));
    deputy::SetLogSink([sink, keeper](deputy::LogLevel level, std::string_view source, std::string_view message) {
      const std::string from(source), text(message);
      sink(keeper->keep, static_cast<DeputyLogLevel>(level), from.c_str(), text.c_str());
    });
    return {};
  });
}

DeputyError* DeputyLogText(DeputyLogLevel level, const char* source, const char* message, DeputyReport** text) {
  return Report(text, [&]() -> Result<std::string> {
    return deputy::LogText(static_cast<deputy::LogLevel>(level), TextOf(source), TextOf(message));
  });
}

const char* DeputyLogLevelName(DeputyLogLevel level) { return deputy::NameOf(static_cast<deputy::LogLevel>(level)); }

DeputyLogLineForm DeputyLogLineFormInUse() { return static_cast<DeputyLogLineForm>(deputy::LogLineFormInUse()); }
