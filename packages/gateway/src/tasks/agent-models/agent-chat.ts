import {
  chatOfResponse,
  ChatOverResponses,
  type ChatOutput,
  type ChatOverResponsesOptions,
  type CollectedChat,
  type JsonObject,
  type OutputItem,
  type ResponseEvent,
  type ResponseObject,
  type ResponsesInput,
} from "@deltawire/wire";

type Field = "content" | "reasoning_content";

const blankLine = "\n\n";

/** An agent's reply on the Chat wire. There all its messages are one text: a blank line stands between two of them. */
export class AgentChat {
  readonly #chat: ChatOverResponses;
  readonly #said = new Set<Field>();
  readonly #due = new Set<Field>();

  constructor(options: ChatOverResponsesOptions) {
    this.#chat = new ChatOverResponses(options);
  }

  push(event: ResponseEvent, out: ChatOutput[]): void {
    const field = begunBy(event);
    if (field !== undefined && this.#said.has(field)) this.#due.add(field);
    const before = out.length;
    this.#chat.push(event as unknown as ResponsesInput, out);
    for (const output of out.slice(before)) this.#separate(output);
  }

  #separate(output: ChatOutput): void {
    const delta = output === "[DONE]" ? undefined : output.choices?.[0]?.delta;
    if (delta === undefined || delta === null) return;
    for (const field of ["content", "reasoning_content"] as const) {
      const text = delta[field];
      if (typeof text !== "string" || text === "") continue;
      if (this.#due.delete(field)) delta[field] = blankLine + text;
      this.#said.add(field);
    }
  }
}

/** Parts of one summary are separated already. */
function begunBy(event: ResponseEvent): Field | undefined {
  if (event.type === "response.output_item.added" && event.item.type === "reasoning")
    return "reasoning_content";
  if (event.type === "response.content_part.added" && event.part.type === "output_text")
    return "content";
  return undefined;
}

/** The whole of it: what was taken back is not in the response, though it was in the events. */
export function chatOfAgent(
  response: ResponseObject,
  options: ChatOverResponsesOptions,
): CollectedChat {
  const reply = { ...response, output: joined(response.output) };
  return chatOfResponse(reply as unknown as JsonObject, options);
}

function joined(output: readonly OutputItem[]): OutputItem[] {
  const thoughts = output.flatMap((item) =>
    item.type === "reasoning"
      ? [[...item.summary, ...(item.content ?? [])].map(({ text }) => text).join(blankLine)]
      : [],
  );
  const texts = output.flatMap((item) =>
    item.type === "message"
      ? item.content.flatMap((part) => (part.type === "output_text" ? [part.text] : []))
      : [],
  );
  const [thought, text] = [spoken(thoughts), spoken(texts)];
  const status = "completed";
  return [
    ...(thought === ""
      ? []
      : [
          {
            type: "reasoning" as const,
            id: "reasoning",
            status: status as "completed",
            summary: [{ type: "summary_text" as const, text: thought }],
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

function spoken(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join(blankLine);
}
