import { GrowingText } from "../growing-text.ts";
import type { StreamEnd, StreamMachine } from "../machine.ts";
import {
  assistantMessage,
  reasoningItem,
  type CodexEvent,
  type CodexItem,
  type CodexMessage,
} from "./events.ts";

/**
 * `aggregated_only` is Codex's `.aggregate()`, `passthrough` its `.streaming_mode()`. `streaming` is in its code, but
 * nothing there selects it.
 */
export type AggregateMode = "aggregated_only" | "streaming" | "passthrough";

/** One message and one reasoning item a turn (12.4). */
export function aggregate(
  mode: AggregateMode = "aggregated_only",
): StreamMachine<CodexEvent, CodexEvent> {
  return mode === "passthrough" ? passthrough : new Aggregate(mode);
}

/** What Codex's setting of that name selects (3.2). */
export function aggregateMode(show_raw_agent_reasoning: boolean): AggregateMode {
  return show_raw_agent_reasoning ? "passthrough" : "aggregated_only";
}

const passthrough: StreamMachine<CodexEvent, CodexEvent> = {
  push: (event, out) => void out.push(event),
  end: () => {},
};

class Aggregate implements StreamMachine<CodexEvent, CodexEvent> {
  readonly #mode: "aggregated_only" | "streaming";
  readonly #text = new GrowingText();
  readonly #reasoning = new GrowingText();

  constructor(mode: "aggregated_only" | "streaming") {
    this.#mode = mode;
  }

  push(event: CodexEvent, out: CodexEvent[]): void {
    switch (event.type) {
      case "output_text_delta":
        this.#text.add(event.delta);
        if (this.#mode === "streaming") out.push(event);
        return;
      case "reasoning_content_delta":
        this.#reasoning.add(event.delta);
        if (this.#mode === "streaming") out.push(event);
        return;
      case "output_item_done":
        if (!isAssistantMessage(event.item)) out.push(event);
        else if (this.#text.isEmpty) this.#takeMessage(event.item, out);
        return;
      case "completed":
        // The parser's own reasoning item has passed already, so a turn carries it twice, as in Codex.
        if (!this.#reasoning.isEmpty)
          out.push({ type: "output_item_done", item: reasoningItem([this.#reasoning.toString()]) });
        if (!this.#text.isEmpty)
          out.push({ type: "output_item_done", item: assistantMessage([this.#text.toString()]) });
        this.#reasoning.clear();
        this.#text.clear();
        out.push(event);
        return;
      case "created":
      case "reasoning_summary_delta":
      case "reasoning_summary_part_added":
        return;
      default:
        out.push(event);
    }
  }

  /** Without `completed` there is no aggregate: what was said until then is lost. */
  end(_how: StreamEnd, _out: CodexEvent[]): void {}

  #takeMessage(item: CodexMessage, out: CodexEvent[]): void {
    if (this.#mode === "streaming") {
      out.push({ type: "output_item_done", item });
      return;
    }
    const first = item.content.find((part) => part.type === "output_text");
    if (first !== undefined) this.#text.add(first.text);
  }
}

function isAssistantMessage(item: CodexItem): item is CodexMessage {
  return item.type === "message" && item.role === "assistant";
}
