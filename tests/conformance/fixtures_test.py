#!/usr/bin/env python3
"""Every fixture plugin is wrong in one way: the conformance kit must fail it, in the test that is for it, and say why.

  fixtures_test.py --kit deputy-conformance --plugins DIR [--only NAME]
"""

import argparse
import concurrent.futures
import os
import subprocess
import sys
from pathlib import Path

# Fixture: the test that must fail, and a part of what it says.
EXPECTED = {
    # The file and its tables.
    "no_note": ("entry.note", "there is no manifest"),
    "bad_note": ("entry.note", "the manifest says 'id' twice"),
    "bad_utf8_note": ("entry.note", "is not UTF-8"),
    "wrong_abi": ("entry.note", "the manifest is for ABI 0.3"),
    "no_entry": ("entry.exports", "deputy_plugin_query_v1 is not exported"),
    "exports_more": ("entry.exports", "other symbols are exported: fixture_other_symbol"),
    "library_first": ("entry.exports", "other symbols are exported: fixture_library_"),
    "library_second": ("entry.exports", "other symbols are exported: fixture_library_"),
    "shares_unique": ("entry.exports", "plugins of one process share these symbols: fixture_unique"),
    "bad_utf8_id": ("entry.tables", "the plugin's id is not UTF-8"),
    "long_id": ("entry.tables", "the plugin's id"),
    "wrong_id": ("entry.tables", "in the manifest"),
    "count_too_high": ("entry.tables", "the table has 2"),
    "counts_lie": ("entry.tables", "it says that it has 1000000000 delegates"),
    "null_slots": ("entry.tables", "is empty"),
    "null_table": ("entry.tables", "returned no table"),
    "short_delegate": ("entry.tables", "a delegate's struct_size is 64, less than that of ABI 0.2"),
    "short_struct_size": ("entry.tables", "the plugin's table says that it has"),
    "fails_init": ("entry.tables", "init failed: unavailable: no driver"),
    "crash_in_query": ("entry.tables", "in query"),
    "data_entry": ("entry.tables", "in query"),
    "exit_in_constructor": ("entry.tables", "ended the process with exit status 0 in dlopen"),
    "half_answer": ("entry.tables", "ended the process with exit status 0 in dlopen"),
    "garbage_answer": ("entry.tables", "it wrote to stdout"),
    "prints_a_lot": ("entry.tables", "it wrote to stdout"),
    "killed_in_constructor": ("host.scan", "crashed with SIGABRT while it was loaded"),
    "static_tls": ("host.scan", "cannot allocate memory in static TLS block"),
    "hang_in_constructor": ("entry.tables", "did not finish within 3 s; in dlopen"),
    "fork_in_constructor": ("entry.tables", "did not finish within 3 s; in dlopen"),
    "hang_in_init": ("entry.tables", "did not finish within 3 s; in init"),
    "throws_in_query": ("entry.tables", "an exception left query"),
    "throws_in_constructor": ("entry.tables", "in dlopen"),
    "closes_descriptors": ("entry.tables", "ended the process with exit status 0"),
    "missing_dependency": ("entry.tables", "dlopen: "),
    "needs_helper": ("entry.tables", "dlopen: "),
    "undefined_symbol": ("entry.tables", "dlopen: "),
    # What the host's own gate refuses.
    "bad_environment": ("host.scan", "it may not set the environment variable LD_PRELOAD"),
    "executable_stack": ("host.scan", "requests an executable stack"),
    "garbage_struct_size": ("host.scan", "its plugin table has the invalid struct_size"),
    "needs_impossible_cpu": ("host.scan", "the host refuses the plugin"),
    "sanitizer": ("host.scan", "the host refuses the plugin"),
    "crash_in_constructor": ("host.scan", "crashed with SIGSEGV while it was loaded"),
    # Options.
    "bad_frequency": ("options.schema", "the default '800rpm' is neither a level"),
    "strange_levels": ("device.state", "level_granted is 7, and levels are 1 to 4"),
    "future_definition": ("capabilities.table", "the table has definition 99, and the newest of any operator is"),
    "wrong_fusions": ("options.results", "fault=batch_2: MatMul: plain: largest error"),
    "bad_default": ("options.schema", "the default '9' is out of range"),
    "declares_later": ("lifecycle.definitions", "which is newer than all that exist"),
    # From open to close.
    "changes_answers": ("lifecycle.query", "the second answer differs from the first"),
    "claims_foreign_nodes": ("lifecycle.query", "it answered for a node that does not exist"),
    "answers_twice": ("lifecycle.query", "it answered twice for one node"),
    "changes_locale": ("lifecycle.surroundings", "the locale (C to C.UTF-8)"),
    "changes_signals": ("lifecycle.surroundings", "Broken pipe"),
    "blocks_signals": ("lifecycle.surroundings", "the handling of User defined signal 1"),
    "changes_folder": ("lifecycle.surroundings", "the working folder, the variable FIXTURE_WAS_HERE"),
    "leaves_threads": ("lifecycle.threads", "1 threads are still there after shutdown"),
    "crashes_in_open": ("lifecycle.open", "killed by Aborted in open"),
    "hangs_in_open": ("lifecycle.open", "did not finish within 3 s; in open"),
    "crashes_at_exit": ("lifecycle.open", "killed by Aborted in exit"),
    "leaks_instances": ("leaks.open", "are lost per open and close"),
    "leaks_executables": ("leaks.compile", "are lost per compile and destroy"),
    "leaks_contexts": ("leaks.context", "are lost per context"),
    # Compile and execute.
    "crashes_in_compile": ("numerics.Relu", "killed by Aborted in compile"),
    "fails_compile": ("numerics.Relu", "and then compile refuses it: not supported: no room on the device"),
    "old_list": ("numerics.Relu", "and then compile refuses it: not supported: nothing is computed here"),
    "no_executable": ("numerics.Relu", "compile succeeded without an executable"),
    "throws": ("numerics.Relu", "compile: an exception left it: from compile"),
    "uses_old_graph": ("numerics.Relu", "with a graph handle that is no longer valid"),
    "fails_execute": ("numerics.Relu", "and then execute fails: not supported: not written yet"),
    "throws_in_execute": ("numerics.Relu", "execute: an exception left it: from execute"),
    "crashes_in_execute": ("numerics.Relu", "killed by Segmentation fault in execute"),
    "wild_slots": ("numerics.Relu", "in execute"),
    "exits_in_execute": ("numerics.Relu", "ended the process with exit status 0 in execute"),
    "hangs_in_execute": ("execution.repeated", "did not finish within 3 s; in execute"),
    "prints_in_execute": ("numerics.Relu", "it wrote to stdout, which is the host's: running"),
    "changes_rounding": ("numerics.Relu", "execute: it changed the floating point environment"),
    "changes_flushing": ("numerics.Relu", "execute: it changed the floating point environment"),
    "returns_old_status": ("lifecycle.probe", "it returned a status that it had returned before"),
    "returns_foreign_status": ("numerics.Relu", "it returned a status that the host did not make"),
    "unknown_code": ("numerics.Relu", "the unknown code 9999"),
    "fails_with_success": ("numerics.Relu", "it returned a status whose code is success"),
    "drops_statuses": ("leaks.execute", "statuses were made and never returned"),
    "leaks_runs": ("leaks.execute", "bytes of memory are lost per run"),
    "leaks_descriptors": ("leaks.execute", "about 1 descriptors are lost per run"),
    "writes_inputs": ("numerics.Relu", "it wrote input 0"),
    "leaves_outputs": ("numerics.Relu", "elements were not written"),
    "leaves_last_element": ("numerics.Relu", "output 0: 1 elements were not written, the first at [1,2,3,4]"),
    "writes_behind_output": ("numerics.Relu", "it reached memory behind output 0"),
    "writes_before_output": ("numerics.Relu", "it reached memory in front of output 0"),
    "reads_behind_input": ("numerics.Relu", "it reached memory behind input 0"),
    "wants_alignment": ("numerics.Relu", "invalid argument: not aligned"),
    "second_is_wrong": ("numerics.Relu", "Relu: plain: largest error"),
    "wrong_values": ("numerics.Relu", "Relu: plain: largest error"),
    "keeps_state": ("numerics.Relu", "a second run on the same inputs differs"),
    "wrong_after_ten_runs": ("execution.repeated", "run 11 in one context"),
    "wrong_under_threads": ("execution.threads", "on 4 threads at once"),
    "wrong_under_executables": ("execution.threads_executables", "on 4 threads at once"),
    "wrong_under_instances": ("execution.threads_instances", "on 4 threads at once"),
    "concurrency_changes": ("execution.concurrency", "it answers otherwise when something has been compiled"),
    "concurrency_fails": ("execution.concurrency", "concurrency failed: unknown: who knows"),
    "writes_late": ("execution.late_writes", "it wrote output 0 after execute had returned"),
    # Values, sizes and forms beside those of the fixed cases.
    "drops_nan": ("numerics.Relu", "values=nan: largest error inf"),
    "rounds_to_bfloat": ("numerics.Relu", "values=full: largest error"),
    "counts_in_16_bits": ("numerics.Relu", "values=full: output 0: 65536 elements were not written"),
    "wrong_tails": ("numerics.Relu", "shape=[2,3,3,11] values=full: largest error"),
    "narrow_and_wrong": ("numerics.Relu", "Relu: shape=[1,8,4,4]: largest error"),
    # State and calls.
    "caches_by_address": ("state.Relu", "in the buffers of the run before, with other data: largest error"),
    "breaks_after_refusal": ("state.Relu", "after a refused run: after a refused run: largest error"),
    "leaks_slowly": ("leaks.thousands", "bytes of memory are lost in each 1000 runs"),
    "remembers_answers": ("lifecycle.query_order", "its answer depends on earlier questions"),
    "ignores_flags": ("calls.flags", "compile: an unknown bit of flags is not refused"),
    "cancels_the_next": ("calls.cancel", "of a run that has ended: the next run: execute failed: cancelled"),
    "wrong_at_low_power": ("calls.hints", "power_level=1: largest error"),
    "fails_when_cancelled": ("calls.control", "a compilation that was cancelled: compile ends with: internal: gone"),
    "progress_beyond_end": ("numerics.Relu", "compile: its progress is 1500 of 1000"),
    "wrong_open_extents": ("shapes.allocated", "allocate: the extents"),
    # Partitions of several nodes.
    "claims_node_twice": ("partitions.claims", "propose: it claims a node twice"),
    "claims_unknown_node": ("partitions.claims", "propose: it claims a node that does not exist"),
    "claims_taken_node": ("partitions.claims", "propose: it claims a node that was not offered"),
    "claims_wrong_border": ("partitions.claims", "a claim's inputs and outputs are not those of its nodes"),
    "claims_clusters_wrong": ("partitions.claims", "propose failed: invalid argument: 'count' is not the number"),
    "claims_without_release": ("partitions.claims", "has one of propose and claim_release without the other"),
    "claims_refused": ("partitions.models", "and then compile refuses them: not supported: one node at a time"),
    "claims_leak": ("leaks.claims", "bytes of memory are lost per proposal and refusal"),
    "groups_unknown_node": ("partitions.groups", "groups: a group has a node that does not exist"),
    "groups_node_twice": ("partitions.groups", "groups: a group has a node twice"),
    "groups_overlap": ("partitions.groups", "groups: two groups have one node"),
    "groups_of_one": ("partitions.groups", "groups: a group has less than two nodes"),
    "groups_change": ("partitions.groups", "the second answer for the same graph differs from the first"),
    "wrong_second_output": ("partitions.models", "partition of Relu0, Relu1: v2: largest error 1"),
    "fails_chains": ("partitions.models", "and then compile refuses them: internal: one node expected"),
    # Other shapes.
    "resize_computes_wrong": ("resize.shapes", "to [5,3,4,5]: after it was resized: largest error"),
    "resize_forgets": ("resize.shapes", "it does not go back to the shapes that it was compiled for: not supported"),
    "resize_forgets_silently": ("resize.shapes", "after it was resized and back: largest error"),
    "resize_breaks_what_it_refuses": ("resize.shapes", "after it did not resize (not supported"),
    "resize_breaks_what_it_recompiles": ("resize.shapes", "after it did not resize (recompile): largest error"),
    "resize_disturbs_others": ("resize.shapes", "after another context was resized: largest error"),
    "resize_unknown_outcome": ("resize.shapes", "the unknown outcome 7"),
    "resize_fails_oddly": ("resize.shapes", "nor not supported, but: internal: a size that nobody expected"),
    "resize_recompiles_wrong": ("resize.shapes", "it wants to compile anew, and fails: internal: compiled before"),
    # Profiling.
    "profile_ends_first": ("profiling.events", "and begins at"),
    "profile_unknown_clock": ("profiling.events", "an event is on the unknown clock 3"),
    "profile_unknown_id": ("profiling.events", "the event 'scale' has the id 4, which is not in the debug map"),
    "profile_bad_name": ("profiling.events", "an event has a name that is not UTF-8"),
    "profile_outside_run": ("profiling.events", "its run was from"),
    "profile_device_clock_alone": ("profiling.events", "is on the device's clock, and there is no correlate"),
    "profile_correlates_wrong": ("profiling.events", "correlate gives 1000 as the host's clock"),
    "profile_clock_runs_back": ("profiling.events", "the device's clock goes backwards"),
    "profile_maps_twice": ("profiling.events", "debug_map: it added id 3 twice"),
    "profile_maps_foreign_nodes": ("profiling.events", "maps to node 40, which is not in the partition"),
    "profile_maps_anew": ("profiling.events", "debug_map answers otherwise the second time"),
    "profile_goes_on": ("profiling.events", "an event arrived after profiling was turned off"),
    "profile_mixes_contexts": ("profiling.events", "a run of another context gives the event 'scale'"),
    "profile_changes_results": ("profiling.events", "with profiling, the results are others"),
    "profile_repeats": ("profiling.events", "collect gives events again that it gave before"),
    "profile_silent": ("profiling.events", "it says that it profiles, and no run has an event"),
    "profile_cannot_be_turned_on": ("profiling.events", "profiling cannot be turned on: unavailable: no counters"),
    # Executables as bytes.
    "blob_without_text": ("blob.compatibility", "compatibility: the text is empty"),
    "blob_changes_text": ("blob.compatibility", "compatibility gives another text the second time"),
    "blob_text_overflows": ("blob.compatibility", "compatibility: it wrote behind the buffer"),
    "blob_takes_any_text": ("blob.compatibility", "check takes the text"),
    "blob_changes_bytes": ("blob.serialize", "the same executable gives other bytes the second time"),
    "blob_ignores_sink": ("blob.serialize", "it succeeded although the sink had refused"),
    "blob_restores_wrong": ("blob.restore", "Relu: plain: the restored executable is wrong: largest error"),
    "blob_restores_little_else": ("blob.restore", "gives other bytes than the compiled one"),
    "blob_needs_its_process": ("blob.restore", "it refuses its own blob: incompatible"),
    "blob_not_released": ("blob.restore", "its blob was not released before executable_destroy returned"),
    "blob_kept_when_refused": ("blob.damage", "its blob was not released before restore failed"),
    "blob_released_twice": ("blob.restore", "it released its blob twice"),
    "blob_used_after_release": ("blob.restore", "in execute: it reached the blob after it had released it"),
    "blob_is_written": ("blob.restore", "in restore: it wrote the blob"),
    "blob_without_executable": ("blob.restore", "restore succeeded without an executable"),
    "blob_trusts_bytes": ("blob.damage", "it reached memory behind the blob"),
    "blob_takes_cut": ("blob.damage", "it restores an executable from a blob that is not whole"),
    "blob_refused_oddly": ("blob.damage", "neither as incompatible nor as an invalid argument: out of memory"),
    "compile_only_refused": ("blob.compile_only", "open failed: unavailable: no device"),
    "compile_only_wrong": ("blob.compile_only", "Relu: plain: the restored executable is wrong"),
    "hostile_texts": ("execution.repeated", "a log message is not UTF-8"),
    # Memory of a device.
    "memory_copies_less": ("memory.buffers", "has other bytes than were copied there"),
    "memory_copies_to_zero": ("memory.buffers", "after a copy between parts of buffers one of them has other bytes"),
    "memory_cuts_copies": ("memory.buffers", "a buffer of 3145733 bytes has other bytes than were copied there"),
    "memory_writes_another": ("memory.runs", "a run changed a buffer that it was not given"),
    "memory_imports_a_copy": ("memory.imports", "does not see what is copied there"),
    "memory_imports_anything": ("memory.imports", "import of memory of kind 0 succeeds"),
    "memory_imports_from_zero": ("memory.imports", "imported memory has other bytes than its file"),
    "memory_closes_imports": ("memory.imports", "import closes the descriptor of the memory"),
    "memory_keeps_imports": ("memory.imports", "the delegate has a mapping of imported memory after its release"),
    "memory_sets_flags": ("memory.imports", "changes its flags"),
    "memory_writes_beside": ("memory.runs", "the run changed bytes beside memory that was imported"),
    "memory_names_twice": ("memory.buffers", "allocate gives two buffers one name"),
    "memory_takes_released": ("memory.foreign_handles", "a copy from a released buffer succeeds"),
    "memory_has_no_end": ("memory.foreign_handles", "a copy from bytes behind a buffer succeeds"),
    "memory_wants_less": ("memory.runs", "wish_of: for tensor 0 it wants"),
    "memory_odd_alignment": ("memory.runs", "the alignment is 96, no power of two"),
    "memory_forgets_results": ("memory.runs", "largest error"),
    # Runs that the delegate ends by itself.
    "queue_runs_in_submit": ("async.overlap", "runs ended within submit"),
    "queue_chooses_late_runs": ("async.queues", "choose selects run"),
    "queue_mixes_threads": ("async.threads", "threads submit at once"),
    "queue_repeats_results": ("async.runs", "largest error"),
    "queue_ends_twice": ("async.overlap", "has ended before, or was never submitted"),
    "queue_ends_another": ("async.runs", "a run has not ended 10 s after submit"),
    "queue_writes_late": ("async.runs", "after its run had ended"),
    "queue_loses_cancelled": ("async.cancel", "a run has not ended 10 s after its cancel, behind another"),
    "queue_cancels_all": ("async.cancel", "beside a run that is cancelled: a submitted run fails: cancelled"),
    "queue_has_one_of_two": ("async.runs", "invalid argument: there is no such queue"),
    "queue_refuses_oddly": ("async.full_queue", "a run too many is not refused as UNAVAILABLE: out of memory"),
    "queue_polls_wrong": ("async.runs", "poll says that a run for which done was called has not ended"),
    "queue_takes_none": ("async.queues", "no run can begin with 1 queues, 0 runs in flight"),
    "queue_chooses_none": ("async.queues", "choose selects run 2 of 2 on queue 0 of 1"),
    "compile_only_writes_nothing": ("blob.compile_only", "opened to compile only, it writes no executable"),
}
# Sound on their own; they are wrong beside another plugin or for another host.
SOUND = {"good", "able", "claims_whole", "claims_clusters", "groups_named", "groups_quantized", "heeds_deadline",
         "calls_another_abi", "escapes", "escapes_with_devices", "exclusive",
         "holds_memory", "ignores_cancel", "has_queue", "queue_is_shared", "keeps_memory", "memory_has_little_room",
         "memory_has_no_room", "memory_imports", "memory_refuses_imports", "memory_wants_tiles", "leaves_a_mark",
         "logs_a_lot", "misbehaves", "needs_socket", "one_at_a_time", "outlives_deadline",
         "takes_custom", "takes_open_extents", "duplicate", "rival", "says_priority", "unavailable", "finder",
         "streamer"}  # fmt: skip
