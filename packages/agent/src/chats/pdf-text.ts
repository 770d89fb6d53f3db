import { Worker } from "node:worker_threads";
import { toWellFormed } from "@deltawire/tasks";
import { truncateSafely, type TruncationGuard } from "../truncate.ts";
import type { PdfWorkerResult, PdfJob } from "./pdf-worker.ts";

export type PdfText =
  /** `truncation` describes the included part if the text is incomplete. */
  { type: "text"; text: string; truncation?: string } | { type: "none"; reason: string };

export interface PdfLimits {
  maxBytes?: number;
  maxPages?: number;
  maxCharacters?: number;
  timeoutMs?: number;
  /** Maximum external memory of the worker thread, in bytes: decompressed content is stored there. */
  maxExternalMemory?: number;
}

const defaultPdfLimits = {
  maxBytes: 50 * 1024 * 1024,
  maxPages: 500,
  maxCharacters: 200_000,
  timeoutMs: 20_000,
  maxExternalMemory: 512 * 1024 * 1024,
} as const satisfies PdfLimits;

const script = import.meta.url.endsWith(".ts") ? "./pdf-worker.ts" : "./pdf-worker.js";
const timeoutReason = "reading it takes too long";
const memoryReason = "reading it takes too much memory";

/** Characters read beyond the limit, so that the text can be truncated at a safe position. */
const extraCharacters = 10_000;

/** Returns the text of a PDF page by page, or the reason why there is none. A timeout never yields partial text. */
export async function extractPdfText(bytes: Uint8Array, limits: PdfLimits = {}): Promise<PdfText> {
  return truncatePdfText(await readText(bytes, limits), limits);
}

function truncatePdfText(
  extracted: PdfText,
  { maxCharacters = defaultPdfLimits.maxCharacters }: PdfLimits,
  truncationGuard?: TruncationGuard,
): PdfText {
  if (extracted.type === "none" || extracted.text.length <= maxCharacters) return extracted;
  const text = truncateSafely(extracted.text, maxCharacters, truncationGuard);
  return { type: "text", text, truncation: `only the first ${maxCharacters} characters` };
}

async function readText(bytes: Uint8Array, limits: PdfLimits): Promise<PdfText> {
  const { maxBytes, maxPages, maxCharacters, ...bounds } = { ...defaultPdfLimits, ...limits };
  if (bytes.length > maxBytes)
    return createNoText(`it is larger than ${Math.floor(maxBytes / 1024 / 1024)} MB`);
  const message = await runPdfWorker({ bytes, maxPages, maxCharacters }, bounds);
  if (message.type === "broken") return createNoText(message.reason);
  const { pages, pagesRead } = message;
  const text = toWellFormed(message.text.slice(0, maxCharacters + extraCharacters));
  if (text === "") return createNoText("it contains no text (its pages may be scanned images)");
  if (pagesRead < pages)
    return { type: "text", text, truncation: `only the first ${pagesRead} of ${pages} pages` };
  return { type: "text", text };
}

function createNoText(reason: string): PdfText {
  return { type: "none", reason };
}

async function runPdfWorker(
  job: PdfJob,
  { timeoutMs, maxExternalMemory }: Required<Pick<PdfLimits, "timeoutMs" | "maxExternalMemory">>,
): Promise<PdfWorkerResult> {
  // Copied, because the buffer is transferred to the thread, while the store still uses its own.
  const bytes = new Uint8Array(job.bytes);
  const worker = new Worker(new URL(script, import.meta.url), {
    workerData: { ...job, bytes },
    transferList: [bytes.buffer],
    resourceLimits: { maxOldGenerationSizeMb: 512 },
  });
  let timer: NodeJS.Timeout | undefined;
  let memoryTimer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<PdfWorkerResult>((resolve) => {
      const resolveBroken = (reason: string) => (): void => resolve({ type: "broken", reason });
      timer = setTimeout(resolveBroken(timeoutReason), timeoutMs);
      memoryTimer = setInterval(() => {
        void getExternalMemory(worker).then(
          (bytes) => bytes > maxExternalMemory && resolveBroken(memoryReason)(),
        );
      }, 100);
      worker.on("message", resolve);
      worker.on("error", resolveBroken("it could not be read"));
      worker.on("exit", resolveBroken("it could not be read"));
    });
  } finally {
    clearTimeout(timer);
    clearInterval(memoryTimer);
    await worker.terminate();
  }
}

/** `resourceLimits` do not include external memory, which can be 1 GB for a file of 1 MB. */
async function getExternalMemory(worker: Worker): Promise<number> {
  try {
    return (await worker.getHeapStatistics()).external_memory;
  } catch {
    return 0; // the worker has exited
  }
}

/**
 * By blob hash, for all owners: only callers that can read a file request its text. Cached, because a chat's files are rendered for
 * every message.
 */
const textCache = new Map<string, Promise<PdfText>>();
const maxCachedTexts = 32;

/** Like `extractPdfText`, but caches the text by blob, and truncates it with the given guard. */
export async function extractPdfTextCached(
  hash: string,
  bytes: Uint8Array,
  truncationGuard?: TruncationGuard,
): Promise<PdfText> {
  const pendingText = textCache.get(hash) ?? readText(bytes, {});
  // Most recently used last.
  textCache.delete(hash);
  textCache.set(hash, pendingText);
  for (const oldest of textCache.keys()) {
    if (textCache.size <= maxCachedTexts) break;
    textCache.delete(oldest);
  }
  const text = await pendingText.catch((error: unknown) => {
    textCache.delete(hash);
    throw error;
  });
  // A timeout is not cached: a later attempt may succeed when the machine is less busy.
  if (text.type === "none" && text.reason === timeoutReason) textCache.delete(hash);
  return truncatePdfText(text, {}, truncationGuard);
}
