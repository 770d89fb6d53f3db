import type { JsonObject } from "@deltawire/wire";

/** Returns the events of a stored response for a client that asks for it as a stream: each item at once. */
export function replayResponse(response: JsonObject): JsonObject[] {
  const events: JsonObject[] = [];
  const add = (type: string, fields: JsonObject): void => {
    events.push({ type, ...fields, sequence_number: events.length });
  };
  const started = { ...response, status: "in_progress", output: [], usage: null };
  add("response.created", { response: started });
  add("response.in_progress", { response: started });
  const items = Array.isArray(response["output"]) ? (response["output"] as JsonObject[]) : [];
  items.forEach((item, output_index) => {
    const { id: item_id = null, type, content } = item;
    const isMessage = type === "message" && Array.isArray(content);
    const opened = { ...item, status: "in_progress", ...(isMessage ? { content: [] } : {}) };
    add("response.output_item.added", { output_index, item: opened });
    const parts = isMessage ? (content as JsonObject[]) : [];
    parts.forEach((part, content_index) => {
      const position = { item_id, output_index, content_index };
      const { text } = part;
      if (part["type"] !== "output_text" || typeof text !== "string") {
        add("response.content_part.added", { ...position, part });
      } else {
        const empty = { ...part, text: "", annotations: [], logprobs: [] };
        add("response.content_part.added", { ...position, part: empty });
        add("response.output_text.delta", { ...position, delta: text, logprobs: [] });
        add("response.output_text.done", { ...position, text, logprobs: [] });
      }
      add("response.content_part.done", { ...position, part });
    });
    add("response.output_item.done", { output_index, item });
  });
  const status = response["status"];
  const type = status === "failed" || status === "incomplete" ? status : "completed";
  add(`response.${type}`, { response });
  return events;
}
