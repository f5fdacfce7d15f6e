// Visualize: counts over time by a field, and the field's top values.

import { bars, color } from "./chart.js";
import { addFilter } from "./fields.js";
import { announce, count, h, icon, patch, show } from "./dom.js";
import { loadFields, pattern, visualize } from "./search.js";
import { state, update } from "./state.js";
import { label, resolve } from "./time.js";

const SEARCHES = ["q", "from", "to", "filters", "tab", "field"];
const STANDARD = "stream";

export class Visualize {
  constructor() {
    this.onResult = () => {};
    this.field = h("select.select", { id: "by-field", onchange: () => update({ field: this.field.value }) });
    this.size = h("select.select", { id: "top", onchange: () => this.search() }, [3, 5, 10].map((size) => h("option", { value: size, selected: size === 5 }, `Top ${size}`)));
    this.summary = h("h1.summary");
    this.chart = h("div.histogram.large");
    this.values = h("div.card.values");
    this.element = h(
      "div.visualize",
      {},
      h("div.row.wrap.results-head", {}, this.summary, h("div.grow"), h("label", { htmlFor: "by-field" }, "By field"), this.field, h("label.visually-hidden", { htmlFor: "top" }, "How many values"), this.size),
      h("section.card.padded", { "aria-label": "Counts over time" }, this.chart),
      this.values,
    );
    new ResizeObserver(() => this.draw()).observe(this.chart);
  }

  update(names) {
    if (SEARCHES.some((name) => names.has(name))) this.search();
  }

  async search({ quiet = false } = {}) {
    if (quiet && this.searching) return;
    this.searching?.abort();
    const searching = new AbortController();
    this.searching = searching;
    try {
      const fields = (await loadFields(pattern.title)).filter((field) => field.type !== "date");
      const field = fields.find(({ name }) => name === (state.field || STANDARD)) ?? fields[0];
      patch(this.field, fields.map(({ name }) => h("option", { value: name }, name)));
      this.field.value = field?.name ?? "";
      if (!field) {
        show(this.summary, "No fields yet");
        return;
      }
      const found = await visualize(field.exact, Number(this.size.value), searching.signal);
      if (searching.signal.aborted) return;
      this.found = { ...found, field };
      show(this.summary, h("b.number", {}, count(found.total)), ` ${found.total === 1 ? "line" : "lines"} by ${field.name} `, h("span.soft", {}, label(state.from, state.to)));
      this.draw();
      this.drawValues();
      if (!quiet) announce(`${found.values.length} values of ${field.name}`);
      this.onResult({});
    } catch (error) {
      if (error.name !== "AbortError" && !searching.signal.aborted) this.onResult({ error });
    } finally {
      if (this.searching === searching) this.searching = null;
    }
  }

  draw() {
    const found = this.found;
    if (!found || !this.chart.clientWidth) return;
    const names = found.values.map((value) => value.key_as_string ?? String(value.key));
    const buckets = found.buckets.map((bucket) => {
      const parts = bucket.values.buckets
        .map((value) => [names.indexOf(value.key_as_string ?? String(value.key)), value.doc_count])
        .filter(([series]) => series >= 0)
        .sort((a, b) => a[0] - b[0]);
      const sum = parts.reduce((all, [, number]) => all + number, 0);
      const most = Math.max(bucket.doc_count, sum);
      return { ...bucket, doc_count: most, parts: most > sum ? [...parts, [-1, most - sum]] : parts };
    });
    bars(this.chart, {
      buckets,
      names,
      from: resolve(state.from, found.now),
      to: resolve(state.to, found.now, true),
      step: found.interval.length,
      height: 260,
      label: `Lines per ${found.interval.name} by ${found.field.name}`,
      onRange: (from, to) => update({ from: String(from), to: String(to) }),
    });
  }

  drawValues() {
    const { values, total, field } = this.found;
    const most = Math.max(1, ...values.map((value) => value.doc_count));
    const swatch = (index) => h("span.swatch", { style: { background: color(index) }, "aria-hidden": "true" });
    patch(
      this.values,
      h(
        "table.plain",
        {},
        h("caption.visually-hidden", {}, `Top values of ${field.name}`),
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, field.name), h("th", { scope: "col" }, "Lines"), h("th.meter-head", { scope: "col" }, "Share"), h("th", { scope: "col" }, h("span.visually-hidden", {}, "Filter")))),
        h(
          "tbody",
          {},
          values.map((value, index) => {
            const name = value.key_as_string ?? String(value.key);
            return h(
              "tr",
              { "data-key": name },
              h("td.mono", {}, swatch(index), name),
              h("td.number", {}, count(value.doc_count)),
              h("td", {}, h("div.row", {}, h("div.share.grow", {}, h("div", { style: { width: `${(value.doc_count / most) * 100}%`, background: color(index) } })), h("span.number.soft", {}, `${total ? Math.round((value.doc_count / total) * 100) : 0}%`))),
              h("td", {}, h("button.icon", { type: "button", "aria-label": `Only lines with ${name}`, title: "Only lines with this value", onclick: () => addFilter(field.name, name, false) }, icon("plus"))),
            );
          }),
        ),
      ),
    );
    if (!values.length) patch(this.values, h("p.empty", {}, "No values in this time range"));
  }
}
