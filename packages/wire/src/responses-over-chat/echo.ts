import { isLongerThan, type JsonObject } from "../json.ts";
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

/**
 * The longest field that is repeated, in characters. A response object goes out with at least three events: instructions
 * of 50 MB blocked the event loop for 0.3 to 0.8 s and made a reply of 150 MB.
 */
const longestEchoed = 1_000_000;

/** The part of a response object that repeats what was asked for. Fields that are too long have their default value. */
export function responseEcho(request: ResponsesRequest): JsonObject {
  const echo: JsonObject = { ...defaults };
  for (const field of Object.keys(defaults)) {
    const asked = request[field];
    if (asked !== undefined && asked !== null && !isLongerThan(asked, longestEchoed))
      echo[field] = asked;
  }
  const { reasoning, text } = request;
  return {
    ...echo,
    reasoning: {
      effort: null,
      summary: null,
      ...(isLongerThan(reasoning, longestEchoed) ? {} : reasoning),
    },
    text: { format: { type: "text" }, ...(isLongerThan(text, longestEchoed) ? {} : text) },
  };
}
