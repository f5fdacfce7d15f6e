// One object: what it is, its pods, its events, its logs, a terminal, its JSON.

import { prefix, request, systemNamespace } from "./api.js";
import { age, announce, h, icon, patch, saveFile, show } from "./dom.js";
import { Log } from "./log.js";
import { eventsOf, get, list, pathOf, podState, selects } from "./store.js";
import { badge, events, link, reference } from "./tables.js";
import { Terminal } from "./terminal.js";

const LOG_LINES = 500;

/** What created an object, as its annotation says. */
function creator(object) {
  try {
    return JSON.parse(object.metadata.annotations["kubernetes.io/created-by"]).reference;
  } catch {
    return null;
  }
}

/** The page of one object. */
export class Detail {
  constructor(resource, namespace, name, tab) {
    Object.assign(this, { resource, namespace, name, tab: tab || "summary" });
    this.head = h("div.detail-head");
    this.tabs = h("div.tabs.detail-tabs", { role: "tablist", "aria-label": "Parts" });
    this.panel = h("div.detail-panel", { role: "tabpanel", id: "part", tabIndex: 0 });
    this.element = h("div", {}, this.head, this.tabs, this.panel);
    this.container = "";
  }

  get object() {
    return get(this.resource, this.namespace, this.name);
  }

  get parts() {
    return this.resource === "pods" ? ["summary", "logs", "terminal", "events", "json"] : ["summary", "events", "json"];
  }

  render() {
    const object = this.object;
    if (!object) {
      this.stop();
      show(this.element, h("div.card.empty", {}, h("h2", {}, `${this.name} is not there`), h("p", {}, "It was deleted, or it never was."), h("p", {}, h("a", { href: `#/${this.namespace}/${this.resource}` }, "Back to the list"))));
      this.gone = true;
      return;
    }
    if (this.gone) {
      this.gone = false;
      this.shown = null;
      show(this.element, this.head, this.tabs, this.panel);
    }
    this.drawHead(object);
    if (this.shown !== this.tab) {
      this.stop();
      this.shown = this.tab;
      this.drawTabs();
      show(this.panel);
      if (this.tab === "logs") this.logs(object);
      if (this.tab === "terminal") this.openTerminal(object);
    }
    if (this.tab === "summary") patch(this.panel, this.summary(object));
    if (this.tab === "events") patch(this.panel, events(eventsOf(object)));
    if (this.tab === "json" && !getSelection().toString()) patch(this.panel, h("pre.card.raw", { tabIndex: 0, "aria-label": "The object as JSON" }, JSON.stringify(object, null, 2)));
  }

  /** Ends what goes on: a log that is followed, a terminal. */
  stop() {
    this.following?.abort();
    this.terminal?.close();
    this.following = this.terminal = null;
  }

  drawHead(object) {
    const state = this.resource === "pods" ? podState(object).join() : "";
    if (this.drawn === state) return;
    this.drawn = state;
    show(
      this.head,
      h("div.grow", {}, h("p.soft", {}, h("a", { href: `#/${this.namespace}/${this.resource}` }, object.kind ?? this.resource), this.namespace ? ` in ${this.namespace}` : ""), h("h1.clip", { title: this.name }, this.name, " ", this.resource === "pods" ? badge(podState(object)) : null)),
      object.spec?.replicas === undefined ? null : h("button.button", { type: "button", onclick: () => this.askScale(this.object) }, icon("columns"), "Scale"),
      this.resource === "nodes" || this.resource === "namespaces" ? null : h("button.button.danger", { type: "button", onclick: () => this.askDelete() }, icon("trash"), "Delete"),
    );
  }

  drawTabs() {
    const titles = { json: "JSON" };
    const select = (part) => {
      location.hash = `#/${this.namespace}/${this.resource}/${this.name}${part === "summary" ? "" : `/${part}`}`;
    };
    show(
      this.tabs,
      this.parts.map((part, index) =>
        h("button", { type: "button", role: "tab", id: `part-${part}`, "aria-selected": String(part === this.tab), "aria-controls": "part", tabIndex: part === this.tab ? 0 : -1, onclick: () => select(part), onkeydown: (event) => {
          const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
          if (!step) return;
          const next = this.parts[(index + step + this.parts.length) % this.parts.length];
          select(next);
          setTimeout(() => document.getElementById(`part-${next}`)?.focus(), 50);
        } }, titles[part] ?? part[0].toUpperCase() + part.slice(1)),
      ),
    );
    this.panel.setAttribute("aria-labelledby", `part-${this.tab}`);
  }

