// Ships log lines with the JavaScript client for Elasticsearch 1.5, and finds each of them once.
// usage: elasticsearch_client.cjs BASE_URL   BASE_URL is the log search backend, or its path through a service proxy.
// Needs elasticsearch 10 (NODE_PATH).
"use strict";

const assert = require("node:assert/strict");
const elasticsearch = require("elasticsearch");

const LINES = 10_000;
const BATCH = 500;
const INDEX = "logstash-2015.06.20";
const pad = (number, digits) => String(number).padStart(digits, "0");

function line(number) {
  const second = Math.floor(number / 5);
  const parts = [Math.floor(second / 3600), Math.floor(second / 60) % 60, second % 60];
  const clock = `${parts.map((part) => pad(part, 2)).join(":")}.${number % 5}00`;
  return {
    log: `request number-${pad(number, 5)} ${number % 10 ? "accepted" : "refused"}\n`,
    stream: number % 10 ? "stdout" : "stderr",
    tag: "kubernetes.web_shop_web",
    "@timestamp": `2015-06-20T${clock}+00:00`,
  };
}

function check(what, actual, expected) {
  assert.deepEqual(actual, expected, what);
  console.log(`ok  ${what}`);
}

(async () => {
  const client = new elasticsearch.Client({
    host: process.argv[2],
    apiVersion: "1.5",
    log: "error",
    requestTimeout: 60_000,
  });
  await client.ping({ requestTimeout: 30_000 });
  check("info", (await client.info()).cluster_name, "kubernetes-logging");
  await client.indices.delete({ index: INDEX, ignore: [404] });
  for (let from = 0; from < LINES; from += BATCH) {
    const action = (id) => ({ index: { _index: INDEX, _type: "fluentd", _id: String(id) } });
    const body = Array.from({ length: BATCH }, (_, index) => [action(from + index), line(from + index)]).flat();
    const { errors, items } = await client.bulk({ body });
    assert.equal(errors, false);
    assert.equal(items.length, BATCH);
  }
  await client.indices.refresh({ index: INDEX });
  check("every line is stored", (await client.count({ index: INDEX })).count, LINES);
  const found = [];
  let page = await client.search({ index: INDEX, scroll: "1m", size: 1500, sort: "@timestamp:asc" });
  while (page.hits.hits.length) {
    found.push(...page.hits.hits.map((hit) => hit._source));
    page = await client.scroll({ scrollId: page._scroll_id, scroll: "1m" });
  }
  await client.clearScroll({ scrollId: page._scroll_id });
  check(
    "each once, in order by time",
    found,
    Array.from({ length: LINES }, (_, number) => line(number)),
  );
  const refused = await client.search({ index: INDEX, q: "log:refused AND stream:stderr" });
  check("a word of a query string", refused.hits.total, LINES / 10);
  const hours = { date_histogram: { field: "@timestamp", interval: "10m" } };
  const body = { size: 0, aggs: { hours, streams: { terms: { field: "stream" } } } };
  const { aggregations } = await client.search({ index: INDEX, searchType: "count", body });
  check(
    "counts over time",
    aggregations.hours.buckets.map((bucket) => bucket.doc_count),
    [3000, 3000, 3000, 1000],
  );
  const streams = aggregations.streams.buckets.map((bucket) => [bucket.key, bucket.doc_count]);
  check("counts by a field", streams, [
    ["stdout", 9000],
    ["stderr", 1000],
  ]);
  const phrase = { size: 1, query: { query_string: { query: 'log:"number-00042"' } } };
  const several = await client.msearch({ body: [{ index: INDEX }, { size: 1 }, { index: INDEX }, phrase] });
  check(
    "searches in one request",
    several.responses.map((response) => response.hits.total),
    [LINES, 1],
  );
  check("health", ["green", "yellow"].includes((await client.cluster.health({ index: INDEX })).status), true);
  await client.indices.delete({ index: INDEX });
  client.close();
  console.log("all checks of elasticsearch for JavaScript passed");
})().catch((error) => {
  console.error(error.message ?? error);
  process.exit(1);
});
