/** What the gateway serves. The router, the OpenAPI document and the page at `/` are made from it. */
export const routes = [
  {
    method: "POST",
    path: "/v1/responses",
    name: "responses",
    open: false,
    summary: "The Responses API, streamed and whole, on any upstream.",
  },
  {
    method: "POST",
    path: "/v1/chat/completions",
    name: "chat",
    open: false,
    summary: "Chat Completions, streamed and whole, on any upstream.",
  },
  {
    method: "GET",
    path: "/v1/models",
    name: "models",
    open: false,
    summary: "All models: OpenAI's `data` and Codex's `models` in one object.",
  },
  {
    method: "GET",
    path: "/v1/models/{model}",
    name: "model",
    open: false,
    summary: "One model of the list.",
  },
  {
    method: "POST",
    path: "/v1/embeddings",
    name: "embeddings",
    open: false,
    summary: "Passed through to the model's upstream.",
  },
  {
    method: "POST",
    path: "/v1/images/generations",
    name: "image generations",
    open: false,
    summary: "Passed through to the model's upstream.",
  },
  {
    method: "POST",
    path: "/v1/images/edits",
    name: "image edits",
    open: false,
    summary: "Passed through as a stream, multipart included.",
  },
  {
    method: "POST",
    path: "/v1/audio/transcriptions",
    name: "transcriptions",
    open: false,
    summary: "Passed through as a stream, multipart included.",
  },
  {
    method: "POST",
    path: "/v1/audio/translations",
    name: "translations",
    open: false,
    summary: "Passed through as a stream, multipart included.",
  },
  {
    method: "POST",
    path: "/v1/audio/speech",
    name: "speech",
    open: false,
    summary: "Passed through; the sound comes back as it is made.",
  },
  {
    method: "GET",
    path: "/deltawire/upstreams",
    name: "upstreams",
    open: false,
    summary: "What is configured and how it is doing.",
  },
  {
    method: "GET",
    path: "/deltawire/lessons",
    name: "lessons",
    open: false,
    summary: "What was learned from upstreams' refusals.",
  },
  {
    method: "DELETE",
    path: "/deltawire/lessons",
    name: "forget lessons",
    open: false,
    summary: "Forgets lessons: all, or those of `?upstream=` and `&model=`.",
  },
  {
    method: "GET",
    path: "/healthz",
    name: "health",
    open: true,
    summary: "200 as long as the process runs.",
  },
  {
    method: "GET",
    path: "/readyz",
    name: "ready",
    open: true,
    summary: "200 while requests are taken, 503 while it shuts down.",
  },
  { method: "GET", path: "/openapi.json", name: "openapi", open: true, summary: "This document." },
  {
    method: "GET",
    path: "/",
    name: "home",
    open: true,
    summary: "What this is and how to connect.",
  },
] as const satisfies readonly Route[];

interface Route {
  method: "GET" | "POST" | "DELETE";
  path: string;
  name: string;
  /** Needs no token. */
  open: boolean;
  summary: string;
}

export type RouteName = (typeof routes)[number]["name"];

export type Routed =
  | { is: "route"; name: RouteName; open: boolean; rest: string }
  | { is: "wrong method"; allowed: readonly string[] }
  | { is: "unknown"; hint: string };

export function routeOf(method: string, path: string): Routed {
  const found = routes.flatMap((route) => {
    const rest = restBehind(route.path, path);
    return rest === undefined ? [] : [{ route, rest }];
  });
  const asked = method === "HEAD" ? "GET" : method;
  const fit = found.find(({ route }) => route.method === asked);
  if (fit !== undefined)
    return { is: "route", name: fit.route.name, open: fit.route.open, rest: fit.rest };
  if (found.length > 0)
    return { is: "wrong method", allowed: found.map(({ route }) => route.method) };
  return { is: "unknown", hint: hintFor(path) };
}

/** What stands for the last `{…}` of a route's path; undefined if the path is another. */
function restBehind(pattern: string, path: string): string | undefined {
  const given = path.length > 1 ? path.replace(/\/$/, "") : path;
  const open = pattern.indexOf("{");
  if (open < 0) return given === pattern ? "" : undefined;
  if (!given.startsWith(pattern.slice(0, open)) || given.length === open) return undefined;
  const rest = given.slice(open);
  try {
    return decodeURIComponent(rest);
  } catch {
    return rest;
  }
}

/** The usual mistakes: `/v1` forgotten, or written twice. */
function hintFor(path: string): string {
  const candidate = path.startsWith("/v1/v1/") ? path.slice(3) : `/v1${path}`;
  if (routes.some((route) => route.path === candidate)) return `; did you mean ${candidate}?`;
  if (path.startsWith("/v1/responses/"))
    return "; responses cannot be fetched here, only gone on from with previous_response_id";
  return "; GET /openapi.json lists what there is";
}
