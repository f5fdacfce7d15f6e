// What both views share: query bar, time picker, refresh, filters, saved searches.

import { $, announce, h, icon, popover, show } from "./dom.js";
import { deleteSearch, explain, ofSaved, saveSearch, savedSearches } from "./search.js";
import { state, update } from "./state.js";
import { QUICK, fromInput, isValid, label, resolve, toInput } from "./time.js";

const REFRESH = [[0, "No refresh"], [1, "1 second"], [5, "5 seconds"], [10, "10 seconds"], [30, "30 seconds"], [60, "1 minute"], [300, "5 minutes"]];
const RELATIVE = [["s", "seconds ago"], ["m", "minutes ago"], ["h", "hours ago"], ["d", "days ago"], ["w", "weeks ago"]];

export class Controls {
  /** `search()` searches again. */
  constructor({ search }) {
    this.search = search;
    this.input = h("input.input.mono", { id: "query", name: "q", type: "search", value: state.q, spellcheck: false, autocomplete: "off", placeholder: "error AND stream:stderr", "aria-label": "Query", "aria-describedby": "query-error" });
    this.error = h("div.query-error", { id: "query-error", role: "alert" });
    this.filters = h("ul.filters", { "aria-label": "Filters" });
    this.refresh = h("select.select", { "aria-label": "Refresh interval", onchange: () => update({ refresh: Number(this.refresh.value) }, { replace: true }) }, REFRESH.map(([seconds, title]) => h("option", { value: seconds }, title)));
    this.element = h(
      "section.controls",
      { "aria-label": "Search" },
      h(
        "form.query-bar",
        { role: "search", onsubmit: (event) => {
          event.preventDefault();
          if (this.input.value === state.q) this.search();
          else update({ q: this.input.value, saved: "" });
        } },
        h("div.query-input", {}, icon("search"), this.input),
        this.timePicker(),
        this.refresh,
        h("button.button.primary", { type: "submit" }, icon("refresh"), "Search"),
      ),
      this.error,
      h("div.row.wrap.second", {}, this.filters, h("div.grow"), this.savedMenu()),
    );
    this.update(new Set(["filters", "refresh", "from"]));
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && !event.target.closest("input, textarea, select")) {
        event.preventDefault();
        this.input.focus();
        this.input.select();
      }
    });
  }

  update(names) {
    if (names.has("q")) this.input.value = state.q;
    if (names.has("from") || names.has("to")) this.timeLabel.textContent = label(state.from, state.to);
    if (names.has("filters")) this.drawFilters();
    if (names.has("refresh")) {
      this.refresh.value = String(state.refresh);
      clearInterval(this.timer);
      if (state.refresh) this.timer = setInterval(() => document.hidden || this.search({ quiet: true }), state.refresh * 1000);
    }
  }

  /** Shows what is wrong with the query, or that nothing is. */
  result({ error }) {
    this.input.setAttribute("aria-invalid", String(Boolean(error)));
    if (!error) {
      show(this.error);
      return;
    }
    const { text, column } = explain(error);
    const query = state.q;
    show(
      this.error,
      h(
        "div.notice.bad",
        {},
        h("strong", {}, column === null ? "The search failed. " : "The query cannot be read. "),
        text,
        column === null ? null : h("pre", {}, `${query}\n${" ".repeat(Math.min(column, query.length))}^`),
      ),
    );
  }

  drawFilters() {
    const change = (filter, changed) => update({ filters: state.filters.flatMap((other) => (other === filter ? changed : [other])) });
    show(
      this.filters,
      state.filters.map((filter) =>
        h(
          filter.not ? "li.filter.not" : "li.filter",
          {},
          h("button.clip", { type: "button", title: "Turn around", onclick: () => change(filter, [{ ...filter, not: !filter.not }]) }, filter.not ? h("b", {}, "not ") : null, `${filter.field}: “${filter.value}”`),
          h("button.icon", { type: "button", "aria-label": `Remove the filter on ${filter.field}`, onclick: () => change(filter, []) }, icon("close")),
        ),
      ),
    );
  }

  timePicker() {
    this.timeLabel = h("span.clip", {}, label(state.from, state.to));
    const button = h("button.button.time-button", { type: "button", "aria-label": "Time range", "aria-haspopup": "dialog" }, icon("clock"), this.timeLabel, icon("down"));
    const panel = h("div.popover.time-panel", { role: "dialog", "aria-label": "Time range" });
    const control = popover(button, panel);
    const choose = (from, to) => {
      control.close();
      button.focus();
      update({ from: String(from), to: String(to) });
    };
    const amount = h("input.input", { type: "number", min: 1, value: 15, "aria-label": "How many" });
    const unit = h("select.select", { "aria-label": "Unit" }, RELATIVE.map(([value, title]) => h("option", { value, selected: value === "m" }, title)));
    const first = h("input.input", { type: "datetime-local", step: 1, id: "first-time" });
    const last = h("input.input", { type: "datetime-local", step: 1, id: "last-time" });
    button.addEventListener("click", () => {
      first.value = toInput(isValid(state.from) ? resolve(state.from, Date.now()) : Date.now());
      last.value = toInput(isValid(state.to) ? resolve(state.to, Date.now(), true) : Date.now());
    });
    panel.append(
      h("h3", {}, "Quick"),
      h("ul.quick", {}, QUICK.map(([title, from, to]) => h("li", {}, h("button", { type: "button", onclick: () => choose(from, to) }, title)))),
      h("h3", {}, "Relative"),
      h("form.row", { onsubmit: (event) => {
        event.preventDefault();
        choose(`now-${amount.value}${unit.value}`, "now");
      } }, h("span", {}, "From"), amount, unit, h("button.button.small", { type: "submit" }, "Apply")),
      h("h3", {}, "Absolute (UTC)"),
      h("form.absolute", { onsubmit: (event) => {
        event.preventDefault();
        if (first.value && last.value) choose(fromInput(first.value), fromInput(last.value));
      } }, h("label", { htmlFor: "first-time" }, "From"), first, h("label", { htmlFor: "last-time" }, "To"), last, h("button.button.small", { type: "submit" }, "Apply")),
    );
    return h("div.anchor", {}, button, panel);
  }

  savedMenu() {
    const title = h("span.soft.clip.saved-title");
    this.savedTitle = title;
    const open = h("button.button.small", { type: "button", "aria-haspopup": "dialog" }, icon("folder"), "Open");
    const panel = h("div.popover.saved-panel", { role: "dialog", "aria-label": "Saved searches" });
    const control = popover(open, panel);
    const draw = async () => {
      let all;
      try {
        all = await savedSearches();
      } catch (error) {
        show(panel, h("p.notice.bad", {}, error.message));
        return;
      }
      show(
        panel,
        h("h3", {}, "Saved searches"),
        all.length
          ? h(
              "ul.saved",
              {},
              all.map((saved) =>
                h(
                  "li.row",
                  {},
                  h("button.grow.clip", { type: "button", onclick: () => {
                    control.close();
                    update(ofSaved(saved));
                  } }, saved.title),
                  h("button.icon", { type: "button", "aria-label": `Delete ${saved.title}`, onclick: async () => {
                    await deleteSearch(saved.id);
                    await draw();
                  } }, icon("trash")),
                ),
              ),
            )
          : h("p.soft", {}, "Nothing is saved yet."),
      );
      panel.querySelector("button")?.focus();
    };
    open.addEventListener("click", () => panel.hidden || draw());
    return h("div.row", {}, title, h("button.button.small", { type: "button", onclick: () => this.askTitle() }, icon("save"), "Save"), h("div.anchor", {}, open, panel));
  }

  /** Asks for a title, and saves the search under it. */
  askTitle() {
    const name = h("input.input", { id: "search-title", required: true, value: state.saved, autocomplete: "off" });
    const problem = h("p.notice.bad", { role: "alert", hidden: true });
    const dialog = h(
      "dialog",
      { "aria-labelledby": "save-heading", onclose: () => dialog.remove() },
      h(
        "form.save-form",
        { onsubmit: async (event) => {
          event.preventDefault();
          try {
            await saveSearch(name.value);
            update({ saved: name.value.trim() }, { replace: true });
            announce(`Saved as ${name.value.trim()}`);
            dialog.close();
          } catch (error) {
            problem.hidden = false;
            problem.textContent = error.message;
          }
        } },
        h("h2", { id: "save-heading" }, "Save this search"),
        h("label", { htmlFor: "search-title" }, "Title"),
        name,
        problem,
        h("div.row", {}, h("div.grow"), h("button.button", { type: "button", onclick: () => dialog.close() }, "Cancel"), h("button.button.primary", { type: "submit" }, "Save")),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
    $("#search-title").select();
  }
}
