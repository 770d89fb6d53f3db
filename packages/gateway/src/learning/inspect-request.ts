import { isObject, type JsonObject, type JsonValue, type UpstreamProfile } from "@deltawire/wire";

/* Checks of a rejected Chat request: a lesson is learned only if it would have changed the request. */

export function hasRole(body: JsonObject, role: string): boolean {
  return getMessages(body).some((message) => message["role"] === role);
}

/** True if a message has a role that no server supports, which is a mistake of the client. */
export function hasUnknownRole(body: JsonObject): boolean {
  return getMessages(body).some(({ role }) => typeof role !== "string" || !knownRoles.has(role));
}

const knownRoles = new Set(["system", "developer", "user", "assistant", "tool", "function"]);

export function hasLateSystemMessage(body: JsonObject): boolean {
  return getMessages(body).some(
    ({ role }, index) => index > 0 && (role === "system" || role === "developer"),
  );
}

export function hasUserAfterTool(body: JsonObject): boolean {
  return getMessages(body).some(
    ({ role }, index, messages) => role === "user" && messages[index - 1]?.["role"] === "tool",
  );
}

export function hasConsecutiveRoles(body: JsonObject): boolean {
  return getMessages(body).some(
    ({ role }, index, messages) => role !== "tool" && messages[index - 1]?.["role"] === role,
  );
}

export function hasToolCalls(body: JsonObject): boolean {
  return getMessages(body).some(isToolCallMessage);
}

/** True if there is a tool result without its call, which is a mistake of the client. */
export function hasOrphanToolResult(body: JsonObject): boolean {
  const messages = getMessages(body);
  const calls = messages.flatMap(({ tool_calls: list }) => filterObjects(list).map(({ id }) => id));
  return messages.some(
    ({ role, tool_call_id: id }) => role === "tool" && id !== undefined && !calls.includes(id),
  );
}

/** Returns the form of the empty content in the first message with only tool calls; undefined if there is no such message. */
export function findEmptyContentForm(
  body: JsonObject,
): UpstreamProfile["emptyContent"] | undefined {
  const message = getMessages(body).find(
    (candidate) => isToolCallMessage(candidate) && isEmptyContent(candidate["content"]),
  );
  if (message === undefined) return undefined;
  const { content } = message;
  if (content === undefined) return "omit";
  return content === null ? "null" : "empty";
}

/** True if a message without tool calls is empty: an error about empty content may refer to it. */
export function hasOtherEmptyContent(body: JsonObject): boolean {
  return getMessages(body).some(
    (message) =>
      message["role"] !== "tool" &&
      !isToolCallMessage(message) &&
      isEmptyContent(message["content"]),
  );
}

/** True if any message has a field of this name. */
export function hasMessageField(body: JsonObject, name: string): boolean {
  return getMessages(body).some((message) => message[name] !== undefined);
}

export function hasToolResultParts(body: JsonObject): boolean {
  return getMessages(body).some(({ role, content }) => role === "tool" && Array.isArray(content));
}

export function hasTools(body: JsonObject): boolean {
  return filterObjects(body["tools"]).length > 0;
}

export function hasCustomTools(body: JsonObject): boolean {
  return filterObjects(body["tools"]).some(({ type }) => type === "custom");
}

export function hasStrictSchema(body: JsonObject): boolean {
  const format = body["response_format"];
  const schema = isObject(format) ? format["json_schema"] : undefined;
  return (
    (isObject(schema) && schema["strict"] !== undefined) ||
    filterObjects(body["tools"]).some(
      ({ function: definition }) => isObject(definition) && definition["strict"] !== undefined,
    )
  );
}

/** True if tool_choice has a known value or form, and the tool that it names exists. */
export function isValidToolChoice(body: JsonObject): boolean {
  const choice = body["tool_choice"];
  if (typeof choice === "string") return ["auto", "none", "required", "any"].includes(choice);
  if (!isObject(choice) || typeof choice["type"] !== "string") return false;
  const name = getToolName(choice);
  return (
    name === undefined || filterObjects(body["tools"]).some((tool) => getToolName(tool) === name)
  );
}

function getToolName(tool: JsonObject): JsonValue | undefined {
  const inner = tool["function"] ?? tool["custom"];
  return isObject(inner) ? inner["name"] : tool["name"];
}

/** Returns the type of response_format, such as `json_object` or `json_schema`. */
export function getResponseFormat(body: JsonObject): string | undefined {
  const format = body["response_format"];
  const type = isObject(format) ? format["type"] : undefined;
  return typeof type === "string" ? type : undefined;
}

export function filterObjects(list: JsonValue | undefined): JsonObject[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}

function getMessages(body: JsonObject): JsonObject[] {
  return filterObjects(body["messages"]);
}

function isToolCallMessage({ role, tool_calls: calls }: JsonObject): boolean {
  return role === "assistant" && Array.isArray(calls) && calls.length > 0;
}

function isEmptyContent(content: JsonValue | undefined): boolean {
  const length = typeof content === "string" || Array.isArray(content) ? content.length : 0;
  return content === undefined || content === null || length === 0;
}
