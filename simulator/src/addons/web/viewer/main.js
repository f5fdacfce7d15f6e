// The log viewer: first use, then Discover and Visualize.

import { systemNamespace } from "./api.js";
import { Controls } from "./controls.js";
import { Discover } from "./discover.js";
import { $, h, show, themeButton } from "./dom.js";
import { loadFields, loadPattern, savePattern } from "./search.js";
import { onChange, state, update } from "./state.js";
import { Visualize } from "./visualize.js";

const TABS = [["discover", "Discover"], ["visualize", "Visualize"]];
const main = $("#main");

show($("#theme"), themeButton());
$("#cluster").title = `The user interface of the cluster, in ${systemNamespace}`;

function drawTabs() {
  show($("#tabs"), TABS.map(([name, title]) => h("a", { href: `#/${name}`, "aria-current": state.tab === name ? "page" : null, onclick: (event) => {
    event.preventDefault();
    update({ tab: name });
  } }, title)));
}

async function start() {
  let pattern;
  try {
    pattern = await loadPattern();
  } catch (error) {
    show(main, h("div.empty", {}, h("h2", {}, "The search backend does not answer"), h("p", {}, error.message), h("p", {}, h("button.button.primary", { type: "button", onclick: start }, "Try again"))));
    return;
  }
  if (!pattern) {
    await firstUse();
    return;
  }
  const discover = new Discover();
  const visualize = new Visualize();
  const current = () => (state.tab === "visualize" ? visualize : discover);
  const controls = new Controls({ search: () => current().search(), hits: () => discover.hits });
  const content = h("div.content");
  show(main, controls.element, content);
  discover.onResult = visualize.onResult = (result) => controls.result(result);
  onChange((names) => {
    if (names.has("tab")) {
      drawTabs();
      show(content, current().element);
    }
    controls.update(names);
    current().update(names);
  });
  drawTabs();
  show(content, current().element);
  controls.update(new Set(["refresh"]));
  current().search();
}

/** Asks which indices to show, and by which time. */
async function firstUse() {
  const title = h("input.input", { id: "pattern", value: "logstash-*", required: true, spellcheck: false, autocomplete: "off" });
  const timed = h("input", { type: "checkbox", id: "timed", checked: true });
  const field = h("select.select", { id: "time-field" });
  const create = h("button.button.primary", { type: "submit" }, "Create");
  const hint = h("p.soft", { role: "status" });
  let timer = 0;
  const look = async () => {
    clearTimeout(timer);
    const fields = title.value.trim() ? await loadFields(title.value.trim()).catch(() => []) : [];
    const dates = fields.filter((candidate) => candidate.type === "date");
    const chosen = field.value;
    show(field, dates.map(({ name }) => h("option", { value: name, selected: name === chosen || (!chosen && name === "@timestamp") }, name)));
    hint.textContent = fields.length ? `${fields.length} fields found.` : "No index has this name yet. Lines arrive a few seconds after a container writes them.";
    create.disabled = !fields.length || (timed.checked && !dates.length);
    field.disabled = !timed.checked;
    if (!fields.length && title.isConnected) timer = setTimeout(look, 2000);
  };
  title.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(look, 250);
  });
  timed.addEventListener("change", look);
  const form = h(
    "form.card.first-use",
    { onsubmit: async (event) => {
      event.preventDefault();
      clearTimeout(timer);
      create.disabled = true;
      try {
        await savePattern(title.value.trim(), timed.checked ? field.value : null);
        await start();
        main.focus();
      } catch (error) {
        hint.textContent = error.message;
        create.disabled = false;
      }
    } },
    h("h1", {}, "Configure an index pattern"),
    h("p.soft", {}, "The viewer shows the indices whose names match this pattern. The collectors write one index per day."),
    h("div.line", {}, h("label", { htmlFor: "pattern" }, "Index name or pattern"), title),
    h("div.row", {}, timed, h("label", { htmlFor: "timed" }, "Index contains time-based events")),
    h("div.line", {}, h("label", { htmlFor: "time-field" }, "Time-field name"), field),
    hint,
    h("div.row", {}, create),
  );
  show(main, form);
  show($("#tabs"));
  await look();
}

start();
