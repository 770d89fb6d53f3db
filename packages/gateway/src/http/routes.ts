/** A route of the gateway. The OpenAPI document and the home page show its summary. */
export interface Route<Name extends string = string> {
  readonly method: "GET" | "POST" | "DELETE";
  /** Contains at most two parameters, `{…}`. */
  readonly path: string;
  readonly name: Name;
  readonly summary: string;
  /** True if no token is required. */
  readonly isPublic: boolean;
  /** True if the value of `{…}` may contain slashes, as model names do. */
  readonly allowsSlashes: boolean;
}

type RouteOptions = Partial<Pick<Route, "isPublic" | "allowsSlashes">>;

const createRoute =
  (method: Route["method"]) =>
  <const Name extends string>(
    path: string,
    name: Name,
    summary: string,
    { isPublic = false, allowsSlashes = false }: RouteOptions = {},
  ): Route<Name> => ({ method, path, name, summary, isPublic, allowsSlashes });

const get = createRoute("GET");
const post = createRoute("POST");
const del = createRoute("DELETE");

/** The first match wins: `/api/chats/events` must precede `/api/chats/{chat}`. */
const chatRoutes = [
  get(
    "/api/chats",
    "chats",
    "Lists chats: pinned ones first, then the most recently changed; with `?q=` searches them.",
  ),
  post("/api/chats", "create chat", "Creates a chat."),
  get(
    "/api/chats/events",
    "chat events",
    "Streams changes to all chats, starting after the given stamp or now.",
  ),
  get(
    "/api/chats/choices",
    "chat choices",
    "Returns the possible settings of a chat: models, agents, tool groups, skills.",
  ),
  get("/api/chats/tags", "chat tags", "Lists the tags in use, with the number of chats of each."),
  post(
    "/api/chats/import",
    "import chats",
    "Imports chats from an exported file or from OpenAI messages: all of them or none.",
  ),
  get(
    "/api/chats/{chat}",
    "open chat",
    "Returns a chat with all branches and versions, including the current output of running answers.",
  ),
  del(
    "/api/chats/{chat}",
    "delete chat",
    "Deletes a chat. It can be restored, except with `?forever=true`.",
  ),
  post("/api/chats/{chat}/restore", "restore chat", "Restores a deleted chat."),
  post(
    "/api/chats/{chat}/edits",
    "edit chat",
    "Applies edits to a chat, all or none: title, settings, selected branch, pins, bookmarks, deletions.",
  ),
  post("/api/chats/{chat}/undo", "undo deletion", "Restores deleted messages of a chat."),
  post("/api/chats/{chat}/send", "send message", "Sends a message. The answer runs as a task."),
  post("/api/chats/{chat}/rerun", "rerun answer", "Starts another answer to the same message."),
  post(
    "/api/chats/{chat}/edit-message",
    "edit message",
    "Edits a message as a new version or branch and sends it, or saves an edited answer.",
  ),
  post("/api/chats/{chat}/continue", "continue answer", "Continues an answer that was cut off."),
  post(
    "/api/chats/{chat}/stop",
    "stop answers",
    "Stops one answer or all running ones. Finished parts are saved.",
  ),
  post("/api/chats/{chat}/extract", "extract chat", "Copies part of a chat into a new chat."),
  get(
    "/api/chats/{chat}/export",
    "export chat",
    "Exports a chat as a file: Markdown, HTML, JSON, OpenAI messages, or JSON with each answer as one string.",
  ),
  get(
    "/api/chats/{chat}/removals",
    "chat removals",
    "Lists the deletions in a chat that can be undone, newest first.",
  ),
  get(
    "/api/chats/{chat}/variables",
    "chat variables",
    "Lists the variables of a chat: long values that its tools returned.",
  ),
  post(
    "/api/blobs",
    "upload blob",
    "Stores an image, audio or any other file, to be attached to a message by its URL.",
  ),
] as const;

/** Public, because a browser has no token before it has loaded the page and signed in. */
const pageRoutes = [
  get(
    "/api/session",
    "session",
    "Returns whether a token is required and whether this browser is signed in.",
    { isPublic: true },
  ),
  post("/api/session", "sign in", "For the page: exchanges a token for a session cookie.", {
    isPublic: true,
  }),
  del("/api/session", "sign out", "For the page: clears the session cookie.", { isPublic: true }),
  get("/", "home", "The page, or instructions for connecting clients if the page is not built.", {
    isPublic: true,
  }),
  get("/assets/{file}", "page asset", "A script, stylesheet or font of the page.", {
    isPublic: true,
  }),
] as const;

