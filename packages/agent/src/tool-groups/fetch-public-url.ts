import { lookup as dnsLookup } from "node:dns/promises";
import { Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import type { Readable } from "node:stream";
import { callbackify } from "node:util";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { isPublicAddress } from "./public-address.ts";

export interface FetchPublicOptions {
  /** Bytes of the decompressed body to read; the rest is dropped. */
  maxBytes: number;
  signal: AbortSignal;
  /** Returns true for hosts (`wiki.example`, `10.0.0.7:8080`) that may have a private address. */
  allowsPrivateAddress: (url: URL) => boolean;
  resolve?: ResolveHost;
  /** The Accept header. Default: pages, data and images. */
  accept?: string;
}

export type ResolveHost = (hostname: string) => Promise<{ address: string; family: number }[]>;

export interface FetchedResource {
  /** The URL after redirects. */
  url: URL;
  status: number;
  statusText: string;
  contentType: string;
  bytes: Buffer;
  /** True if the body exceeded `maxBytes`. */
  isTruncated: boolean;
}

const maxRedirects = 5;
const maxHeaderBytes = 64 * 1024;
/** Maximum number of responses with status 1xx before the final one. */
const maxInformationalResponses = 100;

/**
 * Fetches a URL of the public internet. Every redirect is checked, and connections use the checked address, so that DNS
 * rebinding does not work.
 *
 * Uses `node:http` because `fetch` only allows such a check with another package. Uses its own agents because the global
 * ones may use a proxy, which would resolve names itself.
 */
export async function fetchPublicUrl(
  urlText: string,
  fetchOptions: FetchPublicOptions,
): Promise<FetchedResource> {
  let url = parseHttpUrl(urlText);
  for (let hop = 0; hop <= maxRedirects; hop += 1) {
    const response = await sendRequest(url, fetchOptions);
    const { location } = response.headers;
    const status = response.statusCode ?? 0;
    if (![301, 302, 303, 307, 308].includes(status) || location === undefined)
      return { url, ...(await readBody(response, fetchOptions)) };
    response.destroy();
    url = parseHttpUrl(location, url);
  }
  throw new Error(`more than ${maxRedirects} redirects`);
}

function parseHttpUrl(urlText: string, base?: URL): URL {
  if (!URL.canParse(urlText, base?.href))
    throw new Error(`${JSON.stringify(urlText)} is not a valid URL`);
  const url = new URL(urlText, base);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new Error(`only http and https URLs can be fetched, got ${url.protocol}`);
  if (url.username !== "" || url.password !== "")
    throw new Error("URLs with a user name or password are not fetched");
  return url;
}

const agents = {
  http: new Agent({ keepAlive: false }),
  https: new HttpsAgent({ keepAlive: false }),
};

const defaultAccept = "text/html, application/json, text/*;q=0.9, image/*;q=0.8, */*;q=0.1";

function sendRequest(url: URL, fetchOptions: FetchPublicOptions): Promise<IncomingMessage> {
  const {
    signal,
    allowsPrivateAddress,
    resolve = lookupAllAddresses,
    accept = defaultAccept,
  } = fetchOptions;
  // The URL parser has already normalized `127.1`, `0x7f000001` and `2130706433`.
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const isAddressAllowed = allowsPrivateAddress(url) ? () => true : isPublicAddress;
  if (isIP(host) !== 0 && !isAddressAllowed(host)) throw createPrivateAddressError(url);
  const isHttps = url.protocol === "https:";
  const headers = {
    "user-agent": "deltawire",
    accept,
    "accept-encoding": "gzip, deflate, br",
  };
  return new Promise((done, reject) => {
    const options = {
      signal,
      headers,
      lookup: createLookup(url, resolve, isAddressAllowed),
      maxHeaderSize: maxHeaderBytes,
    };
    const request = isHttps
      ? httpsRequest(url, { ...options, agent: agents.https })
      : httpRequest(url, { ...options, agent: agents.http });
    const fail = (cause: Error): void => {
      reject(toFetchError(url, cause, signal));
      request.destroy();
    };
    let informationalCount = 0;
    request.once("response", done);
    request.on("error", fail);
    // Without a listener Node drops the connection of a 101 and emits nothing else.
    request.once("upgrade", (_response, socket) => {
      socket.destroy();
      fail(new Error("unexpected response 101 Switching Protocols"));
    });
    request.on("information", () => {
      informationalCount += 1;
      if (informationalCount > maxInformationalResponses)
        fail(new Error("no final response after many 1xx responses"));
    });
    request.once("close", () => fail(new Error("the connection was closed")));
    // Enforces the time limit, regardless of which events the request emits.
    signal.addEventListener("abort", () => fail(signal.reason as Error), { once: true });
    request.end();
  });
}

async function lookupAllAddresses(
  hostname: string,
): Promise<{ address: string; family: number }[]> {
  return dnsLookup(hostname, { all: true });
}

function createLookup(
  url: URL,
  resolve: ResolveHost,
  isAddressAllowed: (address: string) => boolean,
): LookupFunction {
  const resolveWithCallback = callbackify(resolve);
  return (hostname, options, done) => {
    resolveWithCallback(hostname, (error, addresses) => {
      const allowedAddresses =
        error === null ? addresses.filter(({ address }) => isAddressAllowed(address)) : [];
      const [firstAddress] = allowedAddresses;
      if (firstAddress === undefined) done(error ?? createPrivateAddressError(url), []);
      else if (options.all === true) done(null, allowedAddresses);
      else done(null, firstAddress.address, firstAddress.family);
    });
  };
}

class PrivateAddressError extends Error {}

function createPrivateAddressError(url: URL): Error {
  return new PrivateAddressError(`${url.host} is not on the public internet and is not fetched`);
}

function toFetchError(url: URL, cause: Error, signal: AbortSignal): Error {
  if (cause instanceof PrivateAddressError) return cause;
  if (signal.aborted) return signal.reason as Error;
  return new Error(`${url.host} could not be reached: ${cause.message}`, { cause });
}

async function readBody(
  response: IncomingMessage,
  { maxBytes, signal }: FetchPublicOptions,
): Promise<Omit<FetchedResource, "url">> {
  const chunks: Buffer[] = [];
  let length = 0;
  const body = decompress(response);
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
    throw new Error(`the response was cut off: ${String(error)}`, { cause: error });
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
    isTruncated: length > maxBytes,
  };
}

function decompress(response: IncomingMessage): Readable {
  const decompressors = {
    gzip: createGunzip,
    "x-gzip": createGunzip,
    deflate: createInflate,
    br: createBrotliDecompress,
  };
  const encoding = response.headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  if (!Object.hasOwn(decompressors, encoding)) return response;
  const decompressor = decompressors[encoding as keyof typeof decompressors]();
  response.once("error", (error) => decompressor.destroy(error));
  return response.pipe(decompressor);
}
