"""What compare.py found, as lines, as the tables of performance-models.md, and held against the targets."""

import math
import re

LIMITS = {"measured": 1.1, "cpu": 3.0}  # times ONNX Runtime's median
MEAN = 0.80  # geometric mean of these ratios, of `measured`
OF_THE_BETTER = 1.05  # times the better one of `onednn` first and the CPU alone, of `measured`
DISPATCH_NS, DISPATCH = 200, 0.5  # a node; of the time that ONNX Runtime takes for it
GROWTH = 2.0  # of the time per node of loading, from 10,000 nodes to 100,000
LIBRARY_BYTES = 6_000_000
MEMORY_MODEL = "resnet50"

OURS = ("measured", "onednn", "cpu")
TITLES = {"measured": "measured", "onednn": "`onednn` first", "cpu": "CPU alone", "ort": "ONNX Runtime"}


def milliseconds(ns):
    value = ns / 1e6
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def megabytes(count):
    return f"{count / 1e6:.0f}"


def peak_of_model(facts):
    """What loading and a first run needed over what the process had before."""
    return max(0, facts["peak_bytes"] - facts["resident_before_bytes"])


def line(result):
    parts = [f"{result['model']:<18} {result['threads']}T"]
    for name, facts in result["engines"].items():
        nodes = facts.get("nodes", {})
        taken = f", {nodes[name]} of {sum(nodes.values())} nodes" if name in nodes and name != "cpu" else ""
        ratio = f" {facts['ratio']:.2f}x" if name != "ort" else ""
        cost = f"load {milliseconds(facts['load_ns'])} ms, peak +{megabytes(peak_of_model(facts))} MB{taken}"
        parts.append(f"{name} {milliseconds(facts['median_ns'])} ms{ratio} ({cost}, |d| {facts['disagreement']:.1e})")
    return "  ".join(parts)


def loading_line(row):
    times = "  ".join(f"{name} {milliseconds(ns)} ms ({ns / row['nodes']:.0f} ns a node)"
                      for name, ns in row.items() if name != "nodes")  # fmt: skip
    return f"load chain of {row['nodes']:>6}  {times}"


