// The table of hits: only the rows in sight are in the document, so that ten thousand hits scroll as ten do.

import { announce, h, icon, show } from "./dom.js";
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
const isNarrow = matchMedia("(max-width: 620px)");

export class Hits {
  /** `more(from)` is called when the end of the loaded hits comes into sight. */
  constructor(host, more) {
    this.host = host;
    this.more = more;
    this.hits = [];
    this.fresh = new Set();
    this.open = new Map();
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
        if (this.open.has(target.dataset.key) && target.offsetHeight) this.open.set(target.dataset.key, target.offsetHeight);
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
    this.fresh = keep && before.size ? new Set(hits.map(keyOf).filter((key) => !before.has(key))) : new Set();
    this.hits = hits;
    this.total = total;
    if (!keep) {
      this.open.clear();
      this.scroller.scrollTop = 0;
      this.focused = 0;
    }
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
    show(
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
    for (const [key, height] of this.open) {
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
      const within = this.body.contains(document.activeElement) ? document.activeElement.closest("[data-index]")?.dataset.index : undefined;
      const rows = [];
      for (let index = first; index < last; index += 1) rows.push(this.row(index));
      const kept = new Map([...this.body.children].map((row) => [row.dataset.id, row]));
      show(this.body, rows.map((row) => (this.open.has(row.dataset.key) && kept.get(row.dataset.id)?.classList.contains("open") ? this.move(kept.get(row.dataset.id), row) : row)));
      if (within !== undefined && !this.body.contains(document.activeElement)) this.body.querySelector(`[data-index="${within}"] .toggle`)?.focus({ preventScroll: true });
    }
    this.body.style.height = `${this.top(this.hits.length)}px`;
    this.table.setAttribute("aria-rowcount", (this.total ?? 0) + 1);
    if (last >= this.hits.length - 50 && this.hits.length < this.total) this.more(this.hits.length);
  }

  /** An open row keeps its element, which may hold the focus or a selection. */
  move(element, fresh) {
    element.style.transform = fresh.style.transform;
    element.dataset.index = fresh.dataset.index;
    return element;
  }

  row(index) {
    const hit = this.hits[index];
    const key = keyOf(hit);
    const isOpen = this.open.has(key);
    const toggle = h(
      "button.toggle",
      { type: "button", "aria-expanded": isOpen, "aria-label": `Details of line ${index + 1}`, tabIndex: index === this.focused ? 0 : -1, onclick: () => this.toggle(index) },
      icon(isOpen ? "down" : "right"),
    );
    const line = h(
      "div.line",
      { role: "row", "aria-rowindex": index + 2 },
      h("div.cell", { role: "cell" }, toggle),
      pattern.timeField ? h("div.cell.time.number", { role: "cell" }, full(hit._source[pattern.timeField])) : null,
      this.columns.map((name) => h("div.cell.value", { role: "cell", title: name === "log" ? "" : text(valueOf(hit._source, name)) }, cell(hit, name))),
    );
    line.addEventListener("click", (event) => {
      if (!event.target.closest("button") && !getSelection().toString()) this.toggle(index);
    });
    const row = h("div.hit", { role: "presentation" }, line);
    row.dataset.key = key;
    row.dataset.id = key;
    row.dataset.index = index;
    row.classList.toggle("error", hit._source.stream === "stderr");
    row.classList.toggle("fresh", this.fresh.has(key));
    row.classList.toggle("open", isOpen);
    row.style.transform = `translateY(${this.top(index)}px)`;
    if (isOpen) row.append(this.details(hit));
    return row;
  }

  toggle(index) {
    const key = keyOf(this.hits[index]);
    if (this.open.has(key)) this.open.delete(key);
    else this.open.set(key, 0);
    this.focused = index;
    for (const row of this.body.children) if (row.dataset.key === key) row.dataset.id = "";
    this.render(true);
    this.body.querySelector(`[data-index="${index}"] .toggle`)?.focus({ preventScroll: true });
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
