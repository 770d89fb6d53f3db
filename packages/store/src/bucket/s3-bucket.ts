import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "../error.ts";
import type { BlobBucket } from "./blob-bucket.ts";

/** A bucket of Amazon S3 or of a server with its API, such as MinIO, Ceph, Garage or Cloudflare R2. */
export interface S3BucketOptions {
  /**
   * The start of the URLs of all objects: `https://host/bucket/prefix`, or `https://bucket.host/prefix` where the bucket is part of
   * the host name.
   */
  url: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** Default "us-east-1", which servers other than Amazon S3 usually accept. */
  region?: string;
  /** Smaller blobs are stored in the database. In bytes; default 262144. */
  minBytes?: number;
  /** How long an attempt may take, in milliseconds, excluding the transfer of the bytes; default 10000. */
  timeoutMs?: number;
}

const defaultMinBytes = 256 * 1024;
const defaultTimeoutMs = 10_000;
const maxAttempts = 4;
const firstRetryMs = 200;
/** Slower transfers time out. */
const minBytesPerMs = 100;
/** Assumed size of an object for the time limit of reads, because the actual size is unknown. */
const expectedMaxBytes = 32 * 1024 * 1024;

/** Throws a StoreError without the keys if the URL is invalid. */
export function createS3Bucket(options: S3BucketOptions): BlobBucket {
  return new S3Bucket(options);
}

class S3Bucket implements BlobBucket {
  readonly minBytes: number;
  readonly #options: S3BucketOptions;
  /** Without a trailing slash. */
  readonly #url: string;
  readonly #timeoutMs: number;

  constructor(options: S3BucketOptions) {
    this.minBytes = options.minBytes ?? defaultMinBytes;
    this.#options = options;
    this.#url = parseBucketUrl(options.url);
    this.#timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
  }

  async put(name: string, bytes: Uint8Array, hash: string): Promise<void> {
    const timeoutMs = this.#timeoutMs + bytes.length / minBytesPerMs;
    const { status, body } = await this.#request("PUT", name, timeoutMs, { bytes, hash });
    if (status !== 200) throw this.#createError(status, body);
  }

  async get(name: string, hash: string): Promise<Uint8Array | undefined> {
    const timeoutMs = this.#timeoutMs + expectedMaxBytes / minBytesPerMs;
    const { status, body } = await this.#request("GET", name, timeoutMs);
    if (isMissingObject(status, body)) return undefined;
    if (status !== 200) throw this.#createError(status, body);
    if (createHash("sha256").update(body).digest("hex") !== hash)
      throw new StoreError(
        "store_corrupt",
        `${this.#url}/${name} has been changed; restore it from a backup of the bucket`,
      );
    return body;
  }

  async has(name: string): Promise<boolean> {
    const { status, body } = await this.#request("HEAD", name, this.#timeoutMs);
    if (status !== 200 && status !== 404) throw this.#createError(status, body);
    return status === 200;
  }

  async delete(name: string): Promise<void> {
    const { status, body } = await this.#request("DELETE", name, this.#timeoutMs);
    if (status !== 200 && status !== 204 && !isMissingObject(status, body))
      throw this.#createError(status, body);
  }

