// deputy cache: lists the entries of the cache, checks them, and removes them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/report/json_report.hpp"
#include "cli/terminal/quantity.hpp"
#include "cli/terminal/table.hpp"
#include "cli/terminal/terminal.hpp"
#include "deputy/context.hpp"

namespace deputy::cli {
namespace {

constexpr size_t kKeyDigits = 12;  // of a key that are shown; --json has all

struct CacheOptions {
  ContextOptions context;
  std::vector<std::string> kinds;
  std::string older_than;
  bool json = false;
};

// "blob 10, verdict 2"
std::string CountsByKind(const CacheListing& listing) {
  std::map<std::string, size_t> counts;
  for (const CacheEntry& entry : listing.entries) ++counts[entry.kind];
  std::vector<std::string> parts;
  for (const auto& [kind, count] : counts) parts.push_back(fmt::format("{} {}", kind, count));
  return parts.empty() ? "" : ": " + Joined(parts);
}

std::string EntriesText(size_t count) { return fmt::format("{} {}", count, count == 1 ? "entry" : "entries"); }

// "3 entries (1.2 MB): blob 3"
std::string Summary(const CacheListing& listing) {
  return fmt::format("{} ({}){}", EntriesText(listing.entries.size()), BytesText(TotalBytes(listing)),
                     CountsByKind(listing));
}

// "sim_npu 0.2.0, device 0": the delegate with the version of its plugin, or the plugin alone.
std::string MakerText(const CacheEntry& entry) {
  std::string text = entry.delegate.empty() ? entry.plugin : entry.delegate;
  if (!text.empty() && !entry.plugin_version.empty()) text += " " + entry.plugin_version;
  return entry.device.empty() ? text : fmt::format("{}, device {}", text, entry.device);
}

int List(const CacheOptions& options, const CacheListing& listing) {
  if (options.json) {
    PrintJson(ToJson(listing));
    return kDone;
  }
  if (listing.folder.empty()) {
    Print("the cache is off\n");
    return kDone;
  }
  const Terminal terminal = TerminalOf(stdout);
  Print("folder  {}\n", listing.folder);
  if (!listing.entries.empty()) {
    Table table({{"kind"},
                 {"key", Align::kLeft, Fit::kMiddle, 3},
                 {"size", Align::kRight},
                 {"used", Align::kRight, Fit::kMiddle, 1},
                 {"model"},
                 {"made by"},
                 {"text", Align::kLeft, Fit::kMiddle, 2},
                 {"problem", Align::kLeft, Fit::kWrap}});
    const auto now = std::chrono::system_clock::now();
    for (const CacheEntry& entry : listing.entries)
      table.AddRow({entry.kind, entry.key.substr(0, kKeyDigits), BytesText(entry.bytes),
                    AgeText(std::chrono::duration_cast<std::chrono::seconds>(now - entry.last_use)), entry.model,
                    MakerText(entry), entry.kind == "probe" && !entry.plugin.empty() ? "" : entry.text,
                    entry.stale.empty() ? entry.problem : "stale: " + entry.stale});
    Print("\n{}\n", table.Text(terminal, ""));
  }
  const auto stale = std::count_if(listing.entries.begin(), listing.entries.end(),
                                   [](const CacheEntry& entry) { return !entry.stale.empty(); });
  Print("{}; limit {}{}\n", Summary(listing), BytesText(listing.max_bytes),
        stale == 0 ? "" : fmt::format("; {} stale", stale));
  return kDone;
}

int Verify(const CacheOptions& options, const CacheListing& listing) {
  size_t bad = 0, other = 0;
  for (const CacheEntry& entry : listing.entries) {
    bad += entry.state == CacheEntryState::kDamaged || entry.state == CacheEntryState::kUnreadable;
    other += entry.state == CacheEntryState::kOtherVersion;
  }
  if (options.json) {
    PrintJson(ToJson(listing));
    return bad == 0 ? kDone : kNo;
  }
  const Terminal terminal = TerminalOf(stdout);
  for (const CacheEntry& entry : listing.entries)
    if (!entry.problem.empty())
      Print("{}  {}: {}\n",
            terminal.Paint(entry.state == CacheEntryState::kOtherVersion ? Paint::kDim : Paint::kBad,
                           CacheStateText(entry.state)),
            entry.file, entry.problem);
  Print("{}: {} intact, {} damaged or unreadable, {} of another version\n", EntriesText(listing.entries.size()),
        listing.entries.size() - bad - other, bad, other);
  return bad == 0 ? kDone : kNo;
}

int Purge(const CacheOptions& options, const Context& context) {
  CacheFilter filter;
  filter.kinds = options.kinds;
  if (!options.older_than.empty()) {
    const Result<std::chrono::seconds> age = ParseAge(options.older_than);
    if (!age.ok()) return FailUsage(fmt::format("--older-than: {}", age.status().message()));
    filter.unused_for = *age;
  }
  const Result<CacheListing> removed = context.PurgeCache(filter);
  if (!removed.ok()) return Fail(Stage::kRun, removed.status());
  if (options.json) {
    PrintJson(ToJson(*removed));
  } else if (removed->folder.empty()) {
    Print("the cache is off\n");
  } else {
    Print("removed {}\n", Summary(*removed));
  }
  return kDone;
}

}  // namespace

Command MakeCacheCommand(CLI::App& app) {
  auto options = std::make_shared<CacheOptions>();
  CLI::App* syntax = app.add_subcommand("cache", "List, check or remove what is kept between runs");
  syntax->require_subcommand(1);
  CLI::App* list = syntax->add_subcommand("ls", "List the entries and their total size");
  SetExample(*list, "deputy cache ls --config npu-first");
  CLI::App* verify =
      syntax->add_subcommand("verify", "Compare the checksum of every entry; exit status 1 if any is damaged");
  SetExample(*verify, "deputy cache verify --config npu-first");
  CLI::App* purge = syntax->add_subcommand("purge", "Remove entries; they are made again when they are needed");
  AddRepeated(*purge, "--kind", options->kinds, "KIND", "Only entries of this kind")
      ->check(CLI::IsMember(CacheEntryKinds()));
  purge->add_option("--older-than", options->older_than, "Only entries that were not used for this time, such as 30d")
      ->type_name("AGE");
  SetExample(*purge, "deputy cache purge --kind blob --older-than 30d");
  for (CLI::App* command : {list, verify, purge}) {
    options->context.AddTo(*command);
    AddJson(*command, options->json);
  }
  SetExample(*syntax, "deputy cache ls");
  return {syntax, [options, verify, purge] {
            int exit_status = kDone;
            const std::optional<Context> context = options->context.Read(exit_status);
            if (!context) return exit_status;
            if (purge->parsed()) return Purge(*options, *context);
            const Result<CacheListing> listing = context->ListCache(verify->parsed());
            if (!listing.ok()) return Fail(Stage::kRun, listing.status());
            return verify->parsed() ? Verify(*options, *listing) : List(*options, *listing);
          }};
}

}  // namespace deputy::cli
