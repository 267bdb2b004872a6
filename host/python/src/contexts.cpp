#include "contexts.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "calls.hpp"
#include "errors.hpp"
#include "reports.hpp"

namespace deputy::python {
namespace {

using Texts = std::vector<std::string>;

template <class F>
Context* MakeContext(const F& make) {
  DeputyContext* context = nullptr;
  Check(Unlocked([&] { return make(&context); }));
  return new Context(context);
}

Context* FromLayers(const Texts& files, const Texts& settings) {
  return MakeContext([&](DeputyContext** context) {
    return DeputyContextFromLayers(PointersTo(files).data(), files.size(), PointersTo(settings).data(), settings.size(),
                                   context);
  });
}

Context* FromYaml(const std::string& path, const Texts& settings) {
  return MakeContext([&](DeputyContext** context) {
    return DeputyContextFromYaml(path.c_str(), PointersTo(settings).data(), settings.size(), context);
  });
}

Context* FromYamlText(const std::string& name, const std::string& text, const Texts& settings) {
  return MakeContext([&](DeputyContext** context) {
    return DeputyContextFromYamlText(name.c_str(), text.c_str(), PointersTo(settings).data(), settings.size(), context);
  });
}

Context* FromBundle(const std::string& bundle, const Texts& settings) {
  return MakeContext([&](DeputyContext** context) {
    return DeputyContextFromBundle(bundle.c_str(), PointersTo(settings).data(), settings.size(), context);
  });
}

Context* Copy(const Context& context) {
  return MakeContext([&](DeputyContext** copy) { return DeputyContextCopy(context.get(), copy); });
}

// `user` is the callable, which the context and its models own.
void Progress(void* user, const DeputyProgress* progress) {
  const nb::gil_scoped_acquire locked;
  const nb::handle sink(static_cast<PyObject*>(user));
  try {
    sink(progress->stage, progress->delegate, progress->subject, progress->number, progress->count, progress->nodes,
         progress->permille, progress->step);
  } catch (nb::python_error& error) {
    error.restore();
    PyErr_WriteUnraisable(sink.ptr());
  }
}

void ReleaseProgress(void* user) {
  const nb::gil_scoped_acquire locked;
  nb::handle(static_cast<PyObject*>(user)).dec_ref();
}

void SetProgress(Context& context, nb::object sink) {
  if (sink.is_none()) {
    Check(Unlocked([&] { return DeputyContextSetProgress(context.get(), nullptr, nullptr, nullptr); }));
    return;
  }
  PyObject* const user = sink.inc_ref().ptr();
  DeputyError* error =
      Unlocked([&] { return DeputyContextSetProgress(context.get(), &Progress, user, &ReleaseProgress); });
  if (error != nullptr) sink.dec_ref();
  Check(error);
}

}  // namespace

Context::~Context() {
  FreeUnlocked([this] { DeputyContextFree(context_); });  // it ends worker processes
}

std::vector<const char*> PointersTo(const Texts& texts) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  return pointers;
}

void AddContexts(nb::module_& module) {
  using Name = std::optional<std::string>;
  const auto or_null = [](const Name& name) { return name ? name->c_str() : nullptr; };
  nb::class_<Context>(module, "Context")
      .def_static("from_layers", &FromLayers, nb::arg("files"), nb::arg("settings"))
      .def_static("from_yaml", &FromYaml, nb::arg("path"), nb::arg("settings"))
      .def_static("from_yaml_text", &FromYamlText, nb::arg("name"), nb::arg("text"), nb::arg("settings"))
      .def_static("from_bundle", &FromBundle, nb::arg("bundle"), nb::arg("settings"))
      .def("copy", &Copy)
      .def("set_progress", &SetProgress, nb::arg("sink").none())
      .def("set_delegates",
           [](Context& context, const std::string& options) {
             Check(Unlocked([&] { return DeputyContextSetDelegates(context.get(), options.c_str()); }));
           })
      .def("set_option",
           [](Context& context, const std::string& delegate, const std::string& option, const std::string& value) {
             Check(Unlocked([&] {
               return DeputyContextSetOption(context.get(), delegate.c_str(), option.c_str(), value.c_str());
             }));
           })
      .def(
          "reload",
          [](Context& context, const Context* next) {
            Check(
                Unlocked([&] { return DeputyContextReload(context.get(), next == nullptr ? nullptr : next->get()); }));
          },
          nb::arg("next").none())
      .def("check", [](const Context& c) { Check(Unlocked([&] { return DeputyContextCheck(c.get()); })); })
      .def("load", [](Context& c) { Check(Unlocked([&] { return DeputyContextLoad(c.get()); })); })
      .def("configured_delegates",
           [](const Context& c) {
             return ReportOf([&](DeputyReport** report) { return DeputyContextConfiguredDelegates(c.get(), report); });
           })
      .def("delegates",
           [](const Context& c) {
             return ReportOf([&](DeputyReport** report) { return DeputyContextDelegates(c.get(), report); });
           })
      .def("plugins",
           [](const Context& c, const std::string& options) {
             return ReportOf(
                 [&](DeputyReport** report) { return DeputyContextPlugins(c.get(), options.c_str(), report); });
           })
      .def("health",
           [](const Context& c) {
             return ReportOf([&](DeputyReport** report) { return DeputyContextHealth(c.get(), report); });
           })
      .def("config",
           [](const Context& c, bool plugin_defaults) {
             return ReportOf([&](DeputyReport** text) { return DeputyContextConfig(c.get(), plugin_defaults, text); });
           })
      .def("cache",
           [](const Context& c, bool check) {
             return ReportOf([&](DeputyReport** report) { return DeputyContextCache(c.get(), check, report); });
           })
      .def("purge_cache",
           [](const Context& c, const std::string& options) {
             return ReportOf(
                 [&](DeputyReport** report) { return DeputyContextPurgeCache(c.get(), options.c_str(), report); });
           })
      .def(
          "quarantine",
          [or_null](const Context& c, const Name& name) {
            return ReportOf(
                [&](DeputyReport** report) { return DeputyContextQuarantine(c.get(), or_null(name), report); });
          },
          nb::arg("name").none())
      .def(
          "clear_quarantine",
          [or_null](const Context& c, const Name& name) {
            return ReportOf(
                [&](DeputyReport** report) { return DeputyContextClearQuarantine(c.get(), or_null(name), report); });
          },
          nb::arg("name").none());
}

}  // namespace deputy::python
