// The list of fields: top values among the loaded hits, filters, columns.

import { h, icon, patch } from "./dom.js";
import { toggleColumn, valueOf } from "./hits.js";
import { state, update } from "./state.js";

const TOP = 5;
const TYPES = { string: "t", date: "◷", long: "#", integer: "#", double: "#", float: "#", boolean: "✓", ip: "ip" };
const open = new Set();

/** The top values of a field among these hits. */
export function topValues(hits, name) {
  const counts = new Map();
  let having = 0;
  for (const hit of hits) {
    const value = valueOf(hit._source, name);
    if (value === undefined) continue;
    having += 1;
    const text = typeof value === "string" ? value : JSON.stringify(value);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  const values = [...counts].sort((a, b) => b[1] - a[1]).slice(0, TOP);
  return { having, values };
}

/** Adds a filter, in the place of one for the same value. */
export function addFilter(field, value, not) {
  const others = state.filters.filter((filter) => filter.field !== field || filter.value !== value);
  update({ filters: [...others, { field, value, not }] });
}

/** The list, and a box that searches it. */
export class FieldList {
  constructor() {
    this.fields = [];
    this.hits = [];
    this.list = h("ul.field-list");
    this.input = h("input.input", { type: "search", placeholder: "Find a field", "aria-label": "Find a field", oninput: () => this.draw() });
    this.element = h("aside.fields", { "aria-label": "Fields", id: "fields" }, h("div.field-search", {}, this.input), this.list);
  }

  set(fields, hits) {
    Object.assign(this, { fields, hits });
    this.draw();
  }

  draw() {
    const wanted = this.input.value.toLowerCase();
    const shown = this.fields.filter((field) => field.name.toLowerCase().includes(wanted));
    patch(this.list, shown.map((field) => this.item(field)), shown.length ? null : h("li.soft", {}, this.fields.length ? "No such field" : "No fields yet"));
  }

  item({ name, type }) {
    const isOpen = open.has(name);
    const isColumn = state.columns.includes(name);
    const toggle = () => {
      if (open.has(name)) open.delete(name);
      else open.add(name);
      this.draw();
    };
    return h(
      "li",
      { "data-field": name, "data-key": name },
      h(
        "div.field",
        {},
        h("button.field-name", { type: "button", "aria-expanded": String(isOpen), onclick: toggle }, h("span.type", { "aria-hidden": "true" }, TYPES[type] ?? "?"), h("span.clip", {}, name)),
        h("button.icon", { type: "button", "aria-pressed": String(isColumn), "aria-label": isColumn ? `Remove the column ${name}` : `Add the column ${name}`, title: isColumn ? "Remove the column" : "Add as a column", onclick: () => toggleColumn(name) }, icon(isColumn ? "minus" : "plus")),
      ),
      isOpen ? values(name, this.hits) : null,
    );
  }
}

function values(name, hits) {
  const { having, values: top } = topValues(hits, name);
  if (!having) return h("p.top-note.soft", {}, "Not in the loaded lines");
  return h(
    "div.top-values",
    {},
    h("p.top-note.soft", {}, `Top ${top.length} in ${having} loaded lines`),
    top.map(([value, number]) => {
      const share = Math.round((number / having) * 100);
      const meter = h("div.share", {}, h("div", { style: { width: `${share}%` } }));
      return h(
        "div.top-value",
        { "data-key": value },
        h("div.row", {}, h("span.grow.clip.mono", { title: value }, value.trimEnd() || "(empty)"), h("span.soft.number", {}, `${share}%`)),
        h(
          "div.row",
          {},
          meter,
          h("button.icon", { type: "button", title: "Only lines with this value", "aria-label": `Only lines with ${name} ${value.trimEnd()}`, onclick: () => addFilter(name, value.trimEnd(), false) }, icon("plus")),
          h("button.icon", { type: "button", title: "No lines with this value", "aria-label": `No lines with ${name} ${value.trimEnd()}`, onclick: () => addFilter(name, value.trimEnd(), true) }, icon("minus")),
        ),
      );
    }),
  );
}
