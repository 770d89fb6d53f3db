import type { ChatMessage, ChatRequest, ChatTool, JsonObject } from "@deltawire/wire";
import { answer, type Answer } from "../src/answer.ts";

/** A request to the demo whose last words are these. */
export function says(words: string, more: Partial<ChatRequest> = {}): ChatRequest {
  return { model: "clean", messages: [{ role: "user", content: words }], ...more };
}

export function tool(name: string, properties: JsonObject = {}, description = ""): ChatTool {
  const parameters = { type: "object", properties, required: Object.keys(properties) };
  return { type: "function", function: { name, description, parameters } };
}

export const shell = tool("exec_command", { cmd: { type: "string" } }, "Runs a command in a PTY.");
export const weather = tool("get_weather", { city: { type: "string" } }, "The weather in a city.");

/** What the demo says, without its thoughts and calls. */
export function textOf({ moves }: Answer): string {
  return moves.flatMap((move) => (move.type === "text" ? [move.text] : [])).join("");
}

export function said(words: string, more: Partial<ChatRequest> = {}): string {
  return textOf(answer(says(words, more)));
}

/** Its calls as [name, arguments]; the input of a custom tool as it is. */
export function calls(words: string, more: Partial<ChatRequest> = {}): [string, unknown][] {
  return callsOf(says(words, more));
}

export function callsOf(request: ChatRequest): [string, unknown][] {
  return answer(request).moves.flatMap((move) => {
    if (move.type !== "call") return [];
    return [[move.name, move.kind === "custom" ? move.input : (JSON.parse(move.input) as unknown)]];
  });
}

/** What a client adds to the history when it has run a call. */
export function ran(name: string, result: string | ChatMessage["content"], id = "call_1") {
  return [
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id, type: "function", function: { name, arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: id, content: result ?? "" },
  ] satisfies ChatMessage[];
}
