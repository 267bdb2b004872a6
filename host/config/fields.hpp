// Every key of the configuration with its meaning, type and range: the one list that the reader (schema.cpp), the
// printer (show.cpp), the JSON Schema (json_schema.cpp) and the reference (reference.cpp) walk. A visitor sees the keys
// in the order in which they are printed. A key that is planned and has no effect yet is listed as Unavailable: reader
// and schema refuse it by name. tests/integration/settings_test.py shows the effect of every other key. Words of
// enumerations: words.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "config/config.hpp"

namespace deputy::host {

// For visitors that need no more than the name it converts to it.
struct Key {
  std::string_view name;
  std::string_view meaning;       // a phrase for the reference and for editors
  std::string_view example = {};  // a value as written in the YAML

  constexpr operator std::string_view() const { return name; }  // NOLINT(google-explicit-constructor)
};

// `word`, if any, is written for the value 0, which need not lie within the range; without a word 0 outside the range
// is the value of a key that is absent.
struct IntegerRange {
  int64_t min;
  int64_t max;
  std::string_view word = {};
};

struct RealRange {
  double min;
  double max;
};

struct PercentRange {
  std::string_view min;
  std::string_view max;
};

// `automatic`, if any, is written for kAutomatic, and `none` for 0, which a range with words includes.
struct DurationRange {
  std::string_view min;
  std::string_view max;
  std::string_view automatic = {}, none = {};

