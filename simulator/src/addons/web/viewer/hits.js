// The table of hits: only the rows in sight are in the document, so that ten thousand hits scroll as ten do.

import { announce, h, icon, patch, show } from "./dom.js";
import { MARK, context, pattern } from "./search.js";
import { state, update } from "./state.js";
import { full } from "./time.js";

const OVERSCAN = 8;
const STANDARD = ["tag", "log"];

/** The value of a dotted field of a document. */
export function valueOf(source, name) {
  if (name in source) return source[name];
  return name.split(".").reduce((value, part) => value?.[part], source);
}

const text = (value) => (typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value));

/** A text whose marked parts are highlighted. */
function marked(value) {
  const parts = value.split(MARK[0]);
  return [parts[0], ...parts.slice(1).flatMap((part) => {
    const [inside, after = ""] = part.split(MARK[1]);
    return [h("mark", {}, inside), after];
  })];
}

/** What a cell shows: the highlighted field if the query matched it. */
function cell(hit, name) {
  const highlighted = hit.highlight?.[name];
  if (highlighted) return marked(highlighted.join(" … ").trimEnd());
  // Every tag begins alike: what differs is what counts.
  if (name === "tag" && typeof hit._source.tag === "string") return hit._source.tag.replace(/^kubernetes\./, "");
  const value = name === "log" && hit._source.log === undefined ? hit._source : valueOf(hit._source, name);
  return text(value).trimEnd();
}

const keyOf = (hit) => `${hit._index}/${hit._type}/${hit._id}`;

/** Makes these elements the children of `host`. What stays is not taken out: it may have the focus, a selection, or a button that is being pressed. */
function arrange(host, elements) {
  const staying = new Set(elements);
  for (const child of [...host.children]) if (!staying.has(child)) child.remove();
  elements.forEach((element, index) => host.children[index] !== element && host.insertBefore(element, host.children[index] ?? null));
}

const isNarrow = matchMedia("(max-width: 620px)");

