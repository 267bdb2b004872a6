// The layered layout of Sugiyama, Tagawa and Toda (1981), in its usual steps: a layer for each box, so that links lead
// down; points where links cross layers; an order in each layer with few crossings; and places (coordinates.js).
//
// Links of one source share their points ("trunk"), so that a value which many layers read costs one point per layer.

const kMostPoints = 40000;    // of all links; longer links beyond that are drawn straight
const kLayerGap = 34;         // between boxes of consecutive layers, in pixels at 100 %
const kBoxGap = 26;           // between boxes of one layer
const kPointGap = 12;         // around a point of a link
const kMostBend = 240;        // room for links that lead far sideways

// `boxes` have width, height and targets (indices of boxes, each larger than its own). Adds x, y (of the centre),
// layer, and returns {layers, vertices, segments, straight, width, height}:
//   layers    {top, bottom, boxes (indices, from the left), segments (that begin here)}
//   segments  {x0, y0, x1, y1, source (box), targets (boxes that are reached through it), ends (at a box)}
//   straight  {source, target} of links without points
function layOut(boxes) {
  const rank = rankBoxes(boxes);
  const net = new Net(boxes, rank);
  orderLayers(net);
  const x = assignX(net);
  return place(boxes, net, x);
}

// Layers by the longest path. A box that reads nothing is in the layer before its first reader.
function rankBoxes(boxes) {
  const rank = new Int32Array(boxes.length), reads = new Uint8Array(boxes.length);
  boxes.forEach((box, index) => {
    for (const target of box.targets) {
      rank[target] = Math.max(rank[target], rank[index] + 1);
      reads[target] = 1;
    }
  });
  boxes.forEach(({targets}, index) => {
    if (!reads[index] && targets.length > 0) rank[index] = Math.min(...targets.map(target => rank[target])) - 1;
  });
  return rank;
}

// The boxes and the points of links as vertices in layers, joined to vertices of the next layer.
class Net {
  constructor(boxes, rank) {
    this.count = boxes.length;
    this.rank = Array.from(rank);
    this.width = boxes.map(box => box.width + kBoxGap);
    this.source = boxes.map((_, index) => index);  // the box that a vertex belongs to
    this.reached = boxes.map(() => null);  // of a point: boxes that are reached through it
    this.up = boxes.map(() => []);
    this.down = boxes.map(() => []);
    this.straight = [];
    this.addLinks(boxes, rank, this.longestWithPoints(boxes, rank));
    const layers = [];
    this.rank.forEach((layer, vertex) => (layers[layer] ??= []).push(vertex));
    this.layers = Array.from(layers, layer => layer ?? []);
    this.place = new Int32Array(this.count);
    this.layers.forEach(layer => this.number(layer));
  }

  number(layer) { layer.forEach((vertex, index) => { this.place[vertex] = index; }); }

  // The longest trunk for which there are points.
  longestWithPoints(boxes, rank) {
    const lengths = boxes.map((box, index) => box.targets.reduce((most, target) =>
      Math.max(most, rank[target] - rank[index] - 1), 0)).sort((a, b) => a - b);
    let points = 0;
    for (const length of lengths) {
      points += length;
      if (points > kMostPoints) return length - 1;
    }
    return Infinity;
  }

  addLinks(boxes, rank, longest) {
    boxes.forEach((box, index) => {
      const targets = [...box.targets].sort((a, b) => rank[a] - rank[b]);
      const near = targets.filter(target => rank[target] - rank[index] - 1 <= longest);
      for (const target of targets.slice(near.length)) this.straight.push({source: index, target});
      let vertex = index;  // the end of the trunk so far
      near.forEach((target, order) => {
        while (this.rank[vertex] < rank[target] - 1) {
          const point = this.addPoint(index, this.rank[vertex] + 1, near.slice(order));
          this.join(vertex, point);
          vertex = point;
        }
        this.join(vertex, target);
      });
    });
  }

  addPoint(source, layer, reached) {
    this.rank.push(layer);
    this.width.push(kPointGap);
    this.source.push(source);
    this.reached.push(reached);
    this.up.push([]);
    this.down.push([]);
    return this.count++;
  }

  join(upper, lower) {
    this.down[upper].push(lower);
    this.up[lower].push(upper);
  }
}

// Sweeps down and up, sorting each layer by the mean place of the neighbours in the layer before it, and keeps the
// order with the fewest crossings.
function orderLayers(net) {
  const sweeps = net.count > 20000 ? 4 : net.count > 4000 ? 8 : 24;
  startDepthFirst(net);
  let best = net.layers.map(layer => [...layer]), fewest = crossings(net);
  for (let sweep = 0; sweep < sweeps && fewest > 0; ++sweep) {
    const down = sweep % 2 === 0;
    const layers = down ? net.layers : [...net.layers].reverse();
    for (const layer of layers) sortLayer(net, layer, down ? net.up : net.down, sweep % 4 >= 2);
    if (net.count <= 4000) for (const layer of net.layers) exchangeNeighbours(net, layer);
    const now = crossings(net);
    if (now < fewest) {
      fewest = now;
      best = net.layers.map(layer => [...layer]);
    }
  }
  net.layers = best;
  net.layers.forEach(layer => net.number(layer));
}

