import { Worker } from "node:worker_threads";
import { toWellFormed, type BlobStore } from "@deltawire/tasks";
import { beginningOf, type Cuts } from "../cuts.ts";
import type { PdfMessage, PdfOrder } from "./pdf-worker.ts";

export type PdfText =
  /** `cut`: what of it is here, where that is not all. */
  { is: "text"; text: string; cut?: string } | { is: "none"; why: string };

export interface PdfLimits {
  maxBytes?: number;
  maxPages?: number;
  maxCharacters?: number;
  timeoutMs?: number;
  /** In bytes, of what it unpacks to. */
  maxMemory?: number;
}

const usualLimits = {
  maxBytes: 50 * 1024 * 1024,
  maxPages: 500,
  maxCharacters: 200_000,
  timeoutMs: 20_000,
  maxMemory: 512 * 1024 * 1024,
} as const satisfies PdfLimits;

const script = import.meta.url.endsWith(".ts") ? "./pdf-worker.ts" : "./pdf-worker.js";
const outOfTime = "it takes too long to read";
const outOfMemory = "it takes too much memory to read";

/** What is read beyond what is told: it says where a text may be cut. */
const beyond = 10_000;

/** The words of a PDF, page after page, or why there are none. Half a text for want of time is never one. */
export async function pdfText(bytes: Uint8Array, limits: PdfLimits = {}): Promise<PdfText> {
  return shortened(await readText(bytes, limits), limits);
}

function shortened(
  read: PdfText,
  { maxCharacters = usualLimits.maxCharacters }: PdfLimits,
  cuts?: Cuts,
): PdfText {
  if (read.is === "none" || read.text.length <= maxCharacters) return read;
  const text = beginningOf(read.text, maxCharacters, cuts);
  return { is: "text", text, cut: `only the first ${maxCharacters} characters` };
}

async function readText(bytes: Uint8Array, limits: PdfLimits): Promise<PdfText> {
  const { maxBytes, maxPages, maxCharacters, ...bounds } = { ...usualLimits, ...limits };
  if (bytes.length > maxBytes)
    return none(`it has more than ${Math.floor(maxBytes / 1024 / 1024)} MB`);
  const message = await readPdf({ bytes, maxPages, maxCharacters }, bounds);
  if (message.is === "broken") return none(message.why);
  const { pages, read } = message;
  const text = toWellFormed(message.text.slice(0, maxCharacters + beyond));
  if (text === "") return none("it has no text; perhaps its pages are pictures");
  if (read < pages) return { is: "text", text, cut: `only the first ${read} of ${pages} pages` };
  return { is: "text", text };
}

function none(why: string): PdfText {
  return { is: "none", why };
}

async function readPdf(
  order: PdfOrder,
  { timeoutMs, maxMemory }: Required<Pick<PdfLimits, "timeoutMs" | "maxMemory">>,
): Promise<PdfMessage> {
  // A copy: the thread takes it over, and the store's stays.
  const bytes = new Uint8Array(order.bytes);
  const worker = new Worker(new URL(script, import.meta.url), {
    workerData: { ...order, bytes },
    transferList: [bytes.buffer],
    resourceLimits: { maxOldGenerationSizeMb: 512 },
  });
  let timer: NodeJS.Timeout | undefined;
  let watch: NodeJS.Timeout | undefined;
  try {
    return await new Promise<PdfMessage>((resolve) => {
      const broken = (why: string) => (): void => resolve({ is: "broken", why });
      timer = setTimeout(broken(outOfTime), timeoutMs);
      watch = setInterval(() => {
        void unpackedBytes(worker).then((bytes) => bytes > maxMemory && broken(outOfMemory)());
      }, 100);
      worker.on("message", resolve);
      worker.on("error", broken("it could not be read"));
      worker.on("exit", broken("it could not be read"));
    });
  } finally {
    clearTimeout(timer);
    clearInterval(watch);
    await worker.terminate();
  }
}

/** `resourceLimits` leave them out: of a file of 1 MB they can be 1 GB. */
async function unpackedBytes(worker: Worker): Promise<number> {
  try {
    return (await worker.getHeapStatistics()).external_memory;
  } catch {
    return 0; // it has ended
  }
}

/** By store and hash. A chat sends its files again with every message. */
const known = new WeakMap<BlobStore, Map<string, Promise<PdfText>>>();
const mostKnown = 32;

/** The same, read once for the same blob, and cut as each chat needs it. */
export async function pdfTextOf(
  hash: string,
  bytes: Uint8Array,
  blobs: BlobStore,
  cuts?: Cuts,
): Promise<PdfText> {
  const texts = known.get(blobs) ?? new Map<string, Promise<PdfText>>();
  known.set(blobs, texts);
  const reading = texts.get(hash) ?? readText(bytes, {});
  // Those used last stand last.
  texts.delete(hash);
  texts.set(hash, reading);
  for (const oldest of texts.keys()) {
    if (texts.size <= mostKnown) break;
    texts.delete(oldest);
  }
  const text = await reading;
  // On a machine that has less to do it may be read in time.
  if (text.is === "none" && text.why === outOfTime) texts.delete(hash);
  return shortened(text, {}, cuts);
}
