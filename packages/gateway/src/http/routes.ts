/** What the gateway serves, with the summaries of the OpenAPI document and of the page at `/`. */
export interface Route<Name extends string = string> {
  readonly method: "GET" | "POST" | "DELETE";
  /** With one `{…}` at the most. */
  readonly path: string;
  readonly name: Name;
  readonly summary: string;
  /** Needs no token. */
  readonly open: boolean;
  /** What stands for `{…}` may have slashes, as the names of models have. */
  readonly slashes: boolean;
}

type RouteOptions = Partial<Pick<Route, "open" | "slashes">>;

const route =
  (method: Route["method"]) =>
  <const Name extends string>(
    path: string,
    name: Name,
    summary: string,
    { open = false, slashes = false }: RouteOptions = {},
  ): Route<Name> => ({ method, path, name, summary, open, slashes });

const get = route("GET");
const post = route("POST");
const del = route("DELETE");

/** Of two paths that fit, the first is meant: `events` is no chat. */
const chatRoutes = [
  get(
    "/api/chats",
    "chats",
    "Chats, pinned ones and then the last changed first; with `?q=` those that say so.",
  ),
  post("/api/chats", "create chat", "A new chat."),
  get(
    "/api/chats/events",
    "chat events",
    "The changes of all chats from any stamp, and then as they happen.",
  ),
  get(
    "/api/chats/choices",
    "chat choices",
    "What a chat can be set to: models, agents, tool groups, skills.",
  ),
  get("/api/chats/tags", "chat tags", "The tags in use, with how many chats have them."),
  post(
    "/api/chats/import",
    "import chats",
    "Chats from a file: ours, or OpenAI's messages. All of them or none.",
  ),
  get(
    "/api/chats/{chat}",
    "open chat",
    "A chat with all its branches and versions, what runs as far as it has come.",
  ),
  del(
    "/api/chats/{chat}",
    "delete chat",
    "Deletes a chat until it is restored, or with `?forever=true` for good.",
  ),
  post("/api/chats/{chat}/restore", "restore chat", "Takes the deletion of a chat back."),
  post(
    "/api/chats/{chat}/edits",
    "edit chat",
    "Changes a chat by edits, all or none: title, settings, the path, marks, deletions.",
  ),
  post("/api/chats/{chat}/undo", "undo deletion", "Puts back what a delete took."),
  post("/api/chats/{chat}/send", "send message", "Sends a message. The answer is a task."),
  post("/api/chats/{chat}/rerun", "rerun answer", "Asks for another answer to the same message."),
  post(
    "/api/chats/{chat}/edit",
    "edit message",
    "Rewrites a message, as a version or a branch, and sends it; or an answer, by hand.",
  ),
  post("/api/chats/{chat}/continue", "continue answer", "Goes on with an answer that was cut off."),
  post(
    "/api/chats/{chat}/stop",
    "stop answers",
    "Stops an answer, or all that run. What they have finished is kept.",
  ),
  post("/api/chats/{chat}/extract", "extract chat", "A part of a chat as a chat of its own."),
  get(
    "/api/chats/{chat}/export",
    "export chat",
    "A chat as a file: Markdown, HTML, JSON, OpenAI's messages or glued text.",
  ),
  get(
    "/api/chats/{chat}/removals",
    "chat removals",
    "What was deleted in a chat and can be put back, the newest first.",
  ),
  get(
    "/api/chats/{chat}/variables",
    "chat variables",
    "The long values that the tools of a chat have brought.",
  ),
  post(
    "/api/blobs",
    "keep blob",
    "Keeps a picture, a sound or a file, to be attached to a message by its address.",
  ),
] as const;

/** The page and its session: a browser has no token before it has them. */
const pageRoutes = [
  get(
    "/api/session",
    "session",
    "Whether a token is asked for, and whether this browser is signed in.",
    { open: true },
  ),
  post("/api/session", "sign in", "For the page: takes a token and sets a cookie in its place.", {
    open: true,
  }),
  del("/api/session", "sign out", "For the page: clears its cookie.", { open: true }),
  get("/", "home", "The page; where none is built, what this is and how to connect.", {
    open: true,
  }),
  get("/assets/{file}", "page asset", "A script, a style or a font of the page.", { open: true }),
] as const;

export const routes = [
  post("/v1/responses", "responses", "The Responses API, streamed and whole, on any upstream."),
  post("/v1/chat/completions", "chat", "Chat Completions, streamed and whole, on any upstream."),
  get("/v1/models", "models", "All models: OpenAI's `data` and Codex's `models` in one object."),
  get("/v1/models/{model}", "model", "One model of the list.", { slashes: true }),
  post("/v1/embeddings", "embeddings", "Passed through to the model's upstream."),
  post("/v1/images/generations", "image generations", "Passed through to the model's upstream."),
  post("/v1/images/edits", "image edits", "Passed through as a stream, multipart included."),
  post(
    "/v1/audio/transcriptions",
    "transcriptions",
    "Passed through as a stream, multipart included.",
  ),
  post("/v1/audio/translations", "translations", "Passed through as a stream, multipart included."),
  post("/v1/audio/speech", "speech", "Passed through; the sound comes back as it is made."),
  post(
    "/api/tasks",
    "start task",
    "Starts a task: an agent's whole run. Answers with it, or with its events.",
  ),
  get("/api/tasks", "tasks", "Tasks, the newest first."),
  get("/api/tasks/{task}", "task", "A task, or one of a sub-agent, as far as it has come."),
  get(
    "/api/tasks/{task}/events",
    "task events",
    "The events of a task from any number, and then as they happen.",
  ),
  post(
    "/api/tasks/{task}/cancel",
    "cancel task",
    "Ends a task: its model, its tools and its sub-agents.",
  ),
  post(
    "/api/tasks/{task}/input",
    "task input",
    "A word to a task that runs; the model hears it at its next round.",
  ),
  get(
    "/api/approvals",
    "approvals",
    "What all tasks wait for that a person has to decide, the oldest first.",
  ),
  post(
    "/api/approvals/{approval}",
    "decide approval",
    "Decides what a task waits for. The first decision holds.",
  ),
  get(
    "/api/events",
    "events",
    "The changes of chats and the events of several tasks on one connection.",
  ),
  post(
    "/api/ui-messages",
    "ui messages",
    "For `useChat` of the `ai` SDK: takes a chat's messages and answers with a task.",
  ),
  get(
    "/api/ui-messages/{chat}/stream",
    "resume ui messages",
    "For `useChat` of the `ai` SDK: the task of a chat that is under way, from its start.",
  ),
  get("/api/blobs/{hash}", "blob", "A picture or a file of a task or a chat."),
  ...chatRoutes,
  get("/deltawire/upstreams", "upstreams", "What is configured and how it is doing."),
  get(
    "/deltawire/codex",
    "codex",
    "How to connect Codex: what to paste, and what `migrate` would change.",
  ),
  get("/deltawire/lessons", "lessons", "What was learned from upstreams' refusals."),
  del(
    "/deltawire/lessons",
    "forget lessons",
    "Forgets lessons: all, or those of `?upstream=` and `&model=`.",
  ),
  get("/healthz", "health", "200 as long as the process runs.", { open: true }),
  get("/readyz", "ready", "200 while requests are taken, 503 while it shuts down.", { open: true }),
  get("/openapi.json", "openapi", "This document.", { open: true }),
  ...pageRoutes,
] as const;

export type RouteName = (typeof routes)[number]["name"];

export const chatRouteNames = chatRoutes.map(({ name }) => name);

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
    return rest.includes("/") && !slashes ? undefined : decoded(rest);
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
