// host/isolation as a library with one function, for tests of the public API: libdeputy does not offer it yet.
#include <memory>
#include <string>

#include "isolation/remote_plugin.hpp"

using deputy::host::RemotePlugin;

// The plugin in a worker process, or null with the reason on standard error. `keep` holds it.
extern "C" __attribute__((visibility("default"))) const deputy_plugin* IsolatedPlugin(const char* worker,
                                                                                      const char* file,
                                                                                      std::shared_ptr<void>* keep) {
  deputy::host::RemotePluginOptions options;
  options.worker = worker;
  options.file = file;
  auto plugin = RemotePlugin::Start(options);
  if (!plugin.ok()) {
    std::fprintf(stderr, "%s\n", plugin.status().ToString().c_str());
    return nullptr;
  }
  *keep = *plugin;
  return (*plugin)->table();
}
