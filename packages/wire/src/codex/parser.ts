import { unreachable } from "../error.ts";
import { isObject, type JsonObject, type JsonValue } from "../json.ts";
import type { StreamEnd, StreamMachine } from "../machine.ts";
import type { SseEvent } from "../sse/decoder.ts";
import { PendingCalls } from "./calls.ts";
import { assistantMessage, reasoningItem, type CodexEvent } from "./events.ts";
import { parseStrictJson, trim } from "./rust-text.ts";

/**
 * 000's Chat stream parser (11), from events of the SseDecoder. It loses what the rest of this library keeps: calls at
 * `stop`, usage, `reasoning_content`, errors in the stream. Reading goes on after `stop`; only a sentinel, `length` and
 * the end of the stream end it.
 */
export class ChatStreamParser implements StreamMachine<SseEvent, CodexEvent> {
  #state: "reading" | "completed" | "ended" = "reading";
  /** The segments of the open item; undefined while there is none. */
  #reasoning: string[] | undefined;
  #text: string[] | undefined;
  readonly #calls = new PendingCalls();

  push({ data: raw, terminated }: SseEvent, out: CodexEvent[]): void {
    if (this.#state === "ended" || !terminated) return;
    const data = trim(raw);
    if (data === "[DONE]" || data === "DONE") return this.#complete(out);
    const chunk = parseStrictJson(data);
    const choices = isObject(chunk) ? chunk["choices"] : undefined;
    if (!Array.isArray(choices)) return;
    for (const choice of choices) {
      if (isObject(choice)) this.#readChoice(choice, out);
      if (this.#isEnded()) return;
    }
  }

  end(how: StreamEnd, out: CodexEvent[]): void {
    switch (how) {
      case "eof":
      case "grace":
        return this.#complete(out);
      case "idle_timeout":
        return this.fail("idle timeout waiting for SSE", out);
      case "transport_error":
        return this.fail("Transport error: network error: the connection broke", out);
      case "aborted":
        this.#state = "ended";
        return;
      default:
        return unreachable(how);
    }
  }

  /** The stream under the events is broken: whatever is open stays so. */
  fail(message: string, out: CodexEvent[]): void {
    if (this.#state === "ended") return;
    this.#state = "ended";
    out.push({ type: "error", error: "stream", message });
  }

  #readChoice(choice: JsonObject, out: CodexEvent[]): void {
    const { delta, message, finish_reason: finish } = choice;
    if (isObject(delta)) {
      this.#readReasoning(delta["reasoning"], out);
      const content = delta["content"];
      if (typeof content === "string") this.#addText(content, out);
      else if (Array.isArray(content))
        for (const part of content)
          if (isObject(part) && typeof part["text"] === "string") this.#addText(part["text"], out);
      const calls = delta["tool_calls"];
      if (Array.isArray(calls)) for (const call of calls) this.#calls.add(call);
    }
    if (isObject(message)) this.#readReasoning(message["reasoning"], out);

    switch (finish) {
      case "stop":
        this.#closeItems(out);
        if (this.#state === "reading") out.push(completed());
        this.#state = "completed";
        return;
      case "length":
        this.#state = "ended";
        out.push({ type: "error", error: "context_window_exceeded" });
        return;
      case "tool_calls":
        this.#closeReasoning(out);
        for (const item of this.#calls.flush()) out.push({ type: "output_item_done", item });
        return;
      default:
    }
  }

  #readReasoning(reasoning: JsonValue | undefined, out: CodexEvent[]): void {
    const { text, content } = isObject(reasoning) ? reasoning : {};
    const said = [reasoning, text, content].find((form) => typeof form === "string");
    if (said === undefined) return;
    if (this.#reasoning === undefined) {
      this.#reasoning = [];
      out.push({ type: "output_item_added", item: reasoningItem([]) });
    }
    out.push({
      type: "reasoning_content_delta",
      delta: said,
      content_index: this.#reasoning.length,
    });
    this.#reasoning.push(said);
  }

  #addText(text: string, out: CodexEvent[]): void {
    if (this.#text === undefined) {
      this.#text = [];
      out.push({ type: "output_item_added", item: assistantMessage([]) });
    }
    this.#text.push(text);
    out.push({ type: "output_text_delta", delta: text });
  }

  /** At a sentinel or the end of the bytes. What came after `completed` and is still open is never done. */
  #complete(out: CodexEvent[]): void {
    if (this.#state === "reading") {
      this.#closeItems(out);
      out.push(completed());
    }
    this.#state = "ended";
  }

  #closeItems(out: CodexEvent[]): void {
    this.#closeReasoning(out);
    if (this.#text === undefined) return;
    out.push({ type: "output_item_done", item: assistantMessage(this.#text) });
    this.#text = undefined;
  }

  #closeReasoning(out: CodexEvent[]): void {
    if (this.#reasoning === undefined) return;
    out.push({ type: "output_item_done", item: reasoningItem(this.#reasoning) });
    this.#reasoning = undefined;
  }

  /** A question, for the compiler believes that a method leaves the state as it was. */
  #isEnded(): boolean {
    return this.#state === "ended";
  }
}

function completed(): CodexEvent {
  return { type: "completed", response_id: "", token_usage: null };
}
