import type { ChatOutput, JsonObject, ResponseEvent } from "@deltawire/wire";

export interface Answer {
  status: number;
  /** What came, in events of a stream: a whole reply is one that comes at once. */
  events: never[];
  text: string;
}

type Event = ResponseEvent | ChatOutput;

/** A client of both wires, which wants to hear everything. */
export class HttpClient {
  readonly #base: string;

  constructor(base: string) {
    this.#base = base;
  }

  async ask(wire: "responses" | "chat", model: string, stream: boolean): Promise<Answer> {
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
      ? streamed(text)
      : wire === "responses"
        ? wholeResponse(text)
        : wholeChat(text);
    return { status: 200, events: events.flatMap(withoutEstimate) as never[], text };
  }
}

function streamed(text: string): Event[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("data: "))
    .map((line) => line.slice("data: ".length))
    .map((data) => (data === "[DONE]" ? data : (JSON.parse(data) as Event)));
}

/** As the stream that it would have been. */
function wholeResponse(text: string): Event[] {
  const response = JSON.parse(text) as JsonObject & { status: string; output: JsonObject[] };
  const begun = { ...response, status: "in_progress", output: [], usage: null };
  const events = [
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
    ...response.output.flatMap((item, at) => [
      { type: "response.output_item.added", output_index: at, item: opened(item) },
      { type: "response.output_item.done", output_index: at, item },
    ]),
    { type: `response.${response.status}`, response },
  ];
  return events.map((event, at) => ({ ...event, sequence_number: at }));
}

function opened(item: JsonObject): JsonObject {
  return "status" in item ? { ...item, status: "in_progress" } : item;
}

function wholeChat(text: string): Event[] {
  const { choices, usage, ...rest } = JSON.parse(text) as JsonObject & {
    choices: { message: JsonObject & { tool_calls?: JsonObject[] } }[];
    usage?: JsonObject;
  };
  const chunk = { ...rest, object: "chat.completion.chunk" };
  const deltas = choices.map(({ message, ...choice }) => {
    const { tool_calls: calls, ...said } = message;
    const indexed = calls?.map((call, index) => ({ ...call, index }));
    return {
      ...choice,
      delta: { ...said, ...(indexed === undefined ? {} : { tool_calls: indexed }) },
    };
  });
  const told = usage === undefined ? [] : [{ ...chunk, choices: [], usage }];
  return [{ ...chunk, choices: deltas }, ...told, "[DONE]"] as unknown as Event[];
}

/** What the gateway only guessed, the upstream did not say. */
function withoutEstimate(event: Event): Event[] {
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
