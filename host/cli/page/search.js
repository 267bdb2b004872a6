// The search over all nodes of all regions, by name, operator and delegate.

class Search {
  constructor(graph) {
    this.graph = graph;
    const {nodes, delegates} = graph.data;
    this.texts = nodes.map((node, index) =>
      `${node.name}\n${graph.operator(index)}\n${delegates[node.delegate].name}`.toLowerCase());
    // The order of the hits: regions follow each other, and nodes are in the order of the model.
    this.order = nodes.map((_, index) => index).sort((a, b) =>
      nodes[a].region - nodes[b].region || nodes[a].order - nodes[b].order);
    this.set("");
  }

  // Every word of the query must be in one of the texts.
  set(query) {
    this.query = query.trim();
    const words = this.query.toLowerCase().split(/\s+/).filter(word => word !== "");
    this.hits = words.length === 0 ? []
      : this.order.filter(node => words.every(word => this.texts[node].includes(word)));
    this.at = -1;
  }

  // The next or previous hit, or -1.
  step(direction) {
    if (this.hits.length === 0) return -1;
    this.at = this.at < 0 ? (direction > 0 ? 0 : this.hits.length - 1)
      : (this.at + direction + this.hits.length) % this.hits.length;
    return this.hits[this.at];
  }

  get countText() {
    if (this.query === "") return "";
    return this.at < 0 ? `${this.hits.length}` : `${this.at + 1} of ${this.hits.length}`;
  }
}
