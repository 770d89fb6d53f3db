import { TaskError } from "./error.ts";
import { toStatusField, type ItemContext, type ItemEndOptions } from "./item-context.ts";
import type { SummaryText } from "./items.ts";
import { SurrogateJoiner, toWellFormed } from "./well-formed.ts";

/** Writes the reasoning of the model: `summaryDelta` opens a part if none is open, `done` closes the open part. */
export class ReasoningWriter {
  readonly itemId: string;
  readonly outputIndex: number;
  readonly #context: ItemContext;
  readonly #summary: SummaryText[] = [];
  readonly #rawParts: SummaryText[] = [];
  #openPart:
    | { kind: "summary" | "raw"; part: SummaryText; surrogates: SurrogateJoiner }
    | undefined;

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
    const { part, surrogates } = this.#ensurePart("summary");
    this.#appendText(part, surrogates.push(delta));
  }

  summaryDone(): void {
    if (this.#openPart?.kind === "summary") this.#closePart();
  }

  rawDelta(delta: string): void {
    if (delta === "") return;
    const { part, surrogates } = this.#ensurePart("raw");
    this.#appendText(part, surrogates.push(delta));
  }

  done({
    status,
    private: privateData,
    durationMs,
  }: ItemEndOptions & { durationMs?: number } = {}): void {
    this.#closePart();
    const { itemId: id, outputIndex: output_index } = this;
    const content = this.#rawParts.length === 0 ? {} : { content: this.#rawParts };
    const duration = durationMs === undefined ? {} : { duration_ms: durationMs };
    const item = { type: "reasoning" as const, id, ...toStatusField(status) };
    this.#context.write(
      {
        type: "task.output_item.done",
        output_index,
        item: { ...item, summary: this.#summary, ...content, ...duration },
      },
      privateData,
    );
  }

  #ensurePart(kind: "summary" | "raw") {
    if (this.#openPart?.kind === kind) return this.#openPart;
    this.#closePart();
    const part: SummaryText = { type: "text", text: "" };
    const list = kind === "summary" ? this.#summary : this.#rawParts;
    list.push(part);
    if (kind === "summary")
      this.#context.write({
        type: "task.reasoning_summary_item.added",
        ...this.#position(),
        summary_index: list.length - 1,
        item: { ...part },
      });
    this.#openPart = { kind, part, surrogates: new SurrogateJoiner() };
    return this.#openPart;
  }

  #appendText(part: SummaryText, delta: string): void {
    if (delta === "") return;
    part.text += delta;
    if (this.#openPart?.kind === "summary")
      this.#context.write({
        type: "task.reasoning_summary_text.delta",
        ...this.#position(),
        summary_index: this.#summary.length - 1,
        delta,
      });
    else
      this.#context.write({
        type: "task.reasoning_text.delta",
        ...this.#position(),
        content_index: this.#rawParts.length - 1,
        delta,
      });
  }

  #closePart(): void {
    const open = this.#openPart;
    if (open === undefined) return;
    this.#appendText(open.part, open.surrogates.end());
    if (open.kind === "summary")
      this.#context.write({
        type: "task.reasoning_summary_item.done",
        ...this.#position(),
        summary_index: this.#summary.length - 1,
        item: { ...open.part },
      });
    else if (open.part.text === "") this.#rawParts.pop();
    else
      this.#context.write({
        type: "task.reasoning_text.done",
        ...this.#position(),
        content_index: this.#rawParts.length - 1,
        text: open.part.text,
      });
    this.#openPart = undefined;
  }

  #position() {
    return { item_id: this.itemId, output_index: this.outputIndex };
  }
}

/** Writes a tool call. Run the call only with the arguments passed to `done`. */
export class ToolCallWriter {
  readonly itemId: string;
  readonly outputIndex: number;
  readonly callId: string;
  readonly name: string;
  readonly #context: ItemContext;
  readonly #surrogates = new SurrogateJoiner();
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
    this.#appendArguments(this.#surrogates.push(delta));
  }

  /** `args` must start with the concatenated deltas; the rest is sent as one more delta. */
  done(args: string, { status, private: privateData }: ItemEndOptions = {}): void {
    const { itemId: id, callId: call_id, name } = this;
    const fullArguments = toWellFormed(args);
    if (!fullArguments.startsWith(this.#arguments))
      throw new TaskError(
        "invalid_event",
        `the arguments of ${call_id} do not start with the deltas sent so far`,
      );
    this.#appendArguments(fullArguments.slice(this.#arguments.length));
    const position = { item_id: id, output_index: this.outputIndex };
    this.#context.write({
      type: "task.tool_call_arguments.done",
      ...position,
      arguments: fullArguments,
    });
    this.#context.write(
      {
        type: "task.output_item.done",
        output_index: this.outputIndex,
        item: {
          type: "tool_call",
          id,
          call_id,
          name,
          arguments: fullArguments,
          ...toStatusField(status),
        },
      },
      privateData,
    );
  }

  #appendArguments(delta: string): void {
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
