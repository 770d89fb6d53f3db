import { assertNever } from "../error.ts";
import { isObject, type JsonObject, type JsonValue } from "../json.ts";
import type { StreamEndReason, StreamMachine } from "../stream-machine.ts";
import type { SseEvent } from "../sse/decoder.ts";
import { PendingCalls } from "./pending-calls.ts";
import { createAssistantMessage, createReasoningItem, type CodexEvent } from "./events.ts";
import { parseJsonLikeRust, trimLikeRust } from "./rust-text.ts";

/**
 * Codex's Chat stream parser (spec section 11). Takes the events of an SseDecoder. Like Codex, and unlike the rest of
 * this package, it drops calls at finish reason `stop`, usage, `reasoning_content` and errors in the stream. It
 * continues after `stop` and ends at `[DONE]`, at `length` or at the end of the stream.
 */
export class ChatStreamParser implements StreamMachine<SseEvent, CodexEvent> {
  #state: "reading" | "completed" | "ended" = "reading";
  /** The segments of the open item. Undefined if no item is open. */
  #reasoning: string[] | undefined;
  #text: string[] | undefined;
  readonly #calls = new PendingCalls();

  push({ data: raw, terminated }: SseEvent, out: CodexEvent[]): void {
    if (this.#state === "ended" || !terminated) return;
    const data = trimLikeRust(raw);
    if (data === "[DONE]" || data === "DONE") return this.#complete(out);
    const chunk = parseJsonLikeRust(data);
    const choices = isObject(chunk) ? chunk["choices"] : undefined;
    if (!Array.isArray(choices)) return;
    for (const choice of choices) {
      if (isObject(choice)) this.#readChoice(choice, out);
      if (this.#isEnded()) return;
    }
  }

  end(reason: StreamEndReason, out: CodexEvent[]): void {
    switch (reason) {
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
        return assertNever(reason);
    }
  }

  /** Ends the stream with an error event. Open items are not closed. */
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
        if (this.#state === "reading") out.push(createCompletedEvent());
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
    const segment = [reasoning, text, content].find((value) => typeof value === "string");
    if (segment === undefined) return;
    if (this.#reasoning === undefined) {
      this.#reasoning = [];
      out.push({ type: "output_item_added", item: createReasoningItem([]) });
    }
    out.push({
      type: "reasoning_content_delta",
      delta: segment,
      content_index: this.#reasoning.length,
    });
    this.#reasoning.push(segment);
  }

  #addText(text: string, out: CodexEvent[]): void {
    if (this.#text === undefined) {
      this.#text = [];
      out.push({ type: "output_item_added", item: createAssistantMessage([]) });
    }
    this.#text.push(text);
    out.push({ type: "output_text_delta", delta: text });
  }

  /** Called at `[DONE]` or at the end of the stream. Items opened after `completed` never get an `output_item_done`. */
  #complete(out: CodexEvent[]): void {
    if (this.#state === "reading") {
      this.#closeItems(out);
      out.push(createCompletedEvent());
    }
    this.#state = "ended";
  }

  #closeItems(out: CodexEvent[]): void {
    this.#closeReasoning(out);
    if (this.#text === undefined) return;
    out.push({ type: "output_item_done", item: createAssistantMessage(this.#text) });
    this.#text = undefined;
  }

  #closeReasoning(out: CodexEvent[]): void {
    if (this.#reasoning === undefined) return;
    out.push({ type: "output_item_done", item: createReasoningItem(this.#reasoning) });
    this.#reasoning = undefined;
  }

  /** A method because TypeScript's narrowing does not see that `#readChoice` changes the state. */
  #isEnded(): boolean {
    return this.#state === "ended";
  }
}

function createCompletedEvent(): CodexEvent {
  return { type: "completed", response_id: "", token_usage: null };
}
