// Puts the parts of the page together: shows sheets, follows the selection, and answers pointer, wheel and keys.

const byId = id => document.getElementById(id);

class Page {
  constructor(data) {
    this.graph = new Graph(data);
    this.data = data;
    this.maker = new BoxMaker(this.graph);
    this.search = new Search(this.graph);
    this.folds = [];  // by region
    this.places = [];  // by region: where it was looked at
    this.selection = null;  // {entry} or {fold}
    this.setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    this.canvas = new Canvas(byId("graph"), byId("map"), this.graph);
    this.canvas.onchange = () => { byId("zoom").value = `${Math.round(this.canvas.scale * 100) || "<1"} %`; };
    this.panel = new Panel(byId("panel"), this.graph, {
      go: node => this.selectNode(node), enter: region => this.showRegion(region),
      fold: (key, open) => this.setFold(key, open)});
    document.title = `${data.model}: placement`;
    byId("title").textContent = data.model;
    byId("title").title = data.model;
    byId("summary").textContent = data.summary;
    byId("summary").title = data.summary;
    this.makeLegend();
    this.listen();
    this.showRegion(0);
  }

  // --- what is shown

  showRegion(region) {
    if (this.region !== undefined) {
      const {x, y, scale} = this.canvas;
      this.places[this.region] = {x, y, scale};
    }
    this.region = region;
    this.sheet = this.graph.sheet(region);
    this.fold = this.folds[region] ??= new Folds(this.data, this.sheet);
    byId("fold").disabled = byId("unfold").disabled = this.fold.isEmpty;
    this.showPath();
    this.select(null);
    this.update();
    if (this.places[region] === undefined) this.canvas.start();
    else Object.assign(this.canvas, this.places[region]);
    this.canvas.onchange();
  }

  // Lays out the sheet again, after a fold was opened or closed. `keep` is the number of a box that stays where it is,
  // with the entry that is there afterwards.
  update(keep = null) {
    const before = keep === null ? null : this.canvas.positionOf(keep.box);
    const {boxes, boxOf} = this.maker.boxesOf(this.sheet, this.fold);
    this.boxOf = boxOf;
    this.canvas.show(boxes, layOut(boxes));
    if (keep !== null) {
      const {x, y} = this.canvas.positionOf(boxOf[keep.entry]);
      this.canvas.panBy(x - before.x, y - before.y);
    }
    this.markSelection();
    this.markHits();
  }

  // The regions from the model to the one shown.
  showPath() {
    const path = [];
    for (let region = this.region; region >= 0;) {
      path.unshift(region);
      const owner = this.graph.ownerOf[region];
      region = owner < 0 ? -1 : this.data.nodes[owner].region;
    }
    byId("path").replaceChildren(...(path.length < 2 ? [] : path).map((region, index) => {
      const owner = this.graph.ownerOf[region];
      const name = (owner < 0 ? "" : shortened(this.data.nodes[owner].name, 40) + " ") + this.graph.regionName(region);
      return make("li", {}, index + 1 === path.length ? make("span", {ariaCurrent: "page"}, name)
        : make("button", {className: "link", onclick: () => this.showRegion(region)}, name));
    }));
  }

  makeLegend() {
    byId("legend").replaceChildren(...this.data.delegates.map((delegate, index) => make("button", {
      ariaPressed: "false", title: delegate.plugin, onclick: event => this.emphasise(index, event.currentTarget),
    }, swatch(delegate), `${delegate.name} ${count(delegate.nodes)}`)),
    ...(this.data.delegates.filter(({nodes}) => nodes > 0).length < 2 ? []
      : [make("span", {}, make("span", {className: "transfer"}), "from one delegate to another")]),
    ...(this.data.checks.some(({result}) => result === "wrong")
      ? [make("span", {}, make("span", {className: "wrong"}), "differs from the CPU")] : []));
  }

  emphasise(delegate, button) {
    const isOn = this.canvas.delegate !== delegate;
    for (const other of byId("legend").children) other.ariaPressed = String(isOn && other === button);
    this.canvas.delegate = isOn ? delegate : -1;
    this.canvas.redraw();
  }

  setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    this.canvas?.readColours();
  }

  // --- folds

  setAllFolds(open) {
    if (open) this.fold.unfoldAll();
    else this.fold.foldAll();
    if (this.selection?.fold) this.select(null);
    this.update();
    if (this.selection !== null) this.canvas.reveal(this.canvas.selected);
    else this.canvas.start();
  }

  // The box of the fold, or of its first node, stays where it is.
  setFold(key, open) {
    const inside = this.canvas.boxes.findIndex(box =>
      box.key === key || box.entries.some(entry => this.isIn(entry, key)));
    const keep = {box: inside, entry: this.canvas.boxes[inside].entries[0]};
    if (open) this.fold.open.add(key);
    else this.fold.open.delete(key);
    this.selection = null;
    this.update(keep);
    this.selectBox(this.boxOf[keep.entry], false);
  }

  isIn(entry, key) {
    for (let fold = this.fold.foldOf[entry]; fold !== null; fold = this.fold.parents.get(fold))
      if (fold === key) return true;
    return false;
  }

  // --- selection

  select(selection) {
    this.selection = selection;
    this.markSelection();
    this.describe();
  }

  markSelection() {
    const {canvas, selection} = this;
    if (selection === null) canvas.selected = -1;
    else canvas.selected = this.boxOf[selection.entry ?? selection.fold.entries[0]];
    canvas.redraw();
  }

  // Of a box; a click on a folded one opens it.
  selectBox(index, unfolds) {
    if (index < 0) return this.select(null);
    const box = this.canvas.boxes[index];
    if (box.key === null) return this.select({entry: box.entries[0]});
    if (unfolds) return this.setFold(box.key, true);
    const part = this.fold.shown()[index];
    this.select({fold: part});
  }

  // Wherever it is.
  selectNode(node) {
    const {region} = this.data.nodes[node];
    if (region !== this.region) this.showRegion(region);
    const entry = this.sheet.entryOfNode.get(node);
    if (this.fold.reveal(entry)) this.update();
    this.select({entry});
    this.canvas.reveal(this.canvas.selected);
  }

  describe() {
    const {panel, selection, sheet, data} = this;
    if (selection === null) {
      panel.showModel();
      byId("status").textContent = "";
      return;
    }
    if (selection.fold !== undefined) {
      panel.showFold(selection.fold, selection.fold.entries.map(entry => sheet.entries[entry].node));
      byId("status").textContent = `${selection.fold.count} equal blocks, folded`;
      return;
    }
    const {kind, node, value, from, to} = sheet.entries[selection.entry];
    const nodeOf = ({entry}) => sheet.entries[entry].node;
    if (kind !== "node") {
      panel.showEnd(kind, value, (kind === "output" ? from : to).map(nodeOf).filter(other => other >= 0));
      byId("status").textContent = `${kind} ${data.values[value].name}`;
      return;
    }
    const endsOf = links => {
      const ends = new Map();
      for (const link of links) {
        if (nodeOf(link) < 0) continue;
        if (!ends.has(link.value)) ends.set(link.value, []);
        if (!ends.get(link.value).includes(nodeOf(link))) ends.get(link.value).push(nodeOf(link));
      }
      return ends;
    };
    panel.showNode(node, {producers: endsOf(from), consumers: endsOf(to), fold: this.fold.foldOf[selection.entry]});
    byId("status").textContent =
      `${this.graph.operator(node)} ${data.nodes[node].name}, on ${data.delegates[data.nodes[node].delegate].name}`;
  }

  // From the selected box to its first producer or consumer, or to the neighbour in its layer.
  step(dx, dy) {
    const {canvas} = this;
    const box = canvas.boxes[canvas.selected];
    const nearest = boxes => boxes.reduce((best, index) => best < 0 ||
      Math.abs(canvas.boxes[index].x - box.x) < Math.abs(canvas.boxes[best].x - box.x) ? index : best, -1);
    const layer = canvas.layout.layers[box.layer].boxes;
    const next = dy < 0 ? nearest(box.sources) : dy > 0 ? nearest(box.targets)
      : layer[layer.indexOf(canvas.selected) + dx] ?? -1;
    if (next < 0) return;
    this.selectBox(next, false);
    canvas.reveal(next);
  }

  // --- search

  setQuery(query) {
    this.search.set(query);
    byId("previous").disabled = byId("next").disabled = this.search.hits.length === 0;
    byId("count").value = this.search.countText;
    this.markHits();
    if (this.search.query === "") this.describe();
    else this.panel.showHits(this.search.query, this.search.hits, -1);
  }

  stepHit(direction) {
    const node = this.search.step(direction);
    byId("count").value = this.search.countText;
    if (node >= 0) this.selectNode(node);
  }

  markHits() {
    const hits = this.canvas.hits = new Map();
    for (const node of this.search.hits) {
      const entry = this.data.nodes[node].region === this.region ? this.sheet.entryOfNode.get(node) : undefined;
      if (entry !== undefined) hits.set(this.boxOf[entry], (hits.get(this.boxOf[entry]) ?? 0) + 1);
    }
    this.canvas.redraw();
  }

  // --- pointer, wheel, keys

  listen() {
    this.listenToPointer(byId("graph"));
    this.listenToMap(byId("map"));
    const press = (id, action) => byId(id).addEventListener("click", action);
    press("in", () => this.canvas.zoomBy(1.3));
    press("out", () => this.canvas.zoomBy(1 / 1.3));
    press("fit", () => this.canvas.fit());
    press("fold", () => this.setAllFolds(false));
    press("unfold", () => this.setAllFolds(true));
    press("theme", () => this.setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
    press("keys", () => this.toggleHelp());
    press("previous", () => this.stepHit(-1));
    press("next", () => this.stepHit(1));
    const query = byId("query");
    query.addEventListener("input", () => this.setQuery(query.value));
    query.addEventListener("keydown", event => {
      if (event.key === "Enter") this.stepHit(event.shiftKey ? -1 : 1);
      else if (event.key === "Escape") byId("graph").focus();
    });
    byId("graph").addEventListener("keydown", event => this.onKey(event));
    document.addEventListener("keydown", event => {
      const find = event.key === "/" || (event.key === "f" && (event.ctrlKey || event.metaKey));
      if (!find || document.activeElement === query) return;
      event.preventDefault();
      query.select();
      query.focus();
    });
  }

  // Drag pans, two fingers zoom, a press without a move is a click.
  listenToPointer(element) {
    const fingers = new Map();
    let moved = false;
    const at = event => ({x: event.offsetX, y: event.offsetY});
    element.addEventListener("pointerdown", event => {
      if (event.button !== 0) return;
      element.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, at(event));
      if (fingers.size === 1) moved = false;
    });
    element.addEventListener("pointermove", event => {
      const before = fingers.get(event.pointerId), now = at(event);
      if (before === undefined) {
        element.style.cursor = this.canvas.boxAt(now.x, now.y) < 0 ? "" : "pointer";
        return;
      }
      if (!moved && Math.hypot(now.x - before.x, now.y - before.y) < 4) return;
      moved = true;
      element.classList.add("moving");
      element.style.cursor = "";
      if (fingers.size === 2) {
        const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
        const distance = place => Math.max(1, Math.hypot(place.x - other.x, place.y - other.y));
        this.canvas.zoomBy(distance(now) / distance(before), other.x, other.y);
      } else {
        this.canvas.panBy(before.x - now.x, before.y - now.y);
      }
      fingers.set(event.pointerId, now);
    });
    const end = event => {
      const isClick = fingers.delete(event.pointerId) && !moved && event.type === "pointerup";
      if (fingers.size === 0) element.classList.remove("moving");
      if (isClick) this.selectBox(this.canvas.boxAt(event.offsetX, event.offsetY), true);
    };
    element.addEventListener("pointerup", end);
    element.addEventListener("pointercancel", end);
    element.addEventListener("wheel", event => {
      event.preventDefault();
      if (event.shiftKey) return this.canvas.panBy(event.deltaX + event.deltaY, 0);
      const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 33 : 1;
      this.canvas.zoomBy(Math.exp(-event.deltaY * lines / 500), event.offsetX, event.offsetY);
    }, {passive: false});
  }

  listenToMap(map) {
    const move = event => {
      if (event.buttons !== 1) return;
      const {canvas} = this;
      const {left, right, top, bottom} = canvas.layout;
      canvas.x = left + event.offsetX / map.clientWidth * (right - left) - canvas.width / 2 / canvas.scale;
      canvas.y = top + event.offsetY / map.clientHeight * (bottom - top) - canvas.height / 2 / canvas.scale;
      canvas.panBy(0, 0);
    };
    map.addEventListener("pointerdown", event => {
      map.setPointerCapture(event.pointerId);
      move(event);
    });
    map.addEventListener("pointermove", move);
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrows = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
    const {canvas} = this;
    const actions = {
      "+": () => canvas.zoomBy(1.3), "=": () => canvas.zoomBy(1.3), "-": () => canvas.zoomBy(1 / 1.3),
      "0": () => canvas.fit(), "[": () => this.setAllFolds(false), "]": () => this.setAllFolds(true),
      "?": () => this.toggleHelp(), "Enter": () => this.selectBox(canvas.selected, true),
      "Escape": () => this.leave(), "Backspace": () => this.foldSelection(),
    };
    const action = arrows[event.key] === undefined ? actions[event.key] : () => {
      const [dx, dy] = arrows[event.key];
      if (event.shiftKey || canvas.selected < 0) canvas.panBy(80 * dx, 80 * dy);
      else this.step(dx, dy);
    };
    if (action === undefined) return;
    event.preventDefault();
    action();
  }

  toggleHelp() {
    const help = byId("help");
    help.hidden = !help.hidden;
    byId("keys").ariaExpanded = String(!help.hidden);
  }

  foldSelection() {
    const key = this.selection?.entry === undefined ? this.fold.parents.get(this.selection?.fold?.key) ?? null
      : this.fold.foldOf[this.selection.entry];
    if (key !== null) this.setFold(key, false);
  }

  // Deselects; then shows the node that has this region.
  leave() {
    if (!byId("help").hidden) return this.toggleHelp();
    if (this.selection !== null) return this.select(null);
    if (this.graph.ownerOf[this.region] >= 0) this.selectNode(this.graph.ownerOf[this.region]);
  }
}

// For tools and tests: where a node is drawn, in the window.
function positionOf(page, name) {
  const node = page.data.nodes.findIndex(other => other.name === name);
  const entry = node < 0 ? undefined : page.sheet.entryOfNode.get(node);
  if (entry === undefined) return null;
  const box = page.boxOf[entry];
  const {left, top} = page.canvas.element.getBoundingClientRect();
  const {x, y} = page.canvas.positionOf(box);
  return {x: left + x, y: top + y, title: page.canvas.boxes[box].title, isFolded: page.canvas.boxes[box].key !== null};
}

const page = new Page(JSON.parse(byId("data").textContent));
window.deputy = {page, positionOf: name => positionOf(page, name)};
