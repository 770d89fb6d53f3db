import type { ChatMessage, ChatRequest, ChatTool, JsonObject } from "@deltawire/wire";
import { generateAnswer, type DemoAnswer } from "../src/answer.ts";

/** Builds a request to the model `clean` with this prompt. */
export function buildRequest(prompt: string, overrides: Partial<ChatRequest> = {}): ChatRequest {
  return { model: "clean", messages: [{ role: "user", content: prompt }], ...overrides };
}

/** Builds a function tool whose parameters are all required. */
export function tool(name: string, properties: JsonObject = {}, description = ""): ChatTool {
  const parameters = { type: "object", properties, required: Object.keys(properties) };
  return { type: "function", function: { name, description, parameters } };
}

export const shell = tool("exec_command", { cmd: { type: "string" } }, "Runs a command in a PTY.");
export const weather = tool("get_weather", { city: { type: "string" } }, "The weather in a city.");

/** Returns the text of the answer. */
export function joinAnswerText({ parts }: DemoAnswer): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}

/** Returns the text of the answer to a prompt. */
export function generateText(prompt: string, overrides: Partial<ChatRequest> = {}): string {
  return joinAnswerText(generateAnswer(buildRequest(prompt, overrides)));
}

/** Returns the calls of the answer to a prompt, as [name, arguments or custom input]. */
export function generateCalls(
  prompt: string,
  overrides: Partial<ChatRequest> = {},
): [string, unknown][] {
  return generateCallsFor(buildRequest(prompt, overrides));
}

export function generateCallsFor(request: ChatRequest): [string, unknown][] {
  return generateAnswer(request).parts.flatMap((part) => {
    if (part.type !== "call") return [];
    return [[part.name, part.kind === "custom" ? part.input : (JSON.parse(part.input) as unknown)]];
  });
}

/** Returns the messages that a client adds after running a tool: the call and its result. */
export function toolRoundTrip(
  name: string,
  result: string | ChatMessage["content"],
  id = "call_1",
) {
  return [
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id, type: "function", function: { name, arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: id, content: result ?? "" },
  ] satisfies ChatMessage[];
}
