import { isObject, type JsonObject, type JsonValue } from "../json.ts";
import type { Repairs } from "../repairs.ts";
import type { Piece } from "./choice.ts";
import type { ResponseUsage } from "../shapes/responses-reply.ts";
import { tokenWeight } from "../mapping/estimate-tokens.ts";
import { isToldUsage } from "../mapping/usage.ts";

/** What a call costs beside its name and its arguments: the marks around it. */
const callTokens = 8;

/** What a reply may have cost, for an upstream that does not tell. Codex compacts its history by it. */
export class UsageEstimate {
  readonly #inputTokens: () => number;
  readonly #repairs: Repairs;
  #said = 0;
  #thought = 0;

  /** None where nothing was handed in to estimate the input, and none that nobody would see. */
  static of(
    options: { estimateInputTokens?: () => number; includeUsage?: boolean },
    repairs: Repairs,
  ): UsageEstimate | undefined {
    const { estimateInputTokens, includeUsage = true } = options;
    if (estimateInputTokens === undefined || !includeUsage) return undefined;
    return new UsageEstimate(estimateInputTokens, repairs);
  }

  constructor(inputTokens: () => number, repairs: Repairs) {
    this.#inputTokens = inputTokens;
    this.#repairs = repairs;
  }

  addPieces(pieces: readonly (Piece | { type: "reasoning.encrypted" })[]): void {
    for (const piece of pieces)
      switch (piece.type) {
        case "text":
        case "refusal":
          this.#said += tokenWeight(piece.text);
          break;
        case "reasoning":
          this.#thought += tokenWeight(piece.text);
          break;
        case "call.opened":
          this.#said += callTokens + tokenWeight(piece.call.name);
          break;
        case "call.arguments":
          this.#said += tokenWeight(piece.delta);
          break;
        default:
      }
  }

  addItem(item: JsonObject): void {
    const content = textIn(item["content"]);
    if (item["type"] === "reasoning")
      this.#thought += tokenWeight(content === "" ? textIn(item["summary"]) : content);
    else if (item["type"] === "message") this.#said += tokenWeight(content);
    else if (typeof item["call_id"] === "string")
      this.#said += callTokens + tokenWeight(callText(item));
  }

  /** The estimate, counted as a repair; undefined where the upstream has told. */
  unlessTold(told: unknown): ResponseUsage | undefined {
    if (isToldUsage(told)) return undefined;
    const input = Math.ceil(this.#inputTokens());
    const output = Math.ceil(this.#said + this.#thought);
    this.#repairs.add("usage_estimated", `${input} in, ${output} out`);
    return {
      input_tokens: input,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: Math.ceil(this.#thought) },
      total_tokens: input + output,
      estimated: true,
    };
  }
}

function textIn(parts: JsonValue | undefined): string {
  if (typeof parts === "string") return parts;
  if (!Array.isArray(parts)) return "";
  const texts = parts.map((part) => (isObject(part) ? (part["text"] ?? part["refusal"]) : part));
  return texts.filter((text) => typeof text === "string").join("");
}

/** The name of a call and what it was called with, in whichever form. */
function callText(item: JsonObject): string {
  const { name, arguments: args, input, action, operation } = item;
  const said = args ?? input ?? action ?? operation ?? "";
  const text = typeof said === "string" ? said : JSON.stringify(said);
  return typeof name === "string" ? name + text : text;
}
