import type {
  ChatStreamEvent,
  JsonObject,
  MessageEvent,
  ResponseEvent,
  ResponseObject,
  UpstreamResponseEvent,
} from "@deltawire/wire";
import { collectChat, collectMessage, collectResponse } from "@deltawire/wire";

/** The content of a reply on either wire, for comparison with recordings and quirks. */
export interface ReplyContent {
  status: "completed" | "incomplete" | "failed";
  /** The finish_reason that a Chat client receives; undefined for Responses. */
  finish: string | undefined;
  incompleteReason: string | undefined;
  error: string | undefined;
  text: string;
  reasoning: string;
  refusal: string;
  transcript: string;
  annotations: number;
  calls: ReplyCall[];
  /** Runs of reasoning (r), text (t) and calls (c) in order. Undefined for Chat, where a complete reply has no order. */
  order: string | undefined;
  usage:
    | { input: number; output: number; total: number; cached: number; reasoning: number }
    | undefined;
}

export interface ReplyCall {
  id: string;
  name: string;
  namespace: string | undefined;
  arguments: string;
  kind: "function" | "custom";
  /** Undefined for Chat, which has no such field. */
  isComplete: boolean | undefined;
}

export function readResponseEvents(events: readonly ResponseEvent[]): ReplyContent {
  const response = collectResponse(events);
  if (response === undefined) throw new Error("no response");
  return readResponse(response);
}

/** Reads forwarded events of a Responses upstream and adds fields that providers may omit. */
export function readPassthroughEvents(events: readonly UpstreamResponseEvent[]): ReplyContent {
  const response = events.at(-1)?.["response"] as JsonObject | undefined;
  if (response === undefined) throw new Error("no response at the end");
  const { usage, output } = response as { usage?: JsonObject | null; output: JsonObject[] };
  const counts = {
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
    ...usage,
  };
  const items = output.map((item) => {
    if (item["type"] === "reasoning") return { summary: [], ...item };
    if (item["type"] !== "message") return item;
    const parts = item["content"] as JsonObject[];
    return { ...item, content: parts.map((part) => ({ annotations: [], ...part })) };
  });
  const complete: unknown = { ...response, usage: usage ? counts : null, output: items };
  return readResponse(complete as ResponseObject);
}

function readResponse(response: ResponseObject): ReplyContent {
  const content = createEmptyContent();
  content.status = response.status === "in_progress" ? "failed" : response.status;
  content.incompleteReason = response.incomplete_details?.reason;
  content.error = response.error?.message;
  let order = "";
  for (const item of response.output) {
    switch (item.type) {
      case "message":
        order += "t";
        for (const part of item.content)
          if (part.type === "output_text") {
            content.text += part.text;
            content.annotations += part.annotations.length;
          } else if (part.type === "refusal") content.refusal += part.refusal;
          else content.transcript += part.transcript;
        break;
      case "reasoning": {
        const text = [...item.summary, ...(item.content ?? [])].map(({ text }) => text).join("");
        // An item with only encrypted content has no text.
        if (text !== "" || !item.encrypted_content) order += "r";
        content.reasoning += text;
        break;
      }
      case "function_call":
      case "custom_tool_call":
        order += "c";
        content.calls.push({
          id: item.call_id,
          name: item.name,
          namespace: item.namespace,
          arguments: item.type === "function_call" ? item.arguments : item.input,
          kind: item.type === "function_call" ? "function" : "custom",
          isComplete: item.status === "completed",
        });
        break;
      default:
        order += "?";
    }
  }
  content.order = order.replaceAll(/(.)\1+/g, "$1");
  if (response.usage !== null)
    content.usage = {
      input: response.usage.input_tokens,
      output: response.usage.output_tokens,
      total: response.usage.total_tokens,
      cached: response.usage.input_tokens_details.cached_tokens,
      reasoning: response.usage.output_tokens_details.reasoning_tokens,
    };
  return content;
}

/** Reads one choice of a Chat stream, including the content before an error. */
export function readChatEvents(outputs: readonly ChatStreamEvent[], index: number): ReplyContent {
  const content = createEmptyContent();
  const failure = outputs.find(
    (output) => typeof output === "object" && output.error !== undefined,
  );
  const collected = collectChat(outputs.filter((output) => output !== failure));
  if (!collected.ok) throw new Error("two errors");
  const choice = collected.completion.choices.find((candidate) => candidate.index === index);
  const message = choice?.message;
  content.finish = choice?.finish_reason ?? undefined;
  if (typeof failure === "object") {
    content.status = "failed";
    content.error = JSON.stringify(failure.error);
  } else {
    const isIncomplete = content.finish === "length" || content.finish === "content_filter";
    content.status = isIncomplete ? "incomplete" : "completed";
    if (isIncomplete)
      content.incompleteReason =
        content.finish === "length" ? "max_output_tokens" : "content_filter";
  }
  content.text = typeof message?.content === "string" ? message.content : "";
  content.reasoning = readChatReasoning(message ?? {});
  content.refusal = message?.refusal ?? "";
  const annotations = message?.["annotations"];
  content.annotations = Array.isArray(annotations) ? annotations.length : 0;
  const audio = message?.["audio"] as { transcript?: string } | undefined;
  content.transcript = audio?.transcript ?? "";
  for (const call of message?.tool_calls ?? [])
    content.calls.push({
      id: call.id,
      name: call.type === "custom" ? call.custom.name : call.function.name,
      namespace: undefined,
      arguments: call.type === "custom" ? call.custom.input : call.function.arguments,
      kind: call.type,
      isComplete: undefined,
    });
  const usage = collected.completion.usage as Record<string, never> | null | undefined;
  if (usage !== undefined && usage !== null)
    content.usage = {
      input: usage["prompt_tokens"] ?? Number.NaN,
      output: usage["completion_tokens"] ?? Number.NaN,
      total: usage["total_tokens"] ?? Number.NaN,
      cached:
        (usage["prompt_tokens_details"] as Record<string, number> | undefined)?.["cached_tokens"] ??
        0,
      reasoning:
        (usage["completion_tokens_details"] as Record<string, number> | undefined)?.[
          "reasoning_tokens"
        ] ?? 0,
    };
  return content;
}

