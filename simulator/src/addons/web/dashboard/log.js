// The log of a container: followed, bounded, and filtered by a text.

import { count, h, show } from "./dom.js";

const KEPT = 5000;
const SPARE = 1000;

/** A log that is shown. */
export class Log {
  constructor() {
    this.lines = [];
    this.element = h("pre.card.log", { tabIndex: 0, role: "log", "aria-label": "Log" });
    this.filter = h("input.input", { type: "search", placeholder: "Find in the log", "aria-label": "Find in the log", oninput: () => this.draw() });
    this.note = h("span.soft", { role: "status" });
  }

  /** Shows what a request for a log answers, until `signal` ends it. */
  async follow(path, signal) {
    this.lines = [];
    this.draw();
    this.say("Following");
    try {
      const response = await fetch(path, { signal });
      if (!response.ok) throw new Error((await response.json()).message);
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (let piece; reader && !(piece = await reader.read()).done; ) {
        const lines = (rest + piece.value).split("\n");
        rest = lines.pop();
        this.add(lines);
      }
      if (rest) this.add([rest]);
      this.say("The log has ended");
    } catch (error) {
      if (!signal.aborted) this.say(error.message);
    }
  }

  /** The lines that match. */
  content(lines = this.lines) {
    const wanted = this.filter.value.toLowerCase();
    const found = lines.filter((line) => line.toLowerCase().includes(wanted));
    return found.map((line) => `${line}\n`).join("");
  }

  add(lines) {
    this.lines.push(...lines);
    if (this.lines.length > KEPT + SPARE) {
      this.lines.splice(0, this.lines.length - KEPT);
      this.draw();
      return;
    }
    this.keepEnd(() => this.element.append(this.content(lines)));
    this.say(this.state);
  }

  draw() {
    this.keepEnd(() => show(this.element, this.content()));
    this.say(this.state ?? "");
  }

  /** Who looks at the end goes on to do so. */
  keepEnd(work) {
    const { scrollHeight, scrollTop, clientHeight } = this.element;
    const wasAtEnd = scrollHeight - scrollTop - clientHeight < 40;
    work();
    if (wasAtEnd) this.element.scrollTop = this.element.scrollHeight;
  }

  say(state) {
    this.state = state;
    const found = this.filter.value ? this.content().split("\n").length - 1 : null;
    const text = found === null ? state : `${count(found)} of ${count(this.lines.length)} lines`;
    if (this.note.textContent !== text) this.note.textContent = text;
  }
}
