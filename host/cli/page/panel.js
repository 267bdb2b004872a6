// The panel beside the graph: everything that is known about the model, a node, a folded block or an end of the graph.
// Texts of the model are set as text, never as markup.

class Panel {
  // `go(node)` selects a node; `enter(region)` shows a region; `fold(key, open)` opens or closes a fold.
  constructor(element, graph, {go, enter, fold}) {
    this.element = element;
    this.graph = graph;
    this.data = graph.data;
    this.go = go;
    this.enter = enter;
    this.fold = fold;
  }

  show(...children) {
    this.element.replaceChildren(...children.flat().filter(child => child !== null));
    this.element.scrollTop = 0;
  }

  showModel() {
    const {model, summary, multiply_adds: work, delegates, measured, nodes, partitions, regions, version} = this.data;
    this.show(
      make("h2", {}, model),
      make("p", {className: "name"}, summary),
      facts([
        ["nodes", count(nodes.length)], ["partitions", count(delegates.reduce((sum, delegate) => sum + delegate.partitions, 0))],
        ["regions", regions.length > 1 ? count(regions.length - 1) : ""],
        ["multiply-adds", work > 0 ? amount(work) : ""],
        ["time of a run", measured === null ? "" : `${time(measured.total_ns)}, median of ${measured.runs}`]]),
      make("h3", {}, "Delegates"),
      make("ul", {}, delegates.map(delegate => make("li", {},
        make("div", {className: "row"}, make("span", {}, swatch(delegate), delegate.name),
          make("span", {}, `${plural(delegate.nodes, "node")}, ${plural(delegate.partitions, "partition")}`)),
        delegate.multiply_adds === 0 ? null : make("span", {className: "detail"},
          `${share(delegate.multiply_adds, work)} of the multiply-adds`),
        measured === null || delegate.nodes === 0 ? null : make("span", {className: "detail"},
          this.timeOf(delegates.indexOf(delegate))),
        delegate.plugin === "" ? null : make("span", {className: "detail"}, delegate.plugin),
        delegate.device === "" ? null : make("span", {className: "detail"}, delegate.device),
        delegate.options.length === 0 ? null : make("span", {className: "detail"},
          delegate.options.map(([name, value]) => `${name}: ${value}`).join(", "))))),
      this.reasonList(),
      this.partitionList(),
      make("p", {className: "name"}, `Deputy ${version}`));
  }

  // The sum of its partitions.
  timeOf(delegate) {
    const {partitions, measured} = this.data;
    const sum = partitions.reduce((ns, part) => part.delegate === delegate ? ns + (part.time_ns ?? 0) : ns, 0);
    return `${time(sum)} of a run (${share(sum, measured.total_ns)})`;
  }

  // Why nodes are not on the delegates before theirs, with the number of nodes.
  reasonList() {
    const {nodes, refusals, delegates} = this.data;
    const counts = delegates.map(() => new Map());
    for (const {delegate: owner, refusals: list} of nodes)
      for (const [delegate, reason] of refusals[list])
        if (delegate < owner) counts[delegate].set(reason, (counts[delegate].get(reason) ?? 0) + 1);
    return counts.flatMap((reasons, delegate) => reasons.size === 0 ? [] : [
      make("h3", {}, `Not on ${delegates[delegate].name}`),
      make("ul", {}, [...reasons].sort((a, b) => b[1] - a[1]).map(([reason, number]) => make("li", {},
        make("div", {className: "row"}, make("span", {}, reason), make("span", {}, plural(number, "node"))))))]);
  }

  // The partitions of several nodes; those of the fallback are mostly single nodes.
  partitionList() {
    const {partitions, nodes, delegates} = this.data;
    const firstNode = new Map();
    nodes.forEach(({partition}, index) => { if (!firstNode.has(partition)) firstNode.set(partition, index); });
    const large = partitions.map((partition, index) => ({...partition, index})).filter(({nodes: size}) => size > 1);
    if (large.length === 0) return null;
    const shown = large.slice(0, 200);
    return [make("h3", {}, "Partitions of several nodes"), make("ul", {}, shown.map(partition => make("li", {},
      make("div", {className: "row"},
        make("span", {}, swatch(delegates[partition.delegate]),
          this.link(partition.name, () => this.go(firstNode.get(partition.index)))),
        make("span", {}, [plural(partition.nodes, "node"), partition.time_ns && time(partition.time_ns)]
          .filter(Boolean).join(", ")))))),
      large.length > shown.length ? make("p", {className: "name"}, `and ${large.length - shown.length} more`) : null];
  }

