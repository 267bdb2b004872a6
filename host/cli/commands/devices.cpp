// deputy devices: the devices of all delegates, with the clocks that they granted.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/report/device_list.hpp"
#include "cli/report/placement_text.hpp"
#include "cli/terminal/quantity.hpp"
#include "cli/terminal/table.hpp"
#include "cli/terminal/terminal.hpp"

namespace deputy::cli {
namespace {

struct DevicesOptions {
  ContextOptions context;
  bool probe = false, json = false;
};

std::string ClockOf(const DeviceUse& use) {
  if (use.control) return ClockSentence(*use.control);
  return use.device && use.device->frequency_hz != 0 ? ClockText(use.device->frequency_hz) : "";
}

void PrintDevices(const std::vector<DeviceUse>& uses, const Terminal& terminal) {
  Table table({{"delegate"},
               {"state"},
               {"device", Align::kLeft, Fit::kMiddle, 2},
               {"name"},
               {"kind", Align::kLeft, Fit::kMiddle, 3},
               {"memory", Align::kLeft, Fit::kMiddle, 4},
               {"clock", Align::kLeft, Fit::kWrap, 1},
               {"driver", Align::kLeft, Fit::kMiddle, 5}});
  for (const DeviceUse& use : uses) {
    const Shown state = !use.available      ? terminal.Paint(Paint::kBad, "absent")
                        : use.entry.empty() ? terminal.Paint(Paint::kDim, "not used")
                                            : terminal.Paint(Paint::kGood, "open");
    table.AddRow({use.entry.empty() ? use.delegate : use.entry, state,
                  use.device ? std::to_string(use.device->number) : "", use.device ? use.device->name : "",
                  use.device           ? use.device->kind
                  : use.entry == "cpu" ? "cpu"
                                       : "",
                  use.device && use.device->memory_bytes != 0 ? BytesText(use.device->memory_bytes) : "", ClockOf(use),
                  use.device ? use.device->driver : ""});
  }
  Print("{}", table.Text(terminal, ""));
  for (const DeviceUse& use : uses)
    if (!use.reason.empty()) Print("\n{}: {}\n", use.entry.empty() ? use.delegate : use.entry, use.reason);
}

int RunDevices(const DevicesOptions& options) {
  int exit_status = kDone;
  const std::optional<Context> context = options.context.Open(exit_status);
  if (!context) return exit_status;
  const Result<DelegateListing> opened = context->ListDelegates();
  if (!opened.ok()) return Fail(Stage::kDelegates, opened.status());
  PluginQuery query;
  query.probe_all = options.probe;
  const Result<PluginListing> plugins = context->ListPlugins(query);
  if (!plugins.ok()) return Fail(Stage::kDelegates, plugins.status());
  const std::vector<DeviceUse> uses = ListDevices(*context, *opened, *plugins);
  if (options.json) {
    Json devices = Json::array();
    for (const DeviceUse& use : uses) devices.push_back(ToJson(use));
    PrintJson({{"devices", std::move(devices)}});
  } else {
    PrintDevices(uses, TerminalOf(stdout));
  }
  return kDone;
}

}  // namespace

Command MakeDevicesCommand(CLI::App& app) {
  auto options = std::make_shared<DevicesOptions>();
  CLI::App* syntax = app.add_subcommand("devices", "List the devices of all delegates, with clocks and availability");
  options->context.AddTo(*syntax);
  syntax->add_flag("--probe", options->probe,
                   "Include devices of plugins that the configuration does not name; runs each in a helper process");
  AddJson(*syntax, options->json);
  SetExample(*syntax, "deputy devices --config npu-first --set delegates.npu0.options.frequency=extreme");
  return {syntax, [options] { return RunDevices(*options); }};
}

}  // namespace deputy::cli
