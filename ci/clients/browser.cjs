// Clicks through the log viewer and the user interface of a cluster in headless Chromium, checks them with axe-core,
// and takes screenshots.
// usage: browser.cjs SERVER FOLDER   Needs playwright-core and axe-core (NODE_PATH), and Chromium (CHROMIUM, or
// /usr/bin/chromium).
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { chromium } = require("playwright-core");

const [server, folder] = process.argv.slice(2);
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const services = `${server}/api/v1/proxy/namespaces/kube-system/services`;
const WIDTHS = [1280, 800, 400];
const THEMES = ["light", "dark"];
const LINES = 10_000;
fs.mkdirSync(folder, { recursive: true });

/** Sends a request. Any status but success is an error. */
async function send(method, target, body) {
  const response = await fetch(target, {
    method,
    body: typeof body === "string" ? body : JSON.stringify(body),
    headers: { "Content-Type": "application/json" },
  });
  assert.ok(response.ok, `${method} ${target}: ${response.status} ${await response.clone().text()}`);
  return response.json();
}

/** Loads log lines of a shop: most of them from the last hour, a few of them errors. */
async function loadLines() {
  const pods = ["web-7f9x2", "web-k2m4d", "cart-0q8zt", "payments-x1v5n", "search-9h3jw"];
  const paths = ["/", "/cart", "/api/orders", "/api/products?page=2", "/login", "/static/app.js"];
  const now = Date.now();
  let body = "";
  for (let number = 0; number < LINES; number += 1) {
    const at = new Date(now - Math.floor(((LINES - number) / LINES) ** 1.4 * 3_500_000) - 2000);
    const pod = pods[(number * 7 + Math.floor(number / 90)) % pods.length];
    const bad = (number * 31) % 97 < 4 || (number > 6000 && number < 6240 && number % 3 === 0);
    const [path, size] = [paths[number % paths.length], 1000 + ((number * 37) % 9000)];
    const log = bad
      ? `ERROR request ${number} failed: connection refused by db-1.internal:5432 after 3 retries\n`
      : `10.244.${number % 3}.${number % 200} - - "GET ${path} HTTP/1.1" 200 ${size} request ${number}\n`;
    const source = {
      log,
      stream: bad ? "stderr" : "stdout",
      tag: `kubernetes.${pod}_shop_${pod.split("-")[0]}`,
      "@timestamp": at.toISOString().replace("Z", "+00:00"),
    };
    const index = `logstash-${at.toISOString().slice(0, 10).replaceAll("-", ".")}`;
    const action = { index: { _index: index, _type: "fluentd", _id: `line-${number}` } };
    body += `${JSON.stringify(action)}\n${JSON.stringify(source)}\n`;
  }
  const stored = await send("POST", `${services}/elasticsearch-logging/_bulk?refresh=true`, body);
  assert.equal(stored.errors, false);
}

/** Creates workloads besides the add-ons. */
async function createObjects() {
  const spec = (image, command) => ({ containers: [{ name: "main", image, ...(command ? { command } : {}) }] });
  const namespace = `${server}/api/v1/namespaces/default`;
  await send("POST", `${server}/apis/extensions/v1beta1/namespaces/default/deployments`, {
    metadata: { name: "web" },
    spec: { replicas: 3, template: { metadata: { labels: { app: "web" } }, spec: spec("nginx:1.9") } },
  });
  await send("POST", `${namespace}/services`, {
    metadata: { name: "web" },
    spec: { selector: { app: "web" }, ports: [{ port: 80 }] },
  });
  await send("POST", `${namespace}/pods`, {
    metadata: { name: "ticker", labels: { app: "ticker" } },
    spec: spec("busybox", ["sh", "-c", "while true; do date; sleep 1; done"]),
  });
  await send("POST", `${namespace}/pods`, {
    metadata: { name: "broken" },
    spec: spec("busybox", ["sh", "-c", "exit 3"]),
  });
}

const problems = [];
const opened = new Set();
const requests = [];
let expected = /$^/;

