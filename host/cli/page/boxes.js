// What is drawn of a sheet: a box for each entry or fold that is shown, with its texts and its links.

const kTitleFont = "600 13px system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
const kDetailFont = "11px system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
const kWidest = 210;  // of the text in a box

class BoxMaker {
  constructor(graph) {
    this.graph = graph;
    this.pen = document.createElement("canvas").getContext("2d");
    this.widths = new Map();  // texts repeat a lot
  }

  // A box: entries, key (of a fold) or null, title, detail, width, height, share ([delegate, part of the box]),
  // partition (-1: several or none), targets, sources (indices of boxes), kind ("node", "fold", "end"), isWrong, hasRegions.
  boxesOf(sheet, folds) {
    const boxOf = new Int32Array(sheet.entries.length);
    const boxes = folds.shown().map((part, index) => {
      const entries = part.entry === undefined ? part.entries : [part.entry];
      for (const entry of entries) boxOf[entry] = index;
      return part.entry === undefined ? this.foldBox(sheet, part) : this.entryBox(sheet, part.entry);
    });
    boxes.forEach((box, index) => {
      const targets = new Set();
      for (const entry of box.entries) for (const {entry: to} of sheet.entries[entry].to) targets.add(boxOf[to]);
      targets.delete(index);
      box.targets = [...targets];
      for (const target of targets) boxes[target].sources.push(index);
    });
    return {boxes, boxOf};
  }

  entryBox(sheet, entry) {
    const {data} = this.graph;
    const {kind, node, value} = sheet.entries[entry];
    const box = {entries: [entry], key: null, sources: [], targets: [], share: [], partition: -1, isWrong: false,
      hasRegions: false};
    if (kind !== "node") {
      const {name, type} = data.values[value];
      return this.size({...box, kind: "end", title: name, detail: type}, 12, 40);
    }
    const {delegate, partition, outputs} = data.nodes[node];
    const type = outputs.length > 0 && outputs[0] >= 0 ? data.values[outputs[0]].type : "";
    return this.size({...box, kind: "node", title: this.graph.operator(node), detail: shortType(type),
      share: [[delegate, 1]], partition, isWrong: this.graph.isWrong(node),
      hasRegions: this.graph.regionsOf.has(node)}, 14, 44);
  }

  foldBox(sheet, {key, block, count, period, entries}) {
    const {data} = this.graph;
    const nodes = entries.map(entry => sheet.entries[entry].node);
    const delegates = new Map(), partitions = new Set();
    for (const node of nodes) {
      delegates.set(data.nodes[node].delegate, (delegates.get(data.nodes[node].delegate) ?? 0) + 1);
      partitions.add(data.nodes[node].partition);
    }
    const operators = operatorsText(nodes.slice(0, period).map(node => data.nodes[node].op));
    return this.size({
      entries, key, kind: "fold", sources: [], targets: [], count: block < 0 ? count : 1,
      title: block < 0 ? `${operators}  ×${count}` : `${block + 1} of ${count}`,
      detail: block < 0 ? (period === 1 ? "folded" : `${period} nodes each`) : operators,
      share: [...delegates].map(([delegate, number]) => [delegate, number / nodes.length]),
      partition: partitions.size === 1 ? data.nodes[nodes[0]].partition : -1,
      isWrong: nodes.some(node => this.graph.isWrong(node)),
      hasRegions: nodes.some(node => this.graph.regionsOf.has(node))}, 16, 50);
  }

  size(box, padding, height) {
    box.title = this.fit(box.title, kTitleFont);
    box.detail = this.fit(box.detail, kDetailFont);
    const text = Math.max(this.widthOf(box.title, kTitleFont), this.widthOf(box.detail, kDetailFont));
    box.width = Math.ceil(Math.max(56, text) + 2 * padding);
    box.height = height;
    return box;
  }

  widthOf(text, font) {
    const key = font + text;
    if (!this.widths.has(key)) {
      this.pen.font = font;
      this.widths.set(key, this.pen.measureText(text).width);
    }
    return this.widths.get(key);
  }

  // Long texts lose their middle: names differ at their ends.
  fit(text, font) {
    if (text.length > 300) text = text.slice(0, 150) + "…" + text.slice(-149);
    if (this.widthOf(text, font) <= kWidest) return text;
    let kept = Math.floor(text.length * kWidest / this.widthOf(text, font));
    const cut = () => text.slice(0, Math.ceil(kept / 2)) + "…" + text.slice(text.length - Math.floor(kept / 2));
    while (kept > 2 && this.widthOf(cut(), font) > kWidest) --kept;
    return cut();
  }
}

// "float32 [1,64,56,56]" is "1×64×56×56" in a box; other element types than float32 stay.
function shortType(type) {
  const tensor = /^(\w+) \[([^\]]*)\]$/.exec(type);
  if (tensor === null) return type;
  const all = tensor[2].split(",");
  const extents = tensor[2] === "" ? "scalar" : all.length === 1 ? `[${all[0]}]` : all.join("×");
  return tensor[1] === "float32" ? extents : `${tensor[1]} ${extents}`;
}

// "Conv, Relu, Add" in order of their first use.
function operatorsText(operators) {
  const different = [...new Set(operators)];
  return different.length <= 3 ? different.join(", ")
    : `${different.slice(0, 2).join(", ")} + ${different.length - 2} more`;
}
