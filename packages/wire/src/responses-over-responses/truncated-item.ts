import { parseJson, type JsonObject } from "../json.ts";

/**
 * Builds the final form of an item whose `done` event never arrived: `item` is from its added event, `deltaTexts` has its
 * concatenated deltas by event type. An incomplete call is never marked as completed, even in a completed response.
 */
export function buildTruncatedItem(
  { item, deltaTexts }: { item: JsonObject; deltaTexts: ReadonlyMap<string, string> },
  isCompleted: boolean,
): JsonObject {
  const getDeltaText = (name: string) => deltaTexts.get(`response.${name}.delta`);
  const truncated: JsonObject = { ...item, status: isCompleted ? "completed" : "incomplete" };
  switch (item["type"]) {
    case "function_call": {
      const text = getDeltaText("function_call_arguments") ?? item["arguments"] ?? "";
      const isJson = typeof text === "string" && parseJson(text) !== undefined;
      return { ...truncated, arguments: text, ...(isJson ? {} : { status: "incomplete" }) };
    }
    case "custom_tool_call":
      return {
        ...truncated,
        input: getDeltaText("custom_tool_call_input") ?? "",
        status: "incomplete",
      };
    case "message":
      return {
        ...truncated,
        content: toMessageContent(getDeltaText("output_text"), getDeltaText("refusal")),
      };
    case "reasoning": {
      const [summary, reasoningText] = [
        getDeltaText("reasoning_summary_text"),
        getDeltaText("reasoning_text"),
      ];
      return {
        ...truncated,
        summary: summary === undefined ? [] : [{ type: "summary_text", text: summary }],
        ...(reasoningText === undefined
          ? {}
          : { content: [{ type: "reasoning_text", text: reasoningText }] }),
      };
    }
    default:
      return truncated;
  }
}

/**
 * Marks a function call whose arguments are not JSON as incomplete. Returns the same object if nothing changes.
 */
export function markInvalidCall(item: JsonObject): JsonObject {
  const { type, status, arguments: text } = item;
  if (type !== "function_call" || status === "incomplete" || typeof text !== "string") return item;
  if (text.trim() === "" || parseJson(text) !== undefined) return item;
  return { ...item, status: "incomplete" };
}

/** The event types of the deltas that `buildTruncatedItem` reads. */
export const storedDeltaTypes: ReadonlySet<string> = new Set(
  [
    "function_call_arguments",
    "custom_tool_call_input",
    "output_text",
    "refusal",
    "reasoning_summary_text",
    "reasoning_text",
  ].map((name) => `response.${name}.delta`),
);

/** Calls that the client runs. Hosted tools (web_search_call, mcp_call, …) are not among them. */
const clientCallTypes = new Set([
  "function_call",
  "custom_tool_call",
  "tool_search_call",
  "local_shell_call",
  "shell_call",
  "apply_patch_call",
  "computer_call",
]);

export function isClientCall(item: JsonObject): boolean {
  return typeof item["type"] === "string" && clientCallTypes.has(item["type"]);
}

function toMessageContent(text: string | undefined, refusal: string | undefined): JsonObject[] {
  return [
    ...(text === undefined ? [] : [{ type: "output_text", text, annotations: [], logprobs: [] }]),
    ...(refusal === undefined ? [] : [{ type: "refusal", refusal }]),
  ];
}
