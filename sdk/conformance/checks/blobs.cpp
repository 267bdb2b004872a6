// Executables as bytes: serialization is deterministic, an executable restored in another process gives the same
// results, and damaged bytes are refused. An executable compiled without the device must be right on it.
#include "blobs.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "case_run.hpp"
#include "cases/patterns.hpp"
#include "runner.hpp"
#include "test.hpp"

namespace deputy::conformance {
namespace {

using Bytes = std::vector<uint8_t>;
using Cases = std::vector<Case>;

// Cases and models by one number.
struct Subjects {
  const Cases& cases;
  const std::vector<ModelCase>& models;

  size_t size() const { return cases.size() + models.size(); }
  bool IsModel(size_t at) const { return at >= cases.size(); }
  std::string NameOf(size_t at) const { return IsModel(at) ? models[at - cases.size()].label : cases[at].name(); }
  // Subjects of one kind differ in little.
  std::string KindOf(size_t at) const { return IsModel(at) ? NameOf(at) : cases[at].node.name(); }
  bool IsPlain(size_t at) const { return IsModel(at) || cases[at].label == "plain"; }
  std::unique_ptr<ShownModel> Show(size_t at) const {
    if (IsModel(at)) return std::make_unique<ModelGraph>(models[at - cases.size()]);
    return std::make_unique<CaseGraph>(cases[at]);
  }
};

constexpr size_t kNoLimit = SIZE_MAX;
constexpr size_t kMostCases = 16;

// The delegate of the command line, opened, with its blobs; has() is false when no test is left.
struct Opened {
  std::unique_ptr<Plugin> plugin;
  std::unique_ptr<Instance> instance;
  std::optional<Blobs> blobs;

  Opened(TestRun& run, uint32_t flags = 0) {
    plugin = run.Load();
    const deputy_delegate* delegate = plugin == nullptr ? nullptr : run.Delegate(*plugin);
    if (delegate == nullptr) return;
    Blobs found(*plugin, delegate);
    if (!run.NoFaults(*plugin, "")) return;
    if (!found.has())
      run.Skipped("it has no " DEPUTY_EXT_BLOB);
    else if ((flags & DEPUTY_OPEN_COMPILE_ONLY) != 0 && !found.compiles_without_device())
      run.Skipped("it does not say DEPUTY_BLOB_COMPILE_ONLY");
    else
      instance = run.Open(*plugin, {}, flags);
    if (instance == nullptr) return;
    if (found.AreLeftOut(*instance))
      run.Skipped("this instance serializes nothing");
    else
      blobs.emplace(std::move(found));
  }
  bool ready() const { return blobs.has_value(); }
};

// An executable that was written, and its results before that.
struct Kept {
  size_t at = 0;  // of the subject
  Bytes blob;
  std::vector<Bytes> results;  // none where it was never run
};

// The subject as one executable; nothing where it is not supported or refused, which other tests check.
struct Made {
  std::unique_ptr<ShownModel> shown;
  std::optional<Claim> claim;
  std::unique_ptr<Executable> executable;

