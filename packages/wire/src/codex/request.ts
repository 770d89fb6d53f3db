import { unreachable, WireError } from "../error.ts";
import { readArray } from "../decode/reader.ts";
import { isObject, type JsonObject, type JsonValue } from "../json.ts";
import { readHistoryItem, type ChatPart, type HistoryItem } from "./items.ts";
import { reasoningByAnchor } from "./reasoning-anchors.ts";

/** The fields bear Codex's own names. */
export interface ChatPrompt {
  model: string;
  instructions: string;
  /** Items of the Responses wire. */
  input: readonly unknown[];
  /** As they are sent: `chatTools` makes them of Responses tools. */
  tools?: readonly object[];
  conversation_id?: string | null;
  session_source?: SessionSource | null;
  /** Refused: Codex could not ask for a schema on this wire. */
  output_schema?: unknown;
}

/** Where a session came from, as Codex writes it. Only a subagent shows in a header. */
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
  /** Codex never compressed a body on this wire (12.2), whatever it did on the other. */
  compression: "none";
}

export type CodexChatMessage =
  | { role: string; content: string | ChatPart[]; reasoning?: string }
  | AssistantCalls
  | { role: "tool"; tool_call_id: string; content: JsonValue };

interface AssistantCalls {
  role: "assistant";
  content: null;
  tool_calls: CodexChatCall[];
  reasoning?: string;
}

export type CodexChatCall =
  | { id: string; type: "function"; function: { name: string; arguments: string } }
  | { id: string; type: "local_shell_call"; status: JsonValue; action: JsonObject }
  | { id: string | null; type: "custom"; custom: { name: string; input: JsonValue } };

/** Codex's last Chat request (4 to 10), with everything that it dropped, doubled and left in the wrong order. */
export function assembleChatRequest(prompt: ChatPrompt): AssembledChatRequest {
  const { model, instructions, tools = [], output_schema } = prompt;
  if (output_schema !== undefined && output_schema !== null)
    throw new WireError("unsupported", "output_schema is not supported for Chat Completions API", {
      param: "output_schema",
    });
  const items = readArray(prompt.input, "input").map((item, index) =>
    readHistoryItem(item, `input[${index}]`),
  );
  const messages = [{ role: "system", content: instructions }, ...messagesOf(items)];
  return {
    body: { model, messages, stream: true, tools },
    headers: headersOf(prompt),
    compression: "none",
  };
}

function messagesOf(items: readonly HistoryItem[]): CodexChatMessage[] {
  const messages: CodexChatMessage[] = [];
  const reasoning = reasoningByAnchor(items);
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
        // Compared with the last one sent, however far back; a repeated one takes its reasoning with it.
        if (text === lastAssistantText) break;
        lastAssistantText = text;
        messages.push({
          role: "assistant",
          content: text,
          ...reasoningField(reasoning.get(index)),
        });
        break;
      }
      case "function_call": {
        const { call_id: id, name, arguments: all } = item;
        const call: CodexChatCall = { id, type: "function", function: { name, arguments: all } };
        addCall(messages, call, reasoning.get(index));
        break;
      }
      case "local_shell_call": {
        addCall(messages, item, reasoning.get(index));
        break;
      }
      case "custom_tool_call": {
        const { id, name, input } = item;
        addCall(messages, { id, type: "custom", custom: { name, input } }, undefined);
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
        return unreachable(item);
    }
  return messages;
}

/** Calls without a message between them share one (8.4). */
function addCall(
  messages: CodexChatMessage[],
  call: CodexChatCall,
  reasoning: string | undefined,
): void {
  const last = messages.at(-1);
  if (last === undefined || !("tool_calls" in last)) {
    const fresh: AssistantCalls = { role: "assistant", content: null, tool_calls: [call] };
    messages.push({ ...fresh, ...reasoningField(reasoning) });
    return;
  }
  last.tool_calls.push(call);
  if (reasoning !== undefined)
    last.reasoning = last.reasoning === undefined ? reasoning : `${last.reasoning}\n${reasoning}`;
}

function reasoningField(reasoning: string | undefined): { reasoning?: string } {
  return reasoning === undefined ? {} : { reasoning };
}

function headersOf({ conversation_id, session_source }: ChatPrompt): Record<string, string> {
  const headers = { session_id: conversation_id, "x-openai-subagent": subagentOf(session_source) };
  return Object.fromEntries(
    Object.entries(headers).filter((header): header is [string, string] => isHeader(header[1])),
  );
}

/** What is no header value is left out without a word. */
function isHeader(value: string | null | undefined): value is string {
  return typeof value === "string" && /^[ -~\t]*$/.test(value);
}

function subagentOf(source: SessionSource | null | undefined): string | undefined {
  const subagent: unknown = isObject(source) ? source["subagent"] : undefined;
  if (subagent === "thread_spawn") return "collab_spawn";
  if (typeof subagent === "string") return subagent;
  if (!isObject(subagent)) return undefined;
  if (subagent["thread_spawn"] !== undefined) return "collab_spawn";
  return typeof subagent["other"] === "string" ? subagent["other"] : undefined;
}

export interface CodexChatTool {
  type: "function";
  /** A second time, at the top level: Codex sent it so. */
  name: string;
  function: JsonObject;
}

/** Tools of a Responses request as Codex declared them on the Chat wire: functions only, all others are dropped. */
export function chatTools(tools: readonly unknown[]): CodexChatTool[] {
  return tools.filter(isObject).flatMap(({ type, ...declared }): CodexChatTool[] => {
    if (type !== "function") return [];
    const name = typeof declared["name"] === "string" ? declared["name"] : "";
    return [{ type: "function", name, function: declared }];
  });
}

/** Where Codex sends a request, below the provider's base URL. Both of its clients ask the provider's wire (12.1). */
export function chatPath(wire: string): "chat/completions" | "responses" {
  return wire === "chat" ? "chat/completions" : "responses";
}
