// Repeated blocks: sequences of nodes that stand one after another with equal operators, attributes, types, delegates
// and connections, such as the layers of a transformer. They are found once per sheet and form a tree: a repeat has
// blocks, a block has nodes and smaller repeats. What is shown is a cut through this tree. A block is an interval of a
// topological order, so that folding it makes no cycle.

const kLeastHidden = 3;  // nodes that a repeat must hide to be worth a fold
const kLongestPeriod = 1000;  // nodes of a block; limits the time of the search

// The repeats of a sheet, as a list of parts: {entry}, or {repeat, blocks: [parts], start, period, count, key}.
function findRepeats(data, sheet) {
  const finder = new RepeatFinder(data, sheet);
  return finder.parts(0, sheet.entries.length);
}

class RepeatFinder {
  constructor(data, sheet) {
    const labels = new Map();
    const {entries} = sheet;
    // Equal numbers for nodes that are equal but for their names and connections; ends of the graph are all different.
    this.labels = Int32Array.from(entries, (entry, index) => {
      if (entry.kind !== "node") return -1 - index;
      const node = data.nodes[entry.node];
      const typeOf = value => value < 0 ? "" : data.values[value].type;
      const isConstant = value => value >= 0 && data.values[value].constant !== undefined;
      const label = JSON.stringify([node.op, node.domain, node.version, node.delegate, node.attributes,
        node.inputs.map(value => isConstant(value) + typeOf(value)), node.outputs.map(typeOf),
        node.captured.length]);
      if (!labels.has(label)) labels.set(label, labels.size);
      return labels.get(label);
    });
    this.sources = entries.map(entry => entry.from.map(end => end.entry));
    this.live = this.countLive(entries);
  }

  // For each place of the order: the values that pass over it.
  countLive(entries) {
    const change = new Int32Array(entries.length + 2);
    entries.forEach((entry, index) => {
      if (entry.to.length === 0) return;
      ++change[index + 1];
      --change[Math.max(...entry.to.map(end => end.entry)) + 1];
    });
    for (let i = 1; i < change.length; ++i) change[i] += change[i - 1];
    return change;
  }

  parts(begin, end) {
    const best = this.best(begin, end);
    if (best === null) return Array.from({length: end - begin}, (_, index) => ({entry: begin + index}));
    const {start, period, count} = best;
    const blocks = Array.from({length: count}, (_, block) => {
      const first = start + block * period;
      return this.parts(first, first + period);
    });
    const repeat = {repeat: true, blocks, start, period, count, key: `${start}:${period}:${count}`};
    return [...this.parts(begin, start), repeat, ...this.parts(start + period * count, end)];
  }

  // The repeat between two places that hides most nodes; of those, the one with the shortest period.
  best(begin, end) {
    let best = null, hidden = kLeastHidden - 1;
    for (let period = 1; period <= Math.min((end - begin) / 2, kLongestPeriod); ++period) {
      // A longer period leaves at least one block of its length.
      if (hidden >= end - begin - period) break;
      for (const found of this.repeatsOf(period, begin, end)) {
        const hides = (found.count - 1) * period;
        if (hides <= hidden) continue;
        best = found;
        hidden = hides;
      }
    }
    return best;
  }

  * repeatsOf(period, begin, end) {
    const {labels} = this;
    const last = end - period;
    let run = begin;  // from here on labels are equal
    for (let at = begin; at < last;) {
      if (labels[at] !== labels[at + period]) {
        run = ++at;
        continue;
      }
      if (this.outside(at, period) >= 0) {
        ++at;
        continue;
      }
      const first = at;
      while (at < last && labels[at] === labels[at + period] && this.outside(at, period) < 0) ++at;
      if (at - first >= period) yield this.bestStart(run, first, at, period);
    }
  }

  // -1: the node and the one a period later read the same: their neighbours at equal distance, or one outer value.
  // Otherwise the two may only be in the first two blocks, of which the first begins after the returned place.
  outside(at, period) {
    const here = this.sources[at], there = this.sources[at + period];
    if (here.length !== there.length) return Infinity;
    let place = -1;
    for (let i = 0; i < here.length; ++i)
      if (here[i] !== there[i] && here[i] + period !== there[i])
        place = Math.max(place, here[i], there[i] - period);
    return place;
  }

  // Nodes of [first, end) equal those a period later. Blocks may begin anywhere in the first period, and before it if
  // only the inputs of the first block differ: of the starts with most blocks, the one with fewest values between them.
  bestStart(run, first, end, period) {
    let best = null;
    const consider = start => {
      const count = Math.floor((end - start) / period) + 1;
      if (best === null || count > best.count || (count === best.count && this.live[start] < this.live[best.start]))
        best = {start, period, count};
    };
    let outside = -1;
    for (let start = first; start >= Math.max(run, first - period); --start) {
      if (start < first) outside = Math.max(outside, this.outside(start, period));
      if (outside >= start) break;
      consider(start);
    }
    for (let start = first + 1; start < Math.min(first + period, end); ++start) consider(start);
    return best;
  }
}

// Which folds of a sheet are open, and what is shown because of it.
class Folds {
  constructor(data, sheet) {
    this.parts = findRepeats(data, sheet);
    this.open = new Set();
    this.keys = [];
    this.parents = new Map();  // key: key of the fold around it
    this.foldOf = new Array(sheet.entries.length).fill(null);  // the innermost fold around an entry
    const walk = (parts, fold) => {
      for (const part of parts) {
        if (!part.repeat) {
          this.foldOf[part.entry] = fold;
          continue;
        }
        this.keys.push(part.key);
        this.parents.set(part.key, fold);
        part.blocks.forEach((block, index) => {
          // A block of one node needs no fold of its own.
          const key = part.period === 1 ? part.key : blockKey(part, index);
          if (key !== part.key) {
            this.keys.push(key);
            this.parents.set(key, part.key);
          }
          walk(block, key);
        });
      }
    };
    walk(this.parts, null);
  }

  get isEmpty() { return this.keys.length === 0; }
  foldAll() { this.open.clear(); }
  unfoldAll() { for (const key of this.keys) this.open.add(key); }

  // Opens all folds around an entry. Returns whether that changes anything.
  reveal(entry) {
    const before = this.open.size;
    for (let key = this.foldOf[entry]; key !== null; key = this.parents.get(key)) this.open.add(key);
    return this.open.size !== before;
  }

  // The entries and folds that are shown: {entry}, or {key, entries, count, period, block}, where block is the number
  // of a block, or -1 for a whole repeat.
  shown() {
    const shown = [];
    const walk = parts => {
      for (const part of parts) {
        if (!part.repeat) {
          shown.push(part);
        } else if (!this.open.has(part.key)) {
          shown.push(this.fold(part, part.key, -1, part.start, part.period * part.count));
        } else {
          part.blocks.forEach((block, index) => {
            const key = blockKey(part, index);
            if (part.period === 1 || this.open.has(key)) walk(block);
            else shown.push(this.fold(part, key, index, part.start + index * part.period, part.period));
          });
        }
      }
    };
    walk(this.parts);
    return shown;
  }

  fold({count, period}, key, block, first, length) {
    return {key, block, count, period, entries: Array.from({length}, (_, index) => first + index)};
  }
}

function blockKey(repeat, index) { return `${repeat.key}/${index}`; }
