import {
  asString,
  isObject,
  type ChatMessage,
  type ChatRequest,
  type JsonObject,
  type MessagesRequest,
  type ResponsesRequest,
} from "@deltawire/wire";
import type { Wire } from "../wires.ts";

/** One part of a conversation, in the same form for every API. */
export type ConversationPart =
  | { kind: "user" | "assistant"; text: string }
  | { kind: "call"; id: string; reasoning: ReturnedReasoning }
  | { kind: "result"; id: string; text: string };

/** The reasoning that a call was returned with. Undefined: none. */
interface ReturnedReasoning {
  text?: string | undefined;
  /** The encrypted content of Responses, the signature of Messages. */
  sealed?: string | undefined;
}

export interface OfferedTool {
  name: string;
  /** A JSON schema. */
  parameters: JsonObject;
}

export interface Conversation {
  parts: ConversationPart[];
  tools: OfferedTool[];
}

/** Reads a request of any API. */
export function readConversation(wire: Wire, body: JsonObject): Conversation {
  switch (wire) {
    case "chat":
      return readChat(body as unknown as ChatRequest);
    case "responses":
      return readResponses(body);
    default:
      return readMessages(body as unknown as MessagesRequest);
  }
}

function readChat({ messages, tools = [] }: ChatRequest): Conversation {
  return {
    parts: messages.flatMap(readChatMessage),
    tools: (tools ?? []).flatMap((tool) =>
      tool.type === "function"
        ? [{ name: tool.function.name, parameters: tool.function.parameters ?? {} }]
        : [],
    ),
  };
}

function readChatMessage(message: ChatMessage): ConversationPart[] {
  const text = readText(message.content);
  if (message.role === "tool") return [{ kind: "result", id: message.tool_call_id, text }];
  if (message.role === "user") return [{ kind: "user", text }];
  if (message.role !== "assistant") return [];
  const reasoning = { text: asString(message.reasoning_content) };
  const calls = (message.tool_calls ?? []).map(
    ({ id }) => ({ kind: "call", id, reasoning }) as const,
  );
  return [...(text === "" ? [] : [{ kind: "assistant", text } as const]), ...calls];
}

function readResponses({ input, tools = [] }: ResponsesRequest): Conversation {
  const items: readonly JsonObject[] =
    typeof input === "string" ? [{ role: "user", content: input }] : (input as JsonObject[]);
  const parts: ConversationPart[] = [];
  // Reasoning belongs to all calls until the next message or result.
  let reasoning: ReturnedReasoning = {};
  for (const item of items) {
    const { type = "message", role, content, output, summary } = item;
    const id = asString(item["call_id"]) ?? "";
    if (type === "reasoning") {
      const text = readText(content) || readText(summary);
      reasoning = { text, sealed: asString(item["encrypted_content"]) };
    } else if (type === "function_call") parts.push({ kind: "call", id, reasoning });
    else if (type === "function_call_output") {
      reasoning = {};
      parts.push({ kind: "result", id, text: readText(output) });
    } else if (type === "message" && (role === "user" || role === "assistant")) {
      if (role === "user") reasoning = {};
      parts.push({ kind: role, text: readText(content) });
    }
  }
  return {
    parts,
    tools: (tools ?? []).flatMap((tool) =>
      tool.type === "function"
        ? [
            {
              name: asString(tool["name"]) ?? "",
              parameters: isObject(tool["parameters"]) ? tool["parameters"] : {},
            },
          ]
        : [],
    ),
  };
}

function readMessages({ messages, tools = [] }: MessagesRequest): Conversation {
  const parts = messages.flatMap(({ role, content }): ConversationPart[] => {
    if (role === "system") return [];
    if (typeof content === "string") return [{ kind: role, text: content }];
    let reasoning: ReturnedReasoning = {};
    return content.flatMap((block): ConversationPart[] => {
      if (block.type === "thinking") {
        reasoning = { text: asString(block.thinking), sealed: asString(block.signature) };
        return [];
      }
      if (block.type === "text") return [{ kind: role, text: block.text ?? "" }];
      if (block.type === "tool_use") return [{ kind: "call", id: block.id ?? "", reasoning }];
      if (block.type !== "tool_result") return [];
      return [{ kind: "result", id: block.tool_use_id ?? "", text: readText(block.content) }];
    });
  });
  return {
    parts,
    tools: (tools ?? []).flatMap(({ name, input_schema: parameters }) =>
      name === undefined || parameters === undefined ? [] : [{ name, parameters }],
    ),
  };
}

/** Joins the text of a content, which is a text or a list of parts. */
function readText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (isObject(part) ? (asString(part["text"]) ?? "") : "")).join("\n");
}