  /** Retries temporary failures. Returns the status and body of the last attempt. */
  async #request(
    method: "PUT" | "GET" | "HEAD" | "DELETE",
    name: string,
    timeoutMs: number,
    content?: Content,
  ): Promise<S3Reply> {
    for (let attempt = 1; ; attempt += 1) {
      const isLast = attempt === maxAttempts;
      try {
        const reply = await this.#requestOnce(method, name, timeoutMs, content);
        if (isLast || !isTransient(reply)) return reply;
      } catch (cause) {
        if (isLast)
          throw new StoreError(
            "store_unreachable",
            `${this.#url} cannot be reached (${describeFailure(cause, timeoutMs)}); check that the server is running and store.s3_url is correct`,
            { cause },
          );
      }
      // Jitter, so that processes do not all retry at once.
      await sleep(firstRetryMs * 2 ** (attempt - 1) * (0.5 + Math.random() / 2));
    }
  }

  async #requestOnce(
    method: string,
    name: string,
    timeoutMs: number,
    content: Content | undefined,
  ): Promise<S3Reply> {
    const { accessKeyId, secretAccessKey, region = "us-east-1" } = this.#options;
    // Imported on demand: most installations use no bucket.
    const { AwsV4Signer } = await import("aws4fetch");
    const signer = new AwsV4Signer({
      method,
      url: `${this.#url}/${name}`,
      // The server compares it with what it receives.
      headers: { "X-Amz-Content-Sha256": content?.hash ?? emptyHash },
      accessKeyId,
      secretAccessKey,
      region,
      service: "s3",
    });
    const { url, headers } = await signer.sign();
    const response = await fetch(url, {
      method,
      headers,
      // A redirect to another host would need another signature.
      redirect: "manual",
      signal: AbortSignal.timeout(Math.ceil(timeoutMs)),
      ...(content === undefined ? {} : { body: content.bytes as Uint8Array<ArrayBuffer> }),
    });
    return { status: response.status, body: new Uint8Array(await response.arrayBuffer()) };
  }

  /** The error contains the server's error code, but never its message, because some servers repeat the key id in it. */
  #createError(status: number, body: Uint8Array): StoreError {
    const code = parseErrorCode(body);
    const reason = `status ${status}${code === undefined ? "" : `, ${code}`}`;
    if (status === 507 || fullCodes.has(code ?? ""))
      return new StoreError(
        "store_full",
        `${this.#url} cannot store more (${reason}); free space or raise the quota of the bucket`,
      );
    return new StoreError(
      "store_unreachable",
      `${this.#url} rejected a request (${reason}); ${formatAdvice(status, code)}`,
    );
  }
}

interface Content {
  bytes: Uint8Array;
  hash: string;
}

interface S3Reply {
  status: number;
  body: Uint8Array<ArrayBuffer>;
}

const emptyHash = createHash("sha256").update("").digest("hex");

const fullCodes: ReadonlySet<string> = new Set([
  "QuotaExceeded",
  "XMinioStorageFull",
  "XMinioAdminBucketQuotaExceeded",
]);

function parseBucketUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isValid =
    url !== undefined &&
    /^https?:$/.test(url.protocol) &&
    `${url.username}${url.password}${url.search}${url.hash}` === "";
  if (!isValid)
    throw new StoreError(
      "store_unreachable",
      "the URL of the bucket is invalid; it must have the form https://host/bucket or https://bucket.host, without a user and password",
    );
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

function isMissingObject(status: number, body: Uint8Array): boolean {
  return status === 404 && parseErrorCode(body) !== "NoSuchBucket";
}

function isTransient({ status, body }: S3Reply): boolean {
  if (status === 507) return false;
  return (
    status >= 500 || status === 429 || status === 408 || parseErrorCode(body) === "RequestTimeout"
  );
}

/** Errors are XML: `<Error><Code>NoSuchKey</Code>…`. */
function parseErrorCode(body: Uint8Array): string | undefined {
  if (body.length > 100_000) return undefined;
  return /<Code>\s*([A-Za-z0-9.]{1,80})\s*<\/Code>/.exec(Buffer.from(body).toString())?.[1];
}

function formatAdvice(status: number, code: string | undefined): string {
  if (code === "NoSuchBucket") return "create the bucket, or correct store.s3_url";
  if (code === "RequestTimeTooSkewed") return "set the clock of this machine";
  if (code === "AuthorizationHeaderMalformed" || (status >= 300 && status < 400))
    return "correct store.s3_region, or use the host of that region in store.s3_url";
  if (status === 401 || status === 403)
    return "check store.s3_access_key_id, store.s3_secret_access_key and store.s3_region, and that the key may read, write and delete objects";
  if (status >= 500 || status === 429) return "try again later";
  return "check store.s3_url";
}

function describeFailure(error: unknown, timeoutMs: number): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError") return `no reply for ${Math.round(timeoutMs / 1000)} s`;
  // `fetch` reports the reason only in the cause, whose message Node leaves empty if several addresses were tried.
  const { cause } = error;
  if (cause instanceof AggregateError && cause.message === "")
    return cause.errors
      .map((attempt) => (attempt instanceof Error ? attempt.message : ""))
      .join(", ");
  return cause instanceof Error ? cause.message : error.message;
}