  summary(object) {
    const facts = [["Created", `${object.metadata.creationTimestamp} (${age(object.metadata.creationTimestamp)} ago)`], ["UID", object.metadata.uid]];
    if (this.resource === "pods") {
      facts.unshift(["Node", object.spec.nodeName ? h("a", { href: `#//nodes/${object.spec.nodeName}` }, object.spec.nodeName) : "none"], ["Address", object.status?.podIP ?? "none"], ["Restart policy", object.spec.restartPolicy]);
      const owner = creator(object);
      if (owner) facts.unshift(["Created by", [`${owner.kind} `, reference(owner)]]);
    }
    if (this.resource === "services") {
      facts.unshift(["Address", object.spec.clusterIP], ["Ports", (object.spec.ports ?? []).map(({ name, port, targetPort, protocol }) => `${name ? `${name} ` : ""}${port} → ${targetPort}/${protocol}`).join(", ")]);
      facts.push(["Through the proxy", h("a", { href: `${prefix}/api/v1/proxy/namespaces/${object.metadata.namespace}/services/${object.metadata.name}/` }, "open")]);
    }
    if (this.resource === "nodes") facts.unshift(["Capacity", Object.entries(object.status?.capacity ?? {}).map(([name, amount]) => `${name} ${amount}`).join(", ")], ["Kubelet", object.status?.nodeInfo?.kubeletVersion]);
    if (object.spec?.replicas !== undefined) facts.unshift(["Replicas", `${object.status?.replicas ?? 0} of ${object.spec.replicas}`]);
    const labels = Object.entries(object.metadata.labels ?? {});
    const pods = this.resource === "pods" ? [] : list("pods").filter((pod) => (this.resource === "nodes" ? pod.spec.nodeName === this.name : selects(object, pod)));
    return [
      h("dl.card.facts", {}, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))), h("div", {}, h("dt", {}, "Labels"), h("dd.row.wrap", {}, labels.length ? labels.map(([name, value]) => h("span.badge", {}, `${name}=${value}`)) : "none"))),
      this.resource === "pods" ? this.containers(object) : null,
      object.status?.conditions?.length
        ? [h("h2.part", {}, "Conditions"), h("div.card.scroll", {}, h("table.plain", {}, h("thead", {}, h("tr", {}, ["Type", "Status", "Reason", "Since"].map((title) => h("th", { scope: "col" }, title)))), h("tbody", {}, object.status.conditions.map(({ type, status, reason, message, lastTransitionTime }) => h("tr", {}, h("td", {}, type), h("td", {}, status), h("td", {}, [reason, message].filter(Boolean).join(": ")), h("td", {}, lastTransitionTime ? age(lastTransitionTime) : ""))))))]
        : null,
      pods.length
        ? [h("h2.part", {}, "Pods ", h("span.badge", {}, pods.length)), h("div.card.scroll", {}, h("table.plain", {}, h("thead", {}, h("tr", {}, ["Name", "Status", "Node", "Age"].map((title) => h("th", { scope: "col" }, title)))), h("tbody", {}, pods.map((pod) => h("tr", { "data-key": pod.metadata.uid }, h("td.name", {}, link("pods", pod)), h("td", {}, badge(podState(pod))), h("td", {}, pod.spec.nodeName ?? ""), h("td", {}, age(pod.metadata.creationTimestamp)))))))]
        : null,
    ];
  }

  containers(pod) {
    const statuses = new Map((pod.status?.containerStatuses ?? []).map((status) => [status.name, status]));
    return [
      h("h2.part", {}, "Containers"),
      h(
        "div.containers",
        {},
        pod.spec.containers.map(({ name, image, command, args, ports }) => {
          const { state = {}, lastState = {}, restartCount = 0, ready } = statuses.get(name) ?? {};
          const [phase, about = {}] = Object.entries(state)[0] ?? ["waiting"];
          const last = lastState.terminated;
          return h(
            "div.card.container",
            {},
            h("div.row", {}, h("h3.grow.clip", {}, name), badge([about.reason ?? phase, phase === "running" ? (ready ? "good" : "warn") : phase === "terminated" && about.exitCode === 0 ? "accent" : "bad"])),
            h("p.mono.soft.clip", { title: image }, image),
            command || args ? h("p.mono.clip", { title: [...(command ?? []), ...(args ?? [])].join(" ") }, [...(command ?? []), ...(args ?? [])].join(" ")) : null,
            h("p.soft", {}, `${restartCount} restarts`, ports?.length ? ` · ports ${ports.map(({ containerPort }) => containerPort).join(", ")}` : ""),
            about.message ? h("p.notice.warn", {}, about.message) : null,
            last ? h("p.soft", {}, `Last run: ${last.reason ?? "ended"} with code ${last.exitCode} ${last.finishedAt ? `${age(last.finishedAt)} ago` : ""}`) : null,
          );
        }),
      ),
    ];
  }

  /** Which container the logs and the terminal are of. */
  chooser(pod, changed) {
    const names = pod.spec.containers.map(({ name }) => name);
    if (!names.includes(this.container)) this.container = names[0];
    const select = h("select.select", { "aria-label": "Container", onchange: () => {
      this.container = select.value;
      changed();
    } }, names.map((name) => h("option", { value: name, selected: name === this.container }, name)));
    return select;
  }

  logs(pod) {
    const { namespace, name } = pod.metadata;
    const log = new Log();
    const tag = () => `kubernetes.${name}_${namespace}_${this.container}`;
    const search = h("a.button.small", { title: "The lines of this container in the log viewer, also of runs and pods that are gone" }, icon("search"), "Search");
    const previous = h("input", { type: "checkbox", id: "previous", onchange: () => follow() });
    const times = h("input", { type: "checkbox", id: "times", onchange: () => follow() });
    const follow = () => {
      this.following?.abort();
      this.following = new AbortController();
      search.href = `../kibana-logging/#/discover?from=now-24h&filters=${encodeURIComponent(JSON.stringify([{ field: "tag", value: tag(), not: false }]))}`;
      const query = new URLSearchParams({ container: this.container, tailLines: String(LOG_LINES), follow: String(!previous.checked), previous: String(previous.checked), timestamps: String(times.checked) });
      log.follow(`${prefix}${pathOf("pods", namespace, name, "log")}?${query}`, this.following.signal);
    };
    show(
      this.panel,
      h(
        "div.row.wrap.tools",
        {},
        this.chooser(pod, follow),
        log.filter,
        h("div.row", {}, previous, h("label", { htmlFor: "previous" }, "Previous run")),
        h("div.row", {}, times, h("label", { htmlFor: "times" }, "Times")),
        log.note,
        h("div.grow"),
        get("services", systemNamespace, "kibana-logging") ? search : null,
        h("button.button.small", { type: "button", onclick: () => saveFile(`${name}-${this.container}.log`, "text/plain", log.content()) }, icon("download"), "Download"),
      ),
      log.element,
    );
    follow();
  }

  openTerminal(pod) {
    const host = h("div");
    const open = () => {
      this.terminal?.close();
      this.terminal = new Terminal(pod, this.container);
      show(host, this.terminal.element);
      this.terminal.input.focus();
    };
    show(this.panel, h("div.row.tools", {}, this.chooser(pod, open), h("span.soft", {}, "sh")), host);
    open();
  }

  /** Asks before something is done. */
  ask(title, content, action, act) {
    const problem = h("p.notice.bad", { role: "alert", hidden: true });
    const dialog = h(
      "dialog",
      { "aria-labelledby": "question", onclose: () => dialog.remove() },
      h(
        "form",
        { onsubmit: async (event) => {
          event.preventDefault();
          try {
            await act();
            dialog.close();
          } catch (error) {
            problem.hidden = false;
            problem.textContent = error.message;
          }
        } },
        h("h2", { id: "question" }, title),
        content,
        problem,
        h("div.row", {}, h("div.grow"), h("button.button", { type: "button", onclick: () => dialog.close() }, "Cancel"), h("button.button.primary", { type: "submit" }, action)),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
  }

  get path() {
    return prefix + pathOf(this.resource, this.namespace, this.name);
  }

  askDelete() {
    this.ask(`Delete ${this.name}?`, h("p.soft.spaced", {}, "What owns it may create it again."), "Delete", async () => {
      await request(this.path, { method: "DELETE", body: {} });
      announce(`Deleted ${this.name}`);
    });
  }

  askScale(object) {
    const replicas = h("input.input", { id: "replicas", type: "number", min: 0, max: 1000, required: true, value: object.spec.replicas });
    this.ask(`Scale ${this.name}`, [h("label", { htmlFor: "replicas" }, "Replicas"), replicas], "Scale", async () => {
      await request(this.path, { method: "PATCH", type: "application/merge-patch+json", body: { spec: { replicas: Number(replicas.value) } } });
      announce(`Scaled ${this.name} to ${replicas.value}`);
    });
    replicas.select();
  }
}
