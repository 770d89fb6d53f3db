import { assertNever, WireError } from "../error.ts";
import { assertArray } from "../decode/assertions.ts";
import { isObject, type JsonObject, type JsonValue } from "../json.ts";
import { parseHistoryItem, type CodexChatPart, type CodexHistoryItem } from "./history-items.ts";
import { attachReasoning } from "./attach-reasoning.ts";

/** The input of one turn, with Codex's field names. */
export interface ChatPrompt {
  model: string;
  instructions: string;
  /** Items of the Responses wire. */
  input: readonly unknown[];
  /** Sent unchanged. `toChatTools` converts Responses tools. */
  tools?: readonly object[];
  conversation_id?: string | null;
  session_source?: SessionSource | null;
  /** Must be absent or null: Codex rejects it for Chat Completions. */
  output_schema?: unknown;
}

/** What started the session, in Codex's format. Only a subagent results in a header. */
export type SessionSource =
  | string
  | { subagent: string | { other: string } | { thread_spawn: JsonObject } };

export interface AssembledChatRequest {
  body: {
    model: string;
    messages: CodexChatMessage[];
    stream: true;
    tools: readonly object[];
  };
  headers: Record<string, string>;
  /** Codex never compresses Chat bodies (spec section 12.2). */
  compression: "none";
}

export type CodexChatMessage =
  | { role: string; content: string | CodexChatPart[]; reasoning?: string }
  | AssistantCallMessage
  | { role: "tool"; tool_call_id: string; content: JsonValue };

interface AssistantCallMessage {
  role: "assistant";
  content: null;
  tool_calls: CodexChatCall[];
  reasoning?: string;
}

export type CodexChatCall =
  | { id: string; type: "function"; function: { name: string; arguments: string } }
  | { id: string; type: "local_shell_call"; status: JsonValue; action: JsonObject }
  | { id: string | null; type: "custom"; custom: { name: string; input: JsonValue } };

/**
 * Builds the request that the last Codex version with Chat support sent (spec sections 4 to 10), including what it dropped,
 * duplicated and sent out of order. Throws `unsupported` for an `output_schema`.
 */
export function assembleChatRequest(prompt: ChatPrompt): AssembledChatRequest {
  const { model, instructions, tools = [], output_schema } = prompt;
  if (output_schema !== undefined && output_schema !== null)
    throw new WireError("unsupported", "output_schema is not supported for Chat Completions API", {
      param: "output_schema",
    });
  const items = assertArray(prompt.input, "input").map((item, index) =>
    parseHistoryItem(item, `input[${index}]`),
  );
  const messages = [{ role: "system", content: instructions }, ...buildMessages(items)];
  return {
    body: { model, messages, stream: true, tools },
    headers: buildHeaders(prompt),
    compression: "none",
  };
}

function buildMessages(items: readonly CodexHistoryItem[]): CodexChatMessage[] {
  const messages: CodexChatMessage[] = [];
  const reasoning = attachReasoning(items);
  let lastAssistantText: string | undefined;
  for (const [index, item] of items.entries())
    switch (item.type) {
      case "message": {
        const text = item.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
        if (item.role !== "assistant") {
          const hasImage = item.parts.some(({ type }) => type === "image_url");
          messages.push({ role: item.role, content: hasImage ? item.parts : text });
          break;
        }
        // Text equal to the previous assistant text is skipped together with its reasoning, even with items between.
        if (text === lastAssistantText) break;
        lastAssistantText = text;
        messages.push({
          role: "assistant",
          content: text,
          ...toReasoningField(reasoning.get(index)),
        });
        break;
      }
      case "function_call": {
        const { call_id: id, name, arguments: args } = item;
        const call: CodexChatCall = { id, type: "function", function: { name, arguments: args } };
        appendCall(messages, call, reasoning.get(index));
        break;
      }
      case "local_shell_call": {
        appendCall(messages, item, reasoning.get(index));
        break;
      }
      case "custom_tool_call": {
        const { id, name, input } = item;
        appendCall(messages, { id, type: "custom", custom: { name, input } }, undefined);
        break;
      }
      case "function_call_output":
      case "custom_tool_call_output":
        messages.push({ role: "tool", tool_call_id: item.call_id, content: item.output });
        break;
      case "reasoning":
      case "ignored":
        break;
      default:
        return assertNever(item);
    }
  return messages;
}

/** Consecutive calls share one assistant message (spec section 8.4). */
function appendCall(
  messages: CodexChatMessage[],
  call: CodexChatCall,
  reasoning: string | undefined,
): void {
  const last = messages.at(-1);
  if (last === undefined || !("tool_calls" in last)) {
    const message: AssistantCallMessage = { role: "assistant", content: null, tool_calls: [call] };
    messages.push({ ...message, ...toReasoningField(reasoning) });
    return;
  }
  last.tool_calls.push(call);
  if (reasoning !== undefined)
    last.reasoning = last.reasoning === undefined ? reasoning : `${last.reasoning}\n${reasoning}`;
}

function toReasoningField(reasoning: string | undefined): { reasoning?: string } {
  return reasoning === undefined ? {} : { reasoning };
}

function buildHeaders({ conversation_id, session_source }: ChatPrompt): Record<string, string> {
  const headers = { session_id: conversation_id, "x-openai-subagent": getSubagent(session_source) };
  return Object.fromEntries(
    Object.entries(headers).filter((header): header is [string, string] =>
      isHeaderValue(header[1]),
    ),
  );
}

/** Codex silently drops values that are not valid in a header. */
function isHeaderValue(value: string | null | undefined): value is string {
  return typeof value === "string" && /^[ -~\t]*$/.test(value);
}

function getSubagent(source: SessionSource | null | undefined): string | undefined {
  const subagent: unknown = isObject(source) ? source["subagent"] : undefined;
  if (subagent === "thread_spawn") return "collab_spawn";
  if (typeof subagent === "string") return subagent;
  if (!isObject(subagent)) return undefined;
  if (subagent["thread_spawn"] !== undefined) return "collab_spawn";
  return typeof subagent["other"] === "string" ? subagent["other"] : undefined;
}

export interface CodexChatTool {
  type: "function";
  /** Codex sends the name here too, not only in `function`. */
  name: string;
  function: JsonObject;
}

/** Converts Responses tools to the form that Codex sent on the Chat wire. Drops everything but functions. */
export function toChatTools(tools: readonly unknown[]): CodexChatTool[] {
  return tools.filter(isObject).flatMap(({ type, ...definition }): CodexChatTool[] => {
    if (type !== "function") return [];
    const name = typeof definition["name"] === "string" ? definition["name"] : "";
    return [{ type: "function", name, function: definition }];
  });
}

/** Returns the request path below the provider's base URL (spec section 12.1). */
export function getRequestPath(wire: string): "chat/completions" | "responses" {
  return wire === "chat" ? "chat/completions" : "responses";
}
