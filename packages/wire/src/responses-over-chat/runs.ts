import { unreachable } from "../error.ts";
import { GrowingText } from "../growing-text.ts";
import { isObject, type JsonObject, type JsonValue } from "../json.ts";
import type {
  ItemStatus,
  MessageItem,
  MessagePart,
  ReasoningItem,
  ResponseEvent,
} from "../shapes/responses-reply.ts";
import type { ReplyBudget } from "../reply-budget.ts";
import type { Output } from "./output.ts";

type Run =
  | {
      kind: "message";
      index: number;
      item: MessageItem;
      part: MessagePart | undefined;
      text: GrowingText;
    }
  | { kind: "reasoning"; index: number; id: string; text: GrowingText };
type MessageRun = Run & { kind: "message" };
type ReasoningRun = Run & { kind: "reasoning" };

export interface RunsOptions {
  output: Output;
  newId: (prefix: string) => string;
  /** As summary events, or as raw text. */
  reasoning: "summary" | "text";
  /** What `encrypted_content` of a reasoning item that closes now must be, if anything. */
  sealed: () => string | undefined;
  budget: ReplyBudget;
}

/** Messages and reasoning: each uninterrupted run of either is one item (decision 10). */
export class Runs {
  readonly #options: RunsOptions;
  readonly #output: Output;
  #run: Run | undefined;
  #reasoned = false;
  /** Blank text before the first reasoning: it joins the text that comes later. */
  #blanks = "";
  /** Annotations may come before the text that they belong to. */
  #annotations: JsonObject[] = [];

  constructor(options: RunsOptions) {
    this.#options = options;
    this.#output = options.output;
  }