  Made(Instance& instance, std::unique_ptr<ShownModel> one) : shown(std::move(one)) {
    Answer refusal;
    Outcome outcome;
    claim = instance.ClaimAll(shown->graph, &refusal);
    if (claim) executable = instance.Compile(shown->graph, *claim, &outcome);
  }
};

// Runs it; nothing and a recorded failure where that is not possible.
std::optional<std::vector<Bytes>> Run(TestRun& run, const std::string& subject, Executable& executable,
                                      const ShownModel& shown, const Claim& claim) {
  std::string why_not;
  const std::unique_ptr<Context> context = executable.CreateContext(&why_not);
  if (context == nullptr) {
    run.Failed(subject, "context_create fails: " + why_not);
    return std::nullopt;
  }
  Binding binding(shown, claim, Flush::kEnd, kPoison);
  const Outcome outcome = binding.Run(*context);
  if (outcome.ok()) return binding.Results();
  run.Failed(subject, "execute fails: " + outcome.ToString());
  return std::nullopt;
}

// The compatibility text, then executables of the plainest cases and of models.
Packed Write(TestRun& run, const Subjects& subjects, uint32_t flags) {
  Packed packed;
  Opened opened(run, flags);
  if (!opened.ready()) return packed;
  packed.Put(opened.blobs->Compatibility(*opened.instance));
  std::set<std::string> kinds;
  for (size_t i = 0; i < subjects.size(); ++i) {
    const std::string subject = subjects.NameOf(i);
    if (!subjects.IsPlain(i) || kinds.count(subjects.KindOf(i)) != 0) continue;
    if (kinds.size() >= kMostCases && !subjects.IsModel(i)) continue;
    Made made(*opened.instance, subjects.Show(i));
    if (made.executable == nullptr) continue;
    Kept kept;
    const Outcome outcome = opened.blobs->Serialize(*made.executable, kNoLimit, &kept.blob);
    if (outcome.code == DEPUTY_NOT_SUPPORTED) continue;  // compiled each time
    if (!outcome.ok()) run.Failed(subject, "serialize fails: " + outcome.ToString());
    if (!run.NoFaults(*opened.plugin, subject) || !outcome.ok()) continue;
    if ((flags & DEPUTY_OPEN_COMPILE_ONLY) == 0) {
      std::optional<std::vector<Bytes>> results = Run(run, subject, *made.executable, *made.shown, *made.claim);
      if (!results) continue;
      kept.results = std::move(*results);
    }
    kinds.insert(subjects.KindOf(i));
    packed.Put(i);
    packed.Put(kept.blob);
    packed.Put(kept.results.size());
    for (const Bytes& result : kept.results) packed.Put(result);
  }
  if (kinds.empty() && (flags & DEPUTY_OPEN_COMPILE_ONLY) != 0)
    run.Failed("", "opened to compile only, it writes no executable");
  else if (kinds.empty())
    run.Skipped("no executable of it can be written");
  run.NoFaults(*opened.plugin, "");
  return packed;
}

std::vector<Kept> KeptIn(Packed& packed) {
  std::vector<Kept> all;
  while (!packed.at_end()) {
    Kept kept;
    kept.at = packed.TakeNumber();
    kept.blob = packed.Take();
    const uint64_t results = packed.TakeNumber();
    for (uint64_t i = 0; i < results; ++i) kept.results.push_back(packed.Take());
    all.push_back(std::move(kept));
  }
  return all;
}

// Restores and runs here an executable that another process wrote; "" when it is right.
std::string FaultOfRestored(TestRun& run, Opened& opened, const ShownModel& shown, const Kept& kept) {
  Answer refusal;
  std::optional<Claim> claim = opened.instance->ClaimAll(shown.graph, &refusal);
  if (!claim) return "it takes the node in one process and not in another";
  Outcome outcome;
  const std::unique_ptr<Restored> restored =
      opened.blobs->Restore(*opened.instance, shown.graph, *claim, kept.blob, &outcome);
  opened.instance->Release(*claim);
  if (restored == nullptr) return "it refuses its own blob: " + outcome.ToString();
  std::string why_not;
  const std::unique_ptr<Context> context = restored->executable().CreateContext(&why_not);
  if (context == nullptr) return "no context of the restored executable: " + why_not;
  Binding binding(shown, *claim, Flush::kEnd, kPoison);
  outcome = binding.Run(*context);
  if (!outcome.ok()) return "the restored executable fails: " + outcome.ToString();
  const std::vector<Bytes> results = binding.Results();
  const std::string wrong = FaultOfValues(shown, *claim, results, run.settings().computes_in);
  if (!wrong.empty()) return "the restored executable is wrong: " + wrong;
  if (!kept.results.empty() && results != kept.results)
    return "the restored executable gives other bytes than the compiled one";
  return "";
}

void CheckRestored(TestRun& run, const Subjects& subjects, uint32_t flags) {
  std::optional<Packed> packed = InOtherProcess(run, "", [&](TestRun& other) { return Write(other, subjects, flags); });
  if (!packed || packed->at_end()) return;
  Opened opened(run);
  if (!opened.ready()) return;
  const std::string written = packed->TakeText(), here = opened.blobs->Compatibility(*opened.instance);
  if (written != here)
    run.Failed("", "its compatibility is '" + here + "' in one process and '" + written + "' in another");
  for (const Kept& kept : KeptIn(*packed)) {
    const std::string name = subjects.NameOf(kept.at);
    const std::string wrong = FaultOfRestored(run, opened, *subjects.Show(kept.at), kept);
    if (!wrong.empty()) run.Failed(name, wrong);
    if (run.NoFaults(*opened.plugin, name) && wrong.empty()) run.Passed(name);
  }
}

void CheckCompatibility(TestRun& run) {
  constexpr char kForeign[] = "another plugin's format 1, made by deputy-conformance";
  Opened opened(run);
  if (!opened.ready()) return;
  Blobs& blobs = *opened.blobs;
  const std::string text = blobs.Compatibility(*opened.instance);
  if (!run.NoFaults(*opened.plugin, "")) return;
  if (blobs.Compatibility(*opened.instance) != text) run.Failed("", "compatibility gives another text the second time");
  if (const std::unique_ptr<Instance> other = run.Open(*opened.plugin); other != nullptr)
    if (blobs.Compatibility(*other) != text) run.Failed("", "compatibility gives another text for another instance");
  for (const size_t capacity : {size_t{0}, size_t{1}, text.size()}) {
    uint64_t size = 0;
    const Outcome outcome = blobs.CompatibilityInto(*opened.instance, capacity, &size);
    if (outcome.code != DEPUTY_OUT_OF_MEMORY)
      run.Failed("", "a buffer that is too small is answered with: " + outcome.ToString());
    else if (size != text.size())
      run.Failed("", "the length is not told when the buffer is too small");
  }
  uint64_t size = 0;
  const Outcome exact = blobs.CompatibilityInto(*opened.instance, text.size() + 1, &size);
  if (!exact.ok()) run.Failed("", "a buffer that is just large enough is answered with: " + exact.ToString());
  if (blobs.checks()) {
    const Outcome own = blobs.Check(text);
    if (!own.ok()) run.Failed("", "check refuses the text of compatibility: " + own.ToString());
    for (const std::string& foreign : {std::string(kForeign), std::string()}) {
      const Outcome refused = blobs.Check(foreign);
      if (refused.ok())
        run.Failed("", "check takes the text '" + foreign + "', which is not its own");
      else if (refused.code != DEPUTY_INCOMPATIBLE || refused.message.empty())
        run.Failed("", "check refuses a foreign text, but not as incompatible with a reason: " + refused.ToString());
    }
  }
  run.NoFaults(*opened.plugin, "");
}

void CheckSerialize(TestRun& run, const Cases& cases) {
  Opened opened(run);
  if (!opened.ready()) return;
  const std::optional<Compiled> compiled = CompileAnyCase(*opened.instance, cases);
  if (!compiled) return run.Skipped("it takes no case");
  Bytes first, second;
  Outcome outcome = opened.blobs->Serialize(*compiled->executable, kNoLimit, &first);
  if (outcome.code == DEPUTY_NOT_SUPPORTED) return run.Skipped("this executable cannot be written");
  if (!outcome.ok()) return run.Failed("", "serialize fails: " + outcome.ToString());
  outcome = opened.blobs->Serialize(*compiled->executable, kNoLimit, &second);
  if (!outcome.ok()) run.Failed("", "serialize fails the second time: " + outcome.ToString());
  if (outcome.ok() && first != second) run.Failed("", "the same executable gives other bytes the second time");
  for (const size_t limit : std::set<size_t>{0, first.size() - std::min<size_t>(1, first.size())}) {
    Bytes some;
    outcome = opened.blobs->Serialize(*compiled->executable, limit, &some);
    if (!outcome.ok() && (outcome.code != DEPUTY_OUT_OF_MEMORY || outcome.message != kSinkIsFull))
      run.Failed("", "the sink's refusal is not returned; serialize says: " + outcome.ToString());
  }
  run.CheckStatuses(*opened.plugin);
  run.NoFaults(*opened.plugin, "");
}

// Restores damaged bytes. The plugin may access only the blob's and the run's memory, which the trap checks.
void TryDamaged(TestRun& run, Opened& opened, const ShownModel& shown, const Damage& damage,
                const std::string& subject) {
  Answer refusal;
  std::optional<Claim> claim = opened.instance->ClaimAll(shown.graph, &refusal);
  if (!claim) return;
  Outcome outcome;
  const std::unique_ptr<Restored> restored =
      opened.blobs->Restore(*opened.instance, shown.graph, *claim, damage.bytes, &outcome);
  opened.instance->Release(*claim);
  if (restored == nullptr) {
    if (outcome.code != DEPUTY_INCOMPATIBLE && outcome.code != DEPUTY_INVALID_ARGUMENT)
      run.Failed(subject, "refused, but neither as incompatible nor as an invalid argument: " + outcome.ToString());
    return;
  }
  if (damage.incomplete) run.Failed(subject, "it restores an executable from a blob that is not whole");
  std::string ignored;
  const std::unique_ptr<Context> context = restored->executable().CreateContext(&ignored);
  if (context == nullptr) return;
  for (const Flush flush : {Flush::kEnd, Flush::kBegin}) {
    Binding binding(shown, *claim, flush, kPoison);
    (void)binding.Run(*context);
  }
}

void CheckDamaged(TestRun& run, const Subjects& subjects) {
  constexpr size_t kMostDamaged = 4;
  std::optional<Packed> packed = InOtherProcess(run, "", [&](TestRun& other) { return Write(other, subjects, 0); });
  if (!packed || packed->at_end()) return;
  (void)packed->TakeText();
  std::vector<Kept> all = KeptIn(*packed);
  if (all.empty()) return;
  // The longest have the most parts that can be damaged.
  std::stable_sort(all.begin(), all.end(), [](const Kept& a, const Kept& b) { return a.blob.size() > b.blob.size(); });
  Opened opened(run);
  if (!opened.ready()) return;
  int64_t index = 0;
  for (size_t i = 0; i < std::min(all.size(), kMostDamaged); ++i) {
    const std::unique_ptr<ShownModel> shown = subjects.Show(all[i].at);
    const std::string kind = subjects.KindOf(all[i].at);
    std::vector<Damage> damages = DamagesOf(all[i].blob, run.settings().seed);
    if (all.size() > 1) {
      const Kept& other = all[(i + 1) % all.size()];
      damages.push_back({"the blob of " + subjects.KindOf(other.at), other.blob, false});
    }
    for (const Damage& damage : damages) {
      const std::string subject = kind + ": " + damage.label;
      if (index++ < run.first_case()) continue;
      run.BeginCase(index - 1, subject);
      const size_t failures = run.failures();
      TryDamaged(run, opened, *shown, damage, subject);
      if (run.NoFaults(*opened.plugin, subject) && run.failures() == failures) run.Passed(subject);
    }
    const std::string wrong = FaultOfRestored(run, opened, *shown, all[i]);
    if (!wrong.empty()) run.Failed(kind, "after damaged blobs: " + wrong);
  }
  run.NoFaults(*opened.plugin, "");
}

}  // namespace

std::vector<Test> BlobTests(const std::vector<Case>& cases, const std::vector<ModelCase>& models) {
  // One attribute in the bytes would serve both nodes of a pair.
  static const auto* const all = new std::vector<ModelCase>([&models] {
    std::vector<ModelCase> with_pairs = models;
    for (ModelCase& pair : RepeatedOperators(kF32, 1)) with_pairs.push_back(std::move(pair));
    return with_pairs;
  }());
  const Subjects subjects{cases, *all};
  return {{"blob.compatibility", CheckCompatibility},
          {"blob.serialize", With(CheckSerialize, cases)},
          {"blob.restore", [=](TestRun& run) { CheckRestored(run, subjects, 0); }},
          {"blob.compile_only", [=](TestRun& run) { CheckRestored(run, subjects, DEPUTY_OPEN_COMPILE_ONLY); }},
          {"blob.damage", [=](TestRun& run) { CheckDamaged(run, subjects); }}};
}

}  // namespace deputy::conformance
