// The canvas: draws the boxes and links that are in view, and tells which box is at a point. A frame costs what is
// visible: layers are found by their height, and texts are left out where they could not be read.

const kHull = 9;  // the hull of a partition reaches this far around its boxes

class Canvas {
  constructor(element, map, graph) {
    this.element = element;
    this.map = map;
    this.graph = graph;
    this.pen = element.getContext("2d");
    this.scale = 1;
    this.x = this.y = 0;  // the point of the drawing at the top left corner
    this.layout = {layers: [], straight: [], left: 0, right: 0, top: 0, bottom: 0};
    this.boxes = [];
    this.selected = -1;
    this.hits = new Map();  // box: number of hits in it
    this.delegate = -1;  // the one that is emphasised
    this.onchange = () => {};
    this.frame = 0;
    new ResizeObserver(() => this.resize()).observe(element.parentElement);
    this.readColours();
  }

  readColours() {
    const style = getComputedStyle(document.documentElement);
    const colour = name => style.getPropertyValue("--" + name).trim();
    this.colours = {};
    for (const name of ["ground", "surface", "text", "muted", "line", "edge", "accent", "transfer", "hit", "wrong"])
      this.colours[name] = colour(name);
    this.delegateColours = this.graph.data.delegates.map(({colour: own}) => ({
      own, fill: mixColours(own, this.colours.surface, .2), hull: mixColours(own, this.colours.ground, .13),
      rim: mixColours(own, this.colours.ground, .45)}));
    this.mapImage = null;
    this.redraw();
  }

  show(boxes, layout) {
    this.boxes = boxes;
    this.layout = layout;
    this.selected = -1;
    this.hits = new Map();
    this.markHulls();
    this.mapImage = null;
    this.redraw();
  }

  // A segment belongs to the hull of a partition where it joins two boxes of it.
  markHulls() {
    const {boxes} = this;
    const sizes = new Map();
    for (const {partition} of boxes) if (partition >= 0) sizes.set(partition, (sizes.get(partition) ?? 0) + 1);
    for (const box of boxes) box.isInHull = box.partition >= 0 && this.graph.data.partitions[box.partition].nodes > 1;
    this.labels = new Map();  // partition: its topmost box
    boxes.forEach((box, index) => {
      if (!box.isInHull) return;
      const first = this.labels.get(box.partition);
      if (first === undefined || boxes[first].y > box.y) this.labels.set(box.partition, index);
    });
    const delegateOf = box => box.share.length === 1 ? box.share[0][0] : -1;
    for (const {segments} of this.layout.layers)
      for (const segment of segments) {
        const source = boxes[segment.source];
        segment.isInHull = source.isInHull &&
          segment.targets.some(target => boxes[target].partition === source.partition);
        segment.isTransfer = delegateOf(source) >= 0 && segment.targets.some(target =>
          delegateOf(boxes[target]) >= 0 && delegateOf(boxes[target]) !== delegateOf(source));
      }
  }

