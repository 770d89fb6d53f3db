import { isObject, type JsonObject, type JsonValue } from "../json.ts";
import type { Repairs } from "../repairs.ts";
import type { ReplyPiece } from "./reply-piece.ts";
import type { ResponseUsage } from "../shapes/responses-reply.ts";
import { estimateFractionalTokens } from "../mapping/estimate-tokens.ts";
import { isReportedUsage } from "../mapping/usage.ts";

/** Tokens of a call in addition to its name and arguments. */
const callOverheadTokens = 8;

/** Estimates the usage of a reply for upstreams that report none. Codex uses it to decide when to compact its history. */
export class UsageEstimator {
  readonly #estimateInput: () => number;
  readonly #repairs: Repairs;
  #outputTokens = 0;
  #reasoningTokens = 0;

  /** Returns undefined if there is no function that estimates the input or the client did not request usage. */
  static create(
    options: { estimateInputTokens?: () => number; includeUsage?: boolean },
    repairs: Repairs,
  ): UsageEstimator | undefined {
    const { estimateInputTokens, includeUsage = true } = options;
    if (estimateInputTokens === undefined || !includeUsage) return undefined;
    return new UsageEstimator(estimateInputTokens, repairs);
  }

  constructor(estimateInput: () => number, repairs: Repairs) {
    this.#estimateInput = estimateInput;
    this.#repairs = repairs;
  }

  addPieces(pieces: readonly ReplyPiece[]): void {
    for (const piece of pieces)
      switch (piece.type) {
        case "text":
        case "refusal":
          this.#outputTokens += estimateFractionalTokens(piece.text);
          break;
        case "reasoning":
          this.#reasoningTokens += estimateFractionalTokens(piece.text);
          break;
        case "call.opened":
          this.#outputTokens += callOverheadTokens + estimateFractionalTokens(piece.call.name);
          break;
        case "call.arguments":
          this.#outputTokens += estimateFractionalTokens(piece.delta);
          break;
        default:
      }
  }

  addItem(item: JsonObject): void {
    const content = extractText(item["content"]);
    if (item["type"] === "reasoning")
      this.#reasoningTokens += estimateFractionalTokens(
        content === "" ? extractText(item["summary"]) : content,
      );
    else if (item["type"] === "message") this.#outputTokens += estimateFractionalTokens(content);
    else if (typeof item["call_id"] === "string")
      this.#outputTokens += callOverheadTokens + estimateFractionalTokens(formatCall(item));
  }

  /** Returns the estimate and counts a repair; undefined if the upstream reported its usage. */
  estimateUnlessReported(reported: unknown): ResponseUsage | undefined {
    if (isReportedUsage(reported)) return undefined;
    const input = Math.ceil(this.#estimateInput());
    const output = Math.ceil(this.#outputTokens + this.#reasoningTokens);
    this.#repairs.add("usage_estimated", `${input} in, ${output} out`);
    return {
      input_tokens: input,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: Math.ceil(this.#reasoningTokens) },
      total_tokens: input + output,
      estimated: true,
    };
  }
}

function extractText(parts: JsonValue | undefined): string {
  if (typeof parts === "string") return parts;
  if (!Array.isArray(parts)) return "";
  const texts = parts.map((part) => (isObject(part) ? (part["text"] ?? part["refusal"]) : part));
  return texts.filter((text) => typeof text === "string").join("");
}

/** Returns the name of a call with its arguments or input. */
function formatCall(item: JsonObject): string {
  const { name, arguments: args, input, action, operation } = item;
  const payload = args ?? input ?? action ?? operation ?? "";
  const text = typeof payload === "string" ? payload : JSON.stringify(payload);
  return typeof name === "string" ? name + text : text;
}
