import {
  chatRequest,
  decodeResponsesRequest,
  WireError,
  type ChatRequest,
  type Profile,
} from "@deltawire/wire";
import fc from "fast-check";

// Few ids, so that calls and results meet, miss and repeat each other; texts that can be found again.
const callId = fc.constantFrom("call_a", "call_b", "call_c", "functions.f:0", "abcDEF123", "");
const text = fc.nat({ max: 99_999 }).map((number) => `«${number}»`);
const outputValue = fc.oneof(
  text,
  fc.constant(""),
  fc.array(
    fc.oneof(
      text.map((said) => ({ type: "input_text", text: said })),
      text.map((said) => ({ type: "input_image", image_url: `data:${said}` })),
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
      text.map((said) => JSON.stringify({ said })),
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
export const history = fc.array(item, { minLength: 1, maxLength: 14 });

/** What is refused, as a request in which nothing is said, sends nothing. Any other error fails the test. */
export function send(input: unknown, profile: Profile): ChatRequest {
  try {
    return chatRequest(decodeResponsesRequest({ model: "m", input }), { profile }).body;
  } catch (error) {
    if (error instanceof WireError) return { model: "m", messages: [] };
    throw error;
  }
}

/** The texts above, wherever they stand. */
export function words(value: unknown): string[] {
  return (JSON.stringify(value).match(/«\d+»/g) ?? []).toSorted();
}
