import { parseJson, type JsonObject } from "../json.ts";

/**
 * An item whose end never came, with what had come of it: its deltas by the type of the event, over what it had when it
 * was added. Half a call is never completed, whatever the response is.
 */
export function cutItem(
  { item, said }: { item: JsonObject; said: ReadonlyMap<string, string> },
  completed: boolean,
): JsonObject {
  const of = (name: string) => said.get(`response.${name}.delta`);
  const cut: JsonObject = { ...item, status: completed ? "completed" : "incomplete" };
  switch (item["type"]) {
    case "function_call": {
      const text = of("function_call_arguments") ?? item["arguments"] ?? "";
      const whole = typeof text === "string" && parseJson(text) !== undefined;
      return { ...cut, arguments: text, ...(whole ? {} : { status: "incomplete" }) };
    }
    case "custom_tool_call":
      return { ...cut, input: of("custom_tool_call_input") ?? "", status: "incomplete" };
    case "message":
      return { ...cut, content: messageParts(of("output_text"), of("refusal")) };
    case "reasoning": {
      const [summary, raw] = [of("reasoning_summary_text"), of("reasoning_text")];
      return {
        ...cut,
        summary: summary === undefined ? [] : [{ type: "summary_text", text: summary }],
        ...(raw === undefined ? {} : { content: [{ type: "reasoning_text", text: raw }] }),
      };
    }
    default:
      return cut;
  }
}

/**
 * The item as it may be called: a function call whose arguments are not JSON never ends `completed`. The same object if it
 * does not have to change.
 */
export function markedCall(item: JsonObject): JsonObject {
  const { type, status, arguments: text } = item;
  if (type !== "function_call" || status === "incomplete" || typeof text !== "string") return item;
  if (text.trim() === "" || parseJson(text) !== undefined) return item;
  return { ...item, status: "incomplete" };
}

/** The deltas that `cutItem` reads, by the type of their event. */
export const storedDeltas: ReadonlySet<string> = new Set(
  [
    "function_call_arguments",
    "custom_tool_call_input",
    "output_text",
    "refusal",
    "reasoning_summary_text",
    "reasoning_text",
  ].map((name) => `response.${name}.delta`),
);

/** Calls that the client answers, as against those that a server runs by itself (web_search_call, mcp_call, …). */
const clientCalls = new Set([
  "function_call",
  "custom_tool_call",
  "tool_search_call",
  "local_shell_call",
  "shell_call",
  "apply_patch_call",
  "computer_call",
]);

export function isRunByClient(item: JsonObject): boolean {
  return typeof item["type"] === "string" && clientCalls.has(item["type"]);
}

function messageParts(text: string | undefined, refusal: string | undefined): JsonObject[] {
  return [
    ...(text === undefined ? [] : [{ type: "output_text", text, annotations: [], logprobs: [] }]),
    ...(refusal === undefined ? [] : [{ type: "refusal", refusal }]),
  ];
}