export const routes = [
  post("/v1/responses", "responses", "The Responses API, streaming or not, on any upstream."),
  post(
    "/v1/responses/compact",
    "compact response",
    "Lets the model summarize a conversation, and returns a shorter one that continues it.",
  ),
  post(
    "/v1/responses/input_tokens",
    "input tokens",
    "Returns an estimate of the input tokens of a request.",
  ),
  get(
    "/v1/responses/{response}",
    "response",
    "Returns a stored response; with `?stream=true` streams the events of one that runs in the background.",
  ),
  del("/v1/responses/{response}", "delete response", "Deletes a stored response."),
  post(
    "/v1/responses/{response}/cancel",
    "cancel response",
    "Cancels a response that runs in the background, with its upstream request.",
  ),
  get(
    "/v1/responses/{response}/input_items",
    "input items",
    "Lists the items that were sent to the model for a stored response, including those of earlier turns.",
  ),
  post("/v1/conversations", "create conversation", "Creates a conversation, with its first items."),
  get("/v1/conversations/{conversation}", "conversation", "Returns a conversation."),
  post(
    "/v1/conversations/{conversation}",
    "update conversation",
    "Replaces the metadata of a conversation.",
  ),
  del(
    "/v1/conversations/{conversation}",
    "delete conversation",
    "Deletes a conversation with its items.",
  ),
  get("/v1/conversations/{conversation}/items", "conversation items", "Lists items."),
  post(
    "/v1/conversations/{conversation}/items",
    "add conversation items",
    "Adds items to a conversation.",
  ),
  get("/v1/conversations/{conversation}/items/{item}", "conversation item", "Returns an item."),
  del(
    "/v1/conversations/{conversation}/items/{item}",
    "delete conversation item",
    "Deletes an item of a conversation.",
  ),
  post("/v1/files", "upload file", "Stores a file, to which requests can refer by its id."),
  get("/v1/files", "files", "Lists files."),
  get("/v1/files/{file}", "file", "Returns a file without its content."),
  del("/v1/files/{file}", "delete file", "Deletes a file."),
  get("/v1/files/{file}/content", "file content", "Returns the content of a file."),
  post("/v1/chat/completions", "chat", "Chat Completions, streaming or not, on any upstream."),
  post(
    "/v1/messages",
    "messages",
    "The Anthropic Messages API, streaming or not, on any upstream.",
  ),
  post(
    "/v1/messages/count_tokens",
    "count tokens",
    "Returns the input tokens of a Messages request: counted by a Messages upstream, else estimated.",
  ),
  get(
    "/v1/models",
    "models",
    "Lists all models: `data` in the form of OpenAI and Anthropic, and Codex's `models`, in one object.",
  ),
  get("/v1/models/{model}", "model", "Returns one model of the list.", { allowsSlashes: true }),
  post("/v1/embeddings", "embeddings", "Forwarded to the model's upstream."),
  post("/v1/images/generations", "image generations", "Forwarded to the model's upstream."),
  post(
    "/v1/images/edits",
    "image edits",
    "Forwarded to the model's upstream. Uploads (multipart) are streamed.",
  ),
  post(
    "/v1/audio/transcriptions",
    "transcriptions",
    "Forwarded to the model's upstream. Uploads (multipart) are streamed.",
  ),
  post(
    "/v1/audio/translations",
    "translations",
    "Forwarded to the model's upstream. Uploads (multipart) are streamed.",
  ),
  post("/v1/audio/speech", "speech", "Forwarded to the model's upstream. The audio is streamed."),
  post(
    "/api/tasks",
    "start task",
    "Starts a task, one run of an agent. Returns the task or streams its events.",
  ),
  get("/api/tasks", "tasks", "Lists tasks, newest first."),
  get("/api/tasks/{task}", "task", "Returns the current state of a task or of a sub-agent's task."),
  get(
    "/api/tasks/{task}/events",
    "task events",
    "Streams the events of a task, after the given sequence number or starting with a snapshot.",
  ),
  post(
    "/api/tasks/{task}/cancel",
    "cancel task",
    "Cancels a task, with its model requests, tools and sub-agents.",
  ),
  post(
    "/api/tasks/{task}/input",
    "task input",
    "Sends a message to a running task. The model receives it in its next round.",
  ),
  get("/api/approvals", "approvals", "Lists the pending approvals of all tasks, oldest first."),
  post(
    "/api/approvals/{approval}",
    "decide approval",
    "Resolves a pending approval. Only the first decision takes effect.",
  ),
  get(
    "/api/events",
    "events",
    "Streams the changes of chats and the events of several tasks on one connection.",
  ),
  post(
    "/api/ui-messages",
    "ui messages",
    "For `useChat` of the `ai` SDK: starts a task from the messages of a chat and streams it.",
  ),
  get(
    "/api/ui-messages/{chat}/stream",
    "resume ui messages",
    "For `useChat` of the `ai` SDK: streams the running task of a chat from its start.",
  ),
  get("/api/blobs/{hash}", "blob", "Returns a file of a task or a chat."),
  ...chatRoutes,
  get(
    "/deltawire/upstreams",
    "upstreams",
    "Returns the upstreams and MCP servers with their status.",
  ),
  get(
    "/deltawire/connect",
    "connect",
    "Returns the settings that connect the coding agent `?agent=` with `&model=`, and what `connect` and `migrate` would change.",
  ),
  get("/deltawire/lessons", "lessons", "Lists the lessons learned from rejected requests."),
  del(
    "/deltawire/lessons",
    "forget lessons",
    "Deletes lessons: all, or those of `?upstream=` and `&model=`.",
  ),
  get("/deltawire/keys", "keys", "Lists the access keys, including expired and revoked ones."),
  post("/deltawire/keys", "create key", "Creates an access key. Only this reply contains the key."),
  del(
    "/deltawire/keys/{key}",
    "revoke key",
    "Revokes an access key, given by name or id; with `?forever=true` removes a revoked one.",
  ),
  get("/healthz", "health", "Returns 200 while the process runs.", { isPublic: true }),
  get(
    "/readyz",
    "ready",
    "Returns 200 while requests are accepted; 503 during shutdown, and while a shared store is unreachable.",
    {
      isPublic: true,
    },
  ),
  get("/openapi.json", "openapi", "The OpenAPI document of this API.", { isPublic: true }),
  ...pageRoutes,
] as const;

