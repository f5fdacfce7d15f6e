// The state of the page, kept in the URL so that a link shows the same.

const DEFAULTS = {
  tab: "discover",
  q: "*",
  from: "now-15m",
  to: "now",
  refresh: 0,
  columns: [],
  sort: ["@timestamp", "desc"],
  filters: [],
  field: "",
  saved: "",
};

const listeners = new Set();
export let state = read();

function read() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const parameters = new URLSearchParams(query);
  const found = structuredClone(DEFAULTS);
  if (path === "visualize" || path === "discover") found.tab = path;
  for (const [name, standard] of Object.entries(DEFAULTS)) {
    const text = parameters.get(name);
    if (text === null || name === "tab") continue;
    if (typeof standard === "number") found[name] = Number(text) || 0;
    else if (typeof standard === "string") found[name] = text;
    else {
      try {
        const value = JSON.parse(text);
        if (Array.isArray(value)) found[name] = value;
      } catch {
        // A mangled link: the standard value.
      }
    }
  }
  return found;
}

function address() {
  const parameters = new URLSearchParams();
  for (const [name, standard] of Object.entries(DEFAULTS)) {
    const value = state[name];
    const text = typeof standard === "object" ? JSON.stringify(value) : String(value);
    const usual = typeof standard === "object" ? JSON.stringify(standard) : String(standard);
    if (name !== "tab" && text !== usual) parameters.set(name, text);
  }
  const query = parameters.toString();
  return `#/${state.tab}${query ? `?${query}` : ""}`;
}

/** Changes the state, the URL with it, and tells everyone what has changed. */
export function update(changes, { replace = false } = {}) {
  state = { ...state, ...changes };
  const url = address();
  if (url !== location.hash) history[replace ? "replaceState" : "pushState"](null, "", url);
  for (const listener of listeners) listener(new Set(Object.keys(changes)));
}

/** Calls `listener` with the names of what has changed. */
export function onChange(listener) {
  listeners.add(listener);
}

window.addEventListener("popstate", () => {
  state = read();
  for (const listener of listeners) listener(new Set(Object.keys(DEFAULTS)));
});
