// Horizontal places of the vertices of a layered graph, by Brandes and Koepf (2002): vertices are aligned with a median
// neighbour, in four ways (from above or below, from the left or right), aligned vertices share their place, and each
// vertex takes the mean of its two middle places. Blocks are compacted by longest paths, so that boxes may have any
// width, and trunks of links come out straight.

function assignX(net) {
  const conflicts = findConflicts(net);
  const results = [];
  for (const fromAbove of [true, false])
    for (const fromLeft of [true, false]) {
      const layers = (fromAbove ? net.layers : [...net.layers].reverse())
        .map(layer => fromLeft ? layer : [...layer].reverse());
      const root = align(net, layers, fromAbove ? net.up : net.down, conflicts);
      const x = compact(net, layers, root);
      if (!fromLeft) for (let i = 0; i < x.length; ++i) x[i] = -x[i];
      results.push({x, fromLeft});
    }
  return balance(net, results);
}

// Links of a box that cross a trunk, that is a link between two points, are not straightened. A link is named by its
// ends; true: it is not straightened.
function findConflicts(net) {
  const conflicts = new Set();
  const isPoint = vertex => net.reached[vertex] !== null;
  for (let index = 1; index < net.layers.length; ++index) {
    const layer = net.layers[index], above = net.layers[index - 1].length;
    let from = 0, scanned = 0;
    layer.forEach((vertex, place) => {
      const upper = isPoint(vertex) ? net.up[vertex].find(isPoint) : undefined;
      if (upper === undefined && place + 1 < layer.length) return;
      const to = upper === undefined ? above : net.place[upper];
      for (; scanned <= place; ++scanned)
        for (const other of net.up[layer[scanned]]) {
          const at = net.place[other];
          if ((at < from || at > to) && !(isPoint(other) && isPoint(layer[scanned])))
            conflicts.add(other * net.count + layer[scanned]);
        }
      from = to;
    });
  }
  return conflicts;
}

// The root of each vertex: the first one of those that share its place.
function align(net, layers, neighbours, conflicts) {
  const root = Int32Array.from({length: net.count}, (_, vertex) => vertex);
  const next = Int32Array.from(root);
  const place = new Int32Array(net.count);
  for (const layer of layers) layer.forEach((vertex, index) => { place[vertex] = index; });
  for (const layer of layers) {
    let last = -1;  // place of the last neighbour that was aligned with
    for (const vertex of layer) {
      const near = neighbours[vertex];
      if (near.length === 0) continue;
      const sorted = near.length === 1 ? near : [...near].sort((a, b) => place[a] - place[b]);
      const middle = (sorted.length - 1) / 2;
      for (const index of new Set([Math.floor(middle), Math.ceil(middle)])) {
        const other = sorted[index];
        if (next[vertex] !== vertex || place[other] <= last) continue;
        if (conflicts.has(other * net.count + vertex) || conflicts.has(vertex * net.count + other)) continue;
        next[other] = vertex;
        root[vertex] = root[other];
        next[vertex] = root[vertex];
        last = place[other];
      }
    }
  }
  return root;
}

// Places every block, that is the vertices with one root, as far left as its neighbours allow, then as far right as the
// blocks at its right allow.
function compact(net, layers, root) {
  const {count} = net;
  const right = Array.from({length: count}, () => []);  // [block, distance]
  const left = Array.from({length: count}, () => []);
  const waits = new Int32Array(count);
  for (const layer of layers)
    for (let i = 0; i + 1 < layer.length; ++i) {
      const a = root[layer[i]], b = root[layer[i + 1]];
      const distance = (net.width[layer[i]] + net.width[layer[i + 1]]) / 2;
      right[a].push(b, distance);
      left[b].push(a, distance);
      ++waits[b];
    }
  const order = [];
  for (let vertex = 0; vertex < count; ++vertex) if (root[vertex] === vertex && waits[vertex] === 0) order.push(vertex);
  for (let i = 0; i < order.length; ++i)
    for (let j = 0; j < right[order[i]].length; j += 2)
      if (--waits[right[order[i]][j]] === 0) order.push(right[order[i]][j]);
  const x = new Float64Array(count);
  for (const block of order)
    for (let j = 0; j < left[block].length; j += 2)
      x[block] = Math.max(x[block], x[left[block][j]] + left[block][j + 1]);
  for (let i = order.length - 1; i >= 0; --i) {
    const block = order[i];
    let most = Infinity;
    for (let j = 0; j < right[block].length; j += 2) most = Math.min(most, x[right[block][j]] - right[block][j + 1]);
    if (most !== Infinity) x[block] = Math.max(x[block], most);
  }
  for (let vertex = 0; vertex < count; ++vertex) x[vertex] = x[root[vertex]];
  return x;
}

// Shifts the four results to the narrowest, at their left or right ends, and takes the mean of the middle two.
function balance(net, results) {
  const ends = results.map(({x}) => {
    let least = Infinity, most = -Infinity;
    for (let vertex = 0; vertex < net.count; ++vertex) {
      least = Math.min(least, x[vertex] - net.width[vertex] / 2);
      most = Math.max(most, x[vertex] + net.width[vertex] / 2);
    }
    return {least, most};
  });
  const narrowest = ends.reduce((best, end) => end.most - end.least < best.most - best.least ? end : best);
  results.forEach(({x, fromLeft}, index) => {
    const shift = fromLeft ? narrowest.least - ends[index].least : narrowest.most - ends[index].most;
    for (let vertex = 0; vertex < net.count; ++vertex) x[vertex] += shift;
  });
  const x = new Float64Array(net.count), four = [0, 0, 0, 0];
  for (let vertex = 0; vertex < net.count; ++vertex) {
    results.forEach((result, index) => { four[index] = result.x[vertex]; });
    four.sort((a, b) => a - b);
    x[vertex] = (four[1] + four[2]) / 2;
  }
  return x;
}
