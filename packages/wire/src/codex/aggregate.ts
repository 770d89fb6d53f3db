import { TextAccumulator } from "../text-accumulator.ts";
import type { StreamEndReason, StreamMachine } from "../stream-machine.ts";
import {
  createAssistantMessage,
  createReasoningItem,
  type CodexEvent,
  type CodexItem,
  type CodexMessage,
} from "./events.ts";

/**
 * `aggregated_only` is Codex's `.aggregate()`, `passthrough` its `.streaming_mode()`. `streaming` exists in its
 * code but is never selected.
 */
export type AggregateMode = "aggregated_only" | "streaming" | "passthrough";

/** Merges the deltas of a turn into one message and one reasoning item (spec section 12.4). */
export function createAggregator(
  mode: AggregateMode = "aggregated_only",
): StreamMachine<CodexEvent, CodexEvent> {
  return mode === "passthrough" ? passthroughMachine : new Aggregator(mode);
}

/** Returns the mode that Codex's setting `show_raw_agent_reasoning` selects (spec section 3.2). */
export function getAggregateMode(show_raw_agent_reasoning: boolean): AggregateMode {
  return show_raw_agent_reasoning ? "passthrough" : "aggregated_only";
}

const passthroughMachine: StreamMachine<CodexEvent, CodexEvent> = {
  push: (event, out) => void out.push(event),
  end: () => {},
};

class Aggregator implements StreamMachine<CodexEvent, CodexEvent> {
  readonly #mode: "aggregated_only" | "streaming";
  readonly #text = new TextAccumulator();
  readonly #reasoning = new TextAccumulator();

  constructor(mode: "aggregated_only" | "streaming") {
    this.#mode = mode;
  }

  push(event: CodexEvent, out: CodexEvent[]): void {
    switch (event.type) {
      case "output_text_delta":
        this.#text.append(event.delta);
        if (this.#mode === "streaming") out.push(event);
        return;
      case "reasoning_content_delta":
        this.#reasoning.append(event.delta);
        if (this.#mode === "streaming") out.push(event);
        return;
      case "output_item_done":
        if (!isAssistantMessage(event.item)) out.push(event);
        else if (this.#text.isEmpty) this.#takeMessage(event.item, out);
        return;
      case "completed":
        // The parser has already emitted its own reasoning item, so a turn contains it twice, as in Codex.
        if (!this.#reasoning.isEmpty)
          out.push({
            type: "output_item_done",
            item: createReasoningItem([this.#reasoning.toString()]),
          });
        if (!this.#text.isEmpty)
          out.push({
            type: "output_item_done",
            item: createAssistantMessage([this.#text.toString()]),
          });
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

  /** As in Codex, collected text is discarded if the stream ends without `completed`. */
  end(_reason: StreamEndReason, _out: CodexEvent[]): void {}

  #takeMessage(item: CodexMessage, out: CodexEvent[]): void {
    if (this.#mode === "streaming") {
      out.push({ type: "output_item_done", item });
      return;
    }
    const first = item.content.find((part) => part.type === "output_text");
    if (first !== undefined) this.#text.append(first.text);
  }
}

function isAssistantMessage(item: CodexItem): item is CodexMessage {
  return item.type === "message" && item.role === "assistant";
}
