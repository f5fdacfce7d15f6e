// Small tools for the pages: elements, icons, theme, popovers.

const SVG = "http://www.w3.org/2000/svg";

/** Makes an element: `h("button.small", {onclick, "aria-label": "Close"}, "Close")`. */
export function h(selector, attributes = {}, ...children) {
  const [tag, ...classes] = selector.split(".");
  const element = document.createElement(tag || "div");
  if (classes.length) element.className = classes.join(" ");
  return fill(element, attributes, children);
}

/** Makes an SVG element. */
export function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) listen(element, name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else if (name in element && !(element instanceof SVGElement) && !name.startsWith("aria") && name !== "list") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...flat(children));
  return element;
}

const flat = (children) => children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);

/** The listeners of the elements that were made here, by event: `patch` replaces them. */
const listeners = new WeakMap();

function listen(element, event, listener) {
  const own = listeners.get(element) ?? {};
  listeners.set(element, { ...own, [event]: listener });
  if (!own[event]) element.addEventListener(event, (happened) => listeners.get(element)[event]?.(happened));
}

/** Replaces the children of an element. */
export function show(element, ...children) {
  element.replaceChildren(...flat(children));
}

/**
 * Makes these the children of an element like `show`, but changes the elements that are there instead of replacing them: the focus,
 * a selection and a press that has begun stay. Elements with the same `data-key` are the same; others are by their place.
 */
export function patch(element, ...children) {
  const wanted = flat(children).map((child) => (child instanceof Node ? child : document.createTextNode(child)));
  const keys = new Set(wanted.map((node) => node.dataset?.key));
  const keyed = new Map();
  for (const child of [...element.children]) {
    if (!child.dataset.key) continue;
    if (keys.has(child.dataset.key)) keyed.set(child.dataset.key, child);
    else child.remove();
  }
  let next = element.firstChild;
  for (const node of wanted) {
    const key = node.dataset?.key;
    const there = key ? keyed.get(key) : next?.dataset?.key ? null : next;
    if (!there || !isAlike(there, node)) {
      element.insertBefore(node, next);
      continue;
    }
    if (there === next) next = next.nextSibling;
    else element.insertBefore(there, next);
    become(there, node);
  }
  while (next) {
    const after = next.nextSibling;
    next.remove();
    next = after;
  }
}

const eventsOf = (node) => Object.keys(listeners.get(node) ?? {}).join();
const isAlike = (there, node) => there.nodeName === node.nodeName && eventsOf(there) === eventsOf(node);

function become(there, node) {
  if (there.nodeType !== Node.ELEMENT_NODE) {
    if (there.data !== node.data) there.data = node.data;
    return;
  }
  for (const { name } of [...there.attributes]) if (!node.hasAttribute(name)) there.removeAttribute(name);
  for (const { name, value } of node.attributes) {
    if (there.getAttribute(name) === value) continue;
    // The page's policy allows no style attributes from text.
    if (name === "style") there.style.cssText = value;
    else there.setAttribute(name, value);
  }
  if (listeners.has(node)) listeners.set(there, listeners.get(node));
  patch(there, [...node.childNodes]);
}

export const $ = (selector, root = document) => root.querySelector(selector);

const PATHS = {
  search: "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9Zm3.4 7.9 3.6 3.6",
  clock: "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2Zm0 3v3.2l2.2 1.4",
  refresh: "M13.5 8a5.5 5.5 0 1 1-1.7-4M12 1.5V4.2H9.3",
  down: "m4 6 4 4 4-4",
  right: "m6 4 4 4-4 4",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  close: "m4 4 8 8M12 4l-8 8",
  download: "M8 2v8m0 0 3-3m-3 3L5 7M3 13h10",
  save: "M3 2.5h8L13.5 5v8.5h-11v-11H3Zm2 0v3.5h5V2.5M5 13.5V9.5h6v4",
  folder: "M2 4.5V13h12V5.5H7.5L6 3.5H2v1Z",
  columns: "M2.5 3h11v10h-11V3Zm4 0v10m3.5-10v10",
  sun: "M8 5a3 3 0 1 1 0 6 3 3 0 0 1 0-6Zm0-4v1.5m0 11V15M1 8h1.5m11 0H15M3 3l1 1m8 8 1 1m0-10-1 1m-8 8-1 1",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5Z",
  play: "M5 3.5v9l7-4.5-7-4.5Z",
  pause: "M5.5 3.5v9m5-9v9",
  link: "M6.5 9.5 9.5 6.5M7 4.5l1-1a2.8 2.8 0 0 1 4 4l-1 1m-2 3-1 1a2.8 2.8 0 0 1-4-4l1-1",
  lines: "M3 4h10M3 8h10M3 12h6",
  fields: "M3 4h4M3 8h7M3 12h5",
  terminal: "m3 5 3 3-3 3m5 1h5",
  trash: "M3 4.5h10M6 4.5V3h4v1.5M4.5 4.5l.5 9h6l.5-9",
  up: "M8 13V3m0 0L4.5 6.5M8 3l3.5 3.5",
  check: "m3.5 8.5 3 3 6-7",
};

/** A decorative icon. */
export function icon(name) {
  return s(
    "svg",
    { viewBox: "0 0 16 16", fill: "none", stroke: "currentColor", "stroke-width": "1.6", "stroke-linecap": "round", "stroke-linejoin": "round", "aria-hidden": "true" },
    s("path", { d: PATHS[name] }),
  );
}

const dark = matchMedia("(prefers-color-scheme: dark)");

function applyTheme() {
  const chosen = localStorage.getItem("stuntdouble.theme");
  document.documentElement.dataset.theme = chosen ?? (dark.matches ? "dark" : "light");
}

/** Follows the system's theme until a person chooses one with this button. */
export function themeButton() {
  const button = h("button.icon", { type: "button", onclick: choose });
  function label() {
    const isDark = document.documentElement.dataset.theme === "dark";
    button.setAttribute("aria-label", isDark ? "Use the light theme" : "Use the dark theme");
    button.title = button.getAttribute("aria-label");
    show(button, icon(isDark ? "sun" : "moon"));
  }
  function choose() {
    localStorage.setItem("stuntdouble.theme", document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    applyTheme();
    label();
  }
  dark.addEventListener("change", () => {
    applyTheme();
    label();
  });
  applyTheme();
  label();
  return button;
}

/** Opens and closes a panel with a button. Escape and a click elsewhere close it. */
export function popover(button, panel) {
  panel.hidden = true;
  button.setAttribute("aria-expanded", "false");
  const set = (open) => {
    panel.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
    if (open) panel.querySelector("input, select, button, a")?.focus();
  };
  button.addEventListener("click", () => set(panel.hidden));
  document.addEventListener("pointerdown", (event) => {
    if (!panel.hidden && !panel.contains(event.target) && !button.contains(event.target)) set(false);
  });
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    set(false);
    button.focus();
  });
  return { close: () => set(false), open: () => set(true) };
}

/** Tells people who cannot see the page. */
export function announce(text) {
  const region = $("#announcer");
  if (region) region.textContent = text;
}

/** Saves a text as a file. */
export function saveFile(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A number as people read it. */
export const count = (number) => number.toLocaleString("en-US");

/** How long ago: `5m`, `3h`, `2d`. */
export function age(from, now = Date.now()) {
  const seconds = Math.max(0, Math.round((now - new Date(from).getTime()) / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}
