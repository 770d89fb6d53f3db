import type { ChatStreamEvent, JsonObject, ResponseEvent } from "@deltawire/wire";

export interface HttpReply {
  status: number;
  /** The events of the stream. A reply that is not streamed is converted to events. */
  events: never[];
  text: string;
}

type ReplyEvent = ResponseEvent | ChatStreamEvent;

/** A client of both wires that requests usage, too. */
export class HttpClient {
  readonly #base: string;

  constructor(base: string) {
    this.#base = base;
  }

  async request(wire: "responses" | "chat", model: string, stream: boolean): Promise<HttpReply> {
    const body =
      wire === "responses"
        ? { model, stream, input: "Hi", store: false }
        : {
            model,
            stream,
            messages: [{ role: "user", content: "Hi" }],
            ...(stream ? { stream_options: { include_usage: true } } : {}),
          };
    const path = wire === "responses" ? "/responses" : "/chat/completions";
    const response = await fetch(this.#base + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(20_000),
    });
    const text = await response.text();
    if (response.status !== 200) return { status: response.status, events: [], text };
    const events = stream
      ? parseStream(text, wire)
      : wire === "responses"
        ? responseToEvents(text)
        : completionToEvents(text);
    return { status: 200, events: events.flatMap(dropEstimatedUsage) as never[], text };
  }
}

/** Throws if a Responses stream does not end with `[DONE]`, which its events do not include. */
function parseStream(text: string, wire: "chat" | "responses"): ReplyEvent[] {
  const events = text
    .split("\n")
    .filter((line) => line.startsWith("data: "))
    .map((line) => line.slice("data: ".length))
    .map((data) => (data === "[DONE]" ? data : (JSON.parse(data) as ReplyEvent)));
  if (wire === "chat") return events;
  if (events.at(-1) !== "[DONE]") throw new Error("the stream does not end with [DONE]");
  return events.slice(0, -1);
}

/** Converts a complete response to the events of a stream. */
function responseToEvents(text: string): ReplyEvent[] {
  const response = JSON.parse(text) as JsonObject & { status: string; output: JsonObject[] };
  const startedResponse = { ...response, status: "in_progress", output: [], usage: null };
  const events = [
    { type: "response.created", response: startedResponse },
    { type: "response.in_progress", response: startedResponse },
    ...response.output.flatMap((item, index) => [
      { type: "response.output_item.added", output_index: index, item: toOpeningItem(item) },
      { type: "response.output_item.done", output_index: index, item },
    ]),
    { type: `response.${response.status}`, response },
  ];
  return events.map((event, index) => ({ ...event, sequence_number: index }));
}

function toOpeningItem(item: JsonObject): JsonObject {
  return "status" in item ? { ...item, status: "in_progress" } : item;
}

function completionToEvents(text: string): ReplyEvent[] {
  const { choices, usage, ...rest } = JSON.parse(text) as JsonObject & {
    choices: { message: JsonObject & { tool_calls?: JsonObject[] } }[];
    usage?: JsonObject;
  };
  const chunk = { ...rest, object: "chat.completion.chunk" };
  const deltas = choices.map(({ message, ...choice }) => {
    const { tool_calls: calls, ...fields } = message;
    const indexed = calls?.map((call, index) => ({ ...call, index }));
    return {
      ...choice,
      delta: { ...fields, ...(indexed === undefined ? {} : { tool_calls: indexed }) },
    };
  });
  const usageChunks = usage === undefined ? [] : [{ ...chunk, choices: [], usage }];
  return [{ ...chunk, choices: deltas }, ...usageChunks, "[DONE]"] as unknown as ReplyEvent[];
}

/** Removes usage that the gateway estimated, because recordings do not contain it. */
function dropEstimatedUsage(event: ReplyEvent): ReplyEvent[] {
  if (event === "[DONE]") return [event];
  const { usage, response, choices } = event as {
    usage?: JsonObject | null;
    response?: { usage?: JsonObject | null };
    choices?: unknown[];
  };
  if (response?.usage?.["estimated"] === true)
    return [{ ...event, response: { ...response, usage: null } }];
  if (usage?.["estimated"] !== true) return [event];
  return choices?.length === 0 ? [] : [{ ...event, usage: null }];
}
