import { Worker } from "node:worker_threads";
import type { WalkMessage, WalkRequest } from "./walk-worker.ts";

export interface WalkResult {
  lines: string[];
  /** `more`: the limit of lines was reached. `time`: the timeout was reached. */
  end: "complete" | "more" | "time";
  /** Files and folders that could not be read, or are too large to be searched. */
  skipped: number;
}

const workerScript = import.meta.url.endsWith(".ts") ? "./walk-worker.ts" : "./walk-worker.js";

/** Lists the entries of a folder, or the lines that match a pattern. After the timeout returns the results so far. */
export async function walkFolder(
  request: WalkRequest,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<WalkResult> {
  signal.throwIfAborted();
  const worker = new Worker(new URL(workerScript, import.meta.url), {
    workerData: request,
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  });
  let release = (): void => {};
  try {
    return await new Promise<WalkResult>((resolve, reject) => {
      const lines: string[] = [];
      const timer = setTimeout(() => resolve({ lines, end: "time", skipped: 0 }), timeoutMs);
      const abort = (): void => reject(signal.reason as Error);
      signal.addEventListener("abort", abort, { once: true });
      release = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", abort);
      };
      worker.on("message", (message: WalkMessage) => {
        if (message.type === "line") lines.push(message.line);
        else
          resolve({ lines, end: message.hasMore ? "more" : "complete", skipped: message.skipped });
      });
      worker.on("error", reject);
      worker.on("exit", () => reject(new Error("the search ended unexpectedly")));
    });
  } finally {
    release();
    await worker.terminate();
  }
}

/** Converts a glob to a regular expression. `*.ts` matches file names in any folder, `src/**` and `docs/*.md` match paths. */
export function globToPattern(glob: string): string {
  const path = glob.replace(/^\.?\//, "");
  const body = path.replace(/\*\*\/|\*+|\?|\{[^{}]*\}|[\s\S]/g, (token) => {
    if (token === "**/") return "(?:.*/)?";
    if (token.startsWith("**")) return ".*";
    if (token === "*") return "[^/]*";
    if (token === "?") return "[^/]";
    if (token.length > 1)
      return `(?:${token.slice(1, -1).split(",").map(escapePattern).join("|")})`;
    return escapePattern(token);
  });
  return `${path.includes("/") ? "^" : "(?:^|/)"}${body}$`;
}

export function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

export function findPatternProblem(pattern: string): string | undefined {
  try {
    return new RegExp(pattern).source === "" ? "must not be empty" : undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
