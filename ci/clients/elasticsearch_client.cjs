// Ships log lines with the JavaScript client of Elasticsearch 1.5's time, and finds each of them once.
// usage: elasticsearch_client.cjs BASE_URL   BASE_URL is the log search backend, or its path through a service proxy. Needs elasticsearch 10 (NODE_PATH).
"use strict";

const assert = require("node:assert/strict");
const elasticsearch = require("elasticsearch");

const LINES = 10_000;
const BATCH = 500;
const INDEX = "logstash-2015.06.20";
const pad = (number, digits) => String(number).padStart(digits, "0");

function line(number) {
  const second = Math.floor(number / 5);
  const clock = `${pad(Math.floor(second / 3600), 2)}:${pad(Math.floor(second / 60) % 60, 2)}:${pad(second % 60, 2)}.${number % 5}00`;
  return { log: `request number-${pad(number, 5)} ${number % 10 ? "accepted" : "refused"}\n`, stream: number % 10 ? "stdout" : "stderr", tag: "kubernetes.web_shop_web", "@timestamp": `2015-06-20T${clock}+00:00` };
}

function check(what, met, wanted) {
  assert.deepEqual(met, wanted, what);
  console.log(`ok  ${what}`);
}

(async () => {
  const client = new elasticsearch.Client({ host: process.argv[2], apiVersion: "1.5", log: "error", requestTimeout: 60_000 });
  await client.ping({ requestTimeout: 30_000 });
  check("info", (await client.info()).cluster_name, "kubernetes-logging");
  await client.indices.delete({ index: INDEX, ignore: [404] });
  for (let from = 0; from < LINES; from += BATCH) {
    const body = Array.from({ length: BATCH }, (_, index) => [{ index: { _index: INDEX, _type: "fluentd", _id: String(from + index) } }, line(from + index)]).flat();
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
  check("each once, in order by time", found, Array.from({ length: LINES }, (_, number) => line(number)));
  check("a word of a query string", (await client.search({ index: INDEX, q: "log:refused AND stream:stderr" })).hits.total, LINES / 10);
  const body = { size: 0, aggs: { hours: { date_histogram: { field: "@timestamp", interval: "10m" } }, streams: { terms: { field: "stream" } } } };
  const { aggregations } = await client.search({ index: INDEX, searchType: "count", body });
  check("counts over time", aggregations.hours.buckets.map((bucket) => bucket.doc_count), [3000, 3000, 3000, 1000]);
  check("counts by a field", aggregations.streams.buckets.map((bucket) => [bucket.key, bucket.doc_count]), [["stdout", 9000], ["stderr", 1000]]);
  const several = await client.msearch({ body: [{ index: INDEX }, { size: 1 }, { index: INDEX }, { size: 1, query: { query_string: { query: "log:\"number-00042\"" } } }] });
  check("searches in one request", several.responses.map((response) => response.hits.total), [LINES, 1]);
  check("health", ["green", "yellow"].includes((await client.cluster.health({ index: INDEX })).status), true);
  await client.indices.delete({ index: INDEX });
  client.close();
  console.log("elasticsearch for JavaScript is served");
})().catch((error) => {
  console.error(error.message ?? error);
  process.exit(1);
});
