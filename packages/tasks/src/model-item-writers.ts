import { TaskError } from "./error.ts";
import { unlessCompleted, type ItemContext, type ItemEnd } from "./item-context.ts";
import type { SummaryText } from "./items.ts";
import { PairJoiner, toWellFormed } from "./well-formed.ts";

/** The model's thoughts: `summaryDelta` opens a part where none is open, `done` closes what is. */
export class ReasoningWriter {
  readonly itemId: string;
  readonly outputIndex: number;
  readonly #context: ItemContext;
  readonly #summary: SummaryText[] = [];
  readonly #raw: SummaryText[] = [];
  #open: { kind: "summary" | "raw"; part: SummaryText; pairs: PairJoiner } | undefined;

  constructor(context: ItemContext) {
    this.#context = context;
    this.itemId = context.itemId;
    this.outputIndex = context.outputIndex;
    const item = { type: "reasoning", id: this.itemId, summary: [] } as const;
    context.write({
      type: "task.output_item.added",
      output_index: this.outputIndex,
      item: { ...item, summary: [] },
    });
  }

  summaryDelta(delta: string): void {
    if (delta === "") return;
    const { part, pairs } = this.#opened("summary");
    this.#grow(part, pairs.push(delta));
  }

  summaryDone(): void {
    if (this.#open?.kind === "summary") this.#close();
  }

  rawDelta(delta: string): void {
    if (delta === "") return;
    const { part, pairs } = this.#opened("raw");
    this.#grow(part, pairs.push(delta));
  }

  done({ status, private: priv, durationMs }: ItemEnd & { durationMs?: number } = {}): void {
    this.#close();
    const { itemId: id, outputIndex: output_index } = this;
    const content = this.#raw.length === 0 ? {} : { content: this.#raw };
    const took = durationMs === undefined ? {} : { duration_ms: durationMs };
    const item = { type: "reasoning" as const, id, ...unlessCompleted(status) };
    this.#context.write(
      {
        type: "task.output_item.done",
        output_index,
        item: { ...item, summary: this.#summary, ...content, ...took },
      },
      priv,
    );
  }

  #opened(kind: "summary" | "raw") {
    if (this.#open?.kind === kind) return this.#open;
    this.#close();
    const part: SummaryText = { type: "text", text: "" };
    const list = kind === "summary" ? this.#summary : this.#raw;
    list.push(part);
    if (kind === "summary")
      this.#context.write({
        type: "task.reasoning_summary_item.added",
        ...this.#place(),
        summary_index: list.length - 1,
        item: { ...part },
      });
    this.#open = { kind, part, pairs: new PairJoiner() };
    return this.#open;
  }

  #grow(part: SummaryText, delta: string): void {
    if (delta === "") return;
    part.text += delta;
    if (this.#open?.kind === "summary")
      this.#context.write({
        type: "task.reasoning_summary_text.delta",
        ...this.#place(),
        summary_index: this.#summary.length - 1,
        delta,
      });
    else
      this.#context.write({
        type: "task.reasoning_text.delta",
        ...this.#place(),
        content_index: this.#raw.length - 1,
        delta,
      });
  }

  #close(): void {
    const open = this.#open;
    if (open === undefined) return;
    this.#grow(open.part, open.pairs.end());
    if (open.kind === "summary")
      this.#context.write({
        type: "task.reasoning_summary_item.done",
        ...this.#place(),
        summary_index: this.#summary.length - 1,
        item: { ...open.part },
      });
    else if (open.part.text === "") this.#raw.pop();
    else
      this.#context.write({
        type: "task.reasoning_text.done",
        ...this.#place(),
        content_index: this.#raw.length - 1,
        text: open.part.text,
      });
    this.#open = undefined;
  }

  #place() {
    return { item_id: this.itemId, output_index: this.outputIndex };
  }
}

/** What the model asks for. Only the arguments of `done` may ever be executed. */
export class ToolCallWriter {
  readonly itemId: string;
  readonly outputIndex: number;
  readonly callId: string;
  readonly name: string;
  readonly #context: ItemContext;
  readonly #pairs = new PairJoiner();
  #arguments = "";

  constructor(context: ItemContext, callId: string, name: string) {
    this.#context = context;
    this.itemId = context.itemId;
    this.outputIndex = context.outputIndex;
    this.callId = callId;
    this.name = name;
    context.write({
      type: "task.output_item.added",
      output_index: this.outputIndex,
      item: { type: "tool_call", id: this.itemId, call_id: callId, name, arguments: "" },
    });
  }

  argumentsDelta(delta: string): void {
    this.#grow(this.#pairs.push(delta));
  }

  /** `args` begin with all that has been told by deltas; what has not is told now. */
  done(args: string, { status, private: priv }: ItemEnd = {}): void {
    const { itemId: id, callId: call_id, name } = this;
    const whole = toWellFormed(args);
    if (!whole.startsWith(this.#arguments))
      throw new TaskError(
        "illegal_event",
        `the arguments of ${call_id} are not those of its deltas`,
      );
    this.#grow(whole.slice(this.#arguments.length));
    const place = { item_id: id, output_index: this.outputIndex };
    this.#context.write({ type: "task.tool_call_arguments.done", ...place, arguments: whole });
    this.#context.write(
      {
        type: "task.output_item.done",
        output_index: this.outputIndex,
        item: {
          type: "tool_call",
          id,
          call_id,
          name,
          arguments: whole,
          ...unlessCompleted(status),
        },
      },
      priv,
    );
  }

  #grow(delta: string): void {
    if (delta === "") return;
    this.#arguments += delta;
    this.#context.write({
      type: "task.tool_call_arguments.delta",
      item_id: this.itemId,
      output_index: this.outputIndex,
      delta,
    });
  }
}