/** Reads the events for a Messages client. Calls that are cut are not part of the result. */
export function readMessageEvents(events: readonly MessageEvent[]): ReplyContent {
  const content = createEmptyContent();
  const failure = events.at(-1);
  const received = events.filter(({ type }) => type !== "error");
  // Clients show the text of the block in which a reply failed, but do not run its call.
  const open = received.findLast(({ type }) => /_start$|_stop$/.test(type));
  if (open?.type === "content_block_start" && open.content_block.type !== "tool_use")
    received.push({ type: "content_block_stop", index: open.index });
  const collected = collectMessage(received);
  if (failure?.type === "error") {
    content.status = "failed";
    content.error = failure.error.message;
  }
  if (!collected?.ok) return content;
  const { message } = collected;
  if (content.status !== "failed") {
    content.finish = finishByStopReason[message.stop_reason ?? "end_turn"];
    const isIncomplete = content.finish === "length" || content.finish === "content_filter";
    content.status = isIncomplete ? "incomplete" : "completed";
    if (isIncomplete)
      content.incompleteReason =
        content.finish === "length" ? "max_output_tokens" : "content_filter";
  }
  let order = "";
  for (const block of message.content)
    if (block.type === "text") {
      order += "t";
      content.text += block.text;
    } else if (block.type === "thinking") {
      if (block.thinking !== "") order += "r";
      content.reasoning += block.thinking;
    } else {
      order += "c";
      content.calls.push({
        id: block.id,
        name: block.name,
        namespace: undefined,
        arguments: JSON.stringify(block.input),
        kind: "function",
        isComplete: true,
      });
    }
  content.order = order.replaceAll(/(.)\1+/g, "$1");
  const usage = message.usage;
  const input =
    usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
  const output = usage.output_tokens;
  if (input > 0 || output > 0)
    content.usage = {
      input,
      output,
      total: input + output,
      cached: usage.cache_read_input_tokens,
      reasoning: 0,
    };
  return content;
}

const finishByStopReason = {
  end_turn: "stop",
  stop_sequence: "stop",
  tool_use: "tool_calls",
  max_tokens: "length",
  refusal: "content_filter",
} as const;

/**
 * Returns what a Messages client receives of a reply for other clients: refusals and transcripts are text, and only calls
 * that may run are calls.
 */
export function toMessageContent(
  expected: ReplyContent & { finish: string },
): ReplyContent & { finish: string } {
  const text = expected.text + expected.refusal + expected.transcript;
  const hasCutCall = expected.calls.some(({ isComplete }) => isComplete === false);
  const isCut = expected.status === "completed" && hasCutCall;
  const isRefused = expected.refusal !== "" && expected.finish === "stop";
  const status = isCut || isRefused ? "incomplete" : expected.status;
  const finish = isCut ? "length" : isRefused ? "content_filter" : expected.finish;
  const calls = expected.calls.filter(({ isComplete }) => isComplete !== false);
  return {
    ...expected,
    status,
    finish,
    incompleteReason: isCut
      ? "max_output_tokens"
      : isRefused
        ? "content_filter"
        : expected.incompleteReason,
    text,
    refusal: "",
    transcript: "",
    annotations: 0,
    usage: expected.status === "failed" ? undefined : expected.usage,
    order: undefined,
    calls: (expected.status === "completed" ? calls : []).map((call) => ({
      ...call,
      kind: "function",
      // Ids may have characters that Messages clients do not accept.
      id: /^[A-Za-z0-9_-]{1,64}$/.test(call.id) ? call.id : "",
      arguments:
        call.kind === "custom" ? JSON.stringify({ input: call.arguments }) : call.arguments,
    })),
  };
}

/** Reasoning fields are forwarded under the provider's name; reasoning from the content becomes `reasoning_content`. */
function readChatReasoning(message: Record<string, unknown>): string {
  for (const field of ["reasoning_content", "reasoning", "reasoning_text"])
    if (typeof message[field] === "string" && message[field] !== "") return message[field];
  const { reasoning } = message;
  if (typeof reasoning === "object" && reasoning !== null)
    return Object.values(reasoning as Record<string, string>).join("");
  const details = message["reasoning_details"];
  if (!Array.isArray(details)) return "";
  return details
    .map((detail: { text?: string; summary?: string }) => detail.text ?? detail.summary ?? "")
    .join("");
}

function createEmptyContent(): ReplyContent {
  return {
    status: "completed",
    finish: undefined,
    incompleteReason: undefined,
    error: undefined,
    text: "",
    reasoning: "",
    refusal: "",
    transcript: "",
    annotations: 0,
    calls: [],
    order: undefined,
    usage: undefined,
  };
}
