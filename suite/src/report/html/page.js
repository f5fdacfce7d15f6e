"use strict";
const trials = [...document.querySelectorAll("#trials > details")];
const chips = [...document.querySelectorAll("[data-verdict][aria-pressed]")];
const cells = [...document.querySelectorAll(".matrix button")];
const text = document.querySelector("#text");
const level = document.querySelector("#level");
const group = document.querySelector("#group");
let kind = "";
let column = "";

function show() {
  const verdicts = chips.filter((chip) => chip.ariaPressed === "true").map((chip) => chip.dataset.verdict);
  const words = text.value.toLowerCase();
  let shown = 0;
  for (const trial of trials) {
    const { dataset } = trial;
    trial.hidden =
      (verdicts.length > 0 && !verdicts.includes(dataset.verdict)) ||
      (level.value !== "" && dataset.level !== level.value) ||
      (group.value !== "" && dataset.group !== group.value) ||
      (kind !== "" && dataset.kind !== kind) ||
      (column !== "" && dataset.column !== column) ||
      (words !== "" && !trial.textContent.toLowerCase().includes(words));
    shown += trial.hidden ? 0 : 1;
  }
  const chosen = [kind, column].filter(Boolean).join(", ");
  document.querySelector("#shown").textContent =
    `${shown} of ${trials.length} trials${chosen === "" ? "" : `: ${chosen}`}`;
  for (const cell of cells) {
    const here = kind !== "" && cell.dataset.kind === kind && cell.dataset.group === group.value;
    cell.classList.toggle("chosen", here && cell.dataset.column === column);
  }
}

function reset() {
  kind = "";
  column = "";
  text.value = "";
  level.value = "";
  group.value = "";
  chips.forEach((chip) => (chip.ariaPressed = "false"));
}

for (const chip of chips) {
  chip.addEventListener("click", () => {
    chip.ariaPressed = chip.ariaPressed === "true" ? "false" : "true";
    show();
  });
}
for (const cell of cells) {
  cell.addEventListener("click", () => {
    reset();
    group.value = cell.dataset.group;
    kind = cell.dataset.kind;
    column = cell.dataset.column;
    show();
    document.querySelector("#all").scrollIntoView();
  });
}
group.addEventListener("change", () => {
  kind = "";
  column = "";
  show();
});
level.addEventListener("change", show);
text.addEventListener("input", show);
document.querySelector("#reset").addEventListener("click", () => {
  reset();
  show();
});
show();
