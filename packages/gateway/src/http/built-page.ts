import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

type Encoding = (typeof encodings)[number];

/** The better first. */
export const encodings = ["br", "gzip"] as const;

/** A file of the page, ready to be sent. */
export interface PageFile {
  readonly type: string;
  readonly hash: string;
  readonly bytes: Buffer;
  /** Packed once and kept; undefined where that makes it no smaller. */
  packed(encoding: Encoding): Promise<Buffer | undefined>;
}

/** The only files that are served, by their names. */
export interface PageFiles {
  readonly index: PageFile;
  readonly assets: ReadonlyMap<string, PageFile>;
}

/** At the root of this package, from `src/http` as from `dist/http`. */
const ownFolder = fileURLToPath(new URL("../../page", import.meta.url));

/** The page as it was built, held in memory from its first request on. */
export class BuiltPage {
  readonly #folder: string;
  #files: Promise<PageFiles | undefined> | undefined;

  constructor(folder = ownFolder) {
    this.#folder = folder;
  }

  /** Undefined while none is built. */
  async files(): Promise<PageFiles | undefined> {
    this.#files ??= readPage(this.#folder);
    let found: PageFiles | undefined;
    try {
      return (found = await this.#files);
    } finally {
      // It may be built while the gateway runs.
      if (found === undefined) this.#files = undefined;
    }
  }
}

async function readPage(folder: string): Promise<PageFiles | undefined> {
  try {
    const assets = join(folder, "assets");
    const index = await pageFile(join(folder, "index.html"));
    const found = (await readdir(assets, { withFileTypes: true })).filter((entry) =>
      entry.isFile(),
    );
    const files = new Map<string, PageFile>();
    // One after the other: all at once would need as many file descriptors.
    for (const { name } of found) files.set(name, await pageFile(join(assets, name)));
    return { index, assets: files };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

async function pageFile(path: string): Promise<PageFile> {
  const bytes = await readFile(path);
  const { type, packs } = kinds[extname(path)] ?? unknownKind;
  const kept: Partial<Record<Encoding, Promise<Buffer | undefined>>> = {};
  return {
    type,
    bytes,
    hash: createHash("sha256").update(bytes).digest("base64url").slice(0, 22),
    packed(encoding) {
      if (!packs) return Promise.resolve(undefined);
      return (kept[encoding] ??= smaller(bytes, packers[encoding]));
    },
  };
}

interface Kind {
  type: string;
  packs: boolean;
}

const packed = (type: string): Kind => ({ type, packs: true });
const asItIs = (type: string): Kind => ({ type, packs: false });
const unknownKind = asItIs("application/octet-stream");
const kinds: Readonly<Record<string, Kind>> = {
  ".html": packed("text/html; charset=utf-8"),
  ".js": packed("text/javascript; charset=utf-8"),
  ".css": packed("text/css; charset=utf-8"),
  ".json": packed("application/json"),
  ".svg": packed("image/svg+xml"),
  ".txt": packed("text/plain; charset=utf-8"),
  ".woff2": asItIs("font/woff2"),
  ".png": asItIs("image/png"),
  ".webp": asItIs("image/webp"),
  ".ico": asItIs("image/x-icon"),
};

const brotli = promisify(brotliCompress);
const packers: Readonly<Record<Encoding, (bytes: Buffer) => Promise<Buffer>>> = {
  br: (bytes) =>
    brotli(bytes, {
      params: {
        [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
        // 476 KB of script: 128 KB in 14 ms. The best, 11, would make it 117 KB in 706 ms, which the first reader waits for.
        [constants.BROTLI_PARAM_QUALITY]: 6,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
      },
    }),
  gzip: promisify(gzip),
};

async function smaller(
  bytes: Buffer,
  pack: (bytes: Buffer) => Promise<Buffer>,
): Promise<Buffer | undefined> {
  const made = await pack(bytes);
  return made.length < bytes.length ? made : undefined;
}
