import {
  translateResponsesRequest,
  decodeResponsesRequest,
  WireError,
  type ChatRequest,
  type UpstreamProfile,
} from "@deltawire/wire";
import fc from "fast-check";

// There are few ids, so that calls and results may match or repeat, and unique texts, which can be found in the output.
const callId = fc.constantFrom("call_a", "call_b", "call_c", "functions.f:0", "abcDEF123", "");
const text = fc.nat({ max: 99_999 }).map((number) => `«${number}»`);
const outputValue = fc.oneof(
  text,
  fc.constant(""),
  fc.array(
    fc.oneof(
      text.map((value) => ({ type: "input_text", text: value })),
      text.map((value) => ({ type: "input_image", image_url: `data:${value}` })),
    ),
  ),
);
const item = fc.oneof(
  fc.record({
    role: fc.constantFrom("user", "assistant", "system", "developer"),
    content: fc.oneof(text, outputValue),
  }),
  fc.record({
    type: fc.constant("function_call"),
    call_id: callId,
    name: fc.constantFrom("f", "g", "ö".repeat(80)),
    arguments: fc.oneof(
      text,
      text.map((value) => JSON.stringify({ value })),
    ),
  }),
  fc.record({
    type: fc.constant("custom_tool_call"),
    call_id: callId,
    name: fc.constant("apply_patch"),
    input: text,
  }),
  fc.record({
    type: fc.constantFrom("function_call_output", "custom_tool_call_output"),
    call_id: callId,
    output: outputValue,
  }),
  fc.record({
    type: fc.constant("mcp_call"),
    id: callId,
    server_label: fc.constant("docs"),
    name: fc.constant("find"),
    arguments: fc.constant("{}"),
    output: text,
  }),
  fc.record({ type: fc.constant("web_search_call"), action: fc.record({ query: text }) }),
  fc.record({
    type: fc.constant("reasoning"),
    summary: fc.array(fc.record({ text: fc.constant("thinking") })),
  }),
);
export const arbitraryHistory = fc.array(item, { minLength: 1, maxLength: 14 });

/**
 * Translates a history to a Chat request. Returns a request without messages if the history is rejected, for example
 * because it has no content. Other errors fail the test.
 */
export function translateHistory(input: unknown, profile: UpstreamProfile): ChatRequest {
  try {
    return translateResponsesRequest(decodeResponsesRequest({ model: "m", input }), { profile })
      .body;
  } catch (error) {
    if (error instanceof WireError) return { model: "m", messages: [] };
    throw error;
  }
}

/** Finds the generated texts anywhere in a value. */
export function findTexts(value: unknown): string[] {
  return (JSON.stringify(value).match(/«\d+»/g) ?? []).toSorted();
}
