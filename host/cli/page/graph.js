// The data of the page as a graph. host/cli/graph/graph_page.cpp writes it:
//
//   delegates[]   name, plugin, colour, nodes, partitions, multiply_adds, options [[name, value]], device
//   partitions[]  name, delegate, nodes, inputs, outputs (counts), multiply_adds, executable, replaces,
//                 estimated_ns, estimated_bytes, time_ns (where known)
//   regions[]     path, inputs, outputs, captured; the first is the model itself
//   values[]      name, type, constant (where it is one)
//   nodes[]       name, op, domain, version, delegate, partition, region, order, multiply_adds, inputs, outputs,
//                 captured, attributes [[name, value]], refusals, time_ns, check (where measured)
//   refusals[]    lists of [delegate, reason, detail]
//   checks[]      result, max_difference, detail, wrong_nodes (names)
//   measured      runs, total_ns; or null
//
// A delegate, partition, region, value, list of refusals or check is referred to by its index; an omitted value is -1.

// A region as entries in topological order, joined by links. An entry is a node, or an end of the graph: "input",
// "captured" or "output".
class Sheet {
  constructor(data, region) {
    this.region = region;
    this.path = data.regions[region].path;
    this.entries = [];
    const entryOfNode = this.entryOfNode = new Map();
    const producers = new Map();  // value: entry
    const add = (kind, node, value) => {
      this.entries.push({kind, node, value, from: [], to: []});
      return this.entries.length - 1;
    };
    const {inputs, captured, outputs} = data.regions[region];
    for (const value of inputs) producers.set(value, add("input", -1, value));
    for (const value of captured) producers.set(value, add("captured", -1, value));
    const nodes = data.nodes.map((_, index) => index).filter(index => data.nodes[index].region === region);
    nodes.sort((a, b) => data.nodes[a].order - data.nodes[b].order);
    for (const node of nodes) {
      const entry = add("node", node, -1);
      entryOfNode.set(node, entry);
      for (const value of data.nodes[node].outputs) if (value >= 0) producers.set(value, entry);
    }
    const link = (value, entry) => {
      const source = producers.get(value);
      // Without a producer it is a constant, or an omitted value.
      if (source === undefined || source === entry) return;
      this.entries[source].to.push({entry, value});
      this.entries[entry].from.push({entry: source, value});
    };
    for (const node of nodes) {
      const entry = entryOfNode.get(node);
      for (const value of data.nodes[node].inputs) link(value, entry);
      for (const value of data.nodes[node].captured) link(value, entry);
    }
    for (const value of outputs) if (value >= 0) link(value, add("output", -1, value));
    this.sort();
  }

  // Orders the entries so that each follows those that it reads, and otherwise keeps their order.
  sort() {
    const {entries} = this;
    const waits = entries.map(entry => entry.from.length);
    const ready = new Heap();
    waits.forEach((count, entry) => { if (count === 0) ready.push(entry); });
    const order = [];
    while (ready.size > 0) {
      const entry = ready.pop();
      order.push(entry);
      for (const {entry: reader} of entries[entry].to) if (--waits[reader] === 0) ready.push(reader);
    }
    const place = new Map(order.map((entry, index) => [entry, index]));
    this.entries = order.map(entry => entries[entry]);
    for (const entry of this.entries)
      for (const end of [...entry.from, ...entry.to]) end.entry = place.get(end.entry);
    for (const [node, entry] of this.entryOfNode) this.entryOfNode.set(node, place.get(entry));
  }
}

// The least number first.
class Heap {
  constructor() { this.items = []; }
  get size() { return this.items.length; }
  push(item) {
    const {items} = this;
    let at = items.length;
    for (; at > 0 && items[(at - 1) >> 1] > item; at = (at - 1) >> 1) items[at] = items[(at - 1) >> 1];
    items[at] = item;
  }
  pop() {
    const {items} = this;
    const least = items[0], last = items.pop();
    if (items.length === 0) return least;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child + 1 < items.length && items[child + 1] < items[child]) ++child;
      if (child >= items.length || items[child] >= last) break;
      items[at] = items[child];
      at = child;
    }
    items[at] = last;
    return least;
  }
}

// Sheets are made when they are first shown.
class Graph {
  constructor(data) {
    this.data = data;
    this.sheets = [];
    // The regions inside each node, by their paths: "loop_1/body" is inside the node "loop_1" of the model.
    this.regionsOf = new Map();
    const nodes = new Map();
    data.nodes.forEach((node, index) => {
      const path = data.regions[node.region].path;
      nodes.set((path === "" ? "" : path + "/") + node.name, index);
    });
    this.ownerOf = data.regions.map(({path}, region) => {
      const owner = path === "" ? undefined : nodes.get(path.slice(0, path.lastIndexOf("/")));
      if (owner === undefined) return -1;
      if (!this.regionsOf.has(owner)) this.regionsOf.set(owner, []);
      this.regionsOf.get(owner).push(region);
      return owner;
    });
  }

  sheet(region) { return this.sheets[region] ??= new Sheet(this.data, region); }

  // "body" of the path "loop_1/body".
  regionName(region) {
    const {path} = this.data.regions[region];
    return path === "" ? this.data.model : path.slice(path.lastIndexOf("/") + 1);
  }

  operator(node) {
    const {op, domain} = this.data.nodes[node];
    return domain === "" ? op : domain + "." + op;
  }

  // Whether the comparison with the CPU found this node wrong.
  isWrong(node) {
    const {check, name} = this.data.nodes[node];
    if (check === undefined) return false;
    const {result, wrong_nodes: wrong} = this.data.checks[check];
    return result === "wrong" && (wrong.length === 0 || wrong.includes(name));
  }
}
