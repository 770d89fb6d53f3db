import { join } from "node:path";
import type { Agent } from "@deltawire/agent";
import type { Store } from "@deltawire/store";
import type { JsonObject } from "@deltawire/wire";
import type { HostEnvironment } from "../src/config/config-paths.ts";
import { parseConfig } from "../src/config/parse-config.ts";
import { startGateway, type Gateway } from "../src/gateway.ts";
import type { RequestTimeouts } from "../src/http/server.ts";

export interface TestGateway extends Gateway {
  /** Every logged line. */
  lines: string[];
  /** Tokens, keys and cookies that clients sent to it. */
  sentSecrets: Set<string>;
  /** Posts JSON to a path below `/v1`. */
  post(path: string, body: unknown, options?: PostOptions): Promise<Response>;
}

export interface TestGatewayOptions {
  env?: Record<string, string>;
  tickMs?: number;
  storeRetryMs?: number;
  timeouts?: RequestTimeouts;
  /** Overrides the configured store. */
  store?: Store;
  /** Agents defined in code. */
  agents?: readonly Agent[];
  /** Folder of its store and its key; in memory by default. */
  dataFolder?: string;
  configFile?: string;
  /** Used to find a Codex configuration; none by default. */
  hostEnvironment?: HostEnvironment;
  /** Folder of the page; none by default, even if a page is built here. */
  pageFolder?: string;
}

const missingPageFolder = join(import.meta.dirname, "no-page");

interface PostOptions {
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Starts a gateway on a free port. */
export async function startTestGateway(
  toml: string,
  { env = {}, ...options }: TestGatewayOptions = {},
): Promise<TestGateway> {
  const text = toml.includes("[server]") ? toml : `[server]\nport = 0\n${toml}`;
  const lines: string[] = [];
  const sentSecrets = new Set<string>();
  const gateway = await startGateway({
    config: parseConfig(text, { file: "deltawire.toml", env }),
    env,
    dataFolder: undefined,
    pageFolder: missingPageFolder,
    ...options,
    logTarget: { write: (line) => void lines.push(line) },
  });
  return {
    ...gateway,
    lines,
    sentSecrets,
    post(path, body, { headers: extraHeaders = {}, signal } = {}) {
      const headers = {
        "content-type": "application/json",
        authorization: "Bearer bearer-of-a-client",
        ...extraHeaders,
      };
      for (const secret of listSecrets(headers)) sentSecrets.add(secret);
      return fetch(`${gateway.url}/v1${path}`, {
        method: "POST",
        headers,
        body: typeof body === "string" ? body : JSON.stringify(body),
        ...(signal === undefined ? {} : { signal }),
      });
    },
  };
}

/** Returns the secrets in the headers of a client. */
function listSecrets(headers: Record<string, string>): string[] {
  return ["authorization", "api-key", "x-api-key", "cookie"]
    .map((name) => headers[name]?.replace(/^Bearer +/i, "").trim() ?? "")
    .filter((secret) => secret.length > 5);
}

/** Finds leaked secrets: keys and tokens in the log, and clients' headers at an upstream. */
export function findLeaks(
  { lines, sentSecrets, config }: TestGateway,
  upstreamRequests: readonly { headers: object }[] = [],
): string[] {
  const upstreams = [...config.upstreams.values()];
  const configured = [
    ...config.server.clients.map(({ token }) => token),
    ...upstreams.flatMap(({ apiKey, headers }) => [apiKey ?? [], ...Object.values(headers)].flat()),
  ];
  const findIn = (secrets: Iterable<string>, texts: readonly string[]): string[] =>
    [...secrets].flatMap((secret) => texts.filter((text) => text.includes(secret)));
  return [
    ...findIn([...configured, ...sentSecrets], lines),
    ...findIn(
      sentSecrets,
      upstreamRequests.map(({ headers }) => JSON.stringify(headers)),
    ),
  ];
}

/** Returns the lines of a deltawire.toml that configure one upstream. */
export function upstreamToml(
  name: string,
  url: string,
  overrides: Record<string, string | number | string[]> = {},
): string {
  const settings = { base_url: url, speaks: "chat", ...overrides };
  const lines = Object.entries(settings).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  return `[upstreams.${name}]\n${lines.join("\n")}\n`;
}

/**
 * Returns the parsed data of every event of a reply, and `{ done: true }` for the sentinel of Chat. Throws if a stream of
 * Responses events does not end with the sentinel, which is then omitted.
 */
export async function readEvents(response: Response): Promise<JsonObject[]> {
  const text = await response.text();
  const events = text
    .split("\n\n")
    .flatMap((block) => block.split("\n").filter((line) => line.startsWith("data: ")))
    .map((line) => line.slice("data: ".length))
    .map((data) => (data === "[DONE]" ? { done: true } : (JSON.parse(data) as JsonObject)));
  const [first] = events;
  if (first === undefined || !("type" in first) || first["type"] === "message_start") return events;
  if (events.findIndex((event) => "done" in event) !== events.length - 1)
    throw new Error(`a stream of Responses events without [DONE] at its end: ${text.slice(-200)}`);
  return events.slice(0, -1);
}