  showNode(node, {producers, consumers, fold}) {
    const {data, graph} = this;
    const {name, domain, version, delegate, partition, region, multiply_adds: work, time_ns: ns,
      check} = data.nodes[node];
    const owner = data.delegates[delegate];
    const path = data.regions[region].path;
    this.show(
      make("h2", {}, graph.operator(node), make("small", {}, ` version ${version}`)),
      make("p", {className: "name long"}, name),
      graph.isWrong(node) ? make("p", {className: "wrong"}, "differs from the CPU") : null,
      facts([
        ["domain", domain === "" ? "ai.onnx" : domain], ["region", path],
        ["delegate", [swatch(owner), owner.name]],
        ["partition", this.partitionText(partition)],
        ["multiply-adds", work > 0 ? `${amount(work)} (${share(work, data.multiply_adds)})` : ""],
        ["time", ns === undefined ? "" : time(ns)]]),
      this.actions(fold, (graph.regionsOf.get(node) ?? []).map(inner =>
        make("button", {onclick: () => this.enter(inner)}, `Show ${graph.regionName(inner)}`))),
      this.reasons(node),
      this.values("Inputs", data.nodes[node].inputs, producers),
      this.values("Read by its regions", data.nodes[node].captured, producers),
      this.values("Outputs", data.nodes[node].outputs, consumers),
      this.attributes(node),
      check === undefined ? null : this.comparison(data.checks[check]),
      this.partitionFacts(partition));
  }

  partitionText(partition) {
    const {name, nodes} = this.data.partitions[partition];
    return `${name}, ${plural(nodes, "node")}`;
  }

  // Why no other delegate has the node.
  reasons(node) {
    const refusals = this.data.refusals[this.data.nodes[node].refusals];
    if (refusals.length === 0) return null;
    return [make("h3", {}, "Not on"), make("ul", {className: "reasons"}, refusals.map(([delegate, reason, detail]) =>
      make("li", {}, swatch(this.data.delegates[delegate]), `${this.data.delegates[delegate].name}: ${reason}`,
        detail === "" ? null : make("span", {className: "detail long"}, detail))))];
  }

  // `ends` are the nodes at the other end of a value.
  values(title, values, ends) {
    if (values.length === 0) return null;
    return [make("h3", {}, title), make("ul", {}, values.map(value => {
      if (value < 0) return make("li", {className: "detail"}, "left out");
      const {name, type, constant} = this.data.values[value];
      const nodes = ends.get(value) ?? [];
      return make("li", {}, make("span", {className: "long"}, name),
        make("span", {className: "type long"}, constant === undefined ? type : `constant ${constant}`),
        nodes.slice(0, 8).map(node => make("div", {}, title === "Outputs" ? "to " : "from ", this.nodeLink(node))),
        nodes.length > 8 ? make("div", {className: "detail"}, `to ${nodes.length - 8} more`) : null);
    }))];
  }

  nodeLink(node) {
    return this.link(`${this.data.nodes[node].op} ${shortened(this.data.nodes[node].name, 60)}`, () => this.go(node));
  }

  attributes(node) {
    const {attributes} = this.data.nodes[node];
    if (attributes.length === 0) return null;
    return [make("h3", {}, "Attributes"), make("dl", {}, attributes.map(([name, value]) =>
      [make("dt", {}, name), make("dd", {className: "value long"}, value)]).flat())];
  }

  comparison({result, max_difference: difference, detail, wrong_nodes: wrong}) {
    return [make("h3", {}, "Compared with the CPU"), facts([
      ["result", make("span", {className: result === "wrong" ? "wrong" : ""}, result)],
      ["largest difference", result === "not verified" ? "" : Number(difference.toPrecision(4)).toString()],
      ["wrong nodes", wrong.join(", ")], ["detail", detail]])];
  }

  partitionFacts(partition) {
    const {name, nodes, inputs, outputs, multiply_adds: work, executable, replaces, time_ns: ns,
      estimated_ns: estimated, estimated_bytes: memory} = this.data.partitions[partition];
    return [make("h3", {}, `Partition ${name}`), facts([
      ["nodes", count(nodes)], ["inputs", count(inputs)], ["outputs", count(outputs)],
      ["multiply-adds", work > 0 ? amount(work) : ""], ["executable", executable], ["replaces", replaces],
      ["estimated time", estimated === undefined ? "" : time(estimated)],
      ["estimated memory", memory === undefined ? "" : bytes(memory)],
      ["time", ns === undefined ? "" : `${time(ns)} (${share(ns, this.data.measured.total_ns)})`]])];
  }