  bool has_words() const { return !automatic.empty(); }
  // The word of the value; empty where it is written with its unit.
  std::string_view WordOf(Duration value) const {
    return !has_words() ? std::string_view() : value == kAutomatic ? automatic : value.count() == 0 ? none : "";
  }
};

struct SizeRange {
  std::string_view min;
  std::string_view max;
};

enum class TextKind {
  kName,        // [A-Za-z0-9_.-]+
  kPattern,     // any text but an empty one
  kDevice,      // a number, or any text but an empty one
  kPluginPath,  // a folder, or a folder under $deputy
  kPublicKey,   // the base64 line of a minisign public key
  kCacheDir,    // auto, off or a folder
  kFolder,      // auto or a folder
  kDump,        // a word of kDumpWords
  kVariable     // a name of environment variables, or the beginning of names before a '*'
};

// Required keys are checked by name in schema.cpp; everything here may be absent.
template <class V, class D>
void VisitDelegate(V& v, D& d) {
  v.Text(Key{"name", "unique name of this entry; rules, reports, caches and --set use it", "npu0"}, d.name,
         TextKind::kName);
  v.Instruction(Key{"before", "name of the entry before which this layer places it; without, a new entry is the last",
                    "onednn"});  // where a layer puts the delegate; gone after merging
  v.Text(Key{"delegate",
             "id that a plugin publishes ('deputy plugins' lists them); the name by default. Several entries may use "
             "one plugin",
             "sim_npu"},
         d.delegate, TextKind::kName);
  v.Text(Key{"device", "id, name or number of the device", "1"}, d.device, TextKind::kDevice);
  v.Flag(Key{"enabled", "false: the entry is not used", "false"}, d.enabled);
  v.Flag(Key{"required",
             "true: loading fails if the delegate cannot be used; false: a warning, and the next delegate is used",
             "true"},
         d.required);
  v.Options(Key{"options", "options of the delegate, checked against the schema that its plugin publishes",
                "{frequency: low}"},
            d.options);
  v.Choice(
      Key{"precision",
          "element type in which the delegate computes nodes of float32; one that it cannot compute so goes to the "
          "next delegate. own: the delegate's choice, which its options describe",
          "float32"},
      d.precision);
  v.Integer(Key{"priority",
                "of the delegate's work against that of others on one device; larger is more urgent. The device may "
                "ignore it",
                "1"},
            d.priority, {-1000, 1000});
  v.Group(Key{"rules", "nodes that are offered to the delegate; a node must satisfy all of them"}, [&] {
    v.Texts(Key{"allow_ops", "operators that are offered to the delegate; none other are", "[Conv, Relu]"},
            d.rules.allow_ops, TextKind::kPattern);
    v.Texts(Key{"deny_ops", "operators that are never offered to the delegate", "[Softmax]"}, d.rules.deny_ops,
            TextKind::kPattern);
    v.Texts(
        Key{"nodes", "globs of names of nodes that are offered to the delegate; none other are", "[\"backbone/*\"]"},
        d.rules.nodes, TextKind::kPattern);
    v.Texts(Key{"deny_nodes", "globs of names of nodes that are never offered to the delegate", "[\"*/nms*\"]"},
            d.rules.deny_nodes, TextKind::kPattern);
  });
  v.Unavailable(Key{"shapes", "shapes for which a device with static shapes compiles"});
  v.Integer(Key{"min_nodes", "smallest partition, in nodes; smaller ones go to the next delegate", "3"}, d.min_nodes,
            {1, 1000000});
  v.Integer(Key{"min_flops", "smallest partition, in floating-point operations; smaller ones go to the next delegate",
                "1000000"},
            d.min_flops, {0, 1000000000000000000});
  v.Choice(
      Key{"isolation",
          "none: the plugin runs in this process, which ends when the plugin crashes. process: in a worker process, "
          "after whose crash the next delegate computes the partition. auto: process where timeout, call_timeout, "
          "call_timeout_total or memory_limit are set, and for a plugin that the lock of its folder (SHA256SUMS) does "
          "not list or that opens other vendors' libraries, unless 'trust: any' or 'debug: {check: true}' allow it "
          "here; else none",
          "process"},
      d.isolation);
  v.Quantity(
      Key{"timeout",
          "time of a run of a partition after which the worker process is ended. auto: call_timeout for the first "
          "run, then 20 times the slowest of the first runs, and at least 5s. none: no limit",
          "500ms"},
      d.timeout, DurationRange{"0ms", "1h", "auto", "none"});
  v.Quantity(Key{"call_timeout",
                 "time of any other call, such as a compilation, after which the worker process is ended; each step of "
                 "progress that a compilation reports starts it again; with isolation: none, time after which the call "
                 "is reported",
                 "2min"},
             d.call_timeout, DurationRange{"10ms", "1h"});
  v.Quantity(Key{"call_timeout_total",
                 "time after which a compilation is ended in spite of its progress; a shorter one than call_timeout is "
                 "that",
                 "30min"},
             d.call_timeout_total, DurationRange{"10ms", "24h"});
  v.Quantity(
      Key{"spin",
          "most time that a run polls for its worker process, and the process for the next run, before they sleep; "
          "less where polling is in vain, none where one processor may be used. 0us: none",
          "20us"},
      d.spin, DurationRange{"0us", "10ms"});
  v.Quantity(Key{"memory_limit", "most memory that the worker process may hold, with that of its tensors; 0B: no limit",
                 "2GB"},
             d.memory_limit, SizeRange{"0B", "1000TB"});
  v.Choice(
      Key{"on_failure",
          "after a failed run: next, the delegates after this one run the partition; fail, the run ends with the error",
          "fail"},
      d.on_failure);
  v.GroupOrChoice(
      Key{"verify", "comparison of the delegate's results with the CPU's; a single word is its key 'when'",
          "first_run"},
      d.verify.when, [&] {
        v.Choice(Key{"when",
                     "which runs of a partition are compared with the CPU; auto: first_run for a plugin that no lock "
                     "lists or that opens other vendors' libraries, else never",
                     "first_run"},
                 d.verify.when);
        v.Integer(Key{"every", "also compares every n-th run after the first of a session", "100"}, d.verify.every,
                  {1, 1000000000});
        v.Real(Key{"rtol", "relative tolerance; by default it follows from the element type", "1e-2"}, d.verify.rtol,
               {0, 1});
        v.Real(Key{"atol", "absolute tolerance", "1e-5"}, d.verify.atol, {0, 1e30});
        v.Real(Key{"atol_scale", "absolute tolerance as a share of the largest magnitude of the output", "1e-3"},
               d.verify.atol_scale, {0, 1});
        v.Real(Key{"outliers", "share of elements that may differ by a quantization step", "0.01"}, d.verify.outliers,
               {0, 1});
        v.Choice(Key{"on_mismatch",
                     "after a wrong result: next, the CPU's result is used and the wrong nodes go to the next "
                     "delegate; fail, the run ends with an error",
                     "fail"},
                 d.verify.on_mismatch);
      });
}

template <class V, class R>
void VisitPlacementRule(V& v, R& r) {
  v.Texts(Key{"nodes", "globs of node names", "[\"*/nms*\"]"}, r.nodes, TextKind::kPattern);
  v.Texts(Key{"ops", "operators", "Resize"}, r.ops, TextKind::kPattern);
  v.Texts(Key{"domains", "operator domains; ONNX's own is ai.onnx", "com.microsoft"}, r.domains, TextKind::kPattern);
  v.Unavailable(Key{"regions", "regions of the graph"});
  v.Text(Key{"to",
             "the only delegate for these nodes: the name of an entry, or cpu: the host's own kernels, and none of a "
             "plugin's kernels for its own operators",
             "cpu"},
         r.to, TextKind::kName);
  v.Texts(Key{"avoid", "delegates that never get these nodes", "[onednn]"}, r.avoid, TextKind::kName);
}

// C: Config or const Config.
template <class V, class C>
void VisitConfig(V& v, C& c) {
  v.Integer(Key{"version", "version of the keys and of their meaning; required in every file", "1"}, c.version,
            {kConfigVersion, kConfigVersion});
  v.Group(Key{"plugins", "the plugin folders, and which of their files are used"}, [&] {
    v.Texts(Key{"paths",
                "folders that are searched for plugins, in this order; relative to this file. $deputy is the folder of "
                "the installed library",
                "[./plugins, $deputy/plugins]"},
            c.plugins.paths, TextKind::kPluginPath);
    v.Choice(
        Key{"trust",
            "probe: a helper process runs a plugin first, and files that other users may change are rejected; "
            "listed: the same, and the lock of the folder (SHA256SUMS) must list them; any: neither, with a warning",
            "listed"},
        c.plugins.trust);
    v.Texts(Key{"trust_keys", "public keys of minisign, one of which must have signed the lock of 'trust: listed'",
                "[RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3]"},
            c.plugins.trust_keys, TextKind::kPublicKey);
    v.Choice(
        Key{"auto", "delegates that are found and not listed: off, not used; last, used after the listed ones", "last"},
        c.plugins.auto_use);
    v.Flag(
        Key{"sandbox",
            "whether a process in which a plugin runs gives up the rights that computing does not need: to open files "
            "of others, to connect, to start and to signal programs, to see the environment",
            "false"},
        c.plugins.sandbox);
    v.Texts(Key{"environment",
                "environment variables that a process in a sandbox gets, beyond the few that it always gets; a '*' at "
                "the end of a name stands for any rest",
                "[ONEDNN_*, MY_NPU_FIRMWARE]"},
            c.plugins.environment, TextKind::kVariable);
    v.Texts(Key{"readable",
                "folders whose files a process in a sandbox may read, beyond its plugin's folder and those of the "
                "system; relative to this file. For libraries that a plugin opens elsewhere",
                "[/srv/vendor/runtime]"},
            c.plugins.readable, TextKind::kPluginPath);
    v.Quantity(Key{"probe_timeout",
                   "time that a plugin has for describing itself in the helper process; then five times that for a "
                   "trial of its delegates",
                   "5s"},
               c.plugins.probe_timeout, DurationRange{"10ms", "10min"});
  });
  v.Items(
      Key{"delegates",
          "delegates in order of priority; an empty list means the CPU alone. The CPU is never listed and always last"},
      c.delegates, [&](auto& delegate) { VisitDelegate(v, delegate); });
  v.Group(Key{"cpu", "the CPU, which runs the rest"}, [&] {
    v.Integer(Key{"threads", "threads of the CPU's kernels; auto: one per processor", "2"}, c.cpu.threads,
              {1, 1024, "auto"});
  });
  v.Choice(
      Key{"fallback", "cpu: nodes that no delegate supports run on the CPU; none: such a node is an error", "none"},
      c.fallback);
  v.Group(Key{"placement", "choice between delegates that support a node"}, [&] {
    v.Choice(Key{"policy",
                 "priority: the order decides; measured: the first run of a model measures other placements, and the "
                 "fastest is kept; cost: predicted costs of operators decide",
                 "measured"},
             c.placement.policy);
    v.Quantity(Key{"budget", "time for the measurements of one model and set of shapes", "5s"}, c.placement.budget,
               DurationRange{"1ms", "1h"});
    v.Quantity(Key{"margin", "smallest gain for which a measurement changes the placement", "5%"}, c.placement.margin,
               PercentRange{"0%", "90%"});
    v.Items(Key{"rules",
                "rules over all delegates: nodes that match every given selector go to one delegate, or never to some",
                "[{ops: Resize, avoid: onednn}]"},
            c.placement.rules, [&](auto& rule) { VisitPlacementRule(v, rule); });
  });
  v.Group(Key{"models", "the files of models, and what is kept of them"}, [&] {
    v.Flag(Key{"map_files",
               "true: weights are read from the files, which must not change while the model is in use; false: from a "
               "copy in memory",
               "false"},
           c.models.map_files);
    v.Integer(
        Key{"plans",
            "most sets of input shapes for which a model keeps its plan, with the weights that delegates converted "
            "for them; beyond it the plan that was not used for longest is made anew when its shapes return",
            "64"},
        c.models.plans, {1, 4096});
  });
  v.Group(Key{"passes", "passes over the graph before it is partitioned; see passes.md"}, [&] {
#define DEPUTY_PASS(name, key, text) v.Flag(Key{#key, text, "false"}, c.passes.key);
#include "graph/passes/passes.inc"
    v.Quantity(Key{"fold_budget", "largest result of computing nodes at load time", "64MB"}, c.passes.fold_budget,
               SizeRange{"0B", "1TB"});
  });
  v.Group(Key{"limits", "what a session may take; a run or a load beyond it ends with an error"}, [&] {
    v.Integer(Key{"loop_steps", "iterations of all Loops and Scans of a run; none: no limit", "1000000"},
              c.limits.loop_steps, {1, 1000000000000000000, "none"});
    v.Quantity(Key{"timeout", "time of a run, unless the application sets another one; 0ms: no limit", "30s"},
               c.limits.timeout, DurationRange{"0ms", "24h"});
    v.Quantity(Key{"memory",
                   "memory of a session: arena, outputs, values of extents known only in a run, working memory and "
                   "weights that the CPU has packed; 0B: no limit",
                   "2GB"},
               c.limits.memory, SizeRange{"0B", "1000TB"});
  });
  v.Group(Key{"cache", "what is kept between runs: compiled partitions, measurements, verdicts"}, [&] {
    v.Text(Key{"dir", "auto: the user's cache folder; off: nothing is kept; or a folder", "./cache"}, c.cache.dir,
           TextKind::kCacheDir);
    v.Quantity(Key{"max", "size above which the entries used least recently are removed", "2GB"}, c.cache.max,
               SizeRange{"1MB", "1000TB"});
  });
  v.Group(Key{"log", "messages on stderr, or in the application's log sink"}, [&] {
    v.Choice(Key{"level", "least severity of messages", "warning"}, c.log.level);
    v.Choice(
        Key{"format",
            "form of messages on stderr. text: 'warning: npu0: message'; json: an object a line, with time, level, "
            "source and message; auto: text, with the priority in front where stderr is the journal of systemd",
            "json"},
        c.log.format);
    v.Choices(Key{"delegates", "least severity per delegate", "{npu0: debug}"}, c.log.delegates, TextKind::kName);
  });
  v.Group(Key{"debug", "aids for finding faults"}, [&] {
    v.Flag(Key{"check", "true: compares every call of a plugin with its contract; slow", "true"}, c.debug.check);
    v.Flag(Key{"abort_on_hang",
               "true: ends this process by SIGABRT when a call into a plugin in it takes longer than call_timeout",
               "true"},
           c.debug.abort_on_hang);
    v.Texts(Key{"dump", "what is written into files while a model is loaded and first run", "[graph, plan]"},
            c.debug.dump, TextKind::kDump);
    v.Text(Key{"dump_dir", "folder for dumps; auto: deputy-dump in the working directory", "./dump"}, c.debug.dump_dir,
           TextKind::kFolder);
  });
}

}  // namespace deputy::host