// Neighbours in the graph begin as neighbours in their layers.
function startDepthFirst(net) {
  const seen = new Uint8Array(net.count);
  const layers = net.layers.map(() => []);
  for (let root = 0; root < net.count; ++root) {
    if (seen[root] || net.up[root].length > 0) continue;
    const stack = [root];
    while (stack.length > 0) {
      const vertex = stack.pop();
      if (seen[vertex]) continue;
      seen[vertex] = 1;
      layers[net.rank[vertex]].push(vertex);
      for (let i = net.down[vertex].length - 1; i >= 0; --i) stack.push(net.down[vertex][i]);
    }
  }
  net.layers = layers;
  layers.forEach(layer => net.number(layer));
}

// Vertices without neighbours keep their place. `swap` exchanges those of equal means, which leads out of dead ends.
function sortLayer(net, layer, neighbours, swap) {
  const fixed = [], moving = [];
  layer.forEach((vertex, index) => {
    const near = neighbours[vertex];
    if (near.length === 0) {
      fixed.push({vertex, index});
      return;
    }
    let sum = 0;
    for (const other of near) sum += net.place[other];
    moving.push({vertex, mean: sum / near.length, index: swap ? -index : index});
  });
  moving.sort((a, b) => a.mean - b.mean || a.index - b.index);
  const sorted = [];
  let next = 0;
  for (const {vertex, index} of fixed) {
    while (sorted.length < index) sorted.push(moving[next++].vertex);
    sorted.push(vertex);
  }
  while (next < moving.length) sorted.push(moving[next++].vertex);
  sorted.forEach((vertex, index) => { layer[index] = vertex; });
  net.number(layer);
}

// Exchanges two neighbours of a layer where that leaves fewer crossings.
function exchangeNeighbours(net, layer) {
  const cross = (left, right, neighbours) => {
    let count = 0;
    for (const a of neighbours[left]) for (const b of neighbours[right]) if (net.place[a] > net.place[b]) ++count;
    return count;
  };
  for (let i = 0; i + 1 < layer.length; ++i) {
    const left = layer[i], right = layer[i + 1];
    const pairs = neighbours => neighbours[left].length * neighbours[right].length;
    if (Math.max(pairs(net.up), pairs(net.down)) > 400) continue;
    const before = cross(left, right, net.up) + cross(left, right, net.down);
    if (before === 0 || cross(right, left, net.up) + cross(right, left, net.down) >= before) continue;
    layer[i] = right;
    layer[i + 1] = left;
    net.place[right] = i;
    net.place[left] = i + 1;
  }
}

// By a tree of partial sums (Barth, Juenger and Mutzel 2004).
function crossings(net) {
  let total = 0;
  for (const layer of net.layers) {
    const ends = [];
    for (const vertex of layer) {
      const lower = net.down[vertex].map(other => net.place[other]).sort((a, b) => a - b);
      ends.push(...lower);
    }
    if (ends.length < 2) continue;
    let size = 1;
    const most = ends.reduce((a, b) => Math.max(a, b), 0);
    while (size <= most) size *= 2;
    const tree = new Int32Array(2 * size);
    for (const end of ends) {
      let at = end + size;
      ++tree[at];
      for (; at > 1; at >>= 1) {
        if (at % 2 === 0) total += tree[at + 1];
        ++tree[at >> 1];
      }
    }
  }
  return total;
}

// Heights of layers, and the segments of links between them.
function place(boxes, net, x) {
  const layers = [];
  let y = 0;
  net.layers.forEach((vertices, index) => {
    const shown = vertices.filter(vertex => vertex < boxes.length);
    const height = shown.reduce((most, vertex) => Math.max(most, boxes[vertex].height), 0);
    // Long sideways links need room to be seen as curves.
    let reach = 0;
    for (const vertex of vertices)
      for (const lower of net.down[vertex]) reach = Math.max(reach, Math.abs(x[lower] - x[vertex]));
    for (const vertex of shown) {
      boxes[vertex].x = x[vertex];
      boxes[vertex].y = y + height / 2;
      boxes[vertex].layer = index;
    }
    layers.push({top: y, bottom: y + height, boxes: shown, segments: []});
    y += height + kLayerGap + Math.min(kMostBend, reach / 14);
  });
  net.layers.forEach((vertices, index) => {
    const {top, bottom, segments} = layers[index];
    for (const vertex of vertices) {
      const box = boxes[vertex];
      // A point is a straight piece as high as its layer.
      if (box === undefined && bottom > top)
        segments.push({x0: x[vertex], y0: top, x1: x[vertex], y1: bottom, source: net.source[vertex],
          targets: net.reached[vertex], ends: false});
      for (const lower of net.down[vertex]) {
        const target = boxes[lower];
        segments.push({
          x0: x[vertex], y0: box === undefined ? bottom : box.y + box.height / 2,
          x1: x[lower], y1: target === undefined ? layers[index + 1].top : target.y - target.height / 2,
          source: net.source[vertex], targets: target === undefined ? net.reached[lower] : [lower],
          ends: target !== undefined});
      }
    }
  });
  const left = boxes.reduce((least, box) => Math.min(least, box.x - box.width / 2), Infinity);
  const right = boxes.reduce((most, box) => Math.max(most, box.x + box.width / 2), -Infinity);
  return {layers, straight: net.straight, left, right, top: 0,
    bottom: layers.length === 0 ? 0 : layers[layers.length - 1].bottom};
}