async function open(browser, width, theme) {
  const context = await browser.newContext({
    viewport: { width, height: width === 400 ? 820 : 800 },
    colorScheme: theme,
    acceptDownloads: true,
  });
  const page = await context.newPage();
  opened.add(page);
  page.on("close", () => opened.delete(page));
  page.on("pageerror", (error) => problems.push(`${page.url()}: ${error.stack}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(server) && !/^(data|blob|ws):/.test(request.url()))
      problems.push(`a request to another server: ${request.url()}`);
  });
  page.on("response", (response) => {
    requests.push(`${response.status()} ${response.request().method()} ${response.url().slice(0, 160)}`);
    if (response.status() >= 400 && !expected.test(response.url()))
      problems.push(`${response.status()} ${response.url()}`);
  });
  page.on("requestfailed", (request) =>
    requests.push(`${request.failure()?.errorText} ${request.method()} ${request.url().slice(0, 160)}`),
  );
  return page;
}

/** Prints the state of a page when a step fails: URL, focus, messages, and an outline of its elements. */
async function describe(page, name) {
  await shot(page, `failed-${name.replaceAll(/\W+/g, "-")}`);
  const seen = await page.evaluate(() => {
    const outline = (element, depth) => {
      const attributes = ["id", "aria-label", "aria-busy", "aria-expanded", "aria-selected", "hidden", "role"].filter(
        (known) => element.hasAttribute(known),
      );
      const own = [...element.childNodes]
        .filter((node) => node.nodeType === Node.TEXT_NODE)
        .map((node) => node.data.trim())
        .join(" ");
      const classes = [...element.classList].map((part) => `.${part}`).join("");
      const line = `${"  ".repeat(depth)}${element.localName}${classes}`;
      const children = [...element.children].filter((child) => !(child instanceof SVGElement)).slice(0, 12);
      return [
        `${line}${attributes.map((known) => ` ${known}=${element.getAttribute(known)}`).join("")} ${own.slice(0, 80)}`,
        ...children.flatMap((child) => outline(child, depth + 1)),
      ];
    };
    const [place, focus] = [
      document.querySelector(".details, dialog, .detail-panel") ?? document.querySelector("main"),
      document.activeElement,
    ];
    return {
      outline: outline(place, 1).slice(0, 120),
      focus: focus?.outerHTML.slice(0, 200),
      alerts: [...document.querySelectorAll("[role=alert], [role=status]")]
        .map((element) => element.textContent)
        .filter(Boolean),
    };
  });
  console.error(
    `${page.url()}\n  focus: ${seen.focus}\n  messages: ${seen.alerts.join(" | ")}\n${seen.outline.join("\n")}`,
  );
}

/** Checks contrast, labels, roles and focus order with axe-core. */
async function check(page, name) {
  // evaluate: the content security policy of the page forbids a script element.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() =>
    globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "best-practice"] }),
  );
  for (const { id, help, nodes } of violations)
    problems.push(
      `${name}: ${id}: ${help}: ${nodes
        .slice(0, 3)
        .map((node) => `${node.target} ${node.failureSummary ?? ""}`)
        .join(" | ")}`,
    );
}

async function shot(page, name) {
  await page.screenshot({ path: path.join(folder, `${name}.png`) });
}

let steps = 0;
async function step(name, work) {
  try {
    await work();
    steps += 1;
  } catch (error) {
    for (const page of opened)
      await describe(page, name).catch((other) => console.error(`cannot describe the page: ${other.message}`));
    for (const request of requests.slice(-12)) console.error(`request: ${request}`);
    throw new Error(`step "${name}": ${error.message}`, { cause: error });
  }
}

const lines = (page) =>
  page
    .locator(".summary b")
    .innerText()
    .then((text) => Number(text.replaceAll(",", "")));
const settled = (page) =>
  page.waitForFunction(() => !document.querySelector("[aria-busy]") && document.querySelector(".summary b"));

async function firstUse(page) {
  expected = /\.kibana/;
  await step("first use asks for the index pattern", async () => {
    await page.goto(`${services}/kibana-logging/`);
    await page.getByRole("heading", { name: "Configure an index pattern" }).waitFor();
    assert.equal(await page.getByLabel("Index name or pattern").inputValue(), "logstash-*");
    assert.ok(await page.getByLabel("Index contains time-based events").isChecked());
    await page.waitForFunction(() => document.querySelector("#time-field").value === "@timestamp");
    await check(page, "first use");
    await shot(page, "viewer-first-use");
    await page.getByRole("button", { name: "Create" }).click();
    await settled(page);
    const config = await send("GET", `${services}/elasticsearch-logging/.kibana/config/4.0.2`);
    assert.deepEqual(config._source, { buildNum: 6004, defaultIndex: "logstash-*" });
  });
  expected = /$^/;
}

async function discover(page) {
  await step("a quick time range", async () => {
    await page.getByRole("button", { name: "Time range" }).click();
    await page.getByRole("button", { name: "Last 4 hours" }).click();
    await settled(page);
    assert.ok((await lines(page)) >= LINES);
    assert.match(page.url(), /from=now-4h/);
  });
  await step("a query with highlighted terms", async () => {
    await page.getByLabel("Query").fill("log:refused AND stream:stderr");
    await page.keyboard.press("Enter");
    await page.locator(".hits mark").first().waitFor();
    assert.equal(await page.locator(".hits mark").first().innerText(), "refused");
    assert.ok((await lines(page)) < LINES / 5);
  });
  await step("a helpful error for a malformed query", async () => {
    expected = /_search/;
    await page.getByLabel("Query").fill("log:(refused AND");
    await page.getByRole("button", { name: "Search", exact: true }).click();
    await page.getByText("The query cannot be read.").waitFor();
    await check(page, "error");
    await shot(page, "viewer-error");
    expected = /$^/;
    await page.getByLabel("Query").fill("*");
    await page.getByRole("button", { name: "Search", exact: true }).click();
    await page.getByText("The query cannot be read.").waitFor({ state: "detached" });
  });
  await step("top values of a field, and its filters", async () => {
    await page.locator('[data-field="stream"] .field-name').click();
    await page.getByRole("button", { name: "Only lines with stream stderr" }).click();
    await settled(page);
    const only = await lines(page);
    await page.getByRole("button", { name: "stream: “stderr”" }).click();
    await page.getByText("not stream").waitFor();
    await page.waitForFunction(
      (before) => Number(document.querySelector(".summary b").textContent.replaceAll(",", "")) > before,
      only,
    );
    await page.getByRole("button", { name: "Remove the filter on stream" }).click();
    await page.locator(".filter").waitFor({ state: "detached" });
    await settled(page);
  });
  await step("a line is opened with the keyboard", async () => {
    const first = page.locator(".toggle").first();
    await first.focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.locator(".details").waitFor();
    assert.match(await page.locator(".details").innerText(), /@timestamp/);
    await page.getByRole("button", { name: "JSON", exact: true }).click();
    assert.match(await page.locator(".raw").innerText(), /"_source"/);
    await page.getByRole("button", { name: "JSON", exact: true }).click();
  });
  await step("surrounding lines of the same container", async () => {
    await page.getByRole("button", { name: "Surrounding lines" }).click();
    await page.locator(".around li.this").waitFor();
    assert.ok((await page.locator(".around li").count()) > 1);
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Surrounding lines");
    await check(page, "details");
    await shot(page, "viewer-details");
  });
  await step("lines of one millisecond are in the order of writing", async () => {
    const at = new Date(Date.now() - 60_000).toISOString().replace("Z", "+00:00");
    for (const number of [4, 1, 5, 2, 3]) {
      const line = {
        log: `    at frame ${number}\n`,
        stream: "stderr",
        tag: "kubernetes.trace_shop_trace",
        "@timestamp": at,
      };
      const index = `logstash-${at.slice(0, 10).replaceAll("-", ".")}`;
      const document = `${index}/fluentd/trace-0000000${number}`;
      await send("PUT", `${services}/elasticsearch-logging/${document}?refresh=true`, line);
    }
    await page.getByLabel("Query").fill("tag:kubernetes.trace_shop_trace");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector(".summary b").textContent === "5");
    const texts = await page.locator(".hit .value:last-child").allInnerTexts();
    assert.deepEqual(
      texts.map((text) => text.trim()),
      [5, 4, 3, 2, 1].map((number) => `at frame ${number}`),
    );
    await page.getByLabel("Query").fill("*");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector(".summary b").textContent !== "5");
    await settled(page);
  });
  await step("columns and sorting", async () => {
    await page.getByRole("button", { name: "Add the column stream" }).click();
    await page.getByRole("columnheader", { name: "stream" }).waitFor();
    await page.getByRole("button", { name: "Remove the column stream" }).click();
    await page.getByRole("button", { name: "Time (UTC)" }).click();
    await page.locator('[role="columnheader"][aria-sort="ascending"]').waitFor();
    await settled(page);
    await page.getByRole("button", { name: "Time (UTC)" }).click();
    await page.locator('[role="columnheader"][aria-sort="descending"]').waitFor();
    await settled(page);
  });
  await step("a range is selected in the histogram, by mouse and keyboard", async () => {
    const before = await lines(page);
    const box = await page.locator(".chart").boundingBox();
    await page.mouse.move(box.x + box.width * 0.8, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.9, box.y + 40, { steps: 5 });
    await page.mouse.up();
    await page.waitForFunction(
      (number) => Number(document.querySelector(".summary b").textContent.replaceAll(",", "")) < number,
      before,
    );
    await page.goBack();
    await page.waitForFunction(
      (number) => Number(document.querySelector(".summary b").textContent.replaceAll(",", "")) >= number,
      before,
    );
    await page.locator(".chart").focus();
    await page.keyboard.press("Home");
    assert.match(await page.locator(".chart").getAttribute("aria-valuetext"), /UTC, \d/);
  });
  await step("10,000 lines scroll smoothly", async () => {
    const last = () => Number(document.querySelector(".hit:last-child").dataset.index);
    for (let loaded = 0; loaded < 4000; loaded = await page.evaluate(last)) {
      await page.evaluate(() => {
        const scroller = document.querySelector(".hits-scroller");
        scroller.scrollTop = scroller.scrollHeight;
      });
      await page.waitForFunction(
        (before) => Number(document.querySelector(".hit:last-child").dataset.index) > before,
        loaded,
      );
    }
    const longest = await page.evaluate(async () => {
      const scroller = document.querySelector(".hits-scroller");
      scroller.scrollTop = 0;
      let [last, worst] = [performance.now(), 0];
      for (let frame = 0; frame < 160; frame += 1) {
        scroller.scrollTop += 700;
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        worst = Math.max(worst, now - last);
        last = now;
      }
      return { worst, rows: document.querySelectorAll(".hit").length };
    });
    assert.ok(longest.rows < 100, `${longest.rows} rows are in the document`);
    console.log(`  the longest frame while scrolling took ${Math.round(longest.worst)} ms`);
  });
  await step("a search is saved and opened", async () => {
    expected = /\.kibana/;
    await page.getByLabel("Query").fill("log:refused");
    await page.keyboard.press("Enter");
    await settled(page);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByLabel("Title").fill("Refused connections");
    await check(page, "save");
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByLabel("Query").fill("*");
    await page.keyboard.press("Enter");
    await settled(page);
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByRole("button", { name: "Refused connections", exact: true }).click();
    await page.waitForFunction(() => document.querySelector("#query").value === "log:refused");
    await settled(page);
    expected = /$^/;
  });
  await step("lines are downloaded as text and as JSON lines", async () => {
    for (const [name, wanted] of [
      ["Text", /^ERROR request/],
      ["JSON lines", /^\{"log":"ERROR/],
    ]) {
      await page.getByRole("button", { name: "Download" }).click();
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("menuitem", { name }).click(),
      ]);
      assert.match(fs.readFileSync(await download.path(), "utf8"), wanted);
    }
  });
  await step("a copied link shows the same lines", async () => {
    const [url, before] = [page.url(), await lines(page)];
    const other = await page.context().newPage();
    await other.goto(url);
    await settled(other);
    assert.equal(await other.getByLabel("Query").inputValue(), "log:refused");
    assert.equal(await lines(other), before);
    await other.close();
  });
  await step("live tail shows new lines", async () => {
    await page.getByLabel("Query").fill("tag:kubernetes.ticker_default_main");
    await page.keyboard.press("Enter");
    await settled(page);
    await page.getByRole("button", { name: "Live tail" }).click();
    const before = await lines(page);
    await page.waitForFunction(
      (number) => Number(document.querySelector(".summary b").textContent.replaceAll(",", "")) > number,
      before,
      { timeout: 15_000 },
    );
    await page.getByRole("button", { name: "Pause" }).click();
  });
  await step("visualize counts by a field", async () => {
    await page.getByLabel("Query").fill("*");
    await page.keyboard.press("Enter");
    await settled(page);
    await page.getByRole("link", { name: "Visualize" }).click();
    await page.locator(".values tbody tr").first().waitFor();
    await page.getByLabel("By field").selectOption("tag");
    await page.waitForFunction(() => document.querySelector(".summary").textContent.includes("by tag"));
    await page.getByLabel("By field").selectOption("stream");
    await page.waitForFunction(() => document.querySelector(".summary").textContent.includes("by stream"));
    await check(page, "visualize");
  });
}

async function looks(browser) {
  const search =
    "#/discover?from=now-1h&q=request&filters=" +
    encodeURIComponent(JSON.stringify([{ field: "stream", value: "stdout", not: false }]));
  const pages = [
    ["viewer-discover", `${services}/kibana-logging/${search}`, ".hits mark"],
    ["viewer-visualize", `${services}/kibana-logging/#/visualize?from=now-1h`, ".values tbody tr"],
    ["cluster-overview", `${services}/kubernetes-dashboard/`, ".tile"],
    ["cluster-pods", `${services}/kubernetes-dashboard/#//pods`, "tbody tr"],
    ["cluster-pod", `${services}/kubernetes-dashboard/#/default/pods/ticker`, ".container"],
  ];
  for (const theme of THEMES) {
    for (const width of WIDTHS) {
      const page = await open(browser, width, theme);
      for (const [name, url, ready] of pages) {
        await step(`${name} at ${width} px, ${theme}`, async () => {
          await page.goto("about:blank");
          await page.goto(url);
          await page.locator(ready).first().waitFor();
          if (name.startsWith("cluster")) await page.getByText("Live", { exact: true }).waitFor();
          const over = await page.evaluate(
            () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
          );
          assert.ok(over <= 0, `the page is ${over} px too wide`);
          await check(page, `${name} at ${width} px, ${theme}`);
          await shot(page, `${name}-${width}-${theme}`);
        });
      }
      await page.context().close();
    }
  }
}

async function cluster(page) {
  await step("namespaces, workloads and nodes", async () => {
    await page.goto(`${services}/kubernetes-dashboard/`);
    await page.getByText("Live", { exact: true }).waitFor();
    await page.getByLabel("Namespace", { exact: true }).selectOption("default");
    await page.getByRole("link", { name: "Workloads" }).first().click();
    await page.getByRole("link", { name: "web", exact: true }).first().click();
    await page.getByRole("heading", { name: /Pods/ }).waitFor();
    await check(page, "workload");
    await page.getByRole("button", { name: "Scale" }).click();
    await page.getByLabel("Replicas").fill("4");
    await check(page, "scale");
    await page.getByRole("dialog").getByRole("button", { name: "Scale" }).click();
    await page.getByText("4 of 4").waitFor();
    await page.getByRole("link", { name: /^Nodes/ }).click();
    await page.getByRole("link", { name: "node-1", exact: true }).click();
    await page.getByText("Capacity").waitFor();
  });
  await step("a table is sorted by a column", async () => {
    await page.getByRole("link", { name: /^Pods/ }).click();
    await page.getByRole("button", { name: "Status" }).click();
    await page.locator('th[aria-sort="ascending"]', { hasText: "Status" }).waitFor();
    await page.getByRole("button", { name: "Age" }).click();
    await page.getByRole("button", { name: "Age" }).click();
    await page.locator('th[aria-sort="descending"]', { hasText: "Age" }).waitFor();
    const ages = await page.locator("tbody time").evaluateAll((times) => times.map((time) => time.dateTime));
    assert.deepEqual(ages, [...ages].sort());
  });
  await step("pods of one age stay in the order of their names", async () => {
    // Each call of Date.now returns a later time.
    await page.evaluate(() => {
      globalThis.clock = Date.now;
      let late = 0;
      Date.now = () => globalThis.clock() + (late += 1);
    });
    await page.getByRole("button", { name: "Name", exact: true }).click();
    await page.getByRole("button", { name: "Age" }).click();
    await page.getByRole("button", { name: "Age" }).click();
    await page.locator('th[aria-sort="descending"]', { hasText: "Age" }).waitFor();
    const rows = await page
      .locator("tbody tr")
      .evaluateAll((found) =>
        found.map((row) => [row.querySelector("time").dateTime, row.querySelector("a").hash.replace("/pods/", "/")]),
      );
    assert.ok(
      rows.some(([age], place) => age === rows[place + 1]?.[0]),
      "no two pods have the same age",
    );
    assert.deepEqual(
      rows,
      [...rows].sort(([age, name], [other, otherName]) => age.localeCompare(other) || name.localeCompare(otherName)),
    );
    await page.evaluate(() => {
      Date.now = globalThis.clock;
    });
  });
  await step("changes are shown at once", async () => {
    await page.getByRole("link", { name: /^Pods/ }).click();
    await page.getByRole("link", { name: "ticker", exact: true }).waitFor();
    await send("POST", `${server}/api/v1/namespaces/default/pods`, {
      metadata: { name: "late" },
      spec: { containers: [{ name: "main", image: "nginx" }] },
    });
    await page.getByRole("link", { name: "late", exact: true }).waitFor();
    await page.getByRole("link", { name: "late", exact: true }).click();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("late is not there").waitFor({ timeout: 60_000 });
  });
  await step("a click is not lost when the table changes during it", async () => {
    await page.goto(`${services}/kubernetes-dashboard/#/default/pods`);
    const link = page.getByRole("link", { name: "ticker", exact: true });
    await link.hover();
    await page.mouse.down();
    assert.ok(await link.evaluate((pressed) => pressed.matches(":active")), "the mouse is pressed on another element");
    await send("POST", `${server}/api/v1/namespaces/default/pods`, {
      metadata: { name: "zebra" },
      spec: { containers: [{ name: "main", image: "nginx" }] },
    });
    await page.getByRole("link", { name: "zebra", exact: true }).waitFor();
    await page.mouse.up();
    await page.getByRole("heading", { name: "ticker" }).waitFor();
  });
  await step("logs are followed", async () => {
    await page.goto(`${services}/kubernetes-dashboard/#/default/pods/ticker/logs`);
    await page.waitForFunction(() => document.querySelector(".log")?.textContent.trim().split("\n").length > 2, null, {
      timeout: 15_000,
    });
    await page.getByLabel("Find in the log").fill("no such line");
    await page.getByText(/^0 of \d+ lines$/).waitFor();
    await page.getByLabel("Find in the log").fill("utc");
    await page.waitForFunction(() => document.querySelector(".log").textContent.includes("UTC"));
    await check(page, "logs");
    await shot(page, "cluster-logs");
  });
  await step("from a pod to its lines in the log viewer, and back", async () => {
    await page.getByRole("link", { name: "Search" }).click();
    await page.getByRole("button", { name: "tag: “kubernetes.ticker_default_main”" }).waitFor();
    await settled(page);
    await page.locator(".toggle").first().click();
    await page.getByRole("link", { name: "Pod", exact: true }).click();
    await page.getByRole("heading", { name: "ticker" }).waitFor();
    await page.getByRole("tab", { name: "Logs" }).click();
  });
  await step("a terminal runs a command", async () => {
    await page.getByRole("tab", { name: "Terminal" }).click();
    await page.getByLabel("Command").fill("echo hello from $HOSTNAME");
    await page.keyboard.press("Enter");
    await page.getByText("hello from ticker", { exact: false }).last().waitFor({ timeout: 10_000 });
    await check(page, "terminal");
    await shot(page, "cluster-terminal");
  });
  await step("events and the JSON of the object", async () => {
    await page.getByRole("tab", { name: "Events" }).click();
    await page.getByText("Started container").first().waitFor();
    await page.getByRole("tab", { name: "JSON" }).click();
    await page.getByText('"creationTimestamp"').waitFor();
    await page.getByRole("tab", { name: "JSON" }).press("ArrowRight");
    await page.getByRole("tab", { name: "Summary", selected: true }).waitFor();
  });
}

(async () => {
  await createObjects();
  await loadLines();
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
  try {
    const page = await open(browser, 1280, "light");
    page.setDefaultTimeout(20_000);
    await firstUse(page);
    await discover(page);
    await cluster(page);
    await page.context().close();
    await looks(browser);
  } finally {
    await browser.close();
  }
  for (const problem of problems) console.error(`problem: ${problem}`);
  assert.equal(problems.length, 0);
  console.log(`ok ${steps} steps, screenshots in ${folder}`);
})().catch((error) => {
  for (const problem of problems) console.error(`problem: ${problem}`);
  console.error(error.message);
  process.exit(1);
});