# All but the operators that a fixture does not have.
SOUND_TESTS = ("entry.*,options.*,device.*,lifecycle.*,numerics.Relu,partitions.*,fusions.Relu,fusions.patterns,"
               "fusions.networks,execution.*,state.Relu,state.partitions,calls.*,shapes.*,resize.*,profiling.*,blob.*,"
               "memory.*,async.*,leaks.*,host.scan")  # fmt: skip
UNAVAILABLE = 4  # exit status
NO_PLUGINS = {"helper", "good_aarch64"}


def seconds_of(name, tests):
    """The limit of a test. One fixture yields the processor 20 times in each of thousands of runs."""
    if name == "one_at_a_time":
        return "600"
    hangs = tests in ("entry.tables", "lifecycle.open", "execution.repeated") and ("hang" in name or "fork" in name)
    return "3" if hangs else "60"


def run(arguments, name, tests, *more):
    command = [arguments.kit, str(arguments.plugins / f"{name}.so"), *more, "--filter", tests, "--timeout",
               seconds_of(name, tests)]  # fmt: skip
    environment = {**os.environ, "LC_ALL": "C"}
    environment.pop("FIXTURE_WAS_HERE", None)
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, env=environment)
    return done.returncode, done.stdout + done.stderr


def verdict(arguments, name):
    """"" when the kit says what it must about the fixture."""
    if name in SOUND:
        if name == "unavailable":
            code, output = run(arguments, name, SOUND_TESTS)
            if code != UNAVAILABLE or "UNAVAILABLE  the probe says" not in output:
                return f"nobody hears why its tests were skipped, exit status {code}:\n{output}"
        code, output = run(arguments, name, SOUND_TESTS, "--allow-unavailable")
        return "" if code == 0 else f"is sound, but fails:\n{output}"
    test, text = EXPECTED[name]
    code, output = run(arguments, name, test)
    if code != 1:
        return f"exit status {code} instead of 1:\n{output}"
    whose = "other: " if name == "second_is_wrong" else ""
    if any(line.startswith(f"FAIL  {whose}{test}  ") and text in line for line in output.splitlines()):
        return ""
    return f"'{text}' is not said by {test}:\n{output}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kit", required=True)
    parser.add_argument("--plugins", type=Path, required=True)
    parser.add_argument("--only")
    arguments = parser.parse_args()
    built = {path.stem for path in arguments.plugins.glob("*.so")} - NO_PLUGINS
    wrong = 0
    for name in sorted(built - set(EXPECTED) - SOUND):
        wrong += 1
        print(f"{name}: a fixture without a line in the table")
    for name in sorted((set(EXPECTED) | SOUND) - built):
        wrong += 1
        print(f"{name}: a line in the table without a fixture")
    names = sorted(name for name in built & (set(EXPECTED) | SOUND) if arguments.only in (None, name))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, fault in zip(names, pool.map(lambda one: verdict(arguments, one), names)):
            if fault:
                wrong += 1
                print(f"{name}: {fault}")
    print(f"{len(names)} fixtures, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
