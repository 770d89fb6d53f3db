import type {
  ChatOutput,
  JsonObject,
  ResponseEvent,
  ResponseObject,
  ResponsesInput,
} from "@deltawire/wire";
import { collectChat, collectResponse } from "@deltawire/wire";

/** What a client was told, whichever wire it was told on: what recordings and quirks are compared with. */
export interface Said {
  status: "completed" | "incomplete" | "failed";
  /** A Chat client's finish_reason; undefined on Responses. */
  finish: string | undefined;
  incompleteReason: string | undefined;
  error: string | undefined;
  text: string;
  reasoning: string;
  refusal: string;
  transcript: string;
  annotations: number;
  calls: SaidCall[];
  /** r, t and c: runs of reasoning, text and calls, in order. Undefined on Chat, where a whole reply has none. */
  order: string | undefined;
  usage:
    | { input: number; output: number; total: number; cached: number; reasoning: number }
    | undefined;
}

export interface SaidCall {
  id: string;
  name: string;
  namespace: string | undefined;
  arguments: string;
  kind: "function" | "custom";
  /** Undefined on Chat, which has no word for it. */
  whole: boolean | undefined;
}

export function saidOnResponses(events: readonly ResponseEvent[]): Said {
  const response = collectResponse(events);
  if (response === undefined) throw new Error("no response");
  return saidIn(response);
}

/** The same of a Responses upstream's events as they were passed on. What a provider may leave out, it did not say. */
export function saidInPassing(events: readonly ResponsesInput[]): Said {
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
  const whole: unknown = { ...response, usage: usage ? counts : null, output: items };
  return saidIn(whole as ResponseObject);
}

function saidIn(response: ResponseObject): Said {
  const said = nothing();
  said.status = response.status === "in_progress" ? "failed" : response.status;
  said.incompleteReason = response.incomplete_details?.reason;
  said.error = response.error?.message;
  let order = "";
  for (const item of response.output) {
    switch (item.type) {
      case "message":
        order += "t";
        for (const part of item.content)
          if (part.type === "output_text") {
            said.text += part.text;
            said.annotations += part.annotations.length;
          } else if (part.type === "refusal") said.refusal += part.refusal;
          else said.transcript += part.transcript;
        break;
      case "reasoning": {
        const words = [...item.summary, ...(item.content ?? [])].map(({ text }) => text).join("");
        // One that only carries an envelope says nothing.
        if (words !== "" || !item.encrypted_content) order += "r";
        said.reasoning += words;
        break;
      }
      case "function_call":
      case "custom_tool_call":
        order += "c";
        said.calls.push({
          id: item.call_id,
          name: item.name,
          namespace: item.namespace,
          arguments: item.type === "function_call" ? item.arguments : item.input,
          kind: item.type === "function_call" ? "function" : "custom",
          whole: item.status === "completed",
        });
        break;
      default:
        order += "?";
    }
  }
  said.order = order.replaceAll(/(.)\1+/g, "$1");
  if (response.usage !== null)
    said.usage = {
      input: response.usage.input_tokens,
      output: response.usage.output_tokens,
      total: response.usage.total_tokens,
      cached: response.usage.input_tokens_details.cached_tokens,
      reasoning: response.usage.output_tokens_details.reasoning_tokens,
    };
  return said;
}

/** What one choice of a Chat stream said. An error keeps what was said before it. */
export function saidOnChat(outputs: readonly ChatOutput[], index: number): Said {
  const said = nothing();
  const failure = outputs.find(
    (output) => typeof output === "object" && output.error !== undefined,
  );
  const collected = collectChat(outputs.filter((output) => output !== failure));
  if (!collected.ok) throw new Error("two errors");
  const choice = collected.completion.choices.find((candidate) => candidate.index === index);
  const message = choice?.message;
  said.finish = choice?.finish_reason ?? undefined;
  if (typeof failure === "object") {
    said.status = "failed";
    said.error = JSON.stringify(failure.error);
  } else {
    const cut = said.finish === "length" || said.finish === "content_filter";
    said.status = cut ? "incomplete" : "completed";
    if (cut)
      said.incompleteReason = said.finish === "length" ? "max_output_tokens" : "content_filter";
  }
  said.text = typeof message?.content === "string" ? message.content : "";
  said.reasoning = chatReasoning(message ?? {});
  said.refusal = message?.refusal ?? "";
  const annotations = message?.["annotations"];
  said.annotations = Array.isArray(annotations) ? annotations.length : 0;
  const audio = message?.["audio"] as { transcript?: string } | undefined;
  said.transcript = audio?.transcript ?? "";
  for (const call of message?.tool_calls ?? [])
    said.calls.push({
      id: call.id,
      name: call.type === "custom" ? call.custom.name : call.function.name,
      namespace: undefined,
      arguments: call.type === "custom" ? call.custom.input : call.function.arguments,
      kind: call.type,
      whole: undefined,
    });
  const usage = collected.completion.usage as Record<string, never> | null | undefined;
  if (usage !== undefined && usage !== null)
    said.usage = {
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
  return said;
}

/** The fields pass as the provider named them; what stood in the content comes as `reasoning_content`. */
function chatReasoning(message: Record<string, unknown>): string {
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

function nothing(): Said {
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
