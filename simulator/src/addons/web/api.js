// The API server that this page was served through. Every path is taken from the page's own address.

const place = location.pathname.match(/^(.*?)\/api\/v1\/(?:proxy\/)?namespaces\/([^/]+)\/(?:services|pods)\//);

/** What comes before `/api` in every path. */
export const prefix = place ? place[1] : "";

/** The namespace of the add-ons. */
export const systemNamespace = place ? decodeURIComponent(place[2]) : "kube-system";

/** The path of a service of the add-ons' namespace, by way of the proxy. */
export const service = (name) => `${prefix}/api/v1/proxy/namespaces/${encodeURIComponent(systemNamespace)}/services/${name}`;

/** An answer that is not a success. */
export class ApiError extends Error {
  constructor(status, body, path) {
    const text = typeof body === "object" && body !== null ? (body.message ?? body.error) : body;
    super(typeof text === "string" && text ? text : `the server answered ${status}`);
    this.status = status;
    this.body = body;
    this.path = path;
  }
}

/** Sends a request; returns the JSON or the text of the response. */
export async function request(path, { method = "GET", body, type = "application/json", signal } = {}) {
  let response;
  try {
    response = await fetch(path, {
      method,
      signal,
      headers: body === undefined ? { Accept: "application/json, */*" } : { Accept: "application/json, */*", "Content-Type": type },
      body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "The server cannot be reached.", path);
  }
  const text = await response.text();
  let parsed = text;
  if ((response.headers.get("Content-Type") ?? "").includes("json") || /^\s*[{[]/.test(text)) {
    try {
      parsed = JSON.parse(text);
    } catch {
      parsed = text;
    }
  }
  if (!response.ok) throw new ApiError(response.status, parsed, path);
  return parsed;
}

/** A WebSocket to a path of the API server. */
export function socket(path, protocols) {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  return new WebSocket(`${scheme}//${location.host}${prefix}${path}`, protocols);
}
