// Keys, types, ranges and units of a configuration that is sound YAML.
#include "config/schema.hpp"

#include <gtest/gtest.h>

#include "unit/config/load.hpp"

namespace deputy::host {
namespace {

using testing::Contains;
using testing::Good;
using testing::kEverything;
using testing::ProblemsOf;

TEST(SchemaTest, EveryKeyIsRead) {
  const Config config = Good(kEverything);
  EXPECT_EQ(*config.version, 1);
  EXPECT_EQ(*config.plugins.trust, Trust::kAny);
  EXPECT_EQ(*config.plugins.auto_use, AutoUse::kLast);
  EXPECT_EQ(config.plugins.probe_timeout->count(), 1500000);
  EXPECT_EQ(*config.cpu.threads, 2);
  EXPECT_EQ(*config.fallback, Fallback::kDisabled);
  EXPECT_EQ(*config.placement.policy, Policy::kPriority);
  EXPECT_EQ(*config.cache.dir, "/base/cache");
  EXPECT_EQ(config.cache.max->count, 536870912);
  EXPECT_EQ(*config.log.level, LogLevel::kWarning);
  ASSERT_EQ(config.log.delegates.size(), 1u);
  EXPECT_EQ(config.log.delegates[0].name, "npu0");
  EXPECT_EQ(*config.log.delegates[0], LogLevel::kDebug);
  EXPECT_TRUE(*config.debug.check);
  ASSERT_EQ(config.debug.dump.size(), 2u);
  EXPECT_EQ(*config.debug.dump[1], "tensors");
  EXPECT_EQ(*config.debug.dump_dir, "/base/dump");
}

TEST(SchemaTest, AWordThatCannotBeDumpedIsRefusedWithTheNearest) {
  EXPECT_EQ(
      ProblemsOf("version: 1\ndebug: {dump: [plan, tensor]}\n"),
      "t.yaml:2:22: 'dump' must be one of graph, placement, plan, tensors, not 'tensor'; did you mean 'tensors'?");
}

TEST(SchemaTest, EveryKeyOfADelegateIsRead) {
  const Config config = Good(kEverything);
  ASSERT_EQ(config.delegates.size(), 2u);
  const DelegateConfig& npu = config.delegates[0];
  EXPECT_EQ(*npu.name, "npu0");
  EXPECT_EQ(*npu.delegate, "sim_npu");
  EXPECT_EQ(*npu.device, "1");
  EXPECT_FALSE(*npu.enabled);
  EXPECT_TRUE(*npu.required);
  ASSERT_EQ(npu.rules.allow_ops.size(), 2u);
  EXPECT_EQ(*npu.rules.allow_ops[1], "Relu");
  EXPECT_EQ(*npu.rules.deny_ops[0], "Softmax");
  EXPECT_EQ(*npu.rules.nodes[0], "backbone/*");
  EXPECT_EQ(*npu.rules.deny_nodes[0], "x*");
  EXPECT_EQ(*npu.min_nodes, 2);
  EXPECT_EQ(*npu.min_flops, 1000000);
}

TEST(SchemaTest, DelegateHasItsDefaults) {
  const Config config = Good("version: 1\ndelegates: [{name: npu0}]\n");
  const DelegateConfig& npu = config.delegates[0];
  EXPECT_EQ(*npu.delegate, "npu0");
  EXPECT_EQ(npu.delegate.origin.ToString(), "default");
  EXPECT_EQ(*npu.device, "0");
  EXPECT_TRUE(*npu.enabled);
  EXPECT_FALSE(*npu.required);
  EXPECT_EQ(*npu.min_nodes, 1);
  EXPECT_EQ(*npu.min_flops, 0);
}

// Seed row 24.
TEST(SchemaTest, PlacementRulesAreRead) {
  const Config config = Good(kEverything);
  ASSERT_EQ(config.placement.rules.size(), 2u);
  EXPECT_EQ(*config.placement.rules[0].nodes[0], "*/nms*");
  EXPECT_EQ(*config.placement.rules[0].to, "cpu");
  EXPECT_EQ(config.placement.rules[0].to.origin.ToString(), "t.yaml:26:61");
  EXPECT_EQ(*config.placement.rules[1].ops[0], "Gemm");
  EXPECT_EQ(*config.placement.rules[1].domains[0], "ai.onnx");
  EXPECT_EQ(*config.placement.rules[1].avoid[0], "npu0");
}

TEST(SchemaTest, R65_OptionsKeepTextQuotesOrderAndPlace) {
  const Config config = Good(kEverything);
  const auto& options = config.delegates[0].options;
  ASSERT_EQ(options.size(), 6u);
  EXPECT_EQ(options[0].name, "frequency");
  EXPECT_EQ(options[0]->text, "high");
  EXPECT_EQ(options[0].origin().ToString(), "t.yaml:14:18");
  EXPECT_EQ(options[1]->text, "800MHz");
  EXPECT_EQ(*options[2], (OptionValue{"3", false}));
  EXPECT_EQ(*options[3], (OptionValue{"3", true}));
  EXPECT_EQ(options[4].name, "misbehave.stage");
  EXPECT_EQ(options[5].name, "misbehave.after_n");
  EXPECT_EQ(options[5].origin().ToString(), "t.yaml:18:40");
}

TEST(SchemaTest, R58_YesAndOnStayTextInOptions) {
  const Config config = Good("version: 1\ndelegates: [{name: a, options: {x: yes, y: on, z: 017}}]\n");
  EXPECT_EQ(config.delegates[0].options[0]->text, "yes");
  EXPECT_EQ(config.delegates[0].options[1]->text, "on");
  EXPECT_EQ(config.delegates[0].options[2]->text, "017");
}

TEST(SchemaTest, R51_MissingVersionIsRefused) {
  EXPECT_EQ(ProblemsOf("fallback: cpu\n"), "t.yaml:1:1: key 'version' is missing; write 'version: 1'");
}

TEST(SchemaTest, OtherVersionIsRefusedWithNothingElse) {
  EXPECT_EQ(ProblemsOf("version: 2\nnew_key: 1\n"),
            "t.yaml:1:10: this Deputy reads version 1 of the configuration, not '2'");
  EXPECT_EQ(ProblemsOf("version: one\n"), "t.yaml:1:10: 'version' must be 1, not 'one': that is not a number");
}

TEST(SchemaTest, R52_UnknownKeyIsRefusedWithTheNearestMatch) {
  EXPECT_EQ(
      ProblemsOf("version: 1\ndelegate: []\n"),
      "t.yaml:2:1: unknown key 'delegate'; did you mean 'delegates'? (accepted here: version, plugins, delegates, "
      "cpu, fallback, placement, models, passes, limits, cache, log, debug)");
  EXPECT_EQ(ProblemsOf("version: 1\ncpu:\n  thread: 1\n"),
            "t.yaml:3:3: unknown key 'thread'; did you mean 'threads'? (accepted here: threads)");
}

TEST(SchemaTest, PassIsSwitchedByItsName) {
  const Config config = Good("version: 1\npasses: {fold_batch_norm: false, fold_budget: 1MB}\n");
  EXPECT_FALSE(*config.passes.fold_batch_norm);
  EXPECT_TRUE(*config.passes.fold_constants);
  EXPECT_EQ(config.passes.fold_budget->count, 1'000'000);
}

TEST(SchemaTest, LimitsOfASession) {
  const Config config = Good("version: 1\nlimits: {loop_steps: 5, timeout: 1.5s, memory: 64MiB}\n");
  EXPECT_EQ(*config.limits.loop_steps, 5);
  EXPECT_EQ(*config.limits.timeout, std::chrono::milliseconds(1500));
  EXPECT_EQ(config.limits.memory->count, 64 << 20);
  const Config open = Good("version: 1\nlimits: {loop_steps: none, timeout: 0ms, memory: 0B}\n");
  EXPECT_EQ(*open.limits.loop_steps, 0);
  EXPECT_EQ(open.limits.memory->count, 0);
}

TEST(SchemaTest, R60_LimitsOutOfRangeAreRefusedWithTheirPlace) {
  EXPECT_EQ(ProblemsOf("version: 1\nlimits:\n  loop_steps: 0\n"),
            "t.yaml:3:15: 'loop_steps' must be none or a whole number from 1 to 1000000000000000000, not '0'");
  EXPECT_EQ(
      ProblemsOf("version: 1\nlimits: {timeout: 30}\n"),
      "t.yaml:2:19: 'timeout' must be a duration from 0ms to 24h with its unit (us, ms, s, min, h), not '30': the "
      "unit is missing");
  EXPECT_EQ(
      ProblemsOf("version: 1\nlimits: {memory: -1MB}\n"),
      "t.yaml:2:18: 'memory' must be a size from 0B to 1000TB with its unit (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB), "
      "not '-1MB': that is negative");
  EXPECT_EQ(ProblemsOf("version: 1\nlimits: {step: 1}\n"),
            "t.yaml:2:10: unknown key 'step' (accepted here: loop_steps, timeout, memory)");
}

TEST(SchemaTest, UnknownPassIsRefusedWithTheNearestMatch) {
  EXPECT_EQ(ProblemsOf("version: 1\npasses:\n  fold_batchnorm: false\n"),
            "t.yaml:3:3: unknown key 'fold_batchnorm'; did you mean 'fold_batch_norm'? (accepted here: fold_constants, "
            "fold_shapes, drop_identities, merge_duplicates, cancel_transposes, fold_batch_norm, drop_unused, "
            "fold_budget)");
  EXPECT_EQ(ProblemsOf("version: 1\npasses: {drop_unused: off}\n"),
            "t.yaml:2:23: 'drop_unused' must be true or false, not 'off': write false");
}

TEST(SchemaTest, VerificationIsAWordOrAMapping) {
  const Config word = Good("version: 1\ndelegates: [{name: a, verify: first_run}]\n");
  EXPECT_EQ(*word.delegates[0].verify.when, VerifyWhen::kFirstRun);
  const Config mapping = Good(
      "version: 1\ndelegates: [{name: a, verify: {when: always, every: 3, rtol: 1e-2, outliers: 0.5, on_mismatch: "
      "fail}}]\n");
  const VerifyConfig& verify = mapping.delegates[0].verify;
  EXPECT_EQ(*verify.when, VerifyWhen::kAlways);
  EXPECT_EQ(*verify.every, 3);
  EXPECT_EQ(verify.rtol.value, 1e-2);
  EXPECT_EQ(verify.outliers.value, 0.5);
  EXPECT_EQ(verify.atol.value, std::nullopt);
  EXPECT_EQ(*verify.on_mismatch, OnFailure::kFail);
}

TEST(SchemaTest, MistakesInAVerificationAreRefused) {
  EXPECT_EQ(ProblemsOf("version: 1\ndelegates: [{name: a, verify: sometimes}]\n"),
            "t.yaml:2:31: 'verify' must be one of auto, never, first_run, always, not 'sometimes'");
  EXPECT_EQ(ProblemsOf("version: 1\ndelegates: [{name: a, verify: {rtol: 2}}]\n"),
            "t.yaml:2:38: 'rtol' must be a number from 0 to 1, not '2'");
  EXPECT_EQ(ProblemsOf("version: 1\ndelegates: [{name: a, verify: {every: 0}}]\n"),
            "t.yaml:2:39: 'every' must be a whole number from 1 to 1000000000, not '0'");
}

TEST(SchemaTest, R52_UnknownKeyWithoutAMatchListsWhatIsAccepted) {
  EXPECT_EQ(ProblemsOf("version: 1\ndebug: {zebra: 1}\n"),
            "t.yaml:2:9: unknown key 'zebra' (accepted here: check, abort_on_hang, dump, dump_dir)");
}

TEST(SchemaTest, R52_UnknownKeyOfADelegateIsRefused) {
  EXPECT_EQ(ProblemsOf("version: 1\ndelegates:\n  - name: a\n    min_node: 1\n"),
            "t.yaml:4:5: unknown key 'min_node'; did you mean 'min_nodes'? (accepted here: name, before, delegate, "
            "device, enabled, required, options, precision, priority, rules, min_nodes, min_flops, isolation, timeout, "
            "call_timeout, call_timeout_total, spin, memory_limit, on_failure, verify)");
}

TEST(SchemaTest, TrustKeysArePublicKeys) {
  const std::string key = "RW" + std::string(54, 'a');
  EXPECT_EQ(ProblemsOf("version: 1\nplugins: {trust: listed, trust_keys: [" + key + "]}\n"), "");
  EXPECT_EQ(ProblemsOf("version: 1\nplugins: {trust: listed, trust_keys: [RWa]}\n"),
            "t.yaml:2:39: 'trust_keys' must be a public key of minisign (56 characters, beginning with RW), not 'RWa'");
}

TEST(SchemaTest, AllProblemsAreReportedAtOnceInTheOrderOfLines) {
  EXPECT_EQ(ProblemsOf("version: 1\n"
                       "plugins: {trust: prob}\n"
                       "cpu: {threads: many}\n"
                       "fallback: gpu\n"
                       "cpu: {}\n"
                       "cache: {max: 512}\n"),
            "t.yaml:2:18: 'trust' must be one of listed, probe, any, not 'prob'; did you mean 'probe'?\n"
            "t.yaml:3:16: 'threads' must be auto or a whole number from 1 to 1024, not 'many': that is not a number\n"
            "t.yaml:4:11: 'fallback' must be one of cpu, none, not 'gpu'; did you mean 'cpu'?\n"
            "t.yaml:5:1: key 'cpu' is set twice, first in line 3\n"
            "t.yaml:6:14: 'max' must be a size from 1MB to 1000TB with its unit (B, kB, MB, GB, TB, KiB, MiB, GiB, "
            "TiB), not '512': the unit is missing");
}

TEST(SchemaTest, ManyProblemsAreCutWithACount) {
  std::string text = "version: 1\n";
  for (int i = 0; i < 150; ++i) text += "key" + std::to_string(i) + ": 1\n";
  ConfigLoader loader;
  loader.AddText("t.yaml", text);
  loader.AddText("u.yaml", text);
  const Result<Config> config = loader.Finish();
  EXPECT_FALSE(config.ok());
  EXPECT_EQ(loader.problems().size(), Problems::kMost);
  EXPECT_TRUE(Contains(config.status().message(), "\nand 100 more")) << config.status().message();
}

TEST(SchemaTest, ManyProblemsOfTheTextAreCutWithACount) {
  std::string duplicates = "version: 1\n";
  for (int i = 0; i < 150; ++i) duplicates += "fallback: cpu\n";
  for (const std::string& text : {duplicates, std::string(149, '\x01')}) {
    ConfigLoader loader;
    loader.AddText("t.yaml", text);
    const Result<Config> config = loader.Finish();
    EXPECT_EQ(loader.problems().size(), Problems::kMost);
    EXPECT_TRUE(Contains(config.status().message(), "\nand 49 more")) << config.status().message();
  }
}

TEST(SchemaTest, R59_NumbersAreDecimalAndUnquoted) {
  constexpr const char* kExpected = "t.yaml:2:16: 'threads' must be auto or a whole number from 1 to 1024, not ";
  const auto problem = [](const std::string& value) {
    return ProblemsOf("version: 1\ncpu: {threads: " + value + "}\n");
  };
  EXPECT_EQ(problem("017"), kExpected + std::string("'017': numbers have no leading zeros"));
  EXPECT_EQ(problem("\"2\""), kExpected + std::string("'2' in quotes"));
  EXPECT_EQ(problem("1e1"), kExpected + std::string("'1e1': that is not a whole decimal number"));
  EXPECT_EQ(problem("2.0"), kExpected + std::string("'2.0': that is not a whole decimal number"));
}

TEST(SchemaTest, R60_NumbersOutOfRangeAreRefusedWithTheRange) {
  constexpr const char* kExpected = "t.yaml:2:16: 'threads' must be auto or a whole number from 1 to 1024, not ";
  const auto problem = [](const std::string& value) {
    return ProblemsOf("version: 1\ncpu: {threads: " + value + "}\n");
  };
  EXPECT_EQ(problem("0"), kExpected + std::string("'0'"));
  EXPECT_EQ(problem("-1"), kExpected + std::string("'-1'"));
  EXPECT_EQ(problem("1025"), kExpected + std::string("'1025'"));
  EXPECT_EQ(problem("99999999999999999999"),
            kExpected + std::string("'99999999999999999999': that does not fit 64 bits"));
  EXPECT_EQ(problem(".nan"), kExpected + std::string("'.nan': that is not a number"));
}

TEST(SchemaTest, R60_DurationsOutOfRangeAreRefusedWithTheRange) {
  constexpr const char* kExpected =
      "t.yaml:2:26: 'probe_timeout' must be a duration from 10ms to 10min with its unit (us, ms, s, min, h), not ";
  const auto problem = [](const std::string& value) {
    return ProblemsOf("version: 1\nplugins: {probe_timeout: " + value + "}\n");
  };
  EXPECT_EQ(problem("2"), kExpected + std::string("'2': the unit is missing"));
  EXPECT_EQ(problem("0s"), kExpected + std::string("'0s'"));
  EXPECT_EQ(problem("-1s"), kExpected + std::string("'-1s': that is negative"));
  EXPECT_EQ(problem("11min"), kExpected + std::string("'11min'"));
  EXPECT_EQ(problem("2 s"), kExpected + std::string("'2 s': there is a space before the unit"));
  EXPECT_EQ(problem("[2s]"), kExpected + std::string("a list"));
}

TEST(SchemaTest, R58_BooleansAreTrueAndFalseOnly) {
  EXPECT_EQ(ProblemsOf("version: 1\ndebug: {check: yes}\n"),
            "t.yaml:2:16: 'check' must be true or false, not 'yes': write true");
  EXPECT_EQ(ProblemsOf("version: 1\ndebug: {check: \"true\"}\n"),
            "t.yaml:2:16: 'check' must be true or false, not 'true' in quotes");
  EXPECT_EQ(ProblemsOf("version: 1\ndebug: {check: 1}\n"),
            "t.yaml:2:16: 'check' must be true or false, not '1': that is not a boolean");
}

TEST(SchemaTest, WrongKindsOfValuesAreRefused) {
  EXPECT_EQ(ProblemsOf("version: 1\ncpu: 2\n"), "t.yaml:2:6: 'cpu' must be a mapping, not '2'");
  EXPECT_EQ(ProblemsOf("version: 1\ncpu:\n"),
            "t.yaml:2:1: 'cpu' must be a mapping, not nothing: write {} for an empty one");
  EXPECT_EQ(ProblemsOf("version: 1\ndelegates:\n"),
            "t.yaml:2:1: 'delegates' must be a list, not nothing: write [] for an empty one");
  EXPECT_EQ(ProblemsOf("version: 1\ndelegates: {npu0: {}}\n"),
            "t.yaml:2:12: 'delegates' must be a list, not a mapping");
  EXPECT_EQ(ProblemsOf("version: 1\ndelegates: [npu0]\n"),
            "t.yaml:2:13: 'delegates' must be a list of mappings, not 'npu0'");
  EXPECT_EQ(ProblemsOf("version: 1\nplugins: {paths: {a: b}}\n"),
            "t.yaml:2:18: 'paths' must be a list of texts, not a mapping");
  EXPECT_EQ(ProblemsOf("version: 1\ndelegates: [{name: a, rules: {nodes: [[a]]}}]\n"),
            "t.yaml:2:39: 'nodes' must be text, not a list");
}

TEST(SchemaTest, OptionsAreSingleValues) {
  constexpr const char* kExpected = " must be a single value or a mapping of them, not ";
  const auto problem = [](const std::string& options) {
    return ProblemsOf("version: 1\ndelegates: [{name: a, options: {" + options + "}}]\n");
  };
  EXPECT_EQ(problem("x: [1]"), "t.yaml:2:36: 'x'" + std::string(kExpected) + "a list");
  EXPECT_EQ(problem("x: {}"), "t.yaml:2:36: 'x'" + std::string(kExpected) + "an empty mapping");
  EXPECT_EQ(problem("x: "), "t.yaml:2:33: 'x'" + std::string(kExpected) + "nothing: write \"\" for an empty text");
  EXPECT_EQ(problem("x y: 1"), "t.yaml:2:33: names in 'options' are letters, digits, '_', '.' and '-', not 'x y'");
}

TEST(SchemaTest, OptionWrittenFlatAndNestedIsRefused) {
  EXPECT_EQ(ProblemsOf("version: 1\ndelegates: [{name: a, options: {x.y: 1, x: {y: 2}}}]\n"),
            "t.yaml:2:45: option 'x.y' is set twice, first at t.yaml:2:33");
}

TEST(SchemaTest, DelegateWithoutNameIsRefused) {
  EXPECT_EQ(ProblemsOf("version: 1\ndelegates:\n  - delegate: sim_npu\n"),
            "t.yaml:3:5: key 'name' is missing; a delegate is addressed by its name");
}

TEST(SchemaTest, DelegateNameMustBeAName) {
  EXPECT_EQ(ProblemsOf("version: 1\ndelegates: [{name: \"npu 0\"}]\n"),
            "t.yaml:2:20: 'name' must be a name of letters, digits, '_', '.' and '-', not 'npu 0' in quotes");
}

TEST(SchemaTest, R64_DelegateListedTwiceIsRefused) {
  EXPECT_EQ(ProblemsOf("version: 1\ndelegates:\n  - name: npu0\n  - name: onednn\n  - name: npu0\n"),
            "t.yaml:5:11: delegate 'npu0' is listed twice, first at t.yaml:3:11");
}

TEST(SchemaTest, CpuIsNeverListed) {
  constexpr const char* kMessage =
      ": the CPU is never listed, it is always the last delegate; its settings are under 'cpu:'";
  EXPECT_EQ(ProblemsOf("version: 1\ndelegates: [{name: cpu}]\n"), std::string("t.yaml:2:20") + kMessage);
  EXPECT_EQ(ProblemsOf("version: 1\ndelegates: [{name: a, delegate: cpu}]\n"), std::string("t.yaml:2:33") + kMessage);
}

TEST(SchemaTest, TwoDelegatesMayShareOnePlugin) {
  const Config config =
      Good("version: 1\ndelegates: [{name: a, delegate: npu}, {name: b, delegate: npu, device: 1}]\n");
  EXPECT_EQ(*config.delegates[0].delegate, *config.delegates[1].delegate);
}

TEST(SchemaTest, PlacementRuleNeedsASelectorAndOneTarget) {
  EXPECT_EQ(ProblemsOf("version: 1\nplacement: {rules: [{to: cpu}, {nodes: x}, {ops: y, to: cpu, avoid: z}]}\n"),
            "t.yaml:2:21: a rule needs at least one of nodes, ops, domains\n"
            "t.yaml:2:32: a rule needs exactly one of 'to' and 'avoid'\n"
            "t.yaml:2:44: a rule needs exactly one of 'to' and 'avoid'");
}

TEST(SchemaTest, R64_ReferenceToNoDelegateIsFoundWithTheNearestName) {
  const Config config = Good(
      "version: 1\n"
      "delegates: [{name: npu0}]\n"
      "placement: {rules: [{nodes: x, to: npu1}, {nodes: y, avoid: [cpu, gpu]}]}\n"
      "log: {delegates: {npu: debug}}\n");
  const std::vector<Problem> unknown = UnknownReferences(config, {"mine"});
  ASSERT_EQ(unknown.size(), 3u);
  EXPECT_EQ(unknown[0].ToString(),
            "t.yaml:3:36: no delegate is called 'npu1'; did you mean 'npu0'? (known: npu0, mine, cpu)");
  EXPECT_EQ(unknown[1].ToString(),
            "t.yaml:3:67: no delegate is called 'gpu'; did you mean 'cpu'? (known: npu0, mine, cpu)");
  EXPECT_EQ(unknown[2].ToString(),
            "t.yaml:4:24: no delegate is called 'npu'; did you mean 'npu0'? (known: npu0, mine, cpu)");
  EXPECT_TRUE(UnknownReferences(config, {"npu1", "gpu", "npu"}).empty());
}

TEST(SchemaTest, ADisabledDelegateMayBeReferredTo) {
  EXPECT_TRUE(UnknownReferences(Good("version: 1\n"
                                     "delegates: [{name: npu0, enabled: false}]\n"
                                     "placement: {rules: [{nodes: x, to: npu0}, {nodes: y, avoid: cpu}]}\n"),
                                {})
                  .empty());
}

TEST(SchemaTest, NoDelegatesMeansTheCpuAlone) {
  EXPECT_TRUE(Good("version: 1\ndelegates: []\n").delegates.empty());
  EXPECT_TRUE(Good("version: 1\n").delegates.empty());
}

TEST(SchemaTest, WordsStandForZero) { EXPECT_EQ(*Good("version: 1\ncpu: {threads: auto}\n").cpu.threads, 0); }

}  // namespace
}  // namespace deputy::host
