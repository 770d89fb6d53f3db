import { isObject, parseJson, type ResponseUsage } from "@deltawire/wire";

/** Replies with embeddings or images are large, so only their beginning and end are searched. */
const searchedBytes = 4096;

/** Finds the `usage` that a reply in JSON or server-sent events reports, at its beginning or end. */
export class ReportedUsage {
  #start: Buffer = Buffer.alloc(0);
  #end: Buffer = Buffer.alloc(0);

  push(bytes: Buffer): void {
    if (this.#start.length < searchedBytes)
      this.#start = Buffer.concat([this.#start, bytes.subarray(0, searchedBytes)]);
    this.#end =
      bytes.length >= searchedBytes
        ? bytes.subarray(-searchedBytes)
        : Buffer.concat([this.#end, bytes]).subarray(-searchedBytes);
  }

  /** Returns undefined if no usage was found. */
  find(): ResponseUsage | undefined {
    const text = [this.#start, this.#end].map((part) => part.toString("latin1")).join("\n");
    const match = [...text.matchAll(usagePattern)].at(-1)?.[1];
    const usage = match === undefined ? undefined : parseJson(match);
    if (!isObject(usage)) return undefined;
    const read = (...names: string[]): number => {
      const value = names.map((name) => usage[name]).find((count) => typeof count === "number");
      return typeof value === "number" ? value : 0;
    };
    const input = read("input_tokens", "prompt_tokens");
    const output = read("output_tokens", "completion_tokens");
    const total = read("total_tokens") || input + output;
    if (total === 0) return undefined;
    return {
      input_tokens: input,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: total,
    };
  }
}

/** Matches objects with at most one level of nested objects. */
const usagePattern = /"usage"\s*:\s*(\{(?:[^{}]|\{[^{}]*\})*\})/g;