export type RouteName = (typeof routes)[number]["name"];

export const chatRouteNames = chatRoutes.map(({ name }) => name);

export type RouteMatch =
  | {
      type: "route";
      name: RouteName;
      isPublic: boolean;
      pathParam: string;
      /** Of a route with two parameters; else "". */
      secondPathParam: string;
    }
  | { type: "wrong_method"; allowed: readonly string[] }
  | { type: "unknown"; hint: string };

export function matchRoute(method: string, path: string): RouteMatch {
  const pathname = path.length > 1 ? path.replace(/\/$/, "") : path;
  const candidates = routeMatchers.flatMap(({ route, matchPath }) => {
    const pathParams = matchPath(pathname);
    return pathParams === undefined ? [] : [{ route, pathParams }];
  });
  const effectiveMethod = method === "HEAD" ? "GET" : method;
  const bestMatch = candidates.find(({ route }) => route.method === effectiveMethod);
  if (bestMatch !== undefined)
    return {
      type: "route",
      name: bestMatch.route.name,
      isPublic: bestMatch.route.isPublic,
      pathParam: bestMatch.pathParams[0] ?? "",
      secondPathParam: bestMatch.pathParams[1] ?? "",
    };
  if (candidates.length > 0)
    return {
      type: "wrong_method",
      allowed: [...new Set(candidates.map(({ route }) => route.method))],
    };
  return { type: "unknown", hint: buildNotFoundHint(path) };
}

const routeMatchers = routes.map((route) => ({ route, matchPath: createPathMatcher(route) }));

/** Returns a function from a path to the values of `{…}`. Undefined: the path does not match. */
function createPathMatcher({
  path,
  allowsSlashes,
}: Route): (pathname: string) => readonly string[] | undefined {
  const [before = "", ...rest] = path.split(/\{\w+\}/);
  if (rest.length === 0) return (pathname) => (pathname === before ? [] : undefined);
  const after = rest.at(-1) ?? "";
  const between = rest.length === 2 ? rest[0] : undefined;
  return (pathname) => {
    if (!pathname.startsWith(before) || !pathname.endsWith(after)) return undefined;
    const middle = pathname.slice(before.length, pathname.length - after.length);
    const values = between === undefined ? [middle] : middle.split(between);
    if (values.length !== (between === undefined ? 1 : 2) || values.includes("")) return undefined;
    if (!allowsSlashes && values.some((value) => value.includes("/"))) return undefined;
    return values.map(decodePathSegment);
  };
}

function decodePathSegment(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns a hint for an unknown path. Common mistakes are a missing or repeated `/v1`. */
function buildNotFoundHint(path: string): string {
  const candidate = path.startsWith("/v1/v1/") ? path.slice(3) : `/v1${path}`;
  if (routes.some((route) => route.path === candidate)) return `; did you mean ${candidate}?`;
  return "; GET /openapi.json lists the supported routes";
}
