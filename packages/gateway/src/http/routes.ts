import { chatRoutes } from "./chat-routes.ts";
import { pageRoutes } from "./page-routes.ts";
import type { Route } from "./route.ts";

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
    slashes: true,
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
    method: "POST",
    path: "/api/tasks",
    name: "start task",
    open: false,
    summary: "Starts a task: an agent's whole run. Answers with it, or with its events.",
  },
  {
    method: "GET",
    path: "/api/tasks",
    name: "tasks",
    open: false,
    summary: "Tasks, the newest first.",
  },
  {
    method: "GET",
    path: "/api/tasks/{task}",
    name: "task",
    open: false,
    summary: "A task, or one of a sub-agent, as far as it has come.",
  },
  {
    method: "GET",
    path: "/api/tasks/{task}/events",
    name: "task events",
    open: false,
    summary: "The events of a task from any number, and then as they happen.",
  },
  {
    method: "POST",
    path: "/api/tasks/{task}/cancel",
    name: "cancel task",
    open: false,
    summary: "Ends a task: its model, its tools and its sub-agents.",
  },
  {
    method: "POST",
    path: "/api/tasks/{task}/input",
    name: "task input",
    open: false,
    summary: "A word to a task that runs; the model hears it at its next round.",
  },
  {
    method: "GET",
    path: "/api/approvals",
    name: "approvals",
    open: false,
    summary: "What all tasks wait for that a person has to decide, the oldest first.",
  },
  {
    method: "POST",
    path: "/api/approvals/{approval}",
    name: "decide approval",
    open: false,
    summary: "Decides what a task waits for. The first decision holds.",
  },
  {
    method: "GET",
    path: "/api/events",
    name: "events",
    open: false,
    summary: "The changes of chats and the events of several tasks on one connection.",
  },
  {
    method: "POST",
    path: "/api/ui-messages",
    name: "ui messages",
    open: false,
    summary: "For `useChat` of the `ai` SDK: takes a chat's messages and answers with a task.",
  },
  {
    method: "GET",
    path: "/api/ui-messages/{chat}/stream",
    name: "resume ui messages",
    open: false,
    summary: "For `useChat` of the `ai` SDK: the task of a chat that is under way, from its start.",
  },
  {
    method: "GET",
    path: "/api/blobs/{hash}",
    name: "blob",
    open: false,
    summary: "A picture or a file of a task or a chat.",
  },
  ...chatRoutes,
  {
    method: "GET",
    path: "/deltawire/upstreams",
    name: "upstreams",
    open: false,
    summary: "What is configured and how it is doing.",
  },
  {
    method: "GET",
    path: "/deltawire/codex",
    name: "codex",
    open: false,
    summary: "How to connect Codex: what to paste, and what `migrate` would change.",
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
  ...pageRoutes,
] as const satisfies readonly Route[];

export type RouteName = (typeof routes)[number]["name"];

export type Routed =
  | { is: "route"; name: RouteName; open: boolean; rest: string }
  | { is: "wrong method"; allowed: readonly string[] }
  | { is: "unknown"; hint: string };

export function routeOf(method: string, path: string): Routed {
  const given = path.length > 1 ? path.replace(/\/$/, "") : path;
  const found = matchers.flatMap(({ route, matches }) => {
    const rest = matches(given);
    return rest === undefined ? [] : [{ route, rest }];
  });
  const asked = method === "HEAD" ? "GET" : method;
  const fit = found.find(({ route }) => route.method === asked);
  if (fit !== undefined)
    return { is: "route", name: fit.route.name, open: fit.route.open, rest: fit.rest };
  if (found.length > 0)
    return { is: "wrong method", allowed: [...new Set(found.map(({ route }) => route.method))] };
  return { is: "unknown", hint: hintFor(path) };
}

const matchers = routes.map((route) => ({ route, matches: matcherOf(route) }));

/** Answers with what stands for a route's `{…}`, or undefined for a path of another. */
function matcherOf({ path, slashes }: Route): (given: string) => string | undefined {
  const [before = "", after] = path.split(/\{\w+\}/);
  if (after === undefined) return (given) => (given === before ? "" : undefined);
  return (given) => {
    if (!given.startsWith(before) || !given.endsWith(after)) return undefined;
    const rest = given.slice(before.length, given.length - after.length);
    if (rest === "") return undefined;
    return rest.includes("/") && slashes === undefined ? undefined : decoded(rest);
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
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