export class Hits {
  /** `more(from)` is called when the end of the loaded hits comes into sight. */
  constructor(host, more) {
    this.host = host;
    this.more = more;
    this.hits = [];
    this.fresh = new Set();
    // Open hits by key: their details, and how high these are.
    this.open = new Map();
    // Rows in the document by key: the element, and what its line was made of.
    this.rows = new Map();
    this.focused = 0;
    this.head = h("div.hits-head", { role: "row", "aria-rowindex": 1 });
    this.body = h("div.hits-body", { role: "rowgroup" });
    this.table = h("div.hits-table", { role: "table", "aria-label": "Hits" }, h("div", { role: "rowgroup" }, this.head), this.body);
    this.scroller = h("div.hits-scroller", { tabIndex: 0, role: "region", "aria-label": "Hits" }, this.table);
    show(host, this.scroller);
    this.scroller.addEventListener("scroll", () => this.render(), { passive: true });
    this.scroller.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.render(true)).observe(this.scroller);
    isNarrow.addEventListener("change", () => this.render(true));
    this.sizes = new ResizeObserver((entries) => {
      for (const { target } of entries) {
        const opened = this.open.get(target.dataset.key);
        if (opened?.details === target && target.offsetHeight) opened.height = target.offsetHeight;
      }
      this.render(true);
    });
  }

  get rowHeight() {
    return isNarrow.matches ? 52 : 31;
  }

  get columns() {
    return state.columns.length ? state.columns : STANDARD;
  }

  set({ hits, total }, { keep = false } = {}) {
    const before = new Set(this.hits.map(keyOf));
    const focused = this.hits[this.focused] && keyOf(this.hits[this.focused]);
    this.fresh = keep && before.size ? new Set(hits.map(keyOf).filter((key) => !before.has(key))) : new Set();
    this.hits = hits;
    this.total = total;
    if (!keep) {
      for (const key of this.open.keys()) this.close(key);
      this.scroller.scrollTop = 0;
    }
    this.focused = keep ? Math.max(0, hits.findIndex((hit) => keyOf(hit) === focused)) : 0;
    this.renderHead();
    this.render(true);
  }

  add(hits) {
    const known = new Set(this.hits.map(keyOf));
    this.hits.push(...hits.filter((hit) => !known.has(keyOf(hit))));
    this.render(true);
  }

  renderHead() {
    const sortable = (name, title) => {
      const [field, order] = state.sort;
      const sorted = field === name ? (order === "asc" ? "ascending" : "descending") : "none";
      const turn = () => update({ sort: [name, field === name && order === "desc" ? "asc" : "desc"] });
      return h(
        "div.cell",
        { role: "columnheader", "aria-sort": sorted },
        h("button.sort", { type: "button", onclick: turn, title: `Sort by ${name}` }, title, h("span.order", { "aria-hidden": "true" }, sorted === "none" ? "" : order === "asc" ? "↑" : "↓")),
      );
    };
    this.table.style.setProperty("--columns", this.columns.map((name) => ({ log: "minmax(220px, 4fr)", tag: "minmax(140px, 2fr)" }[name] ?? "minmax(110px, 1.2fr)")).join(" "));
    patch(
      this.head,
      h("div.cell", { role: "columnheader" }, h("span.visually-hidden", {}, "Details")),
      pattern.timeField ? sortable(pattern.timeField, "Time (UTC)") : null,
      this.columns.map((name) => sortable(name, name)),
    );
    this.table.classList.toggle("timeless", !pattern.timeField);
  }

  /** The place of a row below the top of the body. */
  top(index) {
    let above = index * this.rowHeight;
    for (const [key, { height }] of this.open) {
      const at = this.places.get(key);
      if (at !== undefined && at < index) above += height;
    }
    return above;
  }

  render(force = false) {
    this.places = new Map();
    if (this.open.size) this.hits.forEach((hit, index) => this.open.has(keyOf(hit)) && this.places.set(keyOf(hit), index));
    const { scrollTop, clientHeight } = this.scroller;
    let first = Math.floor(scrollTop / this.rowHeight);
    while (first > 0 && this.top(first) > scrollTop) first -= Math.max(1, Math.floor((this.top(first) - scrollTop) / this.rowHeight));
    first = Math.max(0, first - OVERSCAN);
    let last = first;
    while (last < this.hits.length && this.top(last) < scrollTop + clientHeight + OVERSCAN * this.rowHeight) last += 1;
    if (force || first !== this.first || last !== this.last) {
      [this.first, this.last] = [first, last];
      const within = this.body.contains(document.activeElement) ? document.activeElement.closest("[data-key]")?.dataset.key : undefined;
      const before = this.rows;
      this.rows = new Map();
      for (let index = first; index < last; index += 1) {
        const key = keyOf(this.hits[index]);
        this.rows.set(key, this.row(index, before.get(key)));
      }
      arrange(this.body, [...this.rows.values()].map(({ element }) => element));
      if (within !== undefined && !this.body.contains(document.activeElement)) this.rows.get(within)?.element.querySelector(".toggle").focus({ preventScroll: true });
    }
    this.body.style.height = `${this.top(this.hits.length)}px`;
    this.table.setAttribute("aria-rowcount", (this.total ?? 0) + 1);
    if (last >= this.hits.length - 50 && this.hits.length < this.total) this.more(this.hits.length);
  }

  /** The row of a hit: the one that is there, if it is, with a new line where that has changed. */
  row(index, row = { element: h("div.hit", { role: "presentation" }), made: null }) {
    const hit = this.hits[index];
    const key = keyOf(hit);
    const opened = this.open.get(key);
    const { element } = row;
    const made = JSON.stringify([Boolean(opened), this.columns, pattern.timeField, hit._source, hit.highlight]);
    if (row.made !== made) {
      const line = this.line(hit, element, Boolean(opened));
      if (element.firstChild) element.firstChild.replaceWith(line);
      else element.append(line);
      row.made = made;
    }
    element.dataset.key = key;
    element.dataset.index = index;
    element.classList.toggle("error", hit._source.stream === "stderr");
    element.classList.toggle("fresh", this.fresh.has(key));
    element.classList.toggle("open", Boolean(opened));
    element.style.transform = `translateY(${this.top(index)}px)`;
    element.firstChild.setAttribute("aria-rowindex", index + 2);
    const toggle = element.querySelector(".toggle");
    toggle.setAttribute("aria-label", `Details of line ${index + 1}`);
    toggle.tabIndex = index === this.focused ? 0 : -1;
    if (opened && opened.details.parentNode !== element) element.append(opened.details);
    return row;
  }

  line(hit, element, isOpen) {
    const toggle = () => this.toggle(Number(element.dataset.index));
    const line = h(
      "div.line",
      { role: "row" },
      h("div.cell", { role: "cell" }, h("button.toggle", { type: "button", "aria-expanded": String(isOpen), onclick: toggle }, icon(isOpen ? "down" : "right"))),
      pattern.timeField ? h("div.cell.time.number", { role: "cell" }, full(hit._source[pattern.timeField])) : null,
      this.columns.map((name) => h("div.cell.value", { role: "cell", title: name === "log" ? "" : text(valueOf(hit._source, name)) }, cell(hit, name))),
    );
    line.addEventListener("click", (event) => {
      if (!event.target.closest("button") && !getSelection().toString()) toggle();
    });
    return line;
  }

  toggle(index) {
    const key = keyOf(this.hits[index]);
    if (this.open.has(key)) this.close(key);
    else this.open.set(key, { details: this.details(this.hits[index]), height: 0 });
    this.focused = index;
    this.render(true);
    this.body.querySelector(`[data-index="${index}"] .toggle`)?.focus({ preventScroll: true });
  }

  close(key) {
    const { details } = this.open.get(key);
    this.sizes.unobserve(details);
    details.remove();
    this.open.delete(key);
  }

  key(event) {
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15 };
    if (!(event.key in moves) || event.target.closest(".details") || !this.hits.length) return;
    event.preventDefault();
    const onRow = event.target.closest(".hit");
    this.focused = onRow ? Math.min(this.hits.length - 1, Math.max(0, Number(onRow.dataset.index) + moves[event.key])) : this.first;
    const [top, view] = [this.top(this.focused), this.scroller];
    if (top < view.scrollTop) view.scrollTop = top;
    else if (top + this.rowHeight * 2 > view.scrollTop + view.clientHeight) view.scrollTop = top + this.rowHeight * 2 - view.clientHeight;
    this.render(true);
    this.body.querySelector(`[data-index="${this.focused}"] .toggle`)?.focus({ preventScroll: true });
  }

  details(hit) {
    const json = JSON.stringify({ _index: hit._index, _type: hit._type, _id: hit._id, _source: hit._source }, null, 2);
    const pod = text(hit._source.tag).match(/^kubernetes\.([^_]+)_([^_]+)_/);
    const flat = { _index: hit._index, _type: hit._type, _id: hit._id, ...hit._source };
    const filter = (name, not) => {
      const value = text(flat[name]).trimEnd();
      update({ filters: [...state.filters.filter((other) => other.field !== name || other.value !== value), { field: name, value, not }] });
    };
    const fields = h(
      "dl.fields-of-hit",
      {},
      Object.entries(flat).map(([name, value]) =>
        h(
          "div",
          {},
          h("dt", {}, name),
          h(
            "dd",
            {},
            h("span.value", {}, hit.highlight?.[name] ? marked(hit.highlight[name].join(" … ")) : text(value)),
            name.startsWith("_")
              ? null
              : h(
                  "span.actions",
                  {},
                  h("button.icon", { type: "button", title: "Only lines with this value", "aria-label": `Only lines with this ${name}`, onclick: () => filter(name, false) }, icon("plus")),
                  h("button.icon", { type: "button", title: "No lines with this value", "aria-label": `No lines with this ${name}`, onclick: () => filter(name, true) }, icon("minus")),
                  h("button.icon", { type: "button", title: "Show or hide as a column", "aria-label": `Column ${name}`, onclick: () => toggleColumn(name) }, icon("columns")),
                ),
          ),
        ),
      ),
    );
    const raw = h("pre.raw", { tabIndex: 0, "aria-label": "The document as JSON" }, json);
    raw.hidden = true;
    const around = h("div.around");
    const swap = h("button.button.small", { type: "button", "aria-pressed": "false", onclick: () => {
      raw.hidden = !raw.hidden;
      fields.hidden = !raw.hidden;
      swap.setAttribute("aria-pressed", String(!raw.hidden));
    } }, "JSON");
    const content = h(
      "div",
      { role: "cell" },
      h(
        "div.row.wrap",
        {},
        swap,
        hit._source.tag && pattern.timeField
          ? h("button.button.small", { type: "button", onclick: () => this.around(hit, around, 5) }, icon("lines"), "Surrounding lines")
          : null,
        pod ? h("a.button.small", { href: `../kubernetes-dashboard/#/${pod[2]}/pods/${pod[1]}`, title: "The pod in the user interface of the cluster" }, "Pod") : null,
        h("button.button.small", { type: "button", onclick: async () => {
          await navigator.clipboard?.writeText(json);
          announce("Copied");
        } }, "Copy JSON"),
      ),
      around,
      fields,
      raw,
    );
    const details = h("div.details", { role: "row" }, content);
    details.dataset.key = keyOf(hit);
    this.sizes.observe(details);
    return details;
  }

  /** Shows the lines of the same container before and after a hit. */
  async around(hit, host, size) {
    let lines;
    try {
      lines = await context(hit, size);
    } catch (error) {
      show(host, h("p.notice.bad", { role: "alert" }, error.message));
      return;
    }
    show(
      host,
      h("p.around-title", {}, "Lines of the same container"),
      h(
        "ol.mono",
        {},
        lines.map((line) => h(line._id === hit._id ? "li.this" : "li", {}, h("span.soft", {}, `${full(line._source[pattern.timeField]).slice(11)} `), text(line._source.log).trimEnd())),
      ),
      h("button.button.small", { type: "button", onclick: () => this.around(hit, host, size * 4) }, "More lines"),
    );
    announce(`${lines.length} lines of the same container`);
  }
}

/** Shows a field as a column, or no longer. */
export function toggleColumn(name) {
  const has = state.columns.includes(name);
  update({ columns: has ? state.columns.filter((other) => other !== name) : [...state.columns, name] });
}
