// Requests to the search backend: only those that Elasticsearch 1.5 answers.

import { request, service } from "./api.js";
import { state } from "./state.js";
import { interval, resolve } from "./time.js";

const ROOT = service("elasticsearch-logging");
const CONFIG = { id: "4.0.2", buildNum: 6004 };
export const MARK = ["@sd-mark@", "@/sd-mark@"];
export const PAGE = 500;
export const MOST = 10_000;

/** The index pattern and its time field; null until they are configured. */
export let pattern = null;

const path = (...parts) => `${ROOT}/${parts.map(encodeURIComponent).join("/")}`;

async function orNull(promise) {
  try {
    return await promise;
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

/** Reads the configuration; null on first use. */
export async function loadPattern() {
  const config = await orNull(request(path(".kibana", "config", CONFIG.id)));
  const title = config?._source?.defaultIndex;
  if (!title) return null;
  const saved = await orNull(request(path(".kibana", "index-pattern", title)));
  pattern = { title, timeField: saved?._source?.timeFieldName ?? "@timestamp" };
  return pattern;
}

/** Writes the configuration of first use. */
export async function savePattern(title, timeField) {
  const fields = timeField ? { title, timeFieldName: timeField } : { title };
  await request(path(".kibana", "index-pattern", title), { method: "PUT", body: fields });
  await request(`${path(".kibana", "config", CONFIG.id)}?refresh=true`, {
    method: "PUT",
    body: { buildNum: CONFIG.buildNum, defaultIndex: title },
  });
  pattern = { title, timeField: timeField || null };
}

/** The fields of the indices of a pattern: name, type, and the field to aggregate on. */
export async function loadFields(title) {
  const mappings = await orNull(request(path(title, "_mapping")));
  const fields = new Map();
  const walk = (properties, before) => {
    for (const [name, field] of Object.entries(properties ?? {})) {
      const full = before + name;
      if (field.properties) walk(field.properties, `${full}.`);
      else if (field.type) fields.set(full, { name: full, type: field.type, exact: field.fields?.raw ? `${full}.raw` : full });
    }
  };
  for (const index of Object.values(mappings ?? {})) {
    for (const type of Object.values(index.mappings ?? {})) walk(type.properties, "");
  }
  return [...fields.values()].sort((a, b) => a.name.localeCompare(b.name));
}

const phrase = ({ field, value }) => ({ query: { match: { [field]: { query: value, type: "phrase" } } } });

/** The query of the state: query string, filters, time range. */
function query(range) {
  const filters = state.filters;
  const must = filters.filter((filter) => !filter.not).map(phrase);
  if (range) must.push({ range: { [pattern.timeField]: range } });
  return {
    filtered: {
      query: { query_string: { query: state.q.trim() || "*", analyze_wildcard: true } },
      filter: { bool: { must, must_not: filters.filter((filter) => filter.not).map(phrase) } },
    },
  };
}

const expression = (text) => (/^\d+$/.test(text) ? Number(text) : text);
const range = () => (pattern.timeField ? { gte: expression(state.from), lte: expression(state.to) } : null);

function sorting() {
  const [field, order] = state.sort;
  return [{ [field]: { order, ignore_unmapped: true } }];
}

async function search(body, signal) {
  const found = await request(`${path(pattern.title, "_search")}?ignore_unavailable=true`, { method: "POST", body, signal });
  if (found._shards?.failures?.length && !found._shards.successful) throw new Error(found._shards.failures[0].reason);
  return found;
}

/** How long the range of the state is, about. */
export const span = (now = Date.now()) => Math.max(1000, resolve(state.to, now, true) - resolve(state.from, now));

/** The first page of hits, and how they are spread over time. */
export async function discover(signal) {
  const body = { query: query(range()), size: PAGE, sort: sorting(), highlight: highlight() };
  const steps = interval(span());
  if (pattern.timeField) {
    body.aggs = {
      over_time: { date_histogram: { field: pattern.timeField, interval: steps.name, min_doc_count: 1 } },
      clock: { date_range: { field: pattern.timeField, ranges: [{ from: "now" }] } },
    };
  }
  const found = await search(body, signal);
  const now = found.aggregations?.clock?.buckets?.[0]?.from ?? Date.now();
  return { ...page(found), took: found.took, interval: steps, now, buckets: found.aggregations?.over_time?.buckets ?? [] };
}

/** More hits. */
export async function more(from, size = PAGE, signal) {
  return page(await search({ query: query(range()), from, size, sort: sorting(), highlight: highlight() }, signal));
}

const page = (found) => ({ total: found.hits.total, hits: inOrder(found.hits.hits) });
const byId = (a, b) => (a._id < b._id ? -1 : Number(a._id > b._id));

/** Lines of one time in the order in which their container wrote them: the ids of its lines grow. */
function inOrder(hits) {
  const [field, order] = state.sort;
  if (field !== pattern.timeField) return hits;
  const sign = order === "desc" ? -1 : 1;
  return hits.sort((a, b) => sign * (a.sort[0] - b.sort[0] || byId(a, b)));
}

const highlight = () => ({ pre_tags: [MARK[0]], post_tags: [MARK[1]], number_of_fragments: 0, fields: { "*": {} } });

/** The lines of the same container around a hit. */
export async function context(hit, size) {
  const tag = hit._source.tag;
  const time = hit._source[pattern.timeField];
  const side = async (bound, order) => {
    const filter = { bool: { must: [phrase({ field: "tag", value: tag }), { range: { [pattern.timeField]: { [bound]: time } } }] } };
    const body = {
      query: { filtered: { filter } },
      size: size + 1,
      sort: [{ [pattern.timeField]: { order, ignore_unmapped: true } }],
    };
    return (await search(body)).hits.hits.filter((other) => other._source.tag === tag);
  };
  const [before, after] = await Promise.all([side("lte", "desc"), side("gte", "asc")]);
  const seen = new Map([...before.reverse(), hit, ...after].map((other) => [`${other._index}/${other._id}`, other]));
  return [...seen.values()].sort((a, b) => new Date(a._source[pattern.timeField]) - new Date(b._source[pattern.timeField]) || byId(a, b));
}

/** Counts of the top values of a field, in all and over time. */
export async function visualize(field, size, signal) {
  const steps = interval(span());
  const values = { terms: { field, size } };
  const body = {
    query: query(range()),
    size: 0,
    aggs: {
      values,
      over_time: { date_histogram: { field: pattern.timeField, interval: steps.name, min_doc_count: 1 }, aggs: { values } },
      clock: { date_range: { field: pattern.timeField, ranges: [{ from: "now" }] } },
    },
  };
  const found = await search(body, signal);
  return {
    total: found.hits.total,
    interval: steps,
    now: found.aggregations?.clock?.buckets?.[0]?.from ?? Date.now(),
    values: found.aggregations?.values?.buckets ?? [],
    buckets: found.aggregations?.over_time?.buckets ?? [],
  };
}

/** Saved searches, by title. */
export async function savedSearches() {
  const found = await orNull(request(path(".kibana", "search", "_search"), { method: "POST", body: { size: 1000, query: { match_all: {} } } }));
  return (found?.hits?.hits ?? []).map(({ _id, _source }) => ({ id: _id, ..._source })).sort((a, b) => a.title.localeCompare(b.title));
}

/** Saves the search of the state. */
export async function saveSearch(title) {
  const id = title.trim().replace(/[^\p{L}\p{N}]+/gu, "-");
  const source = { index: pattern.title, query: { query_string: { query: state.q } }, filter: state.filters };
  const body = {
    title: title.trim(),
    description: "",
    hits: 0,
    columns: state.columns,
    sort: state.sort,
    version: 1,
    kibanaSavedObjectMeta: { searchSourceJSON: JSON.stringify(source) },
  };
  await request(`${path(".kibana", "search", id)}?refresh=true`, { method: "PUT", body });
  return id;
}

export const deleteSearch = (id) => request(`${path(".kibana", "search", id)}?refresh=true`, { method: "DELETE" });

/** The state that a saved search means. */
export function ofSaved(saved) {
  let source = {};
  try {
    source = JSON.parse(saved.kibanaSavedObjectMeta?.searchSourceJSON ?? "{}");
  } catch {
    // What others have saved need not be readable; the title and the columns are.
  }
  const filters = (source.filter ?? []).filter((filter) => filter.field !== undefined);
  return { q: source.query?.query_string?.query ?? "*", filters, columns: saved.columns?.filter((name) => name !== "_source") ?? [], sort: saved.sort ?? ["@timestamp", "desc"], saved: saved.title };
}

/** What is wrong with a query, from the backend's long message: a sentence, and the column if it is known. */
export function explain(error) {
  const text = String(error.message ?? error);
  const parse = text.match(/Cannot parse '[\s\S]*?': ([\s\S]*?)(?=\nWas expecting|;|\]|\n|$)/);
  if (!parse) return { text: text.length > 600 ? `${text.slice(0, 600)}…` : text, column: null };
  const column = parse[1].match(/line \d+, column (\d+)/);
  const plain = parse[1]
    .replace(/Encountered "<EOF>" at.*/, "It ends too early: a bracket, a quote or a term is missing.")
    .replace(/Encountered "\s*(?:<\w+>\s*)?"?(.*?)"?\s*"+ at.*/, "“$1” is not expected here.")
    .replace(/Lexical error at.*?after\s*:\s*"(.*)"?/, "A quote or a regular expression is not closed.");
  return { text: plain.trim(), column: column ? Number(column[1]) : null };
}
