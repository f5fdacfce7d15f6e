// Discover: the histogram, the fields and the hits of a search.

import { bars } from "./chart.js";
import { announce, count, h, icon, popover, saveFile, show } from "./dom.js";
import { FieldList } from "./fields.js";
import { Hits } from "./hits.js";
import { MOST, discover, loadFields, more, pattern } from "./search.js";
import { state, update } from "./state.js";
import { label, resolve } from "./time.js";

const SEARCHES = ["q", "from", "to", "filters", "sort", "tab"];

export class Discover {
  constructor() {
    this.onResult = () => {};
    this.fields = [];
    this.sidebar = new FieldList();
    this.summary = h("h1.summary");
    this.histogram = h("div.histogram");
    this.table = h("section.hits", { "aria-label": "Lines" });
    this.hitsView = new Hits(this.table, (from) => this.loadMore(from));
    this.live = h("button.button.small", { type: "button", "aria-pressed": "false", onclick: () => this.toggleLive() }, icon("play"), "Live tail");
    const fieldsButton = h("button.button.small.fields-button", { type: "button", "aria-expanded": "false", "aria-controls": "fields", onclick: () => {
      const open = this.element.classList.toggle("with-fields");
      fieldsButton.setAttribute("aria-expanded", String(open));
    } }, icon("fields"), "Fields");
    this.element = h(
      "div.discover",
      {},
      this.sidebar.element,
      h(
        "div.results",
        {},
        h("div.row.wrap.results-head", {}, fieldsButton, this.summary, h("div.grow"), this.live, this.downloads(), this.share()),
        this.histogram,
        this.table,
      ),
    );
    new ResizeObserver(() => this.drawHistogram()).observe(this.histogram);
  }

  get hits() {
    return this.hitsView.hits;
  }

  update(names) {
    if (names.has("refresh")) {
      const live = state.refresh === 1;
      this.live.setAttribute("aria-pressed", String(live));
      show(this.live, icon(live ? "pause" : "play"), live ? "Pause" : "Live tail");
    }
    if (names.has("columns")) {
      this.hitsView.renderHead();
      this.hitsView.render(true);
      this.sidebar.draw();
    }
    if (SEARCHES.some((name) => names.has(name))) this.search();
  }

  /** Searches. A quiet search keeps what is open and where the table is scrolled to. */
  async search({ quiet = false } = {}) {
    if (quiet && this.searching) return;
    this.searching?.abort();
    const searching = new AbortController();
    this.searching = searching;
    this.element.setAttribute("aria-busy", "true");
    try {
      const [found, fields] = await Promise.all([discover(searching.signal), quiet && this.fields.length ? this.fields : loadFields(pattern.title)]);
      if (searching.signal.aborted) return;
      this.found = found;
      this.fields = fields;
      const scrolled = quiet && this.hitsView.scroller.scrollTop > 0;
      if (!scrolled) this.hitsView.set(found, { keep: quiet });
      this.drawSummary();
      this.drawHistogram();
      this.sidebar.set(fields, this.hits);
      if (!quiet) announce(`${count(found.total)} lines found`);
      this.onResult({});
    } catch (error) {
      if (error.name === "AbortError" || searching.signal.aborted) return;
      this.found = { total: 0, hits: [], buckets: [], failed: true };
      this.hitsView.set(this.found);
      this.drawSummary();
      show(this.histogram);
      this.onResult({ error });
    } finally {
      if (this.searching === searching) {
        this.searching = null;
        this.element.removeAttribute("aria-busy");
      }
    }
  }

  async loadMore(from) {
    if (this.loading || from >= MOST) return;
    this.loading = true;
    const found = this.found;
    try {
      const next = await more(from);
      if (found === this.found) this.hitsView.add(next.hits);
    } catch {
      // The lines that are there stay; scrolling tries again.
    } finally {
      setTimeout(() => {
        this.loading = false;
        this.hitsView.render();
      }, 100);
    }
  }

  drawSummary() {
    const { total, failed } = this.found;
    show(this.summary, failed ? "No result" : [h("b.number", {}, count(total)), ` ${total === 1 ? "line" : "lines"} `, h("span.soft", {}, label(state.from, state.to))]);
    document.title = failed ? "Logs" : `${count(total)} · Logs`;
    this.element.classList.toggle("nothing", !total && !failed);
    this.nothing?.remove();
    if (!total && !failed) {
      this.nothing = h(
        "div.empty",
        {},
        h("h2", {}, "No lines match"),
        h("p", {}, "Take a longer time range, or fewer words and filters."),
        h("p", {}, h("button.button", { type: "button", onclick: () => update({ from: "now-5y", to: "now" }) }, "Search the last 5 years")),
      );
      this.table.after(this.nothing);
    }
  }

  drawHistogram() {
    const found = this.found;
    if (!found?.total || !pattern.timeField || !this.histogram.clientWidth) {
      if (found && !found.total) show(this.histogram);
      return;
    }
    bars(this.histogram, {
      buckets: found.buckets,
      from: resolve(state.from, found.now),
      to: resolve(state.to, found.now, true),
      step: found.interval.length,
      height: innerHeight < 700 ? 92 : 120,
      label: `Lines per ${found.interval.name}`,
      onRange: (from, to) => update({ from: String(from), to: String(to) }),
    });
  }

  toggleLive() {
    if (state.refresh === 1) {
      update({ refresh: 0 }, { replace: true });
      return;
    }
    const live = { refresh: 1, sort: [pattern.timeField ?? "@timestamp", "desc"], to: "now" };
    if (!state.from.startsWith("now")) live.from = "now-15m";
    update(live, { replace: true });
  }

  downloads() {
    const button = h("button.button.small", { type: "button", "aria-haspopup": "menu" }, icon("download"), "Download");
    const panel = h("div.popover.menu", { role: "menu", "aria-label": "Download" });
    const control = popover(button, panel);
    const save = async (name, type, line) => {
      control.close();
      button.disabled = true;
      try {
        const { hits } = await more(0, MOST);
        saveFile(name, type, hits.map(line).join(""));
      } catch (error) {
        this.onResult({ error });
      } finally {
        button.disabled = false;
      }
    };
    const ended = (text) => (text.endsWith("\n") ? text : `${text}\n`);
    panel.append(
      h("button", { type: "button", role: "menuitem", onclick: () => save("lines.txt", "text/plain", (hit) => ended(hit._source.log ?? JSON.stringify(hit._source))) }, "Text"),
      h("button", { type: "button", role: "menuitem", onclick: () => save("lines.jsonl", "application/x-ndjson", (hit) => `${JSON.stringify(hit._source)}\n`) }, "JSON lines"),
    );
    return h("div.anchor", {}, button, panel);
  }

  share() {
    const button = h("button.button.small", { type: "button", onclick: async () => {
      await navigator.clipboard?.writeText(location.href);
      announce("The link is copied");
      show(button, icon("check"), "Copied");
      setTimeout(() => show(button, icon("link"), "Share"), 1500);
    } }, icon("link"), "Share");
    return button;
  }
}
