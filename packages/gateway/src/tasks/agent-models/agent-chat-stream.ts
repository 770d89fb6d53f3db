import {
  translateResponsesReply,
  ChatOverResponses,
  type ChatStreamEvent,
  type ChatOverResponsesOptions,
  type CollectChatResult,
  type JsonObject,
  type ResponseOutputItem,
  type ResponseEvent,
  type ResponseObject,
  type UpstreamResponseEvent,
} from "@deltawire/wire";

type DeltaField = "content" | "reasoning_content";

const separator = "\n\n";

/** Converts an agent's reply to a Chat Completions stream. All its messages become one text, separated by blank lines. */
export class AgentChatStream {
  readonly #chat: ChatOverResponses;
  readonly #startedFields = new Set<DeltaField>();
  readonly #pendingSeparators = new Set<DeltaField>();

  constructor(options: ChatOverResponsesOptions) {
    this.#chat = new ChatOverResponses(options);
  }

  push(event: ResponseEvent, out: ChatStreamEvent[]): void {
    const field = findStartedField(event);
    if (field !== undefined && this.#startedFields.has(field)) this.#pendingSeparators.add(field);
    const firstNewIndex = out.length;
    this.#chat.push(event as unknown as UpstreamResponseEvent, out);
    for (const output of out.slice(firstNewIndex)) this.#insertSeparator(output);
  }

  #insertSeparator(output: ChatStreamEvent): void {
    const delta = output === "[DONE]" ? undefined : output.choices?.[0]?.delta;
    if (delta === undefined || delta === null) return;
    for (const field of ["content", "reasoning_content"] as const) {
      const text = delta[field];
      if (typeof text !== "string" || text === "") continue;
      if (this.#pendingSeparators.delete(field)) delta[field] = separator + text;
      this.#startedFields.add(field);
    }
  }
}

/** Returns the field that an event starts. Parts of one reasoning summary are already separated. */
function findStartedField(event: ResponseEvent): DeltaField | undefined {
  if (event.type === "response.output_item.added" && event.item.type === "reasoning")
    return "reasoning_content";
  if (event.type === "response.content_part.added" && event.part.type === "output_text")
    return "content";
  return undefined;
}

/** Converts a complete reply. Unlike the events, the response does not contain retracted items. */
export function toChatCompletion(
  response: ResponseObject,
  options: ChatOverResponsesOptions,
): CollectChatResult {
  const reply = { ...response, output: mergeOutput(response.output) };
  return translateResponsesReply(reply as unknown as JsonObject, options);
}

function mergeOutput(output: readonly ResponseOutputItem[]): ResponseOutputItem[] {
  const reasoningTexts = output.flatMap((item) =>
    item.type === "reasoning"
      ? [[...item.summary, ...(item.content ?? [])].map(({ text }) => text).join(separator)]
      : [],
  );
  const texts = output.flatMap((item) =>
    item.type === "message"
      ? item.content.flatMap((part) => (part.type === "output_text" ? [part.text] : []))
      : [],
  );
  const [reasoning, text] = [joinTexts(reasoningTexts), joinTexts(texts)];
  const status = "completed";
  return [
    ...(reasoning === ""
      ? []
      : [
          {
            type: "reasoning" as const,
            id: "reasoning",
            status: status as "completed",
            summary: [{ type: "summary_text" as const, text: reasoning }],
          },
        ]),
    {
      type: "message",
      id: "message",
      status,
      role: "assistant",
      content: [{ type: "output_text", text, annotations: [], logprobs: [] }],
    },
  ];
}

function joinTexts(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join(separator);
}
