// A terminal: a command in a container, line by line, over a WebSocket.

import { socket } from "./api.js";
import { h, show } from "./dom.js";
import { pathOf } from "./store.js";

const [STDIN, STDOUT, STDERR, ERROR] = [0, 1, 2, 3];
const KEPT = 200_000;
const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** A terminal in a container of a pod. `close()` ends it. */
export class Terminal {
  constructor(pod, container) {
    const { namespace, name } = pod.metadata;
    this.path = (command) => {
      const query = new URLSearchParams({ container, stdin: "true", stdout: "true", stderr: "true" });
      for (const word of command) query.append("command", word);
      return `${pathOf("pods", namespace, name, "exec")}?${query}`;
    };
    this.output = h("pre.terminal-output", { tabIndex: 0, role: "log", "aria-label": `Output in ${container}` });
    this.input = h("input.terminal-input", { "aria-label": "Command", spellcheck: false, autocomplete: "off", autocapitalize: "off" });
    this.prompt = h("span.prompt", { "aria-hidden": "true" }, "$");
    this.past = [];
    this.at = 0;
    this.element = h("form.terminal", { onsubmit: (event) => this.enter(event), onclick: () => getSelection().toString() || this.input.focus() }, this.output, h("div.terminal-line", {}, this.prompt, this.input));
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.connect(["sh"]);
  }

  connect(command) {
    this.socket = socket(this.path(command), "channel.k8s.io");
    this.socket.binaryType = "arraybuffer";
    this.socket.onmessage = ({ data }) => {
      const bytes = new Uint8Array(data);
      if (bytes.length < 2) return;
      this.write(decoder.decode(bytes.subarray(1)), bytes[0] === STDERR || bytes[0] === ERROR ? "bad" : "");
    };
    this.socket.onclose = ({ wasClean }) => {
      this.write(wasClean || this.ended ? "\n[The shell has ended. Enter starts a new one.]\n" : "\n[The connection is closed. Enter starts a new one.]\n", "soft");
      this.socket = null;
    };
  }

  write(text, kind = "") {
    // Escape sequences that move a cursor mean nothing here.
    const plain = text.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, "").replace(/\r\n/g, "\n").replace(/\r/g, "\n");
    this.output.append(kind ? h(`span.${kind}`, {}, plain) : plain);
    while (this.output.textContent.length > KEPT) this.output.firstChild.remove();
    this.output.scrollTop = this.output.scrollHeight;
  }

  enter(event) {
    event.preventDefault();
    const line = this.input.value;
    this.input.value = "";
    if (!this.socket) {
      show(this.output);
      this.connect(["sh"]);
      if (!line) return;
    }
    if (line) this.past.push(line);
    this.at = this.past.length;
    this.write(`$ ${line}\n`, "soft");
    const send = () => this.send(encoder.encode(`${line}\n`));
    if (this.socket.readyState === WebSocket.OPEN) send();
    else this.socket.addEventListener("open", send, { once: true });
  }

  send(bytes) {
    const message = new Uint8Array(bytes.length + 1);
    message[0] = STDIN;
    message.set(bytes, 1);
    this.socket.send(message);
  }

  key(event) {
    if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      event.preventDefault();
      this.at = Math.min(this.past.length, Math.max(0, this.at + (event.key === "ArrowUp" ? -1 : 1)));
      this.input.value = this.past[this.at] ?? "";
    } else if (event.key === "l" && event.ctrlKey) {
      event.preventDefault();
      show(this.output);
    }
  }

  close() {
    this.ended = true;
    this.socket?.close();
  }
}
