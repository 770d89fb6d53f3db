import { lookup as dnsLookup } from "node:dns/promises";
import { Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import type { Readable } from "node:stream";
import { callbackify } from "node:util";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { isPublicAddress } from "./public-address.ts";

export interface FetchLimits {
  /** Of the body, unpacked. What is more is not read. */
  maxBytes: number;
  signal: AbortSignal;
  /** Whether a host (`wiki.example`, `10.0.0.7:8080`) may have an address that is not public. */
  mayBePrivate: (url: URL) => boolean;
  resolve?: Resolve;
  /** The header of that name; pages, data and pictures unless it says otherwise. */
  accept?: string;
}

export type Resolve = (hostname: string) => Promise<{ address: string; family: number }[]>;

export interface Fetched {
  /** Of the last hop. */
  url: URL;
  status: number;
  statusText: string;
  contentType: string;
  bytes: Buffer;
  /** It was longer than the limit. */
  cut: boolean;
}

const maxHops = 5;
const maxHeaderBytes = 64 * 1024;
/** Replies of 1xx before the final one. */
const maxInformational = 100;

/**
 * Gets a page of the open internet. Every hop of a redirect is checked, and the addresses that were checked are the very
 * ones that are connected to: a name that resolves to another address a moment later gains nothing.
 *
 * It uses `node:http` and not `fetch`, whose connections take such a check only by way of another package. The agents
 * are its own, because the global ones may go through a proxy, which would look names up by itself.
 */
export async function fetchPublic(address: string, limits: FetchLimits): Promise<Fetched> {
  let url = checkedUrl(address);
  for (let hop = 0; hop <= maxHops; hop += 1) {
    const response = await get(url, limits);
    const { location } = response.headers;
    const status = response.statusCode ?? 0;
    if (![301, 302, 303, 307, 308].includes(status) || location === undefined)
      return { url, ...(await whole(response, limits)) };
    response.destroy();
    url = checkedUrl(location, url);
  }
  throw new Error(`more than ${maxHops} redirects`);
}

function checkedUrl(address: string, base?: URL): URL {
  if (!URL.canParse(address, base?.href)) throw new Error(`${JSON.stringify(address)} is no URL`);
  const url = new URL(address, base);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new Error(`only http and https can be fetched, and not ${url.protocol}`);
  if (url.username !== "" || url.password !== "")
    throw new Error("a URL with a user name or password is not fetched");
  return url;
}

const agents = {
  http: new Agent({ keepAlive: false }),
  https: new HttpsAgent({ keepAlive: false }),
};

const usualAccept = "text/html, application/json, text/*;q=0.9, image/*;q=0.8, */*;q=0.1";

function get(url: URL, limits: FetchLimits): Promise<IncomingMessage> {
  const { signal, mayBePrivate, resolve = resolveAll, accept = usualAccept } = limits;
  // The URL parser has made `127.1`, `0x7f000001` and `2130706433` the address that they are.
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const isOpen = mayBePrivate(url) ? () => true : isPublicAddress;
  if (isIP(host) !== 0 && !isOpen(host)) throw privateAddress(url);
  const secure = url.protocol === "https:";
  const headers = {
    "user-agent": "deltawire",
    accept,
    "accept-encoding": "gzip, deflate, br",
  };
  return new Promise((done, reject) => {
    const options = {
      signal,
      headers,
      lookup: lookupOf(url, resolve, isOpen),
      maxHeaderSize: maxHeaderBytes,
    };
    const request = secure
      ? httpsRequest(url, { ...options, agent: agents.https })
      : httpRequest(url, { ...options, agent: agents.http });
    const fail = (cause: Error): void => {
      reject(failure(url, cause, signal));
      request.destroy();
    };
    let informational = 0;
    request.once("response", done);
    request.on("error", fail);
    // Without a listener Node drops the connection of a 101 and emits nothing else.
    request.once("upgrade", (_response, socket) => {
      socket.destroy();
      fail(new Error("it answered 101 Switching Protocols to an ordinary request"));
    });
    request.on("information", () => {
      informational += 1;
      if (informational > maxInformational) fail(new Error("it sends no final answer"));
    });
    request.once("close", () => fail(new Error("the connection was closed")));
    // Whatever the request does or does not emit, nobody waits for longer than the time limit.
    signal.addEventListener("abort", () => fail(signal.reason as Error), { once: true });
    request.end();
  });
}

async function resolveAll(hostname: string): Promise<{ address: string; family: number }[]> {
  return dnsLookup(hostname, { all: true });
}

function lookupOf(
  url: URL,
  resolve: Resolve,
  isOpen: (address: string) => boolean,
): LookupFunction {
  const resolveThen = callbackify(resolve);
  return (hostname, options, done) => {
    resolveThen(hostname, (error, all) => {
      const open = error === null ? all.filter(({ address }) => isOpen(address)) : [];
      const [first] = open;
      if (first === undefined) done(error ?? privateAddress(url), []);
      else if (options.all === true) done(null, open);
      else done(null, first.address, first.family);
    });
  };
}

class PrivateAddressError extends Error {}

function privateAddress(url: URL): Error {
  return new PrivateAddressError(`${url.host} is not on the open internet, and is not fetched`);
}

function failure(url: URL, cause: Error, signal: AbortSignal): Error {
  if (cause instanceof PrivateAddressError) return cause;
  if (signal.aborted) return signal.reason as Error;
  return new Error(`${url.host} could not be reached: ${cause.message}`, { cause });
}

async function whole(
  response: IncomingMessage,
  { maxBytes, signal }: FetchLimits,
): Promise<Omit<Fetched, "url">> {
  const chunks: Buffer[] = [];
  let length = 0;
  const body = unpacked(response);
  const abort = (): void => void body.destroy(signal.reason as Error);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > maxBytes) break;
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw new Error(`the answer broke off: ${String(error)}`, { cause: error });
  } finally {
    signal.removeEventListener("abort", abort);
    body.destroy();
    response.destroy();
  }
  return {
    status: response.statusCode ?? 0,
    statusText: response.statusMessage ?? "",
    contentType: response.headers["content-type"] ?? "",
    bytes: Buffer.concat(chunks).subarray(0, maxBytes),
    cut: length > maxBytes,
  };
}

function unpacked(response: IncomingMessage): Readable {
  const unpackers = {
    gzip: createGunzip,
    "x-gzip": createGunzip,
    deflate: createInflate,
    br: createBrotliDecompress,
  };
  const encoding = response.headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  if (!Object.hasOwn(unpackers, encoding)) return response;
  const unpacker = unpackers[encoding as keyof typeof unpackers]();
  response.once("error", (error) => unpacker.destroy(error));
  return response.pipe(unpacker);
}
