import { toInputPart, type TaskRequest } from "@deltawire/agent";
import type { ContentPart } from "@deltawire/tasks";
import {
  isObject,
  type ResponseInputContent,
  type ResponseInputItem,
  type ResponsesRequest,
} from "@deltawire/wire";
import type { ClientRequest } from "../../relay/client-request.ts";
import { invalidRequest, parseBody } from "../../parse-body.ts";
import { taskRequestSchema } from "../task-request.ts";

export interface AgentTaskRequest {
  task: TaskRequest;
  /** Equal for a request and its retry, which may contain parts of the failed reply. */
  requestKey: string;
}

/** Converts a model request to a task: a user message at the end is the input, everything before it the history. */
export function buildAgentTaskRequest(
  request: ResponsesRequest,
  agent: string,
  client: ClientRequest,
): AgentTaskRequest {
  assertSupportedOptions(request, client);
  const { input } = request;
  const inputItems: ResponseInputItem[] =
    typeof input === "string" ? [{ role: "user", content: input }] : (input ?? []);
  const isCodex = client.wire === "responses" && client.isCodex;
  const items = isCodex ? removeCodexPrompt(inputItems, request) : inputItems;
  const instructions = isCodex ? "" : (request.instructions ?? "");
  const paramName = client.wire === "responses" ? "input" : "messages";
  if (items.length === 0) throw invalidRequest(paramName, "expected at least one message");
  const lastItem = items.at(-1);
  const promptParts =
    lastItem !== undefined && isUserMessage(lastItem) ? parseContent(lastItem.content) : [];
  const keyItems = items.slice(0, items.findLastIndex(isUserMessage) + 1);
  const history = (promptParts.length === 0 ? items : items.slice(0, -1)).map(normalizeHistoryItem);
  return {
    task: {
      agent,
      // Validated like the input of `POST /api/tasks`.
      input:
        promptParts.length === 0
          ? []
          : parseBody(taskRequestSchema, { agent, input: promptParts }).input,
      history,
      ...(instructions === "" ? {} : { instructions }),
    },
    requestKey: JSON.stringify([
      agent,
      instructions,
      (keyItems.length === 0 ? items : keyItems).map(withoutId),
    ]),
  };
}

/**
 * Returns an earlier item in the form in which it was first sent to the model, so that the prompt cache matches. Ids of an
 * agent's messages are removed: the gateway created them, and upstreams do not know them.
 */
function normalizeHistoryItem(item: ResponseInputItem): ResponseInputItem {
  if (isUserMessage(item))
    return isTextOrImages(item.content)
      ? { type: "message", role: "user", content: parseContent(item.content).map(toInputPart) }
      : item;
  return item["role"] === "assistant" ? (withoutId(item) as ResponseInputItem) : item;
}

function isTextOrImages(content: Message["content"]): boolean {
  if (typeof content === "string") return content !== "";
  return content.every(
    ({ text, image_url }) => typeof text === "string" || image_url !== undefined,
  );
}

/** Removes the id of an item, because Codex assigns new ids in every run. */
function withoutId({ id: _id, ...item }: ResponseInputItem & { id?: unknown }): object {
  return item;
}

/** Throws a GatewayError (400) for options that an agent would otherwise silently ignore. */
function assertSupportedOptions(
  { tool_choice: choice, text }: ResponsesRequest,
  client: ClientRequest,
): void {
  if (client.wire === "chat" && (client.request.n ?? 1) > 1)
    throw invalidRequest("n", "an agent gives only one answer; set n to 1");
  if (choice === "required" || (isObject(choice) && choice["mode"] !== "auto"))
    throw invalidRequest(
      "tool_choice",
      'an agent calls only its own tools, never those of the client; use "auto"',
    );
  const format = text?.format?.type ?? "text";
  if (format !== "text")
    throw invalidRequest(
      formatParameters[client.wire],
      `an agent does not support ${format}; use a model instead`,
    );
}

const formatParameters = {
  responses: "text.format",
  chat: "response_format",
  messages: "output_config.format",
} as const;

/**
 * Removes descriptions of Codex's tools, which an agent does not have: Codex's prompt (since 0.166 the first message) and its
 * instructions about the sandbox and skills. User messages are not changed, including those with AGENTS.md.
 */
function removeCodexPrompt(
  items: readonly ResponseInputItem[],
  { instructions }: ResponsesRequest,
): ResponseInputItem[] {
  const itemsWithoutPrompt =
    (instructions ?? "") === "" && hasRole("developer", items[0]) ? items.slice(1) : items;
  return itemsWithoutPrompt.flatMap((item): ResponseInputItem[] => {
    if (!hasRole("developer", item) || typeof item.content === "string") return [item];
    const content = item.content.filter(({ text }) => !/^<[\w ]*instructions>/.test(text ?? ""));
    return content.length === 0 ? [] : [{ ...item, content }];
  });
}

type Message = Extract<ResponseInputItem, { role: unknown }>;

function hasRole(role: Message["role"], item: ResponseInputItem | undefined): item is Message {
  return item !== undefined && "role" in item && item["role"] === role;
}

function isUserMessage(item: ResponseInputItem): item is Message {
  return hasRole("user", item);
}

function parseContent(content: Message["content"]): ContentPart[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return content.flatMap((part) => parseContentPart(part) ?? []);
}

function parseContentPart(part: ResponseInputContent): ContentPart | undefined {
  const { image_url: image, input_audio: audio, file_data, file_url, file_id, filename } = part;
  if (typeof part.text === "string") return { type: "text", text: part.text };
  const url = typeof image === "string" ? image : image?.url;
  if (url !== undefined) return { type: "image_url", image_url: { url } };
  if (typeof audio?.["data"] === "string") {
    const format = typeof audio["format"] === "string" ? audio["format"] : "wav";
    return {
      type: "audio_url",
      audio_url: { url: `data:audio/${format};base64,${audio["data"]}` },
    };
  }
  const file = typeof file_data === "string" ? toDataUrl(file_data) : file_url;
  if (typeof file === "string") {
    const name = typeof filename === "string" && filename !== "" ? { filename } : {};
    return { type: "file_url", file_url: { url: file }, ...name };
  }
  if (typeof file_id === "string")
    throw invalidRequest("file_id", "uploaded files are not supported; send file_data");
  return undefined;
}

/** Some clients send base64 without the prefix of a `data:` URL. */
function toDataUrl(data: string): string {
  return data.startsWith("data:") ? data : `data:application/octet-stream;base64,${data}`;
}