def table(titles, rows):
    left = {"model", "chain of"}
    lines = ["| " + " | ".join(titles) + " |", "|" + "|".join("---" if t in left else "---:" for t in titles) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def latency_table(whole):
    rows = []
    for result in whole["results"]:
        engines = result["engines"]
        rows.append([f"`{result['model']}`", str(result["threads"]), milliseconds(engines["ort"]["median_ns"])])
        for name in OURS:
            rows[-1] += [milliseconds(engines[name]["median_ns"]), f"{engines[name]['ratio']:.2f}"]
        rows[-1].append(f"{max(facts['disagreement'] for facts in engines.values()):.0e}")
    ours = [title for name in OURS for title in (f"{TITLES[name]} ms", "ratio")]
    return table(["model", "threads", f"{TITLES['ort']} ms", *ours, "max \\|d\\|"], rows)


def load_table(whole):
    rows = []
    for result in whole["results"]:
        if result["threads"] != min(r["threads"] for r in whole["results"]):
            continue
        rows.append([f"`{result['model']}`"])
        for name in ("ort", "onednn", "cpu"):
            rows[-1].append(milliseconds(result["engines"][name]["load_ns"] + result["engines"][name]["first_ns"]))
        for name in ("ort", "onednn", "cpu"):
            facts = result["engines"][name]
            rows[-1].append(f"{megabytes(peak_of_model(facts))} ({megabytes(facts['peak_bytes'])})")
    titles = ["model", *(f"{TITLES[name]} ms" for name in ("ort", "onednn", "cpu")),
              *(f"{TITLES[name]} MB" for name in ("ort", "onednn", "cpu"))]  # fmt: skip
    return table(titles, rows)


def chain_table(whole):
    rows = [[f"{row['nodes']:,}", milliseconds(row["ort"]), f"{row['ort'] / row['nodes']:.0f}",
             milliseconds(row["cpu"]), f"{row['cpu'] / row['nodes']:.0f}"] for row in whole["loading"]]  # fmt: skip
    return table(["chain of", "ONNX Runtime ms", "ns a node", "Deputy ms", "ns a node"], rows)


def mean_ratio(whole):
    ratios = [result["engines"]["measured"]["ratio"] for result in whole["results"]]
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def of_the_better(result):
    """The time of the measured placement over that of the better of the other two. Where it is the placement of one of
    these, the smaller of their times: two processes that run the same differ by the machine alone. Times are those of
    the best round: a virtual machine may be half as fast for whole rounds."""
    engines = result["engines"]
    owned = {name: {owner: count for owner, count in engines[name]["nodes"].items() if count} for name in OURS}
    same = [name for name in OURS if owned[name] == owned["measured"]]
    best = {name: min(min(engines[other]["round_medians_ns"]) for other in group)
            for name, group in (("measured", same), ("better", ("onednn", "cpu")))}  # fmt: skip
    return best["measured"] / best["better"]


def dispatch_ns(whole, name):
    return whole["dispatch"]["engines"][name]["median_ns"] / 1000


def excess_of_dispatch(result):
    """1 and above where a limit is missed."""
    ours, theirs = (dispatch_ns({"dispatch": result}, name) for name in ("cpu", "ort"))
    return max(ours / DISPATCH_NS, ours / theirs / DISPATCH)


def machine_text(whole):
    about = whole["machine"]
    first = whole["dispatch"]["engines"]
    kind = "virtual machine" if about["virtual"] else "machine"
    return (
        f"{about['cpu']}, {about['cpus']} CPUs of a {kind}, {about['memory_bytes'] / 2**30:.0f} GiB; "
        f"{', '.join(about['flags'])}. {about['os']}, Linux {about['kernel']}, {about['scheduling']} scheduling, load "
        f"average {whole['load_average']['before'][0]} before and {whole['load_average']['after'][0]} after "
        f"{whole['seconds']} s.\nDeputy {first['cpu']['version']}, {about['compiler']}, `{about['flags_of_build']}`; "
        f"oneDNN {about['onednn']}; ONNX Runtime {first['ort']['version']} from PyPI."
    )


def tables(whole):
    missing = f"\n\nNot run, for want of the file: {', '.join(whole['skipped'])}." if whole["skipped"] else ""
    return f"""{machine_text(whole)}

Median time of a run; ratios are to ONNX Runtime's.

{latency_table(whole)}{missing}

Measured placements: geometric mean of the ratios {mean_ratio(whole):.2f}; at most \
{max(map(of_the_better, whole['results'])):.2f} of the time of the better of the other two.

Time from the file to the first outputs; peak of resident memory until then over what the process had before (and the
whole process). One thread.

{load_table(whole)}

Dispatch on the chain of 1,000, CPU alone: {dispatch_ns(whole, 'cpu'):.0f} ns a node; ONNX Runtime \
{dispatch_ns(whole, 'ort'):.0f} ns. Import to plan (ONNX Runtime: until its session is made):

{chain_table(whole)}

`libdeputy` with its kernels for all instruction sets, stripped: {whole['library_bytes'] / 1e6:.2f} MB.
"""


def write(path, whole):
    """Between the marks; everything around them is written by hand."""
    document = path.read_text(encoding="utf-8")
    made, count = re.subn(
        r"(<!-- compare -->\n).*?(<!-- /compare -->)",
        lambda found: f"{found[1]}\n{tables(whole)}\n{found[2]}", document, flags=re.S,
    )  # fmt: skip
    if count != 1:
        raise SystemExit(f"{path}: the marks <!-- compare --> and <!-- /compare --> are missing")
    path.write_text(made, encoding="utf-8")


def ratios_of(result):
    """The ratios of one model that have a limit: what it is of, the ratio, the limit."""
    for name, limit in LIMITS.items():
        yield f"{name} is", result["engines"][name]["ratio"], limit
    yield "measured, of the better of onednn first and the CPU alone, is", of_the_better(result), OF_THE_BETTER


def excess(result):
    """1 and above where a limit is missed."""
    return max(ratio / limit for _, ratio, limit in ratios_of(result))


def missed_targets(whole):
    missed = [f"{name} was not run" for name in whole["skipped"]]
    for result in whole["results"]:
        missed += [f"{result['model']}, {result['threads']}T: {what} {ratio:.2f}x, at most {limit}x"
                   for what, ratio, limit in ratios_of(result) if ratio > limit]  # fmt: skip
        if result["model"] == MEMORY_MODEL:
            most = peak_of_model(result["engines"]["ort"])
            for name in ("onednn", "cpu"):
                peak = peak_of_model(result["engines"][name])
                if peak >= most:
                    missed.append(f"{result['model']}, {result['threads']}T: {name} needs {megabytes(peak)} MB, "
                                  f"ONNX Runtime {megabytes(most)}")  # fmt: skip
    if mean_ratio(whole) > MEAN:
        missed.append(f"measured is {mean_ratio(whole):.2f}x in the geometric mean, at most {MEAN}x")
    if excess_of_dispatch(whole["dispatch"]) >= 1:
        missed.append(f"dispatch takes {dispatch_ns(whole, 'cpu'):.0f} ns a node, under {DISPATCH_NS} and {DISPATCH} of "
                      f"ONNX Runtime's {dispatch_ns(whole, 'ort'):.0f} ns")  # fmt: skip
    per_node = {row["nodes"]: row["cpu"] / row["nodes"] for row in whole["loading"]}
    growth = per_node[100000] / per_node[10000]
    if growth >= GROWTH:
        missed.append(f"loading is not linear: a node takes {growth:.1f} times as long among 100,000 as among 10,000")
    if whole["library_bytes"] >= LIBRARY_BYTES:
        missed.append(f"libdeputy has {whole['library_bytes'] / 1e6:.2f} MB")
    return missed
