// What the host says to every fixture plugin between scan and compile, in one table: each of the .so files has its row.
// Most are wrong in one way. The host refuses what it can see without running the plugin's work; what only a run, a
// second call or the end of the process shows passes here, and the row names the test of the conformance kit that finds
// it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <ostream>
#include <set>

#include "partition/helpers.hpp"
#include "unit/plugin/support.hpp"

namespace deputy::host {
namespace {

using testing::EntryOf;
using testing::PatientScan;
using testing::TempFolder;

struct Row {
  const char* fixture;
  const char* verdict;      // how the host's begins
  const char* part;         // what stands in it, too
  const char* number = "";  // of the case in the list of ways of failing
  const char* kit = "";     // where the host sees nothing wrong: what does, and why
  int timeout_ms = 60000;
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.fixture; }

const Row kRows[] = {
    // The file and its manifest: nothing of it runs.
    {"helper", "refused: not-a-plugin", "is not a delegate plugin"},
    {"no_entry", "refused: no-entry-symbol", "deputy_plugin_query_v1", "R74"},
    {"data_entry", "refused: no-entry-symbol", "as data, not as a function", "R74"},
    {"no_note", "refused: no-note", "no manifest"},
    {"bad_note", "refused: bad-note", "'id' occurs twice"},
    {"bad_utf8_note", "refused: bad-utf8", "not UTF-8", "R90"},
    {"bad_environment", "refused: bad-note", "LD_PRELOAD"},
    {"wrong_abi", "refused: abi-mismatch", "ABI 0.3", "R75"},
    {"needs_impossible_cpu", "refused: needs-cpu-feature", "avx9000"},
    {"sanitizer", "refused: sanitizer-mismatch", "sanitizer"},
    {"executable_stack", "refused: executable-stack", "-z noexecstack", "R83"},
    // Loading it in the helper process.
    {"undefined_symbol", "refused: load-failed", "fixture_function_that_nobody_has", "R73"},
    {"missing_dependency", "refused: load-failed", "helper.so", "R73"},
    {"needs_helper", "refused: load-failed", "helper.so", "R73"},
    {"crash_in_constructor", "refused: probe-crashed",
     "SIGSEGV while it was loaded; its last output was 'about to fall'", "R82"},
    {"exit_in_constructor", "refused: probe-exited", "exit status 0 while it was loaded, without an answer", "R82"},
    {"static_tls", "refused: load-failed", "cannot allocate memory in static TLS block", "R86"},
    {"killed_in_constructor", "refused: probe-crashed", "SIGABRT while it was loaded", "R87"},
    {"hang_in_constructor", "refused: probe-timed-out", "gave no answer within 500 ms", "R88", "", 500},
    {"fork_in_constructor", "refused: probe-timed-out", "gave no answer within 1 s", "R88", "", 1000},
    {"throws_in_constructor", "refused: threw", "one of its static constructors threw", "R82"},
    {"closes_descriptors", "refused: probe-exited", "without an answer", "R82"},
    {"garbage_answer", "refused: probe-garbage", "gave an invalid answer", "R91"},
    {"half_answer", "refused: probe-garbage", "in the middle of its answer", "R91"},
    {"prints_a_lot", "compiled", "", "R116", "entry.tables: what it prints is drained and kept from the application"},
    {"logs_a_lot", "compiled", "", "R116", "sound: a part is shown"},
    {"exports_more", "compiled", "", "R84",
     "entry.exports: libraries are opened RTLD_LOCAL, so the name meets no other"},
    {"library_first", "compiled", "", "R84", "entry.exports: the same"},
    {"library_second", "compiled", "", "R84", "entry.exports: the same"},
    {"shares_unique", "compiled", "", "R84",
     "entry.exports: another plugin that has the name shares it, RTLD_LOCAL or not"},
    // Its tables.
    {"crash_in_query", "refused: probe-crashed", "SIGABRT in its entry function", "R87"},
    {"throws_in_query", "refused: threw", "its deputy_plugin_query_v1 threw an exception", "R95"},
    {"null_table", "refused: no-table", "does not support a host with plugin ABI 0.2", "R76"},
    {"short_struct_size", "refused: bad-table", "has the invalid struct_size 16", "R75"},
    {"short_delegate", "refused: bad-table", "struct_size 64"},
    {"garbage_struct_size", "refused: bad-table", "3735928559", "R75"},
    {"null_slots", "refused: bad-table", "has no 'execute'", "R76"},
    {"wild_slots", "refused: bad-table", "does not point to loaded code", "R76"},
    {"bad_utf8_id", "refused: bad-utf8", "id is not UTF-8", "R90"},
    {"long_id", "refused: bad-table", "1073741824 bytes", "R90"},
    {"wrong_id", "refused: bad-table", "calls itself 'somebody_else'"},
    {"counts_lie", "refused: bad-table", "1000000000 delegates", "R89"},
    {"count_too_high", "refused: bad-table", "delegate 1 is NULL", "R89"},
    {"hang_in_init", "refused: probe-timed-out", "gave no answer within 500 ms", "R88", "", 500},
    {"fails_init", "refused: init-failed", "no driver", "R93"},
    {"bad_frequency", "refused: bad-table", "the default of option 'frequency' of 'bad_frequency' must be"},
    {"bad_default", "refused: bad-table", "the default of option 'threads' of 'bad_default' must be a whole number"},
    // From probe to compile.
    {"unavailable", "open: unavailable", "no device"},
    {"returns_old_status", "open: unavailable", "no device is there", "",
     "lifecycle.probe: it takes a second call in one process, which the host does not make"},
    // The trial at the end of the probe.
    {"crashes_in_open", "refused: probe-crashed", "crashed with SIGABRT while a delegate was opened", "R87"},
    {"crashes_in_compile", "refused: probe-crashed", "crashed with SIGABRT while a delegate compiled one node", "R87"},
    {"hangs_in_open", "refused: probe-timed-out", "gave no answer within 2500 ms while a delegate was opened", "R88",
     "", 500},
    {"answers_twice", "query: supported", "query_support broke its contract: it answers twice for node 'first'", "R99"},
    {"claims_foreign_nodes", "query: supported", "query_support broke its contract: it answers", "R99"},
    {"changes_answers", "compiled", "", "R100", "lifecycle.query: the host asks once and goes by that"},
    {"fails_compile", "compile: not supported", "compile: node 'first' (Relu): no room on the device", "R98"},
    {"old_list", "compile: not supported", "nothing is computed here"},
    {"throws", "compile: plugin: ", "compile: it threw an exception", "R95"},
    {"no_executable", "compile: plugin: ", "it succeeded without an executable"},
    // What it does to the process, and what it keeps, has no bounds that the host could know.
    {"changes_folder", "compiled", "", "R82", "lifecycle.surroundings: an application may do the same at any time"},
    {"changes_locale", "compiled", "", "R82", "lifecycle.surroundings: an application may do the same at any time"},
    {"changes_signals", "compiled", "", "R115", "lifecycle.surroundings: an application may do the same at any time"},
    {"blocks_signals", "compiled", "", "R115", "lifecycle.surroundings; the host restores it"},
    {"crashes_at_exit", "compiled", "", "R96", "lifecycle.open: it shows when the process ends"},
    {"leaves_threads", "compiled", "", "R94", "lifecycle.threads: threads have no owner"},
    {"leaks_instances", "compiled", "", "R94", "leaks.open: it takes many rounds to tell"},
    {"leaks_executables", "compiled", "", "R94", "leaks.compile: it takes many rounds to tell"},
    {"leaks_contexts", "compiled", "", "R94", "leaks.context: it takes many rounds to tell"},
    // Wrong when it runs.
    {"uses_old_graph", "compiled", "", "R120", "numerics: in execute"},
    {"fails_execute", "compiled", "", "R101", "numerics: in execute"},
    {"throws_in_execute", "compiled", "", "R95", "numerics: in execute"},
    {"crashes_in_execute", "compiled", "", "R105", "numerics: in execute"},
    {"exits_in_execute", "compiled", "", "R96", "numerics: in execute"},
    {"hangs_in_execute", "compiled", "", "R106", "execution.repeated: in execute"},
    {"heeds_deadline", "compiled", "", "", "sound"},
    {"outlives_deadline", "compiled", "", "", "sound without a deadline"},
    {"prints_in_execute", "compiled", "", "R116", "numerics: in execute"},
    {"changes_rounding", "compiled", "", "R115", "numerics: in execute; the host restores it"},
    {"changes_flushing", "compiled", "", "R115", "numerics: in execute; the host restores it"},
    {"returns_foreign_status", "compiled", "", "R111", "numerics: in execute"},
    {"unknown_code", "compiled", "", "R111", "numerics: in execute"},
    {"fails_with_success", "compiled", "", "R111", "numerics: in execute"},
    {"drops_statuses", "compiled", "", "R94", "leaks.execute"},
    {"leaks_runs", "compiled", "", "R94", "leaks.execute"},
    {"leaks_descriptors", "compiled", "", "R94", "leaks.execute"},
    {"writes_inputs", "compiled", "", "R104", "numerics: guarded tensors"},
    {"leaves_outputs", "compiled", "", "R107", "numerics: poisoned outputs; the host at the first run"},
    {"leaves_last_element", "compiled", "", "R107", "numerics: poisoned outputs; the host at the first run"},
    {"writes_behind_output", "compiled", "", "R108", "numerics: guarded tensors"},
    {"writes_before_output", "compiled", "", "R108", "numerics: guarded tensors"},
    {"reads_behind_input", "compiled", "", "R108", "numerics: guarded tensors"},
    {"writes_late", "compiled", "", "R109", "execution.late_writes"},
    {"wants_alignment", "compiled", "", "", "numerics: tensors at odd addresses"},
    {"second_is_wrong", "compiled", "", "R112", "numerics: against the reference, all delegates"},
    {"wrong_values", "compiled", "", "R112", "numerics: against the reference"},
    {"wrong_fusions", "compiled", "", "R112",
     "sound unless an option asks for a fault, which integration.verification does"},
    {"keeps_state", "compiled", "", "R112", "numerics: a second run"},
    {"wrong_after_ten_runs", "compiled", "", "R112", "execution.repeated"},
    {"wrong_under_threads", "compiled", "", "R119", "execution.threads"},
    // Optional extensions: what it answers before compile.
    {"claims_node_twice", "propose: invalid argument: ", "a claim names node 'first' (Relu) twice", "R99"},
    {"claims_refused", "compile: not supported: ", "one node at a time", "R98"},
    {"claims_taken_node", "propose: invalid argument: ", "node 'held' (Relu), which was not offered", "R99"},
    {"claims_unknown_node", "propose: invalid argument: ", "node 4711, which does not exist", "R99"},
    {"concurrency_fails", "open: unknown: ", "concurrency: who knows"},
    {"groups_node_twice", "groups: invalid argument: ", "node 'first' (Relu) twice", "R99"},
    {"groups_of_one", "groups: invalid argument: ", "a group has 1 node; at least two are needed", "R99"},
    {"groups_overlap", "groups: invalid argument: ", "node 'first' (Relu) is in two groups", "R99"},
    {"groups_unknown_node", "groups: invalid argument: ", "node 4711, which does not exist", "R99"},
    // What its executables and contexts do afterwards.
    {"able", "compiled", "", "", "sound"},
    {"blob_changes_bytes", "compiled", "", "", "blob.serialize"},
    {"blob_changes_text", "compiled", "", "", "blob.compatibility"},
    {"blob_ignores_sink", "compiled", "", "", "blob.serialize"},
    {"blob_is_written", "compiled", "", "", "blob.restore"},
    {"blob_kept_when_refused", "compiled", "", "", "blob.damage"},
    {"blob_needs_its_process", "compiled", "", "", "blob.restore"},
    {"blob_not_released", "compiled", "", "", "blob.restore"},
    {"blob_refused_oddly", "compiled", "", "", "blob.damage"},
    {"blob_released_twice", "compiled", "", "", "blob.restore"},
    {"blob_restores_little_else", "compiled", "", "", "blob.restore"},
    {"blob_restores_wrong", "compiled", "", "", "blob.restore"},
    {"blob_takes_any_text", "compiled", "", "", "blob.compatibility"},
    {"blob_takes_cut", "compiled", "", "", "blob.damage"},
    {"blob_text_overflows", "compiled", "", "", "blob.compatibility"},
    {"blob_trusts_bytes", "compiled", "", "", "blob.damage"},
    {"blob_used_after_release", "compiled", "", "", "blob.restore"},
    {"blob_without_executable", "compiled", "", "", "blob.restore"},
    {"blob_without_text", "compiled", "", "", "blob.compatibility"},
    {"claims_clusters", "compiled", "", "", "sound"},
    {"claims_clusters_wrong", "propose: invalid argument: ", "", "R99"},
    {"claims_leak", "compiled", "", "", "leaks.claims"},
    {"claims_whole", "compiled", "", "", "sound"},
    {"claims_without_release", "compiled", "", "", "partitions.claims"},
    {"claims_wrong_border", "compiled", "", "", "partitions.claims"},
    {"compile_only_refused", "compiled", "", "", "blob.compile_only"},
    {"compile_only_writes_nothing", "compiled", "", "", "blob.compile_only"},
    {"compile_only_wrong", "compiled", "", "", "blob.compile_only"},
    {"concurrency_changes", "compiled", "", "", "execution.concurrency"},
    {"fails_chains", "compiled", "", "", "partitions.models"},
    {"groups_change", "compiled", "", "", "partitions.groups"},
    {"groups_named", "compiled", "", "", "sound"},
    {"groups_quantized", "compiled", "", "", "sound"},
    {"one_at_a_time", "compiled", "", "", "sound"},
    {"profile_bad_name", "compiled", "", "", "profiling.events"},
    {"profile_cannot_be_turned_on", "compiled", "", "", "profiling.events"},
    {"profile_changes_results", "compiled", "", "", "profiling.events"},
    {"profile_clock_runs_back", "compiled", "", "", "profiling.events"},
    {"profile_correlates_wrong", "compiled", "", "", "profiling.events"},
    {"profile_device_clock_alone", "compiled", "", "", "profiling.events"},
    {"profile_ends_first", "compiled", "", "", "profiling.events"},
    {"profile_goes_on", "compiled", "", "", "profiling.events"},
    {"profile_maps_anew", "compiled", "", "", "profiling.events"},
    {"profile_maps_foreign_nodes", "compiled", "", "", "profiling.events"},
    {"profile_maps_twice", "compiled", "", "", "profiling.events"},
    {"profile_mixes_contexts", "compiled", "", "", "profiling.events"},
    {"profile_outside_run", "compiled", "", "", "profiling.events"},
    {"profile_repeats", "compiled", "", "", "profiling.events"},
    {"profile_silent", "compiled", "", "", "profiling.events"},
    {"profile_unknown_clock", "compiled", "", "", "profiling.events"},
    {"profile_unknown_id", "compiled", "", "", "profiling.events"},
    {"resize_breaks_what_it_recompiles", "compiled", "", "", "resize.shapes"},
    {"resize_breaks_what_it_refuses", "compiled", "", "", "resize.shapes"},
    {"resize_computes_wrong", "compiled", "", "", "resize.shapes"},
    {"resize_disturbs_others", "compiled", "", "", "resize.shapes"},
    {"resize_fails_oddly", "compiled", "", "", "resize.shapes"},
    {"resize_forgets", "compiled", "", "", "resize.shapes"},
    {"resize_forgets_silently", "compiled", "", "", "resize.shapes"},
    {"resize_recompiles_wrong", "compiled", "", "", "resize.shapes"},
    {"resize_unknown_outcome", "compiled", "", "", "resize.shapes"},
    {"wrong_second_output", "compiled", "", "", "partitions.models"},
    {"wrong_under_executables", "compiled", "", "", "execution.threads_executables"},
    {"wrong_under_instances", "compiled", "", "", "execution.threads_instances"},
    {"drops_nan", "compiled", "", "", "numerics.Relu"},
    {"rounds_to_bfloat", "compiled", "", "", "numerics.Relu"},
    {"counts_in_16_bits", "compiled", "", "", "numerics.Relu"},
    {"wrong_tails", "compiled", "", "", "numerics.Relu"},
    {"caches_by_address", "compiled", "", "", "state.Relu"},
    {"breaks_after_refusal", "compiled", "", "", "state.Relu"},
    {"leaks_slowly", "compiled", "", "", "leaks.thousands"},
    {"remembers_answers", "compiled", "", "", "lifecycle.query_order"},
    {"ignores_flags", "compiled", "", "", "calls.flags"},
    {"ignores_cancel", "compiled", "", "", "sound, with a warning of calls.cancel"},
    {"strange_levels", "compiled", "", "", "device.state"},
    {"future_definition", "compiled", "", "", "capabilities.table"},
    {"declares_later", "compiled", "", "", "lifecycle.definitions"},
    {"cancels_the_next", "compiled", "", "", "calls.cancel"},
    {"wrong_at_low_power", "compiled", "", "", "calls.hints"},
    {"fails_when_cancelled", "compiled", "", "", "calls.control"},
    {"progress_beyond_end", "compiled", "", "", "numerics.Relu"},
    {"wrong_open_extents", "compiled", "", "", "shapes.allocated"},
    {"narrow_and_wrong", "compiled", "", "", "numerics.Relu: what it takes is searched for"},
    {"exclusive", "compiled", "", "R64", "sound: its device is asked for, in the environment"},
    {"misbehaves", "compiled", "", "R96", "sound: its faults are asked for, in the environment"},
    {"escapes", "compiled", "", "", "sound: what it tries is asked for, in the environment"},
    {"escapes_with_devices", "compiled", "", "", "sound: the same"},
    {"calls_another_abi", "compiled", "", "", "sound: the same"},
    {"holds_memory", "compiled", "", "", "sound: the same"},
    {"needs_socket", "compiled", "", "", "sound: outside of a sandbox"},
    {"takes_open_extents", "compiled", "", "", "sound"},
    {"says_priority", "compiled", "", "", "sound"},
    {"finder", "compiled", "", "", "sound"},
    {"streamer", "compile: not supported", "not a product with constant weights", "", "sound: it runs no Relu"},
    // Sound alone: two of them are wrong beside another.
    {"good", "compiled", "", "", "sound"},
    {"takes_custom", "compiled", "", "", "sound: takes a custom operator of TensorFlow Lite"},
    {"hostile_texts", "compiled", "", "", "sound"},
    {"has_queue", "compiled", "", "", "sound"},
    {"queue_cancels_all", "compiled", "", "", "async.cancel"},
    {"queue_has_one_of_two", "compiled", "", "", "async.runs"},
    {"queue_chooses_late_runs", "compiled", "", "", "async.queues"},
    {"queue_chooses_none", "compiled", "", "", "async.queues"},
    {"queue_ends_another", "compiled", "", "", "async.runs"},
    {"queue_ends_twice", "compiled", "", "", "async.overlap"},
    {"queue_is_shared", "compiled", "", "", "sound"},
    {"queue_loses_cancelled", "compiled", "", "", "async.cancel"},
    {"queue_mixes_threads", "compiled", "", "", "async.threads"},
    {"queue_polls_wrong", "compiled", "", "", "async.runs"},
    {"queue_refuses_oddly", "compiled", "", "", "async.full_queue"},
    {"queue_repeats_results", "compiled", "", "", "async.runs"},
    {"queue_runs_in_submit", "compiled", "", "", "async.overlap"},
    {"queue_takes_none", "open: plugin: ", "no run can begin", "", "async.queues"},
    {"queue_writes_late", "compiled", "", "", "async.runs"},
    {"keeps_memory", "compiled", "", "", "sound"},
    {"memory_copies_less", "compiled", "", "", "memory.buffers"},
    {"memory_copies_to_zero", "compiled", "", "", "memory.buffers"},
    {"memory_cuts_copies", "compiled", "", "", "memory.buffers"},
    {"memory_forgets_results", "compiled", "", "", "memory.runs"},
    {"memory_has_little_room", "compiled", "", "", "sound"},
    {"memory_has_no_room", "compiled", "", "", "sound"},
    {"memory_has_no_end", "compiled", "", "", "memory.foreign_handles"},
    {"memory_imports", "compiled", "", "", "sound"},
    {"memory_imports_a_copy", "compiled", "", "", "memory.imports"},
    {"memory_imports_anything", "compiled", "", "", "memory.imports"},
    {"memory_imports_from_zero", "compiled", "", "", "memory.imports"},
    {"memory_closes_imports", "compiled", "", "", "memory.imports"},
    {"memory_refuses_imports", "compiled", "", "", "sound"},
    {"memory_wants_tiles", "compiled", "", "", "sound"},
    {"memory_keeps_imports", "compiled", "", "", "memory.imports"},
    {"memory_sets_flags", "compiled", "", "", "memory.imports"},
    {"memory_writes_beside", "compiled", "", "", "memory.runs"},
    {"memory_names_twice", "compiled", "", "", "memory.buffers"},
    {"memory_odd_alignment", "compiled", "", "", "memory.runs"},
    {"memory_takes_released", "compiled", "", "", "memory.foreign_handles"},
    {"memory_wants_less", "compiled", "", "", "memory.runs"},
    {"memory_writes_another", "compiled", "", "", "memory.runs"},
    {"leaves_a_mark", "compiled", "", "", "sound"},
    {"duplicate", "compiled", "", "R80", "Scan: the id of a plugin that was there first"},
    {"rival", "compiled", "", "R80", "Scan: the delegate of a plugin that was there first"},
#if defined(HAVE_AARCH64_FIXTURE)
    {"good_aarch64", "refused: wrong-architecture", "", "R72"},
#endif
};

// The last one is of another delegate.
Graph Chain() { return TestGraph({{"first", "Relu"}, {"next", "Relu"}, {"third", "Sigmoid"}, {"held", "Relu"}}).graph; }

// "open: unavailable: no device", and what was logged of broken contracts.
std::string VerdictOf(const Row& row) {
  const testing::LogKeeper log;
  const TempFolder folder;
  folder.Add(row.fixture);
  ScanOptions options = PatientScan(folder.path());
  options.probe_timeout = std::chrono::milliseconds(row.timeout_ms);
  PluginRegistry registry;
  registry.Scan(options);
  const PluginEntry& entry = EntryOf(registry, std::string(row.fixture) + ".so");
  if (!entry.accepted) return "refused: " + std::string(NameOf(entry.reason)) + ": " + entry.text;
  const std::vector<std::string> ids = registry.delegate_ids();
  if (ids.empty()) return "no delegate";
  const auto failed = [&](const char* stage, const Status& status) {
    return std::string(stage) + ": " + StatusCodeName(status.code()) + ": " + status.ToString();
  };
  if (row.verdict == std::string_view("hangs")) alarm(1);
  OpenRequest request{ids[0], "entry", "", {}, nullptr};
  request.helpers = &DefaultPartitionHelpers();
  const Result<std::unique_ptr<Delegate>> opened = registry.Open(request);
  if (!opened.ok()) return failed("open", opened.status());
  const Graph graph = Chain();
  GraphView view = OfferAll(graph);
  view.offered.back() = 0;
  std::vector<deputy::host::Verdict> verdicts;
  if (const Status status = (*opened)->QuerySupport(view, verdicts); !status.ok()) return failed("query", status);
  Result<std::vector<PartitionSpec>> claims = std::vector<PartitionSpec>();
  if (host::PartitionProposer* const proposer = (*opened)->proposer()) claims = proposer->Propose(view);
  if (!claims.ok()) return failed("propose", claims.status());
  if (host::NodeGrouper* const grouper = (*opened)->grouper())
    if (const Status status = grouper->Groups(view).status(); !status.ok()) return failed("groups", status);
  if (log.text().find("broke its contract") != std::string::npos)
    return std::string("query: ") + (verdicts[0].supported() ? "supported: " : "not supported: ") + log.text();
  PartitionSpec partition;
  partition.nodes = {0};
  partition.inputs = {0};
  partition.outputs = {graph.nodes[0].outputs[0]};
  if (!claims->empty()) partition = claims->front();
  const Status compiled = (*opened)->Compile(view, partition).status();
  if (!compiled.ok()) return failed("compile", compiled);
  return log.text().find("broke its contract") == std::string::npos ? "compiled" : "compiled: " + log.text();
}

// In a process of its own: the signals, folder, threads and last moments of this one stay as they are.
std::string VerdictElsewhere(const Row& row) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    const int nowhere = open("/dev/null", O_WRONLY);  // for what fixtures print
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    const std::string text = VerdictOf(row);
    const bool written = write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGALRM ? "hangs" : "killed by a signal: " + text;
  return text;
}

class VerdictOn : public ::testing::TestWithParam<Row> {};

TEST_P(VerdictOn, IsAsTheTableSays) {
  const Row& row = GetParam();
  const std::string verdict = VerdictElsewhere(row);
  EXPECT_EQ(verdict.substr(0, std::string(row.verdict).size()), row.verdict) << verdict;
  EXPECT_TRUE(verdict.find(row.part) != std::string::npos) << "not '" << row.part << "' but: " << verdict;
  if (row.verdict == std::string("compiled")) {
    EXPECT_EQ(verdict, "compiled");
  }
}

INSTANTIATE_TEST_SUITE_P(Fixture, VerdictOn, ::testing::ValuesIn(kRows), [](const auto& row) {
  return (row.param.number[0] == '\0' ? "" : std::string(row.param.number) + "_") + row.param.fixture;
});

TEST(Fixtures, AllHaveTheirRowAndNoRowIsWithoutItsFixture) {
  std::set<std::string> built, rows;
  for (const auto& file : std::filesystem::directory_iterator(FIXTURE_PLUGINS))
    if (file.path().extension() == ".so") built.insert(file.path().stem());
  for (const Row& row : kRows) EXPECT_TRUE(rows.insert(row.fixture).second) << row.fixture << " has two rows";
  EXPECT_EQ(rows, built);
}

TEST(Fixtures, RefusedOnesDoNotHideTheSoundOneBehindThem) {
  const TempFolder folder;
  int number = 100;  // they come in order of name
  for (const Row& row : kRows)
    if (std::string_view(row.verdict).substr(0, 7) == "refused" && row.timeout_ms == 60000)
      folder.Add(row.fixture, std::to_string(number++) + row.fixture);
  folder.Add("good", "the_last");
  PluginRegistry registry;
  registry.Scan(PatientScan(folder.path()));
  EXPECT_EQ(registry.delegate_ids(), std::vector<std::string>{"good"});
  EXPECT_TRUE(EntryOf(registry, "the_last.so").accepted) << EntryOf(registry, "the_last.so").text;
}

TEST(Fixtures, OnesThatPassSayWhatFindsThemOrThatTheyAreSound) {
  for (const Row& row : kRows)
    EXPECT_FALSE(row.verdict == std::string("compiled") && row.kit == std::string()) << row.fixture;
}

}  // namespace
}  // namespace deputy::host
