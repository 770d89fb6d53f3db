import { Worker } from "node:worker_threads";
import type { WalkMessage, WalkOrder } from "./walk-worker.ts";

export interface Walked {
  lines: string[];
  /** `more`: the limit of lines was reached; `time`: the time was up. */
  end: "whole" | "more" | "time";
  /** Files and folders that could not be read, or are too large to be searched. */
  skipped: number;
}

const script = import.meta.url.endsWith(".ts") ? "./walk-worker.ts" : "./walk-worker.js";

/** Entries of a folder, or lines that have a pattern, within a time. What was found until then is kept. */
export async function walkFolder(
  order: WalkOrder,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<Walked> {
  signal.throwIfAborted();
  const worker = new Worker(new URL(script, import.meta.url), {
    workerData: order,
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  });
  let release = (): void => {};
  try {
    return await new Promise<Walked>((resolve, reject) => {
      const lines: string[] = [];
      const timer = setTimeout(() => resolve({ lines, end: "time", skipped: 0 }), timeoutMs);
      const abort = (): void => reject(signal.reason as Error);
      signal.addEventListener("abort", abort, { once: true });
      release = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", abort);
      };
      worker.on("message", (message: WalkMessage) => {
        if (message.is === "line") lines.push(message.line);
        else resolve({ lines, end: message.more ? "more" : "whole", skipped: message.skipped });
      });
      worker.on("error", reject);
      worker.on("exit", () => reject(new Error("the search ended before its time")));
    });
  } finally {
    release();
    await worker.terminate();
  }
}

/** `*.ts` is a file's name anywhere, `src/**` and `docs/*.md` are paths. As a regular expression. */
export function globPattern(glob: string): string {
  const path = glob.replace(/^\.?\//, "");
  const body = path.replace(/\*\*\/|\*+|\?|\{[^{}]*\}|[\s\S]/g, (piece) => {
    if (piece === "**/") return "(?:.*/)?";
    if (piece.startsWith("**")) return ".*";
    if (piece === "*") return "[^/]*";
    if (piece === "?") return "[^/]";
    if (piece.length > 1)
      return `(?:${piece.slice(1, -1).split(",").map(literalPattern).join("|")})`;
    return literalPattern(piece);
  });
  return `${path.includes("/") ? "^" : "(?:^|/)"}${body}$`;
}

export function literalPattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

export function patternProblem(pattern: string): string | undefined {
  try {
    return new RegExp(pattern).source === "" ? "it is empty" : undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
