import {
  argumentsClosing,
  formatArgumentsDelta,
  argumentsOpening,
  callIds,
  listNumbersTo,
  formatTextDelta,
  toolName,
  type WrittenStream,
} from "./deltas.ts";

export function createResponsesText(chunks: number): WrittenStream {
  const at = { item_id: "msg_68f1", output_index: 0, content_index: 0 };
  const part = (text: string) => ({ type: "output_text", annotations: [], logprobs: [], text });
  const item = (status: string, content: object[]) => ({
    id: at.item_id,
    type: "message",
    status,
    content,
    role: "assistant",
  });
  const event = createEventWriter();
  return {
    opening:
      formatResponsesOpening(event) +
      event("response.output_item.added", { output_index: 0, item: item("in_progress", []) }) +
      event("response.content_part.added", { ...at, part: part("") }),
    chunks: listNumbersTo(chunks).map((nth) =>
      event("response.output_text.delta", { ...at, delta: formatTextDelta(nth), logprobs: [] }),
    ),
    closing(stamps) {
      const text = stamps.map((stamp, nth) => formatTextDelta(nth, stamp)).join("");
      const done = item("completed", [part(text)]);
      const event = createEventWriter(chunks + 4);
      return (
        event("response.output_text.done", { ...at, text, logprobs: [] }) +
        event("response.content_part.done", { ...at, part: part(text) }) +
        event("response.output_item.done", { output_index: 0, item: done }) +
        formatResponsesEnding(event, [done], chunks)
      );
    },
  };
}

export function createResponsesTools(chunks: number): WrittenStream {
  const second = Math.floor(chunks / 2);
  const event = createEventWriter();
  const item = (index: number, status: string, text: string) => ({
    id: `fc_68f${index}`,
    type: "function_call",
    status,
    arguments: text,
    call_id: callIds[index],
    name: toolName,
  });
  const added = (index: number) =>
    event("response.output_item.added", {
      output_index: index,
      item: item(index, "in_progress", ""),
    });
  const fragment = (write: EventWriter, index: number, delta: string) =>
    write("response.function_call_arguments.delta", {
      item_id: `fc_68f${index}`,
      output_index: index,
      delta,
    });
  const completeArguments = (stamps: readonly number[], from: number, to: number) =>
    argumentsOpening +
    stamps
      .slice(from, to)
      .map((stamp, nth) => formatArgumentsDelta(from + nth, stamp))
      .join("") +
    argumentsClosing;
  const done = (write: EventWriter, index: number, text: string) =>
    write("response.function_call_arguments.done", {
      item_id: `fc_68f${index}`,
      output_index: index,
      arguments: text,
    }) +
    write("response.output_item.done", {
      output_index: index,
      item: item(index, "completed", text),
    });
  return {
    opening: formatResponsesOpening(event) + added(0) + fragment(event, 0, argumentsOpening),
    // Calls are added when they start and finished together, which the protocol allows: the end of a call repeats its
    // deltas with the times of sending, which are not known before.
    chunks: listNumbersTo(chunks).map((nth) => {
      const before =
        nth === second
          ? fragment(event, 0, argumentsClosing) + added(1) + fragment(event, 1, argumentsOpening)
          : "";
      return before + fragment(event, nth < second ? 0 : 1, formatArgumentsDelta(nth));
    }),
    closing(stamps) {
      const write = createEventWriter(chunks + 7);
      const calls = [
        completeArguments(stamps, 0, second),
        completeArguments(stamps, second, chunks),
      ];
      return (
        fragment(write, 1, argumentsClosing) +
        calls.map((text, index) => done(write, index, text)).join("") +
        formatResponsesEnding(
          write,
          calls.map((text, index) => item(index, "completed", text)),
          chunks,
        )
      );
    },
  };
}

type EventWriter = (type: string, fields: object) => string;

function createEventWriter(from = 0): EventWriter {
  let next = from;
  return (type, fields) => {
    const data = JSON.stringify({ type, sequence_number: next, ...fields });
    next += 1;
    return `event: ${type}\ndata: ${data}\n\n`;
  };
}

function formatResponsesOpening(event: EventWriter): string {
  const response = { ...responseEnvelope, status: "in_progress", output: [], usage: null };
  return event("response.created", { response }) + event("response.in_progress", { response });
}

function formatResponsesEnding(event: EventWriter, output: object[], tokens: number): string {
  const usage = {
    input_tokens: 900,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: tokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: tokens + 900,
  };
  const response = { ...responseEnvelope, status: "completed", output, usage };
  return event("response.completed", { response });
}

const responseEnvelope = {
  id: "resp_68f1c0de4b7c8190",
  object: "response",
  created_at: 1_760_000_000,
  error: null,
  incomplete_details: null,
  instructions: null,
  model: "gpt-4.1-mini-2025-04-14",
  parallel_tool_calls: true,
  tool_choice: "auto",
  tools: [],
};
