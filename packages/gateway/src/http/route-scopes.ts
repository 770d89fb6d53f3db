import type { AccessKey } from "@deltawire/store";
import { quoteExcerpt } from "@deltawire/tasks";
import { GatewayError } from "../gateway-error.ts";
import type { AccessScope } from "../security/access-scopes.ts";
import { chatRouteNames, type RouteName } from "./routes.ts";

type ChatRouteName = (typeof chatRouteNames)[number];

/** An access key needs one of these scopes; public routes need none. Chat answers are tasks, so some task routes accept both. */
const scopesByRoute: Record<Exclude<RouteName, ChatRouteName>, readonly AccessScope[]> = {
  responses: ["models"],
  "compact response": ["models"],
  "input tokens": ["models"],
  response: ["models"],
  "delete response": ["models"],
  "cancel response": ["models"],
  "input items": ["models"],
  "create conversation": ["models"],
  conversation: ["models"],
  "update conversation": ["models"],
  "delete conversation": ["models"],
  "conversation items": ["models"],
  "add conversation items": ["models"],
  "conversation item": ["models"],
  "delete conversation item": ["models"],
  "upload file": ["models"],
  files: ["models"],
  file: ["models"],
  "delete file": ["models"],
  "file content": ["models"],
  chat: ["models"],
  messages: ["models"],
  "count tokens": ["models"],
  models: ["models"],
  model: ["models"],
  embeddings: ["models"],
  "image generations": ["models"],
  "image edits": ["models"],
  transcriptions: ["models"],
  translations: ["models"],
  speech: ["models"],
  "start task": ["tasks"],
  tasks: ["tasks"],
  task: ["tasks", "chats"],
  "task events": ["tasks", "chats"],
  "cancel task": ["tasks", "chats"],
  "task input": ["tasks", "chats"],
  approvals: ["tasks", "chats"],
  "decide approval": ["tasks", "chats"],
  events: ["tasks", "chats"],
  "ui messages": ["tasks"],
  "resume ui messages": ["tasks"],
  blob: ["tasks", "chats"],
  upstreams: ["admin"],
  connect: ["admin"],
  lessons: ["admin"],
  "forget lessons": ["admin"],
  keys: ["admin"],
  "create key": ["admin"],
  "revoke key": ["admin"],
  health: [],
  ready: [],
  openapi: [],
  session: [],
  "sign in": [],
  "sign out": [],
  home: [],
  "page asset": [],
};

/** Routes that start model requests and therefore count toward the limits of an access key. */
const limitedRoutes: ReadonlySet<RouteName> = new Set<RouteName>([
  "responses",
  "compact response",
  "chat",
  "messages",
  "embeddings",
  "image generations",
  "image edits",
  "transcriptions",
  "translations",
  "speech",
  "start task",
  "ui messages",
  "send message",
  "rerun answer",
  "edit message",
  "continue answer",
]);

export function isLimitedRoute(name: RouteName): boolean {
  return limitedRoutes.has(name);
}

/** Throws a GatewayError (403) if the key may not be used for the route. */
export function assertScope(key: AccessKey, name: RouteName): void {
  const scopes = isChatRoute(name) ? chatScopes : scopesByRoute[name];
  if (scopes.length === 0 || scopes.some((scope) => key.scopes.includes(scope))) return;
  throw new GatewayError(
    "missing_scope",
    `the access key "${key.name}" lacks the scope ${scopes.join(" or ")}; use a key that has it`,
  );
}

/** Throws a GatewayError (403) if the key may not run agents: an agent that is requested as a model is a task, and calls its tools. */
export function assertAgentScope(key: AccessKey, agent: string): void {
  if (key.scopes.includes("tasks")) return;
  throw new GatewayError(
    "missing_scope",
    `model: ${quoteExcerpt(agent)} is an agent, and the access key "${key.name}" lacks the scope tasks; use a key that has it, or a model that is not an agent`,
    { param: "model" },
  );
}

const chatScopes: readonly AccessScope[] = ["chats"];

function isChatRoute(name: RouteName): name is ChatRouteName {
  return chatRouteNames.some((chatRoute) => chatRoute === name);
}
