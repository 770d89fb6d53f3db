import { isObject, type JsonObject, type JsonValue, type Profile } from "@deltawire/wire";

/** What stood in a Chat request that was refused: a lesson that could not have changed it is none. */

export function hasRole(body: JsonObject, role: string): boolean {
  return messagesOf(body).some((message) => message["role"] === role);
}

/** A role that no server knows: the client's mistake. */
export function hasUnknownRole(body: JsonObject): boolean {
  return messagesOf(body).some(({ role }) => typeof role !== "string" || !roles.has(role));
}

const roles = new Set(["system", "developer", "user", "assistant", "tool", "function"]);

export function hasLaterSystem(body: JsonObject): boolean {
  return messagesOf(body).some(
    ({ role }, at) => at > 0 && (role === "system" || role === "developer"),
  );
}

export function hasUserAfterTool(body: JsonObject): boolean {
  return messagesOf(body).some(
    ({ role }, at, all) => role === "user" && all[at - 1]?.["role"] === "tool",
  );
}

export function hasRoleTwice(body: JsonObject): boolean {
  return messagesOf(body).some(
    ({ role }, at, all) => role !== "tool" && all[at - 1]?.["role"] === role,
  );
}

export function hasCalls(body: JsonObject): boolean {
  return messagesOf(body).some(callsTools);
}

/** A result of a call that is not there: the client's mistake. */
export function hasStrayResult(body: JsonObject): boolean {
  const messages = messagesOf(body);
  const calls = messages.flatMap(({ tool_calls: each }) => objectsIn(each).map(({ id }) => id));
  return messages.some(
    ({ role, tool_call_id: id }) => role === "tool" && id !== undefined && !calls.includes(id),
  );
}

/** How the first message that only calls says that it has no text; undefined if none only calls. */
export function emptyContentIn(body: JsonObject): Profile["emptyContent"] | undefined {
  const message = messagesOf(body).find((one) => callsTools(one) && isEmpty(one["content"]));
  if (message === undefined) return undefined;
  const { content } = message;
  if (content === undefined) return "omit";
  return content === null ? "null" : "empty";
}

/** Whether someone says nothing who calls nothing either: then a complaint of an empty content may be of that. */
export function saysNothingElsewhere(body: JsonObject): boolean {
  return messagesOf(body).some(
    (message) => message["role"] !== "tool" && !callsTools(message) && isEmpty(message["content"]),
  );
}

/** Whether some message has a field of this name. */
export function hasMessageField(body: JsonObject, name: string): boolean {
  return messagesOf(body).some((message) => message[name] !== undefined);
}

export function hasPartsInResults(body: JsonObject): boolean {
  return messagesOf(body).some(({ role, content }) => role === "tool" && Array.isArray(content));
}

export function offersTools(body: JsonObject): boolean {
  return objectsIn(body["tools"]).length > 0;
}

export function offersCustomTools(body: JsonObject): boolean {
  return objectsIn(body["tools"]).some(({ type }) => type === "custom");
}

export function saysStrict(body: JsonObject): boolean {
  const format = body["response_format"];
  const schema = isObject(format) ? format["json_schema"] : undefined;
  return (
    (isObject(schema) && schema["strict"] !== undefined) ||
    objectsIn(body["tools"]).some(
      ({ function: described }) => isObject(described) && described["strict"] !== undefined,
    )
  );
}

/** Whether tool_choice is a word or a form that servers know, and the tool that it names is there. */
export function choosesWell(body: JsonObject): boolean {
  const choice = body["tool_choice"];
  if (typeof choice === "string") return ["auto", "none", "required", "any"].includes(choice);
  if (!isObject(choice) || typeof choice["type"] !== "string") return false;
  const name = nameIn(choice);
  return name === undefined || objectsIn(body["tools"]).some((tool) => nameIn(tool) === name);
}

function nameIn(named: JsonObject): JsonValue | undefined {
  const inner = named["function"] ?? named["custom"];
  return isObject(inner) ? inner["name"] : named["name"];
}

/** `json_object`, `json_schema` or undefined. */
export function formatOf(body: JsonObject): string | undefined {
  const format = body["response_format"];
  const type = isObject(format) ? format["type"] : undefined;
  return typeof type === "string" ? type : undefined;
}

export function objectsIn(list: JsonValue | undefined): JsonObject[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}

function messagesOf(body: JsonObject): JsonObject[] {
  return objectsIn(body["messages"]);
}

function callsTools({ role, tool_calls: calls }: JsonObject): boolean {
  return role === "assistant" && Array.isArray(calls) && calls.length > 0;
}

function isEmpty(content: JsonValue | undefined): boolean {
  const length = typeof content === "string" || Array.isArray(content) ? content.length : 0;
  return content === undefined || content === null || length === 0;
}