  get width() { return this.element.clientWidth; }
  get height() { return this.element.clientHeight; }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.element.width = Math.max(1, Math.round(this.width * ratio));
    this.element.height = Math.max(1, Math.round(this.height * ratio));
    this.draw();
  }

  redraw() {
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.draw());
  }

  panBy(dx, dy) {
    this.x += dx / this.scale;
    this.y += dy / this.scale;
    this.keepInView();
    this.redraw();
  }

  // Some of the drawing stays visible.
  keepInView() {
    const {left, right, top, bottom} = this.layout;
    const marginX = this.width / this.scale * .5, marginY = this.height / this.scale * .5;
    this.x = Math.min(Math.max(this.x, left - marginX), Math.max(right - marginX, left - marginX));
    this.y = Math.min(Math.max(this.y, top - marginY), Math.max(bottom - marginY, top - marginY));
  }

  // About a point of the element.
  zoomBy(factor, atX = this.width / 2, atY = this.height / 2) {
    const scale = Math.min(Math.max(this.scale * factor, Math.min(this.fitScale() * .5, .1)), 4);
    this.x += atX / this.scale - atX / scale;
    this.y += atY / this.scale - atY / scale;
    this.scale = scale;
    this.keepInView();
    this.onchange();
    this.redraw();
  }

  fitScale() {
    const {left, right, top, bottom} = this.layout;
    return Math.min(1.25, (this.width - 48) / Math.max(1, right - left),
      (this.height - 64) / Math.max(1, bottom - top));
  }

  fit() { this.showAt(this.fitScale(), (this.layout.top + this.layout.bottom) / 2); }

  // At first: all of a small graph; of a large one its beginning, large enough to be read.
  start() {
    const fit = this.fitScale();
    if (fit >= .55) return this.fit();
    const wide = (this.width - 48) / Math.max(1, this.layout.right - this.layout.left);
    const scale = Math.min(Math.max(wide, .6), 1);
    this.showAt(scale, this.layout.top + (this.height / 2 - 36) / scale);
    const first = this.boxes[0];
    if (wide < scale && first !== undefined) this.x = first.x - this.width / 2 / scale;
    this.redraw();
  }

  showAt(scale, y) {
    this.scale = scale;
    this.x = (this.layout.left + this.layout.right) / 2 - this.width / 2 / scale;
    this.y = y - this.height / 2 / scale;
    this.onchange();
    this.redraw();
  }

  // Moves a box to the middle unless it is well in view.
  reveal(index) {
    const box = this.boxes[index];
    if (this.scale < .5) {
      this.scale = 1;
      this.onchange();
    }
    const {x, y} = this.positionOf(index);
    const halfWidth = box.width / 2 * this.scale + 20, halfHeight = box.height / 2 * this.scale + 20;
    if (x < halfWidth || x > this.width - halfWidth) this.x = box.x - this.width / 2 / this.scale;
    if (y < halfHeight || y > this.height - halfHeight) this.y = box.y - this.height / 2 / this.scale;
    this.redraw();
  }

  // The middle of a box, in pixels of the element.
  positionOf(index) {
    const box = this.boxes[index];
    return {x: (box.x - this.x) * this.scale, y: (box.y - this.y) * this.scale};
  }

  // The box at a point of the element, or -1.
  boxAt(atX, atY) {
    const x = this.x + atX / this.scale, y = this.y + atY / this.scale;
    const slack = Math.min(8, 3 / this.scale);
    for (const {boxes, top, bottom} of this.layersBetween(y, y)) {
      if (y < top - slack || y > bottom + slack) continue;
      for (const index of boxes) {
        const box = this.boxes[index];
        if (Math.abs(x - box.x) <= box.width / 2 + slack && Math.abs(y - box.y) <= box.height / 2 + slack) return index;
      }
    }
    return -1;
  }

  // Layers whose boxes or segments may be between two heights.
  layersBetween(top, bottom) {
    const {layers} = this.layout;
    let first = 0, end = layers.length;
    while (first < end) {
      const middle = (first + end) >> 1;
      if (layers[middle].bottom < top) first = middle + 1;
      else end = middle;
    }
    first = Math.max(0, first - 1);
    end = first;
    while (end < layers.length && layers[end].top <= bottom + 40) ++end;
    return layers.slice(first, end);
  }

  draw() {
    const begin = performance.now();
    if (this.frame !== 0) cancelAnimationFrame(this.frame);
    this.frame = 0;
    const {pen, colours, scale} = this;
    const ratio = this.element.width / Math.max(1, this.width);
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.fillStyle = colours.ground;
    pen.fillRect(0, 0, this.element.width, this.element.height);
    pen.setTransform(scale * ratio, 0, 0, scale * ratio, -this.x * scale * ratio, -this.y * scale * ratio);
    const view = {left: this.x, top: this.y, right: this.x + this.width / scale, bottom: this.y + this.height / scale};
    const layers = this.layersBetween(view.top, view.bottom);
    const boxes = [], segments = [];
    for (const layer of layers) {
      for (const index of layer.boxes) {
        const box = this.boxes[index];
        if (box.x + box.width / 2 + 20 >= view.left && box.x - box.width / 2 - 20 <= view.right) boxes.push(index);
      }
      for (const segment of layer.segments)
        if (Math.max(segment.x0, segment.x1) + 20 >= view.left && Math.min(segment.x0, segment.x1) - 20 <= view.right)
          segments.push(segment);
    }
    if (scale > .1) this.drawHulls(boxes, segments);
    this.drawLinks(segments);
    for (const index of boxes) this.drawBox(index);
    if (scale > .45) this.drawPartitionNames(boxes);
    this.drawMap(view);
    // For tools and tests that measure: the last frames only.
    performance.measure("draw", {start: begin});
    if (++this.frames % 500 === 0) performance.clearMeasures("draw");
  }

  // The hull of a partition is drawn as thick links and large boxes, once in the colour of its rim, once in that of its
  // inside.
  drawHulls(boxes, segments) {
    const {pen} = this;
    const inside = boxes.filter(index => this.boxes[index].isInHull);
    const joined = segments.filter(segment => segment.isInHull);
    if (inside.length === 0) return;
    pen.lineCap = "round";
    for (const [part, more] of [["rim", 1.5], ["hull", 0]])
      for (let delegate = 0; delegate < this.delegateColours.length; ++delegate) {
        const own = index => this.boxes[index].share[0][0] === delegate;
        pen.globalAlpha = this.isDim(delegate) ? .35 : 1;
        pen.beginPath();
        for (const segment of joined) if (own(segment.source)) this.traceSegment(segment);
        pen.lineWidth = 26 + 2 * more;
        pen.strokeStyle = pen.fillStyle = this.delegateColours[delegate][part];
        pen.stroke();
        pen.beginPath();
        for (const index of inside) {
          if (!own(index)) continue;
          const {x, y, width, height} = this.boxes[index];
          pen.roundRect(x - width / 2 - kHull - more, y - height / 2 - kHull - more, width + 2 * (kHull + more),
            height + 2 * (kHull + more), 13);
        }
        pen.fill();
      }
    pen.globalAlpha = 1;
  }

  isDim(delegate) { return this.delegate >= 0 && this.delegate !== delegate; }

  traceSegment({x0, y0, x1, y1}) {
    const {pen} = this;
    pen.moveTo(x0, y0);
    if (x0 === x1 || this.scale < .15) return pen.lineTo(x1, y1);
    const bend = (y1 - y0) * .55;
    pen.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1);
  }

  drawLinks(segments) {
    const {pen, colours, scale} = this;
    const touches = segment => segment.source === this.selected || segment.targets.includes(this.selected);
    const selected = this.selected < 0 ? [] : segments.filter(touches);
    const passes = [
      [segments.filter(segment => !segment.isTransfer), colours.edge, 1.3, []],
      [segments.filter(segment => segment.isTransfer), colours.transfer, 1.5, scale > .3 ? [5, 3] : []],
      [selected, colours.accent, 2.4, []],
    ];
    pen.lineCap = "butt";
    for (const [list, colour, width, dash] of passes) {
      if (list.length === 0) continue;
      pen.strokeStyle = pen.fillStyle = colour;
      pen.lineWidth = Math.max(width, .6 / scale);
      pen.setLineDash(dash);
      pen.beginPath();
      for (const segment of list) this.traceSegment(segment);
      pen.stroke();
      if (scale < .3) continue;
      pen.beginPath();
      for (const {x1, y1, ends} of list) {
        if (!ends) continue;
        pen.moveTo(x1, y1);
        pen.lineTo(x1 - 4, y1 - 7);
        pen.lineTo(x1 + 4, y1 - 7);
      }
      pen.fill();
    }
    pen.setLineDash([]);
    this.drawStraight();
  }

  // Links without points would cross the whole drawing: only those of the selected box are shown.
  drawStraight() {
    const {pen} = this;
    pen.beginPath();
    for (const {source, target} of this.layout.straight) {
      if (source !== this.selected && target !== this.selected) continue;
      pen.moveTo(this.boxes[source].x, this.boxes[source].y + this.boxes[source].height / 2);
      pen.lineTo(this.boxes[target].x, this.boxes[target].y - this.boxes[target].height / 2);
    }
    pen.strokeStyle = this.colours.accent;
    pen.lineWidth = 1.5;
    pen.stroke();
  }

  drawBox(index) {
    const {pen, colours, scale} = this;
    const box = this.boxes[index];
    const {x, y, width, height, kind, share} = box;
    const left = x - width / 2, top = y - height / 2;
    const main = share.length > 0 ? this.delegateColours[share[0][0]] : null;
    pen.globalAlpha = this.delegate >= 0 && !share.some(([delegate]) => delegate === this.delegate) ? .3 : 1;
    if (scale < .25) {
      pen.fillStyle = this.hits.has(index) ? colours.hit : box.isWrong ? colours.wrong : main?.own ?? colours.edge;
      const shown = Math.max(width, 3 / scale);  // a thin graph stays visible
      pen.fillRect(x - shown / 2, top, shown, height);
      if (index === this.selected) this.ring(left, top, width, height, colours.accent, 4, 3 / scale);
      pen.globalAlpha = 1;
      return;
    }
    pen.lineWidth = 1.4;
    pen.strokeStyle = main?.own ?? colours.edge;
    const radius = kind === "end" ? height / 2 : 6;
    if (kind === "fold")  // a stack of sheets
      for (const offset of box.count > 1 ? [8, 4] : [4]) {
        pen.fillStyle = colours.surface;
        pen.beginPath();
        pen.roundRect(left + offset, top + offset, width, height, radius);
        pen.fill();
        pen.stroke();
      }
    pen.fillStyle = colours.surface;
    pen.beginPath();
    pen.roundRect(left, top, width, height, radius);
    pen.fill();
    if (main !== null) this.fillShares(left, top, width, height, share);
    pen.stroke();
    if (box.hasRegions) {
      pen.beginPath();
      pen.roundRect(left + 3, top + 3, width - 6, height - 6, 4);
      pen.lineWidth = 1;
      pen.stroke();
    }
    const stack = kind !== "fold" ? 0 : box.count > 1 ? 8 : 4;
    const ring = (colour, distance) => this.ring(left, top, width + stack, height + stack, colour, distance, 3);
    if (box.isWrong) ring(colours.wrong, 3);
    if (this.hits.has(index)) ring(colours.hit, 4);
    if (index === this.selected) ring(colours.accent, 4);
    if (scale > .38) {
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.fillStyle = colours.text;
      pen.font = kTitleFont;
      pen.fillText(box.title, x, box.detail === "" ? y : y - 7);
      pen.fillStyle = colours.muted;
      pen.font = kDetailFont;
      pen.fillText(box.detail, x, y + 9);
    }
    pen.globalAlpha = 1;
  }

  // The inside of a box, divided between the delegates of what is folded in it.
  fillShares(left, top, width, height, share) {
    const {pen} = this;
    pen.save();
    pen.clip();
    let at = left;
    for (const [delegate, part] of share) {
      pen.fillStyle = this.delegateColours[delegate].fill;
      pen.fillRect(at, top, width * part, height);
      pen.fillStyle = this.delegateColours[delegate].own;
      pen.fillRect(at, top, share.length === 1 ? 5 : width * part, share.length === 1 ? height : 5);
      at += width * part;
    }
    pen.restore();
  }

  ring(left, top, width, height, colour, distance, thickness) {
    const {pen} = this;
    pen.beginPath();
    pen.roundRect(left - distance, top - distance, width + 2 * distance, height + 2 * distance, 9);
    pen.strokeStyle = colour;
    pen.lineWidth = thickness;
    pen.stroke();
  }

  drawPartitionNames(boxes) {
    const {pen} = this;
    pen.textAlign = "left";
    pen.textBaseline = "bottom";
    pen.font = kDetailFont;
    for (const index of boxes) {
      const box = this.boxes[index];
      if (!box.isInHull || this.labels.get(box.partition) !== index || this.isDim(box.share[0][0])) continue;
      const name = shortened(this.graph.data.partitions[box.partition].name, 40);
      const x = box.x - box.width / 2 - kHull + 4, y = box.y - box.height / 2 - kHull - 3;
      pen.strokeStyle = this.colours.ground;  // links may pass behind it
      pen.lineWidth = 4;
      pen.strokeText(name, x, y);
      pen.fillStyle = mixColours(this.delegateColours[box.share[0][0]].own, this.colours.text, .55);
      pen.fillText(name, x, y);
    }
  }

  // An overview, stretched to the form of the graph's own within limits; it is drawn once for each layout.
  drawMap(view) {
    const {left, right, top, bottom} = this.layout;
    const wide = right - left, high = bottom - top;
    const isNeeded = wide > 0 && (view.left > left || view.right < right || view.top > top || view.bottom < bottom);
    this.map.style.display = isNeeded ? "" : "none";
    if (!isNeeded) return;
    const ratio = window.devicePixelRatio || 1;
    const width = Math.round(Math.min(Math.max(wide * .06, 44), 170));
    const height = Math.round(Math.min(Math.max(high * .06, 44), Math.max(80, this.height * .45)));
    if (this.map.width !== width * ratio || this.map.height !== height * ratio || this.mapImage === null) {
      this.map.width = width * ratio;
      this.map.height = height * ratio;
      this.map.style.width = width + "px";
      this.map.style.height = height + "px";
      this.mapImage = this.paintMap(width * ratio, height * ratio);
    }
    const pen = this.map.getContext("2d");
    pen.clearRect(0, 0, this.map.width, this.map.height);
    pen.drawImage(this.mapImage, 0, 0);
    const scaleX = this.map.width / wide, scaleY = this.map.height / high;
    pen.strokeStyle = this.colours.accent;
    pen.lineWidth = 1.5 * ratio;
    pen.strokeRect((view.left - left) * scaleX, (view.top - top) * scaleY,
      Math.max(2, (view.right - view.left) * scaleX), Math.max(2, (view.bottom - view.top) * scaleY));
  }

  paintMap(width, height) {
    const image = document.createElement("canvas");
    image.width = width;
    image.height = height;
    const pen = image.getContext("2d");
    const {left, right, top, bottom} = this.layout;
    const scaleX = width / (right - left), scaleY = height / (bottom - top);
    for (const {x, y, width: wide, height: high, share} of this.boxes) {
      pen.fillStyle = share.length > 0 ? this.delegateColours[share[0][0]].own : this.colours.edge;
      pen.fillRect((x - wide / 2 - left) * scaleX, (y - high / 2 - top) * scaleY, Math.max(1, wide * scaleX),
        Math.max(1, high * scaleY));
    }
    return image;
  }
}
Canvas.prototype.frames = 0;

// `share` of the first colour; both are "#rrggbb".
function mixColours(first, second, share) {
  const channel = (colour, at) => parseInt(colour.slice(at, at + 2), 16);
  const mixed = [1, 3, 5].map(at => Math.round(channel(first, at) * share + channel(second, at) * (1 - share)));
  return "#" + mixed.map(value => value.toString(16).padStart(2, "0")).join("");
}
