import type { JsonObject } from "../json.ts";
import type { ResponsesRequest } from "../shapes/responses-request.ts";

/** What a request may leave out, and what the API then echoes. */
const defaults: JsonObject = {
  instructions: null,
  max_output_tokens: null,
  metadata: {},
  parallel_tool_calls: true,
  previous_response_id: null,
  store: false,
  temperature: 1,
  tool_choice: "auto",
  tools: [],
  top_p: 1,
  truncation: "disabled",
  user: null,
};

/** The part of a response object that repeats what was asked for. */
export function responseEcho(request: ResponsesRequest): JsonObject {
  const echo: JsonObject = { ...defaults };
  for (const field of Object.keys(defaults)) {
    const asked = request[field];
    if (asked !== undefined && asked !== null) echo[field] = asked;
  }
  return {
    ...echo,
    reasoning: { effort: null, summary: null, ...request.reasoning },
    text: { format: { type: "text" }, ...request.text },
  };
}