  text(added: string, logprobs: readonly JsonValue[], out: ResponseEvent[]): void {
    const text = this.#blanks + added;
    const mayPrecedeReasoning = this.#run?.kind !== "message" && !this.#reasoned;
    this.#blanks = mayPrecedeReasoning && text.trim() === "" ? text : "";
    if (this.#blanks !== "") return;
    const run = this.#message(out);
    if (run.part?.type !== "output_text")
      this.#openPart(run, { type: "output_text", text: "", annotations: [], logprobs: [] }, out);
    const part = run.part as MessagePart & { type: "output_text" };
    run.text.add(text);
    for (const each of logprobs) {
      this.#options.budget.addValue(each);
      part.logprobs.push(each);
    }
    out.push({
      type: "response.output_text.delta",
      sequence_number: this.#output.sequence(),
      item_id: run.item.id,
      output_index: run.index,
      content_index: run.item.content.length - 1,
      delta: text,
      logprobs: logprobs as JsonValue[],
    });
    if (this.#annotations.length > 0) this.#putAnnotations(out);
  }

  refusal(text: string, out: ResponseEvent[]): void {
    const run = this.#message(out);
    if (run.part?.type !== "refusal") this.#openPart(run, { type: "refusal", refusal: "" }, out);
    run.text.add(text);
    out.push({ type: "response.refusal.delta", ...this.#place(run), delta: text });
  }

  audio(data: string, transcript: string, out: ResponseEvent[]): void {
    const run = this.#message(out);
    if (run.part?.type !== "output_audio")
      this.#openPart(run, { type: "output_audio", data: "", transcript: "" }, out);
    const part = run.part as MessagePart & { type: "output_audio" };
    part.data += data;
    part.transcript += transcript;
    const say = (type: "response.audio.transcript.delta" | "response.audio.delta", delta: string) =>
      out.push({ type, ...this.#output.next(), delta });
    if (transcript !== "") say("response.audio.transcript.delta", transcript);
    if (data !== "") say("response.audio.delta", data);
  }

  /** A picture in the reply: Responses knows them as calls of the server's own image tool. */
  image(url: string, out: ResponseEvent[]): void {
    const { format, result } = base64Image(url) ?? {};
    if (format === undefined || result === undefined) return this.text(`![image](${url})`, [], out);
    const id = this.#options.newId("ig");
    const item = { type: "image_generation_call" as const, id, output_format: format };
    const index = this.#output.add({ ...item, status: "in_progress", result: null }, out);
    this.#output.done(index, { ...item, status: "completed", result }, out);
  }

  annotation(annotation: JsonObject, out: ResponseEvent[]): void {
    this.#annotations.push(responseAnnotation(annotation));
    this.#putAnnotations(out);
  }

  reasoning(text: string, out: ResponseEvent[]): void {
    const run = this.#run?.kind === "reasoning" ? this.#run : this.#openReasoning(out);
    const asText = this.#options.reasoning === "text";
    if (run.text.isEmpty) this.#openReasoningPart(run, asText, out);
    run.text.add(text);
    const sequence_number = this.#output.sequence();
    if (asText)
      out.push({
        type: "response.reasoning_text.delta",
        sequence_number,
        item_id: run.id,
        output_index: run.index,
        content_index: 0,
        delta: text,
      });
    else
      out.push({
        type: "response.reasoning_summary_text.delta",
        sequence_number,
        item_id: run.id,
        output_index: run.index,
        summary_index: 0,
        delta: text,
      });
  }

  #openReasoningPart(run: ReasoningRun, asText: boolean, out: ResponseEvent[]): void {
    const place = { ...this.#output.next(), item_id: run.id, output_index: run.index };
    if (asText) {
      const part = { type: "reasoning_text" as const, text: "" };
      out.push({ type: "response.content_part.added", ...place, content_index: 0, part });
    } else {
      const part = { type: "summary_text" as const, text: "" };
      out.push({ type: "response.reasoning_summary_part.added", ...place, summary_index: 0, part });
    }
  }

  /** An item without words, to carry what `sealed` answers when it closes. */
  carrier(out: ResponseEvent[]): void {
    if (this.#run?.kind !== "reasoning") this.#openReasoning(out);
  }

  /** Ends the run that is open, and lets blanks go that were held back. */
  close(status: ItemStatus, out: ResponseEvent[]): void {
    if (this.#blanks !== "") {
      this.#reasoned = true;
      this.text("", [], out);
    }
    this.#closeRun(status, out);
  }

  #closeRun(status: ItemStatus, out: ResponseEvent[]): void {
    const run = this.#run;
    this.#run = undefined;
    if (run?.kind === "message") {
      this.#closePart(run, out);
      this.#output.done(run.index, { ...run.item, status }, out);
    } else if (run?.kind === "reasoning") this.#closeReasoning(run, status, out);
  }

  #message(out: ResponseEvent[]): MessageRun {
    if (this.#run?.kind === "message") return this.#run;
    this.#closeRun("completed", out);
    const id = this.#options.newId("msg");
    const item: MessageItem = {
      type: "message",
      id,
      status: "in_progress",
      role: "assistant",
      content: [],
    };
    const index = this.#output.add({ ...item, content: [] }, out);
    const run: MessageRun = {
      kind: "message",
      index,
      item,
      part: undefined,
      text: new GrowingText(),
    };
    this.#run = run;
    return run;
  }

  #openPart(run: MessageRun, part: MessagePart, out: ResponseEvent[]): void {
    this.#closePart(run, out);
    run.part = part;
    run.item.content.push(part);
    const empty =
      part.type === "output_text" ? { ...part, annotations: [], logprobs: [] } : { ...part };
    out.push({ type: "response.content_part.added", ...this.#place(run), part: empty });
  }

  #closePart(run: MessageRun, out: ResponseEvent[]): void {
    const { part } = run;
    if (part === undefined) return;
    switch (part.type) {
      case "output_text": {
        part.text = run.text.toString();
        const { text, logprobs } = part;
        out.push({ type: "response.output_text.done", ...this.#place(run), text, logprobs });
        break;
      }
      case "refusal":
        part.refusal = run.text.toString();
        out.push({ type: "response.refusal.done", ...this.#place(run), refusal: part.refusal });
        break;
      case "output_audio":
        out.push({ type: "response.audio.transcript.done", ...this.#output.next() });
        out.push({ type: "response.audio.done", ...this.#output.next() });
        break;
      default:
        unreachable(part);
    }
    out.push({ type: "response.content_part.done", ...this.#place(run), part });
    run.part = undefined;
    run.text.clear();
  }

  #putAnnotations(out: ResponseEvent[]): void {
    const run = this.#run;
    if (run?.kind !== "message" || run.part?.type !== "output_text") return;
    for (const annotation of this.#annotations) {
      const annotation_index = run.part.annotations.push(annotation) - 1;
      out.push({
        type: "response.output_text.annotation.added",
        ...this.#place(run),
        annotation_index,
        annotation,
      });
    }
    this.#annotations = [];
  }

  #openReasoning(out: ResponseEvent[]): ReasoningRun {
    this.#reasoned = true;
    this.#closeRun("completed", out);
    const id = this.#options.newId("rs");
    const item: ReasoningItem = { type: "reasoning", id, status: "in_progress", summary: [] };
    const run: ReasoningRun = {
      kind: "reasoning",
      index: this.#output.add(item, out),
      id,
      text: new GrowingText(),
    };
    this.#run = run;
    return run;
  }

  #closeReasoning(run: ReasoningRun, status: ItemStatus, out: ResponseEvent[]): void {
    const place = { item_id: run.id, output_index: run.index };
    const text = run.text.toString();
    const item: ReasoningItem = { type: "reasoning", id: run.id, status, summary: [] };
    if (text !== "" && this.#options.reasoning === "text") {
      const at = { ...place, content_index: 0 };
      const part = { type: "reasoning_text" as const, text };
      out.push({ type: "response.reasoning_text.done", ...this.#output.next(), ...at, text });
      out.push({ type: "response.content_part.done", ...this.#output.next(), ...at, part });
      item.content = [part];
    } else if (text !== "") {
      const at = { ...place, summary_index: 0 };
      const part = { type: "summary_text" as const, text };
      out.push({
        type: "response.reasoning_summary_text.done",
        ...this.#output.next(),
        ...at,
        text,
      });
      out.push({
        type: "response.reasoning_summary_part.done",
        ...this.#output.next(),
        ...at,
        part,
      });
      item.summary = [part];
    }
    const sealed = this.#options.sealed();
    if (sealed !== undefined) item.encrypted_content = sealed;
    this.#output.done(run.index, item, out);
  }

  #place(run: MessageRun) {
    return {
      sequence_number: this.#output.sequence(),
      item_id: run.item.id,
      output_index: run.index,
      content_index: run.item.content.length - 1,
    };
  }
}

/** The longest beginning of a data URL, up to its comma, that is read. */
const longestImageHeader = 256;

function base64Image(url: string): { format: string; result: string } | undefined {
  const comma = url.slice(0, longestImageHeader).indexOf(",");
  if (comma === -1) return undefined;
  const [, format] = /^data:image\/(\w+)(?!\w)[^,]*;base64$/.exec(url.slice(0, comma)) ?? [];
  return format === undefined ? undefined : { format, result: url.slice(comma + 1) };
}

/** Chat nests what Responses has flat: `{type, url_citation: {url, title, …}}`. */
function responseAnnotation(annotation: JsonObject): JsonObject {
  const citation = annotation["url_citation"];
  return isObject(citation) ? { type: "url_citation", ...citation } : annotation;
}