  // A folded box, or one of its blocks. `nodes` are all nodes in it.
  showFold({key, count: times, period, block}, nodes) {
    const {data} = this;
    const operators = new Map(), delegates = new Map(), partitions = new Set();
    let work = 0, ns = 0;
    for (const node of nodes) {
      const {op, delegate, partition, multiply_adds: own, time_ns: measured} = data.nodes[node];
      operators.set(op, (operators.get(op) ?? 0) + 1);
      delegates.set(delegate, (delegates.get(delegate) ?? 0) + 1);
      partitions.add(partition);
      work += own;
      ns += measured ?? 0;
    }
    this.show(
      make("h2", {}, block < 0 ? `${times} equal blocks` : `Block ${block + 1} of ${times}`),
      make("p", {className: "name"}, `${plural(period, "node")} each`),
      make("div", {className: "actions"}, make("button", {onclick: () => this.fold(key, true)}, "Unfold")),
      facts([["first node", this.nodeLink(nodes[0])], ["last node", this.nodeLink(nodes[nodes.length - 1])],
        ["partitions", count(partitions.size)],
        ["multiply-adds", work > 0 ? `${amount(work)} (${share(work, data.multiply_adds)})` : ""],
        ["time of its nodes", ns > 0 ? time(ns) : ""]]),
      make("h3", {}, "Delegates"),
      make("ul", {}, [...delegates].map(([delegate, number]) => make("li", {className: "row"},
        make("span", {}, swatch(data.delegates[delegate]), data.delegates[delegate].name),
        make("span", {}, plural(number, "node"))))),
      make("h3", {}, "Operators"),
      make("ul", {}, [...operators].sort((a, b) => b[1] - a[1]).map(([op, number]) => make("li", {className: "row"},
        make("span", {}, op), make("span", {}, count(number))))));
  }

  // An input or output of the model or the region.
  showEnd(kind, value, nodes) {
    const {name, type} = this.data.values[value];
    const title = {input: "Input", output: "Output", captured: "Value from outside"}[kind];
    this.show(make("h2", {}, title), make("p", {className: "name long"}, name),
      make("p", {className: "type"}, type),
      nodes.length === 0 ? null : make("h3", {}, kind === "output" ? "From" : "To"),
      make("ul", {}, nodes.slice(0, 50).map(node => make("li", {}, this.nodeLink(node)))));
  }

  // The hits of a search; `at` is the one that is shown.
  showHits(query, nodes, at) {
    const {data} = this;
    this.show(make("h2", {}, nodes.length === 0 ? "No hits" : plural(nodes.length, "hit")),
      make("p", {className: "name"}, `for “${query}” in names, operators and delegates`),
      make("ul", {}, nodes.slice(0, 300).map((node, index) => make("li", {},
        swatch(data.delegates[data.nodes[node].delegate]),
        make("button", {className: "link", ariaCurrent: index === at ? "true" : null, onclick: () => this.go(node)},
          `${data.nodes[node].op} ${shortened(data.nodes[node].name, 80)}`)))),
      nodes.length > 300 ? make("p", {className: "name"}, `and ${nodes.length - 300} more`) : null);
  }

  actions(fold, buttons) {
    const all = fold === null ? buttons
      : [...buttons, make("button", {onclick: () => this.fold(fold, false)}, "Fold its block")];
    return all.length === 0 ? null : make("div", {className: "actions"}, all);
  }

  link(text, onclick) { return make("button", {className: "link", onclick}, text); }
}

// An element with properties and children: texts, elements, or lists of them.
function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.flat(Infinity).filter(child => child !== null));
  return element;
}

// A list of names and values, without those that are empty.
function facts(rows) {
  return make("dl", {}, rows.filter(([, value]) => value !== "").map(([name, value]) =>
    [make("dt", {}, name), make("dd", {}, value)]));
}

function swatch({colour}) {
  const element = make("span", {className: "swatch"});
  element.style.setProperty("--colour", colour);
  return element;
}

function shortened(text, most) {
  return text.length <= most ? text : text.slice(0, most / 2) + "…" + text.slice(-most / 2);
}

function count(number) { return number.toLocaleString("en"); }
function plural(number, noun) { return `${count(number)} ${noun}${number === 1 ? "" : "s"}`; }
function share(part, whole) { return whole === 0 ? "-" : `${(100 * part / whole).toFixed(1)} %`; }
function scaled(number, units) {
  let unit = 0;
  while (number >= 1000 && unit + 1 < units.length) {
    number /= 1000;
    ++unit;
  }
  return `${unit === 0 ? number : number.toPrecision(3)}${units[unit]}`;
}
function amount(number) { return scaled(number, ["", " k", " M", " G", " T"]); }
function time(ns) { return scaled(ns, [" ns", " µs", " ms", " s"]); }
function bytes(number) { return scaled(number, [" B", " kB", " MB", " GB"]); }
