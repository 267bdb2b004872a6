// deputy bundle: packs, checks, compares, installs and removes bundles.
#include "deputy/bundle.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/report/bundle_report.hpp"
#include "cli/terminal/quantity.hpp"
#include "cli/terminal/table.hpp"
#include "cli/terminal/terminal.hpp"

namespace deputy::cli {
namespace {

struct BundleOptions {
  BundleContents contents;
  std::string output, bundle, other, version, key, root;
  bool allow_downgrade = false, json = false;
};

int FailBundle(const Status& status) {
  const bool written = status.code() == StatusCode::kUnavailable;
  return Fail(written ? Stage::kRun : Stage::kSetup, status);
}

int RunPack(BundleOptions& options) {
  const std::optional<BundleFileName> name = SplitBundleFileName(options.output);
  if (!name) return FailUsage(fmt::format("--output: '{}' is not NAME-VERSION.dpb", options.output));
  options.contents.name = name->name;
  options.contents.version = name->version;
  const Result<BundleInfo> info = PackBundle(options.contents, options.output);
  if (!info.ok()) return FailBundle(info.status());
  if (options.json) {
    PrintJson(ToJson(*info));
    return kDone;
  }
  std::error_code error;
  const auto size = std::filesystem::file_size(options.output, error);
  Print("{}: {}, {}, {}{}\n", options.output, Plural(info->plugins.size(), "plugin"),
        Plural(info->files.size(), "file"), error ? "written" : BytesText(size),
        info->signed_by.empty() ? "" : ", signed by " + SignerText(*info));
  return kDone;
}

int RunKeygen(const BundleOptions& options) {
  const std::string secret = options.output + ".key", open = options.output + ".pub";
  const Status status = MakeBundleKeys(secret, open);
  if (!status.ok()) return FailBundle(status);
  if (options.json) {
    PrintJson({{"secret_key", secret}, {"public_key", open}});
    return kDone;
  }
  Print("{}: the secret key, for 'bundle pack --sign'; it has no password\n{}: the public key, for --key\n", secret,
        open);
  return kDone;
}

std::string SignatureText(const BundleVerification& verification) {
  if (verification.info.signed_by.empty()) return "signature: none";
  return fmt::format("signature: by {}, {}", SignerText(verification.info),
                     verification.signature_checked ? "checked" : "not checked; give its key by --key");
}

int RunVerify(const BundleOptions& options) {
  const Result<BundleVerification> result = VerifyBundle(options.bundle, options.key);
  if (!result.ok()) return FailBundle(result.status());
  const bool passed = result->problems.empty();
  if (options.json) {
    PrintJson(ToJson(*result));
    return passed ? kDone : kNo;
  }
  const Terminal terminal = TerminalOf(stdout);
  for (const BundleProblem& problem : result->problems)
    Print("{}  {}: {}\n", terminal.Paint(Paint::kBad, "refused"), problem.rule, problem.message);
  if (!passed) return kNo;
  const BundleInfo& info = result->info;
  Print("{}: {} is intact and fits this host: {}, {}\n", options.bundle, BundleTitle(info),
        Plural(info.plugins.size(), "plugin"), BytesText(TotalBytes(info)));
  Print("{}\n", SignatureText(*result));
  return kDone;
}

int RunInspect(const BundleOptions& options) {
  const Result<BundleInfo> info = InspectBundle(options.bundle);
  if (!info.ok()) return FailBundle(info.status());
  if (options.json) {
    PrintJson(ToJson(*info));
  } else {
    Print("{}", BundleText(*info, TerminalOf(stdout)));
  }
  return kDone;
}

int RunDiff(const BundleOptions& options) {
  const Result<BundleInfo> before = InspectBundle(options.bundle);
  if (!before.ok()) return FailBundle(before.status());
  const Result<BundleInfo> after = InspectBundle(options.other);
  if (!after.ok()) return FailBundle(after.status());
  const std::vector<BundleDifference> differences = CompareBundles(*before, *after);
  if (options.json) {
    PrintJson({{"before", BundleTitle(*before)}, {"after", BundleTitle(*after)}, {"differences", ToJson(differences)}});
  } else {
    Print("{} to {}\n", BundleTitle(*before), BundleTitle(*after));
    Table table({{"change"}, {"item"}, {"before"}, {"after"}});
    for (const BundleDifference& difference : differences) {
      const bool file = difference.kind == "file";
      const auto shown = [&](const std::optional<std::string>& value) {
        return value ? value->substr(0, file ? 12 : std::string::npos) : std::string();
      };
      table.AddRow({!difference.before  ? "added"
                    : !difference.after ? "removed"
                                        : "changed",
                    difference.kind + " " + difference.name, shown(difference.before), shown(difference.after)});
      for (const BundleDifference& value : difference.values)
        table.AddRow({"", "  " + value.name, value.before.value_or("-"), value.after.value_or("-")});
    }
    if (differences.empty()) {
      Print("the same contents\n");
    } else {
      Print("{}", table.Text(TerminalOf(stdout), ""));
    }
    for (const BundleDifference& difference : differences)
      if (!difference.problem.empty())
        Print("the values of the configuration are not compared: {}\n", Shown::Lines(difference.problem));
  }
  return differences.empty() ? kDone : kNo;
}

int RunInstall(const BundleOptions& options) {
  const Result<BundleVerification> result =
      InstallBundle(options.bundle, BundleInstallation{options.key, options.root, options.allow_downgrade});
  if (!result.ok()) return FailBundle(result.status());
  if (options.json) {
    PrintJson(ToJson(*result));
    return result->problems.empty() ? kDone : kNo;
  }
  for (const BundleProblem& problem : result->problems)
    FailNo(fmt::format("{}: refused: {}: {}", options.bundle, problem.rule, problem.message));
  if (!result->problems.empty()) return kNo;
  const BundleInfo& info = result->info;
  Print("{} is installed in {}\n", BundleTitle(info),
        (std::filesystem::path(BundleRoot(options.root)) / info.name / info.version).string());
  Print("{}\n", SignatureText(*result));
  return kDone;
}

int RunRollback(const BundleOptions& options) {
  const Result<InstalledBundle> bundle = RollBackBundle(options.bundle, options.version, options.root);
  if (!bundle.ok()) return FailBundle(bundle.status());
  if (options.json) {
    PrintJson({{"name", bundle->name}, {"version", bundle->version}});
    return kDone;
  }
  Print("{} {} is in use\n", bundle->name, bundle->version);
  return kDone;
}

int RunList(const BundleOptions& options) {
  const Result<std::vector<InstalledBundle>> bundles = ListBundles(options.root);
  if (!bundles.ok()) return FailBundle(bundles.status());
  const std::string root = BundleRoot(options.root);
  if (options.json) {
    PrintJson({{"root", root}, {"bundles", ToJson(*bundles)}});
    return kDone;
  }
  Print("bundles are installed in {}\n", root);
  if (bundles->empty()) return kDone;
  Table table({{"bundle"}, {"version"}, {""}, {"folder", Align::kLeft, Fit::kMiddle, 1}});
  for (const InstalledBundle& bundle : *bundles)
    table.AddRow({bundle.name, bundle.version, bundle.current ? "in use" : "", bundle.folder});
  Print("\n{}", table.Text(TerminalOf(stdout), ""));
  return kDone;
}

int RunRemove(const BundleOptions& options) {
  const Status status = RemoveBundle(options.bundle, options.version, options.root);
  if (!status.ok()) return FailBundle(status);
  if (options.json) {
    PrintJson({{"name", options.bundle}, {"version", options.version.empty() ? Json() : Json(options.version)}});
    return kDone;
  }
  Print("{}{}{} is removed\n", options.bundle, options.version.empty() ? "" : " ", options.version);
  return kDone;
}

}  // namespace

Command MakeBundleCommand(CLI::App& app) {
  auto options = std::make_shared<BundleOptions>();
  CLI::App* syntax = app.add_subcommand("bundle", "Pack plugins, configuration and models; check and install them");
  syntax->require_subcommand(1);
  std::vector<std::pair<CLI::App*, std::function<int()>>> commands;
  const auto add = [&](const char* name, const char* help, int (*run)(const BundleOptions&), const char* example) {
    CLI::App* command = syntax->add_subcommand(name, help);
    commands.emplace_back(command, [options, run] { return run(*options); });
    SetExample(*command, example);
    return command;
  };
  const auto add_bundle = [&](CLI::App& command, const char* name, std::string& value, const char* help) {
    command.add_option(name, value, help)->required()->type_name("BUNDLE");
  };
  const auto add_root = [&](CLI::App& command) {
    command
        .add_option("--root", options->root,
                    "Folder of installed bundles [default: $DEPUTY_BUNDLES, else the folder of the user, for root of "
                    "the system]")
        ->type_name("DIR");
  };
  const auto add_key = [&](CLI::App& command) {
    command.add_option("--key", options->key, "Public key that must have signed the bundle, or its file")
        ->type_name("KEY");
  };

  CLI::App* pack = syntax->add_subcommand("pack", "Pack a configuration, the plugins that it names, and models");
  commands.emplace_back(pack, [options] { return RunPack(*options); });
  AddJson(*pack, options->json);
  AddRepeated(*pack, "--config", options->contents.configurations, "FILE", "Configuration file, with its conf.d")
      ->required();
  AddRepeated(*pack, "--model", options->contents.models, "FILE", "Model file");
  pack->add_option("-o,--output", options->output, "Output file, NAME-VERSION.dpb")->required()->type_name("FILE");
  CLI::Option* sign =
      pack->add_option("--sign", options->contents.secret_key, "Secret key to sign with")->type_name("FILE");
  pack->add_option("--expires", options->contents.expires, "Last day on which the signature is valid, in UTC")
      ->needs(sign)
      ->type_name("YYYY-MM-DD");
  SetExample(*pack, "deputy bundle pack --config device.yaml --model model.dpm -o camera-1.2.dpb --sign release.key");

  CLI::App* keygen =
      add("keygen", "Make a pair of keys: NAME.key and NAME.pub", RunKeygen, "deputy bundle keygen -o release");
  keygen->add_option("-o,--output", options->output, "Name of both files without the ending")
      ->required()
      ->type_name("NAME");
  AddJson(*keygen, options->json);

  constexpr const char* kAnyBundle = "Bundle file, or the name of an installed bundle";
  CLI::App* verify = add("verify", "Check a bundle: its bytes, its signature, and whether it fits this host", RunVerify,
                         "deputy bundle verify camera-1.2.dpb --key release.pub");
  add_bundle(*verify, "bundle", options->bundle, kAnyBundle);
  add_key(*verify);
  AddJson(*verify, options->json);
  CLI::App* inspect =
      add("inspect", "Show the contents of a bundle", RunInspect, "deputy bundle inspect camera-1.2.dpb");
  add_bundle(*inspect, "bundle", options->bundle, kAnyBundle);
  AddJson(*inspect, options->json);
  CLI::App* diff = add("diff", "Show the differences of two bundles; exit status 1 if there are some", RunDiff,
                       "deputy bundle diff camera-1.2.dpb camera-1.3.dpb");
  add_bundle(*diff, "before", options->bundle, kAnyBundle);
  add_bundle(*diff, "after", options->other, kAnyBundle);
  AddJson(*diff, options->json);

  CLI::App* install = add("install", "Verify a bundle, unpack it beside its other versions, and use it", RunInstall,
                          "deputy bundle install camera-1.2.dpb --key release.pub");
  add_bundle(*install, "bundle", options->bundle, "Bundle file");
  add_key(*install);
  add_root(*install);
  install->add_flag("--allow-downgrade", options->allow_downgrade,
                    "Install a version lower than the one in use, which is refused otherwise with exit status 1");
  AddJson(*install, options->json);
  CLI::App* rollback = add("rollback", "Use the version that was in use before, or another installed one", RunRollback,
                           "deputy bundle rollback camera");
  add_bundle(*rollback, "bundle", options->bundle, "Name of an installed bundle");
  rollback->add_option("version", options->version, "Version to use [default: the one before]")->type_name("VERSION");
  add_root(*rollback);
  AddJson(*rollback, options->json);
  CLI::App* list = add("list", "List the installed bundles", RunList, "deputy bundle list");
  add_root(*list);
  AddJson(*list, options->json);
  CLI::App* remove = add("remove", "Remove an installed bundle, or one version that is not in use", RunRemove,
                         "deputy bundle remove camera 1.1");
  add_bundle(*remove, "bundle", options->bundle, "Name of an installed bundle");
  remove->add_option("version", options->version, "Version to remove [default: all]")->type_name("VERSION");
  add_root(*remove);
  AddJson(*remove, options->json);
  SetExample(*syntax, "deputy bundle install camera-1.2.dpb --key release.pub");
  return {syntax, [commands] {
            for (const auto& [command, run] : commands)
              if (command->parsed()) return run();
            return static_cast<int>(kUsage);
          }};
}

}  // namespace deputy::cli
